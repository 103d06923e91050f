/*
 * calls/launch.c - launches. The driver checks them; why it refused a shape is found out afterwards.
 */
#include <stdbool.h>

#include "base/compiler.h"
#include "cudart/calls/calls.h"
#include "cudart/context.h"
#include "cudart/error.h"
#include "cudart/registry.h"

/* ---- what the driver calls an invalid value may be the shape, which has an error of its own here ---- */

static bool fits(const dim3 *n, const CUdevice_attribute most[3], int device)
{
	const unsigned wanted[3] = {n->x, n->y, n->z};
	bool ok = true;

	for (int i = 0; i < 3; i++) {
		int limit = 0;

		gsb_rt_drivers->cuDeviceGetAttribute(&limit, most[i], device);
		ok &= wanted[i] - 1 < (unsigned)limit;
	}
	return ok;
}

static bool is_possible(const struct gsb_rt_shape *s)
{
	static const CUdevice_attribute grid[3] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
						   CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
						   CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
	static const CUdevice_attribute block[3] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
						    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
						    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
	int device = gsb_rt_device(), threads = 0;

	gsb_rt_drivers->cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
					     device);
	return fits(&s->grid, grid, device) && fits(&s->block, block, device) &&
	       (uint64_t)s->block.x * s->block.y * s->block.z <= (uint64_t)threads;
}

/* From release 13 on NVIDIA's runtime no longer tells an impossible shape from other wrong values. */
GSB_COLD static cudaError_t explain(CUresult result, const struct gsb_rt_shape *shape)
{
	if (CUDART_VERSION < 13000 && result == CUDA_ERROR_INVALID_VALUE && !is_possible(shape))
		return cudaErrorInvalidConfiguration;
	if (result == CUDA_ERROR_INVALID_HANDLE)
		return cudaErrorInvalidResourceHandle;
	return gsb_rt_error(result);
}

/* An address that nobody registered is taken for a kernel's handle; if it is none, it is no function. */
static CUresult known(CUkernel kernel)
{
	CUfunction fn;

	return gsb_rt_drivers->cuKernelGetFunction(&fn, kernel);
}

static cudaError_t result_of(CUresult result, CUkernel kernel, const struct gsb_rt_shape *shape)
{
	if (gsb_likely(!result))
		return cudaSuccess;
	if (result == CUDA_ERROR_INVALID_HANDLE && known(kernel) == CUDA_ERROR_INVALID_HANDLE)
		return cudaErrorInvalidDeviceFunction;
	return explain(result, shape);
}

/* ---- launches ---- */

cudaError_t gsb_rt_launch(const struct gsb_rt_driver *cu, const void *func,
			  const struct gsb_rt_shape *s, void **args, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	if (error)
		return error;
	if (s->smem > UINT32_MAX)
		return cudaErrorInvalidValue;
	return result_of(cu->cuLaunchKernel((CUfunction)kernel, s->grid.x, s->grid.y, s->grid.z,
					    s->block.x, s->block.y, s->block.z, (unsigned)s->smem,
					    stream, args, NULL),
			 kernel, s);
}

cudaError_t gsb_rt_launch_cooperative(const struct gsb_rt_driver *cu, const void *func,
				      const struct gsb_rt_shape *s, void **args,
				      cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t error = gsb_rt_kernel(func, &kernel);

	if (error)
		return error;
	if (s->smem > UINT32_MAX)
		return cudaErrorInvalidValue;
	return result_of(cu->cuLaunchCooperativeKernel((CUfunction)kernel, s->grid.x, s->grid.y,
						       s->grid.z, s->block.x, s->block.y,
						       s->block.z, (unsigned)s->smem, stream, args),
			 kernel, s);
}

CUlaunchConfig gsb_rt_launch_config(const cudaLaunchConfig_t *c)
{
	return (CUlaunchConfig){
		.gridDimX = c->gridDim.x,
		.gridDimY = c->gridDim.y,
		.gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x,
		.blockDimY = c->blockDim.y,
		.blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned)c->dynamicSmemBytes,
		.hStream = c->stream,
		.attrs = c->attrs,
		.numAttrs = c->numAttrs,
	};
}

cudaError_t rt_cudaLaunchKernelExC(const struct gsb_rt_driver *cu, const cudaLaunchConfig_t *c,
				   const void *func, void **args)
{
	CUkernel kernel;
	CUlaunchConfig config;
	cudaError_t error;

	if (!c || c->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	error = gsb_rt_kernel(func, &kernel);
	if (error)
		return error;
	config = gsb_rt_launch_config(c);
	return result_of(cu->cuLaunchKernelEx(&config, (CUfunction)kernel, args, NULL), kernel,
			 &(struct gsb_rt_shape){c->gridDim, c->blockDim, c->dynamicSmemBytes});
}
