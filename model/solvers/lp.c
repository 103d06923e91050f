/*
 * lp.c - revised simplex with an explicit inverse; see lp.h.
 *
 * Each row has a surplus variable (-1) and an artificial one (+1). The first solve starts from the
 * artificials and drives them to zero (phase 1); from then on the basis is feasible and new columns
 * only need phase 2. An artificial that stays in the basis at zero is swapped for a surplus, so it can
 * never become positive again.
 */
#include "model/solvers/lp.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EPS_COST	1e-9  /* a reduced cost above -EPS_COST does not improve */
#define EPS_PIVOT	1e-9  /* a smaller pivot element is taken for zero */
#define EPS_FEASIBLE	1e-7  /* phase 1 left with more than this: infeasible */
#define PIVOTS_MAX	20000 /* far above any run that makes progress */
#define REINVERT_PIVOTS 50    /* the inverse is made afresh this often */
#define NONE		UINT32_MAX

enum phase { PHASE_1, PHASE_2 };

/* Variables: 0 .. n-1 structural; SURPLUS + row; ARTIFICIAL + row. */
#define SURPLUS	   GSB_LP_COLS_MAX
#define ARTIFICIAL (GSB_LP_COLS_MAX + GSB_LP_ROWS_MAX)
#define N_VARS	   (GSB_LP_COLS_MAX + 2 * GSB_LP_ROWS_MAX)

struct gsb_lp {
	uint32_t m, n; /* rows, structural columns */
	bool feasible; /* phase 1 is done */
	uint32_t n_pivots, since_invert;
	double b[GSB_LP_ROWS_MAX];
	double x[GSB_LP_ROWS_MAX];	 /* value of the basic variable of each row */
	double price[GSB_LP_ROWS_MAX];	 /* c_B B^-1 of the current phase */
	uint32_t basis[GSB_LP_ROWS_MAX]; /* variable that is basic in each row */
	bool basic[N_VARS];
	double inverse[GSB_LP_ROWS_MAX][GSB_LP_ROWS_MAX];
	double cost[GSB_LP_COLS_MAX];
	double a[GSB_LP_COLS_MAX][GSB_LP_ROWS_MAX];
};

struct gsb_lp *gsb_lp_create(void)
{
	return calloc(1, sizeof(struct gsb_lp));
}

void gsb_lp_destroy(struct gsb_lp *lp)
{
	free(lp);
}

int gsb_lp_reset(struct gsb_lp *lp, const double *demand, uint32_t n_rows)
{
	if (!n_rows || n_rows > GSB_LP_ROWS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < n_rows; i++)
		if (!isfinite(demand[i]) || demand[i] < 0)
			return -EINVAL;
	lp->m = n_rows;
	lp->n = 0;
	lp->feasible = false;
	lp->n_pivots = lp->since_invert = 0;
	memset(lp->basic, 0, sizeof(lp->basic));
	for (uint32_t i = 0; i < n_rows; i++) {
		memset(lp->inverse[i], 0, sizeof(lp->inverse[i]));
		lp->inverse[i][i] = 1;
		lp->b[i] = lp->x[i] = demand[i];
		lp->basis[i] = ARTIFICIAL + i;
		lp->basic[ARTIFICIAL + i] = true;
	}
	return 0;
}

int gsb_lp_add(struct gsb_lp *lp, double cost, const double *coefficients)
{
	if (lp->n == GSB_LP_COLS_MAX)
		return -ENOSPC;
	if (!isfinite(cost))
		return -EINVAL;
	for (uint32_t i = 0; i < lp->m; i++)
		if (!isfinite(coefficients[i]))
			return -EINVAL;
	lp->cost[lp->n] = cost;
	memcpy(lp->a[lp->n], coefficients, lp->m * sizeof(double));
	lp->n++;
	return 0;
}

static double cost_of(const struct gsb_lp *lp, uint32_t var, enum phase phase)
{
	if (phase == PHASE_1)
		return var >= ARTIFICIAL ? 1 : 0;
	return var < SURPLUS ? lp->cost[var] : 0;
}

/* Coefficient of a variable in a row. */
static double entry(const struct gsb_lp *lp, uint32_t var, uint32_t row)
{
	if (var < SURPLUS)
		return lp->a[var][row];
	if (var < ARTIFICIAL)
		return var - SURPLUS == row ? -1 : 0;
	return var - ARTIFICIAL == row ? 1 : 0;
}

static void compute_prices(struct gsb_lp *lp, enum phase phase)
{
	memset(lp->price, 0, lp->m * sizeof(double));
	for (uint32_t r = 0; r < lp->m; r++) {
		double c = cost_of(lp, lp->basis[r], phase);

		for (uint32_t i = 0; c != 0 && i < lp->m; i++)
			lp->price[i] += c * lp->inverse[r][i];
	}
}

static double reduced_cost(const struct gsb_lp *lp, uint32_t var, enum phase phase)
{
	double sum = 0;

	if (var >= SURPLUS)
		return lp->price[var - SURPLUS];
	for (uint32_t i = 0; i < lp->m; i++)
		sum += lp->price[i] * lp->a[var][i];
	return cost_of(lp, var, phase) - sum;
}

/* Artificial variables never enter. NONE: optimal. */
static uint32_t choose_entering(const struct gsb_lp *lp, enum phase phase, bool bland)
{
	double least = -EPS_COST;
	uint32_t best = NONE;

	for (uint32_t k = 0; k < lp->n + lp->m; k++) {
		uint32_t var = k < lp->n ? k : SURPLUS + (k - lp->n);
		double d;

		if (lp->basic[var])
			continue;
		d = reduced_cost(lp, var, phase);
		if (d >= least)
			continue;
		best = var;
		least = d;
		if (bland)
			break;
	}
	return best;
}

/* B^-1 times the column of the variable. */
static void direction(const struct gsb_lp *lp, uint32_t var, double *out)
{
	for (uint32_t r = 0; r < lp->m; r++) {
		double sum = 0;

		if (var >= SURPLUS) {
			out[r] = -lp->inverse[r][var - SURPLUS];
			continue;
		}
		for (uint32_t i = 0; i < lp->m; i++)
			sum += lp->inverse[r][i] * lp->a[var][i];
		out[r] = sum;
	}
}

/*
 * The row whose basic variable reaches zero first. Ties: the largest pivot, for accuracy; with Bland
 * the variable of least index. NONE: nothing stops the entering variable.
 */
static uint32_t choose_leaving(const struct gsb_lp *lp, const double *d, bool bland)
{
	double least = INFINITY;
	uint32_t best = NONE;

	for (uint32_t r = 0; r < lp->m; r++) {
		double ratio;

		if (d[r] <= EPS_PIVOT)
			continue;
		ratio = fmax(lp->x[r], 0) / d[r];
		if (best != NONE && ratio > least)
			continue;
		if (best != NONE && ratio == least &&
		    (bland ? lp->basis[r] > lp->basis[best] : d[r] <= d[best]))
			continue;
		best = r;
		least = ratio;
	}
	return best;
}

static void pivot(struct gsb_lp *lp, uint32_t entering, uint32_t row, const double *d)
{
	double step = lp->x[row] / d[row];

	for (uint32_t i = 0; i < lp->m; i++)
		lp->inverse[row][i] /= d[row];
	for (uint32_t r = 0; r < lp->m; r++) {
		if (r == row || d[r] == 0)
			continue;
		for (uint32_t i = 0; i < lp->m; i++)
			lp->inverse[r][i] -= d[r] * lp->inverse[row][i];
		lp->x[r] -= d[r] * step;
	}
	lp->x[row] = step;
	lp->basic[lp->basis[row]] = false;
	lp->basic[entering] = true;
	lp->basis[row] = entering;
	lp->n_pivots++;
	lp->since_invert++;
}

static void swap_rows(double *a, double *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		double t = a[i];

		a[i] = b[i];
		b[i] = t;
	}
}

/* One step of Gauss and Jordan on [work | inverse]; false: singular. */
static bool eliminate(double work[][GSB_LP_ROWS_MAX], struct gsb_lp *lp, uint32_t col)
{
	uint32_t best = col;

	for (uint32_t r = col + 1; r < lp->m; r++)
		if (fabs(work[r][col]) > fabs(work[best][col]))
			best = r;
	if (fabs(work[best][col]) < EPS_PIVOT)
		return false;
	swap_rows(work[best], work[col], lp->m);
	swap_rows(lp->inverse[best], lp->inverse[col], lp->m);
	for (uint32_t r = 0; r < lp->m; r++) {
		double f = work[r][col] / work[col][col];

		if (r == col || f == 0)
			continue;
		for (uint32_t i = 0; i < lp->m; i++) {
			work[r][i] -= f * work[col][i];
			lp->inverse[r][i] -= f * lp->inverse[col][i];
		}
	}
	return true;
}

/* The inverse from the basis itself, and x from the inverse: rounding errors do not add up. */
static int reinvert(struct gsb_lp *lp)
{
	double work[GSB_LP_ROWS_MAX][GSB_LP_ROWS_MAX];

	for (uint32_t r = 0; r < lp->m; r++) {
		memset(lp->inverse[r], 0, lp->m * sizeof(double));
		lp->inverse[r][r] = 1;
		for (uint32_t c = 0; c < lp->m; c++)
			work[r][c] = entry(lp, lp->basis[c], r);
	}
	for (uint32_t c = 0; c < lp->m; c++)
		if (!eliminate(work, lp, c))
			return -EIO;
	for (uint32_t r = 0; r < lp->m; r++) {
		double sum = 0;

		for (uint32_t i = 0; i < lp->m; i++) {
			lp->inverse[r][i] /= work[r][r];
			sum += lp->inverse[r][i] * lp->b[i];
		}
		lp->x[r] = sum;
	}
	lp->since_invert = 0;
	return 0;
}

static double total_cost(const struct gsb_lp *lp, enum phase phase)
{
	double sum = 0;

	for (uint32_t r = 0; r < lp->m; r++)
		sum += cost_of(lp, lp->basis[r], phase) * lp->x[r];
	return sum;
}

static int optimise(struct gsb_lp *lp, enum phase phase)
{
	double d[GSB_LP_ROWS_MAX], best = INFINITY;
	uint32_t stalled = 0;

	for (uint32_t step = 0; step < PIVOTS_MAX; step++) {
		double now = total_cost(lp, phase);
		bool bland = stalled > 2 * lp->m;
		uint32_t var, row;

		stalled = now < best - EPS_COST ? 0 : stalled + 1;
		best = fmin(best, now);
		compute_prices(lp, phase);
		var = choose_entering(lp, phase, bland);
		if (var == NONE)
			return 0;
		direction(lp, var, d);
		row = choose_leaving(lp, d, bland);
		if (row == NONE)
			return -ERANGE;
		pivot(lp, var, row, d);
		if (lp->since_invert >= REINVERT_PIVOTS && reinvert(lp))
			return -EIO;
	}
	return -EIO;
}

/* An artificial still basic (at zero) leaves for the surplus with the largest pivot. */
static int expel_artificials(struct gsb_lp *lp)
{
	double d[GSB_LP_ROWS_MAX];

	for (uint32_t r = 0; r < lp->m; r++) {
		uint32_t best = NONE;

		if (lp->basis[r] < ARTIFICIAL)
			continue;
		for (uint32_t i = 0; i < lp->m; i++)
			if (!lp->basic[SURPLUS + i] &&
			    (best == NONE || fabs(lp->inverse[r][i]) > fabs(lp->inverse[r][best])))
				best = i;
		if (best == NONE || fabs(lp->inverse[r][best]) < EPS_PIVOT)
			return -EIO;
		direction(lp, SURPLUS + best, d);
		lp->x[r] = 0;
		pivot(lp, SURPLUS + best, r, d);
	}
	return 0;
}

int gsb_lp_solve(struct gsb_lp *lp)
{
	int err;

	if (!lp->feasible) {
		err = optimise(lp, PHASE_1);
		if (err)
			return err;
		if (total_cost(lp, PHASE_1) > EPS_FEASIBLE)
			return -EDOM;
		err = expel_artificials(lp);
		if (err)
			return err;
		lp->feasible = true;
	}
	return optimise(lp, PHASE_2);
}

double gsb_lp_objective(const struct gsb_lp *lp)
{
	return total_cost(lp, PHASE_2);
}

double gsb_lp_value(const struct gsb_lp *lp, uint32_t column)
{
	for (uint32_t r = 0; r < lp->m; r++)
		if (lp->basis[r] == column)
			return fmax(lp->x[r], 0);
	return 0;
}

double gsb_lp_coefficient(const struct gsb_lp *lp, uint32_t column, uint32_t row)
{
	return lp->a[column][row];
}

double gsb_lp_price(const struct gsb_lp *lp, uint32_t row)
{
	return fmax(lp->price[row], 0);
}

uint32_t gsb_lp_pivots(const struct gsb_lp *lp)
{
	return lp->n_pivots;
}
