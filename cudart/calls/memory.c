/*
 * calls/memory.c - allocations. Nothing of a size is a NULL pointer, and freeing that is nothing.
 */
#include "cudart/calls/calls.h"
#include "base/compiler.h"
#include "cudart/context.h"
#include "cudart/error.h"

#define PITCH_ELEMENT_BYTES 4 /* what the driver is told that a kernel reads at once */

static cudaError_t none(void **ptr)
{
	if (!ptr)
		return cudaErrorInvalidValue;
	*ptr = NULL;
	return cudaSuccess;
}

cudaError_t rt_cudaMalloc(void **ptr, size_t n)
{
	return n ? gsb_rt_error(gsb_rt_drivers->cuMemAlloc((CUdeviceptr *)ptr, n)) : none(ptr);
}

cudaError_t rt_cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	if (!pitch)
		return cudaErrorInvalidValue;
	if (width && height)
		return gsb_rt_error(gsb_rt_drivers->cuMemAllocPitch(
			(CUdeviceptr *)ptr, pitch, width, height, PITCH_ELEMENT_BYTES));
	*pitch = 0;
	return none(ptr);
}

cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent)
{
	struct cudaPitchedPtr made = {.xsize = extent.width, .ysize = extent.height};
	size_t rows;
	cudaError_t error;

	if (!ptr)
		return cudaErrorInvalidValue;
	if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
		return cudaErrorMemoryAllocation;
	error = rt_cudaMallocPitch(&made.ptr, &made.pitch, extent.width, rows);
	if (!error)
		*ptr = made;
	return error;
}

cudaError_t rt_cudaFree(void *ptr)
{
	return ptr ? gsb_rt_error(gsb_rt_drivers->cuMemFree((CUdeviceptr)ptr)) : cudaSuccess;
}

cudaError_t rt_cudaHostAlloc(void **ptr, size_t n, unsigned flags)
{
	return n ? gsb_rt_error(gsb_rt_drivers->cuMemHostAlloc(ptr, n, flags)) : none(ptr);
}

cudaError_t rt_cudaFreeHost(void *ptr)
{
	return ptr ? gsb_rt_error(gsb_rt_drivers->cuMemFreeHost(ptr)) : cudaSuccess;
}

cudaError_t rt_cudaMallocAsync(const struct gsb_rt_driver *cu, void **ptr, size_t n,
			       cudaStream_t stream)
{
	return n ? gsb_rt_error(cu->cuMemAllocAsync((CUdeviceptr *)ptr, n, stream)) : none(ptr);
}

cudaError_t rt_cudaFreeAsync(const struct gsb_rt_driver *cu, void *ptr, cudaStream_t stream)
{
	return ptr ? gsb_rt_error(cu->cuMemFreeAsync((CUdeviceptr)ptr, stream)) : cudaSuccess;
}

struct cudaMemLocation gsb_rt_location(int device)
{
	struct cudaMemLocation where = {.type = cudaMemLocationTypeDevice, .id = device};

	if (device == cudaCpuDeviceId)
		where = (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
	return where;
}

/* ---- what a pointer is ---- */

static enum cudaMemoryType kind_of(CUmemorytype type, unsigned is_managed)
{
	if (is_managed)
		return cudaMemoryTypeManaged;
	switch (type) {
	case CU_MEMORYTYPE_HOST: return cudaMemoryTypeHost;
	case CU_MEMORYTYPE_DEVICE: return cudaMemoryTypeDevice;
	default: return cudaMemoryTypeUnregistered;
	}
}

/* The driver answers 0 for all of them where it does not know the pointer: that is no error here. */
cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *ptr)
{
	CUmemorytype type = 0;
	CUdeviceptr device_ptr = 0;
	void *host_ptr = NULL;
	unsigned is_managed = 0;
	int device = cudaInvalidDeviceId;
	CUpointer_attribute ids[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	void *values[] = {&type, &device_ptr, &host_ptr, &is_managed, &device};
	cudaError_t error;

	if (!out || !ptr)
		return cudaErrorInvalidValue;
	error = gsb_rt_error(gsb_rt_drivers->cuPointerGetAttributes(GSB_ARRAY_LEN(ids), ids, values,
								    (CUdeviceptr)ptr));
	if (error)
		return error;
	*out = (struct cudaPointerAttributes){
		.type = kind_of(type, is_managed),
		.device = device,
		.devicePointer = (void *)device_ptr,
		.hostPointer = host_ptr,
	};
	if (out->type == cudaMemoryTypeUnregistered) {
		out->device = cudaInvalidDeviceId;
		out->hostPointer = (void *)ptr;
	}
	return cudaSuccess;
}
