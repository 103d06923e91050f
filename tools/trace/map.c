/*
 * map.c - see map.h. Open addressing; a removal moves what stands behind it up, so that no mark of it stays.
 */
#include "tools/trace/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 256u

static size_t home_of(const struct gsb_map *m, uint32_t owner, uint64_t key)
{
	uint64_t h = (key ^ (uint64_t)owner << 32 ^ owner) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) & (m->room - 1);
}

/* Where the key stands, or the free entry where it would. room > n. */
static size_t find(const struct gsb_map *m, uint32_t owner, uint64_t key)
{
	size_t i = home_of(m, owner, key);

	while (m->entries[i].index != GSB_MAP_NONE &&
	       (m->entries[i].key != key || m->entries[i].owner != owner))
		i = (i + 1) & (m->room - 1);
	return i;
}

static int grow(struct gsb_map *m)
{
	struct gsb_map bigger = {.room = m->room ? 2 * m->room : FIRST_ROOM, .n = m->n};

	bigger.entries = malloc(bigger.room * sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.room; i++)
		bigger.entries[i].index = GSB_MAP_NONE;
	for (size_t i = 0; i < m->room; i++) {
		const struct gsb_map_entry *e = &m->entries[i];

		if (e->index != GSB_MAP_NONE)
			bigger.entries[find(&bigger, e->owner, e->key)] = *e;
	}
	free(m->entries);
	*m = bigger;
	return 0;
}

void gsb_map_finish(struct gsb_map *m)
{
	free(m->entries);
	*m = (struct gsb_map){0};
}

uint32_t gsb_map_get(const struct gsb_map *m, uint32_t owner, uint64_t key)
{
	return m->room ? m->entries[find(m, owner, key)].index : GSB_MAP_NONE;
}

int gsb_map_put(struct gsb_map *m, uint32_t owner, uint64_t key, uint32_t index)
{
	struct gsb_map_entry *e;

	if (m->n >= m->room / 2 && grow(m))
		return -ENOMEM;
	e = &m->entries[find(m, owner, key)];
	m->n += e->index == GSB_MAP_NONE;
	*e = (struct gsb_map_entry){key, owner, index};
	return 0;
}

void gsb_map_remove(struct gsb_map *m, uint32_t owner, uint64_t key)
{
	size_t hole, i;

	if (gsb_map_get(m, owner, key) == GSB_MAP_NONE)
		return;
	hole = i = find(m, owner, key);
	m->n--;
	for (;;) {
		const struct gsb_map_entry *e;

		m->entries[hole].index = GSB_MAP_NONE;
		do {
			i = (i + 1) & (m->room - 1);
			e = &m->entries[i];
			if (e->index == GSB_MAP_NONE)
				return;
			/* it may move up to the hole only if that is not before its home */
		} while (((i - home_of(m, e->owner, e->key)) & (m->room - 1)) <
			 ((i - hole) & (m->room - 1)));
		m->entries[hole] = *e;
		hole = i;
	}
}
