/*
 * stream.c - see stream.h.
 */
#include "interpose/cu/stream.h"

#include <stdlib.h>

#include "interpose/cu/ctx.h"
#include "interpose/core/post.h"

static _Atomic uint64_t last_id;

bool gsb_cu_stream_is_done(const struct gsb_cu_stream *s)
{
	return atomic_load_explicit(&gsb_proc.region->streams[s->post.obj.index],
				    memory_order_acquire) >=
	       atomic_load_explicit(&s->post.posted, memory_order_acquire);
}

static bool is_idle(const void *object)
{
	return gsb_cu_stream_is_done(object);
}

struct gsb_object_table gsb_cu_streams =
	GSB_OBJECT_TABLE(GSB_HANDLE_STREAM, GSB_N_STREAMS, struct gsb_cu_stream, 0, is_idle);

CUresult gsb_cu_stream_take(struct gsb_cu_ctx *ctx, uint64_t wire, uint32_t flags,
			    struct gsb_cu_stream **out)
{
	struct gsb_cu_stream *s = gsb_object_take(&gsb_cu_streams, wire);

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->ctx = ctx;
	s->post.guard = gsb_cu_ctx_guard(ctx, wire);
	s->flags = flags;
	s->priority = 0;
	s->is_default = false;
	s->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	*out = s;
	return CUDA_SUCCESS;
}

static CUresult post_create(const struct gsb_cu_stream *s)
{
	const struct gsb_rec_stream_create body = {
		.stream = gsb_object_name(s),
		.ctx = gsb_object_owner(s),
		.flags = s->flags & CU_STREAM_NON_BLOCKING ? GSB_STREAM_NON_BLOCKING : 0,
		.priority = s->priority,
	};

	return gsb_post_if(GSB_REC_STREAM_CREATE, &s->post.guard, &body, sizeof(body));
}

CUresult gsb_cu_stream_create(struct gsb_cu_ctx *ctx, uint32_t flags, int priority, bool is_default,
			      struct gsb_cu_stream **out)
{
	uint64_t wire = atomic_load_explicit(&ctx->wire, memory_order_acquire);
	struct gsb_cu_stream *s;
	CUresult result = gsb_cu_stream_take(ctx, wire, flags, &s);

	if (result)
		return result;
	s->priority = priority;
	s->is_default = is_default;
	result = post_create(s);
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
	gsb_post_destroy(GSB_REC_STREAM_DESTROY, &gsb_cu_streams, s, handle, &s->post.guard);
}

void gsb_cu_streams_destroy_own(struct gsb_self *self)
{
	for (uint32_t i = 0; i < self->n_streams; i++) {
		struct gsb_cu_stream *s = gsb_object_get(&gsb_cu_streams, self->streams[i].stream);

		if (s)
			gsb_cu_stream_destroy(s, self->streams[i].stream);
	}
	self->n_streams = 0;
}

/* ---- by handle ---- */

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
		.ctx = gsb_object_owner(*out),
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

/* ---- waiting ---- */

CUresult gsb_cu_stream_wait_for(const struct gsb_cu_stream *s, uint64_t number)
{
	CUresult result = gsb_wait(GSB_WAIT_STREAM, s->post.obj.index, number);

	return result ? result : gsb_cu_ctx_error(s->ctx);
}

/* A stream of this context at this time of its life, without these flags, that has work; from index `from` on. */
static const struct gsb_cu_stream *find_busy(uint64_t wire, uint32_t skip_flags, uint32_t from)
{
	for (uint32_t i = from; i < gsb_cu_streams.n_used; i++) {
		const struct gsb_cu_stream *s = gsb_object_at(&gsb_cu_streams, i);

		if (gsb_object_owner(s) == wire && !(s->flags & skip_flags) &&
		    !gsb_cu_stream_is_done(s))
			return s;
	}
	return NULL;
}

/* One at a time, lowest index first. */
static CUresult wait_many(const struct gsb_cu_ctx *ctx, uint64_t wire, uint32_t skip_flags)
{
	const struct gsb_cu_stream *s;
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && (s = find_busy(wire, skip_flags, i));
	     i = s->post.obj.index + 1)
		result = gsb_wait(GSB_WAIT_STREAM, s->post.obj.index,
				  atomic_load_explicit(&s->post.posted, memory_order_acquire));
	return result ? result : gsb_cu_ctx_error(ctx);
}

bool gsb_cu_stream_query(const struct gsb_cu_stream *s)
{
	return s->ctx->legacy == s ? !find_busy(gsb_object_owner(s), CU_STREAM_NON_BLOCKING, 0)
				   : gsb_cu_stream_is_done(s);
}

CUresult gsb_cu_stream_wait(struct gsb_cu_stream *s)
{
	if (s->ctx->legacy == s)
		return wait_many(s->ctx, gsb_object_owner(s), CU_STREAM_NON_BLOCKING);
	return gsb_cu_stream_wait_for(s,
				      atomic_load_explicit(&s->post.posted, memory_order_acquire));
}

CUresult gsb_cu_streams_wait_all(struct gsb_cu_ctx *ctx)
{
	return wait_many(ctx, atomic_load_explicit(&ctx->wire, memory_order_acquire), 0);
}
