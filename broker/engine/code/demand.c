/*
 * demand.c - see demand.h.
 */
#include "broker/engine/code/demand.h"

#include <stddef.h>

struct gsb_warp_demand *gsb_demand_find(struct gsb_warp_demand *demands, uint32_t threads,
					uint32_t n_blocks_log2)
{
	for (unsigned i = 0; i < GSB_N_DEMANDS; i++) {
		struct gsb_warp_demand *d = &demands[i];

		if (!d->n_threads || (d->n_threads == threads && d->n_blocks_log2 == n_blocks_log2))
			return d;
	}
	return NULL;
}
