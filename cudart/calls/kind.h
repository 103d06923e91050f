/*
 * calls/kind.h - what the kind of a copy says of its two ends.
 */
#ifndef GSB_CUDART_CALLS_KIND_H
#define GSB_CUDART_CALLS_KIND_H

#include <stdbool.h>

#include "cudart/abi.h"

static inline bool gsb_rt_is_kind(enum cudaMemcpyKind kind)
{
	return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

/* cudaMemcpyDefault leaves it to the address. */
static inline CUmemorytype gsb_rt_place(bool is_host, enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
	       : is_host		 ? CU_MEMORYTYPE_HOST
					 : CU_MEMORYTYPE_DEVICE;
}

static inline CUmemorytype gsb_rt_source(enum cudaMemcpyKind kind)
{
	return gsb_rt_place(kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice, kind);
}

static inline CUmemorytype gsb_rt_target(enum cudaMemcpyKind kind)
{
	return gsb_rt_place(kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost, kind);
}

#endif
