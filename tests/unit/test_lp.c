/*
 * test_lp.c - the simplex: by hand, certified by duality on random programs, infeasible, unbounded,
 * degenerate, columns added later. test_lp_glpk.c compares with another solver.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "model/solvers/lp.h"

static int setup(void **state)
{
	*state = gsb_lp_create();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	gsb_lp_destroy(*state);
	return 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-7 * (1 + fabs(b));
}

/* min 2x + 3y: x + y >= 4, x + 3y >= 6: x = 3, y = 1, 9; prices 1.5 and 0.5. */
static void test_lp_solve_by_hand(void **state)
{
	struct gsb_lp *lp = *state;

	assert_int_equal(gsb_lp_reset(lp, (double[]){4, 6}, 2), 0);
	assert_int_equal(gsb_lp_add(lp, 2, (double[]){1, 1}), 0);
	assert_int_equal(gsb_lp_add(lp, 3, (double[]){1, 3}), 0);
	assert_int_equal(gsb_lp_solve(lp), 0);
	assert_true(near(gsb_lp_objective(lp), 9));
	assert_true(near(gsb_lp_value(lp, 0), 3));
	assert_true(near(gsb_lp_value(lp, 1), 1));
	assert_true(near(gsb_lp_price(lp, 0), 1.5));
	assert_true(near(gsb_lp_price(lp, 1), 0.5));
}

static void test_lp_solve_again_with_a_better_column(void **state)
{
	struct gsb_lp *lp = *state;

	assert_int_equal(gsb_lp_reset(lp, (double[]){4, 6}, 2), 0);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){1, 0}), 0);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){0, 1}), 0);
	assert_int_equal(gsb_lp_solve(lp), 0);
	assert_true(near(gsb_lp_objective(lp), 10));
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){1, 1}), 0);
	assert_int_equal(gsb_lp_solve(lp), 0);
	assert_true(near(gsb_lp_objective(lp), 6));
}

static void test_lp_infeasible_and_unbounded_are_told_apart(void **state)
{
	struct gsb_lp *lp = *state;

	assert_int_equal(gsb_lp_reset(lp, (double[]){4, 6}, 2), 0);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){1, 0}), 0);
	assert_int_equal(gsb_lp_solve(lp), -EDOM);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){0, 2}), 0);
	assert_int_equal(gsb_lp_solve(lp), 0);
	assert_true(near(gsb_lp_objective(lp), 7));
	assert_int_equal(gsb_lp_add(lp, -1, (double[]){1, 1}), 0);
	assert_int_equal(gsb_lp_solve(lp), -ERANGE);
}

static void test_lp_refuses_bad_numbers(void **state)
{
	struct gsb_lp *lp = *state;

	assert_int_equal(gsb_lp_reset(lp, (double[]){-1}, 1), -EINVAL);
	assert_int_equal(gsb_lp_reset(lp, (double[]){NAN}, 1), -EINVAL);
	assert_int_equal(gsb_lp_reset(lp, (double[]){1}, 0), -EINVAL);
	assert_int_equal(gsb_lp_reset(lp, (double[]){1}, 1), 0);
	assert_int_equal(gsb_lp_add(lp, INFINITY, (double[]){1}), -EINVAL);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){NAN}), -EINVAL);
}

static void test_lp_add_stops_at_the_limit(void **state)
{
	struct gsb_lp *lp = *state;

	assert_int_equal(gsb_lp_reset(lp, (double[]){1}, 1), 0);
	for (int i = 0; i < GSB_LP_COLS_MAX; i++)
		assert_int_equal(gsb_lp_add(lp, 1 + i, (double[]){1}), 0);
	assert_int_equal(gsb_lp_add(lp, 1, (double[]){1}), -ENOSPC);
	assert_int_equal(gsb_lp_solve(lp), 0);
	assert_true(near(gsb_lp_objective(lp), 1));
}

/* Many equal ratios and zero demands: a simplex without a rule against it may cycle here. */
static void test_lp_degenerate_programs_end(void **state)
{
	struct gsb_lp *lp = *state;

	for (int round = 0; round < 50; round++) {
		uint32_t m = 6 + (uint32_t)round % 20;
		double demand[32] = {0}, column[32];

		demand[0] = 1;
		assert_int_equal(gsb_lp_reset(lp, demand, m), 0);
		for (uint32_t j = 0; j < 3 * m; j++) {
			for (uint32_t i = 0; i < m; i++)
				column[i] = (double)((i * 7 + j * 3 + (uint32_t)round) % 3) - 1;
			column[0] = 1;
			assert_int_equal(gsb_lp_add(lp, 1, column), 0);
		}
		for (uint32_t i = 0; i < m; i++)
			column[i] = 1;
		assert_int_equal(gsb_lp_add(lp, 1, column), 0);
		assert_int_equal(gsb_lp_solve(lp), 0);
		assert_true(near(gsb_lp_objective(lp), 1));
	}
}

static uint32_t rng_state = 3;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

/* x feasible, prices feasible, both worth the same: that is the optimum, whoever found it. */
static void certify(const struct gsb_lp *lp, uint32_t m, uint32_t n, double a[][32],
		    const double *cost, const double *demand)
{
	double primal = 0, dual = 0;

	for (uint32_t i = 0; i < m; i++) {
		double sum = 0;

		for (uint32_t j = 0; j < n; j++)
			sum += a[j][i] * gsb_lp_value(lp, j);
		assert_true(sum >= demand[i] - 1e-6);
		assert_true(gsb_lp_price(lp, i) >= 0);
		dual += gsb_lp_price(lp, i) * demand[i];
	}
	for (uint32_t j = 0; j < n; j++) {
		double sum = 0;

		for (uint32_t i = 0; i < m; i++)
			sum += a[j][i] * gsb_lp_price(lp, i);
		assert_true(sum <= cost[j] + 1e-6);
		primal += cost[j] * gsb_lp_value(lp, j);
	}
	assert_true(near(primal, dual));
	assert_true(near(primal, gsb_lp_objective(lp)));
}

static void test_lp_random_programs_carry_their_certificate(void **state)
{
	static double a[96][32];
	struct gsb_lp *lp = *state;
	int rounds = getenv("GSB_CHECK_LONG") ? 5000 : 300;

	for (int round = 0; round < rounds; round++) {
		uint32_t m = 1 + rng(24), n = m + rng(64);
		double cost[96], demand[32];

		for (uint32_t i = 0; i < m; i++)
			demand[i] = rng(6);
		assert_int_equal(gsb_lp_reset(lp, demand, m), 0);
		for (uint32_t j = 0; j < n; j++) {
			cost[j] = 1 + rng(3);
			for (uint32_t i = 0; i < m; i++)
				a[j][i] = j < m ? i == j : (rng(3) ? 0 : rng(4));
			assert_int_equal(gsb_lp_add(lp, cost[j], a[j]), 0);
			if (j == m)
				assert_int_equal(gsb_lp_solve(lp), 0);
		}
		assert_int_equal(gsb_lp_solve(lp), 0);
		certify(lp, m, n, a, cost, demand);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lp_solve_by_hand),
		cmocka_unit_test(test_lp_solve_again_with_a_better_column),
		cmocka_unit_test(test_lp_infeasible_and_unbounded_are_told_apart),
		cmocka_unit_test(test_lp_refuses_bad_numbers),
		cmocka_unit_test(test_lp_add_stops_at_the_limit),
		cmocka_unit_test(test_lp_degenerate_programs_end),
		cmocka_unit_test(test_lp_random_programs_carry_their_certificate),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
