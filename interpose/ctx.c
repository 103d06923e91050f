/*
 * ctx.c - see ctx.h: what a context is, and which one is current. The hooks are in hooks_ctx.c.
 */
#include "interpose/ctx.h"

#include <string.h>

#include "interpose/alloc.h"
#include "interpose/event.h"
#include "interpose/module.h"
#include "interpose/post.h"

#define PRIMARY_INDEX 0u

struct gsb_object_table gsb_cu_ctxs =
	GSB_OBJECT_TABLE(GSB_HANDLE_CTX, GSB_N_CTXS, struct gsb_cu_ctx, PRIMARY_INDEX + 1, NULL);

/*
 * Of the primary context. Not of created ones: their end waits for their work, and a thread that waits for a lock
 * meanwhile counts as running, so that in virtual time the work would not end.
 */
static pthread_mutex_t ctx_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t values_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(CUcontext)
	alias; /* the genuine driver's handle of the primary context; NULL: not asked for */

static const size_t first_limits[GSB_N_LIMITS] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

static void set_defaults(struct gsb_cu_ctx *ctx, uint32_t flags)
{
	ctx->flags = flags;
	ctx->api_version = 3020; /* of cuCtxCreate_v2 and all later forms */
	ctx->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	ctx->smem_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	memcpy(ctx->limits, first_limits, sizeof(first_limits));
}

struct gsb_cu_ctx *gsb_cu_ctx_primary(void)
{
	struct gsb_cu_ctx *ctx = gsb_object_at(&gsb_cu_ctxs, PRIMARY_INDEX);

	if (gsb_unlikely(!gsb_object_is_valid(ctx))) {
		pthread_mutex_lock(&ctx_lock);
		if (!gsb_object_is_valid(ctx)) {
			ctx->is_primary = true;
			set_defaults(ctx, 0);
			gsb_object_rename(&gsb_cu_ctxs, ctx);
			gsb_object_publish(ctx);
		}
		pthread_mutex_unlock(&ctx_lock);
	}
	return ctx;
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

CUresult gsb_cu_ctx_resolve(CUcontext handle, struct gsb_cu_ctx **out)
{
	if (!handle)
		return gsb_cu_ctx_current(out);
	*out = gsb_cu_ctx_find(handle);
	return *out ? gsb_cu_ctx_check(*out) : CUDA_ERROR_INVALID_CONTEXT;
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
static void run_dtors(struct gsb_cu_ctx *ctx)
{
	for (unsigned i = 0; i < GSB_CTX_KEYS; i++) {
		struct gsb_cu_ctx_value v = ctx->values[i];
		void *key = atomic_exchange(&ctx->values[i].key, NULL);

		if (key && v.dtor)
			v.dtor(gsb_cu_ctx_public(ctx), key, v.value);
	}
}

/* ---- made and destroyed in the engine ---- */

/* Nobody else has ctx; of the primary context: under ctx_lock, as deactivate. */
static CUresult activate(struct gsb_cu_ctx *ctx, uint64_t wire)
{
	struct gsb_rec_ctx_create body = {.ctx = wire, .flags = ctx->flags};
	CUresult result = gsb_cu_stream_take(ctx, CU_STREAM_DEFAULT, 0, true, &ctx->legacy);

	if (result)
		return result;
	ctx->legacy->wire_ctx = wire;
	body.legacy = gsb_object_name(ctx->legacy);
	result = gsb_call(&(struct gsb_call){.type = GSB_REC_CTX_CREATE,
					     .body = &body,
					     .body_bytes = sizeof(body)},
			  NULL, NULL);
	if (result) {
		gsb_object_release(&gsb_cu_streams, ctx->legacy);
		return result;
	}
	gsb_object_publish(ctx->legacy);
	atomic_store_explicit(&ctx->wire, wire, memory_order_release);
	return CUDA_SUCCESS;
}

/* Handles go stale first: a racing call is refused here, not cut off there. */
static void deactivate(struct gsb_cu_ctx *ctx)
{
	struct gsb_object_table *const tables[] = {&gsb_cu_events, &gsb_cu_functions,
						   &gsb_cu_modules, &gsb_cu_streams};
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	const struct gsb_rec_object body = {.handle = wire};

	atomic_store_explicit(&ctx->wire, 0, memory_order_release);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(tables); i++)
		gsb_object_table_retire(tables[i], wire);
	gsb_allocs_drop(wire);
	gsb_call(&(struct gsb_call){.type = GSB_REC_CTX_DESTROY,
				    .body = &body,
				    .body_bytes = sizeof(body)},
		 NULL, NULL);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(tables); i++)
		gsb_object_table_release(tables[i], wire);
}

CUresult gsb_cu_ctx_create(uint32_t flags, struct gsb_cu_ctx **out)
{
	struct gsb_cu_ctx *ctx = gsb_object_take(&gsb_cu_ctxs);
	CUresult result;

	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->is_primary = false;
	set_defaults(ctx, flags);
	result = activate(ctx, gsb_object_name(ctx));
	if (result) {
		gsb_object_release(&gsb_cu_ctxs, ctx);
		return result;
	}
	gsb_object_publish(ctx);
	*out = ctx;
	return CUDA_SUCCESS;
}

void gsb_cu_ctx_destroy(struct gsb_cu_ctx *ctx)
{
	run_dtors(ctx);
	if (!gsb_object_retire(ctx, gsb_object_name(ctx)))
		return;
	deactivate(ctx);
	gsb_object_release(&gsb_cu_ctxs, ctx);
}

static bool is_active(const struct gsb_cu_ctx *ctx)
{
	return atomic_load_explicit(&ctx->wire, memory_order_relaxed) != 0;
}

static CUresult retain(struct gsb_cu_ctx *ctx)
{
	CUresult result;

	if (!is_active(ctx)) {
		/* Index 0 is never given out by the table, so its name is ours to change. */
		gsb_object_rename(&gsb_cu_ctxs, ctx);
		result = activate(ctx, gsb_object_name(ctx));
		if (result)
			return result;
	}
	ctx->n_retained++;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_ctx_primary_retain(struct gsb_cu_ctx **out)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();
	CUresult result;

	pthread_mutex_lock(&ctx_lock);
	result = retain(ctx);
	pthread_mutex_unlock(&ctx_lock);
	if (!result)
		*out = ctx;
	return result;
}

/* Destructors may retain and release themselves: the lock is taken after them, and the count read again. */
CUresult gsb_cu_ctx_primary_release(void)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();
	CUresult result = CUDA_SUCCESS;

	if (ctx->n_retained == 1)
		run_dtors(ctx);
	pthread_mutex_lock(&ctx_lock);
	if (!ctx->n_retained)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--ctx->n_retained && is_active(ctx))
		deactivate(ctx);
	pthread_mutex_unlock(&ctx_lock);
	return result;
}

void gsb_cu_ctx_primary_reset(void)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_primary();

	run_dtors(ctx);
	pthread_mutex_lock(&ctx_lock);
	if (is_active(ctx))
		deactivate(ctx);
	pthread_mutex_unlock(&ctx_lock);
}
