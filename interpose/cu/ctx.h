/*
 * ctx.h - contexts of the library and the calling thread's current one.
 *
 * Everything about "current" is local: NVIDIA's runtime asks for it at almost every call. A context has two
 * names: the handle that the program holds, which a primary context keeps for the life of the process, and
 * the wire handle, which is new each time the context is made in the engine. One such time is a life: what
 * goes with a context (streams, events, modules, memory) goes with one of its lives.
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
#include "interpose/cu/print.h"

#define GSB_N_LIMITS 7
#define GSB_CTX_KEYS 32 /* values that libraries may keep with a context */

typedef void gsb_cu_ctx_dtor(CUcontext ctx, void *key, void *value);

struct gsb_cu_ctx_value {
	_Atomic(void *) key; /* NULL: free */
	void *value;
	gsb_cu_ctx_dtor *dtor;
};

struct gsb_cu_ctx {
	struct gsb_object obj;
	_Atomic uint64_t wire;	 /* 0: not active in the engine */
	_Atomic uint64_t legacy; /* handle of the legacy stream of its latest life */
	uint32_t flags;
	uint32_t n_retained;	     /* primary */
	uint32_t n_lives;	     /* primary */
	_Atomic uint32_t n_attached; /* beyond who created it */
	uint32_t api_version;
	bool is_primary;
	CUfunc_cache cache_config;
	CUsharedconfig smem_config;
	size_t limits[GSB_N_LIMITS];
	struct gsb_cu_ctx_value values[GSB_CTX_KEYS];
};

extern struct gsb_object_table gsb_cu_ctxs;

struct gsb_cu_ctx_life {
	struct gsb_cu_ctx *ctx;
	uint64_t wire;
};

/* A context by handle, checked; NULL is the current one. */
CUresult gsb_cu_ctx_resolve(CUcontext handle, struct gsb_cu_ctx_life *out);

/* What every later call of the context returns; 0: nothing has gone wrong. */
static inline CUresult gsb_cu_wire_error(uint64_t wire)
{
	return (CUresult)atomic_load_explicit(&gsb_proc.region->ctxs[gsb_handle_index(wire)].error,
					      memory_order_relaxed);
}

/* The same for a call that ends there: what the device says of the fault goes out, if nobody has waited for it yet. */
static inline CUresult gsb_cu_wire_check(uint64_t wire)
{
	CUresult result = gsb_cu_wire_error(wire);

	if (gsb_unlikely(result)) {
		atomic_thread_fence(memory_order_acquire); /* the text was there before the error */
		gsb_print_flush();
	}
	return result;
}

/* The same of the context that an object goes with. */
static inline CUresult gsb_cu_error_of(const void *object)
{
	return gsb_cu_wire_error(gsb_object_owner(object));
}

/* Of any of its lives, whether it is over or not. */
static inline struct gsb_cu_ctx *gsb_cu_wire_ctx(uint64_t wire)
{
	return gsb_object_at(&gsb_cu_ctxs, gsb_handle_index(wire));
}

/* Of a handle that is none: what it was may have gone with its context. */
CUresult gsb_cu_gone(const struct gsb_object_table *t, uint64_t handle);

/*
 * What a call gets that has to do with the device, of a process that is served no more: why that is, or that its
 * current context has ended, as of any other.
 */
GSB_COLD CUresult gsb_cu_ctx_refused(CUresult why);

/* For records that name the context. */
static inline struct gsb_guard gsb_cu_wire_guard(uint64_t wire)
{
	return (struct gsb_guard){
		.word = &gsb_cu_wire_ctx(wire)->wire,
		.value = wire,
		.gone = CUDA_ERROR_CONTEXT_IS_DESTROYED,
	};
}

/*
 * The current context in its present life; with is_well nothing has gone wrong in it, either. The wire handle is read before the program's: if that one is still
 * the context's, the life is one of the context that was made current.
 */
static inline CUresult gsb_cu_ctx_find_life(struct gsb_cu_ctx_life *out, bool is_well)
{
	const struct gsb_cu_ctx_ref top = gsb_self.top;
	uint64_t wire;

	if (gsb_unlikely(!top.ctx))
		return gsb_self.is_suspended ? CUDA_ERROR_NOT_PERMITTED
					     : CUDA_ERROR_INVALID_CONTEXT;
	wire = atomic_load_explicit(&top.ctx->wire, memory_order_acquire);
	if (gsb_unlikely(!gsb_object_is(top.ctx, top.handle) || !wire))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = (struct gsb_cu_ctx_life){.ctx = top.ctx, .wire = wire};
	return is_well ? gsb_cu_wire_check(wire) : CUDA_SUCCESS;
}

static inline CUresult gsb_cu_ctx_life(struct gsb_cu_ctx_life *out)
{
	return gsb_cu_ctx_find_life(out, false);
}

/* The same, unless something has gone wrong in it: what almost every call asks. */
static inline CUresult gsb_cu_ctx_live(struct gsb_cu_ctx_life *out)
{
	return gsb_cu_ctx_find_life(out, true);
}

/* The same for those who only look at its settings. */
static inline CUresult gsb_cu_ctx_current(struct gsb_cu_ctx **out)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		*out = life.ctx;
	return result;
}

/* The handle that the program holds, and back; NULL for what is no context. */
CUcontext gsb_cu_ctx_public(const struct gsb_cu_ctx *ctx);
struct gsb_cu_ctx *gsb_cu_ctx_find(CUcontext handle);

/* The primary context, whether active or not; init makes it, before any other use. */
void gsb_cu_ctx_init(void);
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
