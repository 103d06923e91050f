/*
 * shared.h - events that several tenants have: the latest recording by any of them is what counts.
 *
 * Each tenant has events of its own for it (event.h), and is one sharer, however many. What they have in common outlives each
 * of them, so points of its recordings are on the heap: as many as its tenants have recordings queued, and the latest.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_SHARED_H
#define GSB_BROKER_ENGINE_ORDER_SHARED_H

#include "broker/engine/order/event.h"

struct gsb_await;

struct gsb_shared_point {
	struct gsb_point point; /* is_shared */
	struct gsb_shared *of;	/* until it is done */
	struct gsb_await *awaits;
};

/* One tenant's part. */
struct gsb_sharer {
	struct gsb_sharer *prev, *next; /* of the shared event */
	struct gsb_shared *of;
	struct gsb_queues *queues;
	uint32_t n_events; /* of the tenant that are it */
};

/* Embedded; zeroed but for on_end. */
struct gsb_shared {
	struct gsb_sharer *sharers; /* of each tenant one at most */
	struct gsb_point *latest;   /* NULL: never recorded */
	uint32_t n_recording;	    /* recordings that are not done */
	/* Nobody has it, and no recording of it is queued: it is the owner's to free. */
	void (*on_end)(struct gsb_shared *s);
};

/* Who is told when a point is done. Embedded. */
struct gsb_await {
	struct gsb_await *prev, *next;	   /* of the point */
	struct gsb_shared_point *point;	   /* a reference */
	void (*done)(struct gsb_await *a); /* it waits no longer; a is the owner's */
};

/* A new event becomes one of s. -ENOMEM. */
int gsb_event_share(struct gsb_event *e, struct gsb_shared *s);
void gsb_event_unshare(struct gsb_event *e); /* it ends */

/* A point for a recording; NULL: no memory. */
struct gsb_point *gsb_shared_point(struct gsb_shared *s);
void gsb_shared_point_free(struct gsb_point *p); /* no references */

/* A recording is queued, and takes the place of the latest. */
void gsb_shared_record(struct gsb_point *p);
/* It is done, in a stream of q; its point says so next. */
void gsb_shared_recorded(struct gsb_point *p, const struct gsb_queues *q);

/* The latest recording is done, or there never was one. */
bool gsb_shared_is_done(const struct gsb_shared *s);
/* It is not: a waits for it. */
void gsb_await_begin(struct gsb_await *a, struct gsb_shared *s);
void gsb_await_cancel(struct gsb_await *a);

#endif
