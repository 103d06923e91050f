#!/usr/bin/env bash
# real_tables.sh: model_tables predict and real on made-up files, of which a hand can say what comes out; and what real-demands counts.
# Usage: from the build folder: srcdir=... tests/gpu/real_tables.sh
set -uo pipefail
src=${srcdir:-$(dirname "$0")/../..}
tables=$PWD/tests/gpu/model_tables
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

run_case() {
	echo "[ RUN      ] $1"
	if (set -e; "$1"); then
		echo "[       OK ] $1"
	else
		echo "[  FAILED  ] $1"
		failures=$((failures + 1))
	fi
}

fail() {
	echo "    $*" >&2
	exit 1
}

# has FILE LINE: the file has this line, tabs written as blanks.
has() {
	tr '\t' ' ' <"$1" | grep -qFx -e "$2" || fail "no line '$2' in: $(tr '\t' ' ' <"$1" | head -40)"
}

# alone KERNEL RATE...: with one to eight eighths.
alone() {
	local name=$1 e=0 rate
	shift
	for rate; do
		e=$((e + 1))
		printf '%s\t%d\t%s\t0\t1-1\t256\t32\t0\n' "$name" $e "$rate"
	done
}

flat='1000 1000 1000 1000 1000 1000 1000 1000'
half='500 1000 1000 1000 1000 1000 1000 1000'
waits='125 250 375 500 625 750 875 1000'

# counts KERNEL INSTRUCTIONS SFU FP64 REQUESTS SECTORS WAVEFRONTS BARRIERS L2 DRAM
counts() {
	printf '%s' "$1"
	shift
	printf '\t%s' "$@"
	printf '\n'
}

# predict: what is in $dir/alone and $dir/counts, into $dir/p
predict() {
	"$tables" predict h200 "$dir/alone" "$dir/counts" >"$dir/p"
}

# refuses PATTERN COMMAND...: it ends with 1, and says so.
refuses() {
	local pattern=$1 status=0
	shift
	"$@" >"$dir/out" 2>&1 || status=$?
	if [ "$status" -ne 1 ] || ! grep -qE -e "$pattern" "$dir/out"; then
		fail "$*: $status: $(cat "$dir/out")"
	fi
}

# An H200 has 132 SMs of 1.98 GHz: 1,045,440,000 instructions, or 130,680,000 special functions, are all of a unit of a second's thousand.
# Both kernels are as fast with an eighth as with all.
two_full_units() {
	# shellcheck disable=SC2086 # rates
	{ alone fma $flat && alone sin $flat; } >"$dir/alone"
	{ counts fma 1045440000 0 0 0 0 0 0 0 0 && counts sin 1000 130680000 0 0 0 0 0 0 0; } >"$dir/counts"
}

# dense / sfu is .99 / .05, sfu / dense .12 / .97; and with dense alone the other has all. Rounds know halves.
predict_gives_two_full_units_what_the_table_has() {
	two_full_units
	predict
	has "$dir/p" '# fma: dense 1.000'
	has "$dir/p" '# sin: sfu 1.000'
	has "$dir/p" 'fma,sin 4,4 0.990000,0.050000 1.9596 1.000000,1.000000 1.0000 0.500000,0.500000 2.0000'
	has "$dir/p" 'sin,fma 4,4 0.120000,0.970000 1.9072 1.000000,1.000000 1.0000 0.500000,0.500000 2.0000'
	has "$dir/p" 'sin,fma 2,6 0.120000,0.970000 1.9072 1.000000,1.000000 1.0000 0.250000,0.750000 4.0000'
	[ "$(grep -vc '^#' "$dir/p")" -eq 12 ] || fail "not all ordered pairs: $(cat "$dir/p")"
}

# Of one unit who has three times the blocks has three times the requests.
predict_takes_residency_for_requests() {
	two_full_units
	predict
	has "$dir/p" 'fma,fma 4,4 0.851204,0.140198 2.0101 1.000000,1.000000 1.0000 0.500000,0.500000 2.0000'
	has "$dir/p" 'fma,fma 2,6 0.664797,0.328488 2.0101 1.000000,1.000000 1.0000 0.250000,0.750000 4.0000'
}

# Who waits is slower with fewer blocks, by its curve; and wants as much less of the unit.
predict_goes_by_the_curve_of_each() {
	# shellcheck disable=SC2086 # rates
	{ alone waits $waits && alone half $half; } >"$dir/alone"
	{ counts waits 0 0 0 0 0 0 0 0 0 && counts half 0 0 0 0 0 0 0 0 0; } >"$dir/counts"
	predict
	has "$dir/p" 'waits,half 2,6 0.250000,1.000000 4.0000 0.250000,1.000000 4.0000 0.250000,0.750000 4.0000'
	has "$dir/p" 'half,waits 6,2 1.000000,0.250000 4.0000 1.000000,0.250000 4.0000 0.750000,0.250000 4.0000'
}

# 4.8 TB/s are 150,000,000 sectors of a unit; a quarter of it, of which all gets to the L2, of 5,120 bytes a cycle. 261,360,000 passes
# of shared memory are all, 130,680,000 barriers, 522,720,000 of double precision; half of 1,045,440,000 requests are the L1's.
predict_makes_demands_of_counts() {
	# shellcheck disable=SC2086 # rates
	alone k $flat >"$dir/alone"
	counts k 10454400 13068000 52272000 0 37500000 26136000 13068000 100 100 >"$dir/counts"
	predict
	# a flat curve says that who wants the memory most has it full, but that is found with the blocks, not here
	has "$dir/p" '# k: issue 0.010 shared 0.100 sfu 0.100 fp64 0.100 l2 0.118 dram 0.250 barrier 0.100'
	counts k 0 0 0 26136000 0 0 0 50 0 >"$dir/counts"
	predict
	has "$dir/p" '# k: l1 0.050'
	# more than a unit can is shown, and taken for all of it
	two_full_units
	sed -i 's/1045440000/2090880000/' "$dir/counts"
	predict
	has "$dir/p" '# fma: dense 2.000'
	has "$dir/p" 'fma,sin 4,4 0.990000,0.050000 1.9596 1.000000,1.000000 1.0000 0.500000,0.500000 2.0000'
}

# The same two with requests: one in a hundred instructions, of a cycle 10,454,400 / 261,360,000. sin waits for a turn at the slots,
# of which it wants 0.001: 1 / 1.2 of its speed; and fma, whose slots are no longer all its own, has 0.999 and more.
predict_lets_those_wait_whose_requests_are_known() {
	two_full_units
	sed -i 's/$/\t0\t10454400/; s/^sin\t1000\t/sin\t1045440\t/' "$dir/counts"
	predict
	has "$dir/p" '# fma: dense 1.000 requests 0.040'
	has "$dir/p" '# sin: issue 0.001 sfu 1.000 requests 0.040'
	# each fills one unit, as the kernels of the table
	has "$dir/p" 'fma,sin 4,4 0.990000,0.050000 1.9596 1.000000,1.000000 1.0000 0.500000,0.500000 2.0000'
	# and these two units, as none of them
	sed -i 's/^\(sin\t1045440\t[0-9]*\)\t0\t/\1\t418176000\t/' "$dir/counts"
	predict
	has "$dir/p" '# sin: issue 0.001 sfu 1.000 fp64 0.800 requests 0.040'
	grep -qP '^fma,sin\t4,4\t0.999[0-9]*,0.833[0-9]*\t' "$dir/p" || fail "$(cat "$dir/p")"
	# who asks more often than that stalls
	sed -i 's/\t10454400$/\t10454401/; s/^sin.*/&/' "$dir/counts"
	predict
	has "$dir/p" '# fma: issue 1.000 requests 0.040'
	# whole numbers are half of what can be issued
	sed -i 's/\t0\t10454401$/\t261360000\t10454401/' "$dir/counts"
	predict
	has "$dir/p" '# fma: alu 0.500 issue 1.000 requests 0.040'
}

# Triples of different kernels, each at three residencies.
predict_draws_fifty_triples() {
	local k
	# shellcheck disable=SC2086 # rates
	for k in a b c d; do alone $k $flat; done >"$dir/alone"
	for k in a b c d; do counts $k 0 0 0 0 0 0 0 0 0; done >"$dir/counts"
	predict
	[ "$(cut -f 2 "$dir/p" | sort | uniq -c | awk '$2 ~ /,.*,/ { print $2 ":" $1 }' | tr '\n' ' ')" = '2,3,3:50 4,2,2:50 6,1,1:50 ' ] ||
		fail "other triples: $(cut -f 2 "$dir/p" | sort | uniq -c)"
	awk -F'[,\t]' 'NF == 18 && ($1 == $2 || $2 == $3 || $1 == $3) { exit 1 }' "$dir/p" || fail "a triple has a kernel twice"
}

predict_refuses_what_is_not_whole() {
	two_full_units
	sed -i '3d' "$dir/alone"
	refuses 'do not rise one by one' "$tables" predict h200 "$dir/alone" "$dir/counts"
	two_full_units
	sed -i '$d' "$dir/alone"
	refuses 'each number of eighths' "$tables" predict h200 "$dir/alone" "$dir/counts"
	two_full_units
	sed -i '$d' "$dir/counts"
	refuses 'not one line for each kernel' "$tables" predict h200 "$dir/alone" "$dir/counts"
	refuses 'no such GPU' "$tables" predict h2000 "$dir/alone" "$dir/counts"
}

# said NAMES EIGHTHS LAW-SPEEDS LAW-MAKESPAN CURVE-SPEEDS CURVE-MAKESPAN ROUNDS-SPEEDS ROUNDS-MAKESPAN; seen NAMES EIGHTHS SPEEDS ALONE MAKESPAN
said() {
	printf '%s' "$1"
	shift
	printf '\t%s' "$@"
	printf '\n'
}

seen() {
	printf '%s\t%s\t%s\t0\t%s\t1-1\t%s\t0\n' "$@"
}

# The law is off by 1, 2.5, 1.1 and, where 0.0001 counts as 0.0005, 100; 1 by 2, 2, 1 and 2000. The fourth is starved.
score_counts_factors_of_all_speeds() {
	{
		said a,b 4,4 0.5,0.2 1.5 1,1 1 0.5,0.5 2
		said b,a 4,4 1,0.05 1.8 1,1 1 0.5,0.5 2
	} >"$dir/p"
	{
		seen a,b 4,4 0.5,0.5 1,1 1.5
		seen b,a 4,4 0.909091,0.0001 1,1 2.25
	} >"$dir/m"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	has "$dir/t" '| law | 1.100 | 100.000 | 100.0 | 100.00 | 0.0 % | 100.0 % | 1.000 | 1.250 | 1.25 | 50.0 % |'
	has "$dir/t" '| 1/curve | 2.000 | 2000.000 | 2000.0 | 2000.00 | 0.0 % | 50.0 % | 1.500 | 2.250 | 2.25 | 0.0 % |'
	has "$dir/t" '| 1 | 2.000 | 2000.000 | 2000.0 | 2000.00 | 0.0 % | 50.0 % | 1.500 | 2.250 | 2.25 | 0.0 % |'
	has "$dir/t" '| 2 | 1.000 | 1000.000 | 1000.0 | 1000.00 | 50.0 % | 50.0 % | 1.125 | 1.333 | 1.33 | 50.0 % |'
	has "$dir/t" '2 sets, 4 speeds, 1 of them starved: below a twentieth of what the kernel has alone with as many blocks.'
	has "$dir/t" '| b,a | 4,4 | 1.000 / 0.050 | 0.909 / 0.000 | 100.00 |'
	[ "$(grep -nE '^\| [ab],[ab] ' "$dir/t" | head -n 1 | grep -c b,a)" -eq 1 ] || fail "not the worst first: $(cat "$dir/t")"
}

# A set is as wrong as its worst speed, whichever that is.
score_takes_a_set_by_its_worst_speed() {
	said a,b 4,4 0.1,0.5 1 1,0.5 1 1,1 2 >"$dir/p"
	seen a,b 4,4 0.5,0.5 1,1 1 >"$dir/m"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	has "$dir/t" '| law | 1.000 | 5.000 | 5.0 | - | 0.0 % | 100.0 % | 1.000 | 1.000 | 1.00 | 100.0 % |'
}

# Seen: 1.6 and 1.2, one after the other 2. The law takes the first, for 1.6 / 1.2; 1/curve the second; rounds find all alike: their mean.
score_holds_what_a_way_takes_against_the_best() {
	{
		said a,b 2,6 1,1 1.1 1,1 1.5 1,1 2
		said b,a 2,6 1,1 1.3 1,1 1.4 1,1 2
	} >"$dir/p"
	{
		seen a,b 2,6 1,1 1,1 1.6
		seen b,a 2,6 1,1 1,1 1.2
	} >"$dir/m"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	has "$dir/t" '| law | 33.3 % | 33.3 % | 33.3 % | 33.3 % |'
	has "$dir/t" '| 1/curve | 0.0 % | 0.0 % | 0.0 % | 0.0 % |'
	has "$dir/t" '| rounds | 33.3 % | 33.3 % | 33.3 % | 33.3 % |'
	has "$dir/t" '| 1 | 16.7 % | 16.7 % | 16.7 % | 16.7 % |'
	has "$dir/t" 'Regret of 1 sets, whose order does not count.'
}

# Four kernels: ab cd is best, 1.2 + 1.3; the law thinks ac bd, which takes 1.5 + 2 for it: 40 % more. Nobody beside himself.
score_matches_kernels_in_pairs() {
	local pair
	for pair in a,b:1.9 c,d:1.9 a,c:1.1 b,d:1.1 a,d:1.8 b,c:1.8 a,a:1 b,a:1.9 c,a:1.1 d,a:1.8; do
		said "${pair%:*}" 4,4 1,1 "${pair#*:}" 1,1 1 1,1 2
	done >"$dir/p"
	for pair in a,b:1.2 c,d:1.3 a,c:1.5 b,d:2 a,d:1.7 b,c:1.8 a,a:1 b,a:1.2 c,a:1.5 d,a:1.7; do
		seen "${pair%:*}" 4,4 1,1 1,1 "${pair#*:}"
	done >"$dir/m"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	grep -qE '^\| law \| .* \| 40\.0 % \|$' "$dir/t" || fail "$(cat "$dir/t")"
	sed -i '/^b,d/d' "$dir/m" # a pair is missing
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	grep -qE '^\| law \| .* \| - \|$' "$dir/t" || fail "$(cat "$dir/t")"
}

# profiles SPEED MAKESPAN KERNEL...: all alike, beside each of the first twelve probes and it beside them, and these beside each other.
profiles() {
	local speed=$1 makespan=$2 a b e
	local -a probes
	shift 2
	mapfile -t probes < <(sed -n 's/^PROBE(\([a-z_]*\),.*/\1/p' "$src/tests/gpu/probes.def" | head -n 12)
	for a in "$@" "${probes[@]}"; do
		for b in "$@" "${probes[@]}"; do
			case " $* " in *" $a "*) case " $* " in *" $b "*) continue ;; esac ;; esac
			for e in 2 4 6; do
				printf '%s,%s\t%d,%d\t1,%s\t0,0\t1,1\t-\t%s\t0\n' "$a" "$b" $e $((8 - e)) "$speed" "$makespan"
			done
		done
	done
}

# By twelve probes of which each halves who is younger, and makes a makespan of 2, a logarithm of ln 2 comes out as
# 144 ln2^2 / (144 ln2^2 + d) of it: d is 0.49 for speeds and 0.09 for makespans. Of speeds that is one in three: who is like probes of one kind
# only has what they have. What a kernel has alone of its own eighths counts besides.
predict_goes_by_the_probes_where_there_are_profiles() {
	# shellcheck disable=SC2086 # rates
	{ alone waits $waits && alone half $half; } >"$dir/alone"
	{ counts waits 0 0 0 0 0 0 0 0 0 && counts half 0 0 0 0 0 0 0 0 0; } >"$dir/counts"
	profiles 0.5 2 waits half >"$dir/profiles"
	"$tables" predict h200 "$dir/alone" "$dir/counts" "$dir/profiles" >"$dir/p"
	has "$dir/p" 'waits,half 2,6 0.250000,1.000000 4.0000 0.250000,1.000000 4.0000 0.250000,0.750000 4.0000 0.250000,0.500813 1.9982'
	has "$dir/p" 'half,waits 6,2 1.000000,0.250000 4.0000 1.000000,0.250000 4.0000 0.750000,0.250000 4.0000 1.000000,0.125203 1.9982'
	# scored as any other way, and of kernels that were beside no probe not at all
	seen waits,half 2,6 0.25,0.500813 0.25,1 1.9982 >"$dir/m"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	has "$dir/t" '| probes | 1.000 | 1.000 | 1.0 | - | 100.0 % | 0.0 % | 1.000 | 1.000 | 1.00 | 100.0 % |'
	# what was said before stands behind it
	sed -i '/^waits,half\t2,6/s/$/\t0.25,0.534809\t1.9719/' "$dir/p"
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	has "$dir/t" '| probes | 1.000 | 1.000 | 1.0 | - | 100.0 % | 0.0 % | 1.000 | 1.000 | 1.00 | 100.0 % |'
	has "$dir/t" '| probes before | 1.000 | 1.068 | 1.1 | - | 100.0 % | 0.0 % | 1.013 | 1.013 | 1.01 | 100.0 % |'
	profiles 0.5 2 waits >"$dir/profiles"
	"$tables" predict h200 "$dir/alone" "$dir/counts" "$dir/profiles" >"$dir/p"
	has "$dir/p" 'waits,half 2,6 0.250000,1.000000 4.0000 0.250000,1.000000 4.0000 0.250000,0.750000 4.0000'
	"$tables" real "$dir/p" "$dir/m" >"$dir/t"
	! grep -q probes "$dir/t" || fail "$(cat "$dir/t")"
}

predict_refuses_profiles_that_are_none() {
	# shellcheck disable=SC2086 # rates
	alone half $half >"$dir/alone"
	counts half 0 0 0 0 0 0 0 0 0 >"$dir/counts"
	profiles 0.5 2 half >"$dir/whole"
	sed '1s/2,6/2,5/' "$dir/whole" >"$dir/profiles"
	refuses 'profiles: .*there is no probe' "$tables" predict h200 "$dir/alone" "$dir/counts" "$dir/profiles"
	sed '1s/^half,/half,x,/' "$dir/whole" >"$dir/profiles"
	refuses 'are not two kernels' "$tables" predict h200 "$dir/alone" "$dir/counts" "$dir/profiles"
	refuses 'no such file' "$tables" predict h200 "$dir/alone" "$dir/counts" "$dir/none"
}

score_refuses_what_nobody_predicted() {
	said a,b 4,4 1,1 1 1,1 1 1,1 2 >"$dir/p"
	seen a,b 2,6 1,1 1,1 1 >"$dir/m"
	refuses 'nobody has predicted' "$tables" real "$dir/p" "$dir/m"
	seen a,b 4,4 1 1,1 1 >"$dir/m"
	refuses 'not a number for each kernel' "$tables" real "$dir/p" "$dir/m"
	: >"$dir/m"
	refuses 'nothing was measured' "$tables" real "$dir/p" "$dir/m"
}

# A unit of nearest: 8 warps that take 64 roots, and 64 reads of 8 bytes a thread, 4,096 sectors; of arithmetic none. A unit of shared_half:
# 128 reads of shared memory by 8 warps, and the loop's own; each is some whole numbers, and 12 of other arithmetic.
demands_are_what_a_unit_executes() {
	"$src/tests/gpu/real-demands" nearest arithmetic >"$dir/d"
	KERNELS=dev_kernels "$src/tests/gpu/real-demands" >"$dir/dev"
	[ "$(grep -vc '^#' "$dir/dev")" -eq "$(grep -c '^REAL(' "$src/tests/gpu/dev_kernels.def")" ] || fail "$(cat "$dir/dev")"
	grep '^shared_half' "$dir/dev" >>"$dir/d"
	awk -F'\t' '$1 == "nearest" && $3 == 512 && $6 >= 4096 && $6 < 4130 && $9 == 100 && $10 == 100 && $12 < 32 { n++ }
		$1 == "shared_half" && $12 >= 1024 && $12 < 1100 && $11 > 4000 && $11 < 6000 { n++ }
		$1 == "arithmetic" && $6 < 64 && $2 > 20000 { n++ }
		!/^#/ { lines++ }
		END { exit n != 3 || lines != 3 }' "$dir/d" || fail "$(cat "$dir/d")"
}

run_case predict_gives_two_full_units_what_the_table_has
run_case predict_takes_residency_for_requests
run_case predict_goes_by_the_curve_of_each
run_case predict_makes_demands_of_counts
run_case predict_lets_those_wait_whose_requests_are_known
run_case predict_draws_fifty_triples
run_case predict_refuses_what_is_not_whole
run_case score_counts_factors_of_all_speeds
run_case score_takes_a_set_by_its_worst_speed
run_case score_holds_what_a_way_takes_against_the_best
run_case score_matches_kernels_in_pairs
run_case predict_goes_by_the_probes_where_there_are_profiles
run_case predict_refuses_profiles_that_are_none
run_case score_refuses_what_nobody_predicted
run_case demands_are_what_a_unit_executes
[ "$failures" -eq 0 ]
