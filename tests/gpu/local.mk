# tests/gpu: programs for a machine with a real GPU. They link nothing of NVIDIA's, and exit 77 without a driver.
noinst_PROGRAMS += tests/gpu/probe_windows
tests_gpu_probe_windows_SOURCES = tests/gpu/probe_windows.c
tests_gpu_probe_windows_LDADD = libshm.la libbase.la

noinst_PROGRAMS += tests/gpu/model_measure
tests_gpu_model_measure_SOURCES = tests/gpu/model_measure.c tests/gpu/gpu.c tests/gpu/gpu.h
tests_gpu_model_measure_LDADD = libbase.la -lm
EXTRA_DIST += tests/gpu/model_kernels.cu tests/gpu/model_kernels.ptx tests/gpu/bundle tests/gpu/check \
	tests/gpu/cuda-check tests/gpu/faults tests/gpu/mps tests/gpu/soak tests/gpu/answers tests/gpu/foreign tests/gpu/resize-forms tests/gpu/resize-sizes tests/gpu/client.py doc/real-gpu.md doc/faults.md \
	tests/gpu/results-doc

# The tables of the documents are what the results give.
check_SCRIPTS += tests/gpu/results-doc

# The interpreter beside the GPU, in the harness of its unit tests: names of device/emu/exec.mk.
if HAVE_CMOCKA
noinst_PROGRAMS += tests/gpu/emu_oracle
tests_gpu_emu_oracle_SOURCES = tests/gpu/emu_oracle.c tests/gpu/gpu.c tests/gpu/gpu.h $(emu_rows) $(emu_harness) \
	tests/random/random_program.c tests/random/random_program.h
tests_gpu_emu_oracle_CFLAGS = $(emu_test_cflags)
tests_gpu_emu_oracle_LDADD = $(emu_test_ldadd)

noinst_PROGRAMS += tests/gpu/open_words
tests_gpu_open_words_SOURCES = tests/gpu/open_words.c tests/gpu/gpu.c tests/gpu/gpu.h $(emu_harness)
tests_gpu_open_words_CFLAGS = $(emu_test_cflags)
tests_gpu_open_words_LDADD = $(emu_test_ldadd)

noinst_PROGRAMS += tests/gpu/emu_state
tests_gpu_emu_state_SOURCES = tests/gpu/emu_state.c tests/gpu/gpu.c tests/gpu/gpu.h $(emu_harness)
tests_gpu_emu_state_CFLAGS = $(emu_test_cflags)
tests_gpu_emu_state_LDADD = $(emu_test_ldadd)

# What the re-sizer writes, in the harness of its unit tests.
noinst_PROGRAMS += tests/gpu/resize
tests_gpu_resize_SOURCES = tests/gpu/resize.c tests/gpu/resize_cub.c tests/gpu/resize_device.c tests/gpu/resize_pairs.c \
	tests/gpu/resize_task.c tests/gpu/resize_times.c tests/gpu/resize.h tests/gpu/resize_task.h tests/gpu/resize_kernels.h tests/gpu/bound_kernels.h tests/unit/tenant.h tests/unit/resize_subjects.def $(resize_kit)
tests_gpu_resize_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_LIBRARY='"libcuda.so.1"'
tests_gpu_resize_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_gpu_resize_LDADD = $(resize_libs) libprogram.la $(CMOCKA_LIBS) -lm -ldl

# CUB's kernels as text. nvcc takes its time: they are made for a bundle, and only then.
if HAVE_CUDA
gpu_bundle_needs += tests/gpu/cub_75.ptx tests/gpu/cub_90.ptx tests/algorithms/cub_75 tests/algorithms/cub_90
endif
CLEANFILES += tests/gpu/cub_75.ptx tests/gpu/cub_90.ptx
tests/gpu/cub_%.ptx: $(srcdir)/tests/algorithms/cub.cu $(srcdir)/tests/algorithms/check.cuh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -std=c++17 --extended-lambda -w -ptx -arch=compute_$* -o $@ $<
endif

# Parts of the SMs of a real GPU, through ops.h.
noinst_PROGRAMS += tests/gpu/partitions
tests_gpu_partitions_SOURCES = tests/gpu/partitions.c tests/gpu/bound_kernels.h
tests_gpu_partitions_LDADD = libdevice.la
# Instructions of a launch in the device, NVIDIA's driver included.
noinst_PROGRAMS += tests/gpu/launch_steps
tests_gpu_launch_steps_SOURCES = tests/gpu/launch_steps.c tests/gpu/bound_kernels.h
tests_gpu_launch_steps_LDADD = libdevice.la
noinst_PROGRAMS += tests/gpu/bound
tests_gpu_bound_SOURCES = tests/gpu/bound.c tests/gpu/bound_kernels.h tests/unit/tenant.h
tests_gpu_bound_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_LIBRARY='"libcuda.so.1"'
tests_gpu_bound_LDADD = libbase.la -ldl

# printf of many threads.
noinst_PROGRAMS += tests/gpu/printing
tests_gpu_printing_SOURCES = tests/gpu/printing.c tests/unit/tenant.h
tests_gpu_printing_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_LIBRARY='"libcuda.so.1"'
tests_gpu_printing_LDADD = libbase.la -ldl

# gsbctl for machines with a GPU: without liblttng-ctl, which needs libxml2 and the 30 MiB of libicu.
EXTRA_PROGRAMS += tests/gpu/gsbctl
tests_gpu_gsbctl_SOURCES = $(tools_gsbctl_SOURCES)
tests_gpu_gsbctl_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_NO_LTTNG_CTL
tests_gpu_gsbctl_CFLAGS = $(AM_CFLAGS) $(NCURSES_CFLAGS)
tests_gpu_gsbctl_LDADD = libprogram.la libtrace.la libshm.la libbase.la $(NCURSES_LIBS)

# A tenant that does what goes wrong, for tests/gpu/faults.
noinst_PROGRAMS += tests/gpu/provoke
tests_gpu_provoke_SOURCES = tests/gpu/provoke.c tests/unit/tenant.h
tests_gpu_provoke_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_LIBRARY='"libcuda.so.1"'
tests_gpu_provoke_LDADD = libbase.la -ldl

# The litmus tests of tests/litmus.
noinst_PROGRAMS += tests/gpu/litmus
tests_gpu_litmus_SOURCES = tests/gpu/litmus.c tests/gpu/gpu.c tests/gpu/gpu.h $(litmus_sources)
tests_gpu_litmus_LDADD = libbase.la

# Kernels that do real work, on which the law is tested.
real_kernels = tests/gpu/real_kernels.def tests/gpu/probes.def tests/gpu/real_data.h
EXTRA_DIST += tests/gpu/real_kernels.cu tests/gpu/real_kernels.ptx tests/gpu/real-demands
noinst_PROGRAMS += tests/gpu/real_measure
tests_gpu_real_measure_SOURCES = tests/gpu/real_measure.c tests/gpu/gpu.c tests/gpu/gpu.h $(real_kernels)
tests_gpu_real_measure_LDADD = libbase.la -lm
# Kernels on which it is made, measured in the same way.
EXTRA_DIST += tests/gpu/dev_kernels.cu tests/gpu/dev_kernels.ptx tests/gpu/dev_kernels.def tests/gpu/real_loop.cuh
noinst_PROGRAMS += tests/gpu/dev_measure
tests_gpu_dev_measure_SOURCES = $(tests_gpu_real_measure_SOURCES)
tests_gpu_dev_measure_CPPFLAGS = $(AM_CPPFLAGS) -DREAL_KERNELS='"dev_kernels.def"'
tests_gpu_dev_measure_LDADD = $(tests_gpu_real_measure_LDADD)
# Kernels on which predictions by probes were tested, probes since.
EXTRA_DIST += tests/gpu/held_kernels.cu tests/gpu/held_kernels.ptx tests/gpu/held_kernels.def
noinst_PROGRAMS += tests/gpu/held_measure
tests_gpu_held_measure_SOURCES = $(tests_gpu_real_measure_SOURCES)
tests_gpu_held_measure_CPPFLAGS = $(AM_CPPFLAGS) -DREAL_KERNELS='"held_kernels.def"'
tests_gpu_held_measure_LDADD = $(tests_gpu_real_measure_LDADD)
EXTRA_DIST += tests/gpu/late_kernels.cu tests/gpu/late_kernels.ptx tests/gpu/late_kernels.def
noinst_PROGRAMS += tests/gpu/late_measure
tests_gpu_late_measure_SOURCES = $(tests_gpu_real_measure_SOURCES)
tests_gpu_late_measure_CPPFLAGS = $(AM_CPPFLAGS) -DREAL_KERNELS='"late_kernels.def"'
tests_gpu_late_measure_LDADD = $(tests_gpu_real_measure_LDADD)
# Kernels on which predictions by probes are tested.
EXTRA_DIST += tests/gpu/fresh_kernels.cu tests/gpu/fresh_kernels.ptx tests/gpu/fresh_kernels.def
noinst_PROGRAMS += tests/gpu/fresh_measure
tests_gpu_fresh_measure_SOURCES = $(tests_gpu_real_measure_SOURCES)
tests_gpu_fresh_measure_CPPFLAGS = $(AM_CPPFLAGS) -DREAL_KERNELS='"fresh_kernels.def"'
tests_gpu_fresh_measure_LDADD = $(tests_gpu_real_measure_LDADD)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_real_kernels tests/unit/test_held_kernels tests/unit/test_late_kernels tests/unit/test_fresh_kernels
tests_unit_test_real_kernels_SOURCES = tests/unit/test_real_kernels.c tests/unit/real_kit.h $(real_kernels) $(device_kit)
tests_unit_test_real_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_test_real_kernels_LDADD = libdevice.la examples/gpu_db/libgpudata.la $(CMOCKA_LIBS) -lm
tests_unit_test_held_kernels_SOURCES = tests/unit/test_held_kernels.c tests/unit/real_kit.h tests/gpu/held_kernels.def $(device_kit)
tests_unit_test_held_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_test_held_kernels_LDADD = libdevice.la $(CMOCKA_LIBS)
tests_unit_test_late_kernels_SOURCES = tests/unit/test_late_kernels.c tests/unit/real_kit.h tests/gpu/late_kernels.def $(device_kit)
tests_unit_test_late_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_test_late_kernels_LDADD = libdevice.la $(CMOCKA_LIBS) -lm
tests_unit_test_fresh_kernels_SOURCES = tests/unit/test_fresh_kernels.c tests/unit/real_kit.h tests/gpu/fresh_kernels.def $(device_kit)
tests_unit_test_fresh_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_test_fresh_kernels_LDADD = libdevice.la $(CMOCKA_LIBS) -lm
endif

noinst_PROGRAMS += tests/gpu/model_tables
tests_gpu_model_tables_SOURCES = tests/gpu/model_tables.c tests/gpu/real_predict.c tests/gpu/real_score.c \
	tests/gpu/real_tables.h tests/gpu/real_data.h tests/gpu/tsv.c tests/gpu/tsv.h
tests_gpu_model_tables_LDADD = libmodel.la libbase.la -lm
check_SCRIPTS += tests/gpu/model-doc tests/gpu/ptx-fresh tests/gpu/real_tables.sh
EXTRA_DIST += tests/gpu/model-doc tests/gpu/ptx-fresh tests/gpu/real_tables.sh
