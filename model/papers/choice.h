/*
 * choice.h - the geometries that one kernel may have in a plan, and what each takes from a group of SMs.
 *
 * Only choices that no other choice beats in everything are kept: mostly one to four of the 32 block
 * sizes, which is what makes the table of plan.c small. Registers follow from warps, since a kernel has
 * the same registers per warp in every geometry.
 */
#ifndef GSB_MODEL_PAPERS_CHOICE_H
#define GSB_MODEL_PAPERS_CHOICE_H

#include "model/papers/plan.h"

#define GSB_CHOICES_MAX 40 /* sizes of 1 .. 32 warps, and the original */

enum gsb_plan_dim { GSB_PLAN_BLOCKS, GSB_PLAN_WARPS, GSB_PLAN_REGS, GSB_PLAN_DIMS };

/* One geometry of one kernel, and what it takes from a group of SMs. */
struct gsb_choice {
	struct gsb_plan_choice geometry;
	uint32_t use[GSB_PLAN_DIMS];
	uint32_t smem;
};

struct gsb_candidate {
	uint32_t n;
	struct gsb_choice choices[GSB_CHOICES_MAX];
	uint32_t least[GSB_PLAN_DIMS]; /* over the choices */
	uint32_t picked;
};

/* SMs that are planned as one, and what they have. */
struct gsb_sm_unit {
	uint32_t n_units; /* on the GPU */
	uint32_t capacity[GSB_PLAN_DIMS];
	uint32_t smem;
};

/* arch has passed gsb_arch_check(). */
struct gsb_sm_unit gsb_sm_unit_of(const struct gsb_arch *arch, uint32_t n_sms);

/**
 * gsb_choices_list() - what a kernel may be cut into
 * @in:  checked by gsb_plan_together()      @original: only the geometry that it came with
 * @out: the choices, the original first among equals
 *
 * Context: pure, no allocation.
 * Return:  0; -EINVAL: a kernel that the GPU cannot have; -ENOSPC: none fits the unit in one round.
 */
int gsb_choices_list(const struct gsb_plan_input *in, const struct gsb_sm_unit *unit,
		     const struct gsb_plan_kernel *kernel, bool original,
		     struct gsb_candidate *out);

/* The choice with the fewest warps, hence registers. */
const struct gsb_choice *gsb_choice_smallest(const struct gsb_candidate *c);

#endif
