/*
 * ctx.c - contexts as the rooms above find them, and how one fails. context.c makes and ends them.
 */
#include <stdio.h>

#include "base/err.h"
#include "broker/engine/tenant/tenant.h"

struct gsb_ctx *gsb_ctx_find(struct gsb_tenant *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_ctx *ctx = handle && index < GSB_N_CTXS ? t->ctxs[index] : NULL;

	return ctx && ctx->handle == handle ? ctx : NULL;
}

struct gsb_ctx *gsb_ctx_of(struct gsb_order *o)
{
	return gsb_container_of(o, struct gsb_ctx, order);
}

static GSB_COLD void trace_fault(const struct gsb_ctx *ctx, CUresult result, const char *detail)
{
	struct gsb_trace_fault e = {
		.head = {GSB_TRACE_FAULT, sizeof(e), ctx->tenant->id},
		.result = (int32_t)result,
		.context = ctx->index,
	};

	snprintf(e.detail, sizeof(e.detail), "%s", detail ? detail : "");
	gsb_trace_put(&e.head);
}

static void end_with(struct gsb_ctx *ctx, CUresult result)
{
	ctx->error = result;
	atomic_store_explicit(&ctx->tenant->region->ctxs[ctx->index].error, (uint32_t)result,
			      memory_order_release);
	gsb_order_fail(&ctx->order);
}

void gsb_ctx_fail(struct gsb_ctx *ctx, CUresult result, const char *detail)
{
	struct gsb_tenant *t = ctx->tenant;
	const char *name = gsb_cuda_error_name(result);

	if (t->error)
		return;
	t->error = result;
	t->stats.n_errors++;
	t->stats.last_error = result;
	if (gsb_trace_is_on())
		trace_fault(ctx, result, detail);
	gsb_tenant_log(
		t, GSB_LOG_WARN, "tenant",
		"%u (%s, pid %u): context %u failed with %s%s%s; its later calls return this",
		t->id, t->name, t->pid, ctx->index, name ? name : "an unknown error",
		detail && *detail ? ": " : "", detail ? detail : "");
	gsb_queues_touch(&t->queues);
	for (uint32_t i = 0; i < GSB_N_CTXS; i++)
		if (t->ctxs[i])
			end_with(t->ctxs[i], result);
}
