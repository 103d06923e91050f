/*
 * swap.c - see swap.h.
 */
#include "interpose/cu/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
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
#define LINE_BYTES 512
#define PIECE_BYTES \
	65536ull /* swapped at a time, so that writers wait for little, or little is lost */

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

/* The window's pages once more, at addr, in place of what is there: one step for whoever reads. */
static bool map_mirror(uint64_t addr, uint64_t mirror, uint64_t bytes)
{
	if (mremap(at(mirror), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr)) == MAP_FAILED)
		return false;
	madvise(at(addr), bytes,
		MADV_DOFORK); /* the window's are not for children; the program's are */
	return true;
}

/* What is done to pages, aside if they are those of this thread's own stack. */
struct swap {
	const struct gsb_swapped *p;
	uint64_t done; /* so many bytes of it */
	int err;       /* why not all, errno */
};

/* The part of p that the program has in one place. */
struct back {
	struct gsb_page_view view;
	const uint8_t *bytes; /* where they can be read */
	uint8_t *before;      /* that of p from the part on; NULL */
	bool is_alone;	      /* in the process */
	bool is_done;
};

/* Private pages with the same bytes and the same access in place of them: one step for whoever reads. */
static bool map_private(const struct back *b)
{
	const uint64_t size = b->view.size;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return false;
	copy_pages(copy, b->bytes, size);
	if (b->before)
		memcpy(b->before, copy, size);
	if (!mprotect(copy, size, b->view.access) &&
	    mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at(b->view.addr)) != MAP_FAILED)
		return true;
	munmap(copy, size);
	return false;
}

/* Where nobody can write nobody has to be held. */
static void swap_part_back(void *arg)
{
	struct back *b = arg;
	struct gsb_hold hold;

	if (b->is_alone) {
		b->is_done = map_private(b);
		return;
	}
	gsb_hold_begin(&hold);
	if (b->view.access & PROT_WRITE)
		gsb_hold_writers(&hold, b->view.addr, b->view.size);
	b->is_done = map_private(b);
	gsb_hold_end(&hold);
}

static bool find_part(const struct gsb_swapped *p, const struct gsb_page_view *v, struct back *b)
{
	const uint64_t from = v->at > p->at ? v->at : p->at;
	const uint64_t v_end = v->at + v->size, p_end = p->at + p->size;
	const uint64_t end = v_end < p_end ? v_end : p_end;

	if (from >= end)
		return false;
	b->view = (struct gsb_page_view){v->addr + (from - v->at), end - from, from, v->access};
	b->bytes = at(from);
	b->before = p->before ? p->before + (from - p->at) : NULL;
	return true;
}

bool gsb_swap_stands(const struct gsb_swapped *p, const struct gsb_views *views)
{
	struct back b = {0};
	uint64_t n = 0;

	for (uint32_t i = 0; i < views->n; i++)
		if (find_part(p, &views->all[i], &b) && b.view.addr - b.view.at == p->addr - p->at)
			n += b.view.size;
	return n == p->size;
}

/* What has been swapped is no view the next time: so it may be tried again. */
bool gsb_swap_back(const struct gsb_swapped *p, const struct gsb_views *views)
{
	struct back b = {0};

	for (uint32_t i = 0; i < views->n; i++)
		if (find_part(p, &views->all[i], &b) &&
		    (!gsb_call_aside(b.view.addr, b.view.size, swap_part_back, &b) || !b.is_done))
			return false;
	return true;
}

/* The bytes are where the program has them, and nowhere else. */
bool gsb_swap_private(const struct gsb_swapped *p, const struct gsb_views *views)
{
	struct back b = {.is_alone = true};
	bool all = true;

	for (uint32_t i = 0; i < views->n; i++) {
		if (!find_part(p, &views->all[i], &b))
			continue;
		b.bytes = at(b.view.addr);
		if (!(b.view.access & PROT_READ))
			mprotect(at(b.view.addr), b.view.size, PROT_READ);
		swap_part_back(&b);
		all = all && b.is_done;
	}
	return all;
}

/* What goes to the mirror: all bytes, or those that are not what they were. */
__attribute__((no_sanitize_address)) static void copy_changed(uint8_t *mirror, const uint8_t *now,
							      const uint8_t *before, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (now[i] != before[i])
			mirror[i] = now[i];
}

static bool swap_piece(const struct gsb_hold *hold, const struct gsb_swapped *p, uint64_t from,
		       uint64_t bytes)
{
	uint64_t addr = p->addr + from, mirror = p->at + from;
	bool is_done;

	gsb_hold_writers(hold, addr, bytes);
	if (p->before)
		copy_changed(at(mirror), at(addr), p->before + from, bytes);
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
	for (; s->done < s->p->size; s->done += bytes) {
		bytes = s->p->size - s->done < PIECE_BYTES ? s->p->size - s->done : PIECE_BYTES;
		if (!swap_piece(&hold, s->p, s->done, bytes)) {
			s->err = errno;
			break;
		}
	}
	gsb_hold_end(&hold);
}

static CUresult say_huge(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"cuMemHostRegister of huge pages (MAP_HUGETLB) is not carried: it returns "
			"CUDA_ERROR_NOT_SUPPORTED; register memory of ordinary pages (madvise(MADV_HUGEPAGE) makes "
			"large ones of them), or allocate it with cuMemHostAlloc");
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* They are where they were, a moment ago. */
static bool undo(const struct gsb_swapped *p, uint64_t done)
{
	struct gsb_swapped swapped = *p;
	struct gsb_page_view there = {p->addr, done, p->at, PROT_READ | PROT_WRITE};

	swapped.size = done;
	return gsb_swap_back(&swapped, &(struct gsb_views){&there, 1});
}

/* The kernel takes a huge page away as a whole only. */
CUresult gsb_swap(const struct gsb_swapped *p)
{
	struct swap s = {.p = p};

	if (p->size)
		gsb_call_aside(p->addr, p->size, swap_pieces, &s);
	if (s.done == p->size)
		return CUDA_SUCCESS;
	if (s.done && !undo(p, s.done))
		return CUDA_ERROR_MAP_FAILED;
	return s.err == EINVAL ? say_huge() : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- what may be swapped ---- */

struct region {
	uint64_t begin, end, inode;
	char access[8];
};

/* The name of a file may be longer. */
static bool read_line(FILE *maps, char line[LINE_BYTES])
{
	int c = 0;

	if (!fgets(line, LINE_BYTES, maps))
		return false;
	while (!strchr(line, '\n') && c != '\n' && c != EOF)
		c = getc(maps);
	return true;
}

static bool read_region(FILE *maps, struct region *r)
{
	char line[LINE_BYTES];

	return read_line(maps, line) && sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64,
					       &r->begin, &r->end, r->access, &r->inode) == 4;
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
CUresult gsb_may_swap(uint64_t begin, uint64_t bytes)
{
	uint64_t next = begin, end = begin + bytes;
	FILE *maps = fopen(GSB_MAPS, "re");
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
