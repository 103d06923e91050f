/*
 * heap.c - see heap.h.
 *
 * A window is one reservation of addresses (PROT_NONE), at the base that the caller chose, for all spaces of an owner where he
 * says so, and as long as one of them is there; each space has mapped a file of its own in its part. A device
 * address is the host address of its byte. An allocation is a part of it made writable, whole pages
 * with a page of guard behind. What is freed goes back to PROT_NONE and its pages to the system, so
 * that what comes next at that address, whoever owns it, reads as zero; unless others have it (share.c). A kernel that runs into a hole
 * faults; copies have their ranges looked up first, and keep them mapped until they are done.
 *
 * An allocation costs the process two mappings, itself and the hole behind it, and the kernel allows only
 * so many. So their number is limited, too: a space may have as many as are left, at most half of all if
 * it is alone, and there are always some for another.
 */
#include "device/emu/memory/heap.h"

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

static size_t most_allocs(void)
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

/* With MAP_FIXED in place of what is there. */
static int map_window(uint64_t base, uint64_t size, int fixed)
{
	void *p = mmap(to_pointer(base), size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			       (fixed ? fixed : MAP_FIXED_NOREPLACE),
		       -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p != to_pointer(base)) { /* a kernel that does not know MAP_FIXED_NOREPLACE */
		munmap(p, size);
		return -EEXIST;
	}
	madvise(p, size, MADV_DONTDUMP);
	return 0;
}

void emu_vram_init(struct emu_vram *vram, const struct gsb_device_params *p, uint64_t total_bytes)
{
	*vram = (struct emu_vram){.total_bytes = total_bytes, .max_allocs = most_allocs()};
	pthread_mutex_init(&vram->lock, NULL);
	LIST_INIT(&vram->heaps);
	emu_sweeper_init(&vram->sweeper);
	emu_backings_init(&vram->backings, p->virtual_base, p->virtual_size);
}

void emu_vram_finish(struct emu_vram *vram)
{
	emu_sweeper_finish(vram);
	emu_backings_finish(&vram->backings);
	pthread_mutex_destroy(&vram->lock);
}

void emu_vram_info(struct emu_vram *vram, uint64_t *free_bytes, uint64_t *total_bytes)
{
	pthread_mutex_lock(&vram->lock);
	*total_bytes = vram->total_bytes;
	*free_bytes = vram->total_bytes - vram->used_bytes;
	pthread_mutex_unlock(&vram->lock);
}

/* ---- windows; vram->lock held ---- */

static bool is_same_window(const struct emu_heap *a, const struct emu_heap *b)
{
	return a != b && a->owner == b->owner && a->memory.window.base == b->memory.window.base;
}

static bool overlap(const struct gsb_emu_range *a, const struct gsb_emu_range *b)
{
	return a->base - b->base < b->size || b->base - a->base < a->size;
}

/* Kernels of the others may still touch it: then it is a hole. */
static void part_window(struct emu_heap *heap)
{
	const struct gsb_emu_range *part = &heap->memory.device, *all = &heap->memory.window;
	const struct emu_heap *other;
	bool is_needed = false;

	LIST_REMOVE(heap, link);
	LIST_FOREACH(other, &heap->vram->heaps, link)
	is_needed |= is_same_window(heap, other);
	if (!is_needed)
		munmap(to_pointer(all->base), all->size);
	else if (map_window(part->base, part->size, MAP_FIXED))
		gsb_log(GSB_LOG_ERROR, "emu", "memory of a space that ends, at %#llx, stays: %m",
			(unsigned long long)part->base);
}

/* The first of those in a window takes it, and each maps its file in a part of it. */
static int join_window(struct emu_heap *heap)
{
	const struct gsb_emu_range *part = &heap->memory.device;
	const struct emu_heap *other;
	bool is_there = false;
	int err;

	LIST_FOREACH(other, &heap->vram->heaps, link)
	{
		if (!is_same_window(heap, other))
			continue;
		if (overlap(&heap->memory.device, &other->memory.device))
			return -EEXIST;
		is_there = true;
	}
	err = is_there ? 0 : map_window(heap->memory.window.base, heap->memory.window.size, 0);
	if (err)
		return err;
	LIST_INSERT_HEAD(&heap->vram->heaps, heap, link);
	err = emu_file_map(heap->file, 0, part->size, part->base, PROT_NONE);
	if (err)
		part_window(heap);
	return err;
}

static int check_window(const struct gsb_space_params *p)
{
	if (!gsb_is_pow2(p->device_size) || p->device_base % p->device_size ||
	    p->device_size < LARGE_BYTES)
		return -EINVAL;
	return p->owner_size && (!p->owner || !gsb_range_ok(p->device_base - p->owner_base,
							    p->device_size, p->owner_size))
		       ? -EINVAL
		       : 0;
}

int emu_heap_init(struct emu_heap *heap, struct emu_vram *vram, const struct gsb_space_params *p)
{
	struct gsb_emu_range device = {p->device_base, p->device_size},
			     all = {p->owner_base, p->owner_size};
	struct emu_file *file;
	int err = check_window(p);

	if (!err)
		err = emu_file_create("emu-window", p->device_size, &file);
	if (err)
		return err;
	*heap = (struct emu_heap){
		.vram = vram,
		.file = file,
		.memory = {.device = device,
			   .host = {p->host_base, p->host_size},
			   .area = &vram->backings.area,
			   .owner = p->owner,
			   .window = all.size ? all : device},
		.limit_bytes = p->mem_limit_bytes ? p->mem_limit_bytes : UINT64_MAX,
		.owner = p->owner,
	};
	gsb_ranges_init(&heap->device, p->device_base, p->device_size);
	gsb_ranges_init(&heap->host, p->host_base, p->host_size);
	file->heap = heap;
	pthread_mutex_lock(&vram->lock);
	err = join_window(heap);
	if (err)
		emu_file_put(file);
	pthread_mutex_unlock(&vram->lock);
	return err;
}

void emu_heap_limit(struct emu_heap *heap, uint64_t limit_bytes)
{
	pthread_mutex_lock(&heap->vram->lock);
	heap->limit_bytes = limit_bytes ? limit_bytes : UINT64_MAX;
	pthread_mutex_unlock(&heap->vram->lock);
}

void emu_heap_finish(struct emu_heap *heap)
{
	pthread_mutex_lock(&heap->vram->lock);
	part_window(heap);
	emu_sweep_forget(heap->vram, &heap->device);
	emu_share_part(heap);
	heap->vram->used_bytes -= heap->used_bytes;
	heap->vram->n_allocs -= heap->n_allocs;
	pthread_mutex_unlock(&heap->vram->lock);
	gsb_ranges_finish(&heap->device);
	gsb_ranges_finish(&heap->host);
	free(heap->retired);
	emu_freed_finish(&heap->freed);
}

/* What it costs: whole pages, whole large pages from one on. */
static int committed_size(uint64_t size, uint64_t *out)
{
	uint64_t unit = size >= LARGE_BYTES ? LARGE_BYTES : PAGE_BYTES, sum;

	if (gsb_add_overflows(size, unit, &sum))
		return -ENOMEM;
	*out = gsb_round_up(size, unit);
	return 0;
}

uint64_t emu_heap_cost(uint64_t size)
{
	uint64_t bytes;

	return committed_size(size, &bytes) ? UINT64_MAX : bytes;
}

/* ---- allocations; vram->lock held ---- */

/* Said once of a space: without it, memory lacks and there is plenty. */
static void say_full(struct emu_heap *heap)
{
	if (!heap->was_full)
		gsb_log(GSB_LOG_WARN, "emu",
			"a process has %zu allocations and gets no more, whatever is free: each costs "
			"the engine %d mappings; raise the sysctl vm.max_map_count before it starts",
			heap->n_allocs, MAPS_PER_ALLOC);
	heap->was_full = true;
}

/* One more of the process's few allocations. */
static int count(struct emu_heap *heap)
{
	struct emu_vram *vram = heap->vram;

	if (heap->n_allocs >= vram->max_allocs - vram->n_allocs) {
		say_full(heap);
		return -ENOMEM;
	}
	vram->n_allocs++;
	heap->n_allocs++;
	return 0;
}

static void uncount(struct emu_heap *heap)
{
	heap->vram->n_allocs--;
	heap->n_allocs--;
}

static int charge(struct emu_heap *heap, uint64_t bytes)
{
	struct emu_vram *vram = heap->vram;

	if (bytes > vram->total_bytes - vram->used_bytes)
		return -ENOMEM;
	if (heap->used_bytes > heap->limit_bytes || bytes > heap->limit_bytes - heap->used_bytes)
		return -EDQUOT;
	if (count(heap))
		return -ENOMEM;
	vram->used_bytes += bytes;
	heap->used_bytes += bytes;
	return 0;
}

static void discharge(struct emu_heap *heap, uint64_t bytes)
{
	heap->vram->used_bytes -= bytes;
	heap->used_bytes -= bytes;
}

static int place(struct emu_heap *heap, uint64_t size, uint64_t *addr)
{
	uint64_t align = size >= LARGE_BYTES ? LARGE_BYTES : PAGE_BYTES;
	int err;

	do
		err = gsb_ranges_alloc(&heap->device, size, align, PAGE_BYTES, addr);
	while (err && emu_sweep_wait(heap->vram, &heap->device));
	return err;
}

static int map_new(struct emu_heap *heap, uint64_t size, uint64_t *addr)
{
	struct gsb_range was;
	int err = place(heap, size, addr);

	if (err)
		return err;
	if (mprotect(to_pointer(*addr), size, PROT_READ | PROT_WRITE)) {
		gsb_ranges_remove(&heap->device, *addr, &was);
		return -ENOMEM;
	}
	return 0;
}

int emu_heap_alloc(struct emu_heap *heap, uint64_t size, uint64_t *addr)
{
	pthread_mutex_t *lock = &heap->vram->lock;
	uint64_t bytes, at = 0;
	int err;

	if (!size)
		return -EINVAL;
	err = committed_size(size, &bytes);
	if (err)
		return err;
	pthread_mutex_lock(lock);
	err = charge(heap, bytes);
	if (!err) {
		err = map_new(heap, bytes, &at);
		if (!err) {
			gsb_ranges_set_used(&heap->device, at, size);
		} else {
			discharge(heap, bytes);
			uncount(heap);
		}
	}
	pthread_mutex_unlock(lock);
	if (!err)
		*addr = at;
	return err;
}

/* Pages of others in place of its own. */
static int map_opened(struct emu_heap *heap, struct gsb_backing *b, uint64_t *addr)
{
	struct gsb_range was;
	int err = place(heap, b->size, addr);

	if (err)
		return err;
	err = emu_share_open(heap, b, *addr);
	if (err)
		gsb_ranges_remove(&heap->device, *addr, &was);
	return err;
}

int emu_heap_open(struct emu_heap *heap, struct gsb_backing *b, uint64_t *addr)
{
	uint64_t at = 0;
	int err;

	pthread_mutex_lock(&heap->vram->lock);
	err = count(heap);
	if (!err) {
		err = map_opened(heap, b, &at);
		if (err)
			uncount(heap);
	}
	if (!err)
		*addr = at;
	pthread_mutex_unlock(&heap->vram->lock);
	return err;
}

/* The order matters: first nobody can write any more, then the contents go. */
static void close_to_all(const struct gsb_range *r)
{
	mprotect(to_pointer(r->start), r->size, PROT_NONE);
}

static bool scrub(const struct emu_heap *heap, const struct gsb_range *r)
{
	return emu_file_scrub(heap->file, r->start - heap->device.base, r->size);
}

/* It is freed, and nobody touches it. */
static void let_go(struct emu_heap *heap, uint64_t start)
{
	const struct gsb_range r = *gsb_ranges_find(&heap->device, start);
	int err = emu_share_close(heap, &r);
	struct gsb_range was;

	uncount(heap);
	if (err == -ENOENT) {
		close_to_all(&r);
		if (emu_share_outlives(heap, &r))
			return;
		discharge(heap, r.size);
		if (emu_sweep_part(heap->vram, heap->file, start - heap->device.base, r.size,
				   &heap->device, start))
			return;
		err = scrub(heap, &r) ? 0 : -EIO;
	}
	if (!err)
		gsb_ranges_remove(&heap->device, start, &was);
}

/* The range stays in the map, so that it is not given out, until the copies are done. */
static int retire(struct emu_heap *heap, uint64_t start)
{
	size_t capacity = heap->retired_capacity ? heap->retired_capacity * 2 : 16;
	uint64_t *list = heap->retired;

	if (heap->n_retired == heap->retired_capacity) {
		list = realloc(list, capacity * sizeof(*list));
		if (!list)
			return -ENOMEM;
		heap->retired = list;
		heap->retired_capacity = capacity;
	}
	list[heap->n_retired++] = start;
	return 0;
}

static int free_locked(struct emu_heap *heap, uint64_t addr)
{
	const struct gsb_range *r = gsb_ranges_find(&heap->device, addr);

	if (!r || r->start != addr || !r->used)
		return -EINVAL;
	if (heap->n_touching && retire(heap, addr))
		return -ENOMEM;
	emu_freed_add(&heap->freed, r->start, r->used);
	gsb_ranges_set_used(&heap->device, addr, 0);
	if (!heap->n_touching)
		let_go(heap, addr);
	return 0;
}

int emu_heap_free(struct emu_heap *heap, uint64_t addr)
{
	int err;

	pthread_mutex_lock(&heap->vram->lock);
	err = free_locked(heap, addr);
	pthread_mutex_unlock(&heap->vram->lock);
	return err;
}

/* ---- what the device needs itself ---- */

int emu_heap_lend(struct emu_heap *heap, uint64_t *addr)
{
	int err;

	pthread_mutex_lock(&heap->vram->lock);
	err = map_new(heap, PAGE_BYTES, addr);
	pthread_mutex_unlock(&heap->vram->lock);
	return err;
}

void emu_heap_take_back(struct emu_heap *heap, uint64_t addr)
{
	struct gsb_range was;

	pthread_mutex_lock(&heap->vram->lock);
	if (!gsb_ranges_remove(&heap->device, addr, &was)) {
		close_to_all(&was);
		scrub(heap, &was);
	}
	pthread_mutex_unlock(&heap->vram->lock);
}

/* ---- what copies touch ---- */

bool emu_heap_has(const struct emu_heap *heap, uint64_t addr)
{
	const struct gsb_emu_area *area = &heap->vram->backings.area;

	return addr - heap->memory.window.base < heap->memory.window.size ||
	       addr - area->base < area->size;
}

/* In whose space it is: of its owner's, and its own for what is in none. */
static struct emu_heap *home(struct emu_heap *heap, uint64_t addr)
{
	struct emu_heap *other;

	if (addr - heap->memory.device.base < heap->memory.device.size ||
	    addr - heap->memory.window.base >= heap->memory.window.size)
		return heap;
	LIST_FOREACH(other, &heap->vram->heaps, link)
	if (is_same_window(heap, other) &&
	    addr - other->memory.device.base < other->memory.device.size)
		return other;
	return heap;
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

/* Not in the window at all, or in one allocation of a space there; or in backings that are mapped. */
static bool extent_ok(struct emu_heap *heap, uint64_t addr, uint64_t extent, uint32_t access)
{
	uint64_t end, base = heap->memory.window.base, size = heap->memory.window.size;
	const struct gsb_emu_area *area = &heap->vram->backings.area;
	const struct gsb_range *r;

	if (!extent)
		return true;
	if (gsb_add_overflows(addr, extent, &end))
		return false;
	if (end > area->base && addr < area->base + area->size)
		return gsb_emu_is_mapped(&heap->memory, addr, extent, access);
	if (end <= base || addr >= base + size)
		return true;
	heap = home(heap, addr);
	r = gsb_ranges_find(&heap->device, addr);
	return r && gsb_range_ok(addr - r->start, extent, r->size) && r->used;
}

static bool copy_ok(struct emu_heap *heap, const struct gsb_cmd_copy *c)
{
	uint64_t src, dst;

	return rows_extent(c->width, c->height, c->src_pitch, &src) &&
	       rows_extent(c->width, c->height, c->dst_pitch, &dst) &&
	       extent_ok(heap, c->src, src, CU_MEM_ACCESS_FLAGS_PROT_READ) &&
	       extent_ok(heap, c->dst, dst, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static bool fill_ok(struct emu_heap *heap, const struct gsb_cmd_fill *f)
{
	uint64_t width, dst;

	return !gsb_mul_overflows(f->width, f->elem_bytes, &width) &&
	       rows_extent(width, f->height, f->pitch, &dst) &&
	       extent_ok(heap, f->dst, dst, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

bool emu_heap_touch_copy(struct emu_heap *heap, const struct gsb_cmd_copy *copy)
{
	bool ok;

	pthread_mutex_lock(&heap->vram->lock);
	ok = copy_ok(heap, copy);
	home(heap, copy->src)->n_touching += ok;
	home(heap, copy->dst)->n_touching += ok;
	pthread_mutex_unlock(&heap->vram->lock);
	return ok;
}

bool emu_heap_touch_fill(struct emu_heap *heap, const struct gsb_cmd_fill *fill)
{
	bool ok;

	pthread_mutex_lock(&heap->vram->lock);
	ok = fill_ok(heap, fill);
	home(heap, fill->dst)->n_touching += ok;
	pthread_mutex_unlock(&heap->vram->lock);
	return ok;
}

static void touch_end(struct emu_heap *heap)
{
	if (--heap->n_touching)
		return;
	for (size_t i = 0; i < heap->n_retired; i++)
		let_go(heap, heap->retired[i]);
	heap->n_retired = 0;
}

void emu_heap_touch_copy_end(struct emu_heap *heap, const struct gsb_cmd_copy *copy)
{
	pthread_mutex_lock(&heap->vram->lock);
	touch_end(home(heap, copy->src));
	touch_end(home(heap, copy->dst));
	pthread_mutex_unlock(&heap->vram->lock);
}

void emu_heap_touch_fill_end(struct emu_heap *heap, const struct gsb_cmd_fill *fill)
{
	pthread_mutex_lock(&heap->vram->lock);
	touch_end(home(heap, fill->dst));
	pthread_mutex_unlock(&heap->vram->lock);
}

/* ---- pinned host memory: the engine maps it, a kernel may touch all of the window ---- */

int emu_heap_pin(struct emu_heap *heap, uint64_t addr, uint64_t size)
{
	int err;

	pthread_mutex_lock(&heap->vram->lock);
	err = gsb_ranges_add(&heap->host, addr, size);
	pthread_mutex_unlock(&heap->vram->lock);
	return err;
}

int emu_heap_unpin(struct emu_heap *heap, uint64_t addr, uint64_t size)
{
	struct gsb_range was;
	const struct gsb_range *r;
	int err = -EINVAL;

	pthread_mutex_lock(&heap->vram->lock);
	r = gsb_ranges_find(&heap->host, addr);
	if (r && r->start == addr && r->size == size)
		err = gsb_ranges_remove(&heap->host, addr, &was);
	if (!err)
		emu_freed_add(&heap->freed, addr, size);
	pthread_mutex_unlock(&heap->vram->lock);
	return err;
}
