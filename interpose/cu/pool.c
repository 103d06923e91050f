/*
 * pool.c - see pool.h.
 */
#include "interpose/cu/pool.h"

struct gsb_object_table gsb_cu_pools =
	GSB_OBJECT_TABLE(GSB_HANDLE_POOL, GSB_N_POOLS, struct gsb_cu_pool, NULL);

static uint64_t of_device, of_graphs;
static _Atomic uint64_t current;

CUresult gsb_cu_pool_create(uint64_t max_bytes, uint64_t *handle)
{
	struct gsb_cu_pool *p = gsb_object_take(&gsb_cu_pools, 0, 0);

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->max_bytes = max_bytes;
	p->handle_types = CU_MEM_HANDLE_TYPE_NONE;
	p->is_imported = false;
	p->threshold = p->now = p->high = 0;
	for (unsigned i = 0; i < GSB_N_POOL_REUSE; i++)
		p->reuse[i] = 1;
	*handle = gsb_object_name(p);
	gsb_object_publish(&gsb_cu_pools, p);
	return CUDA_SUCCESS;
}

CUresult gsb_cu_pool_init(void)
{
	CUresult result = gsb_cu_pool_create(0, &of_device);

	current = of_device;
	return result ? result : gsb_cu_pool_create(0, &of_graphs);
}

uint64_t gsb_cu_pool_default(void)
{
	return of_device;
}

uint64_t gsb_cu_pool_graphs(void)
{
	return of_graphs;
}

uint64_t gsb_cu_pool_current(void)
{
	return current;
}

CUresult gsb_cu_pool_set_current(uint64_t handle)
{
	if (!gsb_cu_pool_get(handle))
		return CUDA_ERROR_INVALID_VALUE;
	current = handle;
	return CUDA_SUCCESS;
}

/* The device does not stay without one. */
CUresult gsb_cu_pool_destroy(uint64_t handle)
{
	uint64_t expected = handle;

	if (handle == of_device || !gsb_cu_pool_get(handle) ||
	    !gsb_object_retire(&gsb_cu_pools, handle))
		return CUDA_ERROR_INVALID_VALUE;
	atomic_compare_exchange_strong(&current, &expected, of_device);
	gsb_object_release(&gsb_cu_pools, handle);
	return CUDA_SUCCESS;
}

/* ---- what is in use ---- */

CUresult gsb_cu_pool_take(uint64_t handle, uint64_t bytes)
{
	struct gsb_cu_pool *p = gsb_cu_pool_get(handle);
	uint64_t high, now;

	if (!p)
		return CUDA_SUCCESS;
	now = atomic_fetch_add(&p->now, bytes) + bytes;
	if (p->max_bytes && now > p->max_bytes) {
		atomic_fetch_sub(&p->now, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	high = p->high;
	while (high < now && !atomic_compare_exchange_weak(&p->high, &high, now))
		;
	return CUDA_SUCCESS;
}

void gsb_cu_pool_give(uint64_t handle, uint64_t bytes)
{
	struct gsb_cu_pool *p = gsb_cu_pool_get(handle);

	if (p)
		atomic_fetch_sub(&p->now, bytes);
}
