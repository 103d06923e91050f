/*
 * ctx.h - contexts of the library and the calling thread's current one.
 *
 * Everything about "current" is local: NVIDIA's runtime asks for it at almost every call. A context has two
 * names: the handle that the program holds, which a primary context keeps for the life of the process, and
 * the wire handle, which is new each time the context is made in the engine.
 */
#ifndef GSB_INTERPOSE_CU_CTX_H
#define GSB_INTERPOSE_CU_CTX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "interpose/core/object.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/core/thread.h"

#define GSB_N_LIMITS 7
#define GSB_CTX_KEYS 32 /* values that libraries may keep with a context */

struct gsb_cu_stream;

typedef void gsb_cu_ctx_dtor(CUcontext ctx, void *key, void *value);

struct gsb_cu_ctx_value {
	_Atomic(void *) key; /* NULL: free */
	void *value;
	gsb_cu_ctx_dtor *dtor;
};

struct gsb_cu_ctx {
	struct gsb_object obj;
	_Atomic uint64_t wire;	      /* 0: not active in the engine */
	struct gsb_cu_stream *legacy; /* valid while wire is not 0 */
	uint32_t flags;
	uint32_t n_retained; /* primary */
	uint32_t api_version;
	bool is_primary;
	CUfunc_cache cache_config;
	CUsharedconfig smem_config;
	size_t limits[GSB_N_LIMITS];
	struct gsb_cu_ctx_value values[GSB_CTX_KEYS];
};

extern struct gsb_object_table gsb_cu_ctxs;

/* A context by handle, checked; NULL is the current one. */
CUresult gsb_cu_ctx_resolve(CUcontext handle, struct gsb_cu_ctx **out);

/* What every later call of the context returns; 0: nothing has gone wrong. */
static inline CUresult gsb_cu_ctx_error(const struct gsb_cu_ctx *ctx)
{
	return (CUresult)atomic_load_explicit(&gsb_proc.region->ctxs[ctx->obj.index].error,
					      memory_order_relaxed);
}

/* For records that name it: it is still the one that the engine knows by this handle. */
static inline struct gsb_guard gsb_cu_ctx_guard(const struct gsb_cu_ctx *ctx, uint64_t wire)
{
	return (struct gsb_guard){.word = &ctx->wire, .value = wire};
}

/* It is active and without a sticky error. */
static inline CUresult gsb_cu_ctx_check(const struct gsb_cu_ctx *ctx)
{
	if (gsb_unlikely(!atomic_load_explicit(&ctx->wire, memory_order_acquire)))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return gsb_cu_ctx_error(ctx);
}

/* The current context, checked. */
static inline CUresult gsb_cu_ctx_current(struct gsb_cu_ctx **out)
{
	const struct gsb_cu_ctx_ref *top = &gsb_self.top;

	if (gsb_unlikely(!top->ctx))
		return gsb_self.is_suspended ? CUDA_ERROR_NOT_PERMITTED
					     : CUDA_ERROR_INVALID_CONTEXT;
	if (gsb_unlikely(atomic_load_explicit(&top->ctx->obj.handle, memory_order_acquire) !=
			 top->handle))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = top->ctx;
	return gsb_cu_ctx_check(top->ctx);
}

/* The handle that the program holds, and back; NULL for what is no context. */
CUcontext gsb_cu_ctx_public(const struct gsb_cu_ctx *ctx);
struct gsb_cu_ctx *gsb_cu_ctx_find(CUcontext handle);

/* The primary context, whether active or not. */
struct gsb_cu_ctx *gsb_cu_ctx_primary(void);

/* Values that libraries keep with a context, by key; get takes no lock. remove: whether it was there. */
void *gsb_cu_ctx_value_get(struct gsb_cu_ctx *ctx, const void *key);
CUresult gsb_cu_ctx_value_set(struct gsb_cu_ctx *ctx, void *key, void *value,
			      gsb_cu_ctx_dtor *dtor);
bool gsb_cu_ctx_value_remove(struct gsb_cu_ctx *ctx, const void *key);

/* What a context begins with: no value, flags as asked for, every other setting as the driver has it. */
void gsb_cu_ctx_reset(struct gsb_cu_ctx *ctx, uint32_t flags);
/* Call the destructors of all values, which are gone then. No lock may be held: they call back into the interface. */
void gsb_cu_ctx_run_dtors(struct gsb_cu_ctx *ctx);

/*
 * The genuine driver's handle of the primary context, once a runtime has asked that driver's own table for
 * it: such a program uses it as a handle of ours from then on.
 */
void gsb_cu_ctx_set_alias(CUcontext genuine);

#endif
