/*
 * two_stage.c - both stages of Li 2019 together; see plan.h.
 *
 * Kernels that cannot all be resident are split into batches, each of which stage 1 finds a plan
 * for. Three ways, and the best of them: first fit decreasing, where stage 1 says what fits; the
 * packing of batch.c with what kernels take of the whole GPU, which also bounds the number from
 * below; and with what they take of one SM, registers charged as the partitions hand them out. A
 * packing knows sums alone, so stage 1 is asked about each of its batches, and a kernel that did
 * not fit goes to the first batch that takes it. First fit is one of the three: the result is never
 * worse than that.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "model/papers/plan_work.h"

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

/* All kernels in batches. */
struct split {
	uint32_t n;
	struct members batches[GSB_PLAN_KERNELS_MAX];
};

struct two_stage {
	struct gsb_plan_work *work;
	const struct gsb_plan_input *in;
	struct gsb_sm_unit gpu;
	uint64_t least[GSB_PLAN_KERNELS_MAX][GSB_PLAN_DIMS]; /* of the GPU, over a kernel's cuts */
	struct members packed; /* largest first; the others run alone */
	struct split best;
};

static int plan_members(struct two_stage *t, const struct members *m)
{
	struct gsb_plan_work *work = t->work;
	struct gsb_plan_input part = *t->in;

	part.kernels = work->members;
	part.n_kernels = m->n;
	if (m->n == 1)
		part.max_steps =
			0; /* enough to try every cut: who runs alone is then known, not guessed */
	for (uint32_t i = 0; i < m->n; i++) {
		work->members[i] = t->in->kernels[m->index[i]];
		work->cuts[i] = work->all_cuts[m->index[i]];
	}
	return gsb_plan_with_cuts(work, &part, &work->plan);
}

/* Do the sums alone leave room? What they refuse stage 1 refuses too, after longer thought. */
static bool sums_fit(const struct two_stage *t, const struct members *m)
{
	for (int d = 0; d < GSB_PLAN_DIMS; d++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < m->n; i++)
			sum += t->least[m->index[i]][d];
		if (sum > t->gpu.capacity[d])
			return false;
	}
	return true;
}

/* 0: the kernel is in the batch now; -ENOSPC: it does not fit; other errors are final. */
static int add_member(struct two_stage *t, struct members *m, uint8_t kernel)
{
	int err;

	m->index[m->n++] = kernel;
	err = sums_fit(t, m) ? plan_members(t, m) : -ENOSPC;
	if (err)
		m->n--;
	return err;
}

/* To the first batch that takes it, else to a new one. */
static int first_fit(struct two_stage *t, struct split *s, uint8_t kernel)
{
	int err = -ENOSPC;

	for (uint32_t j = 0; j < s->n && err == -ENOSPC; j++)
		err = add_member(t, &s->batches[j], kernel);
	if (err == -ENOSPC) {
		s->batches[s->n++] = (struct members){1, {kernel}};
		err = 0;
	}
	return err;
}

static int first_fit_decreasing(struct two_stage *t, struct split *s)
{
	int err = 0;

	s->n = 0;
	for (uint32_t i = 0; i < t->packed.n && !err; i++)
		err = first_fit(t, s, t->packed.index[i]);
	return err;
}

/* A batch of the packing as far as stage 1 agrees; what does not fit is left over. */
static int take_batch(struct two_stage *t, const struct members *m, struct split *s,
		      struct members *left)
{
	struct members *batch = &s->batches[s->n];
	int err = plan_members(t, m);

	*batch = *m;
	if (err == -ENOSPC) {
		batch->n = 0;
		err = 0;
		for (uint32_t i = 0; i < m->n && !err; i++) {
			err = add_member(t, batch, m->index[i]);
			if (err == -ENOSPC) {
				left->index[left->n++] = m->index[i];
				err = 0;
			}
		}
	}
	s->n += batch->n > 0;
	return err;
}

/* The packing as stage 1 can have it. */
static int realize(struct two_stage *t, const struct gsb_batch_solution *packing, struct split *s)
{
	struct members left = {0};
	int err = 0;

	s->n = 0;
	for (uint32_t j = 0; j < packing->n_batches && !err; j++) {
		struct members m = {0};

		for (uint32_t i = 0; i < t->packed.n; i++)
			if (packing->batch_of[i] == j)
				m.index[m.n++] = t->packed.index[i];
		err = take_batch(t, &m, s, &left);
	}
	for (uint32_t i = 0; i < left.n && !err; i++)
		err = first_fit(t, s, left.index[i]);
	return err;
}

/* ---- packings ---- */

/* The largest capacity that batch.h takes; larger ones are counted in units of 2^shift. */
static int shift_of(uint64_t capacity)
{
	int shift = 0;

	while (capacity >> shift >= GSB_BATCH_CAPACITY_MAX)
		shift++;
	return shift;
}

/* What the kernels take at least, of the whole GPU; rounded down, for the bound. */
static void fill_with_least(struct two_stage *t, struct gsb_batch_problem *p)
{
	p->n_items = t->packed.n;
	for (int d = 0; d < GSB_PLAN_DIMS; d++) {
		const int shift = shift_of(t->gpu.capacity[d]);

		p->capacity[d] = (uint32_t)((t->gpu.capacity[d] + (1ull << shift) - 1) >> shift);
		for (uint32_t i = 0; i < p->n_items; i++)
			p->size[i][d] = (uint32_t)(t->least[t->packed.index[i]][d] >> shift);
	}
}

/* Registers that the warps keep from others: what a partition cannot hand out is charged, too. */
static uint64_t charged_regs(const struct gsb_plan_input *in, const struct gsb_block_need *need,
			     uint64_t n_warps)
{
	const uint32_t n_parts = in->rules->partitions ? in->arch->warp_unit : 1;
	const uint32_t fit =
		need->regs_per_warp ? in->arch->regs / n_parts / need->regs_per_warp : 0;

	return fit ? n_warps * gsb_div_up(in->arch->regs, fit * n_parts) : 0;
}

/* What each kernel takes of one SM, in the cut with the fewest warps; at most all there is. */
static void fill_with_charged(struct two_stage *t, struct gsb_batch_problem *p)
{
	const struct gsb_sm_unit sm = gsb_sm_unit_of(t->in->arch, 1);

	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		p->capacity[d] = (uint32_t)sm.capacity[d];
	p->n_items = t->packed.n;
	for (uint32_t i = 0; i < p->n_items; i++) {
		const struct gsb_cuts *c = &t->work->all_cuts[t->packed.index[i]];
		uint64_t use[GSB_PLAN_DIMS], least[GSB_PLAN_DIMS] = {0};

		for (uint32_t j = 0; j < c->n; j++) {
			gsb_unit_use(&sm, &c->geometries[j], &c->needs[j], use);
			use[GSB_PLAN_REGS] = charged_regs(t->in, &c->needs[j], use[GSB_PLAN_WARPS]);
			if (!j || use[GSB_PLAN_WARPS] < least[GSB_PLAN_WARPS] ||
			    (use[GSB_PLAN_WARPS] == least[GSB_PLAN_WARPS] &&
			     use[GSB_PLAN_SMEM] < least[GSB_PLAN_SMEM]))
				memcpy(least, use, sizeof(least));
		}
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			p->size[i][d] =
				(uint32_t)(least[d] < sm.capacity[d] ? least[d] : sm.capacity[d]);
	}
}

static void keep_if_better(struct two_stage *t, const struct split *s)
{
	if (s->n < t->best.n)
		t->best = *s;
}

/* Packs, and keeps what comes of it if that is better. @lower: NULL, or the bound comes here. */
static int try_packing(struct two_stage *t, uint32_t *lower)
{
	struct gsb_batch_solution packing;
	struct split s;
	int err = gsb_batch_solve(t->work->batch, &t->work->packing, &packing);

	if (err)
		return err;
	if (lower)
		*lower = packing.lower_bound;
	if (t->best.n <= packing.n_batches || (lower && t->best.n == *lower))
		return 0;
	err = realize(t, &packing, &s);
	if (!err)
		keep_if_better(t, &s);
	return err;
}

/* The packed kernels: t->best, and how many batches there must be. */
#define PACKING_NODES 300 /* longer searches hardly ever save a batch */

static int split_packed(struct two_stage *t, uint32_t *lower)
{
	int err = first_fit_decreasing(t, &t->best);

	if (err)
		return err;
	t->work->packing.max_nodes = PACKING_NODES;
	t->work->packing.way = GSB_BATCH_COLUMNS_LAST;
	fill_with_least(t, &t->work->packing);
	err = try_packing(t, lower);
	if (err || t->best.n == *lower)
		return err;
	t->work->packing.way = GSB_BATCH_NO_COLUMNS;
	fill_with_charged(t, &t->work->packing);
	return try_packing(t, NULL);
}

/* ---- all of it ---- */

/* Largest share of the GPU that the kernel takes as it came. */
static double share_of(const struct two_stage *t, uint32_t k)
{
	const struct gsb_cuts *c = &t->work->all_cuts[k];
	uint64_t use[GSB_PLAN_DIMS];
	double most = 0;

	gsb_unit_use(&t->gpu, &c->geometries[0], &c->needs[0], use);
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		if (use[d])
			most = fmax(most, (double)use[d] / (double)t->gpu.capacity[d]);
	return most;
}

static void find_least(struct two_stage *t, uint32_t k)
{
	const struct gsb_cuts *c = &t->work->all_cuts[k];

	for (uint32_t j = 0; j < c->n; j++) {
		uint64_t use[GSB_PLAN_DIMS];

		gsb_unit_use(&t->gpu, &c->geometries[j], &c->needs[j], use);
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			if (!j || use[d] < t->least[k][d])
				t->least[k][d] = use[d];
	}
}

/* Kernels that run alone are planned here; the others go to t->packed, largest first. */
static int sort_out(struct two_stage *t, struct gsb_plan_batches *out)
{
	int err = 0;

	for (uint32_t i = 0; i < t->in->n_kernels && !err; i++) {
		struct members one = {1, {(uint8_t)i}};
		uint32_t at = t->packed.n;

		find_least(t, i);
		err = plan_members(t, &one);
		out->alone[i] = err == -ENOSPC;
		if (out->alone[i])
			err = plan_alone(t->in, i, &out->choices[i]);
		if (err || out->alone[i])
			continue;
		for (; at && share_of(t, t->packed.index[at - 1]) < share_of(t, i); at--)
			t->packed.index[at] = t->packed.index[at - 1];
		t->packed.index[at] = (uint8_t)i;
		t->packed.n++;
	}
	return err;
}

static int write_batch(struct two_stage *t, uint32_t j, uint8_t **at, struct gsb_plan_batches *out)
{
	const struct members *m = &t->best.batches[j];
	const struct gsb_plan *plan = &t->work->plan;
	int err = plan_members(t, m);

	for (uint32_t i = 0; i < m->n && !err; i++) {
		out->batch_of[m->index[i]] = (uint8_t)j;
		out->choices[m->index[i]] = plan->choices[i];
		*(*at)++ = m->index[plan->order[i]];
	}
	return err;
}

static int write_batches(struct two_stage *t, struct gsb_plan_batches *out)
{
	uint8_t *at = out->order;
	int err = 0;

	for (uint32_t j = 0; j < t->best.n && !err; j++)
		err = write_batch(t, j, &at, out);
	out->n_batches = t->best.n;
	for (uint32_t i = 0; i < t->in->n_kernels; i++) {
		if (!out->alone[i])
			continue;
		out->batch_of[i] = (uint8_t)out->n_batches++;
		out->lower_bound++;
		*at++ = (uint8_t)i;
	}
	out->proven = out->n_batches == out->lower_bound;
	return err;
}

static void one_batch(const struct gsb_plan *plan, struct gsb_plan_batches *out)
{
	out->n_batches = out->lower_bound = 1;
	out->proven = true;
	memcpy(out->choices, plan->choices, sizeof(out->choices));
	memcpy(out->order, plan->order, sizeof(out->order));
}

int gsb_plan_batches(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		     struct gsb_plan_batches *out)
{
	struct gsb_plan_batches result = {.n_batches = 0};
	struct two_stage t = {.work = work, .in = in};
	int err = gsb_plan_together(work, in, &work->plan);

	if (!err) {
		one_batch(&work->plan, &result);
		*out = result;
		return 0;
	}
	if (err != -ENOSPC)
		return err;
	t.gpu = gsb_sm_unit_of(in->arch, in->arch->n_sms);
	memcpy(work->all_cuts, work->cuts, in->n_kernels * sizeof(work->cuts[0]));
	err = sort_out(&t, &result);
	if (!err && t.packed.n)
		err = split_packed(&t, &result.lower_bound);
	if (!err)
		err = write_batches(&t, &result);
	if (!err)
		*out = result;
	return err;
}
