/*
 * gsb_tenant_tp.h - what a tenant that asked for it says of itself to LTTng-UST: provider "gsb_tenant". What the engine does
 * with it are the events gsb:* of the engine's process.
 *
 * LTTng includes this file again and again, with other meanings of its macros.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gsb_tenant

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "interpose/probe/gsb_tenant_tp.h"

#if !defined(GSB_INTERPOSE_GSB_TENANT_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GSB_INTERPOSE_GSB_TENANT_TP_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(gsb_tenant, posted,
	LTTNG_UST_TP_ARGS(uint16_t, record, uint16_t, thread, uint32_t, stream, uint64_t, number),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint16_t, record, record)
		lttng_ust_field_integer(uint16_t, thread, thread)
		lttng_ust_field_integer(uint32_t, stream, stream)
		lttng_ust_field_integer(uint64_t, number, number)))
LTTNG_UST_TRACEPOINT_EVENT(gsb_tenant, waits,
	LTTNG_UST_TP_ARGS(uint32_t, kind, uint32_t, index, uint64_t, value),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, kind, kind)
		lttng_ust_field_integer(uint32_t, index, index)
		lttng_ust_field_integer(uint64_t, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(gsb_tenant, goes_on,
	LTTNG_UST_TP_ARGS(uint32_t, kind, uint32_t, index, uint64_t, value, uint32_t, result),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, kind, kind)
		lttng_ust_field_integer(uint32_t, index, index)
		lttng_ust_field_integer(uint64_t, value, value)
		lttng_ust_field_integer(uint32_t, result, result)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
