/*
 * admit.c - which shapes a launch admits. What is proven of the kernel was found when its module was loaded; here
 * stands what depends on the launch: its geometry, and what the device has room for.
 */
#include <string.h>

#include "broker/engine/code/code.h"
#include "broker/engine/code/scratch.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"
#include "model/placement/occupancy.h"
#include "ptx/resize/variant.h"

static uint64_t product(const uint32_t dims[3])
{
	return (uint64_t)dims[0] * dims[1] * dims[2];
}

static uint64_t blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_form *form,
			      const uint32_t block[3], uint32_t smem_bytes)
{
	struct gsb_kernel k = {.threads_per_block = (uint32_t)product(block),
			       .regs_per_thread = form->regs,
			       .smem_bytes = form->static_smem_bytes + smem_bytes};
	struct gsb_occupancy o;

	return gsb_occupancy(arch, &k, &gsb_rules_hardware, &o) ? 0 : o.blocks_per_sm;
}

uint64_t gsb_code_places(const struct gsb_arch *arch, const struct gsb_kernel_form *form,
			 const struct gsb_cmd_launch *l)
{
	uint64_t n = blocks_per_sm(arch, form, l->block, l->smem_bytes);

	return (n ? n : 1) * arch->n_sms;
}

/* ---- geometry ---- */

static bool same_threads(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l,
			 uint32_t n_threads, struct gsb_resize_geometry *to)
{
	struct gsb_resize_geometry from;
	uint64_t on_x = (uint64_t)l->grid[0] * l->block[0];

	if (on_x % n_threads || on_x / n_threads > INT32_MAX)
		return false;
	memcpy(from.grid, l->grid, sizeof(from.grid));
	memcpy(from.block, l->block, sizeof(from.block));
	*to = from;
	to->grid[0] = (uint32_t)(on_x / n_threads);
	to->block[0] = n_threads;
	return !gsb_resize_reshape_refused(&fn->proof->launch, &from, to,
					   fn->forms[GSB_SHAPE_RESHAPE].max_threads);
}

static bool may_loop(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l)
{
	struct gsb_resize_geometry g;

	memcpy(g.grid, l->grid, sizeof(g.grid));
	memcpy(g.block, l->block, sizeof(g.block));
	return gsb_variant_total(g.grid) && !gsb_resize_persistent_refused(&fn->proof->launch, &g);
}

/* Does the form bear the geometry, and is there memory of ours for what it counts? @to: that of its launches. */
static bool bears(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l,
		  const struct gsb_shape *shape, struct gsb_resize_geometry *to)
{
	const bool scratch = fn->module->ctx->scratch;

	memcpy(to->block, l->block, sizeof(to->block));
	switch (shape->form) {
	case GSB_SHAPE_RESHAPE: return same_threads(fn, l, shape->n_threads, to);
	case GSB_SHAPE_PERSISTENT: return scratch && may_loop(fn, l);
	case GSB_SHAPE_COUNT: return scratch && fn->proof->n_count_words <= GSB_SCRATCH_MAX_WORDS;
	default: return true;
	}
}

/* ---- room ---- */

/*
 * Would too few threads be on an SM at a time? Where the model has none for the original, that is not judged, nor for a
 * launch that counts: it is one of many, and has only to fit.
 */
static bool loses_too_much(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			   const struct gsb_cmd_launch *l, const struct gsb_kernel_form *form,
			   const uint32_t block[3], uint64_t max_loss_percent)
{
	uint64_t was = blocks_per_sm(arch, &fn->forms[GSB_SHAPE_AS_ASKED], l->block, l->smem_bytes);
	uint64_t is = blocks_per_sm(arch, form, block, l->smem_bytes);

	if (!is)
		return true;
	return is * product(block) * 100 < was * product(l->block) * (100 - max_loss_percent);
}

bool gsb_code_admits(const struct gsb_tenant *t, const struct gsb_kernel_fn *fn,
		     const struct gsb_cmd_launch *l, const struct gsb_shape *shape)
{
	const struct gsb_arch *arch = &t->dev->ops->info(t->dev)->arch;
	struct gsb_resize_geometry to;

	if (shape->form == GSB_SHAPE_AS_ASKED)
		return true;
	if (l->cooperative || l->cluster[0] || !(fn->shapes & GSB_SHAPE_BIT(shape->form)) ||
	    fn->proof->refuted & GSB_SHAPE_BIT(shape->form) || !bears(fn, l, shape, &to))
		return false;
	return !loses_too_much(arch, fn, l, &fn->forms[shape->form], to.block,
			       shape->form == GSB_SHAPE_COUNT ? 100
							      : t->resizing->max_loss_percent);
}
