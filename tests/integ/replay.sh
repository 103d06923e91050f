#!/usr/bin/env bash
# replay.sh - gsb-model replay: what a broker has recorded comes out again under the policy that it ran under; loads that are drawn;
# what is said of input that is none.
# Usage: from the build folder: srcdir=... tests/integ/replay.sh
# shellcheck disable=SC2119,SC2120 # start_real_broker may take lines of configuration
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

replay() {
	"$build/tools/gsb-model" replay "$@"
}

# record QUERY...: at once, behind a start line; the load in $dir/load
record() {
	local q pids=()
	make_data
	start_real_broker '[engine]' "start_line = $#" 'gate_timeout_ms = 600000'
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
	end_broker
	"$build/tools/trace/gsb-trace" replay -o "$dir/load" "$dir/t.gsb"
}

# The time of each tenant as it was recorded, by name: from its coming to its last end.
recorded() {
	awk '/^tenant / { split($2, id, "="); split($3, name, "="); names[id[2]] = name[2] }
	     /^op / { for (i = 2; i <= NF; i++) { split($i, w, "="); v[w[1]] = w[2] }
	              if (v["done"] > last[v["tenant"]]) last[v["tenant"]] = v["done"] }
	     END { for (t in last) printf "%s %.6f\n", names[t], last[t] / 1e6 }' "$1" | sort
}

# A load has of a kernel its mean time alone and not the time of each block: so far it may be off.
replay_of_what_ran_under_fifo_takes_as_long() {
	record q1 q3 q4 q5
	replay --policy fifo "$dir/load" >"$dir/out" || fail "it fails"
	awk 'NF == 7 && $1 != "tenant" { print $2, $5 }' "$dir/out" | sort >"$dir/again"
	expect_equal "$(wc -l <"$dir/again")" 4
	recorded "$dir/load" | join - "$dir/again" | awk '
		{ d = $2 - $3; if (d < 0) d = -d; if (d > 0.01 * $2) { print "recorded and again:", $0; bad = 1 } }
		END { exit bad }' || fail "they are not within a hundredth of each other"
	expect_match "$(replay "$dir/load" --policy all)" '^fifo +[0-9.]+ '
}

replay_of_a_drawn_load_is_the_same_each_time() {
	replay --random 5 --tenants 3 --kernels 4 >"$dir/a"
	replay --random 5 --tenants 3 --kernels 4 >"$dir/b"
	diff "$dir/a" "$dir/b" || fail "they differ"
	expect_match "$(cat "$dir/a")" '^launches: 12$'
	! replay --random 6 --tenants 3 --kernels 4 | diff -q "$dir/a" - >/dev/null || fail "another seed, the same load"
	replay --random 5 --json | python3 -c 'import json, sys; d = json.load(sys.stdin); assert len(d["rows"]) == 4, d' ||
		fail "that is no JSON"
}

replay_of_nonsense_is_refused() {
	status_of replay
	expect_equal "$status" 2
	expect_match "$output" 'takes a load of gsb-trace replay, or --random'
	status_of replay --policy none "$dir/none"
	expect_equal "$status" 2
	expect_match "$output" "no policy 'none'; there are fifo,.* and all"
	status_of replay "$dir/none"
	expect_equal "$status $output" "2 gsb-model: $dir/none: No such file or directory"
	echo 'gsb-load version=9' >"$dir/new"
	status_of replay "$dir/new"
	expect_equal "$status" 2
	expect_match "$output" "^gsb-model: $dir/new:1: "
	status_of replay --random 1 --tenants 65
	expect_equal "$status" 2
	expect_match "$output" "must be a number from 1 to 64"
}

run_case replay_of_what_ran_under_fifo_takes_as_long
run_case replay_of_a_drawn_load_is_the_same_each_time
run_case replay_of_nonsense_is_refused
[ "$failures" -eq 0 ]
