/*
 * managed.c - see managed.h. By words alone: text that our parser does not take is the driver's all the same.
 */
#include "ptx/managed.h"

#include <string.h>

#include "ptx/lex.h"

static const char word[] = ".managed";

bool gsb_ptx_has_managed(const char *text, size_t len)
{
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	if (!memmem(text, len, word, strlen(word)))
		return false;
	gsb_ptx_lex_init(&lx, text, len);
	do {
		gsb_ptx_lex_next(&lx, &t);
		if (t.kind == GSB_PTX_TOKEN_DOT && t.len == strlen(word) &&
		    !memcmp(t.at, word, t.len))
			return true;
	} while (t.kind != GSB_PTX_TOKEN_END && t.kind != GSB_PTX_TOKEN_BAD);
	return t.kind == GSB_PTX_TOKEN_BAD;
}
