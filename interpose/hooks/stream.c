/*
 * hooks/stream.c - streams: created and destroyed by posts, queried and waited for in the shared words.
 */
#include <string.h>

#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"
#include "interpose/cu/host_call.h"

CUresult hook_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	const struct gsb_cu_stream_params params = {
		.flags = flags,
		.priority = gsb_clamp_priority(&gsb_proc.device, priority),
	};
	struct gsb_cu_ctx_life life;
	uint64_t handle;
	CUresult result;

	if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_ctx_live(&life);
	if (!result)
		result = gsb_cu_stream_create(life.wire, &params, &handle);
	if (!result)
		*stream = (CUstream)handle;
	return result;
}

CUresult hook_cuStreamDestroy(CUstream stream)
{
	struct gsb_cu_stream *s = gsb_object_get(&gsb_cu_streams, (uint64_t)stream);
	CUresult result, error;

	if (!s || s->kind != GSB_CU_STREAM_MADE)
		return CUDA_ERROR_INVALID_HANDLE;
	if (gsb_unlikely(s->member != NULL)) {
		gsb_cu_graphs_lock();
		gsb_capture_leave(&(struct gsb_cu_stream_ref){.s = s, .handle = (uint64_t)stream});
		gsb_cu_graphs_unlock();
	}
	error = gsb_cu_error_of(s);
	result = gsb_cu_stream_destroy((uint64_t)stream);
	return result ? result : error;
}

CUresult hook_cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct gsb_cu_stream_ref s;
	CUresult result = ctx ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*ctx = gsb_cu_ctx_public(gsb_cu_wire_ctx(s.wire));
	return result;
}

/* Streams are of contexts, for there are no green ones. */
CUresult hook_cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green)
{
	CUresult result = hook_cuStreamGetCtx(stream, ctx);

	if (!result && green)
		*green = NULL;
	return result;
}

CUresult hook_cuStreamGetDevice(CUstream stream, CUdevice *dev)
{
	struct gsb_cu_stream_ref s;
	CUresult result = dev ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*dev = 0;
	return result;
}

CUresult hook_cuStreamGetFlags(CUstream stream, unsigned *flags)
{
	struct gsb_cu_stream_ref s;
	CUresult result = flags ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*flags = s.s->flags;
	return result;
}

CUresult hook_cuStreamGetId(CUstream stream, unsigned long long *id)
{
	struct gsb_cu_stream_ref s;
	CUresult result = id ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*id = s.s->id;
	return result;
}

/* A stream that captures cannot be waited for; and while one does, others only by who may wait. */
static GSB_COLD CUresult capture_wait(const struct gsb_cu_stream_ref *s)
{
	CUresult result = gsb_capture_refuse(s);

	return result ? result : gsb_capture_unsafe();
}

static CUresult may_wait(const struct gsb_cu_stream_ref *s)
{
	return gsb_capture_any() ? capture_wait(s) : CUDA_SUCCESS;
}

CUresult hook_cuStreamQuery(CUstream stream)
{
	uint64_t before = gsb_n_completed();
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);
	bool is_done;

	if (!result)
		result = may_wait(&s);
	if (result)
		return result;
	is_done = gsb_cu_stream_query(&s);
	if (!is_done)
		result = gsb_wait_progress(before);
	if (!result)
		result = gsb_cu_wire_error(s.wire);
	return result || is_done ? result : CUDA_ERROR_NOT_READY;
}

CUresult hook_cuStreamSynchronize(CUstream stream)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (!result)
		result = may_wait(&s);
	return result ? result : gsb_cu_stream_wait(&s);
}

/* The event may be of another context than the stream. */
static CUresult post_wait(const struct gsb_cu_stream_ref *s, const struct gsb_cu_event *e,
			  uint64_t event)
{
	const struct gsb_rec_object body = {.handle = event};
	struct gsb_post p;
	CUresult result = gsb_cu_stream_begin(s, &p, GSB_REC_STREAM_WAIT_EVENT, sizeof(body));

	if (result)
		return result;
	if (!gsb_object_is(e, event)) {
		gsb_post_cancel();
		return CUDA_ERROR_INVALID_HANDLE;
	}
	memcpy(p.body, &body, sizeof(body));
	gsb_cu_event_post_end(e, &p);
	return CUDA_SUCCESS;
}

/* Work that is outside can only be waited for by a node that says so; what was never recorded, by nobody. */
static CUresult wait_outside(struct gsb_capture_member *m, const struct gsb_cu_event *e,
			     CUevent event, unsigned flags)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};

	if (flags & CU_EVENT_WAIT_EXTERNAL)
		return gsb_capture_add(m, &work);
	if (!gsb_cu_event_may_be_recorded(e) || gsb_capture_check(m))
		return gsb_capture_check(m);
	gsb_capture_invalidate(m->capture);
	return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

/* False: neither the stream nor the event has to do with a capture. */
static GSB_COLD bool capture_event(const struct gsb_cu_stream_ref *s, const struct gsb_cu_event *e,
				   CUevent event, unsigned flags, CUresult *result)
{
	struct gsb_capture_member *m;
	bool is_captured;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	is_captured = gsb_capture_of_event(e) && !(flags & CU_EVENT_WAIT_EXTERNAL);
	*result = m ? CUDA_SUCCESS : gsb_capture_implicit(s, false);
	if (!*result && e->mark && !gsb_capture_of_event(e)) /* of a capture that is over */
		*result = CUDA_ERROR_INVALID_VALUE;
	else if (!*result && is_captured)
		*result = gsb_capture_join(s, e);
	else if (m)
		*result = wait_outside(m, e, event, flags);
	gsb_cu_graphs_unlock();
	return m || is_captured || *result;
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	const struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	struct gsb_cu_stream_ref s;
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_stream_resolve(stream, &s);
	if (result || ((gsb_capture_any() || gsb_unlikely(e->mark != NULL)) &&
		       capture_event(&s, e, event, flags, &result)))
		return result;
	if (flags & CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_ILLEGAL_STATE;
	return gsb_cu_event_may_be_recorded(e) ? post_wait(&s, e, (uint64_t)event) : CUDA_SUCCESS;
}

/* A host function becomes a node; a callback, which gets the stream and its status, cannot. */
static GSB_COLD bool capture_call(const struct gsb_cu_stream_ref *s,
				  const struct gsb_host_call *call, CUresult *result)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_HOST,
					    .host = {.fn = call->fn, .userData = call->data}};
	struct gsb_capture_member *m;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	*result = !m	     ? gsb_capture_implicit(s, false)
		  : call->fn ? gsb_capture_add(m, &work)
			     : gsb_capture_no_wait(s);
	gsb_cu_graphs_unlock();
	return m || *result;
}

static CUresult post_call(CUstream stream, const struct gsb_host_call *call)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result || (gsb_capture_any() && capture_call(&s, call, &result)))
		return result;
	return gsb_host_call_post(&s, call);
}

CUresult hook_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	return fn ? post_call(stream, &(struct gsb_host_call){.fn = fn, .data = data})
		  : CUDA_ERROR_INVALID_VALUE;
}

/* as: what the program has called the stream, and is told. */
CUresult hook_cuStreamAddCallback(CUstream stream, CUstream as, CUstreamCallback fn, void *data,
				  unsigned flags)
{
	const struct gsb_host_call call = {.callback = fn, .data = data, .stream = as};

	return fn && !flags ? post_call(stream, &call) : CUDA_ERROR_INVALID_VALUE;
}
