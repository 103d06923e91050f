/*
 * alias.h - pages that lie in a tenant's window of pinned memory twice. Two blocks of its heap share a page, and both are registered: the device
 * wants all pages of each one behind the other, so the second has an alias of that page at its begin or end.
 *
 * Threads make them that may wait (pinner.h), and when the memory has gone the numbers have their own pages again (puncher.h) before anybody
 * else has them.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_ALIAS_H
#define GSB_BROKER_ENGINE_MEMORY_ALIAS_H

#include <stdint.h>

#include "device/ops.h"
#include "device/range.h"

/* A tenant's, as its threads see it. */
struct gsb_host_window {
	struct gsb_device *dev;
	uint64_t owner;
	uint64_t base; /* the address of its file's first byte */
	int fd;
};

/*
 * The first page of [addr, addr + size) is the one whose own place is of[0], and the last page that of of[1]; 0: it is its own. Any thread, but the
 * engine's only where the device has no host_page. -errno: one of them may be.
 */
int gsb_alias_make(const struct gsb_host_window *w, uint64_t addr, uint64_t size,
		   const uint64_t of[2]);
int gsb_alias_note(struct gsb_ranges *aliases, uint64_t addr, uint64_t size, const uint64_t of[2]);

/* All of @aliases are pages of their own again. -errno of one that is not. */
int gsb_alias_end(const struct gsb_host_window *w, const struct gsb_ranges *aliases);

/* Those of @all that are the first or the last page of [addr, addr + size), into *out. -ENOMEM. */
int gsb_alias_find(const struct gsb_ranges *all, uint64_t addr, uint64_t size,
		   struct gsb_ranges *out);

#endif
