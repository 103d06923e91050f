#!/usr/bin/env bash
# algorithms.sh - CUB and thrust under gsbrun on the emulated H200: programs of tests/algorithms, which nvcc makes for two
# targets; each algorithm on a million elements, held against the host's. With GSB_CHECK_LONG 50 runs of each with 1, 2 and
# 4 workers. What blocks look at of each other (look-back) goes wrong now and then or not at all: only many runs tell.
# Usage: from the build folder: srcdir=... tests/integ/algorithms.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

runs=1
[ -z "${GSB_CHECK_LONG-}" ] || runs=50

run_program() { # run_program PROGRAM WORKERS
	start_real_broker "workers = $2"
	status=0
	output=$(timeout "$((60 + 30 * runs))" env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- \
		"$build/tests/algorithms/$1" 1000000 "$runs" 2>"$dir/err") || status=$?
	[ "$status" -eq 0 ] || fail "$1 ended with $status: $output $(tail -n 3 "$dir/err")"
	[ "$runs" -eq 1 ] || printf '%s\n' "$output"
	expect_equal "$(cat "$dir/err")" ''
	end_broker
}

names=
for program in cub_75 cub_90 thrust_75 thrust_90; do
	for workers in 1 2 4; do
		name=${program}_of_a_million_with_${workers}_workers
		eval "$name() { run_program $program $workers; }"
		# A push: each program, and each number of workers.
		[[ -z "${GSB_CHECK_LONG-}" && " cub_75 2 cub_90 4 thrust_75 1 thrust_90 2 " != *" $program $workers "* ]] ||
			names="$names $name"
	done
done

for name in $names; do
	if [ -x "$build/tests/algorithms/cub_90" ]; then
		run_case "$name"
	else
		skip_case "$name"
	fi
done
[ "$failures" -eq 0 ]
