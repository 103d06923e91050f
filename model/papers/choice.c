/*
 * choice.c - see choice.h.
 */
#include "model/papers/choice.h"

#include <errno.h>

#include "base/checked.h"

struct gsb_sm_unit gsb_sm_unit_of(const struct gsb_arch *arch, uint32_t n_sms)
{
	return (struct gsb_sm_unit){
		.n_units = arch->n_sms / n_sms,
		.capacity = {arch->max_blocks * n_sms, arch->max_warps * n_sms, arch->regs * n_sms},
		.smem = arch->smem_bytes * n_sms,
	};
}

static bool beats(const struct gsb_choice *a, const struct gsb_choice *b)
{
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		if (a->use[d] > b->use[d])
			return false;
	return a->smem <= b->smem;
}

/* Keep the choice unless another one is as good in everything; drop those that it beats. */
static void keep_choice(struct gsb_candidate *c, const struct gsb_choice *choice)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (beats(&c->choices[i], choice))
			return;
	for (uint32_t i = 0; i < c->n; i++)
		if (!beats(choice, &c->choices[i]))
			c->choices[kept++] = c->choices[i];
	c->choices[kept] = *choice;
	c->n = kept + 1;
}

/* Blocks of n_threads: kept when they fit the group in one round. -EINVAL: bad kernel. */
static int try_threads(const struct gsb_plan_input *in, const struct gsb_sm_unit *unit,
		       const struct gsb_geometry_range *range, uint32_t n_threads,
		       struct gsb_candidate *c)
{
	const struct gsb_kernel *k = &range->kernel;
	uint64_t total = k->n_blocks * k->threads_per_block; /* checked by check_input() */
	uint64_t n_blocks = gsb_div_up(total, n_threads), per_group;
	uint64_t smem = k->smem_bytes + (uint64_t)range->smem_per_thread_bytes * n_threads;
	struct gsb_kernel cut = *k;
	struct gsb_block_need need;
	struct gsb_choice choice;

	per_group = gsb_div_up(n_blocks, unit->n_units);
	if (per_group > unit->capacity[GSB_PLAN_BLOCKS] || smem > UINT32_MAX)
		return 0;
	cut.threads_per_block = n_threads;
	cut.smem_bytes = (uint32_t)smem;
	if (gsb_block_need_on_checked(in->arch, &cut, in->rules, &need))
		return -EINVAL;
	if (need.regs_per_warp == GSB_NEVER_FITS || need.smem_bytes == GSB_NEVER_FITS ||
	    per_group * need.warps > unit->capacity[GSB_PLAN_WARPS] ||
	    per_group * need.warps * need.regs_per_warp > unit->capacity[GSB_PLAN_REGS] ||
	    per_group * need.smem_bytes > unit->smem)
		return 0;
	choice.geometry =
		(struct gsb_plan_choice){n_threads, n_blocks, (uint32_t)per_group, (uint32_t)smem};
	choice.use[GSB_PLAN_BLOCKS] = (uint32_t)per_group;
	choice.use[GSB_PLAN_WARPS] = (uint32_t)per_group * need.warps;
	choice.use[GSB_PLAN_REGS] = choice.use[GSB_PLAN_WARPS] * need.regs_per_warp;
	choice.smem = (uint32_t)per_group * need.smem_bytes;
	keep_choice(c, &choice);
	return 0;
}

static bool threads_allowed(const struct gsb_plan_input *in, const struct gsb_geometry_range *range,
			    uint32_t n_threads)
{
	const struct gsb_kernel *k = &range->kernel;

	if (n_threads < range->min_threads ||
	    (range->max_threads && n_threads > range->max_threads))
		return false;
	return in->threads == GSB_PLAN_COVER || k->n_blocks * k->threads_per_block % n_threads == 0;
}

/* The original geometry first: of equal choices the first one stays. */
int gsb_choices_list(const struct gsb_plan_input *in, const struct gsb_sm_unit *unit,
		     const struct gsb_plan_kernel *k, bool original, struct gsb_candidate *c)
{
	int err;

	c->n = 0;
	err = try_threads(in, unit, &k->range, k->range.kernel.threads_per_block, c);
	for (uint32_t t = GSB_WARP_SIZE;
	     !err && !original && !k->fixed && t <= in->arch->max_threads_per_block && t <= 1024;
	     t += GSB_WARP_SIZE)
		if (threads_allowed(in, &k->range, t))
			err = try_threads(in, unit, &k->range, t, c);
	for (int d = 0; d < GSB_PLAN_DIMS && c->n; d++) {
		c->least[d] = c->choices[0].use[d];
		for (uint32_t i = 1; i < c->n; i++)
			if (c->choices[i].use[d] < c->least[d])
				c->least[d] = c->choices[i].use[d];
	}
	return err ? err : c->n ? 0 : -ENOSPC;
}

const struct gsb_choice *gsb_choice_smallest(const struct gsb_candidate *c)
{
	const struct gsb_choice *best = &c->choices[0];

	for (uint32_t i = 1; i < c->n; i++) {
		const struct gsb_choice *other = &c->choices[i];

		if (other->use[GSB_PLAN_WARPS] < best->use[GSB_PLAN_WARPS] ||
		    (other->use[GSB_PLAN_WARPS] == best->use[GSB_PLAN_WARPS] &&
		     other->smem < best->smem))
			best = other;
	}
	return best;
}
