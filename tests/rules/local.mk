# tests/rules: what a driver answers about streams, events, copies, contexts and errors. Natively the same programs are
# run by tests/gpu/rules; its lines are rules.expected.
noinst_PROGRAMS += tests/rules/rules
tests_rules_rules_SOURCES = tests/rules/rules.c tests/rules/rules.h tests/rules/programs.def tests/rules/streams.c tests/rules/events.c \
	tests/rules/callbacks.c tests/rules/copies.c tests/rules/memory.c tests/rules/launches.c tests/rules/modules.c \
	tests/rules/capture.c tests/rules/contexts.c tests/rules/faults.c tests/rules/handles.c tests/rules/device.c \
	$(answers_sources)
tests_rules_rules_CPPFLAGS = $(integ_cppflags) -I$(srcdir)/tests/rules
tests_rules_rules_LDADD = libbase.la -ldl
check_SCRIPTS += tests/rules/rules.sh
EXTRA_DIST += tests/rules/rules.sh tests/rules/compare tests/rules/differences tests/rules/rules.expected tests/gpu/rules
