/*
 * wait.c - see wait.h.
 */
#include "broker/engine/order/wait.h"

#include <utlist.h>

static void put_on(struct gsb_stream *s, struct gsb_stream **list, enum gsb_stream_state state)
{
	DL_APPEND(*list, s);
	s->parked_on = list;
	s->state = state;
}

void gsb_stream_unpark(struct gsb_stream *s)
{
	DL_DELETE(*s->parked_on, s);
	s->parked_on = NULL;
	s->state = GSB_STREAM_EMPTY;
}

void gsb_stream_retry(struct gsb_stream *s)
{
	put_on(s, s->queues->unsettled, GSB_STREAM_UNSETTLED);
}

void gsb_stream_park(struct gsb_stream *s, struct gsb_stream **list, enum gsb_trace_park on,
		     uint64_t on_serial)
{
	gsb_trace(PARKED, parked, s->queues->tenant_id, .serial = s->first->serial,
		  .on_serial = on_serial, .stream = s->index, .on = (uint8_t)on);
	put_on(s, list, GSB_STREAM_PARKED);
}

void gsb_stream_wake_list(struct gsb_stream **list)
{
	while (*list) {
		struct gsb_stream *s = *list;

		gsb_stream_unpark(s);
		gsb_stream_retry(s);
	}
}
