#!/usr/bin/env bash
# bench_emu.sh - `gsb-bench emu`: it runs every class on the emulated device and says what it measured, and the text of its
# kernels is what nvcc makes of them.
# Usage: from the build folder: srcdir=... tests/integ/bench_emu.sh
set -u
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
bench=$PWD/tools/gsb-bench
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

# Figures are the machine's: that they are there, and are none of nothing, is all that can be said.
emu_measures_every_class() {
	local out class
	out=$("$bench" emu --runs 1 --workers 3) || return 1
	while read -r class; do
		grep -qE "^$class +[1-9][0-9]* +\(.*\) +[1-9][0-9]* +\(.*\) +[0-9.]+ +[1-9][0-9]* +\(" <<<"$out" && continue
		printf '%s\nno figures for %s\n' "$out" "$class"
		return 1
	done < <(sed -n 's/^KERNEL(\(.*\))$/\1/p' "$srcdir/tools/bench_emu.cu")
	[ "$(grep -c '(.*-.*)' <<<"$out")" -ge 10 ]
}

emu_measures_one_class_by_processor_time() {
	local out
	out=$("$bench" emu --runs 3 --class matmul --cpu) || return 1
	grep -q 'of processor time' <<<"$out" && [ "$(grep -cE '^[a-z_0-9]+ +[0-9]+ +\(' <<<"$out")" = 1 ]
}

# No machine scales so; a class of atomics in one place is not asked to.
emu_says_which_class_does_not_scale() {
	local out status=0
	out=$("$bench" emu --runs 1 --class xorshift --scaling 200) || status=$?
	[ "$status" = 1 ] || return 1
	grep -qE '^xorshift: [0-9]+\.[0-9]+ times as fast on two workers, not 200\.00; two devices with a worker each: [0-9]+\.[0-9]+$' <<<"$out" || return 1
	"$bench" emu --runs 1 --class xorshift --scaling 0.0001 >/dev/null || return 1
	"$bench" emu --runs 1 --class counter --scaling 200 >/dev/null
}

# Where threads meet in memory: both forms of a histogram, with one thread and with two, and what the second adds.
emu_measures_plain_c_beside() {
	local out row='[1-9][0-9]* +\(.*\) +[1-9][0-9]* +\(.*\) +[0-9]+\.[0-9]+  [a-z]' status=0
	out=$("$bench" emu --runs 1 --class histogram --scaling 200) || status=$?
	[ "$status" = 1 ] && [ "$(sed -n '/^plain C/,$p' <<<"$out" | grep -cE "^histogram +$row")" = 2 ] || return 1
	grep -qE 'plain C, atomics in the same 65,536 places: [0-9.]+; plain C, .*: [0-9.]+$' <<<"$out" || return 1
	out=$("$bench" emu --runs 1 --class stream --scaling 0.0001) || return 1
	[ "$(sed -n '/^plain C/,$p' <<<"$out" | grep -cE "^stream +$row")" = 1 ] || return 1
	out=$("$bench" emu --runs 1 --class xorshift --scaling 0.0001) && ! grep -q 'plain C' <<<"$out" || return 1
	! "$bench" emu --runs 1 --class histogram | grep -q 'plain C'
}

emu_says_what_is_wrong_with_an_option() {
	local option out
	for option in --runs=0 --workers=x --class=none --scaling=fast '--cpu --scaling=2' extra; do
		# shellcheck disable=SC2086 # one of them is two
		out=$("$bench" emu $option 2>&1)
		[ $? = 2 ] && grep -q "^gsb-bench emu: " <<<"$out" && continue
		printf '%s: %s\n' "$option" "$out"
		return 1
	done
}

# Comments hold the compiler's build; the rest is the program.
text() {
	sed 's,//.*$,,; s/[[:space:]]*$//; /^$/d' "$1"
}

release() {
	sed -n 's/^.*Cuda compilation tools, release \(.*\)$/\1/p' "$1"
}

emu_kernels_are_what_nvcc_makes() {
	local nvcc made status=0
	nvcc=$(sed -n 's/^NVCC = //p' Makefile)
	[ -n "$nvcc" ] || return 0 # nothing to compare with
	made=$(mktemp)
	"$nvcc" -ptx -arch=compute_75 -o "$made" "$srcdir/tools/bench_emu.cu" || status=1
	if [ "$(release "$made")" = "$(release "$srcdir/tools/bench_emu.ptx")" ]; then
		diff <(text "$srcdir/tools/bench_emu.ptx") <(text "$made") >/dev/null || status=1
	fi
	rm -f "$made"
	[ "$status" = 0 ] || echo "tools/bench_emu.ptx is stale: run make bench-emu-ptx and commit it"
	return "$status"
}

run_case emu_measures_every_class
run_case emu_measures_one_class_by_processor_time
run_case emu_says_which_class_does_not_scale
run_case emu_measures_plain_c_beside
run_case emu_says_what_is_wrong_with_an_option
run_case emu_kernels_are_what_nvcc_makes
[ "$failures" -eq 0 ]
