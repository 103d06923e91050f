/*
 * hooks/managed.c - where managed memory should be: hints, all of them. It is pinned host memory, which host and device
 * use at once, so that there is nowhere to move it to. A hint is checked as the driver checks it, and forgotten, and
 * who asks gets the truth: none is in force.
 */
#include <string.h>

#include "interpose/cu/alloc.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/hooks.h"

static CUresult check_range(CUdeviceptr ptr, size_t n)
{
	struct gsb_alloc a;

	return gsb_alloc_find_managed(ptr, n, &a) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_device(CUdevice device)
{
	return device == 0 || device == CU_DEVICE_CPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult check_location(CUmemLocation where)
{
	switch (where.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return where.id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult prefetch(CUdeviceptr ptr, size_t n, CUstream stream)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	return result ? result : check_range(ptr, n);
}

CUresult hook_cuMemPrefetchAsync(CUdeviceptr ptr, size_t n, CUdevice device, CUstream stream)
{
	CUresult result = check_device(device);

	return result ? result : prefetch(ptr, n, stream);
}

CUresult hook_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t n, CUmemLocation where, unsigned flags,
				    CUstream stream)
{
	CUresult result = flags ? CUDA_ERROR_INVALID_VALUE : check_location(where);

	return result ? result : prefetch(ptr, n, stream);
}

static CUresult advise(CUdeviceptr ptr, size_t n, CUmem_advise advice)
{
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	return check_range(ptr, n);
}

/* Whether copies may be made for readers is no question of a place: the device is not looked at. */
static bool names_a_place(CUmem_advise advice)
{
	return advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY;
}

CUresult hook_cuMemAdvise(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUdevice device)
{
	CUresult result = names_a_place(advice) ? check_device(device) : CUDA_SUCCESS;

	return result ? result : advise(ptr, n, advice);
}

CUresult hook_cuMemAdvise_v2(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUmemLocation where)
{
	CUresult result = names_a_place(advice) ? check_location(where) : CUDA_SUCCESS;

	return result ? result : advise(ptr, n, advice);
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

/* One value for each kind of question: a number, or so many devices. */
CUresult hook_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
				     CUdeviceptr ptr, size_t n)
{
	int32_t none = CU_DEVICE_INVALID;
	CUresult result = data ? check_range(ptr, n) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: none = 0; /* fall through */
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		if (size != sizeof(none))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(data, &none, sizeof(none));
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		if (!size || size % sizeof(none))
			return CUDA_ERROR_INVALID_VALUE;
		for (size_t i = 0; i < size; i += sizeof(none))
			memcpy((char *)data + i, &none, sizeof(none));
		return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
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
