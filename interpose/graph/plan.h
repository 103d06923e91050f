/*
 * plan.h - how a graph runs on streams: in which order its nodes are posted, each in which of a few lanes, and what
 * lanes have to wait for each other.
 *
 * Lane 0 is the stream in which the graph is launched, the others are streams of the library. A step follows the
 * step before it in its lane; for what it depends on in another lane it waits for an event, unless what came before
 * has waited for as much. Nested graphs are unrolled between two steps that do nothing. An event is used again as
 * soon as nobody waits for it any more: records and waits have one order, that of posting.
 */
#ifndef GSB_INTERPOSE_GRAPH_PLAN_H
#define GSB_INTERPOSE_GRAPH_PLAN_H

#include <stdint.h>

#include "interpose/graph/graph.h"

#define GSB_N_LANES	 8
#define GSB_LANE_NO_SLOT UINT32_MAX

struct gsb_lane_step {
	struct gsb_graph_node *node; /* NULL: where the graph, or a nested one, begins or ends */
	uint32_t lane;
	uint32_t first_wait, n_waits; /* in waits: slots of the events to wait for before it */
	uint32_t slot;		      /* of the event to record behind it, or GSB_LANE_NO_SLOT */
};

struct gsb_lane_plan {
	struct gsb_lane_step *steps; /* first and last in lane 0 */
	uint32_t n_steps;
	uint32_t *waits;
	uint32_t n_waits;
	uint32_t n_lanes, n_slots;
};

/* 0, -ENOMEM, -ELOOP. */
int gsb_lane_plan_make(const struct gsb_graph *g, struct gsb_lane_plan *out);
/* Takes a zeroed one, too. */
void gsb_lane_plan_finish(struct gsb_lane_plan *p);

#endif
