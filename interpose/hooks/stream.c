/*
 * hooks/stream.c - streams: created and destroyed by posts, queried and waited for in the shared words.
 */
#include <string.h>

#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"
#include "interpose/cu/host_call.h"

static int clamp_priority(int priority)
{
	const struct gsb_device_info *d = &gsb_proc.device;

	/* The greatest priority is the smallest number. */
	if (priority < d->priority_greatest)
		return d->priority_greatest;
	return priority > d->priority_least ? d->priority_least : priority;
}

CUresult hook_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	const struct gsb_cu_stream_params params = {
		.flags = flags,
		.priority = clamp_priority(priority),
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
	const struct gsb_cu_stream *s = gsb_object_get(&gsb_cu_streams, (uint64_t)stream);

	return s && s->kind == GSB_CU_STREAM_MADE ? gsb_cu_stream_destroy((uint64_t)stream)
						  : CUDA_ERROR_INVALID_HANDLE;
}

CUresult hook_cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct gsb_cu_stream_ref s;
	CUresult result = ctx ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*ctx = gsb_cu_ctx_public(gsb_cu_wire_ctx(s.wire));
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

CUresult hook_cuStreamGetPriority(CUstream stream, int *priority)
{
	struct gsb_cu_stream_ref s;
	CUresult result = priority ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*priority = s.s->priority;
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

/* No capture can begin (cuStreamBeginCapture is refused), so none is ever active. */
CUresult hook_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	struct gsb_cu_stream_ref s;
	CUresult result = status ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return result;
}

CUresult hook_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return hook_cuStreamIsCapturing(stream, status);
}

CUresult hook_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode last = gsb_self.capture_mode;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_self.capture_mode = (uint8_t)*mode;
	*mode = last;
	return CUDA_SUCCESS;
}

CUresult hook_cuStreamQuery(CUstream stream)
{
	uint64_t before = gsb_n_completed();
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);
	bool is_done;

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
	gsb_post_end(&p);
	return CUDA_SUCCESS;
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
	if (result || !gsb_cu_event_is_recorded(e))
		return result;
	return post_wait(&s, e, (uint64_t)event);
}

CUresult hook_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	struct gsb_cu_stream_ref s;
	CUresult result = fn ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	return result ? result
		      : gsb_host_call_post(&s, &(struct gsb_host_call){.fn = fn, .data = data});
}

CUresult hook_cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *data, unsigned flags)
{
	struct gsb_cu_stream_ref s;
	CUresult result =
		fn && !flags ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	return result ? result
		      : gsb_host_call_post(&s, &(struct gsb_host_call){.callback = fn,
								       .data = data,
								       .stream = stream});
}
