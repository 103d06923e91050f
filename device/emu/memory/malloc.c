/*
 * malloc.c - see malloc.h.
 *
 * The heap is pages. A page is free, or cut into pieces of one size with a bit for each, or the first or
 * another one of a run that is one piece. Pages of pieces that have room are in a list by size, so that
 * the common small allocation looks at one page; a run is searched for from the first free page on.
 */
#include "device/emu/memory/malloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/compiler.h"

#define PAGE GSB_EMU_HEAP_PAGE
#define NONE UINT32_MAX

enum page_kind { FREE, PIECES, RUN, REST };

struct gsb_emu_heap_page {
	uint8_t kind, class;
	uint16_t n_used;	 /* PIECES */
	uint32_t n_pages;	 /* RUN */
	uint32_t next, previous; /* PIECES, in the list of those with room */
	uint64_t used[PAGE / GSB_EMU_HEAP_ALIGN / 64];
};

static const uint16_t sizes[GSB_EMU_HEAP_CLASSES] = {16,  32,  48,  64,	 96,   128,
						     192, 256, 384, 512, 1024, 2048};

void gsb_emu_malloc_init(struct gsb_emu_malloc *h, struct gsb_emu_storage *storage)
{
	*h = (struct gsb_emu_malloc){.storage = storage};
	pthread_mutex_init(&h->lock, NULL);
	for (unsigned int i = 0; i < GSB_EMU_HEAP_CLASSES; i++)
		h->partial[i] = NONE;
}

static size_t table_bytes(uint32_t n_pages)
{
	return n_pages * sizeof(struct gsb_emu_heap_page);
}

void gsb_emu_malloc_finish(struct gsb_emu_malloc *h)
{
	if (h->pages)
		gsb_emu_storage_give(h->storage, table_bytes(h->n_pages));
	free(h->pages);
	pthread_mutex_destroy(&h->lock);
}

static int start(struct gsb_emu_malloc *h, uint64_t base, uint32_t n_pages)
{
	if (h->base)
		return -EEXIST;
	if (!gsb_emu_storage_take(h->storage, table_bytes(n_pages)))
		return -ENOMEM;
	h->pages = calloc(n_pages ? n_pages : 1, sizeof(*h->pages));
	if (!h->pages) {
		gsb_emu_storage_give(h->storage, table_bytes(n_pages));
		return -ENOMEM;
	}
	h->base = base;
	h->n_pages = h->n_free = n_pages;
	return 0;
}

int gsb_emu_malloc_start(struct gsb_emu_malloc *h, uint64_t base, uint64_t size)
{
	int err;

	if (size > GSB_EMU_HEAP_MAX_SIZE)
		return -ENOMEM;
	pthread_mutex_lock(&h->lock);
	err = start(h, base, (uint32_t)(size / PAGE));
	pthread_mutex_unlock(&h->lock);
	return err;
}

/* ---- pages ---- */

static bool run_is_free(const struct gsb_emu_malloc *h, uint32_t at, uint32_t n, uint32_t *next)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_emu_heap_page *p = &h->pages[at + i];

		if (p->kind == FREE)
			continue;
		*next = at + i + (p->kind == RUN ? p->n_pages : 1);
		return false;
	}
	return true;
}

/* The first page at or behind @at whose address is aligned. */
static uint64_t aligned_page(const struct gsb_emu_malloc *h, uint64_t at, uint64_t align)
{
	return (gsb_round_up(h->base + at * PAGE, align) - h->base) / PAGE;
}

/* @n free pages in a row, or NONE. */
static uint32_t find_run(const struct gsb_emu_malloc *h, uint64_t n, uint64_t align)
{
	uint64_t at = aligned_page(h, h->first_free, align);
	uint32_t next;

	if (n > h->n_free)
		return NONE;
	for (; gsb_range_ok(at, n, h->n_pages); at = aligned_page(h, next, align)) {
		if (run_is_free(h, (uint32_t)at, (uint32_t)n, &next))
			return (uint32_t)at;
	}
	return NONE;
}

/* No page before @at is free, as far as is known: the next look begins behind those that are taken. */
static uint32_t take_run(struct gsb_emu_malloc *h, uint64_t n, uint64_t align)
{
	uint32_t at = find_run(h, n, align);

	if (at == NONE)
		return NONE;
	for (uint32_t i = 0; i < n; i++)
		h->pages[at + i] =
			(struct gsb_emu_heap_page){.kind = i ? REST : RUN, .n_pages = (uint32_t)n};
	h->n_free -= (uint32_t)n;
	while (h->first_free < h->n_pages && h->pages[h->first_free].kind != FREE)
		h->first_free++;
	return at;
}

static void give_run(struct gsb_emu_malloc *h, uint32_t at)
{
	uint32_t n = h->pages[at].n_pages;

	for (uint32_t i = 0; i < n; i++)
		h->pages[at + i].kind = FREE;
	h->n_free += n;
	if (at < h->first_free)
		h->first_free = at;
}

/* ---- small pieces ---- */

static void list_add(struct gsb_emu_malloc *h, uint32_t at)
{
	struct gsb_emu_heap_page *p = &h->pages[at];
	uint32_t first = h->partial[p->class];

	p->previous = NONE;
	p->next = first;
	if (first != NONE)
		h->pages[first].previous = at;
	h->partial[p->class] = at;
}

static void list_remove(struct gsb_emu_malloc *h, uint32_t at)
{
	const struct gsb_emu_heap_page *p = &h->pages[at];

	if (p->next != NONE)
		h->pages[p->next].previous = p->previous;
	if (p->previous != NONE)
		h->pages[p->previous].next = p->next;
	else
		h->partial[p->class] = p->next;
}

static uint32_t pieces_of(unsigned int class)
{
	return PAGE / sizes[class];
}

/* In a page with room. */
static uint32_t first_unused(const struct gsb_emu_heap_page *p)
{
	uint32_t word = 0;

	while (p->used[word] == UINT64_MAX)
		word++;
	return word * 64 + (uint32_t)__builtin_ctzll(~p->used[word]);
}

static uint64_t take_piece(struct gsb_emu_malloc *h, unsigned int class)
{
	uint32_t at = h->partial[class], piece;
	struct gsb_emu_heap_page *p;

	if (at == NONE) {
		at = take_run(h, 1, PAGE);
		if (at == NONE)
			return 0;
		h->pages[at] = (struct gsb_emu_heap_page){
			.kind = PIECES, .class = (uint8_t) class, .n_pages = 1};
		list_add(h, at);
	}
	p = &h->pages[at];
	piece = first_unused(p);
	p->used[piece / 64] |= UINT64_C(1) << piece % 64;
	if (++p->n_used == pieces_of(class))
		list_remove(h, at);
	return h->base + (uint64_t)at * PAGE + piece * sizes[class];
}

static int give_piece(struct gsb_emu_malloc *h, uint32_t at, uint32_t offset)
{
	struct gsb_emu_heap_page *p = &h->pages[at];
	uint32_t piece = offset / sizes[p->class];
	uint64_t bit = UINT64_C(1) << piece % 64;

	if (offset % sizes[p->class] || !(p->used[piece / 64] & bit))
		return -EINVAL;
	p->used[piece / 64] &= ~bit;
	if (p->n_used-- == pieces_of(p->class))
		list_add(h, at);
	if (p->n_used)
		return 0;
	list_remove(h, at);
	give_run(h, at);
	return 0;
}

/* ---- allocations ---- */

/* The smallest that holds @size; one that is a power of two is aligned to itself. */
static unsigned int class_of(uint64_t size, uint64_t align)
{
	unsigned int c = 0;

	while (c < GSB_EMU_HEAP_CLASSES && (sizes[c] < size || sizes[c] % align))
		c++;
	return c;
}

static uint64_t take(struct gsb_emu_malloc *h, uint64_t size, uint64_t align)
{
	unsigned int class = class_of(size, align);
	uint32_t at;

	if (class < GSB_EMU_HEAP_CLASSES)
		return take_piece(h, class);
	at = take_run(h, gsb_div_up(size ? size : 1, PAGE), align > PAGE ? align : PAGE);
	return at == NONE ? 0 : h->base + (uint64_t)at * PAGE;
}

uint64_t gsb_emu_malloc(struct gsb_emu_malloc *h, uint64_t size, uint64_t align)
{
	uint64_t addr;

	if (align < GSB_EMU_HEAP_ALIGN)
		align = GSB_EMU_HEAP_ALIGN;
	if (!gsb_is_pow2(align) || align > GSB_EMU_HEAP_MAX_SIZE || size > GSB_EMU_HEAP_MAX_SIZE)
		return 0;
	pthread_mutex_lock(&h->lock);
	addr = take(h, size, align);
	pthread_mutex_unlock(&h->lock);
	return addr;
}

static int give(struct gsb_emu_malloc *h, uint64_t addr)
{
	uint64_t at = (addr - h->base) / PAGE;

	if (addr < h->base || at >= h->n_pages)
		return -EINVAL;
	switch (h->pages[at].kind) {
	case PIECES: return give_piece(h, (uint32_t)at, (uint32_t)((addr - h->base) % PAGE));
	case RUN:
		if ((addr - h->base) % PAGE)
			return -EINVAL;
		give_run(h, (uint32_t)at);
		return 0;
	default: return -EINVAL;
	}
}

int gsb_emu_malloc_free(struct gsb_emu_malloc *h, uint64_t addr)
{
	int err;

	pthread_mutex_lock(&h->lock);
	err = give(h, addr);
	pthread_mutex_unlock(&h->lock);
	return err;
}
