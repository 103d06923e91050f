/*
 * test_calibrate.c - from the times of grids to the speeds of two kernels (tools/calibrate/speeds.h), and what is made of repeats.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tools/calibrate/speeds.h"

#define assert_near(value, wanted, far) assert_true(fabs((value) - (wanted)) <= (far))

#define TINY 1e-9

static void assert_speeds(const struct cal_span spans[2], const struct cal_alone alone[2],
			  double older, double younger)
{
	double speeds[2];

	assert_int_equal(cal_speeds(spans, alone, speeds), 0);
	assert_near(speeds[0], older, TINY);
	assert_near(speeds[1], younger, TINY);
}

static const struct cal_alone both_1000[2] = {{1000, 0}, {1000, 0}};

/* The younger one does nothing for 900, and all of it when the older one has ended. */
static void test_speeds_a_starved_younger_one_has_none(void **state)
{
	const struct cal_span spans[2] = {{0, 1000}, {100, 2000}};

	(void)state;
	assert_speeds(spans, both_1000, 1, 0);
}

/* It takes 1250 beside the older one, which does 250 meanwhile, 100 before, and 650 after. */
static void test_speeds_the_younger_one_may_end_first(void **state)
{
	const struct cal_span spans[2] = {{0, 2000}, {100, 1350}};

	(void)state;
	assert_speeds(spans, both_1000, 0.2, 0.8);
}

/* Both at 0.6 from 100 to 1600, then the younger one has 100 left. */
static void test_speeds_the_older_one_may_end_first(void **state)
{
	const struct cal_span spans[2] = {{0, 1600}, {100, 1700}};

	(void)state;
	assert_speeds(spans, both_1000, 0.6, 0.6);
}

static void test_speeds_are_against_what_each_takes_alone(void **state)
{
	const struct cal_span spans[2] = {{0, 1000}, {0, 1000}};
	const struct cal_alone alone[2] = {{500, 0}, {750, 0}};

	(void)state;
	assert_speeds(spans, alone, 0.5, 0.75);
}

static void test_speeds_alike_from_the_same_instant_are_one(void **state)
{
	const struct cal_span spans[2] = {{7, 1007}, {7, 1007}};

	(void)state;
	assert_speeds(spans, both_1000, 1, 1);
}

/* A fifth of the younger one's time alone is between its grids. It does all of it in 1800: 200 of gaps, in which the older one
 * runs freely, and 800 of work in 1600; the older one does 0.25 of 1600, and 200. */
static void test_speeds_gaps_belong_to_the_other(void **state)
{
	const struct cal_span spans[2] = {{0, 2200}, {0, 1800}};
	const struct cal_alone alone[2] = {{1000, 0}, {1000, 0.2}};

	(void)state;
	assert_speeds(spans, alone, 0.25, 0.5);
}

/* Both have gaps of a tenth: 100 of each in 1200, and 900 of work in the 1000 that are left, less the other's gaps. */
static void test_speeds_gaps_of_both_count_once_each(void **state)
{
	const struct cal_span spans[2] = {{0, 1200}, {0, 1200}};
	const struct cal_alone alone[2] = {{1000, 0.1}, {1000, 0.1}};

	(void)state;
	assert_speeds(spans, alone, 0.8, 0.8);
}

/* Clocks that differ by a little make a starved one end too late. */
static void test_speeds_are_never_below_zero(void **state)
{
	const struct cal_span spans[2] = {{0, 1000}, {100, 2050}};

	(void)state;
	assert_speeds(spans, both_1000, 1, 0);
}

static void test_speeds_without_enough_of_both_are_refused(void **state)
{
	static const struct cal_span one_after_the_other[2] = {{0, 1000}, {1000, 2000}};
	static const struct cal_span too_short[2] = {{0, 1000}, {800, 1800}};
	static const struct cal_span wrong_order[2] = {{100, 1100}, {0, 1000}};
	double speeds[2] = {7, 7};

	(void)state;
	assert_int_equal(cal_speeds(one_after_the_other, both_1000, speeds), -ERANGE);
	assert_int_equal(cal_speeds(too_short, both_1000, speeds), -ERANGE);
	assert_int_equal(cal_speeds(wrong_order, both_1000, speeds), -ERANGE);
	assert_near(speeds[0] + speeds[1], 14, TINY);
}

/* A quarter of the shorter one is enough, however long the other is. */
static void test_speeds_a_short_older_one_is_enough(void **state)
{
	const struct cal_span spans[2] = {{0, 200}, {0, 4100}};
	const struct cal_alone alone[2] = {{200, 0}, {4000, 0}};

	(void)state;
	assert_speeds(spans, alone, 1, 0.5);
}

static void test_repeats_have_mean_and_spread(void **state)
{
	struct cal_repeats r = {0};

	(void)state;
	assert_near(cal_middle(&r), 0, TINY);
	assert_near(cal_spread(&r), 0, TINY);
	cal_repeat(&r, 0.5);
	assert_near(cal_spread(&r), 0, TINY);
	cal_repeat(&r, 0.8);
	cal_repeat(&r, 0.2);
	assert_near(cal_middle(&r), 0.5, TINY);
	assert_near(cal_spread(&r), 0.6, TINY);
	cal_repeat(&r, 0.6); /* of four the outer ones do not count */
	assert_near(cal_middle(&r), 0.55, TINY);
	assert_near(cal_spread(&r), 0.1, TINY);
	assert_near(cal_least(&r), 0.2, TINY);
	assert_near(cal_most(&r), 0.8, TINY);
}

static void test_error_is_a_factor_either_way_and_nothing_below_the_floor(void **state)
{
	(void)state;
	assert_near(cal_error(0.4, 0.8, 0.01), log(2), TINY);
	assert_near(cal_error(0.8, 0.4, 0.01), log(2), TINY);
	assert_near(cal_error(0.001, 0.009, 0.01), 0, TINY);
	assert_near(cal_error(0.02, 0, 0.01), log(2), TINY);
}

static void test_median_of_odd_even_and_none(void **state)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};

	(void)state;
	assert_near(cal_median(odd, GSB_ARRAY_LEN(odd)), 3, TINY);
	assert_near(cal_median(even, GSB_ARRAY_LEN(even)), 2.5, TINY);
	assert_near(cal_median(NULL, 0), 0, TINY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_speeds_a_starved_younger_one_has_none),
		cmocka_unit_test(test_speeds_the_younger_one_may_end_first),
		cmocka_unit_test(test_speeds_the_older_one_may_end_first),
		cmocka_unit_test(test_speeds_are_against_what_each_takes_alone),
		cmocka_unit_test(test_speeds_alike_from_the_same_instant_are_one),
		cmocka_unit_test(test_speeds_gaps_belong_to_the_other),
		cmocka_unit_test(test_speeds_gaps_of_both_count_once_each),
		cmocka_unit_test(test_speeds_are_never_below_zero),
		cmocka_unit_test(test_speeds_without_enough_of_both_are_refused),
		cmocka_unit_test(test_speeds_a_short_older_one_is_enough),
		cmocka_unit_test(test_repeats_have_mean_and_spread),
		cmocka_unit_test(test_error_is_a_factor_either_way_and_nothing_below_the_floor),
		cmocka_unit_test(test_median_of_odd_even_and_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
