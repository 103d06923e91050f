/*
 * async.c - asynchronous copies: cp.async with its groups, arrivals on mbarriers that wait for them, and
 * the bulk copies, those of runs of bytes here, those of boxes of tensors in tensor.c.
 *
 * When such a copy is done is open until the thread has waited for it: hardware may be done at once or
 * just then. This device is always late. A copy is remembered when it is issued, and done when its thread
 * waits for its group, when anybody looks at the mbarrier that it reports to, or when its thread exits.
 * So a program that forgets to wait reads old data here each time, and not once in a thousand runs; one
 * that waits as it must cannot tell the difference. Only a warp with very many copies pending finds them
 * done early. Addresses are checked at issue, where the guilty instruction is known.
 *
 * What is pending stands in one list for each warp, an entry for each copy of a lane, oldest first; boxes of tensors
 * in another one besides, in the same order.
 */
#include "device/emu/exec/async.h"

#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/mbarrier.h"
#include "device/emu/exec/place.h"
#include "device/emu/exec/reduce.h"

#define FIRST_PENDING 64
#define FIRST_BOXES   4
#define MAX_PENDING   8192
#define SECTOR_SHIFT  5
#define BULK_UNIT     16

/* ARRIVAL: when the copies of its lane before it are done. STORE: of a value, to another block */
enum kind { COPY, ARRIVAL, BULK, STORE };

struct pending {
	unsigned char *to; /* NULL: ARRIVAL */
	union {
		const unsigned char *from;
		uint64_t value; /* STORE */
	};
	unsigned char *mbar; /* to report to; NULL: a group */
	uint32_t n, size;    /* bytes from there, bytes in all: the rest is zero */
	uint32_t reduction;  /* how they are combined with what is there (reduce.h); 0: not */
	uint32_t group;	     /* of its lane and kind, from 0 */
	uint8_t lane, kind;
	bool is_box; /* BULK: the next of the boxes, of size bytes; to, from: none */
};

struct gsb_emu_async {
	uint32_t n, cap;
	uint32_t groups[2][GSB_EMU_LANES]; /* committed, of cp.async and of bulk copies */
	uint32_t n_boxes, cap_boxes;
	struct gsb_emu_box *boxes;
	struct pending list[];
};

/* Which entries are to be done now. */
struct due {
	uint32_t lanes;
	bool all;
	uint8_t kind;			/* COPY or BULK, with its groups */
	uint32_t below[GSB_EMU_LANES];	/* groups before this one */
	uint32_t before[GSB_EMU_LANES]; /* entries of the list before this one */
	const unsigned char *mbar;	/* BULK, STORE: those that report there */
};

/* ---- the list ---- */

void gsb_emu_async_reset(struct gsb_emu_warp *w)
{
	if (!w->async)
		return;
	w->async->n = w->async->n_boxes = 0;
	memset(w->async->groups, 0, sizeof(w->async->groups));
}

void gsb_emu_async_finish(struct gsb_emu_warp *w)
{
	if (w->async)
		free(w->async->boxes);
	free(w->async);
}

static bool grow(struct gsb_emu_exec *x)
{
	struct gsb_emu_async *old = x->warp->async, *a;
	uint32_t had = old ? old->cap : 0, cap = old ? old->cap * 2 : FIRST_PENDING;
	size_t more = (cap - had) * sizeof(struct pending) + (old ? 0 : sizeof(*a));

	if (!gsb_emu_block_take(x->block, more))
		return false;
	a = realloc(old, sizeof(*a) + cap * sizeof(struct pending));
	if (!a)
		return false; /* that ends the block, which gives back what it took */
	if (!old)
		memset(a, 0, sizeof(*a));
	a->cap = cap;
	x->warp->async = a;
	return true;
}

static bool grow_boxes(struct gsb_emu_exec *x, struct gsb_emu_async *a)
{
	uint32_t cap = a->cap_boxes ? a->cap_boxes * 2 : FIRST_BOXES;
	struct gsb_emu_box *boxes;

	if (!gsb_emu_block_take(x->block, (cap - a->cap_boxes) * sizeof(*boxes)))
		return false;
	boxes = realloc(a->boxes, cap * sizeof(*boxes));
	if (!boxes)
		return false;
	a->boxes = boxes;
	a->cap_boxes = cap;
	return true;
}

static bool no_memory(struct gsb_emu_exec *x)
{
	gsb_emu_fail(x, CUDA_ERROR_OUT_OF_MEMORY, 0, "no memory for pending copies");
	return false;
}

/* ---- completion ---- */

static const char *report(const struct pending *p)
{
	if (!p->mbar)
		return NULL;
	return p->kind == ARRIVAL ? gsb_emu_mbar_arrive(p->mbar)
				  : gsb_emu_mbar_complete_tx(p->mbar, p->size);
}

/* @box: of one that has one */
static bool complete(struct gsb_emu_exec *x, const struct pending *p, const struct gsb_emu_box *box)
{
	const unsigned char *from = p->kind == STORE ? (const void *)&p->value : p->from;
	const char *wrong;

	if (p->is_box) {
		gsb_emu_box_move(box);
	} else if (p->reduction) {
		gsb_emu_reduce(p->to, from, p->n, p->reduction);
	} else if (p->to) {
		memcpy(p->to, from, p->n);
		memset(p->to + p->n, 0, p->size - p->n);
	}
	x->block->cluster->n_reports -= p->mbar != NULL;
	wrong = report(p);
	if (wrong)
		gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0, "mbarrier of a copy: %s", wrong);
	return !wrong;
}

/* @held: lanes with a copy before it in the list that is not done. */
static bool is_due(const struct due *due, const struct pending *p, uint32_t at, uint32_t held)
{
	if (due->mbar && (p->kind == BULK || p->kind == STORE) && p->mbar == due->mbar)
		return true;
	if (!(due->lanes >> p->lane & 1))
		return false;
	if (p->kind == ARRIVAL)
		return !(held >> p->lane & 1);
	return due->all || (p->kind == due->kind && !p->mbar && p->group < due->below[p->lane]) ||
	       (p->kind == COPY && at < due->before[p->lane]);
}

static bool drain(struct gsb_emu_exec *x, struct gsb_emu_warp *w, const struct due *due)
{
	struct gsb_emu_async *a = w->async;
	uint32_t held = 0, kept = 0, kept_boxes = 0, boxes = 0;
	bool ok = true;

	for (uint32_t i = 0; i < a->n; i++) {
		struct pending *p = &a->list[i];
		struct gsb_emu_box *box = p->is_box ? &a->boxes[boxes++] : NULL;

		if (ok && is_due(due, p, i, held)) {
			ok = complete(x, p, box);
			continue;
		}
		held |= (uint32_t)(p->kind == COPY) << p->lane;
		a->list[kept++] = *p;
		if (box)
			a->boxes[kept_boxes++] = *box;
	}
	a->n = kept;
	a->n_boxes = kept_boxes;
	return ok;
}

bool gsb_emu_async_leave(struct gsb_emu_exec *x, uint32_t lanes)
{
	struct due due;

	if (!x->warp->async || !x->warp->async->n)
		return true;
	due = (struct due){.lanes = lanes, .all = true};
	return drain(x, x->warp, &due);
}

/* The lanes of a warp that have an arrival at @mbar pending: all up to their last one there. */
static bool find_arrivals(const struct gsb_emu_warp *w, const unsigned char *mbar, struct due *due)
{
	bool any = false;

	*due = (struct due){.mbar = mbar};
	for (uint32_t i = 0; i < w->async->n; i++) {
		const struct pending *p = &w->async->list[i];

		if (p->mbar != mbar)
			continue;
		any = true;
		if (p->kind != ARRIVAL)
			continue;
		due->lanes |= UINT32_C(1) << p->lane;
		due->before[p->lane] = i;
	}
	return any;
}

static bool looked_at_in(struct gsb_emu_exec *x, struct gsb_emu_block *b, const unsigned char *mbar)
{
	struct due due;

	for (uint32_t i = 0; i < b->n_warps; i++) {
		struct gsb_emu_warp *w = &b->warps[i];

		if (!w->async || !w->async->n || !find_arrivals(w, mbar, &due))
			continue;
		if (!drain(x, w, &due))
			return false;
	}
	return true;
}

bool gsb_emu_async_looked_at(struct gsb_emu_exec *x, const unsigned char *mbar)
{
	struct gsb_emu_cluster *c = x->block->cluster;

	for (uint32_t i = 0; c->n_reports && i < c->n; i++)
		if (!looked_at_in(x, c->blocks[i], mbar))
			return false;
	return true;
}

/* ---- issue ---- */

static bool push(struct gsb_emu_exec *x, const struct pending *p)
{
	struct gsb_emu_async *a = x->warp->async;

	if (!a || (a->n == a->cap && a->cap < MAX_PENDING)) {
		if (!grow(x))
			return no_memory(x);
	} else if (a->n == a->cap) {
		if (!gsb_emu_async_leave(x, GSB_EMU_ALL))
			return false;
	}
	a = x->warp->async;
	x->block->cluster->n_reports += p->mbar != NULL;
	a->list[a->n] = *p;
	a->list[a->n++].group = a->groups[p->kind == BULK][p->lane];
	return true;
}

bool gsb_emu_async_push_box(struct gsb_emu_exec *x, unsigned int lane, unsigned char *mbar,
			    const struct gsb_emu_box *box)
{
	struct gsb_emu_async *a;

	if (!push(x, &(struct pending){.mbar = mbar,
				       .size = (uint32_t)gsb_emu_box_bytes(box),
				       .lane = (uint8_t)lane,
				       .kind = BULK,
				       .is_box = true}))
		return false;
	a = x->warp->async;
	if (a->n_boxes == a->cap_boxes && !grow_boxes(x, a)) {
		a->n--;
		return no_memory(x);
	}
	a->boxes[a->n_boxes++] = *box;
	return true;
}

static void count_access(struct gsb_emu_exec *x, const uint64_t *addr, uint32_t mask, uint64_t each)
{
	uint64_t last = UINT64_MAX;

	x->block->stats.n_mem_insns++;
	x->block->stats.n_shared++;
	for (uint32_t left = mask; left; left &= left - 1) {
		uint64_t at = addr[__builtin_ctz(left)] >> SECTOR_SHIFT;

		x->block->stats.n_sectors += each ? each >> SECTOR_SHIFT : at != last;
		last = at;
	}
}

/* How many of the bytes a lane wants from its source. */
static uint32_t wanted(const struct gsb_emu_op *op, const char *r, unsigned int lane)
{
	const uint32_t *n = (const void *)(r + op->b);
	uint32_t size = (uint32_t)op->imm;

	if (op->c != GSB_EMU_NONE && gsb_emu_predicate(op, r, op->c) >> lane & 1)
		return 0;
	return op->b != GSB_EMU_NONE && n[lane] < size ? n[lane] : size;
}

GSB_EMU_HANDLER(gsb_emu_do_ASYNC_COPY)
{
	const uint64_t *to = (const void *)(r + op->d), *from = (const void *)(r + op->a);
	const uint32_t size = (uint32_t)op->imm;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		struct pending p = {.lane = (uint8_t)i, .kind = COPY, .size = size};

		p.n = wanted(op, r, i);
		p.to = gsb_emu_shared_at(x, GSB_PTX_SPACE_SHARED, to[i], size, size);
		p.from = p.to ? gsb_emu_global_at(x, from[i], p.n, size, "read of") : NULL;
		if (!p.from || !push(x, &p))
			return NULL;
	}
	count_access(x, from, mask, 0);
	return op + 1;
}

static bool is_bulk_size(struct gsb_emu_exec *x, uint32_t size)
{
	if (size % BULK_UNIT)
		gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0,
			     "a bulk copy of %u bytes, not a multiple of %u", size, BULK_UNIT);
	return !(size % BULK_UNIT);
}

static struct pending bulk_load(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
				unsigned int i, uint32_t size)
{
	const uint64_t *to = (const void *)(r + op->d), *from = (const void *)(r + op->a),
		       *mbar = (const void *)(r + op->c);
	struct pending p = {
		.to = gsb_emu_shared_at(x, GSB_PTX_SPACE_CLUSTER, to[i], size, BULK_UNIT)};

	if (p.to)
		p.from =
			op->e ? gsb_emu_shared_at(x, GSB_PTX_SPACE_SHARED, from[i], size, BULK_UNIT)
			      : gsb_emu_global_at(x, from[i], size, BULK_UNIT, "read of");
	if (p.from)
		p.mbar = gsb_emu_mbar_at(x, op, mbar[i]);
	if (!p.mbar)
		p.from = NULL;
	return p;
}

static struct pending bulk_store(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
				 unsigned int i, uint32_t size)
{
	const uint64_t *to = (const void *)(r + op->d), *from = (const void *)(r + op->a);
	struct pending p = {.to = gsb_emu_global_at(x, to[i], size, BULK_UNIT, "write to")};

	if (p.to)
		p.from = gsb_emu_shared_at(x, GSB_PTX_SPACE_SHARED, from[i], size, BULK_UNIT);
	return p;
}

/* Of @mask, the lanes whose bulk copy has bytes. Of another a GPU looks at no address, not even the mbarrier's. */
static uint32_t with_bytes(const uint32_t *size, uint32_t mask)
{
	uint32_t some = 0;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		some |= (uint32_t)(size[i] != 0) << i;
	return some & mask;
}

GSB_EMU_HANDLER(gsb_emu_do_BULK_COPY)
{
	const uint32_t *size = (const void *)(r + op->b);
	bool load = op->c != GSB_EMU_NONE;

	for (uint32_t left = with_bytes(size, mask); left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		struct pending p;

		if (!is_bulk_size(x, size[i]))
			return NULL;
		p = load ? bulk_load(x, op, r, i, size[i]) : bulk_store(x, op, r, i, size[i]);
		p.n = p.size = size[i];
		p.lane = (uint8_t)i;
		p.kind = BULK;
		p.reduction = (uint32_t)op->imm;
		if (!p.from || !push(x, &p))
			return NULL;
		if (op->e)
			x->block->stats.n_shared++;
		else
			count_access(x, (const void *)(r + (load ? op->a : op->d)),
				     UINT32_C(1) << i, size[i]);
	}
	return op + 1;
}

/* A lane's copy to one of the blocks. False: the block has been ended. */
static bool multicast_to(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			 unsigned int i, uint32_t rank)
{
	const uint64_t *to = (const void *)(r + op->d), *from = (const void *)(r + op->a),
		       *mbar = (const void *)(r + op->c);
	const uint32_t size = ((const uint32_t *)(const void *)(r + op->b))[i];
	struct pending p = {.lane = (uint8_t)i, .kind = BULK, .n = size, .size = size};

	p.to = gsb_emu_shared_at(x, GSB_PTX_SPACE_CLUSTER, gsb_emu_place_in(to[i], rank), size,
				 BULK_UNIT);
	if (p.to)
		p.from = gsb_emu_global_at(x, from[i], size, BULK_UNIT, "read of");
	if (p.from)
		p.mbar = gsb_emu_mbar_at(x, op, gsb_emu_place_in(mbar[i], rank));
	return p.mbar && push(x, &p);
}

GSB_EMU_HANDLER(gsb_emu_do_BULK_MULTICAST)
{
	const uint32_t *size = (const void *)(r + op->b), *blocks = (const void *)(r + op->e);

	for (uint32_t left = with_bytes(size, mask); left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		if (!is_bulk_size(x, size[i]))
			return NULL;
		for (uint32_t to = blocks[i] & UINT16_MAX; to; to &= to - 1)
			if (!multicast_to(x, op, r, i, (uint32_t)__builtin_ctz(to)))
				return NULL;
		count_access(x, (const void *)(r + op->a), UINT32_C(1) << i, size[i]);
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_ASYNC_STORE)
{
	const uint64_t *to = (const void *)(r + op->d), *mbar = (const void *)(r + op->c);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		struct pending p = {.lane = (uint8_t)i,
				    .kind = STORE,
				    .n = op->e,
				    .size = op->e,
				    .reduction = (uint32_t)op->imm};

		p.to = gsb_emu_shared_at(x, GSB_PTX_SPACE_CLUSTER, to[i] + op->b, op->e, op->e);
		if (p.to)
			p.mbar = gsb_emu_mbar_at(x, op, mbar[i]);
		memcpy(&p.value, r + op->a + (size_t)i * op->e, op->e);
		if (!p.mbar || !push(x, &p))
			return NULL;
	}
	x->block->stats.n_shared++;
	return op + 1;
}

/* ---- groups ---- */

/* Groups without a copy before the warp's first one need not be counted: only differences matter. */
GSB_EMU_HANDLER(gsb_emu_do_ASYNC_COMMIT)
{
	struct gsb_emu_async *a = x->warp->async;

	for (uint32_t left = a ? mask : 0; left; left &= left - 1)
		a->groups[op->n][__builtin_ctz(left)]++;
	return op + 1;
}

/* All groups but the last op->imm; -1: also what is in no group yet. */
GSB_EMU_HANDLER(gsb_emu_do_ASYNC_WAIT)
{
	const struct gsb_emu_async *a = x->warp->async;
	struct due due = {.lanes = mask, .kind = op->n ? BULK : COPY};

	if (!a || !a->n)
		return op + 1;
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {
		uint32_t groups = a->groups[op->n][i];

		due.below[i] = op->imm < 0	  ? UINT32_MAX
			       : groups > op->imm ? groups - (uint32_t)op->imm
						  : 0;
	}
	return drain(x, x->warp, &due) ? op + 1 : NULL;
}

GSB_EMU_HANDLER(gsb_emu_do_ASYNC_ARRIVE)
{
	const uint64_t *addr = (const void *)(r + op->a);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		struct pending p = {.lane = (uint8_t)i, .kind = ARRIVAL};
		const char *wrong = NULL;

		p.mbar = gsb_emu_mbar_at(x, op, addr[i]);
		if (!p.mbar)
			return NULL;
		if (op->e)
			wrong = gsb_emu_mbar_expect_arrival(p.mbar);
		if (wrong)
			return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, addr[i],
					    "mbarrier at 0x%llx: %s", (unsigned long long)addr[i],
					    wrong);
		if (!push(x, &p))
			return NULL;
	}
	return op + 1;
}
