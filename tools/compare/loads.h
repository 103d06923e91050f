/*
 * loads.h - which tenants that repeat kernels (examples/gpu_loop) run at once: the loads of gsb-bench compare.
 */
#ifndef GSB_TOOLS_COMPARE_LOADS_H
#define GSB_TOOLS_COMPARE_LOADS_H

#include <stdbool.h>

#include "tools/compare/speeds.h"

#define GSB_LOADS_MAX	 32
#define GSB_WEIGHT_ALIKE 100

struct gsb_looper {
	char kind[12];
	unsigned us, rounds; /* of a launch: how long, and of how many rounds its grid is */
	unsigned weight, slowdown_percent; /* as in gsbroker.conf */
	unsigned delay_ms;		   /* it begins so much later than the others */
	bool critical;			   /* a service that waits for each launch, on a few SMs */
};

struct gsb_tenant_load {
	char name[128];
	unsigned n;
	struct gsb_looper of[GSB_LOOPS_MAX];
};

enum gsb_compared_workload {
	GSB_QUERIES,
	GSB_PAIRS,
	GSB_STARVATION,
	GSB_CRITICAL,
	GSB_LIMITS,
	GSB_DRAWN, /* no tenants: the simulator */
	GSB_N_WORKLOADS
};

/* GSB_N_WORKLOADS: there is none of that name. */
enum gsb_compared_workload gsb_compared_workload_find(const char *name);
const char *gsb_compared_workload_name(enum gsb_compared_workload kind);

/*
 * gsb_load_at() - the i-th load of a workload
 * @us: how long a launch takes unless a load says so    @delay_ms: how much later the last begins where one does
 * False: there are no more.
 */
bool gsb_load_at(enum gsb_compared_workload kind, unsigned i, unsigned us, unsigned delay_ms,
		 struct gsb_tenant_load *out);

/*
 * gsb_load_parse() - KIND[:US[:ROUNDS[:WEIGHT[:PERCENT]]]]+..., up to GSB_LOOPS_MAX of them
 * Return: NULL, or what is wrong.
 */
const char *gsb_load_parse(const char *text, unsigned us, unsigned delay_ms,
			   struct gsb_tenant_load *out);

#endif
