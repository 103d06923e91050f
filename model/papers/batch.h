/*
 * batch.h - stage 2 of Li 2019: kernels that do not all fit at once, in the fewest batches.
 *
 * Vector bin packing: each kernel takes warps, registers, shared memory and block slots of every SM
 * for as long as its batch runs. Where a short search does not do, Gilmore and Gomory's column generation
 * gives a bound, and prices; a branch and bound over whole batches, bounded by those prices, gives batches
 * that are proven fewest.
 * Eq. 19 and 28 as printed add registers per thread against registers per SM, and blocks are missing;
 * here every size is what all the kernel's blocks on one SM take.
 */
#ifndef GSB_MODEL_PAPERS_BATCH_H
#define GSB_MODEL_PAPERS_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/solvers/knapsack.h"

#define GSB_BATCH_DIMS	    GSB_KNAPSACK_DIMS
#define GSB_BATCH_ITEMS_MAX GSB_KNAPSACK_CLASSES_MAX
#define GSB_BATCH_CAPACITY_MAX \
	(UINT32_MAX / 128) /* so that all items of a dimension can be added */

#define GSB_BATCH_NODES_MAX 10000 /* a few milliseconds */

enum gsb_batch_way {
	GSB_BATCH_COLUMNS_LAST,	 /* a short search first, which mostly does */
	GSB_BATCH_COLUMNS_FIRST, /* column generation whenever there is a gap: as printed */
	GSB_BATCH_NO_COLUMNS, /* the short search alone: for a packing, when the bound is known */
};

struct gsb_batch_problem {
	uint32_t n_items; /* 1 .. GSB_BATCH_ITEMS_MAX */
	uint32_t capacity[GSB_BATCH_DIMS];
	uint32_t size[GSB_BATCH_ITEMS_MAX][GSB_BATCH_DIMS]; /* each at most the capacity */
	enum gsb_batch_way way;
	uint32_t max_nodes; /* of the branch and bound; 0 = GSB_BATCH_NODES_MAX */
};

struct gsb_batch_solution {
	uint32_t n_batches;
	uint32_t lower_bound; /* no fewer hold these sizes */
	bool proven;	      /* n_batches == lower_bound; else the search reached its limit */
	double lp_bound;      /* of the column generation; 0 when it was not needed */
	uint32_t n_columns;   /* patterns that it made */
	uint8_t batch_of[GSB_BATCH_ITEMS_MAX];
};

struct gsb_batch_work;
struct gsb_batch_work *gsb_batch_work_create(void);
void gsb_batch_work_destroy(struct gsb_batch_work *work);

/**
 * gsb_batch_solve() - the fewest batches
 * @out: written only on success
 *
 * Source:  Li 2019 eq. 16-30 and Algorithm 2, corrected: doc/model.md#batches.
 * Context: any thread with its own @work; no allocation; bounded work (the limits in batch.c).
 * Return:  0; -EINVAL: an item larger than the capacity, no items or too many.
 */
int gsb_batch_solve(struct gsb_batch_work *work, const struct gsb_batch_problem *problem,
		    struct gsb_batch_solution *out);

#endif
