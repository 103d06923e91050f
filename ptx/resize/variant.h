/*
 * variant.h - what a launch of a rewritten kernel passes, and which launches make up one of the original.
 *
 * A variant takes the original's parameters and, behind them at the next multiple of 8, one of the structs below by
 * value. rewrite.h says what each form does. Numbers of blocks here are of the grid that the program asked for,
 * the logical one; a launch of ours is physical. Blocks are counted x first, then y, then z.
 */
#ifndef GSB_PTX_RESIZE_VARIANT_H
#define GSB_PTX_RESIZE_VARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_VARIANT_MAX_BLOCKS ((uint32_t)1 << 31) /* of a grid that the persistent form counts */
#define GSB_VARIANT_MAX_BATCH  ((uint32_t)1 << 16)
#define GSB_VARIANT_NO_LIMIT   UINT32_MAX /* of max_tiles */
#define GSB_VARIANT_NO_TIME    UINT64_MAX /* of max_ns */
#define GSB_VARIANT_SM_WORDS   16	  /* of 32 SMs each */

/* Of a slice: a box of blocks, launched with the box as its grid. */
struct gsb_variant_slice {
	uint32_t first[3]; /* its first block */
	uint32_t grid[3];  /* the logical grid */
};

/* In device memory, all 0 before the first launch of a grid; the next launch goes on where the last one stopped. */
struct gsb_variant_control {
	uint32_t next; /* tile; past the end when it is at least the total */
	uint32_t stop; /* not 0: blocks end before they fetch another tile */
	uint32_t keep_off[GSB_VARIANT_SM_WORDS]; /* by bit of %smid: blocks there end likewise */
};

/* Of persistent blocks: any number of them, as a 1-D grid. A tile is a block of the logical grid. */
struct gsb_variant_persistent {
	uint64_t control; /* device address of a gsb_variant_control */
	uint32_t grid[3]; /* logical */
	uint32_t total;	  /* tiles: product of these */
	uint32_t batch;	  /* tiles a fetch: 1, and more where tiles are short; at most MAX_BATCH */
	uint32_t max_tiles; /* lifetime of a block: at least 1, or NO_LIMIT */
	uint64_t max_ns;    /* no fetch after so long: at least 1, or NO_TIME */
};

/* Of counting: the words of rewrite_count.h. */
struct gsb_variant_count {
	uint64_t words; /* device address, zeroed */
	uint32_t every; /* one warp of so many is counted, all with 1 */
	uint32_t zero;
};

/* The product; 0 when it is over GSB_VARIANT_MAX_BLOCKS. */
uint32_t gsb_variant_total(const uint32_t grid[3]);

/**
 * gsb_variant_slice_next() - the next box of at most so many blocks, in ascending order without a gap
 * @done:  blocks so far, 0 at first; grows by the box
 * @size:  the grid to launch
 *
 * Boxes are whole planes, else whole rows of one plane, else a part of one row: a slice needs no division.
 * Return: false when all are done.
 */
bool gsb_variant_slice_next(const uint32_t grid[3], uint64_t *done, uint32_t most,
			    struct gsb_variant_slice *out, uint32_t size[3]);

/**
 * gsb_variant_reshapes() - other ways to cut the threads of a 1-D grid that keep their number
 * @step:  threads of a block must be a multiple of it: 32 where warps count, else 1
 * @most:  threads that a block may have
 * @out:   threads of a block, ascending, with @threads itself; @room of them at most
 *
 * Return: how many there are; the grid of each is blocks * threads / it.
 */
size_t gsb_variant_reshapes(uint32_t blocks, uint32_t threads, uint32_t step, uint32_t most,
			    uint32_t *out, size_t room);

/* One warp of about @want in all is counted: @every such that all places in a block have their turn. */
uint32_t gsb_variant_every(uint64_t n_blocks, uint32_t warps_per_block, uint64_t want);

#endif
