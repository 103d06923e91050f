/*
 * context.c - see context.h.
 */
#include "broker/engine/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/code/code.h"
#include "broker/engine/memory/account.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tell.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/region.h"

#define CTX_WINDOW_MIN (64ull << 20)

static bool window_is_free(const struct gsb_tenant *t, uint64_t base, uint64_t size)
{
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		const struct gsb_ctx *c = t->ctxs[i];

		if (c && c->window_base < base + size && base < c->window_base + c->window_size)
			return false;
	}
	return true;
}

/*
 * A power of two of the tenant's device window: enough for its limit if there is room, all that a device
 * may have for the first context, half of the largest free part for each further one, so that the next
 * finds some too.
 */
static int pick_window(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	uint64_t start = gsb_device_window_base(t->slot), end = start + GSB_DEVICE_WINDOW_SIZE;
	uint64_t limit = t->limits.device_mem_bytes, want = GSB_DEVICE_WINDOW_STRIDE / 2;
	bool is_first = window_is_free(t, start, GSB_DEVICE_WINDOW_SIZE);

	if (!limit)
		limit = t->dev->ops->info(t->dev)->total_mem_bytes;
	while (want / 4 >= limit && want > CTX_WINDOW_MIN)
		want /= 2; /* twice the limit: gaps between allocations take numbers, too */
	for (; want >= CTX_WINDOW_MIN; want /= 2)
		for (uint64_t base = start; base + want <= end; base += want)
			if (window_is_free(t, base, want)) {
				ctx->window_base = base;
				ctx->window_size =
					is_first || want == CTX_WINDOW_MIN ? want : want / 2;
				return 0;
			}
	return -ENOMEM;
}

static int create_space(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_space_params p = {
		.device_base = ctx->window_base,
		.device_size = ctx->window_size,
		.owner_base = gsb_device_window_base(t->slot),
		.owner_size = GSB_DEVICE_WINDOW_SIZE,
		.mem_limit_bytes = t->limits.device_mem_bytes,
		.owner = gsb_tenant_owner(t),
	};
	int err;

	if (t->features & GSB_FEATURE_HOST_WINDOW) {
		p.host_base = gsb_host_window_base(t->slot);
		p.host_size = t->limits.host_mem_bytes;
		p.host_fd = t->host_fd;
	}
	err = t->dev->ops->space_create(t->dev, &p, &ctx->space);
	if (err == -EEXIST)
		gsb_tenant_log(
			t, GSB_LOG_ERROR, "tenant",
			"%u (%s, pid %u): no context: addresses from %#" PRIx64
			" are in use in the engine: GSB_DEVICE_WINDOW_BASE does not suit this machine",
			t->id, t->name, t->pid, ctx->window_base);
	return err == -EEXIST ? -ENOMEM : err; /* -EEXIST is the tenant's fault, this is not */
}

/* One that is made: its space, and in that what its tenant has pinned. */
struct creation {
	struct gsb_later later; /* first */
	struct gsb_rec_ctx_create body;
	struct gsb_ctx *ctx;
	uint64_t pinned_to; /* address */
	int *broken;	    /* what the handler returns, as long as it runs */
};

static struct creation *to_creation(struct gsb_later *l)
{
	return gsb_container_of(l, struct creation, later);
}

static int ask_for_space(struct gsb_later *l)
{
	struct creation *c = to_creation(l);
	struct gsb_tenant *t = l->tenant;
	int err = 0;

	if (!gsb_memory_may_pin(t, l))
		return -EINPROGRESS;
	t->making = c->ctx;
	if (!c->ctx->window_size)
		err = t->ctxs[c->ctx->index] ? -ENOMEM : pick_window(c->ctx);
	if (!err && !c->ctx->space) {
		err = create_space(c->ctx);
		if (!err)
			gsb_memory_ctx_init(c->ctx);
	}
	return err ? err : gsb_memory_ctx_pin(c->ctx, &c->pinned_to);
}

/* -ERANGE, -EEXIST: the legacy stream's handle. */
static int enter(struct gsb_ctx *ctx, const struct gsb_rec_ctx_create *body)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_stream *legacy;
	int err = gsb_order_init(&ctx->order, &t->queues);

	if (err)
		return err;
	err = gsb_stream_create(&ctx->order, body->legacy, 0, 0, &legacy);
	if (err) {
		gsb_order_finish(&ctx->order);
		return err;
	}
	legacy->legacy = true;
	ctx->handle = body->ctx;
	t->ctxs[ctx->index] = ctx;
	t->stats.n_ctxs++;
	gsb_tell_stream(legacy, false);
	atomic_store_explicit(&t->region->ctxs[ctx->index].error, 0, memory_order_release);
	return 0;
}

static void drop(struct gsb_ctx *ctx)
{
	if (ctx->space)
		ctx->tenant->dev->ops->space_destroy(ctx->space);
	free(ctx);
}

static void cut(struct creation *c, int err)
{
	if (c->later.is_late)
		gsb_tenant_cut(c->later.tenant, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	else
		*c->broken = err;
}

static void space_made(struct gsb_later *l, int err)
{
	struct creation *c = to_creation(l);
	struct gsb_tenant *t = l->tenant;

	gsb_memory_pinned(t, l);
	if (t->making == c->ctx)
		t->making = NULL;
	if (!err && t->state == GSB_TENANT_LEAVING)
		err = -ECANCELED;
	if (!err && !t->error)
		err = enter(c->ctx, &c->body);
	if (err || t->error)
		drop(c->ctx);
	if (err == -ERANGE || err == -EEXIST)
		cut(c, gsb_violation(t, "CtxCreate with new handle %#" PRIx64 ", which is %s",
				     c->body.legacy, err == -EEXIST ? "in use" : "no such handle"));
	else
		gsb_tenant_reply(t, &l->call, t->error ? t->error : gsb_cuda_result(err), 0);
}

int gsb_ctx_create(struct gsb_tenant *t, const struct gsb_rec *rec,
		   const struct gsb_rec_ctx_create *body)
{
	int broken = 0;
	struct creation c = {
		.later = {.tenant = t, .call = *rec, .ask = ask_for_space, .done = space_made},
		.body = *body,
		.ctx = calloc(1, sizeof(*c.ctx)),
		.broken = &broken,
	};

	if (!c.ctx)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	c.ctx->tenant = t;
	c.ctx->index = gsb_handle_index(body->ctx);
	gsb_later_run(&c.later, sizeof(c));
	return broken;
}

void gsb_ctx_destroy(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	gsb_memory_ctx_finish(ctx);
	t->dev->ops->space_destroy(ctx->space);
	gsb_share_ctx_finish(ctx);
	gsb_memory_unuse(ctx, ctx->device_used_bytes); /* went with the space */
	gsb_order_finish(&ctx->order);
	t->ctxs[ctx->index] = NULL;
	t->stats.n_ctxs--;
	free(ctx);
}

static void on_end(struct gsb_order *o)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_rec call = ctx->end_call;

	gsb_ctx_destroy(ctx);
	gsb_tenant_reply(t, &call, CUDA_SUCCESS, 0);
}

int gsb_ctx_end(struct gsb_ctx *ctx, const struct gsb_rec *call)
{
	struct gsb_queues *q = ctx->order.queues;
	struct gsb_fence *fresh = gsb_fence_reserve(q);
	int err = fresh ? gsb_memory_ctx_retire(ctx) : -EAGAIN;

	if (err) {
		gsb_fence_unreserve(q, fresh);
		return err;
	}
	ctx->handle = 0; /* nothing of it can be named any more */
	ctx->end_call = *call;
	gsb_memory_ctx_cancel(ctx);
	gsb_fence_close(&ctx->order, fresh,
			&(struct gsb_fence_job){.run = gsb_code_unload_all, .call = *call});
	gsb_order_close(&ctx->order, on_end);
	return 0;
}
