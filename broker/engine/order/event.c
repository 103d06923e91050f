/*
 * event.c - see event.h.
 */
#include "broker/engine/order/event.h"

#include <errno.h>

#include "base/compiler.h"
#include "broker/engine/order/shared.h"
#include "broker/engine/order/stream.h"

struct event_op {
	struct gsb_op op;
	struct gsb_point *point; /* a reference; NULL: nothing to wait for */
	uint64_t number;	 /* a recording's */
	uint32_t event;		 /* its index */
};

static struct event_op *to_event(struct gsb_op *op)
{
	return gsb_container_of(op, struct event_op, op);
}

/* ---- points ---- */

static struct gsb_point *create_point(struct gsb_queues *q)
{
	struct gsb_point *p = gsb_pool_alloc(&q->pool, sizeof(*p));

	if (p)
		*p = (struct gsb_point){.refs = 1};
	return p;
}

static struct gsb_point *hold(struct gsb_point *p)
{
	if (p)
		p->refs++;
	return p;
}

static void release(struct gsb_queues *q, struct gsb_point *p)
{
	if (!p || --p->refs)
		return;
	if (gsb_unlikely(p->is_shared))
		gsb_shared_point_free(p);
	else
		gsb_pool_free(&q->pool, p);
}

/* ---- events ---- */

int gsb_event_create(struct gsb_order *o, uint64_t handle)
{
	struct gsb_queues *q = o->queues;
	uint32_t index = gsb_handle_index(handle);
	struct gsb_event *e;

	if (gsb_handle_kind(handle) != GSB_HANDLE_EVENT || index >= GSB_N_EVENTS)
		return -ERANGE;
	e = &q->events[index];
	if (e->handle)
		return -EEXIST;
	e->handle = handle;
	e->order = o;
	e->done_ns = 0;
	if (index >= q->n_events_seen)
		q->n_events_seen = index + 1;
	q->n_events++;
	return 0;
}

void gsb_event_destroy(struct gsb_event *e)
{
	struct gsb_queues *q = e->order->queues;

	release(q, e->latest);
	e->latest = NULL;
	if (gsb_unlikely(e->sharer != NULL))
		gsb_event_unshare(e);
	e->handle = 0;
	q->n_events--;
}

struct gsb_event *gsb_event_find(struct gsb_queues *q, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_event *e = handle && index < GSB_N_EVENTS ? &q->events[index] : NULL;

	return e && e->handle == handle && !e->order->closed ? e : NULL;
}

/* ---- recordings ---- */

static void start_record(struct gsb_op *op)
{
	gsb_stream_pop(op->stream, op->ready_ns);
}

/* The word of an event never goes back, whatever the order of its recordings was. */
static void publish(struct gsb_queues *q, const struct event_op *r, uint64_t time_ns)
{
	struct gsb_event_word *w = &q->region->events[r->event];
	struct gsb_event *e = &q->events[r->event];

	if (e->published >= r->number)
		return;
	e->published = r->number;
	e->serial = r->op.serial;
	w->time_ns = time_ns;
	atomic_store_explicit(&w->done, r->number, memory_order_release);
}

static void finish_record(struct gsb_op *op, uint64_t time_ns)
{
	struct event_op *r = to_event(op);
	struct gsb_queues *q = op->order->queues;
	struct gsb_event *e = &q->events[r->event];
	struct gsb_point *p = r->point;

	publish(q, r, time_ns);
	p->done = true;
	p->time_ns = time_ns;
	gsb_stream_wake_list(&p->waiters);
	if (e->latest == p) { /* an event that rests holds nothing of the pool */
		e->latest = NULL;
		e->done_ns = time_ns;
		release(q, p);
	}
	release(q, p);
}

static void tell_record(const struct gsb_op *op)
{
	const struct event_op *r = gsb_container_of(op, struct event_op, op);

	gsb_trace_tell(RECORDS, records, op->stream->queues->tenant_id, .serial = op->serial,
		       .number = r->number, .event = r->event);
}

static const struct gsb_op_class record_class = {
	.kind = GSB_TRACE_OP_EVENT_RECORD,
	.instant = true,
	.start = start_record,
	.tell = tell_record,
	.finish = finish_record,
};

/* Who waits in another tenant is told as well. */
static void finish_shared_record(struct gsb_op *op, uint64_t time_ns)
{
	gsb_shared_recorded(to_event(op)->point, op->order->queues);
	finish_record(op, time_ns);
}

static const struct gsb_op_class shared_record_class = {
	.kind = GSB_TRACE_OP_EVENT_RECORD,
	.instant = true,
	.start = start_record,
	.tell = tell_record,
	.finish = finish_shared_record,
};

/* The event's latest recording is that of a point. */
static void set_latest(struct gsb_queues *q, struct gsb_event *e, struct gsb_point *p)
{
	if (gsb_unlikely(p->is_shared)) {
		gsb_shared_record(p);
		return;
	}
	release(q, e->latest);
	e->latest = hold(p);
}

int gsb_event_record(struct gsb_event *e, struct gsb_stream *s, uint64_t post_ns)
{
	const struct gsb_sharer *sharer = e->sharer;
	struct gsb_queues *q = s->queues;
	struct event_op *r =
		gsb_op_create(q, sharer ? &shared_record_class : &record_class, sizeof(*r), 0);
	int err;

	if (!r)
		return -EAGAIN;
	r->op.post_ns = post_ns;
	r->point = gsb_unlikely(sharer != NULL) ? gsb_shared_point(sharer->of) : create_point(q);
	r->event = gsb_handle_index(e->handle);
	r->number = e->number + 1;
	if (r->point)
		r->point->recording = &r->op;
	err = r->point ? gsb_stream_push(s, &r->op) : sharer ? -ENOMEM : -EAGAIN;
	if (err) {
		release(q, r->point);
		gsb_op_discard(q, &r->op);
		return err;
	}
	set_latest(q, e, r->point);
	e->number = r->number;
	return 0;
}

/* ---- waits ---- */

static void start_wait(struct gsb_op *op)
{
	struct gsb_point *p = to_event(op)->point;

	if (p && !p->done)
		gsb_stream_park(op->stream, &p->waiters, GSB_TRACE_PARK_EVENT,
				p->recording->serial);
	else
		gsb_stream_pop(op->stream, gsb_later_ns(op->ready_ns, p ? p->time_ns : 0));
}

static void finish_wait(struct gsb_op *op, uint64_t time_ns)
{
	release(op->order->queues, to_event(op)->point);
}

static void tell_wait(const struct gsb_op *op)
{
	const struct event_op *w = gsb_container_of(op, struct event_op, op);
	bool is_open = w->point && !w->point->done;

	gsb_trace_tell(WAITS_FOR, waits_for, op->stream->queues->tenant_id, .serial = op->serial,
		       .on_serial = is_open ? w->point->recording->serial : 0, .event = w->event);
}

static const struct gsb_op_class wait_class = {
	.kind = GSB_TRACE_OP_EVENT_WAIT,
	.start = start_wait,
	.tell = tell_wait,
	.finish = finish_wait,
};

static struct gsb_point *latest_of(const struct gsb_event *e)
{
	return gsb_unlikely(e->sharer != NULL) ? e->sharer->of->latest : e->latest;
}

int gsb_event_wait(struct gsb_event *e, struct gsb_stream *s, uint64_t post_ns)
{
	struct gsb_point *latest = latest_of(e);
	struct event_op *w = gsb_op_create(s->queues, &wait_class, sizeof(*w), 0);
	int err;

	if (!w)
		return -EAGAIN;
	w->op.post_ns = latest ? post_ns : gsb_later_ns(post_ns, e->done_ns);
	w->point = hold(latest);
	w->event = gsb_handle_index(e->handle);
	err = gsb_stream_push(s, &w->op);
	if (err) {
		release(s->queues, w->point);
		gsb_op_discard(s->queues, &w->op);
		return err;
	}
	return 0;
}
