# libcudart.so.12 and libcudart.so.13: the CUDA runtime over the driver's documented interface, for programs that are
# linked with -cudart shared and run where NVIDIA's is of no use. Two libraries from one source.
cudart_sources = \
	cudart/abi.h cudart/errors.def cudart/properties.def cudart/driver.def cudart/entries.def \
	cudart/context.c cudart/context.h \
	cudart/driver.c cudart/driver.h \
	cudart/error.c cudart/error.h \
	cudart/exports.c cudart/exports.h \
	cudart/registry.c cudart/registry.h \
	cudart/calls/calls.h cudart/calls/kind.h \
	cudart/calls/array.c \
	cudart/calls/box.c \
	cudart/calls/generated.c cudart/calls/generated.h \
	cudart/calls/copy.c \
	cudart/calls/copy_array.c \
	cudart/calls/device.c \
	cudart/calls/function.c \
	cudart/calls/graph.c \
	cudart/calls/launch.c \
	cudart/calls/memory.c \
	cudart/calls/symbol.c \
	cudart/calls/texture.c
noinst_LTLIBRARIES += libcudart12.la libcudart13.la
libcudart12_la_SOURCES = $(cudart_sources)
libcudart12_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_CUDART=12
libcudart12_la_LIBADD = libbase.la
libcudart13_la_SOURCES = $(cudart_sources)
libcudart13_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_CUDART=13
libcudart13_la_LIBADD = libbase.la

# In a folder of their own, which gsbrun puts before the program's; symbols carry the name of their library as version.
link_cudart = $(AM_V_at)$(MKDIR_P) cudart/lib && echo "$(@F) { global: cuda*; __cuda*; local: *; };" >$@.map
link_cudart_lib = $(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(LDFLAGS) -o $@ -Wl,-soname,$(@F) \
	-Wl,--version-script=$@.map -Wl,-z,now
gsbcudartdir = $(gsbprivdir)/cudart
gsbcudart_DATA = cudart/lib/libcudart.so.12 cudart/lib/libcudart.so.13
cudart/lib/libcudart.so.12: libcudart12.la
	$(link_cudart)
	$(link_cudart_lib) -Wl,--whole-archive .libs/libcudart12.a -Wl,--no-whole-archive -ldl
cudart/lib/libcudart.so.13: libcudart13.la
	$(link_cudart)
	$(link_cudart_lib) -Wl,--whole-archive .libs/libcudart13.a -Wl,--no-whole-archive -ldl
CLEANFILES += $(gsbcudart_DATA) cudart/lib/libcudart.so.12.map cudart/lib/libcudart.so.13.map

# Against the toolkit, where there is one of the version that ours has.
if HAVE_CUDA
check_PROGRAMS += tests/unit/test_rtabi
endif
tests_unit_test_rtabi_SOURCES = tests/unit/test_rtabi.c tests/unit/rtabi_toolkit.c tests/unit/cuabi.h \
	tests/unit/rtabi_list.def
tests_unit_test_rtabi_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_DIR)/include -DGSB_CUDART=13 \
	-DGSB_CUDART_13='"$(abs_top_builddir)/cudart/lib/libcudart.so.13"' \
	-DGSB_CUDA_CUDART='"$(CUDA_DIR)/lib64/libcudart.so.13"'
tests_unit_test_rtabi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_rtabi_LDADD = $(CMOCKA_LIBS)
EXTRA_tests_unit_test_rtabi_DEPENDENCIES = cudart/lib/libcudart.so.13
