/*
 * ready.c - see ready.h. The ready heads are a window of an array that has room for twice as many as there can be:
 * they leave mostly at its front, so that it wanders, and is set back when it has gone further than it is long.
 */
#include "broker/engine/work/ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/wire.h"

#define N_HEADS (GSB_N_SLOTS * GSB_N_STREAMS)

int gsb_ready_init(struct gsb_ready *r, bool by_time)
{
	/* Pages appear when they are touched. */
	*r = (struct gsb_ready){
		.by_time = by_time,
		.window = calloc(2 * (size_t)N_HEADS, sizeof(struct gsb_work *)),
		.heads = calloc(N_HEADS, sizeof(struct gsb_head)),
	};
	if (r->window && r->heads)
		return 0;
	gsb_ready_finish(r);
	return -ENOMEM;
}

void gsb_ready_finish(struct gsb_ready *r)
{
	free(r->window);
	free(r->heads);
	*r = (struct gsb_ready){0};
}

/* ---- heads ---- */

struct gsb_head *gsb_head_create(struct gsb_ready *r, struct gsb_item *item)
{
	struct gsb_head *h = r->unused;

	if (h)
		r->unused = h->next;
	else
		h = &r->heads[r->n_heads++];
	h->item = item;
	h->cut.form = GSB_SHAPE_AS_ASKED;
	h->number = r->next_number++;
	return h;
}

void gsb_head_destroy(struct gsb_ready *r, struct gsb_head *h)
{
	h->item = NULL;
	h->next = r->unused;
	r->unused = h;
}

/* ---- their order ---- */

static bool is_before(const struct gsb_ready *r, const struct gsb_work *a, const struct gsb_work *b)
{
	if (!r->by_time)
		return gsb_head_of(a)->number < gsb_head_of(b)->number;
	if (a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns;
	if (a->tenant != b->tenant)
		return a->tenant < b->tenant;
	return a->stream < b->stream;
}

/* Where w stands, or would stand. */
static unsigned find(const struct gsb_ready *r, const struct gsb_work *w)
{
	const struct gsb_work *const *works = gsb_ready_works(r);
	unsigned low = 0, high = r->n;

	if (!is_before(r, works[0], w))
		return 0;
	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (is_before(r, works[mid], w))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static GSB_NOINLINE void insert(struct gsb_ready *r, struct gsb_head *h)
{
	unsigned at = find(r, &h->work);
	const struct gsb_work **p = r->window + r->first + at;

	memmove(p + 1, p, (r->n - at) * sizeof(*p));
	*p = &h->work;
	r->n++;
}

void gsb_ready_add(struct gsb_ready *r, struct gsb_head *h)
{
	const struct gsb_work **end = r->window + r->first + r->n;

	if (r->n && !is_before(r, end[-1], &h->work)) {
		insert(r, h);
		return;
	}
	*end = &h->work;
	r->n++;
}

void gsb_ready_sort(struct gsb_ready *r)
{
	unsigned n = r->n;

	for (r->n = 0; r->n < n;) /* each goes among those before it */
		gsb_ready_add(r, gsb_head_of(gsb_ready_works(r)[r->n]));
}

static void set_back(struct gsb_ready *r)
{
	memmove(r->window, r->window + r->first, r->n * sizeof(*r->window));
	r->first = 0;
}

static GSB_NOINLINE void cut_out(struct gsb_ready *r, const struct gsb_head *h)
{
	unsigned at = find(r, &h->work);
	const struct gsb_work **p = r->window + r->first;

	if (at < r->n / 2) {
		memmove(p + 1, p, at * sizeof(*p));
		r->first++;
	} else {
		memmove(p + at, p + at + 1, (r->n - at - 1) * sizeof(*p));
	}
	r->n--;
}

void gsb_ready_remove(struct gsb_ready *r, const struct gsb_head *h)
{
	if (gsb_likely(r->window[r->first] == &h->work)) {
		r->first++;
		r->n--;
	} else {
		cut_out(r, h);
	}
	if (!r->n)
		r->first = 0;
	else if (r->first > r->n)
		set_back(r);
}
