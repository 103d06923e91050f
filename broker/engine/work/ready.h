/*
 * ready.h - the heads that may run, in the order in which they go to the device when nothing speaks against it.
 *
 * Each head is described once, when it becomes ready, and keeps its description until it has completed: what
 * a policy is shown are pointers to these. With a real clock what became ready first stands first; with a
 * virtual clock order must not depend on which process the kernel ran first, so it goes by device time, then
 * the rank of the tenant, then stream.
 */
#ifndef GSB_BROKER_ENGINE_WORK_READY_H
#define GSB_BROKER_ENGINE_WORK_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "broker/policy/policy.h"
#include "broker/policy/shape.h"

struct gsb_item;

struct gsb_head {
	struct gsb_work work;
	struct gsb_shape shapes[GSB_N_OFFERED]; /* work.shapes */
	struct gsb_shape
		cut; /* RESHAPE: what the work shows, and how it is launched where no shape is named */
	struct gsb_item *item;
	uint64_t number;       /* heads before it */
	bool told;	       /* of it as held, in the trace */
	uint32_t n_ready;      /* with it, when it became ready; 0: the trace has it */
	struct gsb_head *next; /* while it is nobody's */
};

struct gsb_ready {
	bool by_time;			/* the clock is virtual */
	const struct gsb_work **window; /* n of them are ready, from first on */
	unsigned first, n;
	uint64_t next_number;
	struct gsb_head *heads, *unused; /* a stream has one head: there is always room */
	unsigned n_heads;		 /* ever used at a time */
};

int gsb_ready_init(struct gsb_ready *r, bool by_time); /* -ENOMEM */
void gsb_ready_finish(struct gsb_ready *r);

/* A head for an item, to be described and then added. O(1). */
struct gsb_head *gsb_head_create(struct gsb_ready *r, struct gsb_item *item);
void gsb_head_destroy(struct gsb_ready *r, struct gsb_head *h); /* not among the ready ones */

static inline struct gsb_head *gsb_head_of(const struct gsb_work *w)
{
	return (struct gsb_head *)gsb_container_of(w, struct gsb_head, work);
}

/* O(1) with a real clock and at either end; else O(log n), and pointers move. */
void gsb_ready_add(struct gsb_ready *r, struct gsb_head *h);
void gsb_ready_remove(struct gsb_ready *r, const struct gsb_head *h);

/* Put in order again what is ready: ranks have changed. */
void gsb_ready_sort(struct gsb_ready *r);

/* All of them, n of them, in order; until the next change. */
static inline const struct gsb_work *const *gsb_ready_works(const struct gsb_ready *r)
{
	return r->window + r->first;
}

#endif
