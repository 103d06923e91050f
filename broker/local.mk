# broker: two programs, gsbrokerd (supervisor/) and gsb-engine (engine/), the configuration that one reads, the policies
# that the other asks.

include broker/policy/local.mk
include broker/config/local.mk
include broker/engine/local.mk
include broker/supervisor/local.mk

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
	tests/integ/rogue_socket.c tests/integ/rogue_linger.c tests/integ/rogue_code.c tests/unit/fatbin.h $(fuzz_session) $(tenant_kit)
tests_integ_rogue_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_integ_rogue_LDADD = libshm.la libbase.la $(CMOCKA_LIBS)

check_SCRIPTS += tests/integ/broker.sh tests/integ/gsbrun.sh tests/integ/mps.sh tests/integ/starts.sh
EXTRA_DIST += tests/integ/lib.sh tests/integ/hostile.sh tests/integ/mps.sh tests/integ/starts.sh tests/fake/nvidia-cuda-mps-control tests/integ/broker.sh tests/integ/gsbrun.sh

dist_man_MANS += doc/man/gsbrokerd.8 doc/man/gsb-engine.8 doc/man/gsbroker.conf.5 doc/man/gsbrun.1 doc/man/gsbctl.1 \
	doc/man/gsb-bench.1
check_SCRIPTS += tests/man.sh
EXTRA_DIST += tests/man.sh
