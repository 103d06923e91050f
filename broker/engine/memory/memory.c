/*
 * memory.c - see memory.h.
 */
#include "broker/engine/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/region.h"

#define HOST_PAGE_BYTES 4096

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

static bool free_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);

	release(ctx, job->object);
	gsb_tenant_reply(ctx->tenant, &job->call, ctx->error, 0);
	return false;
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

/* In a failed context everything passes; memory is still given back. */
static const struct gsb_op_class free_class = {.start = start_free, .pass = start_free};

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

/* ---- pinned host memory ---- */

static void unpin_spaces(struct gsb_tenant *t, uint64_t addr, uint64_t size, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (t->ctxs[i])
			t->dev->ops->host_unpin(t->ctxs[i]->space, addr, size);
}

/* Pinned memory is for every context of its process, as with unified addressing. */
static int pin_spaces(struct gsb_tenant *t, uint64_t addr, uint64_t size)
{
	for (uint32_t i = 0; i < GSB_N_CTXS; i++) {
		int err = t->ctxs[i] ? t->dev->ops->host_pin(t->ctxs[i]->space, addr, size) : 0;

		if (err) {
			unpin_spaces(t, addr, size, i);
			return err;
		}
	}
	return 0;
}

/* A new context may use the pinned memory that its tenant has. */
static int pin_all(struct gsb_ctx *ctx)
{
	const struct gsb_ranges *r = &ctx->tenant->host_taken;

	for (size_t i = 0; i < r->n_items; i++) {
		int err = ctx->tenant->dev->ops->host_pin(ctx->space, r->items[i].start,
							  r->items[i].size);

		if (err)
			return err;
	}
	return 0;
}

static int alloc_host(struct gsb_ctx *ctx, uint64_t size, uint64_t *addr)
{
	struct gsb_tenant *t = ctx->tenant;
	int err;

	if (!(t->features & GSB_FEATURE_HOST_WINDOW))
		return -ENOTSUP;
	if (!size || size > t->limits.host_mem_bytes)
		return size ? -ENOMEM : -EINVAL;
	size = gsb_round_up(size, HOST_PAGE_BYTES);
	err = gsb_ranges_alloc(&t->host_taken, size, HOST_PAGE_BYTES, 0, addr);
	if (err)
		return err;
	err = gsb_ranges_add(&t->host_live, *addr, size);
	if (err)
		goto err_live;
	err = gsb_ranges_add(&ctx->host_owned, *addr, size);
	if (err)
		goto err_owned;
	err = pin_spaces(t, *addr, size);
	if (err)
		goto err_pin;
	t->host_used_bytes += size;
	if (t->host_used_bytes > t->stats.host_mem_peak_bytes)
		t->stats.host_mem_peak_bytes = t->host_used_bytes;
	return 0;
err_pin:
	gsb_ranges_remove(&ctx->host_owned, *addr, &(struct gsb_range){0});
err_owned:
	gsb_ranges_remove(&t->host_live, *addr, &(struct gsb_range){0});
err_live:
	gsb_ranges_remove(&t->host_taken, *addr, &(struct gsb_range){0});
	return err;
}

int gsb_memory_host_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_alloc *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_reply_range range = {.size = body->size};
	int err;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	err = alloc_host(ctx, body->size, &range.addr);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &range, sizeof(range));
	return 0;
}

/* Memory of one owner must not be read by the next: the pages go, new ones read as zero. */
static void release_host(struct gsb_tenant *t, uint64_t addr)
{
	uint64_t base = gsb_host_window_base(t->slot);
	struct gsb_range was;

	if (gsb_ranges_remove(&t->host_taken, addr, &was))
		return;
	unpin_spaces(t, addr, was.size, GSB_N_CTXS);
	t->host_used_bytes -= was.size;
	if (fallocate(t->host_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(addr - base),
		      (off_t)was.size))
		gsb_log(GSB_LOG_WARN, "memory",
			"tenant %u: freed pinned memory keeps its pages: %m", t->id);
}

static void free_host_of(struct gsb_ctx *ctx)
{
	struct gsb_ranges *owned = &ctx->host_owned;
	struct gsb_range was;

	while (owned->n_items) {
		gsb_ranges_remove(owned, owned->items[owned->n_items - 1].start, &was);
		gsb_ranges_remove(&ctx->tenant->host_live, was.start, &was);
		release_host(ctx->tenant, was.start);
	}
	gsb_ranges_finish(owned);
}

static bool host_free_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);

	release_host(ctx->tenant, job->object);
	gsb_tenant_reply(ctx->tenant, &job->call, ctx->error, 0);
	return false;
}

int gsb_memory_host_free(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_mem_free *body)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, body->ctx);
	struct gsb_fence *fresh;
	struct gsb_range was;

	if (!ctx)
		return gsb_no_such(t, rec, "context", body->ctx);
	fresh = gsb_fence_reserve(&t->queues);
	if (!fresh)
		return -EAGAIN;
	if (gsb_ranges_remove(&ctx->host_owned, body->addr, &was) ||
	    gsb_ranges_remove(&t->host_live, body->addr, &was))
		return gsb_violation(t, "HostFree of %#" PRIx64 ", where no allocation begins",
				     body->addr);
	gsb_fence_close(&ctx->order, fresh,
			&(struct gsb_fence_job){host_free_done, body->addr, *rec});
	return 0;
}

/* ---- contexts ---- */

int gsb_memory_ctx_init(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;

	gsb_ranges_init(&ctx->device_taken, ctx->window_base, ctx->window_size);
	gsb_ranges_init(&ctx->device_live, ctx->window_base, ctx->window_size);
	if (t->features & GSB_FEATURE_HOST_WINDOW)
		gsb_ranges_init(&ctx->host_owned, gsb_host_window_base(t->slot),
				t->limits.host_mem_bytes);
	return pin_all(ctx);
}

void gsb_memory_ctx_finish(struct gsb_ctx *ctx)
{
	free_host_of(ctx);
	for (size_t i = 0; i < ctx->device_taken.n_items; i++)
		ctx->tenant->device_used_bytes -= ctx->device_taken.items[i].size;
	gsb_ranges_finish(&ctx->device_taken);
	gsb_ranges_finish(&ctx->device_live);
}

/* ---- addresses ---- */

/* Bytes from the first of the first row to the last of the last. */
static int extent(uint64_t width, uint64_t height, uint64_t pitch, uint64_t *out)
{
	uint64_t rows;

	if (height == 1) {
		*out = width;
		return 0;
	}
	if (pitch < width || gsb_mul_overflows(height - 1, pitch, &rows) ||
	    gsb_add_overflows(rows, width, out))
		return -EPROTO;
	return 0;
}

static bool is_live(const struct gsb_ranges *live, uint64_t addr, uint64_t bytes)
{
	const struct gsb_range *r = gsb_ranges_find(live, addr);

	return r && gsb_range_ok(addr - r->start, bytes, r->size);
}

/* One end of a copy as an address that the device may use. */
static int resolve(struct gsb_ctx *ctx, uint32_t place, uint64_t *addr, uint64_t bytes)
{
	struct gsb_tenant *t = ctx->tenant;

	switch (place) {
	case GSB_PLACE_DEVICE:
		if (is_live(&ctx->device_live, *addr, bytes))
			return 0;
		return gsb_violation(t, "device range %#" PRIx64 "+%" PRIu64 " is not its own",
				     *addr, bytes);
	case GSB_PLACE_HOST:
		if (is_live(&t->host_live, *addr, bytes))
			return 0;
		return gsb_violation(t, "pinned range %#" PRIx64 "+%" PRIu64 " is not its own",
				     *addr, bytes);
	case GSB_PLACE_STAGING:
		if (!gsb_range_ok(*addr, bytes, t->limits.staging_bytes))
			return gsb_violation(t,
					     "staging range %#" PRIx64 "+%" PRIu64 " is not in it",
					     *addr, bytes);
		*addr += (uint64_t)(uintptr_t)t->staging;
		return 0;
	default: return gsb_violation(t, "copy with place %u, which there is not", place);
	}
}

/* extent: of the rows in the record, which holds so many bytes behind the body. */
static int check_inline(struct gsb_tenant *t, const struct gsb_rec_copy *body, uint64_t extent,
			uint32_t bytes)
{
	if (body->src || extent > GSB_INLINE_COPY_MAX || extent > bytes)
		return gsb_violation(
			t, "inline copy of %" PRIu64 "x%" PRIu64 " bytes with %u in the record",
			body->width, body->height, bytes);
	return 0;
}

int gsb_memory_check_copy(struct gsb_ctx *ctx, const struct gsb_rec_copy *body, uint32_t bytes,
			  struct gsb_cmd_copy *out)
{
	struct gsb_cmd_copy c = {
		.dst = body->dst,
		.src = body->src,
		.width = body->width,
		.height = body->height,
		.dst_pitch = body->dst_pitch,
		.src_pitch = body->src_pitch,
	};
	uint64_t dst_bytes, src_bytes;
	int err;

	if (extent(c.width, c.height, c.dst_pitch, &dst_bytes) ||
	    extent(c.width, c.height, c.src_pitch, &src_bytes))
		return gsb_violation(ctx->tenant,
				     "copy of %" PRIu64 "x%" PRIu64 " bytes, pitch %" PRIu64
				     " to %" PRIu64,
				     c.width, c.height, c.src_pitch, c.dst_pitch);
	if (body->src_place == GSB_PLACE_INLINE)
		err = check_inline(ctx->tenant, body, src_bytes, bytes);
	else
		err = resolve(ctx, body->src_place, &c.src, src_bytes);
	if (!err)
		err = resolve(ctx, body->dst_place, &c.dst, dst_bytes);
	if (!err)
		*out = c;
	return err;
}

static int fill_extent(const struct gsb_rec_fill *f, uint64_t *row, uint64_t *bytes)
{
	if (f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4)
		return -EPROTO;
	if (!f->width || !f->height || gsb_mul_overflows(f->width, f->elem_bytes, row))
		return -EPROTO;
	return extent(*row, f->height, f->pitch, bytes);
}

int gsb_memory_check_fill(struct gsb_ctx *ctx, const struct gsb_rec_fill *body,
			  struct gsb_cmd_fill *out)
{
	struct gsb_tenant *t = ctx->tenant;
	uint64_t row, bytes;

	if (fill_extent(body, &row, &bytes))
		return gsb_violation(t,
				     "fill of %" PRIu64 "x%" PRIu64 " elements of %u bytes, pitch "
				     "%" PRIu64,
				     body->width, body->height, body->elem_bytes, body->pitch);
	if (body->dst % body->elem_bytes || (!is_live(&ctx->device_live, body->dst, bytes) &&
					     !is_live(&t->host_live, body->dst, bytes)))
		return gsb_violation(t, "fill of range %#" PRIx64 "+%" PRIu64 ", not its own",
				     body->dst, bytes);
	*out = (struct gsb_cmd_fill){
		.dst = body->dst,
		.width = body->width,
		.height = body->height,
		.pitch = body->pitch,
		.value = body->value,
		.elem_bytes = body->elem_bytes,
	};
	return 0;
}
