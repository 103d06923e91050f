/*
 * rewrite_ids.c - %ctaid and %nctaid become the logical ones.
 *
 * In the entry they are registers. A function cannot see these, and its callers' signatures must stay, so it reads them from
 * a shared variable, which every thread writes for itself before it may call: all of a block write the same values,
 * so each finds its own, and no barrier is needed. Between two tiles of a persistent block there is one anyhow.
 */
#include <string.h>

#include "ptx/resize/rewrite_parts.h"

#define IDS_VAR "~ids"

const char *const gsb_rewrite_id_names[6] = {"~x", "~y", "~z", "~gx", "~gy", "~gz"};

int gsb_rewrite_id_of(const struct gsb_ptx_operand *o)
{
	if (o->kind != GSB_PTX_OPERAND_SREG || o->axis > 2)
		return -1;
	if (o->sreg == GSB_PTX_SREG_CTAID)
		return o->axis;
	return o->sreg == GSB_PTX_SREG_NCTAID ? 3 + o->axis : -1;
}

/* ---- who reads them ---- */

static unsigned int ids_of(const struct gsb_ptx_func *f)
{
	unsigned int ids = 0;

	for (uint32_t i = 0; i < f->n_insns; i++) {
		for (unsigned int k = 0; k < f->insns[i].n_operands; k++) {
			int id = gsb_rewrite_id_of(&f->insns[i].operands[k]);

			ids |= id < 0 ? 0 : 1u << id;
		}
	}
	return ids;
}

static const struct gsb_ptx_func *body_of(const struct gsb_ptx_func *f)
{
	return f->alias_of ? f->alias_of : f;
}

/* The function that an instruction calls by name; NULL: it does not. */
static const struct gsb_ptx_func *callee(const struct gsb_ptx_insn *in)
{
	if (!in->call || in->call->target.kind != GSB_PTX_OPERAND_FUNC)
		return NULL;
	return body_of(in->call->target.func);
}

static bool calls_reader(const struct gsb_rewrite_work *w, const struct gsb_ptx_func *f)
{
	for (uint32_t i = 0; i < f->n_insns; i++) {
		const struct gsb_ptx_func *to = callee(&f->insns[i]);

		if (to && w->reads[to->index])
			return true;
	}
	return false;
}

/* Readers, then who calls them, until nothing is added. */
bool gsb_rewrite_find_ids(struct gsb_rewrite_work *w)
{
	unsigned int in_funcs = 0, own = ids_of(w->kernel.entry), all;
	bool more = true;

	w->reads = gsb_arena_alloc_array(w->arena, w->m->n_funcs + 1, sizeof(*w->reads));
	if (!w->reads)
		return false;
	for (uint32_t i = 1; i < w->kernel.n_funcs; i++) {
		unsigned int ids = ids_of(w->kernel.funcs[i]);

		in_funcs |= ids;
		w->reads[w->kernel.funcs[i]->index] = ids;
	}
	while (more) {
		more = false;
		for (uint32_t i = 1; i < w->kernel.n_funcs; i++) {
			const struct gsb_ptx_func *f = w->kernel.funcs[i];

			if (w->reads[f->index] || !calls_reader(w, f))
				continue;
			w->reads[f->index] = more = true;
		}
	}
	all = own | in_funcs;
	w->own_ctaid = own & 7;
	w->own_nctaid = own >> 3;
	w->ctaid = all & 7;
	w->nctaid = all >> 3;
	w->through_shared = in_funcs != 0;
	return true;
}

/* ---- functions ---- */

static bool is_made(const struct gsb_edit *e, const char *name)
{
	for (uint32_t i = 0; name && i < e->n_funcs; i++)
		if (!strcmp(e->funcs[i]->name, name))
			return true;
	return false;
}

static const char *clone_name(struct gsb_edit *e, const struct gsb_ptx_func *f)
{
	return gsb_edit_format(e, "%s$ids", f->name);
}

static void copy_func(struct gsb_edit *e, const struct gsb_rewrite_work *w,
		      const struct gsb_ptx_func *from)
{
	struct gsb_rewrite_ids ids;
	struct gsb_edit_func f;
	unsigned int reads = ids_of(from);

	gsb_edit_begin(&f, e, from, clone_name(e, from));
	for (int k = 0; k < 6; k++)
		ids.reg[k] =
			reads >> k & 1 ? gsb_edit_reg(&f, gsb_rewrite_id_names[k]) : GSB_PTX_NONE;
	for (uint32_t i = 0; i < from->n_insns; i++) {
		const struct gsb_ptx_insn *in = &from->insns[i];

		gsb_edit_at(&f, i);
		for (unsigned int o = 0; o < in->n_operands; o++) {
			int k = gsb_rewrite_id_of(&in->operands[o]);

			if (k >= 0)
				gsb_edit_text(&f, "ld.shared.u32 %s, [" IDS_VAR "+%d]",
					      gsb_rewrite_id_names[k], 4 * k);
		}
		gsb_rewrite_copy_with_ids(&f, w, &ids, i);
	}
	gsb_edit_end(&f);
}

void gsb_rewrite_id_funcs(struct gsb_edit *e, const struct gsb_rewrite_work *w)
{
	if (!w->through_shared)
		return;
	gsb_edit_shared(e, IDS_VAR, GSB_PTX_TYPE_B32, 6);
	for (uint32_t i = 1; i < w->kernel.n_funcs; i++) {
		const struct gsb_ptx_func *f = w->kernel.funcs[i];

		if (w->reads[f->index] && !is_made(e, clone_name(e, f)))
			copy_func(e, w, f);
	}
}

/* ---- the entry ---- */

void gsb_rewrite_declare_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w,
			     struct gsb_rewrite_ids *ids)
{
	unsigned int used = w->ctaid | w->nctaid << 3;

	for (int k = 0; k < 6; k++)
		ids->reg[k] =
			used >> k & 1 ? gsb_edit_reg(f, gsb_rewrite_id_names[k]) : GSB_PTX_NONE;
}

void gsb_rewrite_share_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	unsigned int used = w->ctaid | w->nctaid << 3;

	for (int k = 0; w->through_shared && k < 6; k++)
		if (used >> k & 1)
			gsb_edit_text(f, "st.shared.u32 [" IDS_VAR "+%d], %s", 4 * k,
				      gsb_rewrite_id_names[k]);
}

void gsb_rewrite_copy_with_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w,
			       const struct gsb_rewrite_ids *ids, uint32_t i)
{
	const struct gsb_ptx_func *to = callee(&f->from->insns[i]);
	struct gsb_ptx_insn *in = gsb_edit_copy(f, i);

	for (unsigned int o = 0; in && o < in->n_operands; o++) {
		int k = gsb_rewrite_id_of(&in->operands[o]);

		if (k < 0)
			continue;
		in->operands[o] =
			(struct gsb_ptx_operand){.kind = GSB_PTX_OPERAND_REG, .reg = ids->reg[k]};
	}
	if (in && to && w->reads[to->index])
		in->call->target.func = gsb_edit_named(f->edit, clone_name(f->edit, to));
}
