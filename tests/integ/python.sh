#!/usr/bin/env bash
# python.sh - Python programs that compile for a GPU while they run, under gsbrun on the emulated H200. What they need
# is none of Debian's: GSB_PYTHON names an interpreter that has it (doc/emulated-device.md §5); without, they are skipped.
# Usage: from the build folder: srcdir=... [GSB_PYTHON=...] tests/integ/python.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

python=${GSB_PYTHON:-python3}

run_python() { # run_python PROGRAM LINES: it ends well, says so many things, and the broker and we have nothing to say
	local status=0 output
	start_real_broker
	output=$(ASAN_OPTIONS=$tenant_asan "$build/tools/gsbrun" --socket "$dir/s" -- "$python" -W ignore \
		"$srcdir/tests/integ/python/$1.py" 2>"$dir/err") || status=$?
	[ "$status" -eq 0 ] || fail "$1 ended with $status: $output $(cat "$dir/err")"
	expect_equal "$(wc -l <<<"$output")" "$2"
	expect_no_match "$(cat "$dir/err")" '^gsbroker'
	end_broker
}

python_numba_cuda() { run_python run_numba 8; }
python_cuda_core() { run_python run_cuda_core 7; }

run_where() { # run_where MODULE CASE
	if "$python" -c "import $1" 2>/dev/null; then
		run_case "$2"
	else
		skip_case "$2"
	fi
}

run_where numba_cuda python_numba_cuda
run_where cuda.core python_cuda_core
[ "$failures" -eq 0 ]
