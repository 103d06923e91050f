/*
 * company.h - what a block finds on its SM and on the device, and how much slower that makes it.
 *
 * A neighbour takes what its blocks are seen to do, not what its warps could: one that waits for memory leaves the
 * issue slots to others, and on other SMs it costs nothing but bandwidth. What a kernel does is known once a block of
 * it has ended; until then it is taken to want as much for each warp as whoever stands beside it.
 */
#ifndef GSB_MODEL_TIME_COMPANY_H
#define GSB_MODEL_TIME_COMPANY_H

#include "gsb/arch.h"
#include "model/gpu/interference.h"
#include "model/time/block_time.h"

/* Blocks of a kernel that have ended, added up. */
struct gsb_block_profile {
	struct gsb_block_work sum;
	uint64_t n_blocks;
};

void gsb_block_profile_add(struct gsb_block_profile *p, const struct gsb_block_work *block);

/* A grid that has blocks on the device. */
struct gsb_neighbour {
	const struct gsb_block_profile *profile;
	uint32_t block_warps;
	uint32_t sm_blocks;	/* on the SM that it is about */
	uint64_t device_blocks; /* on all of them */
};

/**
 * gsb_company_find() - the company of a block
 * @f, @arch:  the GPU
 * @all, @n:   all grids that have blocks on it, in the order in which they came
 * @self:      the block's own, one of them
 *
 * In whole numbers: speeds are rounded to 1 / GSB_FULL_SPEED.
 *
 * Context: pure, any thread.
 */
struct gsb_block_company gsb_company_find(const struct gsb_interference *f,
					  const struct gsb_arch *arch,
					  const struct gsb_neighbour *all, unsigned int n,
					  unsigned int self);

#endif
