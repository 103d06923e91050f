#!/usr/bin/env bash
# policy_path.sh - how many instructions a decision of coreside takes, counted by callgrind: with 16 ready works and 8 that run, and
# with 128. The budgets of 50 and 200 us (doc/design.md §7) are held as instructions, at one a cycle of 3 GHz.
# Usage: from the build folder: srcdir=... tests/integ/policy_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

VIEWS=300

# per_decision READY RUNNING: in $instructions.
per_decision() {
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=gsb_coreside_decide \
		"$build/tests/integ/policy_path" "$@" "$VIEWS" >"$dir/said" 2>"$dir/err" || fail "$(cat "$dir/err")"
	instructions=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${instructions:-0}" -gt 0 ] || fail "callgrind counted nothing"
	instructions=$((instructions / VIEWS))
	echo "    $1 ready, $2 running: $instructions instructions a decision; $("$build/tests/integ/policy_path" "$@" 10000)"
}

policy_path_16_ready_are_decided_within_the_budget() {
	local instructions
	per_decision 16 8
	[ "$instructions" -le 150000 ] || fail "more than 50 us"
	[ "$instructions" -ge 2000 ] || fail "nothing was planned"
}

policy_path_128_ready_are_decided_within_the_budget() {
	local instructions
	per_decision 128 8
	[ "$instructions" -le 600000 ] || fail "more than 200 us"
}

if command -v valgrind >/dev/null; then
	run_case policy_path_16_ready_are_decided_within_the_budget
	run_case policy_path_128_ready_are_decided_within_the_budget
else
	skip_case policy_path_16_ready_are_decided_within_the_budget
	skip_case policy_path_128_ready_are_decided_within_the_budget
fi
[ "$failures" -eq 0 ]
