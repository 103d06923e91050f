/*
 * backing.c - see backing.h.
 */
#include "device/emu/memory/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uthash.h>

#include "base/checked.h"
#include "base/log.h"
#include "device/emu/memory/heap.h"

#define HOLE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* How many mappings an owner has: the kernel allows a process only so many. */
struct emu_mapper {
	uint64_t owner;
	size_t n;
	UT_hash_handle hh;
};

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

void emu_backings_init(struct emu_backings *b, uint64_t base, uint64_t size)
{
	*b = (struct emu_backings){.area = {.base = base, .size = size}, .fd = -1};
	gsb_ranges_init(&b->file, 0, size);
}

static size_t table_bytes(const struct gsb_emu_area *area)
{
	return area->size / GSB_BACKING_UNIT * sizeof(*area->units);
}

void emu_backings_finish(struct emu_backings *b)
{
	if (b->fd < 0)
		return;
	munmap(to_pointer(b->area.base), b->area.size);
	munmap(b->area.units, table_bytes(&b->area));
	close(b->fd);
	gsb_ranges_finish(&b->file);
}

/* ---- the area ---- */

static int reserve(const struct gsb_emu_area *area)
{
	void *want = to_pointer(area->base);
	void *p = mmap(want, area->size, PROT_NONE, HOLE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p != want) { /* a kernel that does not know MAP_FIXED_NOREPLACE */
		munmap(p, area->size);
		return -EEXIST;
	}
	madvise(p, area->size, MADV_DONTDUMP);
	return 0;
}

static int make_table(struct gsb_emu_area *area)
{
	void *p = mmap(NULL, table_bytes(area), PROT_READ | PROT_WRITE, HOLE_FLAGS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	atomic_store_explicit(&area->units, p, memory_order_release);
	return 0;
}

/* A table that costs memory only where something was mapped, and a file likewise. */
static int take_area(struct emu_backings *b)
{
	int err, fd;

	if (b->fd >= 0)
		return 0;
	if (!b->area.size)
		return -ENOTSUP;
	fd = memfd_create("gsb-backings", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)b->area.size))
		goto err_fd;
	err = reserve(&b->area);
	if (err) {
		gsb_log(GSB_LOG_ERROR, "emu", "addresses from %#llx are in use: nothing is mapped",
			(unsigned long long)b->area.base);
		goto err_fd;
	}
	if (make_table(&b->area))
		goto err_table;
	b->fd = fd;
	return 0;
err_table:
	munmap(to_pointer(b->area.base), b->area.size);
err_fd:
	if (fd >= 0)
		close(fd);
	return -ENOMEM;
}

static void mark(struct gsb_backing *b, uint64_t addr, uint32_t word)
{
	const struct gsb_emu_area *area = &b->vram->backings.area;
	_Atomic uint32_t *unit = &area->units[(addr - area->base) / GSB_BACKING_UNIT];

	for (uint64_t i = 0; i < b->size / GSB_BACKING_UNIT; i++)
		atomic_store_explicit(&unit[i], word, memory_order_relaxed);
}

/* ---- backings ---- */

static int take_file(struct emu_vram *vram, struct gsb_backing *b)
{
	int err = take_area(&vram->backings);

	if (err)
		return err;
	if (b->size > vram->total_bytes - vram->used_bytes)
		return -ENOMEM;
	err = gsb_ranges_alloc(&vram->backings.file, b->size, GSB_BACKING_UNIT, 0, &b->at);
	if (!err)
		vram->used_bytes += b->size;
	return err;
}

int emu_backing_make(struct emu_vram *vram, uint64_t owner, uint64_t size, struct gsb_backing **out)
{
	struct gsb_backing *b;
	int err;

	if (!size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct gsb_backing){.vram = vram, .owner = owner, .size = size};
	pthread_mutex_lock(&vram->lock);
	err = take_file(vram, b);
	pthread_mutex_unlock(&vram->lock);
	if (err) {
		free(b);
		return err;
	}
	*out = b;
	return 0;
}

/* Whoever has this part of the file next reads zeroes. */
void emu_backing_destroy(struct gsb_backing *b)
{
	struct emu_vram *vram = b->vram;
	struct gsb_range was;

	pthread_mutex_lock(&vram->lock);
	if (fallocate(vram->backings.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)b->at,
		      (off_t)b->size))
		gsb_log(GSB_LOG_ERROR, "emu",
			"freed memory is not scrubbed, and not used again: %m");
	else
		gsb_ranges_remove(&vram->backings.file, b->at, &was);
	vram->used_bytes -= b->size;
	pthread_mutex_unlock(&vram->lock);
	free(b);
}

/* ---- mappings: vram->lock held ---- */

static struct emu_mapper *find_mapper(struct emu_backings *b, uint64_t owner)
{
	struct emu_mapper *m;

	HASH_FIND(hh, b->mappers, &owner, sizeof(owner), m);
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->owner = owner;
	HASH_ADD(hh, b->mappers, owner, sizeof(m->owner), m);
	return m;
}

static void forget_mapper(struct emu_backings *b, struct emu_mapper *m)
{
	if (m->n)
		return;
	HASH_DELETE(hh, b->mappers, m);
	free(m);
}

/* As of allocations (heap.c): as many as are left, so that there are always some for another. */
static int charge(struct emu_vram *vram, uint64_t owner)
{
	struct emu_mapper *m = find_mapper(&vram->backings, owner);

	if (!m)
		return -ENOMEM;
	if (m->n >= vram->max_allocs - vram->n_allocs) {
		forget_mapper(&vram->backings, m);
		return -ENOMEM;
	}
	m->n++;
	vram->n_allocs++;
	return 0;
}

static void discharge(struct emu_vram *vram, uint64_t owner)
{
	struct emu_mapper *m = find_mapper(&vram->backings, owner);

	m->n--;
	vram->n_allocs--;
	forget_mapper(&vram->backings, m);
}

static int map(struct gsb_backing *b, uint64_t addr)
{
	struct emu_vram *vram = b->vram;
	int err = charge(vram, b->owner);

	if (err)
		return err;
	if (mmap(to_pointer(addr), b->size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
		 vram->backings.fd, (off_t)b->at) == MAP_FAILED) {
		discharge(vram, b->owner);
		return -ENOMEM;
	}
	madvise(to_pointer(addr), b->size, MADV_DONTDUMP);
	mark(b, addr, gsb_emu_unit(b->owner, CU_MEM_ACCESS_FLAGS_PROT_NONE));
	return 0;
}

int emu_backing_map(struct gsb_backing *b, uint64_t addr)
{
	const struct gsb_emu_area *area = &b->vram->backings.area;
	int err;

	if (addr % GSB_BACKING_UNIT || !gsb_range_ok(addr - area->base, b->size, area->size))
		return -EINVAL;
	pthread_mutex_lock(&b->vram->lock);
	err = map(b, addr);
	pthread_mutex_unlock(&b->vram->lock);
	return err;
}

static int protection(CUmemAccess_flags access)
{
	switch (access) {
	case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: return PROT_READ | PROT_WRITE;
	case CU_MEM_ACCESS_FLAGS_PROT_READ: return PROT_READ;
	default: return PROT_NONE;
	}
}

int emu_backing_access(struct gsb_backing *b, uint64_t addr, CUmemAccess_flags access)
{
	int err = 0;

	pthread_mutex_lock(&b->vram->lock);
	if (mprotect(to_pointer(addr), b->size, protection(access)))
		err = -ENOMEM;
	else
		mark(b, addr, gsb_emu_unit(b->owner, access));
	pthread_mutex_unlock(&b->vram->lock);
	return err;
}

void emu_backing_remove(struct gsb_backing *b, uint64_t addr)
{
	pthread_mutex_lock(&b->vram->lock);
	mark(b, addr, 0);
	if (mmap(to_pointer(addr), b->size, PROT_NONE, HOLE_FLAGS | MAP_FIXED, -1, 0) == MAP_FAILED)
		gsb_log(GSB_LOG_ERROR, "emu", "%#llx stays mapped: %m", (unsigned long long)addr);
	madvise(to_pointer(addr), b->size,
		MADV_DONTDUMP); /* like its neighbours: one mapping with them */
	discharge(b->vram, b->owner);
	pthread_mutex_unlock(&b->vram->lock);
}
