# Loads run again offline: the policies of the broker on the machine of model/. Tests, gsb-model and gsb-bench link it.
noinst_LTLIBRARIES += libsim.la
libsim_la_SOURCES = \
	sim/best.c sim/best.h \
	sim/check.c \
	sim/compare.c sim/compare.h \
	sim/course.c \
	sim/decide.c \
	sim/device.c \
	sim/fail.c \
	sim/program.c \
	sim/random.c sim/random.h \
	sim/result.c \
	sim/sim.c sim/sim.h \
	sim/state.h \
	sim/speed.c \
	sim/stream.c \
	sim/view.c
libsim_la_LIBADD = libpolicy.la libmodel.la libbase.la -lm

check_PROGRAMS += tests/unit/test_sim
tests_unit_test_sim_SOURCES = tests/unit/test_sim.c
tests_unit_test_sim_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_sim_LDADD = libsim.la libpolicy.la libmodel.la libbase.la $(CMOCKA_LIBS) -lm
