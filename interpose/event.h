/*
 * event.h - events of the library. A record of an event carries a number; the event's word in the region
 * reaches it, with the device's time, when the work before it is done.
 */
#ifndef GSB_INTERPOSE_EVENT_H
#define GSB_INTERPOSE_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose/object.h"

struct gsb_cu_ctx;

struct gsb_cu_event {
	struct gsb_object obj;
	struct gsb_cu_ctx *ctx;
	uint64_t wire_ctx;
	uint32_t flags; /* CU_EVENT_* */
	uint64_t first; /* number that the index had reached when this event was made */
	/* Number of the last record; above first once the event was recorded. Written under the ring's lock. */
	_Atomic uint64_t recorded;
};

extern struct gsb_object_table gsb_cu_events;

static inline bool gsb_cu_event_is_recorded(const struct gsb_cu_event *e)
{
	return atomic_load_explicit(&e->recorded, memory_order_acquire) != e->first;
}

#endif
