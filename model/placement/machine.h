/*
 * machine.h - the SM array of a GPU as a discrete-event model: which block runs where, from when.
 *
 * One model for the emulated device, the planner's what-if and gsb-model. The caller drives it and
 * owns the clock: it submits grids, asks for placements, says when each placed block ends, and takes
 * the ends in order of time. How long a block runs is the caller's business (executed and counted,
 * predicted, or given), so that this file knows geometry and order alone.
 *
 *	for (;;) {
 *		while (gsb_machine_place(m, &block))
 *			gsb_machine_set_end(m, block.slot, now + duration of that block);
 *		if (!gsb_machine_next_end(m, &now))
 *			break;
 *		while (gsb_machine_end(m, now, &block))
 *			...;  block.is_last: its grid has ended
 *	}
 *
 * The rules (Li et al. 2014, §IV; Cruz et al., Algorithm 1; measured again on an H200):
 *  - partitions: a grid is submitted with a range of SMs, and its blocks go to these alone;
 *  - leftover: on each SM grids take resources in order of priority, then of submission; what one
 *    leaves is for the next;
 *  - head of line: while a grid has blocks that are not placed, no grid behind it places any on the
 *    SMs of its range. On other SMs they do, also a grid whose range overlaps with it;
 *  - breadth first: a block goes to the SM with most free warps, of equal ones to the lowest number,
 *    of those on which its grid is the first in line;
 *  - immediate refill: what an ending block frees is used in the same instant, once all ends of that
 *    instant have been taken;
 *  - at most arch->max_resident_grids grids have blocks on the SMs; a cooperative grid starts when
 *    all its blocks fit at once.
 *  - the blocks of a cluster are placed one after the other in one instant, when all of them fit the SMs of one GPC
 *    (gsb_arch_gpc(): an H200 has eight), breadth first among these;
 *  - a grid that is submitted after another stands in line, and starts when that one has ended. Who submits
 *    each grid only when its stream is ready for it has as many queues as streams (Hyper-Q); who
 *    submits all at once, in the order of issue, has the one queue of GPUs before it, in which all wait
 *    behind one that waits for its stream.
 * Blocks of grids that are first in line on different SMs are placed in any, always the same order.
 * Ends of one instant come in the order of placement, so the same calls give the same sequence.
 *
 * Pure: no clock, no thread, no file. One owner. Allocates in create and submit alone.
 */
#ifndef GSB_MODEL_PLACEMENT_MACHINE_H
#define GSB_MODEL_PLACEMENT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/arch.h"
#include "gsb/kernel.h"
#include "gsb/sm_range.h"
#include "model/placement/occupancy.h"

struct gsb_machine;

/* A grid that is waiting or running; from submit until the end that says is_last, or drop. */
struct gsb_machine_grid;

struct gsb_machine_submit {
	struct gsb_kernel kernel;
	struct gsb_sm_range sms;
	int priority;			/* as of streams: lower goes first */
	bool cooperative;		/* all blocks at once, or none */
	uint32_t cluster;		/* blocks that are placed together; 0, 1: each by itself */
	struct gsb_machine_grid *after; /* has not ended; NULL: it may start at once */
	void *owner;			/* comes back in each block */
};

#define GSB_NO_SLOT UINT32_MAX

struct gsb_machine_block {
	void *owner;	/* of the grid */
	uint64_t index; /* of the block in its grid; blocks are placed in ascending order */
	uint32_t sm;
	uint32_t slot; /* names the block while it is placed */
	bool is_last;  /* at an end: no block of the grid is left; the grid is gone */
	uint32_t soon; /* at an end: a slot that likely ends a few after it; or GSB_NO_SLOT */
};

/**
 * gsb_machine_create() - an empty GPU
 * @arch:  copied
 * @rules: allocation and order; kept, so one of the constants of occupancy.h
 *
 * Return: 0, -EINVAL (gsb_arch_check()), -ENOMEM.
 */
int gsb_machine_create(const struct gsb_arch *arch, const struct gsb_rules *rules,
		       struct gsb_machine **out);
void gsb_machine_destroy(struct gsb_machine *m); /* NULL is fine */

/**
 * gsb_machine_clone() - another GPU with the same grids waiting and the same blocks placed, to ask what if
 * @m:   as it was when this returns
 * @out: owners, slots and ends are those of @m; written only on success
 *
 * Return: 0, -ENOMEM.
 */
int gsb_machine_clone(struct gsb_machine *m, struct gsb_machine **out);

/**
 * gsb_machine_submit() - put a grid behind all of its priority
 * @out: written only on success
 *
 * Return: 0; -EINVAL: no blocks, not whole clusters, a block that the arch forbids, or a range that it cannot give
 *         (gsb_arch_find_sms()); -ENOSPC: a block fits no empty SM, a cluster no
 *         empty GPC, or a cooperative grid not its empty SMs; -ENOMEM.
 */
int gsb_machine_submit(struct gsb_machine *m, const struct gsb_machine_submit *s,
		       struct gsb_machine_grid **out);

/* How many clusters of its grid fit the empty GPU at once. 0, or the errors of submit for one block. */
int gsb_machine_clusters(const struct gsb_machine *m, const struct gsb_machine_submit *s,
			 uint64_t *out);

/* Would submit take it, memory apart? */
int gsb_machine_check(const struct gsb_machine *m, const struct gsb_machine_submit *s);

/*
 * The next block that goes to an SM now; false when none can. Its end is not known yet. O(log SMs), but O(SMs) when
 * another grid comes first in line, and for the first block of a cooperative one.
 */
bool gsb_machine_place(struct gsb_machine *m, struct gsb_machine_block *out);

/* A placed block will end at that time, whatever was said of it before; not in the past of other ends. */
void gsb_machine_set_end(struct gsb_machine *m, uint32_t slot, uint64_t time);

/* The earliest known end; false when there is none. Blocks whose end is unknown may come before. */
bool gsb_machine_next_end(const struct gsb_machine *m, uint64_t *time);

/* Blocks that are placed and whose end has not been said. */
uint32_t gsb_machine_n_open(const struct gsb_machine *m);

/* Take the next block that ends at or before that time off its SM; false when there is none. */
bool gsb_machine_end(struct gsb_machine *m, uint64_t time, struct gsb_machine_block *out);

/*
 * No further block of the grid is placed. True: none is running, the grid is gone. False: the end of
 * its last running block says is_last, as always.
 */
bool gsb_machine_drop(struct gsb_machine *m, struct gsb_machine_grid *grid);

/* As drop, and the blocks that are placed all end at that time, whatever was said of them before. */
bool gsb_machine_kill(struct gsb_machine *m, struct gsb_machine_grid *grid, uint64_t time);

/* Blocks and warps on an SM now. */
uint32_t gsb_machine_sm_blocks(const struct gsb_machine *m, uint32_t sm);
uint32_t gsb_machine_sm_warps(const struct gsb_machine *m, uint32_t sm);

#endif
