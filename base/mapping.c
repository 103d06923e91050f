/*
 * mapping.c - see mapping.h. A sorted array: programs map upwards, so that most additions are at its end.
 */
#include "base/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define ROOM_MIN 64

void gsb_mappings_finish(struct gsb_mappings *m)
{
	free(m->items);
	*m = (struct gsb_mappings){0};
}

/* Index of the first that begins above addr. */
static size_t upper_bound(const struct gsb_mappings *m, uint64_t addr)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->items[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct gsb_mapping *gsb_mappings_find(const struct gsb_mappings *m, uint64_t addr)
{
	size_t i = upper_bound(m, addr);

	return i && addr - m->items[i - 1].addr < m->items[i - 1].size ? &m->items[i - 1] : NULL;
}

bool gsb_mappings_any(const struct gsb_mappings *m, uint64_t addr, uint64_t size)
{
	size_t i = upper_bound(m, addr);

	return gsb_mappings_find(m, addr) || (i < m->n && m->items[i].addr - addr < size);
}

int gsb_mappings_add(struct gsb_mappings *m, const struct gsb_mapping *new)
{
	size_t at = upper_bound(m, new->addr);

	if (gsb_mappings_any(m, new->addr, new->size))
		return -EEXIST;
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : ROOM_MIN;
		struct gsb_mapping *items = realloc(m->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		m->items = items;
		m->room = room;
	}
	memmove(&m->items[at + 1], &m->items[at], (m->n - at) * sizeof(*m->items));
	m->items[at] = *new;
	m->n++;
	return 0;
}

int gsb_mappings_within(const struct gsb_mappings *m, uint64_t addr, uint64_t size,
			struct gsb_mapping_run *out)
{
	const struct gsb_mapping *held = gsb_mappings_find(m, addr);
	size_t begin = held ? (size_t)(held - m->items) : upper_bound(m, addr), end = begin;

	if (held && held->addr != addr)
		return -EINVAL;
	for (; end < m->n && m->items[end].addr - addr < size; end++)
		if (!gsb_range_ok(m->items[end].addr - addr, m->items[end].size, size))
			return -EINVAL;
	*out = (struct gsb_mapping_run){m->items + begin, end - begin};
	return 0;
}

int gsb_mappings_run(const struct gsb_mappings *m, uint64_t addr, uint64_t size,
		     struct gsb_mapping_run *out)
{
	struct gsb_mapping_run run;
	uint64_t bytes = 0;

	if (!size || gsb_mappings_within(m, addr, size, &run))
		return -EINVAL;
	for (size_t i = 0; i < run.n; i++)
		bytes += run.first[i].size;
	if (bytes != size)
		return -EINVAL;
	*out = run;
	return 0;
}

void gsb_mappings_remove(struct gsb_mappings *m, const struct gsb_mapping_run *run)
{
	size_t at = (size_t)(run->first - m->items);

	m->n -= run->n;
	memmove(run->first, run->first + run->n, (m->n - at) * sizeof(*m->items));
}

bool gsb_mappings_allow(const struct gsb_mappings *m, uint64_t addr, uint64_t size, unsigned access)
{
	const struct gsb_mapping *it = gsb_mappings_find(m, addr);
	const struct gsb_mapping *end = m->items + m->n;

	while (it && it != end && addr - it->addr < it->size && (it->access & access) == access) {
		uint64_t here = it->size - (addr - it->addr);

		if (size <= here)
			return true;
		addr += here;
		size -= here;
		it++;
	}
	return false;
}

void gsb_mappings_begin_change(const struct gsb_mapping_run *run, unsigned access)
{
	for (size_t i = 0; i < run->n; i++) {
		struct gsb_mapping *m = &run->first[i];

		m->busy = true;
		m->had = m->access;
		m->access &= (uint8_t)access;
	}
}

void gsb_mappings_end_change(const struct gsb_mapping_run *run, unsigned access, bool failed)
{
	for (size_t i = 0; i < run->n; i++) {
		struct gsb_mapping *m = &run->first[i];

		m->busy = false;
		m->access = failed ? m->had : (uint8_t)access;
	}
}
