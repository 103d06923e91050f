/*
 * texel.h - what a texture gives at a coordinate: addressing, filtering, conversion.
 *
 * After the appendix on texture fetching of the CUDA programming guide. Linear filtering weighs with fractions of 8 bits
 * and rounds weights and sums as an H200 does; doc/emulated-device.md says where last bits differ.
 */
#ifndef GSB_DEVICE_EMU_EXEC_TEXEL_H
#define GSB_DEVICE_EMU_EXEC_TEXEL_H

#include <stdbool.h>
#include <stdint.h>

#include "device/emu/code/code.h"
#include "gsb/texture.h"

struct gsb_emu_texel_place {
	float x, y, z;	/* or integers of the same value, when is_integer */
	int64_t i[3];	/* is_integer: texels, never normalised, never filtered */
	uint32_t layer; /* of the geometries that have layers */
	bool is_integer;
};

/* Memory of the tenant: copies len bytes from addr; false when the kernel may not read them. */
typedef bool gsb_emu_texel_read(void *ctx, uint64_t addr, void *to, uint32_t len);

struct gsb_emu_sampler {
	struct gsb_texture t; /* gsb_emu_texture_ok() holds */
	enum gsb_emu_geometry geometry;
	gsb_emu_texel_read *read;
	void *ctx;
};

/* Whether a descriptor, which a kernel may have written, says something that can be read. */
bool gsb_emu_texture_ok(const struct gsb_texture *t);

/* Four channels as the register's bits: floats, or integers widened to 32 bits. False: a texel could not be read. */
bool gsb_emu_texel_sample(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at,
			  uint32_t out[4]);

/* A place among the levels of detail: the lower level, and in 1/256 the weight of the next. */
struct gsb_emu_detail {
	uint32_t low, weight;
};

/* Where a texture of several levels is read that is asked for this one, bias included. A NaN is beyond the last. */
struct gsb_emu_detail gsb_emu_texel_detail(const struct gsb_texture *t, float level);

/*
 * The level at which a texel is about as large as the step from one place to the next: by OpenGL's formula the base 2
 * logarithm of the longer of the steps DX and DY, in texels. They are derivatives of the coordinates.
 */
float gsb_emu_texel_gradient_level(const struct gsb_emu_sampler *s, const float dx[3],
				   const float dy[3]);

/* As gsb_emu_texel_sample(), between two levels, HIGH with so many 1/256. */
bool gsb_emu_texel_blend(const struct gsb_emu_sampler *low, const struct gsb_emu_sampler *high,
			 uint32_t weight, const struct gsb_emu_texel_place *at, uint32_t out[4]);

/* One channel of the four texels that a bilinear filter would use, in the order (0,1) (1,1) (1,0) (0,0). */
bool gsb_emu_texel_gather(const struct gsb_emu_sampler *s, const struct gsb_emu_texel_place *at,
			  unsigned int channel, uint32_t out[4]);

/*
 * The address of a surface's element: x in bytes, y and z (slice or layer) in texels. CLAMP moves what is outside to the
 * edge; else false says that it is outside.
 */
bool gsb_emu_surface_address(const struct gsb_texture *t, int64_t x, int64_t y, int64_t z,
			     uint32_t bytes, bool clamp, uint64_t *addr);

#endif
