#!/usr/bin/env bash
# engine_path.sh - how many instructions an engine takes for a launch, from its record to its completion, counted by callgrind:
# of an engine that was built without events, of one that has them and nobody listens, and while they are recorded. What
# engine_path.c does is the same each time, so that the differences are what events cost.
# Usage: from the build folder: srcdir=... tests/integ/engine_path.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

FEW=2000 MANY=12000

# count PROGRAM FORM LAUNCHES [FILE]: instructions in gsb_engine_turn, in $instructions.
count() {
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=gsb_engine_turn \
		"$build/tests/integ/$1" "${@:2}" >"$dir/said" 2>"$dir/err" || fail "$(cat "$dir/err")"
	instructions=$(sed -n 's/^\(summary\|totals\): *//p' "$dir/out" | head -n 1)
	[ "${instructions:-0}" -gt 0 ] || fail "callgrind counted nothing"
	expect_match "$(cat "$dir/said")" "^launches=$3 .*lost=0$"
}

# per_launch PROGRAM FORM [FILE]: without what begins and ends, in $per_launch.
per_launch() {
	local few
	count "$1" "$2" "$FEW" "${@:3}"
	few=$instructions
	count "$1" "$2" "$MANY" "${@:3}"
	per_launch=$(((instructions - few) / (MANY - FEW)))
}

# unheard FORM OFF_LIMIT LIMIT: what events may cost a launch that nobody listens to, and what the launch may.
unheard() {
	local instructions per_launch without
	per_launch engine_path_untraced "$1"
	without=$per_launch
	per_launch engine_path "$1"
	echo "    $1: $without instructions a launch without events, $per_launch with events that nobody listens to"
	[ $((per_launch - without)) -le "$2" ] || fail "more than $2 for events"
	[ $((per_launch - without)) -gt 0 ] || fail "the one without events has them"
	[ "$per_launch" -le "$3" ] || fail "more than $3 for a launch"
}

# recorded FORM ON_LIMIT: what they may cost one that is recorded.
recorded() {
	local instructions per_launch off events
	per_launch engine_path "$1"
	off=$per_launch
	per_launch engine_path "$1" "$dir/t.gsb"
	events=$(sed -nE 's/.* events=([0-9]+) .*/\1/p' "$dir/said")
	echo "    $1: $off instructions a launch, $per_launch while it is recorded, $((events / MANY)) events"
	expect_equal "$((events / MANY))" 7
	[ $((per_launch - off)) -le "$2" ] || fail "more than $2 for its events"
}

# Of the launch the device of the test takes 570 instructions, of one in a run 942. Nobody listens: a comparison and a branch at
# three places, at four in a run, and parts of what a turn asks.
engine_path_a_launch_costs_what_it_may_while_nobody_listens() {
	unheard heads 8 1993
	unheard runs 11 2366
}

# Heads: 7 events in 3 records, each of which needs a stamp, its place and its head: 13. Runs: 1 for all of a turn, and 1 for all
# that complete together, which each launch continues.
engine_path_a_recorded_launch_costs_what_it_may() {
	recorded heads 158
	recorded runs 102
}

if command -v valgrind >/dev/null; then
	run_case engine_path_a_launch_costs_what_it_may_while_nobody_listens
	run_case engine_path_a_recorded_launch_costs_what_it_may
else
	skip_case engine_path_a_launch_costs_what_it_may_while_nobody_listens
	skip_case engine_path_a_recorded_launch_costs_what_it_may
fi
[ "$failures" -eq 0 ]
