# tests/integ: whole processes. The programs here are helpers of the shell tests, no tests themselves.
# They know only the driver's API, and open the library by the name that all programs use.
integ_cppflags = $(AM_CPPFLAGS) -DGSB_LIBRARY='"libcuda.so.1"'

noinst_PROGRAMS += tests/integ/misuse tests/integ/hoard tests/integ/printer tests/integ/reexec tests/integ/textures
# A tenant of which all is known.
noinst_PROGRAMS += tests/integ/counted
check_SCRIPTS += tests/integ/live.sh tests/integ/faults.sh tests/integ/orphans.sh tests/integ/bench_device.sh tests/integ/driver_calls.sh
EXTRA_DIST += tests/integ/live.sh tests/integ/faults.sh tests/integ/orphans.sh tests/integ/bench_device.sh tests/integ/driver_calls.sh
# Asks for metrics, and is strict about what it gets.
noinst_PROGRAMS += tests/integ/scrape
tests_integ_scrape_SOURCES = tests/integ/scrape.c tests/unit/prometheus.c tests/unit/prometheus.h
tests_integ_counted_SOURCES = tests/integ/counted.c tests/unit/tenant.h
tests_integ_counted_CPPFLAGS = $(integ_cppflags)
tests_integ_counted_LDADD = -ldl
# A tenant that marks its work by NVTX; twice: without NVIDIA's header and with it.
noinst_PROGRAMS += tests/integ/ranges
tests_integ_ranges_SOURCES = tests/integ/ranges.c tests/unit/nvtx.h tests/unit/tenant.h
tests_integ_ranges_CPPFLAGS = $(integ_cppflags)
tests_integ_ranges_LDADD = -ldl
if HAVE_CUDA
noinst_PROGRAMS += tests/integ/ranges_nvtx3
endif
tests_integ_ranges_nvtx3_SOURCES = tests/integ/ranges.c tests/unit/tenant.h
tests_integ_ranges_nvtx3_CPPFLAGS = $(integ_cppflags) -DGSB_TEST_NVTX3 -isystem $(CUDA_DIR)/include
tests_integ_ranges_nvtx3_LDADD = -ldl
# Launches in other geometries than were asked for.
noinst_PROGRAMS += tests/integ/asking
check_SCRIPTS += tests/integ/resize.sh
EXTRA_DIST += tests/integ/resize.sh
tests_integ_asking_SOURCES = tests/integ/asking.c tests/unit/tenant.h
tests_integ_asking_CPPFLAGS = $(integ_cppflags)
tests_integ_asking_LDADD = -ldl
# Programs whose kernels allocate.
noinst_PROGRAMS += tests/integ/heap
check_SCRIPTS += tests/integ/heap.sh
tests_integ_heap_SOURCES = tests/integ/heap.c tests/unit/tenant.h
tests_integ_heap_CPPFLAGS = $(integ_cppflags)
tests_integ_heap_LDADD = -ldl
# Programs that say what a driver answers.
answers_sources = tests/integ/answers.c tests/integ/answers.h tests/unit/tenant.h
EXTRA_DIST += tests/integ/answers.sh
# Graphs and stream capture, as a driver answers.
noinst_PROGRAMS += tests/integ/graphs
check_SCRIPTS += tests/integ/graphs.sh
EXTRA_DIST += tests/integ/graphs.sh tests/integ/graphs.expected
tests_integ_graphs_SOURCES = tests/integ/graphs.c $(answers_sources)
tests_integ_graphs_CPPFLAGS = $(integ_cppflags)
tests_integ_graphs_LDADD = -ldl
# Addresses and memory apart from each other, as a driver answers.
noinst_PROGRAMS += tests/integ/virtual
check_SCRIPTS += tests/integ/virtual.sh
EXTRA_DIST += tests/integ/virtual.sh tests/integ/virtual.expected
tests_integ_virtual_SOURCES = tests/integ/virtual.c $(answers_sources)
tests_integ_virtual_CPPFLAGS = $(integ_cppflags)
tests_integ_virtual_LDADD = -ldl
# Conditional nodes of graphs, as a driver answers.
noinst_PROGRAMS += tests/integ/conditions
check_SCRIPTS += tests/integ/conditions.sh
EXTRA_DIST += tests/integ/conditions.sh tests/integ/conditions.expected
tests_integ_conditions_SOURCES = tests/integ/conditions.c $(answers_sources)
tests_integ_conditions_CPPFLAGS = $(integ_cppflags)
tests_integ_conditions_LDADD = -ldl
# How much of an SM blocks may have, as a driver answers.
noinst_PROGRAMS += tests/integ/occupancy
check_SCRIPTS += tests/integ/occupancy.sh
EXTRA_DIST += tests/integ/occupancy.sh tests/integ/occupancy.expected
tests_integ_occupancy_SOURCES = tests/integ/occupancy.c $(answers_sources)
tests_integ_occupancy_CPPFLAGS = $(integ_cppflags)
tests_integ_occupancy_LDADD = -ldl
# Memory of one process in another one, as a driver answers.
noinst_PROGRAMS += tests/integ/ipc
check_SCRIPTS += tests/integ/ipc.sh
EXTRA_DIST += tests/integ/ipc.sh tests/integ/ipc.expected
tests_integ_ipc_SOURCES = tests/integ/ipc.c $(answers_sources)
tests_integ_ipc_CPPFLAGS = $(integ_cppflags)
tests_integ_ipc_LDADD = -ldl
# Two programs that have the same events.
noinst_PROGRAMS += tests/integ/shared_events
check_SCRIPTS += tests/integ/shared_events.sh
EXTRA_DIST += tests/integ/shared_events.sh
tests_integ_shared_events_SOURCES = tests/integ/shared_events.c tests/unit/tenant.h
tests_integ_shared_events_CPPFLAGS = $(integ_cppflags)
tests_integ_shared_events_LDADD = -ldl
tests_integ_misuse_SOURCES = tests/integ/misuse.c tests/unit/tenant.h
tests_integ_misuse_CPPFLAGS = $(integ_cppflags)
tests_integ_misuse_LDADD = -ldl

tests_integ_hoard_SOURCES = tests/integ/hoard.c tests/unit/tenant.h
tests_integ_hoard_CPPFLAGS = $(integ_cppflags)
tests_integ_hoard_LDADD = -ldl

tests_integ_printer_SOURCES = tests/integ/printer.c tests/unit/tenant.h
tests_integ_printer_CPPFLAGS = $(integ_cppflags)
tests_integ_printer_LDADD = -ldl
tests_integ_textures_SOURCES = tests/integ/textures.c tests/unit/tenant.h
tests_integ_textures_CPPFLAGS = $(integ_cppflags)
tests_integ_textures_LDADD = -ldl -lm
tests_integ_reexec_SOURCES = tests/integ/reexec.c tests/unit/tenant.h
tests_integ_reexec_CPPFLAGS = $(integ_cppflags)
tests_integ_reexec_LDADD = -ldl

# Programs of cmocka cases.
if HAVE_CMOCKA
noinst_PROGRAMS += tests/integ/badcode tests/integ/linking tests/integ/races tests/integ/rt tests/integ/semantics \
	tests/integ/toolkit
check_SCRIPTS += tests/integ/programs.sh tests/integ/toolkit.sh
endif
integ_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
integ_ldadd = $(CMOCKA_LIBS) -ldl
tests_integ_badcode_SOURCES = tests/integ/badcode.c tests/unit/fatbin.h tests/unit/tenant.h
tests_integ_badcode_CPPFLAGS = $(integ_cppflags)
tests_integ_badcode_CFLAGS = $(integ_cflags)
tests_integ_badcode_LDADD = $(integ_ldadd)
tests_integ_linking_SOURCES = tests/integ/linking.c tests/unit/tenant.h
tests_integ_linking_CPPFLAGS = $(integ_cppflags)
tests_integ_linking_CFLAGS = $(integ_cflags)
tests_integ_linking_LDADD = $(integ_ldadd)
check_SCRIPTS += tests/integ/python.sh
# Programs that compile while they run; and what stands in for NVRTC and nvJitLink, by their names.
fake_toolkit = tests/integ/fake_toolkit/libnvrtc.so.13 tests/integ/fake_toolkit/libnvJitLink.so.13
tests_integ_toolkit_SOURCES = tests/integ/toolkit.c tests/unit/tenant.h
tests_integ_toolkit_CPPFLAGS = $(integ_cppflags) -DGSB_FAKE_TOOLKIT='"$(abs_top_builddir)/tests/integ/fake_toolkit"'
tests_integ_toolkit_CFLAGS = $(integ_cflags)
tests_integ_toolkit_LDADD = $(integ_ldadd)
EXTRA_tests_integ_toolkit_DEPENDENCIES = $(fake_toolkit)
fake_toolkit_lib = $(AM_V_CCLD)$(MKDIR_P) tests/integ/fake_toolkit && \
	$(CC) $(AM_CPPFLAGS) $(AM_CFLAGS) -fvisibility=default $(CFLAGS) -shared -fPIC -Wl,-Bsymbolic -o $@
tests/integ/fake_toolkit/libnvrtc.so.13: $(srcdir)/tests/integ/fake_nvrtc.c
	$(fake_toolkit_lib) $(srcdir)/tests/integ/fake_nvrtc.c
tests/integ/fake_toolkit/libnvJitLink.so.13: $(srcdir)/tests/integ/fake_nvjitlink.c
	$(fake_toolkit_lib) $(srcdir)/tests/integ/fake_nvjitlink.c
CLEANFILES += $(fake_toolkit)
EXTRA_DIST += tests/integ/python.sh tests/integ/python
EXTRA_DIST += tests/integ/toolkit.sh tests/integ/fake_nvrtc.c tests/integ/fake_nvjitlink.c
tests_integ_races_SOURCES = tests/integ/races.c tests/unit/tenant.h
tests_integ_races_CPPFLAGS = $(integ_cppflags)
tests_integ_races_CFLAGS = $(integ_cflags)
tests_integ_races_LDADD = $(integ_ldadd)
tests_integ_rt_SOURCES = tests/integ/rt.c tests/unit/fatbin.h
tests_integ_rt_CFLAGS = $(integ_cflags)
tests_integ_rt_LDADD = $(integ_ldadd)
tests_integ_semantics_SOURCES = tests/integ/semantics.c tests/unit/tenant.h
tests_integ_semantics_CPPFLAGS = $(integ_cppflags)
tests_integ_semantics_CFLAGS = $(integ_cflags)
tests_integ_semantics_LDADD = $(integ_ldadd)

check_SCRIPTS += tests/integ/tenants.sh tests/integ/lanes.sh tests/integ/policies.sh tests/integ/loop.sh tests/integ/start_line.sh tests/integ/replay.sh tests/integ/bench_compare.sh tests/integ/memory.sh tests/integ/printf.sh tests/integ/textures.sh tests/integ/launch_path.sh tests/integ/real_measure.sh
EXTRA_DIST += tests/integ/heap.sh tests/integ/tenants.sh tests/integ/lanes.sh tests/integ/policies.sh tests/integ/loop.sh tests/integ/start_line.sh tests/integ/replay.sh tests/integ/bench_compare.sh tests/integ/memory.sh tests/integ/printf.sh tests/integ/textures.sh tests/integ/launch_path.sh tests/integ/real_measure.sh tests/integ/programs.sh tests/integ/real.sh tests/integ/traces.sh

# Recordings of engines, and what checks one of them.
noinst_PROGRAMS += tests/integ/trace_check
tests_integ_trace_check_SOURCES = tests/integ/trace_check.c
tests_integ_trace_check_LDADD = libtrace.la libbase.la
# Another holds virtual times to the machine model, on what a tenant does whose kernels touch no memory.
noinst_PROGRAMS += tests/integ/trace_machine tests/integ/spinner
tests_integ_trace_machine_SOURCES = tests/integ/trace_machine.c
tests_integ_trace_machine_LDADD = libtrace.la libmodel.la libbase.la
tests_integ_spinner_SOURCES = tests/integ/spinner.c tests/unit/tenant.h
tests_integ_spinner_CPPFLAGS = $(integ_cppflags)
tests_integ_spinner_LDADD = -ldl
check_SCRIPTS += tests/integ/trace.sh tests/integ/trace_lttng.sh
EXTRA_DIST += tests/integ/trace.sh tests/integ/trace_lttng.sh doc/trace-events.txt
.PHONY: trace-events
trace-events: tools/gsbctl
	tools/gsbctl trace events >$(srcdir)/doc/trace-events.txt
