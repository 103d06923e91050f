/*
 * memory.c - see memory.h.
 *
 * A space reserves its window's addresses once. Memory is mapped there in chunks of 2 MiB or more: a large allocation has a
 * chunk of its own, small ones share slabs of one unit. None of these calls waits for kernels, and none stops
 * their launches, but for the rare one that makes the heap of kernels larger; cuMemFree would do both.
 *
 * The large chunk that was given back last is kept mapped for a moment: who frees and allocates the same again and again waits for
 * no mapping. It is in nobody's books, and another engine may have been sold it: so it goes soon, and at once when memory is short,
 * another is given back, or its space ends.
 *
 * What is shared with another space or process is never kept so, and lives as long as one has it (pages.h). The other one has a chunk of the
 * same pages, which is nothing of its own: it counts for no limit.
 *
 * Fresh memory is zeroed on a stream of its own, of high priority; who issues the next command lets its queue
 * wait for that (queue.c), nobody else does. What is given back before it has come to zero stays mapped until then.
 */
#include "device/cuda/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/array.h"
#include "device/cuda/backing.h"
#include "device/cuda/fifo.h"
#include "device/cuda/host.h"
#include "device/cuda/module.h"
#include "device/cuda/pages.h"
#include "device/cuda/print.h"
#include "device/cuda/said.h"
#include "device/cuda/send.h"
#include "device/cuda/texture.h"

#define ALIGN_BYTES	512 /* of an allocation, as the driver's are */
#define SMALL_MAX	(CUDA_CHUNK_BYTES / 2)
#define EMPTY_SLABS_MAX 1 /* kept, so that one allocation that comes and goes costs no mapping */
#define SPARE_MAX	(256ull << 20)
#define SPARE_NS	200000000ull
#define HEAP_MAX_BYTES \
	(512ull << 20) /* of kernels' malloc(): half of what is kept for the driver */

struct cuda_chunk {
	uint64_t start, size; /* mapped */
	struct cuda_pages *pages;
	uint64_t bytes; /* of a large allocation; 0: a slab */
	bool opened;	/* what is there is another's */
	struct gsb_space *space;
	struct gsb_ranges parts;	/* of a slab */
	struct cuda_chunk *prev, *next; /* slabs, those with room first; or those that are dying */
	UT_hash_handle hh;
};

/* ---- zeroing ---- */

static uint64_t zero_word(struct cuda_device *dev)
{
	return (uint64_t)(uintptr_t)&dev->words[CUDA_ZERO_WORD];
}

/* What has begun must be told of when it ends: it would go on in memory that is another's by then. */
int cuda_zero_mark(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;
	int err;

	dev->n_zeroed++;
	err = cuda_io_error(dev, cu->cuEventRecord(dev->zeroed, dev->zero_stream));
	if (!err)
		err = cuda_io_error(dev,
				    cu->cuStreamWriteValue32_v2(dev->zero_stream, zero_word(dev),
								(uint32_t)dev->n_zeroed, 0));
	return err;
}

int cuda_zero(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	CUresult result = cuda_note(dev, dev->cu.cuMemsetD8Async(addr, 0, size, dev->zero_stream));

	if (result)
		return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
	return cuda_zero_mark(dev);
}

/* A context that is lost does nothing any more. */
bool cuda_is_zeroed(struct cuda_device *dev, uint64_t n_zeroed)
{
	return (int32_t)(dev->words[CUDA_ZERO_WORD] - (uint32_t)n_zeroed) >= 0 || cuda_lost(dev);
}

void cuda_finish_zeroing(struct cuda_device *dev)
{
	cuda_io_error(dev, dev->cu.cuStreamSynchronize(dev->zero_stream));
}

/* ---- chunks ---- */

/*
 * What is left of slabs counts, too: who keeps a little of each would have more than its limit. Slabs that are filled one behind
 * the other are half full at least, so that nobody meets this before his limit who frees nothing.
 */
static bool may_map(const struct gsb_space *space, uint64_t size)
{
	uint64_t limit = space->limit_bytes;

	return limit > UINT64_MAX / 4 || space->mapped_bytes + size <= 2 * limit + CUDA_CHUNK_BYTES;
}

/* Consumes the pages, also if it fails. */
static int place_chunk(struct gsb_space *space, struct cuda_pages *pages, struct cuda_chunk **out)
{
	struct cuda_chunk *c = calloc(1, sizeof(*c));
	uint64_t size = pages->size;
	struct gsb_range was;
	int err = -ENOMEM;

	if (!c)
		goto err_chunk;
	c->pages = pages;
	c->size = size;
	c->space = space;
	/* A gap behind a large one: what runs off its end meets nothing. */
	err = gsb_ranges_alloc(&space->window, size, CUDA_CHUNK_BYTES,
			       size > CUDA_CHUNK_BYTES ? CUDA_CHUNK_BYTES : 0, &c->start);
	if (err)
		goto err_chunk;
	err = cuda_pages_map(pages, c->start);
	if (err)
		goto err_map;
	HASH_ADD(hh, space->chunks, start, sizeof(c->start), c);
	*out = c;
	return 0;
err_map:
	gsb_ranges_remove(&space->window, c->start, &was);
err_chunk:
	cuda_pages_put(pages);
	free(c);
	return err;
}

static int add_chunk(struct gsb_space *space, uint64_t size, struct cuda_chunk **out)
{
	struct cuda_pages *pages;
	int err;

	if (!may_map(space, size))
		return -EDQUOT;
	err = cuda_pages_create(space->dev, size, &pages);
	if (!err)
		err = place_chunk(space, pages, out);
	if (!err)
		space->mapped_bytes += size;
	return err;
}

static void unmap_chunk(struct cuda_chunk *c)
{
	struct gsb_space *space = c->space;
	struct cuda_device *dev = space->dev;
	struct gsb_range was;

	cuda_note(dev, dev->cu.cuMemUnmap(c->start, c->size));
	cuda_pages_put(c->pages);
	gsb_ranges_remove(&space->window, c->start, &was);
	HASH_DELETE(hh, space->chunks, c);
	space->mapped_bytes -= c->opened ? 0 : c->size;
	free(c);
}

/* Those given back before that have come to zero meanwhile. */
static void bury(struct cuda_device *dev)
{
	struct cuda_chunk *c, *next;

	DL_FOREACH_SAFE (dev->dying, c, next) {
		if (!cuda_pages_are_zeroed(c->pages))
			continue;
		DL_DELETE(dev->dying, c);
		unmap_chunk(c);
	}
}

static void let_die(struct cuda_chunk *c)
{
	if (cuda_pages_are_zeroed(c->pages))
		unmap_chunk(c);
	else
		DL_APPEND(c->space->dev->dying, c);
}

/* Nothing is allocated there from now on; it is in no list of slabs. */
static void remove_chunk(struct cuda_chunk *c)
{
	if (!c->opened)
		cuda_pages_leave(c->pages);
	c->bytes = 0;
	gsb_ranges_finish(&c->parts);
	c->parts = (struct gsb_ranges){0};
	let_die(c);
}

/* ---- the spare chunk ---- */

static void drop_spare(struct cuda_device *dev)
{
	struct cuda_chunk *c = dev->spare;

	dev->spare = NULL;
	if (c)
		let_die(c);
}

/* Of a large allocation, that is given back. */
static void spare_chunk(struct cuda_chunk *c)
{
	struct cuda_device *dev = c->space->dev;

	if (c->size > SPARE_MAX || c->pages->shared) {
		remove_chunk(c);
		return;
	}
	drop_spare(dev);
	c->bytes = 0;
	dev->spare = c;
	dev->spare_until_ns = gsb_clock_ns() + SPARE_NS;
}

uint64_t cuda_mem_tidy(struct cuda_device *dev, uint64_t now)
{
	uint64_t array_ns = cuda_arrays_tidy(dev, now), ns;

	if (dev->spare && now >= dev->spare_until_ns)
		drop_spare(dev);
	ns = dev->spare ? dev->spare_until_ns - now : 0;
	return !array_ns || (ns && ns < array_ns) ? ns : array_ns;
}

bool cuda_mem_make_room(struct cuda_device *dev)
{
	if (!dev->dying && !dev->spare && !dev->dead_arrays)
		return false;
	drop_spare(dev);
	cuda_finish_zeroing(dev);
	bury(dev);
	cuda_arrays_bury(dev);
	return true;
}

static struct cuda_chunk *take_spare(const struct gsb_space *space, uint64_t size)
{
	struct cuda_device *dev = space->dev;
	struct cuda_chunk *c = dev->spare;

	if (!c || c->space != space || c->size != size)
		return NULL;
	dev->spare = NULL;
	return c;
}

/* The chunk that holds addr, NULL: none does. */
static struct cuda_chunk *find_chunk(struct gsb_space *space, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&space->window, addr);
	struct cuda_chunk *c = NULL;

	if (r)
		HASH_FIND(hh, space->chunks, &r->start, sizeof(r->start), c);
	return c;
}

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
	err = add_chunk(space, CUDA_CHUNK_BYTES, &slab);
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
		remove_chunk(slab);
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
	struct cuda_chunk *c = take_spare(space, cost);
	int err = c ? 0 : add_chunk(space, cost, &c);

	if (err)
		return err;
	c->bytes = size;
	*addr = c->start;
	return 0;
}

void cuda_zero_note(struct cuda_device *dev, uint64_t owner)
{
	struct gsb_space *space;

	DL_FOREACH (dev->spaces, space)
		if (space->owner == owner)
			space->n_zeroed = dev->n_zeroed;
}

static int place(struct gsb_space *space, uint64_t size, uint64_t cost, uint64_t *addr)
{
	return size > SMALL_MAX ? alloc_large(space, size, cost, addr)
				: alloc_part(space, cost, addr);
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
	bury(dev);
	err = place(space, size, cost, &at);
	if (err && cuda_mem_make_room(dev))
		err = place(space, size, cost, &at);
	if (err)
		return err;
	space->used_bytes += cost;
	dev->used_bytes += cost;
	err = cuda_zero(dev, at, cost);
	if (err) {
		cuda_mem_free(space, at);
		return err;
	}
	find_chunk(space, at)->pages->n_zeroed = dev->n_zeroed;
	cuda_zero_note(dev, space->owner);
	*addr = at;
	return 0;
}

int cuda_mem_free(struct gsb_space *space, uint64_t addr)
{
	struct cuda_chunk *c;
	uint64_t cost;

	bury(space->dev);
	c = find_chunk(space, addr);
	if (!c) {
		if (cuda_array_free(space, addr, &cost))
			return -EINVAL;
	} else if (c->bytes) {
		if (c->start != addr)
			return -EINVAL;
		cost = c->opened ? 0 : c->size;
		spare_chunk(c);
	} else if (free_part(space, c, addr, &cost)) {
		return -EINVAL;
	}
	space->used_bytes -= cost;
	space->dev->used_bytes -= cost;
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
	struct cuda_chunk *c = find_chunk(space, addr);
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

	bury(dev);
	err = place_chunk(space, cuda_pages_get(pages), &c);
	if (err)
		return err;
	c->opened = pages->shared = true;
	c->bytes = c->size;
	if (!pages->zeroed)
		err = cuda_pages_zero(pages, c->start);
	if (err) {
		remove_chunk(c);
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

static bool is_allocated(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	const struct cuda_chunk *c = find_chunk(space, addr);
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

static bool is_global(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	const struct gsb_range *r = gsb_ranges_find(&space->globals, addr);

	return r && gsb_range_ok(addr - r->start, bytes, r->size);
}

/* Of this space or another one of its owner. */
static bool is_any_global(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	struct gsb_space *other;

	if (is_global(space, addr, bytes) || !space->owner)
		return is_global(space, addr, bytes);
	DL_FOREACH (space->dev->spaces, other)
		if (other->owner == space->owner && is_global(other, addr, bytes))
			return true;
	return false;
}

static bool is_known(const struct cuda_device *dev, uint64_t addr)
{
	return gsb_ranges_find(&dev->known, addr);
}

/* To the next place where what is pinned begins or ends, if that is before the end. */
uint64_t cuda_piece(const struct cuda_device *dev, uint64_t addr, uint64_t bytes)
{
	const struct gsb_ranges *r = &dev->known;
	size_t lo = 0, hi = r->n_items;
	uint64_t most;

	if (!dev->n_host_backings || addr - dev->virtual_base >= dev->virtual_size)
		return bytes;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->items[mid].start + r->items[mid].size > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == r->n_items)
		return bytes;
	most = r->items[lo].start > addr ? r->items[lo].start - addr
					 : r->items[lo].start + r->items[lo].size - addr;
	return bytes < most ? bytes : most;
}

enum cuda_place cuda_place_of(struct gsb_space *space, uint64_t addr, uint64_t bytes)
{
	struct gsb_space *at = cuda_space_at(space, addr);
	const struct gsb_range *r;

	if (addr - at->base < at->size && cuda_array_find(at, addr, bytes))
		return CUDA_PLACE_ARRAY;
	if (addr - space->dev->virtual_base < space->dev->virtual_size) /* the engine knows what */
		return space->dev->n_host_backings && is_known(space->dev, addr)
			       ? CUDA_PLACE_HOST
			       : CUDA_PLACE_DEVICE;
	if (addr - at->base < at->size)
		return is_allocated(at, addr, bytes) ? CUDA_PLACE_DEVICE : CUDA_PLACE_NOWHERE;
	if (space->dev->n_unknown)
		cuda_host_learn(space->dev);
	r = gsb_ranges_find(&space->dev->known, addr);
	if (r && gsb_range_ok(addr - r->start, bytes, r->size))
		return CUDA_PLACE_HOST;
	return is_any_global(space, addr, bytes) ? CUDA_PLACE_DEVICE : CUDA_PLACE_PLAIN;
}

/* ---- spaces ---- */

static int reserve(struct gsb_space *space)
{
	struct cuda_driver *cu = &space->dev->cu;
	CUdeviceptr got = 0;

	if (cuda_note(space->dev, cu->cuMemAddressReserve(&got, space->size, 0, space->base, 0)))
		return -ENOMEM;
	if (got == space->base)
		return 0;
	cu->cuMemAddressFree(got, space->size);
	return -EEXIST;
}

int cuda_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		      struct gsb_space **out)
{
	uint64_t size = p->device_size;
	struct gsb_space *space;
	int err;

	if (size < CUDA_CHUNK_BYTES || size & (size - 1) || p->device_base & (size - 1))
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	space->dev = to_cuda(dev);
	space->owner = p->owner;
	space->said_at = cuda_said_bytes();
	space->base = p->device_base;
	space->size = size;
	cuda_space_limit(space, p->mem_limit_bytes);
	err = reserve(space);
	if (err) {
		free(space);
		return err;
	}
	gsb_ranges_init(&space->window, p->device_base, size);
	gsb_ranges_init(&space->host, p->host_base, p->host_size);
	gsb_ranges_init(&space->globals, 0, UINT64_MAX);
	space->n_zeroed = space->dev->n_zeroed; /* of its owner's backings */
	DL_APPEND(space->dev->spaces, space);
	*out = space;
	return 0;
}

void cuda_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	space->limit_bytes = mem_limit_bytes ? mem_limit_bytes : UINT64_MAX;
}

/* Its addresses are to be free when it has gone: this waits for what is being zeroed, and for nothing else. */
static void remove_chunks(struct gsb_space *space)
{
	struct cuda_chunk *c, *next;

	if (space->dev->spare && space->dev->spare->space == space)
		drop_spare(space->dev);
	for (c = space->chunks; c; c = next) {
		next = c->hh.next;
		if (c->bytes || c->parts.base) /* it is not dying already */
			remove_chunk(c);
	}
	if (space->chunks)
		cuda_finish_zeroing(space->dev);
	bury(space->dev);
}

void cuda_space_destroy(struct gsb_space *space)
{
	if (!space)
		return;
	DL_DELETE(space->dev->spaces, space);
	while (space->modules)
		cuda_module_unload(space->modules);
	cuda_print_destroy(space);
	cuda_fifo_forget(space);
	cuda_host_unpin_all(space);
	cuda_textures_free(space);
	cuda_arrays_free(space);
	remove_chunks(space);
	space->dev->used_bytes -= space->used_bytes;
	cuda_note(space->dev, space->dev->cu.cuMemAddressFree(space->base, space->size));
	gsb_ranges_finish(&space->window);
	gsb_ranges_finish(&space->host);
	gsb_ranges_finish(&space->globals);
	free(space);
}
