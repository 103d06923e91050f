#!/usr/bin/env bash
# policy_path.sh - how many instructions a decision of coreside takes, counted by callgrind: with 16 ready works and 8 that run, and
# with 128, in the mean and in the slowest of many. The budgets of 50 and 200 us (doc/design.md §7) are held as instructions, at one a
# cycle of 3 GHz.
# Usage: from the build folder: srcdir=... tests/integ/policy_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

WORST_16=250000 WORST_128=600000 # 186,000 and 275,000, in 29 and 42 us: more than one a cycle
VIEWS=300 MANY=${GSB_CHECK_LONG:+100000}
MANY=${MANY:-10000}

# count READY RUNNING VIEWS [FIRST]: instructions of a decision, in $instructions.
count() {
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=gsb_coreside_decide \
		"$build/tests/integ/policy_path" "$@" >"$dir/said" 2>"$dir/err" || fail "$(cat "$dir/err")"
	instructions=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${instructions:-0}" -gt 0 ] || fail "callgrind counted nothing"
	instructions=$((instructions / $3))
}

# decisions READY RUNNING: the mean of $VIEWS in $mean; of $MANY the one that took longest in $worst.
decisions() {
	local instructions said
	count "$@" "$VIEWS"
	mean=$instructions
	said=$("$build/tests/integ/policy_path" "$@" "$MANY")
	count "$@" 1 "$(sed -n 's/.* slowest=//p' <<<"$said")"
	worst=$instructions
	echo "    $1 ready, $2 running: $mean instructions a decision, $worst for the slowest; $said"
}

policy_path_16_ready_are_decided_within_the_budget() {
	local mean worst
	decisions 16 8
	[ "$mean" -le 150000 ] || fail "more than 50 us"
	[ "$worst" -le "$WORST_16" ] || fail "the slowest takes more than it may"
	[ "$mean" -ge 2000 ] || fail "nothing was planned"
}

policy_path_128_ready_are_decided_within_the_budget() {
	local mean worst
	decisions 128 8
	[ "$mean" -le 600000 ] || fail "more than 200 us"
	[ "$worst" -le "$WORST_128" ] || fail "the slowest takes more than it may"
}

if command -v valgrind >/dev/null; then
	run_case policy_path_16_ready_are_decided_within_the_budget
	run_case policy_path_128_ready_are_decided_within_the_budget
else
	skip_case policy_path_16_ready_are_decided_within_the_budget
	skip_case policy_path_128_ready_are_decided_within_the_budget
fi
[ "$failures" -eq 0 ]
