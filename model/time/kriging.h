/*
 * kriging.h - two kernels that never met, from the shapes of what each does and of what is done to it.
 *
 * The cross approximation (probes.h) takes a kernel for a sum of probes, division by division. Here a kernel goes by the probes that it is
 * like, in all divisions, and like means: it has the same ups and downs, however fast it is. Of a division v and what is looked at w, the
 * speeds of the older or of the younger one, a kernel x as the older one has a row of logarithms, one for each of n probes; x(v, w) is
 * that row less the mean row of the probes, and less its own mean. (As the younger one likewise, of columns; what follows is done for both.) Of two kernels
 *
 *	D_vw(x, y) = sum_p (x_p - y_p)^2 / mean of that between two probes
 *	d^2 = (9 D_vw + D_v,other speed + sum of D_w in other divisions) / as many as these weigh;  k(d) = (1 + d sqrt 3 / l) exp(-d sqrt 3 / l)
 *
 * and a pair is like another one as both are: k(older, older') k(younger, younger'). With that covariance what is known of all pairs of probes, and of each
 * of the two kernels beside them, has one best linear continuation, simple kriging, which is, less the mean m of all pairs of probes,
 *
 *	M(a, b) = s' M(probes, b) + M(a, probes) t - s' M(probes, probes) t,	(K + g I) s = k(probes, a),	the same of t, b and the younger ones
 *
 * This is done of the logarithms of both speeds; and of that of their sum and of their ratio, from which they follow again (with D of the
 * two speeds in equal parts): who takes how much of what there is for both is seen better so where one starves. Of the two and the cross approximation, the
 * mean of logarithms. Makespans are those of the cross approximation: there this gains nothing. Lengths and weights carry no unit.
 *
 * Shapes: n probes, at most GSB_PROBES_MAX; divisions, at most GSB_KRIGING_DIVISIONS_MAX; matrices n by n. Work: n^3 a division to begin
 *         with, n^2 a pair.
 * Source: simple kriging, N. Cressie, Statistics for Spatial Data (1993) 3.2; covariances that are products, and what they leave to do, E. V. Bonilla,
 *         K. M. A. Chai, C. K. I. Williams, Multi-task Gaussian process prediction (2007). doc/model.md#probes.
 */
#ifndef GSB_MODEL_TIME_KRIGING_H
#define GSB_MODEL_TIME_KRIGING_H

#include <stdint.h>

#include "model/time/probes.h"

#define GSB_KRIGING_DIVISIONS_MAX 8

/* What a matrix has of each pair, all as logarithms. */
enum gsb_kriging_what {
	GSB_KRIGING_OLDER,
	GSB_KRIGING_YOUNGER,
	GSB_KRIGING_SUM, /* of the two speeds */
	GSB_KRIGING_RATIO,
	GSB_N_KRIGING
};

/* By which speeds kernels are like each other. */
enum gsb_kriging_metric { GSB_METRIC_OLDER, GSB_METRIC_YOUNGER, GSB_METRIC_BOTH, GSB_N_METRIC };

/* In one division, of one speed: the probes as the older ones, or as the younger ones. */
struct gsb_shapes {
	double means[GSB_PROBES_MAX]; /* of the probes' rows */
	double of[GSB_PROBES_MAX][GSB_PROBES_MAX];
	double apart; /* the mean of the squares of what is between two probes */
};

struct gsb_kriging_division {
	struct gsb_probes cross;
	struct gsb_shapes shapes[2][2]; /* as the older one, as the younger one; of which speed */
	double means[GSB_N_KRIGING], pairs[GSB_N_KRIGING][GSB_PROBES_MAX][GSB_PROBES_MAX];
	double factors[GSB_N_METRIC][2][GSB_PROBES_MAX]
		      [GSB_PROBES_MAX]; /* of K + g I; the lower triangle */
};

struct gsb_kriging {
	uint32_t n, n_divisions;
	struct gsb_kriging_division divisions[GSB_KRIGING_DIVISIONS_MAX];
};

/**
 * gsb_kriging_init() - from how the probes get on with each other
 * @n:    1 .. GSB_PROBES_MAX
 * @n_divisions: 1 .. GSB_KRIGING_DIVISIONS_MAX
 * @seen: of each division n rows of n, one behind the other: row i has probe i as the older one, beside each
 *
 * Context: pure, any thread.
 * Return:  0; -EINVAL: none or too many, or a number that is not positive and finite.
 */
int gsb_kriging_init(struct gsb_kriging *k, uint32_t n, uint32_t n_divisions,
		     const struct gsb_encounter *seen);

/**
 * gsb_kriging_predict() - two kernels beside each other in one division
 * @older:   of each division n, one behind the other; the older kernel's profile: it, and each probe as the younger one
 * @younger: likewise; the younger kernel's profile: each probe as the older one, and it
 *
 * Context: as above.
 * Return:  0, -EINVAL: no such division, or a number that is not positive and finite.
 */
int gsb_kriging_predict(const struct gsb_kriging *k, uint32_t division,
			const struct gsb_encounter *older, const struct gsb_encounter *younger,
			struct gsb_encounter *out);

#endif
