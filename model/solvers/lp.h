/*
 * lp.h - small covering programs: minimise c x, with A x >= b and x >= 0, columns added over time.
 *
 * The master problem of a column generation has a row per kind of item, tens of columns, and is
 * solved again after each new column; what it must give is the dual price of every row. A dense
 * revised simplex of two hundred lines does that in microseconds, which is why no solver is linked.
 * The tests compare it with GLPK.
 */
#ifndef GSB_MODEL_SOLVERS_LP_H
#define GSB_MODEL_SOLVERS_LP_H

#include <stdint.h>

#define GSB_LP_ROWS_MAX 64
#define GSB_LP_COLS_MAX 2048

struct gsb_lp;

/* Room for the largest program, about 1.2 MB; NULL without memory. */
struct gsb_lp *gsb_lp_create(void);
void gsb_lp_destroy(struct gsb_lp *lp);

/**
 * gsb_lp_reset() - start a program without columns
 * @demand: n_rows right-hand sides, each finite and >= 0     @n_rows: 1 .. GSB_LP_ROWS_MAX
 *
 * Return:  0, -EINVAL.
 */
int gsb_lp_reset(struct gsb_lp *lp, const double *demand, uint32_t n_rows);

/* Append a column: 0; -EINVAL: not finite; -ENOSPC: GSB_LP_COLS_MAX reached. The basis stays. */
int gsb_lp_add(struct gsb_lp *lp, double cost, const double *coefficients);

/**
 * gsb_lp_solve() - to the optimum, from the last basis when there is one
 *
 * Enters the column with the most negative reduced cost; after a run of steps without progress, the
 * first such column and the first leaving row (Bland), which cannot cycle.
 *
 * Context: any thread, one at a time; no allocation.
 * Return:  0; -EDOM: no x satisfies the rows; -ERANGE: unbounded; -EIO: lost to rounding.
 */
int gsb_lp_solve(struct gsb_lp *lp);

/* After gsb_lp_solve() returned 0. */
double gsb_lp_objective(const struct gsb_lp *lp);
double gsb_lp_value(const struct gsb_lp *lp, uint32_t column);
double gsb_lp_coefficient(const struct gsb_lp *lp, uint32_t column, uint32_t row);
double gsb_lp_price(const struct gsb_lp *lp, uint32_t row); /* dual, >= 0 */
uint32_t gsb_lp_pivots(const struct gsb_lp *lp);	    /* since the reset */

#endif
