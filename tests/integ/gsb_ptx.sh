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

rewrite_puts_a_variant_behind_each_kernel() {
	ok "$tool" rewrite "$srcdir/tests/ptx/vadd.nvcc.ptx" --form slice -o "$dir/out.ptx"
	expect_equal "$(grep -c '^.visible .entry' "$dir/out.ptx")" 6
	ok "$tool" rewrite "$dir/out.ptx" --form persistent --kernel vadd -o "$dir/both.ptx"
	expect_equal "$(grep -o 'vadd\$[a-z]*' "$dir/both.ptx" | sort -u | tr '\n' ' ')" "vadd\$persistent vadd\$slice "
}

rewrite_that_cannot_be_says_why_and_where() {
	wrong 1 '^gsb-ptx: half_warps: not as persistent: line [0-9]+: lanes leave' \
		"$tool" rewrite "$srcdir/tests/ptx/diverge.nvcc.ptx" --form persistent -k half_warps
	wrong 1 'pipeline_block: not as persistent: line [0-9]+: ' \
		"$tool" rewrite "$srcdir/tests/ptx/async.80.nvcc.ptx" --form persistent -k pipeline_block
	wrong 2 '^gsb-ptx: --form turned: must be slice, persistent, count or hint$' \
		"$tool" rewrite "$srcdir/tests/ptx/vadd.nvcc.ptx" --form turned
	wrong 2 '^gsb-ptx: rewrite needs --form' "$tool" rewrite "$srcdir/tests/ptx/vadd.nvcc.ptx"
}

# Two blocks of 64 threads, four bytes each: 8 sectors for each warp and buffer.
counts_say_what_a_block_does() {
	ok "$tool" counts "$srcdir/tests/ptx/vadd.nvcc.ptx" -k vadd -g 2 -b 64 buf:f32:128 buf:f32:128 buf:f32:128 u32:128
	expect_match "$output" '^warps +4 +2$'
	expect_match "$output" '^global load sectors +32 +16$'
	expect_match "$output" '^global store sectors +16 +8$'
	expect_match "$output" '^global load bytes +1024 +512$'
	expect_match "$output" '^original +[0-9]+ +[0-9.]+$'
	expect_match "$output" '^persistent +[0-9]+ +[0-9.]+$'
}

# Warps 0 to 3: one of three are two of them.
counts_of_some_warps() {
	ok "$tool" counts "$srcdir/tests/ptx/vadd.nvcc.ptx" -k vadd -g 2 -b 64 --every 3 buf:f32:128 buf:f32:128 buf:f32:128 u32:128
	expect_match "$output" '^warps +2 +2$'
	expect_match "$output" '^global load sectors +16 +16$'
}

diff_run_finds_no_difference() {
	ok "$tool" diff-run "$srcdir/tests/ptx/vadd.nvcc.ptx" -k vadd -g 5 -b 64 --random 60 buf:f32:300:rand buf:f32:300:rand buf:f32:300 u32:300
	expect_match "$output" '^vadd: 60 runs in [0-9]+ launches, 0 different, seeds from 1, forms slice persistent count hint reshape$'
}

# What it leaves is the number of the block that comes last, so a random order shows.
diff_run_shows_what_differs() {
	cat >"$dir/order.ptx" <<-'END'
		.version 8.0
		.target sm_90
		.address_size 64
		.visible .entry last_one_wins(.param .u64 p)
		{
		.reg .b32 %r<4>;
		.reg .b64 %rd<3>;
		ld.param.u64 %rd1, [p];
		mov.u32 %r1, %ctaid.x;
		st.global.u32 [%rd1], %r1;
		ret;
		}
	END
	status_of "$tool" diff-run "$dir/order.ptx" -g 9 -b 32 --random 60 buf:u32:1
	expect_equal "$status" 1
	expect_match "$output" '^DIFFERENT: input [0-9]+, run [0-9]+ \((slice|persistent|count|hint), seed '
	expect_match "$output" '^last_one_wins: 60 runs in [0-9]+ launches, [1-9][0-9]* different'
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
	expect_match "$output" '^  streams:$'
	expect_match "$output" '^      195: ld\.global\.u32 '
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
run_case rewrite_puts_a_variant_behind_each_kernel
run_case rewrite_that_cannot_be_says_why_and_where
run_case counts_say_what_a_block_does
run_case counts_of_some_warps
run_case diff_run_finds_no_difference
run_case diff_run_shows_what_differs
run_case wrong_words_are_refused
if [ -x "$build/tests/algorithms/cub_75" ]; then
	run_case algorithms_of_nvidia_are_classified
	run_case runtime_programs_are_classified
else
	skip_case algorithms_of_nvidia_are_classified
	skip_case runtime_programs_are_classified
fi
[ "$failures" -eq 0 ]
