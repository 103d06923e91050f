# tests/algorithms: CUB and thrust, made by nvcc for two targets and run by tests/integ/algorithms.sh. nvcc takes its time
# for them, so that they are made when that script is about to run, and only then.
algorithm_programs = tests/algorithms/cub_75 tests/algorithms/cub_90 tests/algorithms/thrust_75 tests/algorithms/thrust_90
EXTRA_DIST += tests/algorithms/check.cuh tests/algorithms/cub.cu tests/algorithms/thrust.cu
check_SCRIPTS += tests/integ/algorithms.sh
EXTRA_DIST += tests/integ/algorithms.sh
CLEANFILES += $(algorithm_programs)

# By a variable, because automake takes a rule with that name in it for one in place of its own.
algorithm_log = tests/integ/algorithms.sh.log
classify_log = tests/integ/gsb_ptx.sh.log
resize_log = tests/integ/resize.sh.log
if HAVE_CUDA
$(algorithm_log): $(algorithm_programs)
$(classify_log): $(algorithm_programs) $(runtime_programs:%=tests/runtime/%)
$(resize_log): $(algorithm_programs) $(runtime_programs:%=tests/runtime/%)
endif
algorithm_nvcc = $(AM_V_GEN)$(MKDIR_P) tests/algorithms && \
	$(NVCC) -ccbin g++ -std=c++17 --extended-lambda -w -cudart shared -o $@

tests/algorithms/%_75: $(srcdir)/tests/algorithms/%.cu $(srcdir)/tests/algorithms/check.cuh
	$(algorithm_nvcc) -gencode arch=compute_75,code=compute_75 $<
tests/algorithms/%_90: $(srcdir)/tests/algorithms/%.cu $(srcdir)/tests/algorithms/check.cuh
	$(algorithm_nvcc) -gencode arch=compute_90,code=compute_90 $<
