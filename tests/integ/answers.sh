# answers.sh - programs of answers.h beside what is expected of them. Sourced after real.sh, never run.
#
# $program is one, $expected the file with the answers.
# shellcheck shell=bash
# shellcheck disable=SC2154 # program, expected: of who sources this; dir: lib.sh

# answers CASE: of the running test's program, beside what is expected of it.
answers() {
	local got
	got=$(tenant "$1" "$program" "$1" 2>"$dir/err") || fail "$1: status $?: $got $(cat "$dir/err")"
	expect_equal "$got" "$(grep "^$1 " "$expected")"
}

# all_answer_as_expected [CONF LINE...]
# shellcheck disable=SC2120 # the lines are optional
all_answer_as_expected() {
	local name
	start_real_broker "$@"
	for name in $("$program" --list); do
		answers "$name"
	done
	await_no_tenants
	end_broker
}
