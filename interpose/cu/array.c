/*
 * array.c - see array.h.
 */
#include "interpose/cu/array.h"

#include <string.h>

#include "base/checked.h"
#include "interpose/cu/alloc.h"
#include "interpose/cu/virtual.h"

#define PITCH_ALIGN   32u  /* bytes: CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT */
#define TEXTURE_ALIGN 512u /* CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT */
#define CUBE_FACES    6
#define FLAGS_KNOWN                                                                          \
	(unsigned)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | \
		   CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT)

/* In texels; of compute capability 9.0, as device/attrs.def has them for programs that ask. */
#define WIDTH_MAX	 131072
#define HEIGHT_MAX	 65536
#define SURFACE_ROW_MAX	 32768 /* of one dimension */
#define SIDE_3D_MAX	 16384
#define SIDE_DEEP_MAX	 8192 /* of the alternate limits */
#define DEPTH_DEEP_MAX	 32768
#define LAYERED_MAX	 32768
#define LAYERS_MAX	 2048
#define GATHER_MAX	 32768
#define WIDTH_LINEAR_MAX (1u << 28)
#define HEIGHT_ROWS_MAX	 65000	 /* of pitched memory */
#define PITCH_ROWS_MAX	 2097120 /* bytes */

struct gsb_object_table gsb_cu_arrays =
	GSB_OBJECT_TABLE(GSB_HANDLE_ARRAY, GSB_N_ARRAYS, struct gsb_cu_array, NULL);
struct gsb_object_table gsb_cu_textures =
	GSB_OBJECT_TABLE(GSB_HANDLE_TEXTURE, GSB_N_TEXTURES, struct gsb_cu_texture, NULL);
struct gsb_object_table gsb_cu_mipmaps =
	GSB_OBJECT_TABLE(GSB_HANDLE_MIPMAP, GSB_N_MIPMAPS, struct gsb_cu_mipmap, NULL);

static bool is_format_ok(CUarray_format format, unsigned n_channels)
{
	return gsb_texel_channel_bytes(format) &&
	       (n_channels == 1 || n_channels == 2 || n_channels == 4);
}

/* Either set of limits will do; a surface has the first only. */
static bool is_volume_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d->Height)
		return false;
	if (d->Width <= SIDE_3D_MAX && d->Height <= SIDE_3D_MAX && d->Depth <= SIDE_3D_MAX)
		return true;
	return !(d->Flags & CUDA_ARRAY3D_SURFACE_LDST) && d->Width <= SIDE_DEEP_MAX &&
	       d->Height <= SIDE_DEEP_MAX && d->Depth <= DEPTH_DEEP_MAX;
}

static bool is_shape_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;

	if (!d->Width)
		return false;
	if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
		return !d->Depth && d->Height && d->Width <= GATHER_MAX && d->Height <= GATHER_MAX;
	if (cube)
		return d->Width == d->Height && d->Width <= LAYERED_MAX && d->Depth &&
		       d->Depth % CUBE_FACES == 0 && d->Depth <= LAYERS_MAX &&
		       (layered || d->Depth == CUBE_FACES);
	if (layered)
		return d->Depth && d->Depth <= LAYERS_MAX && d->Width <= LAYERED_MAX &&
		       d->Height <= LAYERED_MAX;
	if (d->Depth)
		return is_volume_ok(d);
	if (!d->Height && d->Flags & CUDA_ARRAY3D_SURFACE_LDST)
		return d->Width <= SURFACE_ROW_MAX;
	return d->Width <= WIDTH_MAX && d->Height <= HEIGHT_MAX;
}

CUresult gsb_cu_array_read(const CUDA_ARRAY3D_DESCRIPTOR *desc, struct gsb_array *out)
{
	if (desc->Flags & ~FLAGS_KNOWN)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!is_format_ok(desc->Format, desc->NumChannels) || !is_shape_ok(desc))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct gsb_array){
		.width = (uint32_t)desc->Width,
		.height = (uint32_t)desc->Height,
		.depth = (uint32_t)desc->Depth,
		.flags = desc->Flags,
		.format = (uint8_t)desc->Format,
		.n_channels = (uint8_t)desc->NumChannels,
	};
	return CUDA_SUCCESS;
}

/* ---- levels of detail ---- */

CUDA_ARRAY3D_DESCRIPTOR gsb_cu_mipmap_level(const CUDA_ARRAY3D_DESCRIPTOR *desc,
					    const struct gsb_array_level *level)
{
	CUDA_ARRAY3D_DESCRIPTOR d = *desc;

	d.Width = level->width;
	d.Height = d.Height ? level->n_rows : 0;
	d.Depth = d.Depth ? level->n_slices : 0;
	return d;
}

unsigned gsb_cu_mipmap_levels(const struct gsb_array *array, unsigned asked)
{
	const bool layered = array->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	uint32_t side = array->width > array->height ? array->width : array->height;
	unsigned n = 1;

	if (!layered && array->depth > side)
		side = array->depth;
	while (n < asked && n < GSB_TEXTURE_LEVELS_MAX && side >> n)
		n++;
	return n;
}

/* ---- textures ---- */

/* Few programs have many, and none looks one up often. */
struct gsb_cu_texture *gsb_cu_texture_find(uint64_t handle, bool is_surface)
{
	uint32_t n = atomic_load_explicit(&gsb_cu_textures.n_used, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct gsb_cu_texture *t = gsb_object_at(&gsb_cu_textures, i);

		if (atomic_load_explicit(&t->obj.handle, memory_order_acquire) &&
		    t->handle == handle && t->is_surface == is_surface)
			return t;
	}
	return NULL;
}

/* ---- views ---- */

static CUresult view_array(CUarray array, struct gsb_texture *out)
{
	const struct gsb_cu_array *a = gsb_cu_array_get(array);

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	*out = (struct gsb_texture){
		.base = a->addr,
		.pitch_bytes = a->lies.pitch_bytes,
		.slice_bytes = a->lies.slice_bytes,
		.width = a->lies.width,
		.height = a->lies.n_rows,
		.depth = a->lies.n_slices,
		.format = (uint8_t)a->desc.Format,
		.n_channels = (uint8_t)a->desc.NumChannels,
		.is_layered = (a->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0,
	};
	return CUDA_SUCCESS;
}

/* Coordinates count from 0 to 1 in every level, whatever the program says. */
static CUresult view_levels(CUmipmappedArray array, struct gsb_texture out[GSB_TEXTURE_LEVELS_MAX])
{
	const struct gsb_cu_mipmap *m = gsb_cu_mipmap_get(array);
	CUresult result = m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

	for (unsigned i = 0; !result && i < m->n_levels; i++) {
		result = view_array(m->levels[i], &out[i]);
		out[i].n_levels = (uint8_t)m->n_levels;
		out[i].mark = GSB_TEXTURE_MARK;
		out[i].resource = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	}
	return result;
}

struct rows {
	CUdeviceptr addr;
	CUarray_format format;
	unsigned n_channels;
	uint64_t width, height, pitch; /* texels, rows, bytes */
	bool may_pass_the_end; /* of its allocation: the driver does not look where a line of texels ends */
};

static bool is_readable(uint64_t addr, uint64_t bytes)
{
	return gsb_alloc_holds(addr, bytes) || gsb_cu_virtual_allows(addr, bytes, false);
}

static CUresult view_rows(const struct rows *r, struct gsb_texture *out)
{
	uint64_t texel = gsb_texel_channel_bytes(r->format) * r->n_channels, bytes;

	if (!r->width || !r->height || r->addr % TEXTURE_ALIGN ||
	    gsb_mul_overflows(r->pitch, r->height - 1, &bytes) ||
	    gsb_add_overflows(bytes, r->width * texel, &bytes) ||
	    !is_readable(r->addr, r->may_pass_the_end ? texel : bytes))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct gsb_texture){
		.base = r->addr,
		.pitch_bytes = r->pitch,
		.slice_bytes = r->pitch * r->height,
		.width = (uint32_t)r->width,
		.height = (uint32_t)r->height,
		.depth = 1,
		.format = (uint8_t)r->format,
		.n_channels = (uint8_t)r->n_channels,
	};
	return CUDA_SUCCESS;
}

static CUresult view_linear(const CUDA_RESOURCE_DESC *d, struct gsb_texture *out)
{
	struct rows r = {.addr = d->res.linear.devPtr,
			 .format = d->res.linear.format,
			 .n_channels = d->res.linear.numChannels,
			 .height = 1,
			 .pitch = d->res.linear.sizeInBytes,
			 .may_pass_the_end = true};

	if (!is_format_ok(r.format, r.n_channels))
		return CUDA_ERROR_INVALID_VALUE;
	r.width = d->res.linear.sizeInBytes / (gsb_texel_channel_bytes(r.format) * r.n_channels);
	return r.width <= WIDTH_LINEAR_MAX ? view_rows(&r, out) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult view_pitched(const CUDA_RESOURCE_DESC *d, struct gsb_texture *out)
{
	struct rows r = {.addr = d->res.pitch2D.devPtr,
			 .format = d->res.pitch2D.format,
			 .n_channels = d->res.pitch2D.numChannels,
			 .width = d->res.pitch2D.width,
			 .height = d->res.pitch2D.height,
			 .pitch = d->res.pitch2D.pitchInBytes};

	if (!is_format_ok(r.format, r.n_channels) || r.width > WIDTH_MAX ||
	    r.height > HEIGHT_ROWS_MAX || r.pitch > PITCH_ROWS_MAX || r.pitch % PITCH_ALIGN ||
	    r.pitch < r.width * gsb_texel_channel_bytes(r.format) * r.n_channels)
		return CUDA_ERROR_INVALID_VALUE;
	return view_rows(&r, out);
}

CUresult gsb_cu_texture_view(const CUDA_RESOURCE_DESC *resource,
			     struct gsb_texture out[GSB_TEXTURE_LEVELS_MAX])
{
	CUresult result;

	if (resource->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (resource->resType) {
	case CU_RESOURCE_TYPE_ARRAY: result = view_array(resource->res.array.hArray, out); break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return view_levels(resource->res.mipmap.hMipmappedArray, out);
	case CU_RESOURCE_TYPE_LINEAR: result = view_linear(resource, out); break;
	case CU_RESOURCE_TYPE_PITCH2D: result = view_pitched(resource, out); break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	out->mark = GSB_TEXTURE_MARK;
	out->resource = (uint8_t)resource->resType;
	return result;
}

CUresult gsb_cu_texture_sample(const CUDA_TEXTURE_DESC *texture, struct gsb_texture *out)
{
	for (unsigned i = 0; i < 3; i++) {
		if ((unsigned)texture->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		out->address[i] = (uint8_t)texture->addressMode[i];
	}
	if ((unsigned)texture->filterMode > CU_TR_FILTER_MODE_LINEAR ||
	    (unsigned)texture->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	out->filter = (uint8_t)texture->filterMode;
	out->flags = (uint8_t)texture->flags;
	if (out->n_levels)
		out->flags |= CU_TRSF_NORMALIZED_COORDINATES;
	out->anisotropy = texture->maxAnisotropy < 16 ? (uint8_t)texture->maxAnisotropy : 16;
	out->level_filter = (uint8_t)texture->mipmapFilterMode;
	out->level_bias = texture->mipmapLevelBias;
	out->least_level = texture->minMipmapLevelClamp;
	out->most_level = texture->maxMipmapLevelClamp;
	memcpy(out->border, texture->borderColor, sizeof(out->border));
	return CUDA_SUCCESS;
}
