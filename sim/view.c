/*
 * view.c - the policy's side of a run: what it is shown and what becomes of its decisions, as broker/engine/work/issue.c does both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/policy/bound.h"
#include "broker/policy/cap.h"
#include "broker/policy/claim.h"
#include "broker/policy/hold.h"
#include "broker/policy/estimate.h"
#include "sim/state.h"

#define PRIORITY_GREATEST (-5) /* of queues, as CUDA has it */

int gsb_sim_view_init(struct gsb_sim *s)
{
	s->ready = calloc((size_t)s->load->n_streams + 1, sizeof(*s->ready));
	s->claims = calloc((size_t)s->load->n_tenants + 1, sizeof(*s->claims));
	s->there = calloc((size_t)s->load->n_tenants + 1, sizeof(*s->there));
	s->n_left_of = calloc((size_t)s->load->n_tenants + 1, sizeof(*s->n_left_of));
	if (!s->ready || !s->claims || !s->there || !s->n_left_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->load->n_tenants; i++)
		s->claims[i] = (struct gsb_claim){
			.tenant = s->load->tenants[i].id,
			.weight = s->p->weights ? s->p->weights[i] : GSB_WEIGHT_USUAL,
			.critical = s->load->tenants[i].id == s->p->critical,
			.deadline_ns = s->p->deadlines_ns ? s->p->deadlines_ns[i] : 0,
			.cap.percent = s->p->slowdown_percents ? s->p->slowdown_percents[i] : 0,
			.memory_bytes = s->load->tenants[i].peak_bytes,
		};
	for (uint32_t i = 0; i < s->load->n_ops; i++)
		s->n_left_of[s->load->ops[i].tenant_at] += s->items[i].state != GSB_SIM_ABSENT;
	return 0;
}

static struct gsb_claim *claim_of(struct gsb_sim *s, const struct gsb_sim_item *item)
{
	return &s->claims[item->op->tenant_at];
}

/* ---- what is ready ---- */

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

/* All shapes, or of them the limits, which are the last: of a hint the law of contention knows nothing. */
static void offer(const struct gsb_sim *s, struct gsb_work *w)
{
	unsigned first = s->p->policy->reshapes ? 0 : GSB_N_OFFERED - GSB_N_LIMITS;

	if (!s->p->policy->reshapes && !s->p->policy->beside)
		return;
	w->shapes = gsb_shapes + first;
	w->n_shapes = GSB_N_OFFERED - first;
}

void gsb_sim_view_add(struct gsb_sim *s, struct gsb_sim_item *item)
{
	unsigned at = s->n_ready++;

	item->work.since_ns = item->ready_ns;
	item->work.claim = claim_of(s, item);
	if (item->work.kind == GSB_WORK_KERNEL && !item->work.cooperative && s->p->resizes)
		offer(s, &item->work);
	if (item->work.kind == GSB_WORK_KERNEL && s->p->estimates)
		item->work.predicted =
			gsb_estimates_predict(s->p->estimates, s->p->arch, &item->work);
	item->work.n_queued = &s->streams[item->op->stream_at].n_queued;
	gsb_claim_begin(claim_of(s, item), s->share_ns, item->ready_ns);
	claim_of(s, item)->asked_ns = item->ready_ns;
	claim_of(s, item)->n_ready++;
	for (; at && is_before(&item->work, s->ready[at - 1]); at--)
		s->ready[at] = s->ready[at - 1];
	s->ready[at] = &item->work;
	s->changed = true;
	if (s->n_ready > s->out->n_ready_max)
		s->out->n_ready_max = s->n_ready;
}

static void take_out(struct gsb_sim *s, struct gsb_sim_item *item)
{
	unsigned at = 0;

	while (s->ready[at] != &item->work)
		at++;
	s->n_ready--;
	claim_of(s, item)->n_ready--;
	memmove(&s->ready[at], &s->ready[at + 1], (s->n_ready - at) * sizeof(*s->ready));
}

/* ---- what runs ---- */

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
	struct gsb_claim *claim = claim_of(s, item);
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

/* Those that have come and are not done. */
static unsigned list_there(const struct gsb_sim *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->load->n_tenants; i++)
		if (s->n_left_of[i] && gsb_sim_come_ns(s, i) <= s->now_ns)
			s->there[n++] = &s->claims[i];
	return n;
}

static uint32_t n_reserved(const struct gsb_sim *s)
{
	uint32_t percent = s->p->reserved_percent;

	return gsb_reserved_sms(s->p->arch->n_sms, s->p->arch->sm_group,
				percent ? percent : GSB_RESERVED_PERCENT);
}

/* For the policies that predict: as the engine notes it. */
static void note_run(struct gsb_sim *s, const struct gsb_sim_flight *f)
{
	const struct gsb_sim_item *item = f->item;
	struct gsb_claim *claim = claim_of(s, item);
	const struct gsb_run run = {
		.work = &item->work,
		.took_ns = s->now_ns - item->start_ns,
		.stay_ns = s->now_ns - item->issued_ns,
		.ready_ns = item->ready_ns,
		.block_ns = item->blocks_ns / item->work.kernel.n_blocks,
		.in_parts = f->course.each < f->course.total,
		.company = f->company,
	};

	gsb_estimates_note(s->p->estimates, s->p->arch, &run);
	gsb_claim_note_habit(claim, s->p->arch, &item->work, run.took_ns, s->now_ns);
	if (claim->critical)
		gsb_yield_note(&claim->yield, n_reserved(s), &item->work, f->company.others,
			       s->now_ns);
	gsb_cap_note(&claim->cap, gsb_cap_limit(claim, s->there, list_there(s), s->now_ns),
		     s->p->estimates, &run, s->now_ns);
}

/* SM time: all SMs that it was on, for as long as its blocks filled them. */
static uint64_t sm_ns_of(const struct gsb_sim_item *item)
{
	uint64_t n = item->work.blocks_per_sm;

	return n ? item->blocks_ns / n : item->blocks_ns;
}

void gsb_sim_view_landed(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	const struct gsb_sim_item *item = f->item;
	struct gsb_claim *claim = claim_of(s, item);

	claim->n_running--;
	if (item->work.kind != GSB_WORK_KERNEL) {
		s->n_copying[item->work.direction]--;
		return;
	}
	if (s->p->estimates)
		note_run(s, f);
	gsb_claim_note(claim, s->now_ns - item->start_ns, sm_ns_of(item), claim->memory_bytes);
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
		.n_claims = list_there(s),
		.ready = s->ready,
		.n_ready = s->n_ready,
		.running = running,
		.n_running = list_running(s, running),
		.n_free_queues = GSB_N_QUEUES - s->n_running,
		.memory_bytes = s->p->arch->mem_bytes,
		.estimates = s->p->estimates,
		.n_reserved = n_reserved(s),
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
