#!/usr/bin/env bash
# driver_calls.sh - that tests/driver-calls sees when device/cuda and its lists of who calls NVIDIA's driver part ways.
# Usage: from the build folder: srcdir=... tests/integ/driver_calls.sh
srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=tests/integ/lib.sh
. "$srcdir/tests/integ/lib.sh"

# change FILE PATTERN REPLACEMENT: of a copy of the folder, in $dir/cuda; it must have been there.
change() {
	[ -d "$dir/cuda" ] || cp -r "$(cd "$srcdir" && pwd)/device/cuda" "$dir/cuda"
	grep -q -e "$2" "$dir/cuda/$1" || fail "$1 has no '$2'"
	sed -i "s%$2%$3%" "$dir/cuda/$1"
	status_of "$srcdir/tests/driver-calls" "$dir/cuda"
}

the_sources_and_the_lists_agree() {
	status_of "$srcdir/tests/driver-calls"
	expect_equal "$status $output" "0 "
}

# One of its ways: there are several.
a_call_on_a_thread_that_may_not_make_it_is_named_with_its_way() {
	change helper.c 'LL_APPEND(h->jobs, job);' 'cuLibraryUnload(0);'
	expect_match "$output" "/helper.c: cuda_[a-z_]+ > .* > cuda_helper_give makes cuLibraryUnload on CUDA_ENGINE, which driver.def does not allow"
}

a_static_function_is_that_of_its_own_file() {
	change image.c '^#include "base/arena.h"' '#include "base/arena.h"\nstatic void destroy(void)\n{\n\tcuInit(0);\n}'
	expect_equal "$output" ""
}

a_call_in_a_comment_or_a_text_is_none() {
	change helper.c 'LL_APPEND(h->jobs, job);' 'puts("cuInit"); /* cuInit(0)'
	sed -i '/\/\* cuInit(0)$/a\\t   cuLibraryUnload(0) */' "$dir/cuda/helper.c"
	status_of "$srcdir/tests/driver-calls" "$dir/cuda"
	expect_equal "$output" ""
}

what_may_wait_is_never_the_engine_threads() {
	change driver.def 'CUDA_WAITS | CUDA_LOADER)' 'CUDA_WAITS | CUDA_ENGINE | CUDA_LOADER)'
	expect_match "$output" "driver.def: cu[A-Za-z_0-9]+ may wait, and CUDA_ENGINE must not"
}

a_permission_that_nobody_needs_is_named() {
	change driver.def '(cuInit, (unsigned flags),.*' '(cuInit, (unsigned flags), CUDA_LOADER |'
	expect_equal "$output" "driver.def: nothing makes cuInit on CUDA_LOADER"
}

a_job_and_an_operation_without_a_thread_are_named() {
	change threads.def 'GSB_BEGINS(CUDA_REGISTRAR, run_share)' ''
	expect_match "$output" "/host.c:[0-9]+: run_share begins on no thread: name it in threads.def"
	change threads.def 'GSB_BEGINS(CUDA_ENGINE, cuda_poll)' ''
	expect_match "$output" "/cuda.c:[0-9]+: cuda_poll begins on no thread: name it in threads.def"
}

where_the_engine_may_wait_must_be_come_by() {
	change threads.def 'GSB_RARE(make_pin,' 'GSB_RARE(make_pins,'
	expect_match "$output" "threads.def: the engine does not come by make_pins"
	expect_match "$output" "make_pin > register_pin makes cuMemHostRegister_v2 on CUDA_ENGINE"
}

run_case the_sources_and_the_lists_agree
run_case a_call_on_a_thread_that_may_not_make_it_is_named_with_its_way
run_case a_static_function_is_that_of_its_own_file
run_case a_call_in_a_comment_or_a_text_is_none
run_case what_may_wait_is_never_the_engine_threads
run_case a_permission_that_nobody_needs_is_named
run_case a_job_and_an_operation_without_a_thread_are_named
run_case where_the_engine_may_wait_must_be_come_by
[ "$failures" -eq 0 ]
