/*
 * queue_pool.h - the device's queues, by what cannot be changed of one: its priority and its SMs.
 *
 * A queue is made when no idle one is like it, and stays: on a GPU making one takes as long as hundreds of launches. As a policy
 * asks for few kinds, there soon are enough of each. When there is no room for more, an idle one of another kind makes way, and so does a
 * kind of which none is in use: a GPU has more ranges and priorities than there are places.
 */
#ifndef GSB_BROKER_ENGINE_WORK_QUEUE_POOL_H
#define GSB_BROKER_ENGINE_WORK_QUEUE_POOL_H

#include <stdint.h>

#include "device/ops.h"
#include "gsb/sm_range.h"

#define GSB_N_POOLED	  128 /* a plain pool has 32; each range that is in use costs a few more */
#define GSB_N_QUEUE_KINDS 64

/* A queue of the pool; queue is NULL where there is none. */
struct gsb_pooled_queue {
	struct gsb_queue *queue;
	struct gsb_queue_kind *kind;
	struct gsb_pooled_queue *next; /* idle, of its kind */
	uint32_t index;		       /* in the pool, for the trace */
};

struct gsb_queue_kind {
	int32_t priority;
	struct gsb_sm_range sms;
	unsigned n;		       /* of its queues there are */
	struct gsb_pooled_queue *idle; /* last used first */
};

struct gsb_queue_pool {
	struct gsb_device *dev;
	unsigned n, n_kinds;
	struct gsb_pooled_queue queues[GSB_N_POOLED];
	struct gsb_queue_kind kinds[GSB_N_QUEUE_KINDS];
	unsigned next_evicted;
	struct gsb_pooled_queue *places; /* of queues that are no more */
};

void gsb_queue_pool_init(struct gsb_queue_pool *p, struct gsb_device *dev);
void gsb_queue_pool_finish(struct gsb_queue_pool *p); /* all are idle */

/*
 * gsb_queue_pool_take() - an idle queue of that kind, or one like it
 * Where the device cannot give such SMs, one of all SMs; where it has no more queues, any that is idle.
 * Return: NULL: there is none at all.
 */
struct gsb_pooled_queue *gsb_queue_pool_take(struct gsb_queue_pool *p, int32_t priority,
					     struct gsb_sm_range sms);
void gsb_queue_pool_give(struct gsb_pooled_queue *q); /* it is idle again */

#endif
