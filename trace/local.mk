# trace: the list of events, and files of them: written by the engine, read by tools.

noinst_LTLIBRARIES += libtrace.la
libtrace_la_SOURCES = \
	trace/compact.c trace/compact.h \
	trace/describe.c trace/event.h \
	trace/events.def \
	trace/format.h \
	trace/print.c \
	trace/read.c trace/read.h \
	trace/write.c trace/write.h
libtrace_la_LIBADD = libbase.la

check_PROGRAMS += tests/unit/test_trace
tests_unit_test_trace_SOURCES = tests/unit/test_trace.c
tests_unit_test_trace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_trace_LDADD = libtrace.la $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test_trace_parts
tests_unit_test_trace_parts_SOURCES = tests/unit/test_trace_parts.c
tests_unit_test_trace_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_trace_parts_LDADD = libtrace.la $(CMOCKA_LIBS)
