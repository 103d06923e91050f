/*
 * rewrite_kept.c - see rewrite_kept.h.
 *
 * How deep a site lies is told from the order of the text: a way back has around it what stands between its ends. That
 * errs where compilers place blocks oddly, and then costs time alone: each site counts the same wherever it counts.
 */
#include "ptx/resize/rewrite_kept.h"

#include <errno.h>

#include "ptx/cfg.h"

uint32_t gsb_kept_register(const struct gsb_kept *kept, uint32_t word)
{
	for (uint32_t i = 0; i < kept->n; i++)
		if (kept->word[i] == word)
			return i;
	return GSB_PTX_NONE;
}

/* By block: ways back around it. NULL: no memory. */
static uint32_t *depths(const struct gsb_ptx_cfg *cfg, struct gsb_arena *arena)
{
	int64_t *change = gsb_arena_alloc_array(arena, cfg->n_blocks + 1, sizeof(*change));
	uint32_t *depth = gsb_arena_alloc_array(arena, cfg->n_blocks, sizeof(*depth));
	int64_t now = 0;

	if (!change || !depth)
		return NULL;
	for (uint32_t b = 0; b < cfg->n_blocks; b++)
		for (uint32_t i = 0; i < cfg->blocks[b].n_succ; i++)
			if (cfg->blocks[b].succ[i] <= b) {
				change[cfg->blocks[b].succ[i]]++;
				change[b + 1]--;
			}
	for (uint32_t b = 0; b < cfg->n_blocks; b++)
		depth[b] = (uint32_t)(now += change[b]);
	return depth;
}

static bool leaves(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_RET || in->op == GSB_PTX_OP_EXIT;
}

/* A thread may end in a function; in the entry it does at a leave, of which the parser puts one at the end of each text. */
static bool ends_in_function(const struct gsb_ptx_kernel *k)
{
	for (uint32_t i = 1; i < k->n_funcs; i++)
		for (uint32_t j = 0; j < k->funcs[i]->n_insns; j++)
			if (k->funcs[i]->insns[j].op == GSB_PTX_OP_EXIT)
				return true;
	return false;
}

/* The deepest of the entry's sites that have no registers yet and for which there are enough. */
static uint32_t deepest(const struct gsb_rewrite_work *w, const struct gsb_count_sites *sites,
			const struct gsb_ptx_cfg *cfg, const uint32_t *depth,
			const struct gsb_kept *kept)
{
	uint32_t best = GSB_PTX_NONE, most = 0;

	for (uint32_t i = 0; i < sites->n_sites; i++) {
		const struct gsb_count_site *s = &sites->sites[i];
		const struct gsb_count_words words = gsb_count_words(s, i);

		if (s->func != w->kernel.entry || kept->n + words.n > GSB_KEPT_MAX ||
		    depth[cfg->block_of[s->first]] <= most ||
		    gsb_kept_register(kept, words.first) != GSB_PTX_NONE)
			continue;
		most = depth[cfg->block_of[s->first]];
		best = i;
	}
	return best;
}

static void keep(struct gsb_kept *kept, struct gsb_count_words words)
{
	for (uint32_t i = 0; i < words.n; i++)
		kept->word[kept->n++] = words.first + i;
}

int gsb_kept_choose(const struct gsb_rewrite_work *w, const struct gsb_count_sites *sites,
		    struct gsb_kept *out)
{
	struct gsb_ptx_cfg cfg;
	uint32_t *depth, site;
	int err = gsb_ptx_cfg_build(w->kernel.entry, w->arena, &cfg);

	if (err)
		return err;
	depth = depths(&cfg, w->arena);
	if (!depth)
		return -ENOMEM;
	out->n = 0;
	if (ends_in_function(&w->kernel))
		return 0;
	while ((site = deepest(w, sites, &cfg, depth, out)) != GSB_PTX_NONE)
		keep(out, gsb_count_words(&sites->sites[site], site));
	return 0;
}

void gsb_kept_declare(struct gsb_edit_func *f, const struct gsb_kept *kept)
{
	if (!kept->n)
		return;
	gsb_edit_text(f, ".reg .b64 ~kept<%u>", kept->n);
	for (uint32_t i = 0; i < kept->n; i++)
		gsb_edit_text(f, "mov.u64 ~kept%u, 0", i);
}

/* ~g: this lane is counted and leaves. */
static void put_leaving(struct gsb_edit_func *f, uint32_t i)
{
	const struct gsb_ptx_insn *in = &f->from->insns[i];

	if (in->guard == GSB_PTX_NONE)
		gsb_edit_text(f, "mov.pred ~g, ~on");
	else
		gsb_edit_text(f,
			      "%s.pred ~g, %s;\n\t"
			      "and.pred ~g, ~g, ~on",
			      in->guard_negated ? "not" : "mov", gsb_edit_reg_name(f, in->guard));
}

void gsb_kept_flush(struct gsb_edit_func *f, const struct gsb_kept *kept, uint32_t i)
{
	if (!kept->n || !leaves(&f->from->insns[i]))
		return;
	gsb_edit_text(f, "@!~on bra.uni ~f%u", i);
	put_leaving(f, i);
	gsb_edit_text(f, "ld.param.u64 ~words, [~v];\n\t"
			 "cvta.to.global.u64 ~words, ~words");
	for (uint32_t k = 0; k < kept->n; k++)
		gsb_edit_text(f,
			      "setp.ne.and.s64 ~q, ~kept%u, 0, ~g;\n\t"
			      "@~q red.global.add.u64 [~words+%u], ~kept%u",
			      k, 8 * kept->word[k], k);
	gsb_edit_text(f, "~f%u:", i);
}
