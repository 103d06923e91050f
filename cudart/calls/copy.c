/*
 * calls/copy.c - copies in one and two dimensions. A copy says by its kind where its ends are; cudaMemcpyDefault leaves
 * that to the addresses.
 */
#include "cudart/calls/calls.h"
#include "cudart/calls/kind.h"
#include "cudart/context.h"
#include "cudart/error.h"

/* ---- one dimension ---- */

cudaError_t gsb_rt_copy(const struct gsb_rt_driver *cu, void *dst, const void *src, size_t n,
			enum cudaMemcpyKind kind)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return gsb_rt_error(cu->cuMemcpy(to, from, n));
	case cudaMemcpyHostToDevice: return gsb_rt_error(cu->cuMemcpyHtoD(to, src, n));
	case cudaMemcpyDeviceToHost: return gsb_rt_error(cu->cuMemcpyDtoH(dst, from, n));
	case cudaMemcpyDeviceToDevice: return gsb_rt_error(cu->cuMemcpyDtoD(to, from, n));
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t gsb_rt_copy_async(const struct gsb_rt_driver *cu, void *dst, const void *src, size_t n,
			      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return gsb_rt_error(cu->cuMemcpyAsync(to, from, n, stream));
	case cudaMemcpyHostToDevice: return gsb_rt_error(cu->cuMemcpyHtoDAsync(to, src, n, stream));
	case cudaMemcpyDeviceToHost:
		return gsb_rt_error(cu->cuMemcpyDtoHAsync(dst, from, n, stream));
	case cudaMemcpyDeviceToDevice:
		return gsb_rt_error(cu->cuMemcpyDtoDAsync(to, from, n, stream));
	}
	return cudaErrorInvalidMemcpyDirection;
}

/* ---- two dimensions ---- */

static cudaError_t describe(const struct gsb_rt_rect *r, CUDA_MEMCPY2D *out)
{
	if (!gsb_rt_is_kind(r->kind))
		return cudaErrorInvalidMemcpyDirection;
	/* Of one row it is the driver that looks at the pitch. */
	if (r->height > 1 && (r->width > r->dst_pitch || r->width > r->src_pitch))
		return cudaErrorInvalidPitchValue;
	*out = (CUDA_MEMCPY2D){
		.srcMemoryType = gsb_rt_source(r->kind),
		.srcHost = r->src,
		.srcDevice = (CUdeviceptr)r->src,
		.srcPitch = r->src_pitch,
		.dstMemoryType = gsb_rt_target(r->kind),
		.dstHost = r->dst,
		.dstDevice = (CUdeviceptr)r->dst,
		.dstPitch = r->dst_pitch,
		.WidthInBytes = r->width,
		.Height = r->height,
	};
	return cudaSuccess;
}

cudaError_t gsb_rt_copy_rect(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *rect)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = describe(rect, &copy);

	if (error || !rect->width || !rect->height)
		return error;
	return gsb_rt_error(cu->cuMemcpy2DUnaligned(&copy));
}

cudaError_t gsb_rt_copy_rect_async(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *rect,
				   cudaStream_t stream)
{
	CUDA_MEMCPY2D copy;
	cudaError_t error = describe(rect, &copy);

	if (error || !rect->width || !rect->height)
		return error;
	return gsb_rt_error(cu->cuMemcpy2DAsync(&copy, stream));
}

/* ---- between devices: they share one space of addresses ---- */

static cudaError_t check_devices(int a, int b)
{
	cudaError_t error = gsb_rt_check_device(a);

	return error ? error : gsb_rt_check_device(b);
}

cudaError_t rt_cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n)
{
	cudaError_t error = check_devices(dst_device, src_device);

	return error ? error : gsb_rt_copy(gsb_rt_drivers, dst, src, n, cudaMemcpyDeviceToDevice);
}

cudaError_t rt_cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
				   size_t n, cudaStream_t stream)
{
	cudaError_t error = check_devices(dst_device, src_device);

	return error ? error
		     : gsb_rt_copy_async(gsb_rt_drivers, dst, src, n, cudaMemcpyDeviceToDevice,
					 stream);
}
