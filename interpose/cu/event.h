/*
 * event.h - events of the library. A record of an event carries a number; the event's word in the region
 * reaches it, with the device's time, when the work before it is done.
 */
#ifndef GSB_INTERPOSE_CU_EVENT_H
#define GSB_INTERPOSE_CU_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/ipc.h"
#include "interpose/core/object.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/cu/ctx.h"

struct gsb_capture_mark;

struct gsb_cu_event {
	struct gsb_object obj;
	uint32_t flags; /* CU_EVENT_* */
	uint64_t first; /* number that the index had reached when this event was made */
	/* Number of the last record; above first once the event was recorded. Written under the ring's lock. */
	_Atomic uint64_t recorded;
	struct gsb_capture_mark
		*_Atomic mark; /* it was recorded in a capture last (cu/capture.h) */
};

/* For a context, by its wire handle. */
CUresult gsb_cu_event_create(uint64_t wire, unsigned flags, uint64_t *handle);
/* The same of an event that another program has made. */
CUresult gsb_cu_event_open(uint64_t wire, const struct gsb_ipc_handle *from, uint64_t *handle);

extern struct gsb_object_table gsb_cu_events;

static inline const struct gsb_event_word *gsb_cu_event_word(const struct gsb_cu_event *e)
{
	return &gsb_proc.region->events[e->obj.index];
}

/* Other programs may record it, too: what the region says is of this one's recordings, and only the engine knows the latest. */
static inline bool gsb_cu_event_is_shared(const struct gsb_cu_event *e)
{
	return e->flags & CU_EVENT_INTERPROCESS;
}

/* A record of a stream that names it is complete. */
static inline void gsb_cu_event_post_end(const struct gsb_cu_event *e, struct gsb_post *p)
{
	if (gsb_unlikely(gsb_cu_event_is_shared(e)))
		gsb_post_end_stamped(p);
	else
		gsb_post_end(p);
}

/* Number of its last record. */
static inline uint64_t gsb_cu_event_number(const struct gsb_cu_event *e)
{
	return atomic_load_explicit(&e->recorded, memory_order_acquire);
}

static inline bool gsb_cu_event_is_recorded(const struct gsb_cu_event *e)
{
	return gsb_cu_event_number(e) != e->first;
}

/* Here, or perhaps elsewhere. */
static inline bool gsb_cu_event_may_be_recorded(const struct gsb_cu_event *e)
{
	return gsb_cu_event_is_recorded(e) || gsb_cu_event_is_shared(e);
}

static inline bool gsb_cu_event_is_done(const struct gsb_cu_event *e)
{
	return atomic_load_explicit(&gsb_cu_event_word(e)->done, memory_order_acquire) >=
	       gsb_cu_event_number(e);
}

#endif
