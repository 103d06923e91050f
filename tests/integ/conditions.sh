#!/usr/bin/env bash
# conditions.sh - conditional nodes of graphs under a real broker on the emulated H200: each case of tests/integ/conditions gives
# the answers that NVIDIA's driver gave to the same program on an H200.
# Usage: from the build folder: srcdir=... tests/integ/conditions.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/answers.sh
. "$srcdir/tests/integ/answers.sh"

program=$build/tests/integ/conditions expected=$srcdir/tests/integ/conditions.expected

conditions_answers_as_expected() {
	all_answer_as_expected
}

conditions_refuse_what_is_no_handle() {
	start_real_broker
	expect_equal "$(tenant refused "$program" refused 2>"$dir/err")" "refused no-handle 1
refused no-handle 1
refused no-handle 1
refused no-handle 1
refused inside 1
refused next 1
refused handle 0"
	end_broker
}

conditions_have_handles_without_end() {
	start_real_broker
	expect_equal "$(tenant many "$program" many 2>"$dir/err")" "many handles 0"
	end_broker
}

conditions_end_with_their_graph() {
	start_real_broker
	expect_equal "$(tenant destroyed "$program" destroyed 2>"$dir/err")" "destroyed destroy 0
destroyed launch 1"
	end_broker
}

conditions_go_with_their_context() {
	start_real_broker
	expect_equal "$(tenant context "$program" context 2>"$dir/err")" "context destroy 0
context launch 709
context node 1"
	expect_equal "$(tenant contexts "$program" contexts 2>"$dir/err")" "contexts kibibytes 0"
	end_broker
}

conditions_leave_what_lies_there_now() {
	start_real_broker '[tenant "stale"]' 'host_memory = 128K'
	expect_equal "$(tenant stale "$program" stale 2>"$dir/err")" "stale none-left 1
stale launch 709
stale changed 0"
	end_broker
}

conditions_go_with_their_updates() {
	start_real_broker
	expect_equal "$(tenant updates "$program" updates 2>"$dir/err")" "updates kibibytes 0"
	end_broker
}

conditions_begin_in_a_capture() {
	start_real_broker
	expect_equal "$(tenant fresh "$program" fresh 2>"$dir/err")" "fresh handle 0
fresh end 0
fresh run 7"
	end_broker
}

start_endless() {
	mkfifo "$dir/says"
	tenant endless "$program" endless >"$dir/says" 2>"$dir/err" &
	endless=$!
	exec 8<"$dir/says"
	expect_equal "$(head -1 <&8)" begins
	until gsbctl ps | grep -q ' set '; do :; done # the loop turns
}

# loops_still: and others of this engine, or of the next
loops_still() {
	expect_equal "$(tenant while "$program" while 2>&1)" "$(grep '^while ' "$expected")"
}

conditions_end_with_their_tenant() {
	local endless
	start_real_broker
	start_endless
	kill -9 "$(gsbctl ps | awk '$2 == "endless" { print $3 }')"
	! wait "$endless" || fail "the program was not killed"
	await_no_tenants
	loops_still
	end_broker
}

conditions_end_with_their_engine() {
	local endless
	start_real_broker
	start_endless
	kill -9 "$(engine_pid)"
	wait "$endless" || fail "the program got no answer: $(cat "$dir/err")"
	expect_equal "$(cat <&8)" "endless launch 802
endless after 802"
	loops_still
	end_broker
}

run_case conditions_answers_as_expected
run_case conditions_refuse_what_is_no_handle
run_case conditions_have_handles_without_end
run_case conditions_end_with_their_graph
run_case conditions_go_with_their_context
run_case conditions_leave_what_lies_there_now
run_case conditions_go_with_their_updates
run_case conditions_begin_in_a_capture
run_case conditions_end_with_their_tenant
run_case conditions_end_with_their_engine
[ "$failures" -eq 0 ]
