/*
 * gsb_tp.c - gsb-tp.so: records become LTTng-UST events.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "broker/engine/trace/gsb_tp.h"

#include <unistd.h>

#include "base/compiler.h"
#include "broker/engine/trace/provider.h"

uint32_t gsb_tp_engine;

/* Loaded by the engine itself, which does not fork. */
__attribute__((constructor)) static void note_engine(void)
{
	gsb_tp_engine = (uint32_t)getpid();
}

static void emit(const struct gsb_trace_head *record)
{
	switch (record->type) {
#define GSB_TRACE_EVENT(NAME, name, doc, fields)                                          \
	case GSB_TRACE_##NAME:                                                            \
		lttng_ust_tracepoint(gsb, name, (const struct gsb_trace_##name *)record); \
		break;
#include "trace/events.def"
	default: break;
	}
}

static bool is_about_heard(void)
{
	return lttng_ust_tracepoint_enabled(gsb, about);
}

GSB_EXPORT const struct gsb_trace_provider gsb_tp = {emit, is_about_heard};
