/*
 * cfg.h - basic blocks, edges, dominators and post-dominators of one function.
 *
 * A block is a run of instructions entered at the top and left at the bottom. A guarded exit, ret
 * or trap ends no block and makes no edge: lanes that leave are gone, and a reconvergence point is
 * a place for those that stay. Block n_blocks is the virtual exit, GSB_PTX_EXIT(cfg): every
 * unguarded leave goes there, and so does the post-dominator of a block from which no exit can be
 * reached.
 */
#ifndef GSB_PTX_CFG_H
#define GSB_PTX_CFG_H

#include "ptx/ptx.h"

#define GSB_PTX_MAX_EDGES ((uint64_t)1 << 24) /* branch targets of one function, repeats included */

struct gsb_ptx_block {
	uint32_t first;		     /* instruction */
	uint32_t n_insns;	     /* at least 1 */
	const uint32_t *succ, *pred; /* block numbers, each once; the exit may be among succ */
	uint32_t n_succ, n_pred;
	uint32_t idom;	/* immediate dominator; GSB_PTX_NONE for the entry and unreachable blocks */
	uint32_t ipdom; /* immediate post-dominator, maybe the exit */
	bool reachable;
};

struct gsb_ptx_cfg {
	const struct gsb_ptx_func *func;
	struct gsb_ptx_block *blocks; /* in text order; 0 is the entry */
	uint32_t n_blocks;
	const uint32_t *block_of; /* by instruction */
	const uint32_t *rpo;	  /* reachable blocks in reverse post-order */
	uint32_t n_rpo;
};

#define GSB_PTX_EXIT(cfg) ((cfg)->n_blocks)

/**
 * gsb_ptx_cfg_build() - blocks and edges of a function with a body
 * @arena: everything in @out lives there
 *
 * Context: pure, O(m log n) for any text (Lengauer and Tarjan).
 * Return:  0, -ENOMEM, -EINVAL (no body), -E2BIG (over GSB_PTX_MAX_EDGES).
 */
int gsb_ptx_cfg_build(const struct gsb_ptx_func *func, struct gsb_arena *arena,
		      struct gsb_ptx_cfg *out);

/* Where the lanes of a branch at instruction @insn meet again: the first instruction of its block's
 * immediate post-dominator, or GSB_PTX_NONE when that is the exit. */
uint32_t gsb_ptx_cfg_reconvergence(const struct gsb_ptx_cfg *cfg, uint32_t insn);

#endif
