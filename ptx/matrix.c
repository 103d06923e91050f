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
	[GSB_PTX_MATRIX_B1] = {"b1", 1},
};

static const struct {
	const char *name;
	uint8_t m, n, k;
} shapes[] = {
	{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16}, {"m8n32k16", 8, 32, 16},
	{"m16n16k8", 16, 16, 8},   {"m8n8k4", 8, 8, 4},	    {"m8n8k32", 8, 8, 32},
	{"m8n8k128", 8, 8, 128},
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

static bool take_shape(struct words *w, struct gsb_ptx_matrix *out)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(shapes); i++) {
		if (!take(w, shapes[i].name))
			continue;
		out->m = shapes[i].m & 63;
		out->n = shapes[i].n & 63;
		out->k = shapes[i].k;
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

/* The type of sums that goes with one of factors; f16 has the other, too. */
static unsigned int sum_of(unsigned int factor)
{
	switch (factor) {
	case GSB_PTX_MATRIX_F64: return GSB_PTX_MATRIX_F64;
	case GSB_PTX_MATRIX_F16:
	case GSB_PTX_MATRIX_BF16:
	case GSB_PTX_MATRIX_TF32: return GSB_PTX_MATRIX_F32;
	default: return GSB_PTX_MATRIX_S32;
	}
}

static bool sum_goes_with(unsigned int sum, unsigned int factor)
{
	return sum == sum_of(factor) || (factor == GSB_PTX_MATRIX_F16 && sum == GSB_PTX_MATRIX_F16);
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

	if (!take_layout(w, &col) || !take_shape(w, out))
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

static bool decode_mma(struct words *w, struct gsb_ptx_matrix *out)
{
	bool and = take(w, "and"), popc = (and || take(w, "xor")) && take(w, "popc"), col_a, col_b;

	if (!take(w, "sync"))
		return false;
	take(w, "aligned");
	if (!take_layout(w, &col_a) || !take_layout(w, &col_b) || !take_shape(w, out))
		return false;
	take(w, "rn");
	if (!take_types(w, out))
		return false;
	if (out->a == GSB_PTX_MATRIX_F64)
		take(w, "rn");
	out->saturate = out->d == GSB_PTX_MATRIX_S32 && popc == false && take(w, "satfinite");
	out->col_a = col_a;
	out->col_b = col_b;
	out->is_and = and;
	return popc == (out->a == GSB_PTX_MATRIX_B1) && layout_fits(out->a, !col_a && col_b);
}

bool gsb_ptx_matrix_decode(const char *spelling, size_t len, struct gsb_ptx_matrix *out)
{
	static const char *const accesses[] = {"load.a", "load.b", "load.c", "store.d"};
	struct words w = {spelling, spelling + len};
	struct gsb_ptx_matrix m = {.what = GSB_PTX_MATRIX_MMA};
	bool ok;

	if (len < 4 || memcmp(spelling, "wmma", 4))
		return false;
	w.at += 4;
	for (size_t i = 0; i < GSB_ARRAY_LEN(accesses); i++) {
		size_t n = strlen(accesses[i]) + 1;

		if ((size_t)(w.end - w.at) > n && *w.at == '.' &&
		    !memcmp(w.at + 1, accesses[i], n - 1)) {
			m.what = i & 7;
			w.at += n;
			break;
		}
	}
	if (m.what == GSB_PTX_MATRIX_MMA) {
		ok = take(&w, "mma") && decode_mma(&w, &m);
	} else {
		ok = take(&w, "sync");
		take(&w, "aligned");
		ok = ok && decode_access(&w, &m);
	}
	if (!ok || w.at != w.end)
		return false;
	*out = m;
	return true;
}

/* Factors of .f16 take eight registers whatever the shape: elements are there more than once then. */
struct gsb_ptx_fragment gsb_ptx_matrix_fragment(const struct gsb_ptx_matrix *m, char which)
{
	struct gsb_ptx_fragment f = {.rows = m->m, .cols = m->n};
	bool factor = which == 'a' || which == 'b';

	f.type = which == 'a' ? m->a : which == 'b' ? m->b : which == 'c' ? m->c : m->d;
	if (which == 'a')
		f.cols = m->k;
	else if (which == 'b')
		f.rows = m->k;
	f.bits = types[f.type].bits;
	f.reg_bytes = f.bits > 32 ? 8 : 4;
	f.n_regs = factor && f.type == GSB_PTX_MATRIX_F16
			   ? 8
			   : f.rows * f.cols * f.bits / 32 / (8 * f.reg_bytes);
	return f;
}
