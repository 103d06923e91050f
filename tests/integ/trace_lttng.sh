#!/usr/bin/env bash
# trace_lttng.sh - an engine's events as LTTng-UST sees them: plain `lttng enable-event -u 'gsb:*'`, without kernel modules,
# as many of each as a recording of the same run has, and with the same meaning to all of gsb-trace's commands.
# Usage: from the build folder: srcdir=... tests/integ/trace_lttng.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/traces.sh
. "$srcdir/tests/integ/traces.sh"

# A session daemon of our own, if nobody's runs; root's is the one that an engine of root registers with.
start_sessiond() {
	take_lttng
	lttng --no-sessiond list >/dev/null 2>&1 && return
	lttng-sessiond --daemonize --no-kernel >"$dir/sessiond.log" 2>&1 || fail "$(cat "$dir/sessiond.log")"
	sessiond=$(cat /var/run/lttng/lttng-sessiond.pid)
}

end_sessiond() {
	[ -z "${sessiond-}" ] || { kill "$sessiond" && await_end "$sessiond"; }
}

# begin_session NAME EVENTS SUBBUFFERS [OPTION...]: a session of ours, which writes to $dir/NAME
begin_session() {
	local name=$1 events=$2 buffers=$3
	shift 3
	lttng create "gsb-test-$$-$name" --output="$dir/$name" "$@" >/dev/null
	lttng enable-channel -u --subbuf-size="$buffers" --num-subbuf=4 gsb >/dev/null
	lttng enable-event -u -c gsb "$events" >/dev/null
	lttng add-context -u -c gsb -t vpid >/dev/null
	lttng start >/dev/null
}

# end_session NAME: nothing may be lost
end_session() {
	lttng stop "gsb-test-$$-$1" >"$dir/stop.out" 2>&1
	expect_no_match "$(cat "$dir/stop.out")" 'discarded'
	lttng destroy "gsb-test-$$-$1" >/dev/null
}

# with_sessions: a session daemon, and at the end of the case no session
with_sessions() {
	start_sessiond
	trap 'end_sessions; end_sessiond; clean_up' EXIT
}

end_sessions() {
	local name
	for name in "$dir"/*/; do
		lttng destroy "gsb-test-$$-$(basename "$name")" >/dev/null 2>&1 || true
	done
}

# counts: "event number" of each event that lines of text name, sorted.
counts() {
	sort | uniq -c | awk '{ print $2, $1 }'
}

trace_lttng_has_the_events_of_a_recording() {
	with_sessions
	make_data
	start_real_broker 'trace = 1'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	begin_session lttng 'gsb:*' 4M
	query q3 q3 || fail "$(cat "$dir/q3.out")"
	query q5 q5 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	gsbctl trace stop >/dev/null
	end_session lttng
	babeltrace2 "$dir/lttng" >"$dir/lttng.txt"
	gsbctl trace dump "$dir/t.gsb" >"$dir/dump.txt"
	diff <(grep -oE ' gsb:[a-z_]+' "$dir/lttng.txt" | sed 's/ gsb://' | grep -vx about | counts) \
		<(awk '{ print $3 }' "$dir/dump.txt" | counts) || fail "the two differ"
	# fields, too
	diff <(sed -nE 's/.* gsb:launch: .*serial = ([0-9]+), function = ([0-9]+), n_blocks = ([0-9]+).*/\1 \2 \3/p' "$dir/lttng.txt") \
		<(sed -nE 's/.* launch serial=([0-9]+) function=([0-9]+) n_blocks=([0-9]+).*/\1 \2 \3/p' "$dir/dump.txt") || fail "launches differ"
	expect_match "$(cat "$dir/lttng.txt")" 'gsb:tenant_come: .*name = "q3"'
	end_broker
}

# say_all TRACE FOLDER: what each command says of it
say_all() {
	local command word
	mkdir "$2"
	gsb_trace check "$1" >"$2/check"
	for command in summary model-error; do
		gsb_trace "$command" "$1" >"$2/$command"
		gsb_trace "$command" --json "$1" >"$2/$command-json"
	done
	for word in q1 q2 q3 q4 q5; do
		gsb_trace critical "$1" "$word" >"$2/critical-$word"
		gsb_trace explain "$1" "$word" >"$2/explain-$word"
	done
	for command in timeline perfetto profile replay error-plot; do
		gsb_trace "$command" -o "$2/$command" "$1"
	done
}

sink() { # sink TRACE COMMAND PARAMS: the command as a plug-in of babeltrace2
	babeltrace2 --plugin-path="$build/tools/trace/.libs" "$1" --component="sink.gsb.${2//-/_}" --params="$3"
}

# sink_all TRACE FOLDER: what say_all says, but for check, which is no sink
sink_all() {
	local command word
	mkdir "$2"
	for command in summary model-error; do
		sink "$1" "$command" 'json=no' >"$2/$command"
		sink "$1" "$command" 'json=yes' >"$2/$command-json"
	done
	for word in q1 q2 q3 q4 q5; do
		sink "$1" critical "word=\"$word\"" >"$2/critical-$word"
		sink "$1" explain "word=\"$word\"" >"$2/explain-$word"
	done
	for command in timeline perfetto profile replay error-plot; do
		sink "$1" "$command" "output=\"$2/$command\""
	done
}

trace_lttng_session_means_what_the_recording_means() {
	with_sessions
	make_data
	start_real_broker 'trace = 1'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	begin_session lttng 'gsb:*' 4M
	five_queries
	gsbctl trace stop >/dev/null
	end_session lttng
	note_totals
	end_broker
	expect_sums_of_the_broker "$dir/lttng"
	expect_explanations "$dir/lttng"
	expect_files "$dir/lttng" "$(babeltrace2 "$dir/lttng" | grep -c ' gsb:finished: ')"
	expect_load_of_all_that_was_posted "$dir/lttng"
	expect_match "$(gsb_trace summary "$dir/lttng")" '^Emulated NVIDIA H200, policy fifo, 132 SMs, virtual clock: '
	say_all "$dir/t.gsb" "$dir/of-file"
	say_all "$dir/lttng" "$dir/of-lttng"
	diff -r "$dir/of-file" "$dir/of-lttng" >"$dir/differ" || fail "$(cut -c -200 "$dir/differ" | head)"
	sink_all "$dir/lttng" "$dir/of-sinks"
	diff -r -x check "$dir/of-lttng" "$dir/of-sinks" >"$dir/differ" || fail "$(cut -c -200 "$dir/differ" | head)"
	status_of sink "$dir/lttng" timeline 'json=no'
	expect_match "$output" "it needs --params='output="
	status_of gsb_trace check "$dir/data"
	expect_equal "$status $output" "1 gsb-trace: $dir/data: no trace in it: it has no file \`metadata\`"
}

# head_of TRACE: what it says of the engine
head_of() {
	gsb_trace summary "$1" 2>/dev/null | sed -n '1s/:.*//p'
}

# n_waited TRACE: how many operations have waited for one of their program, which times of fields and of events say together.
n_waited() {
	gsb_trace replay -o "$1.load" "$1" && grep -c '^op .* after=' "$1.load"
}

# The engine is there before the sessions, one of which begins beside another, and one keeps the newest events alone.
trace_lttng_sessions_are_told_whose_events_they_have() {
	local said='Emulated NVIDIA H200, policy coreside, 132 SMs, real clock' flown
	with_sessions
	make_data
	start_real_broker 'trace = 1' 'policy = coreside' 'clock = real'
	hold --tenant a
	begin_session first 'gsb:*' 4M
	gsbctl trace record "$dir/t.gsb" >/dev/null
	query q3 q3 || fail "$(cat "$dir/q3.out")"
	begin_session beside 'gsb:*' 4M
	begin_session flight 'gsb:*' 64K --snapshot
	query q2 q2 --repeat 20 || fail "$(cat "$dir/q2.out")"
	await_status '"n_tenants": 1|"tenants": 1'
	lttng snapshot record --session "gsb-test-$$-flight" >/dev/null
	gsbctl trace stop >/dev/null
	end_session beside
	end_session first
	expect_equal "$(head_of "$dir/t.gsb")" "$said"
	expect_equal "$(head_of "$dir/first")" "$said"
	expect_equal "$(head_of "$dir/beside")" "$said"
	expect_equal "$(head_of "$dir/flight")" "$said"
	# LTTng takes the time of an event a little later
	[ "$(($(n_waited "$dir/first") * 2))" -gt "$(n_waited "$dir/t.gsb")" ] || fail "nothing has waited"
	flown=$(babeltrace2 "$dir/flight" 2>/dev/null | grep -c ' gsb:finished: ')
	[ "$flown" -lt "$(babeltrace2 "$dir/beside" | grep -c ' gsb:finished: ')" ] || fail "nothing was overwritten"
	end_broker
}

trace_sessions_are_begun_and_ended_by_gsbctl() {
	start_sessiond
	trap 'gsbctl trace stop >/dev/null 2>&1 || true; end_sessiond; clean_up' EXIT
	start_real_broker
	hold --tenant a
	expect_match "$(gsbctl trace start "$dir/session")" "LTTng writes to $dir/session"
	status_of gsbctl trace start "$dir/second"
	expect_equal "$status" 1
	expect_match "$output" "the session gsbctl${dir//\//-}-s cannot be made"
	[ ! -e "$dir/second" ] || fail "a folder is left of what was refused"
	status_of "$build/tools/gsbctl" --socket "$dir/t" trace stop # another broker's
	expect_match "$output" "no gsbrokerd listens on $dir/t"
	tenant b "$gpu_db" counter --n 100 >/dev/null
	await_status '"n_tenants": 1|"tenants": 1'
	expect_match "$(gsbctl trace stop)" 'the session of LTTng has ended, 0 events lost'
	expect_match "$(babeltrace2 "$dir/session")" 'gsb:tenant_gone: '
	gsbctl trace flight "$dir/flight" >/dev/null
	tenant c "$gpu_db" counter --n 100 >/dev/null
	gsbctl trace snapshot
	expect_match "$(babeltrace2 "$dir/flight")" 'gsb:tenant_come: .*name = "c"'
	gsbctl trace stop >/dev/null
	end_broker
}

# expect_each_engine_by_itself SESSION TENANT OTHER: each of an engine of its own, whose serials are numbers of that alone
expect_each_engine_by_itself() {
	local engines engine name
	mapfile -t engines < <(babeltrace2 "$1" | sed -nE 's/.* gsb:tenant_come: .* engine = ([0-9]+),.*/\1/p')
	expect_equal "${#engines[@]}" 2
	expect_match "$(gsb_trace check "$1" 2>&1)" \
		"of engine ${engines[0]}; [1-9][0-9]* events of others are left out: --engine=${engines[1]} shows another"
	for name in "${@:2}"; do
		engine=${engines[0]}
		engines=("${engines[@]:1}")
		status_of gsb_trace check --engine="$engine" "$1"
		expect_equal "$status $(tail -n 1 <<<"$output")" '0 every chain is complete and in order'
		expect_match "$output" '^1 of 1 tenants compared with the broker.s counters: 0 differences$'
		expect_equal "$(gsb_trace summary --json --engine="$engine" "$1" 2>/dev/null | grep -o '"tenant": "[^"]*"' | sort -u)" \
			"\"tenant\": \"$name\""
	done
	expect_equal "$(babeltrace2 --plugin-path="$build/tools/trace/.libs" "$1" \
		--component=sink.gsb.summary --params="json=true,engine=$engine" 2>/dev/null | grep -o '"tenant": "[^"]*"' | sort -u)" \
		"\"tenant\": \"$name\""
}

# Without trace = 1; each tenant has an engine of its own.
trace_session_begins_before_the_first_engine() {
	local name
	start_sessiond
	trap 'gsbctl trace stop >/dev/null 2>&1 || true; end_sessiond; clean_up' EXIT
	start_real_broker 'isolation = process'
	status_of gsbctl trace stop
	expect_equal "$status" 1
	status_of gsbctl trace start "$dir/session"
	expect_equal "$status" 0
	expect_match "$output" '^no engine runs: those that start offer their events to LTTng, until gsbctl trace stop'
	expect_match "$output" "^LTTng writes to $dir/session"
	for name in a b; do
		tenant "$name" "$gpu_db" counter --n 100 >/dev/null
	done
	expect_match "$(gsbctl trace status)" '^engines that start offer their events to LTTng$'
	expect_match "$(gsbctl trace stop)" 'the session of LTTng has ended, 0 events lost'
	expect_equal "$(babeltrace2 "$dir/session" | sed -nE 's/.* gsb:tenant_come: .*name = "([^"]*)".*/\1/p' | xargs)" 'a b'
	expect_each_engine_by_itself "$dir/session" a b
	expect_no_match "$(gsbctl trace status)" 'engines that start'
	hold --tenant c
	! grep -q lttng "/proc/$(engine_pid)/maps" || fail "an engine offers its events to a session that has ended"
	end_broker
}

# An engine of root is not for the sessions of others; root may have those of all.
trace_lttng_of_engines_that_start_is_for_their_user() {
	local mine
	take_lttng
	start_real_broker '[broker]' 'socket_mode = 0666'
	mine=$(reachable tools/gsbctl)
	expect_match "$(as_nobody "$mine" --socket "$dir/s" trace lttng)" '^no engine runs: those that start'
	expect_no_match "$(gsbctl trace status)" 'engines that start'
	hold --tenant a
	! grep -q lttng "/proc/$(engine_pid)/maps" || fail "the engine offers its events to who may not trace it"
	expect_match "$(as_nobody "$mine" --socket "$dir/s" trace stop)" '^engines that start do not offer'
	status_of as_nobody "$mine" --socket "$dir/s" trace stop
	expect_equal "$status" 1
	end_broker
}

trace_lttng_is_offered_when_it_is_asked_for() {
	take_lttng # its events would be in somebody's session
	start_real_broker
	hold --tenant a
	! grep -q lttng "/proc/$(engine_pid)/maps" || fail "the engine has LTTng before anybody asked"
	expect_match "$(gsbctl trace lttng)" "^engine $(engine_pid), and each that starts later, offers its events"
	grep -q gsb-tp.so "/proc/$(engine_pid)/maps" || fail "the provider is not there"
	expect_match "$(gsbctl trace status)" 'LTTng events gsb:\*'
	end_broker
}

# Which files the loader brought into a process, from its very beginning on.
loaded_files() {
	cat "$dir"/ld.* | sed -nE 's/.*file=([^ ]+) .*/\1/p' | sort -u
	rm -f "$dir"/ld.*
}

trace_tenant_has_lttng_only_if_it_asks() {
	take_lttng
	start_real_broker 'trace = 1'
	LD_DEBUG=files LD_DEBUG_OUTPUT=$dir/ld GSB_TENANT=a GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$gpu_db" counter --n 100 >/dev/null
	loaded_files >"$dir/without"
	expect_match "$(cat "$dir/without")" libgsbroker
	expect_no_match "$(cat "$dir/without")" lttng
	LD_DEBUG=files LD_DEBUG_OUTPUT=$dir/ld GSB_LTTNG=1 GSB_TENANT=a GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		LTTNG_UST_REGISTER_TIMEOUT=0 "$gpu_db" counter --n 100 >/dev/null
	expect_match "$(loaded_files)" 'liblttng-ust\.so'
	end_broker
}

# As many records as the broker took from it, and as many ends of waits as beginnings.
trace_tenant_that_asks_has_events_of_its_own() {
	with_sessions
	make_data
	start_real_broker
	begin_session lttng 'gsb_tenant:*' 4M
	GSB_LTTNG=1 query q3 q3 || fail "$(cat "$dir/q3.out")"
	query q5 q5 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	end_session lttng
	babeltrace2 "$dir/lttng" >"$dir/lttng.txt"
	note_totals
	expect_equal "$(grep -c ' gsb_tenant:posted: ' "$dir/lttng.txt")" "$(json_value "$(grep '"tenant": "q3"' "$dir/totals")" records)"
	expect_equal "$(grep -c ' gsb_tenant:waits: ' "$dir/lttng.txt")" "$(grep -c ' gsb_tenant:goes_on: .* result = 0 ' "$dir/lttng.txt")"
	expect_match "$(cat "$dir/lttng.txt")" 'gsb_tenant:posted: .* number = [1-9]'
	expect_equal "$(grep -oE 'vpid = [0-9]+' "$dir/lttng.txt" | sort -u | wc -l)" 1 # q5 did not ask
	end_broker
}

has() { # has WHAT: the build has it
	grep -q "^#define $1 1" "$build/config.h"
}

# run_if CONDITION CASE
run_if() {
	if "$1"; then
		run_case "$2"
	else
		skip_case "$2"
	fi
}

can_offer() {
	has HAVE_LTTNG
}

can_offer_to_others() {
	can_offer && is_root
}

can_have_sessions() {
	can_offer_to_others && command -v lttng-sessiond lttng babeltrace2 >/dev/null
}

can_drive_sessions() {
	can_have_sessions && has HAVE_LTTNG_CTL
}

can_read_sessions() {
	can_have_sessions && has HAVE_BABELTRACE
}

can_drive_and_read_sessions() {
	can_drive_sessions && can_read_sessions
}

run_if can_offer trace_lttng_is_offered_when_it_is_asked_for
run_if can_offer_to_others trace_lttng_of_engines_that_start_is_for_their_user
run_if can_offer trace_tenant_has_lttng_only_if_it_asks
run_if can_have_sessions trace_tenant_that_asks_has_events_of_its_own
run_if can_have_sessions trace_lttng_has_the_events_of_a_recording
run_if can_drive_sessions trace_sessions_are_begun_and_ended_by_gsbctl
run_if can_drive_and_read_sessions trace_session_begins_before_the_first_engine
run_if can_read_sessions trace_lttng_session_means_what_the_recording_means
run_if can_read_sessions trace_lttng_sessions_are_told_whose_events_they_have
[ "$failures" -eq 0 ]
