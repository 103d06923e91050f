/*
 * facts.c - see facts.h.
 */
#include "broker/engine/code/facts.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"

static bool is_of(const struct gsb_launch_facts *f, const struct gsb_cmd_launch *l)
{
	return !memcmp(f->grid, l->grid, sizeof(f->grid)) &&
	       !memcmp(f->block, l->block, sizeof(f->block)) && f->smem_bytes == l->smem_bytes;
}

uint64_t gsb_facts_hash(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l)
{
	uint64_t h = fn->hash;

	for (int i = 0; i < 3; i++)
		h = gsb_hash_number(h, (uint64_t)l->grid[i] << 32 | l->block[i]);
	return gsb_hash_number(h, l->smem_bytes) | 1;
}

void gsb_facts_cut(struct gsb_cmd_launch *l, uint32_t n_threads)
{
	l->grid[0] = (uint32_t)((uint64_t)l->grid[0] * l->block[0] / n_threads);
	l->block[0] = n_threads;
}

static GSB_NOINLINE struct gsb_launch_facts *
find_out(struct gsb_kernel_fn *fn, const struct gsb_arch *arch, const struct gsb_cmd_launch *l)
{
	struct gsb_launch_facts *f;

	for (unsigned i = 0; i < GSB_N_FACTS; i++)
		if (is_of(&fn->facts[i], l)) {
			fn->facts_at = i;
			return &fn->facts[i];
		}
	fn->facts_at = (fn->facts_at + 1) % GSB_N_FACTS;
	f = &fn->facts[fn->facts_at];
	*f = (struct gsb_launch_facts){
		.smem_bytes = l->smem_bytes,
		.blocks_per_sm = gsb_code_blocks_per_sm(arch, fn, l),
		.needs = gsb_code_needs(fn, l),
		.hash = gsb_facts_hash(fn, l),
	};
	memcpy(f->grid, l->grid, sizeof(f->grid));
	memcpy(f->block, l->block, sizeof(f->block));
	return f;
}

struct gsb_launch_facts *gsb_facts_of(struct gsb_kernel_fn *fn, const struct gsb_arch *arch,
				      const struct gsb_cmd_launch *l)
{
	struct gsb_launch_facts *f = &fn->facts[fn->facts_at];

	return gsb_likely(is_of(f, l)) ? f : find_out(fn, arch, l);
}

/* What else it depends on: forms come and go, and some want memory of ours. */
static uint32_t forms_of(const struct gsb_kernel_fn *fn)
{
	static_assert(GSB_N_SHAPES < 31, "a bit is left");
	return (fn->shapes & ~fn->proof->refuted) | (fn->module->ctx->scratch ? 1u << 31 : 0);
}

uint32_t gsb_facts_admitted(const struct gsb_tenant *t, struct gsb_kernel_fn *fn,
			    const struct gsb_cmd_launch *l, const struct gsb_shape *shapes,
			    unsigned n)
{
	struct gsb_launch_facts *f;

	if (!fn->shapes || l->cooperative || l->cluster[0])
		return 0;
	f = gsb_facts_of(fn, &t->dev->ops->info(t->dev)->arch, l);
	if (f->forms == forms_of(fn))
		return f->admitted;
	f->forms = forms_of(fn);
	f->admitted = 0;
	for (unsigned i = 0; i < n; i++)
		if (gsb_code_admits(t, fn, l, &shapes[i]))
			f->admitted |= 1u << i;
	return f->admitted;
}
