#!/usr/bin/env bash
# memory.sh - whole tenants of several engines on one emulated device: its memory is sold once. And on the null device, where
# tenants keep some of what they free: nobody lacks it.
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

# start_two_keepers ISOLATION: the same on a device of 1,024 MiB where memory that was freed is kept, in pieces of 10.
start_two_keepers() {
	local real_device=null
	start_real_broker 'memory = 1G' "isolation = $1"
	piece_mib=10
	start_hoarder a
	start_hoarder b
	say b give # an engine that opens its account has others give back what they keep
	hear b
}

# used_mib TENANT: what the broker counts as its device memory
used_mib() {
	local row
	row=$(gsbctl ps --json | tr '{' '\n' | grep "\"tenant\": \"$1\"")
	echo "$(($(json_value "$row" device_mem_bytes) >> 20))"
}

# start_hoarder NAME: it waits for words at $NAME_in and answers at $NAME_out; its process is $NAME_pid.
start_hoarder() {
	local -n in=$1_in out=$1_out pid=$1_pid
	mkfifo "$dir/$1.in" "$dir/$1.out"
	exec {in}<>"$dir/$1.in"
	ASAN_OPTIONS=$tenant_asan GSB_TENANT=$1 GSB_SOCKET=$dir/s LD_PRELOAD=$build/interpose/libgsbroker.so \
		"$build/tests/integ/hoard" "${piece_mib:-100}" <"$dir/$1.in" >"$dir/$1.out" 2>"$dir/$1.err" &
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

# Each frees, and keeps some of it as the broker's figures say; then each in turn can have all, and is told so before.
all_reserves_are_for_who_needs_them() { # ISOLATION
	start_two_keepers "$1"
	say a take
	hear a
	expect_equal "$n_pieces" 102
	say a give
	hear a
	expect_equal "$n_pieces $free_mib" "0 1024"
	expect_equal "$(used_mib a)" 60
	say b take
	hear b
	expect_equal "$n_pieces" 102
	expect_equal "$(used_mib a)" 0
	say b give
	hear b
	say a take
	hear a
	expect_equal "$n_pieces $free_mib" "102 4"
	end_hoarder a
	end_hoarder b
	end_broker
}

memory_that_is_kept_is_for_who_needs_it_in_one_engine() {
	all_reserves_are_for_who_needs_them shared
}

memory_that_is_kept_is_for_who_needs_it_in_two_engines() {
	all_reserves_are_for_who_needs_them process
}

memory_that_a_killed_tenant_kept_is_the_others() {
	start_two_keepers shared
	say a take
	hear a
	say a give
	hear a
	expect_equal "$(used_mib a)" 60
	# shellcheck disable=SC2154 # start_hoarder sets it
	kill -KILL "$a_pid"
	await_tenants 1
	say b take
	hear b
	expect_equal "$n_pieces $free_mib" "102 4"
	end_hoarder b
	end_broker
}

# It has all there is, and could give some of it: who asks is refused all the same, and at once when that is known.
memory_of_a_deaf_engine_is_waited_for_once() {
	local engine real_device=null
	start_real_broker 'memory = 1G' 'isolation = process'
	piece_mib=10
	start_hoarder a
	say a take
	hear a
	engine=$(engine_pid)
	kill -STOP "$engine"
	start_hoarder b
	say b take
	hear b
	expect_equal "$n_pieces" 0
	kill -CONT "$engine"
	end_hoarder a
	end_hoarder b
	end_broker
}

run_case memory_of_a_deaf_engine_is_waited_for_once
run_case memory_that_is_kept_is_for_who_needs_it_in_one_engine
run_case memory_that_is_kept_is_for_who_needs_it_in_two_engines
run_case memory_that_a_killed_tenant_kept_is_the_others
run_case memory_two_engines_share_what_one_device_has
run_case memory_of_a_killed_tenant_is_the_others
run_case memory_of_a_killed_engine_is_the_others
[ "$failures" -eq 0 ]
