#!/usr/bin/env bash
# textures.sh - a program that reads textures and writes surfaces of every kind, on the emulated device.
# Usage: from the build folder: srcdir=... tests/integ/textures.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

textures_give_what_the_programming_guide_says() {
	start_real_broker
	status_of env ASAN_OPTIONS="$tenant_asan" GSB_SOCKET="$dir/s" LD_PRELOAD="$build/interpose/libgsbroker.so" \
		"$build/tests/integ/textures" "$srcdir/tests/ptx/texture.nvcc.ptx"
	expect_match "$output" $'\n0 wrong$'
	expect_equal "$status" 0
	end_broker
}

# The same through device/cuda, with a driver that keeps texels further apart than addresses say.
textures_of_a_driver_are_the_same() {
	status_of env ASAN_OPTIONS="$tenant_asan" GSB_REAL_LIBCUDA="$build/tests/fake/libcuda.so" \
		"$build/tools/gsbrun" --device cuda:0 -- "$build/tests/integ/textures" "$srcdir/tests/ptx/texture.nvcc.ptx"
	expect_match "$output" $'\n0 wrong$'
	expect_equal "$status" 0
}

# What a handle names is the program's to write: only its own work ends.
textures_of_a_forged_handle_end_their_process_alone() {
	local i
	start_real_broker
	for i in 0 1 2 3; do
		status_of env ASAN_OPTIONS="$tenant_asan" GSB_SOCKET="$dir/s" LD_PRELOAD="$build/interpose/libgsbroker.so" \
			"$build/tests/integ/textures" "$srcdir/tests/ptx/texture.nvcc.ptx" --forge "$i"
		expect_match "$output" "^forged: 0 wrong$"
	done
	expect_match "$(cat "$dir/broker.log")" "is no texture or surface object of this context"
	make_data
	query again q3 || fail "$(cat "$dir/again.out")"
	end_broker
}

run_case textures_give_what_the_programming_guide_says
run_case textures_of_a_driver_are_the_same
run_case textures_of_a_forged_handle_end_their_process_alone
[ "$failures" -eq 0 ]
