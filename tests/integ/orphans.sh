#!/usr/bin/env bash
# orphans.sh - a program that is killed leaves a kernel on a GPU that does not end (broker/engine/orphan.h): on device/cuda with the driver of tests/fake.
# shellcheck disable=SC2119 # start_broker may take arguments
# Usage: from the build folder: srcdir=... tests/integ/orphans.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so
provoke=$build/tests/gpu/provoke

begin() {
	printf '%s\n' '[broker]' "engine = $build/broker/gsb-engine" '[device "cuda:0"]' "isolation = $1" '[engine]' "orphan_limit_ms = $2" >"$dir/conf"
	start_broker
}

# tenant NAME WHAT...: executed, so that who kills the job kills the program.
tenant() {
	local name=$1
	shift
	exec "$build/tools/gsbrun" --socket "$dir/s" --tenant "$name" -- "$provoke" "$@"
}

# await_line FILE WORD
await_line() {
	local i
	for ((i = 0; i < LIMIT_S * 100; i++)); do
		! grep -qs -e "$2" "$1" || return 0
		sleep 0.01
	done
	fail "no '$2' in $(cat "$1")"
}

begin_neighbour() {
	rm -f "$dir/input"
	mkfifo "$dir/input"
	(tenant neighbour steady) <"$dir/input" >"$dir/neighbour" 2>&1 &
	neighbour=$!
	exec {input}>"$dir/input"
	await_line "$dir/neighbour" ready
}

end_neighbour() {
	exec {input}>&-
	wait "$neighbour" || fail "the neighbour: $(cat "$dir/neighbour")"
	expect_match "$(cat "$dir/neighbour")" "rounds [1-9][0-9]* wrong 0 .*result CUDA_SUCCESS"
}

# begin_culprit KIND [N]: its kernel runs. A ms of slow's takes some 25 of a processor there.
begin_culprit() {
	(tenant culprit "$@") >"$dir/culprit" 2>&1 &
	culprit=$!
	await_line "$dir/culprit" begins
}

kill_culprit() {
	kill -KILL "$culprit"
	wait "$culprit" 2>/dev/null || true
}

# leave KIND [N]: one that is killed while its kernel runs.
leave() {
	begin_culprit "$@"
	kill_culprit
}

once() {
	timeout "$LIMIT_S" "$build/tools/gsbrun" --socket "$dir/s" --tenant "$1" -- "$provoke" once >"$dir/once" 2>&1
}

n_engines() {
	children_of "$broker" | wc -w
}

await_engines() {
	local i
	for ((i = 0; i < LIMIT_S * 100; i++)); do
		[ "$(n_engines)" -ne "$1" ] || return 0
		sleep 0.01
	done
	fail "$(n_engines) engines instead of $1"
}

who_comes_gets_another_engine_and_who_is_there_goes_on() {
	begin shared 300
	begin_neighbour
	leave endless
	await_log 'new programs get another one'
	await_log 'who comes gets another engine'
	once next || fail "next: $(cat "$dir/once")"
	expect_equal "$(n_engines)" 2
	once later || fail "later: $(cat "$dir/once")"
	expect_equal "$(n_engines)" 2
	end_neighbour
	await_log 'a kernel that one of them left behind, and that does not end'
	await_engines 1
	once last || fail "last: $(cat "$dir/once")"
	expect_equal "$(n_engines)" 1
	stop_broker
}

an_engine_that_has_nothing_but_orphans_ends() {
	begin process 300
	leave endless
	await_log 'a kernel that one of them left behind, and that does not end'
	await_engines 0
	once next || fail "next: $(cat "$dir/once")"
	stop_broker
}

what_ends_after_all_is_no_orphan_any_more() {
	begin shared 100
	begin_neighbour
	leave slow 40
	await_log 'who comes gets another engine'
	await_log 'who comes is served again'
	once next || fail "next: $(cat "$dir/once")"
	expect_equal "$(n_engines)" 1
	end_neighbour
	stop_broker
}

what_ends_within_the_limit_is_none() {
	begin shared 60000 # nobody waits for so long
	leave slow 20
	once next || fail "next: $(cat "$dir/once")"
	expect_equal "$(n_engines)" 1
	stop_broker
	expect_no_match "$(rest_of_log)" 'another'
}

# It came before anybody could know, and its module waits for all that runs.
who_waits_for_a_load_behind_one_is_told() {
	begin shared 300
	begin_neighbour
	begin_culprit endless
	once hasty &
	hasty=$!
	await_log "tenant [0-9]+ 'hasty' .* goes to the engine"
	kill_culprit
	! wait "$hasty" || fail "it was served: $(cat "$dir/once")"
	expect_match "$(cat "$dir/once")" LAUNCH_TIMEOUT
	await_log 'a kernel that one of them left behind, and that does not end'
	exec {input}>&-
	wait "$neighbour" || fail "the neighbour: $(cat "$dir/neighbour")"
	expect_match "$(cat "$dir/neighbour")" 'LAUNCH_TIMEOUT'
	once next || fail "next: $(cat "$dir/once")"
	stop_broker
}

run_case who_comes_gets_another_engine_and_who_is_there_goes_on
run_case an_engine_that_has_nothing_but_orphans_ends
run_case what_ends_after_all_is_no_orphan_any_more
run_case what_ends_within_the_limit_is_none
run_case who_waits_for_a_load_behind_one_is_told
[ "$failures" -eq 0 ]
