/*
 * texel.c - see texel.h.
 *
 * A coordinate goes through three steps: to texels (normalised ones are multiplied), to fixed point with 8 bits of
 * fraction where the filter is linear, to an index inside by the address mode. Then texels are read, converted, and
 * weighed.
 */
#include "device/emu/exec/texel.h"

#include <math.h>
#include <string.h>

#define FRACTION_BITS 8
#define FRACTION_ONE  (1 << FRACTION_BITS)
#define FAR_OUT	      0x1p30f /* texels: coordinates are clamped here before they become integers */
#define CUBE_FACES    6

/* Where one coordinate falls: the texel below, and the weight of the one above in 1/256. */
struct spot {
	int64_t low;
	int32_t weight;
};

struct color {
	double c[4]; /* of a format that is filtered */
	uint32_t bits[4];
};

bool gsb_emu_texture_ok(const struct gsb_texture *t)
{
	return t->mark == GSB_TEXTURE_MARK && gsb_texel_channel_bytes(t->format) &&
	       (t->n_channels == 1 || t->n_channels == 2 || t->n_channels == 4) && t->width &&
	       t->height && t->depth && t->width <= INT32_MAX && t->height <= INT32_MAX &&
	       t->depth <= INT32_MAX;
}

/* ---- formats ---- */

static bool is_integer_format(const struct gsb_texture *t)
{
	return t->format != CU_AD_FORMAT_HALF && t->format != CU_AD_FORMAT_FLOAT;
}

/* Small integers read as fractions unless the program wants the integers. */
static bool gives_floats(const struct gsb_texture *t)
{
	return !is_integer_format(t) ||
	       (!(t->flags & CU_TRSF_READ_AS_INTEGER) && gsb_texel_channel_bytes(t->format) < 4);
}

static float half_to_float(uint16_t h)
{
	uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
	float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
			  : exponent	 ? ldexpf((float)(fraction | 1024), (int)exponent - 25)
					 : ldexpf((float)fraction, -24);

	return h & 0x8000 ? -magnitude : magnitude;
}

static double from_srgb(double v)
{
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* A channel as the integer that a register gets. */
static uint32_t widen(unsigned int format, const void *from)
{
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;

	switch (gsb_texel_channel_bytes(format)) {
	case 1:
		memcpy(&u8, from, 1);
		return format == CU_AD_FORMAT_SIGNED_INT8 ? (uint32_t)(int8_t)u8 : u8;
	case 2:
		memcpy(&u16, from, 2);
		return format == CU_AD_FORMAT_SIGNED_INT16 ? (uint32_t)(int16_t)u16 : u16;
	default: memcpy(&u32, from, 4); return u32;
	}
}

static double fraction_of(const struct gsb_texture *t, unsigned int channel, uint32_t v)
{
	double f;

	switch (t->format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
		f = v / 255.0;
		return t->flags & CU_TRSF_SRGB && channel < 3 ? from_srgb(f) : f;
	case CU_AD_FORMAT_UNSIGNED_INT16: return v / 65535.0;
	case CU_AD_FORMAT_SIGNED_INT8: return fmax((int32_t)v / 127.0, -1);
	default: return fmax((int32_t)v / 32767.0, -1);
	}
}

static double value_of(const struct gsb_texture *t, unsigned int channel, uint32_t v)
{
	float f;

	if (t->format == CU_AD_FORMAT_HALF)
		return half_to_float((uint16_t)v);
	if (t->format != CU_AD_FORMAT_FLOAT)
		return fraction_of(t, channel, v);
	memcpy(&f, &v, 4);
	return f;
}

static uint32_t float_bits(double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

/* Channels that the format has not are 0, 0 and 1. */
static void convert(const struct gsb_texture *t, const uint8_t *texel, struct color *out)
{
	uint32_t bytes = gsb_texel_channel_bytes(t->format);
	bool floats = gives_floats(t);

	for (unsigned int i = 0; i < 4; i++) {
		uint32_t v = i < t->n_channels ? widen(t->format, texel + i * bytes) : i == 3;

		out->c[i] = !floats ? 0 : i < t->n_channels ? value_of(t, i, v) : i == 3;
		out->bits[i] = t->format == CU_AD_FORMAT_FLOAT && i < t->n_channels
				       ? v /* a NaN keeps its bits */
			       : floats ? float_bits(out->c[i])
					: v;
	}
}

/* ---- coordinates ---- */

static bool is_mirrored(const struct gsb_texture *t, unsigned int axis)
{
	return t->address[axis] == CU_TR_ADDRESS_MODE_MIRROR &&
	       t->flags & CU_TRSF_NORMALIZED_COORDINATES;
}

static float to_texels(const struct gsb_texture *t, unsigned int axis, float x, uint32_t n)
{
	if (isnan(x))
		return 0;
	if (t->flags & CU_TRSF_NORMALIZED_COORDINATES) {
		if (t->address[axis] == CU_TR_ADDRESS_MODE_WRAP) {
			x -= floorf(x);
		} else if (t->address[axis] == CU_TR_ADDRESS_MODE_MIRROR) {
			x -= 2 * floorf(x / 2); /* what is mirrored is the texel */
		}
		x *= (float)n;
	}
	return fminf(fmaxf(x, -FAR_OUT), FAR_OUT);
}

static struct spot find_spot(const struct gsb_texture *t, float x, bool is_linear)
{
	int64_t fixed;

	if (!is_linear)
		return (struct spot){.low = (int64_t)floorf(x)};
	fixed = (int64_t)floor(((double)x - 0.5) * FRACTION_ONE + 0.5);
	return (struct spot){.low = fixed >> FRACTION_BITS,
			     .weight = (int32_t)(fixed & (FRACTION_ONE - 1))};
}

/* The index inside; -1: the border. Wrap and mirror are for normalised coordinates, and clamp for others. */
static int64_t inside(const struct gsb_texture *t, unsigned int axis, int64_t i, uint32_t n)
{
	bool normalized = t->flags & CU_TRSF_NORMALIZED_COORDINATES;

	if (i >= 0 && i < n)
		return i;
	if (t->address[axis] == CU_TR_ADDRESS_MODE_BORDER)
		return -1;
	if (t->address[axis] == CU_TR_ADDRESS_MODE_WRAP && normalized)
		return ((i % n) + n) % n;
	if (is_mirrored(t, axis)) {
		i = ((i % (2 * (int64_t)n)) + 2 * (int64_t)n) % (2 * (int64_t)n);
		return i < n ? i : 2 * (int64_t)n - 1 - i;
	}
	return i < 0 ? 0 : n - 1;
}

/*
 * Beyond the middle of the outermost texel, clamped, it has the whole weight: there is nothing to round. A mirrored one is
 * weighed with itself.
 */
static void weigh_repeated(const struct gsb_texture *t, unsigned int axis, uint32_t n,
			   struct spot *s)
{
	if (!is_mirrored(t, axis) && (s->low < 0 || s->low >= (int64_t)n - 1) &&
	    inside(t, axis, s->low, n) == inside(t, axis, s->low + 1, n))
		s->weight = 0;
}

/* ---- texels ---- */

static bool border(const struct gsb_texture *t, struct color *out)
{
	for (unsigned int i = 0; i < 4; i++) {
		out->c[i] = t->border[i];
		memcpy(&out->bits[i], &t->border[i], 4);
	}
	return true;
}

static uint64_t texel_address(const struct gsb_texture *t, int64_t x, int64_t y, int64_t z)
{
	return t->base + (uint64_t)z * t->slice_bytes + (uint64_t)y * t->pitch_bytes +
	       (uint64_t)x * gsb_texel_channel_bytes(t->format) * t->n_channels;
}

static bool fetch(const struct gsb_emu_sampler *s, const int64_t at[3], struct color *out)
{
	const struct gsb_texture *t = &s->t;
	uint8_t texel[16];

	if (at[0] < 0 || at[1] < 0 || at[2] < 0)
		return border(t, out);
	if (!s->read(s->ctx, texel_address(t, at[0], at[1], at[2]), texel,
		     gsb_texel_channel_bytes(t->format) * t->n_channels))
		return false;
	convert(t, texel, out);
	return true;
}

static unsigned int n_axes(enum gsb_emu_geometry g)
{
	switch (g) {
	case GSB_EMU_GEOM_1D:
	case GSB_EMU_GEOM_A1D: return 1;
	case GSB_EMU_GEOM_3D: return 3;
	default: return 2;
	}
}

static uint32_t extent(const struct gsb_texture *t, unsigned int axis)
{
	return axis == 0 ? t->width : axis == 1 ? t->height : t->depth;
}

/* The face of a cube that a direction points at, and where on it, as normalised coordinates. */
static uint32_t face_of(const struct gsb_emu_texel_place *at, float *s, float *t)
{
	float x = at->x, y = at->y, z = at->z;
	float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), m, u, v;
	uint32_t face;

	if (ax >= ay && ax >= az) {
		face = x < 0;
		m = ax;
		u = x < 0 ? z : -z;
		v = -y;
	} else if (ay >= az) {
		face = 2 + (y < 0);
		m = ay;
		u = x;
		v = y < 0 ? -z : z;
	} else {
		face = 4 + (z < 0);
		m = az;
		u = z < 0 ? -x : x;
		v = -y;
	}
	*s = (u / m + 1) / 2;
	*t = (v / m + 1) / 2;
	return face;
}

/* What all geometries come to: axes with a spot each, and a fixed slice where the third is none. */
struct view {
	unsigned int n_axes;
	struct spot spot[3];
	int64_t slice;
};

static uint32_t last_layer(const struct gsb_texture *t, uint32_t layer, uint32_t faces)
{
	uint32_t n = t->depth / faces;

	return layer < n ? layer : n ? n - 1 : 0;
}

static void find_view(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at,
		      bool is_linear, struct view *v)
{
	struct gsb_texture t = s->t;
	float x[3] = {at->x, at->y, at->z};
	uint32_t face;

	*v = (struct view){.n_axes = n_axes(s->geometry)};
	if (s->geometry == GSB_EMU_GEOM_A1D || s->geometry == GSB_EMU_GEOM_A2D) {
		v->slice = last_layer(&t, at->layer, 1);
	} else if (s->geometry == GSB_EMU_GEOM_CUBE || s->geometry == GSB_EMU_GEOM_ACUBE) {
		face = face_of(at, &x[0], &x[1]);
		v->slice = last_layer(&t, at->layer, CUBE_FACES) * CUBE_FACES + face;
		if (v->slice >= t.depth)
			v->slice = t.depth - 1;
		t.flags |= CU_TRSF_NORMALIZED_COORDINATES;
		t.address[0] = t.address[1] = CU_TR_ADDRESS_MODE_CLAMP;
	}
	for (unsigned int i = 0; i < v->n_axes; i++) {
		if (at->is_integer)
			v->spot[i] = (struct spot){.low = at->i[i]};
		else
			v->spot[i] =
				find_spot(&t, to_texels(&t, i, x[i], extent(&t, i)), is_linear);
		weigh_repeated(&t, i, extent(&t, i), &v->spot[i]);
	}
}

/* The texel that is `up` (a bit an axis) from the low one. */
static bool fetch_corner(const struct gsb_emu_sampler *s, const struct view *v, unsigned int up,
			 struct color *out)
{
	int64_t at[3] = {0, 0, v->slice};

	for (unsigned int i = 0; i < v->n_axes; i++)
		at[i] = inside(&s->t, i, v->spot[i].low + (up >> i & 1), extent(&s->t, i));
	return fetch(s, at, out);
}

/* Of a weight, the part of the texel above; half a unit goes where HALF says. */
static int32_t share(int32_t weight, int32_t part, bool half)
{
	return (weight * part + FRACTION_ONE / 2 - !half) >> FRACTION_BITS;
}

/*
 * The weights of a slice's four corners, which come to WHOLE: the unit has 8 bits for a weight, so each division rounds,
 * first right from left, then up from down. The order, and where a half goes, are an H200's.
 */
static void divide(const struct view *v, int32_t whole, int32_t w[4])
{
	int32_t x = v->spot[0].weight, y = v->n_axes > 1 ? v->spot[1].weight : 0;

	w[1] = share(whole, x, true);
	w[0] = whole - w[1];
	w[2] = share(w[0], y, false);
	w[3] = share(w[1], y, true);
	w[0] -= w[2];
	w[1] -= w[3];
}

static void find_weights(const struct view *v, int32_t whole, int32_t w[8])
{
	int32_t z = v->n_axes > 2 ? share(whole, v->spot[2].weight, true) : 0;

	divide(v, whole - z, w);
	divide(v, z, w + 4);
}

/* Filters count small integers, as fractions, in these steps: they have 16 bits there. 0: they are floats. */
static double steps_of(const struct gsb_texture *t)
{
	switch (t->format) {
	case CU_AD_FORMAT_UNSIGNED_INT8: return t->flags & CU_TRSF_SRGB ? 0 : 65535;
	case CU_AD_FORMAT_UNSIGNED_INT16: return 65535;
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT16: return 32767;
	default: return 0;
	}
}

/* To so many bits, none below 2^LEAST; the middle of two goes away from zero. */
static double round_to(double v, int bits, int least)
{
	double unit;
	int exponent;

	if (!isfinite(v))
		return v;
	frexp(v, &exponent);
	unit = ldexp(1, exponent - bits > least ? exponent - bits : least);
	return round(v / unit) * unit;
}

/* A sum of texels is what a texel could be: a half, a fraction of 16 bits, or a float. */
static double round_sum(const struct gsb_texture *t, double sum)
{
	double steps = steps_of(t);

	if (steps != 0)
		return round(sum) / steps;
	return t->format == CU_AD_FORMAT_HALF ? round_to(sum, 11, -24) : round_to(sum, 24, -149);
}

/* Adds the texels, weighed so that the weights come to WHOLE. */
static bool add_texels(const struct gsb_emu_sampler *s, const struct view *v, int32_t whole,
		       double sum[4])
{
	double steps = steps_of(&s->t);
	int32_t w[8];

	find_weights(v, whole, w);
	for (unsigned int up = 0; up < 8; up++) {
		struct color c;

		if (!w[up])
			continue;
		if (!fetch_corner(s, v, up, &c))
			return false;
		for (unsigned int i = 0; i < 4; i++)
			sum[i] += w[up] * (steps != 0 ? round(c.c[i] * steps) : c.c[i]);
	}
	return true;
}

static void finish_sum(const struct gsb_texture *t, const double sum[4], uint32_t out[4])
{
	for (unsigned int i = 0; i < 4; i++)
		out[i] = float_bits(round_sum(t, sum[i] / FRACTION_ONE));
}

static bool filter(const struct gsb_emu_sampler *s, const struct view *v, uint32_t out[4])
{
	double sum[4] = {0};

	if (!add_texels(s, v, FRACTION_ONE, sum))
		return false;
	finish_sum(&s->t, sum, out);
	return true;
}

static bool is_filtered(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at)
{
	return s->t.filter == CU_TR_FILTER_MODE_LINEAR && !at->is_integer && gives_floats(&s->t);
}

bool gsb_emu_texel_sample(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at,
			  uint32_t out[4])
{
	bool is_linear = is_filtered(s, at);
	struct color c;
	struct view v;

	find_view(s, at, is_linear, &v);
	if (is_linear)
		return filter(s, &v, out);
	if (!fetch_corner(s, &v, 0, &c))
		return false;
	memcpy(out, c.bits, sizeof(c.bits));
	return true;
}

/* ---- levels of detail ---- */

static float within(float v, float least, float most)
{
	return fmaxf(fminf(v, most), least);
}

/* An H200 cuts the level to 8 bits of fraction, and takes the nearer of two, or the upper from their middle on. */
struct gsb_emu_detail gsb_emu_texel_detail(const struct gsb_texture *t, float level)
{
	const float last = t->n_levels ? t->n_levels - 1.0f : 0;
	const bool between = t->level_filter == CU_TR_FILTER_MODE_LINEAR && gives_floats(t);
	uint32_t fixed;

	level = within(within(level, t->least_level, t->most_level), 0, last);
	fixed = (uint32_t)(level * FRACTION_ONE);
	if (!between)
		return (struct gsb_emu_detail){.low = (fixed + FRACTION_ONE / 2) >> FRACTION_BITS};
	return (struct gsb_emu_detail){fixed >> FRACTION_BITS, fixed & (FRACTION_ONE - 1)};
}

float gsb_emu_texel_gradient_level(const struct gsb_emu_sampler *s, const float dx[3],
				   const float dy[3])
{
	double x = 0, y = 0, n;

	for (unsigned int i = 0; i < n_axes(s->geometry); i++) {
		n = extent(&s->t, i);
		x += dx[i] * n * (dx[i] * n);
		y += dy[i] * n * (dy[i] * n);
	}
	n = fmax(x, y);
	if (n <= 0)
		return -INFINITY;
	return (float)(log2(n) / 2);
}

bool gsb_emu_texel_blend(const struct gsb_emu_sampler *low, const struct gsb_emu_sampler *high,
			 uint32_t weight, const struct gsb_emu_texel_place *at, uint32_t out[4])
{
	const int32_t upper = (int32_t)weight;
	double sum[4] = {0};
	struct view v;

	find_view(low, at, is_filtered(low, at), &v);
	if (!add_texels(low, &v, FRACTION_ONE - upper, sum))
		return false;
	find_view(high, at, is_filtered(high, at), &v);
	if (!add_texels(high, &v, upper, sum))
		return false;
	finish_sum(&low->t, sum, out);
	return true;
}

bool gsb_emu_texel_gather(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at,
			  unsigned int channel, uint32_t out[4])
{
	static const uint8_t order[4] = {2, 3, 1, 0}; /* bit 0: right, bit 1: down */
	struct color c;
	struct view v;

	find_view(s, at, true, &v);
	for (unsigned int i = 0; i < 4; i++) {
		if (!fetch_corner(s, &v, order[i], &c))
			return false;
		out[i] = c.bits[channel];
	}
	return true;
}

/* ---- surfaces ---- */

static int64_t clamped(int64_t i, int64_t last)
{
	return i < 0 ? 0 : i > last ? last : i;
}

bool gsb_emu_surface_address(const struct gsb_texture *t, int64_t x, int64_t y, int64_t z,
			     uint32_t bytes, bool clamp, uint64_t *addr)
{
	int64_t row_bytes = (int64_t)t->width * gsb_texel_channel_bytes(t->format) * t->n_channels;
	int64_t last = row_bytes - bytes;

	if (last < 0)
		return false;
	if (clamp) {
		x = clamped(x, last - last % bytes);
		y = clamped(y, (int64_t)t->height - 1);
		z = clamped(z, (int64_t)t->depth - 1);
	}
	if (x < 0 || x > last || y < 0 || y >= t->height || z < 0 || z >= t->depth)
		return false;
	*addr = t->base + (uint64_t)z * t->slice_bytes + (uint64_t)y * t->pitch_bytes + (uint64_t)x;
	return true;
}
