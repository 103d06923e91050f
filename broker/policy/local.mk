# Policies: pure functions from what is ready to what is issued; the engine and offline tools call them.

noinst_LTLIBRARIES += libpolicy.la
libpolicy_la_SOURCES = \
	broker/policy/policy.c broker/policy/policy.h \
	broker/policy/claim.c broker/policy/claim.h \
	broker/policy/estimate.c broker/policy/estimate.h \
	broker/policy/fifo.c \
	broker/policy/shape.c broker/policy/shape.h
libpolicy_la_LIBADD = libmodel.la libbase.la -lm

check_PROGRAMS += tests/unit/test_estimate
tests_unit_test_estimate_SOURCES = tests/unit/test_estimate.c
tests_unit_test_estimate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_estimate_LDADD = libpolicy.la $(CMOCKA_LIBS)
