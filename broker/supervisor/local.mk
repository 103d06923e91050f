# gsbrokerd: listens, admits, starts engines, reads the configuration.

noinst_LTLIBRARIES += libbrokerd.la
libbrokerd_la_SOURCES = \
	broker/control.h \
	broker/supervisor/supervisor.h \
	broker/supervisor/admission.c broker/supervisor/admission.h \
	broker/supervisor/child.c broker/supervisor/child.h \
	broker/supervisor/client.c broker/supervisor/client.h \
	broker/supervisor/crowd.c broker/supervisor/crowd.h \
	broker/supervisor/device_memory.c broker/supervisor/device_memory.h \
	broker/supervisor/engine_process.c broker/supervisor/engine_process.h \
	broker/supervisor/engines.c broker/supervisor/engines.h \
	broker/supervisor/exposition.c broker/supervisor/exposition.h \
	broker/supervisor/http.c broker/supervisor/http.h \
	broker/supervisor/ledger.c broker/supervisor/ledger.h \
	broker/supervisor/listen.c broker/supervisor/listen.h \
	broker/supervisor/loop.c broker/supervisor/loop.h \
	broker/supervisor/metrics.c broker/supervisor/metrics.h \
	broker/supervisor/mps.c broker/supervisor/mps.h \
	broker/supervisor/mps_command.c broker/supervisor/mps_command.h \
	broker/supervisor/mps_folder.c broker/supervisor/mps_folder.h \
	broker/supervisor/outbox.c broker/supervisor/outbox.h \
	broker/supervisor/query.h \
	broker/supervisor/refuse.c broker/supervisor/refuse.h \
	broker/supervisor/service.c broker/supervisor/service.h \
	broker/supervisor/spawn.c broker/supervisor/spawn.h \
	broker/supervisor/starts.c broker/supervisor/starts.h \
	broker/supervisor/survey.c broker/supervisor/survey.h \
	broker/supervisor/tenants.c broker/supervisor/tenants.h \
	broker/supervisor/totals.c broker/supervisor/totals.h \
	broker/supervisor/uid_limits.c broker/supervisor/uid_limits.h \
	broker/supervisor/waiting_trace.c broker/supervisor/waiting_trace.h
libbrokerd_la_LIBADD = libconfig.la libshm.la libbase.la

sbin_PROGRAMS += broker/gsbrokerd
broker_gsbrokerd_SOURCES = \
	broker/supervisor/gsbrokerd.c \
	broker/supervisor/arguments.c broker/supervisor/arguments.h \
	broker/supervisor/paths.c broker/supervisor/paths.h
broker_gsbrokerd_CPPFLAGS = $(AM_CPPFLAGS) \
	-DGSB_SYSCONFDIR='"$(sysconfdir)"' -DGSB_LIBEXECDIR='"$(libexecdir)"'
broker_gsbrokerd_LDADD = libbrokerd.la libprogram.la

check_PROGRAMS += tests/unit/test_admission
tests_unit_test_admission_SOURCES = tests/unit/test_admission.c
tests_unit_test_admission_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_admission_LDADD = libbrokerd.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_exposition
tests_unit_test_exposition_SOURCES = tests/unit/test_exposition.c tests/unit/prometheus.c tests/unit/prometheus.h
tests_unit_test_exposition_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_exposition_LDADD = libbrokerd.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ledger
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c
tests_unit_test_ledger_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ledger_LDADD = libbrokerd.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_waiting_trace
tests_unit_test_waiting_trace_SOURCES = tests/unit/test_waiting_trace.c
tests_unit_test_waiting_trace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_waiting_trace_LDADD = libbrokerd.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_starts
tests_unit_test_starts_SOURCES = tests/unit/test_starts.c
tests_unit_test_starts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_starts_LDADD = libbrokerd.la $(CMOCKA_LIBS)
