/*
 * epoch.c - see epoch.h.
 */
#include "broker/engine/order/epoch.h"

#include <errno.h>

#include "broker/engine/order/wait.h"

int gsb_epoch_join(struct gsb_stream *s, struct gsb_epoch **out)
{
	struct gsb_order *o = s->order;
	struct gsb_epoch *last = o->epoch_last;

	*out = NULL;
	if (!s->legacy && !s->blocking)
		return 0;
	if (!last || last->legacy != s->legacy) {
		last = gsb_pool_alloc(&o->queues->pool, sizeof(*last));
		if (!last)
			return -EAGAIN;
		*last = (struct gsb_epoch){.legacy = s->legacy};
		*(o->epoch_last ? &o->epoch_last->next : &o->epoch_first) = last;
		o->epoch_last = last;
	}
	last->n_open++;
	*out = last;
	return 0;
}

/* In a failed context operations pass out of order, so a later epoch may be empty before it is the first. */
void gsb_epoch_leave(struct gsb_order *o, struct gsb_epoch *epoch, uint64_t time_ns)
{
	o->epoch_ns = gsb_later_ns(o->epoch_ns, time_ns);
	epoch->n_open--;
	while (o->epoch_first && !o->epoch_first->n_open) {
		epoch = o->epoch_first;
		o->barrier_ns = o->epoch_ns;
		o->epoch_first = epoch->next;
		gsb_pool_free(&o->queues->pool, epoch);
	}
	if (!o->epoch_first)
		o->epoch_last = NULL;
	else
		gsb_stream_wake_list(&o->epoch_first->waiters);
}
