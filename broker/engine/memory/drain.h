/*
 * drain.h - what waits until every context of a tenant has done what it had to do until now: memory that is for all of them goes then.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_DRAIN_H
#define GSB_BROKER_ENGINE_MEMORY_DRAIN_H

#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/tenant.h"

/* Its owner's struct begins with it, and is in the pool of the tenant's queues. */
struct gsb_drain {
	struct gsb_tenant *tenant;
	unsigned n_left;      /* contexts that are not done, and one until all were asked */
	struct gsb_ctx *home; /* whose error is the result; NULL: nobody's */
	CUresult result;
	void (*done)(struct gsb_drain *d); /* d is freed behind it */
};

/* What is taken before anything is changed. */
struct gsb_drain_room {
	struct gsb_fence *fresh[GSB_N_CTXS];
	void *drain; /* so many bytes, for the caller's struct */
};

/* -EAGAIN: none now, read the record again later. */
int gsb_drain_reserve(struct gsb_tenant *t, size_t bytes, struct gsb_drain_room *out);
void gsb_drain_unreserve(struct gsb_tenant *t, const struct gsb_drain_room *room);

/* Have done() called; at once if there is no work. Consumes what was reserved, of which d is the drain. */
void gsb_drain_begin(struct gsb_drain *d, const struct gsb_drain_room *room);

#endif
