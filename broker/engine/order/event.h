/*
 * event.h - events: points in streams that others wait for.
 *
 * A point is one recording of an event, done when its operation is. A wait holds the point that was the
 * event's latest when the wait came, so recording again changes nothing for it.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_EVENT_H
#define GSB_BROKER_ENGINE_ORDER_EVENT_H

#include "broker/engine/order/types.h"

struct gsb_sharer;

struct gsb_point {
	struct gsb_stream *waiters;
	uint64_t time_ns;		/* device time, once done */
	const struct gsb_op *recording; /* not done */
	uint32_t refs;			/* the event, the recording, waiting operations */
	bool done;
	bool is_shared; /* part of a struct gsb_shared_point (shared.h); else in the tenant's pool */
};

struct gsb_event {
	uint64_t handle; /* 0: none */
	struct gsb_order *order;
	struct gsb_point *latest; /* NULL: never recorded, or done at done_ns */
	uint64_t done_ns;
	uint64_t number;    /* of the latest recording, of all owners of this index */
	uint64_t published; /* the done word */
	uint64_t serial;    /* for the trace: of the recording that it is of */
	/* Others record it, too, and what says which is the latest is there (shared.h); NULL: it is the tenant's. */
	struct gsb_sharer *sharer;
};

/* -ERANGE: no handle of an event. -EEXIST: it is in use. */
int gsb_event_create(struct gsb_order *o, uint64_t handle);
void gsb_event_destroy(struct gsb_event *e);
struct gsb_event *gsb_event_find(struct gsb_queues *q, uint64_t handle);

/*
 * gsb_event_record(), gsb_event_wait() - queue the operation behind a record of the tenant's
 * @post_ns: device time from which it may start
 * Return: 0, -EAGAIN (no room now, nothing happened), -ENOMEM (likewise, of an event that is shared).
 */
int gsb_event_record(struct gsb_event *e, struct gsb_stream *s, uint64_t post_ns);
int gsb_event_wait(struct gsb_event *e, struct gsb_stream *s, uint64_t post_ns);

#endif
