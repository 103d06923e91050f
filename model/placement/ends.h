/*
 * ends.h - which of n things ends next, where many of them end in one instant.
 *
 * Blocks that do the same in the same company end together, a thousand at a time, and whoever takes them off their SMs
 * has all others wait. So things are kept in groups, one an instant, and a heap of these: an end costs a few steps
 * where it is shared, and O(log n) where it is not. A group is put in order when its first is taken.
 */
#ifndef GSB_MODEL_PLACEMENT_ENDS_H
#define GSB_MODEL_PLACEMENT_ENDS_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_end;
struct gsb_end_group;

struct gsb_ends {
	struct gsb_end *of;	      /* by thing */
	struct gsb_end_group *groups; /* n, of which n_heap are in use */
	uint32_t *heap;		      /* of them, by time */
	uint32_t n, n_heap, n_known, first_free;
	uint32_t latest; /* the group that got the last end */
	uint32_t soon;	 /* gsb_ends_soon(): any thing, or none */
};

/* No end is known. 0, -ENOMEM: finish it all the same. n >= 1. */
int gsb_ends_init(struct gsb_ends *e, uint32_t n);
void gsb_ends_finish(struct gsb_ends *e); /* zeroed is fine */
/* @to: of as many things */
void gsb_ends_copy(struct gsb_ends *to, const struct gsb_ends *from);

/* It ends at that time, whatever was said before. @order: among those of one instant; no two have the same */
void gsb_ends_set(struct gsb_ends *e, uint32_t thing, uint64_t time, uint64_t order);

/* The earliest; false when no end is known. */
bool gsb_ends_next(const struct gsb_ends *e, uint64_t *time);

/* Take the next that ends at or before that time; false when there is none. Its end is not known any more. */
bool gsb_ends_take(struct gsb_ends *e, uint64_t time, uint32_t *thing);

/* Whose turn most likely is a few takes away, so that it can be had in the cache by then; UINT32_MAX: not known. */
uint32_t gsb_ends_soon(const struct gsb_ends *e);

#endif
