#!/usr/bin/env bash
# hostile.sh - hostile processes under a real broker, beside tenants whose every result is verified: each kind of
# rogue.c, and bad device code. The engine lives on as it was, and its log names each culprit with the reason.
# Usage: from the build folder: srcdir=... tests/integ/hostile.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

long=${GSB_CHECK_LONG-}

# Rogues may have little, so that they run into every limit; an endless kernel ends some time.
start_strict_broker() {
	start_real_broker '[engine]' 'kernel_limit_ms = 3000' \
		'[tenant "rogue"]' 'device_memory = 16M' 'host_memory = 16M' 'staging = 1M' 'image_max = 3M'
}

# healthy NAME QUERY: one tenant after the other until $dir/stop is there; fails when one did. It says when it is at it.
healthy() {
	query "$1" "$2" || return
	echo "$1" >"$dir/started"
	until [ -e "$dir/stop" ]; do
		query "$1" "$2" || return
	done
}

# What must be as it was, whoever came and went. In $found; the engine in $engine.
look_around() {
	await_no_tenants
	found="engine $(engine_pid), $(holdings), $(json_value "$(gsbctl status --json)" engines_died) died"
}

# beside_healthy COMMAND...: run it while others query; they, and what the engine holds, must not notice.
beside_healthy() {
	local before pids=() pid command_status=0
	mkfifo "$dir/started"
	exec {started}<>"$dir/started"
	query warm q3 || fail "$(cat "$dir/warm.out")"
	look_around
	before=$found
	healthy a q1 &
	pids+=($!)
	healthy b q4 &
	pids+=($!)
	for pid in "${pids[@]}"; do
		read -r -t "$LIMIT_S" _ <&"$started" || fail "no healthy tenant: $(cat "$dir/a.out" "$dir/b.out")"
	done
	"$@" || command_status=$?
	touch "$dir/stop"
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a healthy tenant: $(cat "$dir/a.out" "$dir/b.out" "$dir/broker.log")"
	done
	expect_equal "$command_status" 0
	look_around
	expect_equal "$found" "$before"
}

# rogues KIND ROUNDS: with GSB_CHECK_LONG five times as many.
rogues() {
	local n=$2
	[ -z "$long" ] || n=$((5 * n))
	"$build/tests/integ/rogue" "$dir/s" "$1" 1 "$n" >"$dir/rogues.out" || {
		grep -E 'FAILED|WRONG' "$dir/rogues.out"
		return 1
	}
	tail -1 "$dir/rogues.out"
}

# Each one that was cut off stands in the log once, by its process and with the reason it was told, or, behind the first
# ten, is counted there; nobody else does, and nothing of theirs passes for a line of the log. The broker has ended.
expect_culprits_named() {
	local pid reason k n=0 named=0 held
	while IFS=$'\t' read -r pid reason; do
		k=$(grep -cF "pid $pid) is cut off: $reason" "$dir/broker.log") || :
		[ "$k" -eq 1 ] || { [ "$k" -eq 0 ] && [ "$n" -ge 10 ]; } || fail "$reason: $k"
		n=$((n + 1)) named=$((named + k))
	done < <(sed -nE 's/^.*, pid ([0-9]+): cut off: (.*)/\1\t\2/p' "$dir/rogues.out")
	held=$(sed -nE 's/^gsb-engine: error: tenant: \.\.\. and ([0-9]+) more were cut off$/\1/p' "$dir/broker.log" | awk '{n += $1} END {print n + 0}')
	expect_equal "$((named + held)) cut off" "$n cut off"
	expect_equal "$(grep -c '^gsb-engine: error: tenant: .* is cut off' "$dir/broker.log") named" "$named named"
	! grep -vE '^(gsb-engine|gsbrokerd): [[:print:]]*$' "$dir/broker.log" || fail "these are no lines of the log"
}

rogues_of_kind() { # KIND ROUNDS
	make_data
	start_strict_broker
	beside_healthy rogues "$@"
	end_broker
	expect_culprits_named
}

hostile_noise_in_the_ring() { rogues_of_kind noise 20; }
hostile_records_with_edits() { rogues_of_kind records 400; }
hostile_records_that_change_while_read() { rogues_of_kind race 40; }
hostile_tail() { rogues_of_kind tail 16; }
hostile_words_rewritten() { rogues_of_kind words 32; }
hostile_doorbell_made_blocking() { rogues_of_kind doorbell 3; }
hostile_memfd_resized() { rogues_of_kind seals 4; }
hostile_messages_to_the_engine() { rogues_of_kind socket 36; }
hostile_flood_of_valid_messages() { rogues_of_kind flood 2; }
hostile_messages_at_the_door() { rogues_of_kind door 21; }
hostile_sockets_that_linger() { rogues_of_kind linger 3; }
hostile_sockets_that_linger_at_the_door() { rogues_of_kind linger_door 4; }
hostile_images() { rogues_of_kind image 64; }
hostile_endless_kernels() { rogues_of_kind endless 4; }

# The loader has them for seconds; in the limit of rogue.c all of them are done.
hostile_images_made_to_be_slow() {
	make_data
	start_real_broker
	beside_healthy rogues slow 3
	end_broker
	expect_culprits_named
}

badcode() {
	tenant badcode "$build/tests/integ/badcode" >"$dir/badcode.out" 2>"$dir/badcode.err" ||
		fail "$(cat "$dir/badcode.out" "$dir/badcode.err")"
}

hostile_bad_code_beside_healthy_tenants() {
	make_data
	start_strict_broker
	beside_healthy badcode
	expect_match "$(cat "$dir/broker.log")" "tenant [0-9]+: module refused: .*nowhere"
	end_broker
}

run_case hostile_noise_in_the_ring
run_case hostile_records_with_edits
run_case hostile_records_that_change_while_read
run_case hostile_tail
run_case hostile_words_rewritten
run_case hostile_doorbell_made_blocking
run_case hostile_memfd_resized
run_case hostile_messages_to_the_engine
run_case hostile_flood_of_valid_messages
run_case hostile_messages_at_the_door
run_case hostile_sockets_that_linger
run_case hostile_sockets_that_linger_at_the_door
run_case hostile_images
run_case hostile_endless_kernels
run_case hostile_images_made_to_be_slow
run_case hostile_bad_code_beside_healthy_tenants
[ "$failures" -eq 0 ]
