# tools

bin_PROGRAMS += tools/gsb-bench
tools_gsb_bench_SOURCES = \
	tools/bench.h \
	tools/bench_emu.c \
	tools/bench_memory.c \
	tools/bench_model.c \
	tools/bench_run.c tools/bench_run.h \
	tools/bench_tenant.c \
	tools/bench_threads.c \
	tools/bench_transport.c \
	tools/bench/about.c tools/bench/about.h \
	tools/bench/device.c \
	tools/bench/mps.c tools/bench/mps.h \
	tools/bench/native.c tools/bench/native.h \
	tools/bench/probe.c \
	tools/bench/rows.def \
	tools/bench/series.c tools/bench/series.h \
	tools/bench/ways.c tools/bench/ways.h \
	tools/ask.c tools/ask.h \
	tools/compare/compare.c tools/compare/compare.h \
	tools/compare/drawn.c \
	tools/compare/loads.c tools/compare/loads.h \
	tools/compare/loops.c tools/compare/loops.h \
	tools/compare/mix.c tools/compare/mix.h \
	tools/compare/plot.c \
	tools/compare/queries.c \
	tools/compare/record.c tools/compare/record.h \
	tools/compare/run.c tools/compare/run.h \
	tools/compare/site.c tools/compare/site.h \
	tools/compare/speeds.c tools/compare/speeds.h \
	tools/compare/tenants.c \
	tools/field.c tools/field.h \
	tools/model_report.c tools/model_report.h \
	tools/private_broker.c tools/private_broker.h \
	tools/gsb-bench.c
tools_gsb_bench_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_SBINDIR='"$(sbindir)"'
tools_gsb_bench_LDADD = libprogram.la libsim.la libpolicy.la libdevice.la libmodel.la libshm.la libbase.la -lm

check_PROGRAMS += tests/unit/test_speeds
tests_unit_test_speeds_SOURCES = tests/unit/test_speeds.c \
	tools/compare/loads.c tools/compare/loads.h tools/compare/speeds.c tools/compare/speeds.h
tests_unit_test_speeds_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_speeds_LDADD = $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_bench_device
tests_unit_test_bench_device_SOURCES = tests/unit/test_bench_device.c \
	tools/bench/about.c tools/bench/about.h tools/bench/series.c tools/bench/series.h
tests_unit_test_bench_device_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bench_device_LDADD = $(CMOCKA_LIBS)

# The kernels of `gsb-bench emu`, as a string: shipped as text, so that building them needs no nvcc.
EXTRA_DIST += tools/bench_emu.cu tools/bench_emu.ptx
tools/gsb_bench-bench_emu.$(OBJEXT): tools/bench_emu_ptx.h
CLEANFILES += tools/bench_emu_ptx.h
tools/bench_emu_ptx.h: tools/bench_emu.ptx
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo 'static const char bench_emu_ptx[] ='; \
		sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } >$@
# Needs nvcc.
.PHONY: bench-emu-ptx
bench-emu-ptx:
	$(NVCC) -ptx -arch=compute_75 -o $(srcdir)/tools/bench_emu.ptx $(srcdir)/tools/bench_emu.cu

## gsbctl, gsbrun ######################################################################
bin_PROGRAMS += tools/gsbctl
tools_gsbctl_SOURCES = \
	tools/gsbctl.c \
	tools/ask.c tools/ask.h \
	tools/cli.c tools/cli.h \
	tools/events_command.c tools/events_command.h \
	tools/field.c tools/field.h \
	tools/show.c tools/show.h \
	tools/lttng_session.c tools/lttng_session.h \
	tools/top.c tools/top.h \
	tools/top_rows.c tools/top_rows.h \
	tools/trace_command.c tools/trace_command.h
if HAVE_NCURSES
tools_gsbctl_SOURCES += tools/top_screen.c
endif
tools_gsbctl_CFLAGS = $(AM_CFLAGS) $(LTTNG_CTL_CFLAGS) $(NCURSES_CFLAGS)
tools_gsbctl_LDADD = libprogram.la libtrace.la libshm.la libbase.la $(LTTNG_CTL_LIBS) $(NCURSES_LIBS)

check_PROGRAMS += tests/unit/test_top
tests_unit_test_top_SOURCES = tests/unit/test_top.c tools/field.c tools/field.h tools/top_rows.c tools/top_rows.h
tests_unit_test_top_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_top_LDADD = $(CMOCKA_LIBS)

bin_PROGRAMS += tools/gsbrun
tools_gsbrun_SOURCES = \
	tools/gsbrun.c \
	tools/ask.c tools/ask.h \
	tools/private_broker.c tools/private_broker.h
tools_gsbrun_CPPFLAGS = $(AM_CPPFLAGS) \
	-DGSB_SBINDIR='"$(sbindir)"' -DGSB_PRIVDIR='"$(gsbprivdir)"'
tools_gsbrun_LDADD = libprogram.la libshm.la libbase.la

## gsb-model ###########################################################################
bin_PROGRAMS += tools/gsb-model
tools_gsb_model_SOURCES = \
	tools/cli.c tools/cli.h \
	tools/gsb-model.c \
	tools/model_commands.c tools/model_commands.h \
	tools/model_driver.c tools/model_driver.h \
	tools/model_input.c tools/model_input.h \
	tools/model_plot.c \
	tools/model_match.c tools/model_replay.c \
	tools/model_report.c tools/model_report.h \
	tools/calibrate/calibrate.c tools/calibrate/calibrate.h \
	tools/calibrate/measure.c tools/calibrate/measure.h \
	tools/calibrate/rig.c tools/calibrate/rig.h \
	tools/calibrate/speeds.c tools/calibrate/speeds.h \
	tools/calibrate/units.def \
	tools/calibrate/write.c tools/calibrate/write.h
tools_gsb_model_LDADD = libprogram.la libsim.la libpolicy.la libdevice.la libmodel.la libptx.la libbase.la -ldl -lm

# The kernels of `gsb-model calibrate`, as those of `gsb-bench emu` above.
EXTRA_DIST += tools/calibrate/units.cu tools/calibrate/units.ptx
tools/calibrate/rig.$(OBJEXT): tools/calibrate/units_ptx.h
CLEANFILES += tools/calibrate/units_ptx.h
tools/calibrate/units_ptx.h: tools/calibrate/units.ptx
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo 'static const char units_ptx[] ='; \
		sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } >$@
# Needs nvcc.
.PHONY: calibrate-ptx
calibrate-ptx:
	$(NVCC) -ptx -arch=compute_75 -o $(srcdir)/tools/calibrate/units.ptx $(srcdir)/tools/calibrate/units.cu
check_PROGRAMS += tests/unit/test_calibrate
tests_unit_test_calibrate_SOURCES = tests/unit/test_calibrate.c tools/calibrate/speeds.c tools/calibrate/speeds.h
tests_unit_test_calibrate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_calibrate_LDADD = $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/test_calibrate_measure
tests_unit_test_calibrate_measure_SOURCES = tests/unit/test_calibrate_measure.c \
	tools/calibrate/measure.c tools/calibrate/measure.h \
	tools/calibrate/rig.c tools/calibrate/rig.h \
	tools/calibrate/speeds.c tools/calibrate/speeds.h
tests_unit_test_calibrate_measure_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_calibrate_measure_LDADD = libdevice.la libmodel.la libbase.la $(CMOCKA_LIBS) -lm
tools/calibrate/tests_unit_test_calibrate_measure-rig.$(OBJEXT): tools/calibrate/units_ptx.h
check_SCRIPTS += tests/integ/calibrate.sh
EXTRA_DIST += tests/integ/calibrate.sh
dist_man_MANS += doc/man/gsb-model.1
EXTRA_DIST += doc/model.md
EXTRA_DIST += doc/comparison.md doc/pictures/compare-pairs.svg doc/pictures/compare-queries.svg

check_SCRIPTS += tests/integ/bench_emu.sh tests/integ/gsb_model.sh
EXTRA_DIST += tests/integ/bench_emu.sh tests/integ/gsb_model.sh

## gsb-emu #############################################################################
bin_PROGRAMS += tools/gsb-emu
tools_gsb_emu_SOURCES = \
	tools/cli.c tools/cli.h \
	tools/emu_args.c tools/emu_args.h \
	tools/emu_file.c tools/emu_file.h \
	tools/emu_launch.c tools/emu_launch.h \
	tools/emu_option.c tools/emu_option.h \
	tools/emu_stat.c tools/emu_stat.h \
	tools/gsb-emu.c \
	tools/model_report.c tools/model_report.h
tools_gsb_emu_LDADD = libprogram.la libdevice.la libmodel.la libptx.la libbase.la
dist_man_MANS += doc/man/gsb-emu.1

check_SCRIPTS += tests/integ/gsb_emu.sh
EXTRA_DIST += tests/integ/gsb_emu.sh
