/*
 * texture.c - the handlers of textures and surfaces: lane by lane, from the descriptor that the handle is the address of.
 *
 * Lanes nearly always have one handle, so the descriptor is read again only where it differs from the lane before.
 */
#include <string.h>

#include "device/emu/exec/fault.h"
#include "device/emu/exec/texel.h"

enum outside { OUTSIDE_TRAP, OUTSIDE_CLAMP, OUTSIDE_ZERO };

struct reader {
	struct gsb_emu_exec *x;
	unsigned int lane;
	uint64_t bad; /* address of what could not be read */
};

static bool read_texel(void *ctx, uint64_t addr, void *to, uint32_t len)
{
	struct reader *r = ctx;
	const unsigned char *from = gsb_emu_generic(r->x, r->lane, addr, len, false);

	if (!from) {
		r->bad = addr;
		return false;
	}
	memcpy(to, from, len);
	return true;
}

static bool load_descriptor(struct reader *r, uint64_t handle, struct gsb_texture *t)
{
	if (read_texel(r, handle, t, sizeof(*t)) && gsb_emu_texture_ok(t))
		return true;
	gsb_emu_fail(r->x, CUDA_ERROR_INVALID_ADDRESS_SPACE, handle,
		     "0x%llx is no texture or surface object of this context",
		     (unsigned long long)handle);
	return false;
}

static const struct gsb_emu_op *unreadable(const struct reader *r)
{
	return gsb_emu_fail(r->x, CUDA_ERROR_ILLEGAL_ADDRESS, r->bad,
			    "texel at 0x%llx, outside of the program's memory",
			    (unsigned long long)r->bad);
}

static const uint32_t *list_of(const struct gsb_emu_exec *x, uint32_t at)
{
	return x->block->code->lists + at;
}

static uint32_t word_at(const char *r, uint32_t row, unsigned int lane)
{
	return ((const uint32_t *)(const void *)(r + row))[lane];
}

static uint64_t handle_at(const char *r, uint32_t row, unsigned int lane)
{
	return ((const uint64_t *)(const void *)(r + row))[lane];
}

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static bool has_layers(enum gsb_emu_geometry g)
{
	return g == GSB_EMU_GEOM_A1D || g == GSB_EMU_GEOM_A2D || g == GSB_EMU_GEOM_ACUBE;
}

static struct gsb_emu_texel_place place_at(const struct gsb_emu_op *op, const uint32_t *rows,
					   const char *r, unsigned int lane)
{
	bool layers = has_layers(op->n);
	uint32_t c[3];

	for (unsigned int i = 0; i < 3; i++)
		c[i] = word_at(r, rows[i + layers], lane);
	return (struct gsb_emu_texel_place){
		.x = float_of(c[0]),
		.y = float_of(c[1]),
		.z = float_of(c[2]),
		.i = {(int32_t)c[0], (int32_t)c[1], (int32_t)c[2]},
		.layer = layers ? word_at(r, rows[0], lane) : 0,
		.is_integer = op->e,
	};
}

/* ---- levels of detail ---- */

static float level_at(const struct gsb_emu_op *op, const uint32_t *rows, const char *r,
		      unsigned int lane)
{
	uint32_t v = word_at(r, rows[0], lane);

	return op->e ? (float)(int32_t)v : float_of(v);
}

/* A cube's coordinates go from -1 to 1. */
static float gradient_level_at(const struct gsb_emu_sampler *s, const uint32_t *rows, const char *r,
			       unsigned int lane)
{
	const bool cube = s->geometry == GSB_EMU_GEOM_CUBE || s->geometry == GSB_EMU_GEOM_ACUBE;
	float d[6];

	for (unsigned int i = 0; i < 6; i++)
		d[i] = float_of(word_at(r, rows[i], lane)) * (cube ? 0.5f : 1);
	return gsb_emu_texel_gradient_level(s, d, d + 3);
}

/* What names no level reads the first that may be read, and has no bias. */
static struct gsb_emu_detail detail_at(const struct gsb_emu_sampler *s, const struct gsb_emu_op *op,
				       const char *r, unsigned int lane)
{
	const uint32_t *rows = list_of(((struct reader *)s->ctx)->x, op->c);
	float level = 0;

	if (op->imm == GSB_EMU_TEX_LEVEL)
		level = level_at(op, rows, r, lane) + s->t.level_bias;
	else if (op->imm == GSB_EMU_TEX_GRADIENT)
		level = gradient_level_at(s, rows, r, lane) + s->t.level_bias;
	return gsb_emu_texel_detail(&s->t, level);
}

static bool load_level(const struct gsb_emu_sampler *s, uint64_t handle, uint32_t level,
		       struct gsb_emu_sampler *out)
{
	*out = *s;
	return !level || load_descriptor(s->ctx, handle + level * sizeof(s->t), &out->t);
}

enum sampled { SAMPLED, UNREADABLE, ENDED };

static enum sampled sample_levels(const struct gsb_emu_sampler *s, uint64_t handle,
				  struct gsb_emu_detail d, const struct gsb_emu_texel_place *place,
				  uint32_t out[4])
{
	struct gsb_emu_sampler low, high;
	bool done;

	if (!load_level(s, handle, d.low, &low) ||
	    (d.weight && !load_level(s, handle, d.low + 1, &high)))
		return ENDED;
	done = d.weight ? gsb_emu_texel_blend(&low, &high, d.weight, place, out)
			: gsb_emu_texel_sample(&low, place, out);
	return done ? SAMPLED : UNREADABLE;
}

static enum sampled sample(const struct gsb_emu_sampler *s, uint64_t handle,
			   const struct gsb_emu_op *op, const char *r, uint32_t out[4])
{
	const struct reader *reader = s->ctx;
	const struct gsb_emu_texel_place place =
		place_at(op, list_of(reader->x, op->b), r, reader->lane);
	bool done;

	if (s->t.n_levels > 1 && op->imm < 0)
		return sample_levels(s, handle, detail_at(s, op, r, reader->lane), &place, out);
	done = op->imm < 0 ? gsb_emu_texel_sample(s, &place, out)
			   : gsb_emu_texel_gather(s, &place, (unsigned int)op->imm, out);
	return done ? SAMPLED : UNREADABLE;
}

GSB_EMU_HANDLER(gsb_emu_do_TEX)
{
	const uint32_t *to = list_of(x, op->d);
	struct reader reader = {.x = x};
	struct gsb_emu_sampler s = {.geometry = op->n, .read = read_texel, .ctx = &reader};
	uint32_t results[GSB_EMU_LANES][4];
	uint64_t handle = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		enum sampled how;

		reader.lane = i;
		if (left == mask || handle_at(r, op->a, i) != handle) {
			handle = handle_at(r, op->a, i);
			if (!load_descriptor(&reader, handle, &s.t))
				return NULL;
		}
		how = sample(&s, handle, op, r, results[i]);
		if (how != SAMPLED)
			return how == ENDED ? NULL : unreadable(&reader);
	}
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		for (unsigned int k = 0; k < 4; k++)
			((uint32_t *)(void *)(r + to[k]))[i] = results[i][k];
	}
	return op + 1;
}

/* ---- queries ---- */

/* Of layers the depth counts none; what has no layers is one. */
static uint32_t answer(const struct gsb_texture *t, enum gsb_emu_query query)
{
	switch (query) {
	case GSB_EMU_QUERY_WIDTH: return t->width;
	case GSB_EMU_QUERY_HEIGHT: return t->height;
	case GSB_EMU_QUERY_DEPTH: return t->is_layered ? 1 : t->depth;
	case GSB_EMU_QUERY_LAYERS: return t->is_layered ? t->depth : 1;
	case GSB_EMU_QUERY_NORMALIZED: return (t->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
	default: return t->n_levels ? t->n_levels : 1;
	}
}

/* A level that is not there has no extent. */
static bool answer_of_level(struct reader *r, const struct gsb_emu_op *op, const char *rows,
			    uint64_t handle, const struct gsb_texture *t, uint32_t *out)
{
	uint32_t level = op->e ? word_at(rows, op->b, r->lane) : 0;
	struct gsb_texture of;

	*out = level ? 0 : answer(t, op->n);
	if (!level || level >= t->n_levels)
		return true;
	if (!load_descriptor(r, handle + level * sizeof(*t), &of))
		return false;
	*out = answer(&of, op->n);
	return true;
}

GSB_EMU_HANDLER(gsb_emu_do_TEX_QUERY)
{
	struct reader reader = {.x = x};
	uint32_t results[GSB_EMU_LANES] = {0}, *to = (void *)(r + op->d);
	struct gsb_texture t;
	uint64_t handle = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		reader.lane = (unsigned int)__builtin_ctz(left);
		if (left == mask || handle_at(r, op->a, reader.lane) != handle) {
			handle = handle_at(r, op->a, reader.lane);
			if (!load_descriptor(&reader, handle, &t))
				return NULL;
		}
		if (!answer_of_level(&reader, op, r, handle, &t, &results[reader.lane]))
			return NULL;
	}
	for (uint32_t left = mask; left; left &= left - 1)
		to[__builtin_ctz(left)] = results[__builtin_ctz(left)];
	return op + 1;
}

/* ---- surfaces ---- */

struct element {
	uint64_t addr;
	bool is_outside; /* and that is no fault */
};

/* Where the lane's elements lie; false: the block has ended. */
static bool find_element(struct reader *r, const struct gsb_emu_op *op, const char *rows,
			 const struct gsb_texture *t, struct element *e)
{
	const uint32_t *at = list_of(r->x, op->b);
	enum gsb_emu_geometry g = op->n >> 4;
	enum outside outside = op->n & 15;
	int64_t c[4], x, y = 0, z = 0;

	for (unsigned int i = 0; i < 4; i++)
		c[i] = (int32_t)word_at(rows, at[i], r->lane);
	x = c[has_layers(g)];
	if (g != GSB_EMU_GEOM_1D && g != GSB_EMU_GEOM_A1D)
		y = c[1 + has_layers(g)];
	if (g == GSB_EMU_GEOM_3D)
		z = c[2];
	else if (has_layers(g))
		z = c[0];
	e->is_outside = !gsb_emu_surface_address(t, x, y, z, op->c * op->e,
						 outside == OUTSIDE_CLAMP, &e->addr);
	if (!e->is_outside || outside == OUTSIDE_ZERO)
		return true;
	gsb_emu_fail(r->x, CUDA_ERROR_ILLEGAL_ADDRESS, 0,
		     "surface coordinates x %lld bytes, y %lld, z %lld are outside", (long long)x,
		     (long long)y, (long long)z);
	return false;
}

/* All lanes' places first: what is found wrong leaves memory and registers as they were. */
static bool find_elements(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			  uint32_t mask, unsigned char *p[GSB_EMU_LANES], bool write)
{
	struct reader reader = {.x = x};
	struct gsb_texture t;
	struct element e;
	uint64_t handle = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		reader.lane = i;
		if (left == mask || handle_at(r, op->a, i) != handle) {
			handle = handle_at(r, op->a, i);
			if (!load_descriptor(&reader, handle, &t))
				return false;
		}
		if (!find_element(&reader, op, r, &t, &e))
			return false;
		p[i] = e.is_outside ? NULL : gsb_emu_generic(x, i, e.addr, op->c * op->e, write);
		reader.bad = e.addr;
		if (!p[i] && !e.is_outside)
			return unreadable(&reader);
	}
	return true;
}

GSB_EMU_HANDLER(gsb_emu_do_SULD)
{
	const uint32_t *to = list_of(x, op->d);
	const uint32_t lane_bytes = (uint32_t)op->imm;
	unsigned char *p[GSB_EMU_LANES];

	if (!find_elements(x, op, r, mask, p, false))
		return NULL;
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		for (uint32_t k = 0; k < op->e; k++) {
			uint64_t v = 0;

			if (p[i])
				memcpy(&v, p[i] + k * op->c, op->c);
			memcpy(r + to[k] + i * lane_bytes, &v, lane_bytes);
		}
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_SUST)
{
	const uint32_t *from = list_of(x, op->d);
	const uint32_t lane_bytes = (uint32_t)op->imm;
	unsigned char *p[GSB_EMU_LANES];

	if (!find_elements(x, op, r, mask, p, true))
		return NULL;
	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		for (uint32_t k = 0; p[i] && k < op->e; k++)
			memcpy(p[i] + k * op->c, r + from[k] + i * lane_bytes, op->c);
	}
	return op + 1;
}
