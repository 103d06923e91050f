/*
 * order.c - see order.h: the life of a tenant's queues and of a context's order.
 */
#include "broker/engine/order/order.h"

#include <errno.h>
#include <stdlib.h>

#include "broker/engine/order/event.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/order/stream.h"

int gsb_queues_init(struct gsb_queues *q, struct gsb_region *region, uint64_t max_bytes,
		    uint32_t max_queued, struct gsb_stream **unsettled)
{
	int err = gsb_pool_init(&q->pool, max_bytes);

	if (err)
		return err;
	q->events = calloc(GSB_N_EVENTS, sizeof(*q->events));
	if (!q->events)
		return -ENOMEM;
	q->region = region;
	q->max_queued_bytes = max_bytes;
	q->max_queued = max_queued;
	q->unsettled = unsettled;
	return 0;
}

void gsb_queues_finish(struct gsb_queues *q)
{
	for (uint32_t i = 0; i < GSB_N_STREAMS; i++)
		free(q->streams[i]);
	free(q->events);
	gsb_pool_finish(&q->pool);
}

int gsb_order_init(struct gsb_order *o, struct gsb_queues *q)
{
	struct gsb_fence *open = gsb_fence_reserve(q);

	if (!open)
		return -ENOMEM;
	*o = (struct gsb_order){.queues = q, .fence_first = open, .fence_last = open};
	return 0;
}

void gsb_order_close(struct gsb_order *o, void (*on_end)(struct gsb_order *o))
{
	o->closed = true;
	o->on_end = on_end;
	gsb_fence_flush(o);
}

void gsb_order_finish(struct gsb_order *o)
{
	struct gsb_queues *q = o->queues;

	for (uint32_t i = 0; i < GSB_N_STREAMS; i++)
		if (q->streams[i] && q->streams[i]->order == o)
			gsb_stream_forget(q->streams[i]);
	for (uint32_t i = 0; i < q->n_events_seen; i++)
		if (q->events[i].handle && q->events[i].order == o)
			gsb_event_destroy(&q->events[i]);
	for (struct gsb_fence *f = o->fence_first, *next; f; f = next) {
		next = f->next;
		gsb_pool_free(&q->pool, f);
	}
}

void gsb_order_fail(struct gsb_order *o)
{
	struct gsb_queues *q = o->queues;

	o->failed = true;
	for (uint32_t i = 0; i < GSB_N_STREAMS; i++)
		if (q->streams[i])
			gsb_stream_withdraw(q->streams[i], o);
}
