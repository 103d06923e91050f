/*
 * kept.c - see kept.h.
 */
#include "broker/engine/memory/account.h"
#include "broker/engine/memory/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "broker/engine/memory/drain.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/memory/host.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"

struct block {
	struct gsb_ctx *ctx; /* NULL: nothing is kept here */
	uint64_t addr, size; /* size: as it was asked for */
	uint64_t bytes;	     /* of the device */
	uint64_t number;     /* what the word in the region says while it is kept */
	uint32_t n_fences;   /* not passed yet: those of blocks taken again, too */
	bool is_host;	     /* pinned memory; else the device's */
	bool is_old;
};

struct gsb_kept_memory {
	struct block blocks[GSB_N_KEPT];
	uint32_t n;
	uint64_t size;	/* of all of them, as they were asked for */
	uint64_t bytes; /* and of the device */
};

static struct gsb_kept_memory *have(struct gsb_tenant *t)
{
	if (!t->kept)
		t->kept = calloc(1, sizeof(*t->kept));
	return t->kept;
}

static _Atomic uint64_t *word_of(const struct gsb_tenant *t, const struct block *b)
{
	return &t->region->kept[b - t->kept->blocks];
}

static void forget(struct gsb_tenant *t, struct block *b)
{
	t->kept->n--;
	t->kept->size -= b->size;
	t->kept->bytes -= b->bytes;
	t->grant->kept -= b->bytes;
	b->ctx = NULL;
}

/* ---- the records ---- */

/* Those of a context pass in turn: a later one for the same memory is behind this one. */
static void free_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	gsb_ctx_of(o)->tenant->kept->blocks[job->object].n_fences--;
}

/* Any context may be copying from pinned memory. */
struct host_free {
	struct gsb_drain drain; /* first */
	uint32_t index;
};

static void host_free_done(struct gsb_drain *d)
{
	d->tenant->kept->blocks[gsb_container_of(d, struct host_free, drain)->index].n_fences--;
	d->tenant->queues.stalled = false; /* gsb_kept_host_waits() */
}

static int check_keep(struct gsb_tenant *t, const struct gsb_rec_mem_keep *body)
{
	if (!(t->features & GSB_FEATURE_KEEP))
		return gsb_violation(t, "MemKeep, which was not agreed on");
	if (body->index >= GSB_N_KEPT || !body->number || body->number & GSB_KEPT_GONE ||
	    (t->kept && t->kept->blocks[body->index].ctx))
		return gsb_violation(t, "MemKeep at %u with number %" PRIu64, body->index,
				     body->number);
	return 0;
}

/* It is shown to others as free, so it may not be more than there is to take back from anybody. */
static int check_size(struct gsb_tenant *t, uint64_t size)
{
	if (size > GSB_KEPT_SIZE_MAX || size > GSB_KEPT_BYTES_MAX - t->kept->size)
		return gsb_violation(t, "MemKeep of %" PRIu64 " bytes beside %" PRIu64, size,
				     t->kept->size);
	return 0;
}

/* What it has opened of another's would not come back to anybody. */
static int check_whose(struct gsb_ctx *ctx, uint64_t addr)
{
	const struct gsb_shared_memory *m = gsb_share_at(ctx, addr);

	return m && m->base ? gsb_violation(ctx->tenant,
					    "MemKeep of %#" PRIx64 ", which it has opened", addr)
			    : 0;
}

static void add(struct gsb_ctx *ctx, const struct gsb_rec_mem_keep *body, uint64_t size,
		bool is_host)
{
	struct gsb_tenant *t = ctx->tenant;
	struct block *b = &t->kept->blocks[body->index];

	*b = (struct block){
		.ctx = ctx,
		.addr = body->addr,
		.size = size,
		.bytes = is_host ? 0 : gsb_memory_bytes_at(ctx, body->addr),
		.number = body->number,
		.n_fences = b->n_fences + 1,
		.is_host = is_host,
	};
	t->kept->n++;
	t->kept->size += size;
	t->kept->bytes += b->bytes;
	t->grant->kept += b->bytes;
	gsb_trace(FREED, freed, t->id, .addr = b->addr, .bytes = size,
		  .memory = is_host ? GSB_TRACE_MEMORY_PINNED : GSB_TRACE_MEMORY_DEVICE);
}

static int keep_host(struct gsb_ctx *ctx, const struct gsb_rec_mem_keep *body)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_drain_room room;
	struct host_free *f;
	uint64_t size;
	int err = gsb_drain_reserve(t, sizeof(*f), &room);

	if (err)
		return err;
	err = gsb_memory_host_retire(ctx, body->addr, &size);
	if (!err)
		err = check_size(t, size);
	if (err) {
		gsb_drain_unreserve(t, &room);
		return err;
	}
	add(ctx, body, size, true);
	f = room.drain;
	*f = (struct host_free){.drain = {.tenant = t, .done = host_free_done},
				.index = body->index};
	gsb_drain_begin(&f->drain, &room);
	return 0;
}

static int keep_device(struct gsb_ctx *ctx, const struct gsb_rec *rec,
		       const struct gsb_rec_mem_keep *body)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_fence *fresh = gsb_fence_reserve(&t->queues);
	uint64_t size;
	int err;

	if (!fresh)
		return -EAGAIN;
	err = check_whose(ctx, body->addr);
	if (!err)
		err = gsb_memory_retire(ctx, body->addr, &size);
	if (!err)
		err = check_size(t, size);
	if (err) {
		gsb_fence_unreserve(&t->queues, fresh);
		return err;
	}
	add(ctx, body, size, false);
	gsb_fence_close(&ctx->order, fresh, &(struct gsb_fence_job){free_done, body->index, *rec});
	return 0;
}

int gsb_kept_keep(struct gsb_tenant *t, const struct gsb_rec *rec,
		  const struct gsb_rec_mem_keep *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	int err = ctx ? check_keep(t, body) : gsb_no_such(t, rec, "context", body->ctx);

	if (err)
		return err;
	if (!have(t))
		return -ENOMEM;
	return gsb_memory_is_pinned(t, body->addr, 1) ? keep_host(ctx, body)
						      : keep_device(ctx, rec, body);
}

int gsb_kept_take(struct gsb_tenant *t, const struct gsb_rec *rec,
		  const struct gsb_rec_mem_keep *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct block *b =
		t->kept && body->index < GSB_N_KEPT ? &t->kept->blocks[body->index] : NULL;
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!b || b->ctx != ctx || b->addr != body->addr || b->number != body->number)
		return gsb_violation(t, "MemTake of %#" PRIx64 " at %u, which is not kept",
				     body->addr, body->index);
	err = b->is_host ? gsb_memory_host_revive(ctx, b->addr)
			 : gsb_memory_revive(ctx, b->addr, b->size);
	if (!err)
		forget(t, b);
	return err;
}

/* ---- back to the device, or the host ---- */

static bool give_back(struct gsb_tenant *t, struct block *b)
{
	uint64_t expected = b->number;
	struct gsb_ctx *ctx = b->ctx;

	if (b->n_fences ||
	    !atomic_compare_exchange_strong(word_of(t, b), &expected, b->number | GSB_KEPT_GONE))
		return false;
	forget(t, b); /* first: others may be served when it is released, and look here */
	if (b->is_host)
		gsb_memory_host_release(ctx, b->addr);
	else
		gsb_memory_release(ctx, b->addr);
	return true;
}

static bool give_all_back(struct gsb_tenant *t, bool is_host)
{
	bool any = false;

	for (uint32_t i = 0; t->kept && t->kept->n && i < GSB_N_KEPT; i++) {
		struct block *b = &t->kept->blocks[i];

		if (b->ctx && b->is_host == is_host)
			any |= give_back(t, b);
	}
	return any;
}

bool gsb_kept_give_back(struct gsb_tenant *t)
{
	return give_all_back(t, false);
}

bool gsb_kept_give_back_host(struct gsb_tenant *t)
{
	return give_all_back(t, true);
}

bool gsb_kept_host_waits(const struct gsb_tenant *t)
{
	for (uint32_t i = 0; t->kept && t->kept->n && i < GSB_N_KEPT; i++) {
		const struct block *b = &t->kept->blocks[i];

		if (b->ctx && b->is_host && b->n_fences && atomic_load(word_of(t, b)) == b->number)
			return true;
	}
	return false;
}

void gsb_kept_age(struct gsb_tenant *t)
{
	for (uint32_t i = 0; t->kept && t->kept->n && i < GSB_N_KEPT; i++)
		if (t->kept->blocks[i].ctx && t->kept->blocks[i].is_old)
			give_back(t, &t->kept->blocks[i]);
	for (uint32_t i = 0; t->kept && t->kept->n && i < GSB_N_KEPT; i++)
		t->kept->blocks[i].is_old = t->kept->blocks[i].ctx != NULL;
}

bool gsb_kept_any(const struct gsb_tenant *t)
{
	return t->kept && t->kept->n;
}

uint64_t gsb_kept_bytes(const struct gsb_tenant *t)
{
	return t->kept ? t->kept->bytes : 0;
}

/* The library has not taken it, or its record would be before the end; so it looks at the word. */
static void end_of(struct gsb_ctx *ctx, bool is_host)
{
	struct gsb_tenant *t = ctx->tenant;

	for (uint32_t i = 0; t->kept && i < GSB_N_KEPT; i++) {
		struct block *b = &t->kept->blocks[i];

		if (b->ctx != ctx || b->is_host != is_host)
			continue;
		atomic_store(word_of(t, b), b->number | GSB_KEPT_GONE);
		forget(t, b);
	}
}

void gsb_kept_ctx_retire(struct gsb_ctx *ctx)
{
	end_of(ctx, true);
}

void gsb_kept_ctx_finish(struct gsb_ctx *ctx)
{
	end_of(ctx, true);
	end_of(ctx, false);
}
