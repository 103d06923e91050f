/*
 * consts.c - constant expressions, as array sizes, initialisers and immediates may hold them.
 *
 * The operators are C's, on 64-bit integers; nothing here overflows, divides by zero or shifts too far,
 * whatever the text says. A float stands alone or behind a minus: PTX computes with integers only.
 */
#include "ptx/parse.h"

#include <string.h>

#define TERNARY_PRECEDENCE 1

static const struct {
	char text[3];
	uint8_t precedence;
} operators[] = {
	{"||", 2}, {"&&", 3}, {"|", 4},	 {"^", 5},  {"&", 6},  {"==", 7},
	{"!=", 7}, {"<", 8},  {">", 8},	 {"<=", 8}, {">=", 8}, {"<<", 9},
	{">>", 9}, {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11},
};

static void parse_binary(struct gsb_ptx_parser *p, int min_precedence, struct gsb_ptx_const *out);

/* One level deeper, in expressions; false (and an error) when that is too deep. */
static bool enter(struct gsb_ptx_parser *p)
{
	if (p->nesting >= GSB_PTX_MAX_NESTING) {
		gsb_ptx_fail_limit(p, "levels of an expression", GSB_PTX_MAX_NESTING);
		return false;
	}
	p->nesting++;
	return true;
}

static void parse_number(struct gsb_ptx_parser *p, struct gsb_ptx_const *out)
{
	const struct gsb_ptx_token *t = &p->tok;

	if (t->kind == GSB_PTX_TOKEN_NUMBER) {
		out->form = t->form;
		out->i = (int64_t)t->value;
		out->is_unsigned = t->form == GSB_PTX_IMM_INT && t->value > INT64_MAX;
	} else if (gsb_ptx_is(p, "WARP_SZ")) {
		out->i = 32;
	} else {
		gsb_ptx_fail(p, t, "expected a number, found '%.*s'", GSB_PTX_TOKEN_ARGS(t));
	}
	gsb_ptx_advance(p);
}

/* primary = number | "WARP_SZ" | "(" ".s64" | ".u64" ")" unary | "(" expression ")" */
static void parse_primary(struct gsb_ptx_parser *p, struct gsb_ptx_const *out)
{
	if (!gsb_ptx_accept(p, "(")) {
		parse_number(p, out);
		return;
	}
	if (gsb_ptx_is(p, ".s64") || gsb_ptx_is(p, ".u64")) {
		bool is_unsigned = gsb_ptx_is(p, ".u64");

		gsb_ptx_advance(p);
		gsb_ptx_expect(p, ")");
		parse_number(p, out);
		out->is_unsigned = is_unsigned;
		return;
	}
	parse_binary(p, TERNARY_PRECEDENCE, out);
	gsb_ptx_expect(p, ")");
}

static void negate(struct gsb_ptx_const *c)
{
	switch (c->form) {
	case GSB_PTX_IMM_F32: c->i ^= (int64_t)1 << 31; break;
	case GSB_PTX_IMM_F64: c->i ^= INT64_MIN; break;
	default: c->i = (int64_t)(0 - (uint64_t)c->i);
	}
}

static bool need_integer(struct gsb_ptx_parser *p, const struct gsb_ptx_const *c)
{
	if (c->form == GSB_PTX_IMM_INT)
		return true;
	gsb_ptx_fail(p, &p->tok, "this operator takes integers only");
	return false;
}

/* unary = ("+" | "-" | "!" | "~") unary | primary */
static void parse_unary(struct gsb_ptx_parser *p, struct gsb_ptx_const *out)
{
	char op = p->tok.kind == GSB_PTX_TOKEN_PUNCT && p->tok.len == 1 ? *p->tok.at : '\0';

	if (!enter(p))
		return;
	if (!op || !strchr("+-!~", op)) {
		parse_primary(p, out);
		p->nesting--;
		return;
	}
	gsb_ptx_advance(p);
	parse_unary(p, out);
	if (op == '-')
		negate(out);
	else if (op != '+' && need_integer(p, out))
		out->i = op == '!' ? !out->i : ~out->i;
	p->nesting--;
}

static bool divide(struct gsb_ptx_const *l, const struct gsb_ptx_const *r, bool is_unsigned,
		   bool rem)
{
	uint64_t a = (uint64_t)l->i, b = (uint64_t)r->i;

	if (b == 0)
		return false;
	if (is_unsigned)
		l->i = (int64_t)(rem ? a % b : a / b);
	else if (r->i == -1) /* INT64_MIN / -1 wraps, as the negation does */
		l->i = rem ? 0 : (int64_t)(0 - a);
	else
		l->i = rem ? l->i % r->i : l->i / r->i;
	return true;
}

static int64_t shift(const struct gsb_ptx_const *l, int64_t by, bool left)
{
	bool too_far = by < 0 || by > 63;

	if (left)
		return too_far ? 0 : (int64_t)((uint64_t)l->i << by);
	if (l->is_unsigned)
		return too_far ? 0 : (int64_t)((uint64_t)l->i >> by);
	if (l->i < 0) /* fills with ones from the left */
		return too_far ? -1 : ~(~l->i >> by);
	return too_far ? 0 : l->i >> by;
}

static bool less(const struct gsb_ptx_const *l, const struct gsb_ptx_const *r, bool is_unsigned)
{
	return is_unsigned ? (uint64_t)l->i < (uint64_t)r->i : l->i < r->i;
}

/* l = l op r; false for a division by zero. */
static bool apply(const char *op, struct gsb_ptx_const *l, const struct gsb_ptx_const *r)
{
	bool is_unsigned = l->is_unsigned || r->is_unsigned, ok = true;
	uint64_t a = (uint64_t)l->i, b = (uint64_t)r->i;

	switch (op[0] << 8 | op[1]) {
	case '|' << 8 | '|': l->i = a || b; break;
	case '&' << 8 | '&': l->i = a && b; break;
	case '|' << 8: l->i = (int64_t)(a | b); break;
	case '^' << 8: l->i = (int64_t)(a ^ b); break;
	case '&' << 8: l->i = (int64_t)(a & b); break;
	case '=' << 8 | '=': l->i = a == b; break;
	case '!' << 8 | '=': l->i = a != b; break;
	case '<' << 8: l->i = less(l, r, is_unsigned); break;
	case '>' << 8: l->i = less(r, l, is_unsigned); break;
	case '<' << 8 | '=': l->i = !less(r, l, is_unsigned); break;
	case '>' << 8 | '=': l->i = !less(l, r, is_unsigned); break;
	case '<' << 8 | '<': l->i = shift(l, r->i, true); break;
	case '>' << 8 | '>': l->i = shift(l, r->i, false); break;
	case '+' << 8: l->i = (int64_t)(a + b); break;
	case '-' << 8: l->i = (int64_t)(a - b); break;
	case '*' << 8: l->i = (int64_t)(a * b); break;
	default: ok = divide(l, r, is_unsigned, op[0] == '%');
	}
	l->is_unsigned = is_unsigned;
	return ok;
}

static int operator_at(const struct gsb_ptx_parser *p)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(operators); i++) {
		if (p->tok.kind == GSB_PTX_TOKEN_PUNCT && gsb_ptx_is(p, operators[i].text))
			return (int)i;
	}
	return -1;
}

/* binary = unary (operator binary)*, by precedence; the ternary has the lowest */
static void parse_binary(struct gsb_ptx_parser *p, int min_precedence, struct gsb_ptx_const *out)
{
	struct gsb_ptx_const rhs = {0}, other = {0};
	int op;

	parse_unary(p, out);
	while ((op = operator_at(p)) >= 0 && operators[op].precedence >= min_precedence) {
		struct gsb_ptx_token at = p->tok;

		gsb_ptx_advance(p);
		rhs = (struct gsb_ptx_const){0};
		parse_binary(p, operators[op].precedence + 1, &rhs);
		if (!need_integer(p, out) || !need_integer(p, &rhs))
			return;
		if (!apply(operators[op].text, out, &rhs))
			gsb_ptx_fail(p, &at, "division by zero");
	}
	if (min_precedence > TERNARY_PRECEDENCE || !gsb_ptx_accept(p, "?") || !enter(p))
		return;
	parse_binary(p, TERNARY_PRECEDENCE, &rhs);
	gsb_ptx_expect(p, ":");
	parse_binary(p, TERNARY_PRECEDENCE, &other);
	*out = out->i ? rhs : other;
	p->nesting--;
}

void gsb_ptx_parse_const(struct gsb_ptx_parser *p, struct gsb_ptx_const *out)
{
	*out = (struct gsb_ptx_const){0};
	parse_binary(p, TERNARY_PRECEDENCE, out);
}

uint64_t gsb_ptx_parse_uint(struct gsb_ptx_parser *p, const char *what, uint64_t lo, uint64_t hi)
{
	struct gsb_ptx_token at = p->tok;
	struct gsb_ptx_const c;
	bool ok;

	gsb_ptx_parse_const(p, &c);
	ok = c.form == GSB_PTX_IMM_INT && (c.i >= 0 || c.is_unsigned) && (uint64_t)c.i >= lo &&
	     (uint64_t)c.i <= hi;
	if (!ok)
		gsb_ptx_fail(p, &at, "%s must be an integer from %llu to %llu", what,
			     (unsigned long long)lo, (unsigned long long)hi);
	return ok ? (uint64_t)c.i : lo;
}

static double as_double(const struct gsb_ptx_const *c)
{
	uint32_t bits = (uint32_t)c->i;
	double d;
	float f;

	switch (c->form) {
	case GSB_PTX_IMM_F32: memcpy(&f, &bits, sizeof(f)); return f;
	case GSB_PTX_IMM_F64: memcpy(&d, &c->i, sizeof(d)); return d;
	default: return c->is_unsigned ? (double)(uint64_t)c->i : (double)c->i;
	}
}

static int64_t f64_bits(double d)
{
	int64_t bits;

	memcpy(&bits, &d, sizeof(d));
	return bits;
}

static int64_t f32_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(f));
	return bits;
}

static bool is_small_float(enum gsb_ptx_type type)
{
	return gsb_ptx_type_is_float(type) && type != GSB_PTX_TYPE_F32 && type != GSB_PTX_TYPE_F64;
}

bool gsb_ptx_const_to_type(const struct gsb_ptx_const *c, enum gsb_ptx_type type, uint8_t *form,
			   int64_t *bits)
{
	bool want_float = gsb_ptx_type_is_float(type) || c->form != GSB_PTX_IMM_INT;
	uint32_t size = gsb_ptx_type_bytes(type);

	*form = GSB_PTX_IMM_INT;
	*bits = c->i;
	if (!want_float)
		return true;
	if ((size != 4 && size != 8) || is_small_float(type)) /* these come as integers */
		return c->form == GSB_PTX_IMM_INT;
	*form = size == 4 ? GSB_PTX_IMM_F32 : GSB_PTX_IMM_F64;
	if (c->form != *form) /* the same form keeps its bits, NaN payloads too */
		*bits = size == 4 ? f32_bits((float)as_double(c)) : f64_bits(as_double(c));
	return true;
}
