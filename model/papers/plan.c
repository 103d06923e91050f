/*
 * plan.c - stage 1; see plan.h.
 *
 * Algorithm 1 of Li 2019 leaves cells unset and takes B and W where b and w are meant. What is solved
 * here is its problem (eq. 11-15) plus the registers. Per kernel only those (blocks, warps, shared
 * memory) remain that no other choice beats in all three; registers follow warps. Then every kernel is
 * charged its least use of each resource, and the table runs over what is left of blocks, warps and
 * registers. A dimension in which even the largest choices fit is dropped: mostly all three are, and
 * the table is one cell.
 *
 * The plan is first made without registers, as printed. If its registers fit, it is the optimum; if
 * not, the printed algorithm would have given a plan that cannot run, and the table gets the further
 * dimension. In the end the blocks are placed on the model of the GPU, and a plan that does not fit
 * there is not given out.
 */
#include "model/papers/plan_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "model/gpu/arch.h"
#include "model/placement/place.h"

#define CELLS_MAX (1u << 20)  /* of the table; a larger one counts registers in coarser units */
#define COST_NONE 0x3fffffffu /* two of them can be added */

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
	free(work->cost);
	free(work->next);
	free(work->pick);
	free(work);
}

/* The table over what is left: cells, and how far one unit of a dimension moves. */
struct table {
	bool binds[GSB_PLAN_DIMS];    /* false: even the largest choices fit: dropped */
	uint32_t size[GSB_PLAN_DIMS]; /* cells */
	uint32_t unit[GSB_PLAN_DIMS];
	size_t n_cells;
};

static int grow(struct gsb_plan_work *work, size_t n_cells, uint32_t n_kernels)
{
	size_t n_picks = n_cells * n_kernels;
	void *p;

	if (n_cells > work->n_cells) {
		p = realloc(work->cost, n_cells * sizeof(*work->cost));
		if (!p)
			return -ENOMEM;
		work->cost = p;
		p = realloc(work->next, n_cells * sizeof(*work->next));
		if (!p)
			return -ENOMEM;
		work->next = p;
		work->n_cells = n_cells;
	}
	if (n_picks > work->n_picks) {
		p = realloc(work->pick, n_picks);
		if (!p)
			return -ENOMEM;
		work->pick = p;
		work->n_picks = n_picks;
	}
	return 0;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* One dimension: what is left above everybody's least use; -ENOSPC when less than nothing. */
static int shape_dimension(const struct gsb_plan_work *work, uint32_t n, int d, uint32_t capacity,
			   struct table *t)
{
	uint64_t least = 0, largest = 0;
	uint32_t unit = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_candidate *c = &work->candidates[i];
		uint32_t most = 0;

		least += c->least[d];
		for (uint32_t j = 0; j < c->n; j++) {
			uint32_t excess = c->choices[j].use[d] - c->least[d];

			unit = gcd(unit, excess);
			most = excess > most ? excess : most;
		}
		largest += most;
	}
	if (least > capacity)
		return -ENOSPC;
	t->unit[d] = unit ? unit : 1;
	t->binds[d] = largest > capacity - least;
	t->size[d] = t->binds[d] ? (uint32_t)((capacity - least) / t->unit[d]) + 1 : 1;
	return 0;
}

static int shape_table(const struct gsb_plan_work *work, uint32_t n, const struct gsb_sm_unit *unit,
		       bool with_regs, struct table *t)
{
	int err = 0;

	for (int d = 0; !err && d < GSB_PLAN_DIMS; d++)
		err = shape_dimension(work, n, d, unit->capacity[d], t);
	if (err)
		return err;
	if (!with_regs) {
		t->binds[GSB_PLAN_REGS] = false;
		t->size[GSB_PLAN_REGS] = 1;
	}
	t->n_cells =
		(size_t)t->size[GSB_PLAN_BLOCKS] * t->size[GSB_PLAN_WARPS] * t->size[GSB_PLAN_REGS];
	while (t->n_cells > CELLS_MAX && t->size[GSB_PLAN_REGS] > 1) {
		t->unit[GSB_PLAN_REGS] *= 2;
		t->size[GSB_PLAN_REGS] = (t->size[GSB_PLAN_REGS] + 1) / 2;
		t->n_cells = (size_t)t->size[GSB_PLAN_BLOCKS] * t->size[GSB_PLAN_WARPS] *
			     t->size[GSB_PLAN_REGS];
	}
	return 0;
}

/* How far a choice moves in the table; a coarse unit rounds up, so that it never promises too much. */
static void offset_of(const struct table *t, const struct gsb_candidate *c, uint32_t choice,
		      uint32_t *offset)
{
	for (int d = 0; d < GSB_PLAN_DIMS; d++) {
		uint32_t excess = c->choices[choice].use[d] - c->least[d];

		offset[d] = t->binds[d] ? (uint32_t)gsb_div_up(excess, t->unit[d]) : 0;
	}
}

/* next[x] = min(next[x], cost[x - offset] + smem) over the cells that the choice can reach. */
static void relax(const struct gsb_plan_work *work, const struct table *t, const uint32_t *offset,
		  uint32_t smem, uint8_t choice, uint8_t *pick)
{
	size_t row = t->size[GSB_PLAN_REGS], plane = row * t->size[GSB_PLAN_WARPS];
	size_t back = offset[GSB_PLAN_BLOCKS] * plane + offset[GSB_PLAN_WARPS] * row +
		      offset[GSB_PLAN_REGS];

	for (size_t b = offset[GSB_PLAN_BLOCKS]; b < t->size[GSB_PLAN_BLOCKS]; b++) {
		for (size_t w = offset[GSB_PLAN_WARPS]; w < t->size[GSB_PLAN_WARPS]; w++) {
			for (size_t r = offset[GSB_PLAN_REGS]; r < t->size[GSB_PLAN_REGS]; r++) {
				size_t at = b * plane + w * row + r;
				uint32_t sum = work->cost[at - back] + smem;
				bool less = sum < work->next[at];

				work->next[at] = less ? sum : work->next[at];
				pick[at] = less ? choice : pick[at];
			}
		}
	}
}

/* Forward over the kernels, then back from the last cell along the picks. */
static int run_table(struct gsb_plan_work *work, const struct table *t, uint32_t n)
{
	size_t at = t->n_cells - 1, row = t->size[GSB_PLAN_REGS],
	       plane = row * t->size[GSB_PLAN_WARPS];
	uint32_t offset[GSB_PLAN_DIMS];

	if (grow(work, t->n_cells, n))
		return -ENOMEM;
	memset(work->cost, 0, t->n_cells * sizeof(*work->cost));
	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_candidate *c = &work->candidates[i];
		uint32_t *swap = work->next;

		for (size_t x = 0; x < t->n_cells; x++)
			work->next[x] = COST_NONE;
		for (uint32_t j = 0; j < c->n; j++) {
			offset_of(t, c, j, offset);
			relax(work, t, offset, c->choices[j].smem, (uint8_t)j,
			      work->pick + i * t->n_cells);
		}
		work->next = work->cost;
		work->cost = swap;
	}
	if (work->cost[at] >= COST_NONE)
		return -ENOSPC;
	for (uint32_t i = n; i-- > 0;) {
		struct gsb_candidate *c = &work->candidates[i];

		c->picked = work->pick[i * t->n_cells + at];
		offset_of(t, c, c->picked, offset);
		at -= offset[GSB_PLAN_BLOCKS] * plane + offset[GSB_PLAN_WARPS] * row +
		      offset[GSB_PLAN_REGS];
	}
	return 0;
}

static uint64_t picked_use(const struct gsb_plan_work *work, uint32_t n, int d)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_candidate *c = &work->candidates[i];

		sum += d < GSB_PLAN_DIMS ? c->choices[c->picked].use[d]
					 : c->choices[c->picked].smem;
	}
	return sum;
}

static bool no_rounding(const struct gsb_plan_work *work, uint32_t n, uint32_t unit)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_candidate *c = &work->candidates[i];

		for (uint32_t j = 0; j < c->n; j++)
			if ((c->choices[j].use[GSB_PLAN_REGS] - c->least[GSB_PLAN_REGS]) % unit)
				return false;
	}
	return true;
}

/* Choices for n candidates: without registers first, with them when that plan would not fit. */
static int choose(struct gsb_plan_work *work, uint32_t n, const struct gsb_sm_unit *unit,
		  struct gsb_plan *out)
{
	struct table t;
	int err = shape_table(work, n, unit, false, &t);

	if (!err && t.n_cells > CELLS_MAX)
		return -ENOSPC;
	if (!err)
		err = run_table(work, &t, n);
	if (err)
		return err;
	out->exact = true;
	out->regs_mattered = picked_use(work, n, GSB_PLAN_REGS) > unit->capacity[GSB_PLAN_REGS];
	if (out->regs_mattered) {
		err = shape_table(work, n, unit, true, &t);
		if (!err)
			err = run_table(work, &t, n);
		if (err)
			return err;
		out->exact = no_rounding(work, n, t.unit[GSB_PLAN_REGS]);
	}
	return picked_use(work, n, GSB_PLAN_DIMS) > unit->smem ? -ENOSPC : 0;
}

/* All blocks of all kernels, submitted in that order, onto the model of the GPU. */
static bool places(const struct gsb_plan_input *in, const struct gsb_plan *plan,
		   const uint8_t *order)
{
	struct gsb_sm_array array;

	gsb_sm_array_init(&array, in->arch, in->rules, in->arch->n_sms);
	for (uint32_t i = 0; i < plan->n_kernels; i++) {
		const struct gsb_plan_choice *choice = &plan->choices[order[i]];
		struct gsb_kernel k = in->kernels[order[i]].range.kernel;
		struct gsb_block_need need;

		k.threads_per_block = choice->threads_per_block;
		k.smem_bytes = choice->smem_bytes;
		if (gsb_block_need_on_checked(in->arch, &k, in->rules, &need) ||
		    gsb_sm_array_place(&array, &need, in->rules->placement, choice->n_blocks) <
			    choice->n_blocks)
			return false;
	}
	return true;
}

/* As given; else largest blocks first, which leaves the small ones to fill the gaps. */
static int find_order(const struct gsb_plan_input *in, struct gsb_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_kernels; i++)
		plan->order[i] = (uint8_t)i;
	if (places(in, plan, plan->order))
		return 0;
	for (uint32_t i = 1; i < plan->n_kernels; i++) {
		uint8_t k = plan->order[i];
		uint32_t at = i;

		while (at && plan->choices[plan->order[at - 1]].threads_per_block <
				     plan->choices[k].threads_per_block) {
			plan->order[at] = plan->order[at - 1];
			at--;
		}
		plan->order[at] = k;
	}
	return places(in, plan, plan->order) ? 0 : -ENOSPC;
}

static int plan_unit(struct gsb_plan_work *work, const struct gsb_plan_input *in, uint32_t n_sms,
		     bool original, struct gsb_plan *out)
{
	struct gsb_sm_unit unit = gsb_sm_unit_of(in->arch, n_sms);
	int err = 0;

	for (uint32_t i = 0; i < in->n_kernels && !err; i++)
		err = gsb_choices_list(in, &unit, &in->kernels[i], original, &work->candidates[i]);
	if (!err)
		err = choose(work, in->n_kernels, &unit, out);
	if (err)
		return err;
	out->n_kernels = in->n_kernels;
	out->sms_per_group = n_sms;
	out->blocks = (uint32_t)picked_use(work, in->n_kernels, GSB_PLAN_BLOCKS);
	out->warps = (uint32_t)picked_use(work, in->n_kernels, GSB_PLAN_WARPS);
	out->regs = (uint32_t)picked_use(work, in->n_kernels, GSB_PLAN_REGS);
	out->smem_bytes = (uint32_t)picked_use(work, in->n_kernels, GSB_PLAN_DIMS);
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_candidate *c = &work->candidates[i];

		out->choices[i] = c->choices[c->picked].geometry;
	}
	return find_order(in, out);
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

/* One SM at a time if that will do, else as many as it takes. */
static int plan_units(struct gsb_plan_work *work, const struct gsb_plan_input *in, bool original,
		      struct gsb_plan *out)
{
	int err = -ENOSPC;

	for (uint32_t n = 1; err == -ENOSPC && n <= GSB_PLAN_GROUP_MAX && n <= in->arch->n_sms;
	     n *= 2)
		err = plan_unit(work, in, n, original, out);
	return err;
}

int gsb_plan_together(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		      struct gsb_plan *out)
{
	struct gsb_plan plan;
	int err = check_input(in);

	if (err)
		return err;
	if (in->n_kernels > in->arch->max_resident_grids)
		return -ENOSPC;
	err = -ENOSPC;
	if (in->keep)
		err = plan_units(work, in, true, &plan);
	if (err == -ENOSPC)
		err = plan_units(work, in, false, &plan);
	if (!err)
		*out = plan;
	return err;
}
