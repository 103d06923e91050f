/*
 * arch.h - the limits of a GPU, as the models and the emulated device need them.
 */
#ifndef GSB_ARCH_H
#define GSB_ARCH_H

#include <stdint.h>

#define GSB_ARCH_NAME_MAX 32
#define GSB_WARP_SIZE	  32

/* Results that an SM gives in a cycle, by the pipe; of a warp's instruction there are 32. */
struct gsb_arch_rates {
	uint32_t alu;  /* whole numbers and logic: adds, comparisons, shifts */
	uint32_t imul; /* products of whole numbers, added to or not */
	uint32_t
		sfu; /* special functions; conversions of floats and counts of bits go the same way */
	uint32_t fp64; /* double precision */
};

/*
 * Counts are per SM unless the name says otherwise; sizes are bytes, registers are 32-bit.
 * "unit" is the granularity in which the hardware hands the resource out.
 */
struct gsb_arch {
	char name[GSB_ARCH_NAME_MAX]; /* "h200", "k40", ... */
	char marketing_name[64];      /* "NVIDIA H200" */
	uint32_t cc_major, cc_minor;  /* compute capability */
	uint32_t n_sms;		      /* of the device */
	uint32_t sm_group;	      /* SMs, of the device: a part of it has a multiple of them */
	uint32_t
		gpc_sms; /* SMs of a GPC, at most: the blocks of a cluster are in one; 0: there are no clusters */
	uint32_t max_warps;		/* resident */
	uint32_t max_blocks;		/* resident */
	uint32_t max_threads_per_block; /* of one block */
	uint32_t regs;			/* register file */
	uint32_t max_regs_per_block;	/* of one block */
	uint32_t max_regs_per_thread;	/* what the ISA can name */
	uint32_t reg_unit;   /* registers, allocated to one warp at a time; 256 = 8 a thread */
	uint32_t warp_unit;  /* a block's warps are rounded up to it for register allocation */
	uint32_t smem_bytes; /* shared memory of one SM */
	uint32_t smem_per_block_bytes;	     /* of one block, without opt-in */
	uint32_t smem_per_block_optin_bytes; /* of one block, with opt-in */
	uint32_t smem_reserved_bytes; /* taken by the driver from each block (1,024 from cc 8.0 on)
				       */
	uint32_t smem_unit_bytes;     /* allocation granularity */
	uint32_t issue_width;	      /* warp instructions per cycle: number of schedulers */
	struct gsb_arch_rates per_cycle;
	uint32_t clock_khz; /* SM clock, boost */
	uint32_t mem_clock_khz;
	uint32_t mem_bus_bits;		    /* width of the memory bus of the device */
	uint64_t mem_bandwidth_bytes_per_s; /* of the device */
	uint64_t mem_bytes;		    /* of the device */
	uint32_t l2_bytes;		    /* of the device */
	uint32_t max_resident_grids;	    /* of the device */
};

#endif
