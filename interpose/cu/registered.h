/*
 * registered.h - registered memory: pages of the program that are pages of the host window at the same time.
 *
 * What is registered is copied into pages of the window, its mirror, and then these are mapped in its place: the program
 * sees its bytes where they were, the engine sees the same ones in the window, and the device's address of them is
 * that of the mirror. When it ends, private pages with the bytes of that moment come back. A page is one of the two
 * at any time, never none, so other threads may read meanwhile; who writes to one that is being copied waits (hold.h),
 * and who registers what lies on his own stack does it from another one (aside.h).
 * Two registrations may share a page, if all pages of the second are mirrored already.
 */
#ifndef GSB_INTERPOSE_CU_REGISTERED_H
#define GSB_INTERPOSE_CU_REGISTERED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_registered {
	uint64_t addr, size;
	uint64_t device; /* where the device sees addr */
	uint64_t wire;	 /* of the context that it goes with */
	uint32_t flags;	 /* CU_MEMHOSTREGISTER_* */
};

/* Pages and their mirror. */
struct gsb_mirror {
	uint64_t addr, size; /* whole pages */
	uint64_t mirror;     /* in the host window */
	uint64_t wire;
	uint32_t n;	 /* registrations in them */
	uint8_t *before; /* while a fork takes its pages away: what they were then */
};

extern _Atomic uint32_t gsb_n_registered;

/* The registration that holds all of [addr, addr + bytes), bytes > 0, copied out. */
bool gsb_registered_find(uint64_t addr, uint64_t bytes, struct gsb_registered *out);
/* The one whose mirror holds an address of the device. */
bool gsb_registered_find_device(uint64_t device, struct gsb_registered *out);

/*
 * gsb_registered_join() - register memory whose pages are mirrored already
 * Return: CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND: no page is, and they may be; CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
 * CUDA_ERROR_INVALID_VALUE: nobody's memory; CUDA_ERROR_NOT_SUPPORTED, which says why.
 */
CUresult gsb_registered_join(struct gsb_registered *r);

/*
 * gsb_registered_add() - swap the pages of r for those at mirror, and register it
 * Return: CUDA_SUCCESS; CUDA_ERROR_MAP_FAILED: part of the mirror lies under the program's pages and could not be taken
 * away again, so it must stay; other errors: nothing has changed.
 */
CUresult gsb_registered_add(struct gsb_registered *r, uint64_t mirror);

/* The one that begins at addr; HOST_MEMORY_NOT_REGISTERED, or CUDA_ERROR_INVALID_VALUE inside of one. */
CUresult gsb_registered_at(uint64_t addr, struct gsb_registered *out);

/* It ends. With the last one of its pages these come back, and *gone says which mirror is free; size 0: none. */
CUresult gsb_registered_remove(uint64_t addr, struct gsb_mirror *gone);

/* All of a context, before its memory ends. */
void gsb_registered_drop(uint64_t wire);

static inline uint64_t gsb_pages_begin(const struct gsb_registered *r)
{
	return r->addr & ~4095ull;
}

static inline uint64_t gsb_pages_bytes(const struct gsb_registered *r)
{
	return ((r->addr + r->size + 4095) & ~4095ull) - gsb_pages_begin(r);
}

#endif
