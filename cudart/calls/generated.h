/*
 * generated.h - the functions that the compiler's own code calls, as it declares them (crt/host_runtime.h of the
 * toolkit).
 */
#ifndef GSB_CUDART_CALLS_GENERATED_H
#define GSB_CUDART_CALLS_GENERATED_H

#include "base/compiler.h"
#include "cudart/abi.h"

GSB_EXPORT void **__cudaRegisterFatBinary(void *code);
GSB_EXPORT void __cudaRegisterFatBinaryEnd(void **image);
GSB_EXPORT void __cudaUnregisterFatBinary(void **image);
GSB_EXPORT void __cudaRegisterFunction(void **image, const char *host, char *device,
				       const char *name, int thread_limit, void *tid, void *bid,
				       void *block, void *grid, int *warp_size);
GSB_EXPORT void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int ext,
				  size_t size, int constant, int global);
GSB_EXPORT void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name,
					 int ext, size_t size, int constant, int global);
GSB_EXPORT char __cudaInitModule(void **image);
GSB_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, void *stream);
GSB_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem,
						  void *stream);
GSB_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);
GSB_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
					  size_t smem, cudaStream_t stream);
GSB_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
					       void **args, size_t smem, cudaStream_t stream);

#endif
