/*
 * calls/graph.c - nodes of graphs: the runtime's descriptions of kernels, copies and fills in the driver's form. All else
 * about graphs is one call of the driver.
 */
#include <string.h>

#include "cudart/calls/calls.h"
#include "cudart/calls/kind.h"
#include "cudart/error.h"
#include "cudart/registry.h"

/* ---- kernels ---- */

static cudaError_t describe_kernel(const struct cudaKernelNodeParams *p,
				   CUDA_KERNEL_NODE_PARAMS *out)
{
	CUkernel kernel;
	cudaError_t error = p ? gsb_rt_kernel(p->func, &kernel) : cudaErrorInvalidValue;

	if (error)
		return error;
	*out = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)kernel,
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return cudaSuccess;
}

cudaError_t rt_cudaGraphAddKernelNode(const struct gsb_rt_node *n,
				      const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = describe_kernel(params, &p);

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphAddKernelNode(n->node, n->graph, n->deps,
									 n->n_deps, &p));
}

cudaError_t rt_cudaGraphKernelNodeSetParams(CUgraphNode node,
					    const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = describe_kernel(params, &p);

	return error ? error : gsb_rt_error(gsb_rt_drivers->cuGraphKernelNodeSetParams(node, &p));
}

cudaError_t rt_cudaGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = describe_kernel(params, &p);

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphExecKernelNodeSetParams(exec, node, &p));
}

/* The function is what a launch names, the host's address of it; its handle where it has none. Every call takes
 * either. */
cudaError_t rt_cudaGraphKernelNodeGetParams(CUgraphNode node, struct cudaKernelNodeParams *out)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = out ? gsb_rt_error(gsb_rt_drivers->cuGraphKernelNodeGetParams(node, &p))
				: cudaErrorInvalidValue;

	if (error)
		return error;
	*out = (struct cudaKernelNodeParams){
		.func = p.kern ? (void *)gsb_rt_host_of(p.kern) : (void *)p.func,
		.gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
		.blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
		.sharedMemBytes = p.sharedMemBytes,
		.kernelParams = p.kernelParams,
		.extra = p.extra,
	};
	return cudaSuccess;
}

/* ---- copies ---- */

static cudaError_t add_copy(const struct gsb_rt_node *n, const CUDA_MEMCPY3D *copy)
{
	return gsb_rt_error(gsb_rt_drivers->cuGraphAddMemcpyNode(n->node, n->graph, n->deps,
								 n->n_deps, copy, NULL));
}

cudaError_t rt_cudaGraphAddMemcpyNode(const struct gsb_rt_node *n,
				      const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = params ? gsb_rt_box(params, &copy) : cudaErrorInvalidValue;

	return error ? error : add_copy(n, &copy);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams(CUgraphNode node,
					    const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = params ? gsb_rt_box(params, &copy) : cudaErrorInvalidValue;

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const struct cudaMemcpy3DParms *params)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = params ? gsb_rt_box(params, &copy) : cudaErrorInvalidValue;

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphExecMemcpyNodeSetParams(exec, node,
										   &copy, NULL));
}

static cudaError_t describe_row(const struct gsb_rt_row *r, CUDA_MEMCPY3D *out)
{
	if (!gsb_rt_is_kind(r->kind))
		return cudaErrorInvalidMemcpyDirection;
	*out = (CUDA_MEMCPY3D){
		.srcMemoryType = gsb_rt_source(r->kind),
		.srcHost = r->src,
		.srcDevice = (CUdeviceptr)r->src,
		.dstMemoryType = gsb_rt_target(r->kind),
		.dstHost = r->dst,
		.dstDevice = (CUdeviceptr)r->dst,
		.WidthInBytes = r->n,
		.Height = 1,
		.Depth = 1,
	};
	return cudaSuccess;
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(const struct gsb_rt_node *n, const struct gsb_rt_row *row)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = describe_row(row, &copy);

	return error ? error : add_copy(n, &copy);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(CUgraphNode node, const struct gsb_rt_row *row)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = describe_row(row, &copy);

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(CUgraphExec exec, CUgraphNode node,
						  const struct gsb_rt_row *row)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = describe_row(row, &copy);

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphExecMemcpyNodeSetParams(exec, node,
										   &copy, NULL));
}

/* ---- copies to and from variables ---- */

cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(const struct gsb_rt_node *n,
					      const struct gsb_rt_part *to, struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_to(to, row);

	return error ? error : rt_cudaGraphAddMemcpyNode1D(n, row);
}

cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(const struct gsb_rt_node *n,
						const struct gsb_rt_part *from,
						struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_from(from, row);

	return error ? error : rt_cudaGraphAddMemcpyNode1D(n, row);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsToSymbol(CUgraphNode node, const struct gsb_rt_part *to,
						    struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_to(to, row);

	return error ? error : rt_cudaGraphMemcpyNodeSetParams1D(node, row);
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsFromSymbol(CUgraphNode node,
						      const struct gsb_rt_part *from,
						      struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_from(from, row);

	return error ? error : rt_cudaGraphMemcpyNodeSetParams1D(node, row);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(CUgraphExec exec, CUgraphNode node,
							const struct gsb_rt_part *to,
							struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_to(to, row);

	return error ? error : rt_cudaGraphExecMemcpyNodeSetParams1D(exec, node, row);
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(CUgraphExec exec, CUgraphNode node,
							  const struct gsb_rt_part *from,
							  struct gsb_rt_row *row)
{
	cudaError_t error = gsb_rt_row_from(from, row);

	return error ? error : rt_cudaGraphExecMemcpyNodeSetParams1D(exec, node, row);
}

cudaError_t rt_cudaGraphMemcpyNodeGetParams(CUgraphNode node, struct cudaMemcpy3DParms *out)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error =
		out ? gsb_rt_error(gsb_rt_drivers->cuGraphMemcpyNodeGetParams(node, &copy))
		    : cudaErrorInvalidValue;

	return error ? error : gsb_rt_box_from(&copy, out);
}

/* ---- of any kind ---- */

/* The first words that a kind is described by in both interfaces; the driver's context behind a fill or a condition is the current one. */
static cudaError_t describe_alike(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	memcpy(out->reserved1, p->reserved1, sizeof(out->reserved1));
	if (p->type == CU_GRAPH_NODE_TYPE_MEMSET)
		out->memset.ctx = NULL;
	if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		out->conditional.ctx = NULL;
	return cudaSuccess;
}

static cudaError_t describe_any(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	if (!p)
		return cudaErrorInvalidValue;
	*out = (CUgraphNodeParams){.type = p->type};
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return describe_kernel(&p->kernel, &out->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return p->memcpy.flags ? cudaErrorInvalidValue
				       : gsb_rt_box(&p->memcpy.copyParams, &out->memcpy.copyParams);
	default: return describe_alike(p, out);
	}
}

/* Of the current context, which the driver wants to be named. */
cudaError_t rt_cudaGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
						unsigned initial, unsigned flags)
{
	CUcontext ctx = NULL;
	CUresult result = gsb_rt_drivers->cuCtxGetCurrent(&ctx);

	if (!result)
		result = gsb_rt_drivers->cuGraphConditionalHandleCreate(handle, graph, ctx, initial,
									flags);
	return gsb_rt_error(result);
}

cudaError_t rt_cudaGraphAddNode(const struct gsb_rt_node *n, const CUgraphEdgeData *data,
				struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	cudaError_t error = describe_any(params, &p);

	if (!error)
		error = gsb_rt_error(gsb_rt_drivers->cuGraphAddNode(n->node, n->graph, n->deps,
								    data, n->n_deps, &p));
	if (!error && p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		params->alloc.dptr = p.alloc.dptr;
	if (!error && p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		params->conditional.phGraph_out = p.conditional.phGraph_out;
	return error;
}

cudaError_t rt_cudaGraphNodeSetParams(CUgraphNode node, const struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	cudaError_t error = describe_any(params, &p);

	return error ? error : gsb_rt_error(gsb_rt_drivers->cuGraphNodeSetParams(node, &p));
}

cudaError_t rt_cudaGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  const struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	cudaError_t error = describe_any(params, &p);

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuGraphExecNodeSetParams(exec, node, &p));
}
