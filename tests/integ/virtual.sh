#!/usr/bin/env bash
# virtual.sh - addresses and memory apart from each other under a real broker on the emulated H200: each case of
# tests/integ/virtual gives the answers that NVIDIA's driver gave to the same program on an H100.
# Usage: from the build folder: srcdir=... tests/integ/virtual.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/answers.sh
. "$srcdir/tests/integ/answers.sh"

program=$build/tests/integ/virtual expected=$srcdir/tests/integ/virtual.expected

virtual_memory_answers_as_expected() {
	all_answer_as_expected
}

# A fault is of who made it: the other goes on, and has the same addresses' neighbours.
virtual_faults_are_the_guilty_tenants() {
	local turns
	start_real_broker
	tenant turns "$program" segment >"$dir/segment" 2>&1 &
	turns=$!
	for _ in 1 2 3; do
		answers fault-unmapped
		answers fault-no-access
	done
	wait "$turns" || fail "the other: $(cat "$dir/segment")"
	expect_equal "$(grep -c wrong "$dir/segment")" 0
	await_no_tenants
	end_broker
}

virtual_memory_counts_when_it_is_made() {
	start_real_broker '[tenant "quota"]' 'device_memory = 32M'
	expect_equal "$(tenant quota "$program" quota 2>"$dir/err")" "quota too-much 2
quota rest 2
quota alias-counts-once 0
quota alloc 2
quota alloc-then 0
quota mapped-counts 2
quota unmapped-does-not 0"
	end_broker
}

virtual_memory_is_zero_when_it_is_made() {
	start_real_broker
	expect_equal "$(tenant zero "$program" zero 2>"$dir/err")" "zero fresh 0
zero fresh 0
zero fresh 0
zero fresh 0"
	end_broker
}

virtual_memory_is_the_process_s() {
	start_real_broker
	expect_equal "$(tenant context "$program" context 2>"$dir/err")" "context kept 5
context in-another 5
context unmap 0"
	end_broker
}

virtual_memory_is_not_mapped_over_the_end() {
	start_real_broker
	expect_equal "$(tenant over "$program" over-the-end 2>"$dir/err")" "over-the-end map 1
over-the-end unmap-nowhere 1
over-the-end free 0"
	end_broker
}

# free_units: of the device, as another tenant is told.
free_units() {
	tenant free "$program" free 2>"$dir/err" | sed 's/free units //'
}

virtual_memory_of_a_killed_tenant_is_the_others() {
	local before held
	start_real_broker 'memory = 1G'
	before=$(free_units)
	mkfifo "$dir/held"
	ASAN_OPTIONS=$tenant_asan GSB_TENANT=hold GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$program" hold >"$dir/held" 2>"$dir/hold.err" &
	held=$!
	read -r _ <"$dir/held" || fail "it does not hold: $(cat "$dir/hold.err")"
	expect_equal "$(free_units)" $((before - 8))
	kill -KILL "$held"
	await_no_tenants
	expect_equal "$(free_units)" "$before"
	end_broker
}

run_case virtual_memory_answers_as_expected
run_case virtual_faults_are_the_guilty_tenants
run_case virtual_memory_counts_when_it_is_made
run_case virtual_memory_is_zero_when_it_is_made
run_case virtual_memory_is_the_process_s
run_case virtual_memory_is_not_mapped_over_the_end
run_case virtual_memory_of_a_killed_tenant_is_the_others
[ "$failures" -eq 0 ]
