/*
 * progress.h - blocks that get on beside each other: how far each is, and when it has done its work, at speeds that change while it runs.
 *
 * A block has work, in ns that it would take with nobody but its own grid on the device, and a speed, which it has from its company
 * (company.h) and keeps until that changes: until blocks of others come or go on its SM, until others elsewhere want
 * more or less of the memory, or until more is known of one of them. Then it has done so much, and goes on at another speed.
 *
 *	gsb_progress_add(p, grid, block, sm)	a block stands on an SM from now on
 *	gsb_progress_remove(p, block)		it has left
 *	gsb_progress_settle(p, now, ...)	all that comes or goes at this instant has: speeds are right again
 *	gsb_progress_end_ns(block, work)	when it will have done its work, as things stand
 *
 * Speeds belong to SMs that hold the same number of blocks of the same grids, and are found once for all of these. Of
 * a grid that is alone on the device nothing has to be found.
 *
 * In whole numbers: work is counted in 1 / GSB_FULL_SPEED ns, so that however often speeds change nothing is lost and a
 * run gives the same times everywhere. One owner. Allocates in init alone.
 */
#ifndef GSB_MODEL_TIME_PROGRESS_H
#define GSB_MODEL_TIME_PROGRESS_H

#include <sys/queue.h>

#include "model/time/company.h"

/* A grid of which blocks are placed; the owner's memory. He sets the first two, the rest is 0 before its first block. */
struct gsb_progress_grid {
	const struct gsb_block_profile *profile; /* of its kernel */
	uint32_t block_warps;
	uint64_t n_blocks; /* on the device */
	/* as speeds were found for */
	uint64_t seen_blocks, seen_ended; /* on the device; in the profile */
	struct gsb_block_work mean;
	double dram;
	uint64_t key; /* of each of its blocks, in the sum over an SM */
	uint64_t order;
	TAILQ_ENTRY(gsb_progress_grid)
	link; /* of grids that have blocks, in the order in which they came */
};

struct gsb_progress_block {
	struct gsb_progress_grid *grid; /* NULL: it is not placed */
	uint32_t sm, at;		/* at: in the row of its SM */
	uint32_t speed;
	uint64_t since_ns,
		done; /* since when it has its speed, and what it had done by then, in 1 / GSB_FULL_SPEED ns */
};

struct gsb_progress;

/* The speed of the block is another one from now on. */
typedef void gsb_progress_changed(void *ctx, struct gsb_progress_block *block);

/* @arch, @f: kept. Return: 0, -ENOMEM. */
int gsb_progress_create(const struct gsb_arch *arch, const struct gsb_interference *f,
			struct gsb_progress **out);
void gsb_progress_destroy(struct gsb_progress *p); /* NULL is fine */

/* Its speed is full until the next settle, which tells of it only if it is not. @block: the owner's memory */
void gsb_progress_add(struct gsb_progress *p, struct gsb_progress_grid *grid,
		      struct gsb_progress_block *block, uint32_t sm, uint64_t now_ns);
void gsb_progress_remove(struct gsb_progress *p, struct gsb_progress_block *block);
void gsb_progress_settle(struct gsb_progress *p, uint64_t now_ns, gsb_progress_changed *changed,
			 void *ctx);

/* Of its own grid, as it is now: what gsb_block_time_ns() asks for. */
struct gsb_block_company gsb_progress_company(const struct gsb_progress *p,
					      const struct gsb_progress_block *block);

/* When it will have done so many ns of work at the speed that it has; the later, the more work. */
uint64_t gsb_progress_end_ns(const struct gsb_progress_block *block, uint64_t work_ns);

#endif
