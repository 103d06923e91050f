/*
 * demand.h - what a warp of a kernel asks of an SM, as a launch of its counting form has found it: once for each size of
 * blocks and each order of magnitude of the grid.
 */
#ifndef GSB_BROKER_ENGINE_CODE_DEMAND_H
#define GSB_BROKER_ENGINE_CODE_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/resize/rewrite_count.h"

#define GSB_N_DEMANDS	 4    /* of a kernel; further ones are not counted */
#define GSB_DEMAND_WARPS 2048 /* about so many of a launch are counted */

struct gsb_cmd_launch;
struct gsb_fence;
struct gsb_kernel_fn;
struct gsb_tenant;

/* Of launches with so many threads a block, and 2^n_blocks_log2 blocks or up to twice that: sums over the warps counted. */
struct gsb_warp_demand {
	uint32_t n_threads; /* 0: none yet */
	uint32_t n_blocks_log2;
	struct gsb_count sum;
};

/* Among GSB_N_DEMANDS, the one for so many threads and blocks, or the first that is none yet; NULL: all are others. */
struct gsb_warp_demand *gsb_demand_find(struct gsb_warp_demand *demands, uint32_t n_threads,
					uint32_t n_blocks_log2);
/* Where the demand of such a launch stands, or is to stand; NULL: there is no more room. */
struct gsb_warp_demand *gsb_demand_of(const struct gsb_kernel_fn *fn,
				      const struct gsb_cmd_launch *l);
/* Would a launch that counts tell something new? */
bool gsb_demand_is_wanted(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l);
/* One warp in so many is counted. */
uint32_t gsb_demand_every(const struct gsb_cmd_launch *l);

/*
 * gsb_demand_note() - a launch has counted
 * @fence: that its operation holds: until the words are understood, the kernel stays
 * @words: what it has written; consumed
 */
void gsb_demand_note(struct gsb_tenant *t, struct gsb_kernel_fn *fn, struct gsb_fence *fence,
		     const struct gsb_cmd_launch *l, uint64_t *words);

#endif
