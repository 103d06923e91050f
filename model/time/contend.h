/*
 * contend.h - kernels side by side that want the same issue slots and the same memory.
 *
 * Cruz counts rounds and finds 46 % of error for the one memory-bound kernel of the paper. Here a
 * kernel also says what share of each unit it uses when alone, and how much residency it needs for its full speed. Room is
 * counted as before; beside each other kernels are as fast as the law of contention says (law.h), the first being the older one.
 * Without demand all speeds are full and the model is the plain one.
 */
#ifndef GSB_MODEL_TIME_CONTEND_H
#define GSB_MODEL_TIME_CONTEND_H

#include "model/papers/pair.h"
#include "model/time/demand.h"

/* Measured alone, with every SM as full of the kernel as it gets. */
struct gsb_contend_demand {
	struct gsb_demand of;
	double saturation; /* share of its residency that already gives full speed; 0 = 1 (linear) */
	double solo_ns;	   /* duration of the grid alone; 0 = not known */
	const struct gsb_curve *curve; /* instead of saturation, when measured; NULL = it is not */
};

struct gsb_load {
	struct gsb_kernel needs;
	struct gsb_contend_demand demand;
};

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
 * @law:  of the GPU     @pair: in order of submission
 * @out:  written only on success
 *
 * Source:  ours, Cruz eq. 2, 3 and gsb_law_speeds(); doc/model.md#contention.
 * Context: pure, any thread, no allocation.
 * Return:  0; -EINVAL: bad input, a demand outside 0 .. 1, or literal rules; -ENOSPC: a kernel that fits no SM.
 */
int gsb_contend(const struct gsb_arch *arch, const struct gsb_rules *rules,
		const struct gsb_interference *law, const struct gsb_load pair[2],
		struct gsb_contention *out);

#endif
