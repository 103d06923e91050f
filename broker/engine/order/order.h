/*
 * order.h - a tenant's queues and a context's order, as those who own them make and end them.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_ORDER_H
#define GSB_BROKER_ENGINE_ORDER_ORDER_H

#include "broker/engine/order/types.h"

/* @unsettled: the engine's. -ENOMEM. */
int gsb_queues_init(struct gsb_queues *q, struct gsb_region *region, uint64_t max_bytes,
		    uint32_t max_queued, struct gsb_stream **unsettled);
void gsb_queues_finish(struct gsb_queues *q); /* nothing is queued; takes a zeroed one too */

int gsb_order_init(struct gsb_order *o,
		   struct gsb_queues *q); /* -ENOMEM: the tenant's pool is empty */

/* No handle of it is valid from now on. on_end destroys it when its work and all jobs of its fences are done: perhaps now. */
void gsb_order_close(struct gsb_order *o, void (*on_end)(struct gsb_order *o));

/* Nothing of it is queued: forget its streams, events and fences. */
void gsb_order_finish(struct gsb_order *o);

/* Have everything that is queued pass without effect from now on. What is under way still completes. */
void gsb_order_fail(struct gsb_order *o);

#endif
