/*
 * emu_reference.h - what the expressions of emu_ops.def are made of: C that knows nothing of the
 * interpreter, slow and by the letter of the manual. Where the manual leaves the answer open, it is the one that
 * tests/gpu/emu_oracle saw on hardware. Included by emu_rows.c only.
 */
#ifndef GSB_TESTS_EMU_REFERENCE_H
#define GSB_TESTS_EMU_REFERENCE_H

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define AT(mode, type, expr)                       \
	({                                         \
		fesetround(mode);                  \
		__asm__ volatile("" ::: "memory"); \
		volatile type v_ = (expr);         \
		fesetround(FE_TONEAREST);          \
		v_;                                \
	})

static inline float as_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static inline uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

/* What single precision arithmetic gives for a NaN. */
static inline float one_nan(void)
{
	return as_float(0x7fffffff);
}

static inline float fz(float f)
{
	return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

/* .ftz of an exact result: tiny is what is so when rounded with no limit to the exponent. */
static inline float fz_exact(double d)
{
	return fabsf((float)(d * 0x1p64)) < 0x1p-62f ? copysignf(0, (float)d) : (float)d;
}

/* What double precision gives where an operand is a NaN: the last one, made quiet. */
static inline double nan_last(double a, double b, double otherwise)
{
	return isnan(b) ? b + 0 : isnan(a) ? a + 0 : otherwise;
}

/* The angle in whole turns, truncated to single precision, and back. */
static inline double turned(float f)
{
	float turns = AT(FE_TOWARDZERO, float, f * 0.15915494f);

	return fmod(fz(turns), 1) * 6.283185307179586;
}

static inline float saturate(float f)
{
	return isnan(f) || f <= 0 ? 0 : f > 1 ? 1 : f;
}

static inline int32_t clamp32(int64_t v)
{
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static inline uint32_t carry2(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t first = (uint64_t)a + b;

	return (uint32_t)((2 * (uint64_t)c + (first >> 32)) >> 32);
}

static inline int64_t low24(int32_t v)
{
	int64_t low = v & 0xffffff;

	return low & 0x800000 ? low - 0x1000000 : low;
}

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, int sa, int sb)
{
	for (int i = 0; i < 4; i++) {
		int x = (int)(a >> 8 * i & 0xff), y = (int)(b >> 8 * i & 0xff);

		c += (uint32_t)((sa ? (int8_t)x : x) * (sb ? (int8_t)y : y));
	}
	return c;
}

static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, int sa, int sb, int from)
{
	for (int i = 0; i < 2; i++) {
		int64_t x = a >> 16 * i & 0xffff, y = b >> 8 * (i + from) & 0xff;

		c += (uint32_t)((sa ? (int16_t)x : x) * (sb ? (int8_t)y : y));
	}
	return c;
}

static inline float div_near(float a, float b)
{
	if (fabsf(b) > 0x1p126f && !isinf(b))
		return isinf(a) || isnan(a) ? NAN : copysignf(0, a) * copysignf(1, b);
	return a / b;
}

/* Upper 32 bits of a double; a subnormal is zero. */
static inline double high_half(double d)
{
	uint64_t bits;

	if (isnan(d))
		return d;
	memcpy(&bits, &d, 8);
	bits &= ~UINT64_C(0xffffffff);
	memcpy(&d, &bits, 8);
	return fpclassify(d) == FP_SUBNORMAL ? copysign(0, d) : d;
}

static inline float fmin_ordered(float a, float b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

static inline double dmin_ordered(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b) ? b + 0 : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

/* Bit by bit, as the manual defines them. */
static inline uint64_t extract(uint64_t a, uint64_t pos, uint64_t len, uint32_t bits, int is_signed)
{
	uint64_t r = 0, sign = 0;

	if (is_signed && len)
		sign = a >> (pos + len - 1 < bits ? pos + len - 1 : bits - 1) & 1;
	for (uint32_t i = 0; i < bits; i++)
		r |= (i < len && pos + i < bits ? a >> (pos + i) & 1 : sign) << i;
	return r;
}

static inline uint64_t insert(uint64_t a, uint64_t b, uint64_t pos, uint64_t len, uint32_t bits)
{
	for (uint32_t i = 0; i < len && pos + i < bits; i++) {
		b &= ~(UINT64_C(1) << (pos + i));
		b |= (a >> i & 1) << (pos + i);
	}
	return b;
}

static inline uint32_t top_bit(uint64_t a, int is_signed, int bits)
{
	uint64_t sign = is_signed ? a >> (bits - 1) & 1 : 0;

	for (int i = bits - 1; i >= 0; i--) {
		if ((a >> i & 1) != sign)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static inline uint64_t backwards(uint64_t a)
{
	uint64_t r = 0;

	for (int i = 0; i < 64; i++)
		r |= (a >> i & 1) << (63 - i);
	return r;
}

static inline uint32_t ones(uint64_t a)
{
	uint32_t n = 0;

	for (int i = 0; i < 64; i++)
		n += a >> i & 1;
	return n;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t sel)
{
	uint32_t r = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t n = sel >> 4 * i & 0xf, from = n & 4 ? b : a;
		uint32_t byte = from >> 8 * (n & 3) & 0xff;

		r |= (n & 8 ? (byte >> 7) * 0xff : byte) << 8 * i;
	}
	return r;
}

static inline uint32_t mask_bits(uint32_t pos, uint32_t len)
{
	uint32_t r = 0;

	for (uint32_t i = pos; i < 32 && i < pos + len; i++)
		r |= 1u << i;
	return r;
}

static inline uint32_t nth_set(uint32_t mask, uint32_t base, int32_t n)
{
	int64_t left = n < 0 ? -(int64_t)n : n;

	if (n == INT32_MIN)
		return 0;
	if (base > 31)
		return UINT32_MAX;
	if (n == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	for (int i = (int)base; i >= 0 && i < 32; i += n < 0 ? -1 : 1) {
		if (mask >> i & 1 && --left == 0)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

/* Rounded, then to the range of the integer; a NaN is 0 or, where 64 bits are about, the top bit. */
#define to_int(a, bits, is_signed, wide, round) \
	clamp_real(isnan(a), (double)round(a), bits, is_signed, wide)

static inline uint64_t clamp_real(int nan, double d, int bits, int is_signed, int wide)
{
	double top = ldexp(1, bits - is_signed), bottom = is_signed ? -top : 0;

	if (nan)
		return wide ? UINT64_C(1) << (bits - 1) : 0;
	if (d >= top)
		return UINT64_MAX >> (64 - bits + is_signed);
	if (d <= bottom)
		return is_signed ? UINT64_MAX << (bits - 1) : 0;
	return is_signed ? (uint64_t)(int64_t)d : (uint64_t)d;
}

static inline float half(uint16_t h)
{
	int exp = h >> 10 & 31, man = h & 1023;
	float f = exp == 31 ? (man ? one_nan() : INFINITY)
		  : exp	    ? ldexpf((float)(man + 1024), exp - 25)
			    : ldexpf((float)man, -24);

	return h & 0x8000 ? -f : f;
}

/* The nearest by trying all; of two as near the even one. */
static inline uint16_t nearest16(float f, float (*value)(uint16_t), uint16_t inf)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0, best = 0;
	double target = fabsf(f), least = INFINITY;

	if (isnan(f))
		return 0x7fff;
	/* Beyond half a step above the largest it is infinite. */
	least = (double)value(inf - 1) - value((uint16_t)(inf - 2));
	if (target >= value(inf - 1) + least / 2)
		return sign | inf;
	least = INFINITY;
	for (uint16_t h = 0; h < inf; h++) {
		double off = fabs((double)value(h) - target);

		if (off < least || (off == least && h % 2 == 0)) {
			least = off;
			best = h;
		}
	}
	return sign | best;
}

static inline uint16_t to_half(float f)
{
	return nearest16(f, half, 0x7c00);
}

static inline float bfloat(uint16_t b)
{
	return as_float((uint32_t)b << 16);
}

static inline uint16_t to_bfloat(float f)
{
	return nearest16(f, bfloat, 0x7f80);
}

#endif
