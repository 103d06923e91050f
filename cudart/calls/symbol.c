/*
 * calls/symbol.c - variables of the program: where they are on the device, and copies to and from them.
 */
#include <stdbool.h>

#include "cudart/calls/calls.h"
#include "cudart/error.h"
#include "cudart/registry.h"

cudaError_t rt_cudaGetSymbolAddress(void **ptr, const void *symbol)
{
	CUdeviceptr found;
	size_t bytes;
	cudaError_t error = ptr ? gsb_rt_variable(symbol, &found, &bytes) : cudaErrorInvalidValue;

	if (!error)
		*ptr = (void *)found;
	return error;
}

cudaError_t rt_cudaGetSymbolSize(size_t *n, const void *symbol)
{
	CUdeviceptr found;

	return n ? gsb_rt_variable(symbol, &found, n) : cudaErrorInvalidValue;
}

/* The part of a variable that a copy means. */
static cudaError_t part(const void *symbol, size_t n, size_t offset, char **out)
{
	CUdeviceptr found;
	size_t bytes;
	cudaError_t error = gsb_rt_variable(symbol, &found, &bytes);

	if (error)
		return error;
	if (offset > bytes || n > bytes - offset)
		return cudaErrorInvalidValue;
	*out = (char *)found + offset;
	return cudaSuccess;
}

/* A variable is on the device; a copy that says otherwise is wrong. */
static bool suits(enum cudaMemcpyKind kind, enum cudaMemcpyKind with_host)
{
	return kind == with_host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

static cudaError_t target(const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind,
			  char **out)
{
	return suits(kind, cudaMemcpyHostToDevice) ? part(symbol, n, offset, out)
						   : cudaErrorInvalidMemcpyDirection;
}

static cudaError_t source(const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind,
			  char **out)
{
	return suits(kind, cudaMemcpyDeviceToHost) ? part(symbol, n, offset, out)
						   : cudaErrorInvalidMemcpyDirection;
}

cudaError_t rt_cudaMemcpyToSymbol(const struct gsb_rt_driver *cu, const void *symbol,
				  const void *src, size_t n, size_t offset,
				  enum cudaMemcpyKind kind)
{
	char *dst;
	cudaError_t error = target(symbol, n, offset, kind, &dst);

	return error ? error : gsb_rt_copy(cu, dst, src, n, kind);
}

cudaError_t rt_cudaMemcpyToSymbolAsync(const struct gsb_rt_driver *cu, const void *symbol,
				       const void *src, size_t n, size_t offset,
				       enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *dst;
	cudaError_t error = target(symbol, n, offset, kind, &dst);

	return error ? error : gsb_rt_copy_async(cu, dst, src, n, kind, stream);
}

cudaError_t rt_cudaMemcpyFromSymbol(const struct gsb_rt_driver *cu, void *dst, const void *symbol,
				    size_t n, size_t offset, enum cudaMemcpyKind kind)
{
	char *src;
	cudaError_t error = source(symbol, n, offset, kind, &src);

	return error ? error : gsb_rt_copy(cu, dst, src, n, kind);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(const struct gsb_rt_driver *cu, void *dst,
					 const void *symbol, size_t n, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *src;
	cudaError_t error = source(symbol, n, offset, kind, &src);

	return error ? error : gsb_rt_copy_async(cu, dst, src, n, kind, stream);
}

cudaError_t gsb_rt_row_to(const struct gsb_rt_part *to, struct gsb_rt_row *row)
{
	char *dst = NULL;
	cudaError_t error = target(to->symbol, row->n, to->offset, row->kind, &dst);

	row->dst = dst;
	return error;
}

cudaError_t gsb_rt_row_from(const struct gsb_rt_part *from, struct gsb_rt_row *row)
{
	char *src = NULL;
	cudaError_t error = source(from->symbol, row->n, from->offset, row->kind, &src);

	row->src = src;
	return error;
}
