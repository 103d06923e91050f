# Folders in the order of the arrows: each may include those before it in this list; gpu and solvers include none of
# them (tests/rooms has it line by line).
noinst_LTLIBRARIES += libmodel.la
libmodel_la_LIBADD = -lm
libmodel_la_SOURCES =

# GPUs by name and as text
libmodel_la_SOURCES += \
	model/gpu/arch.c model/gpu/arch.h \
	model/gpu/interference.c model/gpu/interference.h \
	model/gpu/text.c model/gpu/text.h

# mathematics: linear programs, knapsacks
libmodel_la_SOURCES += \
	model/solvers/cholesky.c model/solvers/cholesky.h \
	model/solvers/knapsack.c model/solvers/knapsack.h \
	model/solvers/lp.c model/solvers/lp.h \
	model/solvers/matching.c model/solvers/matching.h \
	model/solvers/multichoice.c model/solvers/multichoice.h

# what fits: blocks on an SM, and SMs being filled
libmodel_la_SOURCES += \
	model/placement/machine.c model/placement/machine.h \
	model/placement/occupancy.c model/placement/occupancy.h \
	model/placement/place.c model/placement/place.h \
	model/placement/ends.c model/placement/ends.h \
	model/placement/tournament.c model/placement/tournament.h

# the papers: pairs (Cruz), plans and batches (Li 2019)
libmodel_la_SOURCES += \
	model/papers/arrange.c model/papers/arrange.h \
	model/papers/batch.c model/papers/batch.h \
	model/papers/choice.c model/papers/choice.h \
	model/papers/pair.c model/papers/pair.h \
	model/papers/plan.c model/papers/plan.h model/papers/plan_work.h \
	model/papers/two_stage.c

# how long it takes: contention, curves, fractions, single blocks
libmodel_la_SOURCES += \
	model/time/block_time.c model/time/block_time.h \
	model/time/command_time.c model/time/command_time.h \
	model/time/company.c model/time/company.h \
	model/time/contend.c model/time/contend.h \
	model/time/counts.c model/time/counts.h \
	model/time/curve.c model/time/curve.h \
	model/time/demand.c model/time/demand.h \
	model/time/fraction.c model/time/fraction.h \
	model/time/kriging.c model/time/kriging.h \
	model/time/law.c model/time/law.h \
	model/time/probes.c model/time/probes.h \
	model/time/three.c model/time/three.h \
	model/time/progress.c model/time/progress.h \
	model/time/queueing.c model/time/queueing.h

# kernels as people write them, and loads as they were recorded
libmodel_la_SOURCES += \
	model/input/kernels.c model/input/kernels.h \
	model/input/profiles.c model/input/profiles.h \
	model/input/beside.c model/input/beside.h \
	model/input/workload.c model/input/workload.h

check_PROGRAMS += tests/unit/test_arch
tests_unit_test_arch_SOURCES = tests/unit/test_arch.c
tests_unit_test_arch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_arch_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_pair
tests_unit_test_pair_SOURCES = tests/unit/test_pair.c
tests_unit_test_pair_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pair_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_occupancy
tests_unit_test_occupancy_SOURCES = tests/unit/test_occupancy.c
tests_unit_test_occupancy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_occupancy_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

if HAVE_CUDA
check_PROGRAMS += tests/unit/test_occupancy_toolkit
endif
tests_unit_test_occupancy_toolkit_SOURCES = tests/unit/test_occupancy_toolkit.c
tests_unit_test_occupancy_toolkit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -isystem $(CUDA_DIR)/include
tests_unit_test_occupancy_toolkit_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_place
tests_unit_test_place_SOURCES = tests/unit/test_place.c
tests_unit_test_place_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_place_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ends
tests_unit_test_ends_SOURCES = tests/unit/test_ends.c
tests_unit_test_ends_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ends_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_machine
tests_unit_test_machine_SOURCES = tests/unit/test_machine.c
tests_unit_test_machine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_machine_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_block_time
tests_unit_test_block_time_SOURCES = tests/unit/test_block_time.c
tests_unit_test_block_time_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_block_time_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test_lp
tests_unit_test_lp_SOURCES = tests/unit/test_lp.c
tests_unit_test_lp_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_lp_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

if HAVE_GLPK
check_PROGRAMS += tests/unit/test_lp_glpk
endif
tests_unit_test_lp_glpk_SOURCES = tests/unit/test_lp_glpk.c
tests_unit_test_lp_glpk_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_lp_glpk_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lglpk -lm

check_PROGRAMS += tests/unit/test_multichoice
tests_unit_test_multichoice_SOURCES = tests/unit/test_multichoice.c
tests_unit_test_multichoice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_multichoice_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_batch
tests_unit_test_batch_SOURCES = tests/unit/test_batch.c
tests_unit_test_batch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_batch_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_plan
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c
tests_unit_test_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_plan_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_contend
tests_unit_test_contend_SOURCES = tests/unit/test_contend.c
tests_unit_test_contend_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_contend_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_kriging
tests_unit_test_kriging_SOURCES = tests/unit/test_kriging.c
tests_unit_test_kriging_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kriging_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_probes
tests_unit_test_probes_SOURCES = tests/unit/test_probes.c
tests_unit_test_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_probes_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_beside
tests_unit_test_beside_SOURCES = tests/unit/test_beside.c
tests_unit_test_beside_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_beside_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_profiles
tests_unit_test_profiles_SOURCES = tests/unit/test_profiles.c
tests_unit_test_profiles_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_profiles_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_cholesky
tests_unit_test_cholesky_SOURCES = tests/unit/test_cholesky.c
tests_unit_test_cholesky_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cholesky_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/test_matching
tests_unit_test_matching_SOURCES = tests/unit/test_matching.c
tests_unit_test_matching_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_matching_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_counts
tests_unit_test_counts_SOURCES = tests/unit/test_counts.c
tests_unit_test_counts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_counts_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_agreement
tests_unit_test_agreement_SOURCES = tests/unit/test_agreement.c
tests_unit_test_agreement_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_agreement_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_company
tests_unit_test_company_SOURCES = tests/unit/test_company.c
tests_unit_test_company_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_company_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_progress
tests_unit_test_progress_SOURCES = tests/unit/test_progress.c
tests_unit_test_progress_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_progress_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_law_accuracy
tests_unit_test_law_accuracy_SOURCES = tests/unit/test_law_accuracy.c
tests_unit_test_law_accuracy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_law_accuracy_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_law
tests_unit_test_law_SOURCES = tests/unit/test_law.c
tests_unit_test_law_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_law_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_queueing
tests_unit_test_queueing_SOURCES = tests/unit/test_queueing.c
tests_unit_test_queueing_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_queueing_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_fraction
tests_unit_test_fraction_SOURCES = tests/unit/test_fraction.c
tests_unit_test_fraction_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_fraction_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_workload
tests_unit_test_workload_SOURCES = tests/unit/test_workload.c
tests_unit_test_workload_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_workload_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/fuzz/replay_workload
tests_fuzz_replay_workload_SOURCES = tests/fuzz/fuzz_workload.c tests/fuzz/replay.c tests/fuzz/fuzz.h
tests_fuzz_replay_workload_LDADD = libmodel.la libbase.la

check_PROGRAMS += tests/unit/test_kernels
tests_unit_test_kernels_SOURCES = tests/unit/test_kernels.c
tests_unit_test_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kernels_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)
