/*
 * texture.h - what a texture or surface object stands for: a view of linear device memory.
 *
 * A device that has texture units makes its own object of it (texture_create of device/ops.h). For one that samples textures in
 * software, the library writes the descriptor into the tenant's own device memory, and the object's handle is its address: a kernel
 * gets it as any other argument, and the device reads it there. It is as hostile as
 * the rest of the tenant's memory; every texel's address is checked like that of a load.
 *
 * Of a mipmapped array there is a descriptor for each level, the largest first, one behind the other; the handle is the
 * first one's address, and that one says how many there are and which of them are read.
 *
 * Layout of the texels: row-major; texel (x, y, z) lies at base + z * slice_bytes + y * pitch_bytes + x * size of a
 * texel, where z counts slices, layers, or the faces of a cube map (+x -x +y -y +z -z, then the next cube's).
 */
#ifndef GSB_TEXTURE_H
#define GSB_TEXTURE_H

#include <stdint.h>

#include "gsb/cuabi.h"

#define GSB_TEXTURE_LEVELS_MAX 18 /* the widest array has 131,072 texels */

#define GSB_TEXTURE_MARK UINT64_C(0x6773622d74657831) /* a descriptor begins so */

struct gsb_texture {
	uint64_t mark;
	uint64_t base; /* device address */
	uint64_t pitch_bytes, slice_bytes;
	uint32_t width, height, depth; /* texels, each >= 1 */
	uint8_t format;		       /* CUarray_format */
	uint8_t n_channels;	       /* 1, 2 or 4 */
	uint8_t address[3];	       /* CUaddress_mode of x, y, z */
	uint8_t filter;		       /* CUfilter_mode */
	uint8_t flags;		       /* CU_TRSF_* */
	uint8_t is_layered;	       /* bool: z counts layers or faces, not slices */
	float border[4];
	uint8_t n_levels;     /* of detail: 0 and 1 are one */
	uint8_t level_filter; /* CUfilter_mode */
	uint8_t resource;     /* CUresourcetype */
	uint8_t anisotropy;   /* at most; only a GPU heeds it */
	float level_bias, least_level, most_level;
	uint8_t reserved[24];
};

_Static_assert(sizeof(struct gsb_texture) == 112, "the same in library and device");

/* Bytes of one channel of a format; 0: no such format. */
static inline uint32_t gsb_texel_channel_bytes(unsigned format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF: return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT: return 4;
	default: return 0;
	}
}

#endif
