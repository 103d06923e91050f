/*
 * ctx.c - see ctx.h: what a context is, and which one is current. Its making and end are in ctx_life.c.
 */
#include "interpose/cu/ctx.h"

#include <string.h>

#define PRIMARY_INDEX 0u /* the first one taken */

struct gsb_object_table gsb_cu_ctxs =
	GSB_OBJECT_TABLE(GSB_HANDLE_CTX, GSB_N_CTXS, struct gsb_cu_ctx, NULL);

static pthread_mutex_t values_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(CUcontext)
	alias; /* the genuine driver's handle of the primary context; NULL: not asked for */

static const size_t first_limits[GSB_N_LIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 8650752,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

void gsb_cu_ctx_reset(struct gsb_cu_ctx *ctx, uint32_t flags)
{
	ctx->flags = flags;
	ctx->n_attached = 0;
	ctx->api_version = 3020; /* of cuCtxCreate_v2 and all later forms */
	ctx->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	ctx->smem_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	memcpy(ctx->limits, first_limits, sizeof(first_limits));
}

void gsb_cu_ctx_init(void)
{
	struct gsb_cu_ctx *ctx = gsb_object_take(&gsb_cu_ctxs, 0, 0);

	ctx->is_primary = true;
	gsb_cu_ctx_reset(ctx, 0);
	gsb_object_publish(&gsb_cu_ctxs, ctx);
}

struct gsb_cu_ctx *gsb_cu_ctx_primary(void)
{
	return gsb_object_at(&gsb_cu_ctxs, PRIMARY_INDEX);
}

void gsb_cu_ctx_set_alias(CUcontext genuine)
{
	atomic_store_explicit(&alias, genuine, memory_order_release);
}

CUcontext gsb_cu_ctx_public(const struct gsb_cu_ctx *ctx)
{
	CUcontext genuine = atomic_load_explicit(&alias, memory_order_acquire);

	return ctx->is_primary && genuine
		       ? genuine
		       : (CUcontext)atomic_load_explicit(&ctx->obj.handle, memory_order_relaxed);
}

struct gsb_cu_ctx *gsb_cu_ctx_find(CUcontext handle)
{
	if (handle && handle == atomic_load_explicit(&alias, memory_order_acquire))
		return gsb_cu_ctx_primary();
	return gsb_object_get(&gsb_cu_ctxs, (uint64_t)handle);
}

CUresult gsb_cu_ctx_resolve(CUcontext handle, struct gsb_cu_ctx_life *out)
{
	struct gsb_cu_ctx *ctx;
	uint64_t wire;

	if (!handle)
		return gsb_cu_ctx_live(out);
	ctx = gsb_cu_ctx_find(handle);
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	if (!wire || gsb_cu_ctx_find(handle) != ctx)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = (struct gsb_cu_ctx_life){.ctx = ctx, .wire = wire};
	return gsb_cu_wire_check(wire);
}

CUresult gsb_cu_gone(const struct gsb_object_table *t, uint64_t handle)
{
	const struct gsb_object *o = gsb_object_past(t, handle);
	uint64_t wire = o && o->name == handle ? gsb_object_owner(o) : 0;

	return wire && atomic_load_explicit(&gsb_cu_wire_ctx(wire)->wire, memory_order_acquire) !=
				       wire
		       ? CUDA_ERROR_CONTEXT_IS_DESTROYED
		       : CUDA_ERROR_INVALID_HANDLE;
}

GSB_COLD CUresult gsb_cu_ctx_refused(CUresult why)
{
	struct gsb_cu_ctx_life life;

	return gsb_is_alive() && gsb_cu_ctx_life(&life) == CUDA_ERROR_CONTEXT_IS_DESTROYED
		       ? CUDA_ERROR_CONTEXT_IS_DESTROYED
		       : why;
}

/* ---- values that libraries keep with a context ---- */

static struct gsb_cu_ctx_value *find_value(struct gsb_cu_ctx *ctx, const void *key)
{
	for (unsigned i = 0; i < GSB_CTX_KEYS; i++)
		if (atomic_load_explicit(&ctx->values[i].key, memory_order_acquire) == key)
			return &ctx->values[i];
	return NULL;
}

void *gsb_cu_ctx_value_get(struct gsb_cu_ctx *ctx, const void *key)
{
	const struct gsb_cu_ctx_value *v = find_value(ctx, key);

	return v ? v->value : NULL;
}

CUresult gsb_cu_ctx_value_set(struct gsb_cu_ctx *ctx, void *key, void *value, gsb_cu_ctx_dtor *dtor)
{
	struct gsb_cu_ctx_value *v;

	pthread_mutex_lock(&values_lock);
	v = find_value(ctx, key);
	if (!v)
		v = find_value(ctx, NULL);
	if (v) {
		v->value = value;
		v->dtor = dtor;
		atomic_store_explicit(&v->key, key, memory_order_release);
	}
	pthread_mutex_unlock(&values_lock);
	return v ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool gsb_cu_ctx_value_remove(struct gsb_cu_ctx *ctx, const void *key)
{
	struct gsb_cu_ctx_value *v;

	pthread_mutex_lock(&values_lock);
	v = find_value(ctx, key);
	if (v)
		atomic_store_explicit(&v->key, NULL, memory_order_release);
	pthread_mutex_unlock(&values_lock);
	return v != NULL;
}

/* The destructors are a runtime's and call back into the interface, so no lock is held around them. */
void gsb_cu_ctx_run_dtors(struct gsb_cu_ctx *ctx)
{
	for (unsigned i = 0; i < GSB_CTX_KEYS; i++) {
		struct gsb_cu_ctx_value v = ctx->values[i];
		void *key = atomic_exchange(&ctx->values[i].key, NULL);

		if (key && v.dtor)
			v.dtor(gsb_cu_ctx_public(ctx), key, v.value);
	}
}
