/*
 * map.h - from a key of two numbers to an index: what finds an operation by its serial, a stream by tenant and index, a
 * kernel by tenant and handle. Keys come from files, so the hash is good enough that nobody meets a long chain by chance;
 * who makes one on purpose slows down his own report.
 */
#ifndef GSB_TOOLS_TRACE_MAP_H
#define GSB_TOOLS_TRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_MAP_NONE UINT32_MAX

struct gsb_map_entry {
	uint64_t key;
	uint32_t owner, index; /* index NONE: nothing here */
};

/* Zeroed is empty. */
struct gsb_map {
	struct gsb_map_entry *entries;
	size_t n, room; /* room: 0 or a power of 2 */
};

void gsb_map_finish(struct gsb_map *m);
/* GSB_MAP_NONE: it is not there. */
uint32_t gsb_map_get(const struct gsb_map *m, uint32_t owner, uint64_t key);
/* What was there under this key is replaced. Return: 0, -ENOMEM. */
int gsb_map_put(struct gsb_map *m, uint32_t owner, uint64_t key, uint32_t index);
void gsb_map_remove(struct gsb_map *m, uint32_t owner, uint64_t key);

#endif
