/*
 * hooks/graph_memory.c - memory of graphs: taken when its node is made, given back when nothing names it any more.
 *
 * The address of an allocation holds from the making of its node on, through all launches. So the memory is there as
 * long, as any other of its context, and the nodes only say whose turn it is: an allocation node begins a use of it; a
 * free node, a stream or a call ends that. The next use waits for the end of the last, and so does the memory's end,
 * whatever streams they are in.
 */
#include <stdlib.h>

#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/pool.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- made and ended ---- */

/* Behind its last use. What cannot be freed so goes with its context, or has gone. */
static void end(struct gsb_graph_memory *m)
{
	struct gsb_cu_stream_ref s;
	CUstream stream;
	CUresult result = gsb_cu_lane_take(m->wire, &stream);

	if (!result)
		result = gsb_cu_stream_resolve(stream, &s);
	if (!result && m->freed)
		result = hook_cuStreamWaitEvent(stream, (CUevent)m->freed, 0);
	if (!result)
		gsb_mem_post_free(&s, GSB_ALLOC_GRAPH, m->params.dptr);
	if (m->freed)
		gsb_post_destroy(GSB_REC_EVENT_DESTROY, &gsb_cu_events, m->freed,
				 CUDA_ERROR_INVALID_HANDLE);
	free(m);
}

static CUresult check(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	CUresult result;

	if (!p || !p->bytesize || p->accessDescCount > 1 || (p->accessDescCount && !p->accessDescs))
		return CUDA_ERROR_INVALID_VALUE;
	if (p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_NOT_SUPPORTED; /* it could not be exported */
	result = gsb_pool_check_place(&p->poolProps.location, p->poolProps.allocType);
	if (!result && p->accessDescCount)
		result = gsb_pool_check_place(&p->accessDescs->location,
					      CU_MEM_ALLOCATION_TYPE_PINNED);
	return result;
}

static CUresult allocate(struct gsb_graph_memory *m)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_GRAPH, .pool = gsb_cu_pool_graphs(), .memory = m};
	CUresult result = gsb_mem_alloc_in_pool(m->params.bytesize, m->wire, &a);

	if (!result)
		m->params.dptr = a.addr;
	return result;
}

/* Without the lock of the graphs: the engine may have to wait for memory of others. */
static CUresult make(const CUDA_MEM_ALLOC_NODE_PARAMS *p, uint64_t wire,
		     struct gsb_graph_memory **out)
{
	CUresult result = check(p);
	struct gsb_graph_memory *m = result ? NULL : calloc(1, sizeof(*m));

	if (!m)
		return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
	*m = (struct gsb_graph_memory){.params = *p, .wire = wire, .n_holders = 1, .gone = end};
	m->params.accessDescs = NULL;
	if (p->accessDescCount) {
		m->access = *p->accessDescs;
		m->params.accessDescs = &m->access;
	}
	result = allocate(m);
	if (result)
		free(m);
	else
		*out = m;
	return result;
}

/* ---- used, under the lock of the graphs ---- */

static CUresult begin_use(struct gsb_graph_memory *m, CUstream stream)
{
	CUresult result =
		m->freed ? hook_cuStreamWaitEvent(stream, (CUevent)m->freed, 0) : CUDA_SUCCESS;

	if (!result && !m->is_live) {
		m->is_live = true;
		m->n_holders++;
	}
	return result;
}

static void no_longer_live(struct gsb_graph_memory *m)
{
	m->is_live = false;
	gsb_graph_memory_let_go(m);
}

static CUresult end_use(struct gsb_graph_memory *m, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	if (!m->freed)
		result = gsb_cu_event_create(m->wire, CU_EVENT_DISABLE_TIMING, &m->freed);
	if (!result)
		result = hook_cuEventRecord((CUevent)m->freed, stream, 0);
	if (!result)
		no_longer_live(m);
	return result;
}

CUresult gsb_graph_memory_run(const struct gsb_graph_work *work, CUstream stream)
{
	return work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? begin_use(work->memory, stream)
							  : end_use(work->memory, stream);
}

static bool may_run(const struct gsb_graph_work *w, bool auto_free)
{
	switch (w->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return !w->memory->is_live || auto_free;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return w->memory->is_live || w->memory->is_own;
	case CU_GRAPH_NODE_TYPE_GRAPH: return !gsb_graph_memory_check(w->child, auto_free);
	default: return true;
	}
}

CUresult gsb_graph_memory_check(const struct gsb_graph *g, bool auto_free)
{
	for (uint32_t i = 0; g->has_memory && i < g->n_nodes; i++)
		if (!may_run(&g->nodes[i]->work, auto_free))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* What begins at this address; NULL: nothing of a graph. */
static struct gsb_graph_memory *find(CUdeviceptr ptr)
{
	struct gsb_alloc a;

	return gsb_alloc_find(ptr, &a) && a.kind == GSB_ALLOC_GRAPH && a.addr == ptr ? a.memory
										     : NULL;
}

static struct gsb_graph_memory *find_live(CUdeviceptr ptr)
{
	struct gsb_graph_memory *m = find(ptr);

	return m && m->is_live ? m : NULL;
}

CUresult gsb_graph_memory_free_async(CUdeviceptr ptr, const struct gsb_cu_stream_ref *s)
{
	struct gsb_graph_memory *m;

	gsb_cu_graphs_lock();
	m = find_live(ptr);
	return gsb_graph_leave(m ? end_use(m, (CUstream)s->handle) : CUDA_ERROR_INVALID_VALUE);
}

/* As of other memory: all work of its context ends first. */
CUresult gsb_graph_memory_free(CUdeviceptr ptr)
{
	struct gsb_alloc a;
	struct gsb_graph_memory *m;
	CUresult result = gsb_alloc_find(ptr, &a) && a.kind == GSB_ALLOC_GRAPH
				  ? gsb_cu_streams_wait_all(a.wire)
				  : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	gsb_cu_graphs_lock();
	m = find_live(ptr);
	if (m)
		no_longer_live(m);
	return gsb_graph_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- nodes ---- */

CUresult hook_cuGraphAddMemAllocNode(const struct gsb_node_place *place,
				     CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	struct gsb_cu_ctx_life life;
	CUdeviceptr addr;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = make(params, life.wire, &work.memory);
	if (result)
		return result;
	addr = work.memory->params.dptr;
	gsb_cu_graphs_lock();
	result = gsb_graph_add_node(place, CUDA_SUCCESS, &work);
	if (!result)
		params->dptr = addr;
	return result;
}

static CUresult free_work(CUdeviceptr ptr, struct gsb_graph_work *out)
{
	struct gsb_graph_memory *m = find(ptr);

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	m->n_holders++;
	*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .memory = m};
	return CUDA_SUCCESS;
}

CUresult hook_cuGraphAddMemFreeNode(const struct gsb_node_place *place, CUdeviceptr ptr)
{
	struct gsb_graph_work work;

	gsb_cu_graphs_lock();
	return gsb_graph_add_node(place, free_work(ptr, &work), &work);
}

static const struct gsb_graph_memory *read_memory(CUgraphNode handle, CUgraphNodeType type,
						  const void *out)
{
	const struct gsb_graph_node *node = out ? gsb_cu_node_get(handle) : NULL;

	return node && node->work.type == type ? node->work.memory : NULL;
}

CUresult hook_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	const struct gsb_graph_memory *m;

	gsb_cu_graphs_lock();
	m = read_memory(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params);
	if (m)
		*params = m->params;
	return gsb_graph_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult hook_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ptr)
{
	const struct gsb_graph_memory *m;

	gsb_cu_graphs_lock();
	m = read_memory(node, CU_GRAPH_NODE_TYPE_MEM_FREE, ptr);
	if (m)
		*ptr = m->params.dptr;
	return gsb_graph_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- captured ---- */

/* Ends the call: the work becomes the graph's, or nobody's. */
static CUresult capture(struct gsb_capture_member *m, struct gsb_graph_work *work)
{
	CUresult result = m ? gsb_capture_add(m, work) : CUDA_ERROR_ILLEGAL_STATE;

	if (result)
		gsb_graph_work_free(work);
	return result;
}

static CUresult capture_alloc(const struct gsb_cu_stream_ref *s, size_t n, CUdeviceptr *ptr)
{
	const CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = n,
	};
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUdeviceptr addr;
	CUresult result = make(&params, s->wire, &work.memory);

	if (result)
		return result;
	addr = work.memory->params.dptr;
	gsb_cu_graphs_lock();
	result = capture(gsb_capture_of(s), &work);
	if (!result)
		*ptr = addr;
	return gsb_graph_leave(result);
}

bool gsb_graph_capture_alloc(const struct gsb_cu_stream_ref *s, size_t n, CUdeviceptr *ptr,
			     CUresult *result)
{
	const struct gsb_capture_member *m;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	if (m)
		*result = gsb_capture_check(m);
	gsb_cu_graphs_unlock();
	if (m && !*result && n)
		*result = capture_alloc(s, n, ptr);
	else if (m && !*result)
		*ptr = 0; /* no node: nothing lies there */
	return m != NULL;
}

static CUresult capture_free(struct gsb_capture_member *m, CUdeviceptr ptr)
{
	struct gsb_graph_work work;
	CUresult result = gsb_capture_check(m);

	if (!result)
		result = free_work(ptr, &work);
	if (result)
		return result;
	if (gsb_graph_may_free(m->capture->graph, work.memory))
		return capture(m, &work);
	gsb_graph_work_free(&work);
	return CUDA_ERROR_INVALID_VALUE;
}

bool gsb_graph_capture_free(const struct gsb_cu_stream_ref *s, CUdeviceptr ptr, CUresult *result)
{
	struct gsb_capture_member *m;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	if (m)
		*result = capture_free(m, ptr);
	gsb_cu_graphs_unlock();
	return m != NULL;
}

/* ---- all of it ---- */

/* What graphs have is counted as a pool's is. */
static CUresult find_attribute(CUdevice dev, CUgraphMem_attribute attr, CUmemPool_attribute *out)
{
	static const CUmemPool_attribute attrs[] = {
		[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
		[CU_GRAPH_MEM_ATTR_USED_MEM_HIGH] = CU_MEMPOOL_ATTR_USED_MEM_HIGH,
		[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
		[CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH] = CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
	};

	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	*out = attrs[attr];
	return CUDA_SUCCESS;
}

CUresult hook_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	CUmemPool_attribute of_pool;
	CUresult result = find_attribute(dev, attr, &of_pool);

	return result ? result
		      : hook_cuMemPoolGetAttribute((CUmemoryPool)gsb_cu_pool_graphs(), of_pool,
						   value);
}

CUresult hook_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
	CUmemPool_attribute of_pool;
	CUresult result = find_attribute(dev, attr, &of_pool);

	return result ? result
		      : hook_cuMemPoolSetAttribute((CUmemoryPool)gsb_cu_pool_graphs(), of_pool,
						   value);
}

/* Nothing is kept that no graph names. */
CUresult hook_cuDeviceGraphMemTrim(CUdevice dev)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
