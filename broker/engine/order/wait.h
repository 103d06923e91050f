/*
 * wait.h - streams on the lists of what their heads wait for. A stream is on one list at most.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_WAIT_H
#define GSB_BROKER_ENGINE_ORDER_WAIT_H

#include "broker/engine/order/types.h"

/* From a class's start: the head must wait until the list is woken, and is then started again. */
void gsb_stream_park(struct gsb_stream *s, struct gsb_stream **list, enum gsb_trace_park on,
		     uint64_t on_serial); /* for the trace: what it waits for */
void gsb_stream_wake_list(struct gsb_stream **list);

/* Its head is to be looked at (again): it is new, what it waited for came, or it could not begin. */
void gsb_stream_retry(struct gsb_stream *s);

void gsb_stream_unpark(struct gsb_stream *s); /* off its list, whichever that is */

#endif
