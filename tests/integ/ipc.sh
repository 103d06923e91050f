#!/usr/bin/env bash
# ipc.sh - memory of one process in another one under a real broker on the emulated H200: each case of tests/integ/ipc gives the
# answers that NVIDIA's driver gave to the same program on an H100.
# Usage: from the build folder: srcdir=... tests/integ/ipc.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/answers.sh
. "$srcdir/tests/integ/answers.sh"

program=$build/tests/integ/ipc expected=$srcdir/tests/integ/ipc.expected

# Two that wait for each other by other ways than the device have virtual time stand still for a moment each time.
shared_memory_answers_as_expected() {
	all_answer_as_expected 'clock = real'
}

# What is refused there is no matter of the isolation.
shared_memory_answers_without_a_word() {
	start_real_broker 'clock = real'
	tenant events "$program" events >/dev/null 2>"$dir/err"
	expect_equal "$(cat "$dir/err")" ""
	await_no_tenants
	end_broker
}

shared_memory_is_in_one_account() {
	start_real_broker '[tenant "quota"]' 'device_memory = 32M'
	expect_equal "$(tenant quota "$program" quota 2>"$dir/err")" "quota A more 2
quota B opened 0
quota A freed 0
quota B inherited 2
quota B close 0
quota B closed 0"
	await_no_tenants
	end_broker
}

# What is left when all have gone is as much as there was before.
shared_memory_of_a_killed_tenant_is_the_others() {
	start_real_broker
	expect_equal "$(tenant killed "$program" killed 2>"$dir/err")" "$(grep '^exit ' "$expected" | sed 's/^exit/killed/')
killed B killed 9"
	await_no_tenants
	end_broker
}

shared_memory_wants_its_secret() {
	start_real_broker
	expect_equal "$(tenant strange "$program" strange 2>"$dir/err")" "strange B opened 0
strange B good 0
strange A word 5"
	await_no_tenants
	end_broker
}

shared_memory_bears_a_program_that_closes_everything() {
	start_real_broker
	expect_equal "$(tenant closed "$program" closed 2>"$dir/err")" "closed A create 0
closed A still-open 1
closed A release 0
closed A import 1"
	await_no_tenants
	end_broker
}

# By a descriptor, and by a handle. With isolation = process each has an engine of its own, though the user is the same.
shared_memory_of_another_engine_is_refused_with_the_reason() {
	local way
	for way in descriptor allocation; do
		start_real_broker 'isolation = process' 'clock = real'
		status_of tenant apart timeout "$LIMIT_S" "$program" $way
		expect_match "$output" "memory of a process that another engine serves is not opened .* isolation = shared"
		await_no_tenants
		end_broker
		rm "$dir/ready"
	done
}

run_case shared_memory_answers_as_expected
run_case shared_memory_answers_without_a_word
run_case shared_memory_is_in_one_account
run_case shared_memory_of_a_killed_tenant_is_the_others
run_case shared_memory_wants_its_secret
run_case shared_memory_bears_a_program_that_closes_everything
run_case shared_memory_of_another_engine_is_refused_with_the_reason
[ "$failures" -eq 0 ]
