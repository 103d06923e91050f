/*
 * probes.c - see probes.h.
 */
#include "model/time/probes.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* The square roots of d: of logarithms of speeds, which go down to -7.6, and of makespans, which do not go below -0.7. Chosen
 * on kernels for development; half and twice as much change no median by more than 0.006. */
static const double damping[GSB_N_ENCOUNTER] = {
	[GSB_ENCOUNTER_OLDER] = 0.7, [GSB_ENCOUNTER_YOUNGER] = 0.7, [GSB_ENCOUNTER_MAKESPAN] = 0.3};

typedef double matrix[GSB_PROBES_MAX][GSB_PROBES_MAX];

static double log_of(const struct gsb_encounter *b, enum gsb_encounter_what what)
{
	switch (what) {
	case GSB_ENCOUNTER_OLDER: return log(fmax(b->older, GSB_PROBES_LEAST));
	case GSB_ENCOUNTER_YOUNGER: return log(fmax(b->younger, GSB_PROBES_LEAST));
	default: return log(b->makespan);
	}
}

static bool is_sane(const struct gsb_encounter *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!(b[i].older > 0 && b[i].younger > 0 && b[i].makespan > 0) ||
		    !isfinite(b[i].older) || !isfinite(b[i].younger) || !isfinite(b[i].makespan))
			return false;
	return true;
}

/* The lower triangle of B B' + d I, and of that its Cholesky factor, in place: it is positive definite, since d is. */
static void factor(uint32_t n, const matrix b, double d, matrix l)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j <= i; j++) {
			double sum = i == j ? d : 0;

			for (uint32_t k = 0; k < n; k++)
				sum += b[i][k] * b[j][k];
			for (uint32_t k = 0; k < j; k++)
				sum -= l[i][k] * l[j][k];
			l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
		}
}

/* L L' x = x */
static void solve(uint32_t n, const matrix l, double x[GSB_PROBES_MAX])
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < i; k++)
			x[i] -= l[i][k] * x[k];
		x[i] /= l[i][i];
	}
	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t k = i + 1; k < n; k++)
			x[i] -= l[k][i] * x[k];
		x[i] /= l[i][i];
	}
}

/* W has rows as B' has: of each the solution with that column of B. */
static void find_weights(uint32_t n, const matrix b, double d, matrix w)
{
	matrix l;

	factor(n, b, d, l);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < n; j++)
			w[i][j] = b[j][i];
		solve(n, l, w[i]);
	}
}

int gsb_probes_init(struct gsb_probes *p, uint32_t n, const struct gsb_encounter *seen)
{
	if (!n || n > GSB_PROBES_MAX || !is_sane(seen, n * n))
		return -EINVAL;
	p->n = n;
	for (unsigned what = 0; what < GSB_N_ENCOUNTER; what++) {
		matrix b;

		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				b[i][j] = log_of(&seen[i * n + j], what);
		find_weights(n, b, damping[what] * damping[what], p->weights[what]);
	}
	return 0;
}

static double predict(const struct gsb_probes *p, const struct gsb_encounter *older,
		      const struct gsb_encounter *younger, enum gsb_encounter_what what)
{
	double column[GSB_PROBES_MAX], sum = 0;

	for (uint32_t j = 0; j < p->n; j++)
		column[j] = log_of(&younger[j], what);
	for (uint32_t i = 0; i < p->n; i++) {
		double of_probe = 0;

		for (uint32_t j = 0; j < p->n; j++)
			of_probe += p->weights[what][i][j] * column[j];
		sum += log_of(&older[i], what) * of_probe;
	}
	return exp(sum);
}

int gsb_probes_predict(const struct gsb_probes *p, const struct gsb_encounter *older,
		       const struct gsb_encounter *younger, struct gsb_encounter *out)
{
	if (!is_sane(older, p->n) || !is_sane(younger, p->n))
		return -EINVAL;
	out->older = fmax(predict(p, older, younger, GSB_ENCOUNTER_OLDER), GSB_PROBES_LEAST);
	out->younger = fmax(predict(p, older, younger, GSB_ENCOUNTER_YOUNGER), GSB_PROBES_LEAST);
	out->makespan = predict(p, older, younger, GSB_ENCOUNTER_MAKESPAN);
	return 0;
}
