/*
 * calls/generated.c - the functions that the compiler's own code calls: it registers what is in a program before
 * main(), and splits `kernel<<<...>>>(...)` into a configuration that is pushed, its arguments, and a launch of it.
 */
#include "base/compiler.h"
#include "cudart/calls/calls.h"
#include "cudart/calls/generated.h"
#include "cudart/context.h"
#include "cudart/error.h"
#include "cudart/registry.h"

/* ---- images and what is in them ---- */

void **__cudaRegisterFatBinary(void *code)
{
	return (void **)gsb_rt_image_register(code);
}

/* Nothing is loaded before it is used. */
void __cudaRegisterFatBinaryEnd(void **image)
{
}

void __cudaUnregisterFatBinary(void **image)
{
	gsb_rt_image_unregister((struct gsb_rt_image *)image);
}

void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, void *block, void *grid,
			    int *warp_size)
{
	gsb_rt_symbol_register((struct gsb_rt_image *)image, GSB_RT_FUNCTION, host, name);
}

void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global)
{
	gsb_rt_symbol_register((struct gsb_rt_image *)image, GSB_RT_VARIABLE, host, name);
}

void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global)
{
	gsb_rt_symbol_register((struct gsb_rt_image *)image, GSB_RT_MANAGED, host, name);
}

/* Programs with managed variables call it before they touch one. */
char __cudaInitModule(void **image)
{
	cudaError_t error = gsb_rt_enter_ctx();

	if (!error)
		error = gsb_rt_image_load((struct gsb_rt_image *)image);
	gsb_rt_keep(error);
	return !error;
}

/* ---- launches ---- */

#define MAX_PUSHED 64 /* arguments of a launch may launch, too: no program nests them so deep */

static _Thread_local struct {
	unsigned n;
	struct {
		struct gsb_rt_shape shape;
		cudaStream_t stream;
	} at[MAX_PUSHED];
} pushed;

/* Not 0: the launch does not take place. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, void *stream)
{
	if (pushed.n == MAX_PUSHED)
		return gsb_rt_keep(cudaErrorLaunchMaxDepthExceeded);
	pushed.at[pushed.n].shape = (struct gsb_rt_shape){grid, block, smem};
	pushed.at[pushed.n++].stream = stream;
	return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem, void *stream)
{
	if (!pushed.n)
		return gsb_rt_keep(cudaErrorMissingConfiguration);
	pushed.n--;
	*grid = pushed.at[pushed.n].shape.grid;
	*block = pushed.at[pushed.n].shape.block;
	*smem = pushed.at[pushed.n].shape.smem;
	*(cudaStream_t *)stream = pushed.at[pushed.n].stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	cudaError_t error = gsb_rt_enter_ctx();

	*kernel = (cudaKernel_t)func;
	return error ? error : gsb_rt_kernel_for_stub(func, kernel);
}

static cudaError_t launch(const struct gsb_rt_driver *cu, cudaKernel_t kernel,
			  const struct gsb_rt_shape *shape, void **args, cudaStream_t stream)
{
	cudaError_t error = gsb_rt_enter_ctx();

	return gsb_rt_keep(error ? error
				 : gsb_rt_launch(cu, (const void *)kernel, shape, args, stream));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t smem,
			       cudaStream_t stream)
{
	return launch(&gsb_rt_drivers[GSB_RT_LEGACY], kernel,
		      &(struct gsb_rt_shape){grid, block, smem}, args, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t smem, cudaStream_t stream)
{
	return launch(&gsb_rt_drivers[GSB_RT_PER_THREAD], kernel,
		      &(struct gsb_rt_shape){grid, block, smem}, args, stream);
}
