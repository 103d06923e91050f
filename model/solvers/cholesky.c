/*
 * cholesky.c - see cholesky.h.
 */
#include "model/solvers/cholesky.h"

#include <math.h>
#include <stddef.h>

void gsb_cholesky_factor(uint32_t n, uint32_t stride, double *a)
{
	for (uint32_t i = 0; i < n; i++) {
		double *row = a + (size_t)i * stride;

		for (uint32_t j = 0; j <= i; j++) {
			const double *above = a + (size_t)j * stride;

			for (uint32_t k = 0; k < j; k++)
				row[j] -= row[k] * above[k];
			row[j] = i == j ? sqrt(row[j]) : row[j] / above[j];
		}
	}
}

void gsb_cholesky_solve(uint32_t n, uint32_t stride, const double *l, double *x)
{
	for (uint32_t i = 0; i < n; i++) {
		const double *row = l + (size_t)i * stride;

		for (uint32_t k = 0; k < i; k++)
			x[i] -= row[k] * x[k];
		x[i] /= row[i];
	}
	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t k = i + 1; k < n; k++)
			x[i] -= l[(size_t)k * stride + i] * x[k];
		x[i] /= l[(size_t)i * stride + i];
	}
}
