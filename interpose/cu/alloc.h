/*
 * alloc.h - what the tenant owns at which address: one sorted map of device memory, pinned host memory and
 * module variables.
 *
 * Frees, copies and pointer queries look here, so that a wrong pointer is refused at once with the driver's
 * own code, without asking the engine.
 */
#ifndef GSB_INTERPOSE_CU_ALLOC_H
#define GSB_INTERPOSE_CU_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_cu_ctx;

enum gsb_alloc_kind {
	GSB_ALLOC_DEVICE, /* cuMemAlloc */
	GSB_ALLOC_HOST,	  /* cuMemHostAlloc */
	GSB_ALLOC_GLOBAL  /* a variable of a module: not to be freed */
};

struct gsb_alloc {
	uint64_t addr, size; /* size > 0 */
	struct gsb_cu_ctx *ctx;
	uint64_t wire_ctx;
	uint64_t module; /* GLOBAL: handle of the one whose variable it is; else 0 */
	uint64_t id;	 /* cuPointerGetAttribute BUFFER_ID */
	enum gsb_alloc_kind kind;
	uint32_t flags;	   /* CU_MEMHOSTALLOC_* */
	bool is_from_pool; /* cuMemAllocAsync */
};

/* Sets a->id. A range that is already there (a variable asked for twice) is left alone. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_alloc_add(struct gsb_alloc *a);

/* The allocation that holds addr, copied out; false when there is none. */
bool gsb_alloc_find(uint64_t addr, struct gsb_alloc *out);

/*
 * Whether [addr, addr + bytes) lies inside one allocation that a stream of this context may use: device memory of
 * that context, or pinned memory of any. 0 bytes are inside everything.
 */
bool gsb_alloc_holds(uint64_t addr, uint64_t bytes, uint64_t wire_ctx);

/* Remove what begins at addr and has this kind. CUDA_ERROR_INVALID_VALUE when there is no such thing. */
CUresult gsb_alloc_remove(uint64_t addr, enum gsb_alloc_kind kind, struct gsb_alloc *out);

/* Remove all that belongs to a context (its wire handle) or to a module. */
void gsb_allocs_drop(uint64_t owner);

/* Bytes of pool allocations, now and at most so far. */
void gsb_alloc_pool_bytes(uint64_t *now, uint64_t *high);
void gsb_alloc_pool_reset_high(void);

#endif
