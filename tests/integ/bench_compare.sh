#!/usr/bin/env bash
# bench_compare.sh - `gsb-bench compare`: policies side by side in virtual time. What it says repeats, and under fifo no mix ends
# before its bound.
# Usage: from the build folder: srcdir=... tests/integ/bench_compare.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

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

run_case compare_repeats_and_keeps_to_its_bounds
run_case compare_writes_json_and_pictures
run_case compare_says_what_is_wrong
[ "$failures" -eq 0 ]
