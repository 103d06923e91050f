/*
 * occupancy.c - see occupancy.h.
 *
 * Eq. 6 rounds the warps that the register file holds down to the warp allocation unit. That is the
 * same number as giving each of warp_unit partitions its own part of the file, which is how the
 * hardware is built and what place.c needs for mixtures; so "partitions" is how it is said here.
 */
#include "model/placement/occupancy.h"

#include <errno.h>
#include <stddef.h>
#include <strings.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "model/gpu/arch.h"

const struct gsb_rules gsb_rules_hardware = {
	.name = "hardware",
	.rounding = GSB_ROUND_UP,
	.placement = GSB_BREADTH_FIRST,
	.smem_units = true,
	.partitions = true,
};

const struct gsb_rules gsb_rules_paper = {
	.name = "paper",
	.rounding = GSB_ROUND_UP,
	.placement = GSB_DEPTH_FIRST,
	.partitions = true,
};

const struct gsb_rules gsb_rules_printed = {
	.name = "printed",
	.rounding = GSB_ROUND_DOWN,
	.placement = GSB_DEPTH_FIRST,
	.partitions = true,
	.literal = true,
};

const struct gsb_rules *gsb_rules_find(const char *name)
{
	static const struct gsb_rules *const all[] = {&gsb_rules_hardware, &gsb_rules_paper,
						      &gsb_rules_printed};

	for (size_t i = 0; name && i < GSB_ARRAY_LEN(all); i++)
		if (!strcasecmp(name, all[i]->name))
			return all[i];
	return NULL;
}

/* Eq. 4; a block of less than a warp still takes one. */
static uint32_t warps_of(uint32_t n_threads, const struct gsb_rules *rules)
{
	uint32_t up = (n_threads + GSB_WARP_SIZE - 1) / GSB_WARP_SIZE;
	uint32_t down = n_threads / GSB_WARP_SIZE;

	return rules->rounding == GSB_ROUND_UP || !down ? up : down;
}

/* Eq. 7, and the limits of a thread and of a block. */
static uint32_t regs_per_warp(const struct gsb_arch *arch, const struct gsb_kernel *k,
			      const struct gsb_rules *rules, uint32_t n_warps)
{
	uint64_t regs, block_warps;

	if (k->regs_per_thread > arch->max_regs_per_thread)
		return GSB_NEVER_FITS;
	regs = (uint64_t)k->regs_per_thread * GSB_WARP_SIZE;
	if (rules->rounding == GSB_ROUND_UP)
		regs = gsb_round_up(regs, arch->reg_unit);
	else
		regs -= regs % arch->reg_unit;
	block_warps = gsb_round_up(n_warps, arch->warp_unit);
	return regs * block_warps > arch->max_regs_per_block ? GSB_NEVER_FITS : (uint32_t)regs;
}

static uint32_t smem_of(const struct gsb_arch *arch, const struct gsb_kernel *k,
			const struct gsb_rules *rules)
{
	if (!rules->smem_units)
		return k->smem_bytes <= arch->smem_bytes ? k->smem_bytes : GSB_NEVER_FITS;
	if (k->smem_bytes > arch->smem_per_block_optin_bytes)
		return GSB_NEVER_FITS;
	return (uint32_t)gsb_round_up(k->smem_bytes + arch->smem_reserved_bytes,
				      arch->smem_unit_bytes);
}

int gsb_block_need(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
		   const struct gsb_rules *rules, struct gsb_block_need *out)
{
	if (gsb_arch_check(arch))
		return -EINVAL;
	return gsb_block_need_on_checked(arch, kernel, rules, out);
}

int gsb_block_need_on_checked(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
			      const struct gsb_rules *rules, struct gsb_block_need *out)
{
	struct gsb_block_need need;

	if (!kernel->threads_per_block || kernel->threads_per_block > arch->max_threads_per_block)
		return -EINVAL;
	need.warps = warps_of(kernel->threads_per_block, rules);
	need.regs_per_warp = regs_per_warp(arch, kernel, rules, need.warps);
	need.smem_bytes = smem_of(arch, kernel, rules);
	*out = need;
	return 0;
}

/* Eq. 5 and 6. */
static uint32_t blocks_by_regs(const struct gsb_arch *arch, const struct gsb_block_need *need,
			       const struct gsb_rules *rules)
{
	uint32_t n = rules->partitions ? arch->warp_unit : 1;

	if (!need->regs_per_warp)
		return GSB_NO_LIMIT;
	return arch->regs / n / need->regs_per_warp * n / need->warps;
}

static uint32_t blocks_by_smem(const struct gsb_arch *arch, const struct gsb_block_need *need)
{
	return need->smem_bytes ? arch->smem_bytes / need->smem_bytes : GSB_NO_LIMIT;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int gsb_occupancy(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
		  const struct gsb_rules *rules, struct gsb_occupancy *out)
{
	struct gsb_occupancy o = {.limits = 0};
	int err = gsb_block_need(arch, kernel, rules, &o.need);

	if (err)
		return err;
	o.by_warps = arch->max_warps / o.need.warps;
	o.by_blocks = arch->max_blocks;
	o.by_regs = blocks_by_regs(arch, &o.need, rules);
	o.by_smem = blocks_by_smem(arch, &o.need);
	o.blocks_per_sm = min_u32(min_u32(o.by_warps, o.by_blocks), min_u32(o.by_regs, o.by_smem));
	o.limits |= o.blocks_per_sm == o.by_warps ? GSB_LIMIT_WARPS : 0;
	o.limits |= o.blocks_per_sm == o.by_blocks ? GSB_LIMIT_BLOCKS : 0;
	o.limits |= o.blocks_per_sm == o.by_regs ? GSB_LIMIT_REGS : 0;
	o.limits |= o.blocks_per_sm == o.by_smem ? GSB_LIMIT_SMEM : 0;
	o.threads_per_sm = o.blocks_per_sm * kernel->threads_per_block;
	o.warps_per_sm = o.blocks_per_sm * o.need.warps;
	*out = o;
	return 0;
}

int gsb_rounds(const struct gsb_arch *arch, const struct gsb_kernel *kernel,
	       const struct gsb_rules *rules, uint64_t *out)
{
	struct gsb_occupancy o;
	int err = gsb_occupancy(arch, kernel, rules, &o);

	if (err)
		return err;
	if (!o.blocks_per_sm)
		return -ENOSPC;
	*out = gsb_div_up(kernel->n_blocks, (uint64_t)o.blocks_per_sm * arch->n_sms);
	return 0;
}

/* The kernel re-cut into blocks of n_threads; false when T x B would change. */
static bool recut(const struct gsb_geometry_range *range, uint32_t n_threads,
		  struct gsb_kernel *out)
{
	const struct gsb_kernel *k = &range->kernel;
	uint64_t total, smem;

	if (gsb_mul_overflows(k->n_blocks, (uint64_t)k->threads_per_block, &total) || !n_threads)
		return false;
	if (n_threads != k->threads_per_block && (n_threads % GSB_WARP_SIZE || total % n_threads))
		return false;
	if (gsb_mul_overflows((uint64_t)range->smem_per_thread_bytes, (uint64_t)n_threads, &smem) ||
	    gsb_add_overflows(smem, (uint64_t)k->smem_bytes, &smem) || smem > UINT32_MAX)
		return false;
	*out = *k;
	out->threads_per_block = n_threads;
	out->n_blocks = total / n_threads;
	out->smem_bytes = (uint32_t)smem;
	return true;
}

int gsb_geometry_at(const struct gsb_arch *arch, const struct gsb_geometry_range *range,
		    uint32_t n_threads, const struct gsb_rules *rules, struct gsb_geometry *out)
{
	struct gsb_geometry g;
	int err;

	if (!recut(range, n_threads, &g.kernel))
		return -EINVAL;
	err = gsb_occupancy(arch, &g.kernel, rules, &g.occupancy);
	if (!err)
		err = gsb_rounds(arch, &g.kernel, rules, &g.rounds);
	if (!err)
		*out = g;
	return err;
}

/* Eq. 11 and 12, where a resource that is not used counts as the block limit (eq. 3). */
static bool warps_are_loose(const struct gsb_occupancy *o)
{
	uint32_t by_warps = min_u32(o->by_warps, o->by_blocks);

	return by_warps >= min_u32(o->by_smem, o->by_blocks) &&
	       by_warps >= min_u32(o->by_regs, o->by_blocks);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static bool better(const struct gsb_geometry *a, const struct gsb_geometry *b, uint32_t original)
{
	if (a->rounds != b->rounds)
		return a->rounds < b->rounds;
	if (a->occupancy.warps_per_sm != b->occupancy.warps_per_sm)
		return a->occupancy.warps_per_sm > b->occupancy.warps_per_sm;
	return distance(a->kernel.threads_per_block, original) <
	       distance(b->kernel.threads_per_block, original);
}

int gsb_best_geometry(const struct gsb_arch *arch, const struct gsb_geometry_range *range,
		      const struct gsb_rules *rules, struct gsb_geometry *out)
{
	uint32_t original = range->kernel.threads_per_block;
	uint32_t min = range->min_threads, max = range->max_threads;
	struct gsb_geometry best, g;
	bool found = false, tried = false;

	if (gsb_arch_check(arch) || !range->kernel.n_blocks || !original)
		return -EINVAL;
	if (!max || max > arch->max_threads_per_block)
		max = arch->max_threads_per_block;
	for (uint32_t t = 1; t <= max; t++) {
		int err = t < min ? -EINVAL : gsb_geometry_at(arch, range, t, rules, &g);

		tried |= err != -EINVAL;
		if (err || (rules->literal && !warps_are_loose(&g.occupancy)))
			continue;
		if (!found || better(&g, &best, original))
			best = g;
		found = true;
	}
	if (!found)
		return tried ? -ENOSPC : -EINVAL;
	*out = best;
	return 0;
}
