/*
 * test_mapping.c - the map of what is mapped where: nothing overlaps, runs are whole, and access holds over seams.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "base/mapping.h"

static void add(struct gsb_mappings *m, uint64_t addr, uint64_t size, uint8_t access)
{
	const struct gsb_mapping new = {.addr = addr, .size = size, .access = access};

	assert_int_equal(gsb_mappings_add(m, &new), 0);
}

/* [10,20) [20,25) gap [30,40). */
static int setup(void **state)
{
	static struct gsb_mappings m;

	add(&m, 30, 10, GSB_MAPPING_BOTH);
	add(&m, 10, 10, GSB_MAPPING_BOTH);
	add(&m, 20, 5, GSB_MAPPING_READ);
	*state = &m;
	return 0;
}

static int teardown(void **state)
{
	gsb_mappings_finish(*state);
	return 0;
}

static void test_add_what_overlaps_is_eexist(void **state)
{
	static const struct {
		uint64_t addr, size;
	} bad[] = {{10, 1}, {9, 2}, {24, 1}, {24, 10}, {0, 100}, {39, 5}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct gsb_mapping new = {.addr = bad[i].addr, .size = bad[i].size};

		assert_int_equal(gsb_mappings_add(*state, &new), -EEXIST);
		assert_true(gsb_mappings_any(*state, bad[i].addr, bad[i].size));
	}
	assert_false(gsb_mappings_any(*state, 25, 5));
	assert_false(gsb_mappings_any(*state, 40, 100));
	assert_false(gsb_mappings_any(*state, 0, 10));
}

static void test_find_holds_the_address(void **state)
{
	assert_int_equal(gsb_mappings_find(*state, 19)->addr, 10);
	assert_int_equal(gsb_mappings_find(*state, 20)->addr, 20);
	assert_null(gsb_mappings_find(*state, 25));
	assert_null(gsb_mappings_find(*state, 9));
	assert_null(gsb_mappings_find(*state, 40));
}

static void test_run_is_whole_or_einval(void **state)
{
	static const struct {
		uint64_t addr, size;
		size_t n;
	} cases[] = {{10, 10, 1}, {10, 15, 2}, {30, 10, 1}, {10, 12, 0}, {11, 9, 0}, {10, 30, 0},
		     {10, 25, 0}, {10, 20, 0}, {30, 11, 0}, {25, 5, 0},	 {10, 0, 0}};
	struct gsb_mapping_run run;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = gsb_mappings_run(*state, cases[i].addr, cases[i].size, &run);

		assert_int_equal(err, cases[i].n ? 0 : -EINVAL);
		if (!err)
			assert_int_equal(run.n, cases[i].n);
	}
}

static void test_within_leaves_gaps_out(void **state)
{
	static const struct {
		uint64_t addr, size;
		int n; /* -1: one is cut */
	} cases[] = {{10, 30, 3}, {0, 100, 3}, {20, 20, 2}, {25, 5, 0},
		     {27, 2, 0},  {0, 10, 0},  {40, 9, 0},  {12, 28, -1},
		     {0, 39, -1}, {27, 4, -1}, {10, 0, 0},  {20, UINT64_MAX, 2}};
	struct gsb_mapping_run run;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = gsb_mappings_within(*state, cases[i].addr, cases[i].size, &run);

		assert_int_equal(err, cases[i].n < 0 ? -EINVAL : 0);
		if (!err)
			assert_int_equal(run.n, cases[i].n);
	}
	assert_int_equal(gsb_mappings_within(*state, 15, 15, &run), -EINVAL);
	assert_int_equal(gsb_mappings_within(*state, 20, 20, &run), 0);
	assert_int_equal(run.first[0].addr, 20);
	assert_int_equal(run.first[1].addr, 30);
}

static void test_remove_leaves_the_others(void **state)
{
	struct gsb_mapping_run run;

	assert_int_equal(gsb_mappings_run(*state, 10, 15, &run), 0);
	gsb_mappings_remove(*state, &run);
	assert_null(gsb_mappings_find(*state, 15));
	assert_null(gsb_mappings_find(*state, 20));
	assert_int_equal(gsb_mappings_find(*state, 35)->addr, 30);
	add(*state, 12, 18, GSB_MAPPING_BOTH);
	assert_int_equal(gsb_mappings_run(*state, 12, 28, &run), 0);
}

static void test_allow_asks_each_that_is_touched(void **state)
{
	assert_true(gsb_mappings_allow(*state, 10, 10, GSB_MAPPING_BOTH));
	assert_true(gsb_mappings_allow(*state, 15, 10, GSB_MAPPING_READ));
	assert_false(gsb_mappings_allow(*state, 15, 10, GSB_MAPPING_BOTH));
	assert_false(gsb_mappings_allow(*state, 15, 11, GSB_MAPPING_READ));
	assert_false(gsb_mappings_allow(*state, 20, 15, GSB_MAPPING_READ));
	assert_false(gsb_mappings_allow(*state, 25, 1, GSB_MAPPING_READ));
	assert_false(gsb_mappings_allow(*state, 35, 6, GSB_MAPPING_READ));
	assert_false(gsb_mappings_allow(*state, 35, UINT64_MAX, GSB_MAPPING_READ));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_add_what_overlaps_is_eexist), CASE(test_find_holds_the_address),
		CASE(test_run_is_whole_or_einval),	CASE(test_within_leaves_gaps_out),
		CASE(test_remove_leaves_the_others),	CASE(test_allow_asks_each_that_is_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
