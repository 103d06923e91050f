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
};

uint64_t gsb_chunk_bytes(void);
/* How many one copy may have at a time, so that there are some for other threads' copies. */
uint32_t gsb_chunks_of_one(void);

/* A chunk for the caller alone. Waits for one when all are taken. */
CUresult gsb_chunk_take(struct gsb_chunk *out);
/* Likewise without waiting. A caller that holds a chunk must not wait for another: two of them could hold all. */
bool gsb_chunk_try_take(struct gsb_chunk *out);

/* One that the caller lent, and holds: the engine needs it no more. */
bool gsb_chunk_has_passed(const struct gsb_chunk *c);

void gsb_chunk_give_back(const struct gsb_chunk *c);
/*
 * The engine uses it until the stream reaches number.
 * @keep: the caller goes on holding it, to empty it then; else it comes back by itself
 */
void gsb_chunk_lend(const struct gsb_chunk *c, const struct gsb_cu_stream_ref *s, uint64_t number,
		    bool keep);

#endif
