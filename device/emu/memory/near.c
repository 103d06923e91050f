/*
 * near.c - see near.h.
 */
#include "device/emu/memory/near.h"

#include <stdlib.h>

#include "base/checked.h"
#include "device/emu/memory/heap.h"

void emu_freed_add(struct emu_freed *freed, uint64_t start, uint64_t size)
{
	if (!freed->ranges)
		freed->ranges = calloc(EMU_FREED_MAX, sizeof(*freed->ranges));
	if (freed->ranges)
		freed->ranges[freed->n++ % EMU_FREED_MAX] = (struct emu_freed_range){start, size};
}

void emu_freed_finish(struct emu_freed *freed)
{
	free(freed->ranges);
	*freed = (struct emu_freed){0};
}

/* The youngest that held the address. */
static bool find_freed(const struct emu_freed *freed, uint64_t addr, struct emu_near *out)
{
	size_t n = freed->n < EMU_FREED_MAX ? freed->n : EMU_FREED_MAX;

	for (size_t i = 1; i <= n; i++) {
		const struct emu_freed_range *r = &freed->ranges[(freed->n - i) % EMU_FREED_MAX];

		if (addr - r->start >= r->size)
			continue;
		*out = (struct emu_near){EMU_NEAR_FREED, r->start, r->size};
		return true;
	}
	return false;
}

/* What is freed, and stays for others, is nobody's to be told of. */
static const struct gsb_range *nearest(const struct gsb_ranges *ranges, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_nearest(ranges, addr);

	return r && r->used ? r : NULL;
}

/* In a window of another space of this owner. */
static bool find_other(const struct emu_heap *heap, uint64_t addr, struct emu_near *out)
{
	const struct emu_heap *other;

	LIST_FOREACH(other, &heap->vram->heaps, link)
	{
		const struct gsb_range *r;

		if (other == heap || !heap->owner || other->owner != heap->owner ||
		    addr - other->memory.device.base >= other->memory.device.size)
			continue;
		r = nearest(&other->device, addr);
		if (r)
			*out = (struct emu_near){EMU_NEAR_OTHER, r->start, r->used};
		return r;
	}
	return false;
}

/* How far it is from there to what is allocated would tell nobody anything. Windows of strangers are outside, too. */
static bool is_outside(const struct gsb_emu_memory *m, uint64_t addr)
{
	return addr - m->device.base >= m->device.size && addr - m->host.base >= m->host.size &&
	       addr - m->window.base >= m->window.size && addr - m->area->base >= m->area->size;
}

/* What is allocated at the address comes first, then what was freed there, then what is near. */
static struct emu_near find(const struct emu_heap *heap, uint64_t addr)
{
	const struct gsb_emu_range *host = &heap->memory.host;
	bool pinned = addr - host->base < host->size;
	const struct gsb_range *r = nearest(pinned ? &heap->host : &heap->device, addr);
	struct emu_near near = {EMU_NEAR_NONE, 0, 0};

	if (addr - heap->memory.area->base < heap->memory.area->size)
		return (struct emu_near){EMU_NEAR_RESERVED, 0, 0};
	if ((!r || addr - r->start >= r->used) &&
	    (find_freed(&heap->freed, addr, &near) || find_other(heap, addr, &near)))
		return near;
	if (is_outside(&heap->memory, addr))
		return (struct emu_near){EMU_NEAR_OUTSIDE, 0, 0};
	if (r)
		near = (struct emu_near){pinned ? EMU_NEAR_PINNED : EMU_NEAR_ALIVE, r->start,
					 r->used};
	return near;
}

struct emu_near emu_near_find(struct emu_heap *heap, uint64_t addr)
{
	struct emu_near near;

	pthread_mutex_lock(&heap->vram->lock);
	near = find(heap, addr);
	pthread_mutex_unlock(&heap->vram->lock);
	return near;
}

static bool holds(const struct gsb_ranges *ranges, uint64_t addr, uint64_t len)
{
	const struct gsb_range *r = gsb_ranges_find(ranges, addr);

	return r && gsb_range_ok(addr - r->start, len, r->used);
}

/* In another space, which may be used as well. */
static bool others_hold(const struct emu_heap *heap, uint64_t addr, uint64_t len)
{
	const struct emu_heap *other;

	if (addr - heap->memory.window.base >= heap->memory.window.size)
		return false;
	LIST_FOREACH(other, &heap->vram->heaps, link)
	if (other->owner == heap->owner && holds(&other->device, addr, len))
		return true;
	return false;
}

bool emu_near_holds(struct emu_heap *heap, uint64_t addr, uint64_t len)
{
	bool yes;

	pthread_mutex_lock(&heap->vram->lock);
	yes = holds(&heap->device, addr, len) || holds(&heap->host, addr, len) ||
	      others_hold(heap, addr, len) ||
	      gsb_emu_is_mapped(&heap->memory, addr, len, CU_MEM_ACCESS_FLAGS_PROT_READ);
	pthread_mutex_unlock(&heap->vram->lock);
	return yes;
}
