/*
 * test_lp_glpk.c - our simplex against GLPK on random covering programs. Built only where GLPK is
 * installed; nothing that is installed links it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <glpk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/solvers/lp.h"

#define ROWS_MAX 32
#define COLS_MAX 96

struct program {
	uint32_t m, n;
	double demand[ROWS_MAX], cost[COLS_MAX], a[COLS_MAX][ROWS_MAX];
};

static uint32_t rng_state = 11;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

/* Some of them have rows that no column covers. */
static void make_random(struct program *p)
{
	p->m = 1 + rng(ROWS_MAX);
	p->n = 1 + rng(COLS_MAX);
	for (uint32_t i = 0; i < p->m; i++)
		p->demand[i] = rng(8);
	for (uint32_t j = 0; j < p->n; j++) {
		p->cost[j] = rng(3) ? 1 : rng(100) / 10.0;
		for (uint32_t i = 0; i < p->m; i++)
			p->a[j][i] = rng(4) ? 0 : 1 + rng(5) - (rng(20) ? 0 : 3.0);
	}
}

/* NAN: infeasible. */
static double solve_with_glpk(const struct program *p)
{
	glp_prob *lp = glp_create_prob();
	int index[ROWS_MAX + 1];
	double value[ROWS_MAX + 1], objective;

	glp_set_obj_dir(lp, GLP_MIN);
	glp_add_rows(lp, (int)p->m);
	glp_add_cols(lp, (int)p->n);
	for (uint32_t i = 0; i < p->m; i++) {
		glp_set_row_bnds(lp, (int)i + 1, GLP_LO, p->demand[i], 0);
		index[i + 1] = (int)i + 1;
	}
	for (uint32_t j = 0; j < p->n; j++) {
		glp_set_col_bnds(lp, (int)j + 1, GLP_LO, 0, 0);
		glp_set_obj_coef(lp, (int)j + 1, p->cost[j]);
		for (uint32_t i = 0; i < p->m; i++)
			value[i + 1] = p->a[j][i];
		glp_set_mat_col(lp, (int)j + 1, (int)p->m, index, value);
	}
	assert_int_equal(glp_simplex(lp, NULL), 0);
	objective = glp_get_status(lp) == GLP_OPT ? glp_get_obj_val(lp) : NAN;
	glp_delete_prob(lp);
	return objective;
}

static double solve_with_ours(struct gsb_lp *lp, const struct program *p)
{
	int err;

	assert_int_equal(gsb_lp_reset(lp, p->demand, p->m), 0);
	for (uint32_t j = 0; j < p->n; j++)
		assert_int_equal(gsb_lp_add(lp, p->cost[j], p->a[j]), 0);
	err = gsb_lp_solve(lp);
	return err ? NAN : gsb_lp_objective(lp);
}

static void test_lp_equals_glpk(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 20000 : 500, feasible = 0;
	struct gsb_lp *lp = gsb_lp_create();
	double worst = 0;

	assert_non_null(lp);
	glp_term_out(GLP_OFF);
	for (int round = 0; round < rounds; round++) {
		static struct program p;
		double theirs, ours;

		make_random(&p);
		theirs = solve_with_glpk(&p);
		ours = solve_with_ours(lp, &p);
		assert_int_equal(isnan(theirs), isnan(ours));
		if (isnan(theirs))
			continue;
		feasible++;
		worst = fmax(worst, fabs(theirs - ours) / (1 + fabs(theirs)));
		assert_true(worst < 1e-8);
	}
	printf("%d programs, %d feasible, largest relative difference %.1e\n", rounds, feasible,
	       worst);
	assert_in_range(feasible, rounds / 4, rounds - 1);
	gsb_lp_destroy(lp);
	glp_free_env();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lp_equals_glpk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
