/*
 * stream.c - see stream.h.
 */
#include "broker/engine/order/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/engine/order/epoch.h"
#include "broker/engine/order/fence.h"

/* ---- streams by handle ---- */

static int new_stream(struct gsb_queues *q, uint32_t index)
{
	struct gsb_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->queues = q;
	s->tenant_id = q->tenant_id;
	s->index = index;
	q->streams[index] = s;
	return 0;
}

int gsb_stream_create(struct gsb_order *o, uint64_t handle, uint32_t flags, int32_t priority,
		      struct gsb_stream **out)
{
	struct gsb_queues *q = o->queues;
	uint32_t index = gsb_handle_index(handle);
	struct gsb_stream *s;

	if (gsb_handle_kind(handle) != GSB_HANDLE_STREAM || index >= GSB_N_STREAMS)
		return -ERANGE;
	if (!q->streams[index] && new_stream(q, index))
		return -ENOMEM;
	s = q->streams[index];
	if (s->handle || s->first)
		return -EEXIST;
	s->handle = handle;
	s->order = o;
	s->priority = priority;
	s->legacy = false;
	s->blocking = !(flags & GSB_STREAM_NON_BLOCKING);
	q->n_streams++;
	*out = s;
	return 0;
}

void gsb_stream_destroy(struct gsb_stream *s)
{
	if (s->handle)
		gsb_trace(STREAM_ENDED, stream_ended, s->queues->tenant_id, .stream = s->index);
	s->queues->n_streams -= s->handle != 0;
	s->handle = 0;
}

void gsb_stream_forget(struct gsb_stream *s)
{
	gsb_stream_destroy(s);
	s->order = NULL;
}

struct gsb_stream *gsb_stream_find(struct gsb_queues *q, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_stream *s = handle && index < GSB_N_STREAMS ? q->streams[index] : NULL;

	return s && s->handle == handle && !s->order->closed ? s : NULL;
}

/* ---- operations ---- */

void *gsb_op_create(struct gsb_queues *q, const struct gsb_op_class *class, uint32_t size,
		    uint32_t payload)
{
	uint32_t bytes = size + payload;
	struct gsb_op *op;

	if (q->n_queued >= q->max_queued ||
	    (q->n_queued && q->queued_bytes + bytes > q->max_queued_bytes))
		return NULL;
	op = gsb_pool_alloc(&q->pool, bytes);
	if (!op)
		return NULL;
	memset(op, 0, size);
	op->class = class;
	op->bytes = bytes;
	q->n_queued++;
	q->queued_bytes += bytes;
	return op;
}

void gsb_op_discard(struct gsb_queues *q, struct gsb_op *op)
{
	q->n_queued--;
	q->queued_bytes -= op->bytes;
	gsb_pool_free(&q->pool, op);
}

void gsb_op_tell(const struct gsb_op *op, uint64_t posted, uint16_t thread, uint8_t before)
{
	const struct gsb_stream *s = op->stream;

	gsb_trace_tell(QUEUED, queued, s->queues->tenant_id, .serial = op->serial,
		       .posted_ns = posted, .post_device_ns = op->post_ns, .stream = s->index,
		       .thread = thread, .kind = op->class->kind, .before = before);
	if (op->class->tell)
		op->class->tell(op);
}

int gsb_stream_push(struct gsb_stream *s, struct gsb_op *op)
{
	if (gsb_epoch_join(s, &op->epoch))
		return -EAGAIN;
	op->stream = s;
	op->order = s->order;
	op->fence = gsb_fence_hold(s->order);
	if (s->last)
		s->last->next = op;
	else
		s->first = op;
	s->last = op;
	s->n_queued++;
	if (s->state == GSB_STREAM_EMPTY)
		gsb_stream_retry(s);
	return 0;
}

static void start_nop(struct gsb_op *op)
{
	gsb_stream_pop(op->stream, op->ready_ns);
}

static const struct gsb_op_class nop_class = {.kind = GSB_TRACE_OP_NOP, .start = start_nop};

static int push_or_discard(struct gsb_stream *s, struct gsb_op *op, uint64_t post_ns)
{
	int err;

	op->post_ns = post_ns;
	err = gsb_stream_push(s, op);
	if (err)
		gsb_op_discard(s->queues, op);
	return err;
}

int gsb_stream_push_nop(struct gsb_stream *s, uint64_t post_ns)
{
	struct gsb_op *op = gsb_op_create(s->queues, &nop_class, sizeof(*op), 0);

	return op ? push_or_discard(s, op, post_ns) : -EAGAIN;
}

struct priority_op {
	struct gsb_op op;
	int32_t priority;
};

static void finish_priority(struct gsb_op *op, uint64_t time_ns)
{
	op->stream->priority = gsb_container_of(op, struct priority_op, op)->priority;
}

static const struct gsb_op_class priority_class = {
	.kind = GSB_TRACE_OP_NOP, .start = start_nop, .finish = finish_priority};

int gsb_stream_push_priority(struct gsb_stream *s, int32_t priority, uint64_t post_ns)
{
	struct priority_op *p = gsb_op_create(s->queues, &priority_class, sizeof(*p), 0);

	if (!p)
		return -EAGAIN;
	p->priority = priority;
	return push_or_discard(s, &p->op, post_ns);
}

static void publish(struct gsb_stream *s)
{
	struct gsb_queues *q = s->queues;

	atomic_store_explicit(&q->region->streams[s->index], ++s->n_done, memory_order_release);
	atomic_store_explicit(&q->region->header.n_completed, ++q->n_completed,
			      memory_order_release);
	gsb_queues_touch(q);
}

/* Since when op has been the head of s. */
static uint64_t head_ns(const struct gsb_stream *s, const struct gsb_op *op)
{
	return gsb_later_ns(op->post_ns, s->time_ns);
}

/* When the head of s may start, as far as its own stream and its context's barrier say. */
static uint64_t ready_ns(const struct gsb_stream *s, const struct gsb_op *op)
{
	uint64_t t = head_ns(s, op);

	return op->epoch ? gsb_later_ns(t, op->order->barrier_ns) : t;
}

/* A head is done; the stream's time is still that of the one before it. */
static void count_wait(const struct gsb_stream *s, const struct gsb_op *op, uint64_t time_ns)
{
	struct gsb_queues *q = s->queues;
	uint64_t since = head_ns(s, op), ready = ready_ns(s, op);

	if (op->order->failed)
		return;
	q->order_wait_ns += ready - since;
	if (op->class->kind == GSB_TRACE_OP_EVENT_WAIT && time_ns > ready)
		q->event_wait_ns += time_ns - ready;
}

void gsb_op_tell_completed(const struct gsb_op *op, uint64_t time_ns)
{
	struct gsb_stream *s = op->stream;

	gsb_stream_note(s, s->n_done + 1, op->serial);
	gsb_trace_tell(COMPLETED, completed, s->queues->tenant_id, .serial = op->serial,
		       .device_ns = time_ns, .number = s->n_done + 1, .stream = s->index,
		       .failed = op->order->failed);
}

static void pop(struct gsb_stream *s, uint64_t time_ns)
{
	struct gsb_op *op = s->first;
	struct gsb_order *o = op->order;
	struct gsb_queues *q = s->queues;
	struct gsb_fence *fence = op->fence;

	count_wait(s, op, time_ns);
	s->time_ns = gsb_later_ns(s->time_ns, time_ns);
	s->first = op->next;
	s->n_queued--;
	if (!s->first)
		s->last = NULL;
	s->state = s->first && s->first->ahead ? GSB_STREAM_STARTED : GSB_STREAM_EMPTY;
	if (s->first && s->state == GSB_STREAM_EMPTY)
		gsb_stream_retry(s);
	if (op->class->finish)
		op->class->finish(op, time_ns);
	publish(s);
	if (op->epoch)
		gsb_epoch_leave(o, op->epoch, time_ns);
	gsb_op_discard(q, op);
	q->stalled = false;
	gsb_fence_release(o, fence);
}

/* What is behind the head is on the device already, and nothing will look at the head. */
static bool is_passed(const struct gsb_stream *s)
{
	return gsb_unlikely(s->state == GSB_STREAM_STARTED) && s->first->class->instant;
}

void gsb_stream_pop_told(struct gsb_stream *s, uint64_t time_ns)
{
	pop(s, time_ns);
	if (is_passed(s))
		gsb_stream_pop(s, ready_ns(s, s->first));
}

void gsb_stream_pop(struct gsb_stream *s, uint64_t time_ns)
{
	if (gsb_trace_is_on())
		gsb_op_tell_completed(s->first, time_ns);
	gsb_stream_pop_told(s, time_ns);
}

/* ---- heads ---- */

static void settle(struct gsb_stream *s)
{
	struct gsb_op *op = s->first;

	if (!op)
		return;
	if (!op->order->failed && op->epoch && op->epoch != op->order->epoch_first) {
		gsb_stream_park(s, &op->epoch->waiters, GSB_TRACE_PARK_EPOCH,
				op->order->epoch_first->last_serial);
		return;
	}
	op->ready_ns = ready_ns(s, op);
	s->state = GSB_STREAM_STARTED;
	if (!op->order->failed)
		op->class->start(op);
	else if (op->class->pass)
		op->class->pass(op);
	else
		gsb_stream_pop(s, op->ready_ns);
}

void gsb_streams_settle(struct gsb_stream **unsettled)
{
	while (*unsettled) {
		struct gsb_stream *s = *unsettled;

		gsb_stream_unpark(s);
		settle(s);
	}
}

void gsb_stream_withdraw(struct gsb_stream *s, const struct gsb_order *o)
{
	if (!s->first || s->first->order != o)
		return;
	if (s->state == GSB_STREAM_PARKED)
		gsb_stream_unpark(s);
	else if (s->state != GSB_STREAM_STARTED || !s->first->class->withdraw ||
		 !s->first->class->withdraw(s->first))
		return;
	gsb_stream_retry(s);
}
