/*
 * space.c - address spaces of the emulated device.
 *
 * A window is one reservation of addresses (PROT_NONE), at the base that the caller chose; a device
 * address is the host address of its byte. An allocation is a part of it made writable, whole pages
 * with a page of guard behind. What is freed goes back to PROT_NONE and its pages to the system, so
 * that what comes next at that address, whoever owns it, reads as zero. A kernel that runs into a hole
 * faults; copies have their ranges looked up first, and keep them mapped until they are done.
 *
 * An allocation costs the process two mappings, itself and the hole behind it, and the kernel allows only
 * so many. So their number is limited, too: a space may have as many as are left, at most half of all if
 * it is alone, and there are always some for another.
 */
#include "device/emu/emu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/log.h"

#define PAGE_BYTES  4096ull
#define LARGE_BYTES (2ull << 20) /* allocations of this size are aligned to it, as on a GPU */

#define MAPS_DEFAULT   65530 /* the kernel's own */
#define MAPS_PER_ALLOC 2

size_t emu_max_allocs(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long maps = MAPS_DEFAULT;

	if (f && fscanf(f, "%lu", &maps) != 1)
		maps = MAPS_DEFAULT;
	if (f)
		fclose(f);
	return maps / 8 * 7 / MAPS_PER_ALLOC; /* an eighth is for all else that a process maps */
}

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static int map_window(uint64_t base, uint64_t size)
{
	void *p = mmap(to_pointer(base), size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p != to_pointer(base)) { /* a kernel that does not know MAP_FIXED_NOREPLACE */
		munmap(p, size);
		return -EEXIST;
	}
	madvise(p, size, MADV_DONTDUMP);
	return 0;
}

int emu_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		     struct gsb_space **out)
{
	struct gsb_space *space;
	int err;

	if (!gsb_is_pow2(p->device_size) || p->device_base % p->device_size ||
	    p->device_size < LARGE_BYTES)
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	err = map_window(p->device_base, p->device_size);
	if (err) {
		free(space);
		return err;
	}
	space->dev = to_emu(dev);
	space->storage.sum = &space->dev->storage;
	space->limit_bytes = p->mem_limit_bytes ? p->mem_limit_bytes : UINT64_MAX;
	space->memory.device = (struct gsb_emu_range){p->device_base, p->device_size};
	space->memory.host = (struct gsb_emu_range){p->host_base, p->host_size};
	gsb_ranges_init(&space->device, p->device_base, p->device_size);
	gsb_ranges_init(&space->host, p->host_base, p->host_size);
	LIST_INIT(&space->modules);
	*out = space;
	return 0;
}

/* The loader allocates, too. */
void emu_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	pthread_mutex_lock(&space->dev->memory_lock);
	space->limit_bytes = mem_limit_bytes ? mem_limit_bytes : UINT64_MAX;
	pthread_mutex_unlock(&space->dev->memory_lock);
}

void emu_space_destroy(struct gsb_space *space)
{
	if (!space)
		return;
	while (!LIST_EMPTY(&space->modules))
		emu_module_unload(LIST_FIRST(&space->modules));
	munmap(to_pointer(space->memory.device.base), space->memory.device.size);
	pthread_mutex_lock(&space->dev->memory_lock);
	space->dev->used_bytes -= space->used_bytes;
	space->dev->n_allocs -= space->n_allocs;
	pthread_mutex_unlock(&space->dev->memory_lock);
	gsb_ranges_finish(&space->device);
	gsb_ranges_finish(&space->host);
	free(space->retired);
	free(space);
}

/* ---- allocations; memory_lock held ---- */

/* What it costs: whole pages, whole large pages from one on. */
static int committed_size(uint64_t size, uint64_t *out)
{
	uint64_t unit = size >= LARGE_BYTES ? LARGE_BYTES : PAGE_BYTES, sum;

	if (gsb_add_overflows(size, unit, &sum))
		return -ENOMEM;
	*out = gsb_round_up(size, unit);
	return 0;
}

static int charge(struct gsb_space *space, uint64_t bytes)
{
	struct emu_device *dev = space->dev;

	if (bytes > dev->info.total_mem_bytes - dev->used_bytes ||
	    space->n_allocs >= dev->max_allocs - dev->n_allocs)
		return -ENOMEM;
	if (space->used_bytes > space->limit_bytes ||
	    bytes > space->limit_bytes - space->used_bytes)
		return -EDQUOT;
	dev->used_bytes += bytes;
	space->used_bytes += bytes;
	dev->n_allocs++;
	space->n_allocs++;
	return 0;
}

static void discharge(struct gsb_space *space, uint64_t bytes)
{
	space->dev->used_bytes -= bytes;
	space->used_bytes -= bytes;
	space->dev->n_allocs--;
	space->n_allocs--;
}

static int map_new(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	uint64_t align = size >= LARGE_BYTES ? LARGE_BYTES : PAGE_BYTES;
	struct gsb_range was;
	int err = gsb_ranges_alloc(&space->device, size, align, PAGE_BYTES, addr);

	if (err)
		return err;
	if (mprotect(to_pointer(*addr), size, PROT_READ | PROT_WRITE)) {
		gsb_ranges_remove(&space->device, *addr, &was);
		return -ENOMEM;
	}
	return 0;
}

int emu_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	pthread_mutex_t *lock = &space->dev->memory_lock;
	uint64_t bytes, at = 0;
	int err;

	if (!size)
		return -EINVAL;
	err = committed_size(size, &bytes);
	if (err)
		return err;
	pthread_mutex_lock(lock);
	err = charge(space, bytes);
	if (!err) {
		err = map_new(space, bytes, &at);
		if (err)
			discharge(space, bytes);
	}
	pthread_mutex_unlock(lock);
	if (!err)
		*addr = at;
	return err;
}

/* The order matters: first nobody can write any more, then the contents go. */
static void scrub(struct gsb_space *space, const struct gsb_range *r)
{
	mprotect(to_pointer(r->start), r->size, PROT_NONE);
	if (madvise(to_pointer(r->start), r->size, MADV_DONTNEED))
		gsb_log(GSB_LOG_ERROR, "emu", "freed memory at %#llx is not scrubbed: %m",
			(unsigned long long)r->start);
	discharge(space, r->size);
}

/* The range stays in the map, so that it is not given out, until the copies are done. */
static int retire(struct gsb_space *space, const struct gsb_range *r)
{
	size_t capacity = space->retired_capacity ? space->retired_capacity * 2 : 16;
	struct gsb_range *list = space->retired;

	if (space->n_retired == space->retired_capacity) {
		list = realloc(list, capacity * sizeof(*list));
		if (!list)
			return -ENOMEM;
		space->retired = list;
		space->retired_capacity = capacity;
	}
	list[space->n_retired++] = *r;
	return 0;
}

static bool is_retired(const struct gsb_space *space, uint64_t start)
{
	for (size_t i = 0; i < space->n_retired; i++)
		if (space->retired[i].start == start)
			return true;
	return false;
}

static int free_locked(struct gsb_space *space, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&space->device, addr);
	struct gsb_range was;

	if (!r || r->start != addr || is_retired(space, addr))
		return -EINVAL;
	if (space->n_touching)
		return retire(space, r);
	gsb_ranges_remove(&space->device, addr, &was);
	scrub(space, &was);
	return 0;
}

int emu_mem_free(struct gsb_space *space, uint64_t addr)
{
	int err;

	pthread_mutex_lock(&space->dev->memory_lock);
	err = free_locked(space, addr);
	pthread_mutex_unlock(&space->dev->memory_lock);
	return err;
}

void emu_mem_info(struct gsb_device *base, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct emu_device *dev = to_emu(base);

	pthread_mutex_lock(&dev->memory_lock);
	*total_bytes = dev->info.total_mem_bytes;
	*free_bytes = dev->info.total_mem_bytes - dev->used_bytes;
	pthread_mutex_unlock(&dev->memory_lock);
}

/* ---- what copies touch ---- */

bool emu_is_device(const struct gsb_space *space, uint64_t addr)
{
	return addr - space->memory.device.base < space->memory.device.size;
}

/* Rows from addr, the last one not padded; false when they do not fit into 64 bits. */
static bool rows_extent(uint64_t width, uint64_t height, uint64_t pitch, uint64_t *extent)
{
	if (height <= 1) {
		*extent = height ? width : 0;
		return true;
	}
	return !gsb_mul_overflows(height - 1, pitch, extent) &&
	       !gsb_add_overflows(*extent, width, extent);
}

/* Not in the window at all, or in one allocation. */
static bool extent_ok(const struct gsb_space *space, uint64_t addr, uint64_t extent)
{
	uint64_t end, base = space->memory.device.base, size = space->memory.device.size;
	const struct gsb_range *r;

	if (!extent)
		return true;
	if (gsb_add_overflows(addr, extent, &end))
		return false;
	if (end <= base || addr >= base + size)
		return true;
	r = gsb_ranges_find(&space->device, addr);
	return r && gsb_range_ok(addr - r->start, extent, r->size) && !is_retired(space, r->start);
}

static bool cmd_ok(const struct gsb_space *space, const struct emu_cmd *cmd)
{
	const struct gsb_cmd_copy *c = &cmd->copy;
	uint64_t src, dst, width;

	if (cmd->kind == GSB_CMD_FILL)
		return !gsb_mul_overflows(cmd->fill.width, cmd->fill.elem_bytes, &width) &&
		       rows_extent(width, cmd->fill.height, cmd->fill.pitch, &dst) &&
		       extent_ok(space, cmd->fill.dst, dst);
	return rows_extent(c->width, c->height, c->src_pitch, &src) &&
	       rows_extent(c->width, c->height, c->dst_pitch, &dst) &&
	       extent_ok(space, c->src, src) && extent_ok(space, c->dst, dst);
}

bool emu_touch_begin(struct gsb_space *space, const struct emu_cmd *cmd)
{
	bool ok;

	pthread_mutex_lock(&space->dev->memory_lock);
	ok = cmd_ok(space, cmd);
	space->n_touching += ok;
	pthread_mutex_unlock(&space->dev->memory_lock);
	return ok;
}

void emu_touch_end(struct gsb_space *space)
{
	struct gsb_range was;

	pthread_mutex_lock(&space->dev->memory_lock);
	if (!--space->n_touching) {
		for (size_t i = 0; i < space->n_retired; i++) {
			gsb_ranges_remove(&space->device, space->retired[i].start, &was);
			scrub(space, &was);
		}
		space->n_retired = 0;
	}
	pthread_mutex_unlock(&space->dev->memory_lock);
}

/* ---- pinned host memory: the engine maps it, a kernel may touch all of the window ---- */

int emu_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	return gsb_ranges_add(&space->host, addr, size);
}

int emu_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	struct gsb_range was;
	const struct gsb_range *r = gsb_ranges_find(&space->host, addr);

	if (!r || r->start != addr || r->size != size)
		return -EINVAL;
	return gsb_ranges_remove(&space->host, addr, &was);
}
