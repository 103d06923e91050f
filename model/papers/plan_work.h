/*
 * plan_work.h - what struct gsb_plan_work has inside; for plan.c, arrange.c and two_stage.c only.
 */
#ifndef GSB_MODEL_PAPERS_PLAN_WORK_H
#define GSB_MODEL_PAPERS_PLAN_WORK_H

#include "model/papers/batch.h"
#include "model/papers/choice.h"
#include "model/placement/place.h"

struct gsb_plan_work {
	uint64_t steps; /* left to the call */
	struct gsb_cuts cuts[GSB_PLAN_KERNELS_MAX];
	/* stage 1, of one size of groups */
	struct gsb_choices choices[GSB_PLAN_KERNELS_MAX];
	struct gsb_multichoice problem;
	/* arrange.c: the SMs before each kernel that has been placed */
	struct gsb_sm_array arrays[GSB_PLAN_KERNELS_MAX + 1];
	/* stage 2 */
	struct gsb_cuts all_cuts[GSB_PLAN_KERNELS_MAX]; /* of the whole input, not of one batch */
	struct gsb_batch_work *batch;
	struct gsb_batch_problem packing;
	struct gsb_plan plan; /* of one batch */
	struct gsb_plan_kernel members[GSB_PLAN_KERNELS_MAX];
};

/* gsb_plan_together() for an input that has been checked and whose cuts are listed in @work. */
int gsb_plan_with_cuts(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		       struct gsb_plan *out);

#endif
