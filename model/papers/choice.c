/*
 * choice.c - see choice.h.
 */
#include "model/papers/choice.h"

#include <errno.h>

/* Divisions of 32-bit numbers are several times quicker, and this asks for a lot of them. */
static bool is_multiple(uint64_t total, uint32_t n)
{
	return total <= UINT32_MAX ? (uint32_t)total % n == 0 : total % n == 0;
}

static uint64_t quotient(uint64_t a, uint32_t b)
{
	return a <= UINT32_MAX ? (uint32_t)a / b : a / b;
}

/* Blocks of n_threads, if an SM holds one. -EINVAL: bad kernel. */
static int add_cut(const struct gsb_plan_input *in, const struct gsb_geometry_range *range,
		   uint32_t n_threads, struct gsb_cuts *cuts)
{
	struct gsb_kernel k = range->kernel;
	uint64_t total = k.n_blocks * k.threads_per_block; /* checked by check_input() */
	uint64_t smem = k.smem_bytes + (uint64_t)range->smem_per_thread_bytes * n_threads;
	struct gsb_block_need need;

	if (smem > UINT32_MAX)
		return 0;
	k.threads_per_block = n_threads;
	k.smem_bytes = (uint32_t)smem;
	if (gsb_block_need_on_checked(in->arch, &k, in->rules, &need))
		return -EINVAL;
	if (need.regs_per_warp == GSB_NEVER_FITS || need.smem_bytes == GSB_NEVER_FITS)
		return 0;
	cuts->geometries[cuts->n] =
		(struct gsb_plan_choice){.threads_per_block = n_threads,
					 .n_blocks = quotient(total + n_threads - 1, n_threads),
					 .smem_bytes = (uint32_t)smem};
	cuts->needs[cuts->n++] = need;
	return 0;
}

static bool threads_allowed(const struct gsb_plan_input *in, const struct gsb_geometry_range *range,
			    uint32_t n_threads)
{
	const struct gsb_kernel *k = &range->kernel;

	if (n_threads == k->threads_per_block || n_threads < range->min_threads ||
	    (range->max_threads && n_threads > range->max_threads))
		return false;
	return in->threads == GSB_PLAN_COVER ||
	       is_multiple(k->n_blocks * k->threads_per_block, n_threads);
}

int gsb_cuts_list(const struct gsb_plan_input *in, const struct gsb_plan_kernel *kernel,
		  struct gsb_cuts *out)
{
	const struct gsb_geometry_range *range = &kernel->range;
	uint32_t most = in->arch->max_threads_per_block;
	int err;

	most = most < 32 * GSB_WARP_SIZE ? most : 32 * GSB_WARP_SIZE;
	out->n = 0;
	err = add_cut(in, range, range->kernel.threads_per_block, out);
	out->original = out->n > 0;
	for (uint32_t t = GSB_WARP_SIZE; !err && !kernel->fixed && t <= most; t += GSB_WARP_SIZE)
		if (threads_allowed(in, range, t))
			err = add_cut(in, range, t, out);
	return err ? err : out->n ? 0 : -ENOSPC;
}

struct gsb_sm_unit gsb_sm_unit_of(const struct gsb_arch *arch, uint32_t n_sms)
{
	const uint64_t n = n_sms;

	return (struct gsb_sm_unit){
		.n_units = arch->n_sms / n_sms,
		.capacity = {arch->max_blocks * n, arch->max_warps * n, arch->regs * n,
			     arch->smem_bytes * n},
	};
}

void gsb_unit_use(const struct gsb_sm_unit *unit, const struct gsb_plan_choice *geometry,
		  const struct gsb_block_need *need, uint64_t use[GSB_PLAN_DIMS])
{
	const uint64_t blocks = quotient(geometry->n_blocks + unit->n_units - 1, unit->n_units);

	use[GSB_PLAN_BLOCKS] = blocks;
	use[GSB_PLAN_WARPS] = blocks * need->warps;
	use[GSB_PLAN_REGS] = blocks * need->warps * need->regs_per_warp;
	use[GSB_PLAN_SMEM] = blocks * need->smem_bytes;
}

static bool beats(const struct gsb_multichoice_option *a, const struct gsb_multichoice_option *b)
{
	for (int d = 0; d < GSB_MULTICHOICE_DIMS; d++)
		if (a->use[d] > b->use[d])
			return false;
	return a->cost <= b->cost;
}

static void append(struct gsb_choices *c, uint8_t cut, const struct gsb_multichoice_option *option)
{
	c->cuts[c->n] = cut;
	c->options[c->n++] = *option;
}

/* Keep the cut unless a choice is as good in everything; drop those that it beats. */
static void append_if_best(struct gsb_choices *c, uint8_t cut,
			   const struct gsb_multichoice_option *option)
{
	uint32_t n = c->n;

	for (uint32_t i = 0; i < n; i++)
		if (beats(&c->options[i], option))
			return;
	c->n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!beats(option, &c->options[i]))
			append(c, c->cuts[i], &c->options[i]);
	append(c, cut, option);
}

/* As an option of stage 1; false when the unit has not so much. */
static bool make_option(const struct gsb_sm_unit *unit, const struct gsb_plan_choice *geometry,
			const struct gsb_block_need *need, struct gsb_multichoice_option *out)
{
	uint64_t use[GSB_PLAN_DIMS];

	if (geometry->n_blocks > unit->capacity[GSB_PLAN_BLOCKS] * unit->n_units)
		return false; /* and the products stay small */
	gsb_unit_use(unit, geometry, need, use);
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		if (use[d] > unit->capacity[d] || use[d] > UINT32_MAX)
			return false;
	for (int d = 0; d < GSB_MULTICHOICE_DIMS; d++)
		out->use[d] = (uint32_t)use[d];
	out->cost = (uint32_t)use[GSB_PLAN_SMEM];
	return true;
}

int gsb_choices_list(const struct gsb_sm_unit *unit, const struct gsb_cuts *cuts,
		     struct gsb_choices *out)
{
	struct gsb_multichoice_option option;

	_Static_assert(GSB_MULTICHOICE_DIMS == (int)GSB_PLAN_SMEM,
		       "all but shared memory, the cost");
	out->n = 0;
	for (uint32_t i = 0; i < cuts->n; i++)
		if (make_option(unit, &cuts->geometries[i], &cuts->needs[i], &option))
			append_if_best(out, (uint8_t)i, &option);
	return out->n ? 0 : -ENOSPC;
}
