# libgsbroker.so: what tenants preload. Its SONAME is the driver's, so that it satisfies those who open that by
# name; the links beside it serve those who look for the file.
noinst_LTLIBRARIES += libinterpose.la
libinterpose_la_SOURCES = \
	interpose/alloc.c interpose/alloc.h \
	interpose/ctx.c interpose/ctx.h \
	interpose/entries.def interpose/entries.h interpose/exports.c interpose/lookup.c \
	interpose/event.h \
	interpose/fault.c interpose/fault.h \
	interpose/genuine.c interpose/tables.c interpose/tables.h \
	interpose/hooks.h \
	interpose/hooks_copy.c \
	interpose/hooks_ctx.c \
	interpose/hooks_event.c \
	interpose/hooks_function.c \
	interpose/hooks_init.c \
	interpose/hooks_launch.c \
	interpose/hooks_mem.c \
	interpose/hooks_module.c \
	interpose/hooks_stream.c \
	interpose/library.c interpose/library.h \
	interpose/lock.c interpose/lock.h \
	interpose/module.c interpose/module.h \
	interpose/object.c interpose/object.h \
	interpose/post.c interpose/post.h \
	interpose/process.c interpose/process.h \
	interpose/staging.c interpose/staging.h \
	interpose/stream.c interpose/stream.h \
	interpose/thread.c interpose/thread.h \
	interpose/watch.c interpose/watch.h
libinterpose_la_LIBADD = libshm.la libimage.la libbase.la

# Linked by hand: libtool insists on a SONAME that it makes from the file's name.
gsbpriv_DATA = interpose/libgsbroker.so
interpose/libgsbroker.so: libinterpose.la $(srcdir)/interpose/libgsbroker.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(LDFLAGS) -o $@ \
		-Wl,-soname,libcuda.so.1 -Wl,--version-script=$(srcdir)/interpose/libgsbroker.map \
		-Wl,-z,nodelete -Wl,-z,now \
		-Wl,--whole-archive .libs/libinterpose.a -Wl,--no-whole-archive -ldl
EXTRA_DIST += interpose/libgsbroker.map
CLEANFILES += interpose/libgsbroker.so interpose/libcuda.so interpose/libcuda.so.1

# The same links in the build tree, so that a program can be run before anything is installed.
interpose/libcuda.so.1: interpose/libgsbroker.so
	$(AM_V_GEN)$(LN_S) -f libgsbroker.so interpose/libcuda.so && $(LN_S) -f libgsbroker.so $@
all-local: interpose/libcuda.so.1

install-data-hook:
	$(LN_S) -f libgsbroker.so $(DESTDIR)$(gsbprivdir)/libcuda.so
	$(LN_S) -f libgsbroker.so $(DESTDIR)$(gsbprivdir)/libcuda.so.1
uninstall-hook:
	rm -f $(DESTDIR)$(gsbprivdir)/libcuda.so $(DESTDIR)$(gsbprivdir)/libcuda.so.1
	rmdir $(DESTDIR)$(gsbprivdir) 2>/dev/null || :

# Tests open the built library by its path, and serve it with a small engine of their own. They need it to run, not to
# link: EXTRA_..._DEPENDENCIES.
tenant_cppflags = $(AM_CPPFLAGS) -DGSB_LIBRARY='"$(abs_top_builddir)/interpose/libgsbroker.so"'
tenant_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tenant_sources = tests/unit/fake_engine.c tests/unit/fake_engine.h tests/unit/interpose.h tests/unit/tenant.h
tenant_ldadd = libshm.la libbase.la $(CMOCKA_LIBS) -ldl

check_PROGRAMS += tests/unit/test_entries tests/unit/test_launch tests/unit/test_copy tests/unit/test_stream \
	tests/unit/test_context tests/unit/test_forms tests/unit/test_tenant
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
