#!/usr/bin/env bash
# loop.sh - examples/gpu_loop: tenants that launch one kernel again and again, and what a broker makes of two of them. The device is an
# H200 of four SMs, which fills soon.
# Usage: from the build folder: srcdir=... tests/integ/loop.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

loop=$build/examples/gpu_loop/gpu_loop
arch=('n_sms = 4' 'sm_group = 1')

# start_small_broker [CONF LINE...], with the lines of $arch for the device
start_small_broker() {
	printf '%s\n' 'base = h200' 'name = small' "${arch[@]}" >"$dir/small.txt"
	printf '%s\n' "[device \"emu:$dir/small.txt\"]" "$@" >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start: $(cat "$dir/broker.log")"
}

# both OPTIONS1 OPTIONS2: two loops at once, t1 and t2; what they say in $dir/1 and 2, what was recorded in $dir/dump, and what was decided in
# $dir/decided.
both() {
	local i pids=()
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for i in 1 2; do
		# shellcheck disable=SC2086 # words
		tenant "t$i" "$loop" ${!i} >"$dir/$i" 2>&1 &
		pids+=($!)
	done
	for i in 0 1; do
		wait "${pids[i]}" || fail "tenant $((i + 1)): $(cat "$dir/$((i + 1))")"
	done
	await_no_tenants
	gsbctl trace stop >/dev/null
	"$build/tools/gsbctl" trace dump "$dir/t.gsb" >"$dir/dump"
	grep ' decided' "$dir/dump" >"$dir/decided"
}

# two KIND1 KIND2: with 120 launches of some 0.16 ms each that fill the device.
two() {
	both "--kind $1 --turns 800 --rounds 1 --launches 120" "--kind $2 --turns 800 --rounds 1 --launches 120"
}

n_decided() { grep -cE "$1" "$dir/decided" || true; }

ms_of() { sed -n 's/.* ms=//p' "$dir/$1"; }

loop_every_kind_runs() {
	local kind
	start_small_broker
	for kind in stream scan gather probe chase atomic fma sfu lds l1hit; do
		tenant t "$loop" --kind "$kind" --turns 3 --rounds 1 --launches 20 --bytes 2097152 >"$dir/out" 2>&1 || fail "$kind: $(cat "$dir/out")"
		expect_match "$(head -n 1 "$dir/out")" "^kind=$kind blocks=[0-9]+ turns=3 launches=20 ms=[0-9.]+$"
		sed -n '2s/^stamps_ms //p' "$dir/out" | tr ' ' '\n' >"$dir/stamps"
		[ "$(wc -l <"$dir/stamps")" -eq 20 ] || fail "not 20 stamps: $(cat "$dir/out")"
		expect_match "$(sed -n 3p "$dir/out")" '^host_ms [0-9.]+$'
		sort -c -n -u "$dir/stamps" || fail "the stamps do not rise: $(cat "$dir/out")"
	done
	end_broker
}

# What it waits for one by one it says one by one, and fewer SMs are fewer blocks.
loop_each_launch_is_timed() {
	start_small_broker
	tenant t "$loop" --kind fma --turns 3 --rounds 1 --sms 2 --launches 25 --each >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
	expect_match "$(head -n 1 "$dir/out")" '^kind=fma blocks=16 '
	for key in device_us host_us; do
		expect_equal "$(grep "^$key " "$dir/out" | wc -w)" 26
	done
	awk '/^device_us/ { for (i = 3; i <= NF; i++) if ($i != $2) exit 1 }' "$dir/out" || fail "alone they are not alike: $(cat "$dir/out")"
	end_broker
}

loop_says_what_is_wrong() {
	status_of "$loop" --kind nonsense --turns 1
	expect_equal "$status" 64
	expect_match "$output" 'kind nonsense: there is none of that name; there are stream, scan, gather, probe, chase, atomic, fma, sfu, lds or l1hit'
	status_of "$loop" --turns 1 --launches 5
	expect_equal "$status" 64
	expect_match "$output" 'launches 5: must be 20 or more, because each twentieth is timed'
	status_of "$loop" --launches 20
	expect_match "$output" 'one of --turns and --us says how long a launch is'
	status_of "$loop" --turns 1 --bytes 1000
	expect_match "$output" 'bytes 1000: must be a power of two'
	start_small_broker
	status_of tenant t "$loop" --kind scan --turns 5 --rounds 1 --bytes 1048576
	expect_equal "$status" 1
	expect_match "$output" '5 turns of 32 blocks touches each of 2621440 bytes once, for which there are not --bytes 1048576: ask for more'
	end_broker
}

# They take turns: when the second has ended, with three times the weight, a third of the first's work is done.
loop_two_of_a_kind_have_shares_by_weight() {
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' '[tenant "t2"]' 'weight = 300'
	two fma fma
	end_broker
	[ "$(n_decided 'verdict=hold.*reason=share')" -gt 20 ] || fail "nobody had to wait for its turn: $(tail -n 3 "$dir/decided")"
	expect_equal "$(n_decided 'reason=partition')" 0
	awk -v a="$(ms_of 1)" -v b="$(ms_of 2)" 'BEGIN {
		done = 1 - (a - b) / (a / 2)
		printf "    ends at %s and %s ms: %.3f of the first was done\n", a, b, done
		exit !(a > b && done > 0.3 && done < 0.4) }' >&2 || fail "those are not the shares"
}

# The second may take a quarter longer than alone, and by then a quarter of the first's work is done, or less.
loop_a_limit_of_slowdown_is_held() {
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' '[tenant "t2"]' 'slowdown_percent = 25'
	two fma fma
	end_broker
	[ "$(n_decided 'verdict=issue.*reason=cap')" -gt 50 ] || fail "the second never had the device to itself: $(tail -n 3 "$dir/decided")"
	[ "$(n_decided 'verdict=hold.*reason=cap')" -gt 1 ] || fail "the first never had to wait"
	awk -v a="$(ms_of 1)" -v b="$(ms_of 2)" 'BEGIN {
		done = 1 - (a - b) / (a / 2)
		printf "    ends at %s and %s ms: %.3f of the first was done\n", a, b, done
		exit !(a > b && done > 0.15 && done < 0.3) }' >&2 || fail "the limit is not held"
}

# total NAME KEY
total() {
	gsbctl totals --json | grep -oE "\{[^{}]*\"tenant\": \"$1\"[^{}]*\}" | sed -nE "s/.*\"$2\": ([0-9]+).*/\1/p"
}

# Launches of 0.16 ms that fill the device, each beside those of the other: none ends after 20 us, and all after 50 ms.
loop_deadlines_are_counted() {
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' \
		'[tenant "t1"]' 'deadline_us = 20' '[tenant "t2"]' 'deadline_us = 50000'
	two fma fma
	[ "$(total t1 kernels)" -ge 120 ] || fail "the first had $(total t1 kernels) kernels"
	expect_equal "$(total t1 late) late of the first" "$(total t1 kernels) late of the first"
	expect_equal "$(total t2 late) late of the second" "0 late of the second"
	end_broker
	[ "$(n_decided 'verdict=issue.*reason=deadline')" -gt 10 ] || fail "no deadline was near: $(tail -n 3 "$dir/decided")"
}

# What SMs of their own are worth to them is found out by giving them some.
loop_two_kinds_are_tried_on_parts() {
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000'
	two fma lds
	end_broker
	[ "$(n_decided 'reason=partition')" -gt 3 ] || fail "nobody was given SMs of its own: $(tail -n 3 "$dir/decided")"
	grep 'reason=partition' "$dir/decided" | grep -qE ' n_sms=[123] ' || fail "parts are not parts: $(grep -m1 'reason=partition' "$dir/decided")"
}

# of TEXT NAME: the object of JSON whose tenant has that name.
of() {
	grep -oE "\{[^{}]*\"tenant\": \"$2\"[^{}]*\}" <<<"$1"
}

# decimal TEXT KEY: its first value of that key.
decimal() {
	sed -nE "s/.*\"$2\": ([0-9.]+).*/\1/p" <<<"$(sed -E "s/(\"$2\": [^,}]*).*/\1/" <<<"$1")"
}

# What a policy predicted and what came of it: the broker counts it as kernels end, gsb-trace reckons it from a recording.
loop_errors_of_the_model_are_the_same_live_and_in_a_trace() {
	local i totals traced own metrics labels
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' '[metrics]' "listen = unix:$dir/metrics"
	two fma lds
	totals=$(gsbctl totals --json)
	metrics=$("$build/tests/integ/scrape" "unix:$dir/metrics")
	end_broker
	"$build/tools/trace/gsb-trace" check "$dir/t.gsb" >"$dir/checked" || fail "$(cat "$dir/checked")"
	expect_match "$(cat "$dir/checked")" '^2 of 2 tenants compared with the broker.s counters: 0 differences$'
	"$build/tools/trace/gsb-trace" model-error --json "$dir/t.gsb" | sed 's/.*"tenants": //' >"$dir/errors"
	for i in t1 t2; do
		own=$(of "$totals" "$i")
		traced=$(grep -oE "\"tenant\": \"$i\", \"time\": \{[^}]*\}" "$dir/errors")
		[ "$(decimal "$own" predicted)" -gt 60 ] || fail "hardly anything was predicted: $own"
		expect_equal "$i $(decimal "$own" predicted)" "$i $(decimal "$traced" n)"
		expect_equal "$i $(decimal "$own" model_error)" "$i $(decimal "$traced" mean_absolute)"
		labels="{tenant=\"$i\",uid=\"$(id -u)\"}"
		expect_match "$metrics" "^gsb_tenant_predicted_kernels_total$labels $(decimal "$own" predicted)$"
		expect_equal "$(awk -v of="gsb_tenant_model_error_ratio_total$labels" '$1 == of { sub(/\./, "", $2); print $2 + 0 }' <<<"$metrics")" \
			"$(decimal "$own" model_error_sum_ppm)"
		# both lose beside the other
		awk -v s="$(decimal "$own" slowdown)" 'BEGIN { exit !(s > 1.05 && s < 4) }' || fail "the slowdown is $(decimal "$own" slowdown)"
	done
}

# beside_batch CONF LINE...: t3, which is critical, asks for the device 80 times, one by one, while two others keep it full, one of them with the unit that it wants; the median of its
# answers in $median, what was decided in $dir/decided and $dir/shaped.
beside_batch() {
	local i pids=()
	rm -f "$dir/ready" "$dir/t.gsb"
	start_small_broker 'policy = priority' "$@" '[engine]' 'start_line = 3' 'gate_timeout_ms = 600000' '[resize]' 'mode = safe' \
		'[tenant "t3"]' 'critical = 1'
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for i in 'fma --turns 24 --rounds 32 --launches 20' 'lds --turns 24 --rounds 32 --launches 20' 'lds --turns 50 --rounds 1 --launches 80 --each'; do
		# shellcheck disable=SC2086 # words
		tenant "t$((${#pids[@]} + 1))" "$loop" --kind $i >"$dir/$((${#pids[@]} + 1))" 2>&1 &
		pids+=($!)
	done
	for i in 0 1 2; do
		wait "${pids[i]}" || fail "tenant $((i + 1)): $(cat "$dir/$((i + 1))")"
	done
	await_no_tenants
	gsbctl trace stop >/dev/null
	end_broker
	"$build/tools/gsbctl" trace dump "$dir/t.gsb" >"$dir/dump"
	grep ' decided' "$dir/dump" >"$dir/decided"
	median=$(grep '^device_us ' "$dir/3" | tr ' ' '\n' | tail -n +2 | sort -n | sed -n 40p)
}

# Whole, others' launches go beside it on three of the four SMs, or on all until it has come; in parts they wait while it is there.
loop_a_critical_tenant_has_others_in_parts() {
	local median whole serial
	beside_batch 'critical_wait_us = 0'
	whole=$median
	expect_equal "$(n_decided 'reason=(bounded|unbounded|yielded)')" 0
	beside_batch 'critical_wait_us = 50'
	[ "$(n_decided 'verdict=issue.*reason=bounded')" -ge 2 ] || fail "nothing went in parts: $(tail -n 3 "$dir/decided")"
	[ "$(n_decided 'verdict=hold.*reason=yielded')" -ge 1 ] || fail "nobody had to wait"
	awk -v a="$median" -v b="$whole" 'BEGIN {
		printf "    answers take %s us in the median, and %s beside whole launches\n", a, b
		exit !(a < 0.6 * b) }' >&2 || fail "that is no sooner"
	serial=$(grep ' shaped .*form=persistent n_parts=' "$dir/dump" | sed -n '1s/.*serial=\([0-9]*\).*/\1/p')
	"$build/tools/trace/gsb-trace" explain "$dir/t.gsb" "$serial" >"$dir/said"
	expect_match "$(cat "$dir/said")" 'of priority: in parts that end soon, so that a critical tenant has all SMs when it comes$'
	expect_match "$(cat "$dir/said")" 'for 1024 blocks of 256 threads; each ends after [0-9]+ tiles?, so in [0-9.]+ us$'
}

# The key arrives: of four SMs two are kept free, so the others' kernels go to two, and a critical kernel of two blocks to the first two.
loop_a_critical_tenant_has_as_many_sms_as_its_device_says() {
	beside_batch 'critical_wait_us = 0' 'critical_sms_percent = 50'
	[ "$(n_decided ' first_sm=2 n_sms=2 .*verdict=issue ')" -ge 2 ] || fail "the others have more: $(tail -n 3 "$dir/decided")"
	expect_equal "$(n_decided ' first_sm=1 ')" 0
	beside_batch 'critical_wait_us = 0' 'critical_sms_percent = 0'
	expect_equal "$(n_decided ' first_sm=[12] ')" 0
}

# One SM of two has all of the memory, so who reads it has a knee, and is tried with half of its blocks on both SMs, where shared memory starves it:
# no more comes beside it until it has ended. By weights that differ they are not brief.
loop_two_units_are_tried_inside_the_sms() {
	local serial arch=('n_sms = 2' 'sm_group = 1' 'mem_bandwidth_bytes_per_s = 50000000000' 'l2_bytes = 1048576')
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' '[resize]' 'mode = safe' \
		'[tenant "t2"]' 'weight = 101'
	both '--kind stream --turns 30 --bytes 8388608 --rounds 1 --launches 200' '--kind lds --turns 800 --rounds 1 --launches 200'
	[ "$(n_decided 'verdict=issue.*reason=inside')" -ge 2 ] || fail "they were not tried inside the SMs: $(tail -n 3 "$dir/decided")"
	awk '/reason=inside/ { began = 1 } began && /verdict=hold.*reason=apart/ { n++ } END { exit !n }' "$dir/decided" ||
		fail "who starved was kept there: $(grep -m1 -A9 reason=inside "$dir/decided")"
	serial=$(grep ' shaped .*form=persistent n_parts=4 ' "$dir/dump" | sed -n '1s/.*serial=\([0-9]*\).*/\1/p')
	"$build/tools/trace/gsb-trace" explain "$dir/t.gsb" "$serial" >"$dir/said"
	expect_match "$(cat "$dir/said")" 'of coreside: on all SMs beside another, one of the two with a part of its blocks$'
	expect_match "$(cat "$dir/said")" 'for 16 blocks of 256 threads; in 4 eighths of the places that it would fill$'
	expect_equal "$(($(total t1 resized) + $(total t2 resized))) resized" "$(grep -c ' shaped' "$dir/dump") resized"
	end_broker
	"$build/tools/trace/gsb-trace" check "$dir/t.gsb" >"$dir/checked" || fail "$(cat "$dir/checked")"
	expect_match "$(cat "$dir/checked")" '^2 of 2 tenants compared with the broker.s counters: 0 differences$'
}

# Who touches each place once is launched with that hint, on SMs of its own. The other one lives on its SM, so that gains nothing, and it goes as asked again.
loop_who_streams_is_tried_with_a_hint() {
	local serial n arch=('n_sms = 2' 'sm_group = 1' 'mem_bandwidth_bytes_per_s = 50000000000' 'l2_bytes = 1048576')
	start_small_broker 'policy = coreside' '[engine]' 'start_line = 2' 'gate_timeout_ms = 600000' '[resize]' 'mode = safe' \
		'[tenant "t2"]' 'weight = 101'
	both '--kind scan --turns 30 --bytes 8388608 --rounds 1 --launches 200' '--kind lds --turns 800 --rounds 1 --launches 200'
	grep ' shaped .*form=hint ' "$dir/dump" | sed 's/.*serial=\([0-9]*\).*/\1/' >"$dir/hinted"
	n=$(wc -l <"$dir/hinted")
	[ "$n" -ge 2 ] || fail "it was not tried: $(tail -n 3 "$dir/decided")"
	[ "$n" -le 30 ] || fail "it was kept for $n launches"
	serial=$(head -n 1 "$dir/hinted")
	"$build/tools/trace/gsb-trace" explain "$dir/t.gsb" "$serial" >"$dir/said"
	expect_match "$(cat "$dir/said")" 'of coreside: on SMs of its own$'
	expect_match "$(cat "$dir/said")" 'shape       as launched, with hints at what is not used again, for 16 blocks of 256 threads$'
	expect_equal "$(($(total t1 resized) + $(total t2 resized))) resized" "$(grep -c ' shaped' "$dir/dump") resized"
	end_broker
	"$build/tools/trace/gsb-trace" check "$dir/t.gsb" >"$dir/checked" || fail "$(cat "$dir/checked")"
	expect_match "$(cat "$dir/checked")" '^2 of 2 tenants compared with the broker.s counters: 0 differences$'
}

run_case loop_every_kind_runs
run_case loop_each_launch_is_timed
run_case loop_says_what_is_wrong
run_case loop_two_of_a_kind_have_shares_by_weight
run_case loop_a_limit_of_slowdown_is_held
run_case loop_deadlines_are_counted
run_case loop_two_kinds_are_tried_on_parts
run_case loop_two_units_are_tried_inside_the_sms
run_case loop_who_streams_is_tried_with_a_hint
run_case loop_errors_of_the_model_are_the_same_live_and_in_a_trace
run_case loop_a_critical_tenant_has_others_in_parts
run_case loop_a_critical_tenant_has_as_many_sms_as_its_device_says
[ "$failures" -eq 0 ]
