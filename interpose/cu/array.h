/*
 * array.h - CUDA arrays and the objects that view memory: textures and surfaces.
 *
 * Addresses stand for an array's texels as for linear memory: rows at a pitch, slices (or layers, or faces) one behind the other
 * (base/array.h). A texture or surface is the device's own object; where the device has none, it is a descriptor in device
 * memory (gsb/texture.h), and its handle is that descriptor's address.
 */
#ifndef GSB_INTERPOSE_CU_ARRAY_H
#define GSB_INTERPOSE_CU_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "gsb/cuabi.h"
#include "gsb/texture.h"
#include "interpose/core/object.h"

#define GSB_N_ARRAYS   65536
#define GSB_N_TEXTURES 65536
#define GSB_N_MIPMAPS  65536

struct gsb_cu_array {
	struct gsb_object obj;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	uint64_t addr;
	struct gsb_array_level lies; /* from addr on */
	bool is_level;		     /* of a mipmapped array, which alone destroys it */
};

extern struct gsb_object_table gsb_cu_arrays;

/* NULL: no array. */
static inline struct gsb_cu_array *gsb_cu_array_get(CUarray array)
{
	return gsb_object_get(&gsb_cu_arrays, (uint64_t)array);
}

/* What is asked for, as the engine has it. CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED. */
CUresult gsb_cu_array_read(const CUDA_ARRAY3D_DESCRIPTOR *desc, struct gsb_array *out);

/* Arrays of one kind, each half as large as the one before, in one allocation. */
struct gsb_cu_mipmap {
	struct gsb_object obj;
	uint64_t addr;
	unsigned n_levels;
	CUarray levels[GSB_TEXTURE_LEVELS_MAX];
};

extern struct gsb_object_table gsb_cu_mipmaps;

/* NULL: no mipmapped array. */
static inline struct gsb_cu_mipmap *gsb_cu_mipmap_get(CUmipmappedArray array)
{
	return gsb_object_get(&gsb_cu_mipmaps, (uint64_t)array);
}

/* How many levels there are of what is asked for: down to one texel, at most; one at least. */
unsigned gsb_cu_mipmap_levels(const struct gsb_array *array, unsigned asked);

/* What a level is an array of. */
CUDA_ARRAY3D_DESCRIPTOR gsb_cu_mipmap_level(const CUDA_ARRAY3D_DESCRIPTOR *desc,
					    const struct gsb_array_level *level);

struct gsb_cu_texture {
	struct gsb_object obj;
	uint64_t handle; /* that the program has */
	bool is_memory;	 /* a descriptor that is to be freed */
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture; /* of textures */
	bool is_surface;
};

extern struct gsb_object_table gsb_cu_textures;

/* The texture or surface of this handle, or NULL. */
struct gsb_cu_texture *gsb_cu_texture_find(uint64_t handle, bool is_surface);

/*
 * What the device is to see of a resource: a descriptor for each level, of which the first says how many. CUDA_ERROR_INVALID_VALUE, _INVALID_HANDLE.
 */
CUresult gsb_cu_texture_view(const CUDA_RESOURCE_DESC *resource,
			     struct gsb_texture out[GSB_TEXTURE_LEVELS_MAX]);
/* How it is read; of one level. */
CUresult gsb_cu_texture_sample(const CUDA_TEXTURE_DESC *texture, struct gsb_texture *out);

#endif
