/*
 * hooks/array.c - arrays, texture and surface objects.
 */
#include <string.h>

#include "interpose/cu/array.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"

/* ---- arrays ---- */

/* An array at an address. */
static CUresult publish_array(const struct gsb_cu_array *what, uint64_t wire, CUarray *array)
{
	struct gsb_cu_array *a = gsb_object_take(&gsb_cu_arrays, wire, 0);
	uint64_t name;

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	name = gsb_object_name(a);
	a->desc = what->desc;
	a->addr = what->addr;
	a->lies = what->lies;
	a->is_level = what->is_level;
	if (!gsb_object_publish(&gsb_cu_arrays, a))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED; /* and the memory with it */
	*array = (CUarray)name;
	return CUDA_SUCCESS;
}

CUresult hook_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	struct gsb_cu_array a = {0};
	struct gsb_cu_ctx_life life;
	struct gsb_array is;
	CUdeviceptr addr = 0;
	CUresult result = array && desc ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_cu_array_read(desc, &is);
	if (!result)
		result = gsb_mem_alloc_array(&is, life.wire, &addr);
	if (result)
		return result;
	a.desc = *desc;
	a.addr = addr;
	gsb_array_find_level(&is, 0, &a.lies);
	result = publish_array(&a, life.wire, array);
	if (result)
		hook_cuMemFree(addr);
	return result;
}

CUresult hook_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	return hook_cuArray3DCreate(array, &(CUDA_ARRAY3D_DESCRIPTOR){
						   .Width = desc->Width,
						   .Height = desc->Height,
						   .Format = desc->Format,
						   .NumChannels = desc->NumChannels,
					   });
}

CUresult hook_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array)
{
	const struct gsb_cu_array *a = gsb_cu_array_get(array);

	if (!a || !desc)
		return a ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	*desc = a->desc;
	return CUDA_SUCCESS;
}

CUresult hook_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult result = desc ? hook_cuArray3DGetDescriptor(&d, array) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*desc = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
	return result;
}

/* NULL: it is none, or no longer. */
static struct gsb_cu_array *retire_array(CUarray array, bool is_level)
{
	struct gsb_cu_array *a = gsb_cu_array_get(array);

	return a && a->is_level == is_level && gsb_object_retire(&gsb_cu_arrays, (uint64_t)array)
		       ? a
		       : NULL;
}

CUresult hook_cuArrayDestroy(CUarray array)
{
	const struct gsb_cu_array *a = retire_array(array, false);
	CUresult result;

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	result = hook_cuMemFree(a->addr);
	gsb_object_release(&gsb_cu_arrays, (uint64_t)array);
	return result;
}

/* ---- mipmapped arrays ---- */

static void drop_levels(const struct gsb_cu_mipmap *m)
{
	for (unsigned i = 0; i < m->n_levels; i++)
		if (retire_array(m->levels[i], true))
			gsb_object_release(&gsb_cu_arrays, (uint64_t)m->levels[i]);
}

/* n_levels counts those that are there, also when one could not be made. */
static CUresult make_levels(struct gsb_cu_mipmap *m, const struct gsb_array *is,
			    const CUDA_ARRAY3D_DESCRIPTOR *desc, uint64_t wire)
{
	CUresult result = CUDA_SUCCESS;

	for (m->n_levels = 0; !result && m->n_levels < is->n_levels; m->n_levels += !result) {
		struct gsb_cu_array a = {.is_level = true};

		gsb_array_find_level(is, m->n_levels, &a.lies);
		a.desc = gsb_cu_mipmap_level(desc, &a.lies);
		a.addr = m->addr + a.lies.offset;
		result = publish_array(&a, wire, &m->levels[m->n_levels]);
	}
	if (result)
		drop_levels(m);
	return result;
}

static CUresult make_mipmap(struct gsb_cu_mipmap *m, const struct gsb_array *is,
			    const CUDA_ARRAY3D_DESCRIPTOR *desc, uint64_t wire)
{
	CUdeviceptr addr = 0;
	CUresult result = gsb_mem_alloc_array(is, wire, &addr);

	if (result)
		return result;
	m->addr = addr;
	result = make_levels(m, is, desc, wire);
	if (result)
		hook_cuMemFree(addr);
	return result;
}

CUresult hook_cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
				     unsigned n_levels)
{
	struct gsb_cu_ctx_life life;
	struct gsb_cu_mipmap *m;
	struct gsb_array is;
	uint64_t name;
	CUresult result = array && desc ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_cu_array_read(desc, &is);
	if (result)
		return result;
	is.n_levels = (uint8_t)gsb_cu_mipmap_levels(&is, n_levels);
	m = gsb_object_take(&gsb_cu_mipmaps, life.wire, 0);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	name = gsb_object_name(m);
	result = make_mipmap(m, &is, desc, life.wire);
	if (result) {
		gsb_object_release(&gsb_cu_mipmaps, name);
		return result;
	}
	if (!gsb_object_publish(&gsb_cu_mipmaps, m))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED; /* and the levels with it */
	*array = (CUmipmappedArray)name;
	return CUDA_SUCCESS;
}

CUresult hook_cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned nth)
{
	const struct gsb_cu_mipmap *m = gsb_cu_mipmap_get(array);

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!level || nth >= m->n_levels)
		return CUDA_ERROR_INVALID_VALUE;
	*level = m->levels[nth];
	return CUDA_SUCCESS;
}

CUresult hook_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	struct gsb_cu_mipmap *m = gsb_cu_mipmap_get(array);
	CUresult result;

	if (!m || !gsb_object_retire(&gsb_cu_mipmaps, (uint64_t)array))
		return CUDA_ERROR_INVALID_HANDLE;
	drop_levels(m);
	result = hook_cuMemFree(m->addr);
	gsb_object_release(&gsb_cu_mipmaps, (uint64_t)array);
	return result;
}

/* ---- textures and surfaces ---- */

static CUresult ask_device(const struct gsb_texture *view, bool is_surface, uint64_t wire,
			   uint64_t *handle)
{
	const struct gsb_rec_texture_create body = {
		.ctx = wire, .is_surface = is_surface, .view = *view};
	struct gsb_reply_number reply;
	CUresult result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_TEXTURE_CREATE,
							   .guard = gsb_cu_wire_guard(wire),
							   .body = &body,
							   .body_bytes = sizeof(body)},
					&reply, sizeof(reply));

	if (!result)
		*handle = reply.number;
	return result;
}

static CUresult tell_device(const struct gsb_cu_texture *t, uint64_t wire)
{
	const struct gsb_rec_texture_destroy body = {
		.ctx = wire, .handle = t->handle, .is_surface = t->is_surface};

	return gsb_call(&(struct gsb_call){.type = GSB_REC_TEXTURE_DESTROY,
					   .guard = gsb_cu_wire_guard(wire),
					   .body = &body,
					   .body_bytes = sizeof(body)},
			NULL);
}

/* The descriptors are in the device's memory when this returns: any stream may be the first to use them. */
static CUresult place_descriptors(const struct gsb_texture *views, uint64_t *handle)
{
	size_t bytes = (views->n_levels ? views->n_levels : 1) * sizeof(*views);
	CUdeviceptr addr;
	CUresult result = hook_cuMemAlloc(&addr, bytes);

	if (result)
		return result;
	result = hook_cuMemcpyHtoD(addr, views, bytes, CU_STREAM_LEGACY);
	if (result)
		hook_cuMemFree(addr);
	*handle = addr;
	return result;
}

static bool device_has_textures(void)
{
	return gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] > 0;
}

/* The device's own object; a device that has none reads descriptors. */
static CUresult make_view(struct gsb_cu_texture *t, const struct gsb_texture *views, uint64_t wire)
{
	CUresult result = device_has_textures() ? ask_device(views, t->is_surface, wire, &t->handle)
						: CUDA_ERROR_NOT_SUPPORTED;

	t->is_memory = result == CUDA_ERROR_NOT_SUPPORTED && device_has_textures();
	return t->is_memory ? place_descriptors(views, &t->handle) : result;
}

static CUresult drop_view(const struct gsb_cu_texture *t, uint64_t wire)
{
	return t->is_memory ? hook_cuMemFree(t->handle) : tell_device(t, wire);
}

static CUresult make_texture(const struct gsb_cu_texture *what, const struct gsb_texture *views,
			     uint64_t wire, unsigned long long *handle)
{
	struct gsb_cu_texture *t = gsb_object_take(&gsb_cu_textures, wire, 0);
	CUresult result;

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->resource = what->resource;
	t->texture = what->texture;
	t->is_surface = what->is_surface;
	result = make_view(t, views, wire);
	if (result) {
		gsb_object_release(&gsb_cu_textures, gsb_object_name(t));
		return result;
	}
	*handle = t->handle;
	return gsb_object_publish(&gsb_cu_textures, t) ? CUDA_SUCCESS
						       : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static bool is_whole(const CUDA_RESOURCE_VIEW_DESC *view)
{
	return !view || view->format == CU_RES_VIEW_FORMAT_NONE;
}

/* Linear memory has no edge that could be repeated: what is outside is 0, whatever the address mode. */
static void read_nothing_outside(struct gsb_texture *t)
{
	memset(t->address, CU_TR_ADDRESS_MODE_BORDER, sizeof(t->address));
	memset(t->border, 0, sizeof(t->border));
}

CUresult hook_cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
				const CUDA_TEXTURE_DESC *texture,
				const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct gsb_texture views[GSB_TEXTURE_LEVELS_MAX] = {0};
	struct gsb_cu_texture what = {0};
	struct gsb_cu_ctx_life life;
	CUresult result =
		object && resource && texture ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (!result && !is_whole(view))
		result = CUDA_ERROR_NOT_SUPPORTED;
	if (!result)
		result = gsb_cu_texture_view(resource, views);
	for (unsigned i = 0; !result && (!i || i < views->n_levels); i++)
		result = gsb_cu_texture_sample(texture, &views[i]);
	if (!result && resource->resType == CU_RESOURCE_TYPE_LINEAR)
		read_nothing_outside(views);
	if (result)
		return result;
	what.resource = *resource;
	what.texture = *texture;
	return make_texture(&what, views, life.wire, object);
}

/* Of an array that was not made for it, too: a GPU does not mind. */
CUresult hook_cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
	struct gsb_texture views[GSB_TEXTURE_LEVELS_MAX] = {0};
	struct gsb_cu_texture what = {.is_surface = true};
	struct gsb_cu_ctx_life life;
	CUresult result = object && resource ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	if (resource->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_texture_view(resource, views);
	if (result)
		return result;
	what.resource = *resource;
	return make_texture(&what, views, life.wire, object);
}

/* 0 is none, and there is nothing to destroy. */
static CUresult destroy(uint64_t handle, bool is_surface)
{
	const struct gsb_cu_texture *t = gsb_cu_texture_find(handle, is_surface);
	uint64_t name;
	CUresult result;

	if (!t)
		return handle ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	name = gsb_object_name(t);
	if (!gsb_object_retire(&gsb_cu_textures, name))
		return CUDA_ERROR_INVALID_VALUE;
	result = drop_view(t, gsb_object_owner(t));
	gsb_object_release(&gsb_cu_textures, name);
	return result;
}

CUresult hook_cuTexObjectDestroy(CUtexObject object)
{
	return destroy(object, false);
}

CUresult hook_cuSurfObjectDestroy(CUsurfObject object)
{
	return destroy(object, true);
}

static CUresult get_resource(CUDA_RESOURCE_DESC *out, uint64_t object, bool is_surface)
{
	const struct gsb_cu_texture *t = gsb_cu_texture_find(object, is_surface);

	if (!t || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = t->resource;
	return CUDA_SUCCESS;
}

CUresult hook_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject object)
{
	return get_resource(out, object, false);
}

CUresult hook_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject object)
{
	return get_resource(out, object, true);
}

CUresult hook_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject object)
{
	const struct gsb_cu_texture *t = gsb_cu_texture_find(object, false);

	if (!t || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = t->texture;
	return CUDA_SUCCESS;
}

/* None was given. */
CUresult hook_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject object)
{
	return CUDA_ERROR_INVALID_VALUE;
}
