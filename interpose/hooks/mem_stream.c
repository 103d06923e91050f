/*
 * hooks/mem_stream.c - memory that is allocated and freed in the order of a stream, which a capture may record, and cuMemFree, which frees that of graphs, too.
 */
#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/pool.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* Memory is freed by whoever has its address, in whatever context, and without one. */
CUresult hook_cuMemFree(CUdeviceptr ptr)
{
	struct gsb_alloc a;
	struct gsb_cu_ctx *ctx;
	CUresult result = gsb_cu_ctx_current(&ctx);

	if (result == CUDA_ERROR_INVALID_CONTEXT)
		result = gsb_self_enter();
	if (!result)
		result = gsb_capture_unsafe();
	if (result || !ptr)
		return result;
	if (!gsb_alloc_remove(ptr, GSB_ALLOC_DEVICE, 0, &a))
		return gsb_mem_free_device(&a);
	if (!gsb_alloc_remove(ptr, GSB_ALLOC_MANAGED, 0, &a))
		return gsb_mem_free_host(&a);
	return gsb_graph_memory_free(ptr);
}

/* Nothing lies at 0. */
static CUresult allocate_async(CUdeviceptr *ptr, size_t n, uint64_t pool, CUstream stream)
{
	struct gsb_alloc a = {.kind = GSB_ALLOC_DEVICE, .pool = pool};
	struct gsb_cu_stream_ref s;
	CUresult result = ptr ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result && gsb_capture_any() && gsb_graph_capture_alloc(&s, n, ptr, &result))
		return result;
	if (!result && n && gsb_capture_any())
		result = gsb_capture_refuse(&s);
	if (!result && n)
		result = gsb_mem_alloc_in_pool(n, s.wire, &a);
	if (!result)
		*ptr = a.addr;
	return result;
}

CUresult hook_cuMemAllocAsync(CUdeviceptr *ptr, size_t n, CUstream stream)
{
	return allocate_async(ptr, n, gsb_cu_pool_current(), stream);
}

CUresult hook_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t n, CUmemoryPool pool,
				      CUstream stream)
{
	uint64_t handle = (uint64_t)(uintptr_t)pool;
	const struct gsb_cu_pool *p = gsb_cu_pool_get(handle);

	return p && !p->is_imported ? allocate_async(ptr, n, handle, stream)
				    : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (!result && ptr && gsb_capture_any()) {
		if (gsb_graph_capture_free(&s, ptr, &result))
			return result;
		result = gsb_capture_refuse(&s);
	}
	if (result || !ptr)
		return result;
	result = gsb_mem_post_free(&s, GSB_ALLOC_DEVICE, ptr);
	return result == CUDA_ERROR_INVALID_VALUE ? gsb_graph_memory_free_async(ptr, &s) : result;
}
