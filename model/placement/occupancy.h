/*
 * occupancy.h - how many blocks of one kernel an SM holds, and in how many rounds a grid runs.
 *
 * Seed: Li et al., "Performance Modeling in CUDA Streams" (here: Li 2014), eq. 1-13. Every model of
 * this room reads the hardware through a struct gsb_rules, so that what a paper prints and what a
 * GPU does are one code with two option sets, never a switch per case. doc/model.md says where they
 * differ.
 */
#ifndef GSB_MODEL_PLACEMENT_OCCUPANCY_H
#define GSB_MODEL_PLACEMENT_OCCUPANCY_H

#include <stdbool.h>

#include "gsb/arch.h"
#include "gsb/kernel.h"

enum gsb_rounding {
	GSB_ROUND_UP,	/* warps and registers to their allocation unit: what GPUs do */
	GSB_ROUND_DOWN, /* Li 2014 eq. 4 and 7 as printed */
};

enum gsb_placement {
	GSB_BREADTH_FIRST, /* as many SMs as possible (Li 2014 rule 1; measured on every GPU we
			      tried) */
	GSB_DEPTH_FIRST,   /* fill an SM before the next: what Cruz et al., Table 5, needs */
};

struct gsb_rules {
	const char *name;
	enum gsb_rounding rounding;
	enum gsb_placement placement;
	bool smem_units; /* add the driver's reserve, round to the unit */
	bool partitions; /* registers lie in warp_unit partitions, a warp in one of them */
	bool literal;	 /* Algorithms 1 and 2 and the constraints 11, 12 to the letter (pair.h) */
};

/* What a GPU does; the default everywhere. */
extern const struct gsb_rules gsb_rules_hardware;
/* The one option set under which the tables of Li 2014 §IV.A and Cruz et al. come out. */
extern const struct gsb_rules gsb_rules_paper;
/* The equations and algorithms to the letter, misprints included. */
extern const struct gsb_rules gsb_rules_printed;

/* "hardware", "paper", "printed"; NULL when unknown. */
const struct gsb_rules *gsb_rules_find(const char *name);

/* In a field of struct gsb_block_need: more than any SM has. */
#define GSB_NEVER_FITS UINT32_MAX

/* What one block takes from an SM, in allocated units. Made by gsb_block_need() only. */
struct gsb_block_need {
	uint32_t warps;		/* >= 1 */
	uint32_t regs_per_warp; /* 0 = costs nothing */
	uint32_t smem_bytes;	/* with reserve and rounding; 0 = costs nothing */
};

/**
 * gsb_block_need() - the cost of one block under the rules
 * @arch, @kernel, @rules: in       @out: written only on success
 *
 * Source:  Li 2014 eq. 4, 7; CUDA C Programming Guide, "Hardware Multithreading".
 * Context: pure, any thread, O(1).
 * Return:  0; -EINVAL: a bad arch, or more threads, registers or shared memory than any block may
 * have.
 */
int gsb_block_need(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
		   const struct gsb_rules *rules, struct gsb_block_need *out);

/* The same for loops that have checked the GPU themselves: only the block is looked at. */
int gsb_block_need_on_checked(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
			      const struct gsb_rules *rules, struct gsb_block_need *out);

/* Bits: what limits the blocks per SM; several may tie. */
enum gsb_limit {
	GSB_LIMIT_WARPS = 1,
	GSB_LIMIT_REGS = 2,
	GSB_LIMIT_SMEM = 4,
	GSB_LIMIT_BLOCKS = 8,
};

#define GSB_NO_LIMIT UINT32_MAX /* the kernel does not use that resource */

struct gsb_occupancy {
	struct gsb_block_need need;
	uint32_t by_warps, by_regs, by_smem,
		by_blocks;	 /* blocks per SM were this the only limit; or GSB_NO_LIMIT */
	uint32_t blocks_per_sm;	 /* beta, eq. 2; 0: not one fits */
	uint32_t threads_per_sm; /* alpha = beta T */
	uint32_t warps_per_sm;	 /* occupancy is warps_per_sm / arch->max_warps, eq. 9 */
	unsigned int limits;	 /* of enum gsb_limit */
};

/**
 * gsb_occupancy() - blocks of one kernel that an SM holds, and what limits them
 * @arch, @kernel, @rules: in; @kernel->n_blocks is not looked at
 * @out:  written only on success
 *
 * Source:  Li 2014 eq. 2-9. With gsb_rules_hardware equal to
 *          cuOccupancyMaxActiveBlocksPerMultiprocessor.
 * Context: pure, any thread, O(1).
 * Return:  0, also when no block fits (blocks_per_sm 0); -EINVAL as gsb_block_need().
 */
int gsb_occupancy(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
		  const struct gsb_rules *rules, struct gsb_occupancy *out);

/**
 * gsb_rounds() - how often the whole GPU must be filled to run the grid
 * @out: ceil(blocks / (blocks per SM x SMs)); 0 for an empty grid; written only on success
 *
 * Source:  Li 2014 eq. 1 = Cruz et al. eq. 1.
 * Context: pure, any thread, O(1).
 * Return:  0; -EINVAL as gsb_block_need(); -ENOSPC: not one block fits an SM.
 */
int gsb_rounds(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
	       const struct gsb_rules *rules, uint64_t *out);

/* A kernel whose block size may be chosen: T x B stays what it is. */
struct gsb_geometry_range {
	struct gsb_kernel kernel;	/* geometry as it came: T and B */
	uint32_t smem_per_thread_bytes; /* added to smem_bytes for each thread of a block */
	uint32_t min_threads;		/* of a block; 0 = one warp */
	uint32_t max_threads;		/* of a block; 0 = what the GPU allows */
};

struct gsb_geometry {
	struct gsb_kernel kernel; /* with the chosen threads_per_block, n_blocks, smem_bytes */
	struct gsb_occupancy occupancy;
	uint64_t rounds;
};

/**
 * gsb_geometry_at() - one point of the range: the kernel cut into blocks of that many threads
 * @n_threads: a whole number of warps that divides T x B, or the original T
 * @out:       written only on success
 *
 * Context: pure, any thread, O(1).
 * Return:  0; -EINVAL: bad input, or T x B cannot be kept; -ENOSPC: no block of that size fits.
 */
int gsb_geometry_at(const struct gsb_arch *arch, const struct gsb_geometry_range *range,
		    uint32_t n_threads, const struct gsb_rules *rules, struct gsb_geometry *out);

/**
 * gsb_best_geometry() - the block size with the fewest rounds
 * @out: of equal rounds the higher occupancy, then the size nearest the original
 *
 * Source:  Li 2014 eq. 10-13. Eq. 11 and 12 (warps must not be the tightest limit) are preferences
 *          there: taken as hard constraints they refuse kernels without registers or shared memory,
 *          so here they break ties after the rounds. doc/model.md#best-geometry.
 * Context: pure, any thread, no allocation.
 * Return:  0, -EINVAL, -ENOSPC: no size fits.
 */
int gsb_best_geometry(const struct gsb_arch *arch, const struct gsb_geometry_range *range,
		      const struct gsb_rules *rules, struct gsb_geometry *out);

#endif
