/*
 * drain.c - see drain.h.
 */
#include "broker/engine/memory/drain.h"

#include <errno.h>

static void one_less(struct gsb_drain *d)
{
	if (--d->n_left)
		return;
	d->done(d);
	gsb_pool_free(&d->tenant->queues.pool, d);
}

static void ctx_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_drain *d = (struct gsb_drain *)(uintptr_t)job->object;

	if (gsb_ctx_of(o) == d->home)
		d->result = d->home->error;
	one_less(d);
}

int gsb_drain_reserve(struct gsb_tenant *t, size_t bytes, struct gsb_drain_room *out)
{
	bool all;

	out->drain = gsb_pool_alloc(&t->queues.pool, bytes);
	all = out->drain;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		out->fresh[i] = all && t->ctxs[i] ? gsb_fence_reserve(&t->queues) : NULL;
		all &= !t->ctxs[i] || out->fresh[i];
	}
	if (all)
		return 0;
	gsb_drain_unreserve(t, out);
	return -EAGAIN;
}

void gsb_drain_unreserve(struct gsb_tenant *t, const struct gsb_drain_room *room)
{
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		gsb_fence_unreserve(&t->queues, room->fresh[i]);
	gsb_pool_free(&t->queues.pool, room->drain);
}

void gsb_drain_begin(struct gsb_drain *d, const struct gsb_drain_room *room)
{
	struct gsb_fence_job job = {.run = ctx_done, .object = (uint64_t)(uintptr_t)d};

	d->n_left = 1;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		d->n_left += room->fresh[i] != NULL;
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (room->fresh[i])
			gsb_fence_close(&d->tenant->ctxs[i]->order, room->fresh[i], &job);
	one_less(d);
}
