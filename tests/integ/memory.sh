#!/usr/bin/env bash
# memory.sh - whole tenants of several engines on one emulated device: its memory is sold once.
# Usage: from the build folder: srcdir=... tests/integ/memory.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

# An engine for each tenant, on a device of 1,024 MiB; hoarders take it in pieces of 100.
start_two_hoarders() {
	start_real_broker 'memory = 1G' 'isolation = process'
	start_hoarder a
	start_hoarder b
}

# start_hoarder NAME: it waits for words at $NAME_in and answers at $NAME_out; its process is $NAME_pid.
start_hoarder() {
	local -n in=$1_in out=$1_out pid=$1_pid
	mkfifo "$dir/$1.in" "$dir/$1.out"
	exec {in}<>"$dir/$1.in"
	ASAN_OPTIONS=$tenant_asan GSB_TENANT=$1 GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$build/tests/integ/hoard" 100 <"$dir/$1.in" >"$dir/$1.out" 2>"$dir/$1.err" &
	pid=$!
	exec {out}<"$dir/$1.out"
}

# say NAME WORD
say() {
	local -n in=$1_in
	echo "$2" >&"$in"
}

# hear NAME: its answer is in $n_pieces and $free_mib.
hear() {
	local -n out=$1_out
	local line
	IFS= read -r -t "$LIMIT_S" line <&"$out" || fail "hoarder $1 does not answer: $(cat "$dir/$1.err" "$dir/broker.log")"
	[[ $line =~ ^([0-9]+)\ pieces,\ free\ ([0-9]+)\ of\ 1024\ MiB$ ]] || fail "hoarder $1 says: $line"
	n_pieces=${BASH_REMATCH[1]} free_mib=${BASH_REMATCH[2]}
}

end_hoarder() {
	local -n pid=$1_pid
	say "$1" end
	wait "$pid" || fail "hoarder $1 ended with status $?"
}

memory_two_engines_share_what_one_device_has() {
	local sum
	start_two_hoarders
	say a take
	say b take
	hear a
	sum=$n_pieces
	hear b
	expect_equal "$((sum + n_pieces))" 10
	expect_equal "$free_mib" 24
	say a give
	hear a
	expect_equal "$free_mib" "$((24 + 100 * sum))"
	say b take
	hear b
	expect_equal "$n_pieces" 10
	say b context
	hear b
	expect_equal "$n_pieces $free_mib" "0 1024"
	end_hoarder a
	end_hoarder b
	end_broker
}

# await_tenants N: until the broker lists so many; each question is an answered message.
await_tenants() {
	local i
	for i in $(seq 3000); do
		[ "$(n_tenants)" -ne "$1" ] || return 0
	done
	fail "there are not $1 tenants after $i questions: $(gsbctl ps)"
}

# kill_and_take PID: after this end, b can have all.
kill_and_take() {
	say a take
	hear a
	expect_equal "$n_pieces" 10
	say b take
	hear b
	expect_equal "$n_pieces $free_mib" "0 24"
	kill -KILL "$1"
	await_tenants 1
	say b take
	hear b
	expect_equal "$n_pieces $free_mib" "10 24"
	end_hoarder b
	end_broker
}

memory_of_a_killed_tenant_is_the_others() {
	start_two_hoarders
	# shellcheck disable=SC2154 # start_hoarder sets it
	kill_and_take "$a_pid"
}

memory_of_a_killed_engine_is_the_others() {
	local engine
	start_real_broker 'memory = 1G' 'isolation = process'
	start_hoarder a
	say a give
	hear a
	engine=$(engine_pid)
	start_hoarder b
	kill_and_take "$engine"
}

run_case memory_two_engines_share_what_one_device_has
run_case memory_of_a_killed_tenant_is_the_others
run_case memory_of_a_killed_engine_is_the_others
[ "$failures" -eq 0 ]
