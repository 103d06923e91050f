/*
 * lex.c - see lex.h. Reads only inside [at, end): the text needs no NUL. Decimal fractions are read in
 * the C locale, whatever locale the process has chosen.
 */
#include "ptx/lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/ptx.h"

#define MAX_DECIMAL_CHARS 64 /* of a number with a fraction or an exponent */
#define F32_DIGITS	  8
#define F64_DIGITS	  16

void gsb_ptx_lex_init(struct gsb_ptx_lexer *lx, const char *text, size_t len)
{
	*lx = (struct gsb_ptx_lexer){
		.at = text, .end = text + strnlen(text, len), .line_at = text, .line = 1};
}

static char peek(const struct gsb_ptx_lexer *lx, size_t n)
{
	return (size_t)(lx->end - lx->at) > n ? lx->at[n] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       is_digit(c);
}

/* A percent sign begins a name and is in none: `mov.u32%r1` is two words. */
static bool is_name_start(char c)
{
	return (is_name(c) && !is_digit(c)) || c == '%';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void new_line(struct gsb_ptx_lexer *lx)
{
	lx->line++;
	lx->line_at = lx->at + 1;
}

static void skip_line(struct gsb_ptx_lexer *lx)
{
	while (lx->at < lx->end && *lx->at != '\n')
		lx->at++;
}

/* Past a comment that begins with slash and star; false, and still before it, when it has no end. */
static bool skip_comment(struct gsb_ptx_lexer *lx)
{
	struct gsb_ptx_lexer start = *lx;

	for (lx->at += 2; lx->at < lx->end; lx->at++) {
		if (*lx->at == '\n')
			new_line(lx);
		if (*lx->at == '*' && peek(lx, 1) == '/') {
			lx->at += 2;
			return true;
		}
	}
	*lx = start;
	return false;
}

/* Blanks, comments, and the "@@DWARF" lines of old compilers. */
static bool skip_blank(struct gsb_ptx_lexer *lx)
{
	for (;;) {
		char c = peek(lx, 0), c1 = peek(lx, 1);

		if (c == '\n')
			new_line(lx);
		if (c == '/' && c1 == '*') {
			if (!skip_comment(lx))
				return false;
		} else if ((c == '/' && c1 == '/') || (c == '@' && c1 == '@')) {
			skip_line(lx);
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' ||
			   c == '\v') {
			lx->at++;
		} else {
			return true;
		}
	}
}

static void bad(struct gsb_ptx_token *tok, const char *why)
{
	tok->kind = GSB_PTX_TOKEN_BAD;
	tok->bad = why;
}

/* "add.s32", "%tid.x", "ld.global.L1::evict_last.u32": a dot or :: joins when a name follows at once. */
static void lex_word(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	bool dotted = false;

	tok->kind = GSB_PTX_TOKEN_WORD;
	for (lx->at++;; lx->at++) {
		char c = peek(lx, 0);

		if (is_name(c))
			continue;
		if (c == '.' && is_name(peek(lx, 1))) {
			dotted = true;
			continue;
		}
		if (!dotted || c != ':' || peek(lx, 1) != ':' || !is_name(peek(lx, 2)))
			return;
		lx->at++;
	}
}

static void lex_directive(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	tok->kind = GSB_PTX_TOKEN_DOT;
	do {
		lx->at++;
	} while (is_name(peek(lx, 0)));
}

static void lex_string(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	tok->kind = GSB_PTX_TOKEN_STRING;
	for (lx->at++; lx->at < lx->end && *lx->at != '\n'; lx->at++) {
		if (*lx->at != '"')
			continue;
		lx->at++;
		return;
	}
	bad(tok, "the string has no end on this line");
}

/* 0f3F800000, 0d3FF0000000000000: exactly n_digits after the two letters. */
static void lex_float_bits(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok, int n_digits)
{
	uint64_t v = 0;

	lx->at += 2;
	for (int i = 0; i < n_digits; i++, lx->at++) {
		int d = hex_digit(peek(lx, 0));

		if (d < 0) {
			bad(tok, n_digits == F32_DIGITS ? "0f wants 8 hexadecimal digits"
							: "0d wants 16 hexadecimal digits");
			return;
		}
		v = v << 4 | (uint64_t)d;
	}
	tok->form = n_digits == F32_DIGITS ? GSB_PTX_IMM_F32 : GSB_PTX_IMM_F64;
	tok->value = v;
}

/* Digits of the radix; a following digit that is none (089) is then found by the caller. */
static void lex_integer(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok, unsigned int radix)
{
	uint64_t v = 0;
	int d;

	for (; (d = hex_digit(peek(lx, 0))) >= 0 && (unsigned int)d < radix; lx->at++) {
		if (gsb_mul_overflows(v, (uint64_t)radix, &v) ||
		    gsb_add_overflows(v, (uint64_t)d, &v)) {
			bad(tok, "the integer does not fit 64 bits");
			return;
		}
	}
	if (peek(lx, 0) == 'U')
		lx->at++;
	tok->value = v;
}

static bool decimal_bits(const char *s, size_t len, uint64_t *bits)
{
	char copy[MAX_DECIMAL_CHARS + 1] = "", *end;
	locale_t c_locale;
	double d;

	if (len > MAX_DECIMAL_CHARS)
		return false;
	memcpy(copy, s, len);
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return false;
	d = strtod_l(copy, &end, c_locale);
	freelocale(c_locale);
	memcpy(bits, &d, sizeof(d));
	return end == copy + len;
}

static bool is_decimal_char(char c, char before)
{
	return is_digit(c) || c == '.' || c == 'e' || c == 'E' ||
	       ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
}

/* 1.5, .5, 1e-3; the version number 9.0 too. */
static void lex_decimal(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	while (is_decimal_char(peek(lx, 0), lx->at[-(lx->at > tok->at)]))
		lx->at++;
	tok->form = GSB_PTX_IMM_F64;
	if (!decimal_bits(tok->at, (size_t)(lx->at - tok->at), &tok->value))
		bad(tok, "malformed number");
}

static bool is_fraction(const struct gsb_ptx_lexer *lx)
{
	size_t n = 0;

	while (is_digit(peek(lx, n)))
		n++;
	return peek(lx, n) == '.' || peek(lx, n) == 'e' || peek(lx, n) == 'E';
}

static void lex_number(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	char letter = peek(lx, 0) == '0' ? peek(lx, 1) : '\0';
	unsigned int radix = 0;

	tok->kind = GSB_PTX_TOKEN_NUMBER;
	tok->form = GSB_PTX_IMM_INT;
	if (letter == 'x' || letter == 'X')
		radix = 16;
	if (letter == 'b' || letter == 'B')
		radix = 2;
	if (letter == 'f' || letter == 'F') {
		lex_float_bits(lx, tok, F32_DIGITS);
	} else if (letter == 'd' || letter == 'D') {
		lex_float_bits(lx, tok, F64_DIGITS);
	} else if (radix) {
		lx->at += 2;
		if (hex_digit(peek(lx, 0)) < 0)
			bad(tok, "malformed number");
		else
			lex_integer(lx, tok, radix);
	} else if (is_fraction(lx)) {
		lex_decimal(lx, tok);
	} else {
		lex_integer(lx, tok, is_digit(letter) ? 8 : 10);
	}
	if (tok->kind != GSB_PTX_TOKEN_BAD && is_name(peek(lx, 0)))
		bad(tok, "malformed number");
}

static void lex_punct(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	static const char two[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
	char c = peek(lx, 0), c1 = peek(lx, 1);

	tok->kind = GSB_PTX_TOKEN_PUNCT;
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++) {
		if (c == two[i][0] && c1 == two[i][1]) {
			lx->at += 2;
			return;
		}
	}
	lx->at++;
	if (!strchr("()[]{}<>,;:@!~+-*/%&|^?=", c))
		bad(tok, "unexpected character");
}

/* A percent sign with no name behind it is the operator. */
static void lex_one(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	char c = peek(lx, 0);

	if (is_name_start(c) && (c != '%' || is_name(peek(lx, 1))))
		lex_word(lx, tok);
	else if (is_digit(c) || (c == '.' && is_digit(peek(lx, 1))))
		lex_number(lx, tok);
	else if (c == '.' && is_name(peek(lx, 1)))
		lex_directive(lx, tok);
	else if (c == '"')
		lex_string(lx, tok);
	else
		lex_punct(lx, tok);
}

void gsb_ptx_lex_next(struct gsb_ptx_lexer *lx, struct gsb_ptx_token *tok)
{
	bool ended = !skip_blank(lx);

	*tok = (struct gsb_ptx_token){.at = lx->at, .line = lx->line, .line_at = lx->line_at};
	if (ended) {
		bad(tok, "the comment has no end");
		return;
	}
	if (lx->at == lx->end)
		return;
	if (lx->n_tokens++ >= GSB_PTX_MAX_TOKENS) {
		bad(tok, "too many tokens");
		return;
	}
	lex_one(lx, tok);
	tok->len = (uint32_t)(lx->at - tok->at);
}
