/*
 * probes.c - see probes.h.
 */
#include "model/time/probes.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/solvers/cholesky.h"

/* The square roots of d: of logarithms of speeds, which go down to -7.6, and of makespans, which do not go below -0.7. Chosen
 * on kernels for development; half and twice as much change no median by more than 0.012. */
static const double damping[GSB_N_ENCOUNTER] = {
	[GSB_ENCOUNTER_OLDER] = 0.7, [GSB_ENCOUNTER_YOUNGER] = 0.7, [GSB_ENCOUNTER_MAKESPAN] = 0.3};

/* The least that a kernel is unlike a probe: logarithms of what is measured twice differ by 0.03 at most, nearly always. */
#define SAME (0.03 * 0.03)

typedef double matrix[GSB_PROBES_MAX][GSB_PROBES_MAX];

static double log_of(const struct gsb_encounter *b, enum gsb_encounter_what what)
{
	switch (what) {
	case GSB_ENCOUNTER_OLDER: return log(fmax(b->older, GSB_PROBES_LEAST));
	case GSB_ENCOUNTER_YOUNGER: return log(fmax(b->younger, GSB_PROBES_LEAST));
	default: return log(b->makespan);
	}
}

bool gsb_encounters_are_sane(const struct gsb_encounter *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!(b[i].older > 0 && b[i].younger > 0 && b[i].makespan > 0) ||
		    !isfinite(b[i].older) || !isfinite(b[i].younger) || !isfinite(b[i].makespan))
			return false;
	return true;
}

/* How unlike each probe is to who has this profile, against the mean of them. */
static void find_unlike(uint32_t n, const matrix rows, const double *profile, double *unlike)
{
	double mean = 0;

	for (uint32_t i = 0; i < n; i++) {
		unlike[i] = SAME;
		for (uint32_t k = 0; k < n; k++)
			unlike[i] += pow(rows[i][k] - profile[k], 2) / n;
		mean += unlike[i] / n;
	}
	for (uint32_t i = 0; i < n; i++)
		unlike[i] /= mean;
}

/* As how much of each probe a kernel behaves: its profile as a sum of theirs. */
static void find_parts(uint32_t n, const struct gsb_probes_side *s, double d, const double *profile,
		       double *parts)
{
	double unlike[GSB_PROBES_MAX];
	matrix a;

	find_unlike(n, s->rows, profile, unlike);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < i; k++)
			a[i][k] = s->products[i][k];
		a[i][i] = s->products[i][i] + d * unlike[i];
		parts[i] = 0;
		for (uint32_t k = 0; k < n; k++)
			parts[i] += s->rows[i][k] * profile[k];
	}
	gsb_cholesky_factor(n, GSB_PROBES_MAX, a[0]);
	gsb_cholesky_solve(n, GSB_PROBES_MAX, a[0], parts);
}

static void find_products(uint32_t n, struct gsb_probes_side *s)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j <= i; j++) {
			s->products[i][j] = 0;
			for (uint32_t k = 0; k < n; k++)
				s->products[i][j] += s->rows[i][k] * s->rows[j][k];
		}
}

int gsb_probes_init(struct gsb_probes *p, uint32_t n, const struct gsb_encounter *seen)
{
	if (!n || n > GSB_PROBES_MAX || !gsb_encounters_are_sane(seen, n * n))
		return -EINVAL;
	p->n = n;
	for (unsigned what = 0; what < GSB_N_ENCOUNTER; what++) {
		struct gsb_probes_side *older = &p->older[what], *younger = &p->younger[what];

		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				older->rows[i][j] = younger->rows[j][i] =
					log_of(&seen[i * n + j], what);
		find_products(n, older);
		find_products(n, younger);
	}
	return 0;
}

/* Once as the parts of the older one do beside the younger one, once as the older one does beside the parts of the younger one. */
static double predict(const struct gsb_probes *p, const struct gsb_encounter *older,
		      const struct gsb_encounter *younger, enum gsb_encounter_what what)
{
	double row[GSB_PROBES_MAX] = {0}, column[GSB_PROBES_MAX] = {0};
	double of_older[GSB_PROBES_MAX], of_younger[GSB_PROBES_MAX];
	double d = damping[what] * damping[what], sum = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		row[i] = log_of(&older[i], what);
		column[i] = log_of(&younger[i], what);
	}
	find_parts(p->n, &p->older[what], d, row, of_older);
	find_parts(p->n, &p->younger[what], d, column, of_younger);
	for (uint32_t i = 0; i < p->n; i++)
		sum += of_older[i] * column[i] + row[i] * of_younger[i];
	return exp(sum / 2);
}

int gsb_probes_predict(const struct gsb_probes *p, const struct gsb_encounter *older,
		       const struct gsb_encounter *younger, struct gsb_encounter *out)
{
	if (!gsb_encounters_are_sane(older, p->n) || !gsb_encounters_are_sane(younger, p->n))
		return -EINVAL;
	out->older = fmax(predict(p, older, younger, GSB_ENCOUNTER_OLDER), GSB_PROBES_LEAST);
	out->younger = fmax(predict(p, older, younger, GSB_ENCOUNTER_YOUNGER), GSB_PROBES_LEAST);
	out->makespan = predict(p, older, younger, GSB_ENCOUNTER_MAKESPAN);
	return 0;
}
