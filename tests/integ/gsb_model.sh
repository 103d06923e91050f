#!/usr/bin/env bash
# gsb_model.sh - gsb-model as a user meets it: figures of the papers, files of every kind, what it says when
# something is wrong, JSON that is JSON.
# Usage: from the build folder: srcdir=... tests/integ/gsb_model.sh
set -u
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
model=$PWD/tools/gsb-model
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

run_case() {
	echo "[ RUN      ] $1"
	if ("$1"); then
		echo "[       OK ] $1"
	else
		echo "[  FAILED  ] $1"
		failures=$((failures + 1))
	fi
}

# expect STATUS PATTERN COMMAND...: the exit status, and a pattern that some line of the output has.
expect() {
	local status=$1 pattern=$2 out got
	shift 2
	out=$("$@" 2>&1)
	got=$?
	if [ "$got" -ne "$status" ] || ! grep -qE -- "$pattern" <<<"$out"; then
		echo "    $*: status $got, expected $status; no line like '$pattern' in:"
		printf '%s\n' "$out" | head -20
		exit 1
	fi
}

pair_gives_the_papers_slowdown() {
	expect 0 '^S2 +A +450 .* 11\.2500$' "$model" -a k40 -r paper pair \
		name=S1,threads=256,blocks=110,smem=1024 name=S2,threads=256,blocks=450
	expect 0 '^HS3 +A .* 15 +1\.2500$' "$model" -a k40 -r paper pair \
		name=PFL,threads=128,regs=13,blocks=47 name=HS3,threads=256,regs=36,blocks=1024
	expect 0 '^S2 +B ' "$model" -a k40 -r printed pair \
		name=S1,threads=256,blocks=110,smem=1024 name=S2,threads=256,blocks=450
}

tables_are_read_and_planned() {
	printf 'name threads blocks regs smem\nA 1024 13200 32 -\nB 128 132 16 2000\nC 512 264 40 60000\n' >"$dir/mix"
	expect 0 '^batches: 2$' "$model" batch "@$dir/mix"
	expect 0 '^ +[12] +A .*fills the GPU more than once$' "$model" batch "@$dir/mix"
	expect 0 '^B +128 +132 ' "$model" plan "@$dir/mix:B"
	expect 1 'no geometries found in which these kernels are all resident at once; .gsb-model batch' "$model" plan "@$dir/mix"
}

ptx_gives_registers_as_estimates() {
	local ptx=$srcdir/examples/gpu_db/ptx/md5.ptx
	expect 0 '^[a-z0-9_]+ +256 +~[0-9]+ ' "$model" occupancy "@$ptx"
	expect 0 '"regs_estimated": true' "$model" --json occupancy "@$ptx"
	head -c 400 "$ptx" >"$dir/short.ptx"
	expect 2 'short\.ptx:[0-9]+:' "$model" occupancy "@$dir/short.ptx"
	expect 2 'no kernel named nix' "$model" occupancy "@$ptx:nix"
}

a_gpu_can_be_a_file() {
	printf 'base = h200\nname = half\nn_sms = 66\n' >"$dir/half.txt"
	expect 0 '^k1 +256 .* 8 +100\.0 +8 ' "$model" -a "$dir/half.txt" occupancy threads=256,blocks=4000
	printf 'base = h200\nn_smz = 66\n' >"$dir/bad.txt"
	expect 2 "bad\.txt:2: unknown key 'n_smz'" "$model" -a "$dir/bad.txt" occupancy threads=256,blocks=1
}

# Two tenants that live on the memory run at half the speed beside each other, or as fast as alone, as the file says.
a_replay_is_by_the_lines_of_the_file() {
	local half free
	printf 'base = h200\nbeside dram dram = 0.5 0.5\n' >"$dir/half.txt"
	printf 'base = h200\nbeside dram dram = 1 1\nbeside issue issue = 1 1\n' >"$dir/free.txt"
	half=$("$model" -a "$dir/half.txt" replay --random 3 --units --policy coreside | sed -n 's/^makespan_ms: //p') || exit 1
	free=$("$model" -a "$dir/free.txt" replay --random 3 --units --policy coreside | sed -n 's/^makespan_ms: //p') || exit 1
	echo "$half $free" | awk '{exit !($2 > 0 && $2 < $1)}' || { echo "    $half $free"; exit 1; }
}

contention_is_said_of_kernels_that_say_what_they_ask_for() {
	local k=threads=256,blocks=132 out
	expect 0 '^slowdown of the first with contention: ' "$model" pair $k,issue=.5 $k,bandwidth=.5
	expect 0 '^table of contention: measured$' "$model" pair $k,issue=.5 $k,bandwidth=.5
	expect 0 '^table of contention: assumed: that of an H200$' "$model" -a a100 pair $k,issue=.5 $k,bandwidth=.5
	printf 'base = a100\nbeside dram dram = .5 .5\n' >"$dir/lines.txt"
	expect 0 '^table of contention: measured$' "$model" -a "$dir/lines.txt" pair $k,issue=.5 $k,bandwidth=.5
	for other in $k,issue=.5 $k,solo_us=5 $k; do
		out=$("$model" pair "$other" $k) || exit 1
		! grep 'with contention' <<<"$out" || exit 1
	done
	expect 0 '^contention not known for lack of demands of: k2$' "$model" pair $k,issue=.5 $k
	expect 0 '^end of both by rounds alone us: 100.000$' "$model" pair $k,solo_us=100 $k,solo_us=50
}

claims_say_what_they_cover() {
	local half=threads=256,regs=16,smem=204800,blocks=66,fixed=yes
	expect 0 '^no fewer than: 2$' "$model" batch $half $half $half
	expect 0 '^which holds for: one geometry for each grid, each batch resident as a whole' "$model" batch $half $half $half
	expect 0 '^fewest: proven$' "$model" batch $half $half $half
	expect 0 '^least shared memory: proven, for one geometry each' "$model" plan threads=128,regs=16,blocks=528
	# 20 grids of 6 blocks of 704 threads, one to an SM: placed one after the other
	# shellcheck disable=SC2046 # twenty words
	expect 0 '^least shared memory: not proven$' "$model" plan $(printf 'threads=64,regs=16,smem=204800,blocks=66 %.0s' {1..20})
}

fraction_says_hold_or_not() {
	expect 0 '^verdict: hold$' "$model" fraction \
		threads=256,blocks=1,solo_us=10000,issue=1,saturation=0.5 threads=256,blocks=1,solo_us=10000,bandwidth=1,saturation=0.5
	expect 0 '^verdict: run one after the other$' "$model" fraction \
		threads=256,blocks=1,solo_us=10,saturation=1 threads=256,blocks=1,solo_us=10,saturation=1
	expect 1 'neither can be held' "$model" fraction threads=256,blocks=1,solo_us=1 threads=256,blocks=1,solo_us=1
}

what_is_wrong_is_named() {
	expect 2 "unknown GPU 'h300': there are c2070, .*, h200, b200; a file has to be written ./h300" "$model" -a h300 arch
	expect 1 "unknown GPU 'h300': there are" "$model" arch h300
	expect 2 "unknown rules" "$model" -r none arch
	expect 2 "no command 'ocupancy'" "$model" ocupancy
	expect 2 "unknown key 'thread'" "$model" plan thread=3
	expect 2 "threads = '0'" "$model" plan threads=0,blocks=1
	expect 2 'blocks \(of the grid\) not given' "$model" plan threads=32
	expect 2 'pair takes 2 to 64 kernels, not 1' "$model" pair threads=32,blocks=1
	expect 2 'No such file' "$model" plan "@$dir/none"
	expect 1 'k1: regs x threads = 204800, but h200 has at most 65536 registers in a block' \
		"$model" batch threads=1024,regs=200,blocks=1,fixed=yes
	expect 1 'k1: threads = 2000, but h200 has at most 1024 threads in a block' "$model" occupancy threads=2000,blocks=1
	expect 1 'B: threads = 2000, but k40 has' "$model" -a k40 plan threads=32,blocks=1 name=B,threads=2000,blocks=1
	expect 1 'k1: smem = 300000, but h200 has at most 232448 bytes' "$model" best-block threads=96,smem=300000,blocks=3
	expect 1 'k2: regs = 300, but h200 has at most 255 registers in a thread' "$model" pair threads=32,blocks=3 threads=64,regs=300,blocks=3
	printf 'name threads blocks\nA 32\n' >"$dir/cells"
	expect 2 "cells:2: no cell for column 'blocks'" "$model" plan "@$dir/cells"
	head -c 64 /dev/zero >"$dir/zeros"
	expect 2 'zeros:1: not text' "$model" plan "@$dir/zeros"
	{ printf '\177ELF\002\001\001' && head -c 100 /dev/zero; } >"$dir/elf"
	expect 2 'not a cubin' "$model" plan "@$dir/elf"
}

options_stand_anywhere_and_none_is_ignored() {
	local k=threads=256,blocks=15
	expect 0 '"SMs_in_a_group": 1' "$model" plan $k --json --keep
	expect 0 '"arch": "k40"' "$model" --json plan $k -a k40
	expect 2 '^gsb-model pair: --plot is not an option of this command; it belongs to: occupancy, best-block$' \
		"$model" pair -p "$dir/x.svg" $k $k
	expect 2 '^gsb-model pair: --plot is not' "$model" -p "$dir/x.svg" pair $k $k
	expect 2 "^gsb-model plan: unrecognized option '--colour'$" "$model" plan $k --colour
	expect 2 "^gsb-model: option '--arch' requires an argument$" "$model" --arch
	expect 2 '^gsb-model: no command given$' "$model"
	expect 2 "kernel '-j': expected key=value" "$model" plan -- $k -j
	[ ! -e "$dir/x.svg" ] || exit 1
}

help_and_version_are_everywhere() {
	expect 0 '^Usage: gsb-model \[OPTION...\] COMMAND' "$model" --help
	expect 0 '^gsb-model [0-9.]+$' "$model" --version
	for command in arch occupancy best-block pair plan batch fraction; do
		expect 0 "^Usage: gsb-model $command \\[OPTION...\\]" "$model" "$command" --help
		expect 0 '^gsb-model [0-9.]+$' "$model" "$command" --version
		expect 0 "^  $command " "$model" --help
	done
}

to_full_disk() {
	{ "$@" >/dev/full; } 2>&1
}

to_closed_output() {
	{ "$@" >&-; } 2>&1
}

output_that_is_lost_is_an_error() {
	[ -c /dev/full ] || return 0
	for words in --help --version arch 'occupancy threads=32,blocks=1' 'pair --help'; do
		# shellcheck disable=SC2086 # a command and its words
		expect 1 '^gsb-model: standard output: No space left on device$' to_full_disk "$model" $words
	done
	expect 1 '^gsb-model: standard output: Bad file descriptor$' to_closed_output "$model" arch
}

json_is_json_whatever_the_names() {
	command -v python3 >/dev/null || return 0
	for command in occupancy best-block pair plan batch; do
		"$model" --json "$command" 'name=a"\b<é,threads=64,blocks=132' name=b,threads=32,blocks=10 >"$dir/json" || exit 1
		python3 -c 'import json,sys; o=json.load(open(sys.argv[1])); assert len(o["rows"])==2, o' "$dir/json" || exit 1
	done
	"$model" --json arch | python3 -c 'import json,sys; assert len(json.load(sys.stdin)["rows"])==10' || exit 1
}

# The driver that a tenant of an emulated H200 sees says what the table says.
the_driver_describes_its_gpu() {
	local kernel=name=K,threads=96,regs=160,smem=20000,blocks=4000
	"$model" occupancy "$kernel" | grep '^K' >"$dir/table"
	"$PWD/tools/gsbrun" --private -- "$model" -a driver occupancy "$kernel" | grep '^K' >"$dir/driver"
	cmp "$dir/table" "$dir/driver" || exit 1
	expect 1 'has no device 7' "$PWD/tools/gsbrun" --private -- "$model" arch driver:7
}

# Sixteen kernels beside twelve probes, as they were seen on an H200; which of them are together, and what two gain.
match_says_who_goes_with_whom() {
	local seen=$srcdir/doc/results/2026-11-29-model-real-profiles-h200.tsv
	expect 0 '^probes: 12$' "$model" match "$seen"
	expect 0 '^one after the other: 16$' "$model" match "$seen"
	expect 0 '^frontier +arithmetic +0\.250 +1\.143 +0\.969 +1\.073 +1\.864$' "$model" match "$seen"
	expect 0 '^verdict: run together$' "$model" match "$seen" nearest arithmetic
	expect 0 '^arithmetic +nearest +0\.750 +0\.992 +0\.005 +4\.250 +0\.471$' "$model" match "$seen" nearest arithmetic
	expect 0 '^verdict: run one after the other$' "$model" match "$seen" box updates
	# an odd one is alone
	expect 0 '"older": "box", "younger": "-", "share_of_older": null' "$model" --json match "$seen" nearest arithmetic box
	# three at once, or two of them: these pay (an H200 took 1.65 with these parts), and of those the third would only be in the way
	expect 0 '^three at once: 1\.868$' "$model" match "$seen" tile_update radix_partition arithmetic
	expect 0 '^oldest of three: tile_update, share 0\.500, speed 0\.538$' "$model" match "$seen" tile_update radix_partition arithmetic
	expect 0 '^third of three: radix_partition, share 0\.250, speed 0\.692$' "$model" match "$seen" tile_update radix_partition arithmetic
	expect 0 '^verdict: run three at once$' "$model" match "$seen" arithmetic tile_update radix_partition
	expect 0 '^verdict: run in pairs$' "$model" match "$seen" nearest plate box
	expect 2 "has no kernel 'nix'" "$model" match "$seen" nearest nix
	expect 2 "'nearest' is named twice" "$model" match "$seen" nearest nearest
	expect 2 'has no two kernels beside the probes' "$model" match "$seen" nearest
	head -n 40 "$seen" >"$dir/cut"
	expect 2 'cut: no kernel was beside all' "$model" match "$dir/cut"
	printf 'a,b\t1,1\n' >"$dir/bad"
	expect 2 'bad:1: fewer than 7 fields' "$model" match "$dir/bad"
	expect 2 'none: No such file' "$model" match "$dir/none"
	expect 2 'match takes a file of profiles' "$model" match
}

plot_is_written_whole() {
	expect 0 '^K ' "$model" -a gtx680 -p "$dir/k.svg" occupancy 'name=K,threads=256,regs=33,blocks=4096'
	[ "$(grep -c '<circle' "$dir/k.svg")" -eq 64 ] && [ "$(tail -n 1 "$dir/k.svg")" = '</svg>' ] || exit 1
	expect 1 'No such file' "$model" -p "$dir/none/k.svg" occupancy threads=256,blocks=1
}

for c in pair_gives_the_papers_slowdown tables_are_read_and_planned ptx_gives_registers_as_estimates a_gpu_can_be_a_file a_replay_is_by_the_lines_of_the_file \
	contention_is_said_of_kernels_that_say_what_they_ask_for claims_say_what_they_cover \
	fraction_says_hold_or_not what_is_wrong_is_named options_stand_anywhere_and_none_is_ignored \
	help_and_version_are_everywhere output_that_is_lost_is_an_error json_is_json_whatever_the_names the_driver_describes_its_gpu match_says_who_goes_with_whom plot_is_written_whole; do
	run_case "$c"
done
[ "$failures" -eq 0 ]
