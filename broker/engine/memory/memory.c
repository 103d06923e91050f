/*
 * memory.c - device memory, and what memory a context has. See memory.h.
 */
#include "broker/engine/memory/memory.h"

#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/err.h"
#include "broker/engine/memory/host.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"

/* ---- device memory ---- */

static bool over_limit(uint64_t used, uint64_t size, uint64_t limit)
{
	uint64_t sum;

	return limit && (gsb_add_overflows(used, size, &sum) || sum > limit);
}

static int alloc_device(struct gsb_tenant *t, struct gsb_ctx *ctx, uint64_t size, uint64_t *addr)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	int err;

	if (!size)
		return -EINVAL;
	if (over_limit(t->device_used_bytes, size, t->limits.device_mem_bytes))
		return -EDQUOT;
	err = ops->mem_alloc(ctx->space, size, addr);
	if (err)
		return err;
	err = gsb_ranges_add(&ctx->device_taken, *addr, size);
	if (err)
		goto err_taken;
	err = gsb_ranges_add(&ctx->device_live, *addr, size);
	if (err)
		goto err_live;
	t->device_used_bytes += size;
	if (t->device_used_bytes > t->stats.device_mem_peak_bytes)
		t->stats.device_mem_peak_bytes = t->device_used_bytes;
	return 0;
err_live:
	gsb_ranges_remove(&ctx->device_taken, *addr, &(struct gsb_range){0});
err_taken:
	ops->mem_free(ctx->space, *addr);
	return err;
}

int gsb_memory_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_rec_mem_alloc *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_reply_range range = {.size = body->size};
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	err = alloc_device(t, ctx, body->size, &range.addr);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &range, sizeof(range));
	return 0;
}

/* Nothing may name it from now on. */
static int retire(struct gsb_tenant *t, struct gsb_ctx *ctx, uint64_t addr)
{
	const struct gsb_range *taken = gsb_ranges_find(&ctx->device_taken, addr);
	struct gsb_range was;

	if (!taken || taken->start != addr || gsb_ranges_remove(&ctx->device_live, addr, &was))
		return gsb_violation(t, "free of %#" PRIx64 ", where no allocation begins", addr);
	return 0;
}

/* Give a retired allocation back to the device. */
static void release(struct gsb_ctx *ctx, uint64_t addr)
{
	struct gsb_tenant *t = ctx->tenant;
	struct gsb_range was;

	if (gsb_ranges_remove(&ctx->device_taken, addr, &was))
		return;
	t->device_used_bytes -= was.size;
	t->dev->ops->mem_free(ctx->space, addr);
}

static void free_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);

	release(ctx, job->object);
	gsb_tenant_reply(ctx->tenant, &job->call, ctx->error, 0);
}

int gsb_memory_free(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_mem_free *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_fence *fresh;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	fresh = gsb_fence_reserve(&t->queues);
	if (!fresh)
		return -EAGAIN;
	if (retire(t, ctx, body->addr))
		return -EPROTO;
	gsb_fence_close(&ctx->order, fresh, &(struct gsb_fence_job){free_done, body->addr, *rec});
	return 0;
}

/* ---- stream-ordered frees ---- */

struct free_op {
	struct gsb_op op;
	uint64_t addr;
};

static void start_free(struct gsb_op *op)
{
	release(gsb_ctx_of(op->order), gsb_container_of(op, struct free_op, op)->addr);
	gsb_stream_pop(op->stream, op->ready_ns);
}

/*
 * In a failed context it passes without effect, ahead of what it was ordered behind: another stream may still work
 * with the memory, which goes with the context.
 */
static const struct gsb_op_class free_class = {.start = start_free};

int gsb_memory_free_async(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_free *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_stream *s = gsb_stream_find(&t->queues, rec->stream);
	struct free_op *f;
	int err;

	if (!ctx || (s && s->order != &ctx->order))
		return gsb_no_such(t, rec, "context", body->ctx);
	if (!s)
		return gsb_no_such(t, rec, "stream", rec->stream);
	f = gsb_op_create(&t->queues, &free_class, sizeof(*f), 0);
	if (!f)
		return -EAGAIN;
	f->op.post_ns = gsb_tenant_post_ns(t);
	f->addr = body->addr;
	err = gsb_stream_push(s, &f->op);
	if (err) {
		gsb_op_discard(&t->queues, &f->op);
		return err;
	}
	/* Queued first: a record that is offered again must find the allocation as it was. */
	return retire(t, ctx, body->addr);
}

int gsb_memory_info(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t ctx)
{
	struct gsb_reply_mem_info info;
	uint64_t limit = t->limits.device_mem_bytes, left;

	if (!gsb_ctx_find(t, ctx))
		return gsb_no_such(t, rec, "context", ctx);
	t->dev->ops->mem_info(t->dev, &info.free_bytes, &info.total_bytes);
	if (limit && limit < info.total_bytes)
		info.total_bytes = limit;
	left = info.total_bytes > t->device_used_bytes ? info.total_bytes - t->device_used_bytes
						       : 0;
	if (left < info.free_bytes)
		info.free_bytes = left;
	gsb_tenant_reply_with(t, rec, &info, sizeof(info));
	return 0;
}

int gsb_memory_add_global(struct gsb_ctx *ctx, uint64_t addr, uint64_t size)
{
	return gsb_ranges_add(&ctx->device_live, addr, size);
}

void gsb_memory_remove_global(struct gsb_ctx *ctx, uint64_t addr)
{
	gsb_ranges_remove(&ctx->device_live, addr, &(struct gsb_range){0});
}

/* ---- contexts ---- */

int gsb_memory_ctx_init(struct gsb_ctx *ctx)
{
	gsb_ranges_init(&ctx->device_taken, ctx->window_base, ctx->window_size);
	gsb_ranges_init(&ctx->device_live, ctx->window_base, ctx->window_size);
	return gsb_memory_host_ctx_init(ctx);
}

int gsb_memory_ctx_retire(struct gsb_ctx *ctx)
{
	return gsb_memory_host_ctx_retire(ctx);
}

void gsb_memory_ctx_finish(struct gsb_ctx *ctx)
{
	gsb_memory_host_ctx_finish(ctx);
	for (size_t i = 0; i < ctx->device_taken.n_items; i++)
		ctx->tenant->device_used_bytes -= ctx->device_taken.items[i].size;
	gsb_ranges_finish(&ctx->device_taken);
	gsb_ranges_finish(&ctx->device_live);
}
