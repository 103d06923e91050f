#!/usr/bin/env bash
# heap.sh - malloc of kernels under a real broker: limits, copies, what a tenant may have, and misuse.
# Usage: from the build folder: srcdir=... tests/integ/heap.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# heap MODE: prints what the program says on its standard output
heap() {
	tenant heap "$build/tests/integ/heap" "$srcdir/tests/ptx/heap.nvcc.ptx" "$1" 2>"$dir/err" ||
		fail "$1: status $?: $(cat "$dir/err")"
}

heap_limits_say_what_kernels_have() {
	start_real_broker
	expect_equal "$(heap limits)" "at first: heap 8388608, stack 1024
set: heap 40001536, stack 5008
took 1
set too late: CUDA_ERROR_INVALID_VALUE
at last: heap 40001536, stack 5008"
	end_broker
}

# As CUDA documents: what malloc of a kernel gives is for kernels only.
heap_memory_is_none_for_copies() {
	start_real_broker
	expect_equal "$(heap copy)" "from the heap: CUDA_ERROR_INVALID_VALUE
to the heap: CUDA_ERROR_INVALID_VALUE
free: CUDA_ERROR_INVALID_VALUE
afterwards: CUDA_SUCCESS"
	end_broker
}

heap_counts_for_what_a_tenant_may_have() {
	start_real_broker '[default]' 'device_memory = 64M'
	expect_equal "$(heap quota)" "1 GiB: CUDA_ERROR_OUT_OF_MEMORY"
	expect_equal "$(heap limits | tail -n 1)" "at last: heap 40001536, stack 5008"
	end_broker
}

heap_misuse_ends_its_own_context() {
	start_real_broker
	expect_equal "$(heap foreign)" "free of what malloc has not given: CUDA_ERROR_LAUNCH_FAILED"
	expect_equal "$(heap copy | tail -n 1)" "afterwards: CUDA_SUCCESS"
	end_broker
}

run_case heap_limits_say_what_kernels_have
run_case heap_memory_is_none_for_copies
run_case heap_counts_for_what_a_tenant_may_have
run_case heap_misuse_ends_its_own_context
[ "$failures" -eq 0 ]
