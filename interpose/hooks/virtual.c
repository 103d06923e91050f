/*
 * hooks/virtual.c - addresses and memory apart from each other: the driver's virtual memory management. There is one device, and its
 * memory is what can be mapped, and pinned memory of the host.
 *
 * Which node of the host that is on is left to its kernel: a page comes where it is first touched.
 */
#include "base/checked.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/virtual.h"
#include "interpose/hooks/hooks.h"

#define HOST_PAGE_BYTES 4096

/* None of these calls needs a context, but one that has failed says so. */
static CUresult enter(void)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_self.top.ctx ? gsb_cu_ctx_live(&life) : CUDA_SUCCESS;

	return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : result;
}

/* ---- addresses ---- */

CUresult hook_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr hint,
				  unsigned long long flags)
{
	uint64_t addr;
	CUresult result = enter();

	if (result)
		return result;
	if (!ptr || !size || size % HOST_PAGE_BYTES || hint % HOST_PAGE_BYTES ||
	    (align && !gsb_is_pow2(align)) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > GSB_VIRTUAL_SIZE)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = gsb_cu_virtual_reserve(size, align, hint, &addr);
	if (!result)
		*ptr = addr;
	return result;
}

CUresult hook_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult result = enter();

	return result ? result : gsb_cu_virtual_free(ptr, size);
}

/* ---- memory ---- */

static bool is_host(const CUmemLocation *where)
{
	return where->type == CU_MEM_LOCATION_TYPE_HOST ||
	       where->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
	       where->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/* Whose access is meant. Of the host all nodes are one, and the number is not looked at, as the driver documents it. */
static CUresult check_location(const CUmemLocation *where)
{
	if (where->type == CU_MEM_LOCATION_TYPE_DEVICE)
		return where->id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	return is_host(where) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* As the driver documents it: no memory is made on the node that the thread happens to be on, and that of no node is never exported. */
static CUresult check_host_prop(const CUmemAllocationProp *prop)
{
	if (prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return prop->location.id < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	return prop->location.type == CU_MEM_LOCATION_TYPE_HOST && !prop->requestedHandleTypes
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

/* A handle that could be exported is made: who asks for one mostly never does. */
static CUresult check_prop(const CUmemAllocationProp *prop)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    prop->allocFlags.usage)
		return CUDA_ERROR_NOT_SUPPORTED;
	return is_host(&prop->location) ? check_host_prop(prop) : check_location(&prop->location);
}

/* As other pinned memory it has a limit of ours. */
static CUresult create_of_host(size_t size, const CUmemAllocationProp *prop, uint64_t *handle)
{
	CUresult result = gsb_cu_virtual_create_of_host(size, prop, handle);

	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gsb_mem_say_no_host_room(size);
	return result;
}

CUresult hook_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			  const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUmemAllocationProp granted;
	uint64_t made;
	CUresult result = enter();

	if (result)
		return result;
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_prop(prop);
	if (result)
		return result;
	granted = *prop;
	granted.allocFlags.compressionType = 0; /* which may be asked for, and need not be given */
	if (granted.location.type ==
	    CU_MEM_LOCATION_TYPE_HOST) /* it is some node's, as a driver says */
		granted.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
	result = is_host(&prop->location) ? create_of_host(size, &granted, &made)
					  : gsb_cu_virtual_create(size, &granted, &made);
	if (!result)
		*handle = made;
	return result;
}

CUresult hook_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result = enter();

	return result ? result : gsb_cu_virtual_release(handle);
}

CUresult hook_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	uint64_t found;
	CUresult result =
		handle ? gsb_cu_virtual_retain((uint64_t)addr, &found) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*handle = found;
	return result;
}

CUresult hook_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						     CUmemGenericAllocationHandle handle)
{
	return prop ? gsb_cu_virtual_prop(handle, prop) : CUDA_ERROR_INVALID_VALUE;
}

/* The driver does not look at what the memory is to be. */
CUresult hook_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					    CUmemAllocationGranularity_flags option)
{
	if (!granularity || !prop || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GSB_VIRTUAL_UNIT;
	return CUDA_SUCCESS;
}

/* ---- mappings ---- */

CUresult hook_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
		       CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult result = enter();

	if (result)
		return result;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return offset ? CUDA_ERROR_NOT_SUPPORTED : gsb_cu_virtual_map(ptr, size, handle);
}

CUresult hook_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult result = enter();

	return result ? result : gsb_cu_virtual_unmap(ptr, size);
}

/* The last word about each counts. NULL: nothing is said of it. */
struct words {
	const CUmemAccessDesc *device, *host;
};

static CUresult read_words(const CUmemAccessDesc *desc, size_t n, struct words *out)
{
	for (size_t i = 0; i < n; i++) {
		CUresult result = check_location(&desc[i].location);

		if (result == CUDA_ERROR_INVALID_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		if (result)
			return result;
		if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
		*(is_host(&desc[i].location) ? &out->host : &out->device) = &desc[i];
	}
	return CUDA_SUCCESS;
}

CUresult hook_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	struct words words = {0};
	CUresult result = enter();

	if (result)
		return result;
	if (!desc || !n)
		return CUDA_ERROR_INVALID_VALUE;
	result = read_words(desc, n, &words);
	if (!result && words.host)
		result = gsb_cu_virtual_check_host_access(ptr, size);
	if (!result && words.device)
		result = gsb_cu_virtual_set_access(ptr, size, words.device->flags);
	if (!result && words.host)
		result = gsb_cu_virtual_set_host_access(ptr, size, words.host->flags);
	return result;
}

CUresult hook_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr ptr)
{
	struct gsb_cu_virtual_place place;
	CUresult result = flags && where ? check_location(where) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	if (!gsb_cu_virtual_find(ptr, &place) || !place.size)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_host(where) && !place.is_of_host)
		return CUDA_ERROR_NOT_SUPPORTED;
	*flags = (unsigned long long)(is_host(where) ? place.host_access : place.access);
	return CUDA_SUCCESS;
}
