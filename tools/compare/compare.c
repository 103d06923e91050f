/*
 * compare.c - gsb-bench compare: policies side by side, and beside them on a GPU what there is without a broker. Here is its command line.
 */
#include "tools/compare/compare.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/gpu/arch.h"
#include "sim/random.h"
#include "tools/bench.h"
#include "tools/bench_run.h"

/* On a GPU launches are long enough for an engine to look at each, and runs for speeds to settle; emulated ones take as little as shows something. */
static const struct {
	unsigned launch_us, work_ms, n_answers, pause_us, delay_ms;
} sizes_real = {3500, 2000, 500, 1000, 1500}, sizes_virtual = {160, 16, 60, 0, 0};

/* ---- the ways ---- */

static void add_way(struct gsb_contest *c, enum gsb_way way, const char *name, const char *policy)
{
	c->ways[c->n_ways++] = (struct gsb_compared_way){way, name, policy};
}

static void list_ways(struct gsb_contest *c)
{
	if (c->site.is_real) {
		add_way(c, GSB_WAY_SEQUENTIAL, "sequential", NULL);
		add_way(c, GSB_WAY_AT_ONCE, "time-slices", NULL);
	}
	if (c->site.mps.runs)
		add_way(c, GSB_WAY_MPS, "mps", NULL);
	for (unsigned i = 0; i < c->n_policies; i++)
		add_way(c, GSB_WAY_POLICY, c->policies[i]->name, c->policies[i]->name);
}

static int run(struct gsb_contest *c)
{
	int err = gsb_site_open(&c->site);

	if (err)
		return err;
	list_ways(c);
	switch (c->workload) {
	case GSB_QUERIES: err = gsb_compare_queries(c); break;
	case GSB_DRAWN: err = gsb_compare_drawn(c); break;
	default: err = gsb_compare_tenants(c);
	}
	gsb_site_close(&c->site);
	return err;
}

/* ---- arguments ---- */

#define CRITICAL_SMS \
	8 /* what a service asks for: its blocks find room on the SMs that are kept free for it, eight times as close as alone */

enum {
	OPT_SCALE = 256,
	OPT_GPU_DB,
	OPT_FULL,
	OPT_POLICY,
	OPT_DRAWN,
	OPT_DRAWN_FROM,
	OPT_TIMES,
	OPT_BEST,
	OPT_PLOT,
	OPT_OPTIONS,
	OPT_MIX,
	OPT_LOAD,
	OPT_US,
	OPT_WORK,
	OPT_DELAY,
	OPT_ANSWERS,
	OPT_CRITICAL_SMS,
	OPT_CRITICAL_WAIT,
	OPT_CRITICAL_PERCENT,
	OPT_RESIZE,
	OPT_GPU_LOOP
};

static const struct argp_option options[] = {
	{"device", 'd', "SPEC", 0, "emu:NAME, or cuda:N (default emu:h200)", 0},
	{"workload", 'w', "NAME", 0,
	 "queries (default), pairs, starvation, critical, limits, or drawn", 0},
	{"policy", OPT_POLICY, "NAME", 0, "compare this one; may be given again (default all)", 0},
	{"rounds", 'n', "N", 0, "of each, and the median of them (default 1)", 0},
	{"json", 'j', NULL, 0, "print JSON, an object a table", 0},
	{0, 0, 0, 0, "Queries:", 1},
	{"full", OPT_FULL, NULL, 0, "all pairs, and up to 16 queries; else a few mixes", 1},
	{"mix", OPT_MIX, "NAME", 0, "this mix, as the table names it; may be given again", 1},
	{"scale", OPT_SCALE, "S", 0, "of the data set (default 1/256)", 1},
	{"options", OPT_OPTIONS, "TEXT", 0, "more options of gpu_db run", 1},
	{"drawn", OPT_DRAWN, "N", 0, "drawn loads through the simulator (default 20)", 1},
	{"drawn-from", OPT_DRAWN_FROM, "SEED", 0, "of the first of them (default 0)", 1},
	{"drawn-times", OPT_TIMES, "N", 0,
	 "each tenant of them repeats one kernel so often, and that lives on a unit (default: eight kernels once)",
	 1},
	{"drawn-best", OPT_BEST, NULL, 0,
	 "small loads, held against the best of all orders in which their launches can be issued",
	 1},
	{"plot", OPT_PLOT, "PREFIX", 0, "draw PREFIX-pairs.svg and PREFIX-queries.svg", 1},
	{"gpu-db", OPT_GPU_DB, "FILE", 0, "the sample database", 1},
	{0, 0, 0, 0, "The others:", 2},
	{"load", OPT_LOAD, "TENANTS", 0,
	 "these, KIND[:US[:ROUNDS[:WEIGHT]]]+...; may be given again (default: those of the workload)",
	 2},
	{"us", OPT_US, "T", 0, "a launch takes so long alone (default 3500; emulated 160)", 2},
	{"work-ms", OPT_WORK, "T", 0, "a tenant takes so long alone (default 2000; emulated 16)",
	 2},
	{"delay-ms", OPT_DELAY, "T", 0,
	 "starvation, critical: the last begins so much later, on a GPU (default 1500)", 2},
	{"answers", OPT_ANSWERS, "N", 0,
	 "critical: launches that are waited for (default 500; emulated 60)", 2},
	{"critical-sms", OPT_CRITICAL_SMS, "N", 0,
	 "critical: its launches have blocks for so many SMs (default 8)", 2},
	{"critical-wait-us", OPT_CRITICAL_WAIT, "T", 0,
	 "brokers launch in proven shapes, and have the key of that name (default: as asked)", 2},
	{"critical-sms-percent", OPT_CRITICAL_PERCENT, "N", 0,
	 "brokers keep so many of the SMs free for critical tenants (default: 12)", 2},
	{"resize", OPT_RESIZE, NULL, 0, "brokers launch in proven shapes (default: as asked)", 2},
	{"gpu-loop", OPT_GPU_LOOP, "FILE", 0, "the tenants' program", 2},
	{0},
};

static uint32_t count_of(struct argp_state *state, const char *option, const char *text,
			 uint32_t least, uint32_t most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < least || n > most)
		argp_error(state, "--%s %s: must be a number from %u to %u", option, text, least,
			   most);
	return (uint32_t)n;
}

static void add_policy(struct gsb_contest *c, const char *name, struct argp_state *state)
{
	const struct gsb_policy *p = gsb_policy_find(name);

	if (!p)
		argp_error(state,
			   "--policy %s: there is none of that name; gsbroker.conf(5) has "
			   "them",
			   name);
	if (c->n_policies < GSB_POLICIES_MAX)
		c->policies[c->n_policies++] = p;
}

/* What the user named, until all options are known. */
static struct {
	const char *mixes[GSB_MIXES_MAX], *loads[GSB_LOADS_MAX];
	unsigned n_mixes, n_loads;
	bool delay;
} named;

static void name_one(const char **list, unsigned *n, unsigned max, const char *option,
		     const char *name, struct argp_state *state)
{
	if (*n == max)
		argp_error(state, "--%s %s: there are %u before it, which is the most", option,
			   name, max);
	list[(*n)++] = name;
}

static bool is_wanted(const char *mix)
{
	for (unsigned i = 0; i < named.n_mixes; i++)
		if (!strcmp(mix, named.mixes[i]))
			return true;
	return !named.n_mixes;
}

static void list_mixes(struct gsb_contest *c, struct argp_state *state)
{
	struct gsb_mix m;

	for (unsigned i = 0; gsb_mix_at(i, c->full || named.n_mixes, &m); i++)
		if (c->n_mixes < GSB_MIXES_MAX && is_wanted(m.name))
			c->mixes[c->n_mixes++] = m;
	if (c->n_mixes < named.n_mixes || !c->n_mixes)
		argp_error(state, "--mix: there is none of one of these names; --full shows all");
}

static void list_loads(struct gsb_contest *c, struct argp_state *state)
{
	for (unsigned i = 0; i < named.n_loads; i++) {
		struct gsb_tenant_load *l = &c->loads[c->n_loads++];
		const char *wrong = gsb_load_parse(named.loads[i], c->launch_us,
						   c->workload == GSB_PAIRS ? 0 : c->delay_ms, l);

		if (wrong)
			argp_error(state, "--load %s: %s", named.loads[i], wrong);
		l->of[l->n - 1].critical = c->workload == GSB_CRITICAL;
	}
	while (!named.n_loads && c->n_loads < GSB_LOADS_MAX &&
	       gsb_load_at(c->workload, c->n_loads, c->launch_us, c->delay_ms,
			   &c->loads[c->n_loads]))
		c->n_loads++;
}

/* What was not said is as the device has it. */
static void fill_sizes(struct gsb_contest *c, struct argp_state *state)
{
	bool real = c->site.is_real;

	if (!real && named.delay)
		argp_error(state, "--delay-ms: on an emulated device all begin at one instant");
	if (!c->launch_us)
		c->launch_us = real ? sizes_real.launch_us : sizes_virtual.launch_us;
	if (!c->loops.work_ms)
		c->loops.work_ms = real ? sizes_real.work_ms : sizes_virtual.work_ms;
	if (!c->loops.n_answers)
		c->loops.n_answers = real ? sizes_real.n_answers : sizes_virtual.n_answers;
	if (!named.delay)
		c->delay_ms = real ? sizes_real.delay_ms : sizes_virtual.delay_ms;
	c->loops.pause_us = real ? sizes_real.pause_us : sizes_virtual.pause_us;
}

/* A program that lies in the build tree, or where the user says. */
static const char *program(const char *path, const char *sibling, const char *option,
			   struct argp_state *state)
{
	static char room[PATH_MAX];

	if (!path) {
		gsb_bench_sibling(sibling, room, sizeof(room));
		path = room;
	}
	if (access(path, X_OK) < 0)
		argp_error(state, "%s: %s: --%s says where it is", path, strerror(errno), option);
	return path;
}

static void fill_in(struct gsb_contest *c, struct argp_state *state)
{
	const char *device = c->site.device;

	c->site.is_real = !strncmp(device, "cuda:", 5);
	if (!c->site.is_real && strncmp(device, "emu:", 4))
		argp_error(state, "--device %s: must be emu:NAME or cuda:N", device);
	c->arch = c->site.is_real ? NULL : gsb_arch_find(device + 4);
	if (!c->n_policies)
		while (c->n_policies < GSB_POLICIES_MAX && gsb_policy_at(c->n_policies)) {
			c->policies[c->n_policies] = gsb_policy_at(c->n_policies);
			c->n_policies++;
		}
	if (c->against_best && c->n_times)
		argp_error(
			state,
			"--drawn-best: loads that repeat kernels have more orders than can be tried; "
			"leave --drawn-times out");
	if (c->workload == GSB_DRAWN)
		return;
	if (c->workload == GSB_QUERIES) {
		c->program.path =
			program(c->program.path, "../examples/gpu_db/gpu_db", "gpu-db", state);
		list_mixes(c, state);
		return;
	}
	c->loops.path = program(c->loops.path, "../examples/gpu_loop/gpu_loop", "gpu-loop", state);
	fill_sizes(c, state);
	list_loads(c, state);
}

static void choose_workload(struct gsb_contest *c, const char *name, struct argp_state *state)
{
	c->workload = gsb_compared_workload_find(name);
	if (c->workload == GSB_N_WORKLOADS)
		argp_error(
			state,
			"--workload %s: there are queries, pairs, starvation, critical, limits and drawn",
			name);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct gsb_contest *c = state->input;

	switch (key) {
	case 'd': c->site.device = arg; return 0;
	case 'w': choose_workload(c, arg, state); return 0;
	case 'n': c->rounds = count_of(state, "rounds", arg, 1, GSB_ROUNDS_MAX); return 0;
	case 'j': c->json = true; return 0;
	case OPT_POLICY: add_policy(c, arg, state); return 0;
	case OPT_FULL: c->full = true; return 0;
	case OPT_MIX:
		name_one(named.mixes, &named.n_mixes, GSB_MIXES_MAX, "mix", arg, state);
		return 0;
	case OPT_SCALE: c->scale = arg; return 0;
	case OPT_OPTIONS: c->program.options = arg; return 0;
	case OPT_DRAWN: c->n_drawn = count_of(state, "drawn", arg, 0, 100000); return 0;
	case OPT_DRAWN_FROM:
		c->drawn_from = count_of(state, "drawn-from", arg, 0, 1000000000);
		return 0;
	case OPT_BEST: c->against_best = true; return 0;
	case OPT_TIMES:
		c->n_times = count_of(state, "drawn-times", arg, 1, GSB_RANDOM_TIMES_MAX);
		return 0;
	case OPT_PLOT: c->plot = arg; return 0;
	case OPT_GPU_DB: c->program.path = arg; return 0;
	case OPT_LOAD:
		name_one(named.loads, &named.n_loads, GSB_LOADS_MAX, "load", arg, state);
		return 0;
	case OPT_US: c->launch_us = count_of(state, "us", arg, 1, 10000000); return 0;
	case OPT_WORK: c->loops.work_ms = count_of(state, "work-ms", arg, 1, 600000); return 0;
	case OPT_DELAY:
		c->delay_ms = count_of(state, "delay-ms", arg, 0, 60000);
		named.delay = true;
		return 0;
	case OPT_ANSWERS:
		c->loops.n_answers =
			count_of(state, "answers", arg, GSB_LOOP_STEPS, GSB_ANSWERS_MAX);
		return 0;
	case OPT_CRITICAL_SMS:
		c->loops.critical_sms = count_of(state, "critical-sms", arg, 1, 10000);
		return 0;
	case OPT_CRITICAL_WAIT:
		c->site.critical_wait_us = count_of(state, "critical-wait-us", arg, 1, 1000000);
		return 0;
	case OPT_CRITICAL_PERCENT:
		c->site.critical_sms_percent = count_of(state, "critical-sms-percent", arg, 1, 90);
		return 0;
	case OPT_RESIZE: c->site.resizes = true; return 0;
	case OPT_GPU_LOOP: c->loops.path = arg; return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	case ARGP_KEY_END: fill_in(c, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int gsb_bench_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "Policies side by side: mixes of the sample database and drawn loads, or tenants "
		       "that launch one kernel again and again.",
	};
	static struct gsb_contest c = {.site.device = "emu:h200",
				       .scale = "1/256",
				       .rounds = 1,
				       .n_drawn = 20,
				       .loops.critical_sms = CRITICAL_SMS};

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	return run(&c) ? 1 : 0;
}
