/*
 * advice.c - see advice.h. The parts are a sorted array without gaps: each ends where the next begins, and differs from it.
 */
#include "interpose/cu/advice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u

struct part {
	uint64_t start;
	CUmemLocation said[GSB_N_ADVICE_KINDS];
};

struct gsb_advice {
	uint64_t end;
	size_t n, room;
	struct part *parts; /* at least one */
};

struct gsb_advice *gsb_advice_create(uint64_t addr, uint64_t bytes)
{
	struct gsb_advice *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->parts = calloc(1, sizeof(*a->parts));
	if (!a->parts) {
		free(a);
		return NULL;
	}
	a->end = addr + bytes;
	a->n = a->room = 1;
	a->parts[0].start = addr;
	return a;
}

void gsb_advice_destroy(struct gsb_advice *a)
{
	if (!a)
		return;
	free(a->parts);
	free(a);
}

/* The part that has the address. */
static size_t find(const struct gsb_advice *a, uint64_t addr)
{
	size_t lo = 0, hi = a->n;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (a->parts[mid].start <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int make_room(struct gsb_advice *a, size_t more)
{
	size_t room = a->room;
	struct part *grown;

	while (room < a->n + more)
		room *= 2;
	if (room == a->room)
		return 0;
	grown = realloc(a->parts, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	a->parts = grown;
	a->room = room;
	return 0;
}

/* A part begins at the address from now on, unless that is the end: its index. There is room. */
static size_t split(struct gsb_advice *a, uint64_t addr)
{
	size_t i;

	if (addr == a->end)
		return a->n;
	i = find(a, addr);
	if (a->parts[i].start == addr)
		return i;
	memmove(&a->parts[i + 1], &a->parts[i], (a->n - i) * sizeof(*a->parts));
	a->n++;
	a->parts[i + 1].start = addr;
	return i + 1;
}

static bool is_same(CUmemLocation a, CUmemLocation b)
{
	return a.type == b.type && a.id == b.id;
}

static bool say_the_same(const struct part *a, const struct part *b)
{
	for (unsigned i = 0; i < GSB_N_ADVICE_KINDS; i++)
		if (!is_same(a->said[i], b->said[i]))
			return false;
	return true;
}

/* Of the parts from first to last, those that say what the one before them says go into that. */
static void merge(struct gsb_advice *a, size_t first, size_t last)
{
	size_t kept = first ? first : 1, i = kept;

	for (; i <= last && i < a->n; i++)
		if (!say_the_same(&a->parts[kept - 1], &a->parts[i]))
			a->parts[kept++] = a->parts[i];
	memmove(&a->parts[kept], &a->parts[i], (a->n - i) * sizeof(*a->parts));
	a->n -= i - kept;
}

int gsb_advice_set(struct gsb_advice *a, uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
		   CUmemLocation where)
{
	uint64_t start = addr - addr % PAGE_BYTES, end = addr + bytes;
	size_t first, last;

	if (end % PAGE_BYTES)
		end += PAGE_BYTES - end % PAGE_BYTES;
	if (start < a->parts[0].start)
		start = a->parts[0].start;
	if (end > a->end)
		end = a->end;
	if (make_room(a, 2))
		return -ENOMEM;
	first = split(a, start);
	last = split(a, end);
	for (size_t i = first; i < last; i++)
		a->parts[i].said[kind] = where;
	merge(a, first, last);
	return 0;
}

CUmemLocation gsb_advice_get(const struct gsb_advice *a, uint64_t addr, uint64_t bytes,
			     enum gsb_advice_kind kind)
{
	const CUmemLocation nothing = {0};
	size_t first;

	if (!a)
		return nothing;
	first = find(a, addr);
	for (size_t i = first + 1; i < a->n && a->parts[i].start < addr + bytes; i++)
		if (!is_same(a->parts[i].said[kind], a->parts[first].said[kind]))
			return nothing;
	return a->parts[first].said[kind];
}
