/*
 * registered.c - see registered.h.
 */
#include "interpose/cu/registered.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cancel.h"
#include "base/log.h"
#include "interpose/cu/aside.h"
#include "interpose/cu/swap.h"

#define PAGE_BYTES 4096ull
#define N_RUNS	   3 /* of a registration at most: its first page, its last one, and those between */

/* Pages that are of the same registrations. */
struct run {
	struct gsb_swapped pages;
	uint64_t mirror; /* that they are part of */
	uint64_t wire;
	uint32_t n; /* registrations that have them */
};

_Atomic uint32_t gsb_n_registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER; /* or it will not be */
/* Under it. */
static struct gsb_registered *all;
static struct run *runs;
static uint32_t n_runs;

/* The kernel is asked for much with it, and others are waited for. Return: for end_change() */
static int begin_change(void)
{
	int was = gsb_cancel_hold();

	pthread_mutex_lock(&lock);
	return was;
}

static void end_change(int was)
{
	pthread_mutex_unlock(&lock);
	gsb_cancel_let_go(was);
}

/* ---- where the pages are; under the lock ---- */

/* Where nobody can tell they are taken to be where they were, but for those that a fork has taken away. */
static bool assume(struct gsb_views *views)
{
	views->all = calloc(n_runs, sizeof(*views->all));
	if (!views->all)
		return false;
	for (uint32_t i = 0; i < n_runs; i++) {
		const struct gsb_swapped *p = &runs[i].pages;

		if (!p->before)
			views->all[views->n++] = (struct gsb_page_view){p->addr, p->size, p->at,
									PROT_READ | PROT_WRITE};
	}
	return true;
}

/* False: there is no memory for it. */
static bool look(struct gsb_views *views)
{
	*views = (struct gsb_views){0};
	return !n_runs || gsb_views_read(views) || assume(views);
}

/* ---- fork ---- */

static bool is_one_underfoot(void)
{
	for (uint32_t i = 0; i < n_runs; i++)
		if (gsb_is_underfoot(runs[i].pages.addr, runs[i].pages.size))
			return true;
	return false;
}

static void leave_run_of_stack(struct gsb_swapped *p, const struct gsb_views *views)
{
	if (!gsb_is_underfoot(p->addr, p->size) || !gsb_swap_stands(p, views))
		return;
	p->before = malloc(p->size);
	if (p->before && !gsb_swap_back(p, views)) {
		free(p->before);
		p->before = NULL;
	}
}

/*
 * A thread that forks stands on pages of its stack, and parent and child would both call and return on them: these are
 * private until the child is on its own. What the parent writes meanwhile goes to the mirror, where the device may
 * have written, too.
 */
static void leave_stack(void)
{
	struct gsb_views views;

	pthread_mutex_lock(&lock);
	if (!is_one_underfoot() || !look(&views))
		return;
	for (uint32_t i = 0; i < n_runs; i++)
		leave_run_of_stack(&runs[i].pages, &views);
	gsb_views_finish(&views);
}

static void come_back(void)
{
	for (uint32_t i = 0; i < n_runs; i++) {
		struct gsb_swapped *p = &runs[i].pages;

		if (!p->before)
			continue;
		gsb_swap(p);
		free(p->before);
		p->before = NULL;
	}
	pthread_mutex_unlock(&lock);
}

/*
 * A child of fork has copies of its own, as of all its memory: else it would write into its parent's heap. What the
 * parent writes between the fork and this may be seen.
 */
static void leave_parent(void)
{
	struct gsb_views views;
	bool is_known = look(&views);

	for (uint32_t i = 0; i < n_runs; i++) { /* it has no other thread */
		if (is_known)
			gsb_swap_private(&runs[i].pages, &views);
		free(runs[i].pages.before);
	}
	gsb_views_finish(&views);
	n_runs = 0;
	atomic_store_explicit(&gsb_n_registered, 0, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(leave_stack, come_back, leave_parent);
}

/* ---- lists; under the lock ---- */

static uint64_t pages_begin(const struct gsb_registered *r)
{
	return r->addr & ~(PAGE_BYTES - 1);
}

static uint64_t pages_end(const struct gsb_registered *r)
{
	return (r->addr + r->size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static uint64_t mirror_of(const struct gsb_registered *r)
{
	return r->device & ~(PAGE_BYTES - 1);
}

static struct gsb_registered *find(uint64_t addr)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (addr - all[i].addr < all[i].size)
			return &all[i];
	return NULL;
}

static struct gsb_registered *find_made(uint64_t addr)
{
	struct gsb_registered *r = find(addr);

	return r && r->device ? r : NULL;
}

static bool overlaps(const struct gsb_registered *r)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (r->addr < all[i].addr + all[i].size && all[i].addr < r->addr + r->size)
			return true;
	return false;
}

/* Somebody is registering one of its pages just now: then nobody knows yet where that will lie. */
static bool is_being_made(uint64_t begin, uint64_t end)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (!all[i].device && begin < pages_end(&all[i]) && pages_begin(&all[i]) < end)
			return true;
	return false;
}

/* What the window has of a page. */
static struct run *find_run(uint64_t page)
{
	for (uint32_t i = 0; i < n_runs; i++)
		if (page - runs[i].pages.addr < runs[i].pages.size)
			return &runs[i];
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
	all[n].device = 0;
	atomic_store_explicit(&gsb_n_registered, n + 1, memory_order_release);
	return true;
}

static void drop(struct gsb_registered *r)
{
	*r = all[gsb_n_registered - 1];
	gsb_n_registered--;
	pthread_cond_broadcast(&made);
}

/* ---- made ---- */

static CUresult say_context(void)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"cuMemHostRegister of memory whose first or last page another context has registered in part is not "
			"carried: it returns CUDA_ERROR_NOT_SUPPORTED; register both in one context, or aligned to "
			"pages");
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* Of the pages of a registration the first and the last may be others', too. */
struct ends {
	struct run *first,
		*last;	     /* that are mirrored; NULL: not yet. The same, if there is one page */
	uint64_t begin, end; /* the rest */
};

static struct ends find_ends(const struct gsb_registered *r)
{
	struct ends e = {.begin = pages_begin(r), .end = pages_end(r)};

	e.first = find_run(e.begin);
	e.last = find_run(e.end - PAGE_BYTES);
	if (e.first)
		e.begin += PAGE_BYTES;
	if (e.last && e.end > e.begin)
		e.end -= PAGE_BYTES;
	return e;
}

static uint64_t where(const struct run *r, uint64_t page)
{
	return r ? r->pages.at + (page - r->pages.addr) : 0;
}

static CUresult begin(const struct gsb_registered *r, uint64_t shared[2])
{
	const struct ends e = find_ends(r);
	CUresult result = e.end > e.begin ? gsb_may_swap(e.begin, e.end - e.begin) : CUDA_SUCCESS;

	if (!result &&
	    ((e.first && e.first->wire != r->wire) || (e.last && e.last->wire != r->wire)))
		result = say_context();
	if (!result && !add(r))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result)
		return result;
	shared[0] = where(e.first, pages_begin(r));
	shared[1] = e.last != e.first ? where(e.last, pages_end(r) - PAGE_BYTES) : 0;
	if (e.first)
		e.first->n++;
	if (shared[1])
		e.last->n++;
	return CUDA_SUCCESS;
}

CUresult gsb_registered_begin(const struct gsb_registered *r, uint64_t shared[2])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CUresult result;
	int was;

	pthread_once(&once, watch_forks);
	was = begin_change();
	while (!overlaps(r) && is_being_made(pages_begin(r), pages_end(r)))
		pthread_cond_wait(&made, &lock);
	result = overlaps(r) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : begin(r, shared);
	end_change(was);
	return result;
}

static void add_run(const struct gsb_registered *r, uint64_t mirror, uint64_t begin, uint64_t end)
{
	if (begin < end)
		runs[n_runs++] = (struct run){
			.pages = {begin, end - begin, mirror + (begin - pages_begin(r)), NULL},
			.mirror = mirror,
			.wire = r->wire,
			.n = 1};
}

/* The first page and the last are runs of their own: somebody may come to have one of them, too. */
static void add_runs(const struct gsb_registered *r, const struct ends *e, uint64_t mirror)
{
	const uint64_t second = pages_begin(r) + PAGE_BYTES, last = pages_end(r) - PAGE_BYTES;

	add_run(r, mirror, e->begin, e->end < second ? e->end : second);
	add_run(r, mirror, e->begin > second ? e->begin : second, e->end < last ? e->end : last);
	add_run(r, mirror, last > second ? last : second, e->end);
}

/* Nobody else comes to the pages of r while it is being made, so its ends are as they were. */
static CUresult add_mirrored(struct gsb_registered *r, uint64_t mirror)
{
	struct run *grown = realloc(runs, (n_runs + N_RUNS) * sizeof(*grown));
	struct gsb_swapped rest;
	struct ends e;
	CUresult result;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	runs = grown;
	e = find_ends(r);
	rest = (struct gsb_swapped){e.begin, e.end - e.begin, mirror + (e.begin - pages_begin(r)),
				    NULL};
	result = gsb_swap(&rest);
	if (result)
		return result;
	add_runs(r, &e, mirror);
	r->device = mirror + (r->addr - pages_begin(r));
	pthread_cond_broadcast(&made);
	return CUDA_SUCCESS;
}

CUresult gsb_registered_add(const struct gsb_registered *r, uint64_t mirror)
{
	int was = begin_change();
	CUresult result = add_mirrored(find(r->addr), mirror);

	end_change(was);
	return result;
}

/* ---- found ---- */

bool gsb_registered_find(uint64_t addr, uint64_t bytes, struct gsb_registered *out)
{
	const struct gsb_registered *r = NULL;

	if (!atomic_load_explicit(&gsb_n_registered, memory_order_acquire))
		return false;
	pthread_mutex_lock(&lock);
	r = find_made(addr);
	if (r && bytes > r->size - (addr - r->addr))
		r = NULL;
	if (r)
		*out = *r;
	pthread_mutex_unlock(&lock);
	return r != NULL;
}

bool gsb_registered_find_device(uint64_t device, struct gsb_registered *out)
{
	bool found = false;

	if (!atomic_load_explicit(&gsb_n_registered, memory_order_acquire))
		return false;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; !found && i < gsb_n_registered; i++) {
		found = all[i].device && device - all[i].device < all[i].size;
		if (found)
			*out = all[i];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

CUresult gsb_registered_at(uint64_t addr, struct gsb_registered *out)
{
	const struct gsb_registered *r;
	CUresult result;

	pthread_mutex_lock(&lock);
	r = find_made(addr);
	result = !r		   ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
		 : r->addr != addr ? CUDA_ERROR_INVALID_VALUE
				   : CUDA_SUCCESS;
	if (!result)
		*out = *r;
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- ended ---- */

/* If there is no memory for pages to come back they stay where they are, and so does their mirror. */
static void leave_run(uint64_t page, const struct gsb_views *views)
{
	struct run *run = find_run(page);

	if (run && !--run->n && gsb_swap_back(&run->pages, views))
		*run = runs[--n_runs];
}

static bool is_needed(uint64_t mirror)
{
	for (uint32_t i = 0; i < gsb_n_registered; i++)
		if (all[i].device && mirror_of(&all[i]) == mirror)
			return true;
	for (uint32_t i = 0; i < n_runs; i++)
		if (runs[i].mirror == mirror)
			return true;
	return false;
}

static unsigned drop_unneeded(uint64_t mirrors[GSB_MIRRORS_GONE])
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_MIRRORS_GONE; i++) {
		const uint64_t mirror = mirrors[i];
		bool is_gone = mirror && !is_needed(mirror);

		for (unsigned k = 0; k < n; k++)
			is_gone &= mirrors[k] != mirror;
		if (is_gone)
			mirrors[n++] = mirror;
	}
	return n;
}

static uint64_t mirror_at(uint64_t page)
{
	const struct run *run = find_run(page);

	return run ? run->mirror : 0;
}

/* What lies between its ends is its alone. */
static bool take_back_inner(const struct gsb_registered *r, const struct gsb_views *views)
{
	struct run *run = NULL;

	if (r->device && pages_end(r) - pages_begin(r) > 2 * PAGE_BYTES)
		run = find_run(pages_begin(r) + PAGE_BYTES);
	if (!run)
		return true;
	if (!gsb_swap_back(&run->pages, views))
		return false;
	*run = runs[--n_runs];
	return true;
}

static CUresult remove_at(struct gsb_registered *r, const struct gsb_views *views,
			  uint64_t gone[GSB_MIRRORS_GONE], unsigned *n)
{
	const uint64_t first = pages_begin(r), last = pages_end(r) - PAGE_BYTES;

	*n = 0;
	if (!take_back_inner(r, views))
		return CUDA_ERROR_OUT_OF_MEMORY;
	gone[0] = mirror_of(r);
	gone[1] = mirror_at(first);
	gone[2] = mirror_at(last);
	leave_run(first, views);
	if (last != first)
		leave_run(last, views);
	drop(r);
	*n = drop_unneeded(gone);
	return CUDA_SUCCESS;
}

CUresult gsb_registered_remove(uint64_t addr, uint64_t gone[GSB_MIRRORS_GONE], unsigned *n)
{
	struct gsb_views views = {0};
	struct gsb_registered *r;
	CUresult result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	int was = begin_change();

	*n = 0;
	r = find(addr);
	if (r && r->addr == addr)
		result = look(&views) ? remove_at(r, &views, gone, n) : CUDA_ERROR_OUT_OF_MEMORY;
	gsb_views_finish(&views);
	end_change(was);
	return result;
}

/* Who is registering still finds out that the context has gone. */
void gsb_registered_drop(uint64_t wire)
{
	uint64_t gone[GSB_MIRRORS_GONE];
	struct gsb_views views;
	uint32_t i = 0;
	unsigned n;
	int was = begin_change();

	if (!look(&views))
		i = gsb_n_registered;
	while (i < gsb_n_registered)
		if (all[i].wire != wire || !all[i].device || remove_at(&all[i], &views, gone, &n))
			i++;
	gsb_views_finish(&views);
	end_change(was);
}
