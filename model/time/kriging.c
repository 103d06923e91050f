/*
 * kriging.c - see kriging.h.
 */
#include "model/time/kriging.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/solvers/cholesky.h"

/* Chosen by leaving out whole groups of kernels: doc/model.md#probes says how much hangs on them. */
#define OWN    9.0 /* how much more the speed and the division that are asked for count than others */
#define LENGTH 1.2  /* l: that of 1 is the mean between two probes */
#define NUGGET 0.01 /* g: what no probe says of another */

/* The least mean of squares between two probes: logarithms of what is measured twice differ by 0.03 at most, nearly always. */
#define SAME (0.03 * 0.03)

typedef double matrix[GSB_PROBES_MAX][GSB_PROBES_MAX];

/* What a kernel is like, or a probe: in each division, of each speed a shape. */
struct like {
	const double *of[GSB_KRIGING_DIVISIONS_MAX][2];
};

static double log_of(const struct gsb_encounter *b, enum gsb_kriging_what what)
{
	double older = fmax(b->older, GSB_PROBES_LEAST),
	       younger = fmax(b->younger, GSB_PROBES_LEAST);

	switch (what) {
	case GSB_KRIGING_OLDER: return log(older);
	case GSB_KRIGING_YOUNGER: return log(younger);
	case GSB_KRIGING_SUM: return log(older + younger);
	default: return log(older / younger);
	}
}

static enum gsb_kriging_metric metric_of(enum gsb_kriging_what what)
{
	return what == GSB_KRIGING_OLDER     ? GSB_METRIC_OLDER
	       : what == GSB_KRIGING_YOUNGER ? GSB_METRIC_YOUNGER
					     : GSB_METRIC_BOTH;
}

/* ---- who is like whom ---- */

/* A row less the probes' mean row, and less its own mean. */
static void take_shape(uint32_t n, const double *means, double *row)
{
	double mean = 0;

	for (uint32_t p = 0; p < n; p++) {
		row[p] -= means[p];
		mean += row[p] / n;
	}
	for (uint32_t p = 0; p < n; p++)
		row[p] -= mean;
}

/* Columns have the mean 0: so what is between two is, in the mean over all, twice what is between each and nothing. */
static void find_shapes(uint32_t n, const matrix pairs, bool younger, struct gsb_shapes *s)
{
	s->apart = SAME * n;
	for (uint32_t p = 0; p < n; p++) {
		s->means[p] = 0;
		for (uint32_t i = 0; i < n; i++)
			s->means[p] += (younger ? pairs[p][i] : pairs[i][p]) / n;
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t p = 0; p < n; p++)
			s->of[i][p] = younger ? pairs[p][i] : pairs[i][p];
		take_shape(n, s->means, s->of[i]);
		for (uint32_t p = 0; p < n; p++)
			s->apart += 2 * s->of[i][p] * s->of[i][p] / n;
	}
}

/* D of one division and speed, between a kernel and a probe. */
static double apart(uint32_t n, const struct gsb_shapes *s, const double *shape, uint32_t probe)
{
	double sum = 0;

	for (uint32_t p = 0; p < n; p++)
		sum += (shape[p] - s->of[probe][p]) * (shape[p] - s->of[probe][p]);
	return sum / s->apart;
}

/* All D of one role. */
static void find_apart(const struct gsb_kriging *k, bool younger, const struct like *x,
		       uint32_t probe, double d[GSB_KRIGING_DIVISIONS_MAX][2])
{
	for (uint32_t v = 0; v < k->n_divisions; v++)
		for (unsigned w = 0; w < 2; w++)
			d[v][w] = apart(k->n, &k->divisions[v].shapes[younger][w], x->of[v][w],
					probe);
}

static double of_one_speed(const struct gsb_kriging *k, uint32_t division, unsigned speed,
			   const double d[GSB_KRIGING_DIVISIONS_MAX][2])
{
	double sum = OWN * d[division][speed] + d[division][!speed];

	for (uint32_t v = 0; v < k->n_divisions; v++)
		sum += v == division ? 0 : d[v][speed];
	return sum / (OWN + k->n_divisions);
}

static double likeness(const struct gsb_kriging *k, uint32_t division,
		       enum gsb_kriging_metric metric, const double d[GSB_KRIGING_DIVISIONS_MAX][2])
{
	double square, r;

	if (metric == GSB_METRIC_BOTH)
		square = (of_one_speed(k, division, 0, d) + of_one_speed(k, division, 1, d)) / 2;
	else
		square = of_one_speed(k, division, metric == GSB_METRIC_YOUNGER, d);
	r = sqrt(3 * square) / LENGTH;
	return (1 + r) * exp(-r);
}

/* ---- what is known of the probes ---- */

static void find_pairs(uint32_t n, const struct gsb_encounter *seen, struct gsb_kriging_division *d)
{
	for (unsigned what = 0; what < GSB_N_KRIGING; what++) {
		d->means[what] = 0;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++) {
				d->pairs[what][i][j] = log_of(&seen[i * n + j], what);
				d->means[what] += d->pairs[what][i][j] / n / n;
			}
	}
	for (unsigned younger = 0; younger < 2; younger++)
		for (unsigned speed = 0; speed < 2; speed++)
			find_shapes(n, d->pairs[speed], younger, &d->shapes[younger][speed]);
}

/* Two probes, in all divisions and by all metrics. */
static void compare(struct gsb_kriging *k, bool younger, uint32_t i, uint32_t j)
{
	double d[GSB_KRIGING_DIVISIONS_MAX][2];
	struct like x = {0};

	for (uint32_t v = 0; v < k->n_divisions; v++)
		for (unsigned w = 0; w < 2; w++)
			x.of[v][w] = k->divisions[v].shapes[younger][w].of[i];
	find_apart(k, younger, &x, j, d);
	for (uint32_t v = 0; v < k->n_divisions; v++)
		for (unsigned m = 0; m < GSB_N_METRIC; m++)
			k->divisions[v].factors[m][younger][i][j] =
				likeness(k, v, m, d) + (i == j ? NUGGET : 0);
}

int gsb_kriging_init(struct gsb_kriging *k, uint32_t n, uint32_t n_divisions,
		     const struct gsb_encounter *seen)
{
	if (!n_divisions || n_divisions > GSB_KRIGING_DIVISIONS_MAX)
		return -EINVAL;
	k->n = n;
	k->n_divisions = n_divisions;
	for (uint32_t v = 0; v < n_divisions; v++) {
		struct gsb_kriging_division *d = &k->divisions[v];

		if (gsb_probes_init(&d->cross, n, seen + v * n * n))
			return -EINVAL;
		find_pairs(n, seen + v * n * n, d);
	}
	for (unsigned younger = 0; younger < 2; younger++) {
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j <= i; j++)
				compare(k, younger, i, j);
		for (uint32_t v = 0; v < n_divisions; v++)
			for (unsigned m = 0; m < GSB_N_METRIC; m++)
				gsb_cholesky_factor(n, GSB_PROBES_MAX,
						    k->divisions[v].factors[m][younger][0]);
	}
	return 0;
}

/* ---- two kernels ---- */

/* s, or t, by each metric. */
static void find_parts(const struct gsb_kriging *k, uint32_t division, bool younger,
		       const struct gsb_encounter *profile,
		       double parts[GSB_N_METRIC][GSB_PROBES_MAX])
{
	double shapes[GSB_KRIGING_DIVISIONS_MAX][2][GSB_PROBES_MAX];
	double d[GSB_KRIGING_DIVISIONS_MAX][2];
	struct like x = {0};

	for (uint32_t v = 0; v < k->n_divisions; v++)
		for (unsigned w = 0; w < 2; w++) {
			for (uint32_t p = 0; p < k->n; p++)
				shapes[v][w][p] = log_of(&profile[v * k->n + p], w);
			take_shape(k->n, k->divisions[v].shapes[younger][w].means, shapes[v][w]);
			x.of[v][w] = shapes[v][w];
		}
	for (uint32_t p = 0; p < k->n; p++) {
		find_apart(k, younger, &x, p, d);
		for (unsigned m = 0; m < GSB_N_METRIC; m++)
			parts[m][p] = likeness(k, division, m, d);
	}
	for (unsigned m = 0; m < GSB_N_METRIC; m++)
		gsb_cholesky_solve(k->n, GSB_PROBES_MAX,
				   k->divisions[division].factors[m][younger][0], parts[m]);
}

/* @older, @younger: their profiles in that division. */
static double continued(const struct gsb_kriging_division *d, uint32_t n,
			enum gsb_kriging_what what, const struct gsb_encounter *older,
			const struct gsb_encounter *younger, const double *s, const double *t)
{
	double mean = d->means[what], sum = mean;

	for (uint32_t i = 0; i < n; i++) {
		double column = log_of(&younger[i], what) - mean;

		for (uint32_t j = 0; j < n; j++)
			column -= (d->pairs[what][i][j] - mean) * t[j];
		sum += s[i] * column + (log_of(&older[i], what) - mean) * t[i];
	}
	return sum;
}

int gsb_kriging_predict(const struct gsb_kriging *k, uint32_t division,
			const struct gsb_encounter *older, const struct gsb_encounter *younger,
			struct gsb_encounter *out)
{
	double s[GSB_N_METRIC][GSB_PROBES_MAX], t[GSB_N_METRIC][GSB_PROBES_MAX];
	const struct gsb_kriging_division *d;
	double is[GSB_N_KRIGING], of_sum[2];

	if (division >= k->n_divisions || !gsb_encounters_are_sane(older, k->n * k->n_divisions) ||
	    !gsb_encounters_are_sane(younger, k->n * k->n_divisions))
		return -EINVAL;
	d = &k->divisions[division];
	find_parts(k, division, false, older, s);
	find_parts(k, division, true, younger, t);
	older += division * k->n;
	younger += division * k->n;
	gsb_probes_predict(&d->cross, older, younger, out);
	for (unsigned what = 0; what < GSB_N_KRIGING; what++)
		is[what] = continued(d, k->n, what, older, younger, s[metric_of(what)],
				     t[metric_of(what)]);
	of_sum[0] = is[GSB_KRIGING_SUM] - log1p(exp(-is[GSB_KRIGING_RATIO]));
	of_sum[1] = is[GSB_KRIGING_SUM] - log1p(exp(is[GSB_KRIGING_RATIO]));
	out->older = cbrt(out->older * fmax(exp(is[GSB_KRIGING_OLDER]), GSB_PROBES_LEAST) *
			  fmax(exp(of_sum[0]), GSB_PROBES_LEAST));
	out->younger = cbrt(out->younger * fmax(exp(is[GSB_KRIGING_YOUNGER]), GSB_PROBES_LEAST) *
			    fmax(exp(of_sum[1]), GSB_PROBES_LEAST));
	return 0;
}
