#!/usr/bin/env bash
# bench_compare.sh - `gsb-bench compare`: policies side by side in virtual time. What it says repeats, and under fifo no mix ends
# before its bound. Tenants that repeat a kernel do so on an H200 of four SMs, which fills soon.
# Usage: from the build folder: srcdir=... tests/integ/bench_compare.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

gpu_db=$build/examples/gpu_db/gpu_db

compare() {
	"$build/tools/gsb-bench" compare --device emu:titanx-pascal "$@"
}

compare_repeats_and_keeps_to_its_bounds() {
	compare --drawn 6 --rounds 2 >"$dir/a" || fail "it fails"
	compare --drawn 6 >"$dir/b" || fail "it fails the second time"
	# columns: mix way makespan least most speedup of_bound slowdown worst fairness sm_share; a mix may have blanks
	grep -E '^q.* [0-9.]+$' "$dir/a" | sed 's/ x /x/' >"$dir/rows"
	[ "$(wc -l <"$dir/rows")" -ge 8 ] || fail "too few rows: $(cat "$dir/a")"
	awk '{ if ($4 != $5) { print "two rounds differ:", $0; bad = 1 }
	       if ($2 == "fifo" && $7 > 1.0005) { print "better than can be:", $0; bad = 1 }
	       if ($1 ~ /^q.$/ && $2 == "fifo" && $8 != 1) { print "alone and not as alone:", $0; bad = 1 } }
	     END { exit bad }' "$dir/rows" || fail "the figures cannot be"
	diff <(grep -v '^rounds' "$dir/a") <(grep -v '^rounds' "$dir/b") || fail "two runs differ"
}

compare_writes_json_and_pictures() {
	compare --policy fifo --drawn 2 --json --plot "$dir/p" >"$dir/json" || fail "it fails"
	python3 - "$dir/json" <<-'END' || fail "that is not what was wanted: $(cat "$dir/json")"
		import json, sys
		text, decoder, at, found = open(sys.argv[1]).read(), json.JSONDecoder(), 0, []
		while at < len(text.rstrip()):
		    thing, at = decoder.raw_decode(text, at)
		    found.append(thing)
		    at += len(text[at:]) - len(text[at:].lstrip())
		assert len(found) == 2 and found[0]["clock"] == "virtual" and found[1]["drawn_loads"] == 2
	END
	python3 -c 'import sys, xml.dom.minidom; [xml.dom.minidom.parse(f) for f in sys.argv[1:]]' "$dir"/p-*.svg ||
		fail "a picture is no XML"
	expect_equal "$(cd "$dir" && echo p-*.svg)" "p-pairs.svg p-queries.svg"
	expect_match "$(cat "$dir/p-queries.svg")" 'paper: two-stage'
}

# columns: policy of_fifo best p90 p99 worst worse of_bound ...
compare_of_drawn_loads_alone_shows_their_distribution() {
	compare --workload drawn --drawn 7 --drawn-times 40 --policy fifo --policy serial --policy coreside >"$dir/out" ||
		fail "it fails"
	awk '$1 == "fifo" && ($2 != 1 || $3 != 1 || $6 != 1 || $7 != 0) { print "not as itself:", $0; bad = 1 }
	     $1 == "serial" && !($3 > 1 && $3 <= $2 && $2 <= $4 && $4 <= $5 && $5 <= $6 && $7 == 7) { print "no order:", $0; bad = 1 }
	     $1 == "coreside" && $6 > 1.01 { print "behind:", $0; bad = 1 }
	     /^(fifo|serial|coreside) / { n++ }
	     END { exit bad || n != 3 }' "$dir/out" || fail "the figures cannot be: $(cat "$dir/out")"
	expect_match "$(cat "$dir/out")" 'times: 40'
}

# The second load of two is the first from the next seed on.
compare_of_drawn_loads_from_a_seed() {
	local two one n=0
	two=$(compare --workload drawn --drawn 2 --policy serial | awk '$1 == "serial" { print $3, $6 }') || fail "it fails"
	for seed in 0 1; do
		one=$(compare --workload drawn --drawn 1 --drawn-from "$seed" --policy serial | awk '$1 == "serial" { print $2 }')
		case " $two " in *" $one "*) n=$((n + 1)) two=${two/$one/} ;; esac
	done
	expect_equal "$n" 2
	status_of compare --workload drawn --drawn-from x
	expect_equal "$status" 2
	expect_match "$output" 'drawn-from x: must be a number'
}

# Nothing ends before the best of all orders, and one tenant at a time ends after it.
compare_of_drawn_loads_with_the_best_order() {
	compare --workload drawn --drawn 1 --drawn-best --policy fifo --policy serial --policy coreside >"$dir/out" || fail "it fails"
	expect_match "$(head -n 1 "$dir/out")" '^policy  *of_best  *best '
	awk '$1 == "fifo" || $1 == "coreside" { if ($2 < 1 || $2 > 2) exit 1; n++ } $1 == "serial" { if ($2 < 1.05) exit 1; n++ } END { exit n != 3 }' "$dir/out" ||
		fail "$(cat "$dir/out")"
	status_of compare --workload drawn --drawn-best --drawn-times 4
	expect_equal "$status" 2
	expect_match "$output" 'drawn-best: loads that repeat kernels have more orders than can be tried; leave --drawn-times out'
}

compare_says_what_is_wrong() {
	status_of compare --policy none
	expect_equal "$status" 2
	expect_match "$output" 'policy none: there is none of that name'
	status_of compare --gpu-db "$dir/none"
	expect_equal "$status" 2
	expect_match "$output" 'none: No such file or directory: --gpu-db says'
	status_of compare --device null
	expect_equal "$status" 2
	expect_match "$output" 'must be emu:NAME or cuda:N'
	status_of compare --options --verify=yes --drawn 0
	expect_equal "$status" 1
	expect_match "$output" 'q1-00 failed:'
}

# loops WORKLOAD [OPTION...]: tables in $dir/out.
loops() {
	printf '%s\n' 'base = h200' 'name = small' 'n_sms = 4' 'sm_group = 1' >"$dir/small.txt"
	"$build/tools/gsb-bench" compare --device "emu:$dir/small.txt" --workload "$@" >"$dir/out" || fail "it fails"
}

compare_mixes_by_name_are_these_alone() {
	compare --mix "8 q1 twice" >"$dir/out" 2>&1 && fail "a mix that there is not"
	expect_match "$(cat "$dir/out")" 'there is none of one of these names'
	compare --mix q4 --mix q3 --policy fifo --drawn 0 >"$dir/out" || fail "it fails"
	expect_equal "$(grep -c ' fifo ' "$dir/out")" 2
}

# Under serial the one that came first has all, so the other gets nothing while it is there; under fifo they share.
compare_of_pairs_shows_who_had_what() {
	loops pairs --load fma+fma --policy fifo --policy serial --work-ms 5
	# columns: load way tenant kind weight limit speed
	awk '$4 == "fma" { speed[$2, $3] = $7 } END {
		for (i = 1; i <= 2; i++) if (speed["fifo", i] < 0.4 || speed["fifo", i] > 0.6) exit 1
		exit !(speed["serial", 1] > 0.9 && speed["serial", 2] < 0.1) }' "$dir/out" || fail "$(cat "$dir/out")"
	cp "$dir/out" "$dir/first"
	loops pairs --load fma+fma --policy fifo --policy serial --work-ms 5
	diff "$dir/first" "$dir/out" || fail "two runs differ"
}

compare_of_starvation_holds_weights() {
	loops starvation --load fma:160:1+fma:160:1:300 --policy coreside
	awk '$4 == "fma" { speed[$3] = $7 } END { exit !(speed[2] / speed[1] > 2.5 && speed[2] / speed[1] < 3.3) }' "$dir/out" ||
		fail "$(cat "$dir/out")"
}

# There are more of them than SMs: they take turns all the same.
compare_of_more_tenants_than_sms_holds_weights() {
	loops starvation --load fma:120:1+fma:120:1+fma:120:1+fma:120:1+fma:120:1:200 --policy coreside --work-ms 8
	awk '$4 == "fma" { speed[$3] = $7 } END { exit !(speed[5] / speed[1] > 1.6 && speed[5] / speed[4] < 2.4) }' "$dir/out" ||
		fail "$(cat "$dir/out")"
}

# Beside three others, and a limit that is worth two thirds of the device.
compare_of_limits_holds_them() {
	loops limits --load fma:160:1:100:50+fma:160:1+fma:160:1+lds:80:1 --policy coreside --policy fifo --work-ms 25
	awk '$3 == 1 { speed[$2] = $7; limit = $6 } END { exit !(limit == 50 && speed["coreside"] > 0.55 && speed["fifo"] < 0.45) }' "$dir/out" ||
		fail "$(cat "$dir/out")"
}

# A service that waits for each launch: beside tenants that keep the device full it waits for them under fifo, and not under priority.
compare_of_a_critical_tenant_shows_its_answers() {
	loops critical --load fma+lds+lds:40:1 --policy fifo --policy priority --work-ms 5 --answers 20 --json
	python3 - "$dir/out" <<-'END' || fail "$(cat "$dir/out")"
		import json, sys
		text = open(sys.argv[1]).read()
		loads, at = json.JSONDecoder().raw_decode(text)
		rows = {row["way"]: row for row in loads["rows"]}
		assert rows["priority"]["p99_us"] < rows["fifo"]["p99_us"], rows
		assert rows["alone"]["p99_us"] < rows["priority"]["p99_us"] * 1.001, rows
		assert loads["workload"] == "critical" and loads["failed"] == 0
	END
}

# The brokers are told so: the same load under the same policy has another timeline, with a critical tenant on all SMs that is waited for.
compare_of_a_critical_tenant_has_brokers_launch_in_parts() {
	local load=(critical --load 'fma:160:32+lds:160:32+lds:20:1' --policy priority --work-ms 4 --answers 40 --critical-sms 1000)
	loops "${load[@]}"
	mv "$dir/out" "$dir/whole"
	loops "${load[@]}" --critical-wait-us 50
	expect_equal "$(sed -n 's/^failed: //p' "$dir/whole" "$dir/out" | tr '\n' ' ')" '0 0 '
	expect_equal "$(grep -c ' priority  ' "$dir/out")" "$(grep -c ' priority  ' "$dir/whole")"
	! diff <(grep ' priority  ' "$dir/whole") <(grep ' priority  ' "$dir/out") >/dev/null || fail "it is all the same: $(cat "$dir/out")"
	expect_equal "$(awk '$2 == "alone" { print $NF }' "$dir/out")" "$(awk '$2 == "alone" { print $NF }' "$dir/whole")"
}

compare_of_loads_says_what_is_wrong() {
	status_of compare --workload none
	expect_equal "$status" 2
	expect_match "$output" 'workload none: there are queries, pairs, starvation, critical, limits and drawn'
	status_of compare --workload pairs --load fma:0
	expect_match "$output" 'load fma:0: behind a tenant.s kind are up to four numbers above 0'
	status_of compare --workload starvation --delay-ms 5
	expect_match "$output" 'on an emulated device all begin at one instant'
	status_of compare --workload pairs --load none+fma
	expect_equal "$status" 1
	expect_match "$output" 'kind none: there is none of that name'
}

# A program that answers differently each time it is asked.
compare_says_when_a_result_differs() {
	cat >"$dir/liar" <<-END
		#!/bin/sh
		"$gpu_db" "\$@" | sed "s/checksum .*/checksum \$\$/"
	END
	chmod +x "$dir/liar"
	status_of compare --gpu-db "$dir/liar" --policy fifo --mix q3 --drawn 0
	expect_equal "$status" 1
	expect_match "$output" "fifo: its result has the checksum '[0-9]+', and verified ones have [0-9]+"
}

run_case compare_says_when_a_result_differs
# What a query asks of the SMs when it is repeated is not what it asks for once: on so few SMs that would pass for more than there is time for.
compare_of_a_repeated_query_has_bounds_of_its_own() {
	"$build/tools/gsb-bench" compare --device emu:c2070 --scale 1/1024 --mix "q1,q2 x 16" --mix "20 times q1 x 8" --policy fifo --drawn 0 >"$dir/out" ||
		fail "it fails"
	sed 's/^[^f]* fifo/fifo/' "$dir/out" | awk '$1 == "fifo" { n++; if ($6 > 1.0005 || $6 < 0.5) exit 1 } END { exit n != 2 }' ||
		fail "$(cat "$dir/out")"
}

run_case compare_mixes_by_name_are_these_alone
run_case compare_of_a_repeated_query_has_bounds_of_its_own
run_case compare_of_pairs_shows_who_had_what
run_case compare_of_starvation_holds_weights
run_case compare_of_more_tenants_than_sms_holds_weights
run_case compare_of_limits_holds_them
run_case compare_of_a_critical_tenant_shows_its_answers
run_case compare_of_a_critical_tenant_has_brokers_launch_in_parts
run_case compare_of_loads_says_what_is_wrong
run_case compare_repeats_and_keeps_to_its_bounds
run_case compare_writes_json_and_pictures
run_case compare_of_drawn_loads_alone_shows_their_distribution
run_case compare_of_drawn_loads_from_a_seed
run_case compare_of_drawn_loads_with_the_best_order
run_case compare_says_what_is_wrong
[ "$failures" -eq 0 ]
