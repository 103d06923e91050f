/*
 * later.c - see later.h.
 */
#include "broker/engine/tenant/later.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"

void gsb_laters_init(struct gsb_laters *l)
{
	*l = (struct gsb_laters){.end = &l->first};
}

static void append(struct gsb_laters *all, struct gsb_later *l)
{
	l->next = NULL;
	*all->end = l;
	all->end = &l->next;
	all->n++;
	all->goes_on |= l->goes_on;
}

static void wait_for(struct gsb_later *l)
{
	l->is_late = true;
	if (l->ctx)
		l->fence = gsb_fence_hold(&l->ctx->order);
	gsb_tenant_job_begin(l->tenant);
	append(l->tenant->laters, l);
}

void gsb_later_run(struct gsb_later *want, size_t size)
{
	struct gsb_later *l = malloc(size);
	int err;

	if (!l) {
		want->done(want, -ENOMEM);
		return;
	}
	memcpy(l, want, size);
	err = l->ask(l);
	if (err == -EINPROGRESS) {
		wait_for(l);
		return;
	}
	l->done(l, err);
	free(l);
}

static void end(struct gsb_later *l, int err)
{
	struct gsb_ctx *ctx = l->ctx;
	struct gsb_fence *fence = l->fence;

	l->done(l, err);
	gsb_tenant_job_end(l->tenant);
	free(l);
	if (ctx)
		gsb_fence_release(&ctx->order, fence);
}

void gsb_later_reply(struct gsb_later *l, int err, const void *reply, uint32_t bytes)
{
	if (err)
		gsb_tenant_fail_call(l->tenant, &l->call, err);
	else
		gsb_tenant_reply_with(l->tenant, &l->call, reply, bytes);
}

/* What is asked for meanwhile stands behind them. */
unsigned gsb_laters_collect(struct gsb_laters *all)
{
	struct gsb_later *l = all->first, *next;
	unsigned n = 0;

	*all = (struct gsb_laters){.end = &all->first, .round = all->round + 1};
	for (; l; l = next) {
		int err;

		l->goes_on = false;
		err = l->ask(l);
		next = l->next;
		if (err == -EINPROGRESS) {
			append(all, l);
			continue;
		}
		end(l, err);
		n++;
	}
	return n;
}
