/*
 * context.c - see context.h.
 */
#include "broker/engine/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "broker/engine/code/code.h"
#include "broker/engine/memory/memory.h"
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
	if (err)
		return err == -EEXIST ? -ENOMEM
				      : err; /* -EEXIST is the tenant's fault, this is not */
	err = gsb_memory_ctx_init(ctx);
	if (err)
		t->dev->ops->space_destroy(ctx->space);
	return err;
}

bool gsb_ctx_can_be_made(const struct gsb_tenant *t)
{
	const struct gsb_device_ops *ops = t->dev->ops;

	return !ops->space_await || ops->space_await(t->dev, gsb_tenant_owner(t));
}

int gsb_ctx_create(struct gsb_tenant *t, const struct gsb_rec_ctx_create *body,
		   struct gsb_ctx **out)
{
	struct gsb_ctx *ctx = calloc(1, sizeof(*ctx));
	struct gsb_stream *legacy;
	int err;

	if (!ctx)
		return -ENOMEM;
	ctx->tenant = t;
	ctx->index = gsb_handle_index(body->ctx);
	err = pick_window(ctx);
	if (err)
		goto err_window;
	err = create_space(ctx);
	if (err)
		goto err_window;
	err = gsb_order_init(&ctx->order, &t->queues);
	if (err)
		goto err_space;
	err = gsb_stream_create(&ctx->order, body->legacy, 0, 0, &legacy);
	if (err)
		goto err_order;
	legacy->legacy = true;
	ctx->handle = body->ctx;
	t->ctxs[ctx->index] = ctx;
	t->stats.n_ctxs++;
	gsb_tell_stream(legacy, false);
	atomic_store_explicit(&t->region->ctxs[ctx->index].error, 0, memory_order_release);
	*out = ctx;
	return 0;
err_order:
	gsb_order_finish(&ctx->order);
err_space:
	t->dev->ops->space_destroy(ctx->space);
err_window:
	free(ctx);
	return err;
}

void gsb_ctx_destroy(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	gsb_code_ctx_finish(ctx);
	gsb_memory_ctx_finish(ctx);
	t->dev->ops->space_destroy(ctx->space);
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
	int err = gsb_memory_ctx_retire(ctx);

	if (err)
		return err;
	ctx->handle = 0; /* nothing of it can be named any more */
	ctx->end_call = *call;
	gsb_memory_ctx_cancel(ctx);
	gsb_order_close(&ctx->order, on_end);
	return 0;
}
