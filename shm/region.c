/*
 * region.c - see region.h.
 */
#include "shm/region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

int gsb_memfd_create(const char *name, uint64_t size, int *fd)
{
	int f = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (f < 0)
		return -errno;
	if (ftruncate(f, (off_t)size) < 0 || fcntl(f, F_ADD_SEALS, SEALS) < 0) {
		err = -errno;
		close(f);
		return err;
	}
	*fd = f;
	return 0;
}

int gsb_memfd_check(int fd, uint64_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPROTO;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != size)
		return -EPROTO;
	return 0;
}

int gsb_memfd_map(int fd, uint64_t size, void **out)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static void fill_header(struct gsb_region_header *h, uint64_t features)
{
	h->magic = GSB_WIRE_MAGIC;
	h->major = GSB_WIRE_MAJOR;
	h->minor = GSB_WIRE_MINOR;
	h->size = sizeof(struct gsb_region);
	h->features = features;
	h->ring_offset = offsetof(struct gsb_region, ring);
	h->ring_bytes = GSB_RING_BYTES;
	h->threads_offset = offsetof(struct gsb_region, threads);
	h->replies_offset = offsetof(struct gsb_region, replies);
	h->streams_offset = offsetof(struct gsb_region, streams);
	h->events_offset = offsetof(struct gsb_region, events);
	h->ctxs_offset = offsetof(struct gsb_region, ctxs);
}

int gsb_region_create(uint64_t features, struct gsb_region **region, int *fd)
{
	void *p = NULL;
	int f = -1, r;

	r = gsb_memfd_create("gsb-region", sizeof(struct gsb_region), &f);
	if (r)
		return r;
	r = gsb_memfd_map(f, sizeof(struct gsb_region), &p);
	if (r) {
		close(f);
		return r;
	}
	*region = p;
	fill_header(&(*region)->header, features);
	*fd = f;
	return 0;
}

static int check_header(const struct gsb_region_header *h)
{
	if (h->magic != GSB_WIRE_MAGIC)
		return -EPROTO;
	if (h->major != GSB_WIRE_MAJOR)
		return -EPROTONOSUPPORT;
	if (h->size != sizeof(struct gsb_region) || h->ring_bytes != GSB_RING_BYTES ||
	    h->ring_offset != offsetof(struct gsb_region, ring))
		return -EPROTO;
	return 0;
}

int gsb_region_attach(int fd, struct gsb_region **region)
{
	struct gsb_region *mapped;
	void *p = NULL;
	int r;

	r = gsb_memfd_check(fd, sizeof(struct gsb_region));
	if (r)
		return r;
	r = gsb_memfd_map(fd, sizeof(struct gsb_region), &p);
	if (r)
		return r;
	mapped = p;
	r = check_header(&mapped->header);
	if (r) {
		munmap(p, sizeof(struct gsb_region));
		return r;
	}
	*region = mapped;
	return 0;
}

static int map_fixed(int fd, uint64_t base, uint64_t size, int prot, int flags)
{
	void *want = (void *)(uintptr_t)base;
	void *p = mmap(want, size, prot, flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (p != want) { /* kernels before 4.17 take the address as a hint */
		munmap(p, size);
		return -EEXIST;
	}
	return 0;
}

int gsb_window_map(int fd, uint64_t base, uint64_t size)
{
	int r = map_fixed(fd, base, size, PROT_READ | PROT_WRITE, MAP_SHARED);

	if (r)
		return r;
	/* A forked child must not reach the engine through its parent's window. */
	madvise((void *)(uintptr_t)base, size, MADV_DONTFORK);
	return 0;
}

int gsb_window_block(uint64_t base, uint64_t size)
{
	return map_fixed(-1, base, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
}

/* Of a mapping that is shared, an old size of 0 leaves what is there. It is not for children either. */
int gsb_window_map_again(uint64_t from, uint64_t base, uint64_t size)
{
	void *p = mremap((void *)(uintptr_t)from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			 (void *)(uintptr_t)base);

	return p == MAP_FAILED ? -errno : 0;
}

int gsb_window_block_again(uint64_t base, uint64_t size)
{
	void *p = mmap((void *)(uintptr_t)base, size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

int gsb_window_page(int fd, uint64_t addr, uint64_t from)
{
	void *p = mmap((void *)(uintptr_t)addr, GSB_WINDOW_PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)from);

	if (p == MAP_FAILED)
		return -errno;
	madvise(p, GSB_WINDOW_PAGE, MADV_DONTFORK);
	return 0;
}

/*
 * To where an anonymous mapping of that size would be, for it lies so that tables of pages are moved as they are. That place is a hint: were it
 * kept until then and the move failed, the kernel might have given it up already, and to another thread. What stays behind has no pages.
 */
void *gsb_window_move(uint64_t base, uint64_t size)
{
	void *to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *p;

	if (to == MAP_FAILED)
		return NULL;
	munmap(to, size);
	p = mremap((void *)(uintptr_t)base, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, to);
	if (p == MAP_FAILED)
		return NULL;
	gsb_window_unmap(base, size);
	return p;
}

void gsb_window_unmap(uint64_t base, uint64_t size)
{
	munmap((void *)(uintptr_t)base, size);
}
