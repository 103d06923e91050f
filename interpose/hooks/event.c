/*
 * hooks/event.c - events: recorded by posts; queries, waits and times come from the shared words, of events that other programs
 * have, too, from the engine.
 */
#include <string.h>

#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/graph.h"
#include "interpose/cu/print.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"

CUresult hook_cuEventCreate(CUevent *event, unsigned flags)
{
	struct gsb_cu_ctx_life life;
	uint64_t handle;
	CUresult result;

	if (!event || flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
					  CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_ctx_live(&life);
	if (!result)
		result = gsb_cu_event_create(life.wire, flags, &handle);
	if (!result)
		*event = (CUevent)handle;
	return result;
}

/* What it stood for in a capture is no more. */
static GSB_COLD void forget(struct gsb_cu_event *e)
{
	gsb_cu_graphs_lock();
	gsb_capture_forget(e);
	gsb_cu_graphs_unlock();
}

CUresult hook_cuEventDestroy(CUevent event)
{
	struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);

	CUresult result, error;

	if (!e)
		return gsb_cu_gone(&gsb_cu_events, (uint64_t)event);
	if (gsb_unlikely(e->mark != NULL))
		forget(e);
	error = gsb_cu_error_of(e);
	result = gsb_post_destroy(GSB_REC_EVENT_DESTROY, &gsb_cu_events, (uint64_t)event,
				  CUDA_ERROR_INVALID_HANDLE);
	return result ? result : error;
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
	gsb_cu_event_post_end(e, &p);
	return CUDA_SUCCESS;
}

/* Into a stream that may be capturing; false: it is not, and nothing forbids the record. */
static GSB_COLD bool capture_record(const struct gsb_cu_stream_ref *s, struct gsb_cu_event *e,
				    uint64_t event, unsigned flags, CUresult *result)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
					    .event = (CUevent)event};
	struct gsb_capture_member *m;

	gsb_cu_graphs_lock();
	m = gsb_capture_of(s);
	*result = !m				     ? gsb_capture_implicit(s, false)
		  : flags & CU_EVENT_RECORD_EXTERNAL ? gsb_capture_add(m, &work)
						     : gsb_capture_record(m, e);
	if (!m && !*result)
		gsb_capture_forget(e);
	gsb_cu_graphs_unlock();
	return m || *result;
}

/* The stream, if the event can be recorded in it. */
static CUresult find_stream(const struct gsb_cu_event *e, CUstream stream, unsigned flags,
			    struct gsb_cu_stream_ref *s)
{
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_cu_stream_resolve(stream, s);
	if (!result && s->wire != gsb_object_owner(e))
		result = CUDA_ERROR_INVALID_HANDLE;
	return result;
}

CUresult gsb_event_check(CUevent event, CUstream stream, unsigned flags)
{
	struct gsb_cu_stream_ref s;

	return find_stream(gsb_object_get(&gsb_cu_events, (uint64_t)event), stream, flags, &s);
}

CUresult hook_cuEventRecord(CUevent event, CUstream stream, unsigned flags)
{
	struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	struct gsb_cu_stream_ref s;
	CUresult result = find_stream(e, stream, flags, &s);

	if (result)
		return result;
	if ((gsb_capture_any() || gsb_unlikely(e->mark != NULL)) &&
	    capture_record(&s, e, (uint64_t)event, flags, &result))
		return result;
	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_ILLEGAL_STATE;
	return record(&s, e, (uint64_t)event);
}

/*
 * Of an event that was recorded in a capture there is nothing to ask or to wait for: that makes a capture in progress
 * invalid. Other captures forbid it to threads that must not wait.
 */
static GSB_COLD CUresult capture_ask(const struct gsb_cu_event *e)
{
	struct gsb_capture *c;
	CUresult result = CUDA_SUCCESS;

	gsb_cu_graphs_lock();
	c = gsb_capture_of_event(e);
	if (c)
		gsb_capture_invalidate(c);
	if (e->mark)
		result = c ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_unlock();
	return result ? result : gsb_capture_unsafe();
}

static CUresult may_ask(const struct gsb_cu_event *e)
{
	return gsb_capture_any() || gsb_unlikely(e->mark != NULL) ? capture_ask(e) : CUDA_SUCCESS;
}

/* The latest recording of all programs that have the event: CUDA_ERROR_NOT_READY if it is only asked after, else that is waited for. */
static CUresult await(uint64_t event, bool only_ask)
{
	const struct gsb_rec_event_await body = {.event = event, .only_ask = only_ask};
	const struct gsb_call call = {
		.type = GSB_REC_EVENT_AWAIT,
		.guard = gsb_object_guard(&gsb_cu_events, event, CUDA_ERROR_INVALID_HANDLE),
		.body = &body,
		.body_bytes = sizeof(body),
		.is_stamped = true,
	};

	return gsb_call(&call, NULL);
}

static CUresult query(const struct gsb_cu_event *e, uint64_t event)
{
	if (gsb_unlikely(gsb_cu_event_is_shared(e)))
		return await(event, true);
	return gsb_cu_event_is_done(e) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult hook_cuEventQuery(CUevent event)
{
	uint64_t before = gsb_n_completed();
	const struct gsb_cu_event *e = gsb_object_get(&gsb_cu_events, (uint64_t)event);
	CUresult result;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	result = may_ask(e);
	if (!result)
		result = gsb_cu_error_of(e);
	if (!result)
		result = query(e, (uint64_t)event);
	if (result != CUDA_ERROR_NOT_READY)
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
	result = may_ask(e);
	if (result)
		return result;
	result = gsb_unlikely(gsb_cu_event_is_shared(e))
			 ? await((uint64_t)event, false)
			 : gsb_wait(GSB_WAIT_EVENT, e->obj.index, gsb_cu_event_number(e));
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

	if ((a && a->mark) || (b && b->mark))
		return CUDA_ERROR_INVALID_VALUE;
	if (!ms || !a || !b || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING ||
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
