/*
 * test_matching.c - all in pairs at least cost, against all ways to do it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/solvers/matching.h"

static uint32_t rng_state = 7;

static double draw(void)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % 1000 / 100.0;
}

static void draw_costs(uint32_t n, double *cost)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i; j < n; j++)
			cost[i * n + j] = cost[j * n + i] = draw();
}

/* The least of all ways to place those that are left. */
static double try_all(uint32_t n, const double *cost, uint32_t left)
{
	uint32_t i = 0;
	double least = INFINITY;

	if (!left)
		return 0;
	while (!(left >> i & 1))
		i++;
	for (uint32_t j = i; j < n; j++)
		if (left >> j & 1)
			least = fmin(least,
				     cost[i * n + j] +
					     try_all(n, cost, left & ~(1u << i) & ~(1u << j)));
	return least;
}

static double cost_of(uint32_t n, const double *cost, const uint32_t *partner)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		assert_true(partner[i] < n);
		assert_int_equal(partner[partner[i]], i);
		if (partner[i] >= i)
			sum += cost[i * n + partner[i]];
	}
	return sum;
}

static void test_is_the_least_of_all_ways(void **state)
{
	double cost[81];
	uint32_t partner[9];

	for (int k = 0; k < 500; k++) {
		uint32_t n = 1 + (uint32_t)k % 9;

		draw_costs(n, cost);
		assert_int_equal(gsb_matching_least(n, cost, partner), 0);
		assert_true(fabs(cost_of(n, cost, partner) - try_all(n, cost, (1u << n) - 1)) <
			    1e-9);
	}
}

static void test_nobody_is_alone_who_may_not(void **state)
{
	const double cost[16] = {INFINITY, 5, 1,	5, 5, INFINITY, 5, 1,
				 1,	   5, INFINITY, 5, 5, 1,	5, INFINITY};
	uint32_t partner[4];

	assert_int_equal(gsb_matching_least(4, cost, partner), 0);
	assert_int_equal(partner[0], 2);
	assert_int_equal(partner[1], 3);
	/* three of them cannot all be in pairs */
	assert_int_equal(
		gsb_matching_least(3,
				   (const double[]){INFINITY, 1, 1, 1, INFINITY, 1, 1, 1, INFINITY},
				   partner),
		-EINVAL);
}

/* A pair that gains nothing is one all the same. */
static void test_of_equal_sums_it_is_the_pairs(void **state)
{
	uint32_t partner[2];

	assert_int_equal(gsb_matching_least(2, (const double[]){1, 2, 2, 1}, partner), 0);
	assert_int_equal(partner[0], 1);
	assert_int_equal(gsb_matching_least(2, (const double[]){1, 2.01, 2.01, 1}, partner), 0);
	assert_int_equal(partner[0], 0);
}

static void test_as_many_as_may_be(void **state)
{
	static double cost[GSB_MATCHING_MAX * GSB_MATCHING_MAX];
	uint32_t partner[GSB_MATCHING_MAX];

	draw_costs(GSB_MATCHING_MAX, cost);
	assert_int_equal(gsb_matching_least(GSB_MATCHING_MAX, cost, partner), 0);
	cost_of(GSB_MATCHING_MAX, cost, partner);
	assert_int_equal(gsb_matching_least(0, cost, partner), -EINVAL);
	assert_int_equal(gsb_matching_least(GSB_MATCHING_MAX + 1, cost, partner), -EINVAL);
	assert_int_equal(gsb_matching_least(1, (const double[]){NAN}, partner), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_the_least_of_all_ways),
		cmocka_unit_test(test_nobody_is_alone_who_may_not),
		cmocka_unit_test(test_of_equal_sums_it_is_the_pairs),
		cmocka_unit_test(test_as_many_as_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
