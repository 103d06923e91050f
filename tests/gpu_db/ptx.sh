#!/usr/bin/env bash
# The PTX text kept in examples/gpu_db/ptx is what nvcc makes of the kernels now. Without nvcc, or with
# another release than the one that made the text, there is nothing to compare with: skipped.
set -u
name=test_gpu_db_ptx_shipped_is_what_nvcc_makes
src=${srcdir:-.}/examples/gpu_db
made=examples/gpu_db/kernels

skip() {
	echo "[  SKIPPED ] $name ($1)"
	exit 0
}

release() {
	sed -n 's/^.*Cuda compilation tools, release \(.*\)$/\1/p' "$1"
}

# Comments hold the compiler's build; the rest is the program.
text() {
	sed 's,//.*$,,; s/[[:space:]]*$//; /^$/d' "$1"
}

[ -n "$(sed -n 's/^NVCC = //p' Makefile)" ] || skip "no nvcc"
for shipped in "$src"/ptx/*.ptx; do
	[ "$(release "$shipped")" = "$(release "$made/${shipped##*/}")" ] || skip "another release of nvcc"
done

failed=0
for cu in "$src"/kernels/*.cu; do
	file=$(basename "$cu" .cu).ptx
	if ! diff <(text "$src/ptx/$file") <(text "$made/$file") >/dev/null; then
		echo "$src/ptx/$file is stale: run make gpu-db-ptx and commit it"
		failed=1
	fi
done
if [ $failed = 0 ]; then
	echo "[       OK ] $name"
else
	echo "[  FAILED  ] $name"
fi
exit $failed
