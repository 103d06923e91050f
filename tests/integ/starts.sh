#!/usr/bin/env bash
# starts.sh - tenants on their way to engines that take long to start, or find no room: what they are told, who is started, and when.
# The engine is a stub (stub_engine.c).
# Usage: from the build folder: srcdir=... tests/integ/starts.sh
# shellcheck disable=SC2119 # start_broker and hold may take arguments
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

# start_slowly DEVICE [CONF LINE...]: a broker with an engine for each process, which look for files in $dir.
start_slowly() {
	local device=$1
	shift
	mkfifo "$dir/open"
	# shellcheck disable=SC2034 # it only keeps the pipe open
	exec {open_fd}<>"$dir/open"
	write_conf "$@" '[engine]' 'isolation = process' "[device \"$device\"]"
	TMPDIR=$dir start_broker
}

# come NAME: a tenant that stays, and says so in $dir/NAME.
come() {
	"$build/tests/integ/hello" "$dir/s" --tenant "$1" --words --hold <"$dir/open" >"$dir/$1" &
	client=$!
	clients="${clients-} $client"
	disown "$client" # no word of its end
}

# crowd N: tenants t1 to tN, one behind the other.
crowd() {
	local i
	for i in $(seq "$1"); do
		come "t$i"
		await_status "\"tenants\": $i,"
	done
}

# await_answers N: until so many tenants have been told something else than to wait.
await_answers() {
	local i
	for i in $(seq 3000); do
		[ "$(cat "$dir"/t* | grep -vc '^starting')" -lt "$1" ] || return 0
		read -r -t 0.01 <>"$dir/open" || true
	done
	fail "no $1 answers: $(cat "$dir"/t*)"
}

await_said() { # FILE PATTERN
	local i
	for i in $(seq 3000); do
		! grep -qE "$2" "$dir/$1" || return 0
		read -r -t 0.01 <>"$dir/open" || true
	done
	fail "$1 was never told '$2': $(cat "$dir/$1")"
}

n_started() {
	grep -cE "^gsbrokerd: info: engine: .* started: pid" "$dir/log"
}

starts_say_how_many_connections_an_engine_has() {
	local n
	local -A said=([12]='connections = 12' [16]='') # and usually
	for n in "${!said[@]}"; do
		write_conf '[engine]' "${said[$n]}" '[device "emu:/ok"]'
		start_broker
		hold
		expect_match "$(tr '\0' '\n' <"/proc/$(children_of "$broker")/cmdline")" "^--connections=$n\$"
		stop_broker
	done
}

# What an engine of many has, and would be too much for each of many engines, is said on the command line.
starts_are_of_engines_for_one_process() {
	start_slowly emu:/ok
	come t1
	await_answers 1
	expect_match "$(tr '\0' '\n' <"/proc/$(children_of "$broker")/cmdline")" '^--single$'
	stop_broker
	rm -f "$dir/open"
	write_conf '[device "emu:/ok"]'
	start_broker
	hold
	expect_no_match "$(tr '\0' '\n' <"/proc/$(children_of "$broker")/cmdline")" '^--single$'
	stop_broker
}

starts_are_a_few_at_once() {
	start_slowly emu:/slow
	crowd 6
	expect_equal "$(children_of "$broker" | wc -w)" 4
	: >"$dir/go"
	await_answers 6
	expect_equal "$(cat "$dir"/t* | grep -c '^welcome')" 6
	expect_equal "$(children_of "$broker" | wc -w)" 6
	stop_broker
}

starts_that_take_long_are_told_of() {
	start_slowly emu:/slow
	come t1
	await_said t1 starting
	await_status '"tenants": 1,'
	: >"$dir/go"
	await_answers 1
	expect_match "$(tail -n 1 "$dir/t1")" "^welcome 1 "
	stop_broker
}

# A word that it would not know: a library of before.
starts_are_not_told_of_to_who_does_not_know_the_word() {
	start_slowly emu:/slow
	"$build/tests/integ/hello" "$dir/s" --tenant t1 --minor 0 --words --hold <"$dir/open" >"$dir/t1" &
	clients=$!
	disown "$clients"
	come t2
	await_said t2 starting
	expect_equal "$(cat "$dir/t1")" ""
	: >"$dir/go"
	await_answers 2
	stop_broker
}

starts_are_not_made_for_who_has_given_up() {
	start_slowly emu:/slow
	crowd 5
	kill "$client"
	await_end "$client"
	: >"$dir/go"
	await_log "tenant 5 't5' did not wait for its engine"
	await_answers 4
	expect_equal "$(n_started)" 4
	expect_equal "$(json_value "$(gsbctl status --json)" tenants)" 4
	stop_broker
	expect_no_match "$(rest_of_log)" "tenant 5 .* goes to the engine"
}

# It was started for somebody: it is not left to nobody.
starts_for_who_has_given_up_meanwhile_end() {
	start_slowly emu:/slow
	crowd 1
	kill "$client"
	await_end "$client"
	await_log "tenant 1 't1' did not wait for its engine"
	: >"$dir/go"
	await_log "exited with status 0"
	expect_equal "$(children_of "$broker" | wc -w)" 0
	stop_broker
}

starts_without_room_are_tried_again() {
	start_slowly emu:/full
	: >"$dir/full"
	come t1
	await_log "emu:/full \(pid [0-9]+\) found no room, and is started again: the device is full"
	rm "$dir/full"
	await_answers 1
	expect_match "$(tail -n 1 "$dir/t1")" "^welcome 1 "
	expect_match "$(gsbctl status --json)" '"engines_died": 0'
	stop_broker
}

starts_without_room_are_told_with_the_reason_in_the_end() {
	start_slowly emu:/full 'start_timeout_ms = 700'
	: >"$dir/full"
	come t1
	await_answers 1
	expect_match "$(tail -n 1 "$dir/t1")" "^refused -110 no engine for emu:/full could be started within start_timeout_ms: the device is full"
	expect_equal "$(children_of "$broker" | wc -w)" 0
	stop_broker
}

starts_that_wait_end_with_gsbrokerd() {
	start_slowly emu:/slow
	crowd 5
	kill "$broker"
	: >"$dir/go" # not before, or else one may be ready and the fifth begun
	wait "$broker" || fail "gsbrokerd ended with $?"
	await_answers 5
	expect_equal "$(grep -c '^refused .*shutting down' "$dir/t5")" 1
}

run_case starts_are_of_engines_for_one_process
run_case starts_say_how_many_connections_an_engine_has
run_case starts_are_a_few_at_once
run_case starts_that_take_long_are_told_of
run_case starts_are_not_told_of_to_who_does_not_know_the_word
run_case starts_are_not_made_for_who_has_given_up
run_case starts_for_who_has_given_up_meanwhile_end
run_case starts_without_room_are_tried_again
run_case starts_without_room_are_told_with_the_reason_in_the_end
run_case starts_that_wait_end_with_gsbrokerd
[ "$failures" -eq 0 ]
