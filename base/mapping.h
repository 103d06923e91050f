/*
 * mapping.h - what memory lies at which of the addresses that a program has reserved: a sorted map. The library keeps one of what its
 * program has mapped, and the engine one of each tenant's, which it believes.
 *
 * Mappings never overlap. Several that lie one behind the other without a gap may be unmapped, and given access, at once, but only
 * as a whole.
 *
 * Not thread-safe; its owner locks.
 */
#ifndef GSB_BASE_MAPPING_H
#define GSB_BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUmemAccess_flags of a mapping. */
#define GSB_MAPPING_NONE 0u
#define GSB_MAPPING_READ 1u
#define GSB_MAPPING_BOTH 3u

struct gsb_mapping {
	uint64_t addr, size; /* bytes; size > 0 */
	void *of;	     /* whose memory it is: its owner's word */
	uint8_t access;	     /* GSB_MAPPING_* */
	uint8_t had;	     /* while it is busy: the access that it had before */
	uint8_t host_access; /* of memory of the host, in the library: what the program has given its processor */
	bool busy; /* it is being changed: nobody else changes it */
};

/* Zeroed is empty. */
struct gsb_mappings {
	struct gsb_mapping *items;
	size_t n, room;
};

/* Some that follow each other in the map. */
struct gsb_mapping_run {
	struct gsb_mapping *first;
	size_t n;
};

void gsb_mappings_finish(struct gsb_mappings *m);

/* -EEXIST: some of it is mapped. -ENOMEM. */
int gsb_mappings_add(struct gsb_mappings *m, const struct gsb_mapping *new);

/* The one that holds addr; NULL: none does. Valid until the next change. O(log n). */
struct gsb_mapping *gsb_mappings_find(const struct gsb_mappings *m, uint64_t addr);

/* Whether any of these bytes is mapped. */
bool gsb_mappings_any(const struct gsb_mappings *m, uint64_t addr, uint64_t size);

/* Those that lie in [addr, addr + size), which may be none. -EINVAL: one is cut. */
int gsb_mappings_within(const struct gsb_mappings *m, uint64_t addr, uint64_t size,
			struct gsb_mapping_run *out);

/* Those of which [addr, addr + size) is made, from end to end. -EINVAL: there is a gap, or one is cut. */
int gsb_mappings_run(const struct gsb_mappings *m, uint64_t addr, uint64_t size,
		     struct gsb_mapping_run *out);

/*
 * From now on nobody else changes them, and they may be accessed for nothing that @access does not allow. Then, at the end, they have
 * @access; or, where the change has failed, what they had.
 */
void gsb_mappings_begin_change(const struct gsb_mapping_run *run, unsigned access);
void gsb_mappings_end_change(const struct gsb_mapping_run *run, unsigned access, bool failed);

/* They are in the map no more; the run is no longer valid. */
void gsb_mappings_remove(struct gsb_mappings *m, const struct gsb_mapping_run *run);

/* Whether all of these bytes may be accessed so. */
bool gsb_mappings_allow(const struct gsb_mappings *m, uint64_t addr, uint64_t size,
			unsigned access);

#endif
