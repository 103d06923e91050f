/*
 * heap.h - device memory: what the emulated card has in all, and what one space has of it.
 *
 * One lock, the card's, guards both and is a leaf. Functions are for any thread.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_HEAP_H
#define GSB_DEVICE_EMU_MEMORY_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device/emu/memory/address.h"
#include "device/emu/memory/backing.h"
#include "device/emu/memory/file.h"
#include "device/emu/memory/near.h"
#include "device/emu/memory/share.h"
#include "device/emu/memory/sweep.h"
#include "device/ops.h"
#include "device/range.h"

/* All device memory. */
struct emu_vram {
	pthread_mutex_t lock;
	LIST_HEAD(emu_heaps, emu_heap) heaps;
	uint64_t total_bytes, used_bytes;
	size_t max_allocs, n_allocs; /* mappings of backings, and what is opened, count, too */
	struct emu_backings backings;
	struct emu_sweeper sweeper;
};

/* One space's. */
struct emu_heap {
	struct emu_vram *vram;
	struct emu_file *file; /* of its part of the window */
	LIST_ENTRY(emu_heap) link;
	uint64_t owner;		      /* as in gsb_space_params */
	struct gsb_emu_memory memory; /* what the interpreter checks against */
	struct gsb_ranges device,
		host; /* of what is freed, and not given out yet, nothing is used */
	struct emu_opened *opened;
	uint64_t limit_bytes, used_bytes;
	size_t n_allocs;
	bool was_full;	   /* of allocations, and that was said */
	uint64_t *retired; /* freed while a copy was running; let go after it */
	size_t n_retired, retired_capacity;
	unsigned n_touching; /* ends of copies that are running, and fills */
	struct emu_freed freed;
};

void emu_vram_init(struct emu_vram *vram, const struct gsb_device_params *p, uint64_t total_bytes);
void emu_vram_finish(struct emu_vram *vram); /* no heap is left */
void emu_vram_info(struct emu_vram *vram, uint64_t *free_bytes, uint64_t *total_bytes);

/* As ops.h says of mem_cost, space_create, space_limit, mem_alloc, mem_free, mem_open, host_pin and host_unpin. */
uint64_t emu_heap_cost(uint64_t size);
int emu_heap_init(struct emu_heap *heap, struct emu_vram *vram, const struct gsb_space_params *p);
void emu_heap_finish(struct emu_heap *heap); /* nothing touches it */
void emu_heap_limit(struct emu_heap *heap, uint64_t limit_bytes);
int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t *addr);
int emu_heap_free(struct emu_heap *heap, uint64_t addr);
int emu_heap_open(struct emu_heap *heap, struct gsb_backing *b, uint64_t *addr);
/* A page that the device needs to serve the space, zeroed: nobody is charged for it. @addr is given back once. */
int emu_heap_lend(struct emu_heap *heap, uint64_t *addr);
void emu_heap_take_back(struct emu_heap *heap, uint64_t addr);
int emu_heap_pin(struct emu_heap *heap, uint64_t addr, uint64_t size);
int emu_heap_unpin(struct emu_heap *heap, uint64_t addr, uint64_t size);

/* True when the part of these rows that lies in device windows of the owner is allocated. From a true answer
 * until the end the memory stays mapped, freed or not; and the spaces stay. */
bool emu_heap_touch_copy(struct emu_heap *heap, const struct gsb_cmd_copy *copy);
void emu_heap_touch_copy_end(struct emu_heap *heap, const struct gsb_cmd_copy *copy);
bool emu_heap_touch_fill(struct emu_heap *heap, const struct gsb_cmd_fill *fill);
void emu_heap_touch_fill_end(struct emu_heap *heap, const struct gsb_cmd_fill *fill);

/* The address is in a device window of the owner, or where backings are mapped. */
bool emu_heap_has(const struct emu_heap *heap, uint64_t addr);

#endif
