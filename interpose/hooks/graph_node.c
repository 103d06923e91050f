/*
 * hooks/graph_node.c - nodes: added, read and changed, in a graph and in an executable one. Each kind of parameters
 * becomes the work of a node by one function, which checks it as the call would that does the same in a stream.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/library.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- parameters as work ---- */

/* NULL: the current context. */
static CUresult find_wire(CUcontext ctx, uint64_t *wire)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_resolve(ctx, &life);

	*wire = life.wire;
	return result;
}

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS *p, struct gsb_graph_work *out)
{
	struct gsb_launch l;
	uint64_t wire;
	CUresult result = p ? find_wire(p->func ? NULL : p->ctx, &wire) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	l = (struct gsb_launch){
		.fn = p->func ? p->func : (CUfunction)p->kern,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.smem = p->sharedMemBytes,
		.params = p->kernelParams,
		.extra = p->extra,
	};
	return gsb_launch_work(&l, wire, out);
}

static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS all = {0};

	memcpy(&all, p, sizeof(*p));
	return all;
}

static CUresult copy_work(const CUDA_MEMCPY3D *p, CUcontext ctx, struct gsb_graph_work *out)
{
	uint64_t wire;
	CUresult result = p && p->WidthInBytes && p->Height && p->Depth ? find_wire(ctx, &wire)
									: CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_copy_check(p);
	if (!result)
		*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = *p};
	return result;
}

static CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx,
			  struct gsb_graph_work *out)
{
	uint64_t wire;
	CUresult result;

	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
	    !p->width || !p->height)
		return CUDA_ERROR_INVALID_VALUE;
	result = find_wire(ctx, &wire);
	if (!result)
		result = gsb_fill_check(&(struct gsb_fill){p->dst, p->value, p->elementSize,
							   p->width, p->height, p->pitch});
	if (!result)
		*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_MEMSET, .fill = *p};
	return result;
}

static CUresult host_work(const CUDA_HOST_NODE_PARAMS *p, struct gsb_graph_work *out)
{
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_HOST, .host = *p};
	return CUDA_SUCCESS;
}

static CUresult event_work(CUgraphNodeType type, CUevent event, struct gsb_graph_work *out)
{
	if (!gsb_object_get(&gsb_cu_events, (uint64_t)event))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct gsb_graph_work){.type = type, .event = event};
	return CUDA_SUCCESS;
}

static CUresult child_work(CUgraph child, struct gsb_graph_work *out)
{
	struct gsb_graph *g = gsb_cu_graph_get(child);
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = g};

	CUresult result = gsb_graph_check_copy(g);

	if (!result && g->is_inner)
		result = CUDA_ERROR_NOT_SUPPORTED;
	return result ? result : gsb_cu_graph_result(gsb_graph_work_copy(&work, out));
}

/* Semaphores and memory operations are not carried; the first such node is named. */
static CUresult refuse(int type)
{
	static _Atomic bool said;

	if (type < 8 || type > 12)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && type != CU_GRAPH_NODE_TYPE_MEM_FREE &&
	    !atomic_exchange(&said, true))
		gsb_log_say("graph nodes of type %d (semaphores, memory operations) are "
			    "not carried: adding one returns CUDA_ERROR_NOT_SUPPORTED; launch a "
			    "graph for each part",
			    type);
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUDA_MEMSET_NODE_PARAMS plain_fill(const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	CUDA_MEMSET_NODE_PARAMS plain;

	memcpy(&plain, p, sizeof(plain));
	return plain;
}

static CUresult any_work(const CUgraphNodeParams *p, struct gsb_graph_work *out)
{
	CUDA_MEMSET_NODE_PARAMS fill;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return kernel_work(&p->kernel, out);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_work(&p->memcpy.copyParams, p->memcpy.copyCtx, out);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		fill = plain_fill(&p->memset);
		return fill_work(&fill, p->memset.ctx, out);
	case CU_GRAPH_NODE_TYPE_HOST: return host_work(&p->host, out);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
			       ? CUDA_ERROR_NOT_SUPPORTED /* into a node that has one already */
			       : child_work(p->graph.graph, out);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_EMPTY};
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return event_work(p->type, p->eventWait.event, out);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_work(p->type, p->eventRecord.event, out);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: return gsb_graph_condition_work(&p->conditional, out);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: break; /* made by calls of their own, never changed */
	}
	return refuse((int)p->type);
}

/* ---- added ---- */

CUresult hook_cuGraphAddKernelNode(const struct gsb_node_place *place,
				   const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, kernel_work(params, &work), &work);
}

CUresult hook_cuGraphAddKernelNode_v1(const struct gsb_node_place *place,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	all = from_v1(params);
	return hook_cuGraphAddKernelNode(place, &all);
}

CUresult hook_cuGraphAddMemcpyNode(const struct gsb_node_place *place, const CUDA_MEMCPY3D *params,
				   CUcontext ctx)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, copy_work(params, ctx, &work), &work);
}

CUresult hook_cuGraphAddMemsetNode(const struct gsb_node_place *place,
				   const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, fill_work(params, ctx, &work), &work);
}

CUresult hook_cuGraphAddHostNode(const struct gsb_node_place *place,
				 const CUDA_HOST_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, host_work(params, &work), &work);
}

CUresult hook_cuGraphAddChildGraphNode(const struct gsb_node_place *place, CUgraph child)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(
		place, child == place->graph ? CUDA_ERROR_INVALID_VALUE : child_work(child, &work),
		&work);
}

CUresult hook_cuGraphAddEmptyNode(const struct gsb_node_place *place)
{
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, CUDA_SUCCESS, &work);
}

CUresult hook_cuGraphAddEventNode(const struct gsb_node_place *place, CUgraphNodeType type,
				  CUevent event)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, event_work(type, event, &work), &work);
}

/* NVIDIA's driver takes one into itself, too, and walks round that circle later, to its program's end. */
static CUresult check_move(const struct gsb_graph *g, const struct gsb_graph *moved)
{
	if (!g || !moved || moved->is_capturing || gsb_graph_is_in(g, moved))
		return CUDA_ERROR_INVALID_VALUE;
	if (moved->is_inner || gsb_graph_has_conditions(moved))
		return CUDA_ERROR_NOT_SUPPORTED;
	/* Its memory is one executable graph's, and comes late to what is in a graph already. */
	return moved->has_memory && (g->is_inner || gsb_cu_exec_get((CUgraphExec)moved->exec))
		       ? CUDA_ERROR_NOT_SUPPORTED
		       : CUDA_SUCCESS;
}

/* The very graph becomes the node's, and its handle stays: as if it had been made there. */
static CUresult move_child(const struct gsb_node_place *place, CUgraph child)
{
	struct gsb_graph *g = gsb_cu_graph_get(place->graph), *moved = gsb_cu_graph_get(child);
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = moved};
	CUresult result = place->node ? check_move(g, moved) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_graph_add_to(g, place, &work);
	if (result)
		return result;
	moved->is_inner = true;
	g->has_memory |= moved->has_memory;
	return CUDA_SUCCESS;
}

/* Data of edges lets a node begin earlier, which it need not. */
CUresult hook_cuGraphAddNode(const struct gsb_node_place *place, const CUgraphEdgeData *data,
			     CUgraphNodeParams *params)
{
	struct gsb_graph_work work;
	CUresult result;

	if (params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return hook_cuGraphAddMemAllocNode(place, &params->alloc);
	if (params && params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return hook_cuGraphAddMemFreeNode(place, params->free.dptr);
	gsb_cu_graphs_lock();
	if (params && params->type == CU_GRAPH_NODE_TYPE_GRAPH &&
	    params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
		return gsb_graph_leave(move_child(place, params->graph.graph));
	result = gsb_graph_add_node(place, any_work(params, &work), &work);
	if (!result && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		params->conditional.phGraph_out = work.condition.names;
	return result;
}

/* ---- changed ---- */

/* A node of a graph that a program may change, of this kind. */
static struct gsb_graph_node *find(CUgraphNode handle, CUgraphNodeType type)
{
	struct gsb_graph_node *node = gsb_cu_node_get(handle);

	return node && node->work.type == type ? node : NULL;
}

/* The executable graph's copy of it. */
static struct gsb_graph_node *find_in(CUgraphExec exec, CUgraphNode handle, CUgraphNodeType type)
{
	const struct gsb_graph_node *node = find(handle, type);
	const struct gsb_cu_exec *x = gsb_cu_exec_get(exec);

	return node && x ? gsb_graph_find(x->graph, node->id) : NULL;
}

/* Attributes stay, but for what the new parameters say themselves. */
static void replace(struct gsb_graph_node *node, struct gsb_graph_work *work)
{
	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL && !work->kernel.attrs) {
		work->kernel.attrs = node->work.kernel.attrs;
		node->work.kernel.attrs = NULL;
	}
	gsb_graph_work_free(&node->work);
	node->work = *work;
}

/* Ends the call: the work becomes the node's, or nobody's. */
static CUresult set(struct gsb_graph_node *node, CUresult result, struct gsb_graph_work *work)
{
	if (result)
		return gsb_graph_leave(result);
	if (node && node->work.type == work->type) {
		replace(node, work);
		return gsb_graph_leave(CUDA_SUCCESS);
	}
	gsb_graph_work_free(work);
	return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find(node, CU_GRAPH_NODE_TYPE_KERNEL), kernel_work(params, &work), &work);
}

CUresult hook_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
					    const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	all = from_v1(params);
	return hook_cuGraphKernelNodeSetParams(node, &all);
}

CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					     const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find_in(exec, node, CU_GRAPH_NODE_TYPE_KERNEL), kernel_work(params, &work),
		   &work);
}

CUresult hook_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
						const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	all = from_v1(params);
	return hook_cuGraphExecKernelNodeSetParams(exec, node, &all);
}

CUresult hook_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find(node, CU_GRAPH_NODE_TYPE_MEMCPY), copy_work(params, NULL, &work), &work);
}

CUresult hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					     const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find_in(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY), copy_work(params, ctx, &work),
		   &work);
}

CUresult hook_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find(node, CU_GRAPH_NODE_TYPE_MEMSET), fill_work(params, NULL, &work), &work);
}

/* In an executable graph a fill of several rows keeps its form. */
static bool keeps_form(const struct gsb_graph_node *node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	const CUDA_MEMSET_NODE_PARAMS *old = node ? &node->work.fill : NULL;

	return !old || !p || (old->height == 1 && p->height == 1) ||
	       (old->height == p->height && old->width == p->width && old->pitch == p->pitch &&
		old->elementSize == p->elementSize);
}

CUresult hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode handle,
					     const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	struct gsb_graph_node *node;
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	node = find_in(exec, handle, CU_GRAPH_NODE_TYPE_MEMSET);
	return set(node,
		   keeps_form(node, params) ? fill_work(params, ctx, &work)
					    : CUDA_ERROR_INVALID_VALUE,
		   &work);
}

CUresult hook_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find(node, CU_GRAPH_NODE_TYPE_HOST), host_work(params, &work), &work);
}

CUresult hook_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					   const CUDA_HOST_NODE_PARAMS *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find_in(exec, node, CU_GRAPH_NODE_TYPE_HOST), host_work(params, &work), &work);
}

CUresult hook_cuGraphEventNodeSetEvent(CUgraphNode node, CUgraphNodeType type, CUevent event)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find(node, type), event_work(type, event, &work), &work);
}

CUresult hook_cuGraphExecEventNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
					   CUevent event)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return set(find_in(exec, node, type), event_work(type, event, &work), &work);
}

CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	if (params && params->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	if (params && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return gsb_graph_leave(CUDA_ERROR_NOT_SUPPORTED);
	return set(gsb_cu_node_get(node), any_work(params, &work), &work);
}

/* By the kind's own call, which knows what may change in an executable graph. */
CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
				       CUgraphNodeParams *params)
{
	CUDA_MEMSET_NODE_PARAMS fill;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return hook_cuGraphExecKernelNodeSetParams(exec, node, &params->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return hook_cuGraphExecMemcpyNodeSetParams(exec, node, &params->memcpy.copyParams,
							   params->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		fill = plain_fill(&params->memset);
		return hook_cuGraphExecMemsetNodeSetParams(exec, node, &fill, params->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return hook_cuGraphExecHostNodeSetParams(exec, node, &params->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return hook_cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return hook_cuGraphExecEventNodeSetEvent(exec, node, params->type,
							 params->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return hook_cuGraphExecEventNodeSetEvent(exec, node, params->type,
							 params->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_ERROR_NOT_SUPPORTED; /* it stays as it was made */
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE: break;
	}
	return refuse((int)params->type);
}

/* ---- read ---- */

/* The node's work, or NULL; with the lock. */
static const struct gsb_graph_work *read_work(CUgraphNode node, CUgraphNodeType type,
					      const void *out)
{
	const struct gsb_graph_node *found = out ? find(node, type) : NULL;

	return found ? &found->work : NULL;
}

/* Whichever of the two a launch named, a driver tells both, and where the function is. */
static CUresult tell_function(CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct gsb_cu_function *f;
	uint64_t function, kernel;
	CUresult result = gsb_cu_function_here((uint64_t)p->func, &function);

	if (!result)
		result = gsb_cu_function_kernel(function, &kernel);
	if (result)
		return result;
	f = gsb_cu_function_get(function);
	p->func = (CUfunction)function;
	p->kern = (CUkernel)kernel;
	p->ctx = f ? gsb_cu_ctx_public(gsb_cu_wire_ctx(gsb_object_owner(f))) : NULL;
	return CUDA_SUCCESS;
}

CUresult hook_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	const struct gsb_graph_work *work;
	const struct gsb_graph_kernel *k;

	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_KERNEL, params);
	if (!work)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	k = &work->kernel;
	*params = (CUDA_KERNEL_NODE_PARAMS){
		.func = k->func,
		.gridDimX = k->grid[0],
		.gridDimY = k->grid[1],
		.gridDimZ = k->grid[2],
		.blockDimX = k->block[0],
		.blockDimY = k->block[1],
		.blockDimZ = k->block[2],
		.sharedMemBytes = k->smem,
		.kernelParams = k->params,
	};
	gsb_cu_graphs_unlock();
	return tell_function(params);
}

CUresult hook_cuGraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all;
	CUresult result =
		params ? hook_cuGraphKernelNodeGetParams(node, &all) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		memcpy(params, &all, sizeof(*params));
	return result;
}

CUresult hook_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
	const struct gsb_graph_work *work;

	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_MEMCPY, params);
	if (work)
		*params = work->copy;
	return gsb_graph_leave(work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
	const struct gsb_graph_work *work;

	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_MEMSET, params);
	if (work)
		*params = work->fill;
	return gsb_graph_leave(work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
	const struct gsb_graph_work *work;

	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_HOST, params);
	if (work)
		*params = work->host;
	return gsb_graph_leave(work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphEventNodeGetEvent(CUgraphNode node, CUgraphNodeType type, CUevent *event)
{
	const struct gsb_graph_work *work;

	gsb_cu_graphs_lock();
	work = read_work(node, type, event);
	if (work)
		*event = work->event;
	return gsb_graph_leave(work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	const struct gsb_graph_work *work;

	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_GRAPH, graph);
	return gsb_graph_leave(work ? gsb_cu_graph_handle(work->child, graph)
				    : CUDA_ERROR_INVALID_VALUE);
}

/* ---- attributes of kernel nodes ---- */

/* Hints are kept and told. */
static bool is_attr(CUkernelNodeAttrID id)
{
	switch (id) {
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return true;
	default: return false;
	}
}

CUresult hook_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
					    CUkernelNodeAttrValue *value)
{
	const struct gsb_graph_work *work;

	if (!is_attr(id))
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	work = read_work(node, CU_GRAPH_NODE_TYPE_KERNEL, value);
	if (work)
		*value = work->kernel.attrs ? work->kernel.attrs[id] : (CUkernelNodeAttrValue){{0}};
	return gsb_graph_leave(work ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* What no launch could have is refused here already. */
static CUresult check_attr(CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	CUlaunchAttribute attribute = {.id = (CUlaunchAttributeID)id};
	uint32_t flags = 0;

	if (!value || !is_attr(id))
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION || !value->clusterDim.x)
		return CUDA_SUCCESS;
	attribute.value.clusterDim = value->clusterDim;
	return gsb_read_cluster(&attribute, &flags);
}

CUresult hook_cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
					    const CUkernelNodeAttrValue *value)
{
	struct gsb_graph_node *node;
	CUresult result = check_attr(id, value);

	if (result)
		return result;
	gsb_cu_graphs_lock();
	node = find(handle, CU_GRAPH_NODE_TYPE_KERNEL);
	return gsb_graph_leave(node ? gsb_cu_graph_result(gsb_graph_kernel_set_attr(
					      &node->work.kernel, (uint32_t)id, value))
				    : CUDA_ERROR_INVALID_VALUE);
}

static CUresult copy_attrs(struct gsb_graph_kernel *to, const struct gsb_graph_kernel *from)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t id = 0; from->attrs && !result && id < GSB_N_NODE_ATTRS; id++)
		result = gsb_cu_graph_result(gsb_graph_kernel_set_attr(to, id, &from->attrs[id]));
	return result;
}

CUresult hook_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	struct gsb_graph_node *to, *from;

	gsb_cu_graphs_lock();
	to = find(dst, CU_GRAPH_NODE_TYPE_KERNEL);
	from = find(src, CU_GRAPH_NODE_TYPE_KERNEL);
	return gsb_graph_leave(to && from ? copy_attrs(&to->work.kernel, &from->work.kernel)
					  : CUDA_ERROR_INVALID_VALUE);
}
