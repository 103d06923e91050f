#!/usr/bin/env bash
# calibrate.sh - `gsb-model calibrate` on emulated GPUs, whose clock goes by a table that is known: it finds that table, writes a file that is
# read back, and says what is wrong.
# Usage: from the build folder: srcdir=... tests/integ/calibrate.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$srcdir/tests/integ/lib.sh"
model=$build/tools/gsb-model

# gpu FILE [LINE...]: two SMs of an H200, with their part of its memory's bandwidth, and these lines.
gpu() {
	local file=$1
	shift
	printf '%s\n' 'base = h200' 'name = small' 'n_sms = 2' 'sm_group = 1' 'mem_bandwidth_bytes_per_s = 72000000000' "$@" >"$file"
}

# found FILE OLDER YOUNGER X Y: the line of that pair is there, and neither speed is further off than the younger one's
# blocks are long against the older one's, 1/64, and the figures of the clock.
found() {
	awk -v pair="beside $2 $3 =" -v x="$4" -v y="$5" '
		function far(a, b) { return a - b > 0.025 || b - a > 0.025 }
		index($0, pair) == 1 { seen++; if (far($5, x) || far($6, y)) { print "    " $0 ", wanted " x, y; bad = 1 } }
		END { exit bad || seen != 1 }' "$1" || fail "beside $2 $3"
}

# All nine lines: what a kernel wants besides its unit, as all of these want issue slots, is in the figure of its unit.
calibrate_finds_the_table_that_the_clock_goes_by() {
	gpu "$dir/gpu.txt"
	"$model" calibrate --device "emu:$dir/gpu.txt" >"$dir/found"
	found "$dir/found" issue issue .99 0
	found "$dir/found" issue shared 1 1
	found "$dir/found" issue dram 1 1
	found "$dir/found" shared issue 1 1
	found "$dir/found" dram issue 1 1
	found "$dir/found" shared shared .99 .005
	found "$dir/found" shared dram 1 .03
	found "$dir/found" dram shared .99 .90
	found "$dir/found" dram dram .5 .49
	expect_equal "$(grep -c ^beside "$dir/found")" 9
}

calibrate_finds_the_lines_of_another_gpu() {
	gpu "$dir/gpu.txt" 'beside issue issue = 0.8 0.3' 'beside shared shared = 0.7 0.35' 'beside shared dram = 0.55 0.6' \
		'beside dram shared = 0.7 0.5' 'beside dram dram = 0.7 0.35'
	"$model" calibrate --device "emu:$dir/gpu.txt" >"$dir/found"
	found "$dir/found" issue issue .8 .3
	found "$dir/found" shared shared .7 .35
	found "$dir/found" shared dram .55 .6
	found "$dir/found" dram shared .7 .5
	found "$dir/found" dram dram .7 .35
}

# At residencies and lengths of blocks that the table is not of, and on which it was not made.
calibrate_says_how_far_the_law_is_off() {
	gpu "$dir/gpu.txt"
	"$model" calibrate --device "emu:$dir/gpu.txt" --only shared,dram >"$dir/found"
	expect_match "$(cat "$dir/found")" '^# the law with this table, on 24 speeds of other residencies and lengths of blocks:$'
	sed -n 's/^#  *off by a factor of \([0-9.]*\) in the median, \([0-9.]*\) at worst.*/\1 \2/p' "$dir/found" >"$dir/off"
	awk '{ok = $1 >= 1 && $1 < 1.1 && $2 >= $1 && $2 < 2} END {exit !ok}' "$dir/off" || fail "off by $(cat "$dir/off")"
}

calibrate_writes_a_gpu_that_is_read_back() {
	gpu "$dir/gpu.txt" 'beside shared shared = 0.7 0.35'
	"$model" calibrate --quick -d "emu:$dir/gpu.txt" -o "$dir/out.txt"
	expect_match "$(cat "$dir/out.txt")" "^# gsb-model calibrate --quick -d emu:$dir/gpu.txt -o $dir/out.txt\$"
	expect_match "$(cat "$dir/out.txt")" '^# Emulated NVIDIA H200 \(emu:.*\), [0-9]{4}-[0-9]{2}-[0-9]{2}$'
	expect_match "$("$model" arch "$dir/out.txt")" '^small +NVIDIA H200 +9\.0 +2 '
	status_of "$model" -a "$dir/out.txt" pair threads=256,blocks=8,shared=1 threads=256,blocks=8,shared=1
	expect_equal "$status" 0
	expect_match "$output" '^slowdown of the second with contention: '
	# What it is calibrated on is what it gives: the same pairs again.
	"$model" calibrate --quick -d "emu:$dir/out.txt" >"$dir/again"
	found "$dir/again" shared shared "$(awk '/^beside shared shared/ {print $5}' "$dir/out.txt")" \
		"$(awk '/^beside shared shared/ {print $6}' "$dir/out.txt")"
	expect_equal "$(ls "$dir")" "$(printf '%s\n' again gpu.txt out.txt)"
}

calibrate_gives_the_same_again_where_time_is_virtual() {
	gpu "$dir/gpu.txt"
	"$model" calibrate -d "emu:$dir/gpu.txt" --only shared,dram --quick >"$dir/one"
	"$model" calibrate -d "emu:$dir/gpu.txt" --only shared,dram --quick >"$dir/two"
	cmp "$dir/one" "$dir/two" || fail "two runs differ"
	expect_equal "$(grep -c ^beside "$dir/one")" 4
	expect_no_match "$(cat "$dir/one")" 'the law with this table'
}

# Pipes are apart, by the table. What an emulated GPU does not know apart is one of what it knows: its kernels run all the same.
calibrate_runs_the_kernels_of_all_units() {
	gpu "$dir/gpu.txt"
	"$model" calibrate -d "emu:$dir/gpu.txt" --quick --only dense,issue,alu,shared,l1,sfu,fp64,l2,chain,dram,barrier >"$dir/found"
	expect_equal "$(grep -c ^beside "$dir/found")" 121
	found "$dir/found" sfu dense .99 1
	found "$dir/found" sfu sfu .97 .02
	found "$dir/found" shared sfu .97 .20
	found "$dir/found" fp64 fp64 .97 .02
	found "$dir/found" fp64 sfu 1 1
	found "$dir/found" l2 chain .5 .49
}

# refused PATTERN ARGUMENT...: exit status 1, that line, and no file.
refused() {
	local pattern=$1
	shift
	status_of "$model" calibrate "$@" -o "$dir/out.txt"
	expect_equal "$status" 1
	expect_match "$output" "$pattern"
	expect_no_match "$(ls "$dir")" 'out\.txt'
}

calibrate_says_what_is_wrong() {
	refused "^gsb-model: emu:h300: .*no such architecture; there are c2070, " -d emu:h300
	refused "^gsb-model: null: on Null NVIDIA H200 kernels take no time" -d null
	gpu "$dir/gpu.txt" 'mem_bytes = 1000000'
	refused 'has no 256 MiB for an array that its L2 cannot hold; end what else uses its memory$' -d "emu:$dir/gpu.txt"
	gpu "$dir/gpu.txt" 'max_warps = 16' 'max_threads_per_block = 512'
	refused 'an SM of .* holds 2 blocks of 256 threads; to share it in quarters it must hold 4$' -d "emu:$dir/gpu.txt"
	gpu "$dir/gpu.txt"
	status_of "$model" calibrate -d "emu:$dir/gpu.txt" -o "$dir/none/out.txt"
	expect_equal "$status $output" "1 gsb-model: $dir/none/out.txt: No such file or directory"
	status_of "$model" calibrate -d "emu:$dir/gpu.txt" -o "$dir"
	expect_equal "$status $output" "1 gsb-model: $dir: is there, and no file that could be replaced"
	status_of "$model" calibrate --only sfu,nix
	expect_equal "$status" 2
	expect_match "$output" "^gsb-model: --only: no kernel for 'nix'; there are dense alu issue shared l1 sfu fp64 tensor l2 chain dram barrier\$"
	status_of "$model" calibrate cuda:0
	expect_equal "$status $output" "2 gsb-model: calibrate takes no 'cuda:0'; the device is --device"
	status_of "$model" calibrate --json
	expect_equal "$status" 2
	expect_equal "$(ls "$dir")" gpu.txt
}

# What was there before stays, when the new file cannot be made.
calibrate_leaves_the_old_file_when_it_fails() {
	echo old >"$dir/out.txt"
	status_of "$model" calibrate -d null -o "$dir/out.txt"
	expect_equal "$status" 1
	expect_equal "$(cat "$dir/out.txt")" old
	expect_equal "$(ls "$dir")" out.txt
	[ -c /dev/full ] || return 0
	gpu "$dir/gpu.txt"
	status=0
	output=$("$model" calibrate -d "emu:$dir/gpu.txt" --only dram --quick 2>&1 >/dev/full) || status=$?
	expect_equal "$status" 1
	expect_match "$output" '^gsb-model: standard output: No space left on device$'
}

run_case calibrate_finds_the_table_that_the_clock_goes_by
run_case calibrate_finds_the_lines_of_another_gpu
run_case calibrate_says_how_far_the_law_is_off
run_case calibrate_writes_a_gpu_that_is_read_back
run_case calibrate_gives_the_same_again_where_time_is_virtual
run_case calibrate_runs_the_kernels_of_all_units
run_case calibrate_says_what_is_wrong
run_case calibrate_leaves_the_old_file_when_it_fails
[ "$failures" -eq 0 ]
