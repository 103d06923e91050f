/*
 * stream.c - CUDA's order: a stream in its own order, an event wait after what recorded the event, the legacy default stream after all
 * blocking streams and before them. What does not go to the device is done as soon as it may be.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/state.h"

static bool takes_part(const struct gsb_sim *s, const struct gsb_workload_op *op)
{
	return !s->p->tenant || op->tenant == s->p->tenant;
}

static void append(struct gsb_sim *s, uint32_t i)
{
	struct gsb_sim_stream *stream = &s->streams[s->items[i].op->stream_at];

	s->items[i].next_in_stream = GSB_SIM_NONE;
	if (stream->tail == GSB_SIM_NONE)
		stream->head = i;
	else
		s->items[stream->tail].next_in_stream = i;
	stream->tail = i;
}

int gsb_sim_streams_init(struct gsb_sim *s)
{
	s->streams = calloc((size_t)s->load->n_streams + 1, sizeof(*s->streams));
	s->sides = calloc((size_t)s->load->n_tenants + 1, sizeof(*s->sides));
	if (!s->streams || !s->sides)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->load->n_streams; i++)
		s->streams[i] = (struct gsb_sim_stream){GSB_SIM_NONE, GSB_SIM_NONE, 0};
	for (uint32_t i = 0; i < s->load->n_ops; i++) {
		if (!takes_part(s, s->items[i].op))
			continue;
		s->items[i].state = GSB_SIM_UNPOSTED;
		s->n_left++;
		append(s, i);
	}
	return 0;
}

/* ---- the legacy stream ---- */

enum side { NO_SIDE, BLOCKING, LEGACY };

static enum side side_of(const struct gsb_sim *s, const struct gsb_workload_op *op)
{
	const struct gsb_workload_stream *stream = &s->load->streams[op->stream_at];

	return stream->legacy ? LEGACY : stream->blocking ? BLOCKING : NO_SIDE;
}

/* From *first on, the tenant's first operation of that side that is not done. */
static uint32_t advance(const struct gsb_sim *s, uint32_t tenant_at, enum side side,
			uint32_t *first)
{
	while (*first < s->load->n_ops) {
		const struct gsb_sim_item *item = &s->items[*first];

		if (item->op->tenant_at == tenant_at && side_of(s, item->op) == side &&
		    item->state != GSB_SIM_DONE)
			break;
		(*first)++;
	}
	return *first;
}

/* Nothing of the other side that came before it is left. */
static bool is_epoch(struct gsb_sim *s, uint32_t i)
{
	const struct gsb_workload_op *op = s->items[i].op;
	struct gsb_sim_side *sides = &s->sides[op->tenant_at];

	switch (side_of(s, op)) {
	case LEGACY: return advance(s, op->tenant_at, BLOCKING, &sides->blocking) > i;
	case BLOCKING: return advance(s, op->tenant_at, LEGACY, &sides->legacy) > i;
	default: return true;
	}
}

/* ---- heads ---- */

static bool may_run(struct gsb_sim *s, uint32_t i)
{
	const struct gsb_sim_item *item = &s->items[i];
	uint32_t on = item->op->on_at;

	if (item->state != GSB_SIM_POSTED)
		return false;
	if (on != GSB_WORKLOAD_NONE && s->items[on].state != GSB_SIM_DONE)
		return false;
	return is_epoch(s, i);
}

void gsb_sim_done(struct gsb_sim *s, struct gsb_sim_item *item)
{
	item->state = GSB_SIM_DONE;
	item->done_ns = s->now_ns;
	s->streams[item->op->stream_at].head = item->next_in_stream;
	s->streams[item->op->stream_at].n_queued--;
	s->n_left--;
	s->n_left_of[item->op->tenant_at]--;
}

static bool settle_stream(struct gsb_sim *s, struct gsb_sim_stream *stream)
{
	bool any = false;

	while (stream->head != GSB_SIM_NONE && may_run(s, stream->head)) {
		struct gsb_sim_item *item = &s->items[stream->head];

		item->ready_ns = s->now_ns;
		any = true;
		if (gsb_sim_is_for_device(item->op)) {
			item->state = GSB_SIM_READY;
			gsb_sim_view_add(s, item);
			break;
		}
		item->start_ns = s->now_ns;
		gsb_sim_done(s, item);
	}
	return any;
}

void gsb_sim_settle(struct gsb_sim *s)
{
	bool any;

	do {
		any = false;
		for (uint32_t i = 0; i < s->load->n_streams; i++)
			any |= settle_stream(s, &s->streams[i]);
	} while (any);
}
