/*
 * demand.h - what a warp of a kernel asks of an SM, as a launch of its counting form has found it: once for each size of
 * blocks and each order of magnitude of the grid.
 */
#ifndef GSB_BROKER_ENGINE_CODE_DEMAND_H
#define GSB_BROKER_ENGINE_CODE_DEMAND_H

#include <stdint.h>

#include "ptx/resize/rewrite_count.h"

#define GSB_N_DEMANDS 4 /* of a kernel; further ones are not counted */

/* Of launches with so many threads a block, and 2^n_blocks_log2 blocks or up to twice that: sums over the warps counted. */
struct gsb_warp_demand {
	uint32_t n_threads; /* 0: none yet */
	uint32_t n_blocks_log2;
	struct gsb_count sum;
};

/* Among GSB_N_DEMANDS, the one for so many threads and blocks, or the first that is none yet; NULL: all are others. */
struct gsb_warp_demand *gsb_demand_find(struct gsb_warp_demand *demands, uint32_t n_threads,
					uint32_t n_blocks_log2);

#endif
