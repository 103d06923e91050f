/*
 * memory.c - see memory.h.
 *
 * A space reserves its window's addresses once. Memory is mapped there in chunks of 2 MiB or more: a large allocation has a
 * chunk of its own, small ones share slabs of one unit. None of these calls waits for kernels, and none stops
 * their launches, but for the rare one that makes the heap of kernels larger; cuMemFree would do both.
 */
#include "device/cuda/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/checked.h"
#include "device/cuda/backing.h"
#include "device/cuda/chunk.h"
#include "device/cuda/pages.h"
#include "device/cuda/room.h"
#include "device/cuda/zero.h"

#define ALIGN_BYTES	512 /* of an allocation, as the driver's are */
#define SMALL_MAX	(CUDA_CHUNK_BYTES / 2)
#define EMPTY_SLABS_MAX 1 /* kept, so that one allocation that comes and goes costs no mapping */
#define HEAP_MAX_BYTES \
	(512ull << 20) /* of kernels' malloc(): half of what is kept for the driver */

/* ---- small allocations ---- */

static int alloc_part(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	struct cuda_chunk *slab;
	int err;

	DL_FOREACH (space->slabs, slab) {
		bool was_empty = !slab->parts.n_items;

		if (gsb_ranges_alloc(&slab->parts, size, ALIGN_BYTES, 0, addr))
			continue;
		space->n_empty_slabs -= was_empty;
		return 0;
	}
	err = cuda_chunk_add(space, CUDA_CHUNK_BYTES, &slab);
	if (err)
		return err;
	gsb_ranges_init(&slab->parts, slab->start, slab->size);
	DL_PREPEND(space->slabs, slab);
	err = gsb_ranges_alloc(&slab->parts, size, ALIGN_BYTES, 0, addr);
	space->n_empty_slabs += err != 0;
	return err;
}

static int free_part(struct gsb_space *space, struct cuda_chunk *slab, uint64_t addr,
		     uint64_t *bytes)
{
	struct gsb_range was;

	if (gsb_ranges_remove(&slab->parts, addr, &was))
		return -EINVAL;
	*bytes = was.size;
	DL_DELETE(space->slabs, slab);
	if (!slab->parts.n_items && space->n_empty_slabs >= EMPTY_SLABS_MAX) {
		cuda_chunk_remove(slab);
		return 0;
	}
	space->n_empty_slabs += !slab->parts.n_items;
	DL_PREPEND(space->slabs, slab);
	return 0;
}

/* ---- allocations ---- */

uint64_t cuda_mem_cost(struct gsb_device *dev, uint64_t size)
{
	uint64_t unit = size > SMALL_MAX ? CUDA_CHUNK_BYTES : ALIGN_BYTES;

	return gsb_range_ok(size, unit, UINT64_MAX) ? gsb_round_up(size, unit) : UINT64_MAX;
}

static int alloc_large(struct gsb_space *space, uint64_t size, uint64_t cost, uint64_t *addr)
{
	struct cuda_chunk *c = cuda_chunk_take_spare(space, cost);
	int err = c ? 0 : cuda_chunk_add(space, cost, &c);

	if (err)
		return err;
	c->bytes = size;
	*addr = c->start;
	return 0;
}

static int place(struct gsb_space *space, uint64_t size, uint64_t cost, uint64_t *addr)
{
	return size > SMALL_MAX ? alloc_large(space, size, cost, addr)
				: alloc_part(space, cost, addr);
}

int cuda_mem_give_back(struct gsb_space *space, uint64_t addr, uint64_t *cost)
{
	struct cuda_chunk *c;

	cuda_chunks_bury(space->dev);
	c = cuda_chunk_find(space, addr);
	if (!c)
		return -EINVAL;
	if (!c->bytes)
		return free_part(space, c, addr, cost);
	if (c->start != addr)
		return -EINVAL;
	*cost = c->opened ? 0 : c->size;
	cuda_chunk_spare(c);
	return 0;
}

int cuda_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	struct cuda_device *dev = space->dev;
	uint64_t cost = cuda_mem_cost(&dev->base, size), at;
	int err;

	if (!size)
		return -EINVAL;
	if (cost > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	if (space->used_bytes > space->limit_bytes || cost > space->limit_bytes - space->used_bytes)
		return -EDQUOT;
	cuda_chunks_bury(dev);
	err = place(space, size, cost, &at);
	if (err && cuda_room_make(dev))
		err = place(space, size, cost, &at);
	if (err)
		return err;
	err = cuda_zero(dev, at, cost);
	if (err) {
		cuda_mem_give_back(space, at, &cost);
		return err;
	}
	space->used_bytes += cost;
	dev->used_bytes += cost;
	cuda_chunk_find(space, at)->pages->n_zeroed = dev->n_zeroed;
	cuda_zero_note(dev, space->owner);
	*addr = at;
	return 0;
}

/* ---- memory of others ---- */

/* What of a slab nobody has may be as another tenant has left it. */
static int zero_gaps(struct cuda_chunk *slab)
{
	struct cuda_device *dev = slab->space->dev;
	uint64_t at = slab->start, end = slab->start + slab->size;
	int err = 0;

	for (size_t i = 0; !err && i <= slab->parts.n_items; i++) {
		const struct gsb_range *r = &slab->parts.items[i];
		uint64_t until = i < slab->parts.n_items ? r->start : end;

		if (until > at)
			err = cuda_zero(dev, at, until - at);
		at = i < slab->parts.n_items ? r->start + r->size : end;
	}
	slab->pages->n_zeroed = dev->n_zeroed;
	return err;
}

static bool begins_at(const struct cuda_chunk *c, uint64_t addr)
{
	const struct gsb_range *r = c->bytes ? NULL : gsb_ranges_find(&c->parts, addr);

	return c->bytes ? c->start == addr && !c->opened : r && r->start == addr;
}

int cuda_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
		   uint64_t *offset, uint64_t *size)
{
	struct cuda_chunk *c = cuda_chunk_find(space, addr);
	int err = c && begins_at(c, addr) ? 0 : -EINVAL;

	if (!err && !c->bytes && !c->pages->shared)
		err = zero_gaps(c);
	if (!err)
		err = cuda_backing_of(c->pages, out);
	if (err)
		return err;
	c->pages->zeroed = c->pages->shared = true;
	*offset = addr - c->start;
	*size = c->size;
	return 0;
}

int cuda_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr)
{
	struct cuda_pages *pages = cuda_backing_pages(b);
	struct cuda_device *dev = space->dev;
	struct cuda_chunk *c;
	int err;

	cuda_chunks_bury(dev);
	err = cuda_chunk_place(space, cuda_pages_get(pages), &c);
	if (err)
		return err;
	c->opened = pages->shared = true;
	c->bytes = c->size;
	if (!pages->zeroed)
		err = cuda_pages_zero(pages, c->start);
	if (err) {
		cuda_chunk_remove(c);
		return err;
	}
	if (!cuda_pages_are_zeroed(pages))
		cuda_zero_note(dev, space->owner);
	*addr = c->start;
	return 0;
}

void cuda_mem_info(struct gsb_device *base, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct cuda_device *dev = to_cuda(base);

	*total_bytes = dev->info.total_mem_bytes;
	*free_bytes = dev->info.total_mem_bytes - dev->used_bytes;
}

int cuda_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now)
{
	struct cuda_device *dev = space->dev;
	size_t is = 0;
	CUresult result = dev->cu.cuCtxGetLimit(&is, CU_LIMIT_MALLOC_HEAP_SIZE);

	if (!result && bytes > HEAP_MAX_BYTES)
		return -ENOMEM;
	if (!result && bytes > is)
		result = dev->cu.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes);
	if (!result)
		result = dev->cu.cuCtxGetLimit(&is, CU_LIMIT_MALLOC_HEAP_SIZE);
	if (!result)
		*now = is;
	return cuda_refusal(dev, result);
}

bool cuda_mem_is_allocated(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	const struct cuda_chunk *c = cuda_chunk_find(space, addr);
	const struct gsb_range *r;

	if (!c)
		return false;
	if (c->bytes)
		return gsb_range_ok(addr - c->start, bytes, c->bytes);
	r = gsb_ranges_find(&c->parts, addr);
	return r && gsb_range_ok(addr - r->start, bytes, r->size);
}

struct gsb_space *cuda_space_at(struct gsb_space *space, uint64_t addr)
{
	struct gsb_space *other;

	if (addr - space->base < space->size || !space->owner)
		return space;
	DL_FOREACH (space->dev->spaces, other)
		if (other->owner == space->owner && addr - other->base < other->size)
			return other;
	return space;
}
