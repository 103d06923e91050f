noinst_LTLIBRARIES += libmodel.la
libmodel_la_LIBADD = -lm
libmodel_la_SOURCES = \
	model/arch.c model/arch.h \
	model/batch.c model/batch.h \
	model/choice.c model/choice.h \
	model/contend.c model/contend.h \
	model/curve.c model/curve.h \
	model/fraction.c model/fraction.h \
	model/block_time.c model/block_time.h \
	model/kernels.c model/kernels.h \
	model/knapsack.c model/knapsack.h \
	model/lp.c model/lp.h \
	model/machine.c model/machine.h \
	model/occupancy.c model/occupancy.h \
	model/pair.c model/pair.h \
	model/place.c model/place.h \
	model/plan.c model/plan.h model/plan_work.h \
	model/stretch.c model/stretch.h \
	model/text.c model/text.h \
	model/two_stage.c

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

check_PROGRAMS += tests/unit/test_fraction
tests_unit_test_fraction_SOURCES = tests/unit/test_fraction.c
tests_unit_test_fraction_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_fraction_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_kernels
tests_unit_test_kernels_SOURCES = tests/unit/test_kernels.c
tests_unit_test_kernels_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_kernels_LDADD = libmodel.la libbase.la $(CMOCKA_LIBS)
