/*
 * parser.c - what the grammar's files stand on: sticky errors, two tokens of sight, memory from the
 * module's arena. See parse.h for how errors travel.
 */
#include "ptx/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCERPT_BYTES  100 /* of the source line, in an error */
#define EXCERPT_BEFORE 60  /* of them, at most, before the place */
#define FIRST_CAPACITY 16

static uint32_t column_of(const struct gsb_ptx_token *t)
{
	return (uint32_t)(t->at - t->line_at) + 1;
}

/* The source line around the token, and a caret under it. What is not printable becomes '?'. */
static void add_excerpt(const struct gsb_ptx_parser *p, const struct gsb_ptx_token *t, char *out,
			size_t size)
{
	char line[EXCERPT_BYTES + 1];
	size_t before = (size_t)(t->at - t->line_at);
	const char *from = before > EXCERPT_BEFORE ? t->at - EXCERPT_BEFORE : t->line_at;
	size_t n = 0;

	for (const char *c = from; c < p->lx.end && *c != '\n' && n < EXCERPT_BYTES; c++) {
		char shown = *c == '\t' ? ' ' : *c;

		line[n++] = shown >= ' ' && shown <= '~' ? shown : '?';
	}
	line[n] = '\0';
	snprintf(out, size, "\n  %s\n  %*s", line, (int)(t->at - from) + 1, "^");
}

/* From here on all is END: every loop of the grammar ends by itself. */
static void stop(struct gsb_ptx_parser *p, int err)
{
	p->err = err;
	p->lx.at = p->lx.end;
	p->tok.kind = p->next.kind = GSB_PTX_TOKEN_END;
	p->tok.len = p->next.len = 0;
}

static void vreport(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt,
		    va_list ap) GSB_PRINTF(3, 0);

static void vreport(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt,
		    va_list ap)
{
	struct gsb_ptx_error *e = p->report;
	size_t n;

	if (!e)
		return;
	*e = (struct gsb_ptx_error){.line = at->line, .column = column_of(at)};
	snprintf(e->text, sizeof(e->text), "%u:%u: ", e->line, e->column);
	n = strlen(e->text);
	vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
	n = strlen(e->text);
	add_excerpt(p, at, e->text + n, sizeof(e->text) - n);
}

static void report(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt, ...)
	GSB_PRINTF(3, 4);

static void report(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vreport(p, at, fmt, ap);
	va_end(ap);
}

void gsb_ptx_fail(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt, ...)
{
	va_list ap;

	if (p->err)
		return;
	va_start(ap, fmt);
	vreport(p, at, fmt, ap);
	va_end(ap);
	stop(p, -EILSEQ);
}

void gsb_ptx_fail_limit(struct gsb_ptx_parser *p, const char *what, uint64_t limit)
{
	if (p->err)
		return;
	report(p, &p->tok, "too many or too large: %s; the limit is %llu", what,
	       (unsigned long long)limit);
	stop(p, -EILSEQ);
}

void gsb_ptx_fail_memory(struct gsb_ptx_parser *p)
{
	if (p->err)
		return;
	report(p, &p->tok, "out of memory: a module may take up to %zu MiB",
	       GSB_PTX_MAX_ARENA_BYTES >> 20);
	stop(p, -ENOMEM);
}

/* A bad token becomes an error when it is looked at, not when it is merely next. */
void gsb_ptx_advance(struct gsb_ptx_parser *p)
{
	if (p->err)
		return;
	p->tok = p->next;
	if (p->tok.kind == GSB_PTX_TOKEN_BAD) {
		gsb_ptx_fail(p, &p->tok, "%s", p->tok.bad);
		return;
	}
	if (p->tok.kind != GSB_PTX_TOKEN_END)
		gsb_ptx_lex_next(&p->lx, &p->next);
}

static bool token_is(const struct gsb_ptx_token *t, const char *text)
{
	return t->kind != GSB_PTX_TOKEN_STRING && t->kind != GSB_PTX_TOKEN_BAD &&
	       strlen(text) == t->len && !memcmp(t->at, text, t->len);
}

bool gsb_ptx_is(const struct gsb_ptx_parser *p, const char *text)
{
	return token_is(&p->tok, text);
}

bool gsb_ptx_next_is(const struct gsb_ptx_parser *p, const char *text)
{
	return token_is(&p->next, text);
}

bool gsb_ptx_at_end(const struct gsb_ptx_parser *p)
{
	return p->tok.kind == GSB_PTX_TOKEN_END;
}

bool gsb_ptx_accept(struct gsb_ptx_parser *p, const char *text)
{
	if (!gsb_ptx_is(p, text))
		return false;
	gsb_ptx_advance(p);
	return true;
}

static void fail_expected(struct gsb_ptx_parser *p, const char *what)
{
	if (gsb_ptx_at_end(p))
		gsb_ptx_fail(p, &p->tok, "expected %s, found the end of the text", what);
	else
		gsb_ptx_fail(p, &p->tok, "expected %s, found '%.*s'", what,
			     GSB_PTX_TOKEN_ARGS(&p->tok));
}

void gsb_ptx_expect(struct gsb_ptx_parser *p, const char *text)
{
	char quoted[32];

	if (gsb_ptx_accept(p, text))
		return;
	snprintf(quoted, sizeof(quoted), "'%s'", text);
	fail_expected(p, quoted);
}

bool gsb_ptx_expect_word(struct gsb_ptx_parser *p, const char *what, struct gsb_ptx_token *tok)
{
	if (p->tok.kind != GSB_PTX_TOKEN_WORD) {
		fail_expected(p, what);
		return false;
	}
	*tok = p->tok;
	gsb_ptx_advance(p);
	return true;
}

bool gsb_ptx_expect_string(struct gsb_ptx_parser *p, const char **text)
{
	if (p->tok.kind != GSB_PTX_TOKEN_STRING) {
		fail_expected(p, "a string");
		return false;
	}
	*text = gsb_ptx_strndup(p, p->tok.at + 1, p->tok.len - 2);
	gsb_ptx_advance(p);
	return *text;
}

void *gsb_ptx_alloc(struct gsb_ptx_parser *p, size_t n, size_t size)
{
	void *mem = p->err ? NULL : gsb_arena_alloc_array(p->arena, n, size);

	if (!mem)
		gsb_ptx_fail_memory(p);
	return mem;
}

char *gsb_ptx_strndup(struct gsb_ptx_parser *p, const char *s, size_t len)
{
	char *mem = p->err ? NULL : gsb_arena_strndup(p->arena, s, len);

	if (!mem)
		gsb_ptx_fail_memory(p);
	return mem;
}

/* On the heap while it grows: in the arena every doubling would leave its old copy behind. */
void *gsb_ptx_push(struct gsb_ptx_parser *p, struct gsb_ptx_vec *v, size_t size, const char *what,
		   uint32_t max)
{
	uint32_t cap = v->cap ? v->cap * 2 : FIRST_CAPACITY;
	void *items;

	if (v->n >= max)
		gsb_ptx_fail_limit(p, what, max);
	if (p->err)
		return NULL;
	if (v->n == v->cap) {
		items = reallocarray(v->items, cap, size);
		if (!items) {
			gsb_ptx_fail_memory(p);
			return NULL;
		}
		v->items = items;
		v->cap = cap;
	}
	return memset((char *)v->items + v->n++ * size, 0, size);
}

void *gsb_ptx_vec_copy(struct gsb_ptx_parser *p, const struct gsb_ptx_vec *v, size_t size)
{
	void *mem = gsb_ptx_alloc(p, v->n, size);

	if (mem && v->n)
		memcpy(mem, v->items, v->n * size);
	return mem;
}

void gsb_ptx_vec_finish(struct gsb_ptx_vec *v)
{
	free(v->items);
	*v = (struct gsb_ptx_vec){0};
}

/*
 * What keeps the innermost scope from declaring this name. Order tells the scope: what was declared before the mark is
 * of a scope around this one, and hidden.
 */
static struct gsb_ptx_name *taken_by(const struct gsb_ptx_parser *p,
				     const struct gsb_ptx_token *tok, enum gsb_ptx_name_kind kind)
{
	struct gsb_ptx_name *e = kind == GSB_PTX_NAME_RANGE
					 ? gsb_ptx_names_range(&p->names, tok->at, tok->len)
					 : gsb_ptx_names_get(&p->names, tok->at, tok->len);

	if (e && e->order >= p->scope_mark)
		return e;
	if (kind != GSB_PTX_NAME_REG && kind != GSB_PTX_NAME_VAR)
		return NULL;
	return gsb_ptx_names_covering(&p->names, tok->at, tok->len, p->scope_mark);
}

struct gsb_ptx_name *gsb_ptx_declare(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				     enum gsb_ptx_name_kind kind)
{
	struct gsb_ptx_name *e = taken_by(p, tok, kind);

	if (e) {
		gsb_ptx_fail(p, tok, "'%.*s' is already declared in line %u",
			     GSB_PTX_TOKEN_ARGS(tok), e->line);
		return NULL;
	}
	if (++p->n_symbols > GSB_PTX_MAX_SYMBOLS)
		gsb_ptx_fail_limit(p, "names", GSB_PTX_MAX_SYMBOLS);
	if (p->err)
		return NULL;
	e = gsb_ptx_names_add(&p->names, tok->at, tok->len);
	if (!e) {
		gsb_ptx_fail_memory(p);
		return NULL;
	}
	e->kind = kind;
	e->line = tok->line;
	return e;
}
