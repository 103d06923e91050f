#!/usr/bin/env bash
# rules.sh - the programs of tests/rules under a real broker on the emulated H200, each a case, and those of contexts and faults on
# device/cuda with the driver of tests/fake: they say what they said natively on a GPU (rules.expected), but for what
# tests/rules/differences allows.
# Usage: from the build folder: srcdir=... tests/rules/rules.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

program=$build/tests/rules/rules

# says PROGRAM WHERE: as it should.
says() {
	local status=0
	tenant "$1" timeout "$LIMIT_S" "$program" "$1" >"$dir/got" 2>"$dir/err" || status=$?
	[ "$status" -eq 0 ] || echo "$1.ended = $status" >>"$dir/got"
	grep "^$1\\." "$srcdir/tests/rules/rules.expected" >"$dir/expected" || true
	"$srcdir/tests/rules/compare" "$dir/expected" "$dir/got" "$2" || { cat "$dir/err" && false; }
}

# One broker serves them all, and is none the worse. Each is a case; this is the case of the broker.
programs_leave_the_broker_as_it_was() {
	local name status=0
	start_real_broker
	for name in $("$program" --list); do
		is_wanted "$name" || continue
		echo "[ RUN      ] $name"
		if says "$name" emu; then
			echo "[       OK ] $name"
		else
			echo "[  FAILED  ] $name"
			status=1
		fi
	done
	await_no_tenants
	end_broker
	return $status
}

# There a fault ends the engine, and what the program asks then the library answers alone.
contexts_and_faults_of_a_gpu_are_told_as_natively() {
	local name
	export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
	real_device=cuda:0
	start_real_broker 'isolation = process'
	for name in $("$program" --list | grep -E '^(fault|goes_on|primary)'); do
		says "$name" gpu || fail "$name"
	done
	await_no_tenants
	end_broker
}

GSB_CASES=${GSB_CASES:+$GSB_CASES programs_leave_the_broker_as_it_was}
run_case contexts_and_faults_of_a_gpu_are_told_as_natively
run_case programs_leave_the_broker_as_it_was
[ "$failures" -eq 0 ]
