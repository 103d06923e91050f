/*
 * fraction.h - two kernels that each fill the GPU: give one of them a fraction of its residency.
 *
 * On today's GPUs the blocks of a second grid wait until the first has placed all of its own, so
 * two full kernels on two streams run one after the other. In the persistent form (a few blocks
 * that fetch tiles) a kernel can be held to a fraction f of its resident blocks, and the other has
 * the rest. Whether that pays depends on two measured curves, speed against residency, and on what
 * both want of the units: the persistent blocks are the older ones for as long as they live, and starve whoever wants a
 * unit that they keep full (law.h). The wrong fraction loses. So: predict, and refuse without a margin.
 */
#ifndef GSB_MODEL_TIME_FRACTION_H
#define GSB_MODEL_TIME_FRACTION_H

#include <stdbool.h>

#include "model/time/demand.h"

struct gsb_fraction_side {
	struct gsb_curve held; /* in the persistent form; n = 0: this kernel cannot be held */
	struct gsb_curve rest; /* in the original form on what the other leaves; n = 0: as held */
	double solo_ns;	       /* > 0: original form, full residency */
	struct gsb_demand of;
};

struct gsb_fraction_params {
	double margin; /* least gain that counts as one: 1.05 = five per cent */
	double step;   /* fractions tried: step, 2 step, ... < 1 */
};

extern const struct gsb_fraction_params gsb_fraction_defaults;

struct gsb_fraction {
	bool pays;	   /* false: run them one after the other; the rest says how near it came */
	unsigned int held; /* 0 or 1: the kernel in the persistent form */
	double fraction;   /* of its resident blocks */
	double end_ns[2];
	double together_ns;   /* until both have ended */
	double sequential_ns; /* one after the other, original forms */
	double gain;	      /* sequential / together */
};

/**
 * gsb_fraction_at() - the two ends when one kernel is held to a fraction
 * @law:      of the GPU
 * @held:     index of the kernel in the persistent form     @f: 0 < f < 1
 * @out:      written only on success
 *
 * A held kernel stays at its fraction to its end, even alone: that is why a wrong choice loses. The
 * other spreads out when the held one ends.
 *
 * Source:  ours, and gsb_law_speeds(); doc/model.md#fraction.
 * Context: pure, any thread.
 * Return:  0; -EINVAL; -ENOTSUP: that kernel cannot be held.
 */
int gsb_fraction_at(const struct gsb_interference *law, const struct gsb_fraction_side sides[2],
		    unsigned int held, double f, const struct gsb_fraction_params *params,
		    struct gsb_fraction *out);

/**
 * gsb_fraction_pick() - which kernel to hold, at which fraction, and whether it pays
 * @law: of the GPU     @params: NULL = gsb_fraction_defaults      @out: written only on success
 *
 * Context: pure, any thread; tries 2 / step fractions, but none below the first of several points of a curve.
 * Return:  0, also when it does not pay; -EINVAL; -ENOTSUP: neither kernel can be held.
 */
int gsb_fraction_pick(const struct gsb_interference *law, const struct gsb_fraction_side sides[2],
		      const struct gsb_fraction_params *params, struct gsb_fraction *out);

#endif
