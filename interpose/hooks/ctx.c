/*
 * hooks/ctx.c - contexts: the thread's stack of them, the primary one, and their settings.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cu/capture.h"
#include "interpose/cu/ctx_life.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"

#define L2_FETCH_MAX 128 /* bytes, as documented */

/* ---- the stack: top apart, the rest below it on the heap ---- */

static CUresult grow_stack(void)
{
	uint32_t room = gsb_self.room ? gsb_self.room * 2 : 8;
	struct gsb_cu_ctx_ref *grown = realloc(gsb_self.stack, room * sizeof(*grown));

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gsb_self.stack = grown;
	gsb_self.room = room;
	return CUDA_SUCCESS;
}

static struct gsb_cu_ctx_ref ref_to(struct gsb_cu_ctx *ctx)
{
	return (struct gsb_cu_ctx_ref){
		.ctx = ctx,
		.handle = ctx ? atomic_load_explicit(&ctx->obj.handle, memory_order_acquire) : 0,
	};
}

/* One that has been destroyed may be made current, too, as the driver has it: then calls tell. ctx NULL: it is none. */
static struct gsb_cu_ctx_ref find_ref(CUcontext handle)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_find(handle);

	return ctx ? ref_to(ctx)
		   : (struct gsb_cu_ctx_ref){
			     .ctx = gsb_object_past(&gsb_cu_ctxs, (uint64_t)handle),
			     .handle = (uint64_t)handle,
		     };
}

/* An empty stack has no top; a NULL context that was made current counts as an empty top. */
static CUresult push(struct gsb_cu_ctx_ref ref)
{
	CUresult result = gsb_self_enter();

	if (!result && gsb_self.depth == gsb_self.room)
		result = grow_stack();
	if (result)
		return result;
	if (gsb_self.top.ctx)
		gsb_self.stack[gsb_self.depth++] = gsb_self.top;
	gsb_self.top = ref;
	return CUDA_SUCCESS;
}

/* A context that another thread has destroyed stays current, and its place may be another one's by now. */
static CUcontext top_public(void)
{
	const struct gsb_cu_ctx_ref *top = &gsb_self.top;

	if (!top->ctx)
		return NULL;
	return atomic_load_explicit(&top->ctx->obj.handle, memory_order_acquire) == top->handle
		       ? gsb_cu_ctx_public(top->ctx)
		       : (CUcontext)top->handle;
}

static void pop(void)
{
	gsb_self.top =
		gsb_self.depth ? gsb_self.stack[--gsb_self.depth] : (struct gsb_cu_ctx_ref){0};
}

CUresult hook_cuCtxGetCurrent(CUcontext *ctx)
{
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = top_public();
	return gsb_self.is_suspended ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult hook_cuCtxSetCurrent(CUcontext handle)
{
	const struct gsb_cu_ctx_ref ref = find_ref(handle);
	CUresult result = gsb_self_enter();

	if (handle && !ref.ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (result)
		return result;
	if (handle)
		gsb_self.top = ref;
	else
		pop();
	return CUDA_SUCCESS;
}

CUresult hook_cuCtxPushCurrent(CUcontext handle)
{
	const struct gsb_cu_ctx_ref ref = find_ref(handle);

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	return ref.ctx ? push(ref) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult hook_cuCtxPopCurrent(CUcontext *ctx)
{
	if (!gsb_self.top.ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx)
		*ctx = top_public();
	pop();
	return CUDA_SUCCESS;
}

/* ---- created contexts ---- */

static bool flags_ok(unsigned flags)
{
	unsigned sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (sched <= 2 || sched == 4);
}

CUresult hook_cuCtxCreate(CUcontext *ctx, unsigned flags, CUdevice dev)
{
	struct gsb_cu_ctx *made;
	CUresult result;

	if (!ctx || !flags_ok(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	result = gsb_cu_ctx_create(flags, &made);
	if (!result)
		result = push(ref_to(made));
	if (!result)
		*ctx = gsb_cu_ctx_public(made);
	return result;
}

CUresult hook_cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *affinity, int n, unsigned flags,
			     CUdevice dev)
{
	return affinity || n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
			     : hook_cuCtxCreate(ctx, flags, dev);
}

CUresult hook_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned flags,
			     CUdevice dev)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return hook_cuCtxCreate_v3(ctx, params ? params->execAffinityParams : NULL,
				   params ? params->numExecAffinityParams : 0, flags, dev);
}

CUresult hook_cuCtxDestroy(CUcontext handle)
{
	CUresult result = handle ? gsb_cu_ctx_destroy(handle) : CUDA_ERROR_INVALID_VALUE;

	if (!result && gsb_self.top.handle == (uint64_t)handle)
		pop();
	return result;
}

/* Who attaches is one more that detaches: the last of them destroys. Both mean the current context. */
CUresult hook_cuCtxAttach(CUcontext *ctx, unsigned flags)
{
	struct gsb_cu_ctx_life life;
	CUresult result = ctx && !flags ? gsb_cu_ctx_live(&life) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	atomic_fetch_add(&life.ctx->n_attached, 1);
	*ctx = gsb_cu_ctx_public(life.ctx);
	return CUDA_SUCCESS;
}

CUresult hook_cuCtxDetach(CUcontext handle)
{
	struct gsb_cu_ctx *ctx = gsb_cu_ctx_find(handle);
	uint32_t n = ctx ? atomic_load(&ctx->n_attached) : 0;

	if (!ctx || gsb_self.top.ctx != ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	while (n)
		if (atomic_compare_exchange_weak(&ctx->n_attached, &n, n - 1))
			return CUDA_SUCCESS;
	return hook_cuCtxDestroy(handle);
}

/* ---- the primary context ---- */

static CUresult check_device(CUdevice dev)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	uint64_t wire;
	CUresult result = ctx ? check_device(dev) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_cu_ctx_primary_retain(&wire);
	if (!result)
		*ctx = gsb_cu_ctx_public(gsb_cu_ctx_primary());
	return result;
}

CUresult hook_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	CUresult result = check_device(dev);

	return result ? result : gsb_cu_ctx_primary_release();
}

/*
 * Who releases by the older entry what is nobody's any more is told nothing (an H200): NVIDIA's runtime does so, where the program has
 * given its reference back, and retains anew.
 */
CUresult hook_cuDevicePrimaryCtxRelease_v1(CUdevice dev)
{
	CUresult result = hook_cuDevicePrimaryCtxRelease(dev);

	return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

CUresult hook_cuDevicePrimaryCtxReset(CUdevice dev)
{
	CUresult result = check_device(dev);

	if (!result)
		gsb_cu_ctx_primary_reset();
	return result;
}

CUresult hook_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
	CUresult result = check_device(dev);

	if (!result && !flags_ok(flags))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		gsb_cu_ctx_primary()->flags = flags;
	return result;
}

CUresult hook_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
	CUresult result = flags && active ? check_device(dev) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	*flags = gsb_cu_ctx_primary()->flags;
	*active = atomic_load_explicit(&gsb_cu_ctx_primary()->wire, memory_order_acquire) != 0;
	return CUDA_SUCCESS;
}

/* ---- settings ---- */

/* One that has ended and is named has none (an H200); as the current one it has ended. */
CUresult hook_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
	struct gsb_cu_ctx_life life;
	CUresult result = version ? gsb_cu_ctx_resolve(handle, &life) : CUDA_ERROR_INVALID_VALUE;

	if (handle && result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (!result)
		*version = life.ctx->api_version;
	return result;
}

/* Of a primary context that is not active, too: a runtime asks before it retains. And after a fault. */
CUresult hook_cuCtxGetDevice(CUdevice *dev, CUcontext handle)
{
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (handle ? !gsb_cu_ctx_find(handle) : !gsb_self.top.ctx)
		return gsb_self.is_suspended ? CUDA_ERROR_NOT_PERMITTED
					     : CUDA_ERROR_INVALID_CONTEXT;
	*dev = 0;
	return CUDA_SUCCESS;
}

/*
 * After a fault, too. The primary context maps host memory, whether its flags say so or not; when it has been reset, and is current still, it has
 * its flags, and maps nothing (as NVIDIA's runtime tells of one on an H200).
 */
CUresult hook_cuCtxGetFlags(unsigned *flags)
{
	struct gsb_cu_ctx_life life;
	CUresult result = flags ? gsb_cu_ctx_life(&life) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED && gsb_self.top.ctx == gsb_cu_ctx_primary()) {
		*flags = gsb_self.top.ctx->flags;
		return CUDA_SUCCESS;
	}
	if (!result)
		*flags = life.ctx->flags | (life.ctx->is_primary ? CU_CTX_MAP_HOST : 0);
	return result;
}

CUresult hook_cuCtxSetFlags(unsigned flags)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = flags_ok(flags) ? gsb_cu_ctx_current(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		ctx->flags = flags;
	return result;
}

CUresult hook_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct gsb_cu_ctx_life life;
	CUresult result = id ? gsb_cu_ctx_resolve(handle, &life) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*id = life.wire;
	return result;
}

/* No kernel waits for kernels that it launched, since compute capability 9.0. */
static bool has_limit(CUlimit limit)
{
	if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
		return gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] < 9;
	return limit < GSB_N_LIMITS || limit == CU_LIMIT_CIG_ENABLED;
}

static CUresult check_limit(CUlimit limit)
{
	if (limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	return has_limit(limit) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult hook_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = value ? gsb_cu_ctx_current(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = check_limit(limit);
	if (!result) /* no context here is one of graphics */
		*value = limit == CU_LIMIT_CIG_ENABLED ? 0 : ctx->limits[limit];
	return result;
}

/* The device has a least, a most and a unit: what it is now is its to say. */
static CUresult set_printf_size(const struct gsb_cu_ctx_life *life, size_t bytes)
{
	const struct gsb_rec_print_limit body = {.ctx = life->wire, .bytes = bytes};
	struct gsb_reply_number now;
	CUresult result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_PRINT_LIMIT,
							   .guard = gsb_cu_wire_guard(life->wire),
							   .body = &body,
							   .body_bytes = sizeof(body)},
					&now, sizeof(now));

	if (!result)
		life->ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = now.number;
	return result;
}

/* What kernels take themselves: how much that can be the device knows. */
static CUresult set_kernel_memory(const struct gsb_cu_ctx_life *life, CUlimit limit, size_t bytes)
{
	const struct gsb_rec_kernel_memory body = {
		.ctx = life->wire,
		.bytes = bytes,
		.which = limit == CU_LIMIT_STACK_SIZE ? GSB_KERNEL_STACK : GSB_KERNEL_HEAP};
	struct gsb_reply_number now;
	CUresult result = gsb_call_into(&(struct gsb_call){.type = GSB_REC_KERNEL_MEMORY,
							   .guard = gsb_cu_wire_guard(life->wire),
							   .body = &body,
							   .body_bytes = sizeof(body)},
					&now, sizeof(now));

	if (!result)
		life->ctx->limits[limit] = now.number;
	return result;
}

/* CUDA documents that it may be ignored, and nothing goes by it here; more than there can be an H200 refuses. A device without any has none left. */
static CUresult set_hint(struct gsb_cu_ctx *ctx, CUlimit limit, size_t value, size_t most)
{
	if (most && value > most)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->limits[limit] = most ? value : 0;
	return CUDA_SUCCESS;
}

static size_t most_persisting_bytes(void)
{
	return (size_t)gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE];
}

/*
 * Honest, not obedient: of the other limits, what is asked for may be less than what is there already. More
 * than that is not to be had, and saying yes would be a lie.
 */
CUresult hook_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = check_limit(limit);
	if (result)
		return result;
	switch (limit) {
	case CU_LIMIT_PRINTF_FIFO_SIZE: return set_printf_size(&life, value);
	case CU_LIMIT_STACK_SIZE:
	case CU_LIMIT_MALLOC_HEAP_SIZE: return set_kernel_memory(&life, limit, value);
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		return set_hint(life.ctx, limit, value, L2_FETCH_MAX);
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		return set_hint(life.ctx, limit, value, most_persisting_bytes());
	default: break;
	}
	return limit >= GSB_N_LIMITS || value > life.ctx->limits[limit]
		       ? CUDA_ERROR_UNSUPPORTED_LIMIT
		       : CUDA_SUCCESS;
}

CUresult hook_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = config ? gsb_cu_ctx_current(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*config = ctx->cache_config;
	return result;
}

CUresult hook_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = config <= CU_FUNC_CACHE_PREFER_EQUAL ? gsb_cu_ctx_current(&ctx)
							       : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		ctx->cache_config = config;
	return result;
}

CUresult hook_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = config ? gsb_cu_ctx_current(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*config = ctx->smem_config;
	return result;
}

/* The banks are four bytes wide on every device since compute capability 5.0; the rest is a hint. */
CUresult hook_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct gsb_cu_ctx *ctx;

	return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? gsb_cu_ctx_current(&ctx)
								   : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct gsb_cu_ctx *ctx;
	CUresult result = gsb_cu_ctx_current(&ctx);

	if (!result && least)
		*least = gsb_proc.device.priority_least;
	if (!result && greatest)
		*greatest = gsb_proc.device.priority_greatest;
	return result;
}

CUresult hook_cuCtxResetPersistingL2Cache(void)
{
	struct gsb_cu_ctx *ctx;

	return gsb_cu_ctx_current(&ctx); /* nothing is ever set aside */
}

CUresult hook_cuCtxSynchronize(CUcontext handle)
{
	struct gsb_cu_ctx_life life;
	CUresult result = gsb_cu_ctx_resolve(handle, &life);

	if (!result)
		result = gsb_capture_unsafe_ctx(life.wire);
	return result ? result : gsb_cu_streams_wait_all(life.wire);
}

/* On or off: no profiler can listen to a process that has no context of the driver's. */
CUresult hook_cuProfilerSwitch(void)
{
	struct gsb_cu_ctx_life life;

	return gsb_cu_ctx_live(&life);
}

/* ---- peers: what contexts of one device have for each other is no access of peers, which is between devices ---- */

static CUresult check_peer(CUcontext peer, struct gsb_cu_ctx **current)
{
	CUresult result = gsb_cu_ctx_current(current);

	if (!result && (!peer || !gsb_cu_ctx_find(peer)))
		result = CUDA_ERROR_INVALID_CONTEXT;
	return result;
}

CUresult hook_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	struct gsb_cu_ctx *current;
	CUresult result = check_peer(peer, &current);

	if (!result && flags)
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult hook_cuCtxDisablePeerAccess(CUcontext peer)
{
	struct gsb_cu_ctx *current;
	CUresult result = check_peer(peer, &current);

	return result ? result : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
