/*
 * precede.c - see precede.h.
 */
#include "broker/engine/precede.h"

#include <errno.h>
#include <utlist.h>

#include "broker/engine/engine.h"
#include "broker/engine/order/shared.h"

static bool is_about_events(uint16_t type)
{
	return type == GSB_REC_EVENT_RECORD || type == GSB_REC_STREAM_WAIT_EVENT ||
	       type == GSB_REC_EVENT_AWAIT;
}

/* Where two records of one event must not change places. */
static bool matters_to(uint16_t earlier, uint16_t later)
{
	return earlier == GSB_REC_EVENT_RECORD ||
	       (earlier == GSB_REC_STREAM_WAIT_EVENT && later == GSB_REC_EVENT_RECORD);
}

static bool is_of(struct gsb_tenant *t, uint64_t handle, const struct gsb_shared *s)
{
	const struct gsb_event *e = gsb_event_find(&t->queues, handle);

	return e && e->sharer && e->sharer->of == s;
}

/* The end in a's ring of the last record that comes before this one of s; 0: there is none. */
static uint64_t look_ahead(struct gsb_tenant *a, const struct gsb_shared *s,
			   const struct gsb_rec *rec)
{
	uint64_t tail = gsb_ring_tail(&a->ring), until = 0;
	uint64_t at = gsb_later_ns(a->ring.head, a->precedence.plain_to);
	struct gsb_ring_glance g;
	bool plain = true;

	while (gsb_ring_glance(&a->ring, tail, &at, &g)) {
		plain &= !g.stamp || !is_about_events(g.type);
		if (plain)
			a->precedence.plain_to = at;
		if (g.stamp >= rec->stamp)
			break; /* so is what follows, whatever it says */
		if (matters_to(g.type, rec->type) && is_of(a, g.object, s))
			until = at;
	}
	return until;
}

static void look(struct gsb_tenant *t, const struct gsb_shared *s, const struct gsb_rec *rec)
{
	struct gsb_precedence *p = &t->precedence;
	struct gsb_sharer *sharer;

	p->at = t->ring.head;
	p->slots = 0;
	DL_FOREACH (s->sharers, sharer) {
		struct gsb_tenant *a = gsb_tenant_of(sharer->queues);
		uint64_t until = a == t ? 0 : look_ahead(a, s, rec);

		if (!until)
			continue;
		p->slots |= 1ull << a->slot;
		p->until[a->slot] = until;
	}
}

/* An empty ring has been read, whatever was in it. */
static bool has_come(const struct gsb_tenant *a, uint64_t until)
{
	return !a || a->state == GSB_TENANT_LEAVING || a->ring.head >= until ||
	       gsb_ring_is_empty(&a->ring);
}

static bool is_free(struct gsb_tenant *t)
{
	struct gsb_precedence *p = &t->precedence;

	for (uint64_t left = p->slots; left; left &= left - 1) {
		int slot = __builtin_ctzll(left);

		if (has_come(t->engine->tenants[slot], p->until[slot]))
			p->slots &= ~(1ull << slot);
	}
	return !p->slots;
}

int gsb_precede(struct gsb_tenant *t, const struct gsb_event *e, const struct gsb_rec *rec)
{
	if (t->precedence.at != t->ring.head)
		look(t, e->sharer->of, rec);
	if (is_free(t))
		return 0;
	t->engine->preceded |= 1ull << t->slot;
	return -EAGAIN;
}

bool gsb_precede_release(struct gsb_engine *e)
{
	uint64_t before = e->preceded;

	for (uint64_t left = before; left; left &= left - 1) {
		struct gsb_tenant *t = e->tenants[__builtin_ctzll(left)];

		if (!is_free(t))
			continue;
		e->preceded &= ~(1ull << t->slot);
		t->queues.stalled = false;
	}
	return e->preceded != before;
}

void gsb_precede_forget(struct gsb_tenant *t)
{
	struct gsb_engine *e = t->engine;

	e->preceded &= ~(1ull << t->slot);
	gsb_for_each_tenant (e, other)
		other->precedence.slots &= ~(1ull << t->slot);
}
