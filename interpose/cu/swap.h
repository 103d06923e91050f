/*
 * swap.h - private pages of the program are swapped for pages of the host window with the same bytes, and back. At any time there is one of the
 * two, so other threads may read; who writes to one that is being copied waits (hold.h), and what lies under the caller's feet is swapped from
 * another stack (aside.h).
 */
#ifndef GSB_INTERPOSE_CU_SWAP_H
#define GSB_INTERPOSE_CU_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "interpose/cu/view.h"

/* Whole pages, one behind the other. */
struct gsb_swapped {
	uint64_t addr,
		size; /* where they were when they were swapped; the program may have done anything to them since */
	uint64_t at;	 /* in the window */
	uint8_t *before; /* while a fork takes them away: what they were then; else NULL */
};

/* Whether every page of it is private memory that can be written. CUDA_ERROR_INVALID_VALUE; _NOT_SUPPORTED, which says why. */
CUresult gsb_may_swap(uint64_t begin, uint64_t bytes);

/*
 * The window's pages get the bytes, or what has changed since @before, and are mapped in place of the program's. CUDA_ERROR_OUT_OF_MEMORY: no page has
 * changed; CUDA_ERROR_NOT_SUPPORTED, which says why: likewise; CUDA_ERROR_MAP_FAILED: some are the window's, and stay so.
 */
CUresult gsb_swap(const struct gsb_swapped *p);

/* Whether all of it is still where it was. */
bool gsb_swap_stands(const struct gsb_swapped *p, const struct gsb_views *views);

/*
 * Private ones again, wherever the program has them now, with the access that it has given them; before, if any, gets their bytes, too.
 * @views: of now    Return: false: there is no memory for them.
 */
bool gsb_swap_back(const struct gsb_swapped *p, const struct gsb_views *views);
/* The same where nobody else runs and no window is: in a child of fork. */
bool gsb_swap_private(const struct gsb_swapped *p, const struct gsb_views *views);

#endif
