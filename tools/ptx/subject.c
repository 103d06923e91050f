/*
 * subject.c - see subject.h.
 */
#include "tools/ptx/subject.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES ((size_t)1 << 30)

/* ---- arguments ---- */

static int wrong(struct diff *d, const struct emu_arg *a, const char *what)
{
	snprintf(d->text, sizeof(d->text), "argument %s: %s", a->parameter, what);
	return -1;
}

static enum diff_compare compare_as(const struct emu_arg *a)
{
	return emu_arg_is_float(a, 4) ? DIFF_F32 : emu_arg_is_float(a, 8) ? DIFF_F64 : DIFF_BYTES;
}

int subject_place(struct diff *d, struct emu_arg *args, size_t n, bool loose)
{
	for (size_t i = 0; i < n; i++) {
		struct emu_arg *a = &args[i];

		if (a->kind != EMU_ARG_MEMORY)
			continue;
		a->address = (uintptr_t)diff_alloc(d, a->size, loose ? compare_as(a) : DIFF_BYTES);
		if (!a->address)
			return wrong(d, a, "no room for its memory");
	}
	for (size_t i = 0; i < n; i++) {
		const struct emu_arg *of;

		if (args[i].kind != EMU_ARG_ADDRESS)
			continue;
		of = emu_arg_find(args, n, args[i].of, args[i].of_len);
		if (!of || of->kind != EMU_ARG_MEMORY)
			return wrong(d, &args[i], "at: names no argument of memory");
		args[i].address = of->address + (uint64_t)args[i].offset;
	}
	return 0;
}

int subject_fill(struct diff *d, struct emu_arg *args, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct gsb_ptx_var *p = &d->original->params[i];
		struct emu_arg *a = &args[i];
		bool is_value = a->kind == EMU_ARG_VALUE;
		size_t size = is_value ? a->value_size : sizeof(a->address);

		if (size != p->size_bytes || p->offset + size > DIFF_PARAM_BYTES)
			return wrong(d, a, "it has not the size of the parameter");
		memcpy(d->params + p->offset, is_value ? a->value : (const void *)&a->address,
		       size);
		if (a->kind == EMU_ARG_MEMORY)
			memcpy((void *)(uintptr_t)a->address, a->bytes, a->size);
	}
	return 0;
}

/* ---- open ---- */

static int parse_args(struct subject *s, const struct gsb_ptx_request *q)
{
	const struct gsb_ptx_func *f = s->kernel.entry;

	if ((uint32_t)q->n_words != f->n_params || q->n_words > SUBJECT_MAX_ARGS) {
		fprintf(stderr, "gsb-ptx: %s takes %u arguments, %d are given\n", f->name,
			f->n_params, q->n_words);
		return -1;
	}
	for (int i = 0; i < q->n_words; i++) {
		s->n_args++;
		if (emu_arg_parse(&s->args[i], q->words[i]))
			return -1;
		s->args[i].parameter = f->params[i].name;
	}
	return 0;
}

static bool is_legal(const struct subject *s, const struct gsb_ptx_request *q,
		     enum gsb_rewrite_form form)
{
	const uint32_t legal = s->facts.forms | s->facts.ordered_forms;
	struct gsb_resize_geometry g;

	memcpy(g.grid, q->grid, sizeof(g.grid));
	memcpy(g.block, q->block, sizeof(g.block));
	if (form == GSB_REWRITE_SLICE)
		return legal & GSB_RESIZE_BIT(GSB_RESIZE_SLICE);
	return form != GSB_REWRITE_PERSISTENT ||
	       (legal & GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT) &&
		!gsb_resize_persistent_refused(&s->facts.launch, &g));
}

static unsigned int possible_forms(struct subject *s, const struct gsb_ptx_request *q,
				   unsigned int wanted)
{
	unsigned int forms = 0;

	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
		struct gsb_rewrite_job job = {
			.kernel = s->kernel.entry, .form = form, .early = s->facts.early};
		struct gsb_rewrite_refusal why;

		if (!(wanted >> form & 1))
			continue;
		if (!is_legal(s, q, form))
			fprintf(stderr, "gsb-ptx: %s: not as %s: gsb-ptx classify --why says why\n",
				s->kernel.entry->name, gsb_rewrite_form_name(form));
		else if (gsb_rewrite_check(s->kernel.module->ptx, &job, &why))
			fprintf(stderr, "gsb-ptx: %s: not as %s: line %u: %s\n",
				s->kernel.entry->name, gsb_rewrite_form_name(form), why.line,
				why.text);
		else
			forms |= 1u << form;
	}
	return forms;
}

void subject_find_reshapes(struct diff *d, const struct gsb_resize_conditions *c)
{
	struct gsb_resize_geometry from, to;

	memcpy(from.grid, d->grid, sizeof(from.grid));
	memcpy(from.block, d->block, sizeof(from.block));
	for (uint32_t t = 1; t <= 1024 && d->n_reshapes < DIFF_MAX_RESHAPES; t++) {
		uint64_t all = (uint64_t)d->grid[0] * d->block[0];

		to = from;
		to.block[0] = t;
		to.grid[0] = (uint32_t)(all / t);
		if (all % t == 0 && t != d->block[0] &&
		    !gsb_resize_reshape_refused(c, &from, &to, 1024))
			d->reshapes[d->n_reshapes++] = t;
	}
}

static int open_diff(struct subject *s, const struct gsb_ptx_request *q, unsigned int forms)
{
	struct diff *d = &s->diff;

	if (diff_open(d, s->kernel.module->ptx, s->kernel.entry, forms, s->facts.early))
		return -1;
	memcpy(d->grid, q->grid, sizeof(d->grid));
	memcpy(d->block, q->block, sizeof(d->block));
	d->smem_bytes = q->smem_bytes;
	d->ascending = s->facts.forms & GSB_RESIZE_BIT(GSB_RESIZE_ORDERED);
	d->max_insns = 1000000000;
	subject_find_reshapes(d, &s->facts.launch);
	return subject_place(d, s->args, s->n_args, s->facts.order & GSB_RESIZE_ORDER_FLOAT);
}

int subject_open(struct subject *s, const struct gsb_ptx_request *q, unsigned int forms)
{
	gsb_arena_init(&s->arena, ARENA_BYTES);
	if (emu_file_open(&s->file, q->path, GSB_PTX_TOOL_CC) ||
	    emu_file_find(&s->file, q->kernel, &s->kernel) || parse_args(s, q))
		return -1;
	if (gsb_resize_analyse(s->kernel.module->ptx, s->kernel.entry, &s->arena, &s->facts)) {
		fprintf(stderr, "gsb-ptx: %s: no memory to look at it\n", s->kernel.entry->name);
		return -1;
	}
	forms = possible_forms(s, q, forms);
	if (!forms)
		return -1;
	if (!open_diff(s, q, forms))
		return 0;
	fprintf(stderr, "gsb-ptx: %s: %s\n", s->kernel.entry->name, s->diff.text);
	return -1;
}

void subject_close(struct subject *s)
{
	for (size_t i = 0; i < s->n_args; i++)
		emu_arg_finish(&s->args[i]);
	diff_close(&s->diff);
	emu_file_close(&s->file);
	gsb_arena_finish(&s->arena);
}
