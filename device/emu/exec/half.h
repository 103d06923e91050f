/*
 * half.h - what PTX says that one operation gives for half precision (f16) and bfloat (bf16), one or a
 * pair in 32 bits.
 *
 * The idea: a value goes into a double, the operation is done there, and its result is rounded once to the
 * 11 or 8 bits of the format. That is the right result, because what is rounded is either exact or rounded
 * to odd (odd_sum()), and a double has more than two bits to spare.
 *
 * Pure functions without branches where that is possible: alu.h makes loops over rows of them. Rounding to
 * nearest is assumed. Keys have the flags of the instruction: .ftz, .sat, .relu, .NaN, .xorsign.abs.
 */
#ifndef GSB_DEVICE_EMU_EXEC_HALF_H
#define GSB_DEVICE_EMU_EXEC_HALF_H

#include "base/compiler.h"
#include "device/emu/exec/lane.h"

/* A format by the widths of its exponent and of its fraction. */
#define F16_WIDTHS  5, 10
#define BF16_WIDTHS 8, 7

/* A subnormal is what is above the least normal number; no product has it as a factor, which takes processors long. */
static inline float f16_value(uint32_t half)
{
	uint32_t mag = (half & 0x7fff) << 13;
	uint32_t tiny = bits_of32(float_of(mag + (113u << 23)) - 0x1p-14f);
	uint32_t bits = mag >= 0x0f800000 ? mag | 0x7f800000 : mag + (112u << 23);

	return float_of((mag < 0x00800000 ? tiny : bits) | (half & 0x8000) << 16);
}

static inline float bf16_value(uint32_t bfloat)
{
	return float_of(bfloat << 16);
}

/* The formats of eight bits are cut from f16: e5m2 has its exponent, e4m3 one of a bit less, and one NaN. */
static inline float e5m2_value(uint32_t bits)
{
	return f16_value(bits << 8);
}

static inline float e4m3_value(uint32_t bits)
{
	float mag = f16_value((bits & 0x7f) << 7) * 0x1p8f;

	return (bits & 0x7f) == 0x7f ? NAN : bits & 0x80 ? -mag : mag;
}

/* 2^(1 - bias), the least normal number of a format. */
static inline double least_normal(unsigned int n_exp)
{
	return double_of((uint64_t)(1023 + 2 - (1 << (n_exp - 1))) << 52);
}

/*
 * To nearest, ties to even. Adding a power of two that is 52 - n_man above the value's own leaves the rounded
 * number of quanta in the low bits of the sum; the integer's carry goes on into the exponent, and
 * from the largest exponent into infinity.
 */
static inline uint32_t small_of(double d, unsigned int n_exp, unsigned int n_man)
{
	const int bias = (1 << (n_exp - 1)) - 1;
	const double beyond = double_of((uint64_t)(1023 + bias + 1) << 52);
	const uint32_t inf = ((1u << n_exp) - 1) << n_man;
	uint32_t sign = (uint32_t)(bits_of64(d) >> 63) << (n_exp + n_man), out;
	double mag = fabs(d), least = least_normal(n_exp), sum;
	uint64_t exp;

	mag = mag < beyond ? mag : beyond;
	exp = bits_of64(mag > least ? mag : least) & UINT64_C(0x7ff0000000000000);
	sum = mag + double_of(exp + ((uint64_t)(52 - n_man) << 52));
	out = (uint32_t)bits_of64(sum) + ((uint32_t)((int)(exp >> 52) - 1023 + bias - 1) << n_man);
	return d != d ? inf | ((1u << n_man) - 1) : sign | out;
}

/* What is left of a + b beyond a double goes into the sum's last bit: rounding that again is rounding once. */
static inline double odd_sum(double a, double b)
{
	double sum = a + b, part = sum - a;
	double lost = (a - (sum - part)) + (b - part);
	uint64_t bits = bits_of64(sum), step = (lost > 0) == (sum > 0) ? 1 : UINT64_MAX;
	bool inexact = lost < 0 || lost > 0;

	return double_of(inexact && !(bits & 1) ? bits + step : bits);
}

static inline float flush16(float half)
{
	return fabsf(half) < 0x1p-14f ? copysignf(0.0f, half) : half;
}

/* .ftz: subnormals of the source are zero of their sign. */
static inline float small_in(float f, uint64_t key, unsigned int n_exp)
{
	return key & GSB_PTX_F_FTZ && fabsf(f) < (float)least_normal(n_exp) ? copysignf(0.0f, f)
									    : f;
}

/*
 * .ftz asks whether a result is tiny as it is rounded with no limit to its exponent, as with single
 * precision. .sat: to [0, 1], NaN gives +0. .relu: what is negative becomes +0.
 */
static inline uint32_t small_out(double d, uint64_t key, unsigned int n_exp, unsigned int n_man)
{
	const double tiny = least_normal(n_exp) * (1 - 0x1p-2 / (1 << n_man));

	if (key & GSB_PTX_F_FTZ)
		d = fabs(d) < tiny ? copysign(0.0, d) : d;
	if (key & GSB_PTX_F_SAT)
		d = d > 0 ? (d < 1 ? d : 1) : 0;
	if (key & GSB_PTX_F_RELU)
		d = d <= 0 ? 0 : d;
	return small_of(d, n_exp, n_man);
}

/* min and max with all that they may have: .NaN, and .xorsign.abs, by magnitude with the signs' product. */
static inline float order_floats(float a, float b, bool max, uint64_t key)
{
	uint32_t sign = (bits_of32(a) ^ bits_of32(b)) & 0x80000000;
	bool by_magnitude = key & GSB_PTX_F_XORSIGN;
	float r;

	if (by_magnitude) {
		a = fabsf(a);
		b = fabsf(b);
	}
	r = max ? max32(a, b) : min32(a, b);
	if (key & GSB_PTX_F_NANPROP)
		r = nan_of(a, b, r);
	return by_magnitude && r == r ? float_of(bits_of32(r) | sign) : r;
}

static inline float order_f32(float a, float b, bool max, uint64_t key)
{
	return order_floats(slow_in32(a, key), slow_in32(b, key), max, key);
}

/* One operation for both formats and for their pairs; expr reads a, b, c and key. */
#define SMALL_OP_OF(f, name, n_exp, n_man, expr)                                              \
	static inline uint32_t f##_##name(uint32_t x, uint32_t y, uint32_t z, uint64_t key)   \
	{                                                                                     \
		const float GSB_UNUSED a = small_in(f##_value(x), key, n_exp),                \
				       b = small_in(f##_value(y), key, n_exp),                \
				       c = small_in(f##_value(z), key, n_exp);                \
                                                                                              \
		return small_out(expr, key, n_exp, n_man);                                    \
	}                                                                                     \
	static inline uint32_t f##x2_##name(uint32_t x, uint32_t y, uint32_t z, uint64_t key) \
	{                                                                                     \
		return f##_##name(x & 0xffff, y & 0xffff, z & 0xffff, key) |                  \
		       f##_##name(x >> 16, y >> 16, z >> 16, key) << 16;                      \
	}
#define SMALL_OP(name, expr)                \
	SMALL_OP_OF(f16, name, 5, 10, expr) \
	SMALL_OP_OF(bf16, name, 8, 7, expr)
SMALL_OP(add, odd_sum(a, b))
SMALL_OP(sub, odd_sum(a, -b))
SMALL_OP(mul, (double)a *b)
SMALL_OP(fma, odd_sum((double)a *b, c))
SMALL_OP(abs, fabsf(a))
SMALL_OP(neg, -a)
SMALL_OP(min, order_floats(a, b, false, key))
SMALL_OP(max, order_floats(a, b, true, key))
SMALL_OP(ex2, exp2f(a))
SMALL_OP(tanh, tanhf(a))
#undef SMALL_OP
#undef SMALL_OP_OF

/* ---- pairs of integers of 16 bits ---- */

static inline uint32_t add_16x2(uint32_t a, uint32_t b)
{
	return ((a + b) & 0xffff) | ((a & 0xffff0000) + (b & 0xffff0000));
}

/* The low halves are compared at the top of a word, where their sign is the word's. */
static inline uint32_t order_16x2(uint32_t a, uint32_t b, bool is_signed, bool max, uint64_t key)
{
	uint32_t flip = is_signed ? 0x80008000 : 0, x = a ^ flip, y = b ^ flip, r;
	uint32_t high = ((x >> 16 < y >> 16) ^ max) ? a : b;
	uint32_t low = ((uint16_t)x < (uint16_t)y) ^ max ? a : b;

	r = (high & 0xffff0000) | (low & 0xffff);
	if (key & GSB_PTX_F_RELU)
		r = (r & 0x80000000 ? 0 : r & 0xffff0000) | (r & 0x8000 ? 0 : r & 0xffff);
	return r;
}

static inline int32_t relu_s32(int32_t a)
{
	return a > 0 ? a : 0;
}

#endif
