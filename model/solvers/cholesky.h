/*
 * cholesky.h - systems of linear equations whose matrix is symmetric and positive definite.
 *
 * Shapes: matrices are n by n, row by row, with @stride numbers from one row to the next; of them the lower triangle alone is read and
 *         written.
 * Source: Cholesky's decomposition, G. H. Golub, C. F. Van Loan, Matrix Computations, 4.2.
 */
#ifndef GSB_MODEL_SOLVERS_CHOLESKY_H
#define GSB_MODEL_SOLVERS_CHOLESKY_H

#include <stdint.h>

/**
 * gsb_cholesky_factor() - a becomes L, with L L' = a
 *
 * Context: pure, any thread; n^3 / 6 steps. What is not positive definite gives numbers that are none (NAN).
 */
void gsb_cholesky_factor(uint32_t n, uint32_t stride, double *a);

/* x becomes what L L' times it was x. Context: as above; n^2 steps. */
void gsb_cholesky_solve(uint32_t n, uint32_t stride, const double *l, double *x);

#endif
