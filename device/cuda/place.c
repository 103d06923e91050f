/*
 * place.c - see place.h.
 */
#include "device/cuda/place.h"

#include <utlist.h>

#include "base/checked.h"
#include "device/cuda/array.h"
#include "device/cuda/host.h"
#include "device/cuda/memory.h"

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
		return cuda_mem_is_allocated(at, addr, bytes) ? CUDA_PLACE_DEVICE
							      : CUDA_PLACE_NOWHERE;
	if (space->dev->n_unknown)
		cuda_host_learn(space->dev);
	r = gsb_ranges_find(&space->dev->known, addr);
	if (r && gsb_range_ok(addr - r->start, bytes, r->size))
		return CUDA_PLACE_HOST;
	return is_any_global(space, addr, bytes) ? CUDA_PLACE_DEVICE : CUDA_PLACE_PLAIN;
}
