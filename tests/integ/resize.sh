#!/usr/bin/env bash
# resize.sh - programs whose launches are made in other geometries than they ask for: gpu_db, and with nvcc the programs of
# tests/runtime and CUB, under each form that [resize] force names. All of them check their own results; what can be asked
# of a kernel is that of the original.
# Usage: from the build folder: srcdir=... tests/integ/resize.sh
# shellcheck disable=SC2119 # start_real_broker may take arguments
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"
# shellcheck source=tests/integ/real.sh
. "$srcdir/tests/integ/real.sh"

forms="slice_2 slice_8 slice_32 persistent_1 persistent_0 persistent_132 persistent_16_3 persistent_264_1 reshape_64 reshape_256 hint count"
programs="arrays callbacks cooperative device graphs managed managed_variables launch_ex linked linked_ptx occupancy overlap parts pools reduce rects streams surfaces symbols textures threads volumes"

# start_resizing FORM [LINE...]: a broker that makes all launches so, if they admit it.
start_resizing() {
	local form=$1
	shift
	start_real_broker '[resize]' 'mode = safe' "force = ${form//_/:}" "$@"
}

# What tests/gpu/resize does on a GPU, on the emulated device, where results and counts are known.
gpu_program_agrees() {
	local kernel runs
	start_real_broker
	for kernel in ids_3d rotate whole_warps_leave; do
		runs=25
		[ "$kernel" != ids_3d ] || runs=24 # nothing of it streams
		output=$(srcdir=$srcdir "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/gpu/resize" results "$kernel" 2>&1) ||
			fail "resize results $kernel ended with $?: $output"
		expect_equal "$(grep -c "^tried.*	$kernel	$runs\$" <<<"$output")" 1
		expect_equal "$(awk -F'\t' '/^count/ { print ($4 > 0 && $4 == $5 && $6 > 0 && $6 == $7) }' <<<"$output")" 1
	done
	output=$(srcdir=$srcdir "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/gpu/resize" variants tests/resize/hard.ptx)
	expect_equal "$(grep -c '	rotate	' <<<"$output")" 5
	await_no_tenants
	end_broker
}

# sum_of COUNT: of all tenants that have left.
sum_of() {
	gsbctl totals --json | grep -oE "\"$1\": [0-9]+" | awk '{ n += $2 } END { print n + 0 }'
}

n_resized() {
	sum_of resized
}

# run_queries FORM: all at once, each verified.
run_queries() {
	make_data
	start_resizing "$1"
	five_queries
	[ "$(n_resized)" -gt 0 ] || fail "no launch was resized: $(gsbctl totals)"
	end_broker
}

# run_program FORM PROGRAM [ARGUMENT...]: it ends with 0 and says nothing wrong.
run_program() {
	local form=$1
	shift
	status=0
	output=$(timeout "$LIMIT_S" env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- \
		"$@" 2>"$dir/err") || status=$?
	[ "$status" -eq 0 ] || fail "$* as $form ended with $status: $output $(cat "$dir/err")"
	expect_equal "$(cat "$dir/err")" ''
}

run_programs() {
	local p
	start_resizing "$1"
	for p in $programs; do
		run_program "$1" "$build/tests/runtime/$p"
	done
	await_no_tenants
	[ "$(n_resized)" -gt 0 ] || fail "nothing was resized"
	end_broker
}

run_cub() {
	start_resizing "$1"
	run_program "$1" "$build/tests/algorithms/cub_75" 20000 1
	run_program "$1" "$build/tests/algorithms/cub_90" 20000 1
	await_no_tenants
	end_broker
}

for form in $forms; do
	eval "queries_as_$form() { run_queries $form; }"
	eval "programs_as_$form() { run_programs $form; }"
	eval "cub_as_$form() { run_cub $form; }"
done

# Each second launch both ways: the same results, and nothing is said.
run_shadowed() {
	local q
	make_data
	start_real_broker '[resize]' 'mode = shadow' "force = ${1//_/:}" 'shadow_every = 2'
	for q in q1 q2 q3 q4 q5; do
		query "$q" "$q" --repeat 2
	done
	await_no_tenants
	[ "$(sum_of shadowed)" -gt 0 ] || fail "nothing was run both ways: $(gsbctl totals --json)"
	expect_equal "$(sum_of differed)" 0
	expect_no_match "$(cat "$dir/broker.log")" 'gave other results'
	end_broker
}

for form in slice_8 persistent_132 persistent_16_3 reshape_64 hint; do
	eval "shadow_of_$form() { run_shadowed $form; }"
done

# A second broker reads what the first has found out; a damaged file is dropped, said, and made again.
cache_is_kept_and_a_damaged_file_is_dropped() {
	local file inode
	make_data
	start_resizing slice_8 "cache = $dir/cache"
	query q1 q1
	end_broker
	file=$(find "$dir/cache" -name '*.proof' | head -n 1)
	[ -s "$file" ] || fail "nothing is kept"
	[ -d "$dir/cache/compiled" ] || fail "a driver has no folder for what it compiles"
	inode=$(stat -c %i "$file")
	rm "$dir/ready"
	start_resizing slice_8 "cache = $dir/cache"
	query q1 q1
	end_broker
	expect_equal "$(stat -c %i "$file")" "$inode"
	printf x | dd of="$file" bs=1 seek=300 conv=notrunc status=none
	cp "$file" "$dir/damaged"
	rm "$dir/ready"
	start_resizing slice_8 "cache = $dir/cache"
	query q1 q1
	await_no_tenants
	[ "$(n_resized)" -gt 0 ] || fail "nothing was resized"
	expect_equal "$(grep -c 'of the cache is damaged' "$dir/broker.log")" 1
	end_broker
	! cmp -s "$file" "$dir/damaged" || fail "the damaged file is still there"
}

# times_of CLOCK: the file that an engine leaves behind after one query.
times_of() {
	rm -rf "$dir/cache" "$dir/ready"
	start_real_broker 'policy = coreside' "clock = $1" '[resize]' "cache = $dir/cache"
	query q1 q1 || fail "$(cat "$dir/q1.out")"
	await_no_tenants
	end_broker
	find "$dir" -path '*/cache/*.times'
}

# In virtual time a run is to be repeated, whatever was before it.
times_are_kept_where_time_is_real() {
	local file
	make_data
	[ -z "$(times_of virtual)" ] || fail "times of a virtual clock are kept"
	file=$(times_of real)
	[ -s "$file" ] || fail "no times are kept"
}

# What is told of a fault is told of the kernel that the program launched.
resize_faults_name_the_original() {
	start_resizing "$1"
	run_faulty "$1"
	expect_match "$(cat "$dir/broker.log")" "kernel '_Z5writePii': write of 4 bytes at 0x10, not allocated"
	expect_no_match "$(cat "$dir/broker.log" "$dir/err")" "_Z5writePii\\$"
	end_broker
}

# A program that makes errors on purpose, checks what it is told, and ends with 0.
run_faulty() {
	status=0
	env ASAN_OPTIONS="$tenant_asan" "$build/tools/gsbrun" --socket "$dir/s" -- "$build/tests/runtime/errors" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" -eq 0 ] || fail "errors as $1 ended with $status: $(cat "$dir/out" "$dir/err")"
}

for form in slice_8 persistent_132 hint; do
	eval "faults_of_${form}_name_the_original() { resize_faults_name_the_original $form; }"
done

# A policy that keeps times cuts the blocks of what comes again and again: some are tried, and all results are verified.
resize_cuts_what_comes_again() {
	start_real_broker 'policy = coreside' '[resize]' 'mode = safe'
	make_data
	query q1 q1 --hot --repeat 40 || fail "$(cat "$dir/q1.out")"
	query q5 q5 --hot --repeat 40 || fail "$(cat "$dir/q5.out")"
	await_no_tenants
	[ "$(n_resized)" -ge 8 ] || fail "$(n_resized) launches were resized"
	end_broker
}

resize_off_resizes_nothing() {
	make_data
	start_real_broker '[resize]' 'mode = off' 'force = slice:8'
	query q1 q1
	await_no_tenants
	expect_equal "$(n_resized)" 0
	end_broker
}

resize_denied_resizes_nothing() {
	make_data
	start_resizing slice_8 'deny = *'
	query q1 q1
	await_no_tenants
	expect_equal "$(n_resized)" 0
	end_broker
}

# The same answers with and without: kernels of a module, attributes, occupancy, variables, and no name of ours.
resize_is_not_seen() {
	local form
	start_real_broker
	run_program as-asked "$build/tests/integ/asking" "$srcdir/tests/ptx"
	mv "$dir/err" "$dir/err.as-asked"
	echo "$output" >"$dir/as-asked"
	end_broker
	[ "$(wc -l <"$dir/as-asked")" -gt 100 ] || fail "it asks next to nothing: $output"
	for form in slice_8 persistent_132 count; do
		rm -f "$dir/ready"
		start_resizing "$form"
		run_program "$form" "$build/tests/integ/asking" "$srcdir/tests/ptx"
		diff "$dir/as-asked" <(echo "$output") || fail "something is seen of $form"
		end_broker
	done
}

# Originals and variants have one place for them, through a driver, too.
managed_variables_through_a_driver_are_those_of_the_original() {
	local form
	for form in slice_8 persistent_132 count; do
		real_device=cuda:0 GSB_REAL_LIBCUDA="$build/tests/fake/libcuda.so" start_resizing "$form"
		LD_LIBRARY_PATH="$build/cudart/lib" run_program "$form" "$build/tests/runtime/managed_variables"
		await_no_tenants
		[ "$(n_resized)" -gt 0 ] || fail "nothing was resized"
		end_broker
		rm "$dir/ready"
	done
}

run_case resize_off_resizes_nothing
run_case resize_denied_resizes_nothing
run_case resize_cuts_what_comes_again
run_case resize_is_not_seen
run_case cache_is_kept_and_a_damaged_file_is_dropped
run_case times_are_kept_where_time_is_real
for form in slice_8 persistent_132 hint; do
	if [ -x "$build/tests/runtime/static" ]; then
		run_case "faults_of_${form}_name_the_original"
	else
		skip_case "faults_of_${form}_name_the_original"
	fi
done
if [ -x "$build/tests/runtime/static" ]; then
	run_case managed_variables_through_a_driver_are_those_of_the_original
else
	skip_case managed_variables_through_a_driver_are_those_of_the_original
fi
if [ -x "$build/tests/gpu/resize" ]; then
	run_case gpu_program_agrees
else
	skip_case gpu_program_agrees
fi
for form in slice_8 persistent_132 persistent_16_3 reshape_64 hint; do
	run_case "shadow_of_$form"
done
for form in $forms; do
	run_case "queries_as_$form"
	if [ -x "$build/tests/runtime/static" ]; then
		run_case "programs_as_$form"
	else
		skip_case "programs_as_$form"
	fi
	if [ -x "$build/tests/algorithms/cub_90" ]; then
		run_case "cub_as_$form"
	else
		skip_case "cub_as_$form"
	fi
done
[ "$failures" -eq 0 ]
