/*
 * gsb_tp.h - the engine's LTTng-UST events, provider "gsb". tp.h is what the engine includes.
 *
 * The probes live in gsb-tp.so, which gsb-engine opens only with --trace: without it no LTTng
 * thread exists in the process and an event costs a load and a branch.
 *
 *   admit     a tenant came            gone      nothing of it is left
 *   record    a record was consumed    issue     a command went to the device
 *   complete  it ended                 decision  what the policy saw, and let go
 *
 * A cookie joins issue and complete. Types are enum gsb_rec_type; times are device ns.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gsb

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "broker/engine/trace/gsb_tp.h"

#if !defined(GSB_BROKER_GSB_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GSB_BROKER_GSB_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(
	gsb, admit,
	LTTNG_UST_TP_ARGS(uint32_t, tenant, uint32_t, pid, uint32_t, slot, const char *, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, tenant, tenant)
			    lttng_ust_field_integer(uint32_t, pid, pid)
			    lttng_ust_field_integer(uint32_t, slot, slot)
			    lttng_ust_field_string(name, name)))

LTTNG_UST_TRACEPOINT_EVENT(
	gsb, gone, LTTNG_UST_TP_ARGS(uint32_t, tenant, int, cut),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, tenant, tenant)
			    lttng_ust_field_integer(int, cut, cut)))

LTTNG_UST_TRACEPOINT_EVENT(
	gsb, record, LTTNG_UST_TP_ARGS(uint32_t, tenant, uint16_t, type, uint32_t, stream),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, tenant, tenant)
			    lttng_ust_field_integer(uint16_t, type, type)
			    lttng_ust_field_integer(uint32_t, stream, stream)))

LTTNG_UST_TRACEPOINT_EVENT(
	gsb, issue,
	LTTNG_UST_TP_ARGS(uint32_t, tenant, uint16_t, type, uint32_t, stream, uint64_t, cookie),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, tenant, tenant)
			    lttng_ust_field_integer(uint16_t, type, type)
			    lttng_ust_field_integer(uint32_t, stream, stream)
			    lttng_ust_field_integer(uint64_t, cookie, cookie)))

LTTNG_UST_TRACEPOINT_EVENT(
	gsb, complete,
	LTTNG_UST_TP_ARGS(uint32_t, tenant, uint32_t, stream, uint64_t, cookie, int, result,
			  uint64_t, start_ns, uint64_t, end_ns),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, tenant, tenant)
			    lttng_ust_field_integer(uint32_t, stream, stream)
			    lttng_ust_field_integer(uint64_t, cookie, cookie)
			    lttng_ust_field_integer(int, result, result)
			    lttng_ust_field_integer(uint64_t, start_ns, start_ns)
			    lttng_ust_field_integer(uint64_t, end_ns, end_ns)))

LTTNG_UST_TRACEPOINT_EVENT(
	gsb, decision,
	LTTNG_UST_TP_ARGS(uint64_t, now_ns, unsigned, n_ready, unsigned, n_running, unsigned,
			  n_issued),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, now_ns, now_ns)
			    lttng_ust_field_integer(unsigned, n_ready, n_ready)
			    lttng_ust_field_integer(unsigned, n_running, n_running)
			    lttng_ust_field_integer(unsigned, n_issued, n_issued)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
