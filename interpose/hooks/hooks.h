/*
 * hooks.h - what answers the driver's entry points: one function for all forms of a call. entries.def says
 * which form calls which.
 */
#ifndef GSB_INTERPOSE_HOOKS_HOOKS_H
#define GSB_INTERPOSE_HOOKS_HOOKS_H

#include "gsb/cuabi.h"
#include "gsb/wire.h"
#include "interpose/cu/alloc.h"

struct gsb_call;
struct gsb_cu_function;
struct gsb_cu_stream_ref;

/* Arguments that are too many for a call. */
struct gsb_launch {
	CUfunction fn;
	uint32_t grid[3], block[3];
	uint32_t smem, flags; /* GSB_LAUNCH_* */
	CUstream stream;
	void **params, **extra;
};

struct gsb_fill {
	CUdeviceptr dst;
	uint32_t value, elem_bytes;
	size_t width, height, pitch; /* elements, rows, bytes */
};

struct gsb_load_options {
	CUjit_option *jit;
	void **jit_values;
	unsigned n_jit;
	CUlibraryOption *options;
	void **values;
	unsigned n;
};

struct gsb_tensor {
	CUtensorMapDataType type;
	cuuint32_t rank;
	void *addr;
	const cuuint64_t *dims, *strides;
	const cuuint32_t *element_strides;
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion l2;
	CUtensorMapFloatOOBfill fill;
};

struct gsb_block_search {
	CUfunction fn;
	CUoccupancyB2DSize smem_of; /* dynamic shared memory of a block size; NULL: smem for all */
	size_t smem;
	int limit; /* 0: none */
	unsigned flags;
};

/* mem.c: memory for an array. */
CUresult gsb_mem_alloc_array(const struct gsb_array *array, uint64_t wire, CUdeviceptr *addr);
/* A record whose answer is a range, of which the first size bytes are for use, 0: all; it becomes a. */
CUresult gsb_mem_take_range(const struct gsb_call *call, uint64_t size, uint64_t wire,
			    struct gsb_alloc *a);
/* Pinned memory of the library's own, also while a stream is captured. */
CUresult gsb_mem_take_words(size_t n, void **ptr);
/* Memory of the device that its pool counts, behind what streams have yet to free; and its free, in the order of a stream. */
CUresult gsb_mem_alloc_in_pool(size_t n, uint64_t wire, struct gsb_alloc *a);
CUresult gsb_mem_post_free(const struct gsb_cu_stream_ref *s, enum gsb_alloc_kind kind,
			   CUdeviceptr ptr);
/* Pinned memory of the current context, which becomes a. */
CUresult gsb_mem_alloc_host(size_t n, struct gsb_alloc *a);
/* What is in the map no longer. */
CUresult gsb_mem_free_device(const struct gsb_alloc *a);
CUresult gsb_mem_free_host(const struct gsb_alloc *a);
/* CUDA_ERROR_OUT_OF_MEMORY is our limit's: say so, once. */
void gsb_mem_say_no_host_room(size_t n);

/* lookup.c */
CUresult hook_cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags,
			       CUdriverProcAddressQueryResult *status);
CUresult hook_cuGetProcAddress_v1(const char *name, void **fn, int version, cuuint64_t flags);

/* connect.c */
CUresult hook_cuInit(unsigned flags);

/* hooks/init.c */
CUresult hook_cuDriverGetVersion(int *version);
CUresult hook_cuGetErrorName(CUresult error, const char **name);
CUresult hook_cuGetErrorString(CUresult error, const char **text);
CUresult hook_cuDeviceGetCount(int *count);
CUresult hook_cuDeviceGet(CUdevice *dev, int ordinal);
CUresult hook_cuDeviceGetName(char *name, int len, CUdevice dev);
CUresult hook_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
CUresult hook_cuDeviceTotalMem(size_t *bytes, CUdevice dev);
CUresult hook_cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice dev);
CUresult hook_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev);
CUresult hook_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev);
CUresult hook_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer);
CUresult hook_cuDeviceGetP2PAttribute(const int *value);
CUresult hook_cuDeviceGetP2PAtomicCapabilities(const unsigned *capabilities,
					       const CUatomicOperation *operations, unsigned n);
CUresult hook_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev);
CUresult hook_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id);

/* hooks/ctx.c */
CUresult hook_cuCtxGetCurrent(CUcontext *ctx);
CUresult hook_cuCtxSetCurrent(CUcontext handle);
CUresult hook_cuCtxPushCurrent(CUcontext handle);
CUresult hook_cuCtxPopCurrent(CUcontext *ctx);
CUresult hook_cuCtxCreate(CUcontext *ctx, unsigned flags, CUdevice dev);
CUresult hook_cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *affinity, int n, unsigned flags,
			     CUdevice dev);
CUresult hook_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned flags,
			     CUdevice dev);
CUresult hook_cuCtxDestroy(CUcontext handle);
CUresult hook_cuCtxAttach(CUcontext *ctx, unsigned flags);
CUresult hook_cuCtxDetach(CUcontext handle);
CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev);
CUresult hook_cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult hook_cuDevicePrimaryCtxRelease_v1(CUdevice dev);
CUresult hook_cuDevicePrimaryCtxReset(CUdevice dev);
CUresult hook_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags);
CUresult hook_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active);
CUresult hook_cuCtxGetApiVersion(CUcontext handle, unsigned *version);
CUresult hook_cuCtxGetDevice(CUdevice *dev, CUcontext handle);
CUresult hook_cuCtxGetFlags(unsigned *flags);
CUresult hook_cuCtxSetFlags(unsigned flags);
CUresult hook_cuCtxGetId(CUcontext handle, unsigned long long *id);
CUresult hook_cuCtxGetLimit(size_t *value, CUlimit limit);
CUresult hook_cuCtxSetLimit(CUlimit limit, size_t value);
CUresult hook_cuCtxGetCacheConfig(CUfunc_cache *config);
CUresult hook_cuCtxSetCacheConfig(CUfunc_cache config);
CUresult hook_cuCtxGetSharedMemConfig(CUsharedconfig *config);
CUresult hook_cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult hook_cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult hook_cuCtxResetPersistingL2Cache(void);
CUresult hook_cuCtxSynchronize(CUcontext handle);
CUresult hook_cuProfilerSwitch(void);
CUresult hook_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult hook_cuCtxDisablePeerAccess(CUcontext peer);

/* hooks/module.c */
CUresult hook_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode);
CUresult hook_cuModuleLoadDataEx(CUmodule *mod, const void *image, unsigned n,
				 CUjit_option *options, void **values);
CUresult hook_cuModuleLoad(CUmodule *mod, const char *path);
CUresult hook_cuModuleUnload(CUmodule mod);
CUresult hook_cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name);
CUresult hook_cuModuleGetFunctionCount(unsigned *count, CUmodule mod);
CUresult hook_cuModuleEnumerateFunctions(CUfunction *fns, unsigned n, CUmodule mod);
CUresult hook_cuModuleGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUmodule mod, const char *name);
CUresult hook_cuLibraryLoadData(CUlibrary *lib, const void *image,
				const struct gsb_load_options *o);
CUresult hook_cuLibraryLoadFromFile(CUlibrary *lib, const char *path,
				    const struct gsb_load_options *o);
CUresult hook_cuLibraryUnload(CUlibrary handle);
CUresult hook_cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name);
CUresult hook_cuLibraryGetModule(CUmodule *mod, CUlibrary handle);
CUresult hook_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary handle,
				 const char *name);
CUresult hook_cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary handle,
				  const char *name);
CUresult hook_cuLibraryGetKernelCount(unsigned *count, CUlibrary handle);
CUresult hook_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary handle);

/* hooks/link.c */
CUresult hook_cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *out);
CUresult hook_cuLinkAddData(CUlinkState state, CUjitInputType type, const void *data, size_t size);
CUresult hook_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path);
CUresult hook_cuLinkComplete(CUlinkState state, void **cubin, size_t *size);
CUresult hook_cuLinkDestroy(CUlinkState state);

/* hooks/function.c */
CUresult hook_cuFuncGetAttribute(int *value, CUfunction_attribute attr, CUfunction fn);
CUresult hook_cuKernelGetAttribute(int *value, CUfunction_attribute attr, CUkernel kernel,
				   CUdevice dev);
CUresult hook_cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value);
CUresult hook_cuKernelSetAttribute(CUfunction_attribute attr, int value, CUkernel kernel,
				   CUdevice dev);
CUresult hook_cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config);
CUresult hook_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev);
CUresult hook_cuFuncSetSharedMemConfig(CUfunction fn, CUsharedconfig config);
CUresult hook_cuFuncGetModule(CUmodule *mod, CUfunction fn);
CUresult hook_cuFuncGetName(const char **name, CUfunction fn);
CUresult hook_cuKernelGetName(const char **name, CUkernel kernel);
CUresult hook_cuKernelGetFunction(CUfunction *fn, CUkernel kernel);
CUresult hook_cuKernelGetLibrary(CUlibrary *lib, CUkernel kernel);
CUresult hook_cuFuncGetParamInfo(CUfunction fn, size_t i, size_t *offset, size_t *size);
CUresult hook_cuKernelGetParamInfo(CUkernel kernel, size_t i, size_t *offset, size_t *size);
CUresult hook_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction fn);
CUresult hook_cuFuncLoad(CUfunction fn);
CUresult hook_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction fn,
								   int block_size, size_t smem,
								   unsigned flags);
CUresult hook_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction fn, int blocks,
						      int block_size);
CUresult hook_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
							const struct gsb_block_search *search);
CUresult hook_cuOccupancyMaxActiveClusters(int *n, CUfunction fn, const CUlaunchConfig *config);
CUresult hook_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn,
						 const CUlaunchConfig *config);

/* hooks/tensor.c */
CUresult hook_cuTensorMapEncodeTiled(CUtensorMap *map, const struct gsb_tensor *t,
				     const cuuint32_t *box);
CUresult hook_cuTensorMapEncodeIm2col(CUtensorMap *map, const struct gsb_tensor *t,
				      const int *lower, const int *upper, cuuint32_t channels,
				      cuuint32_t pixels);
CUresult hook_cuTensorMapReplaceAddress(CUtensorMap *map, void *addr);

/* hooks/cluster.c */
/* Puts what it asks for into the flags of a launch; refused where the device has no clusters. */
CUresult gsb_read_cluster(const CUlaunchAttribute *a, uint32_t *flags);
/* Whether a kernel may be in such clusters; the device may have none so large. */
CUresult gsb_check_cluster(uint32_t flags, const uint32_t grid[3], const struct gsb_cu_function *f);
/* Blocks of the largest cluster that the function is allowed. */
uint32_t gsb_largest_cluster(const struct gsb_cu_function *f);
uint32_t gsb_cluster_size(uint32_t flags); /* in blocks */
/* The engine knows what the kernel was compiled for; a cluster that was set since then is one of the launch, which is then @told. */
CUresult gsb_tell_cluster(const struct gsb_launch *l, const struct gsb_cu_function *f,
			  struct gsb_launch *told);

/* hooks/launch.c */
CUresult hook_cuLaunchKernel(const struct gsb_launch *l);
CUresult hook_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params,
			       void **extra, CUstream default_stream);

/* hooks/setup.c */
CUresult hook_cuFuncSetBlockShape(CUfunction fn, int x, int y, int z);
CUresult hook_cuFuncSetSharedSize(CUfunction fn, unsigned bytes);
CUresult hook_cuParamSetSize(CUfunction fn, unsigned bytes);
CUresult hook_cuParamSetv(CUfunction fn, int offset, const void *bytes, unsigned n);
CUresult hook_cuLaunchGrid(CUfunction fn, int width, int height, CUstream stream);

/* hooks/pool.c: whether there is a pool of such memory at that place. */
CUresult gsb_pool_check_place(const CUmemLocation *where, CUmemAllocationType type);
CUresult hook_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult hook_cuMemPoolDestroy(CUmemoryPool pool);
CUresult hook_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n);
CUresult hook_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				 const CUmemLocation *where);
CUresult hook_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult hook_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult hook_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool);
CUresult hook_cuMemGetDefaultMemPool(CUmemoryPool *pool, const CUmemLocation *where,
				     CUmemAllocationType type);
CUresult hook_cuMemGetMemPool(CUmemoryPool *pool, const CUmemLocation *where,
			      CUmemAllocationType type);
CUresult hook_cuMemSetMemPool(const CUmemLocation *where, CUmemAllocationType type,
			      CUmemoryPool pool);
CUresult hook_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult hook_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult hook_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);

/* hooks/mem.c */
CUresult hook_cuMemAlloc(CUdeviceptr *ptr, size_t n);
CUresult hook_cuMemAllocPitch(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			      unsigned element);
CUresult hook_cuMemFree(CUdeviceptr ptr);
CUresult hook_cuMemAllocAsync(CUdeviceptr *ptr, size_t n, CUstream stream);
CUresult hook_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr);
CUresult hook_cuIpcOpenMemHandle(CUdeviceptr *ptr, const CUipcMemHandle *handle, unsigned flags);
CUresult hook_cuIpcCloseMemHandle(CUdeviceptr ptr);
CUresult hook_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event);
CUresult hook_cuIpcOpenEventHandle(CUevent *event, const CUipcEventHandle *handle);
CUresult hook_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
					   CUmemAllocationHandleType type,
					   unsigned long long flags);
CUresult hook_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
					     CUmemAllocationHandleType type);
CUresult hook_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
					       CUmemAllocationHandleType type,
					       unsigned long long flags);
CUresult hook_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *from,
						 CUmemAllocationHandleType type,
						 unsigned long long flags);
CUresult hook_cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr);
CUresult hook_cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool,
				     const CUmemPoolPtrExportData *data);
CUresult hook_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream);
CUresult hook_cuMemGetInfo(size_t *free_bytes, size_t *total);
CUresult hook_cuMemHostAlloc(void **ptr, size_t n, unsigned flags);
CUresult hook_cuMemAllocManaged(CUdeviceptr *ptr, size_t n, unsigned flags);
CUresult hook_cuMemFreeHost(void *ptr);
CUresult hook_cuMemHostRegister(void *ptr, size_t n, unsigned flags);
CUresult hook_cuMemHostUnregister(void *ptr);
CUresult hook_cuMemHostGetDevicePointer(CUdeviceptr *dev, void *ptr, unsigned flags);
CUresult hook_cuMemHostGetFlags(unsigned *flags, void *ptr);
CUresult hook_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t n, CUmemoryPool pool,
				      CUstream stream);
CUresult hook_cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
CUresult hook_cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr);
CUresult hook_cuPointerGetAttributes(unsigned n, CUpointer_attribute *attrs, void **data,
				     CUdeviceptr ptr);

/* hooks/virtual.c */
CUresult hook_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr hint,
				  unsigned long long flags);
CUresult hook_cuMemAddressFree(CUdeviceptr ptr, size_t size);
CUresult hook_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			  const CUmemAllocationProp *prop, unsigned long long flags);
CUresult hook_cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult hook_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr);
CUresult hook_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						     CUmemGenericAllocationHandle handle);
CUresult hook_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					    CUmemAllocationGranularity_flags option);
CUresult hook_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
		       CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult hook_cuMemUnmap(CUdeviceptr ptr, size_t size);
CUresult hook_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t n);
CUresult hook_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where,
			     CUdeviceptr ptr);

/* hooks/managed.c */
CUresult hook_cuMemPrefetchAsync(CUdeviceptr ptr, size_t n, CUdevice device, CUstream stream);
CUresult hook_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t n, CUmemLocation where, unsigned flags,
				    CUstream stream);
CUresult hook_cuMemAdvise(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUdevice device);
CUresult hook_cuMemAdvise_v2(CUdeviceptr ptr, size_t n, CUmem_advise advice, CUmemLocation where);
CUresult hook_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t n, unsigned flags);
CUresult hook_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
				     CUdeviceptr ptr, size_t n);
CUresult hook_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
				      size_t n_attributes, CUdeviceptr ptr, size_t n);

/* hooks/copy.c */
CUresult hook_cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n, CUstream stream);
CUresult hook_cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream stream);
CUresult hook_cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpy2D(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult hook_cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult hook_cuMemcpy3D(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult hook_cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult hook_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult hook_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult hook_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			   size_t n, CUstream stream);
CUresult hook_cuMemcpyAtoA(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t n,
			   CUstream stream);
CUresult hook_cuMemcpyAtoD(CUdeviceptr dst, CUarray src, size_t offset, size_t n, CUstream stream);
CUresult hook_cuMemcpyDtoA(CUarray dst, size_t offset, CUdeviceptr src, size_t n, CUstream stream);
CUresult hook_cuMemcpyAtoH(void *dst, CUarray src, size_t offset, size_t n, CUstream stream);
CUresult hook_cuMemcpyAtoHAsync(void *dst, CUarray src, size_t offset, size_t n, CUstream stream);
CUresult hook_cuMemcpyHtoA(CUarray dst, size_t offset, const void *src, size_t n, CUstream stream);
CUresult hook_cuMemcpyHtoAAsync(CUarray dst, size_t offset, const void *src, size_t n,
				CUstream stream);

/* hooks/copy_batch.c. attrs[k] is for the copies from first[k] on. */
struct gsb_copy_batch {
	const CUdeviceptr *dsts, *srcs;
	const size_t *sizes;
	size_t n;
	const CUmemcpyAttributes *attrs;
	const size_t *first;
	size_t n_attrs;
};
CUresult hook_cuMemcpyBatchAsync(const struct gsb_copy_batch *batch, size_t *fail, CUstream stream);
CUresult hook_cuMemcpy3DBatchAsync(size_t n, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail,
				   unsigned long long flags, CUstream stream);

/* hooks/mem_op.c */
struct gsb_word {
	CUdeviceptr addr;
	uint64_t value;
	uint32_t bytes; /* 4: the lower half */
	unsigned flags;
};
CUresult hook_cuStreamWriteValue(CUstream stream, const struct gsb_word *w);
CUresult hook_cuStreamBatchMemOp(CUstream stream, unsigned n, const CUstreamBatchMemOpParams *ops,
				 unsigned flags);

/* array.c */
CUresult hook_cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc);
CUresult hook_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc);
CUresult hook_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array);
CUresult hook_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array);
CUresult hook_cuArrayDestroy(CUarray array);
CUresult hook_cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
				     unsigned n_levels);
CUresult hook_cuMipmappedArrayDestroy(CUmipmappedArray array);
CUresult hook_cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned nth);
CUresult hook_cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
				const CUDA_TEXTURE_DESC *texture,
				const CUDA_RESOURCE_VIEW_DESC *view);
CUresult hook_cuTexObjectDestroy(CUtexObject object);
CUresult hook_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject object);
CUresult hook_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject object);
CUresult hook_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out, CUtexObject object);
CUresult hook_cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource);
CUresult hook_cuSurfObjectDestroy(CUsurfObject object);
CUresult hook_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject object);
CUresult hook_cuMemset(const struct gsb_fill *f, CUstream stream);
CUresult hook_cuMemsetAsync(const struct gsb_fill *f, CUstream stream);

/* hooks/stream.c */
CUresult hook_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
CUresult hook_cuStreamDestroy(CUstream stream);
CUresult hook_cuStreamGetCtx(CUstream stream, CUcontext *ctx);
CUresult hook_cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green);
CUresult hook_cuStreamGetDevice(CUstream stream, CUdevice *dev);
CUresult hook_cuStreamGetFlags(CUstream stream, unsigned *flags);
CUresult hook_cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult hook_cuStreamQuery(CUstream stream);
CUresult hook_cuStreamSynchronize(CUstream stream);
CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult hook_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data);
CUresult hook_cuStreamAddCallback(CUstream stream, CUstream as, CUstreamCallback fn, void *data,
				  unsigned flags);

/* hooks/stream_attr.c */
CUresult hook_cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value);
CUresult hook_cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr,
				   const CUstreamAttrValue *value);
CUresult hook_cuStreamCopyAttributes(CUstream dst, CUstream src);
CUresult hook_cuStreamGetPriority(CUstream stream, int *priority);

/* hooks/event.c */
CUresult hook_cuEventCreate(CUevent *event, unsigned flags);
CUresult hook_cuEventDestroy(CUevent event);
CUresult gsb_event_check(CUevent event, CUstream stream, unsigned flags); /* would it be recorded */
CUresult hook_cuEventRecord(CUevent event, CUstream stream, unsigned flags);
CUresult hook_cuEventQuery(CUevent event);
CUresult hook_cuEventSynchronize(CUevent event);
CUresult hook_cuEventElapsedTime(float *ms, CUevent start, CUevent end);

/* tables.c. asker: the code that calls. */
CUresult hook_cuGetExportTable(const void **table, const CUuuid *id, const void *asker);

#endif
