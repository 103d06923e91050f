# Policies: pure functions from what is ready to what is issued; the engine and offline tools call them.

noinst_LTLIBRARIES += libpolicy.la
libpolicy_la_SOURCES = \
	broker/policy/policy.c broker/policy/policy.h \
	broker/policy/hold.h \
	broker/policy/draft.h \
	broker/policy/coreside.c broker/policy/coreside.h \
	broker/policy/auction.h \
	broker/policy/bound.c broker/policy/bound.h \
	broker/policy/cap.c broker/policy/cap.h \
	broker/policy/claim.c broker/policy/claim.h \
	broker/policy/company.c broker/policy/company.h \
	broker/policy/contenders.c \
	broker/policy/curves.c \
	broker/policy/cut.c broker/policy/cut.h \
	broker/policy/estimate.c broker/policy/estimate.h \
	broker/policy/fifo.c \
	broker/policy/hint.c \
	broker/policy/inside.c \
	broker/policy/lanes.c \
	broker/policy/multiqx.c \
	broker/policy/parts.c broker/policy/parts.h \
	broker/policy/priority.c \
	broker/policy/serial.c \
	broker/policy/shape.c broker/policy/shape.h \
	broker/policy/share.c broker/policy/share.h \
	broker/policy/split.c \
	broker/policy/turns.c \
	broker/policy/whatif.c broker/policy/whatif.h
EXTRA_DIST += doc/critical-answers.md doc/multiqx.md doc/planner.md
libpolicy_la_LIBADD = libmodel.la libbase.la -lm

check_PROGRAMS += tests/unit/test_estimate
tests_unit_test_estimate_SOURCES = tests/unit/test_estimate.c
tests_unit_test_estimate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_estimate_LDADD = libpolicy.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cut
tests_unit_test_cut_SOURCES = tests/unit/test_cut.c
tests_unit_test_cut_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cut_LDADD = libpolicy.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_policies
policy_kit = tests/unit/policy_kit.c tests/unit/policy_kit.h
tests_unit_test_policies_SOURCES = tests/unit/test_policies.c $(policy_kit)
tests_unit_test_policies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_policies_LDADD = libpolicy.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cap
tests_unit_test_cap_SOURCES = tests/unit/test_cap.c $(policy_kit)
tests_unit_test_cap_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cap_LDADD = libpolicy.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_hint
tests_unit_test_hint_SOURCES = tests/unit/test_hint.c $(policy_kit)
tests_unit_test_hint_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_hint_LDADD = libpolicy.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_inside
tests_unit_test_inside_SOURCES = tests/unit/test_inside.c $(policy_kit)
tests_unit_test_inside_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_inside_LDADD = libpolicy.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_parts
tests_unit_test_parts_SOURCES = tests/unit/test_parts.c $(policy_kit)
tests_unit_test_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_parts_LDADD = libpolicy.la $(CMOCKA_LIBS) -lm

noinst_PROGRAMS += tests/integ/policy_path
check_SCRIPTS += tests/integ/policy_path.sh
EXTRA_DIST += tests/integ/policy_path.sh
tests_integ_policy_path_SOURCES = tests/integ/policy_path.c $(policy_kit)
tests_integ_policy_path_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_integ_policy_path_LDADD = libpolicy.la
