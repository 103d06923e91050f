/*
 * ranges.h - the ranges of their work that programs have named (NVTX), joined: who opened which inside which, and when.
 *
 * A thread's open ranges stand one in the other, in the order in which they were opened; an operation belongs to the
 * innermost that was open on the thread that posted it, when it did. Records of a tenant have one order, which is that of its calls,
 * so no clock is asked. A label is what all ranges of one name in the same ranges have in common: the query, of which each
 * run is a range. What was opened before the recording is not known, and its end is nobody's.
 */
#ifndef GSB_TOOLS_TRACE_RANGES_H
#define GSB_TOOLS_TRACE_RANGES_H

#include <stddef.h>

#include "tools/trace/traced.h"

#define GSB_RANGE_DEPTH_MAX 32u /* what is deeper counts for the range that is so deep */

/* Return: 0, -ENOMEM. */
int gsb_traced_ranges_take(struct gsb_traced *t, uint32_t tenant, const struct gsb_trace_range *e);

/* The innermost open range of a thread; NONE. */
uint32_t gsb_traced_ranges_innermost(const struct gsb_traced *t, uint32_t tenant, uint32_t thread);

/* Events were lost, of ranges perhaps: what was open is not known any more. */
void gsb_traced_ranges_lose(struct gsb_traced *t);

void gsb_traced_ranges_finish(struct gsb_traced *t);

/* The range of this name that an operation is in, however deep; NONE. */
uint32_t gsb_traced_ranges_around(const struct gsb_traced *t, const struct gsb_traced_op *op,
				  const char *name);

/* "q1 => scan", outermost first; what has no room is left out in front. */
void gsb_traced_ranges_path(const struct gsb_traced *t, uint32_t label, char *out, size_t size);

/* Device time of its end; of one that is never closed: when its tenant goes, or the trace ends. */
uint64_t gsb_traced_ranges_end_ns(const struct gsb_traced *t, const struct gsb_traced_range *r);

#endif
