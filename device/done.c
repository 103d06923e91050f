/*
 * done.c - see done.h.
 */
#include "device/done.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64

void gsb_done_finish(struct gsb_done *d)
{
	if (!d)
		return;
	free(d->items);
	*d = (struct gsb_done){0};
}

static int grow(struct gsb_done *d, unsigned capacity)
{
	struct gsb_completion *items = calloc(capacity, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (unsigned i = 0; i < d->n_items; i++)
		items[i] = d->items[(d->head + i) & (d->capacity - 1)];
	free(d->items);
	d->items = items;
	d->head = 0;
	d->capacity = capacity;
	return 0;
}

int gsb_done_reserve(struct gsb_done *d, unsigned n)
{
	unsigned capacity = d->capacity ? d->capacity : CAPACITY_MIN;

	while (capacity - d->n_items < n) {
		if (capacity > (1u << 30))
			return -ENOMEM;
		capacity *= 2;
	}
	return capacity == d->capacity ? 0 : grow(d, capacity);
}

struct gsb_completion *gsb_done_push(struct gsb_done *d)
{
	struct gsb_completion *c = &d->items[(d->head + d->n_items++) & (d->capacity - 1)];

	c->cookie = 0;
	c->result = CUDA_SUCCESS;
	c->start_ns = c->end_ns = 0;
	c->n_blocks = c->n_instructions = c->blocks_ns = 0;
	c->printed = c->refused = false;
	c->detail[0] = '\0';
	return c;
}

/* What is said of an error is most of it, and there hardly ever is one. */
static void copy(struct gsb_completion *to, const struct gsb_completion *from)
{
	memcpy(to, from, offsetof(struct gsb_completion, detail));
	to->detail[0] = '\0';
	if (from->result != CUDA_SUCCESS)
		memcpy(to->detail, from->detail, sizeof(to->detail));
}

unsigned gsb_done_pop(struct gsb_done *d, struct gsb_completion *out, unsigned max)
{
	unsigned n = d->n_items < max ? d->n_items : max;

	for (unsigned i = 0; i < n; i++)
		copy(&out[i], &d->items[(d->head + i) & (d->capacity - 1)]);
	if (n) {
		d->n_items -= n;
		/* Where it was just used it is in the cache still. */
		d->head = d->n_items ? (d->head + n) & (d->capacity - 1) : 0;
	}
	return n;
}
