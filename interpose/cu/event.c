/*
 * event.c - see event.h.
 */
#include "interpose/cu/event.h"

static bool is_idle(const void *object)
{
	return gsb_cu_event_is_done(object);
}

struct gsb_object_table gsb_cu_events =
	GSB_OBJECT_TABLE(GSB_HANDLE_EVENT, GSB_N_EVENTS, struct gsb_cu_event, is_idle);
