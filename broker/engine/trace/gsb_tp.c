/*
 * gsb_tp.c - gsb-tp.so: the probes of the events in gsb_tp.h.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "broker/engine/trace/gsb_tp.h"
