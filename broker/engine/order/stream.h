/*
 * stream.h - CUDA's order, in software: streams, the legacy default stream, events, and fences.
 *
 * Every stream record of a tenant becomes an item in its stream's queue. Only the head of a queue
 * can start, and a head waits for at most one thing at a time:
 *
 *   epoch   of its context. The legacy default stream takes turns with all blocking streams: each
 *           time the stream of the records consumed changes from one side to the other, a new epoch
 *           begins, and an item starts only when all earlier epochs are done. That is CUDA's rule
 *           exactly: a legacy item waits for all work before it, later work waits for it. Items of
 *           non-blocking streams are in no epoch.
 *   point   one recording of an event, done when its item is. A wait holds the point that was the
 *           event's latest when the wait was consumed, so recording again changes nothing for it.
 *   code    of its kernel, being prepared by the loader.
 *   socket  full: a host function cannot be asked for yet.
 *
 * Frees and destroys that must wait for the work before them close a bucket of their context: items
 * count in the bucket that was open when they came, and when all buckets up to the closed one are
 * empty its call is done. All of it is O(1) an item, and all memory comes from the tenant's pool.
 *
 * A stream is in one place at a time:
 *
 *   EMPTY --push--> SETTLING --head free to run--> READY --issue--> ISSUED --completion-+
 *     ^               ^  |  |                                                           |
 *     |   last item   |  |  +--head must wait--> PARKED --what it waited for---+         |
 *     +---------------+--+                                                    |         |
 *                     +-------------------------------------------------------+---------+
 *   A host function stands in HOST instead of READY and ISSUED.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_STREAM_H
#define GSB_BROKER_ENGINE_ORDER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "device/ops.h"
#include "gsb/wire.h"

struct gsb_tenant;
struct gsb_ctx;
struct gsb_kernel_fn;

enum gsb_stream_state {
	GSB_STREAM_EMPTY,
	GSB_STREAM_SETTLING, /* on the engine's list of streams whose head is to be looked at */
	GSB_STREAM_PARKED,   /* on the list that parked_on names */
	GSB_STREAM_READY,    /* in the engine's heap */
	GSB_STREAM_ISSUED,   /* the head is on the device */
	GSB_STREAM_HOST	     /* the tenant runs the head, a host function */
};

struct gsb_point {
	struct gsb_stream *waiters;
	uint64_t time_ns; /* device time, once done */
	uint32_t refs;	  /* the event, the record's item, waiting items */
	bool done;
};

struct gsb_epoch {
	struct gsb_epoch *next; /* later */
	struct gsb_stream *waiters;
	uint32_t n_open; /* items */
	bool legacy;	 /* of the legacy stream; else of blocking streams */
};

struct gsb_bucket {
	struct gsb_bucket *next; /* later */
	uint32_t n_open;	 /* items, loader jobs */
	bool closed;
	struct gsb_rec call; /* closed: what to do and whom to answer */
	uint64_t object;     /* address in memory; address of a struct gsb_code_module */
};

struct gsb_item {
	struct gsb_item *next; /* in the stream's queue */
	struct gsb_ctx *ctx;
	struct gsb_epoch *epoch; /* NULL: of a non-blocking stream */
	struct gsb_bucket *bucket;
	uint64_t post_ns;	      /* device time from which it may start */
	uint16_t type;		      /* enum gsb_rec_type */
	uint8_t src_place, dst_place; /* COPY */
	uint32_t bytes;		      /* taken from the tenant's allowance */
	union {
		struct gsb_kernel_fn *fn; /* LAUNCH */
		struct gsb_point
			*point;	 /* EVENT_RECORD, STREAM_WAIT_EVENT; NULL: nothing to wait for */
		uint64_t cookie; /* HOST_FUNC */
		uint64_t addr;	 /* MEM_FREE_ASYNC */
	};
	uint32_t event;			/* EVENT_RECORD: index */
	uint64_t number;		/* EVENT_RECORD */
	struct gsb_cmd cmd;		/* LAUNCH, COPY, FILL */
	_Alignas(16) uint8_t payload[]; /* parameters, inline bytes */
};

struct gsb_stream {
	uint64_t handle; /* 0: destroyed; what is queued still runs */
	struct gsb_tenant *tenant;
	struct gsb_ctx *ctx;
	uint32_t index;
	int32_t priority;
	bool legacy, blocking; /* the legacy default stream; ordered with it */

	struct gsb_item *first, *last;
	uint64_t n_done;  /* what the tenant's word says */
	uint64_t time_ns; /* device time when the last item completed */

	enum gsb_stream_state state;
	struct gsb_stream *prev, *next; /* of the list that state names */
	struct gsb_stream **parked_on;
	uint64_t ready_ns, ready_order; /* READY: key in the heap */
};

/* The part of a context that orders its work. */
struct gsb_order {
	struct gsb_epoch *epoch_first, *epoch_last;    /* NULL: nothing is queued */
	struct gsb_bucket *bucket_first, *bucket_last; /* the last is open, always there */
	uint64_t barrier_ns; /* device time when the last finished epoch was done */
	uint64_t epoch_ns;   /* the same so far for the first epoch */
};

/* -ENOMEM when the tenant's pool is empty. */
int gsb_order_init(struct gsb_order *o, struct gsb_tenant *t);

/*
 * gsb_item_create() - room for one item
 * @payload: bytes behind it
 * Return: NULL when the tenant has as much queued as it may: read its ring again later.
 */
struct gsb_item *gsb_item_create(struct gsb_tenant *t, uint16_t type, uint32_t payload);
void gsb_item_discard(struct gsb_tenant *t, struct gsb_item *item); /* not pushed yet */

/* Append item to the stream's queue; consumes it. -EAGAIN: no room, the item is still the caller's. */
int gsb_stream_push(struct gsb_stream *s, struct gsb_item *item);

/* The head of s has completed at time_ns: publish, wake what waited for it, look at the next. */
void gsb_stream_pop(struct gsb_stream *s, uint64_t time_ns);

/* Look at the heads of all streams on the engine's list until the list is empty. */
struct gsb_engine;
void gsb_streams_settle(struct gsb_engine *e);

/* Have the head of s looked at again; s is on no list and not READY. */
void gsb_stream_settle_later(struct gsb_stream *s);
void gsb_stream_wake_list(struct gsb_stream **list);

/* The tenant says that it has run the host function. -ENOENT: it was not asked to. */
int gsb_stream_host_done(struct gsb_tenant *t, uint64_t cookie);

/* Context error or a leaving tenant: have every queued item of ctx pass without effect. */
void gsb_ctx_drop(struct gsb_ctx *ctx);

/*
 * gsb_bucket_close() - have call done when all work of ctx before now is done (at once if there is
 * none)
 * @fresh: the next open bucket, from gsb_bucket_reserve (NULL: no room now); consumed
 */
struct gsb_bucket *gsb_bucket_reserve(struct gsb_tenant *t);
void gsb_bucket_close(struct gsb_ctx *ctx, struct gsb_bucket *fresh, const struct gsb_rec *call,
		      uint64_t object);
struct gsb_bucket *
gsb_bucket_hold(struct gsb_ctx *ctx); /* one piece of work more in the open one */
void gsb_bucket_release(struct gsb_ctx *ctx, struct gsb_bucket *b);

struct gsb_point *gsb_point_create(struct gsb_tenant *t); /* one reference; NULL: no room */
struct gsb_point *gsb_point_hold(struct gsb_point *p);
void gsb_point_release(struct gsb_tenant *t, struct gsb_point *p); /* NULL is fine */

#endif
