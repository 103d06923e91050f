# broker: gsbrokerd (supervisor) and gsb-engine. Two programs, one block each.

## gsb-engine ##########################################################################
noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	broker/control.h \
	broker/code.c broker/code.h broker/loader.c \
	broker/complete.c \
	broker/dispatch.c broker/dispatch.h \
	broker/engine.c broker/engine.h \
	broker/engine_control.c broker/engine_control.h \
	broker/gate.c \
	broker/issue.c \
	broker/memory.c broker/memory.h \
	broker/policy.c broker/policy.h broker/policy_fifo.c \
	broker/pool.c broker/pool.h \
	broker/status.c \
	broker/stream.c broker/stream.h \
	broker/tenant.c broker/tenant.h \
	broker/tp.c broker/tp.h broker/gsb_tp.h
libengine_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_PKGLIBDIR='"$(pkglibdir)"'
libengine_la_LIBADD = libdevice.la libmodel.la libshm.la libbase.la

libexec_PROGRAMS += broker/gsb-engine
broker_gsb_engine_SOURCES = broker/engine_main.c
broker_gsb_engine_LDADD = libengine.la

if HAVE_LTTNG
pkglib_LTLIBRARIES += broker/gsb-tp.la
broker_gsb_tp_la_SOURCES = broker/gsb_tp.c broker/gsb_tp.h
broker_gsb_tp_la_CFLAGS = $(AM_CFLAGS) $(LTTNG_UST_CFLAGS)
broker_gsb_tp_la_LDFLAGS = -module -avoid-version -shared
broker_gsb_tp_la_LIBADD = $(LTTNG_UST_LIBS)
endif

engine_tests = tests/unit/test_engine_stream tests/unit/test_engine_order \
	tests/unit/test_engine_gate tests/unit/test_engine_hostile tests/unit/test_engine_fuzz \
	tests/unit/test_engine_control tests/unit/test_pool tests/fuzz/replay_records
check_PROGRAMS += $(engine_tests)
tenant_kit = tests/unit/tenant_kit.c tests/unit/tenant_kit.h
engine_kit = tests/unit/engine_kit.c tests/unit/engine_kit.h $(tenant_kit)
fuzz_session = tests/fuzz/session.c tests/fuzz/session.h
engine_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
engine_test_libs = libengine.la $(CMOCKA_LIBS)
tests_unit_test_engine_stream_SOURCES = tests/unit/test_engine_stream.c $(engine_kit)
tests_unit_test_engine_stream_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_stream_LDADD = $(engine_test_libs)
tests_unit_test_engine_order_SOURCES = tests/unit/test_engine_order.c $(engine_kit)
tests_unit_test_engine_order_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_order_LDADD = $(engine_test_libs)
tests_unit_test_engine_gate_SOURCES = tests/unit/test_engine_gate.c $(engine_kit)
tests_unit_test_engine_gate_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_gate_LDADD = $(engine_test_libs)
tests_unit_test_engine_hostile_SOURCES = tests/unit/test_engine_hostile.c $(engine_kit)
tests_unit_test_engine_hostile_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_hostile_LDADD = $(engine_test_libs)
tests_unit_test_engine_fuzz_SOURCES = tests/unit/test_engine_fuzz.c tests/fuzz/fuzz_records.c \
	tests/fuzz/fuzz.h $(fuzz_session) $(engine_kit)
tests_unit_test_engine_fuzz_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_fuzz_LDADD = $(engine_test_libs)
tests_fuzz_replay_records_SOURCES = tests/fuzz/fuzz_records.c tests/fuzz/replay.c tests/fuzz/fuzz.h \
	$(fuzz_session) $(engine_kit)
tests_fuzz_replay_records_CFLAGS = $(engine_test_cflags)
tests_fuzz_replay_records_LDADD = $(engine_test_libs)
tests_unit_test_engine_control_SOURCES = tests/unit/test_engine_control.c $(engine_kit)
tests_unit_test_engine_control_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_control_LDADD = $(engine_test_libs)
tests_unit_test_pool_SOURCES = tests/unit/test_pool.c
tests_unit_test_pool_CFLAGS = $(engine_test_cflags)
tests_unit_test_pool_LDADD = $(engine_test_libs)

# The records' fuzz target for libFuzzer, beside those of ptx: `make fuzz`.
fuzz: tests/fuzz/fuzz_records
tests/fuzz/fuzz_records: $(libengine_la_SOURCES) tests/fuzz/fuzz_records.c $(fuzz_session) $(engine_kit)
	mkdir -p tests/fuzz
	$(CLANG) $(AM_CPPFLAGS) $(GSB_CFLAGS) $(CMOCKA_CFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined \
		-o $@ $(srcdir)/tests/fuzz/fuzz_records.c \
		$(addprefix $(srcdir)/,$(filter %.c,$(fuzz_session) $(engine_kit))) \
		$(addprefix $(srcdir)/,$(filter %.c,$(libengine_la_SOURCES) $(libmodel_la_SOURCES) \
			$(libshm_la_SOURCES) $(libbase_la_SOURCES)) device/range.c) $(CMOCKA_LIBS) -lm
CLEANFILES += tests/fuzz/fuzz_records

## gsbrokerd ###########################################################################
noinst_LTLIBRARIES += libbrokerd.la
libbrokerd_la_SOURCES = \
	broker/admission.c broker/client.c broker/engines.c broker/listen.c \
	broker/spawn.c broker/survey.c \
	broker/supervisor.h broker/query.h \
	broker/config.c broker/config.h \
	broker/config_file.c broker/config_value.c broker/config_key.h broker/config_keys.def \
	broker/loop.c broker/loop.h \
	broker/outbox.c broker/outbox.h
libbrokerd_la_CFLAGS = $(AM_CFLAGS) $(INIH_CFLAGS)
libbrokerd_la_LIBADD = libshm.la libbase.la $(INIH_LIBS)
# of libengine.la only the list of policies and what it stands on is linked into gsbrokerd

sbin_PROGRAMS += broker/gsbrokerd
broker_gsbrokerd_SOURCES = broker/gsbrokerd.c
broker_gsbrokerd_CPPFLAGS = $(AM_CPPFLAGS) \
	-DGSB_SYSCONFDIR='"$(sysconfdir)"' -DGSB_LIBEXECDIR='"$(libexecdir)"'
broker_gsbrokerd_LDADD = libbrokerd.la libengine.la

check_PROGRAMS += tests/unit/test_config
tests_unit_test_config_SOURCES = tests/unit/test_config.c
tests_unit_test_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_config_LDADD = libbrokerd.la libengine.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_admission
tests_unit_test_admission_SOURCES = tests/unit/test_admission.c
tests_unit_test_admission_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_admission_LDADD = libbrokerd.la libengine.la $(CMOCKA_LIBS)

# Programs that the shell tests use. They are no tests themselves, so they are not in check_PROGRAMS.
noinst_PROGRAMS += tests/integ/stub_engine tests/integ/hello
tests_integ_stub_engine_SOURCES = tests/integ/stub_engine.c
tests_integ_stub_engine_LDADD = libshm.la libbase.la
tests_integ_hello_SOURCES = tests/integ/hello.c
tests_integ_hello_LDADD = libshm.la libbase.la
if HAVE_CMOCKA
noinst_PROGRAMS += tests/integ/rogue
check_SCRIPTS += tests/integ/hostile.sh
endif
tests_integ_rogue_SOURCES = tests/integ/rogue.c tests/integ/rogue.h tests/integ/rogue_region.c \
	tests/integ/rogue_socket.c tests/integ/rogue_code.c tests/unit/fatbin.h $(fuzz_session) $(tenant_kit)
tests_integ_rogue_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_integ_rogue_LDADD = libshm.la libbase.la $(CMOCKA_LIBS)

check_SCRIPTS += tests/integ/broker.sh tests/integ/gsbrun.sh
EXTRA_DIST += tests/integ/lib.sh tests/integ/hostile.sh tests/integ/broker.sh tests/integ/gsbrun.sh

dist_man_MANS += doc/man/gsbrokerd.8 doc/man/gsb-engine.8 doc/man/gsbroker.conf.5 doc/man/gsbrun.1 doc/man/gsbctl.1
check_SCRIPTS += tests/man.sh
EXTRA_DIST += tests/man.sh
