/*
 * hooks/managed.c - where managed memory should be: hints, all of them. It is pinned host memory, which host and device
 * use at once, so that there is nowhere to move it to. A hint is checked as the driver checks it, and kept for who asks
 * for it (cu/advice.h).
 */
#include <sched.h>
#include <string.h>

#include "interpose/cu/alloc.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/hooks.h"

static const CUmemLocation nowhere = {.type = CU_MEM_LOCATION_TYPE_NONE};
static const CUmemLocation the_host = {.type = CU_MEM_LOCATION_TYPE_HOST};
static const CUmemLocation the_device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

/* As the older forms name a place. */
static CUresult place_of_device(CUdevice device, CUmemLocation *out)
{
	if (device != 0 && device != CU_DEVICE_CPU)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = device ? the_host : the_device;
	return CUDA_SUCCESS;
}

static CUmemLocation current_node(void)
{
	unsigned node = 0;

	getcpu(NULL, &node);
	return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = (int)node};
}

/* As the newer do: what has no number of its own is the same whatever number came with it. */
static CUresult place_of_location(CUmemLocation where, CUmemLocation *out)
{
	switch (where.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*out = the_device;
		return where.id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST: *out = the_host; return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*out = where;
		return where.id < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: *out = current_node(); return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- prefetching: what is asked for is what was last asked for, whether it is done or not ---- */

static CUresult prefetch(CUdeviceptr ptr, size_t n, CUmemLocation where, CUstream stream)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	return result ? result : gsb_alloc_advise(ptr, n, GSB_ADVICE_PREFETCHED, where);
}

CUresult hook_cuMemPrefetchAsync(CUdeviceptr ptr, size_t n, CUdevice device, CUstream stream)
{
	CUmemLocation where;
	CUresult result = place_of_device(device, &where);

	return result ? result : prefetch(ptr, n, where, stream);
}

CUresult hook_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t n, CUmemLocation location,
				    unsigned flags, CUstream stream)
{
	CUmemLocation where;
	CUresult result = flags ? CUDA_ERROR_INVALID_VALUE : place_of_location(location, &where);

	return result ? result : prefetch(ptr, n, where, stream);
}

/* ---- advice ---- */

/* What else is said of a place is said of all: no place is looked at. */
static bool names_a_place(CUmem_advise advice)
{
	return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
	       advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

/* A node of the host accesses nothing: the host does. */
static CUresult accessed_by(CUdeviceptr ptr, size_t n, CUmemLocation by, bool is_set)
{
	switch (by.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_BY_DEVICE, is_set ? by : nowhere);
	case CU_MEM_LOCATION_TYPE_HOST:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_BY_HOST, is_set ? by : nowhere);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult advise(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUmemLocation where)
{
	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_READ_MOSTLY, the_host);
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_READ_MOSTLY, nowhere);
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_PREFERRED, where);
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		return gsb_alloc_advise(ptr, n, GSB_ADVICE_PREFERRED, nowhere);
	case CU_MEM_ADVISE_SET_ACCESSED_BY: return accessed_by(ptr, n, where, true);
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY: return accessed_by(ptr, n, where, false);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult hook_cuMemAdvise(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUdevice device)
{
	CUmemLocation where = nowhere;
	CUresult result = names_a_place(advice) ? place_of_device(device, &where) : CUDA_SUCCESS;

	return result ? result : advise(ptr, n, advice, where);
}

CUresult hook_cuMemAdvise_v2(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUmemLocation location)
{
	CUmemLocation where = nowhere;
	CUresult result =
		names_a_place(advice) ? place_of_location(location, &where) : CUDA_SUCCESS;

	return result ? result : advise(ptr, n, advice, where);
}

/* Whose streams may touch it while the host does: all may, always. */
CUresult hook_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t n, unsigned flags)
{
	struct gsb_cu_stream_ref s;
	struct gsb_alloc a;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result)
		return result;
	if (!gsb_alloc_find_managed(ptr, 1, &a) || a.addr != ptr || (n && n != a.size))
		return CUDA_ERROR_INVALID_VALUE;
	switch (flags) {
	case CU_MEM_ATTACH_GLOBAL:
	case CU_MEM_ATTACH_HOST: return CUDA_SUCCESS;
	case CU_MEM_ATTACH_SINGLE:
		return !stream || stream == CU_STREAM_LEGACY ? CUDA_ERROR_INVALID_VALUE
							     : CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- questions ---- */

/* The older questions have no names for nodes of the host: to them each is the host. */
static int32_t device_of(CUmemLocation where)
{
	switch (where.type) {
	case CU_MEM_LOCATION_TYPE_NONE: return CU_DEVICE_INVALID;
	case CU_MEM_LOCATION_TYPE_DEVICE: return where.id;
	default: return CU_DEVICE_CPU;
	}
}

static int32_t id_of(CUmemLocation where)
{
	return where.type == CU_MEM_LOCATION_TYPE_DEVICE ||
			       where.type == CU_MEM_LOCATION_TYPE_HOST_NUMA
		       ? where.id
		       : CU_DEVICE_INVALID;
}

static CUresult list_accessors(int32_t *list, size_t n_list, CUdeviceptr ptr, size_t n)
{
	CUmemLocation by[2];
	size_t n_by = 0;
	CUresult result = gsb_alloc_advice(ptr, n, GSB_ADVICE_BY_DEVICE, &by[0]);

	if (!result)
		result = gsb_alloc_advice(ptr, n, GSB_ADVICE_BY_HOST, &by[1]);
	if (result)
		return result;
	for (unsigned i = 0; i < 2; i++)
		if (by[i].type != CU_MEM_LOCATION_TYPE_NONE && n_by < n_list)
			list[n_by++] = device_of(by[i]);
	while (n_by < n_list)
		list[n_by++] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

static CUresult one_number(int32_t *out, CUmem_range_attribute attribute, CUdeviceptr ptr, size_t n)
{
	static const enum gsb_advice_kind kinds[] = {
		[CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY] = GSB_ADVICE_READ_MOSTLY,
		[CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION] = GSB_ADVICE_PREFERRED,
		[CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION] = GSB_ADVICE_PREFETCHED,
		[CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE] = GSB_ADVICE_PREFERRED,
		[CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID] = GSB_ADVICE_PREFERRED,
		[CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE] = GSB_ADVICE_PREFETCHED,
		[CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID] = GSB_ADVICE_PREFETCHED,
	};
	CUmemLocation where;
	CUresult result = gsb_alloc_advice(ptr, n, kinds[attribute], &where);

	if (result)
		return result;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*out = where.type != CU_MEM_LOCATION_TYPE_NONE;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = device_of(where); break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = where.type; break;
	default: *out = id_of(where); break;
	}
	return CUDA_SUCCESS;
}

CUresult hook_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
				     CUdeviceptr ptr, size_t n)
{
	int32_t *numbers = data;

	if (!data || attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
	    attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY)
		return size == sizeof(*numbers) ? one_number(numbers, attribute, ptr, n)
						: CUDA_ERROR_INVALID_VALUE;
	return size && size % sizeof(*numbers) == 0
		       ? list_accessors(numbers, size / sizeof(*numbers), ptr, n)
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
				      size_t n_attributes, CUdeviceptr ptr, size_t n)
{
	CUresult result = data && sizes && attributes && n_attributes ? CUDA_SUCCESS
								      : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !result && i < n_attributes; i++)
		result = hook_cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], ptr, n);
	return result;
}
