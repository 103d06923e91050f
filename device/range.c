/*
 * range.c - see range.h.
 */
#include "device/range.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define CAPACITY_MIN 16

void gsb_ranges_init(struct gsb_ranges *r, uint64_t base, uint64_t size)
{
	*r = (struct gsb_ranges){.base = base, .size = size, .next = base};
}

void gsb_ranges_finish(struct gsb_ranges *r)
{
	if (!r)
		return;
	free(r->items);
	*r = (struct gsb_ranges){0};
}

/* Index of the first range that starts above addr. */
static size_t upper_bound(const struct gsb_ranges *r, uint64_t addr)
{
	size_t low = 0, high = r->n_items;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->items[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct gsb_range *gsb_ranges_find(const struct gsb_ranges *r, uint64_t addr)
{
	size_t i = upper_bound(r, addr);

	if (!i || addr - r->items[i - 1].start >= r->items[i - 1].size)
		return NULL;
	return &r->items[i - 1];
}

void gsb_ranges_set_used(struct gsb_ranges *r, uint64_t start, uint64_t used)
{
	size_t i = upper_bound(r, start);

	if (i && r->items[i - 1].start == start)
		r->items[i - 1].used = used;
}

static uint64_t distance(const struct gsb_range *r, uint64_t addr)
{
	if (addr < r->start)
		return r->start - addr;
	return addr - r->start < r->used ? 0 : addr - r->start - r->used + 1;
}

const struct gsb_range *gsb_ranges_nearest(const struct gsb_ranges *r, uint64_t addr)
{
	size_t i = upper_bound(r, addr);

	if (!r->n_items)
		return NULL;
	if (i == r->n_items ||
	    (i && distance(&r->items[i - 1], addr) <= distance(&r->items[i], addr)))
		i--;
	return &r->items[i];
}

static int reserve_item(struct gsb_ranges *r)
{
	size_t capacity = r->capacity ? r->capacity * 2 : CAPACITY_MIN;
	struct gsb_range *items;

	if (r->n_items < r->capacity)
		return 0;
	items = realloc(r->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	r->items = items;
	r->capacity = capacity;
	return 0;
}

static int insert(struct gsb_ranges *r, uint64_t start, uint64_t size)
{
	size_t at = upper_bound(r, start);
	int err = reserve_item(r);

	if (err)
		return err;
	memmove(&r->items[at + 1], &r->items[at], (r->n_items - at) * sizeof(*r->items));
	r->items[at] = (struct gsb_range){start, size, size};
	r->n_items++;
	return 0;
}

/* True when size + guard bytes, aligned, fit into [low, high); *start is where. */
static bool fits(uint64_t low, uint64_t high, uint64_t need, uint64_t align, uint64_t *start)
{
	uint64_t at;

	if (gsb_add_overflows(low, align - 1, &at))
		return false;
	at &= ~(align - 1);
	if (at > high || need > high - at)
		return false;
	*start = at;
	return true;
}

/* The gap behind a range begins at its end: guards are asked for anew each time, so that one guard
 * lies between any two. */
static bool find_gap(const struct gsb_ranges *r, uint64_t need, uint64_t align, uint64_t guard,
		     uint64_t *start)
{
	uint64_t low = r->base;

	for (size_t i = 0; i < r->n_items; i++) {
		if (fits(low, r->items[i].start, need, align, start))
			return true;
		low = r->items[i].start + r->items[i].size;
		if (gsb_add_overflows(low, guard, &low))
			return false;
	}
	return fits(low, r->base + r->size, need, align, start);
}

int gsb_ranges_alloc(struct gsb_ranges *r, uint64_t size, uint64_t align, uint64_t guard,
		     uint64_t *start)
{
	uint64_t need, at;
	int err;

	if (gsb_add_overflows(size, guard, &need))
		return -ENOMEM;
	if (!fits(r->next, r->base + r->size, need, align, &at) &&
	    !find_gap(r, need, align, guard, &at))
		return -ENOMEM;
	err = insert(r, at, size);
	if (err)
		return err;
	if (at + need > r->next)
		r->next = at + need;
	*start = at;
	return 0;
}

int gsb_ranges_add(struct gsb_ranges *r, uint64_t start, uint64_t size)
{
	size_t at;

	if (start < r->base || !size || !gsb_range_ok(start - r->base, size, r->size))
		return -ERANGE;
	at = upper_bound(r, start);
	if (at && start - r->items[at - 1].start < r->items[at - 1].size)
		return -EEXIST;
	if (at < r->n_items && r->items[at].start - start < size)
		return -EEXIST;
	return insert(r, start, size);
}

int gsb_ranges_remove(struct gsb_ranges *r, uint64_t start, struct gsb_range *was)
{
	size_t at = upper_bound(r, start);

	if (!at || r->items[at - 1].start != start)
		return -EINVAL;
	*was = r->items[at - 1];
	memmove(&r->items[at - 1], &r->items[at], (r->n_items - at) * sizeof(*r->items));
	r->n_items--;
	return 0;
}
