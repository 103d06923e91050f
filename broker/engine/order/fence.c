/*
 * fence.c - see fence.h.
 */
#include "broker/engine/order/fence.h"

struct gsb_fence *gsb_fence_reserve(struct gsb_queues *q)
{
	struct gsb_fence *f = gsb_pool_alloc(&q->pool, sizeof(*f));

	if (f)
		*f = (struct gsb_fence){0};
	return f;
}

void gsb_fence_unreserve(struct gsb_queues *q, struct gsb_fence *fresh)
{
	gsb_pool_free(&q->pool, fresh);
}

void gsb_fence_flush(struct gsb_order *o)
{
	while (!o->fence_first->n_open && o->fence_first->closed) {
		struct gsb_fence *f = o->fence_first;
		struct gsb_fence_job job = f->job;

		o->fence_first = f->next;
		gsb_pool_free(&o->queues->pool, f);
		gsb_trace(FENCE_PASSED, fence_passed, o->queues->tenant_id, .object = job.object,
			  .thread = job.call.thread, .record = job.call.type);
		job.run(o, &job);
	}
	if (!o->fence_first->n_open && o->on_end)
		o->on_end(o); /* o is no more */
}

void gsb_fence_close(struct gsb_order *o, struct gsb_fence *fresh, const struct gsb_fence_job *job)
{
	struct gsb_fence *f = o->fence_last;

	f->closed = true;
	f->job = *job;
	f->next = fresh;
	o->fence_last = fresh;
	gsb_trace(FENCED, fenced, o->queues->tenant_id, .object = job->object, .n_open = f->n_open,
		  .record = job->call.type, .thread = job->call.thread);
	gsb_fence_flush(o);
}

struct gsb_fence *gsb_fence_hold(struct gsb_order *o)
{
	o->fence_last->n_open++;
	return o->fence_last;
}

void gsb_fence_release(struct gsb_order *o, struct gsb_fence *f)
{
	f->n_open--;
	gsb_fence_flush(o);
}
