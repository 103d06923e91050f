/*
 * hooks/graph_launch.c - executable graphs, launched.
 *
 * A launch goes through the plan and does each step as the program might have done it itself, by the call for a
 * stream: so the engine sees ordinary records, and every rule of streams holds for graphs.
 *
 * What comes behind a conditional node depends on its word, so who launches the graph goes on when it is known: he waits for what stands before the node, reads,
 * and posts the graph that is chosen, of a loop again and again. So the launch of such a graph returns when its last condition has been decided, and
 * not at once; and of a chosen graph the nodes run one after the other, in the stream of the node.
 */
#include "interpose/cu/capture.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- one node ---- */

static CUresult read_attrs(const struct gsb_graph_kernel *k, uint32_t *flags)
{
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};

	*flags = gsb_graph_kernel_is_cooperative(k) ? GSB_LAUNCH_COOPERATIVE : 0;
	if (!k->attrs || !k->attrs[cluster.id].clusterDim.x)
		return CUDA_SUCCESS;
	cluster.value.clusterDim = k->attrs[cluster.id].clusterDim;
	return gsb_read_cluster(&cluster, flags);
}

static CUresult run_kernel(const struct gsb_graph_kernel *k, CUstream stream)
{
	size_t bytes = k->params_bytes;
	uint32_t flags;
	CUresult result = read_attrs(k, &flags);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, gsb_graph_kernel_values(k),
			 CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};

	if (result)
		return result;
	return hook_cuLaunchKernel(&(struct gsb_launch){
		.fn = k->func,
		.grid = {k->grid[0], k->grid[1], k->grid[2]},
		.block = {k->block[0], k->block[1], k->block[2]},
		.smem = k->smem,
		.flags = flags,
		.stream = stream,
		.extra = extra,
	});
}

static CUresult run_work(const struct gsb_graph_work *w, CUstream stream)
{
	const CUDA_MEMSET_NODE_PARAMS *f = &w->fill;

	switch (w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return run_kernel(&w->kernel, stream);
	case CU_GRAPH_NODE_TYPE_MEMCPY: return gsb_copy_later(&w->copy, stream);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return hook_cuMemsetAsync(&(struct gsb_fill){f->dst, f->value, f->elementSize,
							     f->width, f->height, f->pitch},
					  stream);
	case CU_GRAPH_NODE_TYPE_HOST:
		return hook_cuLaunchHostFunc(stream, w->host.fn, w->host.userData);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return hook_cuStreamWaitEvent(stream, w->event, 0);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return hook_cuEventRecord(w->event, stream, 0);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return gsb_graph_memory_run(w, stream);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_EMPTY: break;
	}
	return CUDA_SUCCESS;
}

/* ---- conditional nodes ---- */

/* Another thread may have ended the graph meanwhile. It is no wait of the program's, which a capture would forbid. */
static CUresult wait_before(const struct gsb_cu_exec *x, CUstream stream)
{
	CUgraphExec handle = (CUgraphExec)gsb_object_name(x);
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result)
		return result;
	gsb_cu_graphs_unlock();
	result = gsb_cu_stream_wait(&s);
	gsb_cu_graphs_lock();
	return result || gsb_cu_exec_get(handle) == x ? result : CUDA_ERROR_INVALID_VALUE;
}

/* Which of the graphs runs now; n: none does. */
static uint32_t choose(const struct gsb_graph_condition *c)
{
	uint32_t value = *(volatile uint32_t *)c->word;

	if (c->type == CU_GRAPH_COND_TYPE_SWITCH)
		return value < c->n ? value : c->n;
	return value ? 0 : c->type == CU_GRAPH_COND_TYPE_IF ? 1 : c->n;
}

static CUresult run_in_order(struct gsb_cu_exec *x, const struct gsb_lane_plan *plan,
			     CUstream stream);

static CUresult run_condition(struct gsb_cu_exec *x, const struct gsb_graph_node *node,
			      CUstream stream)
{
	const struct gsb_graph_condition *c = &node->work.condition;
	const struct gsb_cu_branch *b = gsb_cu_exec_branch(x, node);
	CUresult result;
	uint32_t i;

	do {
		result = b ? wait_before(x, stream) : CUDA_ERROR_INVALID_VALUE;
		if (result)
			return result; /* the node may be gone */
		if (gsb_graph_word_context(c->word) != c->wire)
			return CUDA_ERROR_CONTEXT_IS_DESTROYED;
		i = choose(c);
		if (i >= c->n)
			return CUDA_SUCCESS;
		result = run_in_order(x, &b->plans[i], stream);
	} while (!result && c->type == CU_GRAPH_COND_TYPE_WHILE);
	return result;
}

static CUresult run_node(struct gsb_cu_exec *x, const struct gsb_graph_node *node, CUstream stream)
{
	if (!node || node->is_disabled)
		return CUDA_SUCCESS;
	if (node->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return run_condition(x, node, stream);
	return run_work(&node->work, stream);
}

/* All in one stream, one step after the other. */
static CUresult run_in_order(struct gsb_cu_exec *x, const struct gsb_lane_plan *plan,
			     CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < plan->n_steps; i++)
		result = run_node(x, plan->steps[i].node, stream);
	return result;
}

/* ---- all of it ---- */

static CUresult run_step(struct gsb_cu_exec *x, const struct gsb_lane_step *s, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < s->n_waits; i++)
		result = hook_cuStreamWaitEvent(
			stream, gsb_cu_exec_event(x, x->plan.waits[s->first_wait + i]), 0);
	if (!result)
		result = run_node(x, s->node, stream);
	if (!result && s->slot != GSB_LANE_NO_SLOT)
		result = hook_cuEventRecord(gsb_cu_exec_event(x, s->slot), stream, 0);
	return result;
}

/* A launch that waits for a condition lets other threads in, which may end x. */
static CUresult run(struct gsb_cu_exec *x, const struct gsb_cu_stream_ref *s)
{
	CUgraphExec handle = (CUgraphExec)gsb_object_name(x);
	CUstream streams[GSB_N_LANES];
	CUresult result = gsb_cu_exec_prepare(x, s, streams);

	if (!result && x->was_launched)
		result = hook_cuStreamWaitEvent(streams[0], gsb_cu_exec_end(x), 0);
	if (!result)
		result = gsb_graph_reset_words(x->graph, streams[0]);
	for (uint32_t i = 0; !result && i < x->plan.n_steps; i++)
		result = run_step(x, &x->plan.steps[i], streams[x->plan.steps[i].lane]);
	if (gsb_cu_exec_get(handle) != x)
		return result;
	if (!result)
		result = hook_cuEventRecord(gsb_cu_exec_end(x), streams[0], 0);
	x->was_launched |= !result;
	x->last = *s;
	return result;
}

static CUresult launch(CUgraphExec exec, CUstream stream)
{
	struct gsb_cu_exec *x = gsb_cu_exec_get(exec);
	struct gsb_cu_stream_ref s;
	CUresult result = x ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_capture_no_wait(&s);
	if (!result)
		result = gsb_graph_memory_check(
			x->graph, x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	return result ? result : run(x, &s);
}

CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(launch(exec, stream));
}

CUresult hook_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	gsb_cu_graphs_lock();
	if (!result && !gsb_cu_exec_get(exec))
		result = CUDA_ERROR_INVALID_VALUE;
	return gsb_graph_leave(result ? result : gsb_capture_no_wait(&s));
}
