/*
 * malloc.h - malloc and free of kernels: one heap of a space, in one piece of its device memory.
 *
 * What is known about the heap stands in host memory, where no kernel reaches it: a pointer that free is
 * given is looked up there, and one that malloc has not given is told from one that it has.
 *
 * Any thread; the lock is a leaf.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_MALLOC_H
#define GSB_DEVICE_EMU_MEMORY_MALLOC_H

#include <pthread.h>
#include <stdint.h>

#include "device/emu/memory/storage.h"

#define GSB_EMU_HEAP_PAGE     4096u
#define GSB_EMU_HEAP_ALIGN    16u
#define GSB_EMU_HEAP_CLASSES  12
#define GSB_EMU_HEAP_MAX_SIZE ((uint64_t)64 << 30)

struct gsb_emu_malloc {
	pthread_mutex_t lock;
	struct gsb_emu_storage *storage; /* of the host's memory that the table of pages takes */
	uint64_t base;			 /* 0: there is no memory yet */
	uint32_t n_pages, n_free;
	uint32_t first_free;			/* no page before it is free */
	uint32_t partial[GSB_EMU_HEAP_CLASSES]; /* pages of small pieces with room, by their size */
	struct gsb_emu_heap_page *pages;
};

void gsb_emu_malloc_init(struct gsb_emu_malloc *h, struct gsb_emu_storage *storage);
void gsb_emu_malloc_finish(struct gsb_emu_malloc *h); /* nobody uses it */

/* Give it its memory: whole pages at @base. Return: 0, -ENOMEM, -EEXIST (it has some). */
int gsb_emu_malloc_start(struct gsb_emu_malloc *h, uint64_t base, uint64_t size);

/* An address aligned to @align, at least 16; 0: there is no room, or @align is no power of two. */
uint64_t gsb_emu_malloc(struct gsb_emu_malloc *h, uint64_t size, uint64_t align);

/* -EINVAL: no piece begins there, or it is free. */
int gsb_emu_malloc_free(struct gsb_emu_malloc *h, uint64_t addr);

#endif
