/*
 * facts.c - see facts.h. Runs the analyses, and draws the verdict from what they found.
 */
#include "ptx/resize/facts.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/resize/analysis.h"

#define R GSB_RESIZE_BIT(GSB_RESIZE_RESHAPE)
#define S GSB_RESIZE_BIT(GSB_RESIZE_SLICE)
#define P GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT)
#define O GSB_RESIZE_BIT(GSB_RESIZE_ORDERED)

static const struct {
	const char *word;
	uint32_t forbids;
	const char *text;
} rules[] = {
#define GSB_RESIZE_RULE(id, word, forbids, text) [GSB_RESIZE_RULE_##id] = {word, forbids, text},
#include "ptx/resize/rules.def"
};

const char *gsb_resize_rule_word(enum gsb_resize_rule rule)
{
	return rules[rule].word;
}

const char *gsb_resize_rule_text(enum gsb_resize_rule rule)
{
	return rules[rule].text;
}

uint32_t gsb_resize_rule_forbids(enum gsb_resize_rule rule)
{
	return rules[rule].forbids;
}

const char *gsb_resize_form_name(enum gsb_resize_form form)
{
	static const char *const names[] = {"reshape", "slice", "persistent", "ordered"};

	return names[form];
}

uint32_t gsb_resize_line(const struct gsb_resize_place *place)
{
	if (!place->func)
		return 0;
	return place->insn == GSB_PTX_NONE ? place->func->line
					   : place->func->insns[place->insn].line;
}

/* ---- the analyses ---- */

static bool analyse_func(struct gsb_resize_analysis *a, const struct gsb_ptx_func *func)
{
	struct gsb_resize_flow f;
	struct gsb_resize_bases b;

	if (!gsb_resize_flow_build(a, func, &f) || !gsb_resize_bases_build(&f, &b))
		return false;
	gsb_resize_waits(&f, &b);
	gsb_resize_early_exits(&f);
	gsb_resize_linear(&f);
	return !a->err;
}

/* Called functions first: what they find is about the entry's exits, too. */
static void analyse(struct gsb_resize_analysis *a)
{
	gsb_resize_features(a);
	for (uint32_t i = a->k->n_funcs; i-- > 0 && !a->err;)
		analyse_func(a, a->k->funcs[i]);
}

static void list_findings(struct gsb_resize_analysis *a)
{
	struct gsb_resize_finding *list = gsb_resize_alloc(a, GSB_RESIZE_N_RULES, sizeof(*list));

	if (!list)
		return;
	for (uint32_t i = 0; i < GSB_RESIZE_N_RULES; i++)
		if (a->found[i].n)
			list[a->out->n_findings++] = a->found[i];
	a->out->findings = list;
}

static uint32_t forms_without(const struct gsb_resize_facts *f, enum gsb_resize_rule ignored)
{
	uint32_t forms = R | S | P | O;

	for (uint32_t i = 0; i < f->n_findings; i++)
		if (f->findings[i].rule != ignored)
			forms &= ~rules[f->findings[i].rule].forbids;
	return forms;
}

/* ORDERED is for kernels that look back, and needs nothing else to stand in the way of a form. */
static void decide(struct gsb_resize_facts *f, bool looks_back)
{
	uint32_t if_vouched = forms_without(f, GSB_RESIZE_RULE_LOOK_BACK);

	f->forms = forms_without(f, GSB_RESIZE_N_RULES) & ~O;
	if (looks_back && if_vouched & O)
		f->ordered_forms = if_vouched & (S | P);
	if (f->ordered_forms)
		f->forms |= O;
	if (!(f->forms & R)) {
		f->launch.reshape_axes = 0;
		f->launch.whole_warps = false;
		f->linear = "";
	}
	f->launch.persistent = (f->forms | f->ordered_forms) & P;
}

static void keep_bounds(struct gsb_resize_facts *f)
{
	f->launch.max_threads = f->kernel->max_threads;
	memcpy(f->launch.max_on_axis, f->kernel->entry->tuning.maxntid,
	       sizeof(f->launch.max_on_axis));
}

static enum gsb_resize_early early_of(const struct gsb_resize_analysis *a)
{
	if (a->found[GSB_RESIZE_RULE_E3].n)
		return GSB_RESIZE_E3;
	if (a->found[GSB_RESIZE_RULE_E2].n || a->found[GSB_RESIZE_RULE_E_CALLED].n)
		return GSB_RESIZE_E2;
	return a->around ? GSB_RESIZE_E1 : GSB_RESIZE_E0;
}

/* What the analyses have found so far may stay: it forbids, and nothing is allowed for want of a finding. */
static int finish(struct gsb_resize_analysis *a)
{
	if (a->err == -ENOMEM)
		return -ENOMEM;
	if (a->err) {
		a->err = 0;
		gsb_resize_find(a, GSB_RESIZE_RULE_TOO_LARGE, a->k->entry, GSB_PTX_NONE);
	}
	a->out->early = early_of(a);
	a->out->launch.warp_rows = a->out->warp_ops;
	list_findings(a);
	if (a->err)
		return -ENOMEM;
	decide(a->out, a->found[GSB_RESIZE_RULE_LOOK_BACK].n > 0);
	keep_bounds(a->out);
	return 0;
}

int gsb_resize_analyse(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
		       struct gsb_arena *arena, struct gsb_resize_facts *out)
{
	struct gsb_ptx_kernel *k = gsb_arena_alloc(arena, sizeof(*k));
	struct gsb_resize_facts facts = {.kernel = k, .linear = ""};
	struct gsb_resize_analysis a = {.m = m, .k = k, .arena = arena, .out = &facts};
	int err;

	if (!k)
		return -ENOMEM;
	k->entry = entry;
	err = gsb_ptx_kernel_build(m, entry, arena, k);
	if (err && err != -E2BIG)
		return err;
	a.of = gsb_resize_alloc(&a, m->n_funcs, sizeof(*a.of));
	if (!a.of)
		return -ENOMEM;
	if (err)
		a.err = err;
	else
		analyse(&a);
	err = finish(&a);
	if (!err)
		*out = facts;
	return err;
}

const struct gsb_resize_finding *gsb_resize_why_not(const struct gsb_resize_facts *f,
						    enum gsb_resize_form form)
{
	for (uint32_t i = 0; i < f->n_findings; i++)
		if (rules[f->findings[i].rule].forbids & GSB_RESIZE_BIT(form))
			return &f->findings[i];
	return NULL;
}

/* ---- launches ---- */

/* Below 2^31 threads on an axis no product of the proof wraps. */
static bool same_total(uint32_t grid, uint32_t block, uint32_t new_grid, uint32_t new_block)
{
	uint64_t total = (uint64_t)grid * block;

	return total == (uint64_t)new_grid * new_block && total <= INT32_MAX;
}

static bool is_one_row(const struct gsb_resize_geometry *g)
{
	return g->block[1] == 1 && g->block[2] == 1;
}

static const char *axis_refused(const struct gsb_resize_conditions *c,
				const struct gsb_resize_geometry *from,
				const struct gsb_resize_geometry *to, uint32_t axis)
{
	if (!to->grid[axis] || !to->block[axis])
		return "a block or grid of no size";
	if (from->grid[axis] == to->grid[axis] && from->block[axis] == to->block[axis])
		return NULL;
	if (!(c->reshape_axes >> axis & 1))
		return "this axis is not proven to be linear";
	if (!same_total(from->grid[axis], from->block[axis], to->grid[axis], to->block[axis]))
		return "the number of threads on an axis has to stay, and to be below 2^31";
	if (c->max_on_axis[axis] && to->block[axis] > c->max_on_axis[axis])
		return "more threads on an axis than its launch bounds allow";
	return NULL;
}

static const char *block_refused(const struct gsb_resize_conditions *c,
				 const struct gsb_resize_geometry *to, uint32_t max_threads)
{
	uint64_t threads = (uint64_t)to->block[0] * to->block[1] * to->block[2];
	uint32_t most = c->max_threads;

	if (to->block[0] > 1024 || to->block[1] > 1024 || to->block[2] > 64 || threads > 1024)
		return "more threads than a block may have";
	if ((most && threads > most) || (max_threads && threads > max_threads))
		return "more threads than its launch bounds or registers allow";
	if (to->grid[1] > 65535 || to->grid[2] > 65535)
		return "more blocks on y or z than a grid may have";
	return NULL;
}

const char *gsb_resize_reshape_refused(const struct gsb_resize_conditions *c,
				       const struct gsb_resize_geometry *from,
				       const struct gsb_resize_geometry *to, uint32_t max_threads)
{
	if (!c->reshape_axes)
		return "not proven to be linear";
	for (uint32_t axis = 0; axis < 3; axis++) {
		const char *why = axis_refused(c, from, to, axis);

		if (why)
			return why;
	}
	if (c->whole_warps &&
	    (!is_one_row(from) || !is_one_row(to) || from->block[0] % 32 || to->block[0] % 32))
		return "warps have to stay the same: blocks of one row, a multiple of 32";
	return block_refused(c, to, max_threads);
}

const char *gsb_resize_persistent_refused(const struct gsb_resize_conditions *c,
					  const struct gsb_resize_geometry *g)
{
	if (!c->persistent)
		return "the persistent form is not proven to be right";
	if (c->warp_rows && !is_one_row(g) && g->block[0] % 32)
		return "warps that hold parts of several rows: what they take together is not proven";
	return NULL;
}
