/*
 * calls.h - the functions of the runtime that are more than one call of the driver. entries.def says who calls
 * them. `cu` is the driver's table of the form that was called (driver.h).
 */
#ifndef GSB_CUDART_CALLS_CALLS_H
#define GSB_CUDART_CALLS_CALLS_H

#include "cudart/driver.h"

/* Arguments that are too many for a call. */
struct gsb_rt_rect {
	void *dst;
	const void *src;
	size_t dst_pitch, src_pitch, width, height;
	enum cudaMemcpyKind kind;
};

/* A place in an array: bytes into a row, rows. */
struct gsb_rt_spot {
	cudaArray_t array;
	size_t x, y;
};

/* So many bytes from here to there. */
struct gsb_rt_row {
	void *dst;
	const void *src;
	size_t n;
	enum cudaMemcpyKind kind;
};

/* What of a variable of the program begins so many bytes into it. */
struct gsb_rt_part {
	const void *symbol;
	size_t offset;
};

/* Where a node of a graph comes. */
struct gsb_rt_node {
	CUgraphNode *node;
	CUgraph graph;
	const CUgraphNode *deps;
	size_t n_deps;
};

struct gsb_rt_shape {
	dim3 grid, block;
	size_t smem;
};

/* device.c */
cudaError_t rt_cudaDriverGetVersion(int *version);
cudaError_t rt_cudaRuntimeGetVersion(int *version);
cudaError_t rt_cudaGetDeviceCount(int *count);
cudaError_t rt_cudaGetDevice(int *device);
cudaError_t rt_cudaInitDevice(int device, unsigned flags, unsigned how);
cudaError_t rt_cudaSetValidDevices(const int *devices, int n);
cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
cudaError_t rt_cudaGetDeviceFlags(unsigned *flags);
cudaError_t rt_cudaSetDeviceFlags(unsigned flags);
cudaError_t rt_cudaDeviceGetAttribute(int *value, int attr, int device);
cudaError_t rt_cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t rt_cudaDeviceDisablePeerAccess(int peer);
cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
#if GSB_CUDART == 12
/* For programs of CUDA 11 and before, whose structure ends earlier. */
cudaError_t rt_cudaGetDeviceProperties_11(struct cudaDeviceProp *prop, int device);
#endif
cudaError_t rt_cudaGetDriverEntryPoint(const struct gsb_rt_driver *cu, const char *name, void **fn,
				       unsigned version, unsigned long long flags,
				       CUdriverProcAddressQueryResult *status);

/* memory.c */
cudaError_t rt_cudaMalloc(void **ptr, size_t n);
cudaError_t rt_cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent);
cudaError_t rt_cudaFree(void *ptr);
cudaError_t rt_cudaHostAlloc(void **ptr, size_t n, unsigned flags);
cudaError_t rt_cudaFreeHost(void *ptr);
cudaError_t rt_cudaMallocAsync(const struct gsb_rt_driver *cu, void **ptr, size_t n,
			       cudaStream_t stream);
cudaError_t rt_cudaFreeAsync(const struct gsb_rt_driver *cu, void *ptr, cudaStream_t stream);
cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *ptr);
struct cudaMemLocation gsb_rt_location(int device);

/* copy.c */
cudaError_t gsb_rt_copy(const struct gsb_rt_driver *cu, void *dst, const void *src, size_t n,
			enum cudaMemcpyKind kind);
cudaError_t gsb_rt_copy_async(const struct gsb_rt_driver *cu, void *dst, const void *src, size_t n,
			      enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t gsb_rt_copy_rect(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *rect);
cudaError_t gsb_rt_copy_rect_async(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *rect,
				   cudaStream_t stream);
cudaError_t rt_cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n);
cudaError_t rt_cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
				   size_t n, cudaStream_t stream);

/*
 * What follows takes how it is ordered as its last argument: in *order, a stream; with NULL it is the synchronous form.
 */

/* copy_array.c */
cudaError_t rt_cudaMemcpy2DToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *to,
				   const struct gsb_rt_rect *r, const cudaStream_t *order);
cudaError_t rt_cudaMemcpy2DFromArray(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *r,
				     const struct gsb_rt_spot *from, const cudaStream_t *order);
cudaError_t rt_cudaMemcpy2DArrayToArray(const struct gsb_rt_driver *cu,
					const struct gsb_rt_spot *to,
					const struct gsb_rt_spot *from,
					const struct gsb_rt_rect *r);
cudaError_t rt_cudaMemcpyToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *at,
				 const void *src, size_t n, enum cudaMemcpyKind kind,
				 const cudaStream_t *order);
cudaError_t rt_cudaMemcpyFromArray(const struct gsb_rt_driver *cu, void *dst,
				   const struct gsb_rt_spot *at, size_t n, enum cudaMemcpyKind kind,
				   const cudaStream_t *order);
cudaError_t rt_cudaMemcpyArrayToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *dst,
				      const struct gsb_rt_spot *src, size_t n,
				      enum cudaMemcpyKind kind);

/* box.c */
/* The driver's form of a copy. */
cudaError_t gsb_rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out);
/* And back. */
cudaError_t gsb_rt_box_from(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *out);
cudaError_t rt_cudaMemcpy3D(const struct gsb_rt_driver *cu, const struct cudaMemcpy3DParms *p,
			    const cudaStream_t *order);
cudaError_t rt_cudaMemcpy3DPeer(const struct gsb_rt_driver *cu,
				const struct cudaMemcpy3DPeerParms *p, const cudaStream_t *order);
cudaError_t rt_cudaMemset3D(const struct gsb_rt_driver *cu, struct cudaPitchedPtr ptr, int value,
			    struct cudaExtent extent, const cudaStream_t *order);

/* array.c */
struct gsb_rt_array_shape {
	size_t texel_bytes, row_bytes, n_rows; /* of one slice */
};
cudaError_t gsb_rt_array_shape(cudaArray_t array, struct gsb_rt_array_shape *out);
/* A texel's description, as the driver gives it, and back. cudaErrorInvalidChannelDescriptor, cudaErrorNotSupported. */
cudaError_t gsb_rt_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
			  unsigned *n);
struct cudaChannelFormatDesc gsb_rt_channels(CUarray_format format, unsigned n);
cudaError_t rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
				 struct cudaExtent extent, unsigned flags);
cudaError_t rt_cudaFreeArray(cudaArray_t array);
cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *array,
					const struct cudaChannelFormatDesc *desc,
					struct cudaExtent extent, unsigned n_levels,
					unsigned flags);
cudaError_t rt_cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t rt_cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array,
					  unsigned nth);
cudaError_t rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
				unsigned *flags, cudaArray_t array);
cudaError_t rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_t array);

/* texture.c */
cudaError_t rt_cudaCreateTextureObject(cudaTextureObject_t *object,
				       const struct cudaResourceDesc *resource,
				       const struct cudaTextureDesc *texture,
				       const struct cudaResourceViewDesc *view);
cudaError_t rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
				       const struct cudaResourceDesc *resource);
cudaError_t rt_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out,
						cudaTextureObject_t object);
cudaError_t rt_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out,
						cudaSurfaceObject_t object);
cudaError_t rt_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out,
					       cudaTextureObject_t object);
cudaError_t rt_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *out,
						    cudaTextureObject_t object);

/* symbol.c */
/* A row's end in a variable. */
cudaError_t gsb_rt_row_to(const struct gsb_rt_part *to, struct gsb_rt_row *row);
cudaError_t gsb_rt_row_from(const struct gsb_rt_part *from, struct gsb_rt_row *row);
cudaError_t rt_cudaGetSymbolAddress(void **ptr, const void *symbol);
cudaError_t rt_cudaGetSymbolSize(size_t *n, const void *symbol);
cudaError_t rt_cudaMemcpyToSymbol(const struct gsb_rt_driver *cu, const void *symbol,
				  const void *src, size_t n, size_t offset,
				  enum cudaMemcpyKind kind);
cudaError_t rt_cudaMemcpyToSymbolAsync(const struct gsb_rt_driver *cu, const void *symbol,
				       const void *src, size_t n, size_t offset,
				       enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t rt_cudaMemcpyFromSymbol(const struct gsb_rt_driver *cu, void *dst, const void *symbol,
				    size_t n, size_t offset, enum cudaMemcpyKind kind);
cudaError_t rt_cudaMemcpyFromSymbolAsync(const struct gsb_rt_driver *cu, void *dst,
					 const void *symbol, size_t n, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream);

/* launch.c */
cudaError_t gsb_rt_launch(const struct gsb_rt_driver *cu, const void *func,
			  const struct gsb_rt_shape *shape, void **args, cudaStream_t stream);
cudaError_t gsb_rt_launch_cooperative(const struct gsb_rt_driver *cu, const void *func,
				      const struct gsb_rt_shape *shape, void **args,
				      cudaStream_t stream);
cudaError_t rt_cudaLaunchKernelExC(const struct gsb_rt_driver *cu, const cudaLaunchConfig_t *config,
				   const void *func, void **args);
/* The driver's form of a configuration. */
CUlaunchConfig gsb_rt_launch_config(const cudaLaunchConfig_t *c);

/* graph.c */
cudaError_t rt_cudaGraphAddKernelNode(const struct gsb_rt_node *n,
				      const struct cudaKernelNodeParams *params);
cudaError_t rt_cudaGraphKernelNodeSetParams(CUgraphNode node,
					    const struct cudaKernelNodeParams *params);
cudaError_t rt_cudaGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const struct cudaKernelNodeParams *params);
cudaError_t rt_cudaGraphKernelNodeGetParams(CUgraphNode node, struct cudaKernelNodeParams *out);
cudaError_t rt_cudaGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
						unsigned initial, unsigned flags);
cudaError_t rt_cudaGraphAddNode(const struct gsb_rt_node *n, const CUgraphEdgeData *data,
				struct cudaGraphNodeParams *params);
cudaError_t rt_cudaGraphNodeSetParams(CUgraphNode node, const struct cudaGraphNodeParams *params);
cudaError_t rt_cudaGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  const struct cudaGraphNodeParams *params);
cudaError_t rt_cudaGraphAddMemcpyNode(const struct gsb_rt_node *n,
				      const struct cudaMemcpy3DParms *params);
cudaError_t rt_cudaGraphMemcpyNodeSetParams(CUgraphNode node,
					    const struct cudaMemcpy3DParms *params);
cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const struct cudaMemcpy3DParms *params);
cudaError_t rt_cudaGraphAddMemcpyNode1D(const struct gsb_rt_node *n, const struct gsb_rt_row *row);
cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(CUgraphNode node, const struct gsb_rt_row *row);
cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(CUgraphExec exec, CUgraphNode node,
						  const struct gsb_rt_row *row);
/* row: its end that is the variable is filled in. */
cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(const struct gsb_rt_node *n,
					      const struct gsb_rt_part *to, struct gsb_rt_row *row);
cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(const struct gsb_rt_node *n,
						const struct gsb_rt_part *from,
						struct gsb_rt_row *row);
cudaError_t rt_cudaGraphMemcpyNodeSetParamsToSymbol(CUgraphNode node, const struct gsb_rt_part *to,
						    struct gsb_rt_row *row);
cudaError_t rt_cudaGraphMemcpyNodeSetParamsFromSymbol(CUgraphNode node,
						      const struct gsb_rt_part *from,
						      struct gsb_rt_row *row);
cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(CUgraphExec exec, CUgraphNode node,
							const struct gsb_rt_part *to,
							struct gsb_rt_row *row);
cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(CUgraphExec exec, CUgraphNode node,
							  const struct gsb_rt_part *from,
							  struct gsb_rt_row *row);
cudaError_t rt_cudaGraphMemcpyNodeGetParams(CUgraphNode node, struct cudaMemcpy3DParms *out);

/* function.c */
cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *func);
cudaError_t rt_cudaFuncSetAttribute(const void *func, CUfunction_attribute attr, int value);
cudaError_t rt_cudaFuncSetCacheConfig(const void *func, CUfunc_cache config);
cudaError_t rt_cudaFuncSetSharedMemConfig(const void *func, CUsharedconfig config);
cudaError_t rt_cudaFuncGetName(const char **name, const void *func);
cudaError_t rt_cudaFuncGetParamInfo(const void *func, size_t i, size_t *offset, size_t *size);
cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *fn, const void *symbol);
cudaError_t rt_cudaGetKernel(cudaKernel_t *kernel, const void *func);
cudaError_t rt_cudaOccupancyMaxActiveBlocks(int *blocks, const void *func, int block_size,
					    size_t smem, unsigned flags);
cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *n, const void *func, int blocks,
							 int block_size);
cudaError_t rt_cudaOccupancyMaxActiveClusters(int *clusters, const void *func,
					      const cudaLaunchConfig_t *config);
cudaError_t rt_cudaOccupancyMaxPotentialClusterSize(int *size, const void *func,
						    const cudaLaunchConfig_t *config);

#endif
