/*
 * tally.h - what a block has executed, counted by runs of ops.
 *
 * Nothing is counted op by op. While ops follow each other in the code, what was executed is known from where they began, by what stands
 * before each (lower/tally.h); whoever goes on elsewhere ends such a run.
 */
#ifndef GSB_DEVICE_EMU_EXEC_TALLY_H
#define GSB_DEVICE_EMU_EXEC_TALLY_H

#include "device/emu/exec/state.h"

/* The run is over with the op that executes; another begins at @next. */
static inline void gsb_emu_run_ends(struct gsb_emu_exec *x, uint32_t next)
{
	x->tally += x->before[gsb_emu_index_of(x, x->op) + 1] - x->before[x->begun];
	x->begun = next;
}

/* Instructions so far, with the one that executes. */
static inline uint64_t gsb_emu_insns(const struct gsb_emu_exec *x)
{
	const gsb_emu_tally *end = &x->before[gsb_emu_index_of(x, x->op) + 1];

	return x->n_insns + x->tally[GSB_EMU_TALLY_INSNS] + (*end)[GSB_EMU_TALLY_INSNS] -
	       x->before[x->begun][GSB_EMU_TALLY_INSNS];
}

/* Bring n_insns and the block's counts up to the op that executes, that one included: at least once in 2^32 instructions. */
static inline void gsb_emu_settle(struct gsb_emu_exec *x)
{
	struct gsb_emu_stats *stats = &x->block->stats;

	gsb_emu_run_ends(x, gsb_emu_index_of(x, x->op) + 1);
	x->n_insns += x->tally[GSB_EMU_TALLY_INSNS];
	stats->n_insns = x->n_insns;
	stats->n_alu += x->tally[GSB_EMU_TALLY_ALU];
	stats->n_imul += x->tally[GSB_EMU_TALLY_IMUL];
	stats->n_sfu += x->tally[GSB_EMU_TALLY_SFU];
	stats->n_fp64 += x->tally[GSB_EMU_TALLY_FP64];
	x->tally = (gsb_emu_tally){0};
}

#endif
