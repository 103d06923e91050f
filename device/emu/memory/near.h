/*
 * near.h - what lies at or near an address that a kernel should not have touched: for the report of the fault.
 *
 * Of memory that was freed its place is remembered, so that a use after the free is told as one: the last
 * EMU_FREED_MAX of a space. Nothing is kept back for that: addresses are used again as late as the map of
 * allocations can make it.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_NEAR_H
#define GSB_DEVICE_EMU_MEMORY_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_FREED_MAX 1024

struct emu_heap;

/* A ring: entry i is at i % EMU_FREED_MAX. Zeroed is empty. */
struct emu_freed {
	struct emu_freed_range {
		uint64_t start, size;
	} * ranges; /* NULL before the first, or without memory for it */
	size_t n;   /* ever */
};

/* With the lock of the heap's card. */
void emu_freed_add(struct emu_freed *freed, uint64_t start, uint64_t size);
void emu_freed_finish(struct emu_freed *freed);

enum emu_near_kind {
	EMU_NEAR_NONE,	 /* there is nothing, and was nothing */
	EMU_NEAR_ALIVE,	 /* the nearest that is allocated */
	EMU_NEAR_FREED,	 /* the last that was there */
	EMU_NEAR_PINNED, /* pinned host memory, the nearest */
	EMU_NEAR_RESERVED, /* among addresses that programs reserve: there is nothing that may be accessed so */
	EMU_NEAR_OTHER, /* allocated in another space of the same owner; of strangers nothing is told */
	EMU_NEAR_OUTSIDE, /* where no space of the owner can have any */
};

struct emu_near {
	enum emu_near_kind kind;
	uint64_t start, size; /* bytes as asked for */
};

/* Any thread. */
struct emu_near emu_near_find(struct emu_heap *heap, uint64_t addr);

/* All of [addr, addr + len) is in one allocation, or in one piece of pinned memory: to the byte, which the pages of
 * memory that faults are made of do not tell. Any thread. */
bool emu_near_holds(struct emu_heap *heap, uint64_t addr, uint64_t len);

#endif
