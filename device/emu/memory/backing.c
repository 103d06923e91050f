/*
 * backing.c - see backing.h.
 */
#include "device/emu/memory/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "base/checked.h"
#include "base/log.h"
#include "device/emu/memory/heap.h"
#include "device/host_file.h"

#define PAGE_BYTES 4096ull
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
	*b = (struct emu_backings){.area = {.base = base, .size = size}};
	gsb_ranges_init(&b->taken, 0, size);
}

static size_t table_bytes(const struct gsb_emu_area *area)
{
	return area->size / GSB_BACKING_UNIT * sizeof(*area->units);
}

void emu_backings_finish(struct emu_backings *b)
{
	if (!b->file)
		return;
	munmap(to_pointer(b->area.base), b->area.size);
	munmap(b->area.units, table_bytes(&b->area));
	emu_file_put(b->file);
	gsb_ranges_finish(&b->taken);
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
	struct emu_file *file;
	int err;

	if (b->file)
		return 0;
	if (!b->area.size)
		return -ENOTSUP;
	if (emu_file_create("emu-backings", b->area.size, &file))
		return -ENOMEM;
	err = reserve(&b->area);
	if (err) {
		gsb_log(GSB_LOG_ERROR, "emu", "addresses from %#llx are in use: nothing is mapped",
			(unsigned long long)b->area.base);
		goto err_file;
	}
	if (make_table(&b->area))
		goto err_table;
	b->file = file;
	return 0;
err_table:
	munmap(to_pointer(b->area.base), b->area.size);
err_file:
	emu_file_put(file);
	return -ENOMEM;
}

static void mark(const struct gsb_backing *b, uint64_t addr, uint32_t word)
{
	const struct gsb_emu_area *area = &b->vram->backings.area;
	_Atomic uint32_t *unit = &area->units[(addr - area->base) / GSB_BACKING_UNIT];

	for (uint64_t i = 0; i < b->size / GSB_BACKING_UNIT; i++)
		atomic_store_explicit(&unit[i], word, memory_order_relaxed);
}

/* ---- backings ---- */

static void give_back(struct gsb_backing *b)
{
	struct emu_backings *all = &b->vram->backings;
	struct gsb_range was;

	b->vram->used_bytes -= b->size;
	if (!emu_sweep_part(b->vram, b->file, b->at, b->size, &all->taken, b->at) &&
	    emu_file_scrub(b->file, b->at, b->size))
		gsb_ranges_remove(&all->taken, b->at, &was);
}

static int take_part(struct gsb_backing *b)
{
	struct emu_vram *vram = b->vram;
	int err = take_area(&vram->backings);

	if (err)
		return err;
	if (b->size > vram->total_bytes - vram->used_bytes)
		return -ENOMEM;
	vram->used_bytes += b->size;
	do
		err = gsb_ranges_alloc(&vram->backings.taken, b->size, GSB_BACKING_UNIT, 0, &b->at);
	while (err && emu_sweep_wait(vram, &vram->backings.taken));
	if (err) {
		vram->used_bytes -= b->size;
		return err;
	}
	b->file = vram->backings.file;
	emu_file_get(b->file);
	return 0;
}

int emu_backing_make(struct emu_vram *vram, uint64_t size, struct gsb_backing **out)
{
	struct gsb_backing *b;
	int err;

	if (!size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct gsb_backing){.vram = vram, .size = size, .n_users = 1, .end = give_back};
	pthread_mutex_lock(&vram->lock);
	err = take_part(b);
	pthread_mutex_unlock(&vram->lock);
	if (err) {
		free(b);
		return err;
	}
	*out = b;
	return 0;
}

void emu_backing_put(struct gsb_backing *b)
{
	if (--b->n_users)
		return;
	if (b->end)
		b->end(b);
	emu_file_put(b->file);
	free(b);
}

void emu_backing_destroy(struct gsb_backing *b)
{
	struct emu_vram *vram = b->vram;

	pthread_mutex_lock(&vram->lock);
	emu_backing_put(b);
	pthread_mutex_unlock(&vram->lock);
}

/* ---- for other processes ---- */

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -ENOMEM : copy;
}

int emu_backing_export(struct gsb_backing *b, int *fd, uint64_t *at)
{
	int copy = duplicate(b->file->fd);

	if (copy < 0)
		return copy;
	*fd = copy;
	*at = b->at;
	return 0;
}

/* What is behind the end of a file would be fatal to touch. */
static bool has(int fd, uint64_t at, uint64_t size)
{
	struct stat st;

	return size && !((at | size) % PAGE_BYTES) && !fstat(fd, &st) &&
	       gsb_range_ok(at, size, (uint64_t)st.st_size);
}

/* Consumes the file, also if it fails. */
static int wrap(struct emu_vram *vram, struct emu_file *file, uint64_t at, uint64_t size,
		struct gsb_backing **out)
{
	struct gsb_backing *b = malloc(sizeof(*b));

	if (!b) {
		emu_file_put(file);
		return -ENOMEM;
	}
	*b = (struct gsb_backing){.vram = vram, .file = file, .at = at, .size = size, .n_users = 1};
	*out = b;
	return 0;
}

int emu_backing_adopt(struct emu_vram *vram, int fd, uint64_t at, uint64_t size,
		      struct gsb_backing **out)
{
	struct emu_file *file;
	int copy, err;

	if (!has(fd, at, size))
		return -EINVAL;
	copy = duplicate(fd);
	if (copy < 0)
		return copy;
	err = emu_file_adopt(copy, &file);
	return err ? err : wrap(vram, file, at, size, out);
}

int emu_backing_adopt_of_host(struct emu_vram *vram, uint64_t owner, int fd, uint64_t at,
			      uint64_t size, struct gsb_backing **out)
{
	struct gsb_host_file *host;
	struct emu_file *file;
	int err;

	if (!has(fd, at, size))
		return -EINVAL;
	pthread_mutex_lock(&vram->lock);
	err = gsb_host_file_get(&vram->backings.host_files, owner, fd, &host);
	if (!err)
		err = emu_file_of_host(host, &file);
	if (!err)
		err = wrap(vram, file, at, size, out);
	pthread_mutex_unlock(&vram->lock);
	return err;
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

static int map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct emu_vram *vram = b->vram;
	int err = take_area(&vram->backings);

	if (!err)
		err = charge(vram, owner);
	if (err)
		return err;
	err = emu_file_map(b->file, b->at, b->size, addr, PROT_NONE);
	if (err)
		discharge(vram, owner);
	else
		mark(b, addr, gsb_emu_unit(owner, CU_MEM_ACCESS_FLAGS_PROT_NONE));
	return err;
}

int emu_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	const struct gsb_emu_area *area = &b->vram->backings.area;
	int err;

	if ((addr | b->size) % GSB_BACKING_UNIT ||
	    !gsb_range_ok(addr - area->base, b->size, area->size))
		return -EINVAL;
	pthread_mutex_lock(&b->vram->lock);
	err = map(b, owner, addr);
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

int emu_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
		       CUmemAccess_flags access)
{
	int err = 0;

	pthread_mutex_lock(&b->vram->lock);
	if (mprotect(to_pointer(addr), b->size, protection(access)))
		err = -ENOMEM;
	else
		mark(b, addr, gsb_emu_unit(owner, access));
	pthread_mutex_unlock(&b->vram->lock);
	return err;
}

void emu_backing_remove(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	pthread_mutex_lock(&b->vram->lock);
	mark(b, addr, 0);
	if (mmap(to_pointer(addr), b->size, PROT_NONE, HOLE_FLAGS | MAP_FIXED, -1, 0) == MAP_FAILED)
		gsb_log(GSB_LOG_ERROR, "emu", "%#llx stays mapped: %m", (unsigned long long)addr);
	madvise(to_pointer(addr), b->size, MADV_DONTDUMP);
	discharge(b->vram, owner);
	pthread_mutex_unlock(&b->vram->lock);
}
