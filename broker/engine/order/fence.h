/*
 * fence.h - jobs that wait for all work of a context before them: frees and unloads; and the context's own end.
 *
 * Operations (and loads under way) count in the fence that was open when they came, until they are popped: what
 * is on the device is not, whatever has become of its context. To close a fence gives it a job and opens the
 * next; when all fences up to a closed one are empty, its job is done. A fence knows nothing of its job but
 * how to call it.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_FENCE_H
#define GSB_BROKER_ENGINE_ORDER_FENCE_H

#include "broker/engine/order/types.h"

struct gsb_fence_job {
	void (*run)(struct gsb_order *o, const struct gsb_fence_job *job);
	uint64_t object; /* what it is about: an address in memory, or of an object of the engine */
	struct gsb_rec call; /* whom to answer */
};

struct gsb_fence {
	struct gsb_fence *next; /* later */
	uint32_t n_open;	/* operations, loader jobs */
	bool closed;
	struct gsb_fence_job job; /* when closed */
};

/* Room for the next open fence; NULL: none now, read the record again later. */
struct gsb_fence *gsb_fence_reserve(struct gsb_queues *q);
void gsb_fence_unreserve(struct gsb_queues *q, struct gsb_fence *fresh); /* NULL is fine */

/*
 * gsb_fence_close() - have job done when all work of o so far is done; at once if there is none
 * @fresh: the next open fence, from gsb_fence_reserve; consumed
 */
void gsb_fence_close(struct gsb_order *o, struct gsb_fence *fresh, const struct gsb_fence_job *job);

/* Do the jobs of all closed fences at the front that are empty; when nothing is left of a closed order, end it. */
void gsb_fence_flush(struct gsb_order *o);

/* One piece of work more in the open fence; released when it is done. */
struct gsb_fence *gsb_fence_hold(struct gsb_order *o);
void gsb_fence_release(struct gsb_order *o, struct gsb_fence *f);

#endif
