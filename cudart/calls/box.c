/*
 * calls/box.c - copies and fills in three dimensions. An end is an array or pitched memory; lengths count an array's texels
 * where there is an array, and bytes otherwise, and so do places, those in memory, too.
 */
#include <stdbool.h>

#include "cudart/calls/calls.h"
#include "cudart/calls/kind.h"
#include "cudart/context.h"
#include "cudart/error.h"

struct end {
	cudaArray_t array;
	const struct cudaPitchedPtr *memory;
	const struct cudaPos *at;
	size_t texel_bytes; /* 0: memory */
};

/* Whether there is nothing in it: then the other lengths mean nothing. */
static bool is_empty(const struct cudaExtent *e)
{
	return !e->width || !e->height || !e->depth;
}

/* ---- copies ---- */

static cudaError_t look_at(struct end *e)
{
	struct gsb_rt_array_shape shape;
	cudaError_t error;

	if (!e->array == !e->memory->ptr) /* one of the two */
		return cudaErrorInvalidValue;
	if (!e->array)
		return cudaSuccess;
	error = gsb_rt_array_shape(e->array, &shape);
	if (!error)
		e->texel_bytes = shape.texel_bytes;
	return error;
}

/* Whether `n` of a row's bytes, or of a slice's rows, lie inside from `at` on; of a single one the length may be untold. */
static bool lies_inside(size_t at, size_t n, size_t length)
{
	size_t end;

	return !__builtin_add_overflow(at, n, &end) && (end <= length || !length);
}

/* A pitch is for more than one row, and a height for more than one slice; what is told of one must hold, too. */
static cudaError_t measure_memory(const struct end *e, const CUDA_MEMCPY3D *copy, size_t x_bytes)
{
	const struct cudaPitchedPtr *p = e->memory;

	if ((copy->Height > 1 || copy->Depth > 1) && p->pitch < copy->WidthInBytes)
		return cudaErrorInvalidPitchValue;
	if (copy->Depth > 1 && p->ysize < copy->Height)
		return cudaErrorInvalidPitchValue;
	return lies_inside(x_bytes, copy->WidthInBytes, p->pitch) &&
			       lies_inside(e->at->y, copy->Height, p->ysize)
		       ? cudaSuccess
		       : cudaErrorInvalidValue;
}

/* Where a row begins that is copied. What is too much to count is wrong. */
static cudaError_t measure(const struct end *e, const CUDA_MEMCPY3D *copy, size_t unit,
			   size_t *x_bytes)
{
	if (__builtin_mul_overflow(e->at->x, unit, x_bytes))
		return cudaErrorInvalidValue;
	return e->array ? cudaSuccess : measure_memory(e, copy, *x_bytes);
}

static void fill_source(const struct end *e, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy)
{
	copy->srcMemoryType = e->array ? CU_MEMORYTYPE_ARRAY : gsb_rt_source(kind);
	copy->srcArray = e->array;
	copy->srcHost = e->memory->ptr;
	copy->srcDevice = (CUdeviceptr)e->memory->ptr;
	copy->srcPitch = e->memory->pitch;
	copy->srcHeight = e->memory->ysize;
	copy->srcY = e->at->y;
	copy->srcZ = e->at->z;
}

static void fill_target(const struct end *e, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy)
{
	copy->dstMemoryType = e->array ? CU_MEMORYTYPE_ARRAY : gsb_rt_target(kind);
	copy->dstArray = e->array;
	copy->dstHost = e->memory->ptr;
	copy->dstDevice = (CUdeviceptr)e->memory->ptr;
	copy->dstPitch = e->memory->pitch;
	copy->dstHeight = e->memory->ysize;
	copy->dstY = e->at->y;
	copy->dstZ = e->at->z;
}

cudaError_t gsb_rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *copy)
{
	struct end src = {p->srcArray, &p->srcPtr, &p->srcPos, 0},
		   dst = {p->dstArray, &p->dstPtr, &p->dstPos, 0};
	size_t unit;
	cudaError_t error =
		gsb_rt_is_kind(p->kind) ? look_at(&src) : cudaErrorInvalidMemcpyDirection;

	if (!error)
		error = look_at(&dst);
	if (error)
		return error;
	if (src.array && dst.array && src.texel_bytes != dst.texel_bytes)
		return cudaErrorInvalidValue;
	unit = src.array ? src.texel_bytes : dst.array ? dst.texel_bytes : 1;
	*copy = (CUDA_MEMCPY3D){.Height = p->extent.height, .Depth = p->extent.depth};
	if (__builtin_mul_overflow(p->extent.width, unit, &copy->WidthInBytes))
		return cudaErrorInvalidValue;
	fill_source(&src, p->kind, copy);
	fill_target(&dst, p->kind, copy);
	error = measure(&src, copy, unit, &copy->srcXInBytes);
	return error ? error : measure(&dst, copy, unit, &copy->dstXInBytes);
}

/* ---- back ---- */

static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (from == CU_MEMORYTYPE_HOST)
		return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

/* In what lengths are counted: a texel of the array, or a byte. */
static cudaError_t unit_of(const CUDA_MEMCPY3D *copy, size_t *unit)
{
	struct gsb_rt_array_shape shape = {.texel_bytes = 1};
	cudaError_t error = cudaSuccess;

	if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		error = gsb_rt_array_shape(copy->srcArray, &shape);
	else if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		error = gsb_rt_array_shape(copy->dstArray, &shape);
	*unit = shape.texel_bytes;
	return error;
}

static void tell_source(const CUDA_MEMCPY3D *copy, size_t unit, struct cudaMemcpy3DParms *out)
{
	bool is_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;

	out->srcPos = (struct cudaPos){copy->srcXInBytes / unit, copy->srcY, copy->srcZ};
	if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		out->srcArray = copy->srcArray;
	else
		out->srcPtr = (struct cudaPitchedPtr){
			.ptr = (void *)(is_host ? (uintptr_t)copy->srcHost : copy->srcDevice),
			.pitch = copy->srcPitch,
			.xsize = copy->WidthInBytes,
			.ysize = copy->srcHeight};
}

static void tell_target(const CUDA_MEMCPY3D *copy, size_t unit, struct cudaMemcpy3DParms *out)
{
	bool is_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;

	out->dstPos = (struct cudaPos){copy->dstXInBytes / unit, copy->dstY, copy->dstZ};
	if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		out->dstArray = copy->dstArray;
	else
		out->dstPtr = (struct cudaPitchedPtr){
			.ptr = (void *)(is_host ? (uintptr_t)copy->dstHost : copy->dstDevice),
			.pitch = copy->dstPitch,
			.xsize = copy->WidthInBytes,
			.ysize = copy->dstHeight};
}

/* How long a row of memory is the driver was not told: as much of it as is copied. */
cudaError_t gsb_rt_box_from(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *out)
{
	size_t unit;
	cudaError_t error = unit_of(copy, &unit);

	if (error)
		return error;
	*out = (struct cudaMemcpy3DParms){
		.extent = {copy->WidthInBytes / unit, copy->Height, copy->Depth},
		.kind = kind_of(copy->srcMemoryType, copy->dstMemoryType)};
	tell_source(copy, unit, out);
	tell_target(copy, unit, out);
	return cudaSuccess;
}

/* ---- made ---- */

cudaError_t rt_cudaMemcpy3D(const struct gsb_rt_driver *cu, const struct cudaMemcpy3DParms *p,
			    const cudaStream_t *order)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = p ? gsb_rt_box(p, &copy) : cudaErrorInvalidValue;

	if (error || is_empty(&p->extent))
		return error;
	return gsb_rt_error(order ? cu->cuMemcpy3DAsync(&copy, *order) : cu->cuMemcpy3D(&copy));
}

/* Devices share one space of addresses. */
cudaError_t rt_cudaMemcpy3DPeer(const struct gsb_rt_driver *cu,
				const struct cudaMemcpy3DPeerParms *p, const cudaStream_t *order)
{
	cudaError_t error = p ? gsb_rt_check_device(p->srcDevice) : cudaErrorInvalidValue;

	if (!error)
		error = gsb_rt_check_device(p->dstDevice);
	return error ? error
		     : rt_cudaMemcpy3D(
			       cu,
			       &(struct cudaMemcpy3DParms){.srcArray = p->srcArray,
							   .srcPos = p->srcPos,
							   .srcPtr = p->srcPtr,
							   .dstArray = p->dstArray,
							   .dstPos = p->dstPos,
							   .dstPtr = p->dstPtr,
							   .extent = p->extent,
							   .kind = cudaMemcpyDeviceToDevice},
			       order);
}

/* ---- fills ---- */

/* Slices have ysize rows. Checked like a size, for it is the program's. */
static cudaError_t slice_at(const struct cudaPitchedPtr *p, size_t z, CUdeviceptr *out)
{
	size_t bytes;

	if (__builtin_mul_overflow(z, p->ysize, &bytes) ||
	    __builtin_mul_overflow(bytes, p->pitch, &bytes))
		return cudaErrorInvalidValue;
	*out = (CUdeviceptr)p->ptr + bytes;
	return cudaSuccess;
}

cudaError_t rt_cudaMemset3D(const struct gsb_rt_driver *cu, struct cudaPitchedPtr ptr, int value,
			    struct cudaExtent extent, const cudaStream_t *order)
{
	unsigned char byte = (unsigned char)value;
	cudaError_t error = cudaSuccess;
	CUdeviceptr at;

	for (size_t z = 0; !error && !is_empty(&extent) && z < extent.depth; z++) {
		error = slice_at(&ptr, z, &at);
		if (error)
			break;
		error = gsb_rt_error(
			order ? cu->cuMemsetD2D8Async(at, ptr.pitch, byte, extent.width,
						      extent.height, *order)
			      : cu->cuMemsetD2D8(at, ptr.pitch, byte, extent.width, extent.height));
	}
	return error;
}
