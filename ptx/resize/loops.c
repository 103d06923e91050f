/*
 * loops.c - see loops.h: a way back to a block that dominates where it comes from, and all that lies between.
 */
#include "ptx/resize/loops.h"

/* Edges that go back in the order of the blocks, to this one: are there such from what it dominates? */
static bool is_header(const struct gsb_resize_flow *f, uint32_t block, bool *knot)
{
	const struct gsb_ptx_block *b = &f->cfg.blocks[block];
	bool header = false;

	for (uint32_t i = 0; i < b->n_pred; i++) {
		const uint32_t from = b->pred[i];

		if (f->order[from] == GSB_PTX_NONE || f->order[from] < f->order[block])
			continue;
		if (gsb_resize_dominates(f, block, from))
			header = true;
		else
			*knot = true;
	}
	return header;
}

struct filling {
	uint32_t *blocks, n;
	bool *has;
};

static void take(const struct gsb_resize_flow *f, struct filling *l, uint32_t block)
{
	if (f->order[block] == GSB_PTX_NONE || l->has[block])
		return;
	l->has[block] = true;
	l->blocks[l->n++] = block;
}

/* The blocks from which the end of a way back is reached without passing the header. */
static bool fill(struct gsb_resize_flow *f, uint32_t header, struct gsb_resize_loop *out)
{
	struct filling l = {.has = gsb_resize_alloc(f->a, f->cfg.n_blocks, sizeof(*l.has)),
			    .blocks = f->region};
	const struct gsb_ptx_block *b = &f->cfg.blocks[header];
	uint32_t *blocks;

	if (!l.has)
		return false;
	take(f, &l, header);
	for (uint32_t i = 0; i < b->n_pred; i++)
		if (f->order[b->pred[i]] != GSB_PTX_NONE &&
		    gsb_resize_dominates(f, header, b->pred[i]))
			take(f, &l, b->pred[i]);
	for (uint32_t next = 1; next < l.n && !f->a->err; next++) {
		b = &f->cfg.blocks[l.blocks[next]];
		for (uint32_t i = 0; i < b->n_pred; i++)
			take(f, &l, b->pred[i]);
		gsb_resize_steps(f->a, b->n_pred + 1);
	}
	blocks = gsb_resize_alloc(f->a, l.n, sizeof(*blocks));
	for (uint32_t i = 0; blocks && i < l.n; i++)
		blocks[i] = l.blocks[i];
	*out = (struct gsb_resize_loop){header, blocks, l.n, l.has};
	return gsb_resize_steps(f->a, f->cfg.n_blocks / 8);
}

bool gsb_resize_loops_build(struct gsb_resize_flow *f, struct gsb_resize_loops *out)
{
	struct gsb_resize_loop *loops;
	uint32_t n = 0;

	*out = (struct gsb_resize_loops){0};
	for (uint32_t i = 0; i < f->cfg.n_rpo; i++)
		n += is_header(f, f->cfg.rpo[i], &out->knot);
	loops = gsb_resize_alloc(f->a, n, sizeof(*loops));
	out->loops = loops;
	for (uint32_t i = 0; !f->a->err && i < f->cfg.n_rpo; i++)
		if (is_header(f, f->cfg.rpo[i], &out->knot) &&
		    !fill(f, f->cfg.rpo[i], &loops[out->n++]))
			return false;
	return !f->a->err;
}

const struct gsb_resize_loop *gsb_resize_innermost(const struct gsb_resize_loops *l, uint32_t block)
{
	const struct gsb_resize_loop *best = NULL;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->loops[i].has[block] && (!best || l->loops[i].n_blocks < best->n_blocks))
			best = &l->loops[i];
	return best;
}

bool gsb_resize_each_turn(const struct gsb_resize_flow *f, const struct gsb_resize_loop *l,
			  uint32_t block)
{
	const struct gsb_ptx_block *header = &f->cfg.blocks[l->header];

	for (uint32_t i = 0; i < header->n_pred; i++)
		if (l->has[header->pred[i]] && !gsb_resize_dominates(f, block, header->pred[i]))
			return false;
	return true;
}
