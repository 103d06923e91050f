/*
 * provider.h - gsb-tp.so, which makes LTTng-UST events of records. It is a module of its own, so that a process that is
 * not traced has neither the library of LTTng nor its threads.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_PROVIDER_H
#define GSB_BROKER_ENGINE_TRACE_PROVIDER_H

#include <stdbool.h>

#include "trace/event.h"

/* What the module exports as GSB_TRACE_PROVIDER_SYMBOL. */
struct gsb_trace_provider {
	/* One record to whatever sessions have enabled its event. */
	void (*emit)(const struct gsb_trace_head *record);
	bool (*is_about_heard)(void); /* one that has begun has enabled gsb:about */
};
#define GSB_TRACE_PROVIDER_SYMBOL "gsb_tp"

extern uint32_t
	gsb_tp_engine; /* in the module: the engine's pid, which each event has, as gsb:about does */

/* Logged; -ENOENT, -ENOTSUP (this build has none). */
int gsb_trace_load_provider(const struct gsb_trace_provider **out);

#endif
