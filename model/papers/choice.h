/*
 * choice.h - the geometries that one kernel may have in a plan, and what each takes from a group of
 * SMs.
 *
 * Cuts are all of them: block sizes of 1 to 32 warps that the kernel may have, and the one that it
 * came with. For a group of SMs that is planned as one only those cuts are choices that no other
 * beats in everything: mostly one to four, which is what keeps stage 1 small. Registers follow from
 * warps, since a kernel has the same registers per warp in every geometry.
 */
#ifndef GSB_MODEL_PAPERS_CHOICE_H
#define GSB_MODEL_PAPERS_CHOICE_H

#include "model/papers/plan.h"
#include "model/solvers/multichoice.h"

#define GSB_CUTS_MAX 33

struct gsb_cuts {
	uint32_t n;
	bool original; /* the first is the geometry that the kernel came with; else no SM holds that */
	struct gsb_plan_choice geometries[GSB_CUTS_MAX]; /* without blocks_per_group */
	struct gsb_block_need needs[GSB_CUTS_MAX];	 /* of one block */
};

/**
 * gsb_cuts_list() - what a kernel may be cut into
 * @in: checked by gsb_plan_together()      @out: cuts of which an SM holds a block
 *
 * Context: pure, no allocation.
 * Return:  0; -EINVAL: a kernel that the GPU cannot have; -ENOSPC: no SM holds a block of any cut.
 */
int gsb_cuts_list(const struct gsb_plan_input *in, const struct gsb_plan_kernel *kernel,
		  struct gsb_cuts *out);

enum gsb_plan_dim { GSB_PLAN_BLOCKS, GSB_PLAN_WARPS, GSB_PLAN_REGS, GSB_PLAN_SMEM, GSB_PLAN_DIMS };

/* SMs that are planned as one, and what they have. */
struct gsb_sm_unit {
	uint32_t n_units; /* on the GPU */
	uint64_t capacity[GSB_PLAN_DIMS];
};

/* arch has passed gsb_arch_check(). */
struct gsb_sm_unit gsb_sm_unit_of(const struct gsb_arch *arch, uint32_t n_sms);

/* What the blocks of one unit take when the grid lies evenly on all units. */
void gsb_unit_use(const struct gsb_sm_unit *unit, const struct gsb_plan_choice *geometry,
		  const struct gsb_block_need *need, uint64_t use[GSB_PLAN_DIMS]);

struct gsb_choices {
	uint32_t n;
	uint8_t cuts[GSB_CUTS_MAX]; /* of each choice */
	/* What it takes of a unit; the cost is shared memory. */
	struct gsb_multichoice_option options[GSB_CUTS_MAX];
};

/* Cuts that fit the unit in one round and that no other beats in everything: 0; -ENOSPC: none. */
int gsb_choices_list(const struct gsb_sm_unit *unit, const struct gsb_cuts *cuts,
		     struct gsb_choices *out);

#endif
