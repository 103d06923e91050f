#!/usr/bin/env bash
# printf.sh - what kernels say with printf and assert, as it comes out of the program under a real broker.
# Usage: from the build folder: srcdir=... tests/integ/printf.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# Of the kernel "say" of tests/kernels/print.cu, for 10, 20 and 30.
text='0:    10 a word 5.000 1400000000 %
1:    20 b word 10.000 2800000000 %
2:    30 c word 15.000 3c00000000 %
no arguments'

# printer MODE: its standard output is in $dir/out, its standard error in $dir/err.
printer() {
	tenant printer "$build/tests/integ/printer" "$srcdir/tests/ptx/print.nvcc.ptx" "$1" >"$dir/out" 2>"$dir/err" ||
		fail "$1: status $?: $(cat "$dir/out" "$dir/err")"
}

# with_broker MODE EXPECTED
with_broker() {
	start_real_broker
	printer "$1"
	expect_equal "$(cat "$dir/out")" "$2"
	expect_equal "$(cat "$dir/err")" ""
	end_broker
}

printf_comes_when_the_program_synchronises() {
	with_broker sync "host: before
$text
host: after"
}

printf_comes_at_the_end_of_a_context() {
	with_broker destroy "host: before
$text
host: after"
}

printf_of_what_nobody_waited_for_ends_with_the_program() {
	with_broker exit "host: before
host: after"
}

# The oldest is lost, and what is left is whole lines up to the last.
printf_beyond_the_buffer_loses_the_oldest() {
	local lines
	start_real_broker
	printer overflow
	expect_equal "$(head -n 2 "$dir/out")" "host: before
buffer of 8650752"
	expect_equal "$(tail -n 1 "$dir/out")" "buffer of 524288, to be set before: CUDA_ERROR_INVALID_VALUE"
	expect_equal "$(tail -n 5 "$dir/out" | head -n 4)" "$text"
	lines=$(($(wc -l <"$dir/out") - 3))
	[ "$lines" -gt 4000 ] || fail "$lines lines are left"
	[ "$lines" -lt 24000 ] || fail "nothing is lost of 24000 lines in a buffer of 512 KiB"
	end_broker
}

printf_of_a_failed_assertion_is_on_stderr() {
	start_real_broker
	printer assert
	expect_equal "$(cat "$dir/out")" "host: before
host: CUDA_ERROR_ASSERT"
	expect_match "$(cat "$dir/err")" "17.*run.*n > 2"
	end_broker
}

# $1: the isolation, of a GPU whose driver tells it on stderr of the process that asks, and lets a client of MPS go on for a moment.
expect_assertion_told() {
	real_device=cuda:0
	export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
	start_real_broker "isolation = $1"
	printer assert
	expect_equal "$(cat "$dir/out")" "host: before
host: CUDA_ERROR_ASSERT"
	expect_equal "$(grep -c "block: \[0,0,0\], thread: \[0,0,0\] Assertion .n > 2. failed" "$dir/err")" 1
	expect_equal "$(grep -c "the driver says: .*Assertion" "$dir/broker.log")" 1
	end_broker
}

printf_of_an_assertion_is_told_by_way_of_the_driver() {
	expect_assertion_told shared
}

printf_of_an_assertion_is_told_to_clients_of_mps() {
	mkdir "$dir/bin"
	install -m 0755 "$srcdir/tests/fake/nvidia-cuda-mps-control" "$dir/bin/"
	PATH=$dir/bin:$PATH expect_assertion_told mps
}

printf_of_an_assertion_is_told_in_lanes() {
	mkdir "$dir/bin"
	install -m 0755 "$srcdir/tests/fake/nvidia-cuda-mps-control" "$dir/bin/"
	PATH=$dir/bin:$PATH expect_assertion_told lanes
}

# $1: the mode. The program's user reads it once, and whoever runs the broker has it in one line.
expect_fault_told() {
	local code=CUDA_ERROR_ILLEGAL_ADDRESS
	printer "$1"
	expect_equal "$(cat "$dir/out")" "host: before
host: $code
host: $code"
	expect_equal "$(sed 's/0x[0-9a-f]*/ADDR/g' "$dir/err")" \
		"gsbroker: kernel 'stray': write of 4 bytes at ADDR, not allocated
gsbroker:     0 bytes behind the end of the 4096 bytes allocated at ADDR
gsbroker:     st.global.u32 in line 10 of its PTX (stray?[1m.cu:40)
gsbroker:     block (0,0,0), thread (0,0,0)"
	expect_equal "$(grep -c "failed with $code: kernel 'stray': write of 4 bytes at 0x.*thread (0,0,0); its later" \
		"$dir/broker.log")" 1
}

printf_of_a_fault_is_on_stderr_once() {
	start_real_broker
	expect_fault_told fault
	end_broker
}

# Real time: the kernel ends although nobody waits for it.
printf_of_a_fault_comes_with_the_first_call_that_fails() {
	start_real_broker 'clock = real'
	expect_fault_told late
	end_broker
}

run_case printf_comes_when_the_program_synchronises
run_case printf_comes_at_the_end_of_a_context
run_case printf_of_what_nobody_waited_for_ends_with_the_program
run_case printf_beyond_the_buffer_loses_the_oldest
run_case printf_of_a_failed_assertion_is_on_stderr
run_case printf_of_an_assertion_is_told_by_way_of_the_driver
run_case printf_of_an_assertion_is_told_to_clients_of_mps
run_case printf_of_an_assertion_is_told_in_lanes
run_case printf_of_a_fault_is_on_stderr_once
run_case printf_of_a_fault_comes_with_the_first_call_that_fails
[ "$failures" -eq 0 ]
