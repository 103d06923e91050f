# tests/runtime: ordinary programs of the CUDA runtime, made by nvcc and run by tests/integ/runtime.sh. Where there is no
# nvcc they are not made, and the script skips them.
runtime_programs = callbacks cooperative device errors launch_ex occupancy overlap parts pools print rects reduce streams \
	symbols threads threads_pt
EXTRA_DIST += tests/runtime/check.h tests/runtime/callbacks.cu tests/runtime/cooperative.cu tests/runtime/device.cu \
	tests/runtime/errors.cu tests/runtime/launch_ex.cu tests/runtime/occupancy.cu tests/runtime/overlap.cu \
	tests/runtime/parts.cu tests/runtime/parts_more.cu tests/runtime/pools.cu tests/runtime/print.cu \
	tests/runtime/rects.cu tests/runtime/reduce.cu tests/runtime/streams.cu tests/runtime/symbols.cu \
	tests/runtime/threads.cu
check_SCRIPTS += tests/integ/runtime.sh
EXTRA_DIST += tests/integ/runtime.sh

if HAVE_CUDA
check_DATA += $(runtime_programs:%=tests/runtime/%) tests/runtime/static
endif
CLEANFILES += $(runtime_programs:%=tests/runtime/%) tests/runtime/static
runtime_nvcc = $(AM_V_GEN)$(MKDIR_P) tests/runtime && $(NVCC) -ccbin g++ -O1 -cudart shared -o $@

tests/runtime/%: $(srcdir)/tests/runtime/%.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) $<
tests/runtime/parts: $(srcdir)/tests/runtime/parts.cu $(srcdir)/tests/runtime/parts_more.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) $< $(srcdir)/tests/runtime/parts_more.cu
tests/runtime/device: $(srcdir)/tests/runtime/device.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) $< -L$(CUDA_DIR)/lib64/stubs -lcuda
tests/runtime/threads_pt: $(srcdir)/tests/runtime/threads.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) --default-stream per-thread $<
# NVIDIA's runtime inside the program.
tests/runtime/static: $(srcdir)/tests/runtime/reduce.cu $(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) tests/runtime && $(NVCC) -ccbin g++ -O1 -cudart static -o $@ $<
