/*
 * plan_work.h - the tables behind struct gsb_plan_work; for plan.c and two_stage.c only.
 */
#ifndef GSB_MODEL_PAPERS_PLAN_WORK_H
#define GSB_MODEL_PAPERS_PLAN_WORK_H

#include <stddef.h>

#include "model/papers/batch.h"
#include "model/papers/choice.h"

struct gsb_plan_work {
	/* stage 1 */
	uint32_t *cost, *next; /* n_cells each */
	uint8_t *pick;	       /* n_kernels x n_cells */
	size_t n_cells, n_picks;
	struct gsb_candidate candidates[GSB_PLAN_KERNELS_MAX];
	/* stage 2 */
	struct gsb_batch_work *batch;
	struct gsb_batch_problem problem;
	struct gsb_plan plan; /* of one batch */
	struct gsb_plan_kernel members[GSB_PLAN_KERNELS_MAX];
};

#endif
