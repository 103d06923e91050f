#!/usr/bin/env bash
# toolkit.sh - programs that compile while they run, under gsbrun on the emulated H200: what NVRTC and nvJitLink call a
# cubin is PTX there, and runs.
# Usage: from the build folder: srcdir=... tests/integ/toolkit.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

run_toolkit() { # run_toolkit [FOLDER]
	local status=0
	start_real_broker
	tenant toolkit "$build/tests/integ/toolkit" "$@" 2>"$dir/err" || status=$?
	[ "$status" -eq 0 ] || fail "toolkit ended with $status: $(cat "$dir/err")"
	end_broker
}

toolkit_cubins_are_ptx_and_run() {
	run_toolkit
	expect_equal "$(grep -c '^gsbroker: warn: nvJitLink: an input has neither PTX nor LTO-IR' "$dir/err")" 1
	expect_equal "$(grep -c '^gsbroker: error: module: the engine did not load an image: a cubin has no PTX' "$dir/err")" 1
}

toolkit_of_nvidia_links_to_what_runs() {
	run_toolkit "$cuda/lib64"
	expect_equal "$(grep -v '^\[' "$dir/err")" ''
}

toolkit_is_in_place_where_the_device_is_emulated() {
	# shellcheck disable=SC2016 # the shell under gsbrun expands it
	local set='echo "$LD_PRELOAD $CUPY_COMPILE_WITH_PTX"'
	start_real_broker
	status_of tenant toolkit sh -c "$set"
	expect_match "$output" "^$build/interpose/libgsbroker.so:$build/toolkit/libgsbtoolkit.so 1\$"
	status_of env CUPY_COMPILE_WITH_PTX=0 "$build/tools/gsbrun" --verbose --socket "$dir/s" -- sh -c "$set"
	expect_match "$output" "libgsbtoolkit.so 0\$"
	expect_match "$output" "^gsbrun: the device is emulated: cubins of NVRTC and nvJitLink are PTX, by $build/toolkit/libgsbtoolkit.so"
	end_broker
}

cuda=$(sed -n 's/^CUDA_DIR = //p' "$build/Makefile")
run_case toolkit_cubins_are_ptx_and_run
run_case toolkit_is_in_place_where_the_device_is_emulated
if [ -e "$cuda/lib64/libnvrtc.so.13" ] && [ -e "$cuda/lib64/libnvJitLink.so.13" ]; then
	run_case toolkit_of_nvidia_links_to_what_runs
else
	skip_case toolkit_of_nvidia_links_to_what_runs
fi
[ "$failures" -eq 0 ]
