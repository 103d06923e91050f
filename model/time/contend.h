/*
 * contend.h - kernels side by side that want the same issue slots and the same memory.
 *
 * Cruz counts rounds and finds 46 % of error for the one memory-bound kernel of the paper. Here a
 * kernel also says what share of the SMs' issue slots and of the memory bandwidth it uses when
 * alone, and how much residency it needs for its full speed. A resource asked for more than it has
 * is stretched by one factor q >= 1 for everybody: a kernel that spends the share u of its time on
 * it takes (1 - u) + u q as long. q is the one value at which the resource is exactly full. Without
 * demand all factors are 1 and the model is the plain one.
 */
#ifndef GSB_MODEL_TIME_CONTEND_H
#define GSB_MODEL_TIME_CONTEND_H

#include "model/time/curve.h"
#include "model/papers/pair.h"

/* Measured alone, with every SM as full of the kernel as it gets. Shares are 0 .. 1. */
struct gsb_contend_demand {
	double issue;	   /* of the SM's issue slots */
	double bandwidth;  /* of the device's memory bandwidth */
	double saturation; /* share of its residency that already gives full speed; 0 = 1 (linear)
			    */
	double solo_ns;	   /* duration of the grid alone; 0 = not known */
	const struct gsb_curve *curve; /* instead of saturation, when measured; NULL = it is not */
};

struct gsb_load {
	struct gsb_kernel needs;
	struct gsb_contend_demand demand;
};

/* How much of a resource a mix gets, against what one kernel alone gets; 1 and 1 by default. */
struct gsb_capacity {
	double issue;
	double bandwidth;
};

extern const struct gsb_capacity gsb_capacity_full;

struct gsb_contention {
	enum gsb_case when; /* of the second */
	double stretch[2];  /* time of a block beside the other, over alone, while both run */
	double steady[2];   /* slowdown were the other there for ever */
	double slowdown[2]; /* end over solo_ns, both submitted at 0; equals steady when times are
			       unknown */
	double end_ns[2];   /* 0 when times are unknown */
	double makespan_ns;
};

/**
 * gsb_contend() - two kernels submitted at once: how much each slows the other down
 * @pair: in order of submission     @capacity: NULL = gsb_capacity_full
 * @out:  written only on success
 *
 * Source:  ours, on top of Cruz eq. 2, 3; doc/model.md#contention.
 * Context: pure, any thread, no allocation.
 * Return:  0; -EINVAL: bad input, a demand outside 0 .. 1, or literal rules; -ENOSPC: a kernel that fits no SM.
 */
int gsb_contend(const struct gsb_arch *arch, const struct gsb_rules *rules,
		const struct gsb_load pair[2], const struct gsb_capacity *capacity,
		struct gsb_contention *out);

#endif
