/*
 * hooks/event.c - events: recorded by posts; queries, waits and times come from the shared words.
 */
#include <string.h>

#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/print.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"

static CUresult create(uint64_t wire, unsigned flags, uint64_t *handle)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	struct gsb_cu_event *e = gsb_object_take(&gsb_cu_events, wire, 0);
	struct gsb_rec_event_create body;
	CUresult result;

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->flags = flags;
	e->first = gsb_cu_event_number(e);
	body = (struct gsb_rec_event_create){
		.event = gsb_object_name(e), .ctx = wire, .flags = flags};
	result = gsb_post_if(GSB_REC_EVENT_CREATE, &guard, &body, sizeof(body));
	if (result) {
		gsb_object_release(&gsb_cu_events, body.event);
		return result;
	}
	*handle = body.event;
	return gsb_object_publish(&gsb_cu_events, e) ? CUDA_SUCCESS
						     : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult hook_cuEventCreate(CUevent *event, unsigned flags)
{
	struct gsb_cu_ctx_life life;
	uint64_t handle;
	CUresult result;

	if (!event || flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
					  CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		return flags & CU_EVENT_DISABLE_TIMING ? CUDA_ERROR_NOT_SUPPORTED
						       : CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_ctx_live(&life);
	if (!result)
		result = create(life.wire, flags, &handle);
	if (!result)
		*event = (CUevent)handle;
	return result;
}

CUresult hook_cuEventDestroy(CUevent event)
{
	return gsb_object_get(&gsb_cu_events, (uint64_t)event)
		       ? gsb_post_destroy(GSB_REC_EVENT_DESTROY, &gsb_cu_events, (uint64_t)event,
					  CUDA_ERROR_INVALID_HANDLE)
		       : CUDA_ERROR_INVALID_HANDLE;
}

/* The event's number is counted inside the ring's lock, so that two threads' records have the ring's order. */
static CUresult record(const struct gsb_cu_stream_ref *s, struct gsb_cu_event *e, uint64_t event)
{
	struct gsb_rec_event_record body = {.event = event};
	struct gsb_post p;
	CUresult result = gsb_cu_stream_begin(s, &p, GSB_REC_EVENT_RECORD, sizeof(body));

	if (result)
		return result;
	if (!gsb_object_is(e, event)) {
		gsb_post_cancel();
		return CUDA_ERROR_INVALID_HANDLE;
	}
	body.number = atomic_load_explicit(&e->recorded, memory_order_relaxed) + 1;
	memcpy(p.body, &body, sizeof(body));
	atomic_store_explicit(&e->recorded, body.number, memory_order_release);
	gsb_post_end(&p);
	return CUDA_SUCCESS;
}

CUresult hook_cuEventRecord(CUevent event, CUstream stream, unsigned flags)
{
	struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	struct gsb_cu_stream_ref s;
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_stream_resolve(stream, &s);
	if (result)
		return result;
	return s.wire == gsb_object_owner(e) ? record(&s, e, (uint64_t)event)
					     : CUDA_ERROR_INVALID_HANDLE;
}

CUresult hook_cuEventQuery(CUevent event)
{
	uint64_t before = gsb_n_completed();
	const struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_cu_error_of(e);
	if (result || gsb_cu_event_is_done(e))
		return result;
	result = gsb_wait_progress(before);
	return result ? result : gsb_cu_error_of(e) ? gsb_cu_error_of(e) : CUDA_ERROR_NOT_READY;
}

CUresult hook_cuEventSynchronize(CUevent event)
{
	const struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_wait(GSB_WAIT_EVENT, e->obj.index, gsb_cu_event_number(e));
	gsb_print_flush();
	return result ? result : gsb_cu_error_of(e);
}

/*
 * The time of a completed record. Another thread may record the event again meanwhile: time and number are
 * one record's only when the number is the same before and after.
 */
static uint64_t time_of(const struct gsb_cu_event *e)
{
	const struct gsb_event_word *w = gsb_cu_event_word(e);
	uint64_t before, time;

	do {
		before = atomic_load_explicit(&w->done, memory_order_acquire);
		time = *(const volatile uint64_t *)&w->time_ns;
		atomic_thread_fence(memory_order_acquire);
	} while (before != atomic_load_explicit(&w->done, memory_order_relaxed));
	return time;
}

CUresult hook_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	uint64_t before = gsb_n_completed();
	const struct gsb_cu_event *a = gsb_object_get(&gsb_cu_events, (uint64_t)start);
	const struct gsb_cu_event *b = gsb_object_get(&gsb_cu_events, (uint64_t)end);
	CUresult result;

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!a || !b || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING ||
	    gsb_object_owner(a) != gsb_object_owner(b) || !gsb_cu_event_is_recorded(a) ||
	    !gsb_cu_event_is_recorded(b))
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_cu_error_of(a);
	if (result)
		return result;
	if (!gsb_cu_event_is_done(a) || !gsb_cu_event_is_done(b)) {
		result = gsb_wait_progress(before);
		return result ? result : CUDA_ERROR_NOT_READY;
	}
	*ms = (float)((double)(int64_t)(time_of(b) - time_of(a)) / 1e6);
	return CUDA_SUCCESS;
}
