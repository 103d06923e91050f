# gsbrokerd: listens, admits, starts engines, reads the configuration.

noinst_LTLIBRARIES += libbrokerd.la
libbrokerd_la_SOURCES = \
	broker/control.h \
	broker/supervisor/supervisor.h \
	broker/supervisor/admission.c \
	broker/supervisor/client.c \
	broker/supervisor/engines.c \
	broker/supervisor/listen.c \
	broker/supervisor/loop.c broker/supervisor/loop.h \
	broker/supervisor/outbox.c broker/supervisor/outbox.h \
	broker/supervisor/query.h \
	broker/supervisor/spawn.c \
	broker/supervisor/survey.c
libbrokerd_la_LIBADD = libconfig.la libshm.la libbase.la

sbin_PROGRAMS += broker/gsbrokerd
broker_gsbrokerd_SOURCES = broker/supervisor/gsbrokerd.c
broker_gsbrokerd_CPPFLAGS = $(AM_CPPFLAGS) \
	-DGSB_SYSCONFDIR='"$(sysconfdir)"' -DGSB_LIBEXECDIR='"$(libexecdir)"'
broker_gsbrokerd_LDADD = libbrokerd.la

check_PROGRAMS += tests/unit/test_admission
tests_unit_test_admission_SOURCES = tests/unit/test_admission.c
tests_unit_test_admission_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_admission_LDADD = libbrokerd.la $(CMOCKA_LIBS)
