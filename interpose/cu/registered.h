/*
 * registered.h - registered memory: pages of the program that are pages of the host window at the same time.
 *
 * What is registered is copied into pages of the window, its mirror, and then these are mapped in its place: the program
 * sees its bytes where they were, the engine sees the same ones in the window, and the device's address of them is
 * that of the mirror. When it ends, private pages with the bytes of that moment come back. A page is one of the two
 * at any time, never none, so other threads may read meanwhile; who writes to one that is being copied waits (hold.h),
 * and who registers what lies on his own stack does it from another one (aside.h).
 *
 * Blocks of a heap begin and end inside pages, so two registrations may share a page. It has one place in the window, in the
 * mirror of who came first; the second's mirror, which is all of its pages one behind the other, has an alias of it at its begin or
 * end. Aliases are the engine's affair: here nobody looks into a mirror. What is nobody's any more comes back, page by
 * page, and a mirror stays for as long as a page is in it.
 */
#ifndef GSB_INTERPOSE_CU_REGISTERED_H
#define GSB_INTERPOSE_CU_REGISTERED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_registered {
	uint64_t addr, size;
	uint64_t device; /* where the device sees addr; 0: it is being made */
	uint64_t wire;	 /* of the context that it goes with */
	uint32_t flags;	 /* CU_MEMHOSTREGISTER_* */
};

#define GSB_MIRRORS_GONE \
	3 /* at most with one registration: its own, and those of its first and last page */

extern _Atomic uint32_t gsb_n_registered;

/* The registration that holds all of [addr, addr + bytes), bytes > 0, copied out. */
bool gsb_registered_find(uint64_t addr, uint64_t bytes, struct gsb_registered *out);
/* The one whose mirror holds an address of the device. */
bool gsb_registered_find_device(uint64_t device, struct gsb_registered *out);

/*
 * gsb_registered_begin() - say that r will be registered; it ends with gsb_registered_add(), or else with _remove()
 * Its first and last page may be mirrored already: shared[0] and [1] say where in the window, 0: they are not. Waits for
 * who is registering one of them just now.
 * Return: CUDA_SUCCESS; CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; CUDA_ERROR_INVALID_VALUE: nobody's memory;
 * CUDA_ERROR_NOT_SUPPORTED, which says why; CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult gsb_registered_begin(const struct gsb_registered *r, uint64_t shared[2]);

/*
 * gsb_registered_add() - swap the pages of r that are not mirrored yet for those of its mirror, and register it
 * Return: CUDA_SUCCESS; CUDA_ERROR_MAP_FAILED: part of the mirror lies under the program's pages and could not be taken
 * away again, so it must stay; CUDA_ERROR_OUT_OF_MEMORY: no page has changed.
 */
CUresult gsb_registered_add(const struct gsb_registered *r, uint64_t mirror);

/* The one that begins at addr; HOST_MEMORY_NOT_REGISTERED, or CUDA_ERROR_INVALID_VALUE inside of one. */
CUresult gsb_registered_at(uint64_t addr, struct gsb_registered *out);

/* It ends. Its pages that are nobody else's come back, and *n mirrors are free that gone says. CUDA_ERROR_OUT_OF_MEMORY: it does not. */
CUresult gsb_registered_remove(uint64_t addr, uint64_t gone[GSB_MIRRORS_GONE], unsigned *n);

/* All of a context, before its memory ends. */
void gsb_registered_drop(uint64_t wire);

/* All pages that it has a part of. */
static inline uint64_t gsb_registered_pages(const struct gsb_registered *r)
{
	return ((r->addr & 4095) + r->size + 4095) & ~4095ull;
}

#endif
