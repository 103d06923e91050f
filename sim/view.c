/*
 * view.c - what a policy is shown of a run, and what is noted for it of what has run, as broker/engine/work/issue.c does both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/policy/bound.h"
#include "broker/policy/cap.h"
#include "broker/policy/claim.h"
#include "broker/policy/estimate.h"
#include "sim/state.h"

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

/* ---- what is ready ---- */

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
	item->work.claim = gsb_sim_claim_of(s, item);
	if (item->work.kind == GSB_WORK_KERNEL && !item->work.cooperative && s->p->resizes)
		offer(s, &item->work);
	if (item->work.kind == GSB_WORK_KERNEL && s->p->estimates)
		item->work.predicted =
			gsb_estimates_predict(s->p->estimates, s->p->arch, &item->work);
	item->work.n_queued = &s->streams[item->op->stream_at].n_queued;
	gsb_claim_begin(gsb_sim_claim_of(s, item), s->share_ns, item->ready_ns);
	gsb_sim_claim_of(s, item)->asked_ns = item->ready_ns;
	gsb_sim_claim_of(s, item)->n_ready++;
	for (; at && is_before(&item->work, s->ready[at - 1]); at--)
		s->ready[at] = s->ready[at - 1];
	s->ready[at] = &item->work;
	s->changed = true;
	if (s->n_ready > s->out->n_ready_max)
		s->out->n_ready_max = s->n_ready;
}

/* ---- what runs ---- */

unsigned gsb_sim_list_there(const struct gsb_sim *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->load->n_tenants; i++)
		if (s->n_left_of[i] && gsb_sim_come_ns(s, i) <= s->now_ns)
			s->there[n++] = &s->claims[i];
	return n;
}

uint32_t gsb_sim_n_reserved(const struct gsb_sim *s)
{
	uint32_t percent = s->p->reserved_percent;

	return gsb_reserved_sms(s->p->arch->n_sms, s->p->arch->sm_group,
				percent ? percent : GSB_RESERVED_PERCENT);
}

/* For the policies that predict: as the engine notes it. */
static void note_run(struct gsb_sim *s, const struct gsb_sim_flight *f)
{
	const struct gsb_sim_item *item = f->item;
	struct gsb_claim *claim = gsb_sim_claim_of(s, item);
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
		gsb_yield_note(&claim->yield, gsb_sim_n_reserved(s), &item->work, f->company.others,
			       s->now_ns);
	gsb_cap_note(&claim->cap, gsb_cap_limit(claim, s->there, gsb_sim_list_there(s), s->now_ns),
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
	struct gsb_claim *claim = gsb_sim_claim_of(s, item);

	claim->n_running--;
	if (item->work.kind != GSB_WORK_KERNEL) {
		s->n_copying[item->work.direction]--;
		return;
	}
	if (s->p->estimates)
		note_run(s, f);
	gsb_claim_note(claim, s->now_ns - item->start_ns, sm_ns_of(item), claim->memory_bytes);
}
