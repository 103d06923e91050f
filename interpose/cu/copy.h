/*
 * copy.h - one copy: two ends and a rectangle; one row is the ordinary case.
 *
 *   from        to          asynchronous form returns     synchronous form
 *   pageable    device      when the source is staged     waits for its stream first, then the same: up to 64 KiB
 *                                                         when complete: above
 *   device      pageable    when complete                 when complete
 *   pinned      device      at once                       when complete   (and the other way round)
 *   device      device      at once                       at once
 *   host        host        when complete                 when complete
 *   fill        device      at once                       at once
 *   fill        pinned      at once                       when complete
 *
 * Device memory and the pinned window are named to the engine by address; pageable.h has the rest.
 */
#ifndef GSB_INTERPOSE_CU_COPY_H
#define GSB_INTERPOSE_CU_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "gsb/wire.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"

#define GSB_CU_PAGEABLE \
	GSB_N_PLACES /* an address of this process alone: never told to the engine */

struct gsb_cu_end {
	enum gsb_place place;
	uint64_t addr, pitch; /* bytes */
};

struct gsb_cu_copy {
	struct gsb_cu_end dst, src;
	uint64_t width, height; /* bytes, rows */
	struct gsb_cu_stream_ref stream;
	uint64_t n_removals; /* of allocations, before the ends were checked */
	bool is_sync;
	bool is_later; /* of a graph: pageable memory is looked at in the stream's order */
};

/* What lies at an address, by the windows and variables of this process. */
struct gsb_cu_end gsb_cu_end_at(uint64_t addr, uint64_t pitch);

static inline bool gsb_cu_end_is_host(const struct gsb_cu_end *e)
{
	return e->place != GSB_PLACE_DEVICE;
}

/* Bytes from the first to behind the last that the rectangle touches at an end; false: too many to count. */
bool gsb_cu_copy_span(const struct gsb_cu_copy *c, const struct gsb_cu_end *e, uint64_t *span);
/* Does the rectangle lie in memory that the program has? */
bool gsb_cu_copy_is_end_ok(const struct gsb_cu_copy *c, const struct gsb_cu_end *e);

/*
 * gsb_cu_copy_begin() - a record in the stream of a copy whose ends have been checked
 *
 * CUDA_ERROR_INVALID_VALUE: another thread has freed what was checked; nothing is begun.
 */
CUresult gsb_cu_copy_begin(const struct gsb_cu_copy *c, struct gsb_post *p, enum gsb_rec_type type,
			   uint32_t bytes);

/* Both ends are known to the engine. *number is the record's. */
CUresult gsb_cu_copy_post(const struct gsb_cu_copy *c, uint64_t *number);

#endif
