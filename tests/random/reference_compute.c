/*
 * reference_compute.c - see reference.h: what one instruction gives from the values of its sources. Integers are computed in 128 bits and
 * cut; floats are the host's, NaNs put in by hand.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "tests/random/reference.h"

typedef __int128 wide;

/* ---- floats ---- */

static float to_float(uint64_t v)
{
	uint32_t bits = (uint32_t)v;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static double to_double(uint64_t v)
{
	double d;

	memcpy(&d, &v, 8);
	return d;
}

static uint64_t of_float(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return isnan(f) ? 0x7fffffff : bits;
}

static uint64_t of_double(double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	return isnan(d) ? UINT64_C(0xfff8000000000000) : v;
}

static const uint64_t quiet = UINT64_C(1) << 51;

/* Of doubles the NaN that is given is the operand's: the first one here. */
static bool given_nan(const uint64_t *v, unsigned int n, uint64_t *out)
{
	for (unsigned int i = 0; i < n; i++) {
		if (isnan(to_double(v[i]))) {
			*out = v[i] | quiet;
			return true;
		}
	}
	return false;
}

static int mode_of(const struct ref_insn *in)
{
	if (ref_has(in, REF_rz))
		return FE_TOWARDZERO;
	if (ref_has(in, REF_rm))
		return FE_DOWNWARD;
	return ref_has(in, REF_rp) ? FE_UPWARD : FE_TONEAREST;
}

static double round_as(const struct ref_insn *in, double d)
{
	if (ref_has(in, REF_rzi))
		return trunc(d);
	if (ref_has(in, REF_rmi))
		return floor(d);
	return ref_has(in, REF_rpi) ? ceil(d) : nearbyint(d);
}

static bool float_single(const struct ref_insn *in, const uint64_t *v, uint64_t *out)
{
	volatile float a = to_float(v[0]), b = to_float(v[1]), c = to_float(v[2]), r = 0;
	bool known = true;

	if (ref_is(in, "min") || ref_is(in, "max")) {
		bool less = a < b || (a == b && signbit(a));

		r = isnan(a) ? b : isnan(b) || less == ref_is(in, "min") ? a : b;
		*out = of_float(r);
		return true;
	}
	fesetround(mode_of(in));
	if (ref_is(in, "add"))
		r = a + b;
	else if (ref_is(in, "sub"))
		r = a - b;
	else if (ref_is(in, "mul"))
		r = a * b;
	else if (ref_is(in, "fma"))
		r = fmaf(a, b, c);
	else if (ref_is(in, "div"))
		r = a / b;
	else if (ref_is(in, "abs"))
		r = fabsf(a);
	else if (ref_is(in, "neg"))
		r = -a;
	else
		known = false;
	fesetround(FE_TONEAREST);
	if (!known)
		return false;
	if (ref_has(in, REF_sat))
		r = isnan(r) || r < 0 ? 0 : r > 1 ? 1 : r;
	*out = of_float(r == 0 && ref_has(in, REF_sat) ? 0.0f : r);
	return true;
}

static bool float_double(const struct ref_insn *in, const uint64_t *v, uint64_t *out)
{
	volatile double a = to_double(v[0]), b = to_double(v[1]), c = to_double(v[2]), r = 0;
	bool known = true;
	const uint64_t backwards[2] = {v[1], v[0]}, fused[3] = {v[1], v[2], v[0]};

	if (ref_is(in, "min") || ref_is(in, "max")) {
		bool less = a < b || (a == b && signbit(a));

		*out = isnan(a) && isnan(b)		       ? v[1] | quiet
		       : isnan(a)			       ? v[1]
		       : isnan(b) || less == ref_is(in, "min") ? v[0]
							       : v[1];
		return true;
	}
	fesetround(mode_of(in));
	if (ref_is(in, "add"))
		r = a + b;
	else if (ref_is(in, "sub"))
		r = a - b;
	else if (ref_is(in, "mul"))
		r = a * b;
	else if (ref_is(in, "fma"))
		r = fma(a, b, c);
	else if (ref_is(in, "abs"))
		r = fabs(a);
	else if (ref_is(in, "neg"))
		r = -a;
	else
		known = false;
	fesetround(FE_TONEAREST);
	if (!known)
		return false;
	if (ref_is(in, "fma")			     ? given_nan(fused, 3, out)
	    : ref_is(in, "abs") || ref_is(in, "neg") ? given_nan(v, 1, out)
						     : given_nan(backwards, 2, out))
		return true;
	*out = of_double(r);
	return true;
}

/* ---- conversion ---- */

static wide least(struct ref_type t)
{
	return t.kind == 's' ? -((wide)1 << (t.bits - 1)) : 0;
}

static wide most(struct ref_type t)
{
	return ((wide)1 << (t.bits - (t.kind == 's'))) - 1;
}

static uint64_t saturate(wide v, struct ref_type t)
{
	return (uint64_t)(v < least(t) ? least(t) : v > most(t) ? most(t) : v);
}

static uint64_t float_to_integer(const struct ref_insn *in, uint64_t v)
{
	struct ref_type to = in->type[0];
	double d = in->type[1].bits == 32 ? (double)to_float(v) : to_double(v);

	if (isnan(d))
		return to.bits == 64 || in->type[1].bits == 64 ? UINT64_C(1) << (to.bits - 1) : 0;
	d = round_as(in, d);
	if (d >= ldexp(1, 64))
		return saturate((wide)1 << 100, to);
	if (d <= -ldexp(1, 64))
		return saturate(-((wide)1 << 100), to);
	return saturate((wide)d, to);
}

static uint64_t integer_to_float(const struct ref_insn *in, uint64_t v)
{
	wide n = ref_number(v, in->type[1]);
	volatile int64_t s = (int64_t)n;
	volatile uint64_t u = (uint64_t)n;
	volatile float f;
	volatile double d;

	fesetround(mode_of(in));
	f = n < 0 ? (float)s : (float)u;
	d = n < 0 ? (double)s : (double)u;
	fesetround(FE_TONEAREST);
	return in->type[0].bits == 32 ? of_float(f) : of_double(d);
}

static uint64_t float_to_float(const struct ref_insn *in, uint64_t v)
{
	volatile double d = in->type[1].bits == 32 ? (double)to_float(v) : to_double(v);
	volatile float f;

	if (isnan(d) && in->type[1].bits == 32)
		return (v & 0x80000000) << 32 | UINT64_C(0x7ff8000000000000) | (v & 0x7fffff) << 29;
	if (isnan(d))
		return (v >> 32 & 0x80000000) | 0x7fc00000 | (v >> 29 & 0x7fffff);
	if (in->type[0].bits == 64)
		return of_double(d);
	fesetround(mode_of(in));
	f = (float)d;
	fesetround(FE_TONEAREST);
	return of_float(f);
}

static uint64_t convert(const struct ref_insn *in, uint64_t v)
{
	struct ref_type to = in->type[0], from = in->type[1];

	if (to.kind == 'f')
		return from.kind == 'f' ? float_to_float(in, v) : integer_to_float(in, v);
	if (from.kind == 'f')
		return float_to_integer(in, v);
	if (ref_has(in, REF_sat))
		return saturate(ref_number(v, from), to);
	/* a register wider than the type holds the value extended */
	return (uint64_t)ref_number((uint64_t)ref_number(v, from), to);
}

/* ---- integers ---- */

static wide quotient(wide a, wide b)
{
	return b ? a / b : -1;
}

/* Of two unsigned numbers of 64 bits the product fills 128. */
static wide product(const struct ref_insn *in, wide a, wide b)
{
	unsigned __int128 all = (unsigned __int128)a * (unsigned __int128)b;

	if (!ref_has(in, REF_hi))
		return (wide)all;
	return in->type[0].kind == 's' ? (wide)all >> in->type[0].bits
				       : (wide)(all >> in->type[0].bits);
}

static wide sum(wide a, wide b)
{
	return (wide)((unsigned __int128)a + (unsigned __int128)b);
}

static bool arithmetic(const struct ref_insn *in, const uint64_t *v, uint64_t *out)
{
	struct ref_type t = in->type[0], twice = {t.kind, t.bits * 2};
	wide a = ref_number(v[0], t), b = ref_number(v[1], t), c = ref_number(v[2], t), r;

	if (ref_is(in, "add"))
		r = a + b;
	else if (ref_is(in, "sub"))
		r = a - b;
	else if (ref_is(in, "mul"))
		r = product(in, a, b);
	else if (ref_is(in, "mad"))
		r = sum(product(in, a, b), ref_has(in, REF_wide) ? ref_number(v[2], twice) : c);
	else if (ref_is(in, "div"))
		r = quotient(a, b);
	else if (ref_is(in, "rem"))
		r = b ? a - quotient(a, b) * b : -1;
	else if (ref_is(in, "min"))
		r = a < b ? a : b;
	else if (ref_is(in, "max"))
		r = a > b ? a : b;
	else if (ref_is(in, "abs"))
		r = a < 0 ? -a : a;
	else if (ref_is(in, "neg"))
		r = -a;
	else if (ref_is(in, "sad"))
		r = c + (a < b ? b - a : a - b);
	else
		return false;
	*out = ref_has(in, REF_sat) ? saturate(r, t) : (uint64_t)r;
	return true;
}

/* One flag; a subtraction is the addition of the complement, with the flag set at its begin. */
static bool carry_chain(const struct ref_insn *in, const uint64_t *v, bool *carry, uint64_t *out)
{
	unsigned int bits = in->type[0].bits;
	uint64_t ones = ref_cut(UINT64_MAX, bits);
	bool with = ref_is(in, "addc") || ref_is(in, "subc") || ref_is(in, "madc");
	bool minus = ref_is(in, "sub") || ref_is(in, "subc");
	uint64_t x = v[0], y = minus ? ones - ref_cut(v[1], bits) : v[1];
	unsigned __int128 total;

	if (ref_is(in, "mad") || ref_is(in, "madc")) {
		x = (uint64_t)product(in, ref_number(v[0], in->type[0]),
				      ref_number(v[1], in->type[0]));
		y = v[2];
	}
	total = (unsigned __int128)ref_cut(x, bits) + ref_cut(y, bits) + (with ? *carry : minus);
	if (ref_has(in, REF_cc))
		*carry = total >> bits & 1;
	*out = (uint64_t)total;
	return true;
}

/* ---- bits ---- */

static uint64_t field(uint64_t a, uint64_t pos, uint64_t n, struct ref_type t)
{
	uint64_t r = 0, sign = 0, last = pos + n - 1 < t.bits ? pos + n - 1 : t.bits - 1;

	if (t.kind == 's' && n)
		sign = a >> last & 1;
	for (uint64_t i = 0; i < t.bits; i++)
		r |= (i < n && pos + i < t.bits ? a >> (pos + i) & 1 : sign) << i;
	return r;
}

static uint64_t put_field(uint64_t a, uint64_t b, uint64_t pos, uint64_t n, unsigned int bits)
{
	for (uint64_t i = 0; i < n && pos + i < bits; i++)
		b = (b & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t how)
{
	uint64_t all = b << 32 | a, r = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t nibble = how >> 4 * i & 15, byte = all >> 8 * (nibble & 7) & 255;

		if (nibble & 8)
			byte = byte >> 7 ? 255 : 0;
		r |= byte << 8 * i;
	}
	return r;
}

static uint64_t table3(const uint64_t *v)
{
	uint64_t r = 0;

	for (int i = 0; i < 32; i++)
		r |= (v[3] >> ((v[0] >> i & 1) * 4 + (v[1] >> i & 1) * 2 + (v[2] >> i & 1)) & 1)
		     << i;
	return r;
}

static unsigned int n_ones(uint64_t a)
{
	unsigned int n = 0;

	for (; a; a >>= 1)
		n += a & 1;
	return n;
}

static unsigned int length(uint64_t a)
{
	unsigned int n = 0;

	for (; a; a >>= 1)
		n++;
	return n;
}

static uint64_t shift(const struct ref_insn *in, const uint64_t *v)
{
	uint64_t n = v[1] & UINT32_MAX;
	bool left = ref_is(in, "shl");

	if (n > 64)
		n = 64;
	if (left)
		return (uint64_t)((unsigned __int128)v[0] << n);
	return (uint64_t)(ref_number(v[0], in->type[0]) >> n);
}

static uint64_t funnel(const struct ref_insn *in, const uint64_t *v)
{
	uint64_t all = ref_cut(v[1], 32) << 32 | ref_cut(v[0], 32), n = v[2] & UINT32_MAX;

	n = ref_has(in, REF_wrap) ? n % 32 : n > 32 ? 32 : n;
	return ref_has(in, REF_l) ? all << n >> 32 : all >> n;
}

static bool bitwise(const struct ref_insn *in, const uint64_t *v, uint64_t *out)
{
	unsigned int bits = in->type[0].bits;
	uint64_t a = ref_cut(v[0], bits), byte = bits == 32 ? 255 : UINT32_MAX;

	if (ref_is(in, "and"))
		*out = v[0] & v[1];
	else if (ref_is(in, "or"))
		*out = v[0] | v[1];
	else if (ref_is(in, "xor"))
		*out = v[0] ^ v[1];
	else if (ref_is(in, "not"))
		*out = ~v[0];
	else if (ref_is(in, "shl") || ref_is(in, "shr"))
		*out = shift(in, v);
	else if (ref_is(in, "shf"))
		*out = funnel(in, v);
	else if (ref_is(in, "bfe"))
		*out = field(a, v[1] & byte, v[2] & byte, in->type[0]);
	else if (ref_is(in, "bfi"))
		*out = put_field(a, v[1], v[2] & byte, v[3] & byte, bits);
	else if (ref_is(in, "popc"))
		*out = n_ones(a);
	else if (ref_is(in, "clz"))
		*out = bits - length(a);
	else if (ref_is(in, "bfind"))
		*out = length(in->type[0].kind == 's' && a >> (bits - 1) ? ref_cut(~a, bits) : a) -
		       1;
	else if (ref_is(in, "prmt"))
		*out = permute(a, ref_cut(v[1], 32), v[2]);
	else if (ref_is(in, "lop3"))
		*out = table3(v);
	else
		return false;
	return true;
}

static uint64_t reversed(uint64_t a, unsigned int bits)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < bits; i++)
		r = r << 1 | (a >> i & 1);
	return r;
}

static uint64_t dot(const struct ref_insn *in, const uint64_t *v)
{
	wide total = ref_number(v[2], in->type[0]);
	struct ref_type a = {in->type[0].kind, 8}, b = {in->type[1].kind, 8};

	for (int i = 0; i < 32; i += 8)
		total += ref_number(v[0] >> i, a) * ref_number(v[1] >> i, b);
	return (uint64_t)total;
}

bool ref_compare(const struct ref_insn *in, struct ref_type t, uint64_t va, uint64_t vb)
{
	const char *how = in->compare;
	bool less, same, unordered = false;

	if (t.kind == 'f') {
		double a = t.bits == 32 ? (double)to_float(va) : to_double(va);
		double b = t.bits == 32 ? (double)to_float(vb) : to_double(vb);

		unordered = isnan(a) || isnan(b);
		less = a < b;
		same = a == b;
	} else {
		less = ref_number(va, t) < ref_number(vb, t);
		same = ref_number(va, t) == ref_number(vb, t);
	}
	if (!strcmp(how, "num") || !strcmp(how, "nan"))
		return unordered == !strcmp(how, "nan");
	if (unordered)
		return strlen(how) == 3;
	switch (how[0] << 8 | how[1]) {
	case 'e' << 8 | 'q': return same;
	case 'n' << 8 | 'e': return !same;
	case 'l' << 8 | 't': return less;
	case 'l' << 8 | 'e': return less || same;
	case 'g' << 8 | 't': return !less && !same;
	default: return !less;
	}
}

bool ref_compute(const struct ref_insn *in, const uint64_t *v, bool *carry, uint64_t *out)
{
	if (ref_has(in, REF_cc) || ref_is(in, "addc") || ref_is(in, "subc") || ref_is(in, "madc"))
		return carry_chain(in, v, carry, out);
	if (ref_is(in, "cvt")) {
		*out = convert(in, v[0]);
		return true;
	}
	if (in->type[0].kind == 'f' && in->type[0].bits == 32 && float_single(in, v, out))
		return true;
	if (in->type[0].kind == 'f' && in->type[0].bits == 64 && float_double(in, v, out))
		return true;
	if (bitwise(in, v, out))
		return true;
	if (ref_is(in, "brev")) {
		*out = reversed(v[0], in->type[0].bits);
		return true;
	}
	if (ref_is(in, "dp4a")) {
		*out = dot(in, v);
		return true;
	}
	if (ref_is(in, "slct")) {
		*out = ref_signed(v[2], 32) >= 0 ? v[0] : v[1];
		return true;
	}
	return in->type[0].kind != 'f' && arithmetic(in, v, out);
}
