/*
 * result.c - what is said of a run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/state.h"

/* @ns: that it took on its SM. What it asks of each unit is what it would take alone, whoever stood beside it. */
void gsb_sim_count_block(struct gsb_sim *s, const struct gsb_sim_item *item, uint64_t ns)
{
	const struct gsb_arch *a = s->p->arch;
	const struct gsb_kernel *k = &item->work.kernel;
	const double sms = a->n_sms, alone = (double)item->block_ns * item->tiles;
	const double cycles_per_ns = a->clock_khz / 1e6;
	struct gsb_block_need need;

	s->out->n_blocks++;
	s->thread_ns += (double)ns * k->threads_per_block;
	if (gsb_block_need(a, k, &gsb_rules_hardware, &need))
		return;
	s->out->unit_ns[GSB_SIM_WARPS] += alone * need.warps / (a->max_warps * sms);
	s->out->unit_ns[GSB_SIM_BLOCKS] += alone / (a->max_blocks * sms);
	s->out->unit_ns[GSB_SIM_REGS] += alone * need.warps * need.regs_per_warp / (a->regs * sms);
	s->out->unit_ns[GSB_SIM_SMEM] += alone * need.smem_bytes / (a->smem_bytes * sms);
	s->out->unit_ns[GSB_SIM_ISSUE] +=
		(double)item->block_insns * item->tiles / (a->issue_width * cycles_per_ns * sms);
}

void gsb_sim_count_transfer(struct gsb_sim *s, uint64_t ns)
{
	s->out->unit_ns[GSB_SIM_ENGINES] += (double)ns / GSB_SIM_N_ENGINES;
}

static void add_item(struct gsb_sim *s, const struct gsb_sim_item *item)
{
	struct gsb_sim_tenant *t = &s->out->tenants[item->op->tenant_at];

	s->out->n_ops++;
	if (item->op->kind == GSB_WORKLOAD_LAUNCH) {
		s->out->n_launches++;
		t->n_launches++;
	}
	if (gsb_sim_is_for_device(item->op))
		t->queued_ns += item->start_ns - item->ready_ns;
	if (item->done_ns > t->end_ns)
		t->end_ns = item->done_ns;
}

static bool takes_part(const struct gsb_sim *s, const struct gsb_workload_tenant *t)
{
	return !s->p->tenant || t->id == s->p->tenant;
}

static void sum_up(struct gsb_sim *s)
{
	const struct gsb_arch *a = s->p->arch;
	struct gsb_sim_result *r = s->out;
	uint64_t from = GSB_SIM_NEVER, to = 0;

	for (uint32_t i = 0; i < r->n_tenants; i++) {
		if (!takes_part(s, &s->load->tenants[i]))
			continue;
		from = r->tenants[i].come_ns < from ? r->tenants[i].come_ns : from;
		to = r->tenants[i].end_ns > to ? r->tenants[i].end_ns : to;
	}
	r->makespan_ns = to > from ? to - from : 0;
	if (r->makespan_ns)
		r->coresidency = s->thread_ns / (double)r->makespan_ns /
				 ((double)a->n_sms * a->max_warps * GSB_WARP_SIZE);
}

int gsb_sim_result_make(struct gsb_sim *s)
{
	struct gsb_sim_result *r = s->out;

	r->n_tenants = s->load->n_tenants;
	r->tenants = calloc((size_t)r->n_tenants + 1, sizeof(*r->tenants));
	if (!r->tenants)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_tenants; i++) {
		const struct gsb_workload_tenant *t = &s->load->tenants[i];

		r->tenants[i].id = t->id;
		r->tenants[i].come_ns = r->tenants[i].end_ns = s->p->together ? 0 : t->come_ns;
		snprintf(r->tenants[i].name, sizeof(r->tenants[i].name), "%s", t->name);
	}
	for (uint32_t i = 0; i < s->load->n_ops; i++) {
		if (s->items[i].state != GSB_SIM_ABSENT)
			add_item(s, &s->items[i]);
		if (s->p->took_ns)
			s->p->took_ns[i] = s->items[i].done_ns - s->items[i].post_ns;
	}
	sum_up(s);
	return 0;
}
