#!/usr/bin/env bash
# live.sh - what a broker shows while it runs and of tenants that have left: five tenants, of which all is known, on the
# emulated device; ps, totals and top must say exactly what they did.
# Usage: from the build folder: srcdir=... tests/integ/live.sh
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
		expect_equal "$word" done
		exec {pipe}<&-
	done
}

let_go() {
	exec {stay}>&-
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
	expect_match "$(head -n 1 <<<"$rows")" ' 0\.0% .* [1-9]\.[0-9]{2} '
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

run_case live_totals_are_what_five_tenants_did
run_case live_totals_of_a_killed_engine_keep_what_was_seen
run_case live_top_batch_shows_the_tenants_in_order
run_case live_top_says_what_is_wrong
run_case live_top_on_a_terminal_sorts_helps_and_ends
[ "$failures" -eq 0 ]
