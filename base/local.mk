noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES = \
	base/arena.c base/arena.h \
	base/array.c base/array.h \
	base/at.h \
	base/bulk.c base/bulk.h \
	base/cancel.h \
	base/checked.h \
	base/clock.c base/clock.h \
	base/err.c base/err.h \
	base/genuine.c base/genuine.h \
	base/hash.h \
	base/hurry.c base/hurry.h \
	base/log.c base/log.h \
	base/lowest.c base/lowest.h \
	base/mapping.c base/mapping.h base/mps.c base/mps.h \
	base/sha256.c base/sha256.h \
	base/compiler.h

noinst_LTLIBRARIES += libprogram.la
libprogram_la_SOURCES = base/program.c base/program.h

check_PROGRAMS += tests/unit/test_base
tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_base_LDADD = libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_mapping
tests_unit_test_mapping_SOURCES = tests/unit/test_mapping.c
tests_unit_test_mapping_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mapping_LDADD = libbase.la $(CMOCKA_LIBS)
