#!/usr/bin/env bash
# programs.sh - plain programs of the driver API under a real broker on the emulated H200: bad device code, the
# semantics of the calls. They print cmocka's lines themselves; here are the brokers, and what only shows outside.
# Usage: from the build folder: srcdir=... tests/integ/programs.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# program NAME COMMAND...: a tenant whose cmocka lines count as ours; what the library says goes to $dir/NAME.err.
program() {
	local name=$1
	shift
	GSB_DEBUG=${GSB_DEBUG-warn} tenant "$name" "$@" 2>"$dir/$name.err"
}

run_program() {
	local status=0
	program "$@" || status=$?
	[ "$status" -eq 0 ] || fail "$* ended with $status: $(cat "$dir/$1.err")"
}

what_is_left_out_is_refused_by_name_beside_kernels_that_run() {
	local said err carried="is not carried by the emulated device"
	start_real_broker
	run_program badcode "$build/tests/integ/badcode" left-out
	err=$(cat "$dir/badcode.err")
	for said in "'mma\.sp\.[^ ]*' $carried: a product of sparse matrices by tensor cores: use a path" \
		"'ldmatrix\.[^ ]*' $carried: a form of ldmatrix that sm_90 has not: build for sm_90" \
		"'wgmma\.[^ ]*' $carried: a tensor core operation of sm_90a: build for sm_90" \
		"'cp\.async\.bulk\.tensor\.[^ ]*' $carried: a form of a bulk copy \(TMA\) that sm_90 has not: build for sm_90" \
		"call of 'cudaCDP2Launch', which has no body and is not carried: dynamic parallelism needs a real GPU; launch from the host"; do
		expect_match "$err" "kernel 'left_out', line 7: $said"
	done
	expect_match "$err" "kernel paired: \.blocksareclusters is not carried by the emulated device: build it without"
	await_no_tenants
	end_broker
}

badcode_is_refused_and_its_tenant_lives_on() {
	start_real_broker
	run_program badcode "$build/tests/integ/badcode"
	expect_match "$(cat "$dir/badcode.err")" "kernel 'strange', line 6: 'wgmma.fence.sync.aligned' is not carried by the emulated device: "
	expect_match "$(cat "$dir/badcode.err")" "_xx*\.\.\. is a name of 16385 bytes, and the limit is 16384"
	expect_match "$(cat "$dir/badcode.err")" "kernel 0 of a module has a name of over 16384 bytes"
	expect_match "$(cat "$dir/broker.log")" "tenant 1: module refused: .*nowhere"
	expect_match "$(cat "$dir/broker.log")" "tenant 1: kernel 'strange', line 6: 'wgmma.fence.sync.aligned' is not carried by the emulated device: "
	await_no_tenants
	end_broker
}

linking_of_ptx_runs_and_says_what_does_not_fit() {
	start_real_broker
	run_program linking "$build/tests/integ/linking"
	end_broker
}

badcode_over_the_limit_is_refused() {
	start_real_broker '[default]' 'image_max = 64K'
	run_program badcode "$build/tests/integ/badcode" oversized
	end_broker
}

# Another run of the same program takes the same device time to the nanosecond, as far as events tell, whatever the number
# of workers.
semantics_are_cudas_and_device_time_is_repeatable() {
	local i
	for i in 1 2 4; do
		# Longer than the default, for a busy machine; a thread that joins others counts as busy, so it must end.
		start_real_broker '[engine]' 'gate_timeout_ms = 2000' "workers = $i" # a busy machine counts less
		run_program "run$i" "$build/tests/integ/semantics" >"$dir/run$i.out"
		[ "$i" -eq 2 ] || grep -v '^timeline' "$dir/run1.out"
		await_no_tenants
		end_broker
		rm "$dir/ready"
	done
	expect_equal "$(grep '^timeline' "$dir/run2.out")" "$(grep '^timeline' "$dir/run1.out")"
	expect_equal "$(grep '^timeline' "$dir/run4.out")" "$(grep '^timeline' "$dir/run1.out")"
	[ "$(grep -c '^timeline' "$dir/run1.out")" -gt 8 ]
}

semantics_of_a_memory_limit() {
	start_real_broker '[default]' 'device_memory = 32M'
	run_program limit "$build/tests/integ/semantics" limit $((32 << 20))
	end_broker
}

# Whatever threads do to each other with calls alone, each gets an answer; only garbage in the ring cuts a tenant off.
races_between_threads_cut_nobody_off() {
	start_real_broker '[engine]' 'clock = real'
	run_program races "$build/tests/integ/races" "${GSB_CHECK_LONG:+20}"
	expect_no_match "$(cat "$dir/broker.log")" "cut off"
	end_broker
}

# held NAME COMMAND...: a program that says "ready" and ends with its standard input, $dir/go; its process is in $held.
held() {
	local name=$1
	[ -p "$dir/go" ] || mkfifo "$dir/go"
	[ -n "${go-}" ] || exec {go}<>"$dir/go"
	program "$@" >"$dir/$name.out" <"$dir/go" &
	held=$!
	timeout "$LIMIT_S" grep -q -m 1 ready < <(tail -n +1 -F "$dir/$name.out" --pid="$held" 2>/dev/null) ||
		fail "$name did not start: $(cat "$dir/$name.err")"
}

figures_of_ps_are_what_was_done() {
	local ps pair
	start_real_broker
	held figures "$build/tests/integ/semantics" figures
	ps=$(gsbctl ps --json)
	for pair in launches=10 kernels=10 copies=2 fills=1 bytes_h2d=3000 bytes_d2h=2000 streams=2 \
		modules=1 contexts=1 device_mem_bytes=$((1048576 + 4096)) errors=0; do
		expect_equal "${pair%=*}=$(json_value "$ps" "${pair%=*}")" "$pair"
	done
	echo >&"$go"
	wait "$held"
	end_broker
}

run_case semantics_are_cudas_and_device_time_is_repeatable
run_case semantics_of_a_memory_limit
run_case figures_of_ps_are_what_was_done
run_case races_between_threads_cut_nobody_off
run_case what_is_left_out_is_refused_by_name_beside_kernels_that_run
run_case badcode_is_refused_and_its_tenant_lives_on
run_case badcode_over_the_limit_is_refused
run_case linking_of_ptx_runs_and_says_what_does_not_fit
[ "$failures" -eq 0 ]
