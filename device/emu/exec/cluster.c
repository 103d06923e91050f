/*
 * cluster.c - see cluster.h.
 */
#include "device/emu/exec/cluster.h"

#include "base/checked.h"

/* ---- addresses ---- */

/* A block that is alone has beyond its own memory what each has: nothing. */
CUresult gsb_emu_cluster_wrong(const struct gsb_emu_block *b, enum gsb_ptx_space space,
			       uint64_t rank, const char **why)
{
	*why = "shared memory has no such address";
	if (rank >= b->cluster->n && b->cluster->n == 1)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	*why = "its cluster has no block of that rank";
	if (rank >= b->cluster->n)
		return CUDA_ERROR_LAUNCH_FAILED;
	*why = "it is another block's, and .shared is the block's own";
	if (space == GSB_PTX_SPACE_SHARED && rank && rank != b->rank)
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	*why = "all threads of the block whose it is have exited";
	if (b->cluster->blocks[rank] != b && !b->cluster->blocks[rank]->live_threads &&
	    space != GSB_PTX_SPACE_SHARED)
		return CUDA_ERROR_LAUNCH_FAILED;
	return CUDA_SUCCESS;
}

struct gsb_emu_block *gsb_emu_cluster_owner(struct gsb_emu_block *b, enum gsb_ptx_space space,
					    uint64_t addr)
{
	uint64_t rank = addr >> GSB_EMU_RANK_SHIFT;
	const char *why;

	if (gsb_emu_cluster_wrong(b, space, rank, &why))
		return NULL;
	return space == GSB_PTX_SPACE_SHARED ? b : b->cluster->blocks[rank];
}

unsigned char *gsb_emu_cluster_at(struct gsb_emu_block *b, enum gsb_ptx_space space, uint64_t addr,
				  uint64_t len)
{
	const struct gsb_emu_block *owner = gsb_emu_cluster_owner(b, space, addr);
	uint64_t at = addr & GSB_EMU_OFFSET_MASK;

	return owner && gsb_range_ok(at, len, owner->shared_bytes) ? owner->shared + at : NULL;
}

/* ---- turns ---- */

bool gsb_emu_cluster_waits(struct gsb_emu_block *b)
{
	const struct gsb_emu_cluster *c = b->cluster;

	b->stuck = true;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->blocks[i]->live_threads && !c->blocks[i]->stuck)
			return true;
	return false;
}

uint32_t gsb_emu_cluster_threads(const struct gsb_emu_cluster *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		n += c->blocks[i]->live_threads;
	return n;
}
