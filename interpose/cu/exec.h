/*
 * exec.h - executable graphs: a copy of a graph, the plan by which it runs, and the streams and events for that.
 *
 * Lane 0 of the plan is the stream of the launch. The other lanes are streams of the library, a few for each context,
 * which launches take in turn: two graphs that run at the same time share them only when there are many. A launch
 * waits for the launch of the same graph before it.
 */
#ifndef GSB_INTERPOSE_CU_EXEC_H
#define GSB_INTERPOSE_CU_EXEC_H

#include "gsb/cuabi.h"
#include "interpose/core/object.h"
#include "interpose/cu/stream.h"
#include "interpose/graph/plan.h"

/* A conditional node of it, or of a graph in it: the plan of each of its own. */
struct gsb_cu_branch {
	const struct gsb_graph_node *node;
	struct gsb_lane_plan *plans;
};

struct gsb_cu_exec {
	struct gsb_object obj;
	struct gsb_graph *graph;
	struct gsb_lane_plan plan;
	struct gsb_cu_branch *branches;
	uint32_t n_branches;
	cuuint64_t flags;
	uint64_t wire; /* of the context in which it was launched last; 0: not yet */
	uint64_t
		*events; /* of that context: n_slots of the plan, and the one of the launch's end */
	bool was_launched;
	struct gsb_cu_stream_ref last; /* where */
};

extern struct gsb_object_table gsb_cu_execs;

/* NULL for what is none. */
struct gsb_cu_exec *gsb_cu_exec_get(CUgraphExec handle);

/* Of a copy of g. CUDA_ERROR_INVALID_VALUE: it has a circle. */
CUresult gsb_cu_exec_create(const struct gsb_graph *g, cuuint64_t flags, CUgraphExec *out);
void gsb_cu_exec_destroy(CUgraphExec handle);

/* What its last launch may still use: g goes when that is over. */
void gsb_cu_exec_destroy_behind(const struct gsb_cu_exec *x, struct gsb_graph *g);

/* NULL: it has no such node. */
const struct gsb_cu_branch *gsb_cu_exec_branch(const struct gsb_cu_exec *x,
					       const struct gsb_graph_node *node);

/* Before a launch in a context: its events, and in streams[1 ..] the streams of its other lanes. */
CUresult gsb_cu_exec_prepare(struct gsb_cu_exec *x, const struct gsb_cu_stream_ref *s,
			     CUstream streams[GSB_N_LANES]);

/* A stream of the library in that context, the next in turn. With the lock of the graphs. */
CUresult gsb_cu_lane_take(uint64_t wire, CUstream *out);

static inline CUevent gsb_cu_exec_event(const struct gsb_cu_exec *x, uint32_t slot)
{
	return (CUevent)x->events[slot];
}

/* The one that stands for the end of the last launch. */
static inline CUevent gsb_cu_exec_end(const struct gsb_cu_exec *x)
{
	return gsb_cu_exec_event(x, x->plan.n_slots);
}

#endif
