/*
 * stream.c - see stream.h.
 */
#include "interpose/stream.h"

#include <stdlib.h>

#include "interpose/ctx.h"
#include "interpose/post.h"

static _Atomic uint64_t last_id;

bool gsb_cu_stream_is_done(const struct gsb_cu_stream *s)
{
	return atomic_load_explicit(&gsb_proc.region->streams[s->obj.index],
				    memory_order_acquire) >=
	       atomic_load_explicit(&s->posted, memory_order_acquire);
}

static bool is_idle(const void *object)
{
	return gsb_cu_stream_is_done(object);
}

struct gsb_object_table gsb_cu_streams =
	GSB_OBJECT_TABLE_IN_CTX(GSB_HANDLE_STREAM, GSB_N_STREAMS, struct gsb_cu_stream, is_idle);

CUresult gsb_cu_stream_take(struct gsb_cu_ctx *ctx, uint32_t flags, int priority, bool is_default,
			    struct gsb_cu_stream **out)
{
	struct gsb_cu_stream *s = gsb_object_take(&gsb_cu_streams);

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->ctx = ctx;
	s->wire_ctx = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	s->flags = flags;
	s->priority = priority;
	s->is_default = is_default;
	s->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	*out = s;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_stream_create(struct gsb_cu_ctx *ctx, uint32_t flags, int priority, bool is_default,
			      struct gsb_cu_stream **out)
{
	struct gsb_rec_stream_create body;
	struct gsb_cu_stream *s;
	CUresult result = gsb_cu_stream_take(ctx, flags, priority, is_default, &s);

	if (result)
		return result;
	body = (struct gsb_rec_stream_create){
		.stream = gsb_object_name(s),
		.ctx = s->wire_ctx,
		.flags = flags & CU_STREAM_NON_BLOCKING ? GSB_STREAM_NON_BLOCKING : 0,
		.priority = priority,
	};
	result = gsb_post_in(GSB_REC_STREAM_CREATE, ctx, s->wire_ctx, &body, sizeof(body));
	if (result) {
		gsb_object_release(&gsb_cu_streams, s);
		return result;
	}
	gsb_object_publish(s);
	*out = s;
	return CUDA_SUCCESS;
}

void gsb_cu_stream_destroy(struct gsb_cu_stream *s, uint64_t handle)
{
	gsb_post_destroy(GSB_REC_STREAM_DESTROY, &gsb_cu_streams, s, handle, s->ctx, s->wire_ctx);
}

static struct gsb_cu_stream *find_own(uint64_t wire_ctx)
{
	for (uint32_t i = 0; i < gsb_self.n_streams; i++)
		if (gsb_self.streams[i].ctx == wire_ctx)
			return gsb_object_get(&gsb_cu_streams, gsb_self.streams[i].stream);
	return NULL;
}

static CUresult create_own(struct gsb_cu_ctx *ctx, struct gsb_cu_stream **out)
{
	struct gsb_thread_stream *grown =
		realloc(gsb_self.streams, (gsb_self.n_streams + 1) * sizeof(*grown));
	CUresult result;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gsb_self.streams = grown;
	result = gsb_cu_stream_create(ctx, CU_STREAM_DEFAULT, 0, true, out);
	if (result)
		return result;
	gsb_self.streams[gsb_self.n_streams++] = (struct gsb_thread_stream){
		.ctx = (*out)->wire_ctx,
		.stream = gsb_object_name(*out),
	};
	return CUDA_SUCCESS;
}

/* CU_STREAM_PER_THREAD, or no handle at all. */
static GSB_COLD CUresult resolve_rare(CUstream stream, struct gsb_cu_stream **out)
{
	struct gsb_cu_ctx *ctx;
	CUresult result;

	if (stream != CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_self_enter();
	if (!result)
		result = gsb_cu_ctx_current(&ctx);
	if (result)
		return result;
	*out = find_own(atomic_load_explicit(&ctx->wire, memory_order_acquire));
	return *out ? CUDA_SUCCESS : create_own(ctx, out);
}

CUresult gsb_cu_stream_resolve(CUstream stream, struct gsb_cu_stream **out)
{
	struct gsb_cu_stream *s;
	struct gsb_cu_ctx *ctx;
	CUresult result;

	if (!stream || stream == CU_STREAM_LEGACY) {
		result = gsb_cu_ctx_current(&ctx);
		if (!result)
			*out = ctx->legacy;
		return result;
	}
	s = gsb_object_get(&gsb_cu_streams, (uint64_t)stream);
	if (gsb_unlikely(!s))
		return resolve_rare(stream, out);
	result = gsb_cu_ctx_error(s->ctx);
	if (!result)
		*out = s;
	return result;
}

static CUresult wait_one(const struct gsb_cu_stream *s)
{
	return gsb_wait(GSB_WAIT_STREAM, s->obj.index,
			atomic_load_explicit(&s->posted, memory_order_acquire));
}

/* Streams of a context, skip those with one of these flags; one at a time, oldest index first. */
static CUresult wait_many(const struct gsb_cu_ctx *ctx, uint64_t wire_ctx, uint32_t skip_flags)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < gsb_cu_streams.n_used; i++) {
		const struct gsb_cu_stream *s = gsb_object_at(&gsb_cu_streams, i);

		if (s->ctx == ctx && s->wire_ctx == wire_ctx && !(s->flags & skip_flags) &&
		    !gsb_cu_stream_is_done(s))
			result = wait_one(s);
	}
	return result ? result : gsb_cu_ctx_error(ctx);
}

CUresult gsb_cu_stream_wait(struct gsb_cu_stream *s)
{
	CUresult result;

	if (s->ctx->legacy == s)
		return wait_many(s->ctx, s->wire_ctx, CU_STREAM_NON_BLOCKING);
	result = wait_one(s);
	return result ? result : gsb_cu_ctx_error(s->ctx);
}

CUresult gsb_cu_streams_wait_all(struct gsb_cu_ctx *ctx)
{
	return wait_many(ctx, atomic_load_explicit(&ctx->wire, memory_order_acquire), 0);
}
