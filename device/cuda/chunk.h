/*
 * chunk.h - memory mapped in a space's window, 2 MiB or more at a time.
 *
 * What is given back before it has come to zero stays mapped until then. The large chunk that was given back last is kept mapped for a
 * moment: who frees and allocates the same again and again waits for no mapping. It is in nobody's books, and another engine may have been sold it: so it goes
 * soon, and at once when memory is short (room.h), another is given back, or its space ends. What is shared with another space or process is never
 * kept so, and lives as long as one has it (pages.h).
 */
#ifndef GSB_DEVICE_CUDA_CHUNK_H
#define GSB_DEVICE_CUDA_CHUNK_H

#include "device/cuda/device.h"

struct cuda_pages;

struct cuda_chunk {
	uint64_t start, size; /* mapped */
	struct cuda_pages *pages;
	uint64_t bytes; /* of a large allocation; 0: a slab */
	bool opened;	/* what is there is another's */
	struct gsb_space *space;
	struct gsb_ranges parts;	/* of a slab */
	struct cuda_chunk *prev, *next; /* slabs, those with room first; or those that are dying */
	UT_hash_handle hh;
};

/* -EDQUOT: more than its space may have mapped; -ENOMEM. */
int cuda_chunk_add(struct gsb_space *space, uint64_t size, struct cuda_chunk **out);
/* Of pages that are there, which it consumes, also if it fails: -ENOMEM. */
int cuda_chunk_place(struct gsb_space *space, struct cuda_pages *pages, struct cuda_chunk **out);
/* The chunk that holds addr, NULL: none does. */
struct cuda_chunk *cuda_chunk_find(struct gsb_space *space, uint64_t addr);

/* Nothing is allocated there from now on; it is in no list of slabs. */
void cuda_chunk_remove(struct cuda_chunk *c);
/* The same of a large allocation, which may be kept. */
void cuda_chunk_spare(struct cuda_chunk *c);
/* The one that is kept, if it is this space's and so large; NULL: it is not. */
struct cuda_chunk *cuda_chunk_take_spare(const struct gsb_space *space, uint64_t size);
void cuda_chunk_drop_spare(struct cuda_device *dev);

/* All of the space; it waits for what is being zeroed there. */
void cuda_chunks_remove_all(struct gsb_space *space);

/* Those given back before that have come to zero meanwhile. */
void cuda_chunks_bury(struct cuda_device *dev);

#endif
