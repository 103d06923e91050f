/*
 * lanes.h - how far apart the addresses are that the lanes of a warp use: private to the rewriter.
 *
 * What is said holds where all 32 lanes of a warp have come the same way so far, together, and stand in a row on x of their
 * block: who uses it sees to that while the kernel runs. Then no branch has told the lanes apart, and what a register holds is what the
 * instructions of that one way have made of it.
 */
#ifndef GSB_PTX_RESIZE_LANES_H
#define GSB_PTX_RESIZE_LANES_H

#include <stdint.h>

#include "base/arena.h"
#include "ptx/kernel.h"

#define GSB_LANES_APART INT32_MIN
#define GSB_LANES_MOST	(1 << 20)

/**
 * gsb_lanes_strides() - of each instruction of the entry that has an address
 * @out: by instruction: bytes from one lane's address to the next one's, at most GSB_LANES_MOST either way; else
 *       GSB_LANES_APART
 *
 * An index of 32 bits that wraps between two lanes of a warp is not seen: it parts the addresses once, at a place that is as
 * aligned as the next would have been.
 *
 * Context: pure. Return: 0; -ENOMEM. A kernel that takes too long to look at has no strides.
 */
int gsb_lanes_strides(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k,
		      struct gsb_arena *arena, const int32_t **out);

#endif
