/*
 * split.c - see split.h.
 */
#include "device/emu/exec/split.h"

#include <stdlib.h>

#define FIRST_NODES 8

static bool nodes_grow(struct gsb_emu_warp *w)
{
	unsigned int cap = w->cap_nodes ? w->cap_nodes * 2u : FIRST_NODES;
	struct gsb_emu_node *nodes;

	if (cap >= GSB_EMU_NODE_NONE)
		return false;
	nodes = realloc(w->nodes, cap * sizeof(*nodes));
	if (!nodes)
		return false;
	w->nodes = nodes;
	w->cap_nodes = (uint16_t)cap;
	return true;
}

uint16_t gsb_emu_node_new(struct gsb_emu_warp *w)
{
	uint16_t n = w->free_node;

	if (n != GSB_EMU_NODE_NONE) {
		w->free_node = w->nodes[n].children;
	} else {
		if (w->n_nodes == w->cap_nodes && !nodes_grow(w))
			return GSB_EMU_NODE_NONE;
		n = w->n_nodes++;
	}
	w->nodes[n] = (struct gsb_emu_node){.parent = GSB_EMU_NODE_NONE};
	return n;
}

void gsb_emu_node_free(struct gsb_emu_warp *w, uint16_t n)
{
	w->nodes[n].state = GSB_EMU_NODE_FREE;
	w->nodes[n].children = w->free_node;
	w->free_node = n;
}

void gsb_emu_node_child_done(struct gsb_emu_warp *w, uint16_t n)
{
	while (n != GSB_EMU_NODE_NONE) {
		struct gsb_emu_node *node = &w->nodes[n];
		uint16_t parent = node->parent;

		if (--node->children)
			return;
		if (node->mask) {
			node->state = GSB_EMU_NODE_RUN;
			node->is_call = false;
			return;
		}
		gsb_emu_node_free(w, n);
		n = parent;
	}
}

static uint64_t warp_insns(const struct gsb_emu_exec *x, const struct gsb_emu_warp *w)
{
	return w->n_insns + (w == x->warp ? gsb_emu_insns(x) - x->turn_start : 0);
}

/* Lanes that wait at a join become a split beside it. */
static bool release_join(struct gsb_emu_warp *w, uint16_t join)
{
	uint16_t n = gsb_emu_node_new(w), parent = w->nodes[join].parent;

	if (n == GSB_EMU_NODE_NONE)
		return false;
	w->nodes[n] = w->nodes[join];
	w->nodes[n].state = GSB_EMU_NODE_RUN;
	w->nodes[n].is_call = false;
	w->nodes[n].children = 0;
	w->nodes[join].mask = 0;
	if (parent != GSB_EMU_NODE_NONE)
		w->nodes[parent].children++;
	return true;
}

bool gsb_emu_release(struct gsb_emu_exec *x, struct gsb_emu_warp *w, uint64_t age)
{
	uint64_t now = warp_insns(x, w);
	uint16_t n = w->n_nodes;
	bool any = false;

	for (uint16_t i = 0; i < n; i++) {
		const struct gsb_emu_node *node = &w->nodes[i];

		if (node->state == GSB_EMU_NODE_JOIN && node->mask && now - node->since >= age)
			any |= release_join(w, i);
	}
	return any;
}

/* ---- the split that executes ---- */

void gsb_emu_enter(struct gsb_emu_exec *x, uint16_t n)
{
	struct gsb_emu_warp *w = x->warp;
	struct gsb_emu_node *node = &w->nodes[n];

	w->current = n;
	x->rows = w->rows + node->frame;
	x->local = node->local;
	gsb_emu_set_mask(x, node->mask);
	x->op = &x->ops[node->pc];
	x->begun = node->pc;
	x->rejoin = GSB_EMU_NONE;
	if (node->parent != GSB_EMU_NODE_NONE && !w->nodes[node->parent].is_call)
		x->rejoin = w->nodes[node->parent].pc;
}

void gsb_emu_leave(struct gsb_emu_exec *x, uint32_t pc)
{
	struct gsb_emu_node *node = gsb_emu_node_of(x);

	node->pc = pc;
	node->mask = x->split_mask;
	gsb_emu_count_lanes(x);
}

void gsb_emu_arrive(struct gsb_emu_exec *x, uint16_t n, uint32_t lanes)
{
	struct gsb_emu_node *join = &x->warp->nodes[n];

	if (!join->mask)
		join->since = warp_insns(x, x->warp);
	join->mask |= lanes;
}

const struct gsb_emu_op *gsb_emu_vanish(struct gsb_emu_exec *x)
{
	struct gsb_emu_warp *w = x->warp;
	uint16_t parent = gsb_emu_node_of(x)->parent;

	gsb_emu_count_lanes(x);
	gsb_emu_node_free(w, w->current);
	gsb_emu_node_child_done(w, parent);
	return gsb_emu_stop(x, GSB_EMU_STOP_SWITCH);
}

bool gsb_emu_join_at(struct gsb_emu_exec *x, uint32_t rejoin)
{
	struct gsb_emu_warp *w = x->warp;
	uint16_t n;

	if (rejoin == GSB_EMU_NONE || rejoin == x->rejoin)
		return true;
	n = gsb_emu_node_new(w);
	if (n == GSB_EMU_NODE_NONE)
		return false;
	w->nodes[n] = (struct gsb_emu_node){
		.pc = rejoin,
		.func = gsb_emu_node_of(x)->func,
		.frame = gsb_emu_node_of(x)->frame,
		.local = gsb_emu_node_of(x)->local,
		.parent = gsb_emu_node_of(x)->parent,
		.children = 1,
		.state = GSB_EMU_NODE_JOIN,
	};
	gsb_emu_node_of(x)->parent = n;
	x->rejoin = rejoin;
	return true;
}

uint16_t gsb_emu_split_off(struct gsb_emu_exec *x, uint32_t lanes, uint32_t pc)
{
	struct gsb_emu_warp *w = x->warp;
	uint16_t n = gsb_emu_node_new(w), parent = gsb_emu_node_of(x)->parent;

	if (n == GSB_EMU_NODE_NONE)
		return n;
	w->nodes[n] = *gsb_emu_node_of(x);
	w->nodes[n].state = GSB_EMU_NODE_RUN;
	w->nodes[n].mask = lanes;
	w->nodes[n].pc = pc;
	if (parent != GSB_EMU_NODE_NONE)
		w->nodes[parent].children++;
	return n;
}

bool gsb_emu_send(struct gsb_emu_exec *x, uint32_t lanes, uint32_t target)
{
	if (target != x->rejoin)
		return gsb_emu_split_off(x, lanes, target) != GSB_EMU_NODE_NONE;
	gsb_emu_arrive(x, gsb_emu_node_of(x)->parent, lanes);
	return true;
}

bool gsb_emu_side_by_side(const struct gsb_emu_warp *w, uint16_t n, uint16_t other, uint32_t pc)
{
	const struct gsb_emu_node *a = &w->nodes[n], *b = &w->nodes[other];

	return n != other && b->state == GSB_EMU_NODE_RUN && b->pc == pc && a->frame == b->frame &&
	       a->parent == b->parent;
}

uint32_t gsb_emu_take_lanes(struct gsb_emu_warp *w, uint16_t n)
{
	uint32_t lanes = w->nodes[n].mask;

	if (w->nodes[n].parent != GSB_EMU_NODE_NONE)
		w->nodes[w->nodes[n].parent].children--;
	gsb_emu_node_free(w, n);
	return lanes;
}

void gsb_emu_absorb(struct gsb_emu_exec *x, uint32_t pc)
{
	struct gsb_emu_warp *w = x->warp;
	uint32_t mask = x->split_mask;

	for (uint16_t k = 0; k < w->n_nodes; k++) {
		if (gsb_emu_side_by_side(w, w->current, k, pc))
			mask |= gsb_emu_take_lanes(w, k);
	}
	if (mask != x->split_mask)
		gsb_emu_set_mask(x, mask);
}
