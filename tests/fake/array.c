/*
 * array.c - the fake driver's arrays, textures and surfaces, and the memory of cuMemAlloc(): all in the memory of the device that executes.
 *
 * Texels lie row by row, further apart than anybody could guess. A texture object is the address of a descriptor that the device reads.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/state.h"

#define GAP_BYTES 192

struct CUarray_st {
	uint64_t base, row_bytes, pitch_bytes, n_rows, n_slices;
	CUDA_ARRAY3D_DESCRIPTOR desc;
};

struct CUmipmappedArray_st {
	unsigned n_levels;
	struct CUarray_st levels[GSB_TEXTURE_LEVELS_MAX];
};

/* ---- memory ---- */

static CUresult take(uint64_t size, uint64_t *addr)
{
	return fake_work_error(fake.device->ops->mem_alloc(fake.space, size, addr));
}

static void give(uint64_t addr)
{
	fake.device->ops->mem_free(fake.space, addr);
}

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t size)
{
	uint64_t at = 0;
	CUresult result = fake_enter(__func__) ?: fake_leave(take(size, &at));

	if (result)
		return result;
	fake_lock();
	fake_add(FAKE_MEMORY, at, size);
	*addr = at;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
	CUresult result;

	fake_lock();
	fake_wait_for_all();
	result = fake_remove(FAKE_MEMORY, addr);
	if (!result)
		give(addr);
	return fake_leave_anyway(__func__, result);
}

/* ---- arrays ---- */

static uint64_t half_of(size_t n, unsigned times)
{
	return n >> times ? n >> times : 1;
}

/* Of those that a driver refuses, what tests ask for. */
static bool is_possible(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	if (desc->Flags & CUDA_ARRAY3D_CUBEMAP && (desc->Width != desc->Height || desc->Depth % 6))
		return false;
	return desc->Width && desc->Width <= 131072 && desc->Height <= 65536;
}

static CUresult make_level(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned level,
			   struct CUarray_st *a)
{
	bool layers = desc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

	*a = (struct CUarray_st){.desc = *desc};
	a->desc.Width = half_of(desc->Width, level);
	a->n_rows = half_of(desc->Height, level);
	a->n_slices = half_of(desc->Depth, layers ? 0 : level);
	a->row_bytes = a->desc.Width * gsb_texel_channel_bytes(desc->Format) * desc->NumChannels;
	a->pitch_bytes = a->row_bytes + GAP_BYTES;
	return a->row_bytes && is_possible(desc)
		       ? take(a->pitch_bytes * a->n_rows * a->n_slices, &a->base)
		       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_array(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	CUarray a = calloc(1, sizeof(*a));
	CUresult result = make_level(desc, 0, a);

	if (result) {
		free(a);
		return result;
	}
	memset((void *)(uintptr_t)a->base, 0xa5, a->pitch_bytes * a->n_rows * a->n_slices);
	fake_add(FAKE_ARRAY, fake_handle(a), 1);
	*array = a;
	return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	return fake_enter(__func__) ?: fake_leave(make_array(array, desc));
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult result;

	fake_lock();
	fake_wait_for_all();
	result = fake_remove(FAKE_ARRAY, fake_handle(array));
	if (!result) {
		give(array->base);
		free(array);
	}
	return fake_leave_anyway(__func__, result);
}

static CUresult make_mipmap(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
			    unsigned n_levels)
{
	CUmipmappedArray m = calloc(1, sizeof(*m));
	CUresult result = CUDA_SUCCESS;

	for (; !result && m->n_levels < n_levels; m->n_levels += !result)
		result = make_level(desc, m->n_levels, &m->levels[m->n_levels]);
	for (unsigned i = 0; result && i < m->n_levels; i++)
		give(m->levels[i].base);
	if (result) {
		free(m);
		return result;
	}
	for (unsigned i = 0; i < n_levels; i++)
		fake_add(FAKE_LEVEL, fake_handle(&m->levels[i]), 1);
	fake_add(FAKE_MIPMAP, fake_handle(m), 1);
	*array = m;
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
				unsigned n_levels)
{
	return fake_enter(__func__) ?: fake_leave(make_mipmap(array, desc, n_levels));
}

CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned nth)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!fake_find(FAKE_MIPMAP, fake_handle(array)) || nth >= array->n_levels)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	*level = &array->levels[nth];
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	CUresult result;

	fake_lock();
	fake_wait_for_all();
	result = fake_remove(FAKE_MIPMAP, fake_handle(array));
	if (!result) {
		for (unsigned i = 0; i < array->n_levels; i++) {
			fake_remove(FAKE_LEVEL, fake_handle(&array->levels[i]));
			give(array->levels[i].base);
		}
		free(array);
	}
	return fake_leave_anyway(__func__, result);
}

static bool is_array(CUarray array)
{
	return fake_find(FAKE_ARRAY, fake_handle(array)) ||
	       fake_find(FAKE_LEVEL, fake_handle(array));
}

/* ---- copies ---- */

struct spot {
	CUmemorytype type;
	CUarray array;
	uint64_t host, device, pitch, x, y, z;
};

static CUresult find_spot(const struct spot *s, const CUDA_MEMCPY3D *c, uint64_t *addr,
			  uint64_t *pitch)
{
	const CUarray a = s->array;

	*pitch = s->pitch;
	*addr = s->type == CU_MEMORYTYPE_HOST ? s->host : s->device;
	if (s->type != CU_MEMORYTYPE_ARRAY)
		return c->Height > 1 && s->pitch < c->WidthInBytes ? CUDA_ERROR_INVALID_VALUE
								   : CUDA_SUCCESS;
	if (!is_array(a) || s->x + c->WidthInBytes > a->row_bytes || s->y + c->Height > a->n_rows ||
	    s->z >= a->n_slices)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = a->pitch_bytes;
	*addr = a->base + (s->z * a->n_rows + s->y) * a->pitch_bytes + s->x;
	return CUDA_SUCCESS;
}

static CUresult copy_box(const CUDA_MEMCPY3D *c, CUstream stream)
{
	const struct spot src = {c->srcMemoryType, c->srcArray, fake_handle(c->srcHost),
				 c->srcDevice,	   c->srcPitch, c->srcXInBytes,
				 c->srcY,	   c->srcZ},
			  dst = {c->dstMemoryType, c->dstArray, fake_handle(c->dstHost),
				 c->dstDevice,	   c->dstPitch, c->dstXInBytes,
				 c->dstY,	   c->dstZ};
	struct gsb_cmd_copy copy = {.width = c->WidthInBytes, .height = c->Height};
	CUresult result = c->Depth == 1 ? find_spot(&src, c, &copy.src, &copy.src_pitch)
					: CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = find_spot(&dst, c, &copy.dst, &copy.dst_pitch);
	return result ? result : fake_work_copy(stream, copy);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return fake_enter(__func__) ?: fake_leave(copy_box(c, stream));
}

/* ---- what views them ---- */

static void view_array(const struct CUarray_st *a, struct gsb_texture *t)
{
	t->base = a->base;
	t->pitch_bytes = a->pitch_bytes;
	t->slice_bytes = a->pitch_bytes * a->n_rows;
	t->width = (uint32_t)a->desc.Width;
	t->height = (uint32_t)a->n_rows;
	t->depth = (uint32_t)a->n_slices;
	t->format = (uint8_t)a->desc.Format;
	t->n_channels = (uint8_t)a->desc.NumChannels;
	t->is_layered = (a->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
}

static CUresult view(const CUDA_RESOURCE_DESC *r, struct gsb_texture *t, unsigned level)
{
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		if (!is_array(r->res.array.hArray))
			return CUDA_ERROR_INVALID_HANDLE;
		view_array(r->res.array.hArray, t);
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		if (!fake_find(FAKE_MIPMAP, fake_handle(r->res.mipmap.hMipmappedArray)))
			return CUDA_ERROR_INVALID_HANDLE;
		view_array(&r->res.mipmap.hMipmappedArray->levels[level], t);
		t->n_levels = (uint8_t)r->res.mipmap.hMipmappedArray->n_levels;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_PITCH2D:
		*t = (struct gsb_texture){
			.base = r->res.pitch2D.devPtr,
			.pitch_bytes = r->res.pitch2D.pitchInBytes,
			.slice_bytes = r->res.pitch2D.pitchInBytes * r->res.pitch2D.height,
			.width = (uint32_t)r->res.pitch2D.width,
			.height = (uint32_t)r->res.pitch2D.height,
			.depth = 1,
			.format = (uint8_t)r->res.pitch2D.format,
			.n_channels = (uint8_t)r->res.pitch2D.numChannels,
		};
		return CUDA_SUCCESS;
	default:
		*t = (struct gsb_texture){
			.base = r->res.linear.devPtr,
			.pitch_bytes = r->res.linear.sizeInBytes,
			.slice_bytes = r->res.linear.sizeInBytes,
			.width = (uint32_t)(r->res.linear.sizeInBytes /
					    (gsb_texel_channel_bytes(r->res.linear.format) *
					     r->res.linear.numChannels)),
			.height = 1,
			.depth = 1,
			.format = (uint8_t)r->res.linear.format,
			.n_channels = (uint8_t)r->res.linear.numChannels,
		};
		return CUDA_SUCCESS;
	}
}

static void sample(const CUDA_TEXTURE_DESC *d, struct gsb_texture *t)
{
	for (int i = 0; i < 3; i++)
		t->address[i] = (uint8_t)d->addressMode[i];
	t->filter = (uint8_t)d->filterMode;
	t->flags = (uint8_t)d->flags;
	t->level_filter = (uint8_t)d->mipmapFilterMode;
	t->level_bias = d->mipmapLevelBias;
	t->least_level = d->minMipmapLevelClamp;
	t->most_level = d->maxMipmapLevelClamp;
	memcpy(t->border, d->borderColor, sizeof(t->border));
}

/* sampling: NULL for a surface. */
static CUresult make_object(enum fake_kind kind, const CUDA_RESOURCE_DESC *r,
			    const CUDA_TEXTURE_DESC *sampling, unsigned long long *object)
{
	struct gsb_texture first = {0}, *at;
	uint64_t addr;
	CUresult result = view(r, &first, 0);

	if (!result)
		result = take(GSB_TEXTURE_LEVELS_MAX * sizeof(first), &addr);
	if (result)
		return result;
	at = (struct gsb_texture *)(uintptr_t)addr;
	for (unsigned i = 0; i == 0 || i < first.n_levels; i++) {
		at[i] = (struct gsb_texture){0};
		view(r, &at[i], i);
		at[i].mark = GSB_TEXTURE_MARK;
		if (sampling)
			sample(sampling, &at[i]);
	}
	fake_add(kind, addr, 1);
	*object = addr;
	return CUDA_SUCCESS;
}

static CUresult drop_object(enum fake_kind kind, uint64_t object)
{
	CUresult result = fake_remove(kind, object);

	if (!result)
		give(object);
	return result;
}

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
			   const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
	return fake_enter(__func__)
		       ?: fake_leave(make_object(FAKE_TEXTURE, resource, texture, object));
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
	fake_lock();
	return fake_leave_anyway(__func__, drop_object(FAKE_TEXTURE, object));
}

CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
	return fake_enter(__func__)
		       ?: fake_leave(make_object(FAKE_SURFACE, resource, NULL, object));
}

CUresult cuSurfObjectDestroy(CUsurfObject object)
{
	fake_lock();
	return fake_leave_anyway(__func__, drop_object(FAKE_SURFACE, object));
}
