/*
 * job.c - a tenant's jobs for the loader: made, given, freed.
 */
#include "broker/engine/code/job.h"

#include <stdlib.h>

#include "base/clock.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"

struct gsb_job *gsb_job_create_in(struct gsb_tenant *t, struct gsb_ctx *ctx,
				  struct gsb_fence *fence, const struct gsb_rec *call)
{
	struct gsb_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->tenant = t;
	j->call = *call;
	j->asked_ns = gsb_clock_ns();
	j->ctx = ctx;
	j->fence = fence;
	if (fence)
		fence->n_open++;
	j->space = ctx ? ctx->space : NULL;
	gsb_tenant_job_begin(t);
	return j;
}

struct gsb_job *gsb_job_create(struct gsb_tenant *t, struct gsb_ctx *ctx,
			       const struct gsb_rec *call)
{
	return gsb_job_create_in(t, ctx, ctx ? ctx->order.fence_last : NULL, call);
}

void gsb_job_destroy(struct gsb_job *j)
{
	struct gsb_ctx *ctx = j->ctx;
	struct gsb_fence *fence = j->fence;

	gsb_tenant_job_end(j->tenant);
	free(j);
	if (ctx)
		gsb_fence_release(&ctx->order, fence);
}

void gsb_job_give(struct gsb_job *j)
{
	struct gsb_tenant *t = j->tenant;

	j->round = t->loader_round + 1;
	gsb_loader_give(t->loader, j);
	t->loader_round = j->round;
}
