/*
 * free.c - device memory that is freed: named by nothing from when the record is read on, and given back to the device when the work before it
 * is done. See memory.h.
 */
#include <errno.h>
#include <inttypes.h>

#include "broker/engine/memory/account.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/share.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"

int gsb_memory_retire(struct gsb_ctx *ctx, uint64_t addr, uint64_t *size)
{
	const struct gsb_range *taken = gsb_ranges_find(&ctx->device_taken, addr);
	struct gsb_range was;

	if (!taken || taken->start != addr || gsb_ranges_remove(&ctx->device_live, addr, &was))
		return gsb_violation(ctx->tenant,
				     "free of %#" PRIx64 ", where no allocation begins", addr);
	*size = was.size;
	gsb_share_retire(ctx, addr);
	return 0;
}

static int retire(struct gsb_ctx *ctx, uint64_t addr)
{
	uint64_t size;

	return gsb_memory_retire(ctx, addr, &size);
}

int gsb_memory_revive(struct gsb_ctx *ctx, uint64_t addr, uint64_t size)
{
	int err = gsb_ranges_add(&ctx->device_live, addr, size);

	if (!err)
		gsb_trace(ALLOCATED, allocated, ctx->tenant->id, .addr = addr, .bytes = size,
			  .memory = GSB_TRACE_MEMORY_DEVICE);
	return err;
}

/*
 * Give a retired allocation back to the device. bytes: that it no longer takes; its size, 0: there is none, or it was another
 * program's.
 */
static uint64_t give_to_device(struct gsb_ctx *ctx, uint64_t addr, uint64_t *bytes)
{
	struct gsb_shared_memory *m = gsb_share_at(ctx, addr);
	bool is_opened = m && m->base;
	struct gsb_range was;

	if (gsb_ranges_remove(&ctx->device_taken, addr, &was))
		return 0;
	ctx->tenant->dev->ops->mem_free(ctx->space, is_opened ? m->base : addr);
	*bytes = m ? gsb_share_free(ctx, m) : gsb_memory_cost(ctx->tenant, was.size);
	return is_opened ? 0 : was.size;
}

void gsb_memory_release(struct gsb_ctx *ctx, uint64_t addr)
{
	uint64_t bytes;

	if (give_to_device(ctx, addr, &bytes))
		gsb_memory_unuse(ctx, bytes);
}

/* The same when the program frees it. serial: of the operation that says so; 0: a call does. */
static void release(struct gsb_ctx *ctx, uint64_t addr, uint64_t serial)
{
	struct gsb_tenant *t = ctx->tenant;
	uint64_t bytes, size = give_to_device(ctx, addr, &bytes);

	if (!size)
		return;
	gsb_trace(FREED, freed, t->id, .addr = addr, .bytes = size, .serial = serial,
		  .memory = GSB_TRACE_MEMORY_DEVICE);
	gsb_memory_unuse(ctx, bytes);
}

static void free_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);

	release(ctx, job->object, 0);
	if (job->call.call)
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
	if (retire(ctx, body->addr))
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
	release(gsb_ctx_of(op->order), gsb_container_of(op, struct free_op, op)->addr, op->serial);
	gsb_stream_pop(op->stream, op->ready_ns);
}

/*
 * In a failed context it passes without effect, ahead of what it was ordered behind: another stream may still work
 * with the memory, which goes with the context.
 */
static const struct gsb_op_class free_class = {.kind = GSB_TRACE_OP_FREE, .start = start_free};

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
	return retire(ctx, body->addr);
}
