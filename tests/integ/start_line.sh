#!/usr/bin/env bash
# start_line.sh - tenants that begin together: five queries repeat to the nanosecond of virtual time, on any number of
# workers and whoever came first; one that never comes is not waited for for ever.
# Usage: from the build folder: srcdir=... tests/integ/start_line.sh
# shellcheck disable=SC2119,SC2120 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# What each operation of each tenant took, in the order of its stream: of a load, without what real time decides (serials,
# numbers of tenants).
times_of() {
	awk '/^tenant / { split($2, id, "="); split($3, name, "="); names[id[2]] = name[2] }
	     /^op / { line = ""; tenant = ""
	              for (i = 3; i <= NF; i++) {
	                      split($i, word, "=")
	                      if (word[1] == "tenant") tenant = names[word[2]]
	                      else if (word[1] !~ /^(after|on|kernel)$/) line = line " " $i
	              }
	              print tenant line }' "$1" | sort -s -k1,2
}

# run_five ORDER...: all queries at once, started in that order; their times in $dir/times.
run_five() {
	local q pids=()
	gsbctl trace record "$dir/t.gsb" >/dev/null
	for q; do
		query "$q" "$q" &
		pids+=($!)
	done
	for q in "${pids[@]}"; do
		wait "$q" || fail "a query failed: $(cat "$dir"/q?.out)"
	done
	await_no_tenants
	gsbctl trace stop >/dev/null
	"$build/tools/trace/gsb-trace" replay -o "$dir/load" "$dir/t.gsb"
	times_of "$dir/load" >"$dir/times"
}

start_line_five_queries_repeat_to_the_nanosecond() {
	local workers
	make_data
	for workers in 1 2; do
		start_real_broker '[engine]' 'start_line = 5' 'gate_timeout_ms = 600000' "workers = $workers"
		if [ "$workers" -eq 1 ]; then
			run_five q1 q2 q3 q4 q5
		else
			run_five q5 q3 q1 q4 q2
		fi
		mv "$dir/times" "$dir/times$workers"
		end_broker
		rm -f "$dir/ready" "$dir/t.gsb"
	done
	[ "$(wc -l <"$dir/times1")" -gt 100 ] || fail "that is no recording of five queries"
	expect_equal "$(cut -d' ' -f1 "$dir/times1" | sort -u | xargs)" "q1 q2 q3 q4 q5"
	diff "$dir/times1" "$dir/times2" || fail "the two differ"
}

start_line_gsbrun_gate_starts_a_broker_with_it() {
	make_data
	status_of env GSB_TENANT=q3 ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --gate 2 -- sh -c "
		GSB_TENANT=q4 $gpu_db run --data $dir/data --query q4 --verify --quiet & other=\$!
		$gpu_db run --data $dir/data --query q3 --verify --quiet && wait \$other"
	expect_equal "$status" 0
	expect_match "$output" '^q3 verified'
	expect_match "$output" '^q4 verified'
	status_of "$build/tools/gsbrun" --gate 65 -- true
	expect_equal "$status" 125
	expect_match "$output" '^gsbrokerd: --gate 65: must be'
	status_of "$build/tools/gsbrun" --gate 2 --socket "$dir/s" -- true
	expect_equal "$status" 2
	expect_match "$output" 'start_line in its configuration'
}

start_line_begins_without_who_never_comes() {
	make_data
	start_real_broker '[engine]' 'start_line = 3' 'start_line_ms = 50'
	query q3 q3 || fail "$(cat "$dir/q3.out")"
	await_no_tenants
	end_broker
	expect_match "$(cat "$dir/broker.log")" '1 of 3 tenants were at the start line after 50 ms \(q3\): they begin without'
}

run_case start_line_five_queries_repeat_to_the_nanosecond
run_case start_line_gsbrun_gate_starts_a_broker_with_it
run_case start_line_begins_without_who_never_comes
[ "$failures" -eq 0 ]
