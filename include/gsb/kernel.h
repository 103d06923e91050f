/*
 * kernel.h - what one kernel needs, per block, and how large its grid is.
 * The currency between the code readers, the models and the planner.
 */
#ifndef GSB_KERNEL_H
#define GSB_KERNEL_H

#include <stdint.h>

struct gsb_kernel {
	uint32_t threads_per_block; /* 1 .. arch.max_threads_per_block */
	uint32_t regs_per_thread;   /* as the compiler reports them; 0 = not known, costs nothing */
	uint32_t smem_bytes;	    /* static + dynamic, per block, without the driver's reserve */
	uint64_t n_blocks;	    /* grid size, all axes multiplied */
};

#endif
