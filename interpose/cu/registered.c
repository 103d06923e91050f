/*
 * registered.c - see registered.h.
 */
#include "interpose/cu/registered.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "interpose/core/helper.h"
#include "interpose/cu/aside.h"
#include "interpose/cu/hold.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
#define PIECE_BYTES \
	65536ull /* swapped at a time, so that writers wait for little, or little is lost */

_Atomic uint32_t gsb_n_registered;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
/* Under it. */
static struct gsb_registered *all;
static struct gsb_mirror *mirrors;
static uint32_t n_mirrors;

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* Whole pages are copied, with what AddressSanitizer keeps free between the objects of a stack. */
#ifdef __SANITIZE_ADDRESS__
__attribute__((no_sanitize_address)) static void copy_pages(void *to, const void *from,
							    uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		((volatile uint64_t *)to)[i] = ((const volatile uint64_t *)from)[i];
}
#else
static void copy_pages(void *to, const void *from, uint64_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

/* ---- swapped ---- */

/* The window's pages once more, at addr, in place of what is there: one step for whoever reads. */
static bool map_mirror(uint64_t addr, uint64_t mirror, uint64_t bytes)
{
	if (mremap(at(mirror), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr)) == MAP_FAILED)
		return false;
	madvise(at(addr), bytes,
		MADV_DOFORK); /* the window's are not for children; the program's are */
	return true;
}

/* Private pages with the same bytes, likewise; before, if any, gets them, too. */
static bool map_private(uint64_t addr, uint64_t bytes, uint8_t *before)
{
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return false;
	copy_pages(copy, at(addr), bytes);
	if (before)
		memcpy(before, copy, bytes);
	if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr)) != MAP_FAILED)
		return true;
	munmap(copy, bytes);
	return false;
}

/* What is done to pages, aside if they are those of this thread's own stack. */
struct swap {
	struct gsb_mirror *m;
	uint64_t done; /* so many bytes of it */
};

static void swap_back(void *arg)
{
	struct swap *s = arg;
	struct gsb_hold hold;

	gsb_hold_begin(&hold);
	gsb_hold_writers(&hold, s->m->addr, s->m->size);
	if (map_private(s->m->addr, s->m->size, s->m->before))
		s->done = s->m->size;
	gsb_hold_end(&hold);
}

static bool unmap_mirror(struct gsb_mirror *m)
{
	struct swap s = {.m = m};

	return gsb_call_aside(m->addr, m->size, swap_back, &s) && s.done;
}

/* What goes to the mirror: all bytes, or those that are not what they were. */
__attribute__((no_sanitize_address)) static void copy_changed(uint8_t *mirror, const uint8_t *now,
							      const uint8_t *before, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (now[i] != before[i])
			mirror[i] = now[i];
}

static bool swap_piece(const struct gsb_hold *hold, const struct gsb_mirror *m, uint64_t from,
		       uint64_t bytes)
{
	uint64_t addr = m->addr + from, mirror = m->mirror + from;
	bool is_done;

	gsb_hold_writers(hold, addr, bytes);
	if (m->before)
		copy_changed(at(mirror), at(addr), m->before + from, bytes);
	else
		copy_pages(at(mirror), at(addr), bytes);
	is_done = map_mirror(addr, mirror, bytes);
	gsb_hold_let_go(hold, addr, bytes);
	return is_done;
}

/* All of it is swapped, unless the process may have no more mappings. */
static void swap_pieces(void *arg)
{
	struct swap *s = arg;
	struct gsb_hold hold;
	uint64_t bytes;

	gsb_hold_begin(&hold);
	for (; s->done < s->m->size; s->done += bytes) {
		bytes = s->m->size - s->done < PIECE_BYTES ? s->m->size - s->done : PIECE_BYTES;
		if (!swap_piece(&hold, s->m, s->done, bytes))
			break;
	}
	gsb_hold_end(&hold);
}

static CUresult swap_out(struct gsb_mirror *m)
{
	struct swap s = {.m = m};

	gsb_call_aside(m->addr, m->size, swap_pieces, &s);
	if (s.done == m->size)
		return CUDA_SUCCESS;
	m->size = s.done;
	return !s.done || unmap_mirror(m) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_MAP_FAILED;
}

/* ---- fork ---- */

/*
 * A thread that forks stands on pages of its stack, and parent and child would both call and return on them: these are
 * private until the child is on its own. What the parent writes meanwhile goes to the mirror, where the device may
 * have written, too.
 */
static void leave_stack(void)
{
	pthread_rwlock_wrlock(&lock);
	for (uint32_t i = 0; i < n_mirrors; i++) {
		struct gsb_mirror *m = &mirrors[i];

		if (!gsb_is_underfoot(m->addr, m->size))
			continue;
		m->before = malloc(m->size);
		if (m->before && !unmap_mirror(m)) {
			free(m->before);
			m->before = NULL;
		}
	}
}

static void come_back(void)
{
	for (uint32_t i = 0; i < n_mirrors; i++) {
		struct gsb_mirror *m = &mirrors[i];
		struct swap s = {.m = m};

		if (!m->before)
			continue;
		gsb_call_aside(m->addr, m->size, swap_pieces, &s);
		free(m->before);
		m->before = NULL;
	}
	pthread_rwlock_unlock(&lock);
}

/*
 * A child of fork has copies of its own, as of all its memory: else it would write into its parent's heap. What the
 * parent writes between the fork and this may be seen.
 */
static void leave_parent(void)
{
	for (uint32_t i = 0; i < n_mirrors; i++) { /* it has no other thread */
		if (!mirrors[i].before)
			map_private(mirrors[i].addr, mirrors[i].size, NULL);
		free(mirrors[i].before);
	}
	n_mirrors = 0;
	atomic_store_explicit(&gsb_n_registered, 0, memory_order_relaxed);
	pthread_rwlock_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(leave_stack, come_back, leave_parent);
}

/* ---- what may be swapped ---- */

struct region {
	uint64_t begin, end, inode;
	char access[8];
};

static bool read_region(FILE *maps, struct region *r)
{
	char line[512];

	return fgets(line, sizeof(line), maps) &&
	       sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64, &r->begin, &r->end,
		      r->access, &r->inode) == 4;
}

static CUresult say_kind(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"cuMemHostRegister of shared memory, or of a file's (a program's variables are such) beside "
			"other threads, is not carried: it returns CUDA_ERROR_NOT_SUPPORTED; register memory of "
			"malloc or of a private mmap, or allocate it with cuMemHostAlloc");
	return CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * Private pages of a file, as a program's variables are. The kernel holds nobody who writes to such, and there may be less
 * of the file than is mapped.
 */
static bool may_swap_file(uint64_t begin, uint64_t end)
{
	return gsb_is_only_thread() && !madvise(at(begin), end - begin, MADV_POPULATE_WRITE);
}

/* Of a part that lies in it. */
static CUresult look_at(const struct region *r, uint64_t begin, uint64_t end)
{
	if (r->access[0] != 'r' || r->access[1] != 'w')
		return CUDA_ERROR_INVALID_VALUE;
	if (r->access[3] != 'p' || (r->inode && !may_swap_file(begin, end)))
		return say_kind();
	return CUDA_SUCCESS;
}

/*
 * A stack grows below its lowest page, and no more once that is a mirror: it has one below that from here on. The
 * kernel reads a word there, and waits no time for it to change; if there is nothing, nothing happens.
 */
static void let_grow(uint64_t begin)
{
	static const struct timespec none;

	syscall(SYS_futex, at(begin - 4), FUTEX_WAIT_PRIVATE, 0, &none, NULL, 0);
}

/* Whether every page of it is private memory that can be written. */
static CUresult may_swap(uint64_t begin, uint64_t bytes)
{
	uint64_t next = begin, end = begin + bytes;
	FILE *maps = fopen("/proc/self/maps", "re");
	CUresult result = maps ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
	struct region r;

	while (!result && next < end && read_region(maps, &r)) {
		if (r.end <= next)
			continue;
		result = r.begin > next ? CUDA_ERROR_INVALID_VALUE
					: look_at(&r, next, r.end < end ? r.end : end);
		next = r.end;
	}
	if (maps)
		fclose(maps);
	let_grow(begin);
	return result ? result : next < end ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- lists; under the lock ---- */

static struct gsb_registered *find(uint64_t addr)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (addr - all[i].addr < all[i].size)
			return &all[i];
	return NULL;
}

static bool overlaps(const struct gsb_registered *r)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (r->addr < all[i].addr + all[i].size && all[i].addr < r->addr + r->size)
			return true;
	return false;
}

/* The first one that has a page of it. */
static struct gsb_mirror *find_mirror(uint64_t begin, uint64_t bytes)
{
	for (uint32_t i = 0; i < n_mirrors; i++)
		if (begin < mirrors[i].addr + mirrors[i].size && mirrors[i].addr < begin + bytes)
			return &mirrors[i];
	return NULL;
}

static bool add(const struct gsb_registered *r)
{
	uint32_t n = gsb_n_registered;
	struct gsb_registered *grown = realloc(all, (n + 1) * sizeof(*grown));

	if (!grown)
		return false;
	all = grown;
	all[n] = *r;
	atomic_store_explicit(&gsb_n_registered, n + 1, memory_order_release);
	return true;
}

static CUresult say_part(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"cuMemHostRegister of memory whose first or last page is registered in part already is not "
			"carried: it returns CUDA_ERROR_NOT_SUPPORTED; register both at once, or aligned to "
			"pages");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult join(struct gsb_registered *r)
{
	uint64_t begin = gsb_pages_begin(r), bytes = gsb_pages_bytes(r);
	struct gsb_mirror *m;

	if (overlaps(r))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	m = find_mirror(begin, bytes);
	if (!m) {
		CUresult result = may_swap(begin, bytes);

		return result ? result : CUDA_ERROR_NOT_FOUND;
	}
	if (begin < m->addr || begin + bytes > m->addr + m->size || m->wire != r->wire)
		return say_part();
	r->device = m->mirror + (r->addr - m->addr);
	if (!add(r))
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->n++;
	return CUDA_SUCCESS;
}

CUresult gsb_registered_join(struct gsb_registered *r)
{
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	result = join(r);
	pthread_rwlock_unlock(&lock);
	return result;
}

static CUresult add_mirrored(struct gsb_registered *r, uint64_t mirror)
{
	struct gsb_mirror m = {.addr = gsb_pages_begin(r),
			       .size = gsb_pages_bytes(r),
			       .mirror = mirror,
			       .wire = r->wire,
			       .n = 1};
	struct gsb_mirror *grown = realloc(mirrors, (n_mirrors + 1) * sizeof(*grown));
	CUresult result;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mirrors = grown;
	if (overlaps(r) || find_mirror(m.addr, m.size)) /* another thread was first */
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	r->device = mirror + (r->addr - m.addr);
	if (!add(r))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = swap_out(&m);
	if (result)
		gsb_n_registered--;
	else
		mirrors[n_mirrors++] = m;
	return result;
}

CUresult gsb_registered_add(struct gsb_registered *r, uint64_t mirror)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CUresult result;

	pthread_once(&once, watch_forks);
	pthread_rwlock_wrlock(&lock);
	result = add_mirrored(r, mirror);
	pthread_rwlock_unlock(&lock);
	return result;
}

/* ---- found ---- */

bool gsb_registered_find(uint64_t addr, uint64_t bytes, struct gsb_registered *out)
{
	const struct gsb_registered *r = NULL;

	if (!atomic_load_explicit(&gsb_n_registered, memory_order_acquire))
		return false;
	pthread_rwlock_rdlock(&lock);
	r = find(addr);
	if (r && bytes > r->size - (addr - r->addr))
		r = NULL;
	if (r)
		*out = *r;
	pthread_rwlock_unlock(&lock);
	return r != NULL;
}

bool gsb_registered_find_device(uint64_t device, struct gsb_registered *out)
{
	bool found = false;

	if (!atomic_load_explicit(&gsb_n_registered, memory_order_acquire))
		return false;
	pthread_rwlock_rdlock(&lock);
	for (uint32_t i = 0; !found && i < gsb_n_registered; i++) {
		found = device - all[i].device < all[i].size;
		if (found)
			*out = all[i];
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

CUresult gsb_registered_at(uint64_t addr, struct gsb_registered *out)
{
	const struct gsb_registered *r;
	CUresult result;

	pthread_rwlock_rdlock(&lock);
	r = find(addr);
	result = !r		   ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
		 : r->addr != addr ? CUDA_ERROR_INVALID_VALUE
				   : CUDA_SUCCESS;
	if (!result)
		*out = *r;
	pthread_rwlock_unlock(&lock);
	return result;
}

/* ---- ended ---- */

/* Its pages come back with the last of their registrations; if there is no memory for that, they stay mirrored. */
static CUresult remove_at(struct gsb_registered *r, struct gsb_mirror *gone)
{
	struct gsb_mirror *m = find_mirror(gsb_pages_begin(r), gsb_pages_bytes(r));

	*gone = (struct gsb_mirror){0};
	if (m->n == 1) {
		if (!unmap_mirror(m))
			return CUDA_ERROR_OUT_OF_MEMORY;
		*gone = *m;
		*m = mirrors[--n_mirrors];
	} else {
		m->n--;
	}
	*r = all[gsb_n_registered - 1];
	gsb_n_registered--;
	return CUDA_SUCCESS;
}

CUresult gsb_registered_remove(uint64_t addr, struct gsb_mirror *gone)
{
	struct gsb_registered *r;
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	r = find(addr);
	result = r && r->addr == addr ? remove_at(r, gone) : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	pthread_rwlock_unlock(&lock);
	return result;
}

void gsb_registered_drop(uint64_t wire)
{
	struct gsb_mirror gone;
	uint32_t i = 0;

	pthread_rwlock_wrlock(&lock);
	while (i < gsb_n_registered)
		if (all[i].wire != wire || remove_at(&all[i], &gone))
			i++;
	pthread_rwlock_unlock(&lock);
}
