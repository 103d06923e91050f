/*
 * types.h - CUDA's order, in software: what stands in which queue, and what each head waits for.
 *
 * A stream is a queue of operations (struct gsb_op). Only the head of a queue can start, and a head waits
 * for at most one thing at a time:
 *
 *   an epoch  of its context (epoch.c): the legacy default stream takes turns with all blocking streams;
 *   a point   one recording of an event (event.c);
 *   a list    of whoever owns what it needs: a kernel that is being prepared, a socket that is full.
 *
 * Fences (fence.c) are the other direction: a job, such as a free, that is done when all work of its
 * context before it is done. All of it is O(1) an operation, and all memory comes from the tenant's pool.
 *
 * This room knows no memory, no code and no device. What an operation does when its turn has come is in
 * its class, which the room that owns the operation defines: work/ for what goes to the device, memory/
 * for stream-ordered frees, tenant/ for host functions, event.c for events.
 *
 * A stream is in one place at a time:
 *
 *   EMPTY --push--> UNSETTLED --head free to run, its class's start()--> STARTED --gsb_stream_pop--+
 *     ^               ^  |  |                                                                      |
 *     |   last popped |  |  +--head must wait--> PARKED --what it waited for--+                    |
 *     +---------------+--+                                                    |                    |
 *                     +-------------------------------------------------------+--------------------+
 */
#ifndef GSB_BROKER_ENGINE_ORDER_TYPES_H
#define GSB_BROKER_ENGINE_ORDER_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/order/pool.h"
#include "broker/engine/trace/trace.h"
#include "gsb/handle.h"
#include "gsb/wire.h"

struct gsb_epoch;
struct gsb_event;
struct gsb_fence;
struct gsb_op;
struct gsb_stream;

/* The queues of one tenant: its streams and events, memory for what is queued, and the words that it reads. */
struct gsb_queues {
	struct gsb_region *region; /* its words; shared with the tenant */
	uint32_t tenant_id;	   /* for the trace */
	struct gsb_pool pool;
	struct gsb_stream *streams[GSB_N_STREAMS]; /* by handle index; NULL: never used */
	struct gsb_event *events;		   /* GSB_N_EVENTS */
	uint32_t n_events_seen;			   /* no index from here on was ever used */
	uint32_t n_streams, n_events;		   /* live */
	uint32_t n_queued, max_queued;		   /* operations */
	uint64_t queued_bytes, max_queued_bytes;
	uint64_t n_completed;		       /* what the region says */
	uint64_t order_wait_ns, event_wait_ns; /* device time: GSB_WAITED_ORDER, GSB_WAITED_EVENT */
	bool stalled; /* the tenant's next record finds no room now; it is read again after a pop */
	bool changed; /* words changed since its threads were last looked at */
	struct gsb_stream **unsettled; /* the engine's list: heads that are to be looked at */
};

/* The part of a context that orders its work. */
struct gsb_order {
	struct gsb_queues *queues;
	bool closed; /* no handle of it is valid any more; what is queued still runs */
	void (*on_end)(struct gsb_order *o);	    /* closed, and all work and all jobs are done */
	bool failed;				    /* what is queued passes without effect */
	struct gsb_epoch *epoch_first, *epoch_last; /* NULL: nothing is queued */
	uint64_t barrier_ns; /* device time when the last finished epoch was done */
	uint64_t epoch_ns;   /* the same so far for the first epoch */
	struct gsb_fence *fence_first, *fence_last; /* the last is open, always there */
};

/* What an operation does; its owner defines one for each kind. */
struct gsb_op_class {
	enum gsb_trace_op kind; /* for the trace */
	bool instant; /* it needs nothing, and completes in the moment when nothing is before it */
	/*
	 * Nothing is before it. The class sees to it that gsb_stream_pop() is called when it has completed, here
	 * or later; or it parks the stream and is started again.
	 */
	void (*start)(struct gsb_op *op);
	/* Its context has failed and it never began: like start, but without effect. NULL: it completes at once. */
	void (*pass)(struct gsb_op *op);
	/* Started, and its context fails: true when it had not begun yet and now never will. NULL: it has begun. */
	bool (*withdraw)(struct gsb_op *op);
	/* For the trace, behind that it is queued: what it is. NULL: no more than its kind. */
	void (*tell)(const struct gsb_op *op);
	/* It has completed: before the stream's word says so. NULL: nothing to do. */
	void (*finish)(struct gsb_op *op, uint64_t time_ns);
};

struct gsb_op {
	const struct gsb_op_class *class;
	struct gsb_op *next; /* in the stream's queue */
	struct gsb_stream *stream;
	struct gsb_order *order;
	struct gsb_epoch *epoch; /* NULL: of a non-blocking stream */
	struct gsb_fence *fence;
	uint64_t serial;   /* its number in the engine, for the trace; 0: nobody has listened */
	uint64_t ready_ns; /* once started: device time since when nothing was before it */
	uint64_t post_ns;  /* device time from which it may start */
	uint32_t bytes;	   /* taken from the tenant's allowance */
	bool ahead; /* its class started it behind the one before it: when that is done it is STARTED, and ready_ns set;
		     * or it is instant, and stands before one that was */
};

enum gsb_stream_state {
	GSB_STREAM_EMPTY,
	GSB_STREAM_UNSETTLED, /* on the engine's list of streams whose head is to be looked at */
	GSB_STREAM_PARKED,    /* on the list that parked_on names */
	GSB_STREAM_STARTED    /* its head's class has it */
};

#define GSB_N_RECENT \
	16 /* of those that completed at once, it is known which one a thread had waited for */

struct gsb_stream {
	uint64_t handle; /* 0: destroyed; what is queued still runs */
	struct gsb_queues *queues;
	struct gsb_order *order;   /* NULL: its context is gone */
	uint32_t tenant_id, index; /* copied as one by the trace */
	int32_t priority;
	bool legacy, blocking; /* the legacy default stream; ordered with it */

	struct gsb_op *first, *last;
	uint32_t n_queued; /* from first to last */
	uint64_t n_done;   /* what the tenant's word says */
	uint64_t time_ns;  /* device time when the last operation completed */
	uint64_t recent
		[GSB_N_RECENT]; /* for the trace: serials of the last to complete, by number */

	enum gsb_stream_state state;
	struct gsb_stream *prev, *next; /* of the list that state names */
	struct gsb_stream **parked_on;
};

/* For the trace: of that number is that one. */
static inline void gsb_stream_note(struct gsb_stream *s, uint64_t number, uint64_t serial)
{
	s->recent[number % GSB_N_RECENT] = serial;
}

/* The serial of the operation of that number; 0: not known. */
static inline uint64_t gsb_stream_serial(const struct gsb_stream *s, uint64_t number)
{
	bool is_known = number && number <= s->n_done && s->n_done - number < GSB_N_RECENT;

	return is_known ? s->recent[number % GSB_N_RECENT] : 0;
}

/* Words of the region changed: the tenant's threads are looked at before the turn ends. */
static inline void gsb_queues_touch(struct gsb_queues *q)
{
	q->changed = true;
}

static inline uint64_t gsb_later_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
