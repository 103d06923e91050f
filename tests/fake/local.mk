# tests/fake: a libcuda.so.1 for tests of device/cuda without a GPU. Never installed.
check_LTLIBRARIES += libfakecuda.la
libfakecuda_la_SOURCES = tests/fake/fake.h tests/fake/state.c tests/fake/state.h tests/fake/code.h \
	tests/fake/array.c tests/fake/cubin.c tests/fake/cubin.h tests/unit/cubin.h tests/fake/device.c tests/fake/green.c tests/fake/memory.c \
	tests/fake/tensor.c tests/fake/work.c
check_DATA += tests/fake/libcuda.so
tests/fake/libcuda.so: libfakecuda.la libdevice.la
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) -shared $(LDFLAGS) -o $@ -Wl,-Bsymbolic \
		-Wl,--whole-archive .libs/libfakecuda.a -Wl,--no-whole-archive .libs/libdevice.a -lm -lpthread
CLEANFILES += tests/fake/libcuda.so

fake_libcuda = -DGSB_FAKE_LIBCUDA='"$(abs_top_builddir)/tests/fake/libcuda.so"'
check_PROGRAMS += tests/unit/test_cuda_ops
tests_unit_test_cuda_ops_SOURCES = tests/unit/test_device_ops.c tests/unit/device_kernels.h
tests_unit_test_cuda_ops_CPPFLAGS = $(AM_CPPFLAGS) $(fake_libcuda) $(lane_program)
tests_unit_test_cuda_ops_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_ops_LDADD = libdevice.la $(CMOCKA_LIBS)
EXTRA_tests_unit_test_cuda_ops_DEPENDENCIES = tests/fake/libcuda.so broker/gsb-lane

check_PROGRAMS += tests/unit/test_cuda_failures
tests_unit_test_cuda_failures_SOURCES = tests/unit/test_cuda_failures.c tests/unit/device_kernels.h
tests_unit_test_cuda_failures_CPPFLAGS = $(AM_CPPFLAGS) $(fake_libcuda)
tests_unit_test_cuda_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_failures_LDADD = libdevice.la $(CMOCKA_LIBS)
EXTRA_tests_unit_test_cuda_failures_DEPENDENCIES = tests/fake/libcuda.so

check_PROGRAMS += tests/unit/test_cuda_chain
tests_unit_test_cuda_chain_SOURCES = tests/unit/test_cuda_chain.c
tests_unit_test_cuda_chain_CPPFLAGS = $(AM_CPPFLAGS) $(fake_libcuda)
tests_unit_test_cuda_chain_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_chain_LDADD = libdevice.la $(CMOCKA_LIBS)
EXTRA_tests_unit_test_cuda_chain_DEPENDENCIES = tests/fake/libcuda.so

check_PROGRAMS += tests/unit/test_cuda_joint
tests_unit_test_cuda_joint_SOURCES = tests/unit/test_cuda_joint.c
tests_unit_test_cuda_joint_CPPFLAGS = $(AM_CPPFLAGS) $(fake_libcuda)
tests_unit_test_cuda_joint_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_joint_LDADD = libdevice.la $(CMOCKA_LIBS)
EXTRA_tests_unit_test_cuda_joint_DEPENDENCIES = tests/fake/libcuda.so
