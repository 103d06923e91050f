/*
 * done.h - the completions that wait for poll, oldest first. A ring that grows; it never shrinks, so
 * that in a steady state nothing is allocated. Not thread-safe.
 */
#ifndef GSB_DEVICE_DONE_H
#define GSB_DEVICE_DONE_H

#include "device/ops.h"

struct gsb_done {
	struct gsb_completion *items;
	unsigned head, n_items, capacity; /* capacity 0 or a power of two */
};

void gsb_done_finish(struct gsb_done *d); /* takes a zeroed one; zeroed is how it begins */

/* Make room for n more than now, so that as many pushes cannot fail; -ENOMEM. */
int gsb_done_reserve(struct gsb_done *d, unsigned n);

/* Room has been reserved. The item is for the caller to fill, zeroed but for detail[0]. */
struct gsb_completion *gsb_done_push(struct gsb_done *d);

/* The oldest, at most max; returns how many. */
unsigned gsb_done_pop(struct gsb_done *d, struct gsb_completion *out, unsigned max);

#endif
