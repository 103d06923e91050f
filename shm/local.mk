noinst_LTLIBRARIES += libshm.la
libshm_la_SOURCES = \
	shm/channel.c shm/channel.h \
	shm/keep.c shm/keep.h \
	shm/region.c shm/region.h \
	shm/ring.c shm/ring.h \
	shm/wait.c shm/wait.h

shm_tests = tests/unit/test_ring tests/unit/test_wait tests/unit/test_region tests/unit/test_channel \
	tests/unit/test_fences
check_PROGRAMS += $(shm_tests)
shm_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
shm_test_libs = libshm.la libbase.la $(CMOCKA_LIBS)
tests_unit_test_ring_SOURCES = tests/unit/test_ring.c
tests_unit_test_ring_CFLAGS = $(shm_test_cflags)
tests_unit_test_ring_LDADD = $(shm_test_libs)
tests_unit_test_wait_SOURCES = tests/unit/test_wait.c
tests_unit_test_wait_CFLAGS = $(shm_test_cflags)
tests_unit_test_wait_LDADD = $(shm_test_libs)
tests_unit_test_region_SOURCES = tests/unit/test_region.c
tests_unit_test_region_CFLAGS = $(shm_test_cflags)
tests_unit_test_region_LDADD = $(shm_test_libs)
tests_unit_test_channel_SOURCES = tests/unit/test_channel.c
tests_unit_test_channel_CFLAGS = $(shm_test_cflags)
tests_unit_test_channel_LDADD = $(shm_test_libs)
tests_unit_test_fences_SOURCES = tests/unit/test_fences.c
tests_unit_test_fences_CFLAGS = $(shm_test_cflags)
tests_unit_test_fences_LDADD = $(shm_test_libs)
