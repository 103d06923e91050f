/*
 * split.h - the tree of splits of a warp: see state.h.
 */
#ifndef GSB_DEVICE_EMU_EXEC_SPLIT_H
#define GSB_DEVICE_EMU_EXEC_SPLIT_H

#include "device/emu/exec/tally.h"

/* A fresh node, or NODE_NONE without memory. May move warp->nodes. */
uint16_t gsb_emu_node_new(struct gsb_emu_warp *w);
void gsb_emu_node_free(struct gsb_emu_warp *w, uint16_t n);
/* A child of @n has arrived or vanished. */
void gsb_emu_node_child_done(struct gsb_emu_warp *w, uint16_t n);

/*
 * Lanes that have waited at joins for at least @age instructions of the warp go on without the others:
 * these may be waiting for them. Returns whether there were any.
 */
bool gsb_emu_release(struct gsb_emu_exec *x, struct gsb_emu_warp *w, uint64_t age);

/* Count the instructions of the running split for its lanes, before these change. */
static inline void gsb_emu_count_lanes(struct gsb_emu_exec *x)
{
	uint64_t now = gsb_emu_insns(x);

	x->block->stats.n_lane_insns += (now - x->lanes_since) * gsb_emu_count(x->split_mask);
	x->lanes_since = now;
}

/* Only x->mask changes: a guard. Whole rows may be written when all other lanes are gone: nobody will
 * read theirs again. */
static inline void gsb_emu_set_guard(struct gsb_emu_exec *x, uint32_t mask)
{
	x->mask = mask;
	x->handlers = x->block->isa->handlers[mask != x->warp->live];
}

/* The split goes on with other lanes; x->mask too. */
static inline void gsb_emu_set_mask(struct gsb_emu_exec *x, uint32_t split_mask)
{
	gsb_emu_count_lanes(x);
	x->split_mask = split_mask;
	gsb_emu_set_guard(x, split_mask);
}

/* Make node @n of the warp the split that executes; what executed before is settled. */
void gsb_emu_enter(struct gsb_emu_exec *x, uint16_t n);
/* Remember where the split that executes goes on. */
void gsb_emu_leave(struct gsb_emu_exec *x, uint32_t pc);

/* Lanes of the running split are at the join @n. */
void gsb_emu_arrive(struct gsb_emu_exec *x, uint16_t n, uint32_t lanes);

/* The running split has no lanes left: its place in the tree goes. */
const struct gsb_emu_op *gsb_emu_vanish(struct gsb_emu_exec *x);

/*
 * Make the parent of the running split a join at op @rejoin, if it is not one already. Returns false
 * without memory. A place that no lane reaches together needs no node.
 */
bool gsb_emu_join_at(struct gsb_emu_exec *x, uint32_t rejoin);

/* Lanes of the running split become one of their own beside it, at op @pc: its node, or NODE_NONE without
 * memory. The mask of the running split is for the caller to change. */
uint16_t gsb_emu_split_off(struct gsb_emu_exec *x, uint32_t lanes, uint32_t pc);

/* Could node @other, which runs at @pc, be one with @n, which is there too? */
bool gsb_emu_side_by_side(const struct gsb_emu_warp *w, uint16_t n, uint16_t other, uint32_t pc);
/* Node @n goes, for another has its lanes: these. */
uint32_t gsb_emu_take_lanes(struct gsb_emu_warp *w, uint16_t n);
/* The running split goes on at op @pc, and takes along all that are there beside it. */
void gsb_emu_absorb(struct gsb_emu_exec *x, uint32_t pc);

/* Send lanes of the running split to another op, as a split of their own or to the join. */
bool gsb_emu_send(struct gsb_emu_exec *x, uint32_t lanes, uint32_t target);

#endif
