#!/usr/bin/env bash
# lanes.sh - isolation = lanes on the emulated device: tenants verified, one lane killed under work and its neighbours verified,
# nothing left of lanes that are done, and what cannot have lanes is told why.
# Usage: from the build folder: srcdir=... tests/integ/lanes.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

start_lanes() { # start_lanes [CONF LINE...]
	start_real_broker 'isolation = lanes' 'clock = real' "$@"
}

# A thread of its own starts them.
lanes_of_engine() {
	cat /proc/"$(engine_pid)"/task/*/children | xargs
}

# await_lanes N: until the engine has so many, all others reaped. Each question is an answered message.
await_lanes() {
	local i
	for i in $(seq 3000); do
		gsbctl ps >/dev/null
		[ "$(lanes_of_engine | wc -w)" -eq "$1" ] && return
	done
	fail "the engine has lanes $(lanes_of_engine), and not $1 of them"
}

lanes_five_queries_at_once_verify() {
	make_data
	start_lanes 'spare_lanes = 2'
	five_queries
	five_queries --hot --repeat 3
	await_lanes 2
	expect_match "$(gsbctl status --json)" '"isolation": "lanes"'
	end_broker
}

# More come than lanes are ready, or none is kept: they wait for theirs.
lanes_that_are_not_kept_ready_are_started() {
	make_data
	start_lanes 'spare_lanes = 0'
	five_queries
	await_lanes 0
	end_broker
}

# hold NAME: a tenant that has a context and waits for a line at $go; its process is in $held, its lane in $lane.
hold() {
	[ -p "$dir/go" ] || mkfifo "$dir/go"
	[ -n "${go-}" ] || exec {go}<>"$dir/go"
	tenant "$1" "$build/tests/integ/misuse" "$2" <"$dir/go" >"$dir/$1.out" 2>&1 &
	held=$!
	timeout "$LIMIT_S" grep -q -m 1 ready < <(tail -n +1 -F "$dir/$1.out" --pid="$held" 2>/dev/null) ||
		fail "tenant $1 did not start: $(cat "$dir/$1.out")"
	for lane in $(lanes_of_engine); do
		! grep -q "memfd:gsb-host" "/proc/$lane/maps" || return 0 # the window of its pinned memory
	done
	fail "no lane has the tenant's memory"
}

lanes_killed_one_fails_its_tenant_alone() {
	local q good=() before after
	make_data
	start_lanes 'spare_lanes = 1'
	query warm q1 || fail "$(cat "$dir/warm.out")"
	await_no_tenants
	await_lanes 1
	before=$(holdings)
	hold victim run-until-told
	for q in q1 q2 q3; do
		query "$q" "$q" --repeat 2 &
		good+=($!)
	done
	kill -KILL "$lane"
	echo >&"$go"
	wait "$held" || fail "$(cat "$dir/victim.out")"
	expect_match "$(cat "$dir/victim.out")" "synchronize: CUDA_ERROR_LAUNCH_FAILED"
	expect_match "$(cat "$dir/victim.out")" "next call: CUDA_ERROR_LAUNCH_FAILED"
	for q in "${good[@]}"; do
		wait "$q" || fail "a neighbour failed: $(cat "$dir"/q?.out)"
	done
	await_no_tenants
	await_lanes 1
	after=$(holdings)
	expect_equal "$after" "$before"
	expect_match "$(cat "$dir/broker.log")" "lane $lane has ended: what its program has on the device fails"
	end_broker
}

lanes_end_with_their_engine() {
	local lanes lane i
	start_lanes 'spare_lanes = 2'
	tenant one "$build/tests/integ/misuse" illegal-address >"$dir/one.out" 2>&1 || fail "$(cat "$dir/one.out")"
	await_lanes 2
	lanes=$(lanes_of_engine)
	kill -KILL "$(engine_pid)"
	for lane in $lanes; do
		for i in $(seq 3000); do
			gsbctl status >/dev/null
			[ -e "/proc/$lane" ] || break
		done
		[ ! -e "/proc/$lane" ] || grep -q 'State:.*Z' "/proc/$lane/status" || fail "lane $lane is left"
	done
	end_broker
}

lanes_of_virtual_time_are_refused() {
	start_real_broker 'isolation = lanes'
	status_of tenant one "$build/tests/integ/misuse" illegal-address
	expect_equal "$status" 2
	expect_match "$output" "set clock = real"
	expect_match "$(cat "$dir/broker.log")" "virtual time is one for all"
	end_broker
}

run_case lanes_five_queries_at_once_verify
run_case lanes_that_are_not_kept_ready_are_started
run_case lanes_killed_one_fails_its_tenant_alone
run_case lanes_end_with_their_engine
run_case lanes_of_virtual_time_are_refused
[ "$failures" -eq 0 ]
