#!/usr/bin/env bash
# gsb_emu.sh - gsb-emu as a user meets it: results, counts that a hand can check, what it says of kernels that fail and
# of words that are wrong.
# Usage: from the build folder: srcdir=... tests/integ/gsb_emu.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

emu=$build/tools/gsb-emu
ptx=$srcdir/tests/ptx

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

# kernel FILE BODY: an entry k with the address p in %rd1, %tid.x in %r0, and 4 KiB of shared memory at s
kernel() {
	printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.visible .entry k(.param .u64 p)' '{' \
		'.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .f64 %d<4>; .shared .align 16 .b8 s[4096];' \
		'ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x;' "$2" 'ret;' '}' >"$1"
}

# metric SECTION METRIC: its value and that of one block in $output, the JSON of stat
metric() {
	sed -nE "s/^.*\"section\": \"$1\", \"metric\": \"$2\", .*\"value\": ([^,]*), \"per_block\": ([^}]*)}.*/\1 \2/p" <<<"$output"
}

emu_list_shows_kernels() {
	ok "$emu" list "$ptx/vadd.nvcc.ptx"
	expect_match "$output" '^scale_mixed +[0-9]+ +0 +0 +0  \.u64 \.u64 \.u64 \.b8\[16\] \.u32 +-$'
	ok "$emu" list "$ptx/matmul.nvcc.ptx"
	expect_match "$output" '^matmul +[0-9]+ +2048 +0 +256  '
	ok "$emu" list --json "$ptx/vadd.nvcc.ptx"
	expect_equal "$(grep -c '"kernel": ' <<<"$output")" 3
	kernel "$dir/k.ptx" 'wgmma.fence.sync.aligned;'
	ok "$emu" list "$dir/k.ptx"
	expect_match "$output" '^k +[0-9]+ +4096 +0 +0  \.u64 +wgmma'
}

emu_run_prints_what_a_kernel_has_written() {
	ok "$emu" run "$ptx/vadd.nvcc.ptx" -k vadd -g 4 -b 256 --args buf:f32:1024:iota buf:f32:1024:0.5 c=buf:f32:1024 u32:1000 \
		--print c:996-1003 --print 0:3 --print vadd_param_1:0
	expect_equal "$output" "c[996]: 996.5 997.5 998.5 999.5 0 0 0 0
0[3]: 3
vadd_param_1[0]: 0.5"
	ok "$emu" run "$ptx/vadd.nvcc.ptx" -k scale -b 32 buf:b8:4:0x0f buf:s16:4:-10 buf:s64:4:7 \
		hex:030000000000000004000000010001aa u32:3 --print 0 --print 1 --print 2
	expect_equal "$output" "0[0]: 0x0e 0x0e 0x0e 0x0f
1[0]: -3 -3 -3 -10
2[0]: 25 25 25 7"
}

emu_run_reads_and_writes_files() {
	printf '\001\000\000\000\002\000\000\000\377\377\377\377' >"$dir/in"
	ok "$emu" run "$ptx/reduce.lines.ptx" -k reduce_shfl -b 32 "in:$dir/in:s32" "out:$dir/out:s32:2" u32:3 --print 0
	expect_equal "$output" '0[0]: 1 2 -1'
	expect_equal "$(od -An -tx1 "$dir/out")" ' 02 00 00 00 00 00 00 00'
}

emu_run_fills_at_random_but_the_same() {
	ok "$emu" run "$ptx/vadd.nvcc.ptx" -k vadd buf:f32:4:rand buf:f32:4:rand:2 buf:f32:4:rand:1 u32:0 --print 0 --print 1 --print 2
	expect_equal "$(sed -n 's/^0/2/p' <<<"$output")" "$(grep '^2' <<<"$output")"
	[ "$(sed -n 's/^0/1/p' <<<"$output")" != "$(grep '^1' <<<"$output")" ] || fail "two seeds, one sequence: $output"
	expect_match "$output" '^0\[0\]: 0\.[0-9]+ 0\.[0-9]+ 0\.[0-9]+ 0\.[0-9]+$'
}

emu_run_lets_the_kernel_speak() {
	status_of "$emu" run "$ptx/print.nvcc.ptx" buf:s32:3:iota u32:3 -b 32
	expect_match "$output" '^1: +1 b word'
}

emu_run_takes_dynamic_shared_memory_and_the_grid() {
	ok "$emu" run "$ptx/reduce.lines.ptx" -k tree -g 3,1,1 -b 64 -s 256 buf:s32:1000:2 sum=buf:s32:3 u32:1000 --print sum
	expect_match "$output" '^sum\[0\]: [0-9]+'
	wrong 1 'outside of shared memory' "$emu" run "$ptx/reduce.lines.ptx" -k tree -g 3 -b 64 -s 128 buf:s32:1000:2 buf:s32:3 u32:1000
	expect_match "$output" '^gsbroker:     the block has 128 bytes of shared memory from 0x[0-9a-f]+ on, 128 of them dynamic$'
	ok "$emu" run "$ptx/reduce.lines.ptx" -k tree -g 3 -b 64 -s 252 buf:s32:1000:2 buf:s32:3 u32:1000
	wrong 1 'outside of shared memory' "$emu" run "$ptx/reduce.lines.ptx" -k tree -g 3 -b 64 -s 252 --check-bounds buf:s32:1000:2 buf:s32:3 u32:1000
	expect_match "$output" '^gsbroker:     the block has 252 bytes of shared memory from 0x[0-9a-f]+ on, 252 of them dynamic$'
}

emu_run_finds_kernels_in_a_program() {
	kernel "$dir/k.ptx" 'st.global.u32 [%rd1], 77;'
	fatbin_of "$dir/k.ptx" >"$dir/fat"
	ok "$emu" run "$dir/fat" buf:u32:1 --print 0
	expect_equal "$output" '0[0]: 77'
	objcopy --add-section ".nv_fatbin=$dir/fat" "$(type -P true)" "$dir/program"
	ok "$emu" run "$dir/program" buf:u32:1 --print 0
	expect_equal "$output" '0[0]: 77'
	wrong 2 'without device code of its own' "$emu" list "$(type -P true)"
}

# As nvcc leaves it with -rdc=true: what was linked has machine code alone, and the parts lie beside it.
emu_run_joins_the_parts_of_a_linked_program() {
	local head='.version 8.0\n.target sm_75\n.address_size 64\n'
	# shellcheck disable=SC2059 # the format has the ends of lines
	printf "$head"'.extern .func (.param .b32 r) seven();
		.visible .entry k(.param .u64 p) { .reg .b64 %%rd1; .reg .b32 %%r1; .param .b32 got;
		ld.param.u64 %%rd1, [p]; call (got), seven; ld.param.b32 %%r1, [got];
		st.global.u32 [%%rd1], %%r1; ret; }\n' >"$dir/a.ptx"
	# shellcheck disable=SC2059
	printf "$head"'.visible .func (.param .b32 r) seven() { st.param.b32 [r], 7; ret; }\n' >"$dir/b.ptx"
	{
		fatbin_of "$dir/a.ptx"
		le 5 0
		fatbin_of "$dir/b.ptx"
	} >"$dir/parts"
	fatbin_of /dev/null >"$dir/linked"
	objcopy --add-section ".nv_fatbin=$dir/linked" --add-section "__nv_relfatbin=$dir/parts" "$(type -P true)" "$dir/program"
	ok "$emu" run "$dir/program" buf:u32:1 --print 0
	expect_equal "$output" '0[0]: 7'
}

# 2 blocks of 64 threads are 4 warps. The sectors of 32 words one after the other are 4, 8 with every second word.
emu_stat_counts_what_a_hand_can_count() {
	kernel "$dir/k.ptx" 'mov.u32 %r1, s; shl.b32 %r2, %r0, 7; and.b32 %r2, %r2, 4095; add.u32 %r1, %r1, %r2;
		mad.wide.u32 %rd2, %r0, 8, %rd1; ld.global.u32 %r3, [%rd2]; st.shared.u32 [%r1], %r3;
		mad.wide.u32 %rd3, %r0, 4, %rd1; st.global.u32 [%rd3+8192], %r3; setp.lt.u32 %p1, %r0, 40; @%p1 bra a;
		red.global.add.u32 [%rd1+16000], 1; a: bar.sync 0;'
	ok "$emu" stat "$dir/k.ptx" -g 2 -b 64 --json buf:u32:4096
	expect_equal "$(metric 'Instruction Statistics' 'Executed Instructions')" '62 31'
	expect_equal "$(metric 'Global Load' Sectors)" '32 16'
	expect_equal "$(metric 'Global Load' 'Sectors\/Req')" '8 null'
	expect_equal "$(metric 'Global Load' 'Coalescing Efficiency')" '50 null'
	expect_equal "$(metric 'Global Store' 'Sectors\/Req')" '4 null'
	expect_equal "$(metric 'Shared Store' 'Wavefronts')" '128 64'
	expect_equal "$(metric 'Shared Store' 'Bank Conflicts')" '124 62'
	expect_equal "$(metric 'Global Atomic' 'Threads\/Address')" '24 null'
	expect_equal "$(metric 'Source Counters' 'Branch Instructions')" '4 2'
	expect_equal "$(metric 'Source Counters' 'Divergent Branches')" '2 1'
	expect_equal "$(metric 'Source Counters' 'Branch Efficiency')" '50 null'
	expect_equal "$(metric 'Instruction Statistics' Barriers)" '4 2'
	expect_equal "$(metric 'Local Load' Requests)" '0 0'
	expect_equal "$(metric Occupancy 'Block Limit Warps')" '32 null'
}

# 4 warps again: words one behind the other, every second one, one for all, eight and eight, and squares.
emu_stat_says_how_accesses_were_done() {
	kernel "$dir/k.ptx" 'mad.wide.u32 %rd2, %r0, 4, %rd1; ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd2], %r1;
		mad.wide.u32 %rd3, %r0, 8, %rd1; ld.global.u32 %r1, [%rd3]; ld.global.u32 %r1, [%rd1];
		shr.u32 %r2, %r0, 3; mad.wide.u32 %rd4, %r2, 1024, %rd2; ld.global.u32 %r1, [%rd4];
		mul.lo.u32 %r3, %r0, %r0; mad.wide.u32 %rd5, %r3, 4, %rd1; ld.global.u32 %r1, [%rd5];
		red.global.add.u32 [%rd5], 1; mov.u32 %r4, s; add.u32 %r4, %r4, %r0; st.shared.u8 [%r4], %r0;'
	ok "$emu" stat "$dir/k.ptx" -g 2 -b 64 --json buf:u32:8192
	expect_equal "$(metric 'Emulated Access Paths' Accesses)" '32 16'
	expect_equal "$(metric 'Emulated Access Paths' 'In Order')" '12 6'
	expect_equal "$(metric 'Emulated Access Paths' 'In Order Share')" '37.5 null'
	expect_equal "$(metric 'Emulated Access Paths' 'One Place')" '4 2'
	expect_equal "$(metric 'Emulated Access Paths' 'Stride')" '4 2'
	expect_equal "$(metric 'Emulated Access Paths' 'Runs')" '4 2'
	expect_equal "$(metric 'Emulated Access Paths' 'Lane by Lane')" '8 4'
	expect_equal "$(metric 'Emulated Access Paths' 'Lane by Lane Share')" '25 null'
	ok "$emu" stat "$dir/k.ptx" -g 2 -b 64 buf:u32:8192
	expect_match "$output" '^Emulated Access Paths +Lane by Lane Share +% +25 +-$'
	kernel "$dir/k.ptx" ''
	ok "$emu" stat "$dir/k.ptx" buf:u32:1
	expect_no_match "$output" '^Emulated Access Paths'
}

emu_stat_is_the_same_on_any_number_of_workers() {
	local args=(stat "$ptx/histogram.nvcc.ptx" -g 40 -b 256 buf:b8:100000:rand buf:u32:256 u32:100000)
	ok "$emu" "${args[@]}" -w 1
	printf '%s\n' "$output" >"$dir/one"
	ok "$emu" "${args[@]}" -w 4
	expect_equal "$output" "$(cat "$dir/one")"
	expect_match "$output" '^Shared Atomic +Addresses '
	expect_no_match "$output" '^Local'
}

emu_stat_gives_demands_that_gsb_model_reads() {
	"$emu" stat --demands "$ptx/vadd.nvcc.ptx" -k vadd -g 4000 -b 256 buf:f32:1024 buf:f32:1024 buf:f32:1024 u32:1000 >"$dir/vadd"
	expect_equal "$(head -1 "$dir/vadd")" 'name threads regs smem blocks issue alu sfu fp64 shared l2 bandwidth barrier requests saturation solo_us'
	expect_match "$(cat "$dir/vadd")" '^vadd 256 [0-9]+ 0 4000 0\.[0-9]+ 0\.[0-9]+ 0\.0000 0\.0000 0\.0000 0\.[0-9]+ 0\.[0-9]+ 0\.0000 0\.[0-9]+ [01]\.[0-9]+ [0-9.]+$'
	ok "$build/tools/gsb-model" pair "@$dir/vadd" @- <"$dir/vadd"
	expect_match "$output" '^slowdown of the second with contention: '
	expect_equal "$(grep -c '^vadd ' <<<"$output")" 2
}

# A cycle of an SM has four instructions and one access of shared memory. Each thread of many does as many accesses as it has other
# instructions, but for a few: so shared memory is full, and half of the issue slots are. The second of two such kernels has next to nothing of it.
emu_stat_gives_what_is_asked_of_shared_memory() {
	local body='mov.u32 %r1, s;' i
	for i in {1..60}; do
		body+=' st.shared.u32 [%r1], %r0; add.u32 %r0, %r0, 1;'
	done
	kernel "$dir/k.ptx" "$body"
	"$emu" stat --demands "$dir/k.ptx" -g 1056 -b 256 buf:u32:1 >"$dir/k"
	awk 'NR == 2 { if ($6 < 0.45 || $6 > 0.55 || $10 < 0.95 || $10 > 1 || $12 > 0.01) { print; exit 1 } }' "$dir/k" || fail "issue, shared, bandwidth: $(cat "$dir/k")"
	"$emu" stat --demands "$dir/k.ptx" -g 132 -b 32 buf:u32:1 >"$dir/few"
	ok "$emu" stat "$dir/k.ptx" -g 132 -b 32 --json buf:u32:1
	awk -v insns="$(metric 'Instruction Statistics' 'Executed Instructions')" -v shared="$(metric 'Shared Store' Requests)" '
		NR == 2 { by = $10 / $6 * insns / shared / 4; if (by < 0.98 || by > 1.02) { print; exit 1 } }' "$dir/few" ||
		fail "shared is not to issue as its accesses are to instructions: $(cat "$dir/few")"
	ok "$build/tools/gsb-model" pair "@$dir/k" @- <"$dir/k"
	expect_match "$output" '^slowdown of the second with contention: '
	# An eighth of them would be as fast: a warp waits 4 cycles for each of some 120 instructions, 64 warps for 60 accesses of each.
	awk 'NR == 2 { if ($15 < 0.12 || $15 > 0.14) { print; exit 1 } }' "$dir/k" || fail "saturation: $(cat "$dir/k")"
	# One that only computes has the issue slots, and next to nothing else.
	kernel "$dir/k.ptx" "${body//st.shared.u32 \[%r1\], %r0; add.u32 %r0, %r0, 1/fma.rn.f32 %f0, %f0, %f1, %f1}"
	"$emu" stat --demands "$dir/k.ptx" -g 1056 -b 256 buf:u32:1 >"$dir/k"
	awk 'NR == 2 { if ($6 < 0.9 || $6 > 1 || $7 > 0.1 || $8 + $9 + $10 + $11 + $12 + $13 > 0 || $14 <= 0 || $14 > 0.001) { print; exit 1 } }' "$dir/k" || fail "issue, shared, bandwidth: $(cat "$dir/k")"
}

# Of an H200: in a cycle of an SM 2 instructions on whole numbers, and 2 on their products, 2 of double precision and half a special function. Each
# thread of many does 60 of all, so the last have their pipe for themselves all the time, and the others theirs for a quarter of it.
emu_stat_gives_what_is_asked_of_each_pipe() {
	local body='' i
	for i in {1..60}; do
		body+=' add.u32 %r0, %r0, 1; mul.lo.u32 %r1, %r0, %r1; fma.rn.f64 %d0, %d0, %d0, %d1; ex2.approx.f32 %f0, %f0;'
	done
	kernel "$dir/k.ptx" "$body"
	"$emu" stat --demands "$dir/k.ptx" -g 1056 -b 256 buf:u32:1 >"$dir/k"
	awk 'NR == 2 { if ($6 < 0.48 || $6 > 0.53 || $7 < 0.24 || $7 > 0.28 || $8 < 0.98 || $9 < 0.24 || $9 > 0.26) { print; exit 1 } }' "$dir/k" ||
		fail "issue, alu, sfu, fp64: $(cat "$dir/k")"
	# There 4 results of double precision come in a cycle, 32 of special functions and 42 products.
	"$emu" stat --demands "$dir/k.ptx" -a titanx-pascal -g 224 -b 256 buf:u32:1 >"$dir/k"
	awk 'NR == 2 { if ($9 < 0.98 || $8 < 0.12 || $8 > 0.13 || $7 < 0.09 || $7 > 0.1) { print; exit 1 } }' "$dir/k" ||
		fail "titanx-pascal: alu, sfu, fp64: $(cat "$dir/k")"
}

emu_says_of_a_fault_who_and_where() {
	wrong 1 'failed with CUDA_ERROR_ILLEGAL_ADDRESS$' "$emu" run "$ptx/reduce.lines.ptx" -k shfl -b 64 buf:s32:8 at:0+1000000 u32:8
	expect_match "$output" "^gsbroker: kernel 'reduce_shfl': atomic operation on 4 bytes at 0x[0-9a-f]+, not allocated$"
	expect_match "$output" '^gsbroker:     999968 bytes behind the end of the 32 bytes allocated at 0x[0-9a-f]+$'
	expect_match "$output" '^gsbroker:     (atom|red)\.[a-z0-9.]+ in line [0-9]+ of its PTX \([a-z_]+\.(cu|hpp):[0-9]+\)$'
	expect_match "$output" '^gsbroker:     block \(0,0,0\), thread \(0,0,0\)$'
}

emu_checks_more_when_asked_to() {
	kernel "$dir/k.ptx" 'mad.wide.u32 %rd2, %r0, 4, %rd1; mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+16]; st.global.u32 [%rd2], %r2;'
	ok "$emu" run "$dir/k.ptx" -b 32 buf:u32:30
	wrong 1 'thread \(30,0,0\), the first of 2 of its warp' "$emu" run "$dir/k.ptx" -b 32 buf:u32:30 --check-bounds
	wrong 1 'read of 4 bytes at 0x[0-9a-f]*10 of shared memory, which no thread has written' \
		"$emu" run "$dir/k.ptx" -b 32 buf:u32:32 --check-uninit
}

emu_names_what_is_wrong() {
	local v=$ptx/vadd.nvcc.ptx
	wrong 2 "which of its 3 kernels\? --kernel" "$emu" run "$v"
	wrong 2 "no kernel 'zebra'; there are" "$emu" run "$v" -k zebra
	wrong 2 "3 kernels have 'a' in their names" "$emu" run "$v" -k a
	wrong 2 'vadd takes 4 arguments, 1 are given' "$emu" run "$v" -k vadd u32:1
	expect_match "$output" '3: vadd_param_3, 4 bytes \(\.u32\)'
	wrong 2 'argument 3 .vadd_param_3.: what is given has 8 bytes, the parameter has 4' "$emu" run "$v" -k vadd u64:0 u64:0 u64:0 u64:0
	for word in f32:x u8:256 s8:-129 u32:-1 u32: zz:1 buf:f32 buf:f32:0 buf:f99:1 buf:f32:4:x hex:abc hex:zz at:+1 u32; do
		wrong 2 "^gsb-emu: argument '[^']*': " "$emu" run "$v" -k vadd "$word" u64:0 u64:0 u32:0
	done
	wrong 2 'no argument of memory is called that' "$emu" run "$v" -k vadd at:c u64:0 u64:0 u32:0
	for range in c 0:4 0:1-4 0:2-1 0: 0:x; do
		wrong 2 "^gsb-emu: --print $range: " "$emu" run "$v" -k vadd buf:f32:4 u64:0 u64:0 u32:0 --print "$range"
	done
	for dims in 0 1,0 a "1," 1,1,1,1 ",1" -1; do
		wrong 2 "^gsb-emu: --grid '$dims': must be X" "$emu" run "$v" --grid="$dims"
	done
	wrong 1 'block of 1025 in x: h200 has at most 1024' "$emu" run "$v" -k vadd -b 1025 u64:0 u64:0 u64:0 u32:0
	wrong 1 'block of 1056 threads: vadd may have at most 1024' "$emu" run "$v" -k vadd -b 33,32 u64:0 u64:0 u64:0 u32:0
	wrong 1 'a block of h200 has at most 232448' "$emu" run "$v" -k vadd -s 240000 u64:0 u64:0 u64:0 u32:0
	wrong 1 'its blocks cannot all be resident at once' "$emu" run "$v" -k vadd -g 100000 -b 1024 --cooperative u64:0 u64:0 u64:0 u32:0
	wrong 2 'no such architecture' "$emu" list -a h2000 "$v"
	wrong 2 'No such file' "$emu" list "$dir/none"
	wrong 2 'neither PTX nor a fatbin nor a program' "$emu" list "$srcdir/README.md"
	wrong 2 'json is not an option of this command' "$emu" run --json "$v"
	wrong 2 'list takes FILE' "$emu" list
	wrong 2 "no command 'walk'" "$emu" walk
	printf '.version 8.0\n.target sm_90\n.visible .entry k() { frob.u32; }\n' >"$dir/bad.ptx"
	wrong 2 "^gsb-emu: $dir/bad.ptx: .*frob" "$emu" run "$dir/bad.ptx"
}

emu_output_that_is_lost_is_an_error() {
	local status=0
	[ -c /dev/full ] || return 0
	"$emu" list "$ptx/vadd.nvcc.ptx" >/dev/full 2>"$dir/err" || status=$?
	expect_equal "$status" 1
	expect_match "$(cat "$dir/err")" 'No space left'
	wrong 1 '/dev/full: No space left' "$emu" run "$ptx/vadd.nvcc.ptx" -k vadd out:/dev/full:f32:4 u64:0 u64:0 u32:0
	ok "$emu" --version
	ok "$emu" stat --help
	ok "$emu" run "$ptx/vadd.nvcc.ptx" -k vadd -g 4 --cooperative u64:0 u64:0 u64:0 u32:0
}

run_case emu_list_shows_kernels
run_case emu_run_prints_what_a_kernel_has_written
run_case emu_run_reads_and_writes_files
run_case emu_run_fills_at_random_but_the_same
run_case emu_run_lets_the_kernel_speak
run_case emu_run_takes_dynamic_shared_memory_and_the_grid
run_case emu_run_finds_kernels_in_a_program
run_case emu_run_joins_the_parts_of_a_linked_program
run_case emu_stat_counts_what_a_hand_can_count
run_case emu_stat_says_how_accesses_were_done
run_case emu_stat_is_the_same_on_any_number_of_workers
run_case emu_stat_gives_demands_that_gsb_model_reads
run_case emu_stat_gives_what_is_asked_of_shared_memory
run_case emu_stat_gives_what_is_asked_of_each_pipe
run_case emu_says_of_a_fault_who_and_where
run_case emu_checks_more_when_asked_to
run_case emu_names_what_is_wrong
run_case emu_output_that_is_lost_is_an_error
[ "$failures" -eq 0 ]
