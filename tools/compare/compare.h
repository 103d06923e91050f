/*
 * compare.h - gsb-bench compare: what its files share. queries.c runs mixes of the sample database way by way and says what came of it,
 * tenants.c does so with tenants that launch one kernel again and again, drawn.c runs drawn loads through the simulator, plot.c draws the
 * figures of Li, Tu, Zeng 2019.
 */
#ifndef GSB_TOOLS_COMPARE_COMPARE_H
#define GSB_TOOLS_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compare.h"
#include "tools/compare/loops.h"
#include "tools/compare/run.h"

#define GSB_WAYS_MAX	 16
#define GSB_MIXES_MAX	 32
#define GSB_ROUNDS_MAX	 99
#define GSB_POLICIES_MAX (GSB_WAYS_MAX - 3) /* natively there are three */

/* A mix run one way: of several rounds the median. */
struct gsb_compared {
	struct gsb_outcome outcome;
	struct gsb_figures figures;
	double least_ns, most_ns; /* makespans */
};

/* A query by itself. */
struct gsb_query_alone {
	double ns, unit_ns[GSB_SIM_N_UNITS]; /* of the units all 0: not known */
};

struct gsb_contest {
	struct gsb_bench_site site;
	const struct gsb_policy *policies[GSB_POLICIES_MAX];
	unsigned n_policies;
	enum gsb_compared_workload workload;
	uint32_t rounds;
	bool json;

	const struct gsb_arch *arch; /* of the emulated device; NULL: a file, or a GPU */
	struct gsb_compared_way ways[GSB_WAYS_MAX];
	unsigned n_ways;

	/* queries */
	struct gsb_query_program program;
	const char *scale, *plot;
	uint32_t drawn_from; /* seed of the first load that is drawn */
	uint32_t n_drawn,
		n_times; /* loads; that each tenant of one repeats its kernel, 0: it has several, once */
	bool against_best; /* small drawn loads, held against the best of all orders */
	bool full;
	struct gsb_private_broker brokers[GSB_WAYS_MAX]; /* of ways, on a GPU */
	struct gsb_mix mixes[GSB_MIXES_MAX];
	unsigned n_mixes;
	struct gsb_query_alone alone[GSB_N_QUERIES],
		repeated; /* the first query, as often as a mix repeats it */
	struct gsb_compared of[GSB_MIXES_MAX][GSB_WAYS_MAX];

	/* the other workloads */
	struct gsb_loop_program loops;
	unsigned launch_us, delay_ms;
	struct gsb_tenant_load loads[GSB_LOADS_MAX];
	unsigned n_loads;
};

/* Each runs its workload and prints what came of it. 0; -1: told on stderr. */
int gsb_compare_queries(struct gsb_contest *c);
int gsb_compare_tenants(struct gsb_contest *c);

/* Drawn loads under each policy, against fifo; in GSB_DRAWN, or behind the queries. 0; -1: told on stderr. */
int gsb_compare_drawn(const struct gsb_contest *c);

/* c->plot with -pairs.svg and -queries.svg behind it. 0; -1: told on stderr. */
int gsb_compare_plot(const struct gsb_contest *c);

#endif
