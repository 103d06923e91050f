/*
 * view.h - what a policy is shown: each head described once, when it may run, and the rest gathered for each question.
 */
#ifndef GSB_BROKER_ENGINE_WORK_VIEW_H
#define GSB_BROKER_ENGINE_WORK_VIEW_H

#include "broker/engine/work/scheduler.h"

uint64_t gsb_view_bytes(const struct gsb_cmd *cmd); /* of a copy or fill */

/* Describe the head of a stream, which may run now. */
void gsb_view_describe(const struct gsb_item *item, struct gsb_work *w);

/*
 * The shapes that it admits, for a policy that chooses among them, and, where times are kept, the size of blocks that it has best
 * (broker/policy/cut.h): neither where a shape is forced.
 */
void gsb_view_offer(const struct gsb_item *item, struct gsb_head *h);

/* What there is now; running is room for GSB_N_QUEUES, and lives as long as the view. */
struct gsb_view gsb_view_look(const struct gsb_scheduler *s, const struct gsb_work **running,
			      bool must);

#endif
