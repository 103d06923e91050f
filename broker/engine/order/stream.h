/*
 * stream.h - streams: queues of operations, whose heads start when nothing is before them.
 *
 * Nothing here calls itself: what a completion sets free goes on the engine's list of unsettled streams,
 * which gsb_streams_settle() works off, so that a chain of ten thousand waits costs no stack.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_STREAM_H
#define GSB_BROKER_ENGINE_ORDER_STREAM_H

#include "broker/engine/order/epoch.h"
#include "broker/engine/order/types.h"
#include "broker/engine/order/wait.h"

/* -ERANGE: no handle of a stream. -EEXIST: in use. -ENOMEM. flags: GSB_STREAM_* of the wire. */
int gsb_stream_create(struct gsb_order *o, uint64_t handle, uint32_t flags, int32_t priority,
		      struct gsb_stream **out);
void gsb_stream_destroy(struct gsb_stream *s); /* what is queued still runs */
void gsb_stream_forget(struct gsb_stream *s);  /* its context ends */
struct gsb_stream *gsb_stream_find(struct gsb_queues *q, uint64_t handle);

/*
 * gsb_op_create() - room for one operation
 * @size:    of the struct that begins with struct gsb_op; zeroed
 * @payload: bytes behind it, undefined
 * Return:   NULL when the tenant has as much queued as it may: read its ring again later.
 */
void *gsb_op_create(struct gsb_queues *q, const struct gsb_op_class *class, uint32_t size,
		    uint32_t payload);
void gsb_op_discard(struct gsb_queues *q, struct gsb_op *op); /* not pushed yet */

/*
 * For the trace: what is told of has a number, which it gets when its record is taken while somebody listens, or when a recording
 * finds it. Once: more calls do nothing.
 */
static inline void gsb_op_number_new(struct gsb_op *op)
{
	op->serial = gsb_trace_next_serial();
	if (op->epoch)
		op->epoch->last_serial = op->serial;
}

static inline void gsb_op_number(struct gsb_op *op)
{
	if (!op->serial)
		gsb_op_number_new(op);
}

/* @posted, @thread, @before: as the event queued has them; posted is a stamp */
void gsb_op_tell(const struct gsb_op *op, uint64_t posted, uint16_t thread, uint8_t before);

/* Append op to the stream's queue; consumes it. -EAGAIN: no room, the operation is still the caller's. */
int gsb_stream_push(struct gsb_stream *s, struct gsb_op *op);

/* Queue an operation that does nothing: a place to wait for. -EAGAIN. */
int gsb_stream_push_nop(struct gsb_stream *s, uint64_t post_ns);

/* The same, and what comes after it has this priority. */
int gsb_stream_push_priority(struct gsb_stream *s, int32_t priority, uint64_t post_ns);

/* The head of s has completed at time_ns: publish, wake what waited for it, look at the next. */
void gsb_stream_pop(struct gsb_stream *s, uint64_t time_ns);

/* The same in two steps, for who has more to tell of it: that it has completed, where somebody listens, and then the rest. */
void gsb_op_tell_completed(const struct gsb_op *op, uint64_t time_ns);
void gsb_stream_pop_told(struct gsb_stream *s, uint64_t time_ns);

/* Its context o failed: a head that has not begun will pass. */
void gsb_stream_withdraw(struct gsb_stream *s, const struct gsb_order *o);

/* Look at the heads of all streams on the list until it is empty. */
void gsb_streams_settle(struct gsb_stream **unsettled);

#endif
