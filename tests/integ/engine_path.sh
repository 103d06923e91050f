#!/usr/bin/env bash
# engine_path.sh - how many instructions an engine takes for a launch, from its record to its completion, counted by callgrind:
# of an engine that was built without events, of one that has them and nobody listens, and while they are recorded. What
# engine_path.c does is the same each time, so that the differences are what events cost.
# Usage: from the build folder: srcdir=... tests/integ/engine_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

FEW=2000 MANY=12000
LIMIT=1993    # 1987, of which the device of the test takes 570
OFF_LIMIT=8  # 6: a comparison and a branch at three places, and parts of what a turn asks
ON_LIMIT=158  # 156 for 7 events in 3 records, of which each needs a stamp, its place and its head: 13

# count PROGRAM LAUNCHES [FILE]: instructions in gsb_engine_turn, in $instructions.
count() {
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=gsb_engine_turn \
		"$build/tests/integ/$1" "${@:2}" >"$dir/said" 2>"$dir/err" || fail "$(cat "$dir/err")"
	instructions=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${instructions:-0}" -gt 0 ] || fail "callgrind counted nothing"
	expect_match "$(cat "$dir/said")" "^launches=$2 .*lost=0$"
}

# per_launch PROGRAM [FILE]: without what begins and ends, in $per_launch.
per_launch() {
	local few
	count "$1" "$FEW" "${@:2}"
	few=$instructions
	count "$1" "$MANY" "${@:2}"
	per_launch=$(((instructions - few) / (MANY - FEW)))
}

engine_path_a_launch_costs_what_it_may_while_nobody_listens() {
	local instructions per_launch without
	per_launch engine_path_untraced
	without=$per_launch
	per_launch engine_path
	echo "    $without instructions a launch without events, $per_launch with events that nobody listens to"
	[ $((per_launch - without)) -le "$OFF_LIMIT" ] || fail "more than $OFF_LIMIT for events"
	[ $((per_launch - without)) -gt 0 ] || fail "the one without events has them"
	[ "$per_launch" -le "$LIMIT" ] || fail "more than $LIMIT for a launch"
}

engine_path_a_recorded_launch_costs_what_it_may() {
	local instructions per_launch off events
	per_launch engine_path
	off=$per_launch
	per_launch engine_path "$dir/t.gsb"
	events=$(sed -nE 's/.* events=([0-9]+) .*/\1/p' "$dir/said")
	echo "    $off instructions a launch, $per_launch while it is recorded, $((events / MANY)) events"
	expect_equal "$((events / MANY))" 7
	[ $((per_launch - off)) -le "$ON_LIMIT" ] || fail "more than $ON_LIMIT for its events"
}

if command -v valgrind >/dev/null; then
	run_case engine_path_a_launch_costs_what_it_may_while_nobody_listens
	run_case engine_path_a_recorded_launch_costs_what_it_may
else
	skip_case engine_path_a_launch_costs_what_it_may_while_nobody_listens
	skip_case engine_path_a_recorded_launch_costs_what_it_may
fi
[ "$failures" -eq 0 ]
