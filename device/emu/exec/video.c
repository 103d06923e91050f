/*
 * video.c - the video instructions, one lane at a time: nearly nobody uses them, and they have thousands of
 * combinations, so that one description (code/video.h) is interpreted for each lane.
 */
#include <string.h>

#include "device/emu/code/video.h"
#include "device/emu/exec/state.h"

typedef __int128 wide; /* a product of two words, or one shifted by 32 bits */

static int64_t element(uint64_t pair, unsigned int at, unsigned int bits, bool is_signed)
{
	uint64_t up = pair << (64 - at - bits);

	return is_signed ? (int64_t)up >> (64 - bits) : (int64_t)(up >> (64 - bits));
}

static bool compare(unsigned int cmp, int64_t a, int64_t b)
{
	switch (cmp) {
	case GSB_PTX_CMP_EQ: return a == b;
	case GSB_PTX_CMP_NE: return a != b;
	case GSB_PTX_CMP_LT: return a < b;
	case GSB_PTX_CMP_LE: return a <= b;
	case GSB_PTX_CMP_GT: return a > b;
	default: return a >= b;
	}
}

static unsigned int shift_count(const struct gsb_emu_video *v, int64_t b)
{
	if (v->flags & GSB_EMU_VIDEO_WRAP)
		return (unsigned int)b & 31;
	return b > 32 ? 32 : (unsigned int)b;
}

static wide operate(const struct gsb_emu_video *v, int64_t a, int64_t b)
{
	switch (v->op) {
	case GSB_PTX_OP_VADD: return a + b;
	case GSB_PTX_OP_VSUB: return a - b;
	case GSB_PTX_OP_VABSDIFF: return a > b ? a - b : b - a;
	case GSB_PTX_OP_VMIN: return a < b ? a : b;
	case GSB_PTX_OP_VMAX: return a > b ? a : b;
	case GSB_PTX_OP_VAVRG2: return (a + b + (a + b >= 0)) >> 1;
	case GSB_PTX_OP_VSHL: return (wide)a * ((wide)1 << shift_count(v, b));
	case GSB_PTX_OP_VSHR: return a >> shift_count(v, b);
	default: return compare(v->cmp, a, b); /* vset */
	}
}

/* To the range of @bits bits. */
static wide clamp(wide value, unsigned int bits, bool is_signed)
{
	wide most = ((wide)1 << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;

	return value > most ? most : value < least ? least : value;
}

static uint32_t second(const struct gsb_emu_video *v, uint32_t d, uint32_t c)
{
	bool is_signed = v->flags & GSB_EMU_VIDEO_D_SIGNED;
	bool less = is_signed ? (int32_t)d < (int32_t)c : d < c;

	switch (v->sub) {
	case GSB_PTX_SUB_ADD: return c + d;
	case GSB_PTX_SUB_MIN: return less ? d : c;
	case GSB_PTX_SUB_MAX: return less ? c : d;
	default: return d;
	}
}

static uint32_t merged(const struct gsb_emu_video *v, unsigned int i, uint32_t value, uint32_t into)
{
	uint32_t field = (uint32_t)((UINT64_C(1) << v->d_bits) - 1) << v->d_at[i];

	return (into & ~field) | (value << v->d_at[i] & field);
}

/* (a * b) + c in full, then shifted and cut; unsigned only where nothing in it is signed. */
static uint32_t multiply_add(const struct gsb_emu_video *v, uint64_t pair, uint32_t c)
{
	int64_t a = element(pair, v->a_at[0], v->a_bits, v->flags & GSB_EMU_VIDEO_A_SIGNED);
	int64_t b = element(pair, v->b_at[0], v->b_bits, v->flags & GSB_EMU_VIDEO_B_SIGNED);
	bool is_signed = v->flags & (GSB_EMU_VIDEO_A_SIGNED | GSB_EMU_VIDEO_B_SIGNED |
				     GSB_EMU_VIDEO_NEG_AB | GSB_EMU_VIDEO_NEG_C);
	wide product = (wide)a * b, addend = is_signed ? (wide)(int32_t)c : (wide)c;

	if (v->flags & GSB_EMU_VIDEO_PO)
		addend += 1;
	else if (v->flags & GSB_EMU_VIDEO_NEG_AB)
		product = -product;
	else if (v->flags & GSB_EMU_VIDEO_NEG_C)
		addend = (wide)(int32_t)~c + 1;
	product = (product + addend) >> v->shift;
	if (v->flags & GSB_EMU_VIDEO_SAT)
		product = clamp(product, 32, is_signed);
	return (uint32_t)product;
}

static uint32_t video(const struct gsb_emu_video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t pair = (uint64_t)b << 32 | a;
	uint32_t d = v->flags & GSB_EMU_VIDEO_MERGE || v->n > 1 ? c : 0;

	if (v->op == GSB_PTX_OP_VMAD)
		return multiply_add(v, pair, c);
	for (unsigned int i = 0; i < v->n; i++) {
		wide t = operate(v,
				 element(pair, v->a_at[i], v->a_bits,
					 v->flags & GSB_EMU_VIDEO_A_SIGNED),
				 element(pair, v->b_at[i], v->b_bits,
					 v->flags & GSB_EMU_VIDEO_B_SIGNED));

		if (!(v->mask >> i & 1))
			continue;
		if (v->flags & GSB_EMU_VIDEO_SAT)
			t = clamp(t, v->d_bits, v->flags & GSB_EMU_VIDEO_D_SIGNED);
		if (v->n > 1 && v->sub)
			d += (uint32_t)t;
		else if (v->flags & GSB_EMU_VIDEO_MERGE)
			d = merged(v, i, (uint32_t)t, d);
		else
			d = second(v, (uint32_t)t, c);
	}
	return d;
}

GSB_EMU_HANDLER(gsb_emu_do_VIDEO)
{
	const uint32_t *a = (const void *)(r + op->a), *b = (const void *)(r + op->b),
		       *c = (const void *)(r + op->c);
	uint32_t *d = (void *)(r + op->d);
	struct gsb_emu_video v;

	memcpy(&v, x->block->code->lists + op->e, sizeof(v));
	for (uint32_t left = mask; left; left &= left - 1) {
		int i = __builtin_ctz(left);

		d[i] = video(&v, a[i], b[i], c[i]);
	}
	return op + 1;
}
