#!/usr/bin/env bash
# runtime.sh - programs of the CUDA runtime under gsbrun on the emulated H200: those of tests/runtime, made by nvcc with
# -cudart shared, each of which checks its own results; and one that has NVIDIA's runtime inside, which is refused.
# Usage: from the build folder: srcdir=... tests/integ/runtime.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

programs="array_errors arrays callbacks calls clusters conditions cooperative device everyday graph_memory graphs launch_ex linked linked_ptx lock_heap locks managed managed_linked managed_variables mipmaps occupancy overlap parts pools queries rects reduce
	streams surfaces symbols tensors textures threads threads_pt volumes"

# run_program NAME: its output is in $output; it must end with 0.
run_program() {
	start_real_broker
	status=0
	output=$(timeout "$LIMIT_S" env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- \
		"$build/tests/runtime/$1" 2>"$dir/err") || status=$?
	[ "$status" -eq 0 ] || fail "$1 ended with $status: $output $(cat "$dir/err")"
	end_broker
}

# A program with a case of its own, by its name.
for name in $programs; do
	eval "runtime_$name() { run_program $name; expect_equal \"\$(cat \"\$dir/err\")\" ''; }"
done

# Processes that wait for each other by memory of their own: virtual time would stand still for a moment each time.
runtime_processes() {
	start_real_broker 'clock = real'
	expect_equal "$(timeout "$LIMIT_S" env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- \
		"$build/tests/runtime/processes" 2>&1)" "processes: 0 failed, 0 words wrong
pool: 1007"
	end_broker
}

runtime_errors() {
	run_program errors
	expect_match "$(cat "$dir/broker.log")" "kernel '_Z5writePii': write of 4 bytes at 0x10, not allocated"
}

# Each has its own, in the same engine at the same time.
runtime_managed_variables_of_two_programs() {
	local i pids=() pid
	start_real_broker
	for i in 1 2; do
		timeout "$LIMIT_S" env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- \
			"$build/tests/runtime/managed_variables" >"$dir/out.$i" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "one ended with $?: $(cat "$dir"/out.*)"
	done
	end_broker
}

# Through a driver, which gets none of them: they lie where the program sees them, at the same addresses.
runtime_managed_variables_through_a_driver() {
	local name
	for name in managed_variables managed_linked; do
		status_of env ASAN_OPTIONS="$tenant_asan" GSB_REAL_LIBCUDA="$build/tests/fake/libcuda.so" \
			LD_LIBRARY_PATH="$build/cudart/lib" "$build/tools/gsbrun" --device cuda:0 -- "$build/tests/runtime/$name"
		expect_equal "$output" ''
		expect_equal "$status" 0
	done
}

printed() {
	local i
	for i in 0 1 2; do
		printf 'thread 0 of block 0 says %d.00 hello\nthread 1 of block 0 says %d.25 hello\nhost %d\n' "$i" "$i" "$i"
	done
}

runtime_print() {
	run_program print
	expect_equal "$output" "$(printed)"
}

# Through a driver, which would print into the engine: the program gets it all the same, also when it has machine code.
runtime_print_through_a_driver() {
	local name
	for name in print print_both; do
		status_of env ASAN_OPTIONS="$tenant_asan" GSB_REAL_LIBCUDA="$build/tests/fake/libcuda.so" \
			LD_LIBRARY_PATH="$build/cudart/lib" "$build/tools/gsbrun" --device cuda:0 -- "$build/tests/runtime/$name"
		expect_equal "$output" "$(printed)"
		expect_equal "$status" 0
	done
}

runtime_print_before_a_fault_of_a_driver() {
	status_of env ASAN_OPTIONS="$tenant_asan" GSB_REAL_LIBCUDA="$build/tests/fake/libcuda.so" \
		LD_LIBRARY_PATH="$build/cudart/lib" "$build/tools/gsbrun" --device cuda:0 -- "$build/tests/runtime/print" fault
	expect_match "$output" '^before the fault$'
	expect_match "$output" 'the engine ends'
	expect_equal "$status" 0
}

runtime_inside_a_program_is_refused_with_the_remedy() {
	start_real_broker
	status_of "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/runtime/static"
	expect_equal "$status" 1
	expect_equal "$(grep -c '^gsbroker' <<<"$output")" 1
	expect_match "$output" "runtime: $build/tests/runtime/static has NVIDIA's CUDA runtime linked in"
	expect_match "$output" "link it with -cudart shared"
	end_broker
}

# Nobody but NVIDIA can link cuBLAS with another.
runtime_inside_a_library_is_refused_with_the_remedy() {
	start_real_broker
	status_of "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/runtime/static_library"
	expect_equal "$status" 1
	expect_equal "$(grep -c '^gsbroker' <<<"$output")" 1
	expect_match "$output" "runtime: $build/tests/runtime/static_library.so has NVIDIA's CUDA runtime linked in"
	expect_match "$output" "do without a library of NVIDIA's .cuBLAS and its like., link one of your own with -cudart shared"
	end_broker
}

runtime_linked_without_ptx_is_refused_with_the_remedy() {
	start_real_broker
	status_of "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/runtime/linked_machine_code"
	expect_equal "$status" 1
	expect_match "$output" 'cudaErrorNoKernelImageForDevice'
	expect_equal "$(grep -c '^gsbroker: device code of this program is not loaded: ' <<<"$output")" 1
	expect_match "$output" 'no PTX for compute capability 9.0 .it has sm_90 cubin.: compile with -gencode'
	end_broker
}

# The program is told which it is. All else is the same, because our runtime loads code at its first use either way, and code that cannot be
# loaded is told there, behind the first launch, and not at the start, as CUDA documents it of eager loading.
runtime_code_is_loaded_at_its_first_use_eagerly_as_well() {
	local name told=''
	local -x CUDA_MODULE_LOADING
	for CUDA_MODULE_LOADING in EAGER LAZY; do
		for name in device everyday linked managed_variables; do
			run_program $name
			expect_equal "$(cat "$dir/err")" ''
			rm "$dir/ready"
		done
		start_real_broker
		status_of "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/runtime/linked_machine_code"
		expect_equal "$status" 1
		expect_match "$output" 'cudaGetLastError.*: cudaErrorNoKernelImageForDevice'
		expect_equal "${told:=$output}" "$output"
		end_broker
		rm "$dir/ready"
	done
}

runtime_linked_with_ptx_of_a_newer_gpu_beside_machine_code() {
	run_program linked_newer_ptx
	expect_equal "$(cat "$dir/err")" ''
}

# The interface alone, of both versions: made without nvcc.
runtime_of_each_version_by_its_interface() {
	local version
	for version in 12 13; do
		start_real_broker
		status=0
		env ASAN_OPTIONS="$tenant_asan" timeout "$LIMIT_S" "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/integ/rt" \
			"$version" 2>"$dir/err" || status=$?
		[ "$status" -eq 0 ] || fail "rt $version ended with $status: $(cat "$dir/err")"
		expect_equal "$(grep -c '^gsbroker: cudaDestroyExternalMemory is not carried' "$dir/err")" 1
		end_broker
		rm "$dir/ready"
	done
}

if [ -x "$build/tests/integ/rt" ]; then
	run_case runtime_of_each_version_by_its_interface
fi
names=$(for name in $programs errors processes managed_variables_of_two_programs managed_variables_through_a_driver print print_through_a_driver print_before_a_fault_of_a_driver; do echo "runtime_$name"; done)
for name in $names runtime_inside_a_program_is_refused_with_the_remedy runtime_inside_a_library_is_refused_with_the_remedy \
	runtime_linked_without_ptx_is_refused_with_the_remedy runtime_linked_with_ptx_of_a_newer_gpu_beside_machine_code \
	runtime_code_is_loaded_at_its_first_use_eagerly_as_well; do
	if [ -x "$build/tests/runtime/static" ]; then
		run_case "$name"
	else
		skip_case "$name"
	fi
done
[ "$failures" -eq 0 ]
