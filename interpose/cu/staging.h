/*
 * staging.h - the shared memory through which pageable memory is copied: a handful of chunks that the
 * library hands to copies and takes back when their stream has passed them.
 */
#ifndef GSB_INTERPOSE_CU_STAGING_H
#define GSB_INTERPOSE_CU_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_cu_stream_ref;

struct gsb_chunk {
	uint32_t index;
	uint64_t offset; /* in the staging memory: what the engine is told */
	uint8_t *bytes;
	uint32_t
		holder; /* the thread whose copy may be left with it (struct gsb_self: id); 0: nobody's */
};

uint64_t gsb_chunk_bytes(void);
/* How many one copy may have at a time, so that there are some for other threads' copies. */
uint32_t gsb_chunks_of_one(void);

/*
 * A chunk for the caller alone. Waits for one when all are taken, or so many are held that one would be left.
 * @holder: see struct gsb_chunk
 */
CUresult gsb_chunk_take(struct gsb_chunk *out, uint32_t holder);
/* Likewise without waiting. A caller that holds a chunk must not wait for another: two of them could hold all. */
bool gsb_chunk_try_take(struct gsb_chunk *out, uint32_t holder);
/*
 * Likewise, and the last one, too: for a copy in a signal handler, which may have interrupted a copy that holds chunks.
 * Who takes it must not touch the program's memory, where another handler may begin, until it is given back.
 */
CUresult gsb_chunk_take_last(struct gsb_chunk *out);

/* One that the caller lent, and holds: the engine needs it no more. */
bool gsb_chunk_has_passed(const struct gsb_chunk *c);

void gsb_chunk_give_back(const struct gsb_chunk *c);
/* All that holder's copies hold; those that were lent come back when their stream has passed them. */
void gsb_chunks_give_back_of(uint32_t holder);
/*
 * The engine uses it until the stream reaches number.
 * @keep: the caller goes on holding it, to empty it then; else it comes back by itself
 */
void gsb_chunk_lend(const struct gsb_chunk *c, const struct gsb_cu_stream_ref *s, uint64_t number,
		    bool keep);

#endif
