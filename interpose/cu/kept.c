/*
 * kept.c - see kept.h.
 */
#include "interpose/cu/kept.h"

#include "base/checked.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/stream.h"
#include "shm/region.h"

#define HOST_MINOR \
	6 /* of the engine, from which on it keeps pinned memory: an older one would cut us off for it */

struct block {
	uint64_t addr, size; /* size 0: nothing is kept here */
	uint64_t wire;	     /* of its context */
	uint64_t number;     /* its word, while we have it */
	bool is_host;	     /* pinned memory; else the device's */
};

/* Under the ring's lock, as all here. */
static struct block blocks[GSB_N_KEPT];
static uint32_t n_used; /* none was ever used from here on */
static uint64_t bytes, last_number;
static _Atomic uint32_t n_kept; /* read without it, to know whether it is worth taking */

static _Atomic uint64_t *word_of(const struct block *b)
{
	return &gsb_proc.region->kept[b - blocks];
}

/* As the engine counts it. */
static uint64_t counted(uint64_t size, bool is_host)
{
	return is_host ? gsb_round_up(size, GSB_WINDOW_PAGE) : size;
}

static void forget(struct block *b)
{
	bytes -= counted(b->size, b->is_host);
	b->size = 0;
	atomic_fetch_sub_explicit(&n_kept, 1, memory_order_relaxed);
}

/* Whether there is something, which the engine has not taken back. */
static bool has(struct block *b)
{
	if (!b->size)
		return false;
	if (!(atomic_load_explicit(word_of(b), memory_order_acquire) & GSB_KEPT_GONE))
		return true;
	atomic_store_explicit(word_of(b), 0, memory_order_relaxed);
	forget(b);
	return false;
}

/* The first. All are looked at: what is gone behind it must not count any more. */
static struct block *find_free(void)
{
	struct block *first = NULL;

	for (uint32_t i = n_used; i-- > 0;)
		if (!has(&blocks[i]))
			first = &blocks[i];
	if (!first && n_used < GSB_N_KEPT)
		first = &blocks[n_used++];
	return first;
}

static void fill(struct gsb_post *p, const struct block *b)
{
	*(struct gsb_rec_mem_keep *)p->body = (struct gsb_rec_mem_keep){
		.ctx = b->wire,
		.addr = b->addr,
		.number = b->number,
		.index = (uint32_t)(b - blocks),
	};
}

/* ---- keep ---- */

static bool keep(const struct gsb_alloc *a, struct gsb_post *p)
{
	struct block *b = gsb_cu_streams_are_idle() ? find_free() : NULL;
	const bool is_host = a->kind == GSB_ALLOC_HOST;

	if (!b || bytes + counted(a->size, is_host) > GSB_KEPT_BYTES_MAX)
		return false;
	*b = (struct block){.addr = a->addr,
			    .size = a->size,
			    .wire = a->wire,
			    .number = last_number += 2 * GSB_KEPT_GONE,
			    .is_host = is_host};
	bytes += counted(a->size, is_host);
	atomic_fetch_add_explicit(&n_kept, 1, memory_order_relaxed);
	atomic_store_explicit(word_of(b), b->number, memory_order_relaxed);
	fill(p, b);
	return true;
}

static bool may_keep(const struct gsb_alloc *a)
{
	return gsb_proc.may_keep && a->may_keep &&
	       (a->kind != GSB_ALLOC_HOST || gsb_proc.region->header.minor >= HOST_MINOR);
}

bool gsb_cu_kept_keep(const struct gsb_alloc *a)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(a->wire);
	struct gsb_post p;

	if (!may_keep(a) || a->size > GSB_KEPT_SIZE_MAX ||
	    gsb_post_begin_if(&p, GSB_REC_MEM_KEEP, &guard, sizeof(struct gsb_rec_mem_keep)))
		return false;
	if (!keep(a, &p)) {
		gsb_post_cancel();
		return false;
	}
	gsb_post_end(&p);
	return true;
}

/* ---- take ---- */

/* The engine may take it back until the word says otherwise. */
static struct block *find(uint64_t wire, uint64_t size, bool is_host)
{
	for (uint32_t i = 0; i < n_used; i++) {
		struct block *b = &blocks[i];
		uint64_t expected = b->number;

		if (b->size == size && b->wire == wire && b->is_host == is_host && has(b) &&
		    atomic_compare_exchange_strong(word_of(b), &expected, 0))
			return b;
	}
	return NULL;
}

static bool take(struct gsb_alloc *a, struct gsb_post *p)
{
	struct block *b = find(a->wire, a->size, a->kind == GSB_ALLOC_HOST);

	if (!b)
		return false;
	fill(p, b);
	a->addr = b->addr;
	forget(b);
	return true;
}

bool gsb_cu_kept_take(struct gsb_alloc *a)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(a->wire);
	struct gsb_post p;

	if (!atomic_load_explicit(&n_kept, memory_order_relaxed) || a->size > GSB_KEPT_SIZE_MAX ||
	    gsb_post_begin_if(&p, GSB_REC_MEM_TAKE, &guard, sizeof(struct gsb_rec_mem_keep)))
		return false;
	if (!take(a, &p)) {
		gsb_post_cancel();
		return false;
	}
	gsb_post_end(&p);
	return true;
}
