#!/usr/bin/env bash
# occupancy.sh - how much of an SM blocks may have, under a real broker on the emulated H200: each case of tests/integ/occupancy gives
# the answers that NVIDIA's driver gave to the same program on an H200.
# Usage: from the build folder: srcdir=... tests/integ/occupancy.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/answers.sh
. "$srcdir/tests/integ/answers.sh"

program=$build/tests/integ/occupancy expected=$srcdir/tests/integ/occupancy.expected

occupancy_answers_as_expected() {
	all_answer_as_expected
}

# What an SM of this GPU has of shared memory is shared memory: 96 KiB.
occupancy_of_pascal_has_no_preference() {
	real_device=emu:titanx-pascal start_real_broker
	expect_equal "$(tenant prefer "$program" prefer 2>"$dir/err")" "prefer blocks -1 4096 24
prefer blocks 0 4096 24
prefer blocks 100 4096 24"
	end_broker
}

run_case occupancy_answers_as_expected
run_case occupancy_of_pascal_has_no_preference
[ "$failures" -eq 0 ]
