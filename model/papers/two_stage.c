/*
 * two_stage.c - both stages of Li 2019 together; see plan.h.
 *
 * Kernels that cannot all be resident are packed into batches by what their smallest choice takes of
 * an SM (batch.h); each batch then gets its geometries from stage 1.
 */
#include "model/papers/plan_work.h"

#include <errno.h>
#include <string.h>

/* A kernel that fills the GPU more than once: its best geometry, a batch of its own. */
static int plan_alone(const struct gsb_plan_input *in, uint32_t i, struct gsb_plan_choice *out)
{
	const struct gsb_plan_kernel *k = &in->kernels[i];
	struct gsb_geometry g;
	int err;

	if (k->fixed)
		err = gsb_geometry_at(in->arch, &k->range, k->range.kernel.threads_per_block,
				      in->rules, &g);
	else
		err = gsb_best_geometry(in->arch, &k->range, in->rules, &g);
	if (err)
		return err;
	out->threads_per_block = g.kernel.threads_per_block;
	out->n_blocks = g.kernel.n_blocks;
	out->blocks_per_group = g.occupancy.blocks_per_sm;
	out->smem_bytes = g.kernel.smem_bytes;
	return 0;
}

/* Kernels of one batch, by index in the input. */
struct members {
	uint32_t n;
	uint8_t index[GSB_PLAN_KERNELS_MAX];
};

static int plan_members(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			const struct members *m, struct gsb_plan_batches *out)
{
	struct gsb_plan_input part = *in;
	int err;

	part.kernels = work->members;
	part.n_kernels = m->n;
	for (uint32_t i = 0; i < m->n; i++)
		work->members[i] = in->kernels[m->index[i]];
	err = gsb_plan_together(work, &part, &work->plan);
	for (uint32_t i = 0; !err && i < m->n; i++)
		out->choices[m->index[i]] = work->plan.choices[i];
	return err;
}

/*
 * Stage 1 in a batch of stage 2. Sizes that add up may still not lie well in the partitions of the
 * register file: then the last kernel moves to a batch of its own, and the count is not proven.
 */
static int plan_batch(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      struct members *m, struct gsb_plan_batches *out)
{
	int err;

	while ((err = plan_members(work, in, m, out)) == -ENOSPC && m->n > 1) {
		struct members last = {1, {m->index[--m->n]}};

		err = plan_members(work, in, &last, out);
		if (err)
			return err;
		out->batch_of[last.index[0]] = (uint8_t)out->n_batches++;
		out->proven = false;
	}
	return err;
}

/* Fill work->problem; kernels that do not fit in one round are planned here and left out. */
static int make_problem(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			struct members *packed, struct gsb_plan_batches *out)
{
	struct gsb_sm_unit unit = gsb_sm_unit_of(in->arch, 1);
	struct gsb_batch_problem *p = &work->problem;
	int err = 0;

	memcpy(p->capacity, unit.capacity, sizeof(unit.capacity));
	p->capacity[GSB_PLAN_DIMS] = unit.smem;
	p->n_items = 0;
	packed->n = 0;
	for (uint32_t i = 0; i < in->n_kernels && !err; i++) {
		struct members one = {1, {(uint8_t)i}};
		const struct gsb_choice *c;

		out->alone[i] = plan_members(work, in, &one, out) != 0 ||
				gsb_choices_list(in, &unit, &in->kernels[i], false,
						 &work->candidates[0]) != 0;
		if (out->alone[i]) {
			err = plan_alone(in, i, &out->choices[i]);
			continue;
		}
		c = gsb_choice_smallest(&work->candidates[0]);
		memcpy(p->size[p->n_items], c->use, sizeof(c->use));
		p->size[p->n_items++][GSB_PLAN_DIMS] = c->smem;
		packed->index[packed->n++] = (uint8_t)i;
	}
	return err;
}

static int pack(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		const struct members *packed, struct gsb_plan_batches *out)
{
	struct gsb_batch_solution solution;
	int err = gsb_batch_solve(work->batch, &work->problem, &solution);

	if (err)
		return err;
	out->n_batches = solution.n_batches;
	out->lower_bound = solution.lower_bound;
	out->proven = solution.proven;
	for (uint32_t j = 0; j < solution.n_batches && !err; j++) {
		struct members m = {0};

		for (uint32_t i = 0; i < packed->n; i++) {
			if (solution.batch_of[i] != j)
				continue;
			out->batch_of[packed->index[i]] = (uint8_t)j;
			m.index[m.n++] = packed->index[i];
		}
		err = plan_batch(work, in, &m, out);
	}
	return err;
}

static void one_batch(const struct gsb_plan *plan, struct gsb_plan_batches *out)
{
	out->n_batches = out->lower_bound = 1;
	memcpy(out->choices, plan->choices, plan->n_kernels * sizeof(plan->choices[0]));
}

int gsb_plan_batches(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		     struct gsb_plan_batches *out)
{
	struct gsb_plan_batches result = {.proven = true};
	struct members packed;
	int err = gsb_plan_together(work, in, &work->plan);

	if (!err) {
		one_batch(&work->plan, &result);
		*out = result;
		return 0;
	}
	if (err != -ENOSPC)
		return err;
	err = make_problem(work, in, &packed, &result);
	if (!err && packed.n)
		err = pack(work, in, &packed, &result);
	if (err)
		return err;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		if (!result.alone[i])
			continue;
		result.batch_of[i] = (uint8_t)result.n_batches++;
		result.lower_bound++;
	}
	*out = result;
	return 0;
}
