/*
 * rewrite_edit.c - see rewrite_edit.h.
 *
 * Text of ours is kept as the spelling of an instruction without operands, which is what the printer prints: so places
 * of labels, pragmas and debug lines are numbers of instructions as before.
 */
#include "ptx/resize/rewrite_edit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/print.h"

void gsb_edit_init(struct gsb_edit *e, const struct gsb_ptx_module *from)
{
	*e = (struct gsb_edit){.from = from};
	gsb_arena_init(&e->arena, GSB_PTX_MAX_ARENA_BYTES);
}

void gsb_edit_finish(struct gsb_edit *e)
{
	gsb_arena_finish(&e->arena);
}

static void *alloc(struct gsb_edit *e, size_t n, size_t size)
{
	void *p = e->failed ? NULL : gsb_arena_alloc_array(&e->arena, n, size);

	e->failed |= !p;
	return p;
}

/* A longer copy of an array; the old one goes with the arena. */
static void *longer(struct gsb_edit *e, const void *old, size_t n, size_t cap, size_t size)
{
	void *p = alloc(e, cap, size);

	if (p && n)
		memcpy(p, old, n * size);
	return p;
}

static void *pushed(struct gsb_edit *e, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 64;
	return longer(e, array, n, *cap, size);
}

/* '~' to our prefix. */
static char *expand(struct gsb_edit *e, const char *text)
{
	const size_t extra = sizeof(GSB_EDIT_PREFIX) - 2;
	size_t len = strlen(text), n = 0;
	char *out, *at;

	for (const char *c = text; *c; c++)
		n += *c == '~';
	at = out = alloc(e, 1, len + n * extra + 1);
	for (const char *c = text; out && *c; c++) {
		if (*c != '~')
			*at++ = *c;
		else
			at = (char *)memcpy(at, GSB_EDIT_PREFIX, extra + 1) + extra + 1;
	}
	return out;
}

static GSB_PRINTF(2, 0) char *format_list(struct gsb_edit *e, const char *format, va_list args)
{
	char *text = NULL, *out = NULL;

	if (vasprintf(&text, format, args) < 0)
		e->failed = true;
	else
		out = expand(e, text);
	free(text);
	return out;
}

char *gsb_edit_format(struct gsb_edit *e, const char *format, ...)
{
	va_list args;
	char *out;

	va_start(args, format);
	out = format_list(e, format, args);
	va_end(args);
	return out;
}

/* ---- the module ---- */

static struct gsb_ptx_func *add_func(struct gsb_edit *e, const struct gsb_ptx_func *from)
{
	struct gsb_ptx_func *f = alloc(e, 1, sizeof(*f));

	e->funcs = pushed(e, e->funcs, e->n_funcs, &e->cap_funcs, sizeof(*e->funcs));
	if (e->failed)
		return NULL;
	*f = *from;
	e->funcs[e->n_funcs++] = f;
	return f;
}

void gsb_edit_shared(struct gsb_edit *e, const char *name, enum gsb_ptx_type type, uint32_t n)
{
	const uint32_t bytes = gsb_ptx_type_bytes(type);
	const char *full = gsb_edit_format(e, "%s", name);
	struct gsb_ptx_var *v = alloc(e, 1, sizeof(*v));

	for (uint32_t i = 0; full && i < e->n_vars; i++)
		if (!strcmp(e->vars[i]->name, full))
			return;
	e->vars = pushed(e, e->vars, e->n_vars, &e->cap_vars, sizeof(struct gsb_ptx_var *));
	if (e->failed)
		return;
	*v = (struct gsb_ptx_var){.name = full,
				  .space = GSB_PTX_SPACE_SHARED,
				  .type = (uint8_t)type,
				  .vec = 1,
				  .align = bytes,
				  .n_elems = n,
				  .size_bytes = (uint64_t)n * bytes,
				  .is_array = true,
				  .reg = GSB_PTX_NONE};
	e->vars[e->n_vars++] = v;
}

static void *joined(struct gsb_edit *e, const void *a, size_t n_a, const void *b, size_t n_b,
		    size_t size)
{
	char *p = longer(e, a, n_a, n_a + n_b, size);

	if (p && n_b)
		memcpy(p + n_a * size, b, n_b * size);
	return p;
}

static int parse_again(const struct gsb_ptx_module *m, struct gsb_ptx_module **out)
{
	struct gsb_ptx_error err = {0};
	char *text;
	size_t len;
	int ret = gsb_ptx_print(m, &text, &len);

	if (ret)
		return ret;
	ret = gsb_ptx_parse(text, len, out, &err);
	free(text);
	return ret == -EILSEQ ? -E2BIG : ret;
}

int gsb_edit_module(struct gsb_edit *e, struct gsb_ptx_module **out)
{
	struct gsb_ptx_module m = *e->from;

	m.funcs = joined(e, m.funcs, m.n_funcs, e->funcs, e->n_funcs, sizeof(*m.funcs));
	m.vars = joined(e, m.vars, m.n_vars, e->vars, e->n_vars, sizeof(*m.vars));
	m.n_funcs += e->n_funcs;
	m.n_vars += e->n_vars;
	return e->failed ? -ENOMEM : parse_again(&m, out);
}

/* ---- a function ---- */

void gsb_edit_begin(struct gsb_edit_func *f, struct gsb_edit *e, const struct gsb_ptx_func *from,
		    const char *name)
{
	*f = (struct gsb_edit_func){.edit = e, .from = from, .to = add_func(e, from)};
	f->place = alloc(e, from->n_insns + 1, sizeof(*f->place));
	if (f->to)
		f->to->name = gsb_edit_format(e, "%s", name);
}

static struct gsb_ptx_insn *push(struct gsb_edit_func *f)
{
	f->insns = pushed(f->edit, f->insns, f->n, &f->cap, sizeof(*f->insns));
	if (f->edit->failed)
		return NULL;
	return &f->insns[f->n++];
}

void gsb_edit_at(struct gsb_edit_func *f, uint32_t i)
{
	if (f->place)
		f->place[i] = f->n;
}

struct gsb_ptx_insn *gsb_edit_copy(struct gsb_edit_func *f, uint32_t i)
{
	const struct gsb_ptx_insn *old = &f->from->insns[i];
	struct gsb_ptx_insn *in = push(f);

	if (!in)
		return NULL;
	*in = *old;
	in->operands = longer(f->edit, old->operands, old->n_operands, old->n_operands,
			      sizeof(*in->operands));
	if (old->call)
		in->call = longer(f->edit, old->call, 1, 1, sizeof(*in->call));
	return f->edit->failed ? NULL : in;
}

static void push_text(struct gsb_edit_func *f, const char *text)
{
	struct gsb_ptx_insn *in = push(f);

	if (in)
		*in = (struct gsb_ptx_insn){.spelling = text, .guard = GSB_PTX_NONE};
}

void gsb_edit_text(struct gsb_edit_func *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	push_text(f, format_list(f->edit, format, args));
	va_end(args);
}

void gsb_edit_text_guarded(struct gsb_edit_func *f, uint32_t i, const char *text)
{
	const struct gsb_ptx_insn *old = &f->from->insns[i];

	push_text(f, gsb_edit_format(f->edit, "%s", text));
	if (f->edit->failed)
		return;
	f->insns[f->n - 1].guard = old->guard;
	f->insns[f->n - 1].guard_negated = old->guard_negated;
}

uint32_t gsb_edit_reg(struct gsb_edit_func *f, const char *name)
{
	struct gsb_ptx_func *to = f->to;
	struct gsb_ptx_reg *regs;

	if (!to)
		return 0;
	regs = longer(f->edit, to->regs, to->n_regs, to->n_regs + 1, sizeof(*regs));
	if (!regs)
		return 0;
	regs[to->n_regs] = (struct gsb_ptx_reg){.base = gsb_edit_format(f->edit, "%s", name),
						.number = GSB_PTX_NONE,
						.type = GSB_PTX_TYPE_B32};
	to->regs = regs;
	return to->n_regs++;
}

void gsb_edit_param(struct gsb_edit_func *f, uint32_t bytes)
{
	struct gsb_ptx_func *to = f->to;
	struct gsb_ptx_var *params;

	if (!to)
		return;
	params = longer(f->edit, to->params, to->n_params, to->n_params + 1, sizeof(*params));
	if (!params)
		return;
	params[to->n_params++] = (struct gsb_ptx_var){.name = gsb_edit_format(f->edit, "~v"),
						      .space = GSB_PTX_SPACE_PARAM,
						      .type = GSB_PTX_TYPE_B8,
						      .vec = 1,
						      .align = 8,
						      .n_elems = bytes,
						      .size_bytes = bytes,
						      .is_array = true,
						      .reg = GSB_PTX_NONE};
	to->params = params;
}

const char *gsb_edit_reg_name(struct gsb_edit_func *f, uint32_t reg)
{
	const struct gsb_ptx_reg *r = &f->from->regs[reg];

	if (r->number == GSB_PTX_NONE)
		return r->base;
	return gsb_edit_format(f->edit, "%s%u", r->base, r->number);
}

const struct gsb_ptx_func *gsb_edit_named(struct gsb_edit *e, const char *name)
{
	struct gsb_ptx_func *f = alloc(e, 1, sizeof(*f));

	if (f)
		f->name = name;
	return f;
}

/* ---- what names instructions by number ---- */

static void move_labels(struct gsb_edit_func *f)
{
	struct gsb_ptx_label *labels =
		longer(f->edit, f->to->labels, f->to->n_labels, f->to->n_labels, sizeof(*labels));

	for (uint32_t i = 0; labels && i < f->to->n_labels; i++)
		labels[i].insn = f->place[labels[i].insn];
	f->to->labels = labels;
}

static void move_pragmas(struct gsb_edit_func *f)
{
	struct gsb_ptx_pragma *pragmas = longer(f->edit, f->to->pragmas, f->to->n_pragmas,
						f->to->n_pragmas, sizeof(*pragmas));

	for (uint32_t i = 0; pragmas && i < f->to->n_pragmas; i++)
		pragmas[i].insn = f->place[pragmas[i].insn];
	f->to->pragmas = pragmas;
}

static void move_locs(struct gsb_edit_func *f)
{
	struct gsb_ptx_loc *locs =
		longer(f->edit, f->to->locs, f->to->n_locs, f->to->n_locs, sizeof(*locs));

	for (uint32_t i = 0; locs && i < f->to->n_locs; i++)
		locs[i].insn = f->place[locs[i].insn];
	f->to->locs = locs;
}

void gsb_edit_end(struct gsb_edit_func *f)
{
	if (f->edit->failed)
		return;
	f->place[f->from->n_insns] = f->n;
	move_labels(f);
	move_pragmas(f);
	move_locs(f);
	f->to->insns = f->insns;
	f->to->n_insns = f->n;
}
