/*
 * exec.c - see exec.h.
 */
#include "interpose/cu/exec.h"

#include <errno.h>
#include <stdlib.h>

#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/graph.h"
#include "interpose/cu/host_call.h"

#define N_EXECS (1u << 16)
#define N_POOL	16 /* streams of a context for all of its graphs */

struct gsb_object_table gsb_cu_execs =
	GSB_OBJECT_TABLE(GSB_HANDLE_EXEC, N_EXECS, struct gsb_cu_exec, NULL);

/* Of each context, by index; a stream that went with its context is made anew. */
static struct {
	uint64_t streams[N_POOL];
	uint32_t next;
} pools[GSB_N_CTXS];

struct gsb_cu_exec *gsb_cu_exec_get(CUgraphExec handle)
{
	return gsb_object_get(&gsb_cu_execs, (uint64_t)handle);
}

/* ---- streams and events ---- */

static CUresult pool_stream(uint64_t wire, uint64_t *at)
{
	static const struct gsb_cu_stream_params params = {.kind = GSB_CU_STREAM_LANE,
							   .flags = CU_STREAM_NON_BLOCKING};
	const void *stream = gsb_object_get(&gsb_cu_streams, *at);

	return stream && gsb_object_owner(stream) == wire ? CUDA_SUCCESS
							  : gsb_cu_stream_create(wire, &params, at);
}

CUresult gsb_cu_lane_take(uint64_t wire, CUstream *out)
{
	uint32_t ctx = gsb_handle_index(wire);
	uint64_t *at = &pools[ctx].streams[pools[ctx].next++ % N_POOL];
	CUresult result = pool_stream(wire, at);

	*out = (CUstream)*at;
	return result;
}

static CUresult take_streams(uint64_t wire, uint32_t n, CUstream *out)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 1; !result && i < n; i++)
		result = gsb_cu_lane_take(wire, &out[i]);
	return result;
}

static void destroy_events(struct gsb_cu_exec *x)
{
	for (uint32_t i = 0; x->events && i <= x->plan.n_slots; i++)
		gsb_post_destroy(GSB_REC_EVENT_DESTROY, &gsb_cu_events, x->events[i],
				 CUDA_ERROR_INVALID_HANDLE);
	free(x->events);
	x->events = NULL;
	x->was_launched = false;
}

/* In another context, or another life of it, they are others. */
static CUresult make_events(struct gsb_cu_exec *x, uint64_t wire)
{
	CUresult result = CUDA_SUCCESS;

	if (x->events && x->wire == wire)
		return CUDA_SUCCESS;
	destroy_events(x);
	x->events = calloc(x->plan.n_slots + 1, sizeof(*x->events));
	if (!x->events)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->wire = wire;
	for (uint32_t i = 0; !result && i <= x->plan.n_slots; i++)
		result = gsb_cu_event_create(wire, CU_EVENT_DISABLE_TIMING, &x->events[i]);
	if (result)
		destroy_events(x);
	return result;
}

CUresult gsb_cu_exec_prepare(struct gsb_cu_exec *x, const struct gsb_cu_stream_ref *s,
			     CUstream streams[GSB_N_LANES])
{
	CUresult result = make_events(x, s->wire);

	streams[0] = (CUstream)s->handle;
	return result ? result : take_streams(s->wire, x->plan.n_lanes, streams);
}

/* ---- conditional nodes ---- */

static void finish_branches(struct gsb_cu_exec *x)
{
	for (uint32_t i = 0; i < x->n_branches; i++) {
		struct gsb_cu_branch *b = &x->branches[i];

		for (uint32_t j = 0; j < b->node->work.condition.n; j++)
			gsb_lane_plan_finish(&b->plans[j]);
		free(b->plans);
	}
	free(x->branches);
	x->branches = NULL;
	x->n_branches = 0;
}

static int add_branch(struct gsb_cu_exec *x, const struct gsb_graph_node *node)
{
	const struct gsb_graph_condition *c = &node->work.condition;
	struct gsb_cu_branch *more = realloc(x->branches, (x->n_branches + 1) * sizeof(*more));
	struct gsb_lane_plan *plans;
	int r = 0;

	if (!more)
		return -ENOMEM;
	x->branches = more;
	plans = calloc(c->n, sizeof(*plans));
	if (!plans)
		return -ENOMEM;
	more[x->n_branches++] = (struct gsb_cu_branch){node, plans};
	for (uint32_t i = 0; i < c->n && !r; i++)
		r = gsb_lane_plan_make(c->bodies[i], &plans[i]);
	return r;
}

/* Of all graphs in it, too. */
static int add_branches(struct gsb_cu_exec *x, const struct gsb_graph *g)
{
	int r = 0;

	for (uint32_t i = 0; i < g->n_nodes && !r; i++) {
		const struct gsb_graph_work *work = &g->nodes[i]->work;
		struct gsb_graph *const *inner;
		uint32_t n = gsb_graph_inner(work, &inner);

		if (work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			r = add_branch(x, g->nodes[i]);
		for (uint32_t j = 0; j < n && !r; j++)
			r = add_branches(x, inner[j]);
	}
	return r;
}

const struct gsb_cu_branch *gsb_cu_exec_branch(const struct gsb_cu_exec *x,
					       const struct gsb_graph_node *node)
{
	for (uint32_t i = 0; i < x->n_branches; i++)
		if (x->branches[i].node == node)
			return &x->branches[i];
	return NULL;
}

/* ---- made and destroyed ---- */

static CUresult fill(struct gsb_cu_exec *x, const struct gsb_graph *g)
{
	int r = gsb_graph_clone(g, &x->graph);

	if (!r)
		r = gsb_lane_plan_make(x->graph, &x->plan);
	if (!r)
		r = add_branches(x, x->graph);
	if (r) {
		finish_branches(x);
		gsb_lane_plan_finish(&x->plan);
		gsb_graph_destroy(x->graph);
	}
	return gsb_cu_graph_result(r);
}

CUresult gsb_cu_exec_create(const struct gsb_graph *g, cuuint64_t flags, CUgraphExec *out)
{
	struct gsb_cu_exec *x = gsb_object_take(&gsb_cu_execs, 0, 0);
	CUresult result;

	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*x = (struct gsb_cu_exec){.obj = x->obj, .flags = flags};
	result = fill(x, g);
	if (result) {
		gsb_object_release(&gsb_cu_execs, gsb_object_name(x));
		return result;
	}
	*out = (CUgraphExec)gsb_object_name(x);
	gsb_object_publish(&gsb_cu_execs, x);
	return CUDA_SUCCESS;
}

static void destroy_graph(CUstream stream, CUresult status, void *graph)
{
	gsb_cu_graphs_lock();
	gsb_graph_destroy(graph);
	gsb_cu_graphs_unlock();
}

void gsb_cu_exec_destroy_behind(const struct gsb_cu_exec *x, struct gsb_graph *g)
{
	const struct gsb_host_call call = {.callback = destroy_graph, .data = g};

	if (!g->n_objects || !x->was_launched || gsb_host_call_post(&x->last, &call))
		gsb_graph_destroy(g);
}

void gsb_cu_exec_destroy(CUgraphExec handle)
{
	struct gsb_cu_exec *x = gsb_cu_exec_get(handle);

	if (!x || !gsb_object_retire(&gsb_cu_execs, (uint64_t)handle))
		return;
	gsb_graph_drop_memory(x->graph); /* a host function could not post */
	finish_branches(x);
	gsb_cu_exec_destroy_behind(x, x->graph);
	destroy_events(x);
	gsb_lane_plan_finish(&x->plan);
	gsb_object_release(&gsb_cu_execs, (uint64_t)handle);
}
