/*
 * compare.h - gsb-bench compare: what its files share. compare.c runs the mixes way by way and says what came of it, drawn.c runs drawn
 * loads through the simulator, plot.c draws the figures of Li, Tu, Zeng 2019.
 */
#ifndef GSB_TOOLS_COMPARE_COMPARE_H
#define GSB_TOOLS_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compare.h"
#include "tools/compare/run.h"

#define GSB_WAYS_MAX	 16
#define GSB_MIXES_MAX	 32
#define GSB_ROUNDS_MAX	 99
#define GSB_POLICIES_MAX (GSB_WAYS_MAX - 3)

/* One way to run a mix. */
struct gsb_compared_way {
	enum gsb_way way;
	const char *name, *policy;
	const char *mps; /* of a native one: what CUDA_MPS_PIPE_DIRECTORY is; NULL: as it is */
};

/* A mix run one way: of several rounds the median. */
struct gsb_compared {
	struct gsb_outcome outcome;
	struct gsb_figures figures;
	double least_ns, most_ns; /* makespans */
};

struct gsb_contest {
	struct gsb_bench_site site;
	const struct gsb_policy *policies[GSB_POLICIES_MAX];
	unsigned n_policies;
	const char *scale, *plot;
	const char *gpu_db;
	uint32_t rounds, n_drawn;
	bool full, json;

	const struct gsb_arch *arch; /* of the emulated device; NULL: a file, or a GPU */
	struct gsb_compared_way ways[GSB_WAYS_MAX];
	unsigned n_ways;
	struct gsb_mix mixes[GSB_MIXES_MAX];
	unsigned n_mixes;
	double alone_ns[GSB_N_QUERIES];
	double unit_ns[GSB_N_QUERIES][GSB_SIM_N_UNITS]; /* all 0: not known */
	struct gsb_compared of[GSB_MIXES_MAX][GSB_WAYS_MAX];
};

/* Drawn loads under each policy, against fifo. 0; -1: told on stderr. */
int gsb_compare_drawn(const struct gsb_contest *c);

/* c->plot with -pairs.svg and -queries.svg behind it. 0; -1: told on stderr. */
int gsb_compare_plot(const struct gsb_contest *c);

#endif
