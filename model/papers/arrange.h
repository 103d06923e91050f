/*
 * arrange.h - kernels placed one after the other on the model of the GPU: the proof that a plan
 * holds, and a way to find one where no group of SMs is like the other.
 *
 * Stage 1 plans for one group of SMs and repeats it. Kernels that only fit with other neighbours on
 * each SM are found here: kernel by kernel, in some cut, onto the SMs, and back when the next one
 * does not fit.
 */
#ifndef GSB_MODEL_PAPERS_ARRANGE_H
#define GSB_MODEL_PAPERS_ARRANGE_H

#include <stdbool.h>

#include "model/papers/plan.h"

struct gsb_arrangement {
	uint8_t cut[GSB_PLAN_KERNELS_MAX];   /* of each kernel, index in its cuts */
	uint8_t order[GSB_PLAN_KERNELS_MAX]; /* in which the kernels are submitted */
};

/*
 * All calls: @work holds the cuts of @in's kernels, and its steps pay; when there are none left the
 * answer is that nothing was found.
 */

/* An order in which all are resident in those cuts: as given, or else largest blocks first. */
bool gsb_arrange_order(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		       struct gsb_arrangement *a);

/* The same with each kernel in the geometry that it came with. */
bool gsb_arrange_as_given(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			  struct gsb_arrangement *a);

/* Cuts and an order in which all are resident; @original: only geometries that they came with. */
bool gsb_arrange(struct gsb_plan_work *work, const struct gsb_plan_input *in, bool original,
		 struct gsb_arrangement *out);

#endif
