/*
 * combine.h - reductions that nobody waits for, put together by a worker before memory sees them.
 *
 * A GPU adds up red.* in its L2. Here each would be a locked instruction on a line that another worker had last, so
 * counts at places that blocks share were no faster on two workers than on one. A worker therefore has lines of its
 * own, a few thousand, in which it combines what its blocks do to a line of memory; memory gets each sum by one locked
 * instruction, and lines in their turn. Only kernels that cannot tell are had (lower/combine.h), and:
 *
 * - A thread finds its own reductions. Blocks stay with a worker while it has something of theirs, and whatever else it
 *   does at a line that it holds, load, store or other atomic, lets go of all of them first.
 * - The first of a line is done in memory, so that a bad address is the fault of its instruction, and lines that are found
 *   once only cost no more than before.
 * - Nothing is kept from others for long: only while the worker executes, and has not said that the blocks have ended,
 *   nor that one has come to the end of its quantum, or only waits (clock/worker.c). Copies and other launches that
 *   come after the kernel so find all of it, and who waits for a count sees it.
 * - Only the device's own memory is combined; what the host may be looking at, or is mapped, is not.
 *
 * Who finds other lines again and again, or rows that lie side by side and so take a whole line in one go, does without.
 */
#ifndef GSB_DEVICE_EMU_EXEC_COMBINE_H
#define GSB_DEVICE_EMU_EXEC_COMBINE_H

#include "device/emu/exec/state.h"

#define GSB_EMU_LINE_SHIFT   6
#define GSB_EMU_LINE_BYTES   (1u << GSB_EMU_LINE_SHIFT)
#define GSB_EMU_N_LINES	     4096 /* words of 32 bits: 65,536 */
#define GSB_EMU_MAX_PATIENCE 2048 /* lanes that find no line of theirs, more than find one */

enum gsb_emu_reduction {
	GSB_EMU_REDUCE_NONE,
#define GSB_EMU_REDUCE(id, ...) GSB_EMU_REDUCE_##id,
#include "device/emu/code/forms.def"
	GSB_EMU_N_REDUCTIONS, /* one of them stands in the low bits of a tag */
};

/* One thread's. */
struct gsb_emu_combiner {
	const struct gsb_emu_memory *memory; /* of the blocks whose lines these are */
	uint64_t low, high;		     /* they lie in [low, high) */
	const struct gsb_emu_launch *launch; /* that was judged last, */
	uint64_t grid_id;		     /* and which one that is */
	int32_t patience;		     /* below 0: it does without */
	uint32_t n_used;
	uint16_t used[GSB_EMU_N_LINES]; /* slots with a line */
	uint64_t tags[GSB_EMU_N_LINES]; /* its address, and what is done to it; 0: none */
	_Alignas(64) unsigned char sums[GSB_EMU_N_LINES][GSB_EMU_LINE_BYTES];
};

static inline unsigned int gsb_emu_slot_of(uint64_t at)
{
	return at >> GSB_EMU_LINE_SHIFT & (GSB_EMU_N_LINES - 1);
}

static inline uint64_t gsb_emu_line_of(uint64_t at)
{
	return at & ~(uint64_t)(GSB_EMU_LINE_BYTES - 1);
}

/* Whether one of the lines may be in [at, at + len). */
static inline bool gsb_emu_combiner_is_near(const struct gsb_emu_combiner *c, uint64_t at,
					    uint64_t len)
{
	return at < c->high && at + len > c->low;
}

/* Whether it has the line of @at, whatever is done to it. */
static inline bool gsb_emu_combiner_has(const struct gsb_emu_combiner *c, uint64_t at)
{
	return gsb_emu_line_of(c->tags[gsb_emu_slot_of(at)]) == gsb_emu_line_of(at);
}

/* The line of @at is had from now on, if its slot is free; its sums are @none, twice if they have 32 bits. */
void gsb_emu_combine_begin(struct gsb_emu_exec *x, uint64_t at, enum gsb_emu_reduction how,
			   uint64_t none);

/* Memory gets what there is, while a block executes. */
void gsb_emu_combine_let_go(struct gsb_emu_exec *x);

/* A row is done; of its lanes @n_missed have found no line. */
void gsb_emu_combine_judge(struct gsb_emu_exec *x, unsigned int n_lanes, unsigned int n_missed);

/* For a block that is about to execute. */
void gsb_emu_combine_enter(struct gsb_emu_exec *x, struct gsb_emu_combiner *c);

#endif
