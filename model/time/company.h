/*
 * company.h - kernels that have blocks on one SM: how fast each of them is beside the others, and beside what runs elsewhere.
 *
 * A neighbour takes what its blocks are seen to do, not what its warps could: one that waits for memory leaves the
 * issue slots to others, and on other SMs it costs nothing but bandwidth. What a kernel does is known once a block of
 * it has ended, and then it also says what it asks for, so that the law reckons queues (law.h). Until then it is taken to load a line of memory at
 * every sixteenth instruction of a warp, and to have blocks as long as those of the others, and speeds beside it go by the table.
 */
#ifndef GSB_MODEL_TIME_COMPANY_H
#define GSB_MODEL_TIME_COMPANY_H

#include "gsb/arch.h"
#include "model/gpu/interference.h"
#include "model/time/block_time.h"

/* Of a speed: that of a kernel with nobody else on the device. */
#define GSB_FULL_SPEED 1024

/* Blocks of a kernel that have ended, added up. */
struct gsb_block_profile {
	struct gsb_block_work sum;
	uint64_t n_blocks;
};

void gsb_block_profile_add(struct gsb_block_profile *p, const struct gsb_block_work *block);
/* What one block does in the mean; a guess, of another length, while none has ended. */
struct gsb_block_work gsb_block_profile_mean(const struct gsb_block_profile *p,
					     uint32_t block_warps);

/* A grid that has blocks on the SM in question. */
struct gsb_neighbour {
	struct gsb_block_work mean; /* of a block */
	bool is_guess;
	uint32_t sm_blocks;	/* on this SM */
	uint64_t device_blocks; /* on all of them */
};

/* Grids that are on other SMs alone, taken together. */
struct gsb_elsewhere {
	double dram; /* share of the memory's bandwidth that they want; more than 1 is as good as 1 */
	uint64_t warps; /* of those that want any */
};

/**
 * gsb_company_demand() - what a kernel wants of each unit, as the clock of the emulated device knows it
 * @block:      of it
 * @on_sm:      such blocks that an SM does in a second       @on_device: that all do together
 * @units:      shares, 0 .. 1. Unknown, and so 0, are those of which blocks are not counted
 *
 * Source:  gsb_counts_demand(); the device has no caches, and an access of shared memory is taken for one pass.
 * Context: pure, any thread.
 */
void gsb_company_demand(const struct gsb_arch *arch, const struct gsb_block_work *block,
			double on_sm, double on_device, double units[GSB_N_UNITS]);

/* Share of the memory's bandwidth that a grid wants which has the device for itself, as far as its blocks are placed. */
double gsb_company_dram(const struct gsb_arch *arch, const struct gsb_neighbour *k);

/**
 * gsb_company_speeds() - speeds of the grids on an SM
 * @f, @arch:  the GPU
 * @here, @n:  all that have blocks on it; of more than the law takes (law.h) the last are as slow as the slowest
 * @away:      the others
 * @speeds:    of each, in 1 / GSB_FULL_SPEED of what it has with its blocks where they are and nobody else; at least 1
 *
 * Source:  gsb_law_speeds().
 * Context: pure, any thread.
 */
void gsb_company_speeds(const struct gsb_interference *f, const struct gsb_arch *arch,
			const struct gsb_neighbour *here, unsigned int n,
			const struct gsb_elsewhere *away, uint32_t *speeds);

#endif
