/*
 * space.c - spaces: what one tenant context has of the device.
 */
#include "device/emu/space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "device/emu/code/code.h"
#include "device/emu/device.h"
#include "device/emu/module.h"
#include "device/print.h"

#define DEFAULT_KERNEL_HEAP (8ull << 20) /* CUDA's */
#define STACK_FACTOR	    4

static size_t default_limit(const struct gsb_arch *arch)
{
	return gsb_print_fifo_default((uint64_t)GSB_WARP_SIZE * arch->max_warps * arch->n_sms);
}

int emu_space_create(struct gsb_device *base, const struct gsb_space_params *p,
		     struct gsb_space **out)
{
	struct emu_device *dev = to_emu(base);
	struct gsb_space *space = calloc(1, sizeof(*space));
	int err;

	if (!space)
		return -ENOMEM;
	err = emu_heap_init(&space->heap, &dev->vram, p);
	if (err) {
		free(space);
		return err;
	}
	space->dev = dev;
	space->storage.sum = &dev->storage;
	gsb_emu_malloc_init(&space->kernel_heap, &space->storage);
	space->kernel_heap_bytes = DEFAULT_KERNEL_HEAP;
	emu_fifo_init(&space->fifo, &space->storage, default_limit(&dev->info.arch));
	LIST_INIT(&space->modules);
	*out = space;
	return 0;
}

void emu_space_cancel(struct gsb_space *space)
{
	emu_clock_cancel(&space->dev->clock, space);
}

void emu_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	emu_heap_limit(&space->heap, mem_limit_bytes);
}

void emu_space_destroy(struct gsb_space *space)
{
	if (!space)
		return;
	emu_note_free(space);
	while (!LIST_EMPTY(&space->modules))
		emu_module_unload(LIST_FIRST(&space->modules));
	emu_fifo_finish(&space->fifo);
	gsb_emu_malloc_finish(&space->kernel_heap);
	emu_heap_finish(&space->heap);
	free(space);
}

int emu_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	return emu_heap_alloc(&space->heap, size, addr);
}

uint64_t emu_mem_cost(struct gsb_device *base, uint64_t size)
{
	return emu_heap_cost(size);
}

int emu_mem_free(struct gsb_space *space, uint64_t addr)
{
	emu_note_free(space);
	return emu_heap_free(&space->heap, addr);
}

int emu_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
		  uint64_t *offset, uint64_t *size)
{
	return emu_heap_share(&space->heap, addr, out, offset, size);
}

int emu_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr)
{
	return emu_heap_open(&space->heap, b, addr);
}

int emu_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
		       struct gsb_backing **out)
{
	return emu_backing_make(&to_emu(base)->vram, size, out);
}

/* As what is another process's: a part of a file that somebody else counts, which its own engine does not give up. */
int emu_backing_of_host(struct gsb_device *base, uint64_t owner, int fd, uint64_t at, uint64_t size,
			struct gsb_backing **out)
{
	struct emu_vram *vram = &to_emu(base)->vram;

	if (!vram->backings.area.size)
		return -ENOTSUP;
	if ((at | size) % GSB_BACKING_UNIT)
		return -EINVAL;
	return emu_backing_adopt_of_host(vram, owner, fd, at, size, out);
}

void emu_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct emu_heap *heap;

	LIST_FOREACH(heap, &b->vram->heaps, link)
	if (heap->owner == owner)
		emu_note_free(gsb_container_of(heap, struct gsb_space, heap));
	emu_backing_remove(b, owner, addr);
}

int emu_backing_import(struct gsb_device *base, int fd, uint64_t at, uint64_t size,
		       struct gsb_backing **out)
{
	return emu_backing_adopt(&to_emu(base)->vram, fd, at, size, out);
}

int emu_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	return emu_heap_pin(&space->heap, addr, size);
}

int emu_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	emu_note_free(space);
	return emu_heap_unpin(&space->heap, addr, size);
}

int emu_print_read(struct gsb_space *space, char *buf, size_t size, bool *to_stderr, bool *more)
{
	size_t n = emu_fifo_read(&space->fifo, buf, size, to_stderr);

	*more = n;
	return (int)n;
}

uint64_t emu_print_limit(struct gsb_space *space, uint64_t bytes)
{
	return emu_fifo_limit(&space->fifo, bytes);
}

int emu_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now)
{
	if (space->kernel_heap.base)
		return -EINVAL;
	if (bytes > GSB_EMU_HEAP_MAX_SIZE || bytes > space->dev->info.total_mem_bytes)
		return -ENOMEM;
	space->kernel_heap_bytes = gsb_round_up(bytes ? bytes : 1, GSB_EMU_HEAP_PAGE);
	*now = space->kernel_heap_bytes;
	return 0;
}

/*
 * Frames here are larger than a GPU's: each argument takes 16 bytes, and each part of a frame begins at a
 * multiple of 64. What is asked for is meant for a GPU's, and a kernel that fits there shall run here.
 */
void emu_stack_size(struct gsb_space *space, uint64_t bytes)
{
	uint64_t most = GSB_EMU_MAX_LOCAL / STACK_FACTOR;

	bytes = (bytes < most ? bytes : most) * STACK_FACTOR;
	space->stack_bytes = bytes > GSB_EMU_DEFAULT_STACK ? (uint32_t)bytes : 0;
}

int emu_space_start_heap(struct gsb_space *space)
{
	uint64_t addr;
	int err;

	if (space->kernel_heap.base)
		return 0;
	if (emu_heap_alloc(&space->heap, space->kernel_heap_bytes, &addr))
		return -ENOMEM;
	err = gsb_emu_malloc_start(&space->kernel_heap, addr, space->kernel_heap_bytes);
	if (err)
		emu_heap_free(&space->heap, addr);
	return err;
}
