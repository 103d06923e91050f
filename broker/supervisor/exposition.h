/*
 * exposition.h - what gsbrokerd knows, in the text format of Prometheus (version 0.0.4): pure.
 *
 * Counters are of all tenants of a name so far, whether they have left or not, so that they never fall while a name
 * is known; gauges are of those that are there.
 */
#ifndef GSB_BROKER_SUPERVISOR_EXPOSITION_H
#define GSB_BROKER_SUPERVISOR_EXPOSITION_H

#include <stdio.h>

#include "broker/supervisor/query.h"

#define GSB_EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct gsb_exposed_broker {
	const char *version;
	uint64_t up_ns, n_tenants, n_pending;
	uint64_t n_admitted, n_refused, n_engines_died, n_reloads;
};

struct gsb_exposed_device {
	const char *spec;
	uint64_t free_bytes, total_bytes;
	uint64_t n_sms; /* 0: no engine has said */
};

struct gsb_exposed_engine {
	const char *spec, *policy;
	uint32_t pid, uid;
	uint64_t n_tenants, n_queues_busy;
	uint64_t device_ns, device_busy_ns;
	uint64_t n_trace_events, n_trace_lost; /* of the recording that is, or was last */
};

struct gsb_exposed_tenant {
	struct gsb_total sum;
	uint64_t n_now, device_mem_bytes, host_mem_bytes, n_queued, n_in_flight;
};

struct gsb_exposition {
	struct gsb_exposed_broker broker;
	const struct gsb_exposed_device *devices;
	const struct gsb_exposed_engine *engines;
	const struct gsb_exposed_tenant *tenants;
	unsigned n_devices, n_engines, n_tenants;
};

void gsb_exposition_write(const struct gsb_exposition *x, FILE *f);

#endif
