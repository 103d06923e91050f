#!/usr/bin/env bash
# bench_device.sh - `gsb-bench launch`, ..., as far as that goes without a GPU: each part has its rows, and a way that cannot run is left out.
# Usage: from the build folder: srcdir=... tests/integ/bench_device.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

device=emu:h200 rounds=2 more=
# rows_of PART...: the keys in the JSON of each; on $device, with so many $rounds and $more options
rows_of() {
	local part
	for part; do
		# shellcheck disable=SC2086 # several words
		"$build/tools/gsb-bench" "$part" --device "$device" --rounds "$rounds" --scale 1/256 --json $more >"$dir/$part.json" || fail "$part fails"
		python3 - "$dir/$part.json" "$part" "$device" "$rounds" "$more" <<-'END' || fail "$part: $(cat "$dir/$part.json")"
			import json, sys
			said = json.load(open(sys.argv[1]))
			assert said["device"] == sys.argv[3] and str(said["rounds"]) == sys.argv[4] and said["scale"] == "1/256"
			assert "H200" in said["gpu"] and said["time"].endswith("Z") and "driver" in said
			assert said["command"] == " ".join(["gsb-bench", sys.argv[2], "--device", sys.argv[3], "--rounds", sys.argv[4], "--scale", "1/256", "--json", *sys.argv[5].split()])
			for row in said["rows"]:
			    assert row["part"] == sys.argv[2] and row["broker"]["median"] > 0
			    assert row["broker"]["least"] <= row["broker"]["median"] <= row["broker"]["most"]
			    assert "native" not in row and "MPS" not in row
			print(*[row["row"] for row in said["rows"]])
		END
	done | xargs
}

bench_device_parts_have_their_rows() {
	expect_equal "$(rows_of launch sync alloc)" "launch_call launch_each mixed_each launch_mixed sync sync_slept alloc_small alloc_large"
	expect_equal "$(rows_of startup tenants program)" "startup tenants program"
}

# On a device that does nothing: beside such programs an emulated one takes milliseconds for a launch.
bench_device_measures_beside_others() {
	device=null rounds=1
	expect_equal "$(rows_of interference)" "beside_median beside_p99 beside_most large_p99 large_most"
}

# child_of PID WORDS: the child whose command ends so, once there is one
child_of() {
	local child
	for child in $(children_of "$1"); do
		[[ $(tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline") != *"$2 " ]] || echo "$child"
	done 2>/dev/null # one of them may have ended
}

bench_device_measures_beside_nobody_fails() {
	local bench
	"$build/tools/gsb-bench" interference --device null --rounds 1 2>"$dir/said" >/dev/null &
	bench=$!
	while kill -0 "$bench" && [ -z "$(child_of "$bench" 'probe large')" ]; do :; done
	kill -KILL "$(child_of "$bench" 'probe disturb_much')"
	wait "$bench" && fail "it did not notice"
	expect_match "$(cat "$dir/said")" "interference failed, broker"
}

bench_device_copies() {
	device=null
	expect_equal "$(rows_of copy)" "copy_pinned_in copy_pinned_out copy_pageable_in copy_pageable_out copy_word_in copy_word_call copy_word_out"
}

bench_device_has_queries_at_once_and_again() {
	rounds=1 more='--seconds 0.1'
	expect_equal "$(rows_of mix)" "mix mix_copies mix_five mix_five_turns mix_turns mix_copies_turns mix_loop"
	status_of "$build/tools/gsb-bench" mix --device emu:h200 --rounds 1 --scale 1/256 --seconds no
	expect_equal "$status" 1
	expect_match "$output" "mix failed, broker"
}

# What is run is not a program with that runtime, which an emulated device does not have: that there is one is all that is asked.
bench_device_runs_a_program_with_the_runtime() {
	more='--runtime /bin/true'
	expect_equal "$(rows_of startup tenants)" "startup startup_runtime tenants tenants_runtime"
	more=
	status_of "$build/tools/gsb-bench" startup --device emu:h200 --rounds 1
	expect_equal "$status" 0
	expect_match "$output" "left out: processes with NVIDIA's runtime: no program runs natively here"
	status_of "$build/tools/gsb-bench" tenants --device emu:h200 --rounds 1 --runtime /none
	expect_equal "$status" 1
	expect_match "$output" "tenants failed, broker"
}

bench_device_says_what_it_has_not() {
	status_of "$build/tools/gsb-bench" launch --device emu:none
	expect_equal "$status" 1
	expect_match "$output" "emu:none"
	status_of "$build/tools/gsb-bench" launch --rounds 0
	expect_equal "$status" 2
	expect_match "$output" "rounds 0: must be a number from 1"
	status_of "$build/tools/gsb-bench" lunch
	expect_equal "$status" 2
	expect_match "$output" "no part 'lunch'"
}

run_case bench_device_parts_have_their_rows
run_case bench_device_measures_beside_others
run_case bench_device_measures_beside_nobody_fails
run_case bench_device_copies
run_case bench_device_has_queries_at_once_and_again
run_case bench_device_runs_a_program_with_the_runtime
run_case bench_device_says_what_it_has_not
[ "$failures" -eq 0 ]
