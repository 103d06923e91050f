/*
 * shared.c - see shared.h.
 */
#include "broker/engine/order/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/compiler.h"

static struct gsb_shared_point *to_shared(struct gsb_point *p)
{
	return gsb_container_of(p, struct gsb_shared_point, point);
}

/* ---- points ---- */

struct gsb_point *gsb_shared_point(struct gsb_shared *s)
{
	struct gsb_shared_point *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->point.refs = 1;
	p->point.is_shared = true;
	p->of = s;
	return &p->point;
}

void gsb_shared_point_free(struct gsb_point *p)
{
	free(to_shared(p));
}

static void release(struct gsb_point *p)
{
	if (p && !--p->refs)
		gsb_shared_point_free(p);
}

/* ---- what is common ---- */

static void end_unused(struct gsb_shared *s)
{
	if (s->sharers || s->n_recording)
		return;
	release(s->latest);
	s->latest = NULL;
	s->on_end(s);
}

static struct gsb_sharer *find_sharer(const struct gsb_shared *s, const struct gsb_queues *q)
{
	struct gsb_sharer *sharer;

	DL_FOREACH (s->sharers, sharer)
		if (sharer->queues == q)
			break;
	return sharer;
}

int gsb_event_share(struct gsb_event *e, struct gsb_shared *s)
{
	struct gsb_queues *q = e->order->queues;
	struct gsb_sharer *sharer = find_sharer(s, q);

	if (!sharer) {
		sharer = calloc(1, sizeof(*sharer));
		if (!sharer)
			return -ENOMEM;
		sharer->of = s;
		sharer->queues = q;
		DL_APPEND(s->sharers, sharer);
	}
	sharer->n_events++;
	e->sharer = sharer;
	return 0;
}

void gsb_event_unshare(struct gsb_event *e)
{
	struct gsb_sharer *sharer = e->sharer;
	struct gsb_shared *s = sharer->of;

	e->sharer = NULL;
	if (--sharer->n_events)
		return;
	DL_DELETE(s->sharers, sharer);
	free(sharer);
	end_unused(s);
}

/* ---- recordings ---- */

void gsb_shared_record(struct gsb_point *p)
{
	struct gsb_shared *s = to_shared(p)->of;

	release(s->latest);
	p->refs++;
	s->latest = p;
	s->n_recording++;
}

/* What a tenant may have asked for has come, as if something of its own had completed. */
static void tell_progress(struct gsb_queues *q)
{
	atomic_store_explicit(&q->region->header.n_completed, ++q->n_completed,
			      memory_order_release);
	gsb_queues_touch(q);
}

void gsb_shared_recorded(struct gsb_point *point, const struct gsb_queues *q)
{
	struct gsb_shared_point *p = to_shared(point);
	struct gsb_shared *s = p->of;
	struct gsb_sharer *sharer;

	while (p->awaits) {
		struct gsb_await *a = p->awaits;

		gsb_await_cancel(a);
		a->done(a);
	}
	DL_FOREACH (s->sharers, sharer)
		if (sharer->queues != q)
			tell_progress(sharer->queues);
	s->n_recording--;
	end_unused(s);
}

/* ---- who waits without a stream ---- */

bool gsb_shared_is_done(const struct gsb_shared *s)
{
	return !s->latest || s->latest->done;
}

void gsb_await_begin(struct gsb_await *a, struct gsb_shared *s)
{
	a->point = to_shared(s->latest);
	a->point->point.refs++;
	DL_APPEND(a->point->awaits, a);
}

void gsb_await_cancel(struct gsb_await *a)
{
	DL_DELETE(a->point->awaits, a);
	release(&a->point->point);
}
