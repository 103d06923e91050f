/*
 * video.c - the video instructions, one lane at a time: nearly nobody uses them, and they have thousands of
 * combinations, so that one description (code/video.h) is interpreted for each lane.
 *
 * No GPU of today has the scalar forms. NVIDIA's assembler puts other instructions in their place, whose results are not
 * always those that the manual prints: doc/emulated-device.md lists where. Here they are what a GPU gives.
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

static bool is_shift(const struct gsb_emu_video *v)
{
	return v->op == GSB_PTX_OP_VSHL || v->op == GSB_PTX_OP_VSHR;
}

/*
 * .sat of a scalar form. A shift has 34 bits and is cut to 32, whatever part of them is written. What does not fit a part,
 * a negative number too, is the part's greatest; and unsigned words have no upper end.
 */
static wide saturate(const struct gsb_emu_video *v, wide t)
{
	bool is_signed = v->flags & GSB_EMU_VIDEO_D_SIGNED;
	wide most = ((wide)1 << (v->d_bits - is_signed)) - 1;

	if (v->op == GSB_PTX_OP_VSHL)
		t = element((uint64_t)t, 0, 34, true);
	if (is_shift(v))
		return clamp(t, 32, is_signed);
	if (v->d_bits < 32)
		return t < 0 || t > most ? most : t;
	return is_signed ? clamp(t, 32, true) : t < 0 ? 0 : t;
}

/* A sum is cut to 32 bits before it is compared, and then has a sign even when it is to be unsigned; so has a shift with .sat. */
static int64_t as_compared(const struct gsb_emu_video *v, wide t)
{
	bool is_sum = v->op == GSB_PTX_OP_VADD || v->op == GSB_PTX_OP_VSUB;

	return is_sum || (is_shift(v) && v->flags & GSB_EMU_VIDEO_SAT) ? (int32_t)t : (int64_t)t;
}

static uint32_t second(const struct gsb_emu_video *v, wide t, uint32_t c)
{
	int64_t x = as_compared(v, t);
	bool is_signed = v->flags & GSB_EMU_VIDEO_D_SIGNED;
	bool less = is_signed ? x < (int32_t)c : (uint64_t)x < c;

	switch (v->sub) {
	case GSB_PTX_SUB_ADD: return c + (uint32_t)t;
	case GSB_PTX_SUB_MIN: return less ? (uint32_t)t : c;
	case GSB_PTX_SUB_MAX: return less ? c : (uint32_t)t;
	default: return (uint32_t)t;
	}
}

static uint32_t merged(const struct gsb_emu_video *v, unsigned int i, uint32_t value, uint32_t into)
{
	uint32_t field = (uint32_t)((UINT64_C(1) << v->d_bits) - 1) << v->d_at[i];
	bool is_upper_half = v->n == 1 && v->d_bits == 16 && v->d_at[i];

	/* the upper half of a scalar form is written with the upper half of its result */
	return (into & ~field) | ((is_upper_half ? value : value << v->d_at[i]) & field);
}

/* (a * b) + c in full, then shifted and cut; unsigned only where nothing in it is signed. Words have a sign in any case. */
static uint32_t multiply_add(const struct gsb_emu_video *v, uint64_t pair, uint32_t c)
{
	int64_t a = element(pair, v->a_at[0], v->a_bits, v->flags & GSB_EMU_VIDEO_A_SIGNED);
	int64_t b = element(pair, v->b_at[0], v->b_bits, v->flags & GSB_EMU_VIDEO_B_SIGNED);
	bool is_signed = v->flags & (GSB_EMU_VIDEO_A_SIGNED | GSB_EMU_VIDEO_B_SIGNED |
				     GSB_EMU_VIDEO_NEG_AB | GSB_EMU_VIDEO_NEG_C);
	int64_t sum = (int64_t)(int32_t)a * (int32_t)b;
	wide t;

	if (v->flags & GSB_EMU_VIDEO_NEG_AB)
		sum = -sum;
	sum += v->flags & GSB_EMU_VIDEO_NEG_C ? (int64_t)(int32_t)~c + 1 : (int32_t)c;
	sum += v->flags & GSB_EMU_VIDEO_PO ? 1 : 0;
	t = is_signed || !v->shift ? sum >> v->shift : (wide)((uint64_t)sum >> v->shift);
	if (v->flags & GSB_EMU_VIDEO_SAT)
		t = clamp(t, 32, is_signed);
	return (uint32_t)t;
}

static uint32_t video(const struct gsb_emu_video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t pair = (uint64_t)b << 32 | a;
	uint32_t d = v->flags & GSB_EMU_VIDEO_MERGE || v->n > 1 ? c : 0;

	if (v->op == GSB_PTX_OP_VMAD)
		return multiply_add(v, pair, c);
	for (unsigned int i = 0; i < v->n; i++) {
		wide t = operate(
			v, element(pair, v->a_at[i], v->a_bits, v->flags & GSB_EMU_VIDEO_A_SIGNED),
			element(pair, v->b_at[i], v->b_bits, v->flags & GSB_EMU_VIDEO_B_SIGNED));

		if (!(v->mask >> i & 1))
			continue;
		if (v->flags & GSB_EMU_VIDEO_SAT)
			t = v->n > 1 ? clamp(t, v->d_bits, v->flags & GSB_EMU_VIDEO_D_SIGNED)
				     : saturate(v, t);
		if (v->n > 1 && v->sub)
			d += (uint32_t)t;
		else if (v->flags & GSB_EMU_VIDEO_MERGE)
			d = merged(v, i, (uint32_t)t, d);
		else
			d = second(v, t, c);
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
