/*
 * probes.h - how two kernels get on that never met, from how each gets on with the same few others.
 *
 * Counts say what a kernel asks for, and the law what comes of that. Nearer to what happens is to see it: each kernel is put once beside
 * a few probes, which want one unit each, as the older one and as the younger one. What the probes do to it, and what it does to them, is
 * its profile. Of all pairs, in one division of the SMs, that is a matrix of which some rows and columns are known; and since kernels get in
 * each other's way by a few units, it is nearly of low rank, so that these determine the rest: the cross approximation, of the logarithms of
 * speeds and of makespans. It says that a kernel is to others as a sum of probes is, which is to the probes as the kernel was seen to be:
 *
 *	M(i, j) = a M(probes, j),	a = argmin |M(i, probes) - a B|^2 + d sum_p u_p a_p^2,	B = M(probes, probes)
 *
 * and the same of the younger one; of the two the mean. d keeps what two probes have in common, and noise, from counting twice. u_p says how
 * unlike probe p is to the kernel, the squares of the differences of their profiles against the mean of that: who resembles a probe goes by that.
 *
 * Source: S. A. Goreinov, E. E. Tyrtyshnikov, N. L. Zamarashkin, A theory of pseudoskeleton approximations (1997), with Tikhonov's
 *         regularisation; profiles by pressure and sensitivity: J. Mars et al., Bubble-Up (2011). doc/model.md#probes.
 */
#ifndef GSB_MODEL_TIME_PROBES_H
#define GSB_MODEL_TIME_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_PROBES_MAX	 96
#define GSB_PROBES_LEAST 0.0005 /* a speed below that counts as that: nobody can measure it */

/* Two kernels beside each other in one division of the SMs. */
struct gsb_encounter {
	double older, younger; /* speeds while both are there; 1: as alone in that division */
	double makespan;       /* of work that takes each as long alone on all SMs; 1: that time */
};

enum gsb_encounter_what {
	GSB_ENCOUNTER_OLDER,
	GSB_ENCOUNTER_YOUNGER,
	GSB_ENCOUNTER_MAKESPAN,
	GSB_N_ENCOUNTER
};

/* How the probes get on with each other, as the older ones or as the younger ones. */
struct gsb_probes_side {
	double rows[GSB_PROBES_MAX][GSB_PROBES_MAX];	 /* of each its profile, logarithms */
	double products[GSB_PROBES_MAX][GSB_PROBES_MAX]; /* of rows; the lower triangle */
};

/* Of one division. */
struct gsb_probes {
	uint32_t n;
	struct gsb_probes_side older[GSB_N_ENCOUNTER], younger[GSB_N_ENCOUNTER];
};

/* Are all n of them made of numbers that are positive and finite? */
bool gsb_encounters_are_sane(const struct gsb_encounter *b, uint32_t n);

/**
 * gsb_probes_init() - from how the probes get on with each other
 * @n:    1 .. GSB_PROBES_MAX
 * @seen: n rows of n: row i has probe i as the older one, beside each
 *
 * Context: pure, any thread.
 * Return:  0; -EINVAL: none or too many, or a number that is not positive and finite.
 */
int gsb_probes_init(struct gsb_probes *p, uint32_t n, const struct gsb_encounter *seen);

/**
 * gsb_probes_predict() - two kernels beside each other
 * @older:   n; the older kernel's profile: it, and each probe as the younger one
 * @younger: n; the younger kernel's profile: each probe as the older one, and it
 *
 * Context: as above.
 * Return:  0, -EINVAL: a number that is not positive and finite.
 */
int gsb_probes_predict(const struct gsb_probes *p, const struct gsb_encounter *older,
		       const struct gsb_encounter *younger, struct gsb_encounter *out);

#endif
