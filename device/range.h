/*
 * range.h - which parts of an address window are taken: the allocation map of a space.
 *
 * Pure bookkeeping: numbers, no memory behind them. A sorted array of disjoint ranges; an address
 * is found by binary search. New ranges go behind the newest one while there is room and into the
 * first gap after that, so that an address is used again as late as possible and a stale pointer
 * meets nothing. A guard gap stays free behind each range, so that running off the end of one never
 * reaches the next.
 *
 * Not thread-safe; its owner locks.
 */
#ifndef GSB_DEVICE_RANGE_H
#define GSB_DEVICE_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct gsb_range {
	uint64_t start, size; /* bytes; size as asked for, not rounded; > 0 */
	uint64_t used; /* its first bytes that mean something to its owner; all, unless told */
};

struct gsb_ranges {
	uint64_t base, size; /* the window; base + size does not overflow */
	struct gsb_range *items;
	size_t n_items, capacity;
	uint64_t next; /* end of the newest range with its guard */
};

void gsb_ranges_init(struct gsb_ranges *r, uint64_t base, uint64_t size);
void gsb_ranges_finish(struct gsb_ranges *r); /* takes a zeroed one too */

/**
 * gsb_ranges_alloc() - take a free part of the window
 * @size:  bytes, > 0
 * @align: of the start, a power of two
 * @guard: bytes behind it that stay free
 *
 * Context: O(n) for the insertion.
 * Return:  0, -ENOMEM (no gap is large enough, or no memory for the map).
 */
int gsb_ranges_alloc(struct gsb_ranges *r, uint64_t size, uint64_t align, uint64_t guard,
		     uint64_t *start);

/* Take exactly this part. -ERANGE: not inside the window. -EEXIST: overlaps a taken one. */
int gsb_ranges_add(struct gsb_ranges *r, uint64_t start, uint64_t size);

/* Give back the range that begins at start; -EINVAL when none does. *was: what it was. */
int gsb_ranges_remove(struct gsb_ranges *r, uint64_t start, struct gsb_range *was);

/* Of the range that begins at start only the first bytes are used. */
void gsb_ranges_set_used(struct gsb_ranges *r, uint64_t start, uint64_t used);

/* The range whose used bytes hold addr or are the nearest to it; NULL when there is no range. O(log n). */
const struct gsb_range *gsb_ranges_nearest(const struct gsb_ranges *r, uint64_t addr);

/* The range that holds addr, NULL when none does. O(log n). Valid until the next change. */
const struct gsb_range *gsb_ranges_find(const struct gsb_ranges *r, uint64_t addr);

#endif
