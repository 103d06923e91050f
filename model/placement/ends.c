/*
 * ends.c - see ends.h.
 *
 * Ends of one instant are mostly said one after the other, and then go to the group that got the last one. Where they are not,
 * there may be several groups of one instant: what is taken from the first of them has all of them in it.
 *
 * Several workers say the ends of a few blocks each, one after the other, so the place of the next is mostly beside the one of the last. Where
 * it is not near, the group is put in order when its first is taken.
 */
#include "model/placement/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE   UINT32_MAX
#define N_RUNS 32 /* of 2^i runs each */
#define NEAR   32 /* things */
#define AHEAD  4  /* takes */

struct gsb_end {
	uint64_t order;
	uint32_t group; /* NONE: it is not known */
	uint32_t before, next;
};

struct gsb_end_group {
	uint64_t time;
	uint32_t first, last; /* things */
	uint32_t latest;      /* of them the one that came last, or one beside where that was */
	uint32_t heap_at;     /* a free one: the next that is free */
	bool sorted;
};

/* ---- the heap of groups ---- */

static bool earlier(const struct gsb_ends *e, uint32_t a, uint32_t b)
{
	return e->groups[a].time < e->groups[b].time;
}

static void heap_put(struct gsb_ends *e, uint32_t i, uint32_t group)
{
	e->heap[i] = group;
	e->groups[group].heap_at = i;
}

/* The place i is free, and the group goes there, or nearer to the top. */
static uint32_t heap_rise(struct gsb_ends *e, uint32_t i, uint32_t group)
{
	for (; i && earlier(e, group, e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap_put(e, i, e->heap[(i - 1) / 2]);
	heap_put(e, i, group);
	return i;
}

/* The same, or farther from it. */
static void heap_sink(struct gsb_ends *e, uint32_t i, uint32_t group)
{
	uint32_t child;

	while ((child = 2 * i + 1) < e->n_heap) {
		if (child + 1 < e->n_heap && earlier(e, e->heap[child + 1], e->heap[child]))
			child++;
		if (!earlier(e, e->heap[child], group))
			break;
		heap_put(e, i, e->heap[child]);
		i = child;
	}
	heap_put(e, i, group);
}

/* ---- groups ---- */

static uint32_t group_new(struct gsb_ends *e, uint64_t time)
{
	uint32_t group = e->first_free;
	struct gsb_end_group *g = &e->groups[group];

	e->first_free = g->heap_at;
	*g = (struct gsb_end_group){
		.time = time, .first = NONE, .last = NONE, .latest = NONE, .sorted = true};
	heap_rise(e, e->n_heap++, group);
	return group;
}

static void group_free(struct gsb_ends *e, uint32_t group)
{
	uint32_t at = e->groups[group].heap_at, last = e->heap[--e->n_heap];

	if (last != group)
		heap_sink(e, heap_rise(e, at, last), last);
	e->groups[group].heap_at = e->first_free;
	e->first_free = group;
	if (e->latest == group)
		e->latest = NONE;
}

/* Between which two it stands. */
static void link_up(struct gsb_ends *e, struct gsb_end_group *g, uint32_t thing, uint32_t before,
		    uint32_t next)
{
	e->of[thing].before = before;
	e->of[thing].next = next;
	*(before == NONE ? &g->first : &e->of[before].next) = thing;
	*(next == NONE ? &g->last : &e->of[next].before) = thing;
}

/* Behind which it comes; NONE: before all. Not far from the latest, or behind all, where it may be wrong. */
static uint32_t find_place(const struct gsb_ends *e, struct gsb_end_group *g, uint64_t order)
{
	uint32_t at = g->latest, left = NEAR;

	for (; left && at != NONE && e->of[at].order > order; left--)
		at = e->of[at].before;
	for (; left && at != NONE && at != g->last; left--) {
		uint32_t next = e->of[at].next;

		if (e->of[next].order > order)
			return at;
		at = next;
	}
	if (left)
		return at;
	g->sorted = false;
	return g->last;
}

static void enter(struct gsb_ends *e, uint32_t group, uint32_t thing)
{
	struct gsb_end_group *g = &e->groups[group];
	uint32_t before = find_place(e, g, e->of[thing].order);

	link_up(e, g, thing, before, before == NONE ? g->first : e->of[before].next);
	e->of[thing].group = group;
	g->latest = thing;
	e->n_known++;
}

static void leave(struct gsb_ends *e, uint32_t thing)
{
	const struct gsb_end *end = &e->of[thing];
	uint32_t group = end->group;
	struct gsb_end_group *g = &e->groups[group];

	*(end->before == NONE ? &g->first : &e->of[end->before].next) = end->next;
	*(end->next == NONE ? &g->last : &e->of[end->next].before) = end->before;
	if (g->latest == thing)
		g->latest = end->before == NONE ? end->next : end->before;
	e->of[thing].group = NONE;
	e->n_known--;
	if (g->first == NONE)
		group_free(e, group);
}

void gsb_ends_set(struct gsb_ends *e, uint32_t thing, uint64_t time, uint64_t order)
{
	if (e->of[thing].group != NONE)
		leave(e, thing);
	if (e->latest == NONE || e->groups[e->latest].time != time)
		e->latest = group_new(e, time);
	e->of[thing].order = order;
	enter(e, e->latest, thing);
}

/* ---- order ---- */

/* Of two lists, of which each is in order. */
static uint32_t merge(struct gsb_ends *e, uint32_t a, uint32_t b)
{
	uint32_t first, *at = &first;

	while (a != NONE && b != NONE) {
		uint32_t *less = e->of[a].order < e->of[b].order ? &a : &b;

		*at = *less;
		at = &e->of[*less].next;
		*less = *at;
	}
	*at = a != NONE ? a : b;
	return first;
}

/* Off the list, as far as it is in order. */
static uint32_t take_run(struct gsb_ends *e, uint32_t *list)
{
	uint32_t first = *list, last = first;

	while (e->of[last].next != NONE && e->of[e->of[last].next].order > e->of[last].order)
		last = e->of[last].next;
	*list = e->of[last].next;
	e->of[last].next = NONE;
	return first;
}

static uint32_t sort(struct gsb_ends *e, uint32_t list)
{
	uint32_t runs[N_RUNS], all = NONE, run, i;

	for (i = 0; i < N_RUNS; i++)
		runs[i] = NONE;
	while (list != NONE) {
		run = take_run(e, &list);
		for (i = 0; runs[i] != NONE; i++) {
			run = merge(e, runs[i], run);
			runs[i] = NONE;
		}
		runs[i] = run;
	}
	for (i = 0; i < N_RUNS; i++)
		all = merge(e, all, runs[i]);
	return all;
}

static void sort_group(struct gsb_ends *e, struct gsb_end_group *g)
{
	uint32_t before = NONE;

	g->first = sort(e, g->first);
	for (uint32_t thing = g->first; thing != NONE; thing = e->of[thing].next) {
		e->of[thing].before = before;
		before = thing;
	}
	g->last = before;
	g->sorted = true;
}

/* What is in the second group goes to the first. */
static void unite(struct gsb_ends *e, uint32_t to, uint32_t from)
{
	uint32_t next;

	for (uint32_t thing = e->groups[from].first; thing != NONE; thing = next) {
		next = e->of[thing].next;
		e->n_known--;
		enter(e, to, thing);
	}
	group_free(e, from);
}

/* Of the groups of one instant each stands below another, but for the first. */
static uint32_t first_group(struct gsb_ends *e)
{
	uint32_t top = e->heap[0];

	for (uint32_t i = 1; i < 3 && i < e->n_heap;)
		if (earlier(e, top, e->heap[i]))
			i++;
		else
			unite(e, top, e->heap[i]);
	if (!e->groups[top].sorted)
		sort_group(e, &e->groups[top]);
	return top;
}

bool gsb_ends_next(const struct gsb_ends *e, uint64_t *time)
{
	if (!e->n_heap)
		return false;
	*time = e->groups[e->heap[0]].time;
	return true;
}

/* One has been taken. The last of an instant is looked at until it is. */
static void look_ahead(struct gsb_ends *e, uint32_t taken)
{
	uint32_t at = e->soon == taken ? NONE : e->soon, left = 1;

	if (at == NONE && e->n_heap) {
		at = e->groups[e->heap[0]].first;
		left = AHEAD - 1;
	}
	for (; left && at != NONE && e->of[at].next != NONE; left--)
		at = e->of[at].next;
	e->soon = at;
}

uint32_t gsb_ends_soon(const struct gsb_ends *e)
{
	return e->soon;
}

bool gsb_ends_take(struct gsb_ends *e, uint64_t time, uint32_t *thing)
{
	if (!e->n_heap || e->groups[e->heap[0]].time > time)
		return false;
	*thing = e->groups[first_group(e)].first;
	leave(e, *thing);
	look_ahead(e, *thing);
	return true;
}

/* ---- life ---- */

int gsb_ends_init(struct gsb_ends *e, uint32_t n)
{
	*e = (struct gsb_ends){.n = n, .latest = NONE, .soon = NONE};
	e->of = calloc(n, sizeof(*e->of));
	e->groups = calloc(n, sizeof(*e->groups));
	e->heap = calloc(n, sizeof(*e->heap));
	if (!e->of || !e->groups || !e->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		e->of[i].group = NONE;
		e->groups[i].heap_at = i + 1;
	}
	return 0;
}

void gsb_ends_finish(struct gsb_ends *e)
{
	free(e->of);
	free(e->groups);
	free(e->heap);
	*e = (struct gsb_ends){0};
}

void gsb_ends_copy(struct gsb_ends *to, const struct gsb_ends *from)
{
	memcpy(to->of, from->of, from->n * sizeof(*from->of));
	memcpy(to->groups, from->groups, from->n * sizeof(*from->groups));
	memcpy(to->heap, from->heap, from->n_heap * sizeof(*from->heap));
	to->n_heap = from->n_heap;
	to->n_known = from->n_known;
	to->first_free = from->first_free;
	to->latest = from->latest;
	to->soon = from->soon;
}
