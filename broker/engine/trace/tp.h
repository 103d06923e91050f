/*
 * tp.h - the engine's trace points, as one macro: gsb_tp(issue, ...). The events and their fields
 * are in gsb_tp.h. Without LTTng-UST the macro is nothing; with it, and without --trace, an event
 * costs one load and a branch.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_TP_H
#define GSB_BROKER_ENGINE_TRACE_TP_H

#ifdef HAVE_CONFIG_H
#include <config.h> /* of configure; broker/config/config.h is another */
#endif

#ifdef HAVE_LTTNG
#include "broker/engine/trace/gsb_tp.h"
#define gsb_tp(event, ...) lttng_ust_tracepoint(gsb, event, __VA_ARGS__)
#else
#define gsb_tp(event, ...) ((void)0)
#endif

/* Open the provider, so that a session can enable the events. Logged; -ENOENT, -ENOTSUP. */
int gsb_tp_start(void);

#endif
