/*
 * cluster_run.c - how the blocks of a cluster run.
 *
 * One thread runs them in turn, each for a slice or until its threads wait, so that what one does to another's shared
 * memory needs no care. A block of which all threads wait at the cluster's barrier, or for those that do, is stuck until
 * another one opens the barrier. When all are, it is a hang.
 */
#include <errno.h>
#include <stdlib.h>

#include "device/emu/exec/cluster.h"

#define SLICE 16384 /* instructions of a block, then the next one's turn comes */

/* ---- turns ---- */

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
