/*
 * sm_range.h - a part of a GPU: neighbouring SMs, on which alone the blocks of a grid may be placed.
 *
 * Ranges may overlap. Between grids whose ranges do not, nothing is shared but the L2, the memory and the copy
 * engines: neither waits for the other's blocks.
 */
#ifndef GSB_SM_RANGE_H
#define GSB_SM_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * first and n are multiples of what the device hands out (sm_group of struct gsb_arch); the last range of a device may
 * end where its SMs do.
 */
struct gsb_sm_range {
	uint32_t first;
	uint32_t n; /* 0, with first 0: all SMs */
};

#define GSB_ALL_SMS ((struct gsb_sm_range){0, 0})

static inline bool gsb_sm_ranges_overlap(struct gsb_sm_range a, struct gsb_sm_range b)
{
	return !a.n || !b.n || (a.first < b.first + b.n && b.first < a.first + a.n);
}

#endif
