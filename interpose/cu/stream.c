/*
 * stream.c - see stream.h.
 */
#include "interpose/cu/stream.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/cu/print.h"

#define N_LOOK_MAX 1024 /* streams that there ever were at once; two microseconds */

static _Atomic uint64_t last_id;

static bool has_done(const struct gsb_cu_stream *s, uint64_t number)
{
	return atomic_load_explicit(&gsb_proc.region->streams[s->post.obj.index],
				    memory_order_acquire) >= number;
}

static bool is_idle(const void *object)
{
	const struct gsb_cu_stream *s = object;

	return has_done(s, atomic_load_explicit(&s->post.posted, memory_order_acquire));
}

struct gsb_object_table gsb_cu_streams =
	GSB_OBJECT_TABLE(GSB_HANDLE_STREAM, GSB_N_STREAMS, struct gsb_cu_stream, is_idle);

/* ---- made and destroyed ---- */

CUresult gsb_cu_stream_take(uint64_t wire, enum gsb_cu_stream_kind kind, struct gsb_cu_stream **out)
{
	struct gsb_cu_stream *s = gsb_object_take(&gsb_cu_streams, wire, 0);

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->kind = kind;
	/* A default stream ends with its context, and the program never had its handle. */
	s->post.gone = kind == GSB_CU_STREAM_MADE ? CUDA_ERROR_INVALID_HANDLE
						  : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	s->flags = CU_STREAM_DEFAULT;
	s->hints = (struct gsb_cu_stream_hints){.sync = (CUsynchronizationPolicy)-1,
						.domain_map = {.remote = 1}};
	s->member = NULL;
	s->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	*out = s;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_stream_create(uint64_t wire, const struct gsb_cu_stream_params *p, uint64_t *handle)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	struct gsb_rec_stream_create body;
	struct gsb_cu_stream *s;
	CUresult result = gsb_cu_stream_take(wire, p->kind, &s);

	if (result)
		return result;
	s->flags = p->flags;
	s->hints.priority = p->priority;
	body = (struct gsb_rec_stream_create){
		.stream = gsb_object_name(s),
		.ctx = wire,
		.flags = p->flags & CU_STREAM_NON_BLOCKING ? GSB_STREAM_NON_BLOCKING : 0,
		.priority = p->priority,
	};
	result = gsb_post_if(GSB_REC_STREAM_CREATE, &guard, &body, sizeof(body));
	if (result) {
		gsb_object_release(&gsb_cu_streams, body.stream);
		return result;
	}
	*handle = body.stream;
	return gsb_object_publish(&gsb_cu_streams, s) ? CUDA_SUCCESS
						      : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult gsb_cu_stream_destroy(uint64_t handle)
{
	return gsb_post_destroy(GSB_REC_STREAM_DESTROY, &gsb_cu_streams, handle,
				CUDA_ERROR_INVALID_HANDLE);
}

void gsb_cu_streams_destroy_own(struct gsb_self *self)
{
	for (uint32_t i = 0; i < self->n_streams; i++)
		gsb_cu_stream_destroy(self->streams[i].stream);
	self->n_streams = 0;
}

/* ---- by handle ---- */

static CUresult create_own(uint64_t wire, uint64_t *handle)
{
	static const struct gsb_cu_stream_params params = {.kind = GSB_CU_STREAM_OWN};
	struct gsb_thread_stream *grown =
		realloc(gsb_self.streams, (gsb_self.n_streams + 1) * sizeof(*grown));
	CUresult result;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gsb_self.streams = grown;
	result = gsb_cu_stream_create(wire, &params, handle);
	if (!result)
		gsb_self.streams[gsb_self.n_streams++] =
			(struct gsb_thread_stream){.ctx = wire, .stream = *handle};
	return result;
}

static CUresult find_own(uint64_t wire, uint64_t *handle)
{
	for (uint32_t i = 0; i < gsb_self.n_streams; i++)
		if (gsb_self.streams[i].ctx == wire) {
			*handle = gsb_self.streams[i].stream;
			return CUDA_SUCCESS;
		}
	return create_own(wire, handle);
}

/* CU_STREAM_PER_THREAD, or no handle at all. */
GSB_COLD CUresult gsb_cu_stream_resolve_rare(CUstream stream, struct gsb_cu_stream_ref *out)
{
	struct gsb_cu_ctx_life life;
	CUresult result;

	if (stream != CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_self_enter();
	if (!result)
		result = gsb_cu_ctx_live(&life);
	if (result)
		return result;
	result = find_own(life.wire, &out->handle);
	if (result)
		return result;
	out->s = gsb_cu_stream_at(out->handle);
	out->wire = life.wire;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_stream_resolve(CUstream stream, struct gsb_cu_stream_ref *out)
{
	return gsb_cu_stream_resolve_inline(stream, out);
}

CUresult gsb_cu_stream_post(const struct gsb_cu_stream_ref *ref, enum gsb_rec_type type,
			    const void *body, uint32_t bytes, uint64_t *number)
{
	struct gsb_post p;
	CUresult result = gsb_cu_stream_begin(ref, &p, type, bytes);

	if (result)
		return result;
	memcpy(p.body, body, bytes);
	gsb_post_end(&p);
	if (number)
		*number = p.number;
	return CUDA_SUCCESS;
}

/* ---- waiting ---- */

CUresult gsb_cu_stream_wait_for(const struct gsb_cu_stream_ref *ref, uint64_t number)
{
	CUresult result = gsb_wait(GSB_WAIT_STREAM, ref->s->post.obj.index, number);

	gsb_print_flush();
	return result ? result : gsb_cu_wire_error(ref->wire);
}

/* A stream of this context without these flags that has work, from index `from` on. */
static const struct gsb_cu_stream *find_busy(uint64_t wire, uint32_t skip_flags, uint32_t from)
{
	for (uint32_t i = from; i < gsb_cu_streams.n_used; i++) {
		const struct gsb_cu_stream *s = gsb_object_at(&gsb_cu_streams, i);

		if (gsb_object_owner(s) == wire && !(s->flags & skip_flags) && !is_idle(s))
			return s;
	}
	return NULL;
}

/* One at a time, lowest index first. */
static CUresult wait_many(uint64_t wire, uint32_t skip_flags)
{
	const struct gsb_cu_stream *s;
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && (s = find_busy(wire, skip_flags, i));
	     i = s->post.obj.index + 1)
		result = gsb_wait(GSB_WAIT_STREAM, s->post.obj.index,
				  atomic_load_explicit(&s->post.posted, memory_order_acquire));
	gsb_print_flush();
	return result ? result : gsb_cu_wire_error(wire);
}

static bool is_legacy(const struct gsb_cu_stream_ref *ref)
{
	return gsb_cu_wire_ctx(ref->wire)->legacy == ref->handle;
}

bool gsb_cu_stream_query(const struct gsb_cu_stream_ref *ref)
{
	return is_legacy(ref) ? !find_busy(ref->wire, CU_STREAM_NON_BLOCKING, 0) : is_idle(ref->s);
}

CUresult gsb_cu_stream_wait(const struct gsb_cu_stream_ref *ref)
{
	return is_legacy(ref)
		       ? wait_many(ref->wire, CU_STREAM_NON_BLOCKING)
		       : gsb_cu_stream_wait_for(ref, atomic_load_explicit(&ref->s->post.posted,
									  memory_order_acquire));
}

CUresult gsb_cu_streams_wait_all(uint64_t wire)
{
	return wait_many(wire, 0);
}

bool gsb_cu_streams_are_idle(void)
{
	uint32_t n = gsb_cu_streams.n_used;

	if (n > N_LOOK_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!is_idle(gsb_object_at(&gsb_cu_streams, i)))
			return false;
	return true;
}

bool gsb_cu_streams_await_free(uint32_t *from)
{
	while (*from < gsb_cu_streams.n_used) {
		const struct gsb_cu_stream *s = gsb_object_at(&gsb_cu_streams, (*from)++);
		uint64_t freed = atomic_load_explicit(&s->freed, memory_order_acquire);

		if (!has_done(s, freed))
			return !gsb_wait(GSB_WAIT_STREAM, s->post.obj.index, freed);
	}
	return false;
}
