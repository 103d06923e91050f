# tests/runtime: ordinary programs of the CUDA runtime, made by nvcc and run by tests/integ/runtime.sh. Where there is no
# nvcc they are not made, and the script skips them.
runtime_programs = array_errors arrays callbacks calls clusters conditions cooperative device errors everyday graph_memory graphs launch_ex linked linked_ptx lock_heap locks managed managed_linked managed_variables mipmaps \
	occupancy overlap parts pools print processes queries rects \
	reduce streams surfaces symbols tensors textures threads threads_pt volumes
native_programs = $(filter-out lock_heap,$(runtime_programs)) print_code
EXTRA_DIST += tests/runtime/check.h tests/runtime/array_errors.cu tests/runtime/arrays.cu tests/runtime/callbacks.cu tests/runtime/calls.cu \
	tests/runtime/clusters.cu tests/runtime/conditions.cu tests/runtime/cooperative.cu tests/runtime/device.cu \
	tests/runtime/errors.cu tests/runtime/everyday.cu tests/runtime/graph_memory.cu tests/runtime/graphs.cu tests/runtime/launch_ex.cu tests/runtime/linked.cuh tests/runtime/linked.cu \
	tests/runtime/linked_more.cu tests/runtime/linked_ptx.cu tests/runtime/lock_heap.cu tests/runtime/locks.cu tests/runtime/managed.cu tests/runtime/managed_linked.cu \
	tests/runtime/managed_linked_more.cu tests/runtime/managed_variables.cu tests/runtime/mipmaps.cu tests/runtime/occupancy.cu tests/runtime/overlap.cu \
	tests/runtime/parts.cu tests/runtime/parts_more.cu tests/runtime/pools.cu tests/runtime/print.cu tests/runtime/processes.cu tests/runtime/queries.cu \
	tests/runtime/rects.cu tests/runtime/reduce.cu tests/runtime/streams.cu tests/runtime/symbols.cu \
	tests/runtime/surfaces.cu tests/runtime/tensors.cu tests/runtime/textures.cu tests/runtime/threads.cu tests/runtime/threads_pt.cu \
	tests/runtime/volumes.cu tests/runtime/static_library.cc
check_SCRIPTS += tests/integ/runtime.sh
EXTRA_DIST += tests/integ/runtime.sh

if HAVE_CUDA
check_DATA += $(runtime_programs:%=tests/runtime/%) tests/runtime/static tests/runtime/static_library \
	tests/runtime/linked_machine_code tests/runtime/linked_newer_ptx tests/runtime/print_both
endif
CLEANFILES += $(runtime_programs:%=tests/runtime/%) $(native_programs:%=tests/runtime/native/%) tests/runtime/static \
	tests/runtime/static_library tests/runtime/static_library.so tests/runtime/linked_machine_code tests/runtime/linked_newer_ptx tests/runtime/print_both

tests/runtime/parts tests/runtime/native/parts: runtime_more = $(srcdir)/tests/runtime/parts_more.cu
linked_programs = tests/runtime/linked tests/runtime/linked_ptx tests/runtime/native/linked tests/runtime/native/linked_ptx
$(linked_programs): runtime_more = $(srcdir)/tests/runtime/linked_more.cu -rdc=true $(linked_for)
$(linked_programs): $(srcdir)/tests/runtime/linked_more.cu $(srcdir)/tests/runtime/linked.cuh
tests/runtime/linked_ptx tests/runtime/native/linked_ptx: linked_for = -gencode arch=compute_75,code=compute_75
tests/runtime/calls tests/runtime/native/calls tests/runtime/lock_heap tests/runtime/locks tests/runtime/native/locks: runtime_more = -G -Xptxas -suppress-stack-size-warning
managed_linked_programs = tests/runtime/managed_linked tests/runtime/native/managed_linked
$(managed_linked_programs): runtime_more = $(srcdir)/tests/runtime/managed_linked_more.cu -rdc=true
$(managed_linked_programs): $(srcdir)/tests/runtime/managed_linked_more.cu
tests/runtime/managed_variables tests/runtime/native/managed_variables: runtime_more = -L$(CUDA_DIR)/lib64/stubs -lcuda
tests/runtime/device tests/runtime/native/device: runtime_more = -L$(CUDA_DIR)/lib64/stubs -lcuda
tests/runtime/clusters tests/runtime/native/clusters tests/runtime/tensors tests/runtime/native/tensors: runtime_more = -gencode arch=compute_90,code=compute_90
tests/runtime/threads_pt tests/runtime/native/threads_pt: runtime_more = --default-stream per-thread
runtime_nvcc = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -o $@ $< $(runtime_more) -cudart

tests/runtime/%: $(srcdir)/tests/runtime/%.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) shared
# NVIDIA's runtime inside the program: refused on an emulated device.
tests/runtime/static: $(srcdir)/tests/runtime/reduce.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) static
# The same inside a library, as of cuBLAS.
tests/runtime/static_library: $(srcdir)/tests/runtime/reduce.cu $(srcdir)/tests/runtime/static_library.cc \
		$(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -Dmain=program -shared -Xcompiler -fPIC -Xlinker -soname=$(@F).so \
		-cudart static -o $@.so $< && g++ -o $@ $(srcdir)/tests/runtime/static_library.cc $@.so -Wl,-rpath,'$$ORIGIN'
# Without PTX, which is what is linked here.
tests/runtime/linked_machine_code: $(srcdir)/tests/runtime/linked.cu $(srcdir)/tests/runtime/linked_more.cu \
		$(srcdir)/tests/runtime/linked.cuh $(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -o $@ $< $(srcdir)/tests/runtime/linked_more.cu -rdc=true \
		-gencode arch=compute_90,code=sm_90 -cudart shared
# With the machine code of an H200, and PTX of what came later: as nvcc -arch=all-major has it.
tests/runtime/linked_newer_ptx: $(srcdir)/tests/runtime/linked.cu $(srcdir)/tests/runtime/linked_more.cu \
		$(srcdir)/tests/runtime/linked.cuh $(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -o $@ $< $(srcdir)/tests/runtime/linked_more.cu -rdc=true \
		-gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=compute_100 -cudart shared
# With PTX and the machine code of an H200.
tests/runtime/print_both: $(srcdir)/tests/runtime/print.cu $(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -o $@ $< -arch=sm_90 -cudart shared
# All of them like that, for a machine with a GPU (make gpu-bundle): what they expect must hold there, too.
tests/runtime/native/%: $(srcdir)/tests/runtime/%.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) static
# With the shared runtime, of which the bundle has one anyhow, and has to be small.
tests/runtime/native/everyday: $(srcdir)/tests/runtime/everyday.cu $(srcdir)/tests/runtime/check.h
	$(runtime_nvcc) shared
# Without PTX: what it prints comes from NVIDIA's printf. With the shared runtime as well.
tests/runtime/native/print_code: $(srcdir)/tests/runtime/print.cu $(srcdir)/tests/runtime/check.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ccbin g++ -O1 -o $@ $< -gencode arch=compute_90,code=sm_90 -cudart shared
.PHONY: runtime-native
runtime-native: $(native_programs:%=tests/runtime/native/%)
if HAVE_CUDA
gpu_bundle_needs = runtime-native
endif
