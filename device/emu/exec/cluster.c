/*
 * cluster.c - see cluster.h; and how the blocks of a cluster run.
 *
 * One thread runs them in turn, each for a slice or until its threads wait, so that what one does to another's shared
 * memory needs no care. A block of which all threads wait at the cluster's barrier, or for those that do, is stuck until
 * another one opens the barrier. When all are, it is a hang.
 */
#include "device/emu/exec/cluster.h"

#include <errno.h>
#include <stdlib.h>

#include "device/emu/exec/fault.h"

#define SLICE 16384 /* instructions of a block, then the next one's turn comes */

/* ---- addresses ---- */

/* With the codes that a GPU gave. A block that is alone has beyond its own memory what each has: nothing. */
static CUresult find_wrong(const struct gsb_emu_block *b, enum gsb_ptx_space space, uint64_t rank,
			   const char **why)
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

	if (find_wrong(b, space, rank, &why))
		return NULL;
	return space == GSB_PTX_SPACE_SHARED ? b : b->cluster->blocks[rank];
}

bool gsb_emu_cluster_refuses(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr)
{
	const char *why;
	CUresult wrong = find_wrong(x->block, space, addr >> GSB_EMU_RANK_SHIFT, &why);

	if (!wrong || wrong == CUDA_ERROR_ILLEGAL_ADDRESS)
		return false;
	gsb_emu_fail(x, wrong, addr, "shared address 0x%llx: %s", (unsigned long long)addr, why);
	return true;
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

static bool is_over(const struct gsb_emu_cluster *c)
{
	return !gsb_emu_cluster_threads(c);
}

/* The next that has threads which may run. None, though some live: those whom they waited for have left, and one of them will find that out. */
static struct gsb_emu_block *next_block(struct gsb_emu_cluster *c)
{
	struct gsb_emu_block *left = NULL;

	for (uint32_t i = 0; i < c->n; i++) {
		struct gsb_emu_block *b = c->blocks[c->next];

		c->next = c->next + 1 < c->n ? c->next + 1 : 0;
		if (!b->live_threads)
			continue;
		if (!b->stuck)
			return b;
		left = b;
	}
	return left;
}

enum gsb_emu_state gsb_emu_cluster_run(struct gsb_emu_cluster *c, uint64_t quantum, uint32_t *rank)
{
	uint32_t n_idle = 0;

	for (uint64_t used = 0; used < quantum && n_idle < c->n; used += SLICE) {
		struct gsb_emu_block *b = next_block(c);
		enum gsb_emu_state state = gsb_emu_block_run(b, SLICE);

		if (state == GSB_EMU_FAULT) {
			*rank = b->rank;
			return state;
		}
		if (is_over(c))
			return GSB_EMU_DONE;
		n_idle = state == GSB_EMU_YIELDED && !b->stuck ? n_idle + 1 : 0;
	}
	return n_idle ? GSB_EMU_YIELDED : GSB_EMU_RUNNING;
}

/* ---- life ---- */

int gsb_emu_cluster_create(const struct gsb_emu_launch *launch, const uint32_t clusterid[3],
			   const uint32_t *smid, struct gsb_emu_cluster **out)
{
	struct gsb_emu_cluster *c = calloc(1, sizeof(*c));
	const uint32_t *n = launch->cluster;
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->n = n[0] * n[1] * n[2];
	for (int i = 0; i < 3; i++)
		c->shape[i] = n[i];
	for (uint32_t i = 0; i < c->n && !err; i++) {
		const uint32_t ctaid[3] = {clusterid[0] * n[0] + i % n[0],
					   clusterid[1] * n[1] + i / n[0] % n[1],
					   clusterid[2] * n[2] + i / n[0] / n[1]};

		err = gsb_emu_block_create(launch, ctaid, smid[i], &c->blocks[i]);
		if (err)
			break;
		c->blocks[i]->cluster = c;
		c->blocks[i]->rank = i;
	}
	if (err) {
		gsb_emu_cluster_destroy(c);
		return err;
	}
	*out = c;
	return 0;
}

void gsb_emu_cluster_destroy(struct gsb_emu_cluster *c)
{
	for (uint32_t i = 0; c && i < c->n; i++)
		gsb_emu_block_destroy(c->blocks[i]);
	free(c);
}

struct gsb_emu_block *gsb_emu_cluster_block(struct gsb_emu_cluster *c, uint32_t rank)
{
	return c->blocks[rank];
}
