/*
 * hooks/graph_exec.c - executable graphs: instantiated, updated, and what of them is switched off.
 */
#include <stdlib.h>

#include "interpose/cu/capture.h"
#include "interpose/hooks/graph.h"

/* ---- made and destroyed ---- */

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, cuuint64_t flags)
{
	struct gsb_graph *g = gsb_cu_graph_get(graph);
	CUresult result = g ? gsb_capture_unsafe() : CUDA_ERROR_INVALID_VALUE;

	if (!result && g->is_inner)
		result = CUDA_ERROR_NOT_SUPPORTED;
	/* Its memory, and what decides in it, is one graph's at a time. */
	if (!result && (g->has_memory || gsb_graph_has_conditions(g)) &&
	    gsb_cu_exec_get((CUgraphExec)g->exec))
		result = CUDA_ERROR_NOT_SUPPORTED;
	if (!result)
		result = gsb_cu_exec_create(g, flags, exec);
	if (!result)
		g->exec = (uint64_t)*exec;
	return result;
}

/* A launch by a kernel is not carried; priorities of nodes are hints. */
CUresult hook_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	const unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
					 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
					 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

	if (!exec || flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(instantiate(exec, graph, flags));
}

CUresult hook_cuGraphInstantiate_v1(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
				    size_t n)
{
	if (error)
		*error = NULL;
	if (log && n)
		*log = 0;
	return hook_cuGraphInstantiate(exec, graph, 0);
}

/* There is nothing to upload: a launch is as cheap the first time. */
CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	const cuuint64_t upload = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = hook_cuGraphInstantiate(exec, graph, params->flags & ~upload);
	params->hErrNode_out = NULL;
	params->result_out = !result ? CUDA_GRAPH_INSTANTIATE_SUCCESS
			     : result == CUDA_ERROR_NOT_SUPPORTED
				     ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
				     : CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

CUresult hook_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
	const struct gsb_cu_exec *x;

	gsb_cu_graphs_lock();
	x = gsb_cu_exec_get(exec);
	if (!x || !flags)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = x->flags;
	return gsb_graph_leave(CUDA_SUCCESS);
}

CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
	gsb_cu_graphs_lock();
	if (!gsb_cu_exec_get(exec))
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	gsb_cu_exec_destroy(exec);
	return gsb_graph_leave(CUDA_SUCCESS);
}

/* ---- updated ---- */

/* Two graphs, node by node in an order of both. */
struct pairs {
	struct gsb_graph_node **old, **new;
	uint32_t n;
};

static CUgraphExecUpdateResult compare_copy(const CUDA_MEMCPY3D *a, const CUDA_MEMCPY3D *b)
{
	return a->srcMemoryType == b->srcMemoryType && a->dstMemoryType == b->dstMemoryType
		       ? CU_GRAPH_EXEC_UPDATE_SUCCESS
		       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static CUgraphExecUpdateResult compare_fill(const CUDA_MEMSET_NODE_PARAMS *a,
					    const CUDA_MEMSET_NODE_PARAMS *b)
{
	return (a->height == 1 && b->height == 1) ||
			       (a->height == b->height && a->width == b->width)
		       ? CU_GRAPH_EXEC_UPDATE_SUCCESS
		       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static CUgraphExecUpdateResult compare(const struct gsb_graph *old, const struct gsb_graph *new,
				       CUgraphExecUpdateResultInfo *info);

/* Each of a conditional node's graphs; which word it reads may change. */
static CUgraphExecUpdateResult compare_conditions(const struct gsb_graph_condition *old,
						  const struct gsb_graph_condition *new)
{
	CUgraphExecUpdateResult r = old->type == new->type && old->n == new->n
					    ? CU_GRAPH_EXEC_UPDATE_SUCCESS
					    : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	CUgraphExecUpdateResultInfo inner = {0};

	for (uint32_t i = 0; i < old->n && !r; i++)
		r = compare(old->bodies[i], new->bodies[i], &inner);
	return r;
}

static CUgraphExecUpdateResult compare_work(const struct gsb_graph_work *old,
					    const struct gsb_graph_work *new)
{
	CUgraphExecUpdateResultInfo inner = {0};

	if (old->type != new->type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	switch (old->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return gsb_graph_kernel_is_cooperative(&old->kernel) ==
				       gsb_graph_kernel_is_cooperative(&new->kernel)
			       ? CU_GRAPH_EXEC_UPDATE_SUCCESS
			       : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
	case CU_GRAPH_NODE_TYPE_MEMCPY: return compare_copy(&old->copy, &new->copy);
	case CU_GRAPH_NODE_TYPE_MEMSET: return compare_fill(&old->fill, &new->fill);
	case CU_GRAPH_NODE_TYPE_GRAPH: return compare(old->child, new->child, &inner);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return compare_conditions(&old->condition, &new->condition);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: /* by its own graph again; its memory is not another's */
		return old->memory == new->memory ? CU_GRAPH_EXEC_UPDATE_SUCCESS
						  : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	default: return CU_GRAPH_EXEC_UPDATE_SUCCESS;
	}
}

/* Whether what the one depends on are the partners of what the other depends on. */
static CUgraphExecUpdateResult compare_deps(const struct pairs *p, uint32_t i,
					    CUgraphExecUpdateResultInfo *info)
{
	const struct gsb_graph_node *old = p->old[i], *new = p->new[i];

	if (old->n_deps != new->n_deps)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (uint32_t j = 0; j < new->n_deps; j++)
		if (!gsb_graph_is_connected(p->old[new->deps[j]->index], old)) {
			gsb_cu_node_handle(new->deps[j], &info->errorFromNode);
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_pairs(const struct pairs *p,
					     CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	for (uint32_t i = 0; i < p->n; i++)
		p->new[i]->index = i;
	for (uint32_t i = 0; !r && i < p->n; i++) {
		r = compare_deps(p, i, info);
		if (!r)
			r = compare_work(&p->old[i]->work, &p->new[i]->work);
		if (r)
			gsb_cu_node_handle(p->new[i], &info->errorNode);
	}
	return r;
}

static void free_pairs(struct pairs *p)
{
	free(p->old);
	free(p->new);
}

static int make_pairs(const struct gsb_graph *old, const struct gsb_graph *new, struct pairs *p)
{
	*p = (struct pairs){
		.old = calloc(old->n_nodes + 1, sizeof(*p->old)),
		.new = calloc(new->n_nodes + 1, sizeof(*p->new)),
		.n = new->n_nodes,
	};
	if (p->old && p->new && !gsb_graph_order(old, p->old) && !gsb_graph_order(new, p->new))
		return 0;
	free_pairs(p);
	return -1;
}

static CUgraphExecUpdateResult compare(const struct gsb_graph *old, const struct gsb_graph *new,
				       CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult r;
	struct pairs p;

	if (old->n_nodes != new->n_nodes)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (make_pairs(old, new, &p))
		return CU_GRAPH_EXEC_UPDATE_ERROR;
	r = compare_pairs(&p, info);
	free_pairs(&p);
	return r;
}

/* Nodes stay where they are, since the plan names them; their work becomes the other's, and the words of before was's. */
static CUresult take_over(struct gsb_graph *old, const struct gsb_graph *new,
			  struct gsb_graph *was);

static CUresult take_condition(struct gsb_graph_condition *old,
			       const struct gsb_graph_condition *new, struct gsb_graph *was)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < old->n && !result; i++)
		result = take_over(old->bodies[i], new->bodies[i], was);
	old->word = new->word;
	old->wire = new->wire;
	return result;
}

static CUresult take_work(struct gsb_graph_node *old, const struct gsb_graph_node *new,
			  struct gsb_graph *was)
{
	struct gsb_graph_work work;
	CUresult result;

	if (old->work.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return take_over(old->work.child, new->work.child, was);
	if (old->work.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return take_condition(&old->work.condition, &new->work.condition, was);
	result = gsb_cu_graph_result(gsb_graph_work_copy(&new->work, &work));
	if (result)
		return result;
	gsb_graph_work_free(&old->work);
	old->work = work;
	return CUDA_SUCCESS;
}

static CUresult take_over(struct gsb_graph *old, const struct gsb_graph *new, struct gsb_graph *was)
{
	CUresult result = gsb_cu_graph_result(gsb_graph_take_words(old, new, was));
	struct pairs p;

	if (result || make_pairs(old, new, &p))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; !result && i < p.n; i++)
		result = take_work(p.old[i], p.new[i], was);
	free_pairs(&p);
	return result;
}

/* A launch in progress may still set the words of before. */
static CUresult become(struct gsb_cu_exec *x, struct gsb_graph *old, const struct gsb_graph *new)
{
	struct gsb_graph *was;
	CUresult result = gsb_cu_graph_result(gsb_graph_create(new->keeper, &was));

	if (result)
		return result;
	result = take_over(old, new, was);
	gsb_cu_exec_destroy_behind(x, was);
	return result;
}

/* @old: of x, or in it */
static CUresult update(struct gsb_cu_exec *x, struct gsb_graph *old, const struct gsb_graph *new,
		       CUgraphExecUpdateResultInfo *info)
{
	info->result = compare(old, new, info);
	return info->result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : become(x, old, new);
}

CUresult hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	const struct gsb_graph *new;
	struct gsb_cu_exec *x;

	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	*info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	gsb_cu_graphs_lock();
	x = gsb_cu_exec_get(exec);
	new = gsb_cu_graph_get(graph);
	return gsb_graph_leave(x && new && !new->is_inner ? update(x, x->graph, new, info)
							  : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
				   CUgraphExecUpdateResult *out)
{
	CUgraphExecUpdateResultInfo info;
	CUresult result = hook_cuGraphExecUpdate(exec, graph, &info);

	if (node)
		*node = info.errorNode;
	if (out)
		*out = info.result;
	return result;
}

/* The executable graph's copy of a node; NULL: it has none. */
static struct gsb_graph_node *find(CUgraphExec exec, CUgraphNode handle)
{
	const struct gsb_graph_node *node = gsb_cu_node_get(handle);
	const struct gsb_cu_exec *x = gsb_cu_exec_get(exec);

	return node && x ? gsb_graph_find(x->graph, node->id) : NULL;
}

CUresult hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode handle,
						 CUgraph child)
{
	CUgraphExecUpdateResultInfo info;
	const struct gsb_graph_node *node;
	const struct gsb_graph *new;

	gsb_cu_graphs_lock();
	node = find(exec, handle);
	new = gsb_cu_graph_get(child);
	if (!node || node->work.type != CU_GRAPH_NODE_TYPE_GRAPH || !new)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	return gsb_graph_leave(update(gsb_cu_exec_get(exec), node->work.child, new, &info));
}

/* ---- switched off and on ---- */

static bool has_switch(const struct gsb_graph_node *node)
{
	return node && node->work.type <= CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult hook_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned *enabled)
{
	const struct gsb_graph_node *node;

	gsb_cu_graphs_lock();
	node = find(exec, handle);
	if (!has_switch(node) || !enabled)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	*enabled = !node->is_disabled;
	return gsb_graph_leave(CUDA_SUCCESS);
}

CUresult hook_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled)
{
	struct gsb_graph_node *node;

	gsb_cu_graphs_lock();
	node = find(exec, handle);
	if (!has_switch(node))
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	node->is_disabled = !enabled;
	return gsb_graph_leave(CUDA_SUCCESS);
}
