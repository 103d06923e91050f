/*
 * emu_rows.c - see emu_rows.h.
 */
#include "tests/unit/emu_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "tests/unit/emu_reference.h"

/* ---- the inputs ---- */

static const uint64_t ints[] = {
	0,
	1,
	2,
	3,
	5,
	7,
	8,
	9,
	15,
	16,
	17,
	31,
	32,
	33,
	63,
	64,
	100,
	127,
	128,
	255,
	256,
	32767,
	32768,
	65535,
	65536,
	0x3210,
	0x5678,
	0x80ff7f01,
	0x7fffffff,
	0x80000000,
	0x80000001,
	0xfffffffe,
	0xffffffff,
	0x100000000,
	0x123456789abcdef0,
	INT64_MAX,
	UINT64_C(1) << 63,
	UINT64_MAX - 1,
	UINT64_MAX,
};

static const double reals[] = {
	0.0,
	-0.0,
	1,
	-1,
	0.5,
	1.5,
	2.5,
	-2.5,
	-0.25,
	3.14159,
	1e-3,
	1.0 / 3,
	100.75,
	255.5,
	-128.5,
	65504,
	65519,
	65520,
	1e5,
	-7e4,
	0x1p31,
	-0x1p31,
	0x1p32,
	0x1p63,
	-0x1p63,
	0x1p64,
	1e30,
	-1e-30,
	FLT_MIN,
	0x1p-149,
	-0x1p-140,
	FLT_MAX,
	-FLT_MAX,
	0x1p126,
	0x1p127,
	6e-8,
	0x1p-25,
	0x1.8p-24,
	NAN,
	INFINITY,
	-INFINITY,
	0x1.fffffep-127,
	0x1p-1030,
	1e300,
	0x1.0000010000001p0,
	0x1.000001p0,
	0x1.ffffffp127,
	-4.4e-310,
	0x1.fffffep-1,
	0x1.ffffffffp-127,
};

enum { N_INTS = GSB_ARRAY_LEN(ints), N_REALS = GSB_ARRAY_LEN(reals) };
/* All pairs of the first two, rounded up to whole warps; the third walks along. */
enum {
	MAX_EDGE = N_REALS > N_INTS ? N_REALS : N_INTS,
	N_EDGES = (MAX_EDGE * MAX_EDGE + T_ROW_THREADS - 1) / T_ROW_THREADS * T_ROW_THREADS
};

const uint32_t t_n_edges = N_EDGES;

const struct t_type_words t_types[] = {
	[T_NONE] = {"", "", 0},
	[T_U16] = {"b16", "u16", 2},
	[T_S16] = {"b16", "u16", 2},
	[T_U32] = {"b32", "u32", 4},
	[T_S32] = {"b32", "u32", 4},
	[T_U64] = {"b64", "u64", 8},
	[T_S64] = {"b64", "u64", 8},
	[T_F32] = {"f32", "f32", 4, true},
	[T_F64] = {"f64", "f64", 8, true},
	[T_PRED] = {"b32", "u32", 4},
};

static void fill(void *to, enum t_type t, uint32_t i)
{
	float f = (float)reals[i % N_REALS];
	double d = reals[i % N_REALS];
	const void *from = t == T_F32	? (const void *)&f
			   : t == T_F64 ? (const void *)&d
					: &ints[i % N_INTS];

	memcpy(to, from, t_types[t].bytes);
}

void t_row_fill_edges(const struct t_row *r, void *const column[4])
{
	uint32_t n_a = t_types[r->type[1]].is_float ? N_REALS : N_INTS;

	for (uint32_t i = 0; i < N_EDGES; i++) {
		const uint32_t nth[4] = {0, i % n_a, i / n_a, i * 7 + i / n_a};

		for (int k = 1; k < 4; k++)
			fill((char *)column[k] + (size_t)i * t_types[r->type[k]].bytes, r->type[k],
			     nth[k]);
	}
}

union t_value t_row_at(const struct t_row *r, const void *column, unsigned int k, uint32_t i)
{
	unsigned int bytes = t_types[r->type[k]].bytes;
	union t_value v = {.u64 = 0};

	memcpy(&v, (const char *)column + (size_t)i * bytes, bytes);
	return v;
}

/* ---- the rows ---- */

#define ROW(D, A, B, C, expr, line)                                                 \
	static void expect_##line(const union t_value *a_, const union t_value *b_, \
				  const union t_value *c_, union t_value *d_)       \
	{                                                                           \
		__typeof__(a_->A) a = a_->A;                                        \
		__typeof__(b_->B) b = b_->B;                                        \
		__typeof__(c_->C) c = c_->C;                                        \
		(void)a, (void)b, (void)c;                                          \
		d_->D = (expr);                                                     \
	}
#define ROW_AT(D, A, B, C, expr, line) ROW(D, A, B, C, expr, line)
#define OP(D, A, B, C, text, expr)     ROW_AT(D, A, B, C, expr, __LINE__)
#define NEAR(D, A, B, C, text, expr)   ROW_AT(D, A, B, C, expr, __LINE__)
#include "tests/unit/emu_ops.def"

/* The columns' types as emu_ops.def spells them. */
#define TYPE_x	  T_NONE
#define TYPE_u16  T_U16
#define TYPE_s16  T_S16
#define TYPE_u32  T_U32
#define TYPE_s32  T_S32
#define TYPE_u64  T_U64
#define TYPE_s64  T_S64
#define TYPE_f32  T_F32
#define TYPE_f64  T_F64
#define TYPE_pred T_PRED
#define TYPES(D, A, B, C)                              \
	{                                              \
		TYPE_##D, TYPE_##A, TYPE_##B, TYPE_##C \
	}
#define NAME(line)    expect_##line
#define NAME_AT(line) NAME(line)
const struct t_row t_rows[] = {
#define OP(D, A, B, C, text, expr)   {TYPES(D, A, B, C), text, NAME_AT(__LINE__), false},
#define NEAR(D, A, B, C, text, expr) {TYPES(D, A, B, C), text, NAME_AT(__LINE__), true},
#include "tests/unit/emu_ops.def"
};
const size_t t_n_rows = GSB_ARRAY_LEN(t_rows);

/* ---- the text ---- */

static size_t declare(char *out, size_t size, const struct t_row *r)
{
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		if (r->type[i])
			n += (size_t)snprintf(out + n, size - n, ".reg .%s %c;\n",
					      t_types[r->type[i]].reg, "dabc"[i]);
	}
	return n;
}

static size_t load(char *out, size_t size, const struct t_row *r)
{
	size_t n = 0;

	for (int i = 1; i < 4; i++) {
		const struct t_type_words *t = &t_types[r->type[i]];

		if (!r->type[i])
			continue;
		n += (size_t)snprintf(
			out + n, size - n,
			"ld.param.u64 %%rd1, [p%d]; mad.wide.u32 %%rd1, %%r0, %u, %%rd1;\n"
			"ld.global.%s %c, [%%rd1];\n",
			i, t->bytes, t->mem, "dabc"[i]);
	}
	return n;
}

/* In the split kernel no lane is alone and none are all. */
void t_row_text(const struct t_row *r, char *out, size_t size)
{
	const char *select = r->type[0] == T_PRED ? "selp.u32 d, 1, 0, p;" : "";
	const char *stop = r->text[0] == '{' ? "" : ";";
	size_t n = (size_t)snprintf(out, size, ".version 8.6\n.target sm_90\n.address_size 64\n");

	for (int split = 0; split < 2; split++) {
		n += (size_t)snprintf(out + n, size - n,
				      ".visible .entry %s(.param .u64 p0, .param .u64 p1,\n"
				      ".param .u64 p2, .param .u64 p3) {\n.reg .pred p, q, %%s;\n"
				      ".reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n",
				      split ? "split" : "full");
		n += declare(out + n, size - n, r);
		n += (size_t)snprintf(
			out + n, size - n,
			"mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%ntid.x;\n"
			"mov.u32 %%r2, %%tid.x; mad.lo.u32 %%r0, %%r0, %%r1, %%r2;\n");
		n += load(out + n, size - n, r);
		if (split)
			n += (size_t)snprintf(out + n, size - n,
					      "rem.u32 %%r3, %%r0, 3; setp.eq.u32 %%s, %%r3, 1;\n"
					      "@%%s bra other;\n");
		n += (size_t)snprintf(out + n, size - n, "%s%s\n%s\n", r->text, stop, select);
		if (split)
			n += (size_t)snprintf(out + n, size - n,
					      "bra out;\nother: %s%s\n%s\nout:\n", r->text, stop,
					      select);
		n += (size_t)snprintf(
			out + n, size - n,
			"ld.param.u64 %%rd2, [p0]; mad.wide.u32 %%rd2, %%r0, %u, %%rd2;\n"
			"st.global.%s [%%rd2], d;\nret;\n}\n",
			t_types[r->type[0]].bytes, t_types[r->type[0]].mem);
	}
	if (n >= size)
		abort();
}

/* ---- comparison ---- */

/* Single precision arithmetic gives one NaN; moves, and conversions of other widths, keep what they can. */
static bool gives_one_nan(const struct t_row *r)
{
	static const char *const plain[] = {
		"cvt.rni", "cvt.rzi", "cvt.rmi", "cvt.rpi", "cvt.f32.f16", "add", "sub", "mul",
		"fma",	   "div",     "rcp",	 "sqrt",    "min",	   "max", "abs", "neg"};

	for (size_t i = 0; i < GSB_ARRAY_LEN(plain); i++) {
		if (r->type[0] == T_F32 && !strncmp(r->text, plain[i], strlen(plain[i])))
			return true;
	}
	return false;
}

static bool same_bits(const struct t_row *r, const union t_value *got, const union t_value *want)
{
	if (gives_one_nan(r) && isnan(want->f32))
		return bits_of(got->f32) == bits_of(one_nan());
	return !memcmp(got, want, t_types[r->type[0]].bytes);
}

static bool close_enough(const struct t_row *r, const union t_value *got, const union t_value *want)
{
	double g = r->type[0] == T_F32 ? (double)got->f32 : got->f64;
	double w = r->type[0] == T_F32 ? (double)want->f32 : want->f64;

	return g == w || fabs(g - w) <= fabs(w) * 0x1p-20 || (isnan(g) && isnan(w));
}

bool t_row_agrees(const struct t_row *r, const union t_value *got, const union t_value *want)
{
	return r->near ? close_enough(r, got, want) : same_bits(r, got, want);
}
