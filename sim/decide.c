/*
 * decide.c - what a policy decides, and what becomes of that, as broker/engine/work/issue.c does it.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/policy/bound.h"
#include "broker/policy/claim.h"
#include "broker/policy/hold.h"
#include "sim/state.h"

#define PRIORITY_GREATEST (-5) /* of queues, as CUDA has it */

/* ---- what goes ---- */

static struct gsb_sim_item *item_of(const struct gsb_work *w)
{
	return gsb_container_of(w, struct gsb_sim_item, work);
}

static void take_out(struct gsb_sim *s, struct gsb_sim_item *item)
{
	unsigned at = 0;

	while (s->ready[at] != &item->work)
		at++;
	s->n_ready--;
	gsb_sim_claim_of(s, item)->n_ready--;
	memmove(&s->ready[at], &s->ready[at + 1], (s->n_ready - at) * sizeof(*s->ready));
}

static void note_company(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	for (unsigned i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_sim_flight *other = &s->flights[i];

		if (other != f && other->item && other->item->work.kind == GSB_WORK_KERNEL)
			gsb_company_meet(&other->company, &other->item->work, &f->company,
					 &f->item->work);
	}
}

static void start(struct gsb_sim *s, struct gsb_sim_item *item, const struct gsb_decision *d)
{
	struct gsb_claim *claim = gsb_sim_claim_of(s, item);
	struct gsb_work *w = &item->work;
	const struct gsb_shape *shape = d->shape ? &w->shapes[d->shape - 1] : NULL;
	struct gsb_sim_flight *f;

	take_out(s, item);
	gsb_work_issued(w, d, s->now_ns);
	w->manner = shape ? gsb_shape_manner(shape) : 0;
	f = gsb_sim_issue(s, item, shape);
	if (w->kind == GSB_WORK_KERNEL) {
		note_company(s, f);
		s->share_ns = claim->share_ns;
		claim->apart = w->sms.n;
	} else {
		s->n_copying[w->direction]++;
	}
	claim->n_running++;
	claim->n_issued++;
	s->changed = true;
}

/* ---- the question ---- */

static unsigned list_running(const struct gsb_sim *s, const struct gsb_work **out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].item)
			out[n++] = &s->flights[i].item->work;
	return n;
}

static struct gsb_view look(const struct gsb_sim *s, const struct gsb_work **running, bool must)
{
	struct gsb_view view = {
		.arch = s->p->arch,
		.sm_group = s->p->arch->sm_group,
		.priority_greatest = PRIORITY_GREATEST,
		.now_ns = s->now_ns,
		.claims = s->there,
		.n_claims = gsb_sim_list_there(s),
		.ready = s->ready,
		.n_ready = s->n_ready,
		.running = running,
		.n_running = list_running(s, running),
		.n_free_queues = GSB_N_QUEUES - s->n_running,
		.memory_bytes = s->p->arch->mem_bytes,
		.estimates = s->p->estimates,
		.n_reserved = gsb_sim_n_reserved(s),
		.critical_wait_ns = s->p->critical_wait_ns,
		.must = must,
	};

	memcpy(view.n_copies, s->n_copying, sizeof(view.n_copies));
	return view;
}

/* Those that go come first, in their order; returns how many. */
static unsigned keep_issued(struct gsb_decision *out, unsigned n)
{
	unsigned n_issued = 0;

	for (unsigned i = 0; i < n; i++)
		if (out[i].verdict == GSB_ISSUE)
			out[n_issued++] = out[i];
	return n_issued;
}

static unsigned place_of(const struct gsb_sim *s, const struct gsb_sim_item *item)
{
	unsigned i = 0;

	while (s->ready[i] != &item->work)
		i++;
	return i;
}

static unsigned let_go(const struct gsb_sim *s, unsigned i, struct gsb_decision *out, unsigned n)
{
	out[n] = (struct gsb_decision){.ready = i, .priority = s->ready[i]->priority};
	return n + 1;
}

/* By the order that there is instead of a policy: copies, and the next launches of it as far as they are ready. */
static unsigned follow(struct gsb_sim *s, struct gsb_decision *out)
{
	unsigned n = 0, most = GSB_N_QUEUES - s->n_running;

	for (unsigned i = 0; i < s->n_ready && n < most; i++)
		if (s->ready[i]->kind != GSB_WORK_KERNEL)
			n = let_go(s, i, out, n);
	for (; s->order_at < s->p->n_order && n < most; s->order_at++) {
		const struct gsb_sim_item *item = &s->items[s->p->order[s->order_at]];

		if (item->state < GSB_SIM_READY)
			break;
		if (item->state == GSB_SIM_READY)
			n = let_go(s, place_of(s, item), out, n);
	}
	return n;
}

/* One view, one decision: how many went, or -EPROTO. */
static int ask(struct gsb_sim *s, bool must)
{
	const struct gsb_work *running[GSB_N_QUEUES], *chosen[GSB_N_QUEUES];
	struct gsb_decision out[GSB_N_DECISIONS + 1];
	struct gsb_view view = look(s, running, must);
	unsigned n = s->p->order ? follow(s, out) : s->p->policy->decide(&view, &s->area, out);

	s->out->n_decisions++;
	if (gsb_sim_check_decisions(s, out, n))
		return -EPROTO;
	s->held_until_ns = gsb_hold_first_ns(out, n);
	n = keep_issued(out, n);
	if (!n && must) {
		out[n++] = (struct gsb_decision){.priority = s->ready[0]->priority};
		s->out->n_forced++;
	}
	for (unsigned i = 0; i < n; i++)
		chosen[i] = s->ready[out[i].ready];
	for (unsigned i = 0; i < n; i++)
		start(s, item_of(chosen[i]), &out[i]);
	return (int)n;
}

static uint64_t yields_until(const struct gsb_sim *s)
{
	const struct gsb_work *running[GSB_N_QUEUES];
	struct gsb_view view;

	if (!s->p->policy->yields_until)
		return 0;
	view = look(s, running, false);
	return s->p->policy->yields_until(&view);
}

uint64_t gsb_sim_next_decision_ns(const struct gsb_sim *s)
{
	uint64_t ns = gsb_hold_sooner_ns(s->held_until_ns, s->yields_until_ns);

	return ns ? ns : GSB_SIM_NEVER;
}

int gsb_sim_decide(struct gsb_sim *s)
{
	if (s->held_until_ns && s->held_until_ns <= s->now_ns) {
		s->held_until_ns = 0;
		s->changed = true;
	}
	while (s->changed && s->n_ready && s->n_running < GSB_N_QUEUES) {
		int n;

		s->changed = false;
		n = ask(s, false);
		if (!n && !s->n_running)
			n = ask(s, true);
		if (n < 0)
			return n;
	}
	s->yields_until_ns = yields_until(s);
	return 0;
}
