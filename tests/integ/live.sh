#!/usr/bin/env bash
# live.sh - what a broker shows while it runs and of tenants that have left: five tenants, of which all is known, on the
# emulated device; ps, totals, top, metrics and events must say exactly what they did.
# Usage: from the build folder: srcdir=... tests/integ/live.sh
# shellcheck disable=SC2119 # start_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

names=(t1 t2 t3 t4 t5)
uid=$(id -u)

# Of tenant i: how many launches, and bytes of each copy.
launches_of() { echo $((10 * ($1 + 1))); }
bytes_of() { echo $((1024 * ($1 + 1))); }

# hold_five: all five have done their work and stay; let_go ends them.
hold_five() {
	local i name pipe word
	mkfifo "$dir/stay"
	exec {stay}<>"$dir/stay"
	for i in "${!names[@]}"; do
		name=${names[i]}
		exec {pipe}< <(tenant "$name" "$build/tests/integ/counted" "$(launches_of "$i")" "$(bytes_of "$i")" hold \
			<"$dir/stay" {stay}>&-)
		IFS= read -r -t "$LIMIT_S" word <&"$pipe" || fail "$name did not do its work"
		expect_equal "$word" "done"
		exec {pipe}<&-
	done
}

let_go() {
	exec {stay}>&-
	stay=
	await_no_tenants
}

# object TEXT NAME: the object of JSON whose tenant has that name.
object() {
	grep -oE "\{[^{}]*\"tenant\": \"$2\"[^{}]*\}" <<<"$1"
}

# expect_counts OBJECT I: what gsbctl says of tenant i, in ps or totals.
expect_counts() {
	local key
	for key in launches kernels; do expect_equal "$key $(json_value "$1" $key)" "$key $(launches_of "$2")"; done
	for key in bytes_h2d bytes_d2h bytes_d2d; do expect_equal "$key $(json_value "$1" $key)" "$key $(bytes_of "$2")"; done
	expect_equal "copies $(json_value "$1" copies)" "copies 3"
	expect_equal "fills $(json_value "$1" fills)" "fills 1"
	expect_equal "refused $(json_value "$1" memory_refused)" "refused 1"
	expect_equal "errors $(json_value "$1" errors)" "errors 0"
	for key in slowdown model_error; do expect_match "$1" "\"$key\": null,"; done # fifo predicts nothing
	expect_equal "predicted $(json_value "$1" predicted)" "predicted 0"
	[ "$(json_value "$1" sm_ns)" -gt 0 ] || fail "no SM time in $1"
	[ "$(json_value "$1" sm_ns)" -lt "$(json_value "$1" device_ns)" ] || fail "3 small blocks held an SM: $1"
}

live_totals_are_what_five_tenants_did() {
	local i ps totals key
	start_real_broker
	hold_five
	ps=$(gsbctl ps --json)
	for i in "${!names[@]}"; do expect_counts "$(object "$ps" "${names[i]}")" "$i"; done
	let_go
	totals=$(gsbctl totals --json)
	for i in "${!names[@]}"; do
		expect_counts "$(object "$totals" "${names[i]}")" "$i"
		expect_equal "$(json_value "$(object "$totals" "${names[i]}")" left)" 1
		for key in device_ns copy_ns sm_ns wait_order_ns wait_code_ns wait_policy_ns wait_device_ns instructions device_mem_peak_bytes; do
			expect_equal "$key $(json_value "$(object "$totals" "${names[i]}")" $key)" \
				"$key $(json_value "$(object "$ps" "${names[i]}")" $key)"
		done
	done
	end_broker
}

live_totals_of_a_killed_engine_keep_what_was_seen() {
	local i totals
	start_real_broker
	hold_five
	gsbctl ps >/dev/null # it is looked at, and then dies
	kill -KILL "$(engine_pid)"
	for i in $(seq 3000); do
		totals=$(gsbctl totals --json)
		[ "$(grep -o '"lost": 1' <<<"$totals" | wc -l)" -lt 5 ] || break
	done
	for i in "${!names[@]}"; do expect_counts "$(object "$totals" "${names[i]}")" "$i"; done
	exec {stay}>&-
	end_broker
}

live_top_batch_shows_the_tenants_in_order() {
	local out rows
	start_real_broker
	hold_five
	out=$(gsbctl top --batch --rounds 2 --delay 0.1 --sort name)
	rows=$(grep -E '^ *[0-9]+ +t[1-5] ' <<<"$out")
	expect_equal "$(awk '{print $2}' <<<"$rows" | xargs)" "t1 t2 t3 t4 t5 t1 t2 t3 t4 t5"
	expect_equal "$(head -n 5 <<<"$rows" | awk '{print $8}' | xargs)" "10 20 30 40 50" # kernels
	expect_match "$(head -n 1 <<<"$rows")" ' 0\.0% .* [0-9]+\.[0-9]%  +-  +-  ' # waited; fifo predicts nothing
	expect_no_match "$(tail -n 1 <<<"$rows")" '%' # time stands still between the two rounds
	expect_equal "$(grep -cE '^emu:h200 .* ready +fifo +5 +132 ' <<<"$out")" 2
	rows=$(gsbctl top --batch --rounds 1 --sort share | grep -E '^ *[0-9]+ +t[1-5] ')
	expect_equal "$(awk '{print $2}' <<<"$rows" | xargs)" "t5 t4 t3 t2 t1"
	let_go
	expect_no_match "$(gsbctl top --batch --rounds 1)" ' t[1-5] '
	end_broker
}

live_top_says_what_is_wrong() {
	local arguments
	for arguments in "--rounds 0" "--rounds -1" "--delay 0" "--delay x" "--delay nan" "--sort luck"; do
		# shellcheck disable=SC2086 # words
		status_of gsbctl top --batch $arguments
		expect_equal "$arguments: $status" "$arguments: 2"
		expect_match "$output" "gsbctl: ${arguments/ */} "
	done
	status_of gsbctl top --batch
	expect_equal "$status" 1
	expect_match "$output" "no gsbrokerd listens on $dir/s"
	status_of gsbctl top --batch --rounds 1 --json
	expect_equal "$status" 2
}

live_top_on_a_terminal_sorts_helps_and_ends() {
	local has_screen
	start_real_broker
	hold_five
	has_screen=$(gsbctl top 2>&1 </dev/null || true)
	if grep -q 'built without ncurses' <<<"$has_screen"; then
		expect_match "$has_screen" "give --batch"
	else
		expect_match "$has_screen" "no terminal: give --batch"
		printf 'nmhhq' | TERM=xterm timeout "$LIMIT_S" script -qec "'$build/tools/gsbctl' --socket '$dir/s' top" "$dir/screen" >/dev/null ||
			fail "top did not end: $(cat "$dir/screen")"
		expect_match "$(cat "$dir/screen")" 'q end'
		expect_match "$(cat "$dir/screen")" 'SLOWDOWN  how many times'
		status_of env TERM=no-such script -qec "'$build/tools/gsbctl' --socket '$dir/s' top" /dev/null
		expect_match "$output" "no-such is not known"
	fi
	let_go
	end_broker
}

# start_metrics: a broker with metrics on $address.
start_metrics() {
	address=unix:$dir/metrics
	start_real_broker '[metrics]' "listen = $address"
}

scrape() {
	"$build/tests/integ/scrape" "$address" "$@"
}

# value TEXT SERIES: of one sample; the series as it is written.
value() {
	awk -v series="$2" '$1 == series {print $2}' <<<"$1"
}

# ns SECONDS: as a count of nanoseconds.
ns() {
	local whole=${1%.*} part=${1#*.}
	echo $((whole * 1000000000 + 10#$part))
}

# expect_metrics TEXT I TOTAL: what metrics say of tenant i; all of it is in that object of JSON, too.
expect_metrics() {
	local labels="tenant=\"${names[$2]}\",uid=\"$uid\"" row series
	for row in launches:launches kernels:kernels copies:copies fills:fills records:records faults:errors \
		late:late resized:resized shadowed:shadowed differed:differed memory_refusals:memory_refused warp_instructions:instructions; do
		series="gsb_tenant_${row%:*}_total{$labels}"
		expect_equal "$series $(value "$1" "$series")" "$series $(json_value "$3" "${row#*:}")"
	done
	for row in to_device:bytes_h2d from_device:bytes_d2h on_device:bytes_d2d; do
		series="gsb_tenant_copied_bytes_total{$labels,direction=\"${row%:*}\"}"
		expect_equal "$series $(value "$1" "$series")" "$series $(json_value "$3" "${row#*:}")"
	done
	for row in order event code policy device; do
		series="gsb_tenant_wait_seconds_total{$labels,cause=\"$row\"}"
		expect_equal "$series $(ns "$(value "$1" "$series")")" "$series $(json_value "$3" "wait_${row}_ns")"
	done
	for row in kernel:device copy:copy sm:sm charged:charged; do
		series="gsb_tenant_${row%:*}_seconds_total{$labels}"
		expect_equal "$series $(ns "$(value "$1" "$series")")" "$series $(json_value "$3" "${row#*:}_ns")"
	done
	series="gsb_tenant_device_memory_peak_bytes{$labels}"
	expect_equal "$series $(value "$1" "$series")" "$series $(json_value "$3" device_mem_peak_bytes)"
}

live_metrics_are_what_five_tenants_did() {
	local i text later ps totals labels
	start_metrics
	hold_five
	ps=$(gsbctl ps --json)
	text=$(scrape)
	for i in "${!names[@]}"; do
		expect_metrics "$text" "$i" "$(object "$ps" "${names[i]}")"
		labels="{tenant=\"${names[i]}\",uid=\"$uid\"}"
		expect_equal "$(value "$text" "gsb_tenant_processes$labels")" 1
		expect_equal "$(value "$text" "gsb_tenant_left_total$labels")" 0
		expect_equal "$(value "$text" "gsb_tenant_device_memory_bytes$labels")" \
			"$(json_value "$(object "$ps" "${names[i]}")" device_mem_bytes)"
	done
	expect_equal "$(value "$text" gsb_broker_tenants)" 5
	expect_equal "$(value "$text" 'gsb_device_sms{device="emu:h200"}')" 132
	let_go
	totals=$(gsbctl totals --json)
	later=$(scrape)
	for i in "${!names[@]}"; do
		expect_metrics "$later" "$i" "$(object "$totals" "${names[i]}")"
		labels="{tenant=\"${names[i]}\",uid=\"$uid\"}"
		expect_equal "$(value "$later" "gsb_tenant_launches_total$labels")" "$(value "$text" "gsb_tenant_launches_total$labels")"
		expect_equal "$(value "$later" "gsb_tenant_processes$labels")" 0
		expect_equal "$(value "$later" "gsb_tenant_left_total$labels")" 1
	done
	expect_equal "$(value "$later" gsb_broker_tenants)" 0
	end_broker
	[ ! -e "$dir/metrics" ] || fail "the socket of the metrics is left"
}

live_metrics_never_fall_when_an_engine_dies() {
	local i text later labels
	start_metrics
	hold_five
	text=$(scrape)
	kill -KILL "$(engine_pid)"
	exec {stay}>&-
	await_no_tenants
	later=$(scrape)
	for i in "${!names[@]}"; do
		labels="{tenant=\"${names[i]}\",uid=\"$uid\"}"
		expect_equal "$(value "$text" "gsb_tenant_launches_total$labels")" "$(launches_of "$i")"
		expect_equal "$(value "$later" "gsb_tenant_launches_total$labels")" "$(launches_of "$i")"
		expect_equal "$(value "$later" "gsb_tenant_lost_total$labels")" 1
	done
	expect_equal "$(value "$later" gsb_broker_engine_deaths_total)" 1
	expect_no_match "$later" '^gsb_engine_'
	end_broker
}

live_metrics_of_an_engine_that_is_mute_come_all_the_same() {
	address=unix:$dir/metrics
	write_conf '[device "emu:/mute"]' '[metrics]' "listen = $address"
	start_broker
	hold --tenant silent
	expect_equal "$(value "$(scrape)" "gsb_tenant_processes{tenant=\"silent\",uid=\"$uid\"}")" 1
	kill -KILL "$(children_of "$broker")"
	await_log "was ended by signal 9"
	stop_broker
}

live_metrics_refuse_strangers_and_serve_others() {
	local held
	start_metrics
	expect_match "$(printf 'GET / HTTP/1.1\r\n\r\n' | scrape --raw)" '^HTTP/1.1 404 Not Found'
	expect_match "$(printf 'POST /metrics HTTP/1.1\r\n\r\n' | scrape --raw)" '^Allow: GET, HEAD'
	expect_match "$(head -c 100000 /dev/zero | tr '\0' a | scrape --raw)" '^HTTP/1.1 431 '
	expect_match "$(head -c 5000 /dev/urandom | scrape --raw)" '^HTTP/1.1 4[03][01] '
	expect_equal "$(printf 'GET /metrics HTTP' | scrape --raw)" ""
	expect_equal "$(printf 'HEAD /metrics HTTP/1.1\r\n\r\n' | scrape --raw | tail -n 1)" $'\r'
	expect_match "$(printf 'GET /metrics HTTP/1.0\n\n' | scrape --raw)" '^gsb_broker_tenants 0$'
	# More silent ones than there is room for: they are dropped after their time, and all that time gsbctl is served.
	exec {held}< <(scrape --hold 40)
	read -r -t "$LIMIT_S" line <&"$held"
	expect_equal "$line" held
	gsbctl status >/dev/null
	expect_equal "$(value "$(scrape)" gsb_broker_tenants)" 0
	read -r -t "$LIMIT_S" line <&"$held"
	expect_equal "$line" closed
	end_broker
}

# One of sixteen makes room, and no more: who asks does not wait until the time of silent ones is over. Where this takes seconds it is
# over, though, and it is tried again.
live_metrics_come_while_all_places_are_held() {
	local n i
	start_metrics
	for ((i = 0; i < 10; i++)); do
		n=$(scrape --among 40) || fail "no answer"
		if [ "$n" = 15 ]; then break; fi
	done
	expect_equal "$n" 15
	end_broker
}

live_metrics_at_a_port_are_checked_by_promtool() {
	local port text
	for port in $(shuf -i 20000-60000 -n 20); do
		address=127.0.0.1:$port
		write_conf '[device "emu:/ok"]' '[metrics]' "listen = $address"
		status_of timeout "$LIMIT_S" "$build/broker/gsbrokerd" --config "$dir/conf" --check-config
		expect_equal "$status" 0
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
	done
	start_broker
	hold --tenant t1
	text=$(scrape)
	expect_equal "$(value "$text" "gsb_tenant_processes{tenant=\"t1\",uid=\"$uid\"}")" 1
	promtool check metrics <<<"$text" >"$dir/promtool" 2>&1 || fail "$(cat "$dir/promtool")"
	expect_equal "$(cat "$dir/promtool")" ""
	stop_broker
}

live_metrics_that_cannot_be_are_said() {
	touch "$dir/file"
	for address in "unix:$dir/file" "unix:$dir/none/metrics"; do
		write_conf '[device "emu:/ok"]' '[metrics]' "listen = $address"
		status_of "$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s"
		expect_equal "$status" 1
		expect_match "$output" "\[metrics\] listen = $address: "
		[ ! -e "$dir/s" ] || fail "the socket is left"
	done
	[ -f "$dir/file" ] || fail "a file was removed for a socket"
}

# follow OPTION...: gsbctl events in the background, its output in $dir/followed; $follower is its process. It follows an
# engine that starts later, or, with the first event seen, one that runs.
follow() {
	gsbctl_events "$@" >"$dir/followed" 2>"$dir/followed.err" &
	follower=$!
}

gsbctl_events() {
	[ -z "${stay-}" ] || exec {stay}>&- # it would keep the tenants
	exec "$build/tools/gsbctl" --socket "$dir/s" events --follow "$@"
}

await_text() { # await_text FILE PATTERN
	timeout "$LIMIT_S" grep -qE -m 1 -e "$2" <(exec tail -n +1 -s 0.02 -F "$1" 2>/dev/null) || fail "$1 never said '$2': $(tail -n 5 "$1")"
}

live_events_are_those_of_a_recording() {
	local i name
	start_real_broker
	follow
	await_text "$dir/followed.err" 'no engine runs: the next one is followed from its beginning'
	hold_five
	let_go
	for i in "${!names[@]}"; do await_text "$dir/followed" "tenant=$((i + 1)) tenant_gone "; done
	end_broker # and with it the engine
	wait "$follower" || fail "it ended with status $?: $(cat "$dir/followed.err")"
	for i in "${!names[@]}"; do
		expect_equal "$(grep -c " tenant=$((i + 1)) queued .* kind=launch" "$dir/followed")" "$(launches_of "$i")"
		expect_equal "$(grep -c " tenant=$((i + 1)) copy " "$dir/followed")" 3
		expect_equal "$(grep -cE " tenant=$((i + 1)) allocated .* error=-[0-9]+" "$dir/followed")" 1
	done
	expect_no_match "$(cat "$dir/followed")" ' lost '
}

live_events_are_filtered_by_tenant_and_event() {
	start_real_broker
	hold_five # they are there before
	follow --json --tenant t9 --event tenant_come,queued,tenant_gone
	gsbctl trace status >/dev/null
	for _ in $(seq 3000); do
		grep -q 'recording' <<<"$(gsbctl trace status)" && break
	done
	tenant t8 "$build/tests/integ/counted" 5 1024 >/dev/null
	tenant t9 "$build/tests/integ/counted" 7 1024 >/dev/null
	await_text "$dir/followed" '"event":"tenant_gone"'
	let_go
	end_broker
	wait "$follower" || fail "it ended with status $?: $(cat "$dir/followed.err")"
	expect_equal "$(grep -c '"event":"queued".*"kind":"launch"' "$dir/followed")" 7
	expect_equal "$(grep -c '"event":"tenant_come".*"name":"t9"' "$dir/followed")" 1
	expect_equal "$(sed -E 's/.*"event":"([a-z_]+)".*/\1/' "$dir/followed" | sort -u | xargs)" "queued tenant_come tenant_gone"
	expect_equal "$(sed -E 's/.*"tenant":([0-9]+).*/\1/' "$dir/followed" | sort -u)" 7
	! command -v python3 >/dev/null || python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$dir/followed"
}

# It does not read, and the engine serves its tenants; then it does, and is told what it has missed.
live_events_of_a_slow_reader_are_lost_and_counted() {
	local shown lost
	start_real_broker
	follow
	await_text "$dir/followed.err" 'no engine runs'
	kill -STOP "$follower"
	tenant many "$build/tests/integ/counted" 60000 1024 >/dev/null # they are more than socket and buffer hold
	kill -CONT "$follower"
	for _ in $(seq 100); do # until it has caught up
		tenant few "$build/tests/integ/counted" 1 1024 >/dev/null
		! grep -q tenant_gone "$dir/followed" || break
	done
	end_broker
	wait "$follower" || fail "it ended with status $?: $(cat "$dir/followed.err")"
	lost=$(awk '/ lost here/ {n += $2} END {print n + 0}' "$dir/followed.err")
	[ "$lost" -gt 0 ] || fail "nothing was lost: $(wc -l <"$dir/followed") events"
	expect_equal "$(awk '/ lost n_events=/ {split($4, a, "="); n += a[2]} END {print n + 0}' "$dir/followed")" "$lost"
	shown=$(grep -c ' queued .* kind=launch' "$dir/followed")
	[ "$shown" -lt 60000 ] || fail "all launches were shown"
}

live_events_end_with_who_follows() {
	start_real_broker
	hold_five
	follow
	await_text "$dir/followed" 'tenant_come'
	status_of gsbctl_once
	expect_equal "$status" 1
	expect_match "$output" "recorded or followed already"
	kill "$follower"
	wait "$follower" || true
	for _ in $(seq 3000); do
		grep -q 'not recorded\|was recorded' <<<"$(gsbctl trace status)" && break
	done
	follow # another one may, now
	await_text "$dir/followed" 'tenant_come'
	let_go
	end_broker
	wait "$follower" || fail "it ended with status $?"
	expect_no_match "$(cat "$dir/broker.log")" 'ended early'
}

gsbctl_once() {
	gsbctl events --follow
}

# Nobody who has left keeps others from following the next engine.
live_events_for_the_next_engine_go_to_who_is_there() {
	start_real_broker
	follow
	await_text "$dir/followed.err" 'no engine runs'
	kill "$follower"
	wait "$follower" || true
	follow
	await_text "$dir/followed.err" 'no engine runs'
	tenant t1 "$build/tests/integ/counted" 1 1024 >/dev/null
	await_text "$dir/followed" 'tenant_gone'
	end_broker
	wait "$follower" || fail "it ended with status $?"
}

live_events_say_what_is_wrong() {
	status_of gsbctl events
	expect_equal "$status" 2
	expect_match "$output" "events needs --follow"
	status_of gsbctl events --follow --event queued,luck
	expect_equal "$status" 2
	expect_match "$output" "there is no event 'luck'"
	status_of gsbctl events --follow
	expect_equal "$status" 1
	expect_match "$output" "no gsbrokerd listens"
}

run_case live_totals_are_what_five_tenants_did
run_case live_totals_of_a_killed_engine_keep_what_was_seen
run_case live_top_batch_shows_the_tenants_in_order
run_case live_top_says_what_is_wrong
run_case live_top_on_a_terminal_sorts_helps_and_ends
run_case live_metrics_are_what_five_tenants_did
run_case live_metrics_never_fall_when_an_engine_dies
run_case live_metrics_of_an_engine_that_is_mute_come_all_the_same
run_case live_metrics_refuse_strangers_and_serve_others
run_case live_metrics_come_while_all_places_are_held
if command -v promtool >/dev/null; then
	run_case live_metrics_at_a_port_are_checked_by_promtool
else
	skip_case live_metrics_at_a_port_are_checked_by_promtool
fi
run_case live_metrics_that_cannot_be_are_said
run_case live_events_are_those_of_a_recording
run_case live_events_are_filtered_by_tenant_and_event
run_case live_events_of_a_slow_reader_are_lost_and_counted
run_case live_events_end_with_who_follows
run_case live_events_for_the_next_engine_go_to_who_is_there
run_case live_events_say_what_is_wrong
[ "$failures" -eq 0 ]
