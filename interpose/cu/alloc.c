/*
 * alloc.c - see alloc.h. A sorted array: lookups are a binary search, and an insertion moves at most a few
 * kilobytes in programs that keep a few hundred allocations.
 */
#include "interpose/cu/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/core/process.h"
#include "interpose/cu/pool.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
/* Under lock. */
static struct gsb_alloc *allocs;
static size_t n_allocs, room;
static uint64_t last_id;
static _Atomic uint64_t n_removals; /* written under it */
static _Atomic bool any_far;	    /* likewise: a variable was outside the device window */

/* Index of the first allocation that begins above addr. */
static size_t upper_bound(uint64_t addr)
{
	size_t lo = 0, hi = n_allocs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (allocs[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct gsb_alloc *find(uint64_t addr)
{
	size_t i = upper_bound(addr);

	return i && addr - allocs[i - 1].addr < allocs[i - 1].size ? &allocs[i - 1] : NULL;
}

static bool grow(void)
{
	size_t more = room ? room * 2 : 64;
	struct gsb_alloc *grown = realloc(allocs, more * sizeof(*grown));

	if (!grown)
		return false;
	allocs = grown;
	room = more;
	return true;
}

static void insert(const struct gsb_alloc *a)
{
	size_t i = upper_bound(a->addr);

	memmove(&allocs[i + 1], &allocs[i], (n_allocs - i) * sizeof(*allocs));
	allocs[i] = *a;
	n_allocs++;
}

CUresult gsb_alloc_add(struct gsb_alloc *a)
{
	CUresult result = CUDA_SUCCESS;

	pthread_rwlock_wrlock(&lock);
	if (n_allocs == room && !grow())
		result = CUDA_ERROR_OUT_OF_MEMORY;
	else if (!find(a->addr)) {
		a->id = ++last_id;
		insert(a);
		if (a->kind == GSB_ALLOC_GLOBAL && !gsb_in_device_window(a->addr))
			any_far = true;
	}
	pthread_rwlock_unlock(&lock);
	return result;
}

bool gsb_alloc_find(uint64_t addr, struct gsb_alloc *out)
{
	const struct gsb_alloc *a;

	pthread_rwlock_rdlock(&lock);
	a = find(addr);
	if (a)
		*out = *a;
	pthread_rwlock_unlock(&lock);
	return a != NULL;
}

bool gsb_alloc_is_far_variable(uint64_t addr)
{
	struct gsb_alloc a;

	return atomic_load_explicit(&any_far, memory_order_acquire) && gsb_alloc_find(addr, &a) &&
	       a.kind == GSB_ALLOC_GLOBAL;
}

bool gsb_alloc_holds(uint64_t addr, uint64_t bytes)
{
	struct gsb_alloc a;

	return !bytes || (gsb_alloc_find(addr, &a) && bytes <= a.size - (addr - a.addr));
}

static struct gsb_alloc *find_managed(uint64_t addr, uint64_t bytes)
{
	struct gsb_alloc *a = bytes ? find(addr) : NULL;

	return a && a->kind == GSB_ALLOC_MANAGED && bytes <= a->size - (addr - a->addr) ? a : NULL;
}

bool gsb_alloc_find_managed(uint64_t addr, uint64_t bytes, struct gsb_alloc *out)
{
	const struct gsb_alloc *a;

	pthread_rwlock_rdlock(&lock);
	a = find_managed(addr, bytes);
	if (a)
		*out = *a;
	pthread_rwlock_unlock(&lock);
	return a != NULL;
}

static CUresult advise(uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
		       CUmemLocation where)
{
	struct gsb_alloc *a = find_managed(addr, bytes);

	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	if (!a->advice)
		a->advice = gsb_advice_create(a->addr, a->size);
	return a->advice && !gsb_advice_set(a->advice, addr, bytes, kind, where)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gsb_alloc_advise(uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
			  CUmemLocation where)
{
	CUresult result;

	pthread_rwlock_wrlock(&lock);
	result = advise(addr, bytes, kind, where);
	pthread_rwlock_unlock(&lock);
	return result;
}

CUresult gsb_alloc_advice(uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
			  CUmemLocation *where)
{
	const struct gsb_alloc *a;

	pthread_rwlock_rdlock(&lock);
	a = find_managed(addr, bytes);
	if (a)
		*where = gsb_advice_get(a->advice, addr, bytes, kind);
	pthread_rwlock_unlock(&lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void release(struct gsb_alloc *a)
{
	gsb_cu_pool_give(a->pool, a->size);
	gsb_advice_destroy(a->advice);
}

static void remove_at(size_t i)
{
	release(&allocs[i]);
	n_removals++;
	n_allocs--;
	memmove(&allocs[i], &allocs[i + 1], (n_allocs - i) * sizeof(*allocs));
}

void gsb_alloc_note_removal(void)
{
	pthread_rwlock_wrlock(&lock);
	n_removals++;
	pthread_rwlock_unlock(&lock);
}

uint64_t gsb_alloc_n_removals(void)
{
	return atomic_load_explicit(&n_removals, memory_order_acquire);
}

CUresult gsb_alloc_remove(uint64_t addr, enum gsb_alloc_kind kind, uint64_t wire,
			  struct gsb_alloc *out)
{
	const struct gsb_alloc *a;
	bool ok;

	pthread_rwlock_wrlock(&lock);
	a = find(addr);
	ok = a && a->addr == addr && a->kind == kind && !a->module && (!wire || a->wire == wire);
	if (ok) {
		*out = *a;
		remove_at((size_t)(a - allocs));
	}
	pthread_rwlock_unlock(&lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool gsb_alloc_export(uint64_t addr, uint64_t pool, struct gsb_alloc *out)
{
	struct gsb_alloc *a;
	bool ok;

	pthread_rwlock_wrlock(&lock);
	a = find(addr);
	ok = a && a->kind == GSB_ALLOC_DEVICE && a->pool == pool && !a->export_id;
	if (ok) {
		a->may_keep = false;
		a->is_shared = true;
		*out = *a;
	}
	pthread_rwlock_unlock(&lock);
	return ok;
}

bool gsb_alloc_reopen(const struct gsb_alloc *a, uint64_t wire, CUdeviceptr *addr)
{
	struct gsb_alloc *found = NULL;

	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < n_allocs && !found; i++)
		if (allocs[i].export_id == a->export_id && allocs[i].wire == wire &&
		    allocs[i].kind == a->kind && allocs[i].pool == a->pool)
			found = &allocs[i];
	if (found) {
		found->n_opened++;
		*addr = found->addr;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

CUresult gsb_alloc_close(uint64_t addr, struct gsb_alloc *out, bool *last)
{
	struct gsb_alloc *a;
	bool ok;

	pthread_rwlock_wrlock(&lock);
	a = find(addr);
	ok = a && a->addr == addr && a->kind == GSB_ALLOC_OPENED;
	*last = ok && !a->n_opened;
	if (*last) {
		*out = *a;
		remove_at((size_t)(a - allocs));
	} else if (ok) {
		a->n_opened--;
	}
	pthread_rwlock_unlock(&lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void gsb_allocs_drop(uint64_t owner)
{
	size_t kept = 0;

	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < n_allocs; i++) {
		if (allocs[i].wire != owner && allocs[i].module != owner)
			allocs[kept++] = allocs[i];
		else
			release(&allocs[i]);
	}
	n_removals += n_allocs != kept;
	n_allocs = kept;
	pthread_rwlock_unlock(&lock);
}
