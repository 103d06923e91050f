/*
 * calls/function.c - kernels: what they need, what is set for them, and how many blocks fit.
 */
#include "cudart/calls/calls.h"
#include "base/compiler.h"
#include "cudart/context.h"
#include "cudart/error.h"
#include "cudart/registry.h"

/* A handle that the driver does not know is no function here. */
static cudaError_t about(CUresult result)
{
	return result == CUDA_ERROR_INVALID_HANDLE ? cudaErrorInvalidDeviceFunction
						   : gsb_rt_error(result);
}

static int attribute(CUkernel kernel, int attr)
{
	int value = 0;

	gsb_rt_drivers->cuKernelGetAttribute(&value, (CUfunction_attribute)attr, kernel,
					     gsb_rt_device());
	return value;
}

static void fill(struct cudaFuncAttributes *a, CUkernel k)
{
	*a = (struct cudaFuncAttributes){
		.maxThreadsPerBlock = attribute(k, 0),
		.sharedSizeBytes = (size_t)attribute(k, 1),
		.constSizeBytes = (size_t)attribute(k, 2),
		.localSizeBytes = (size_t)attribute(k, 3),
		.numRegs = attribute(k, 4),
		.ptxVersion = attribute(k, 5),
		.binaryVersion = attribute(k, 6),
		.cacheModeCA = attribute(k, 7),
		.maxDynamicSharedSizeBytes = attribute(k, 8),
		.preferredShmemCarveout = attribute(k, 9),
		.clusterDimMustBeSet = attribute(k, 10),
		.requiredClusterWidth = attribute(k, 11),
		.requiredClusterHeight = attribute(k, 12),
		.requiredClusterDepth = attribute(k, 13),
		.nonPortableClusterSizeAllowed = attribute(k, 14),
		.clusterSchedulingPolicyPreference = attribute(k, 15),
	};
}

cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *func)
{
	CUkernel kernel;
	int threads;
	cudaError_t error = out ? gsb_rt_kernel(func, &kernel) : cudaErrorInvalidValue;

	if (!error)
		error = about(gsb_rt_drivers->cuKernelGetAttribute(
			&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel,
			gsb_rt_device()));
	if (!error)
		fill(out, kernel);
	return error;
}

cudaError_t rt_cudaFuncSetAttribute(const void *func, CUfunction_attribute attr, int value)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error
		     : about(gsb_rt_drivers->cuKernelSetAttribute(attr, value, kernel,
								  gsb_rt_device()));
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *func, CUfunc_cache config)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error
		     : about(gsb_rt_drivers->cuKernelSetCacheConfig(kernel, config,
								    gsb_rt_device()));
}

cudaError_t rt_cudaFuncSetSharedMemConfig(const void *func, CUsharedconfig config)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error
		     : about(gsb_rt_drivers->cuFuncSetSharedMemConfig((CUfunction)kernel, config));
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *func)
{
	CUkernel kernel;
	cudaError_t error = name ? gsb_rt_kernel(func, &kernel) : cudaErrorInvalidValue;

	return error ? error : about(gsb_rt_drivers->cuKernelGetName(name, kernel));
}

cudaError_t rt_cudaFuncGetParamInfo(const void *func, size_t i, size_t *offset, size_t *size)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error : about(gsb_rt_drivers->cuKernelGetParamInfo(kernel, i, offset, size));
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *fn, const void *symbol)
{
	CUkernel kernel;
	cudaError_t error = fn ? gsb_rt_kernel(symbol, &kernel) : cudaErrorInvalidValue;

	return error ? error : about(gsb_rt_drivers->cuKernelGetFunction(fn, kernel));
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	CUkernel found;
	CUfunction fn;
	cudaError_t error = kernel ? gsb_rt_kernel(func, &found) : cudaErrorInvalidValue;

	if (!error)
		error = about(gsb_rt_drivers->cuKernelGetFunction(&fn, found));
	if (!error)
		*kernel = found;
	return error;
}

/* ---- occupancy ---- */

cudaError_t rt_cudaOccupancyMaxActiveBlocks(int *blocks, const void *func, int block_size,
					    size_t smem, unsigned flags)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error
		     : about(gsb_rt_drivers->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			       blocks, (CUfunction)kernel, block_size, smem, flags));
}

cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *n, const void *func, int blocks,
							 int block_size)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	return error ? error
		     : about(gsb_rt_drivers->cuOccupancyAvailableDynamicSMemPerBlock(
			       n, (CUfunction)kernel, blocks, block_size));
}

cudaError_t rt_cudaOccupancyMaxActiveClusters(int *clusters, const void *func,
					      const cudaLaunchConfig_t *config)
{
	CUkernel kernel;
	CUlaunchConfig as_driver;
	cudaError_t error = config ? gsb_rt_kernel(func, &kernel) : cudaErrorInvalidValue;

	if (error)
		return error;
	as_driver = gsb_rt_launch_config(config);
	return about(gsb_rt_drivers->cuOccupancyMaxActiveClusters(clusters, (CUfunction)kernel,
								  &as_driver));
}

cudaError_t rt_cudaOccupancyMaxPotentialClusterSize(int *size, const void *func,
						    const cudaLaunchConfig_t *config)
{
	CUkernel kernel;
	CUlaunchConfig as_driver;
	cudaError_t error = config ? gsb_rt_kernel(func, &kernel) : cudaErrorInvalidValue;

	if (error)
		return error;
	as_driver = gsb_rt_launch_config(config);
	return about(gsb_rt_drivers->cuOccupancyMaxPotentialClusterSize(size, (CUfunction)kernel,
									&as_driver));
}
