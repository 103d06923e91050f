/*
 * test_engine_fuzz.c - thousands of mutated sessions against one live engine (see
 * tests/fuzz/fuzz_records.c, which asserts that the healthy tenant beside them is right each time).
 * The sequence is fixed; GSB_CHECK_LONG=1 makes it a long one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

#define N_SESSIONS	3000
#define N_SESSIONS_LONG 300000
#define EDITS_MAX	8

static uint64_t rng_state = 1;

static uint8_t rng(void)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint8_t)(rng_state >> 40);
}

static void test_mutated_records_harm_nobody_else(void **state)
{
	unsigned n = getenv("GSB_CHECK_LONG") ? N_SESSIONS_LONG : N_SESSIONS;
	unsigned n_tenants, n_cut;

	for (unsigned i = 0; i < n; i++) {
		uint8_t input[1 + 4 * EDITS_MAX];
		size_t size = 1 + 4 * (rng() % (EDITS_MAX + 1u));

		for (size_t k = 0; k < size; k++)
			input[k] = rng();
		LLVMFuzzerTestOneInput(input, size);
	}
	/* Edits reach both sides of the checks: many are caught, many do no harm. */
	gsb_fuzz_records_seen(&n_tenants, &n_cut);
	print_message("%u of %u hostile tenants were cut off\n", n_cut, n_tenants);
	assert_int_equal(n_tenants, n);
	assert_in_range(n_cut, n / 4, n - n / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutated_records_harm_nobody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
