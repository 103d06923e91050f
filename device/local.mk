# device: the vtable and its devices.
noinst_LTLIBRARIES += libdevice.la
libdevice_la_SOURCES = \
	device/ops.h device/device.c \
	device/attrs.def device/info.c device/info.h \
	device/code.c device/code.h \
	device/done.c device/done.h \
	device/range.c device/range.h \
	device/null/null.c device/null/null.h \
	device/emu/emu.c device/emu/emu.h \
	device/emu/clock/clock.c \
	device/emu/flip.c \
	device/emu/module.c \
	device/emu/memory/space.c \
	device/emu/clock/worker.c

include device/emu/exec.mk
libdevice_la_LIBADD += libmodel.la

check_PROGRAMS += tests/unit/test_device_range
tests_unit_test_device_range_SOURCES = tests/unit/test_device_range.c
tests_unit_test_device_range_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_range_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_ops
tests_unit_test_device_ops_SOURCES = tests/unit/test_device_ops.c tests/unit/device_kernels.h
tests_unit_test_device_ops_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_ops_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_code
tests_unit_test_device_code_SOURCES = tests/unit/test_device_code.c
tests_unit_test_device_code_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_code_LDADD = libdevice.la $(CMOCKA_LIBS)

if HAVE_CUDA
check_PROGRAMS += tests/unit/test_device_attrs
endif
tests_unit_test_device_attrs_SOURCES = tests/unit/test_device_attrs.c
tests_unit_test_device_attrs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -isystem $(CUDA_DIR)/include
tests_unit_test_device_attrs_LDADD = libdevice.la $(CMOCKA_LIBS)
