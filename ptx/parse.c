/*
 * parse.c - from a text to its module, and what is looked up in one: see ptx.h.
 */
#include "ptx/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Functions and variables keep the order in which they were first named; the names stay for look-ups. */
static void finish_module(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_module *m = p->m;

	gsb_ptx_finish_units(p);
	m->n_funcs = p->funcs.n;
	m->funcs = gsb_ptx_vec_copy(p, &p->funcs, sizeof(*m->funcs));
	m->n_vars = p->vars.n;
	m->vars = gsb_ptx_vec_copy(p, &p->vars, sizeof(*m->vars));
	m->n_pragmas = p->pragmas.n;
	m->pragmas = gsb_ptx_vec_copy(p, &p->pragmas, sizeof(*m->pragmas));
	m->n_files = p->files.n;
	m->files = gsb_ptx_vec_copy(p, &p->files, sizeof(*m->files));
	m->n_unknown = p->unknown.n;
	m->unknown = gsb_ptx_vec_copy(p, &p->unknown, sizeof(*m->unknown));
	m->names = gsb_ptx_alloc(p, 1, sizeof(p->names));
	if (m->names)
		*(struct gsb_ptx_names *)m->names = p->names;
}

/* The table of names is made first, so that a text over the limit is refused without being read. */
static void start(struct gsb_ptx_parser *p, const char *text, size_t len)
{
	p->arena = &p->m->arena;
	p->text = text;
	gsb_arena_init(p->arena, GSB_PTX_MAX_ARENA_BYTES);
	gsb_ptx_lex_init(&p->lx, text, len);
	p->tok = (struct gsb_ptx_token){.at = text, .line_at = text, .line = 1};
	if (gsb_ptx_names_init(&p->names, p->arena))
		gsb_ptx_fail_memory(p);
	if (len > GSB_PTX_MAX_TEXT_BYTES)
		gsb_ptx_fail_limit(p, "bytes of text", GSB_PTX_MAX_TEXT_BYTES);
	if (p->err)
		return;
	gsb_ptx_lex_next(&p->lx, &p->next);
	gsb_ptx_advance(p);
}

int gsb_ptx_parse(const char *text, size_t len, struct gsb_ptx_module **out,
		  struct gsb_ptx_error *err)
{
	struct gsb_ptx_parser p = {.report = err};

	p.m = calloc(1, sizeof(*p.m));
	if (!p.m)
		return -ENOMEM;
	start(&p, text, len);
	if (!p.err)
		gsb_ptx_parse_module(&p);
	if (!p.err)
		finish_module(&p);
	gsb_ptx_body_finish(&p.body);
	gsb_ptx_vec_finish(&p.funcs);
	gsb_ptx_vec_finish(&p.vars);
	gsb_ptx_vec_finish(&p.pragmas);
	gsb_ptx_vec_finish(&p.files);
	gsb_ptx_vec_finish(&p.unknown);
	gsb_ptx_vec_finish(&p.param_toks);
	gsb_ptx_vec_finish(&p.hidden);
	if (p.err) {
		gsb_ptx_module_destroy(p.m);
		return p.err;
	}
	*out = p.m;
	return 0;
}

void gsb_ptx_module_destroy(struct gsb_ptx_module *m)
{
	if (!m)
		return;
	gsb_arena_finish(&m->arena);
	free(m);
}

static void *find(const struct gsb_ptx_module *m, const char *name, enum gsb_ptx_name_kind kind)
{
	struct gsb_ptx_name *e = gsb_ptx_names_get(m->names, name, strlen(name));

	return e && e->kind == (int)kind ? e->p : NULL;
}

const struct gsb_ptx_func *gsb_ptx_find_func(const struct gsb_ptx_module *m, const char *name)
{
	const struct gsb_ptx_func *f = find(m, name, GSB_PTX_NAME_FUNC);

	return f && f->alias_of ? f->alias_of : f;
}

const struct gsb_ptx_var *gsb_ptx_find_var(const struct gsb_ptx_module *m, const char *name)
{
	return find(m, name, GSB_PTX_NAME_VAR);
}

/* A text may give a number several names: the first is as good as another. */
static const char *file_name(const struct gsb_ptx_module *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->n_files; i++)
		if (m->files[i].number == number)
			return m->files[i].name;
	return "";
}

uint32_t gsb_ptx_source_line(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f,
			     uint32_t insn, const char **file)
{
	uint32_t lo = 0, hi = f->n_locs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->locs[mid].insn <= insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	*file = lo ? file_name(m, f->locs[lo - 1].file) : "";
	return lo ? f->locs[lo - 1].line : 0;
}
