/*
 * pool.h - pools of device memory: whose allocations are counted, up to how many bytes, and what programs set of them.
 *
 * Memory goes back to the engine when it is freed, whatever the pool: a threshold up to which a pool would keep it is remembered
 * and means nothing. A pool that ends leaves its allocations alone.
 */
#ifndef GSB_INTERPOSE_CU_POOL_H
#define GSB_INTERPOSE_CU_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "interpose/core/object.h"

#define GSB_N_POOLS	 1024
#define GSB_N_POOL_REUSE 3 /* CU_MEMPOOL_ATTR_REUSE_* */

struct gsb_cu_pool {
	struct gsb_object obj;
	uint64_t max_bytes;			/* 0: no limit of its own */
	CUmemAllocationHandleType handle_types; /* by which it may be exported */
	bool is_imported; /* another process's: nothing is allocated from it */
	_Atomic uint64_t threshold;
	_Atomic int reuse[GSB_N_POOL_REUSE];
	_Atomic uint64_t now, high; /* bytes, now and at most */
};

extern struct gsb_object_table gsb_cu_pools;

/* The device's default pool, which never ends, and that of graphs; once, before any other use. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_cu_pool_init(void);
uint64_t gsb_cu_pool_default(void);
/* What counts the memory of graphs; a program has no handle of it. */
uint64_t gsb_cu_pool_graphs(void);

/* The one of allocations that name none. */
uint64_t gsb_cu_pool_current(void);
CUresult gsb_cu_pool_set_current(uint64_t handle);

CUresult gsb_cu_pool_create(uint64_t max_bytes, uint64_t *handle);
CUresult gsb_cu_pool_destroy(uint64_t handle);

static inline struct gsb_cu_pool *gsb_cu_pool_get(uint64_t handle)
{
	return gsb_object_get(&gsb_cu_pools, handle);
}

/* By which handles what it has may be exported; of what is a pool no more, none. */
static inline CUmemAllocationHandleType gsb_cu_pool_handle_types(uint64_t handle)
{
	const struct gsb_cu_pool *p = gsb_cu_pool_get(handle);

	return p ? p->handle_types : CU_MEM_HANDLE_TYPE_NONE;
}

/* Bytes more in use, of what may be a pool no more. CUDA_ERROR_OUT_OF_MEMORY: more than it may have; none are counted then. */
CUresult gsb_cu_pool_take(uint64_t handle, uint64_t bytes);
void gsb_cu_pool_give(uint64_t handle, uint64_t bytes);

#endif
