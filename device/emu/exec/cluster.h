/*
 * cluster.h - the shared memory of a cluster: which block's an address is, and where it lies.
 *
 * An address has the rank of its block in the bits from GSB_EMU_RANK_SHIFT on, as on a GPU. So rank 0, and a block that is
 * alone, have plain offsets, and a generic address is the same number more. Code that never asks for its cluster has
 * offsets only, and its blocks are alone.
 */
#ifndef GSB_DEVICE_EMU_EXEC_CLUSTER_H
#define GSB_DEVICE_EMU_EXEC_CLUSTER_H

#include "device/emu/exec/state.h"

#define GSB_EMU_OFFSET_MASK ((UINT64_C(1) << GSB_EMU_RANK_SHIFT) - 1)

static inline uint64_t gsb_emu_rank_base(const struct gsb_emu_block *b)
{
	return (uint64_t)b->rank << GSB_EMU_RANK_SHIFT;
}

static inline uint64_t gsb_emu_shared_window(const struct gsb_emu_block *b)
{
	return GSB_EMU_SHARED_WINDOW + gsb_emu_rank_base(b);
}

/* The same place as that of @addr, in the block of that rank. */
static inline uint64_t gsb_emu_place_in(uint64_t addr, uint32_t rank)
{
	return (addr & GSB_EMU_OFFSET_MASK) | (uint64_t)rank << GSB_EMU_RANK_SHIFT;
}

/* Whose an address is, of SHARED (the block's own alone, also as a plain offset) or CLUSTER. NULL: nobody's who may be reached so. */
struct gsb_emu_block *gsb_emu_cluster_owner(struct gsb_emu_block *b, enum gsb_ptx_space space,
					    uint64_t addr);

/* What is wrong with such an address in the block of that rank, with the code that a GPU gave. CUDA_SUCCESS: nothing. */
CUresult gsb_emu_cluster_wrong(const struct gsb_emu_block *b, enum gsb_ptx_space space,
			       uint64_t rank, const char **why);

/* Where [addr, addr + len) lies; NULL: nowhere. */
unsigned char *gsb_emu_cluster_at(struct gsb_emu_block *b, enum gsb_ptx_space space, uint64_t addr,
				  uint64_t len);

/* A block has nobody more that can run. True: others of its cluster have, and it waits for them. */
bool gsb_emu_cluster_waits(struct gsb_emu_block *b);
/* Threads of all its blocks that live. */
uint32_t gsb_emu_cluster_threads(const struct gsb_emu_cluster *c);

#endif
