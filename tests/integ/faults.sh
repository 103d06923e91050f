#!/usr/bin/env bash
# faults.sh - tests/gpu/faults where there is no GPU: on the emulated device, and on device/cuda with the driver of tests/fake. The
# script fails by itself where a result is wrong; here is what doc/faults.md says that each is told.
# Usage: from the build folder: srcdir=... tests/integ/faults.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

long=${GSB_CHECK_LONG-}
export GSB_REAL_LIBCUDA=$build/tests/fake/libcuda.so

# faults DEVICE VARIABLE=VALUE...: the script; its rows are in $dir/out/kinds.txt.
faults() {
	local device=$1
	shift
	env BUILD="$build" PATIENCE="$LIMIT_S" SLOW=20 LIMIT=500 HOG_MIB=256 "$@" "$srcdir/tests/gpu/faults" "$device" "$dir/out" \
		>"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
}

# expect_row ISOLATION KIND/ACTION/LIMIT CULPRIT NEIGHBOUR ENGINE: patterns of whole fields.
expect_row() {
	local row
	row=$(awk -v i="$1" -v k="$2" '$1 == i && $2 == k {print $3, $5, $11}' "$dir/out/kinds.txt")
	grep -qxE -e "$3 $4 $5" <<<"$row" || fail "$1 $2: expected '$3 $4 $5', got '$row': $(cat "$dir/said"; tail -n 20 "$dir/out/broker.log")"
}

faults_on_the_emulated_device_are_for_the_guilty_alone() {
	faults emu:h200 PARTS="kinds globals uids" ISOLATIONS=shared
	expect_row shared illegal-address/run/0 ILLEGAL_ADDRESS SUCCESS same
	expect_row shared misaligned/run/0 MISALIGNED_ADDRESS SUCCESS same
	expect_row shared trap/run/0 LAUNCH_FAILED SUCCESS same
	expect_row shared assert/run/0 ASSERT SUCCESS same
	expect_row shared hog/release/0 OUT_OF_MEMORY SUCCESS same
	expect_row shared slow/kill/0 - SUCCESS same
	expect_row shared endless/run/500 LAUNCH_TIMEOUT SUCCESS same
	expect_row shared endless/kill/500 - SUCCESS same
	expect_row shared leave-in-copy/run/0 - SUCCESS same
	expect_row shared exec-in-copy/run/0 - SUCCESS same
	expect_row shared fork-in-copy/run/0 NOT_INITIALIZED SUCCESS same
	expect_row shared close-all/run/0 "(SUCCESS|SYSTEM_NOT_READY)" SUCCESS same
	expect_row shared deaf/run/0 - SUCCESS same
	expect_row shared stop/continue/0 - SUCCESS same
}

# On a GPU a fault is the end of the context, and so of all that share it.
faults_of_a_shared_gpu_are_told_to_all_and_another_engine_serves() {
	faults cuda:0 PARTS=kinds ISOLATIONS=shared KINDS="illegal-address assert endless slow leave-in-copy"
	expect_row shared illegal-address/run/0 ILLEGAL_ADDRESS ILLEGAL_ADDRESS ended
	expect_row shared assert/run/0 ASSERT ASSERT ended
	expect_row shared endless/run/500 LAUNCH_TIMEOUT LAUNCH_TIMEOUT ended
	# The next tenant's module has to wait for that kernel, the engine's thread has not: it keeps the limit.
	expect_row shared endless/kill/500 - LAUNCH_TIMEOUT ended
	expect_row shared slow/kill/0 - SUCCESS same
	expect_row shared leave-in-copy/run/0 - SUCCESS same
}

faults_of_a_gpu_with_an_engine_for_each_are_for_the_guilty_alone() {
	faults cuda:0 PARTS="kinds globals" ISOLATIONS=process KINDS="illegal-address endless"
	expect_row process illegal-address/run/0 ILLEGAL_ADDRESS SUCCESS same
	expect_row process endless/run/500 LAUNCH_TIMEOUT SUCCESS same
	expect_row process endless/kill/500 - SUCCESS same
}

# As process, by way of a control program of MPS that only notes what it is told: no client of it is killed unparted.
faults_of_mps_clients_with_endless_kernels_are_for_the_guilty_alone() {
	mkdir "$dir/bin"
	install -m 0755 "$srcdir/tests/fake/nvidia-cuda-mps-control" "$dir/bin/"
	PATH=$dir/bin:$PATH faults cuda:0 PARTS=kinds ISOLATIONS=mps KINDS="endless slow"
	expect_row mps endless/run/500 "(LAUNCH_TIMEOUT|SYSTEM_NOT_READY)" SUCCESS same
	expect_row mps endless/kill/500 - SUCCESS same
	expect_row mps slow/kill/0 - SUCCESS same
	expect_equal "$(grep -c terminate_client "$dir/bin/told")" 2
	expect_equal "$(grep -c 'a kernel of it does not end' "$dir/out/broker.log")" 2
}

faults_random_kills_leave_the_others_verified() {
	local rounds=20
	[ -z "$long" ] || rounds=100
	faults emu:h200 PARTS=kills ROUNDS="$rounds"
	expect_match "$(cat "$dir/out/kills.txt")" "killed: [0-9]+ tenants, [1-9][0-9]* engines, [1-9][0-9]* brokers"
}

# soak DEVICE: so many lives of each of 16 slots; with GSB_CHECK_LONG for 20 minutes.
soak() {
	local n=4
	[ -z "$long" ] || n=0
	env BUILD="$build" TENANTS=$n "$srcdir/tests/gpu/soak" 20 "$1" "$dir/out" >"$dir/said" 2>&1 || fail "$(cat "$dir/said")"
	expect_match "$(cat "$dir/said")" "[0-9]+ killed, [0-9]+ left, [0-9]+ verified"
}

soak_on_the_emulated_device_leaves_nothing() {
	soak emu:h200
}

soak_of_the_fake_driver_leaves_nothing() {
	long='' soak cuda:0
}

run_case faults_on_the_emulated_device_are_for_the_guilty_alone
run_case faults_of_a_shared_gpu_are_told_to_all_and_another_engine_serves
run_case faults_of_a_gpu_with_an_engine_for_each_are_for_the_guilty_alone
run_case faults_of_mps_clients_with_endless_kernels_are_for_the_guilty_alone
run_case faults_random_kills_leave_the_others_verified
run_case soak_on_the_emulated_device_leaves_nothing
run_case soak_of_the_fake_driver_leaves_nothing
[ "$failures" -eq 0 ]
