/*
 * hooks/graph.h - what answers the entry points of graphs and of stream capture, and what they share with the calls
 * that capture.
 */
#ifndef GSB_INTERPOSE_HOOKS_GRAPH_H
#define GSB_INTERPOSE_HOOKS_GRAPH_H

#include <stdbool.h>

#include "gsb/cuabi.h"
#include "interpose/cu/exec.h"
#include "interpose/cu/graph.h"

struct gsb_launch;
struct gsb_fill;

/* Where a new node comes, and where its handle goes. */
struct gsb_node_place {
	CUgraphNode *node;
	CUgraph graph;
	const CUgraphNode *deps;
	size_t n;
};

struct gsb_node_set {
	const CUgraphNode *nodes;
	const CUgraphEdgeData *data;
	size_t n;
};

/* What is asked of a capture; NULL: it is not. */
struct gsb_capture_info {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **deps;
	const CUgraphEdgeData **data;
	size_t *n;
};

/* hooks/launch.c: a launch, checked for a context, as work of a node that owns its parameters. */
CUresult gsb_launch_work(const struct gsb_launch *l, uint64_t wire, struct gsb_graph_work *out);
/* hooks/copy.c: whether a node may do it; and what it does when it runs. */
CUresult gsb_copy_check(const CUDA_MEMCPY3D *p);
CUresult gsb_copy_later(const CUDA_MEMCPY3D *p, CUstream stream);
CUresult gsb_fill_check(const struct gsb_fill *f);

/* hooks/graph.c: end of a call under the lock of the graphs. */
static inline CUresult gsb_graph_leave(CUresult result)
{
	gsb_cu_graphs_unlock();
	return result;
}

/* Whether it may be cut: CUDA_ERROR_NOT_SUPPORTED if it has memory, CUDA_ERROR_INVALID_VALUE if it is none. */
CUresult gsb_graph_check_free(const struct gsb_graph *g);
/* Whether it may be copied: CUDA_ERROR_NOT_SUPPORTED if it has conditions, too. */
CUresult gsb_graph_check_copy(const struct gsb_graph *g);
bool gsb_graph_is_owned(const struct gsb_graph *g);
/* A node is added, and the work is its own; with the lock. */
CUresult gsb_graph_add_to(struct gsb_graph *g, const struct gsb_node_place *place,
			  const struct gsb_graph_work *work);
/* Ends a call that adds a node, with the lock: the work becomes the node's, or nobody's. */
CUresult gsb_graph_add_node(const struct gsb_node_place *place, CUresult result,
			    struct gsb_graph_work *work);

/* hooks/graph_condition.c: a conditional node, with the lock. */
CUresult gsb_graph_condition_work(const CUDA_CONDITIONAL_NODE_PARAMS *p,
				  struct gsb_graph_work *out);
/* What lies where the words of a context were that is gone is none. Return: the context of a word; 0: there is none */
uint64_t gsb_graph_word_context(uint64_t addr);
/* The words of a graph that begins, with those of all that is in it. */
CUresult gsb_graph_reset_words(const struct gsb_graph *g, CUstream stream);

/* An array of handles of one graph's nodes as nodes, for the caller to free. CUDA_ERROR_INVALID_VALUE. */
CUresult gsb_graph_nodes_of(const struct gsb_graph *g, const struct gsb_node_set *set,
			    struct gsb_graph_node ***out);

/* hooks/graph.c */
CUresult hook_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
					     CUcontext ctx, unsigned initial, unsigned flags);
CUresult hook_cuGraphCreate(CUgraph *graph, unsigned flags);
CUresult hook_cuGraphDestroy(CUgraph graph);
CUresult hook_cuGraphClone(CUgraph *clone, CUgraph graph);
CUresult hook_cuGraphDestroyNode(CUgraphNode node);
CUresult hook_cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone);
CUresult hook_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type);
CUresult hook_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
CUresult hook_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
CUresult hook_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
			      CUgraphEdgeData *data, size_t *n);
CUresult hook_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes,
					 CUgraphEdgeData *data, size_t *n);
CUresult hook_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes,
					   CUgraphEdgeData *data, size_t *n);
CUresult hook_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				     const CUgraphEdgeData *data, size_t n);
CUresult hook_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
					const CUgraphNode *to, const CUgraphEdgeData *data,
					size_t n);
CUresult hook_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags);
CUresult hook_cuUserObjectCreate(CUuserObject *object, void *ptr, CUhostFn destroy, unsigned n,
				 unsigned flags);
CUresult hook_cuUserObjectRetain(CUuserObject object, unsigned n);
CUresult hook_cuUserObjectRelease(CUuserObject object, unsigned n);
CUresult hook_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned n,
				      unsigned flags);
CUresult hook_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned n);

/* hooks/graph_node.c */
CUresult hook_cuGraphAddKernelNode(const struct gsb_node_place *place,
				   const CUDA_KERNEL_NODE_PARAMS *params);
CUresult hook_cuGraphAddKernelNode_v1(const struct gsb_node_place *place,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult hook_cuGraphAddMemcpyNode(const struct gsb_node_place *place, const CUDA_MEMCPY3D *params,
				   CUcontext ctx);
CUresult hook_cuGraphAddMemsetNode(const struct gsb_node_place *place,
				   const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx);
CUresult hook_cuGraphAddHostNode(const struct gsb_node_place *place,
				 const CUDA_HOST_NODE_PARAMS *params);
CUresult hook_cuGraphAddChildGraphNode(const struct gsb_node_place *place, CUgraph child);
CUresult hook_cuGraphAddEmptyNode(const struct gsb_node_place *place);
CUresult hook_cuGraphAddEventNode(const struct gsb_node_place *place, CUgraphNodeType type,
				  CUevent event);
CUresult hook_cuGraphAddNode(const struct gsb_node_place *place, const CUgraphEdgeData *data,
			     CUgraphNodeParams *params);
CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params);
CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
				       CUgraphNodeParams *params);
CUresult hook_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params);
CUresult hook_cuGraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult hook_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult hook_cuGraphKernelNodeSetParams_v1(CUgraphNode node,
					    const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					     const CUDA_KERNEL_NODE_PARAMS *params);
CUresult hook_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
						const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult hook_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params);
CUresult hook_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params);
CUresult hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					     const CUDA_MEMCPY3D *params, CUcontext ctx);
CUresult hook_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params);
CUresult hook_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params);
CUresult hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					     const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx);
CUresult hook_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params);
CUresult hook_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params);
CUresult hook_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					   const CUDA_HOST_NODE_PARAMS *params);
CUresult hook_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph);
CUresult hook_cuGraphEventNodeGetEvent(CUgraphNode node, CUgraphNodeType type, CUevent *event);
CUresult hook_cuGraphEventNodeSetEvent(CUgraphNode node, CUgraphNodeType type, CUevent event);
CUresult hook_cuGraphExecEventNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
					   CUevent event);
CUresult hook_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src);
CUresult hook_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
					    CUkernelNodeAttrValue *value);
CUresult hook_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id,
					    const CUkernelNodeAttrValue *value);

/* hooks/graph_memory.c: in a stream that captures it is a node; false: it does not. */
bool gsb_graph_capture_alloc(const struct gsb_cu_stream_ref *s, size_t n, CUdeviceptr *ptr,
			     CUresult *result);
bool gsb_graph_capture_free(const struct gsb_cu_stream_ref *s, CUdeviceptr ptr, CUresult *result);
/* Memory of a graph that is in use; CUDA_ERROR_INVALID_VALUE for all else. */
CUresult gsb_graph_memory_free(CUdeviceptr ptr);
CUresult gsb_graph_memory_free_async(CUdeviceptr ptr, const struct gsb_cu_stream_ref *s);
/* Whether a launch may allocate and free what it would: CUDA_ERROR_INVALID_VALUE. */
CUresult gsb_graph_memory_check(const struct gsb_graph *g, bool auto_free);
/* A node of memory has its turn in a stream. */
CUresult gsb_graph_memory_run(const struct gsb_graph_work *work, CUstream stream);
CUresult hook_cuGraphAddMemAllocNode(const struct gsb_node_place *place,
				     CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult hook_cuGraphAddMemFreeNode(const struct gsb_node_place *place, CUdeviceptr ptr);
CUresult hook_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult hook_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ptr);
CUresult hook_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value);
CUresult hook_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value);
CUresult hook_cuDeviceGraphMemTrim(CUdevice dev);

/* hooks/graph_exec.c */
CUresult hook_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
CUresult hook_cuGraphInstantiate_v1(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
				    size_t n);
CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUresult hook_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags);
CUresult hook_cuGraphExecDestroy(CUgraphExec exec);
CUresult hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
CUresult hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info);
CUresult hook_cuGraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *node,
				   CUgraphExecUpdateResult *result);
CUresult hook_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled);
CUresult hook_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled);

/* hooks/graph_launch.c */
CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult hook_cuGraphUpload(CUgraphExec exec, CUstream stream);

/* hooks/capture.c */
CUresult hook_cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode);
CUresult hook_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
					  const struct gsb_node_set *deps,
					  CUstreamCaptureMode mode);
CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult hook_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
CUresult hook_cuStreamGetCaptureInfo(CUstream stream, const struct gsb_capture_info *info);
CUresult hook_cuStreamUpdateCaptureDependencies(CUstream stream, const struct gsb_node_set *deps,
						unsigned flags);
CUresult hook_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);

#endif
