/*
 * lex.h - PTX text cut into tokens, one at a time: private to ptx/.
 *
 * A token points into the text and owns nothing. An opcode with its modifiers ("ld.global.v4.u32") and
 * a special register with its axis ("%tid.x") are one word; a directive (".reg") is a token of its own.
 */
#ifndef GSB_PTX_LEX_H
#define GSB_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gsb_ptx_token_kind {
	GSB_PTX_TOKEN_END,
	GSB_PTX_TOKEN_BAD,    /* see ->bad */
	GSB_PTX_TOKEN_WORD,   /* name, opcode, special register */
	GSB_PTX_TOKEN_DOT,    /* ".reg", the dot included */
	GSB_PTX_TOKEN_NUMBER, /* value, form */
	GSB_PTX_TOKEN_STRING, /* the quotes included, no escapes */
	GSB_PTX_TOKEN_PUNCT,  /* one character, or one of << >> <= >= == != && || */
};

struct gsb_ptx_token {
	uint8_t kind;
	uint8_t form;	/* NUMBER: enum gsb_ptx_imm_form */
	uint64_t value; /* NUMBER: the integer, or the bits of the float */
	const char *at; /* first character */
	uint32_t len;
	uint32_t line;	     /* from 1 */
	const char *line_at; /* first character of the line */
	const char *bad;     /* BAD: why, a constant string */
};

struct gsb_ptx_lexer {
	const char *at, *end;
	const char *line_at;
	uint32_t line;
	uint32_t n_tokens;
};

void gsb_ptx_lex_init(struct gsb_ptx_lexer *lx, const char *text, size_t len);

/* The next token. After END or BAD, more of the same. */
void gsb_ptx_lex_next(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok);

#endif
