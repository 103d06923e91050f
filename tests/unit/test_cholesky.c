/*
 * test_cholesky.c - what is solved gives back what it was made of, whatever lies beside the matrix and above its diagonal.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "model/solvers/cholesky.h"

#define N      9
#define STRIDE 12

static uint32_t rng_state = 5;

static double draw(void)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % 2001 / 1000.0 - 1;
}

/* B B' and a little on the diagonal: positive definite. Elsewhere no numbers. */
static void draw_matrix(double a[N][STRIDE])
{
	double b[N][N];

	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < N; j++)
			b[i][j] = draw();
	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < STRIDE; j++) {
			a[i][j] = j > i ? NAN : i == j ? 0.5 : 0;
			for (unsigned k = 0; j <= i && k < N; k++)
				a[i][j] += b[i][k] * b[j][k];
		}
}

static double times(double a[N][STRIDE], unsigned i, const double *x)
{
	double sum = 0;

	for (unsigned j = 0; j < N; j++)
		sum += (j > i ? a[j][i] : a[i][j]) * x[j];
	return sum;
}

static void test_solution_times_the_matrix_is_what_was_asked(void **state)
{
	for (unsigned round = 0; round < 50; round++) {
		double a[N][STRIDE], l[N][STRIDE], x[N], y[N];

		draw_matrix(a);
		for (unsigned i = 0; i < N; i++) {
			x[i] = y[i] = draw();
			for (unsigned j = 0; j < STRIDE; j++)
				l[i][j] = a[i][j];
		}
		gsb_cholesky_factor(N, STRIDE, l[0]);
		gsb_cholesky_solve(N, STRIDE, l[0], x);
		for (unsigned i = 0; i < N; i++)
			assert_true(fabs(times(a, i, x) - y[i]) < 1e-9);
	}
}

static void test_what_is_not_positive_definite_gives_no_numbers(void **state)
{
	double a[2][2] = {{1, 0}, {2, 1}}, x[2] = {1, 1};

	gsb_cholesky_factor(2, 2, a[0]);
	gsb_cholesky_solve(2, 2, a[0], x);
	assert_true(isnan(x[0]) && isnan(x[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solution_times_the_matrix_is_what_was_asked),
		cmocka_unit_test(test_what_is_not_positive_definite_gives_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
