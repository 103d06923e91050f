/*
 * calls/copy_array.c - copies to, from and between arrays: rectangles, and runs of bytes that go on in an array's next row.
 */
#include "cudart/calls/calls.h"
#include "cudart/calls/kind.h"
#include "cudart/error.h"

static cudaError_t copy_rect(const struct gsb_rt_driver *cu, const CUDA_MEMCPY2D *copy,
			     const cudaStream_t *order)
{
	if (!copy->WidthInBytes || !copy->Height)
		return cudaSuccess;
	return gsb_rt_error(order ? cu->cuMemcpy2DAsync(copy, *order)
				  : cu->cuMemcpy2DUnaligned(copy));
}

static bool writes_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

static bool reads_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

static bool stays_on_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

/* ---- rectangles ---- */

/* One row has no pitch: programs pass 0. */
static bool is_pitch_ok(const struct gsb_rt_rect *r, size_t pitch)
{
	return r->width <= pitch || r->height <= 1;
}

cudaError_t rt_cudaMemcpy2DToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *to,
				   const struct gsb_rt_rect *r, const cudaStream_t *order)
{
	if (!writes_device(r->kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!is_pitch_ok(r, r->src_pitch))
		return cudaErrorInvalidPitchValue;
	return copy_rect(cu,
			 &(CUDA_MEMCPY2D){.srcMemoryType = gsb_rt_source(r->kind),
					  .srcHost = r->src,
					  .srcDevice = (CUdeviceptr)r->src,
					  .srcPitch = r->src_pitch,
					  .dstMemoryType = CU_MEMORYTYPE_ARRAY,
					  .dstArray = to->array,
					  .dstXInBytes = to->x,
					  .dstY = to->y,
					  .WidthInBytes = r->width,
					  .Height = r->height},
			 order);
}

cudaError_t rt_cudaMemcpy2DFromArray(const struct gsb_rt_driver *cu, const struct gsb_rt_rect *r,
				     const struct gsb_rt_spot *from, const cudaStream_t *order)
{
	if (!reads_device(r->kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!is_pitch_ok(r, r->dst_pitch))
		return cudaErrorInvalidPitchValue;
	return copy_rect(cu,
			 &(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
					  .srcArray = from->array,
					  .srcXInBytes = from->x,
					  .srcY = from->y,
					  .dstMemoryType = gsb_rt_target(r->kind),
					  .dstHost = r->dst,
					  .dstDevice = (CUdeviceptr)r->dst,
					  .dstPitch = r->dst_pitch,
					  .WidthInBytes = r->width,
					  .Height = r->height},
			 order);
}

cudaError_t rt_cudaMemcpy2DArrayToArray(const struct gsb_rt_driver *cu,
					const struct gsb_rt_spot *to,
					const struct gsb_rt_spot *from, const struct gsb_rt_rect *r)
{
	if (!stays_on_device(r->kind))
		return cudaErrorInvalidMemcpyDirection;
	return copy_rect(cu,
			 &(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
					  .srcArray = from->array,
					  .srcXInBytes = from->x,
					  .srcY = from->y,
					  .dstMemoryType = CU_MEMORYTYPE_ARRAY,
					  .dstArray = to->array,
					  .dstXInBytes = to->x,
					  .dstY = to->y,
					  .WidthInBytes = r->width,
					  .Height = r->height},
			 NULL);
}

/* ---- runs of bytes ---- */

/* Where a run has come to, in an array or in memory, which is one endless row. */
struct cursor {
	CUmemorytype type;
	cudaArray_t array;
	size_t x, y;
	size_t row_bytes;
	char *memory;
};

/* The rest of the array from there on must hold the run: nothing is copied otherwise. */
static cudaError_t start_in_array(const struct gsb_rt_spot *at, size_t n, struct cursor *out)
{
	struct gsb_rt_array_shape shape;
	cudaError_t error = gsb_rt_array_shape(at->array, &shape);
	size_t begin;

	if (error)
		return error;
	if (at->x >= shape.row_bytes || at->y >= shape.n_rows)
		return cudaErrorInvalidValue;
	begin = at->y * shape.row_bytes + at->x;
	if (n > shape.n_rows * shape.row_bytes - begin)
		return cudaErrorInvalidValue;
	*out = (struct cursor){CU_MEMORYTYPE_ARRAY, at->array, at->x, at->y, shape.row_bytes, NULL};
	return cudaSuccess;
}

static struct cursor start_in_memory(CUmemorytype type, const void *memory)
{
	return (struct cursor){.type = type, .row_bytes = SIZE_MAX, .memory = (char *)memory};
}

static void advance(struct cursor *c, size_t n)
{
	if (c->type != CU_MEMORYTYPE_ARRAY) {
		c->memory += n;
		return;
	}
	c->x += n;
	if (c->x == c->row_bytes) {
		c->x = 0;
		c->y++;
	}
}

/* Row by row, as far as both rows go. */
static cudaError_t copy_run(const struct gsb_rt_driver *cu, struct cursor *to, struct cursor *from,
			    size_t n, const cudaStream_t *order)
{
	cudaError_t error = cudaSuccess;

	for (size_t part; n && !error; n -= part) {
		part = n < to->row_bytes - to->x ? n : to->row_bytes - to->x;
		part = part < from->row_bytes - from->x ? part : from->row_bytes - from->x;
		error = copy_rect(cu,
				  &(CUDA_MEMCPY2D){.srcMemoryType = from->type,
						   .srcArray = from->array,
						   .srcHost = from->memory,
						   .srcDevice = (CUdeviceptr)from->memory,
						   .srcXInBytes = from->x,
						   .srcY = from->y,
						   .dstMemoryType = to->type,
						   .dstArray = to->array,
						   .dstHost = to->memory,
						   .dstDevice = (CUdeviceptr)to->memory,
						   .dstXInBytes = to->x,
						   .dstY = to->y,
						   .WidthInBytes = part,
						   .Height = 1},
				  order);
		advance(to, part);
		advance(from, part);
	}
	return error;
}

cudaError_t rt_cudaMemcpyToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *at,
				 const void *src, size_t n, enum cudaMemcpyKind kind,
				 const cudaStream_t *order)
{
	struct cursor from = start_in_memory(gsb_rt_source(kind), src), to;
	cudaError_t error =
		writes_device(kind) ? start_in_array(at, n, &to) : cudaErrorInvalidMemcpyDirection;

	return error ? error : copy_run(cu, &to, &from, n, order);
}

cudaError_t rt_cudaMemcpyFromArray(const struct gsb_rt_driver *cu, void *dst,
				   const struct gsb_rt_spot *at, size_t n, enum cudaMemcpyKind kind,
				   const cudaStream_t *order)
{
	struct cursor to = start_in_memory(gsb_rt_target(kind), dst), from;
	cudaError_t error =
		reads_device(kind) ? start_in_array(at, n, &from) : cudaErrorInvalidMemcpyDirection;

	return error ? error : copy_run(cu, &to, &from, n, order);
}

cudaError_t rt_cudaMemcpyArrayToArray(const struct gsb_rt_driver *cu, const struct gsb_rt_spot *dst,
				      const struct gsb_rt_spot *src, size_t n,
				      enum cudaMemcpyKind kind)
{
	struct cursor to, from;
	cudaError_t error = stays_on_device(kind) ? start_in_array(dst, n, &to)
						  : cudaErrorInvalidMemcpyDirection;

	if (!error)
		error = start_in_array(src, n, &from);
	return error ? error : copy_run(cu, &to, &from, n, NULL);
}
