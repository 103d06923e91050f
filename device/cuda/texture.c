/*
 * texture.c - see texture.h.
 *
 * The driver trusts its caller: it reads as far as it is told, and memory that is not there is a fault for all. So what a view
 * names is looked for first, and numbers out of range of CUDA's header never come to it.
 */
#include "device/cuda/texture.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "device/cuda/array.h"
#include "device/cuda/place.h"

#define TEXTURES_MAX 65536 /* of a space; the driver's table has room for some more, of all */
#define FLAGS_KNOWN                                                                          \
	(unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
		   CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

struct key {
	uint64_t handle, is_surface;
};

struct cuda_texture {
	struct key key;
	const struct cuda_array *
		array; /* that it views; NULL: memory, or the array has gone and the driver's object with it */
	bool is_gone;
	UT_hash_handle hh;
};

/* ---- what a view is of ---- */

static bool is_known(const struct gsb_texture *v)
{
	for (int i = 0; i < 3; i++)
		if (v->address[i] > CU_TR_ADDRESS_MODE_BORDER)
			return false;
	return v->mark == GSB_TEXTURE_MARK && v->filter <= CU_TR_FILTER_MODE_LINEAR &&
	       v->level_filter <= CU_TR_FILTER_MODE_LINEAR && !(v->flags & ~FLAGS_KNOWN) &&
	       gsb_texel_channel_bytes(v->format) &&
	       (v->n_channels == 1 || v->n_channels == 2 || v->n_channels == 4);
}

static int name_array(struct gsb_space *space, const struct gsb_texture *v, CUDA_RESOURCE_DESC *out,
		      const struct cuda_array **array)
{
	*array = cuda_array_find(space, v->base, 1);
	if (!*array)
		return -EINVAL;
	out->res.array.hArray = cuda_array_level(*array, v->base);
	return out->res.array.hArray ? 0 : -EINVAL;
}

static int name_mipmap(struct gsb_space *space, const struct gsb_texture *v,
		       CUDA_RESOURCE_DESC *out, const struct cuda_array **array)
{
	*array = cuda_array_find(space, v->base, 1);
	if (!*array)
		return -EINVAL;
	out->res.mipmap.hMipmappedArray = cuda_array_mipmap(*array, v->base);
	return out->res.mipmap.hMipmappedArray ? 0 : -EINVAL;
}

/* Rows of texels that lie in memory of the space. */
static int check_rows(struct gsb_space *space, const struct gsb_texture *v)
{
	uint64_t row = (uint64_t)v->width * gsb_texel_channel_bytes(v->format) * v->n_channels;
	uint64_t bytes;

	if (!v->width || !v->height || (v->height > 1 && v->pitch_bytes < row) ||
	    gsb_mul_overflows(v->pitch_bytes, v->height - 1, &bytes) ||
	    gsb_add_overflows(bytes, row, &bytes))
		return -EINVAL;
	return cuda_place_of(space, v->base, bytes) == CUDA_PLACE_DEVICE ? 0 : -EINVAL;
}

/* It begins in memory of the space; where it ends, the driver does not ask, as long as it stays in the window. */
static int check_line(struct gsb_space *space, const struct gsb_texture *v)
{
	uint64_t texel = (uint64_t)gsb_texel_channel_bytes(v->format) * v->n_channels;
	uint64_t bytes = v->width * texel;
	bool is_in_window = v->base - space->base < space->size;

	if (!v->width || (is_in_window && !gsb_range_ok(v->base - space->base, bytes, space->size)))
		return -EINVAL;
	return cuda_place_of(space, v->base, is_in_window ? texel : bytes) == CUDA_PLACE_DEVICE
		       ? 0
		       : -EINVAL;
}

static void name_line(const struct gsb_texture *v, CUDA_RESOURCE_DESC *out)
{
	out->res.linear.devPtr = v->base;
	out->res.linear.format = (CUarray_format)v->format;
	out->res.linear.numChannels = v->n_channels;
	out->res.linear.sizeInBytes =
		(size_t)v->width * gsb_texel_channel_bytes(v->format) * v->n_channels;
}

static void name_rows(const struct gsb_texture *v, CUDA_RESOURCE_DESC *out)
{
	out->res.pitch2D.devPtr = v->base;
	out->res.pitch2D.format = (CUarray_format)v->format;
	out->res.pitch2D.numChannels = v->n_channels;
	out->res.pitch2D.width = v->width;
	out->res.pitch2D.height = v->height;
	out->res.pitch2D.pitchInBytes = v->pitch_bytes;
}

/* *array: NULL for memory. */
static int name_resource(struct gsb_space *space, const struct gsb_texture *v,
			 CUDA_RESOURCE_DESC *out, const struct cuda_array **array)
{
	*out = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)v->resource};
	*array = NULL;
	switch (v->resource) {
	case CU_RESOURCE_TYPE_ARRAY: return name_array(space, v, out, array);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return name_mipmap(space, v, out, array);
	case CU_RESOURCE_TYPE_LINEAR: name_line(v, out); return check_line(space, v);
	case CU_RESOURCE_TYPE_PITCH2D: name_rows(v, out); return check_rows(space, v);
	default: return -EINVAL;
	}
}

static CUDA_TEXTURE_DESC sampling_of(const struct gsb_texture *v)
{
	CUDA_TEXTURE_DESC d = {
		.filterMode = (CUfilter_mode)v->filter,
		.flags = v->flags,
		.maxAnisotropy = v->anisotropy,
		.mipmapFilterMode = (CUfilter_mode)v->level_filter,
		.mipmapLevelBias = v->level_bias,
		.minMipmapLevelClamp = v->least_level,
		.maxMipmapLevelClamp = v->most_level,
	};

	for (int i = 0; i < 3; i++)
		d.addressMode[i] = (CUaddress_mode)v->address[i];
	memcpy(d.borderColor, v->border, sizeof(d.borderColor));
	return d;
}

/* ---- objects ---- */

static CUresult make(struct cuda_device *dev, const struct gsb_texture *v,
		     const CUDA_RESOURCE_DESC *resource, struct key *key)
{
	const CUDA_TEXTURE_DESC sampling = sampling_of(v);
	unsigned long long handle = 0;
	CUresult result = key->is_surface
				  ? dev->cu.cuSurfObjectCreate(&handle, resource)
				  : dev->cu.cuTexObjectCreate(&handle, resource, &sampling, NULL);

	key->handle = handle;
	return result;
}

static void drop(struct cuda_device *dev, struct cuda_texture *t)
{
	if (!t->is_gone)
		cuda_note(dev, t->key.is_surface ? dev->cu.cuSurfObjectDestroy(t->key.handle)
						 : dev->cu.cuTexObjectDestroy(t->key.handle));
	t->is_gone = true;
}

int cuda_texture_create(struct gsb_space *space, const struct gsb_texture *view, bool is_surface,
			uint64_t *handle)
{
	struct cuda_device *dev = space->dev;
	struct cuda_texture *t, *old;
	CUDA_RESOURCE_DESC resource;
	int err;

	if (!is_known(view))
		return -EINVAL;
	if (HASH_COUNT(space->textures) >= TEXTURES_MAX)
		return -ENOMEM;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->key.is_surface = is_surface;
	err = name_resource(space, view, &resource, &t->array);
	if (!err)
		err = cuda_refusal(dev, make(dev, view, &resource, &t->key));
	if (err) {
		free(t);
		return err;
	}
	/* The driver has given away again what went with its array. */
	HASH_FIND(hh, space->textures, &t->key, sizeof(t->key), old);
	if (old) {
		HASH_DELETE(hh, space->textures, old);
		free(old);
	}
	HASH_ADD(hh, space->textures, key, sizeof(t->key), t);
	*handle = t->key.handle;
	return 0;
}

static void remove_texture(struct gsb_space *space, struct cuda_texture *t)
{
	drop(space->dev, t);
	HASH_DELETE(hh, space->textures, t);
	free(t);
}

int cuda_texture_destroy(struct gsb_space *space, uint64_t handle, bool is_surface)
{
	const struct key key = {handle, is_surface};
	struct cuda_texture *t;

	HASH_FIND(hh, space->textures, &key, sizeof(key), t);
	if (!t)
		return -EINVAL;
	remove_texture(space, t);
	return 0;
}

void cuda_textures_forget(struct gsb_space *space, const struct cuda_array *array)
{
	for (struct cuda_texture *t = space->textures; t; t = t->hh.next)
		if (t->array == array) {
			drop(space->dev, t);
			t->array = NULL;
		}
}

void cuda_textures_free(struct gsb_space *space)
{
	while (space->textures)
		remove_texture(space, space->textures);
}
