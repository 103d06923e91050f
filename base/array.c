/*
 * array.c - see array.h.
 */
#include "base/array.h"

#include "base/checked.h"
#include "gsb/texture.h"

#define PITCH_ALIGN 32u
#define LEVEL_ALIGN 512u
/* Of any GPU; 2^17 x 2^17 x 2^15 texels of 16 bytes are 2^53, so nothing overflows. */
#define SIDE_MAX  (1u << 17)
#define DEPTH_MAX (1u << 15)

bool gsb_array_is_sane(const struct gsb_array *a)
{
	return gsb_texel_channel_bytes(a->format) &&
	       (a->n_channels == 1 || a->n_channels == 2 || a->n_channels == 4) && a->width &&
	       a->width <= SIDE_MAX && a->height <= SIDE_MAX && a->depth <= DEPTH_MAX &&
	       a->n_levels <= GSB_TEXTURE_LEVELS_MAX;
}

unsigned gsb_array_n_levels(const struct gsb_array *a)
{
	return a->n_levels ? a->n_levels : 1;
}

static uint32_t half_of(uint32_t n, unsigned times)
{
	return n >> times ? n >> times : 1;
}

static bool has_layers(const struct gsb_array *a)
{
	return a->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

static void measure(const struct gsb_array *a, unsigned level, struct gsb_array_level *out)
{
	out->width = half_of(a->width, level);
	out->n_rows = half_of(a->height, level);
	out->n_slices = half_of(a->depth, has_layers(a) ? 0 : level);
	out->row_bytes = (uint64_t)out->width * gsb_texel_channel_bytes(a->format) * a->n_channels;
	out->pitch_bytes = gsb_round_up(out->row_bytes, PITCH_ALIGN);
	out->slice_bytes = out->pitch_bytes * out->n_rows;
}

void gsb_array_find_level(const struct gsb_array *a, unsigned level, struct gsb_array_level *out)
{
	uint64_t offset = 0;

	for (unsigned i = 0; i < level; i++) {
		measure(a, i, out);
		offset = gsb_round_up(offset + out->slice_bytes * out->n_slices, LEVEL_ALIGN);
	}
	measure(a, level, out);
	out->offset = offset;
}

uint64_t gsb_array_bytes(const struct gsb_array *a)
{
	struct gsb_array_level last;

	gsb_array_find_level(a, gsb_array_n_levels(a) - 1, &last);
	return last.offset + last.slice_bytes * last.n_slices;
}
