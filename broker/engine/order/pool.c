/*
 * pool.c - see pool.h. The buddy of a block is the block at its offset with the bit of its size
 * flipped; the order map says whether a free block of the same size begins there.
 *
 * Most blocks are of few sizes and live shortly: so what is freed is kept as it is for the next one of its size, a few of each,
 * and joins its neighbours only when there are more, or when the pool would otherwise have to grow.
 */
#include "broker/engine/order/pool.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/compiler.h"

#define ORDER_FREE 0x80u /* in the order map: this block is on a free list */

struct gsb_pool_block {
	struct gsb_pool_block *prev, *next;
};

static size_t order_bytes(unsigned order)
{
	return (size_t)GSB_POOL_UNIT << order;
}

static unsigned order_of(size_t size)
{
	size_t units = (size + GSB_POOL_UNIT - 1) / GSB_POOL_UNIT;

	return units > 1 ? 64 - (unsigned)__builtin_clzll(units - 1) : 0;
}

static size_t offset_of(const struct gsb_pool *p, const void *block)
{
	return (size_t)((const uint8_t *)block - p->base);
}

static uint8_t *order_at(struct gsb_pool *p, size_t offset)
{
	return &p->orders[offset / GSB_POOL_UNIT];
}

static void *map_pages(size_t size)
{
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

int gsb_pool_init(struct gsb_pool *p, size_t size)
{
	*p = (struct gsb_pool){.size = gsb_round_up(size, GSB_POOL_MAX)};
	p->base = map_pages(p->size);
	if (!p->base)
		return -ENOMEM;
	p->orders = map_pages(p->size / GSB_POOL_UNIT);
	if (p->orders)
		return 0;
	gsb_pool_finish(p);
	return -ENOMEM;
}

void gsb_pool_finish(struct gsb_pool *p)
{
	if (p->base)
		munmap(p->base, p->size);
	if (p->orders)
		munmap(p->orders, p->size / GSB_POOL_UNIT);
	*p = (struct gsb_pool){0};
}

static void list_add(struct gsb_pool *p, size_t offset, unsigned order)
{
	struct gsb_pool_block *b = (struct gsb_pool_block *)(p->base + offset);

	b->prev = NULL;
	b->next = p->free[order];
	if (b->next)
		b->next->prev = b;
	p->free[order] = b;
	*order_at(p, offset) = (uint8_t)(order | ORDER_FREE);
}

static void list_remove(struct gsb_pool *p, struct gsb_pool_block *b, unsigned order)
{
	if (b->next)
		b->next->prev = b->prev;
	*(b->prev ? &b->prev->next : &p->free[order]) = b->next;
}

static void join(struct gsb_pool *p, size_t offset, unsigned order)
{
	while (order < GSB_POOL_N_ORDERS - 1) {
		size_t buddy = offset ^ order_bytes(order);

		if (*order_at(p, buddy) != (order | ORDER_FREE))
			break;
		list_remove(p, (struct gsb_pool_block *)(p->base + buddy), order);
		*order_at(p, offset > buddy ? offset : buddy) = 0;
		offset &= ~order_bytes(order);
		order++;
	}
	list_add(p, offset, order);
}

/* ---- what is kept ---- */

static struct gsb_pool_block *take_kept(struct gsb_pool *p, unsigned order)
{
	struct gsb_pool_block *b = p->kept[order];

	p->kept[order] = b->next;
	p->n_kept[order]--;
	return b;
}

/* False: there are none. */
static bool join_kept(struct gsb_pool *p)
{
	bool any = false;

	for (unsigned order = 0; order < GSB_POOL_N_ORDERS; order++)
		for (; p->n_kept[order]; any = true)
			join(p, offset_of(p, take_kept(p, order)), order);
	return any;
}

/* ---- blocks ---- */

/* A free block of at least this order, off its list; *order becomes its own. NULL: there is none. */
static struct gsb_pool_block *take_free(struct gsb_pool *p, unsigned *order)
{
	for (unsigned i = *order; i < GSB_POOL_N_ORDERS; i++) {
		struct gsb_pool_block *b = p->free[i];

		if (!b)
			continue;
		list_remove(p, b, i);
		*order = i;
		return b;
	}
	return NULL;
}

static struct gsb_pool_block *take_fresh(struct gsb_pool *p, unsigned *order)
{
	if (p->fresh == p->size)
		return NULL;
	*order = GSB_POOL_N_ORDERS - 1;
	p->fresh += GSB_POOL_MAX;
	return (struct gsb_pool_block *)(p->base + p->fresh - GSB_POOL_MAX);
}

static struct gsb_pool_block *take_any(struct gsb_pool *p, unsigned *order)
{
	struct gsb_pool_block *b = take_free(p, order);

	if (!b && join_kept(p))
		b = take_free(p, order);
	return b ? b : take_fresh(p, order);
}

/* A block of this order, off a larger one. */
static GSB_NOINLINE struct gsb_pool_block *split(struct gsb_pool *p, unsigned want)
{
	unsigned order = want;
	struct gsb_pool_block *b = take_any(p, &order);
	size_t offset;

	if (!b)
		return NULL;
	offset = offset_of(p, b);
	while (order > want) {
		order--;
		list_add(p, offset + order_bytes(order), order);
	}
	*order_at(p, offset) = (uint8_t)want;
	return b;
}

void *gsb_pool_alloc(struct gsb_pool *p, size_t size)
{
	unsigned order = order_of(size);
	struct gsb_pool_block *b;

	if (size > GSB_POOL_MAX)
		return NULL;
	b = gsb_likely(p->n_kept[order]) ? take_kept(p, order) : split(p, order);
	if (b)
		p->used_bytes += order_bytes(order);
	return b;
}

void gsb_pool_free(struct gsb_pool *p, void *block)
{
	struct gsb_pool_block *b = block;
	unsigned order;

	if (!b)
		return;
	order = *order_at(p, offset_of(p, b));
	p->used_bytes -= order_bytes(order);
	if (gsb_unlikely(p->n_kept[order] == GSB_POOL_N_KEPT)) {
		join(p, offset_of(p, b), order);
		return;
	}
	b->next = p->kept[order];
	p->kept[order] = b;
	p->n_kept[order]++;
}
