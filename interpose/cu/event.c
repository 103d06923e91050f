/*
 * event.c - see event.h.
 */
#include "interpose/cu/event.h"

#include "interpose/core/post.h"

static bool is_idle(const void *object)
{
	return gsb_cu_event_is_done(object);
}

struct gsb_object_table gsb_cu_events =
	GSB_OBJECT_TABLE(GSB_HANDLE_EVENT, GSB_N_EVENTS, struct gsb_cu_event, is_idle);

CUresult gsb_cu_event_create(uint64_t wire, unsigned flags, uint64_t *handle)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	struct gsb_cu_event *e = gsb_object_take(&gsb_cu_events, wire, 0);
	struct gsb_rec_event_create body;
	CUresult result;

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->flags = flags;
	e->mark = NULL;
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
