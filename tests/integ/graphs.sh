#!/usr/bin/env bash
# graphs.sh - graphs, stream capture and registered memory under a real broker on the emulated H200: each case of
# tests/integ/graphs gives the answers that NVIDIA's driver gave to the same program on an H200, and on an H100 (memory-*); moved*, inner: an H200, 2026-11-30.
# Usage: from the build folder: srcdir=... tests/integ/graphs.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"
# shellcheck source=tests/integ/answers.sh
. "$srcdir/tests/integ/answers.sh"

program=$build/tests/integ/graphs expected=$srcdir/tests/integ/graphs.expected

graphs_answer_as_the_driver() {
	all_answer_as_expected
}

# Branches are in lanes of their own: a long one holds no short one up.
graph_branches_run_at_once() {
	start_real_broker
	expect_equal "$(tenant order "$program" concurrency 2>"$dir/err")" "concurrency short-is-first 1
concurrency in-child 1"
	end_broker
}

# A host function writes, a copy behind it reads, launch after launch.
graph_copies_take_their_turn() {
	start_real_broker
	expect_equal "$(tenant turn "$program" turn 2>"$dir/err")" "turn sum 1
turn sum 2
turn sum 3"
	end_broker
}

graph_is_drawn_with_names() {
	start_real_broker
	expect_equal "$(tenant drawn "$program" drawn 2>"$dir/err")" "drawn print 0
drawn kernel 1
drawn copy 1
drawn other-way 0"
	end_broker
}

# No graph is moved into what is in it.
graph_in_itself_is_refused() {
	start_real_broker
	expect_equal "$(tenant round "$program" moved-round 2>"$dir/err")" "moved-round itself 1
moved-round into-itself 1
moved-round order 2: 1<2"
	end_broker
}

# They share pages; what is theirs alone comes back when one of them ends.
use_heap_blocks() { # use_heap_blocks ISOLATION
	start_real_broker "isolation = $1" 'clock = real' '[tenant "heap"]' 'host_memory = 4M'
	expect_equal "$(tenant heap "$program" register-heap 2>"$dir/err")" "register-heap register 1
register-heap right 6
register-heap unregister 3
register-heap other-way 0
register-heap again 6
register-heap right-again 6
register-heap unregister-all 12
register-heap right-behind 6
register-heap rounds 1000
register-heap window-is-whole 0
register-heap words-of-it 204800"
	end_broker
}

heap_blocks_are_registered_one_by_one() {
	use_heap_blocks shared
}

heap_blocks_are_registered_in_lanes() {
	use_heap_blocks lanes
}

# Shared memory stays what it is, and a file's beside other threads, a fork's child has its own, and a context takes its mirrors along.
registered_memory_stays_the_programs() {
	start_real_broker
	expect_equal "$(tenant refused "$program" refused 2>"$dir/err")" "refused shared 801
refused file 0
refused variable-beside-a-thread 801
refused variable 0
refused variable-kept 1
refused variable-written 7
refused variable-unregister 0
refused variable-stays 7
refused stack 0
refused over-the-end 0
refused child 0
refused kept 1
refused kept-after-reset 1
refused unregister-after-reset 709"
	expect_match "$(cat "$dir/err")" "register memory of malloc or of a private mmap"
	end_broker
}

run_case graphs_answer_as_the_driver
run_case graph_branches_run_at_once
run_case graph_copies_take_their_turn
run_case graph_is_drawn_with_names
run_case graph_in_itself_is_refused
run_case heap_blocks_are_registered_one_by_one
run_case heap_blocks_are_registered_in_lanes
run_case registered_memory_stays_the_programs
[ "$failures" -eq 0 ]
