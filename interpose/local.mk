# libgsbroker.so: what tenants preload. Its SONAME is the driver's, so that it satisfies those who open that by
# name; the links beside it serve those who look for the file.
noinst_LTLIBRARIES += libinterpose.la
interpose_sources = \
	interpose/entries.def interpose/entries.h interpose/exports.c interpose/lookup.c \
	interpose/connect.c \
	interpose/refused.def \
	interpose/genuine.c interpose/tables.c interpose/tables.h \
	interpose/watch.c interpose/watch.h \
	interpose/core/fault.h \
	interpose/core/crew.c interpose/core/crew.h \
	interpose/core/frame.c interpose/core/frame.h \
	interpose/core/helper.c interpose/core/helper.h \
	interpose/core/lock.c interpose/core/lock.h \
	interpose/core/object.c interpose/core/object.h \
	interpose/core/post.c interpose/core/post.h \
	interpose/core/probe.c interpose/core/probe.h \
	interpose/core/process.c interpose/core/process.h \
	interpose/core/range.c interpose/core/range.h \
	interpose/core/spare.c interpose/core/spare.h \
	interpose/core/thread.c interpose/core/thread.h \
	interpose/graph/graph.c interpose/graph/graph.h \
	interpose/graph/plan.c interpose/graph/plan.h \
	interpose/cu/advice.c interpose/cu/advice.h \
	interpose/cu/alloc.c interpose/cu/alloc.h \
	interpose/cu/aside.c interpose/cu/aside.h \
	interpose/cu/array.c interpose/cu/array.h \
	interpose/cu/capture.c interpose/cu/capture.h \
	interpose/cu/copy.c interpose/cu/copy.h \
	interpose/cu/ctx.c interpose/cu/ctx.h \
	interpose/cu/ctx_life.c interpose/cu/ctx_life.h \
	interpose/cu/event.c interpose/cu/event.h \
	interpose/cu/exec.c interpose/cu/exec.h \
	interpose/cu/function.c interpose/cu/function.h \
	interpose/cu/graph.c interpose/cu/graph.h \
	interpose/cu/hold.c interpose/cu/hold.h \
	interpose/cu/swap.c interpose/cu/swap.h \
	interpose/cu/kept.c interpose/cu/kept.h \
	interpose/cu/host_call.c interpose/cu/host_call.h \
	interpose/cu/library.c interpose/cu/library.h \
	interpose/cu/link.c interpose/cu/link.h \
	interpose/cu/managed.c interpose/cu/managed.h \
	interpose/cu/module.c interpose/cu/module.h \
	interpose/cu/pageable.c interpose/cu/pageable.h \
	interpose/cu/pool.c interpose/cu/pool.h \
	interpose/cu/print.c interpose/cu/print.h \
	interpose/cu/registered.c interpose/cu/registered.h \
	interpose/cu/staging.c interpose/cu/staging.h \
	interpose/cu/stream.c interpose/cu/stream.h \
	interpose/cu/view.c interpose/cu/view.h \
	interpose/cu/virtual.c interpose/cu/virtual.h \
	interpose/cu/descriptor.c interpose/cu/descriptor.h \
	interpose/nvtx/abi.h \
	interpose/nvtx/nvtx.c \
	interpose/nvtx/text.c interpose/nvtx/text.h \
	interpose/hooks/hooks.h \
	interpose/hooks/array.c \
	interpose/hooks/capture.c \
	interpose/hooks/cluster.c \
	interpose/hooks/copy.c \
	interpose/hooks/copy_batch.c \
	interpose/hooks/ctx.c \
	interpose/hooks/event.c \
	interpose/hooks/fill.c \
	interpose/hooks/function.c \
	interpose/hooks/graph.c interpose/hooks/graph.h \
	interpose/hooks/graph_condition.c \
	interpose/hooks/graph_exec.c \
	interpose/hooks/graph_launch.c \
	interpose/hooks/graph_memory.c \
	interpose/hooks/graph_node.c \
	interpose/hooks/init.c \
	interpose/hooks/input.c interpose/hooks/input.h \
	interpose/hooks/launch.c \
	interpose/hooks/link.c \
	interpose/hooks/managed.c \
	interpose/hooks/registered.c \
	interpose/hooks/mem.c \
	interpose/hooks/mem_stream.c \
	interpose/hooks/mem_op.c \
	interpose/hooks/module.c \
	interpose/hooks/pool.c \
	interpose/hooks/setup.c \
	interpose/hooks/stream.c \
	interpose/hooks/stream_attr.c \
	interpose/hooks/tensor.c \
	interpose/hooks/ipc.c \
	interpose/hooks/virtual.c
libinterpose_la_SOURCES = $(interpose_sources)
EXTRA_DIST += doc/driver-coverage.md
libinterpose_la_LIBADD = libshm.la libimage.la libbase.la

# Linked by hand: libtool insists on a SONAME that it makes from the file's name.
link_interpose = $(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(LDFLAGS) -o $@ \
	-Wl,-soname,libcuda.so.1 -Wl,--version-script=$(srcdir)/interpose/libgsbroker.map \
	-Wl,-z,nodelete -Wl,-z,now
gsbpriv_DATA = interpose/libgsbroker.so
interpose/libgsbroker.so: libinterpose.la $(srcdir)/interpose/libgsbroker.map
	$(link_interpose) -Wl,--whole-archive .libs/libinterpose.a -Wl,--no-whole-archive -ldl
EXTRA_DIST += interpose/libgsbroker.map
CLEANFILES += interpose/libgsbroker.so interpose/libcuda.so interpose/libcuda.so.1

# LTTng events of a tenant that asks for them (core/probe.h): beside the library.
if HAVE_LTTNG
gsbpriv_LTLIBRARIES = interpose/gsb-tenant-tp.la
interpose_gsb_tenant_tp_la_SOURCES = interpose/probe/gsb_tenant_tp.c interpose/probe/gsb_tenant_tp.h
interpose_gsb_tenant_tp_la_CFLAGS = $(AM_CFLAGS) $(LTTNG_UST_CFLAGS)
interpose_gsb_tenant_tp_la_LDFLAGS = -module -avoid-version -shared
interpose_gsb_tenant_tp_la_LIBADD = $(LTTNG_UST_LIBS)
endif

# The same with points at which a test can have it die (core/fault.h): never installed.
check_LTLIBRARIES += libfaults.la
libfaults_la_SOURCES = $(interpose_sources) interpose/core/fault.c
libfaults_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_FAULTS
libfaults_la_LIBADD = $(libinterpose_la_LIBADD)
check_DATA += interpose/libgsbroker-faults.so
interpose/libgsbroker-faults.so: libfaults.la $(srcdir)/interpose/libgsbroker.map
	$(link_interpose) -Wl,--whole-archive .libs/libfaults.a -Wl,--no-whole-archive -ldl
CLEANFILES += interpose/libgsbroker-faults.so

# The same links in the build tree, so that a program can be run before anything is installed.
interpose/libcuda.so.1: interpose/libgsbroker.so
	$(AM_V_GEN)$(LN_S) -f libgsbroker.so interpose/libcuda.so && $(LN_S) -f libgsbroker.so $@
all-local: interpose/libcuda.so.1

install-data-hook:
	$(LN_S) -f libgsbroker.so $(DESTDIR)$(gsbprivdir)/libcuda.so
	$(LN_S) -f libgsbroker.so $(DESTDIR)$(gsbprivdir)/libcuda.so.1
uninstall-hook:
	rm -f $(DESTDIR)$(gsbprivdir)/libcuda.so $(DESTDIR)$(gsbprivdir)/libcuda.so.1
	rmdir $(DESTDIR)$(gsbprivdir)/cudart $(DESTDIR)$(gsbprivdir) 2>/dev/null || :

# Tests open the built library by its path, and serve it with a small engine of their own. They need it to run, not to
# link: EXTRA_..._DEPENDENCIES.
tenant_cppflags = $(AM_CPPFLAGS) -DGSB_LIBRARY='"$(abs_top_builddir)/interpose/libgsbroker.so"'
tenant_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tenant_sources = tests/unit/fake_engine.c tests/unit/fake_engine.h tests/unit/interpose.h tests/unit/tenant.h
tenant_ldadd = libshm.la libbase.la $(CMOCKA_LIBS) -ldl

check_PROGRAMS += tests/unit/test_entries tests/unit/test_launch tests/unit/test_copy tests/unit/test_stream \
	tests/unit/test_context tests/unit/test_forms tests/unit/test_graph tests/unit/test_tenant \
	tests/unit/test_tensor_map tests/unit/test_registered tests/unit/test_nvtx tests/unit/test_kept
check_PROGRAMS += tests/unit/test_crew
tests_unit_test_crew_SOURCES = tests/unit/test_crew.c interpose/core/crew.c interpose/core/crew.h \
	interpose/core/helper.c interpose/core/helper.h interpose/core/spare.c interpose/core/spare.h
tests_unit_test_crew_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_crew_LDFLAGS = -Wl,--wrap=gsb_spare_look,--wrap=getrusage,--wrap=sched_yield
tests_unit_test_crew_LDADD = libbase.la $(CMOCKA_LIBS)
tests_unit_test_registered_SOURCES = tests/unit/test_registered.c interpose/core/helper.c interpose/core/helper.h interpose/cu/aside.c interpose/cu/aside.h \
	interpose/cu/hold.c interpose/cu/hold.h interpose/cu/registered.c interpose/cu/registered.h interpose/cu/swap.c interpose/cu/swap.h \
	interpose/cu/view.c interpose/cu/view.h
tests_unit_test_registered_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_registered_LDFLAGS = -Wl,--wrap=mremap,--wrap=gsb_views_read
tests_unit_test_registered_LDADD = libbase.la $(CMOCKA_LIBS)
tests_unit_test_graph_SOURCES = tests/unit/test_graph.c interpose/graph/graph.c interpose/graph/graph.h \
	interpose/graph/plan.c interpose/graph/plan.h
tests_unit_test_graph_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_graph_LDADD = $(CMOCKA_LIBS)
tests_unit_test_entries_SOURCES = tests/unit/test_entries.c tests/unit/tenant.h
tests_unit_test_entries_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_entries_CFLAGS = $(tenant_cflags)
tests_unit_test_entries_LDADD = $(CMOCKA_LIBS) -ldl
EXTRA_tests_unit_test_entries_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_launch_SOURCES = tests/unit/test_launch.c $(tenant_sources)
tests_unit_test_launch_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_launch_CFLAGS = $(tenant_cflags)
tests_unit_test_launch_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_launch_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_copy_SOURCES = tests/unit/test_copy.c $(tenant_sources)
tests_unit_test_copy_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_copy_CFLAGS = $(tenant_cflags)
tests_unit_test_copy_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_copy_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_stream_SOURCES = tests/unit/test_stream.c $(tenant_sources)
tests_unit_test_stream_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_stream_CFLAGS = $(tenant_cflags)
tests_unit_test_stream_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_stream_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_context_SOURCES = tests/unit/test_context.c $(tenant_sources)
tests_unit_test_context_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_context_CFLAGS = $(tenant_cflags)
tests_unit_test_context_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_context_DEPENDENCIES = interpose/libcuda.so.1
tests_unit_test_tensor_map_SOURCES = tests/unit/test_tensor_map.c $(tenant_sources)
tests_unit_test_tensor_map_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_tensor_map_CFLAGS = $(tenant_cflags)
tests_unit_test_tensor_map_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_tensor_map_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_kept_SOURCES = tests/unit/test_kept.c $(tenant_sources)
tests_unit_test_kept_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_kept_CFLAGS = $(tenant_cflags)
tests_unit_test_kept_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_kept_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_nvtx_SOURCES = tests/unit/test_nvtx.c tests/unit/nvtx.h $(tenant_sources)
tests_unit_test_nvtx_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_nvtx_CFLAGS = $(tenant_cflags)
tests_unit_test_nvtx_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_nvtx_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_forms_SOURCES = tests/unit/test_forms.c $(tenant_sources)
tests_unit_test_forms_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_forms_CFLAGS = $(tenant_cflags)
tests_unit_test_forms_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_forms_DEPENDENCIES = interpose/libcuda.so.1

tests_unit_test_tenant_SOURCES = tests/unit/test_tenant.c $(tenant_sources)
tests_unit_test_tenant_CPPFLAGS = $(tenant_cppflags)
tests_unit_test_tenant_CFLAGS = $(tenant_cflags)
tests_unit_test_tenant_LDADD = $(tenant_ldadd)
EXTRA_tests_unit_test_tenant_DEPENDENCIES = interpose/libcuda.so.1

# Against the toolkit, where there is one.
if HAVE_CUDA
check_PROGRAMS += tests/unit/test_cuabi
endif
tests_unit_test_cuabi_SOURCES = tests/unit/test_cuabi.c tests/unit/cuabi_toolkit.c tests/unit/cuabi.h \
	tests/unit/cuabi_list.def
tests_unit_test_cuabi_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_DIR)/include \
	-DGSB_CUDA_INCLUDE='"$(CUDA_DIR)/include"' -DGSB_CUDA_STUB='"$(CUDA_DIR)/lib64/stubs/libcuda.so"'
tests_unit_test_cuabi_CFLAGS = $(tenant_cflags)
tests_unit_test_cuabi_LDADD = $(CMOCKA_LIBS)
