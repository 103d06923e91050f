/*
 * lane.h - what PTX says one operation gives for one lane, where C says something else: shift counts
 * that clamp, division that never traps, conversions that saturate, NaNs of one pattern, subnormals
 * that flush.
 *
 * Pure functions without branches where that is possible, so that the loops over rows in alu.c become
 * vector code; slow_*() are for the rounding modes and combinations that compilers hardly emit.
 * Rounding to nearest is assumed on entry, and left so.
 */
#ifndef GSB_DEVICE_EMU_EXEC_LANE_H
#define GSB_DEVICE_EMU_EXEC_LANE_H

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ptx/ptx.h"

#define GSB_EMU_NAN_BITS32 UINT32_C(0x7fffffff)

/* The value must not move across a change of the rounding mode. */
#define GSB_EMU_PIN(v) __asm__ volatile("" : "+m"(v)::"memory")

static inline float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline uint32_t bits_of32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static inline uint64_t bits_of64(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

/* ---- float ---- */

/* The one NaN that single precision arithmetic returns. */
static inline float canon32(float f)
{
	return float_of(f != f ? GSB_EMU_NAN_BITS32 : bits_of32(f));
}

/* Subnormals become zero of their sign. */
static inline float flush32(float f)
{
	uint32_t bits = bits_of32(f);

	return float_of(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* .ftz of a result that may lie just below the least normal number: whether it is tiny is asked of the result as rounded with
 * no limit to its exponent, which is @scaled by 2^64. */
static inline float flush_tiny(float f, float scaled)
{
	return canon32(fabsf(scaled) < 0x1p-62f ? copysignf(0.0f, f) : f);
}

static inline float mul_ftz(float a, float b)
{
	a = flush32(a);
	b = flush32(b);
	return flush_tiny(a * b, a * 0x1p64f * b);
}

static inline float div_ftz(float a, float b)
{
	a = flush32(a);
	b = flush32(b);
	return flush_tiny(a / b, a * 0x1p64f / b);
}

static inline float fma_ftz(float a, float b, float c)
{
	a = flush32(a);
	b = flush32(b);
	c = flush32(c);
	return flush_tiny(fmaf(a, b, c), fmaf(a * 0x1p64f, b, c * 0x1p64f));
}

/* 0 is larger than -0; of a number and a NaN the number is taken. */
static inline float min32(float a, float b)
{
	bool first = a < b || b != b || (a == b && (int32_t)bits_of32(a) < 0);

	return canon32(first ? a : b);
}

static inline float max32(float a, float b)
{
	bool first = a > b || b != b || (a == b && (int32_t)bits_of32(a) >= 0);

	return canon32(first ? a : b);
}

static inline double quiet64(double nan)
{
	return double_of(bits_of64(nan) | UINT64_C(1) << 51);
}

/* Of several NaNs in double precision the last one is the result; a processor or its compiler may choose another. */
static inline double last_nan(double b, double otherwise)
{
	return b != b ? quiet64(b) : otherwise;
}

static inline double min64(double a, double b)
{
	bool first = a < b || b != b || (a == b && (int64_t)bits_of64(a) < 0);

	return a != a && b != b ? quiet64(b) : first ? a : b;
}

static inline double max64(double a, double b)
{
	bool first = a > b || b != b || (a == b && (int64_t)bits_of64(a) >= 0);

	return a != a && b != b ? quiet64(b) : first ? a : b;
}

/* Sign operations are additions: a NaN is made quiet and keeps its sign. */
static inline double signed64(double a, double otherwise)
{
	return a != a ? quiet64(a) : otherwise;
}

/* The second factor's, the addend's, the first factor's: in this order. */
static inline double fma64(double a, double b, double c)
{
	return last_nan(b, last_nan(c, fma(a, b, c)));
}

static inline float nan_of(float a, float b, float otherwise)
{
	return float_of(a != a || b != b ? GSB_EMU_NAN_BITS32 : bits_of32(otherwise));
}

/* Beyond 2^126 the reciprocal that hardware multiplies with is flushed to zero. */
static inline float div_approx(float a, float b)
{
	bool flushed = fabsf(b) > 0x1p126f && fabsf(b) <= FLT_MAX;

	return canon32(flushed ? a * copysignf(0.0f, b) : a / b);
}

/* The angle that sin.approx and cos.approx see: their one multiplication to whole turns is single precision and
 * truncates, so that a large argument is off by more than its distance from the next float. */
static inline double angle_approx(float a)
{
	double turns = (double)a * 0x1.45f306p-3;

	turns = fabs(turns) < FLT_MIN ? 0 * turns
				      : double_of(bits_of64(turns) & ~UINT64_C(0x1fffffff));
	return copysign(turns - trunc(turns), turns) * 0x1.921fb54442d18p2;
}

/* rcp.approx.ftz.f64 reads and gives the upper 32 bits; subnormals are zero. */
static inline double upper_half(double d)
{
	uint64_t bits = bits_of64(d) & UINT64_C(0xffffffff00000000);
	bool subnormal = !(bits & UINT64_C(0x7ff0000000000000));

	/* a NaN whose lower half alone says so is read as an infinity */
	if (double_of(bits) != double_of(bits))
		return double_of(UINT64_C(0x7fffffff00000000));
	return double_of(subnormal ? bits & UINT64_C(0x8000000000000000) : bits);
}

static inline int fe_rounding(uint64_t key)
{
	switch (key >> 32 & 0xff) {
	case GSB_PTX_RND_RZ:
	case GSB_PTX_RND_RZI: return FE_TOWARDZERO;
	case GSB_PTX_RND_RM:
	case GSB_PTX_RND_RMI: return FE_DOWNWARD;
	case GSB_PTX_RND_RP:
	case GSB_PTX_RND_RPI: return FE_UPWARD;
	default: return FE_TONEAREST;
	}
}

static inline float slow_in32(float f, uint64_t key)
{
	return key & GSB_PTX_F_FTZ ? flush32(f) : f;
}

/* .sat: to [0, 1], NaN gives +0. */
static inline float slow_out32(float f, uint64_t key)
{
	if (key & GSB_PTX_F_SAT)
		f = f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f;
	return slow_in32(canon32(f), key);
}

/* As flush_tiny(), in any rounding mode. */
static inline float slow_tiny(float f, float scaled, uint64_t key)
{
	return key & GSB_PTX_F_FTZ && fabsf(scaled) < 0x1p-62f ? copysignf(0.0f, f) : f;
}

/* An operation of two or three floats in the rounding mode of the key. */
#define GSB_EMU_SLOW(name, T, in, out, expr)                   \
	static inline T name##_at(T a, T b, T c, uint64_t key) \
	{                                                      \
		T r;                                           \
                                                               \
		a = in(a, key);                                \
		b = in(b, key);                                \
		c = in(c, key);                                \
		fesetround(fe_rounding(key));                  \
		GSB_EMU_PIN(a);                                \
		GSB_EMU_PIN(b);                                \
		GSB_EMU_PIN(c);                                \
		r = (expr);                                    \
		GSB_EMU_PIN(r);                                \
		fesetround(FE_TONEAREST);                      \
		return out(r, key);                            \
	}
#define GSB_EMU_AS_IS(v, key) (v)
GSB_EMU_SLOW(slow_add32, float, slow_in32, slow_out32, a + b)
GSB_EMU_SLOW(slow_mul32, float, slow_in32, slow_out32, slow_tiny(a *b, a * 0x1p64f * b, key))
GSB_EMU_SLOW(slow_div32, float, slow_in32, slow_out32, a / b)
GSB_EMU_SLOW(slow_fma32, float, slow_in32, slow_out32,
	     slow_tiny(fmaf(a, b, c), fmaf(a * 0x1p64f, b, c * 0x1p64f), key))
GSB_EMU_SLOW(slow_sqrt32, float, slow_in32, slow_out32, sqrtf(a))
GSB_EMU_SLOW(slow_add64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, last_nan(b, a + b))
GSB_EMU_SLOW(slow_sub64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, last_nan(b, a - b))
GSB_EMU_SLOW(slow_mul64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, last_nan(b, a *b))
GSB_EMU_SLOW(slow_div64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, a / b)
GSB_EMU_SLOW(slow_fma64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, fma64(a, b, c))
GSB_EMU_SLOW(slow_sqrt64, double, GSB_EMU_AS_IS, GSB_EMU_AS_IS, sqrt(a))
#undef GSB_EMU_SLOW
#undef GSB_EMU_AS_IS
#define slow_add32(a, b, key)	 slow_add32_at(a, b, 0, key)
#define slow_mul32(a, b, key)	 slow_mul32_at(a, b, 0, key)
#define slow_div32(a, b, key)	 slow_div32_at(a, b, 0, key)
#define slow_fma32(a, b, c, key) slow_fma32_at(a, b, c, key)
#define slow_sqrt32(a, key)	 slow_sqrt32_at(a, 0, 0, key)
#define slow_add64(a, b, key)	 slow_add64_at(a, b, 0, key)
#define slow_sub64(a, b, key)	 slow_sub64_at(a, b, 0, key)
#define slow_mul64(a, b, key)	 slow_mul64_at(a, b, 0, key)
#define slow_div64(a, b, key)	 slow_div64_at(a, b, 0, key)
#define slow_fma64(a, b, c, key) slow_fma64_at(a, b, c, key)
#define slow_sqrt64(a, key)	 slow_sqrt64_at(a, 0, 0, key)

/* What an atomic addition leaves: units at global memory flush subnormals, those at shared memory do not. */
static inline uint32_t atom_add32(uint32_t old, uint32_t b, bool shared)
{
	float sum = shared ? float_of(old) + float_of(b)
			   : flush32(flush32(float_of(old)) + flush32(float_of(b)));

	return bits_of32(canon32(sum));
}

/* Of two NaNs shared memory's is left, made quiet; at global memory the operand's, as it stands. */
static inline uint64_t atom_add64(uint64_t old, uint64_t b, bool shared)
{
	uint64_t first = shared ? old : b, last = shared ? b : old;
	uint64_t nan = double_of(first) != double_of(first) ? first : last;

	if (double_of(nan) != double_of(nan))
		return shared ? bits_of64(quiet64(double_of(nan))) : nan;
	return bits_of64(double_of(old) + double_of(b));
}

/* ---- integers ---- */

static inline int32_t sat_s32(int64_t v)
{
	return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static inline uint32_t add_carry32(uint32_t a, uint32_t b, uint32_t ci, uint32_t *co)
{
	uint64_t sum = (uint64_t)a + b + ci;

	*co = (uint32_t)(sum >> 32);
	return (uint32_t)sum;
}

/* A subtraction adds the complement: the one carry flag is set where nothing is borrowed, and an
 * addition after it, or a subtraction after an addition, takes that flag as it stands. */
static inline uint32_t sub_carry32(uint32_t a, uint32_t b, uint32_t ci, uint32_t *co)
{
	return add_carry32(a, ~b, ci, co);
}

static inline uint64_t add_carry64(uint64_t a, uint64_t b, uint32_t ci, uint32_t *co)
{
	uint64_t sum = a + b, with = sum + ci;

	*co = (sum < a) | (with < sum);
	return with;
}

static inline uint64_t sub_carry64(uint64_t a, uint64_t b, uint32_t ci, uint32_t *co)
{
	return add_carry64(a, ~b, ci, co);
}

static inline uint32_t mul_hi_u32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

static inline uint32_t mul_hi_s32(uint32_t a, uint32_t b)
{
	return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32);
}

static inline uint64_t mul_hi_u64(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline int64_t mul_hi_s64(int64_t a, int64_t b)
{
	return (int64_t)((__int128)a * b >> 64);
}

static inline uint64_t mul24_u(uint32_t a, uint32_t b)
{
	return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

static inline int64_t mul24_s(uint32_t a, uint32_t b)
{
	return (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8);
}

/* Division by zero: all ones, and so is the remainder. */
static inline uint32_t div_u32(uint32_t a, uint32_t b)
{
	return b ? a / b : UINT32_MAX;
}

static inline uint64_t div_u64(uint64_t a, uint64_t b)
{
	return b ? a / b : UINT64_MAX;
}

static inline int32_t div_s32(int32_t a, int32_t b)
{
	return b ? (int32_t)((int64_t)a / b) : -1;
}

static inline int64_t div_s64(int64_t a, int64_t b)
{
	if (b == -1)
		return (int64_t)(0 - (uint64_t)a);
	return b ? a / b : -1;
}

static inline uint32_t rem_u32(uint32_t a, uint32_t b)
{
	return b ? a % b : UINT32_MAX;
}

static inline uint64_t rem_u64(uint64_t a, uint64_t b)
{
	return b ? a % b : UINT64_MAX;
}

static inline int32_t rem_s32(int32_t a, int32_t b)
{
	return b ? (int32_t)((int64_t)a % b) : -1;
}

static inline int64_t rem_s64(int64_t a, int64_t b)
{
	if (b == -1)
		return 0;
	return b ? a % b : -1;
}

static inline uint32_t dp_part(uint32_t v, unsigned int at, unsigned int bits, bool is_signed)
{
	uint32_t up = v << (32 - bits - at * bits);

	return is_signed ? (uint32_t)((int32_t)up >> (32 - bits)) : up >> (32 - bits);
}

static inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb)
{
	for (unsigned int i = 0; i < 4; i++)
		c += dp_part(a, i, 8, sa) * dp_part(b, i, 8, sb);
	return c;
}

static inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, uint64_t key)
{
	unsigned int from = (key >> 40 & 0xff) == GSB_PTX_MUL_HI ? 2 : 0;

	for (unsigned int i = 0; i < 2; i++)
		c += dp_part(a, i, 16, sa) * dp_part(b, from + i, 8, sb);
	return c;
}

/* ---- bits ---- */

/* All ones where bit @i of the table is set. */
static inline uint32_t lop3_term(uint64_t table, unsigned int i)
{
	return 0 - (uint32_t)(table >> i & 1);
}

/* Chosen by c among the table's terms @i and @i + 1. */
static inline uint32_t lop3_pair(uint64_t table, unsigned int i, uint32_t c)
{
	uint32_t clear = lop3_term(table, i), flip = clear ^ lop3_term(table, i + 1);

	return (c & flip) ^ clear;
}

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint64_t table)
{
	uint32_t a0 =
		lop3_pair(table, 0, c) ^ (b & (lop3_pair(table, 0, c) ^ lop3_pair(table, 2, c)));
	uint32_t a1 =
		lop3_pair(table, 4, c) ^ (b & (lop3_pair(table, 4, c) ^ lop3_pair(table, 6, c)));

	return a0 ^ (a & (a0 ^ a1));
}

static inline uint64_t low_bits(uint64_t n)
{
	return n > 63 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* The sign is that of the field's top bit, or of @a when the field reaches beyond it. */
static inline uint64_t bfe(uint64_t a, uint64_t pos, uint64_t len, uint32_t msb, bool is_signed)
{
	uint64_t field, sign, top = pos + len > msb + 1 ? msb : pos + len - 1;

	sign = is_signed && len ? a >> top & 1 : 0;
	field = pos > msb ? 0 : a >> pos & low_bits(len);
	if (!sign)
		return field;
	return pos > msb ? UINT64_MAX : field | ~low_bits(top - pos + 1);
}

/* Of 32 bits: position and length are bytes. Of 64: all 32 bits of them count. */
static inline uint32_t bfe_u32(uint32_t a, uint32_t pos, uint32_t len)
{
	return (uint32_t)bfe(a, pos & 0xff, len & 0xff, 31, false);
}

static inline uint32_t bfe_s32(uint32_t a, uint32_t pos, uint32_t len)
{
	return (uint32_t)bfe(a, pos & 0xff, len & 0xff, 31, true);
}

static inline uint64_t bfe_u64(uint64_t a, uint32_t pos, uint32_t len)
{
	return bfe(a, pos, len, 63, false);
}

static inline uint64_t bfe_s64(uint64_t a, uint32_t pos, uint32_t len)
{
	return bfe(a, pos, len, 63, true);
}

static inline uint64_t bfi_64(uint64_t a, uint64_t b, uint32_t pos, uint32_t len)
{
	uint64_t field = pos > 63 ? 0 : low_bits(len) << pos;
	return (b & ~field) | (pos > 63 ? 0 : a << pos & field);
}

static inline uint32_t bfi_32(uint32_t a, uint32_t b, uint32_t pos, uint32_t len)
{
	return (uint32_t)bfi_64(a, b, pos & 0xff, len & 0xff);
}

static inline uint32_t bfind(uint64_t a)
{
	return a ? 63 - (uint32_t)__builtin_clzll(a) : UINT32_MAX;
}

static inline uint32_t bfind_shift(uint64_t a, uint32_t msb)
{
	return a ? msb - bfind(a) : UINT32_MAX;
}

static inline uint64_t brev64(uint64_t a)
{
	a = (a >> 1 & UINT64_C(0x5555555555555555)) | (a & UINT64_C(0x5555555555555555)) << 1;
	a = (a >> 2 & UINT64_C(0x3333333333333333)) | (a & UINT64_C(0x3333333333333333)) << 2;
	a = (a >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (a & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
	return __builtin_bswap64(a);
}

/* A nibble of the selector takes a byte of {b,a}; its top bit repeats that byte's sign. */
static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t sel)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t r = 0;

	for (unsigned int i = 0; i < 4; i++) {
		uint32_t nibble = sel >> i * 4;
		uint32_t byte = (uint32_t)(bytes >> (nibble & 7) * 8) & 0xff;

		if (nibble & 8)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << i * 8;
	}
	return r;
}

/* The named modes as selectors, by the two low bits of the third operand. */
static inline uint32_t prmt_mode(uint32_t c, uint64_t key)
{
	static const uint16_t selectors[][4] = {
		{0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
		{0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
		{0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
		{0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
		{0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
		{0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
	};

	return selectors[(key >> 40 & 0xff) - GSB_PTX_MODE_F4E][c & 3];
}

static inline uint32_t bmsk_clamp(uint32_t pos, uint32_t len)
{
	uint64_t field = low_bits(len > 32 ? 32 : len);

	return pos > 31 ? 0 : (uint32_t)(field << pos);
}

/* The offset-th set bit of mask, counted from base upwards (offset > 0) or downwards (< 0); the most negative
 * offset gives 0, as the hardware's routine for it does. */
static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t offset)
{
	int32_t pos = (int32_t)base, step = offset < 0 ? -1 : 1, left = offset;

	if (offset == INT32_MIN)
		return 0;
	if (offset == 0)
		return base < 32 && mask >> base & 1 ? base : UINT32_MAX;
	for (; pos >= 0 && pos < 32; pos += step) {
		if (mask >> pos & 1 && (left -= step) == 0)
			return (uint32_t)pos;
	}
	return UINT32_MAX;
}

/* ---- conversion ---- */

static inline int32_t trunc_s32(float f)
{
	int64_t v = f != f ? 0 : f >= 0x1p31f ? INT32_MAX : f <= -0x1p31f ? INT32_MIN : (int32_t)f;

	return (int32_t)v;
}

static inline uint32_t trunc_u32(float f)
{
	return !(f > 0.0f) ? 0 : f >= 0x1p32f ? UINT32_MAX : (uint32_t)(int64_t)f;
}

/* cvt.pack: a and b, each to the range of @bits bits, under the low bits of c. */
static inline uint32_t pack_sat(int32_t a, int32_t b, uint32_t c, unsigned int bits, int32_t min,
				int32_t max)
{
	uint32_t field = (1u << bits) - 1;
	uint32_t high = (uint32_t)(a < min ? min : a > max ? max : a) & field;
	uint32_t low = (uint32_t)(b < min ? min : b > max ? max : b) & field;

	return (bits < 16 ? c << 2 * bits : 0) | high << bits | low;
}

/* cvt of any two types: bits in, bits out; types, rounding, .sat, .ftz, .relu and .satfinite are in the key. In convert.c. */
uint64_t gsb_emu_convert(uint64_t a, uint64_t key);
/* To a pair: of two, the first one high; of a pair. */
uint32_t gsb_emu_convert_two(uint32_t a, uint32_t b, uint64_t key);
uint32_t gsb_emu_convert_pair(uint32_t a, uint64_t key);

#endif
