/*
 * matrix.c - see matrix.h.
 */
#include "ptx/matrix.h"

#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"

static const struct {
	const char *name;
	uint8_t bits;
} types[GSB_PTX_N_MATRIX_TYPES] = {
	[GSB_PTX_MATRIX_F16] = {"f16", 16},   [GSB_PTX_MATRIX_BF16] = {"bf16", 16},
	[GSB_PTX_MATRIX_TF32] = {"tf32", 32}, [GSB_PTX_MATRIX_F32] = {"f32", 32},
	[GSB_PTX_MATRIX_F64] = {"f64", 64},   [GSB_PTX_MATRIX_S32] = {"s32", 32},
	[GSB_PTX_MATRIX_U8] = {"u8", 8},      [GSB_PTX_MATRIX_S8] = {"s8", 8},
	[GSB_PTX_MATRIX_U4] = {"u4", 4},      [GSB_PTX_MATRIX_S4] = {"s4", 4},
	[GSB_PTX_MATRIX_B1] = {"b1", 1},      [GSB_PTX_MATRIX_E4M3] = {"e4m3", 8},
	[GSB_PTX_MATRIX_E5M2] = {"e5m2", 8},  [GSB_PTX_MATRIX_B16] = {"b16", 16},
};

static const struct shape {
	const char *name;
	uint16_t m, n, k;
} wmma_shapes[] =
	{
		{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16}, {"m8n32k16", 8, 32, 16},
		{"m16n16k8", 16, 16, 8},   {"m8n8k4", 8, 8, 4},	    {"m8n8k32", 8, 8, 32},
		{"m8n8k128", 8, 8, 128},   {NULL, 0, 0, 0},
},
  mma_shapes[] = {
	  {"m8n8k4", 8, 8, 4},	     {"m8n8k16", 8, 8, 16},	{"m8n8k32", 8, 8, 32},
	  {"m8n8k128", 8, 8, 128},   {"m16n8k4", 16, 8, 4},	{"m16n8k8", 16, 8, 8},
	  {"m16n8k16", 16, 8, 16},   {"m16n8k32", 16, 8, 32},	{"m16n8k64", 16, 8, 64},
	  {"m16n8k128", 16, 8, 128}, {"m16n8k256", 16, 8, 256}, {NULL, 0, 0, 0},
};

/* ---- words ---- */

/* What is left of a spelling; words are taken from its front. */
struct words {
	const char *at, *end;
};

static size_t length(const struct words *w)
{
	const char *dot =
		w->at < w->end ? memchr(w->at + 1, '.', (size_t)(w->end - w->at - 1)) : NULL;

	return (size_t)((dot ? dot : w->end) - w->at);
}

static bool take(struct words *w, const char *word)
{
	size_t len = length(w);

	if (len != strlen(word) + 1 || *w->at != '.' || memcmp(w->at + 1, word, len - 1))
		return false;
	w->at += len;
	return true;
}

static bool take_layout(struct words *w, bool *col)
{
	*col = take(w, "col");
	return *col || take(w, "row");
}

static bool take_shape(struct words *w, const struct shape *of, struct gsb_ptx_matrix *out)
{
	for (; of->name; of++) {
		if (!take(w, of->name))
			continue;
		out->m = of->m & 63;
		out->n = of->n & 63;
		out->k = of->k & 511;
		return true;
	}
	return false;
}

static bool take_rounding(struct words *w, struct gsb_ptx_matrix *out)
{
	static const char *const names[] = {"rn", "rz", "rm", "rp"};

	for (unsigned int i = 0; i < GSB_ARRAY_LEN(names); i++) {
		if (!take(w, names[i]))
			continue;
		out->rnd = i & 3;
		return true;
	}
	return false;
}

static enum gsb_ptx_matrix_type take_type(struct words *w)
{
	for (unsigned int i = 1; i < GSB_PTX_N_MATRIX_TYPES; i++) {
		if (take(w, types[i].name))
			return i;
	}
	return GSB_PTX_MATRIX_NONE;
}

static void take_space(struct words *w, struct gsb_ptx_matrix *out)
{
	if (take(w, "global"))
		out->space = GSB_PTX_SPACE_GLOBAL;
	else if (take(w, "shared") || take(w, "shared::cta"))
		out->space = GSB_PTX_SPACE_SHARED;
}

/* ---- what fits together ---- */

static bool is_shape(const struct gsb_ptx_matrix *x, unsigned int m, unsigned int n, unsigned int k)
{
	return x->m == m && x->n == n && x->k == k;
}

static bool factor_fits(const struct gsb_ptx_matrix *x, unsigned int type)
{
	switch (type) {
	case GSB_PTX_MATRIX_TF32: return is_shape(x, 16, 16, 8);
	case GSB_PTX_MATRIX_F64: return is_shape(x, 8, 8, 4);
	case GSB_PTX_MATRIX_U4:
	case GSB_PTX_MATRIX_S4: return is_shape(x, 8, 8, 32);
	case GSB_PTX_MATRIX_B1: return is_shape(x, 8, 8, 128);
	case GSB_PTX_MATRIX_F16:
	case GSB_PTX_MATRIX_BF16:
	case GSB_PTX_MATRIX_U8:
	case GSB_PTX_MATRIX_S8: return x->k == 16;
	default: return false;
	}
}

static bool sum_fits(const struct gsb_ptx_matrix *x, unsigned int type)
{
	switch (type) {
	case GSB_PTX_MATRIX_F16: return x->k == 16;
	case GSB_PTX_MATRIX_F32: return x->k == 16 || is_shape(x, 16, 16, 8);
	case GSB_PTX_MATRIX_F64: return is_shape(x, 8, 8, 4);
	case GSB_PTX_MATRIX_S32: return x->k >= 16;
	default: return false;
	}
}

/* The type of sums that goes with one of factors; f16 and e4m3 have the other, too. */
static unsigned int sum_of(unsigned int factor)
{
	switch (factor) {
	case GSB_PTX_MATRIX_F64: return GSB_PTX_MATRIX_F64;
	case GSB_PTX_MATRIX_F16:
	case GSB_PTX_MATRIX_BF16:
	case GSB_PTX_MATRIX_TF32:
	case GSB_PTX_MATRIX_E4M3: return GSB_PTX_MATRIX_F32;
	default: return GSB_PTX_MATRIX_S32;
	}
}

static bool sum_goes_with(unsigned int sum, unsigned int factor)
{
	bool short_sums = factor == GSB_PTX_MATRIX_F16 || factor == GSB_PTX_MATRIX_E4M3;

	return sum == sum_of(factor) || (short_sums && sum == GSB_PTX_MATRIX_F16);
}

/* Elements of less than a byte are along the rows of a and the columns of b. */
static bool layout_fits(unsigned int type, bool along)
{
	return types[type].bits >= 8 || along;
}

/* ---- the instructions ---- */

static bool decode_access(struct words *w, struct gsb_ptx_matrix *out)
{
	bool col;
	unsigned int type;

	if (!take_layout(w, &col) || !take_shape(w, wmma_shapes, out))
		return false;
	take_space(w, out);
	type = take_type(w);
	out->col_a = col;
	switch (out->what) {
	case GSB_PTX_MATRIX_LOAD_A:
		out->a = type & 15;
		return factor_fits(out, type) && layout_fits(type, !col);
	case GSB_PTX_MATRIX_LOAD_B:
		out->b = type & 15;
		return factor_fits(out, type) && layout_fits(type, col);
	case GSB_PTX_MATRIX_LOAD_C: out->c = type & 15; break;
	default: out->d = type & 15; break;
	}
	return sum_fits(out, type);
}

/* Of f16 only the sums' types are written. */
static bool take_types(struct words *w, struct gsb_ptx_matrix *out)
{
	unsigned int d = take_type(w), a = take_type(w), b = take_type(w), c = take_type(w);

	if (!b && !c) {
		c = a;
		a = b = GSB_PTX_MATRIX_F16;
	}
	out->d = d & 15;
	out->a = a & 15;
	out->b = b & 15;
	out->c = c & 15;
	return a == b && factor_fits(out, a) && sum_goes_with(d, a) && sum_goes_with(c, a) &&
	       (d == c || a == GSB_PTX_MATRIX_F16);
}

/* .and.popc, .xor.popc; where they stand, those who write PTX do not agree. */
static bool take_popc(struct words *w, struct gsb_ptx_matrix *out)
{
	bool and = take(w, "and");

	if (!and&&!take(w, "xor"))
		return false;
	out->is_and = and;
	return take(w, "popc");
}

static bool decode_wmma(struct words *w, struct gsb_ptx_matrix *out)
{
	bool popc = take_popc(w, out), col_a, col_b, rounded;

	if (!take(w, "sync"))
		return false;
	take(w, "aligned");
	if (!take_layout(w, &col_a) || !take_layout(w, &col_b) || !take_shape(w, wmma_shapes, out))
		return false;
	rounded = take_rounding(w, out);
	if (!take_types(w, out))
		return false;
	if (out->a == GSB_PTX_MATRIX_F64 && !rounded)
		take_rounding(w, out);
	out->saturate = out->d == GSB_PTX_MATRIX_S32 && popc == false && take(w, "satfinite");
	out->col_a = col_a;
	out->col_b = col_b;
	return (!rounded || out->a == GSB_PTX_MATRIX_F64) &&
	       popc == (out->a == GSB_PTX_MATRIX_B1) && layout_fits(out->a, !col_a && col_b);
}

/* ---- mma.sync ---- */

/* Which rows of a and how many products an element of each type goes with; n is 8. */
static const struct {
	uint8_t type, m;
	uint16_t k;
} mma_products[] = {
	{GSB_PTX_MATRIX_F16, 8, 4},    {GSB_PTX_MATRIX_F16, 16, 8},   {GSB_PTX_MATRIX_F16, 16, 16},
	{GSB_PTX_MATRIX_BF16, 16, 8},  {GSB_PTX_MATRIX_BF16, 16, 16}, {GSB_PTX_MATRIX_TF32, 16, 4},
	{GSB_PTX_MATRIX_TF32, 16, 8},  {GSB_PTX_MATRIX_F64, 8, 4},    {GSB_PTX_MATRIX_F64, 16, 4},
	{GSB_PTX_MATRIX_F64, 16, 8},   {GSB_PTX_MATRIX_F64, 16, 16},  {GSB_PTX_MATRIX_U8, 8, 16},
	{GSB_PTX_MATRIX_U8, 16, 16},   {GSB_PTX_MATRIX_U8, 16, 32},   {GSB_PTX_MATRIX_U4, 8, 32},
	{GSB_PTX_MATRIX_U4, 16, 32},   {GSB_PTX_MATRIX_U4, 16, 64},   {GSB_PTX_MATRIX_B1, 8, 128},
	{GSB_PTX_MATRIX_B1, 16, 128},  {GSB_PTX_MATRIX_B1, 16, 256},  {GSB_PTX_MATRIX_E4M3, 16, 16},
	{GSB_PTX_MATRIX_E4M3, 16, 32},
};

/* Types that may be mixed are as one of them. */
static unsigned int family_of(unsigned int type)
{
	switch (type) {
	case GSB_PTX_MATRIX_S8: return GSB_PTX_MATRIX_U8;
	case GSB_PTX_MATRIX_S4: return GSB_PTX_MATRIX_U4;
	case GSB_PTX_MATRIX_E5M2: return GSB_PTX_MATRIX_E4M3;
	default: return type;
	}
}

static bool mma_factors_fit(const struct gsb_ptx_matrix *x)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(mma_products); i++) {
		if (mma_products[i].type == family_of(x->a) && mma_products[i].m == x->m &&
		    mma_products[i].k == x->k)
			return family_of(x->a) == family_of(x->b);
	}
	return false;
}

static bool mma_sums_fit(const struct gsb_ptx_matrix *x)
{
	if (x->layout == GSB_PTX_LAYOUT_QUADS && x->d == GSB_PTX_MATRIX_F32 &&
	    x->c == GSB_PTX_MATRIX_F16)
		return true;
	return x->c == x->d && sum_goes_with(x->c, family_of(x->a));
}

static bool mma_fits(const struct gsb_ptx_matrix *x)
{
	return mma_factors_fit(x) && mma_sums_fit(x) &&
	       (x->layout == GSB_PTX_LAYOUT_QUADS || (!x->col_a && x->col_b));
}

/* What may stand before the types, or behind them: a rounding, .satfinite, .xor.popc. */
static bool take_extra(struct words *w, struct gsb_ptx_matrix *out, bool *rounded, bool *popc)
{
	bool saturate = take(w, "satfinite");

	if (saturate && out->saturate)
		return false;
	out->saturate |= saturate;
	if (!*rounded)
		*rounded = take_rounding(w, out);
	if (!*popc)
		*popc = take_popc(w, out);
	return true;
}

static bool decode_mma(struct words *w, struct gsb_ptx_matrix *out)
{
	bool popc = take_popc(w, out), rounded = false, col_a, col_b;

	out->what = GSB_PTX_MATRIX_MMA;
	if (!take(w, "sync") || !take(w, "aligned") || !take_shape(w, mma_shapes, out) ||
	    !take_layout(w, &col_a) || !take_layout(w, &col_b) ||
	    !take_extra(w, out, &rounded, &popc))
		return false;
	out->d = take_type(w) & 15;
	out->a = take_type(w) & 15;
	out->b = take_type(w) & 15;
	out->c = take_type(w) & 15;
	if (!take_extra(w, out, &rounded, &popc))
		return false;
	out->col_a = col_a;
	out->col_b = col_b;
	out->layout = out->a == GSB_PTX_MATRIX_F16 && out->m == 8 ? GSB_PTX_LAYOUT_QUADS
								  : GSB_PTX_LAYOUT_GROUPS;
	return mma_fits(out) && rounded <= (out->a == GSB_PTX_MATRIX_F64) &&
	       popc == (out->a == GSB_PTX_MATRIX_B1) &&
	       out->saturate <= (out->d == GSB_PTX_MATRIX_S32 && !popc);
}

/* ---- tiles ---- */

/* .m8n8, .x1 .x2 .x4 and .trans, in any order but each once; a move has one tile, and is always .trans. */
static bool decode_tiles(struct words *w, struct gsb_ptx_matrix *out, unsigned int what)
{
	static const char *const numbers[] = {"x1", "x2", "x4"};
	bool is_move = what == GSB_PTX_MATRIX_TRANSPOSE, shape = false;
	unsigned int n = is_move;

	if (!take(w, "sync") || !take(w, "aligned"))
		return false;
	for (const char *from = NULL; from != w->at;) {
		from = w->at;
		shape = take(w, "m8n8") || shape;
		out->trans |= take(w, "trans");
		for (unsigned int i = 0; !n && i < GSB_ARRAY_LEN(numbers); i++)
			n = take(w, numbers[i]) ? 1u << i : n;
	}
	if (!is_move && (take(w, "shared") || take(w, "shared::cta")))
		out->space = GSB_PTX_SPACE_SHARED;
	out->what = what & 7;
	out->layout = GSB_PTX_LAYOUT_GROUPS;
	out->m = 8 * n & 63;
	out->n = 8;
	out->d = GSB_PTX_MATRIX_B16;
	return shape && n && (!is_move || out->trans) && take(w, "b16");
}

/* ---- all of them ---- */

static bool decode_load_or_store(struct words *w, struct gsb_ptx_matrix *out)
{
	static const char *const accesses[] = {"load", "a", "load", "b", "load", "c", "store", "d"};
	struct words from = *w;

	for (unsigned int i = 0; i < GSB_ARRAY_LEN(accesses); i += 2) {
		*w = from;
		if (!take(w, accesses[i]) || !take(w, accesses[i + 1]))
			continue;
		out->what = i / 2 & 7;
		if (!take(w, "sync"))
			return false;
		take(w, "aligned");
		return decode_access(w, out);
	}
	return false;
}

static bool decode_word(struct words *w, struct gsb_ptx_matrix *out, const char *word, size_t len)
{
#define IS(s) (len == strlen(s) && !memcmp(word, s, len))
	if (IS("mma"))
		return decode_mma(w, out);
	if (IS("ldmatrix"))
		return decode_tiles(w, out, GSB_PTX_MATRIX_LOAD_TILES);
	if (IS("stmatrix"))
		return decode_tiles(w, out, GSB_PTX_MATRIX_STORE_TILES);
	if (IS("movmatrix"))
		return decode_tiles(w, out, GSB_PTX_MATRIX_TRANSPOSE);
	if (!IS("wmma"))
		return false;
#undef IS
	if (!take(w, "mma"))
		return decode_load_or_store(w, out);
	out->what = GSB_PTX_MATRIX_MMA;
	return decode_wmma(w, out);
}

bool gsb_ptx_matrix_decode(const char *spelling, size_t len, struct gsb_ptx_matrix *out)
{
	const char *dot = memchr(spelling, '.', len);
	struct words w = {dot, spelling + len};
	struct gsb_ptx_matrix m = {.what = 0};

	if (!dot || !decode_word(&w, &m, spelling, (size_t)(dot - spelling)) || w.at != w.end)
		return false;
	*out = m;
	return true;
}

bool gsb_ptx_matrix_has_memory(const struct gsb_ptx_matrix *m)
{
	return m->what != GSB_PTX_MATRIX_MMA && m->what != GSB_PTX_MATRIX_TRANSPOSE;
}

/* ---- fragments ---- */

/* Of one lane. Factors of .f16 take eight registers in wmma, whatever the shape: elements are there more than once
 * then; and an element of m8n8k4 is with one of eight lanes, not of 32. */
static uint32_t n_regs(const struct gsb_ptx_matrix *m, const struct gsb_ptx_fragment *f,
		       bool factor)
{
	uint32_t lanes = m->layout == GSB_PTX_LAYOUT_QUADS ? 8 : 32;

	if (m->layout == GSB_PTX_LAYOUT_FLAT && factor && f->type == GSB_PTX_MATRIX_F16)
		return 8;
	return f->rows * f->cols * f->bits / (8 * f->reg_bytes) / lanes;
}

struct gsb_ptx_fragment gsb_ptx_matrix_fragment(const struct gsb_ptx_matrix *m, char which)
{
	struct gsb_ptx_fragment f = {.rows = m->m, .cols = m->n, .in_word = 1};
	bool factor = which == 'a' || which == 'b';

	f.type = which == 'a' ? m->a : which == 'b' ? m->b : which == 'c' ? m->c : m->d;
	f.bits = types[f.type].bits;
	if (f.type == GSB_PTX_MATRIX_B1)
		f.bits = f.in_word = 32;
	if (which == 'a')
		f.cols = m->k / f.in_word;
	else if (which == 'b')
		f.rows = m->k / f.in_word;
	f.reg_bytes = f.bits > 32 ? 8 : 4;
	f.n_regs = n_regs(m, &f, factor);
	f.lines_are_cols = which == 'b';
	f.lines = f.lines_are_cols ? f.cols : f.rows;
	f.run = factor ? f.reg_bytes * 8 / f.bits : 2;
	return f;
}
