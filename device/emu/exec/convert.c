/*
 * convert.c - cvt between any two types, one value at a time: what the fast rows of forms.def leave
 * over (saturation, directed rounding, half precision), and the reference that the tests hold those
 * fast rows against.
 *
 * Every source is brought to one of two forms without loss, a 64-bit integer with its sign or a double,
 * and from there to the destination.
 */
#include "device/emu/exec/half.h"

struct num {
	bool is_float;
	bool negative; /* integers: value is value - 2^64 */
	uint64_t value;
	double real;
};

static enum gsb_ptx_type key_to(uint64_t key)
{
	return key >> 48 & 0xff;
}

static enum gsb_ptx_type key_from(uint64_t key)
{
	return key >> 56 & 0xff;
}

static unsigned int bits_in(enum gsb_ptx_type type)
{
	return gsb_ptx_type_bytes(type) * 8;
}

/* A float format by its widths: 1 sign bit, n_exp, n_man. */
static double finite_value(uint32_t bits, unsigned int n_exp, unsigned int n_man)
{
	uint32_t exp = bits >> n_man & ((1u << n_exp) - 1), man = bits & ((1u << n_man) - 1);
	int bias = (1 << (n_exp - 1)) - 1;
	double mag = exp == 0 ? ldexp(man, 1 - bias - (int)n_man)
			      : ldexp(man + (1u << n_man), (int)exp - bias - (int)n_man);

	return bits >> (n_exp + n_man) & 1 ? -mag : mag;
}

static double unpack_float(uint32_t bits, unsigned int n_exp, unsigned int n_man)
{
	uint32_t inf = ((1u << n_exp) - 1) << n_man, mag = bits & ((1u << (n_exp + n_man)) - 1);

	if (mag < inf)
		return finite_value(bits, n_exp, n_man);
	if (mag > inf)
		return (double)NAN;
	return bits >> (n_exp + n_man) & 1 ? -(double)INFINITY : (double)INFINITY;
}

/* Has no infinity: what others have for it is a number, but for one NaN of each sign. */
static double unpack_e4m3(uint32_t bits)
{
	return (bits & 0x7f) == 0x7f ? (double)NAN : finite_value(bits, 4, 3);
}

/* Beside the modes of fenv.h: to nearest, ties away from zero. */
#define ROUND_AWAY 0x10000

static int rounding_of(uint64_t key)
{
	return (key >> 32 & 0xff) == GSB_PTX_RND_RNA ? ROUND_AWAY : fe_rounding(key);
}

/* An integer of the rounding that the mode asks for; ties to even. */
static double round_to_integer(double d, int rounding)
{
	switch (rounding) {
	case FE_TOWARDZERO: return trunc(d);
	case FE_DOWNWARD: return floor(d);
	case FE_UPWARD: return ceil(d);
	case ROUND_AWAY: return round(d);
	default: return nearbyint(d);
	}
}

/* The magnitude as its encoding would be if exponents had no end, up to @over. */
static uint32_t magnitude(double d, unsigned int n_exp, unsigned int n_man, int rounding,
			  uint32_t over)
{
	int bias = (1 << (n_exp - 1)) - 1, exp;
	double quantum;
	uint32_t out;

	if (isinf(d))
		return over;
	frexp(d, &exp);
	exp = exp - 1 < 1 - bias ? 1 - bias : exp - 1;
	if (exp > bias + 1)
		return over;
	quantum = round_to_integer(ldexp(d, (int)n_man - exp), rounding);
	/* The integer's own carry moves it into the next exponent, and the largest into infinity. */
	out = (uint32_t)fabs(quantum);
	if (out >= 1u << n_man)
		out += (uint32_t)(exp + bias - 1) << n_man;
	return out < over ? out : over;
}

/* .satfinite: the largest number instead of infinity, and of more than it. */
static uint32_t pack_float(double d, unsigned int n_exp, unsigned int n_man, int rounding,
			   bool finite)
{
	uint32_t sign = (uint32_t)(bits_of64(d) >> 63) << (n_exp + n_man);
	uint32_t inf = ((1u << n_exp) - 1) << n_man, out;

	if (d != d)
		return inf | ((1u << n_man) - 1);
	out = magnitude(d, n_exp, n_man, rounding, inf);
	if (out == inf && finite)
		out--;
	if (out == inf && !isinf(d) && rounding != FE_TONEAREST && rounding != ROUND_AWAY &&
	    rounding != (sign ? FE_DOWNWARD : FE_UPWARD))
		out--;
	return sign | out;
}

static uint32_t pack_e4m3(double d)
{
	uint32_t sign = (uint32_t)(bits_of64(d) >> 63) << 7;

	if (d != d)
		return 0x7f;
	d = fmin(fabs(d), 448);
	return sign | magnitude(d, 4, 3, FE_TONEAREST, 0x7e);
}

static struct num read_float(uint64_t a, enum gsb_ptx_type type, uint64_t key)
{
	struct num n = {.is_float = true};

	switch (type) {
	case GSB_PTX_TYPE_F64: n.real = double_of(a); break;
	case GSB_PTX_TYPE_F16: n.real = unpack_float((uint32_t)a & 0xffff, 5, 10); break;
	case GSB_PTX_TYPE_BF16:
		n.real = (double)float_of((uint32_t)a << 16);
		break; /* its NaN, too */
	case GSB_PTX_TYPE_E5M2: n.real = unpack_float((uint32_t)a & 0xff, 5, 2); break;
	case GSB_PTX_TYPE_E4M3: n.real = unpack_e4m3((uint32_t)a & 0xff); break;
	default: n.real = (double)slow_in32(float_of((uint32_t)a), key); break;
	}
	return n;
}

static struct num read_number(uint64_t a, enum gsb_ptx_type type, uint64_t key)
{
	unsigned int up = 64 - bits_in(type);
	struct num n = {0};

	if (gsb_ptx_type_is_float(type))
		return read_float(a, type, key);
	if (gsb_ptx_type_is_signed(type)) {
		n.value = (uint64_t)((int64_t)(a << up) >> up);
		n.negative = (int64_t)n.value < 0;
	} else {
		n.value = a << up >> up;
	}
	return n;
}

static int64_t type_min(enum gsb_ptx_type type)
{
	return gsb_ptx_type_is_signed(type) ? INT64_MIN >> (64 - bits_in(type)) : 0;
}

static uint64_t type_max(enum gsb_ptx_type type)
{
	return UINT64_MAX >> (64 - bits_in(type) + gsb_ptx_type_is_signed(type));
}

static uint64_t int_to_int(struct num n, enum gsb_ptx_type to, bool sat)
{
	unsigned int up = 64 - bits_in(to);

	if (sat && n.negative && (int64_t)n.value < type_min(to))
		n.value = (uint64_t)type_min(to);
	else if (sat && !n.negative && n.value > type_max(to))
		n.value = type_max(to);
	/* A register wider than the type gets the value extended as the type says. */
	if (gsb_ptx_type_is_signed(to))
		return (uint64_t)((int64_t)(n.value << up) >> up);
	return n.value << up >> up;
}

/* Saturates. A NaN is 0, and where 64 bits are on either side the highest bit alone. */
static uint64_t float_to_int(double d, enum gsb_ptx_type to, enum gsb_ptx_type from, uint64_t key)
{
	unsigned int bits = bits_in(to);
	bool wide = from == GSB_PTX_TYPE_F64 || bits == 64;

	if (d != d)
		return !wide			    ? 0
		       : gsb_ptx_type_is_signed(to) ? (uint64_t)type_min(to)
						    : UINT64_C(1) << (bits - 1);
	d = round_to_integer(d, fe_rounding(key));
	if (d < (double)type_min(to))
		return (uint64_t)type_min(to);
	if (d >= (double)type_max(to)) /* rounds up to a power of two for 64 bits */
		return type_max(to);
	return d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d;
}

static double int_to_double(struct num n)
{
	return n.negative ? (double)(int64_t)n.value : (double)n.value;
}

/* From the integer itself: by way of a double it would be rounded twice. */
static float int_to_float(struct num n)
{
	return n.negative ? (float)(int64_t)n.value : (float)n.value;
}

static uint32_t to_f32(struct num n, uint64_t key)
{
	float f, scaled;

	fesetround(fe_rounding(key));
	GSB_EMU_PIN(n);
	f = n.is_float ? (float)n.real : int_to_float(n);
	scaled = n.is_float ? (float)(n.real * 0x1p64) : INFINITY;
	GSB_EMU_PIN(f);
	GSB_EMU_PIN(scaled);
	fesetround(FE_TONEAREST);
	/* What is left of a double's NaN stays. */
	if (f != f && key_from(key) == GSB_PTX_TYPE_F64 && !(key & GSB_PTX_F_SAT))
		return bits_of32(f);
	if (key & GSB_PTX_F_FTZ)
		f = flush_tiny(f, scaled);
	return bits_of32(slow_out32(f, key));
}

static uint64_t to_f64(struct num n, uint64_t key)
{
	double d;

	fesetround(fe_rounding(key));
	GSB_EMU_PIN(n);
	d = n.is_float ? n.real : int_to_double(n);
	GSB_EMU_PIN(d);
	fesetround(FE_TONEAREST);
	if (key & GSB_PTX_F_SAT)
		d = d > 0 ? (d < 1 ? d : 1) : 0;
	return bits_of64(d);
}

static double relu(double d, uint64_t key)
{
	return key & GSB_PTX_F_RELU && d <= 0 ? 0 : d;
}

/* A 64-bit integer loses bits in a double, but never across a rounding boundary of 11 bits that is
 * not one of the double's, except by a tie that sticky rounding keeps apart. */
static uint32_t to_small(struct num n, unsigned int n_exp, unsigned int n_man, uint64_t key)
{
	double d = n.is_float ? n.real : 0;

	if (!n.is_float) {
		fesetround(FE_TOWARDZERO);
		GSB_EMU_PIN(n);
		d = int_to_double(n);
		GSB_EMU_PIN(d);
		fesetround(FE_TONEAREST);
		if ((n.negative ? (int64_t)d != (int64_t)n.value : (uint64_t)d != n.value))
			d = double_of(bits_of64(d) | 1);
	}
	if (key & GSB_PTX_F_SAT)
		d = d > 0 ? (d < 1 ? d : 1) : 0;
	return pack_float(relu(d, key), n_exp, n_man, rounding_of(key), key & GSB_PTX_F_SATFINITE);
}

/*
 * A single of 10 bits of fraction; the others are zero. What rounds ties away from zero is no conversion in hardware but
 * arithmetic on the bits: a NaN loses those that are cut, and counts as an infinity where that is made finite.
 */
static uint32_t to_tf32(struct num n, uint32_t a, uint64_t key)
{
	if (n.real == n.real)
		return to_small(n, 8, 10, key) << 13;
	if (rounding_of(key) != ROUND_AWAY)
		return GSB_EMU_NAN_BITS32;
	return (a & 0xffffe000) - (key & GSB_PTX_F_SATFINITE ? 0x2000 : 0);
}

/* f32.f32 and f64.f64 with .rni and its like: to an integer of the same type. */
static bool is_rint(uint64_t key)
{
	unsigned int rnd = key >> 32 & 0xff;

	return rnd >= GSB_PTX_RND_RNI && rnd <= GSB_PTX_RND_RPI;
}

/* A NaN of a double in fewer bits: quiet, with the top of what it carries. */
static uint32_t narrow_nan(uint64_t a, unsigned int n_exp, unsigned int n_man)
{
	uint32_t sign = (uint32_t)(a >> 63) << (n_exp + n_man);
	uint32_t carried = (uint32_t)((a & (UINT64_MAX >> 12)) >> (52 - n_man));

	return sign | ((1u << n_exp) - 1) << n_man | 1u << (n_man - 1) | carried;
}

/* NaNs that hardware takes over: of a double and to one, and where nothing is converted. Others become the one of their type. */
static bool nan_stays(uint64_t a, uint64_t key, uint64_t *out)
{
	enum gsb_ptx_type to = key_to(key), from = key_from(key);

	if (key & GSB_PTX_F_SAT)
		return false;
	if (from == GSB_PTX_TYPE_F64 && double_of(a) != double_of(a) &&
	    (to == GSB_PTX_TYPE_F16 || to == GSB_PTX_TYPE_BF16)) {
		*out = to == GSB_PTX_TYPE_F16 ? narrow_nan(a, 5, 10) : narrow_nan(a, 8, 7);
		return true;
	}
	if (from == GSB_PTX_TYPE_F16 && to == GSB_PTX_TYPE_F64 && (a & 0x7fff) > 0x7c00) {
		*out = (a & 0x8000) << 48 | UINT64_C(0x7ff8) << 48 | (a & 0x3ff) << 42;
		return true;
	}
	*out = a;
	return from == GSB_PTX_TYPE_F32 && to == from && key << 16 == 0;
}

uint64_t gsb_emu_convert(uint64_t a, uint64_t key)
{
	enum gsb_ptx_type to = key_to(key), from = key_from(key);
	struct num n;
	uint64_t nan;

	if (to == GSB_PTX_TYPE_F16) /* nothing of a half is flushed, before or after */
		key &= ~(uint64_t)GSB_PTX_F_FTZ;
	if (nan_stays(a, key, &nan))
		return nan;
	n = read_number(a, from, key);
	if (n.is_float && gsb_ptx_type_is_float(to) && is_rint(key))
		n.real = signed64(n.real,
				  copysign(round_to_integer(n.real, fe_rounding(key)), n.real));
	switch (to) {
	case GSB_PTX_TYPE_F16: return to_small(n, 5, 10, key);
	case GSB_PTX_TYPE_BF16: return to_small(n, 8, 7, key);
	case GSB_PTX_TYPE_TF32: return to_tf32(n, (uint32_t)a, key);
	case GSB_PTX_TYPE_E5M2: return to_small(n, 5, 2, key);
	case GSB_PTX_TYPE_E4M3: return pack_e4m3(relu(n.real, key));
	case GSB_PTX_TYPE_F32: return to_f32(n, key);
	case GSB_PTX_TYPE_F64: return to_f64(n, key);
	default: break;
	}
	if (n.is_float)
		return float_to_int(n.real, to, from, key);
	return int_to_int(n, to, key & GSB_PTX_F_SAT);
}

static enum gsb_ptx_type element_of(enum gsb_ptx_type pair)
{
	switch (pair) {
	case GSB_PTX_TYPE_F16X2: return GSB_PTX_TYPE_F16;
	case GSB_PTX_TYPE_BF16X2: return GSB_PTX_TYPE_BF16;
	case GSB_PTX_TYPE_E4M3X2: return GSB_PTX_TYPE_E4M3;
	case GSB_PTX_TYPE_E5M2X2: return GSB_PTX_TYPE_E5M2;
	default: return pair;
	}
}

uint32_t gsb_emu_convert_two(uint32_t a, uint32_t b, uint64_t key)
{
	enum gsb_ptx_type to = element_of(key_to(key)), from = element_of(key_from(key));
	uint64_t each =
		(key & UINT64_C(0xffffffffffff)) | (uint64_t)to << 48 | (uint64_t)from << 56;

	return (uint32_t)(gsb_emu_convert(a, each) << bits_in(to) | gsb_emu_convert(b, each));
}

uint32_t gsb_emu_convert_pair(uint32_t a, uint64_t key)
{
	unsigned int bits = bits_in(element_of(key_from(key)));

	return gsb_emu_convert_two(a >> bits, a, key);
}
