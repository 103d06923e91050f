/*
 * host.c - pinned host memory: a window of the tenant's at one address on both sides, and for every context.
 */
#include "broker/engine/memory/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/log.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/region.h"

#define HOST_PAGE_BYTES 4096

/* ---- in the spaces of contexts ---- */

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
int gsb_memory_host_ctx_init(struct gsb_ctx *ctx)
{
	struct gsb_tenant *t = ctx->tenant;
	const struct gsb_ranges *r = &t->host_taken;

	if (t->features & GSB_FEATURE_HOST_WINDOW)
		gsb_ranges_init(&ctx->host_owned, gsb_host_window_base(t->slot),
				t->limits.host_mem_bytes);
	for (size_t i = 0; i < r->n_items; i++) {
		int err = t->dev->ops->host_pin(ctx->space, r->items[i].start, r->items[i].size);

		if (err)
			return err;
	}
	return 0;
}

/* ---- allocations ---- */

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

void gsb_memory_host_ctx_finish(struct gsb_ctx *ctx)
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
