/*
 * gsb_tp.h - the events of trace/events.def for LTTng-UST: provider "gsb", an event for each, with the same fields. The
 * tenant of each record is a field, too, the first, and the engine the second, by which those of several engines in one session are
 * told apart; its time is LTTng's.
 *
 * LTTng includes this file again and again, with other meanings of its macros, which is why the list stands in the middle.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gsb

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "broker/engine/trace/gsb_tp.h"

#if !defined(GSB_BROKER_GSB_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GSB_BROKER_GSB_TP_H

#include <lttng/tracepoint.h>

#include "broker/engine/trace/provider.h"
#include "trace/event.h"

#undef GSB_TP_u64
#undef GSB_TP_u32
#undef GSB_TP_i32
#undef GSB_TP_u16
#undef GSB_TP_u8
#undef GSB_TP_pick
#undef GSB_TP_text
#undef GSB_TP_serials
#undef GSB_TP_pad
/* clang-format off */
#define GSB_TP_u64(name, arg) lttng_ust_field_integer(uint64_t, name, e->name)
#define GSB_TP_u32(name, arg) lttng_ust_field_integer(uint32_t, name, e->name)
#define GSB_TP_i32(name, arg) lttng_ust_field_integer(int32_t, name, e->name)
#define GSB_TP_u16(name, arg) lttng_ust_field_integer(uint16_t, name, e->name)
#define GSB_TP_u8(name, arg) lttng_ust_field_integer(uint8_t, name, e->name)
#define GSB_TP_pick(name, arg) lttng_ust_field_integer(uint8_t, name, e->name)
#define GSB_TP_text(name, arg) lttng_ust_field_string(name, e->name)
#define GSB_TP_serials(name, arg) lttng_ust_field_array(uint64_t, name, e->name, arg)
#define GSB_TP_pad(name, arg)

#define GSB_TRACE_FIELD(type, name, arg, doc) GSB_TP_##type(name, arg)
#define GSB_TRACE_EVENT(NAME, name, doc, fields)                                          \
	LTTNG_UST_TRACEPOINT_EVENT(                                                       \
		gsb, name, LTTNG_UST_TP_ARGS(const struct gsb_trace_##name *, e),         \
		LTTNG_UST_TP_FIELDS(                                                      \
			lttng_ust_field_integer(uint32_t, tenant, e->head.tenant)         \
			lttng_ust_field_integer(uint32_t, engine, gsb_tp_engine) fields))
#include "trace/events.def"
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
