/*
 * plan.h - the two-stage model: geometries under which several kernels share each SM, and batches
 * when they do not all fit.
 *
 * Seed: Li, Tu, Zeng, "Concurrent query processing in a GPU-based database system" (here: Li 2019).
 * Stage 1 chooses warps per block and blocks per SM for every kernel, with the threads of each
 * kernel kept, so that all are resident at once with the least shared memory (eq. 9-15). The
 * printed Algorithm 1 cannot be executed and forgets the registers; plan.c says what is done
 * instead. Stage 2 splits what does not fit into the fewest batches (eq. 16-30, batch.h) and runs
 * stage 1 in each.
 */
#ifndef GSB_MODEL_PAPERS_PLAN_H
#define GSB_MODEL_PAPERS_PLAN_H

#include "model/placement/occupancy.h"

#define GSB_PLAN_KERNELS_MAX 64
#define GSB_PLAN_GROUP_MAX   8 /* SMs grouped as one at most */

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
};

struct gsb_plan_choice {
	uint32_t threads_per_block;
	uint64_t n_blocks;	   /* of the grid */
	uint32_t blocks_per_group; /* b_i: on each group of SMs */
	uint32_t smem_bytes;	   /* of a block, without the driver's reserve */
};

struct gsb_plan {
	uint32_t n_kernels;
	uint32_t sms_per_group; /* 1; more when only a group of SMs holds all (Li 2019, "group two
				   MPs") */
	uint32_t warps, regs, smem_bytes, blocks; /* used on each group, in allocated units */
	bool regs_mattered; /* the plan without registers, as printed, would not have fitted */
	bool exact; /* least shared memory of all plans; false: tables were too large, rounded */
	uint8_t order
		[GSB_PLAN_KERNELS_MAX]; /* submit in this order: then all of them are resident */
	struct gsb_plan_choice choices[GSB_PLAN_KERNELS_MAX];
};

/* Tables for the calls below; grows on demand and is kept. One per planner, not shared by threads.
 */
struct gsb_plan_work;
struct gsb_plan_work *gsb_plan_work_create(void);
void gsb_plan_work_destroy(struct gsb_plan_work *work);

/**
 * gsb_plan_together() - stage 1: one geometry per kernel, all resident at once
 * @out: least shared memory, registers respected; written only on success
 *
 * Source:  Li 2019, eq. 9-15, Theorem 1, with registers as a further dimension of the table.
 * Context: any thread with its own @work; allocates only when the tables grow.
 * Return:  0; -EINVAL; -ENOSPC: they cannot be resident together, make batches; -ENOMEM.
 */
int gsb_plan_together(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      struct gsb_plan *out);

struct gsb_plan_batches {
	uint32_t n_batches;
	uint32_t lower_bound; /* no fewer batches are possible */
	bool proven;	      /* n_batches is least for the sizes given to stage 2 */
	uint8_t batch_of[GSB_PLAN_KERNELS_MAX]; /* 0 .. n_batches - 1 */
	bool alone[GSB_PLAN_KERNELS_MAX]; /* fills the GPU more than once: runs in rounds, by itself
					   */
	struct gsb_plan_choice choices[GSB_PLAN_KERNELS_MAX];
};

/**
 * gsb_plan_batches() - both stages: batches and the geometry of every kernel
 *
 * Context: as gsb_plan_together().
 * Return:  0; -EINVAL; -ENOSPC: a kernel of which no block fits an SM; -ENOMEM.
 */
int gsb_plan_batches(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		     struct gsb_plan_batches *out);

#endif
