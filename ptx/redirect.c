/*
 * redirect.c - see redirect.h.
 */
#include "ptx/redirect.h"

#include <string.h>

#include "ptx/lex.h"

static bool is(const struct gsb_ptx_token *t, enum gsb_ptx_token_kind kind, const char *word)
{
	return t->kind == kind && t->len == strlen(word) && !memcmp(t->at, word, t->len);
}

static bool next(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *t)
{
	gsb_ptx_lex_next(lx, t);
	return t->kind != GSB_PTX_TOKEN_END && t->kind != GSB_PTX_TOKEN_BAD;
}

/* A function of the text, at its name. */
struct func {
	const char *linkage; /* .extern; NULL: it is defined here, or another unit's */
	bool returns;	     /* a result */
	struct gsb_ptx_token name;
};

/* What it returns, in parentheses, stands in front of its name. */
static void next_name(struct gsb_ptx_lexer *lx, struct func *f)
{
	struct gsb_ptx_token *t = &f->name;
	bool more = next(lx, t);

	f->returns = is(t, GSB_PTX_TOKEN_PUNCT, "(");
	if (!f->returns)
		return;
	while (more && !is(t, GSB_PTX_TOKEN_PUNCT, ")"))
		more = next(lx, t);
	next(lx, t);
}

/* The next .func of that name. */
static bool next_func(struct gsb_ptx_lexer *lx, const char *name, struct func *out)
{
	struct gsb_ptx_token t;

	out->linkage = NULL;
	while (next(lx, &t)) {
		if (is(&t, GSB_PTX_TOKEN_DOT, ".extern"))
			out->linkage = t.at;
		if (is(&t, GSB_PTX_TOKEN_PUNCT, ";") || is(&t, GSB_PTX_TOKEN_PUNCT, "}"))
			out->linkage = NULL;
		if (!is(&t, GSB_PTX_TOKEN_DOT, ".func"))
			continue;
		next_name(lx, out);
		if (is(&out->name, GSB_PTX_TOKEN_WORD, name))
			return true;
	}
	return false;
}

bool gsb_ptx_defines(const char *text, size_t len, const char *name)
{
	struct gsb_ptx_lexer lx;
	struct func f;

	gsb_ptx_lex_init(&lx, text, len);
	while (next_func(&lx, name, &f))
		if (!f.linkage)
			return true;
	return false;
}

const char *gsb_ptx_redirect(char *text, size_t len, const char *from, const char *to,
			     const char *to_without)
{
	const char *declared = NULL;
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;
	struct func f;

	gsb_ptx_lex_init(&lx, text, len);
	while (next_func(&lx, from, &f)) {
		if (!f.linkage)
			continue;
		memset(text + (f.linkage - text), ' ', strlen(".extern"));
		declared = f.returns ? to : to_without;
	}
	gsb_ptx_lex_init(&lx, text, len);
	while (declared && next(&lx, &t))
		if (is(&t, GSB_PTX_TOKEN_WORD, from))
			memcpy(text + (t.at - text), declared, t.len);
	return declared;
}
