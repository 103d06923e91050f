/*
 * gsb_tenant_tp.c - gsb-tenant-tp.so: what a tenant does becomes LTTng-UST events.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "interpose/probe/gsb_tenant_tp.h"

#include "base/compiler.h"
#include "interpose/core/probe.h"

static void posted(uint16_t record, uint16_t thread, uint32_t stream, uint64_t number)
{
	lttng_ust_tracepoint(gsb_tenant, posted, record, thread, stream, number);
}

static void waits(uint32_t kind, uint32_t index, uint64_t value)
{
	lttng_ust_tracepoint(gsb_tenant, waits, kind, index, value);
}

static void goes_on(uint32_t kind, uint32_t index, uint64_t value, uint32_t result)
{
	lttng_ust_tracepoint(gsb_tenant, goes_on, kind, index, value, result);
}

GSB_EXPORT extern const struct gsb_probe gsb_tenant_tp;

GSB_EXPORT const struct gsb_probe gsb_tenant_tp = {posted, waits, goes_on};
