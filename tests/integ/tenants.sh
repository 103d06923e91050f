#!/usr/bin/env bash
# tenants.sh - whole tenants under a real broker on the emulated device: results verified, some of them
# killed at every state of the wire, memory flipped on purpose, modules shared by content but not by state.
# Usage: from the build folder: srcdir=... tests/integ/tenants.sh
# shellcheck disable=SC2119,SC2120 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

long=${GSB_CHECK_LONG-}
queries=(q1 q2 q3 q4 q5)

tenants_five_queries_at_once_verify() {
	local q pids=()
	make_data
	start_real_broker
	for q in "${queries[@]}"; do
		query "$q" "$q" &
		pids+=($!)
	done
	for q in "${!pids[@]}"; do
		wait "${pids[q]}" || fail "${queries[q]}: $(cat "$dir/${queries[q]}.out")"
	done
	await_no_tenants
	end_broker
}

# Read once, repeated: the same answers, and nothing of the columns is copied again.
tenants_hot_queries_verify() {
	local q once cold
	make_data
	start_real_broker
	for q in "${queries[@]}"; do
		query cold "$q" || fail "$q: $(cat "$dir/cold.out")"
		query once "$q" --hot --json || fail "$q: $(cat "$dir/once.out")"
		query hot "$q" --hot --repeat 4 --json --kernel-share || fail "$q: $(cat "$dir/hot.out")"
		cold=$(sed -nE 's/.* checksum ([0-9a-f]+) .*/\1/p' "$dir/cold.out")
		expect_match "$(cat "$dir/hot.out")" "\"verdict\": \"verified\".*\"checksum\": \"$cold\".*\"runs\": 4, .*\"kernel_share\": 0\.[0-9]*[1-9]"
		once=$(json_value "$(cat "$dir/once.out")" bytes_in)
		expect_equal "$(json_value "$(cat "$dir/hot.out")" bytes_in)" "$((once / 4))"
		[ "$(json_value "$(cat "$dir/hot.out")" bytes_out)" -le 64 ] || fail "$q: more than checksums comes back: $(cat "$dir/hot.out")"
		! grep -q kernel_share "$dir/once.out" || fail "$q says what it was not asked"
	done
	await_no_tenants
	end_broker
}

# The states at which a victim dies: before its hello is answered, while a record is half written, when one is
# posted, when it waits for an answer. N is the number of the record, so that rounds differ in what is under way.
victims=(record:1 posted:7 waiting:3 record:60 posted:90 waiting:25 posted:400 record:333 hello:1)

# run_victim STATE:N: a tenant on the test library, which dies there. The library that is shipped cannot.
run_victim() {
	ASAN_OPTIONS=$tenant_asan GSB_TEST_DIE=$1 GSB_TENANT=victim GSB_SOCKET=$dir/s \
		LD_PRELOAD=$build/interpose/libgsbroker-faults.so \
		"$gpu_db" run --data "$dir/data" --query q1 --repeat 50 --quiet >"$dir/victim.out" 2>&1
}

tenants_shipped_library_has_no_fault_points() {
	grep -q GSB_TEST_DIE "$build/interpose/libgsbroker-faults.so" || fail "the test library has none either"
	! grep -q GSB_TEST_DIE "$build/interpose/libgsbroker.so" || fail "libgsbroker.so knows GSB_TEST_DIE"
}

tenants_one_killed_each_round_others_verify() {
	local round rounds=${#victims[@]} i pids before after
	[ -z "$long" ] || rounds=$((4 * rounds))
	make_data
	start_real_broker
	query warm q3 || fail "$(cat "$dir/warm.out")"
	await_no_tenants
	before=$(holdings)
	for round in $(seq "$rounds"); do
		pids=()
		for i in $(seq 15); do
			query "t$i" "${queries[i % 5]}" &
			pids+=($!)
		done
		run_victim "${victims[(round - 1) % ${#victims[@]}]}" &
		victim=$!
		for i in "${!pids[@]}"; do
			wait "${pids[i]}" || fail "round $round: tenant $((i + 1)): $(cat "$dir/t$((i + 1)).out")"
		done
		status=0
		wait "$victim" || status=$?
		expect_equal "$status" 137
		await_no_tenants
		after=$(holdings)
		expect_equal "$after" "$before"
	done
	[ "$(children_of "$broker" | wc -w)" -eq 1 ] || fail "gsbrokerd has other children than its engine"
	end_broker
}

tenants_flipped_bit_fails_every_query() {
	local q
	make_data
	export GSB_TEST_FLIP=1
	start_real_broker
	unset GSB_TEST_FLIP
	for q in "${queries[@]}"; do
		status=0
		query "$q" "$q" || status=$?
		expect_equal "$q $status" "$q 1"
		grep -q FAILED "$dir/$q.out" || fail "$q did not say FAILED: $(cat "$dir/$q.out")"
	done
	# the first word that is fetched here is a column's sum
	expect_match "$(cat "$dir/q1.out")" 'column r_key in device memory: checksum'
	end_broker
}

tenants_same_module_has_a_counter_for_each() {
	local n=100000 a b
	start_real_broker
	tenant a "$gpu_db" counter --n "$n" >"$dir/a.out" 2>&1 &
	a=$!
	tenant b "$gpu_db" counter --n "$n" >"$dir/b.out" 2>&1 &
	b=$!
	wait "$a" || fail "$(cat "$dir/a.out")"
	wait "$b" || fail "$(cat "$dir/b.out")"
	expect_match "$(cat "$dir/a.out")" "counter $n\$"
	expect_match "$(cat "$dir/b.out")" "counter $n\$"
	end_broker
}

tenants_illegal_address_is_for_the_guilty_alone() {
	local good
	make_data
	start_real_broker
	query good q1 --repeat 3 &
	good=$!
	status_of tenant guilty "$build/tests/integ/misuse" illegal-address
	expect_equal "$status" 0
	expect_match "$output" "launch, then synchronize: CUDA_ERROR_ILLEGAL_ADDRESS"
	expect_match "$output" "next call: CUDA_ERROR_ILLEGAL_ADDRESS"
	wait "$good" || fail "$(cat "$dir/good.out")"
	end_broker
}

# hold_tenant NAME [MODE]: a tenant that has memory, module and context and waits for a line at $go; its process is in $held.
hold_tenant() {
	[ -p "$dir/go" ] || mkfifo "$dir/go"
	[ -n "${go-}" ] || exec {go}<>"$dir/go"
	tenant "$1" "$build/tests/integ/misuse" "${2-wait-then-allocate}" <"$dir/go" >"$dir/$1.out" 2>&1 &
	held=$!
	timeout "$LIMIT_S" grep -q -m 1 ready < <(tail -n +1 -F "$dir/$1.out" --pid="$held" 2>/dev/null) ||
		fail "tenant $1 did not start: $(cat "$dir/$1.out")"
}

tenants_kernel_that_runs_is_shown() {
	local ps
	start_real_broker 'clock = real'
	hold_tenant spinner run-for-ever
	ps=$(gsbctl ps --json)
	expect_equal "$(json_value "$ps" in_flight) $(json_value "$ps" running_kernel)" "1 spin"
	[ "$(json_value "$ps" running_ns)" -gt 0 ] || fail "it has not run: $ps"
	echo >&"$go"
	wait "$held" || fail "$(cat "$dir/spinner.out")"
	await_no_tenants
	end_broker
}

# An engine has 64 places (the address windows of include/gsb/wire.h): the next one gets another engine, nobody is disturbed.
tenants_beyond_the_last_place_get_another_engine() {
	local i places=64 pids=()
	start_real_broker '[admission]' 'max_tenants_per_uid = 100'
	for i in $(seq "$places"); do
		hold_tenant "t$i"
		pids+=("$held")
	done
	expect_equal "$(children_of "$broker" | wc -w)" 1
	hold_tenant "t$((places + 1))"
	pids+=("$held")
	expect_equal "$(n_tenants)" $((places + 1))
	expect_equal "$(children_of "$broker" | wc -w)" 2
	for i in "${!pids[@]}"; do echo >&"$go"; done
	for i in "${!pids[@]}"; do
		wait "${pids[i]}" || fail "tenant $((i + 1)): $(cat "$dir/t$((i + 1)).out")"
		expect_match "$(cat "$dir/t$((i + 1)).out")" "allocate: CUDA_SUCCESS"
	done
	await_no_tenants
	status_of tenant again "$build/tests/integ/misuse" illegal-address
	expect_equal "$status" 0
	end_broker
}

# One process, a hundred programs: the memory of two of them would not fit, and an engine has 64 places.
tenants_program_that_executes_itself_leaves_nothing() {
	start_real_broker 'memory = 1G' 'clock = real'
	status_of tenant again "$build/tests/integ/reexec" 100 600
	expect_equal "$output" "all generations served"
	await_no_tenants
	end_broker
}

# It runs on, as something else: what it held as a tenant is given back all the same.
tenants_program_that_executes_one_without_cuda_leaves() {
	local pid

	start_real_broker 'memory = 1G' 'clock = real'
	GSB_SOCKET=$dir/s ASAN_OPTIONS=$tenant_asan LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$build/tests/integ/reexec" 1 600 "$(command -v sleep)" 1000 &
	pid=$!
	until [ "$(cat "/proc/$pid/comm")" = sleep ]; do
		kill -0 "$pid" || fail "it did not come to execute sleep"
	done
	await_no_tenants
	kill "$pid"
	end_broker
}

tenants_engine_killed_is_told_to_all_and_a_new_one_serves() {
	make_data
	start_real_broker
	hold_tenant held
	kill -KILL "$(engine_pid)"
	echo >&"$go"
	wait "$held" || fail "$(cat "$dir/held.out")"
	expect_match "$(cat "$dir/held.out")" "CUDA_ERROR_SYSTEM_NOT_READY"
	query again q3 || fail "$(cat "$dir/again.out")"
	end_broker
}

tenants_name_that_is_too_long_is_refused() {
	start_real_broker
	status_of env GSB_TENANT="$(printf '%064d' 0)" GSB_SOCKET="$dir/s" ASAN_OPTIONS=$tenant_asan \
		LD_PRELOAD="$build/interpose/libgsbroker.so" "$gpu_db" counter --n 1
	expect_equal "$status" 2
	expect_match "$output" "refused this process: the tenant name must be 1 to 63 letters, digits and any of _-.@:\+: check GSB_TENANT"
	end_broker
}

# It measures on a broker of its own, whatever runs here.
tenants_bench_runs_beside_a_broker() {
	start_real_broker
	status_of env GSB_SOCKET="$dir/s" ASAN_OPTIONS=$tenant_asan TMPDIR="$dir" "$build/tools/gsb-bench" transport --launches 1000
	expect_equal "$status" 0
	expect_match "$output" "^time in cuLaunchKernel, ns  .*"
	expect_match "$output" "^1000 launches; ours on Null "
	expect_equal "$(json_value "$(gsbctl status --json)" admitted)" 0
	end_broker
}

# A pipe as standard error of broker and engine, full from the beginning, that nobody reads.
tenants_log_that_nobody_reads_stops_nobody() {
	local i rest
	make_data
	printf '%s\n' '[device "emu:h200"]' >"$dir/conf"
	mkfifo "$dir/ready" "$dir/log-pipe"
	exec {log_fd}<>"$dir/log-pipe"
	! dd if=/dev/zero of="$dir/log-pipe" bs=4096 oflag=nonblock 2>/dev/null || fail "the pipe never filled"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/log-pipe" &
	broker=$!
	read -r -t "$LIMIT_S" _ <"$dir/ready"
	for i in 1 2 3; do
		status_of env ASAN_OPTIONS="$tenant_asan" timeout "$LIMIT_S" "$build/tools/gsbrun" --socket "$dir/s" -- \
			"$build/tests/integ/misuse" illegal-address
		expect_match "$output" "launch, then synchronize: CUDA_ERROR_ILLEGAL_ADDRESS"
	done
	query good q3 || fail "$(cat "$dir/good.out")"
	await_no_tenants # else the line that it has ended comes while the pipe is emptied, and is lost with it
	! dd if="$dir/log-pipe" of=/dev/null bs=1M iflag=nonblock 2>/dev/null || fail "the pipe was never empty"
	exec {rest}<"$dir/log-pipe" {log_fd}>&-
	stop_broker
	expect_match "$(cat <&"$rest")" "^gsbrokerd: warn: log: [0-9]+ lines were dropped$"
}

tenants_draining_broker_is_not_ready_for_new_ones() {
	start_real_broker
	hold_tenant old
	gsbctl shutdown --drain
	status_of env GSB_SOCKET="$dir/s" ASAN_OPTIONS=$tenant_asan LD_PRELOAD="$build/interpose/libgsbroker.so" \
		"$build/tests/integ/misuse" illegal-address
	expect_match "$output" "refused this process: gsbrokerd is shutting down: start it again"
	expect_match "$output" "cuInit: CUDA_ERROR_SYSTEM_NOT_READY"
	echo >&"$go"
	wait "$held" || fail "$(cat "$dir/old.out")"
	expect_match "$(cat "$dir/old.out")" "allocate: CUDA_SUCCESS"
	wait "$broker"
}

tenants_idle_broker_engine_and_tenant_do_not_switch() {
	local pids pid before after
	start_real_broker
	hold_tenant idle
	pids="$broker $(engine_pid) $(pgrep -P "$held" || echo "$held")"
	switches() {
		for pid in $pids; do
			cat "/proc/$pid/task/"*/status | awk -v p="$pid" '/ctxt_switches/ { n += $2 } END { print p, n }'
		done
	}
	sleep 1 # the engine may still be about to fall asleep; the one second that counts follows
	# shellcheck disable=SC2086 # a list
	await_asleep $pids
	before=$(switches)
	sleep 1
	after=$(switches)
	expect_equal "$after" "$before"
	echo >&"$go"
	wait "$held" || fail "$(cat "$dir/idle.out")"
	end_broker
}

tenants_without_a_broker_are_told_how_to_start_one() {
	status_of env GSB_SOCKET="$dir/nobody" ASAN_OPTIONS=$tenant_asan LD_PRELOAD="$build/interpose/libgsbroker.so" "$gpu_db" counter --n 1
	expect_equal "$status" 2
	expect_match "$output" "gsbrokerd|gsbrun"
	expect_match "$output" "CUDA_ERROR_SYSTEM_NOT_READY"
}

# with_descriptors N: a program that may have no more
with_descriptors() {
	ulimit -n "$1"
	GSB_SOCKET=$dir/s ASAN_OPTIONS=$tenant_asan LD_PRELOAD=$build/interpose/libgsbroker.so "$gpu_db" counter --n 1
}

# Whatever the next descriptor is for: to reach the broker, for the answer, or for the memory that comes with it.
tenants_with_too_few_descriptors_are_told_so() {
	local n said=
	start_real_broker
	for n in {4..24}; do
		status_of with_descriptors "$n"
		[ "$status" -eq 0 ] && break
		said+=$output$'\n'
	done
	expect_equal "$status" 0
	expect_equal "$(grep -c 'error: connect: ' <<<"$said")" $((n - 4))
	expect_equal "$(grep -c 'Too many open files: close descriptors, or start this program with a higher ulimit -n' <<<"$said")" $((n - 4))
	end_broker
}

# A limit of addresses is not for a sanitized program, which fails for it before ours does.
with_addresses() {
	ulimit -v "$1"
	GSB_SOCKET=$dir/s ASAN_OPTIONS=$tenant_asan LD_PRELOAD=$build/interpose/libgsbroker.so "$gpu_db" counter --n 1
}

tenants_with_too_few_addresses_are_told_so() {
	start_real_broker
	status_of with_addresses 200000
	[ "$status" -ne 0 ] || fail "it ran"
	expect_match "$output" 'Cannot allocate memory: start this program with a higher ulimit -v|Sanitizer|ASan'
	end_broker
}

# A thread that pthread_cancel() ends in the library's own waits must leave no lock behind: the next call would wait for ever.
tenants_cancelled_threads_keep_nobody() {
	start_real_broker
	status_of tenant init "$build/tests/integ/misuse" cancel-init
	expect_equal "$status: $output" "0: cuInit: CUDA_SUCCESS"
	status_of tenant print "$build/tests/integ/misuse" cancel-print
	expect_equal "$status: $output" $'0: printed\nprinted\nsynchronize: CUDA_SUCCESS'
	await_no_tenants
	end_broker
}

run_case tenants_five_queries_at_once_verify
run_case tenants_hot_queries_verify
run_case tenants_shipped_library_has_no_fault_points
run_case tenants_one_killed_each_round_others_verify
run_case tenants_flipped_bit_fails_every_query
run_case tenants_same_module_has_a_counter_for_each
run_case tenants_illegal_address_is_for_the_guilty_alone
run_case tenants_kernel_that_runs_is_shown
run_case tenants_beyond_the_last_place_get_another_engine
run_case tenants_program_that_executes_itself_leaves_nothing
run_case tenants_program_that_executes_one_without_cuda_leaves
run_case tenants_engine_killed_is_told_to_all_and_a_new_one_serves
run_case tenants_name_that_is_too_long_is_refused
run_case tenants_bench_runs_beside_a_broker
run_case tenants_log_that_nobody_reads_stops_nobody
run_case tenants_draining_broker_is_not_ready_for_new_ones
run_case tenants_idle_broker_engine_and_tenant_do_not_switch
run_case tenants_without_a_broker_are_told_how_to_start_one
run_case tenants_with_too_few_descriptors_are_told_so
run_case tenants_with_too_few_addresses_are_told_so
run_case tenants_cancelled_threads_keep_nobody
[ "$failures" -eq 0 ]
