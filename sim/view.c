/*
 * view.c - the policy's side of a run: what it is shown and what becomes of its decisions, as broker/engine/work/issue.c does both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/state.h"

int gsb_sim_view_init(struct gsb_sim *s)
{
	s->ready = calloc((size_t)s->load->n_streams + 1, sizeof(*s->ready));
	return s->ready ? 0 : -ENOMEM;
}

static struct gsb_sim_item *item_of(const struct gsb_work *w)
{
	return gsb_container_of(w, struct gsb_sim_item, work);
}

/* Virtual time: by device time, tenant, stream. */
static bool is_before(const struct gsb_work *a, const struct gsb_work *b)
{
	if (a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns;
	if (a->tenant != b->tenant)
		return a->tenant < b->tenant;
	return a->stream < b->stream;
}

void gsb_sim_view_add(struct gsb_sim *s, struct gsb_sim_item *item)
{
	unsigned at = s->n_ready++;

	item->work.since_ns = item->ready_ns;
	for (; at && is_before(&item->work, s->ready[at - 1]); at--)
		s->ready[at] = s->ready[at - 1];
	s->ready[at] = &item->work;
	s->changed = true;
	if (s->n_ready > s->out->n_ready_max)
		s->out->n_ready_max = s->n_ready;
}

static void take_out(struct gsb_sim *s, const struct gsb_work *w)
{
	unsigned at = 0;

	while (s->ready[at] != w)
		at++;
	s->n_ready--;
	memmove(&s->ready[at], &s->ready[at + 1], (s->n_ready - at) * sizeof(*s->ready));
}

static unsigned list_running(const struct gsb_sim *s, const struct gsb_work **out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].item)
			out[n++] = &s->flights[i].item->work;
	return n;
}

/* One view, one decision: how many went, or -EPROTO. */
static int ask(struct gsb_sim *s, bool must)
{
	const struct gsb_work *running[GSB_N_QUEUES], *chosen[GSB_N_QUEUES];
	struct gsb_decision out[GSB_N_QUEUES];
	struct gsb_view view = {
		.arch = s->p->arch,
		.now_ns = s->now_ns,
		.ready = s->ready,
		.n_ready = s->n_ready,
		.running = running,
		.n_running = list_running(s, running),
		.n_free_queues = GSB_N_QUEUES - s->n_running,
		.must = must,
	};
	unsigned n = s->p->policy->decide(&view, out);

	s->out->n_decisions++;
	if (gsb_sim_check_decisions(s, out, n))
		return -EPROTO;
	if (!n && must) {
		out[n++] = (struct gsb_decision){.ready = 0};
		s->out->n_forced++;
	}
	for (unsigned i = 0; i < n; i++)
		chosen[i] = s->ready[out[i].ready];
	for (unsigned i = 0; i < n; i++) {
		take_out(s, chosen[i]);
		gsb_sim_issue(s, item_of(chosen[i]));
		s->changed = true;
	}
	return (int)n;
}

int gsb_sim_decide(struct gsb_sim *s)
{
	while (s->changed && s->n_ready && s->n_running < GSB_N_QUEUES) {
		int n;

		s->changed = false;
		n = ask(s, false);
		if (!n && !s->n_running)
			n = ask(s, true);
		if (n < 0)
			return n;
	}
	return 0;
}
