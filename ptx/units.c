/*
 * units.c - linked text: several modules one behind the other, each from its .version on, read as one.
 *
 * That is what cuLink makes of PTX. Names of one module that are neither .visible nor .weak nor .extern are its own:
 * they are hidden while the next is read, and found again from outside, by another name where something else has theirs
 * by then. A declaration (.extern) in one module means the definition in any other, before it or behind it. Of several
 * .weak definitions the first counts, and a .visible one counts before all of them.
 */
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

#include "ptx/lex.h"

const char *gsb_ptx_next_unit(const char *text, size_t len)
{
	static const char begin[] = ".version";
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;
	unsigned n = 0;

	gsb_ptx_lex_init(&lx, text, len);
	do {
		gsb_ptx_lex_next(&lx, &t);
		n += t.kind == GSB_PTX_TOKEN_DOT && t.len == strlen(begin) &&
		     !memcmp(t.at, begin, t.len);
	} while (n < 2 && t.kind != GSB_PTX_TOKEN_END && t.kind != GSB_PTX_TOKEN_BAD);
	return n < 2 ? NULL : t.at;
}

unsigned gsb_ptx_count_units(const char *text, size_t len)
{
	unsigned n = 0;

	for (const char *next = text; next; n++) {
		len -= (size_t)(next - text);
		text = next;
		next = gsb_ptx_next_unit(text, len);
	}
	return n;
}

static uint8_t linkage_of(const struct gsb_ptx_name *e)
{
	if (e->kind == GSB_PTX_NAME_VAR)
		return ((const struct gsb_ptx_var *)e->p)->linkage;
	return ((const struct gsb_ptx_func *)e->p)->linkage;
}

/* Kernels are looked up by name from outside, and in PTX nothing but a launch can mean one: two of a name are one too many. */
static bool is_shared(const struct gsb_ptx_name *e)
{
	if (e->kind == GSB_PTX_NAME_FUNC && ((const struct gsb_ptx_func *)e->p)->is_entry)
		return true;
	return linkage_of(e) != GSB_PTX_LINK_LOCAL;
}

static void keep(struct gsb_ptx_parser *p, struct gsb_ptx_vec *v, struct gsb_ptx_name *e)
{
	struct gsb_ptx_name **slot = gsb_ptx_push(p, v, sizeof(e), "names", GSB_PTX_MAX_SYMBOLS);

	if (slot)
		*slot = e;
}

static void add_again(struct gsb_ptx_parser *p, const struct gsb_ptx_name *old)
{
	struct gsb_ptx_name *e = gsb_ptx_names_add(&p->names, old->text, old->len);

	if (!e) {
		gsb_ptx_fail_memory(p);
		return;
	}
	e->kind = old->kind;
	e->line = old->line;
	e->p = old->p;
}

/* At the .version of another module. */
void gsb_ptx_begin_unit(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_vec shared = {0};

	p->unit_line = p->tok.line;
	for (uint32_t i = 0; i < p->names.n && !p->err; i++) {
		struct gsb_ptx_name *e = p->names.stack[i];

		keep(p, is_shared(e) ? &shared : &p->hidden, e);
	}
	gsb_ptx_names_leave(&p->names, 0);
	for (uint32_t i = 0; i < shared.n && !p->err; i++)
		add_again(p, ((struct gsb_ptx_name **)shared.items)[i]);
	gsb_ptx_vec_finish(&shared);
}

/*
 * "x$1", "y$2" ..: what nothing has, for in print all modules are one. The number only grows, so that no text makes this
 * search long.
 */
static void rename_thing(struct gsb_ptx_parser *p, struct gsb_ptx_name *e)
{
	size_t room = e->len + 12;
	char *name = gsb_ptx_alloc(p, 1, room);

	if (!name)
		return;
	do {
		snprintf(name, room, "%s$%u", e->text, ++p->n_renamed);
	} while (gsb_ptx_names_get(&p->names, name, strlen(name)));
	if (e->kind == GSB_PTX_NAME_VAR)
		((struct gsb_ptx_var *)e->p)->name = name;
	else
		((struct gsb_ptx_func *)e->p)->name = name;
	e->text = name;
	e->len = strlen(name);
}

void gsb_ptx_finish_units(struct gsb_ptx_parser *p)
{
	for (uint32_t i = 0; i < p->hidden.n && !p->err; i++) {
		struct gsb_ptx_name *e = ((struct gsb_ptx_name **)p->hidden.items)[i];

		if (gsb_ptx_names_get(&p->names, e->text, e->len))
			rename_thing(p, e);
		if (!p->err)
			add_again(p, e);
	}
}

/* ---- a name that is defined in two modules ---- */

static bool is_of_another_unit(const struct gsb_ptx_parser *p, uint32_t line)
{
	return line < p->unit_line;
}

struct gsb_ptx_func *gsb_ptx_second_func(struct gsb_ptx_parser *p, struct gsb_ptx_func *f,
					 uint8_t linkage)
{
	struct gsb_ptx_func *other;

	if (!is_of_another_unit(p, f->line))
		return NULL;
	if (f->linkage == GSB_PTX_LINK_WEAK && linkage == GSB_PTX_LINK_VISIBLE) {
		*f = (struct gsb_ptx_func){.name = f->name,
					   .index = f->index,
					   .is_entry = f->is_entry,
					   .unsupported = GSB_PTX_NONE};
		return f;
	}
	if (linkage != GSB_PTX_LINK_WEAK)
		return NULL;
	other = gsb_ptx_alloc(p, 1, sizeof(*other));
	if (other)
		*other = (struct gsb_ptx_func){.name = f->name,
					       .index = f->index,
					       .is_entry = f->is_entry,
					       .unsupported = GSB_PTX_NONE};
	return other;
}

struct gsb_ptx_var *gsb_ptx_second_var(struct gsb_ptx_parser *p, struct gsb_ptx_var *v,
				       uint8_t linkage)
{
	struct gsb_ptx_var *other;

	if (!is_of_another_unit(p, v->line))
		return NULL;
	if (v->linkage == GSB_PTX_LINK_WEAK && linkage == GSB_PTX_LINK_VISIBLE) {
		v->init = NULL;
		v->relocs = NULL;
		v->n_relocs = 0;
		return v;
	}
	if (linkage != GSB_PTX_LINK_WEAK && linkage != GSB_PTX_LINK_COMMON &&
	    linkage != GSB_PTX_LINK_EXTERN)
		return NULL;
	other = gsb_ptx_alloc(p, 1, sizeof(*other));
	if (other)
		*other = (struct gsb_ptx_var){.name = v->name, .index = v->index};
	return other;
}
