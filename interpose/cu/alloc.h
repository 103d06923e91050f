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
#include "interpose/cu/advice.h"

struct gsb_graph_memory;

enum gsb_alloc_kind {
	GSB_ALLOC_DEVICE, /* cuMemAlloc */
	GSB_ALLOC_OPENED, /* another process's: cuIpcOpenMemHandle; closed, not freed */
	GSB_ALLOC_GRAPH,  /* of an allocation node: freed with the last that names it */
	GSB_ALLOC_HOST,	  /* cuMemHostAlloc */
	GSB_ALLOC_MANAGED, /* cuMemAllocManaged: pinned, too, but freed as device memory; or a variable */
	GSB_ALLOC_MIRROR, /* of registered memory: not to be freed (cu/registered.h) */
	GSB_ALLOC_WORDS,  /* of conditional nodes: the library's, not to be freed */
	GSB_ALLOC_GLOBAL  /* a variable of a module: not to be freed */
};

struct gsb_alloc {
	uint64_t addr, size; /* size > 0 */
	uint64_t wire; /* of the context that it goes with; 0: a managed variable of a library */
	uint64_t
		module; /* handle of the module or library whose variable it is; else 0: only that may be freed */
	uint64_t id; /* cuPointerGetAttribute BUFFER_ID */
	enum gsb_alloc_kind kind;
	bool may_keep;	    /* plain memory of the device, or cuMemHostAlloc's: cu/kept.h */
	bool is_shared;	    /* other processes may have it, or it is theirs */
	uint32_t flags;	    /* CU_MEMHOSTALLOC_* */
	uint64_t export_id; /* another process's: as its engine numbers what is exported; else 0 */
	unsigned n_opened;  /* OPENED: how often more than once */
	uint64_t pool;	    /* cuMemAllocAsync: handle of the pool that has counted it; else 0 */
	struct gsb_graph_memory *memory; /* GRAPH: whose it is, under the lock of the graphs */
	struct gsb_advice *advice;	 /* MANAGED: the map's alone; NULL: nothing is said of it */
};

/* Sets a->id. A range that is already there (a variable asked for twice) is left alone. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_alloc_add(struct gsb_alloc *a);

/* The allocation that holds addr, copied out; false when there is none. */
bool gsb_alloc_find(uint64_t addr, struct gsb_alloc *out);

/* A variable that the device has put outside the device window: a real GPU's driver does. */
bool gsb_alloc_is_far_variable(uint64_t addr);

/*
 * Whether [addr, addr + bytes) lies inside one allocation, of whichever context: addresses are the process's. 0 bytes are
 * inside everything.
 */
bool gsb_alloc_holds(uint64_t addr, uint64_t bytes);

/* The managed allocation that holds all of [addr, addr + bytes), bytes > 0, copied out; false when none does. */
bool gsb_alloc_find_managed(uint64_t addr, uint64_t bytes, struct gsb_alloc *out);

/* What is said of a range that one managed allocation holds, and what holds for all of it. CUDA_ERROR_INVALID_VALUE, _OUT_OF_MEMORY. */
CUresult gsb_alloc_advise(uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
			  CUmemLocation where);
CUresult gsb_alloc_advice(uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
			  CUmemLocation *where);

/*
 * Remove what begins at addr and has this kind, and this context unless it is 0. CUDA_ERROR_INVALID_VALUE when there
 * is no such thing. It is removed before the engine is told that it is free, so a record that names it is right if it
 * was here while the ring's lock was held.
 */
CUresult gsb_alloc_remove(uint64_t addr, enum gsb_alloc_kind kind, uint64_t wire,
			  struct gsb_alloc *out);

/*
 * The allocation of this pool, or of none, that holds addr, is to be exported: the engine hears of its end before anybody else does. False: there
 * is no such, or it is another process's.
 */
bool gsb_alloc_export(uint64_t addr, uint64_t pool, struct gsb_alloc *out);
/* That this context has opened what a is of already, as one more user of it. False: it has not. */
bool gsb_alloc_reopen(const struct gsb_alloc *a, uint64_t wire, CUdeviceptr *addr);
/* One user less of what was opened and begins at addr; *last: it was the last one, and out was removed. CUDA_ERROR_INVALID_VALUE. */
CUresult gsb_alloc_close(uint64_t addr, struct gsb_alloc *out, bool *last);

/* What was mapped is so no longer (cu/virtual.h). */
void gsb_alloc_note_removal(void);

/* How often something was removed: what was found at the same count is there still. */
uint64_t gsb_alloc_n_removals(void);

/* Remove all that belongs to a context (its wire handle) or to a module. */
void gsb_allocs_drop(uint64_t owner);

#endif
