/*
 * event.c - see event.h.
 */
#include "interpose/cu/event.h"

#include "interpose/core/post.h"

#define FIRST_MINOR \
	3 /* of the wire that has EVENT_EXPORT: an older engine would cut us off for it */

static bool is_idle(const void *object)
{
	return gsb_cu_event_is_done(object);
}

struct gsb_object_table gsb_cu_events =
	GSB_OBJECT_TABLE(GSB_HANDLE_EVENT, GSB_N_EVENTS, struct gsb_cu_event, is_idle);

static bool may_share(void)
{
	return gsb_proc.region->header.minor >= FIRST_MINOR;
}

static struct gsb_cu_event *take(uint64_t wire, unsigned flags)
{
	struct gsb_cu_event *e = gsb_object_take(&gsb_cu_events, wire, 0);

	if (!e)
		return NULL;
	e->flags = flags;
	e->mark = NULL;
	e->first = gsb_cu_event_number(e);
	return e;
}

/* The engine knows it, or has refused it. */
static CUresult publish(struct gsb_cu_event *e, CUresult result, uint64_t *handle)
{
	const uint64_t name = gsb_object_name(e);

	if (result) {
		gsb_object_release(&gsb_cu_events, name);
		return result;
	}
	*handle = name;
	return gsb_object_publish(&gsb_cu_events, e) ? CUDA_SUCCESS
						     : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult gsb_cu_event_create(uint64_t wire, unsigned flags, uint64_t *handle)
{
	const struct gsb_guard guard = gsb_cu_wire_guard(wire);
	struct gsb_cu_event *e;
	struct gsb_rec_event_create body;

	if (flags & CU_EVENT_INTERPROCESS && !may_share())
		return CUDA_ERROR_NOT_SUPPORTED;
	e = take(wire, flags);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	body = (struct gsb_rec_event_create){
		.event = gsb_object_name(e), .ctx = wire, .flags = flags};
	return publish(e, gsb_post_if(GSB_REC_EVENT_CREATE, &guard, &body, sizeof(body)), handle);
}

CUresult gsb_cu_event_open(uint64_t wire, const struct gsb_ipc_handle *from, uint64_t *handle)
{
	struct gsb_cu_event *e;
	struct gsb_rec_event_open body;
	struct gsb_call call;

	if (!may_share())
		return CUDA_ERROR_NOT_SUPPORTED;
	e = take(wire, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	body = (struct gsb_rec_event_open){
		.event = gsb_object_name(e), .ctx = wire, .handle = *from};
	call = (struct gsb_call){.type = GSB_REC_EVENT_OPEN,
				 .guard = gsb_cu_wire_guard(wire),
				 .body = &body,
				 .body_bytes = sizeof(body)};
	return publish(e, gsb_call(&call, NULL), handle);
}
