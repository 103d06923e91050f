# tools/trace: gsb-trace, which says what a recorded trace means.

noinst_LTLIBRARIES += libtracetool.la
libtracetool_la_SOURCES = \
	tools/trace/account.c tools/trace/account.h \
	tools/trace/amounts.c tools/trace/amounts.h \
	tools/trace/check.c \
	tools/trace/commands.h \
	tools/trace/critical.c tools/trace/critical.h \
	tools/trace/error_plot.c \
	tools/trace/ctf_folder.h \
	tools/trace/explain.c \
	tools/trace/export.c tools/trace/export.h \
	tools/trace/find.c tools/trace/find.h \
	tools/trace/forms.c tools/trace/forms.h \
	tools/trace/map.c tools/trace/map.h \
	tools/trace/model_error.c \
	tools/trace/perfetto.c \
	tools/trace/ranges.c tools/trace/ranges.h \
	tools/trace/replay.c \
	tools/trace/source.c tools/trace/source.h \
	tools/trace/summary.c \
	tools/trace/tau.c \
	tools/trace/timeline.c \
	tools/trace/traced.c tools/trace/traced.h \
	tools/field.c tools/field.h
# field.c is in gsbctl, too, and there it is no library object
libtracetool_la_CFLAGS = $(AM_CFLAGS)
libtracetool_la_LIBADD = -lm

# Traces of LTTng, and gsb-trace for those who use babeltrace2.
if HAVE_BABELTRACE
libtracetool_la_SOURCES += \
	tools/trace/ctf.c tools/trace/ctf.h \
	tools/trace/ctf_folder.c
libtracetool_la_CFLAGS += $(BABELTRACE_CFLAGS)
libtracetool_la_LIBADD += $(BABELTRACE_LIBS)

pkglib_LTLIBRARIES += tools/trace/babeltrace-plugin-gsb.la
tools_trace_babeltrace_plugin_gsb_la_SOURCES = tools/trace/plugin.c
# babeltrace2 finds what it looks for by name: plugin.c defines nothing else
tools_trace_babeltrace_plugin_gsb_la_CFLAGS = $(AM_CFLAGS) $(BABELTRACE_CFLAGS) -fvisibility=default
tools_trace_babeltrace_plugin_gsb_la_LDFLAGS = -module -avoid-version -shared
tools_trace_babeltrace_plugin_gsb_la_LIBADD = libtracetool.la libtrace.la libmodel.la $(BABELTRACE_LIBS)
endif

# The page of `gsb-trace timeline`, as a string.
EXTRA_DIST += tools/trace/timeline.html
nodist_libtracetool_la_SOURCES = tools/trace/timeline_html.c
CLEANFILES += tools/trace/timeline_html.c
tools/trace/timeline_html.c: tools/trace/timeline.html
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo '#include "tools/trace/export.h"'; echo 'const char gsb_timeline_html[] ='; \
		sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } >$@

bin_PROGRAMS += tools/trace/gsb-trace
tools_trace_gsb_trace_SOURCES = tools/trace/gsb-trace.c tools/cli.c tools/cli.h
tools_trace_gsb_trace_LDADD = libprogram.la libtracetool.la libtrace.la libmodel.la libbase.la

check_PROGRAMS += tests/unit/test_traced
tests_unit_test_traced_SOURCES = tests/unit/test_traced.c tests/unit/trace_kit.c tests/unit/trace_kit.h
tests_unit_test_traced_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_traced_LDADD = libtracetool.la libtrace.la libmodel.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_trace_reports
tests_unit_test_trace_reports_SOURCES = tests/unit/test_trace_reports.c tests/unit/trace_kit.c tests/unit/trace_kit.h
tests_unit_test_trace_reports_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_trace_reports_LDADD = libtracetool.la libtrace.la libmodel.la $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test_trace_damage
tests_unit_test_trace_damage_SOURCES = tests/unit/test_trace_damage.c tests/unit/trace_kit.c tests/unit/trace_kit.h
tests_unit_test_trace_damage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_trace_damage_LDADD = libtracetool.la libtrace.la libmodel.la $(CMOCKA_LIBS)

dist_man_MANS += doc/man/gsb-trace.1
check_SCRIPTS += tests/integ/gsb_trace.sh
EXTRA_DIST += tests/integ/gsb_trace.sh tests/integ/page_probe.js
EXTRA_DIST += doc/reading-a-trace.md doc/pictures/trace-whole.png doc/pictures/trace-whole-dark.png \
	doc/pictures/trace-first.png doc/pictures/trace-search.png doc/pictures/trace-ranges.png doc/pictures/trace-error-h200.svg \
	doc/pictures/trace-error-lanes-h200.svg doc/pictures/trace-mix-h200.png
