/*
 * block_time.h - how long one block runs, from what it did and from what stood beside it.
 *
 * Bounds, and what was measured where it was; the block takes as long as the worst of them: its SM issues so many warp
 * instructions a cycle, has pipes for whole numbers, their products, special functions and double precision that take fewer, and takes one access of memory, of whichever
 * kind, and half a warp at a barrier, shared by the warps that are resident there; a warp waits for its own
 * results and for memory, whoever else is there; the device moves so many bytes a second, shared by
 * all resident warps. These are warps of its own grid, as they were at the instant in which the block was placed; what others cost is
 * a matter of speed (company.h), which changes while it runs (progress.h). A
 * function of counts alone, in whole numbers, so that a run gives the same times on every machine.
 * It grows with each count: the time of what a block has done so far is never more than its time.
 */
#ifndef GSB_MODEL_TIME_BLOCK_TIME_H
#define GSB_MODEL_TIME_BLOCK_TIME_H

#include <stdint.h>

#include "gsb/arch.h"

/* All warps of the block together. */
struct gsb_block_work {
	uint32_t n_warps;
	uint64_t n_insns;     /* warp instructions */
	uint64_t n_alu;	      /* of these: whole numbers and logic, */
	uint64_t n_imul;      /* products of whole numbers, */
	uint64_t n_sfu;	      /* special functions */
	uint64_t n_fp64;      /* and double precision */
	uint64_t n_mem_insns; /* of these: accesses of global memory */
	uint64_t n_shared;    /* and of shared memory */
	uint64_t n_bytes;     /* moved by them */
	uint64_t n_barriers;  /* of the block, once a warp */
	uint64_t sleep_ns;    /* asked for by the kernel */
	uint64_t alone_ns;    /* measured beside none of others; 0: it was not */
};

/* Of its own grid. */
struct gsb_block_company {
	uint32_t sm_warps;     /* resident on its SM, the block's included */
	uint64_t device_warps; /* resident on the device, the block's included */
};

/* At least 1 ns. Pure. arch has passed gsb_arch_check(). */
uint64_t gsb_block_time_ns(const struct gsb_arch *arch, const struct gsb_block_work *work,
			   const struct gsb_block_company *company);

/* The same where it has all units for itself: what it waits for its own results, and sleeps. At most that time. */
uint64_t gsb_block_wait_ns(const struct gsb_arch *arch, const struct gsb_block_work *work);

#endif
