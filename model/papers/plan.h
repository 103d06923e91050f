/*
 * plan.h - the two-stage model: geometries under which several kernels share each SM, and batches
 * when they do not all fit.
 *
 * Seed: Li, Tu, Zeng, "Concurrent query processing in a GPU-based database system" (here: Li 2019).
 * Stage 1 chooses warps per block and blocks per SM for every kernel, with the threads of each
 * kernel kept, so that all are resident at once with the least shared memory (eq. 9-15). The
 * printed Algorithm 1 cannot be executed and forgets the registers; plan.c says what is done
 * instead. Stage 2 splits what does not fit into few batches (eq. 16-30, batch.h), each with a plan
 * of stage 1.
 *
 * The work of both is counted and bounded, and never by a clock: the same input gives the same plan
 * everywhere. What a plan claims about itself (exact, proven, lower_bound) holds for what is said
 * there and no more.
 */
#ifndef GSB_MODEL_PAPERS_PLAN_H
#define GSB_MODEL_PAPERS_PLAN_H

#include "model/placement/occupancy.h"

#define GSB_PLAN_KERNELS_MAX 64
#define GSB_PLAN_GROUP_MAX   8 /* SMs grouped as one at most, where groups are alike */

/*
 * Bounds on the work of stage 1, in options looked at: 224 for each kernel, and as for 16 kernels
 * at least, which is about 50 us for those; and so many that a few kernels are tried in every cut
 * and order (some 10 ms when nothing fits).
 */
#define GSB_PLAN_STEPS	    224
#define GSB_PLAN_STEPS_LONG 1000000

struct gsb_plan_kernel {
	struct gsb_geometry_range range;
	bool fixed; /* the geometry must stay (a kernel that nobody proved safe to re-size) */
};

enum gsb_plan_threads {
	GSB_PLAN_EXACT, /* T x B stays the same number: what an unmodified kernel needs */
	GSB_PLAN_COVER, /* T x B may grow (eq. 14): for kernels that check their index */
};

struct gsb_plan_input {
	const struct gsb_arch *arch;
	const struct gsb_rules *rules;
	const struct gsb_plan_kernel *kernels;
	uint32_t n_kernels; /* 1 .. GSB_PLAN_KERNELS_MAX */
	enum gsb_plan_threads threads;
	bool keep; /* the geometries as they came, where all fit anyway, not the least shared memory */
	uint32_t max_steps; /* of stage 1; 0 = GSB_PLAN_STEPS for each kernel, and at least 160 */
};

struct gsb_plan_choice {
	uint32_t threads_per_block;
	uint64_t n_blocks;	   /* of the grid */
	uint32_t blocks_per_group; /* b_i: on each group of SMs */
	uint32_t smem_bytes;	   /* of a block, without the driver's reserve */
};

struct gsb_plan {
	uint32_t n_kernels;
	/*
	 * Groups of SMs that are loaded alike: 1; 2, 4 or 8 where one SM does not hold all (Li
	 * 2019, "group two MPs"); all SMs of the GPU where only an arrangement without such groups
	 * was found.
	 */
	uint32_t sms_per_group;
	uint32_t warps, regs, smem_bytes, blocks; /* used on each group, in allocated units */
	bool regs_mattered; /* the plan without registers, as printed, would not have fitted */
	/*
	 * Proven: no other choice of one geometry for each kernel, loading all groups of that many
	 * SMs alike, needs less shared memory. False: a cheaper one may exist, the work ended
	 * before.
	 */
	bool exact;
	uint32_t steps; /* that it took */
	uint8_t order
		[GSB_PLAN_KERNELS_MAX]; /* submit in this order: then all of them are resident */
	struct gsb_plan_choice choices[GSB_PLAN_KERNELS_MAX];
};

/* Tables for the calls below, about 4 MB. One per planner, not shared by threads. */
struct gsb_plan_work;
struct gsb_plan_work *gsb_plan_work_create(void);
void gsb_plan_work_destroy(struct gsb_plan_work *work);

/**
 * gsb_plan_together() - stage 1: one geometry per kernel, all resident at once
 * @out: little shared memory (see exact), registers respected; written only on success
 *
 * Every plan given out was placed on the model of the GPU. Kernels that are resident as they came,
 * in the order as given, are never refused.
 *
 * Source:  Li 2019, eq. 9-15, Theorem 1, with registers as a further capacity.
 * Context: any thread with its own @work; no allocation; at most @in->max_steps.
 * Return:  0; -EINVAL; -ENOSPC: no plan was found, make batches.
 */
int gsb_plan_together(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      struct gsb_plan *out);

struct gsb_plan_batches {
	uint32_t n_batches;
	/*
	 * No fewer batches hold these kernels when each grid has one geometry of its range and each
	 * batch is resident as a whole. By sums over the whole GPU, so whatever the placement; a
	 * kernel that is not resident by itself counts as a batch. What batches would run how long
	 * is not asked.
	 */
	uint32_t lower_bound;
	bool proven;				/* n_batches == lower_bound */
	uint8_t batch_of[GSB_PLAN_KERNELS_MAX]; /* 0 .. n_batches - 1 */
	bool alone[GSB_PLAN_KERNELS_MAX]; /* fills the GPU more than once: runs in rounds, by itself
					   */
	struct gsb_plan_choice choices[GSB_PLAN_KERNELS_MAX];
	uint8_t order[GSB_PLAN_KERNELS_MAX]; /* batch by batch, in each as gsb_plan.order */
};

/**
 * gsb_plan_batches() - both stages: batches and the geometry of every kernel
 *
 * Never more batches than first fit decreasing gives, where the kernels go by the largest share of
 * any capacity of the GPU that they take as they came, and stage 1 with the same @in->max_steps
 * says what fits.
 *
 * Context: as gsb_plan_together(), which is asked up to about n^2 / 2 times.
 * Return:  0; -EINVAL; -ENOSPC: a kernel of which no block fits an SM.
 */
int gsb_plan_batches(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		     struct gsb_plan_batches *out);

#endif
