#!/usr/bin/env bash
# trace.sh - recordings of whole engines: every operation's chain is complete, the counts are the broker's own, and who may
# record what, where.
# Usage: from the build folder: srcdir=... tests/integ/trace.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# check_trace [OPTION] FILE: it is whole; what it says is in $dir/sums.
check_trace() {
	"$build/tests/integ/trace_check" "$@" >"$dir/sums" || fail "$(tail -n 3 "$dir/sums")"
}

sum() { # sum TENANT KEY: as the trace has it
	sed -nE "s/^tenant=$1 .*\b$2=([0-9]+).*/\1/p" "$dir/sums"
}

# total TENANT KEY: as the broker has it. One tenant a line.
total() {
	gsbctl totals --json | sed 's/{"tenant"/\n&/g' | sed -nE "/\"tenant\": \"$1\"/s/.*\"$2\": ([0-9]+).*/\1/p"
}

expect_sums_of_broker() { # expect_sums_of_broker TENANT...
	local name key
	for name; do
		for key in records launches kernels copies fills device_ns instructions; do
			[ -n "$(total "$name" "$key")" ] || fail "the broker knows no $key of $name"
			expect_equal "$name $key $(sum "$name" "$key")" "$name $key $(total "$name" "$key")"
		done
	done
}

trace_five_tenants_have_complete_chains_and_the_counts_of_the_broker() {
	make_data
	start_real_broker
	expect_match "$(gsbctl trace record "$dir/t.gsb")" 'the next one is recorded from its beginning'
	five_queries
	expect_match "$(gsbctl trace stop)" '^[0-9]+ events, 0 lost, [0-9]+ bytes$'
	check_trace "$dir/t.gsb"
	expect_equal "$(grep -c '^tenant=.* gone=1' "$dir/sums")" 5
	expect_sums_of_broker q1 q2 q3 q4 q5
	expect_equal "$(json_value "$(gsbctl status --json)" trace_events)" "$(sed -nE 's/^events=([0-9]+).*/\1/p' "$dir/sums")"
	expect_equal "$(json_value "$(gsbctl status --json)" trace_bytes)" "$(stat -c %s "$dir/t.gsb")"
	expect_equal "$(gsbctl trace dump "$dir/t.gsb" | wc -l)" "$(sed -nE 's/^events=([0-9]+).*/\1/p' "$dir/sums")"
	end_broker
}

# Three tenants beside each other from the beginning, with grids of all sizes: placed, and timed, as the model says, block by block.
trace_virtual_times_are_those_of_the_machine_model() {
	local i pids=()
	start_real_broker '[engine]' 'start_line = 3' 'gate_timeout_ms = 600000'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for i in 1 2 3; do
		tenant "s$i" "$build/tests/integ/spinner" "$i" 60 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "a tenant failed"
	done
	await_no_tenants
	expect_match "$(gsbctl trace stop)" ', 0 lost, '
	check_trace "$dir/t.gsb"
	status_of "$build/tests/integ/trace_machine" h200 "$dir/t.gsb"
	expect_match "$output" '^launches=180 copies=[1-9][0-9]* different=0$'
	expect_equal "$status" 0
	# they did meet
	expect_match "$("$build/tools/trace/gsb-trace" summary --json "$dir/t.gsb")" '"shared_ns": [1-9]'
	end_broker
}

trace_a_million_events_are_whole() {
	local n=150000
	printf '%s\n' '[device "null"]' >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start"
	gsbctl trace record "$dir/t.gsb" >/dev/null
	"$build/tools/gsbrun" --socket "$dir/s" --tenant bench -- "$build/tools/gsb-bench" tenant -n "$n" -b 100 >"$dir/bench"
	await_no_tenants
	expect_match "$(gsbctl trace stop)" ', 0 lost, '
	check_trace "$dir/t.gsb"
	expect_sums_of_broker bench
	expect_equal "$(sum bench launches)" $((n + 100))
	[ "$(sed -nE 's/^events=([0-9]+).*/\1/p' "$dir/sums")" -gt 1000000 ] || fail "$(tail -n 1 "$dir/sums")"
	end_broker
}

# flood LAUNCHES: four tenants at once, each as fast as it can; the ring is as large as it is for everybody.
flood() {
	local i pids=()
	printf '%s\n' '[device "null"]' >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start"
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for i in 1 2 3 4; do
		"$build/tools/gsbrun" --socket "$dir/s" --tenant "b$i" -- "$build/tools/gsb-bench" tenant -n "$1" -b 1000 >"$dir/bench$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "a tenant failed"
	done
	await_no_tenants
	stopped=$(gsbctl trace stop)
}

# All of it has room in the ring.
trace_of_flooding_tenants_loses_nothing() {
	local stopped
	flood 29000
	expect_match "$stopped" ', 0 lost, '
	check_trace "$dir/t.gsb"
	expect_sums_of_broker b1 b2 b3 b4
	expect_equal "$(sum b4 launches)" 30000
	end_broker
}

# What the writer had no time for is counted: a launch is seven events.
trace_of_a_million_launches_says_what_it_lost() {
	local stopped all
	flood 299000
	all=$(awk -F'[ ,]+' '{print $1 + $3}' <<<"$stopped")
	if [ "$all" -lt 8400000 ] || [ "$all" -ge 8410000 ]; then
		fail "$all events of 1,200,000 launches: $stopped"
	fi
	end_broker
}

trace_killed_tenants_leave_complete_chains() {
	local state
	make_data
	start_real_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for state in record:60 posted:90 waiting:25 posted:200; do
		ASAN_OPTIONS=$tenant_asan GSB_TEST_DIE=$state GSB_TENANT=victim GSB_SOCKET=$dir/s \
			LD_PRELOAD=$build/interpose/libgsbroker-faults.so \
			"$gpu_db" run --data "$dir/data" --query q1 --quiet >/dev/null 2>&1 && fail "the victim lived"
	done
	await_no_tenants
	gsbctl trace stop >/dev/null
	check_trace "$dir/t.gsb"
	expect_equal "$(grep -c '^tenant=victim .* gone=1' "$dir/sums")" 4
	end_broker
}

trace_that_begins_and_ends_in_the_middle_can_be_read() {
	make_data
	start_real_broker
	query q1 q1 --repeat 100 &
	await_status '"launches": [1-9]'
	expect_match "$(gsbctl trace record "$dir/t.gsb")" "^recording engine $(engine_pid);"
	expect_match "$(gsbctl trace status)" "engine $(engine_pid) .*: recording: "
	expect_match "$(gsbctl trace record "$dir/second" 2>&1)" 'recorded or followed already'
	[ ! -e "$dir/second" ] || fail "a file is left of what was refused"
	await_status '"trace_events": [0-9]{4}'
	gsbctl trace stop >/dev/null
	check_trace --begun "$dir/t.gsb"
	expect_match "$(cat "$dir/sums")" '^tenant=q1 .* gone=0'
	expect_match "$(gsbctl trace dump "$dir/t.gsb")" 'tenant_come .*before=1 .*name="q1"'
	wait %2 || fail "the query that was watched failed"
	end_broker
}

trace_of_a_killed_engine_is_read_up_to_its_end() {
	start_real_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	hold --tenant a
	await_status '"trace_events": [1-9]'
	await_flushed "$dir/t.gsb"
	kill -KILL "$(engine_pid)"
	status_of gsbctl trace dump "$dir/t.gsb"
	expect_equal "$status" 0
	expect_match "$output" 'tenant_come .*name="a"'
	expect_match "$output" 'has no end: its engine still writes it, had no room for it, or was killed'
	stop_broker
}

# As on a full disk: the file may have no more bytes. Who works meanwhile does not notice.
trace_that_finds_no_room_says_so_to_who_stops_it() {
	local worker
	make_data
	start_real_broker
	query q1 q1 --repeat 100 &
	worker=$!
	await_status '"launches": [1-9]'
	prlimit --pid "$(engine_pid)" --fsize=20000:
	gsbctl trace record "$dir/t.gsb" >/dev/null
	await_trace_status 'its recording has ended early: File too large'
	status_of gsbctl trace stop
	expect_equal "$status" 1
	expect_match "$output" '^gsbctl: the recording has ended early: File too large$'
	expect_match "$(cat "$dir/broker.log")" 'error: trace: the recording has ended early: File too large'
	status_of gsbctl trace dump "$dir/t.gsb"
	expect_match "$output" 'has no end: its engine still writes it, had no room for it, or was killed'
	prlimit --pid "$(engine_pid)" --fsize=1000:
	status_of gsbctl trace record "$dir/second"
	expect_equal "$status" 1
	expect_match "$output" '^gsbctl: the trace cannot be begun: File too large$'
	[ ! -e "$dir/second" ] || fail "a file is left of what was refused"
	wait "$worker" || fail "the query that was watched failed: $(cat "$dir/q1.out")"
	end_broker
}

await_trace_status() { # await_trace_status PATTERN
	local i
	for i in $(seq 3000); do
		gsbctl trace status | grep -q "$1" && return
	done
	fail "trace status never said '$1': $(gsbctl trace status)"
}

# Until the file has more than its header: the writer looks ten times a second.
await_flushed() {
	local i
	for i in $(seq 3000); do
		gsbctl trace dump "$1" 2>/dev/null | grep -q tenant_come && return
	done
	fail "nothing of the trace is on the disk after $i looks"
}

trace_record_opens_nothing_that_is_there_or_is_no_plain_file() {
	start_real_broker
	hold --tenant a
	echo precious >"$dir/there"
	status_of gsbctl trace record "$dir/there"
	expect_equal "$status" 1
	expect_match "$output" 'there cannot be made: File exists: give another name'
	expect_equal "$(cat "$dir/there")" precious
	status_of gsbctl trace record "$dir/no/such/folder"
	expect_match "$output" 'cannot be made: No such file'
	status_of gsbctl trace stop
	expect_match "$output" 'is not recorded'
	status_of gsbctl trace record
	expect_equal "$status" 2
	status_of gsbctl trace dump "$dir/there"
	expect_equal "$status" 1
	expect_match "$output" 'no trace of gsbroker'
	end_broker
}

trace_record_that_finds_no_descriptor_says_so() {
	local n=0
	start_real_broker
	while [ -e "/proc/$broker/fd/$n" ]; do
		n=$((n + 1))
	done
	prlimit --pid "$broker" --nofile="$((n + 1)):" # for who asks, and not for the file
	status_of gsbctl trace record "$dir/t.gsb"
	prlimit --pid "$broker" --nofile="$((n + 100)):"
	expect_equal "$status" 1
	expect_match "$output" 'gsbrokerd has no descriptor left: start it with a higher ulimit -n'
	end_broker
}

trace_of_one_of_several_engines_is_named() {
	local first second
	start_real_broker 'isolation = process'
	hold --tenant a
	first=$(engine_pid)
	hold --tenant b
	second=$(children_of "$broker" | sed -E "s/\b$first\b//; s/ //g")
	status_of gsbctl trace record "$dir/t.gsb"
	expect_equal "$status" 1
	expect_match "$output" 'more than one engine runs: name one by --engine PID'
	expect_match "$(gsbctl trace record --engine "$second" "$dir/t.gsb")" "recording engine $second;"
	status_of gsbctl trace stop --engine "$first"
	expect_match "$output" 'is not recorded'
	gsbctl trace stop --engine "$second" >/dev/null
	expect_match "$(gsbctl trace dump "$dir/t.gsb")" 'tenant_come .*name="b"'
	expect_no_match "$(gsbctl trace dump "$dir/t.gsb")" 'name="a"'
	status_of gsbctl trace record --engine 1 "$dir/u.gsb"
	expect_match "$output" 'no engine of that pid'
	end_broker
}

trace_that_waits_for_an_engine_can_be_taken_back() {
	start_real_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	status_of gsbctl trace record "$dir/u.gsb"
	expect_match "$output" 'waits for the next engine already'
	expect_match "$(gsbctl trace status)" 'the next engine is recorded'
	expect_match "$(gsbctl trace stop)" 'no engine is going to be recorded'
	hold --tenant a
	expect_match "$(gsbctl trace status)" ': not recorded: '
	expect_equal "$(stat -c %s "$dir/t.gsb")" 0
	end_broker
}

# The engine of root is nobody else's to record; what nobody may write, the engine does not write for him.
trace_is_for_its_own_user_and_who_may_control() {
	local mine
	start_real_broker '[broker]' 'socket_mode = 0666'
	hold --tenant a
	mine=$(reachable tools/gsbctl)
	mkdir -m 0777 "$dir/open"
	status_of as_nobody "$mine" --socket "$dir/s" trace record "$dir/open/t.gsb"
	expect_equal "$status" 0 # it waits for an engine of his own
	expect_match "$(gsbctl trace status)" ': not recorded: '
	status_of as_nobody "$mine" --socket "$dir/s" trace record --engine "$(engine_pid)" "$dir/open/u.gsb"
	expect_equal "$status" 1
	expect_match "$output" 'no engine of that pid that you may trace'
	end_broker
}

trace_events_that_are_documented_are_those_of_the_list() {
	diff "$srcdir/doc/trace-events.txt" <("$build/tools/gsbctl" trace events) ||
		fail "make trace-events writes it anew"
}

run_case trace_five_tenants_have_complete_chains_and_the_counts_of_the_broker
run_case trace_virtual_times_are_those_of_the_machine_model
run_case trace_a_million_events_are_whole
run_case trace_of_flooding_tenants_loses_nothing
if [ -n "${GSB_CHECK_LONG-}" ]; then
	run_case trace_of_a_million_launches_says_what_it_lost
fi
run_case trace_killed_tenants_leave_complete_chains
run_case trace_that_begins_and_ends_in_the_middle_can_be_read
run_case trace_of_a_killed_engine_is_read_up_to_its_end
run_case trace_that_finds_no_room_says_so_to_who_stops_it
run_case trace_record_opens_nothing_that_is_there_or_is_no_plain_file
run_case trace_record_that_finds_no_descriptor_says_so
run_case trace_of_one_of_several_engines_is_named
run_case trace_that_waits_for_an_engine_can_be_taken_back
run_case trace_events_that_are_documented_are_those_of_the_list
if is_root; then
	run_case trace_is_for_its_own_user_and_who_may_control
else
	skip_case trace_is_for_its_own_user_and_who_may_control
fi
[ "$failures" -eq 0 ]
