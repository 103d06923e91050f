/*
 * ctx_life.c - see ctx_life.h.
 */
#include "interpose/cu/ctx_life.h"

#include <pthread.h>

#include "interpose/cu/alloc.h"
#include "interpose/cu/registered.h"
#include "interpose/cu/stream.h"

/*
 * Of the primary context. Not of created ones: their end waits for their work, and a thread that waits for a lock
 * meanwhile counts as running, so that in virtual time the work would not end.
 */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

/* Nobody else has ctx; of the primary context: under its lock, as deactivate. */
static CUresult activate(struct gsb_cu_ctx *ctx, uint64_t wire)
{
	struct gsb_rec_ctx_create body = {.ctx = wire, .flags = ctx->flags};
	struct gsb_cu_stream *legacy;
	CUresult result = gsb_cu_stream_take(wire, GSB_CU_STREAM_LEGACY, &legacy);

	if (result)
		return result;
	body.legacy = gsb_object_name(legacy);
	result = gsb_call(&(struct gsb_call){.type = GSB_REC_CTX_CREATE,
					     .body = &body,
					     .body_bytes = sizeof(body)},
			  NULL);
	if (result) {
		gsb_object_release(&gsb_cu_streams, body.legacy);
		return result;
	}
	gsb_object_publish(&gsb_cu_streams, legacy);
	atomic_store_explicit(&ctx->legacy, body.legacy, memory_order_relaxed);
	atomic_store_explicit(&ctx->wire, wire, memory_order_release);
	return CUDA_SUCCESS;
}

/* Handles go stale first: a racing call is refused here, not cut off there. */
static void deactivate(struct gsb_cu_ctx *ctx)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	const struct gsb_rec_object body = {.handle = wire};

	gsb_cu_streams_wait_all(wire); /* what its kernels say goes with it */
	gsb_registered_drop(wire);
	atomic_store_explicit(&ctx->wire, 0, memory_order_release);
	gsb_objects_retire(wire);
	gsb_allocs_drop(wire);
	gsb_call(&(struct gsb_call){.type = GSB_REC_CTX_DESTROY,
				    .body = &body,
				    .body_bytes = sizeof(body)},
		 NULL);
	gsb_objects_release(wire);
}

CUresult gsb_cu_ctx_create(uint32_t flags, struct gsb_cu_ctx **out)
{
	struct gsb_cu_ctx *ctx = gsb_object_take(&gsb_cu_ctxs, 0, 0);
	CUresult result;

	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->is_primary = false;
	gsb_cu_ctx_reset(ctx, flags);
	result = activate(ctx, gsb_object_name(ctx));
	if (result) {
		gsb_object_release(&gsb_cu_ctxs, gsb_object_name(ctx));
		return result;
	}
	gsb_object_publish(&gsb_cu_ctxs, ctx);
	*out = ctx;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_ctx_destroy(CUcontext handle)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_find(handle);

	if (gsb_object_past(&gsb_cu_ctxs, (uint64_t)handle))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (!ctx || ctx->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	gsb_cu_ctx_run_dtors(ctx);
	if (!gsb_object_retire(&gsb_cu_ctxs, (uint64_t)handle))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	deactivate(ctx);
	gsb_object_release(&gsb_cu_ctxs, (uint64_t)handle);
	return CUDA_SUCCESS;
}

static bool is_active(const struct gsb_cu_ctx *ctx)
{
	return atomic_load_explicit(&ctx->wire, memory_order_relaxed) != 0;
}

static CUresult retain(struct gsb_cu_ctx *ctx)
{
	CUresult result;

	if (!is_active(ctx)) {
		result = activate(ctx,
				  gsb_handle_make(GSB_HANDLE_CTX, ctx->obj.index, ++ctx->n_lives));
		if (result)
			return result;
	}
	ctx->n_retained++;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_ctx_primary_retain(uint64_t *wire)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();
	CUresult result;

	pthread_mutex_lock(&primary_lock);
	result = retain(ctx);
	if (!result)
		*wire = atomic_load_explicit(&ctx->wire, memory_order_relaxed);
	pthread_mutex_unlock(&primary_lock);
	return result;
}

/* Its flags are those that it begins with, active or not (an H200). Under the lock. */
static void end_primary(struct gsb_cu_ctx *ctx)
{
	if (is_active(ctx))
		deactivate(ctx);
	ctx->flags = 0;
}

/* Destructors may retain and release themselves: the lock is taken after them, and the count read again. */
CUresult gsb_cu_ctx_primary_release(void)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();
	CUresult result = CUDA_SUCCESS;
	bool is_last;

	pthread_mutex_lock(&primary_lock);
	is_last = ctx->n_retained == 1;
	pthread_mutex_unlock(&primary_lock);
	if (is_last)
		gsb_cu_ctx_run_dtors(ctx);
	pthread_mutex_lock(&primary_lock);
	if (!ctx->n_retained)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--ctx->n_retained)
		end_primary(ctx);
	pthread_mutex_unlock(&primary_lock);
	return result;
}

void gsb_cu_ctx_primary_reset(void)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();

	gsb_cu_ctx_run_dtors(ctx);
	pthread_mutex_lock(&primary_lock);
	end_primary(ctx);
	pthread_mutex_unlock(&primary_lock);
}
