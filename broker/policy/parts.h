/*
 * parts.h - SMs of their own for tenants that keep the device full.
 *
 * Two kernels that fill the device take turns on it, whatever order they are issued in. Side by side on SMs of their own they are
 * as fast as they are on so many SMs alone, unless both live on the L2 or the memory: a kernel that is bound inside the SM is slower in
 * proportion, one that is bound by memory hardly at all as long as it has a third of the SMs. Nobody has to know which is
 * which: how fast a launch is on so many SMs is measured by giving it so many, and costs next to nothing, since kernels that are slower in
 * proportion lose nothing together.
 *
 * What is wanted is the largest product of speeds, each to the power of its tenant's weight (Nash 1950; Kelly's proportional fairness): for
 * kernels that are slower in proportion that is SMs by weight, exactly; what is of no use to one goes to the other; and nobody
 * starves. Speeds are bounded from what was measured, by what more SMs can never do: make a kernel slower, or faster by more than in
 * proportion. While the best that could be is better by GAIN than the best that is known, it is tried; so trying ends.
 *
 * Where kernels are slower in proportion, and have few rounds, a part costs them more than its share: seven blocks take as many rounds on
 * three SMs as nine. Then who has less than its share of the SM time by weight takes turns with the others instead, kernel by kernel:
 * who has had least by its weight goes next (claim.h), and nobody beside it. That is exact over time whatever the grids; a
 * part is exact at once, and so what there is where a launch is too long to wait for.
 */
#ifndef GSB_BROKER_POLICY_PARTS_H
#define GSB_BROKER_POLICY_PARTS_H

#include "broker/policy/policy.h"

#define GSB_PARTS_MAX 16 /* tenants with SMs of their own, or in turn */
#define GSB_INSIDE_PATIENCE \
	4 /* times as long as alone a launch is there inside the SMs, and then starves */

struct gsb_part {
	const struct gsb_claim *claim;
	struct gsb_sm_range sms; /* GSB_ALL_SMS where all take turns */
	unsigned n_go;		 /* where they take turns: kernels of it that may go now */
	uint32_t manner;	 /* in which its kernels are launched: shape.h; 0: as it asks */
};

struct gsb_parts {
	unsigned n;  /* 0: all SMs are everybody's */
	bool turns;  /* those who have the same SMs have them in turn */
	bool inside; /* two have all SMs, one of them with a part of its blocks */
	struct gsb_part of[GSB_PARTS_MAX];
	const struct gsb_claim *
		alone; /* whose next kernel is to have the device for itself, to be measured; NULL: nobody's */
	bool brief; /* all of them together are over sooner than anybody may have to wait */
};

/**
 * gsb_parts_plan() - who has which SMs now
 * @rest: of these; GSB_ALL_SMS: of all
 * @critical_apart: critical tenants take no part
 */
void gsb_parts_plan(const struct gsb_view *view, struct gsb_sm_range rest, bool critical_apart,
		    struct gsb_parts *out);

/* The part of that tenant; NULL: it has none. */
struct gsb_part *gsb_parts_find(struct gsb_parts *p, const struct gsb_claim *c);

#endif
