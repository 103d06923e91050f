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

/* Do the jobs of all closed fences at the front that are empty. The last one may end o. */
static void flush(struct gsb_order *o)
{
	for (;;) {
		struct gsb_fence *f = o->fence_first;
		struct gsb_fence_job job = f->job;

		if (f->n_open || !f->closed)
			return;
		o->fence_first = f->next;
		gsb_pool_free(&o->queues->pool, f);
		if (job.run(o, &job))
			return; /* o is no more */
	}
}

void gsb_fence_close(struct gsb_order *o, struct gsb_fence *fresh, const struct gsb_fence_job *job)
{
	struct gsb_fence *f = o->fence_last;

	f->closed = true;
	f->job = *job;
	f->next = fresh;
	o->fence_last = fresh;
	flush(o);
}

struct gsb_fence *gsb_fence_hold(struct gsb_order *o)
{
	o->fence_last->n_open++;
	return o->fence_last;
}

void gsb_fence_release(struct gsb_order *o, struct gsb_fence *f)
{
	f->n_open--;
	flush(o);
}
