/*
 * run.h - one mix, run once: processes of the sample database, natively or under a broker.
 *
 * On an emulated device a run has a private broker of its own and is timed in virtual time, from the start line to each tenant's last operation,
 * as recorded; so it is the same each time. On a GPU it is timed from exec to exit, under a broker whose engine is warm. Results
 * are held against those that a run with --verify gave.
 */
#ifndef GSB_TOOLS_COMPARE_RUN_H
#define GSB_TOOLS_COMPARE_RUN_H

#include <stdint.h>

#include "model/input/workload.h"
#include "sim/sim.h"
#include "tools/compare/mix.h"
#include "tools/compare/site.h"

/* What is run. */
struct gsb_query_program {
	const char *path;    /* gpu_db */
	const char *data;    /* its data set */
	const char *options; /* more options of it, separated by blanks; NULL: none */
	char checksums[GSB_N_QUERIES]
		      [20]; /* of verified results; empty: not known yet, the next run verifies */
};

struct gsb_outcome {
	double makespan_ns;
	double tenant_ns[GSB_MIX_MAX];
	double sm_ns; /* SM time of all kernels, as the engine counts it; 0: not known */
};

/*
 * gsb_mix_run() - once
 * @socket: of a broker that is there, on a GPU; NULL: it gets one if the way is a policy's
 * @load: what was recorded, to be finished; NULL: not wanted. Of virtual time alone.
 * Return: 0; -1: told on stderr.
 */
int gsb_mix_run(const struct gsb_bench_site *s, struct gsb_query_program *p,
		const struct gsb_mix *m, const struct gsb_compared_way *way, const char *socket,
		struct gsb_outcome *out, struct gsb_workload *load);

#endif
