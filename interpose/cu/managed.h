/*
 * managed.h - where the managed variables of a module lie: in pinned memory, as managed allocations do, so that host
 * and kernels see the same bytes at the same address.
 *
 * The engine says how many bytes a load wants; the library finds a place for them and tells the engine before anything else is
 * done with the module. A module has a place of its own, which goes with its context. A library has one for all contexts that
 * it is loaded into, as long as it is there: its host may use a variable when all contexts have ended.
 */
#ifndef GSB_INTERPOSE_CU_MANAGED_H
#define GSB_INTERPOSE_CU_MANAGED_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_cu_managed {
	uint64_t addr, bytes; /* 0: none */
	uint64_t wire;	      /* of the context that it goes with; 0: it goes with none */
};

/*
 * gsb_cu_managed_place() - find a place for the variables of a module that has just been loaded
 * @module:     whose managed variables have so many bytes
 * @wire:       the context that it is in
 * @is_library: it is a load of a library
 * @place:      of an earlier load of that, or zeroed
 *
 * Context: no lock that a call may not wait under. Return: what the engine says; *place is as it was then.
 */
CUresult gsb_cu_managed_place(uint64_t module, uint64_t wire, bool is_library, uint64_t bytes,
			      struct gsb_cu_managed *place);

/* Give it back; nothing uses it any more. One of a context that has ended went with that. */
void gsb_cu_managed_free(struct gsb_cu_managed *place);

static inline bool gsb_cu_managed_has(const struct gsb_cu_managed *place, uint64_t addr)
{
	return addr - place->addr < place->bytes;
}

#endif
