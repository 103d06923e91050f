#!/usr/bin/env bash
# trace_lttng.sh - an engine's events as LTTng-UST sees them: plain `lttng enable-event -u 'gsb:*'`, without kernel modules,
# and as many of each as a recording of the same run has.
# Usage: from the build folder: srcdir=... tests/integ/trace_lttng.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

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

# counts: "event number" of each event that lines of text name, sorted.
counts() {
	sort | uniq -c | awk '{ print $2, $1 }'
}

trace_lttng_has_the_events_of_a_recording() {
	session=gsb-test-$$ # not local: the trap wants it
	start_sessiond
	trap 'lttng destroy "$session" >/dev/null 2>&1 || true; end_sessiond; clean_up' EXIT
	make_data
	start_real_broker 'trace = 1'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	lttng create "$session" --output="$dir/lttng" >/dev/null
	lttng enable-channel -u --subbuf-size=4M --num-subbuf=4 gsb >/dev/null
	lttng enable-event -u -c gsb 'gsb:*' >/dev/null
	lttng start >/dev/null
	query q3 q3 || fail "$(cat "$dir/q3.out")"
	query q5 q5 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	gsbctl trace stop >/dev/null
	lttng stop >"$dir/stop.out" 2>&1
	expect_no_match "$(cat "$dir/stop.out")" 'discarded'
	babeltrace2 "$dir/lttng" >"$dir/lttng.txt"
	gsbctl trace dump "$dir/t.gsb" >"$dir/dump.txt"
	diff <(grep -oE ' gsb:[a-z_]+' "$dir/lttng.txt" | sed 's/ gsb://' | counts) \
		<(awk '{ print $3 }' "$dir/dump.txt" | counts) || fail "the two differ"
	# fields, too
	diff <(sed -nE 's/.* gsb:launch: .*serial = ([0-9]+), function = ([0-9]+), n_blocks = ([0-9]+).*/\1 \2 \3/p' "$dir/lttng.txt") \
		<(sed -nE 's/.* launch serial=([0-9]+) function=([0-9]+) n_blocks=([0-9]+).*/\1 \2 \3/p' "$dir/dump.txt") || fail "launches differ"
	expect_match "$(cat "$dir/lttng.txt")" 'gsb:tenant_come: .*name = "q3"'
	lttng destroy "$session" >/dev/null
	end_broker
}

# steps TRACE: the chain of waits of q5, without what LTTng does not know of the engine
steps() {
	"$build/tools/trace/gsb-trace" critical --json "$1" q5 | sed 's/^.*"tenant":/"tenant":/'
}

trace_lttng_session_means_what_the_recording_means() {
	local gsb_trace=$build/tools/trace/gsb-trace
	session=gsb-test-$$ # not local: the trap wants it
	start_sessiond
	trap 'lttng destroy "$session" >/dev/null 2>&1 || true; end_sessiond; clean_up' EXIT
	make_data
	start_real_broker 'trace = 1'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	lttng create "$session" --output="$dir/lttng" >/dev/null
	lttng enable-channel -u --subbuf-size=4M --num-subbuf=4 gsb >/dev/null
	lttng enable-event -u -c gsb 'gsb:*' >/dev/null
	lttng start >/dev/null
	query q5 q5 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	gsbctl trace stop >/dev/null
	lttng stop >/dev/null 2>&1
	lttng destroy "$session" >/dev/null
	expect_equal "$("$gsb_trace" check "$dir/lttng")" "$("$gsb_trace" check "$dir/t.gsb")"
	expect_match "$(steps "$dir/lttng")" '"steps": \[\{'
	expect_equal "$(steps "$dir/lttng")" "$(steps "$dir/t.gsb")"
	# and as a plug-in of babeltrace2
	expect_equal "$(babeltrace2 --plugin-path="$build/tools/trace/.libs" "$dir/lttng" --component=sink.gsb.summary)" \
		"$("$gsb_trace" summary "$dir/lttng")"
	status_of babeltrace2 --plugin-path="$build/tools/trace/.libs" "$dir/lttng" --component=sink.gsb.timeline
	expect_match "$output" "it needs --params='output="
	status_of "$gsb_trace" check "$dir/data"
	expect_equal "$status $output" "1 gsb-trace: $dir/data: no trace in it: it has no file \`metadata\`"
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

trace_lttng_is_offered_when_it_is_asked_for() {
	take_lttng # its events would be in somebody's session
	start_real_broker
	hold --tenant a
	! grep -q lttng "/proc/$(engine_pid)/maps" || fail "the engine has LTTng before anybody asked"
	expect_match "$(gsbctl trace lttng)" "^engine $(engine_pid) offers its events"
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
	session=gsb-test-$$ # not local: the trap wants it
	start_sessiond
	trap 'lttng destroy "$session" >/dev/null 2>&1 || true; end_sessiond; clean_up' EXIT
	make_data
	start_real_broker
	lttng create "$session" --output="$dir/lttng" >/dev/null
	lttng enable-channel -u --subbuf-size=4M --num-subbuf=4 gsb >/dev/null
	lttng enable-event -u -c gsb 'gsb_tenant:*' >/dev/null
	lttng add-context -u -c gsb -t vpid >/dev/null
	lttng start >/dev/null
	GSB_LTTNG=1 query q3 q3 || fail "$(cat "$dir/q3.out")"
	query q5 q5 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	lttng stop >/dev/null 2>&1
	babeltrace2 "$dir/lttng" >"$dir/lttng.txt"
	lttng destroy "$session" >/dev/null
	gsbctl totals --json | sed 's/{"tenant"/\n&/g' >"$dir/totals"
	expect_equal "$(grep -c ' gsb_tenant:posted: ' "$dir/lttng.txt")" "$(json_value "$(grep '"tenant": "q3"' "$dir/totals")" records)"
	expect_equal "$(grep -c ' gsb_tenant:waits: ' "$dir/lttng.txt")" "$(grep -c ' gsb_tenant:goes_on: .* result = 0 ' "$dir/lttng.txt")"
	expect_match "$(cat "$dir/lttng.txt")" 'gsb_tenant:posted: .* number = [1-9]'
	expect_equal "$(grep -oE 'vpid = [0-9]+' "$dir/lttng.txt" | sort -u | wc -l)" 1 # q5 did not ask
	end_broker
}

if ! grep -q '^#define HAVE_LTTNG 1' "$build/config.h"; then
	skip_case trace_tenant_has_lttng_only_if_it_asks
	skip_case trace_tenant_that_asks_has_events_of_its_own
	skip_case trace_lttng_is_offered_when_it_is_asked_for
	skip_case trace_lttng_has_the_events_of_a_recording
	skip_case trace_lttng_session_means_what_the_recording_means
	skip_case trace_sessions_are_begun_and_ended_by_gsbctl
	exit 0
fi
run_case trace_lttng_is_offered_when_it_is_asked_for
run_case trace_tenant_has_lttng_only_if_it_asks
if is_root && command -v lttng-sessiond lttng babeltrace2 >/dev/null; then
	run_case trace_tenant_that_asks_has_events_of_its_own
	run_case trace_lttng_has_the_events_of_a_recording
	if grep -q '^#define HAVE_LTTNG_CTL 1' "$build/config.h"; then
		run_case trace_sessions_are_begun_and_ended_by_gsbctl
	else
		skip_case trace_sessions_are_begun_and_ended_by_gsbctl
	fi
else
	skip_case trace_tenant_that_asks_has_events_of_its_own
	skip_case trace_lttng_has_the_events_of_a_recording
	skip_case trace_sessions_are_begun_and_ended_by_gsbctl
fi
if is_root && command -v lttng-sessiond lttng babeltrace2 >/dev/null && grep -q '^#define HAVE_BABELTRACE 1' "$build/config.h"; then
	run_case trace_lttng_session_means_what_the_recording_means
else
	skip_case trace_lttng_session_means_what_the_recording_means
fi
[ "$failures" -eq 0 ]
