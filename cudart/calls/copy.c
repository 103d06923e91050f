/*
 * calls/copy.c - copies in one, two and three dimensions, and fills in three. A copy says by its kind where its ends
 * are; cudaMemcpyDefault leaves that to the addresses. A box is copied slice by slice, in the order of its stream.
 */
#include <stdbool.h>

#include "cudart/calls/calls.h"
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

static CUmemorytype place(bool is_host, enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
	       : is_host		 ? CU_MEMORYTYPE_HOST
					 : CU_MEMORYTYPE_DEVICE;
}

static bool reads_host(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
}

static bool writes_host(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
}

static cudaError_t describe(const struct gsb_rt_rect *r, CUDA_MEMCPY2D *out)
{
	if (r->kind < cudaMemcpyHostToHost || r->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (r->width > r->dst_pitch || r->width > r->src_pitch)
		return cudaErrorInvalidPitchValue;
	*out = (CUDA_MEMCPY2D){
		.srcMemoryType = place(reads_host(r->kind), r->kind),
		.srcHost = r->src,
		.srcDevice = (CUdeviceptr)r->src,
		.srcPitch = r->src_pitch,
		.dstMemoryType = place(writes_host(r->kind), r->kind),
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

/* ---- three dimensions ---- */

/* Of pitched memory: rows of pitch bytes, slices of ysize rows; x in bytes. Checked like a size, for it is the program's. */
static cudaError_t slice_at(const struct cudaPitchedPtr *p, const struct cudaPos *at, size_t z,
			    char **out)
{
	size_t row, bytes;

	if (__builtin_add_overflow(at->z, z, &row) || __builtin_mul_overflow(row, p->ysize, &row) ||
	    __builtin_add_overflow(row, at->y, &row) ||
	    __builtin_mul_overflow(row, p->pitch, &bytes) ||
	    __builtin_add_overflow(bytes, at->x, &bytes))
		return cudaErrorInvalidValue;
	*out = (char *)p->ptr + bytes;
	return cudaSuccess;
}

static cudaError_t slice_of(const struct cudaMemcpy3DParms *p, size_t z, struct gsb_rt_rect *out)
{
	char *src = NULL, *dst = NULL;
	cudaError_t error = slice_at(&p->srcPtr, &p->srcPos, z, &src);

	if (!error)
		error = slice_at(&p->dstPtr, &p->dstPos, z, &dst);
	*out = (struct gsb_rt_rect){
		dst,	src, p->dstPtr.pitch, p->srcPtr.pitch, p->extent.width, p->extent.height,
		p->kind};
	return error;
}

static cudaError_t check_box(const struct cudaMemcpy3DParms *p)
{
	if (!p)
		return cudaErrorInvalidValue;
	if (p->srcArray || p->dstArray)
		return cudaErrorNotSupported;
	return p->srcPtr.ptr && p->dstPtr.ptr ? cudaSuccess : cudaErrorInvalidValue;
}

/* Whether there is nothing to copy: then the number of slices means nothing. */
static bool is_empty(const struct cudaExtent *e)
{
	return !e->width || !e->height || !e->depth;
}

cudaError_t rt_cudaMemcpy3D(const struct gsb_rt_driver *cu, const struct cudaMemcpy3DParms *p)
{
	struct gsb_rt_rect rect;
	cudaError_t error = check_box(p);

	for (size_t z = 0; !error && !is_empty(&p->extent) && z < p->extent.depth; z++) {
		error = slice_of(p, z, &rect);
		if (!error)
			error = gsb_rt_copy_rect(cu, &rect);
	}
	return error;
}

cudaError_t rt_cudaMemcpy3DAsync(const struct gsb_rt_driver *cu, const struct cudaMemcpy3DParms *p,
				 cudaStream_t stream)
{
	struct gsb_rt_rect rect;
	cudaError_t error = check_box(p);

	for (size_t z = 0; !error && !is_empty(&p->extent) && z < p->extent.depth; z++) {
		error = slice_of(p, z, &rect);
		if (!error)
			error = gsb_rt_copy_rect_async(cu, &rect, stream);
	}
	return error;
}

cudaError_t rt_cudaMemset3D(const struct gsb_rt_driver *cu, struct cudaPitchedPtr ptr, int value,
			    struct cudaExtent extent)
{
	char *slice;
	cudaError_t error = cudaSuccess;

	for (size_t z = 0; !error && !is_empty(&extent) && z < extent.depth; z++) {
		error = slice_at(&ptr, &(struct cudaPos){0}, z, &slice);
		if (!error)
			error = gsb_rt_error(cu->cuMemsetD2D8((CUdeviceptr)slice, ptr.pitch,
							      (unsigned char)value, extent.width,
							      extent.height));
	}
	return error;
}

cudaError_t rt_cudaMemset3DAsync(const struct gsb_rt_driver *cu, struct cudaPitchedPtr ptr,
				 int value, struct cudaExtent extent, cudaStream_t stream)
{
	char *slice;
	cudaError_t error = cudaSuccess;

	for (size_t z = 0; !error && !is_empty(&extent) && z < extent.depth; z++) {
		error = slice_at(&ptr, &(struct cudaPos){0}, z, &slice);
		if (!error)
			error = gsb_rt_error(cu->cuMemsetD2D8Async(
				(CUdeviceptr)slice, ptr.pitch, (unsigned char)value, extent.width,
				extent.height, stream));
	}
	return error;
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
