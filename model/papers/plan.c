/*
 * plan.c - stage 1; see plan.h.
 *
 * Algorithm 1 of Li 2019 leaves cells unset and takes B and W where b and w are meant. What is
 * solved here is its problem (eq. 11-15) plus the registers: one of each kernel's choices, at the
 * least shared memory, within the blocks, warps and registers of a group of SMs. That is a knapsack
 * with one option of each class, for which solvers/multichoice.c is.
 *
 * The plan is first made without registers, as printed. If its registers fit, it is the optimum; if
 * not, the printed algorithm would have given a plan that cannot run, and they are a further
 * capacity. A plan counts only when its blocks, placed on the model of the GPU, are all resident:
 * sums that fit may still not lie well in the partitions of the register file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "model/gpu/arch.h"
#include "model/papers/arrange.h"
#include "model/papers/plan_work.h"

/*
 * For each kernel, kept for placing what the choices give no plan for. Enough to place all as they
 * came, in any number of groups of SMs that the kernels before can have made.
 */
#define PLACED_STEPS 80

struct gsb_plan_work *gsb_plan_work_create(void)
{
	struct gsb_plan_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->batch = gsb_batch_work_create();
	if (work->batch)
		return work;
	free(work);
	return NULL;
}

void gsb_plan_work_destroy(struct gsb_plan_work *work)
{
	if (!work)
		return;
	gsb_batch_work_destroy(work->batch);
	free(work);
}

/* What the plan's choices take of each group of n_sms SMs; false: more than a group has. */
static bool account(const struct gsb_plan_work *work, const struct gsb_plan_input *in,
		    const struct gsb_arrangement *a, uint32_t n_sms, struct gsb_plan *plan)
{
	struct gsb_sm_unit unit = gsb_sm_unit_of(in->arch, n_sms);
	uint64_t sum[GSB_PLAN_DIMS] = {0}, use[GSB_PLAN_DIMS];
	bool fits = true;

	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_cuts *c = &work->cuts[i];

		gsb_unit_use(&unit, &c->geometries[a->cut[i]], &c->needs[a->cut[i]], use);
		plan->choices[i].blocks_per_group = (uint32_t)use[GSB_PLAN_BLOCKS];
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			sum[d] += use[d];
	}
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		fits &= sum[d] <= unit.capacity[d];
	plan->sms_per_group = n_sms;
	plan->blocks = (uint32_t)sum[GSB_PLAN_BLOCKS];
	plan->warps = (uint32_t)sum[GSB_PLAN_WARPS];
	plan->regs = (uint32_t)sum[GSB_PLAN_REGS];
	plan->smem_bytes = (uint32_t)sum[GSB_PLAN_SMEM];
	return fits;
}

/* The arrangement as a plan, for the smallest groups that hold it, from first_group SMs on. */
static void make_plan(const struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      const struct gsb_arrangement *a, uint32_t first_group, struct gsb_plan *out)
{
	*out = (struct gsb_plan){.n_kernels = in->n_kernels};
	memcpy(out->order, a->order, sizeof(out->order));
	for (uint32_t i = 0; i < in->n_kernels; i++)
		out->choices[i] = work->cuts[i].geometries[a->cut[i]];
	for (uint32_t n = first_group; n <= GSB_PLAN_GROUP_MAX && n <= in->arch->n_sms; n *= 2)
		if (account(work, in, a, n, out))
			return;
	account(work, in, a, in->arch->n_sms, out);
}

/* One size of groups, while the choices for it are searched. */
struct stage {
	struct gsb_plan_work *work;
	const struct gsb_plan_input *in;
	struct gsb_arrangement trial, found;
	bool rejected; /* choices that keep the sums were not all resident when placed */
};

static bool try_choices(void *ctx, const uint8_t *picked)
{
	struct stage *s = ctx;

	for (uint32_t i = 0; i < s->in->n_kernels; i++)
		s->trial.cut[i] = s->work->choices[i].cuts[picked[i]];
	if (!gsb_arrange_order(s->work, s->in, &s->trial)) {
		s->rejected = true;
		return false;
	}
	s->found = s->trial;
	return true;
}

static int list_choices(struct stage *s, const struct gsb_sm_unit *unit)
{
	struct gsb_multichoice *m = &s->work->problem;

	m->n = s->in->n_kernels;
	m->ctx = s;
	for (uint32_t i = 0; i < m->n; i++) {
		struct gsb_choices *c = &s->work->choices[i];
		int err = gsb_choices_list(unit, &s->work->cuts[i], c);

		if (err)
			return err;
		m->classes[i] = (struct gsb_multichoice_class){c->n, c->options};
	}
	return 0;
}

static uint64_t regs_of(const struct gsb_multichoice *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		sum += m->classes[i].options[m->picked[i]].use[GSB_PLAN_REGS];
	return sum;
}

/*
 * Choices for a group: without registers first, with them when that plan would not fit. -ENOSPC:
 * the sums are more than a group has; -EAGAIN: they are not, but nothing that is resident was
 * found.
 */
static int choose(struct stage *s, const struct gsb_sm_unit *unit, struct gsb_plan *plan)
{
	struct gsb_multichoice *m = &s->work->problem;
	uint64_t least; /* no choices need less, with or without registers */
	int err;

	memcpy(m->capacity, unit->capacity, sizeof(m->capacity));
	m->capacity[GSB_PLAN_REGS] = UINT64_MAX;
	m->accept = NULL;
	err = gsb_multichoice_solve(m, &s->work->steps);
	if (err || m->cost > unit->capacity[GSB_PLAN_SMEM])
		return err ? err : -ENOSPC;
	least = m->proven ? m->cost : UINT64_MAX;
	plan->regs_mattered = regs_of(m) > unit->capacity[GSB_PLAN_REGS];
	if (plan->regs_mattered || !try_choices(s, m->picked)) {
		m->capacity[GSB_PLAN_REGS] = unit->capacity[GSB_PLAN_REGS];
		m->accept = try_choices;
		err = gsb_multichoice_solve(m, &s->work->steps);
		if (err)
			return s->rejected ? -EAGAIN : err;
		if (m->cost > unit->capacity[GSB_PLAN_SMEM])
			return -ENOSPC;
	}
	plan->exact = m->cost == least || (m->proven && !s->rejected);
	return 0;
}

/* Stage 1 for groups of so many SMs. */
static int plan_groups(struct gsb_plan_work *work, const struct gsb_plan_input *in, uint32_t n_sms,
		       struct gsb_plan *out)
{
	struct gsb_sm_unit unit = gsb_sm_unit_of(in->arch, n_sms);
	struct stage s = {.work = work, .in = in};
	struct gsb_plan how;
	int err = list_choices(&s, &unit);

	if (!err)
		err = choose(&s, &unit, &how);
	if (err)
		return err;
	make_plan(work, in, &s.found, n_sms, out);
	out->exact = how.exact;
	out->regs_mattered = how.regs_mattered;
	return 0;
}

static int check_input(const struct gsb_plan_input *in)
{
	if (gsb_arch_check(in->arch) || !in->n_kernels || in->n_kernels > GSB_PLAN_KERNELS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_kernel *k = &in->kernels[i].range.kernel;
		uint64_t total;

		if (!k->n_blocks || !k->threads_per_block ||
		    k->threads_per_block > in->arch->max_threads_per_block ||
		    gsb_mul_overflows(k->n_blocks, (uint64_t)k->threads_per_block, &total))
			return -EINVAL;
	}
	return 0;
}

/* One SM at a time if that will do, else more: -ENOSPC, -EAGAIN as choose(). */
static int plan_some_groups(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			    struct gsb_plan *out)
{
	int err = -ENOSPC;

	for (uint32_t n = 1; err == -ENOSPC && n <= GSB_PLAN_GROUP_MAX && n <= in->arch->n_sms;
	     n *= 2)
		err = plan_groups(work, in, n, out);
	return err;
}

/* Whatever can be placed. */
static int plan_placed(struct gsb_plan_work *work, const struct gsb_plan_input *in, bool original,
		       struct gsb_plan *out)
{
	struct gsb_arrangement a;

	if (!gsb_arrange_as_given(work, in, &a) && !gsb_arrange(work, in, original, &a))
		return -ENOSPC;
	make_plan(work, in, &a, 1, out);
	return 0;
}

/* Steps that the next attempt may not use: what is left is that many, or as many as there are. */
static uint64_t set_aside(struct gsb_plan_work *work, uint64_t n)
{
	n = n < work->steps ? n : work->steps;
	work->steps -= n;
	return n;
}

static int plan_any(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		    struct gsb_plan *out)
{
	uint64_t aside;
	int err = -ENOSPC;

	if (in->keep) {
		aside = set_aside(work, work->steps / 2);
		err = plan_placed(work, in, true, out);
		work->steps += aside;
	}
	if (err) {
		aside = set_aside(work, (uint64_t)PLACED_STEPS * in->n_kernels);
		err = plan_some_groups(work, in, out);
		work->steps += aside;
	}
	return err ? plan_placed(work, in, false, out) : 0;
}

static uint32_t steps_for(const struct gsb_plan_input *in)
{
	const uint32_t n = in->n_kernels, least = 2 * PLACED_STEPS * n;

	if (!in->max_steps)
		return GSB_PLAN_STEPS * (n < 16 ? 16 : n);
	return in->max_steps > least ? in->max_steps : least;
}

int gsb_plan_with_cuts(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		       struct gsb_plan *out)
{
	const uint32_t steps = steps_for(in);
	struct gsb_plan plan;
	int err;

	if (in->n_kernels > in->arch->max_resident_grids)
		return -ENOSPC;
	work->steps = steps;
	err = plan_any(work, in, &plan);
	if (err)
		return err;
	plan.steps = steps - (uint32_t)work->steps;
	*out = plan;
	return 0;
}

int gsb_plan_together(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      struct gsb_plan *out)
{
	int err = check_input(in);

	for (uint32_t i = 0; i < in->n_kernels && !err; i++)
		err = gsb_cuts_list(in, &in->kernels[i], &work->cuts[i]);
	return err ? err : gsb_plan_with_cuts(work, in, out);
}
