#!/usr/bin/env bash
# virtual.sh - addresses and memory apart from each other under a real broker on the emulated H200: each case of
# tests/integ/virtual gives the answers that NVIDIA's driver gave to the same program on an H100; those of memory of the host (host-*) on an H200.
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

# ---- memory of the host ----

# host_answers: of the cases that end no context, and again and again under a limit.
host_answers() {
	local name
	for name in host host-copies host-grow host-alias host-pointer; do
		answers "$name"
	done
	expect_equal "$(tenant seam "$program" host-seam 2>"$dir/err")" "host-seam fill 0
host-seam filled 1"
	expect_equal "$(tenant unsaid "$program" host-unsaid 2>"$dir/err")" "host-unsaid access 0
host-unsaid word 7"
	expect_equal "$(tenant small "$program" host-soak 2>"$dir/err")" "host-soak wrong 0
host-soak all-is-back 1"
	await_no_tenants
}

small=('[tenant "small"]' 'host_memory = 16M')

# The driver of tests/fake: what is registered when, and on which thread.
host_memory_answers_as_expected_on_a_gpu() {
	export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
	real_device=cuda:0
	start_real_broker "${small[@]}"
	host_answers
	end_broker
}

host_memory_answers_as_expected_in_lanes() {
	start_real_broker 'isolation = lanes' 'clock = real' "${small[@]}"
	host_answers
	end_broker
}

# Lanes of a GPU are clients of MPS, here of a control program that only notes what it is told.
host_memory_answers_as_expected_in_lanes_of_a_gpu() {
	export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
	real_device=cuda:0
	mkdir "$dir/bin"
	install -m 0755 "$srcdir/tests/fake/nvidia-cuda-mps-control" "$dir/bin/"
	export PATH=$dir/bin:$PATH
	start_real_broker 'isolation = lanes' "${small[@]}"
	host_answers
	end_broker
}

host_memory_counts_as_pinned_memory() {
	start_real_broker "${small[@]}"
	expect_equal "$(tenant small "$program" host-quota 2>"$dir/err")" "host-quota too-much 2
host-quota rest 2
host-quota pinned 2
host-quota mapped-counts 2
host-quota unmapped-does-not 0
host-quota device-has-its-own 0"
	expect_equal "$(grep -c "there is no room for $((9 * 2097152)) bytes of pinned.*host_memory in gsbroker.conf" "$dir/err")" 1
	expect_equal "$(tenant small "$program" host-soak 2>"$dir/err")" "host-soak wrong 0
host-soak all-is-back 1"
	end_broker
}

host_memory_is_refused_what_it_cannot_do() {
	start_real_broker
	expect_equal "$(tenant refused "$program" host-refused 2>"$dir/err")" "host-refused device-for-the-host 801
host-refused device-asked 801
host-refused exportable 0
host-refused export 801
host-refused register 1
host-refused no-node 101"
	expect_match "$(cat "$dir/err")" "cuMemExportToShareableHandle of memory of the host is not supported"
	end_broker
}

host_memory_is_the_program_s_where_the_device_may_not_reach_it() {
	start_real_broker
	expect_equal "$(tenant alone "$program" host-alone 2>"$dir/err")" "host-alone before 0
host-alone to 0
host-alone from 0
host-alone word 33
host-alone as-the-device-s 1
host-alone take-away 0
host-alone readable -1
host-alone read 0
host-alone readable 1
host-alone writable -1
host-alone unmapped -1"
	end_broker
}

# killed_with_host_memory: it goes from the engine's addresses, too.
killed_with_host_memory() {
	local held none
	tenant some "$program" host >"$dir/some" 2>&1 || fail "$(cat "$dir/some")"
	await_no_tenants
	none=$(holdings)
	mkfifo "$dir/held"
	ASAN_OPTIONS=$tenant_asan GSB_TENANT=hold GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$program" host-hold >"$dir/held" 2>"$dir/hold.err" &
	held=$!
	read -r _ <"$dir/held" || fail "it does not hold: $(cat "$dir/hold.err")"
	kill -KILL "$held"
	await_no_tenants
	await_holdings "$none"
}

# await_holdings WHAT: a GPU's driver is told by a helper. Each question is an answered message.
await_holdings() {
	local i
	for i in $(seq 3000); do
		[ "$(holdings)" = "$1" ] && return
		gsbctl ps >/dev/null
	done
	fail "$(holdings) after $i questions, and not $1"
}

host_memory_of_a_killed_tenant_goes() {
	start_real_broker
	killed_with_host_memory
	end_broker
}

host_memory_of_a_killed_tenant_goes_from_a_gpu() {
	export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
	real_device=cuda:0
	start_real_broker
	killed_with_host_memory
	end_broker
}

run_case virtual_memory_answers_as_expected
run_case virtual_faults_are_the_guilty_tenants
run_case virtual_memory_counts_when_it_is_made
run_case virtual_memory_is_zero_when_it_is_made
run_case virtual_memory_is_the_process_s
run_case virtual_memory_is_not_mapped_over_the_end
run_case virtual_memory_of_a_killed_tenant_is_the_others
run_case host_memory_answers_as_expected_on_a_gpu
run_case host_memory_answers_as_expected_in_lanes
run_case host_memory_answers_as_expected_in_lanes_of_a_gpu
run_case host_memory_counts_as_pinned_memory
run_case host_memory_is_refused_what_it_cannot_do
run_case host_memory_is_the_program_s_where_the_device_may_not_reach_it
run_case host_memory_of_a_killed_tenant_goes
run_case host_memory_of_a_killed_tenant_goes_from_a_gpu
[ "$failures" -eq 0 ]
