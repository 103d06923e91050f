/*
 * hooks/pool.c - pools of device memory: made, chosen, asked about. What is allocated from them is in hooks/mem.c.
 */
#include "interpose/cu/pool.h"
#include "interpose/hooks/hooks.h"

static uint64_t handle_of(CUmemoryPool pool)
{
	return (uint64_t)(uintptr_t)pool;
}

static struct gsb_cu_pool *find(CUmemoryPool pool)
{
	return gsb_cu_pool_get(handle_of(pool));
}

/* Memory is on the one device. */
static CUresult check_place(const CUmemLocation *where)
{
	if (!where)
		return CUDA_ERROR_INVALID_VALUE;
	if (where->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return where->id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* ---- a pool of its own ---- */

CUresult hook_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	uint64_t handle;
	CUresult result;

	if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = check_place(&props->location);
	if (!result)
		result = gsb_cu_pool_create(props->maxSize, &handle);
	if (result)
		return result;
	gsb_cu_pool_get(handle)->handle_types = props->handleTypes;
	*pool = (CUmemoryPool)handle;
	return CUDA_SUCCESS;
}

CUresult hook_cuMemPoolDestroy(CUmemoryPool pool)
{
	return gsb_cu_pool_destroy(handle_of(pool));
}

/* The device itself always has access, and there is no other. */
CUresult hook_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	CUresult result = find(pool) && (map || !n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !result && i < n; i++) {
		result = check_place(&map[i].location);
		if (!result && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			result = CUDA_ERROR_INVALID_DEVICE;
	}
	return result;
}

CUresult hook_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				 const CUmemLocation *where)
{
	CUresult result = flags && find(pool) ? check_place(where) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return result;
}

/* ---- that of the device ---- */

static CUresult give(uint64_t handle, CUmemoryPool *pool, CUdevice dev)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = (CUmemoryPool)handle;
	return CUDA_SUCCESS;
}

CUresult hook_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return give(gsb_cu_pool_default(), pool, dev);
}

CUresult hook_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return give(gsb_cu_pool_current(), pool, dev);
}

CUresult hook_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE : gsb_cu_pool_set_current(handle_of(pool));
}

/* ---- that of a place: there is the device, for pinned memory ---- */

/* What no driver has a pool for is wrong; pools of the host and of managed memory are those that others have. */
CUresult gsb_pool_check_place(const CUmemLocation *where, CUmemAllocationType type)
{
	bool is_managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;

	if (!where)
		return CUDA_ERROR_INVALID_VALUE;
	if (where->type > CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return CUDA_ERROR_NOT_SUPPORTED;
	if ((!is_managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) ||
	    (!is_managed && where->type == CU_MEM_LOCATION_TYPE_NONE))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_managed || where->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return where->id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult hook_cuMemGetDefaultMemPool(CUmemoryPool *pool, const CUmemLocation *where,
				     CUmemAllocationType type)
{
	CUresult result = gsb_pool_check_place(where, type);

	return result ? result : give(gsb_cu_pool_default(), pool, 0);
}

CUresult hook_cuMemGetMemPool(CUmemoryPool *pool, const CUmemLocation *where,
			      CUmemAllocationType type)
{
	CUresult result = gsb_pool_check_place(where, type);

	return result ? result : give(gsb_cu_pool_current(), pool, 0);
}

CUresult hook_cuMemSetMemPool(const CUmemLocation *where, CUmemAllocationType type,
			      CUmemoryPool pool)
{
	CUresult result = gsb_pool_check_place(where, type);

	return result ? result : gsb_cu_pool_set_current(handle_of(pool));
}

/* ---- attributes ---- */

CUresult hook_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	const struct gsb_cu_pool *p = find(pool);

	if (!p || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->reuse[attr - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(uint64_t *)value = p->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(uint64_t *)value = p->now; return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(uint64_t *)value = p->high; return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct gsb_cu_pool *p = find(pool);

	if (!p || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->reuse[attr - 1] = *(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->threshold = *(uint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(uint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		p->high = p->now;
		return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult hook_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	return find(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
