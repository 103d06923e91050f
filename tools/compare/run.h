/*
 * run.h - one mix, run once: processes of the sample database, natively or under a private broker of their own.
 *
 * On an emulated device a run is timed in virtual time, from the start line to each tenant's last operation, as recorded; so it is the
 * same each time. On a GPU it is timed from exec to exit.
 */
#ifndef GSB_TOOLS_COMPARE_RUN_H
#define GSB_TOOLS_COMPARE_RUN_H

#include <limits.h>
#include <stdint.h>

#include "model/input/workload.h"
#include "sim/sim.h"
#include "tools/compare/mix.h"

/* Where and with what. */
struct gsb_bench_site {
	const char *device;
	const char *gpu_db;  /* the program */
	const char *data;    /* its data set */
	const char *options; /* more options of it, separated by blanks; NULL: none */
	bool is_real;	     /* a GPU */
	char dir[64];	     /* scratch */
};

enum gsb_way {
	GSB_WAY_POLICY,	    /* under a broker */
	GSB_WAY_SEQUENTIAL, /* natively, one after the other */
	GSB_WAY_AT_ONCE /* natively, all at once: time slices, or MPS if its daemon is asked by the environment */
};

struct gsb_outcome {
	double makespan_ns;
	double tenant_ns[GSB_MIX_MAX];
	double sm_ns; /* SM time of all kernels, as the engine counts it; 0: not known */
};

/* The scratch folder of a site; gone with all that is in it at the end. 0, -errno. */
int gsb_site_open(struct gsb_bench_site *s);
void gsb_site_close(struct gsb_bench_site *s);

/*
 * gsb_mix_run() - once
 * @policy: for GSB_WAY_POLICY    @load: what was recorded, to be finished; NULL: not wanted. Of virtual time alone.
 * Return: 0; -1: told on stderr.
 */
int gsb_mix_run(const struct gsb_bench_site *s, const struct gsb_mix *m, enum gsb_way way,
		const char *policy, struct gsb_outcome *out, struct gsb_workload *load);

#endif
