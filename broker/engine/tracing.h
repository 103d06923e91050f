/*
 * tracing.h - recordings as gsbrokerd asks for them: GSB_CTL_TRACE, and its answers.
 */
#ifndef GSB_BROKER_ENGINE_TRACING_H
#define GSB_BROKER_ENGINE_TRACING_H

#include "broker/control.h"
#include "broker/engine/watch.h"

struct gsb_engine;

struct gsb_tracing {
	struct gsb_engine *engine;
	struct gsb_watch done; /* a recording has ended */
	uint64_t stop_number;  /* of the STOP that waits for that; 0: none */
	/* m is complete but for its header. */
	void (*reply)(struct gsb_tracing *t, struct gsb_ctl_trace_reply *m);
};

void gsb_tracing_init(struct gsb_tracing *t, struct gsb_engine *e,
		      void (*reply)(struct gsb_tracing *t, struct gsb_ctl_trace_reply *m));
/* The engine ends, and no more is replied; what is recorded goes on to its last turn. */
void gsb_tracing_finish(struct gsb_tracing *t);

/* @file: of a RECORD, consumed; -1: it was lost on its way, or there is none. */
void gsb_tracing_ask(struct gsb_tracing *t, const struct gsb_ctl_trace *m, int file);

/* To sessions of LTTng, as GSB_TRACE_WHAT_LTTNG does. 0, -errno, logged. */
int gsb_tracing_offer(struct gsb_engine *e);

void gsb_tracing_state(struct gsb_ctl_trace_state *out);

#endif
