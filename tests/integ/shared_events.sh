#!/usr/bin/env bash
# shared_events.sh - two programs under a real broker on the emulated H200 that have the same events (cuIpcGetEventHandle).
# Usage: from the build folder: srcdir=... tests/integ/shared_events.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

program=$build/tests/integ/shared_events

# both MODE [CONF LINE...]: the two programs, under a broker of their own.
both() {
	local mode=$1
	shift
	start_real_broker "$@"
	tenant "$mode" timeout "$LIMIT_S" "$program" "$mode" >"$dir/out" 2>"$dir/err" || fail "$mode: status $?: $(cat "$dir/out" "$dir/err")"
	await_no_tenants
	end_broker
}

shared_events_order_the_work_of_both() {
	both rounds
}

shared_event_that_both_record_is_the_last_one_s() {
	both one-event
}

shared_event_is_asked_and_waited_for() {
	both ask
}

shared_event_outlives_its_maker_s_handle() {
	both destroyed
}

shared_events_are_in_graphs() {
	both captured
}

shared_events_are_the_runtime_s() {
	both runtime
}

shared_events_have_the_driver_s_errors() {
	both errors
}

shared_event_of_a_killed_program_is_complete() {
	local waits killed
	start_real_broker
	mkfifo "$dir/out"
	tenant killed "$program" killed >"$dir/out" 2>"$dir/err" &
	waits=$!
	exec {out_fd}<"$dir/out"
	read -r -t "$LIMIT_S" killed <&"$out_fd" || fail "no process: $(cat "$dir/err")"
	read -r -t "$LIMIT_S" line <&"$out_fd" || fail "it does not wait: $(cat "$dir/err")"
	expect_equal "$line" waiting
	kill -KILL "$killed"
	wait "$waits" || fail "the other: status $?: $(cat "$dir/err")"
	await_no_tenants
	end_broker
}

# Another engine's, though the user is the same: each has its own with isolation = process.
shared_event_of_another_engine_is_refused_with_the_reason() {
	start_real_broker 'isolation = process'
	status_of tenant apart timeout "$LIMIT_S" "$program" ask
	expect_match "$output" "^line [0-9]*: 205$"
	expect_match "$output" "an event of a process that another engine serves is not opened .* isolation = shared"
	expect_match "$(cat "$dir/broker.log")" "was handed an event of another engine .* isolation = shared"
	await_no_tenants
	end_broker
}

run_case shared_events_order_the_work_of_both
run_case shared_event_that_both_record_is_the_last_one_s
run_case shared_event_is_asked_and_waited_for
run_case shared_event_outlives_its_maker_s_handle
run_case shared_events_are_in_graphs
run_case shared_events_are_the_runtime_s
run_case shared_events_have_the_driver_s_errors
run_case shared_event_of_a_killed_program_is_complete
run_case shared_event_of_another_engine_is_refused_with_the_reason
[ "$failures" -eq 0 ]
