#!/usr/bin/env bash
# gsb_ptx.sh - gsb-ptx as a user meets it: tables, reasons with their lines, files of all kinds, wrong words; and, where there
# is nvcc, what it says of CUB, thrust and the programs of tests/runtime.
# Usage: from the build folder: srcdir=... tests/integ/gsb_ptx.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

tool=$build/tools/ptx/gsb-ptx
traps=$srcdir/tests/resize/traps

# ok COMMAND...: its output in $output
ok() {
	status_of "$@"
	[ "$status" -eq 0 ] || fail "$*: status $status: $output"
}

# wrong STATUS PATTERN COMMAND...
wrong() {
	local want=$1 pattern=$2
	shift 2
	status_of "$@"
	[ "$status" -eq "$want" ] || fail "$*: status $status, not $want: $output"
	expect_match "$output" "$pattern"
}

classify_prints_a_row_a_kernel() {
	ok "$tool" classify "$srcdir/tests/ptx/vadd.nvcc.ptx"
	expect_match "$output" '^vadd +reshape slice persistent +E0 +0 +linear id$'
	expect_match "$output" '^saxpy +reshape slice persistent +E0 +0 +linear id, grid stride$'
	expect_equal "$(wc -l <<<"$output")" 4
	ok "$tool" classify "$traps/wait.ptx" --kernel looks_back_by
	expect_match "$output" '^looks_back_by_ticket +ordered +E0 +[0-9]+ +no slice: waits in a loop'
	expect_equal "$(wc -l <<<"$output")" 2
}

classify_json_is_one_object() {
	ok "$tool" classify --json "$srcdir/tests/ptx/vadd.nvcc.ptx"
	expect_equal "$(grep -c '"kernel": ' <<<"$output")" 3
	ok python3 -m json.tool <<<"$output"
}

# The line is that of the text, and it is the one that the reason names.
classify_why_shows_the_line_of_ptx() {
	local line
	ok "$tool" classify --why -k grid_barrier_volatile "$traps/wait.ptx"
	expect_match "$output" '^grid_barrier_volatile: leave \(E0\)$'
	expect_match "$output" '^  no reshape, slice, persistent: waits in a loop .*\[spin\]$'
	line=$(sed -nE 's/^ +([0-9]+): ld\.volatile\..*/\1/p' <<<"$output" | head -1)
	[ -n "$line" ] || fail "no line of a volatile load: $output"
	expect_match "$(sed -n "${line}p" "$traps/wait.ptx")" 'ld\.volatile'
	ok "$tool" classify --why -k reduce_tree "$srcdir/tests/ptx/reduce.lines.ptx"
	expect_match "$output" '^      from reduce\.cu:[0-9]+$'
	expect_match "$output" '^  parameter 0: read$'
	expect_match "$output" '^  parameter 1: written$'
}

# The PTX of a fatbin, and of a program, is found in it, as gsb-emu finds it.
classify_reads_fatbins_and_programs() {
	fatbin_of "$srcdir/examples/gpu_db/ptx/join.ptx" >"$dir/fat"
	ok "$tool" classify "$dir/fat"
	expect_match "$output" '^hash_build +reshape slice persistent'
	objcopy --add-section ".nv_fatbin=$dir/fat" "$(type -P true)" "$dir/program"
	ok "$tool" classify "$dir/program"
	expect_match "$output" '^scan_tiles +slice persistent +E0'
	ok "$tool" classify "$dir/program" --why -k scan_tiles
	expect_match "$output" '\[shared\]$'
	wrong 2 'gsb-ptx: .*without device code of its own' "$tool" classify "$(type -P true)"
}

wrong_words_are_refused() {
	wrong 2 'gsb-ptx: classify takes FILE' "$tool" classify
	wrong 2 'gsb-ptx: /nonexistent: No such file' "$tool" classify /nonexistent
	wrong 2 'gsb-ptx: .*: neither PTX nor a fatbin nor a program' "$tool" classify "$srcdir/tests/lint"
	wrong 2 'gsb-ptx: .*: no kernel nobody' "$tool" classify "$srcdir/tests/ptx/vadd.nvcc.ptx" -k nobody
	wrong 2 'gsb-ptx' "$tool" rename "$srcdir/tests/ptx/vadd.nvcc.ptx"
	ok "$tool" --version
	expect_match "$output" '^gsb-ptx [0-9]'
	ok "$tool" classify --help
	expect_match "$output" 'classify'
}

# what FORM: how many kernels of the table have this form
what() {
	awk -v form="$1" 'NR > 1 && $0 ~ " " form " "' "$dir/table" | wc -l
}

# classify_program NAME PROGRAM: its table in $dir/table; the counts, as doc/resizing.md has them
classify_program() {
	ok "$tool" classify "$2"
	echo "$output" >"$dir/table"
	printf '%s: %s kernels: reshape %s, slice %s, persistent %s, ordered %s, leave %s\n' "$1" "$(($(wc -l <"$dir/table") - 1))" \
		"$(what reshape)" "$(what slice)" "$(what persistent)" "$(what ordered)" "$(what leave)"
}

# A kernel that looks back is ordered at most, whatever else changes; a class of exits stands behind the forms.
algorithms_of_nvidia_are_classified() {
	local name
	for name in cub_75 cub_90 thrust_75 thrust_90; do
		classify_program "$name" "$build/tests/algorithms/$name"
		if grep -E 'DeviceScanKernel|Onesweep|DeviceSelectSweep|ReduceByKeyKernel' "$dir/table" |
			grep -vE ' (ordered|leave) +E[0-3] '; then
			fail "$name: a kernel that looks back is neither ordered nor left alone"
		fi
		[[ $name == cub* ]] || continue
		grep -qE 'DeviceScanKernel.* ordered +E' "$dir/table" || fail "$name: no scan is ordered"
		grep -qE 'DeviceReduceKernel.* slice persistent +E' "$dir/table" || fail "$name: a reduction waits for nobody"
	done
}

runtime_programs_are_classified() {
	local name
	for name in callbacks launch_ex occupancy overlap parts pools reduce streams surfaces symbols textures \
		threads; do
		classify_program "$name" "$build/tests/runtime/$name"
	done
	classify_program cooperative "$build/tests/runtime/cooperative"
	expect_match "$output" ' leave .*waits in a loop'
}

run_case classify_prints_a_row_a_kernel
run_case classify_json_is_one_object
run_case classify_why_shows_the_line_of_ptx
run_case classify_reads_fatbins_and_programs
run_case wrong_words_are_refused
if [ -x "$build/tests/algorithms/cub_75" ]; then
	run_case algorithms_of_nvidia_are_classified
	run_case runtime_programs_are_classified
else
	skip_case algorithms_of_nvidia_are_classified
	skip_case runtime_programs_are_classified
fi
[ "$failures" -eq 0 ]
