#!/usr/bin/env bash
# real_measure.sh - tests/gpu/real_measure as a trial on the emulated device: what is measured on a GPU comes out in the form that
# model_tables reads, of kernels that are where they are said to be. The figures say nothing here.
# Usage: from the build folder: srcdir=... tests/integ/real_measure.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# trial PART [KERNELS]: of four SMs' worth, into $dir/PART.
trial() {
	tenant "$1" "$build/tests/gpu/${2-real}_measure" "$1" "$srcdir/tests/gpu/${2-real}_kernels.ptx" 18 >"$dir/$1" 2>"$dir/$1.err" ||
		fail "$1: $(cat "$dir/$1.err")"
}

real_measure_gives_what_model_tables_reads() {
	printf '%s\n' 'base = h200' 'name = small' 'n_sms = 4' 'sm_group = 1' >"$dir/small.txt"
	printf '%s\n' "[device \"emu:$dir/small.txt\"]" >"$dir/conf"
	mkfifo "$dir/ready"
	"$build/broker/gsbrokerd" --config "$dir/conf" --socket "$dir/s" --ready-fd 9 9>"$dir/ready" 2>"$dir/broker.log" &
	broker=$!
	read -r _ <"$dir/ready" || fail "gsbrokerd did not start: $(cat "$dir/broker.log")"
	trial alone
	trial triples
	printf '%s\t2,6\n' chains,chains chains,scrambles scrambles,chains scrambles,scrambles chains,sines >"$dir/seen"
	SEEN=$dir/seen trial profiles dev
	mv "$dir/profiles" "$dir/dev-profiles"
	trial profiles fresh
	mv "$dir/profiles" "$dir/fresh-profiles"
	trial profiles
	end_broker
	# of three kernels two are the probes: these beside each other, and the third beside them, both ways; but for what is known
	expect_equal "$(grep -v '^#' "$dir/dev-profiles" | cut -f 1 | sort | uniq -c | awk '{ print $1, $2 }')" \
		"$(printf '3 %s\n' scrambles,sines sines,chains sines,scrambles)"
	# neither probe is one of the kernels: three beside two, both ways, and the probes beside each other
	expect_equal "$(grep -vc '^#' "$dir/fresh-profiles")" 48
	expect_equal "$(sed -n 's/^chains,\([a-z_]*\)\t2,6.*/\1/p' "$dir/fresh-profiles" | paste -sd' ')" 'running_sums heap_top like chains scrambles'
	expect_equal "$(grep -vc '^#' "$dir/alone")" 24
	expect_equal "$(awk -F'\t' '!/^#/ && $5 != $2 "-" $2' "$dir/alone")" ''
	expect_equal "$(awk -F'\t' '!/^#/ { print $2, $6 }' "$dir/triples")" $'2,3,3 2-2,3-3,3-3\n4,2,2 4-4,2-2,2-2\n6,1,1 6-6,1-1,1-1'
	# speeds of all are above 0, and the makespan is not that of nothing
	awk -F'[\t,]' '!/^#/ && !($7 > 0 && $8 > 0 && $9 > 0 && $19 > 0) { exit 1 }' "$dir/triples" || fail "$(cat "$dir/triples")"
	# three kernels beside two probes, both ways, and these beside each other
	expect_equal "$(grep -vc '^#' "$dir/profiles")" 48
	awk -F'[\t,]' '!/^#/ && !($5 > 0 && $6 > 0 && $13 > 0) { exit 1 }' "$dir/profiles" || fail "$(cat "$dir/profiles")"
	"$srcdir/tests/gpu/real-demands" nearest cheapest_path plate >"$dir/demands"
	"$build/tests/gpu/model_tables" predict h200 "$dir/alone" "$dir/demands" >"$dir/predictions"
	"$build/tests/gpu/model_tables" real "$dir/predictions" "$dir/triples" >"$dir/table"
	expect_match "$(cat "$dir/table")" '^3 sets, 9 speeds, '
}

real_measure_says_how_it_is_called() {
	status_of "$build/tests/gpu/real_measure" pairs
	expect_equal "$status" 2
	status_of "$build/tests/gpu/real_measure" pairs x 17
	expect_equal "$status" 2
	expect_match "$output" '^usage: real_measure alone\|pairs\|triples\|profiles PTX \[LOG2\]$'
}

run_case real_measure_gives_what_model_tables_reads
run_case real_measure_says_how_it_is_called
[ "$failures" -eq 0 ]
