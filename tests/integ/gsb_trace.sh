#!/usr/bin/env bash
# gsb_trace.sh - gsb-trace on recordings of whole engines: its sums are the broker's own, its chains add up, its files are
# what they say they are; and its page, in a browser.
# Usage: from the build folder: srcdir=... tests/integ/gsb_trace.sh
# shellcheck disable=SC2119 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/traces.sh
. "$srcdir/tests/integ/traces.sh"

# record_five: the five queries at once, in $dir/t.gsb; the broker's totals in $dir/totals.
record_five() {
	make_data
	start_real_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	five_queries
	gsbctl trace stop >/dev/null
	note_totals
	end_broker
}

gsb_trace_of_five_tenants_has_the_sums_of_the_broker() {
	record_five
	expect_sums_of_the_broker "$dir/t.gsb"
}

# record_ranges PROGRAM [VARIABLE=VALUE...]: three queries and a launch of none, in $dir/t.gsb
record_ranges() {
	start_real_broker
	gsbctl trace record "$dir/t.gsb" >/dev/null
	status_of env "${@:2}" "$build/tools/gsbrun" --socket "$dir/s" --tenant db -- "$1"
	expect_equal "$status" 0
	await_no_tenants
	gsbctl trace stop >/dev/null
	end_broker
}

expect_three_queries() { # of record_ranges
	local last
	status_of gsb_trace check "$dir/t.gsb"
	expect_equal "$status" 0
	expect_match "$output" '^1 of 1 tenants compared with the broker.s counters: 0 differences$'
	expect_equal "$(gsb_trace summary --json "$dir/t.gsb" | sed 's/.*"ranges": //; s/{"id"/\n&/g' |
		sed -nE 's/.*"range": "([^"]*)", "times": ([0-9]+), "open_ns": [1-9][0-9]*, "launches": ([0-9]+),.*/\1 \2 \3/p')" \
		"$(printf '%s\n' 'q1 1 2' 'q1 => db: build 1 1' 'q2 1 3' 'q2 => db: build 1 2' 'q3 1 4' 'q3 => db: build 1 3')"
	expect_match "$(gsb_trace summary "$dir/t.gsb")" '^ 1  db      q3 => db: build '
	gsb_trace profile -o "$dir/tau" "$dir/t.gsb"
	expect_equal "$(sed -nE 's/^"\.TAU application => db => (.*(scan|join))" ([0-9]+) .*/\1 \3/p' "$dir"/tau/profile.* | sort)" \
		"$(printf '%s\n' 'join 1' 'q1 => db: build => scan 1' 'q1 => join 1' 'q2 => db: build => scan 2' 'q2 => join 1' \
			'q3 => db: build => scan 3' 'q3 => join 1')"
	gsb_trace critical --json "$dir/t.gsb" q2 >"$dir/chain"
	expect_match "$(cat "$dir/chain")" '"range": "q2", "open_ns": [1-9]'
	last=$(json_value "$(cat "$dir/chain")" last_serial)
	expect_match "$(gsb_trace explain "$dir/t.gsb" "$last")" '^  in range    q2$'
	expect_match "$(gsb_trace critical "$dir/t.gsb" q2)" "^db \(tenant [0-9]+\): .* from its beginning to the completion of serial $last,"
	expect_match "$(gsb_trace explain "$dir/t.gsb" 'db: build')" '^db: build: 6 operations, 6 of them launches'
	gsb_trace perfetto -o "$dir/out.json" "$dir/t.gsb"
	expect_equal "$(grep -c '"cat": "range"' "$dir/out.json")" 12
	gsb_trace timeline -o "$dir/page.html" "$dir/t.gsb"
	expect_match "$(cat "$dir/page.html")" '"ranges": 2, '
}

gsb_trace_says_which_query_a_launch_was_of() {
	record_ranges "$build/tests/integ/ranges"
	expect_three_queries
}

gsb_trace_has_ranges_of_programs_with_nvidias_header() {
	record_ranges "$build/tests/integ/ranges_nvtx3"
	expect_three_queries
}

# A tool that the user has named takes them instead: gsbrun leaves it.
gsb_trace_without_ranges_is_what_it_was() {
	record_ranges "$build/tests/integ/ranges" NVTX_INJECTION64_PATH=/nobody/is/here.so
	expect_match "$(gsb_trace check "$dir/t.gsb")" 'every chain is complete and in order$'
	expect_equal "$(gsbctl trace dump "$dir/t.gsb" | grep -c ' range ')" 0
	expect_match "$(gsb_trace summary --json "$dir/t.gsb")" '"ranges": \[\]}$'
	expect_no_match "$(gsb_trace summary "$dir/t.gsb")" RANGE
}

gsb_trace_explains_and_follows_chains() {
	local serial
	record_five
	expect_explanations "$dir/t.gsb"
	# a program waits for what it has posted, and is woken when that is done
	serial=$(gsbctl trace dump "$dir/t.gsb" | sed -nE 's/.* woken .* serial=([1-9][0-9]*) .* waited=stream$/\1/p' | tail -n 1)
	[ -n "$serial" ] || fail "nobody waited for a stream: $(gsbctl trace dump "$dir/t.gsb" | grep ' woken ' | tail -n 2)"
	expect_match "$(gsb_trace explain "$dir/t.gsb" "$serial")" '^  woke        1 thread of its program, [0-9.]+ [a-z]+ of real time after that$'
}

gsb_trace_explains_in_what_form_a_launch_went() {
	local serial resized
	make_data
	start_real_broker '[resize]' 'mode = safe' 'force = slice:4'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	query q3 q3 || fail "q3 failed"
	await_no_tenants
	gsbctl trace stop >/dev/null
	resized=$(gsbctl totals --json | tr ',' '\n' | sed -n 's/.*"resized": //p')
	end_broker
	gsbctl trace dump "$dir/t.gsb" >"$dir/dump"
	expect_equal "$(gsb_trace summary --json "$dir/t.gsb" | tr ',' '\n' | sed -n 's/.*"resized": //p' | awk '{ n += $1 } END { print n }')" "$resized"
	# a slice is bit 2; what may not be sliced goes as it was asked
	expect_match "$(grep ' kernel ' "$dir/dump")" ' shapes=([4-7]|[0-9]*[1-9][0-9])'
	# each form of each kernel is proven, or there is a reason why not
	expect_match "$(grep ' kernel ' "$dir/dump")" ' no_reshape=[a-z_]+ no_slice=none no_persistent=off$'
	expect_no_match "$(grep ' kernel ' "$dir/dump")" ' shapes=[04] no_reshape=none'
	expect_match "$(gsb_trace explain "$dir/t.gsb" "$(sed -nE '/ kernel .* no_slice=none /s/.* name="([^"]*)".*/\1/p' "$dir/dump" | head -n 1)")" \
		'^  in slices                                 yes: proven$'
	serial=$(sed -nE 's/.* shaped +serial=([0-9]+) form=slice n_parts=4 part_ns=0$/\1/p' "$dir/dump" | head -n 1)
	[ -n "$serial" ] || fail "nothing was sliced: $(grep ' shaped ' "$dir/dump")"
	expect_match "$(gsb_trace explain "$dir/t.gsb" "$serial")" '  shape       in slices, one after the other, for [0-9]+ blocks? of [0-9]+ threads; 4 slices$'
}

gsb_trace_profile_has_a_file_for_each_stream_that_ran() {
	record_five
	expect_files "$dir/t.gsb" "$(gsbctl trace dump "$dir/t.gsb" | grep -c ' finished ')"
}

gsb_trace_replay_is_a_load_of_all_that_was_posted() {
	record_five
	expect_load_of_all_that_was_posted "$dir/t.gsb"
	"$build/tests/fuzz/replay_workload" "$dir/load" >/dev/null || fail "it does not come back as it is"
	status_of gsb_trace replay "$dir/t.gsb"
	expect_equal "$status" 2
}

# One tenant alone, twice: virtual times are the same, and so is what it had waited for.
gsb_trace_replay_of_the_same_run_is_the_same_load() {
	local run
	make_data
	for run in 1 2; do
		start_real_broker 'gate_timeout_ms = 60000' # who is charged runs otherwise, on a slow machine
		gsbctl trace record "$dir/t$run.gsb" >/dev/null
		query q3 q3 || fail "the query failed"
		await_no_tenants
		gsbctl trace stop >/dev/null
		end_broker
		gsb_trace replay -o "$dir/load$run" "$dir/t$run.gsb"
		rm -f "$dir/ready"
	done
	grep -q '^op .* after=' "$dir/load1" || fail "nothing waited"
	diff "$dir/load1" "$dir/load2" || fail "the two differ"
}

gsb_trace_wrong_words_are_told() {
	status_of gsb_trace summary
	expect_equal "$status" 2
	expect_match "$output" '^gsb-trace: usage: gsb-trace summary FILE$'
	status_of gsb_trace timeline "$dir/t.gsb"
	expect_equal "$status" 2
	expect_match "$output" 'gsb-trace timeline -o OUTPUT FILE$'
	status_of gsb_trace check "$dir/none"
	expect_equal "$status $output" "1 gsb-trace: $dir/none: No such file or directory"
	echo 'this is no trace' >"$dir/text"
	status_of gsb_trace summary "$dir/text"
	expect_equal "$status" 1
	expect_match "$output" "^gsb-trace: $dir/text: "
	status_of gsb_trace summary --all "$dir/text"
	expect_equal "$status" 2
}

gsb_trace_a_torn_or_damaged_file_is_read_as_far_as_it_goes() {
	local size
	record_five
	size=$(stat -c %s "$dir/t.gsb")
	head -c $((size - 24)) "$dir/t.gsb" >"$dir/torn"
	status_of gsb_trace check "$dir/torn"
	expect_match "$output" '^[1-9][0-9]* events, '
	status_of gsb_trace summary "$dir/torn"
	expect_equal "$status" 0
	expect_match "$output" 'has no end: its engine still writes it, had no room for it, or was killed'
	printf 'x' | dd of="$dir/t.gsb" bs=1 seek=$((size - 100)) conv=notrunc status=none
	status_of gsb_trace check "$dir/t.gsb"
	expect_equal "$status $(tail -n 1 <<<"$output")" '1 not in order'
	status_of gsb_trace summary "$dir/t.gsb"
	expect_match "$output" 'damaged after [0-9]+ events'
}

## In a browser ########################################################################

# browse PAGE [OPTION...]: what is in $dir/dom after the probe has had its hands on a copy of the page
browse() {
	local page=$1
	shift
	{ cat "$page" && echo '<script>' && cat "$srcdir/tests/integ/page_probe.js" && echo '</script>'; } >"$dir/probed.html"
	timeout -k 5 "$LIMIT_S" "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" \
		--window-size=1400,800 --dump-dom "$@" "file://$dir/probed.html" >"$dir/dom" 2>"$dir/chromium.log" || fail "$(tail -n 3 "$dir/chromium.log")"
	expect_no_match "$(grep '^error=' "$dir/dom" || true)" .
	grep -q '^end=reached' "$dir/dom" || fail "the probe did not end: $(tail -n 5 "$dir/chromium.log")"
}

probed() { # probed KEY: what the probe saw
	sed -nE "s/^$1=//p" "$dir/dom"
}

expect_probed() { # expect_probed KEY VALUE
	expect_equal "$1 $(probed "$1")" "$1 $2"
}

gsb_trace_timeline_shows_points_zooms_and_finds() {
	local key
	record_five
	gsb_trace timeline -o "$dir/page.html" "$dir/t.gsb"
	browse "$dir/page.html"
	expect_probed operations "$(gsbctl trace dump "$dir/t.gsb" | grep -c ' finished ')"
	expect_equal "$(probed legend | tr ' ' '\n' | sort | xargs)" 'q1 q2 q3 q4 q5'
	expect_match "$(gsb_trace explain "$dir/t.gsb" "$(probed pointed_serial)")" "^serial $(probed pointed_serial): $(probed pointed_at) "
	expect_probed chosen "$(probed pointed_serial)"
	expect_probed over_the_names 'Point at'
	expect_probed tenants_with_sms 5
	expect_probed escape_chooses_none none
	expect_probed found_nothing '0 matches'
	expect_match "$(probed found)" '^[1-9][0-9]* match'
	expect_equal "$(probed found_first | sed 's/ of .*//')" "$(probed pointed_at | sed 's/ of .*//')"
	expect_match "$(probed status)" "$(probed operations) of $(probed operations) operations"
	for key in colour_is_the_tenants most_sms_ok wheel_zooms_in wheel_keeps_its_place drag_moves home_shows_all right_is_the_next \
		left_is_back down_is_a_row_below plus_zooms found_is_in_view pressed; do
		expect_probed "$key" true
	done
	expect_probed page_is_dark false
	browse "$dir/page.html" --force-dark-mode
	expect_probed dark true
	expect_probed page_is_dark true
	expect_probed colour_is_the_tenants true
}

gsb_trace_timeline_of_100000_launches_is_shown() {
	printf '%s\n' '[device "null"]' >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start"
	gsbctl trace record "$dir/t.gsb" >/dev/null
	"$build/tools/gsbrun" --socket "$dir/s" --tenant bench -- "$build/tools/gsb-bench" tenant -n 100000 -b 100 >"$dir/bench"
	await_no_tenants
	gsbctl trace stop >/dev/null
	end_broker
	gsb_trace check "$dir/t.gsb" >"$dir/checked" || fail "$(cat "$dir/checked")"
	gsb_trace timeline -o "$dir/page.html" "$dir/t.gsb"
	browse "$dir/page.html"
	[ "$(probed operations)" -ge 100000 ] || fail "$(probed operations) operations"
	expect_match "$(probed status)" "$(probed operations) of $(probed operations) operations"
	expect_probed home_shows_all true
}

run_case gsb_trace_of_five_tenants_has_the_sums_of_the_broker
run_case gsb_trace_says_which_query_a_launch_was_of
if [ -x "$build/tests/integ/ranges_nvtx3" ]; then
	run_case gsb_trace_has_ranges_of_programs_with_nvidias_header
else
	skip_case gsb_trace_has_ranges_of_programs_with_nvidias_header
fi
run_case gsb_trace_without_ranges_is_what_it_was
run_case gsb_trace_explains_and_follows_chains
run_case gsb_trace_explains_in_what_form_a_launch_went
run_case gsb_trace_profile_has_a_file_for_each_stream_that_ran
run_case gsb_trace_replay_is_a_load_of_all_that_was_posted
run_case gsb_trace_replay_of_the_same_run_is_the_same_load
run_case gsb_trace_wrong_words_are_told
run_case gsb_trace_a_torn_or_damaged_file_is_read_as_far_as_it_goes
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
for case in gsb_trace_timeline_shows_points_zooms_and_finds gsb_trace_timeline_of_100000_launches_is_shown; do
	if [ -n "$chromium" ]; then
		run_case "$case"
	else
		skip_case "$case"
	fi
done
[ "$failures" -eq 0 ]
