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

/* The .extern of its declaration; NULL: there is none. */
static const char *find_extern(const char *text, size_t len, const char *name)
{
	const char *declares = NULL; /* .extern of what is being read */
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	gsb_ptx_lex_init(&lx, text, len);
	while (next(&lx, &t)) {
		if (is(&t, GSB_PTX_TOKEN_DOT, ".extern"))
			declares = t.at;
		else if (is(&t, GSB_PTX_TOKEN_PUNCT, ";"))
			declares = NULL;
		else if (declares && is(&t, GSB_PTX_TOKEN_WORD, name))
			return declares;
	}
	return NULL;
}

bool gsb_ptx_redirect(char *text, size_t len, const char *from, const char *to)
{
	const char *declares = find_extern(text, len, from);
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	if (!declares)
		return false;
	memset(text + (declares - text), ' ', strlen(".extern"));
	gsb_ptx_lex_init(&lx, text, len);
	while (next(&lx, &t))
		if (is(&t, GSB_PTX_TOKEN_WORD, from))
			memcpy(text + (t.at - text), to, t.len);
	return true;
}
