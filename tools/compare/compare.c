/*
 * compare.c - gsb-bench compare: the same mixes under every policy, and natively where there is a GPU, round after round and way after
 * way, so that what changes on the machine meanwhile meets all of them.
 */
#include "tools/compare/compare.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "tools/bench.h"
#include "tools/bench_run.h"
#include "tools/model_report.h"

#define NO_MPS "/dev/null" /* a folder in which no daemon listens */

/* ---- the ways ---- */

static void add_way(struct gsb_contest *c, enum gsb_way way, const char *name, const char *policy,
		    const char *mps)
{
	c->ways[c->n_ways++] = (struct gsb_compared_way){way, name, policy, mps};
}

static bool has_mps(void)
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/control", dir ? dir : "/tmp/nvidia-mps");
	return access(path, F_OK) == 0;
}

static void list_ways(struct gsb_contest *c)
{
	if (c->site.is_real) {
		add_way(c, GSB_WAY_SEQUENTIAL, "sequential", NULL, NO_MPS);
		add_way(c, GSB_WAY_AT_ONCE, "time-slices", NULL, NO_MPS);
		if (has_mps())
			add_way(c, GSB_WAY_AT_ONCE, "mps", NULL, NULL);
		else
			fprintf(stderr, "gsb-bench compare: no MPS daemon: start one with "
					"nvidia-cuda-mps-control -d to compare with it\n");
	}
	for (unsigned i = 0; i < c->n_policies; i++)
		add_way(c, GSB_WAY_POLICY, c->policies[i]->name, c->policies[i]->name, NULL);
}

/* ---- running ---- */

static void say_progress(const struct gsb_contest *c, unsigned done, const char *mix,
			 const char *way)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%u of %u: %s, %s", done,
			c->rounds * c->n_mixes * c->n_ways, mix, way);
}

static int run_way(const struct gsb_contest *c, const struct gsb_mix *m,
		   const struct gsb_compared_way *w, struct gsb_outcome *out)
{
	const char *old = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char *kept = old ? strdup(old) : NULL;
	int err;

	if (w->mps)
		setenv("CUDA_MPS_PIPE_DIRECTORY", w->mps, 1);
	err = gsb_mix_run(&c->site, m, w->way, w->policy, out, NULL);
	if (w->mps && kept)
		setenv("CUDA_MPS_PIPE_DIRECTORY", kept, 1);
	else if (w->mps)
		unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	free(kept);
	return err;
}

/* What a query takes alone, and what it asks of each unit. On a GPU it is the first native way that says the former. */
static int run_alone(struct gsb_contest *c, unsigned query)
{
	struct gsb_mix m = {.name = "alone", .n = 1, .query = {query}};
	struct gsb_workload load = {0};
	struct gsb_sim_result r = {0};
	struct gsb_outcome out;
	char why[256];
	int err;

	if (c->site.is_real) {
		err = run_way(c, &m, &c->ways[0], &out);
		c->alone_ns[query] = out.makespan_ns;
		return err;
	}
	err = gsb_mix_run(&c->site, &m, GSB_WAY_POLICY, "fifo", &out, &load);
	if (err)
		return err;
	c->alone_ns[query] = out.makespan_ns;
	if (c->arch) {
		const struct gsb_sim_params p = {.arch = c->arch, .policy = &gsb_policy_fifo};

		err = gsb_sim_run(&load, &p, &r, why, sizeof(why));
		if (err)
			fprintf(stderr, "gsb-bench compare: q%u: %s\n", query + 1, why);
		else
			memcpy(c->unit_ns[query], r.unit_ns, sizeof(r.unit_ns));
		gsb_sim_finish(&r);
	}
	gsb_workload_finish(&load);
	return err;
}

static void make_figures(const struct gsb_contest *c, const struct gsb_mix *m,
			 struct gsb_compared *of)
{
	double alone[GSB_MIX_MAX], units[GSB_SIM_N_UNITS] = {0};

	for (unsigned i = 0; i < m->n; i++) {
		alone[i] = c->alone_ns[m->query[i]];
		for (unsigned u = 0; u < GSB_SIM_N_UNITS; u++)
			units[u] += c->unit_ns[m->query[i]][u];
	}
	of->figures = gsb_figures_make(alone, of->outcome.tenant_ns, m->n, of->outcome.makespan_ns,
				       units);
}

static int by_makespan(const void *a, const void *b)
{
	const struct gsb_outcome *x = a, *y = b;

	return x->makespan_ns < y->makespan_ns ? -1 : x->makespan_ns > y->makespan_ns;
}

/* rounds: outcomes of all mixes and ways, one round behind the other. */
static void take_medians(struct gsb_contest *c, const struct gsb_outcome *rounds)
{
	struct gsb_outcome of[GSB_ROUNDS_MAX];

	for (unsigned m = 0; m < c->n_mixes; m++)
		for (unsigned w = 0; w < c->n_ways; w++) {
			struct gsb_compared *to = &c->of[m][w];

			for (unsigned r = 0; r < c->rounds; r++)
				of[r] = rounds[(r * c->n_mixes + m) * c->n_ways + w];
			qsort(of, c->rounds, sizeof(*of), by_makespan);
			to->outcome = of[c->rounds / 2];
			to->least_ns = of[0].makespan_ns;
			to->most_ns = of[c->rounds - 1].makespan_ns;
			make_figures(c, &c->mixes[m], to);
		}
}

static int run_rounds(struct gsb_contest *c, struct gsb_outcome *rounds)
{
	unsigned done = 0;

	for (unsigned r = 0; r < c->rounds; r++)
		for (unsigned m = 0; m < c->n_mixes; m++)
			for (unsigned w = 0; w < c->n_ways; w++) {
				say_progress(c, done, c->mixes[m].name, c->ways[w].name);
				if (run_way(c, &c->mixes[m], &c->ways[w], &rounds[done++]))
					return -1;
			}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	return 0;
}

static int run_all(struct gsb_contest *c)
{
	size_t n = (size_t)c->rounds * c->n_mixes * c->n_ways;
	struct gsb_outcome *rounds = calloc(n, sizeof(*rounds));
	int err = rounds ? 0 : -1;

	for (unsigned q = 0; !err && q < GSB_N_QUERIES; q++)
		err = run_alone(c, q);
	if (!err)
		err = run_rounds(c, rounds);
	if (!err)
		take_medians(c, rounds);
	free(rounds);
	return err;
}

/* ---- what came of it ---- */

static void report_row(struct report *r, const struct gsb_contest *c, unsigned m, unsigned w)
{
	const struct gsb_compared *of = &c->of[m][w];
	double sms = c->arch ? c->arch->n_sms : 0;

	report_text(r, c->mixes[m].name);
	report_text(r, c->ways[w].name);
	report_number(r, "%.6f", of->outcome.makespan_ns / 1e6);
	report_number(r, "%.6f", of->least_ns / 1e6);
	report_number(r, "%.6f", of->most_ns / 1e6);
	report_number(r, "%.4f", of->figures.speedup);
	if (c->site.is_real)
		report_none(r);
	else
		report_number(r, "%.4f", of->figures.of_bound);
	report_number(r, "%.4f", of->figures.mean_slowdown);
	report_number(r, "%.4f", of->figures.worst_slowdown);
	report_number(r, "%.4f", of->figures.fairness);
	if (sms > 0)
		report_number(r, "%.4f", of->outcome.sm_ns / (of->outcome.makespan_ns * sms));
	else
		report_none(r);
}

static void report_all(const struct gsb_contest *c)
{
	static const char *const columns[] = {"mix",	 "way",	     "makespan_ms", "least_ms",
					      "most_ms", "speedup",  "of_bound",    "slowdown",
					      "worst",	 "fairness", "sm_share"};
	struct report r;

	report_init(&r, c->json, columns, GSB_ARRAY_LEN(columns));
	for (unsigned m = 0; m < c->n_mixes; m++)
		for (unsigned w = 0; w < c->n_ways; w++)
			report_row(&r, c, m, w);
	report_fact_text(&r, "device", c->site.device);
	report_fact_text(&r, "clock", c->site.is_real ? "real, exec to exit" : "virtual");
	report_fact_text(&r, "scale", c->scale);
	report_fact_text(&r, "options", c->site.options ? c->site.options : "");
	report_fact_number(&r, "rounds", "%u", c->rounds);
	report_finish(&r);
}

/* ---- the site ---- */

static int make_data(struct gsb_contest *c, char path[PATH_MAX])
{
	char command[2 * PATH_MAX];

	snprintf(path, PATH_MAX, "%s/data", c->site.dir);
	snprintf(command, sizeof(command), "'%s' gen --data '%s' --scale '%s' --quiet >/dev/null",
		 c->gpu_db, path, c->scale);
	if (!system(command)) {
		c->site.data = path;
		return 0;
	}
	fprintf(stderr, "gsb-bench compare: %s cannot make a data set; --gpu-db names another\n",
		c->gpu_db);
	return -1;
}

static int run(struct gsb_contest *c)
{
	char data[PATH_MAX];
	int err = gsb_site_open(&c->site);

	if (err)
		return err;
	c->site.gpu_db = c->gpu_db;
	err = make_data(c, data);
	if (!err)
		err = run_all(c);
	if (!err)
		report_all(c);
	if (!err && c->n_drawn)
		err = gsb_compare_drawn(c);
	if (!err && c->plot)
		err = gsb_compare_plot(c);
	gsb_site_close(&c->site);
	return err;
}

/* ---- arguments ---- */

enum { OPT_SCALE = 256, OPT_GPU_DB, OPT_FULL, OPT_POLICY, OPT_DRAWN, OPT_PLOT, OPT_OPTIONS };

static const struct argp_option options[] = {
	{"device", 'd', "SPEC", 0, "emu:NAME, or cuda:N (default emu:h200)", 0},
	{"policy", OPT_POLICY, "NAME", 0, "compare this one; may be given again (default all)", 0},
	{"full", OPT_FULL, NULL, 0, "all pairs, and up to 16 queries; else a few mixes", 0},
	{"scale", OPT_SCALE, "S", 0, "of the data set (default 1/256)", 0},
	{"options", OPT_OPTIONS, "TEXT", 0, "more options of gpu_db run", 0},
	{"rounds", 'n', "N", 0, "of each, and the median of them (default 1)", 0},
	{"drawn", OPT_DRAWN, "N", 0, "drawn loads through the simulator (default 20)", 0},
	{"json", 'j', NULL, 0, "print JSON, an object a table", 0},
	{"plot", OPT_PLOT, "PREFIX", 0, "draw PREFIX-pairs.svg and PREFIX-queries.svg", 0},
	{"gpu-db", OPT_GPU_DB, "FILE", 0, "the sample database", 0},
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

static void fill_in(struct gsb_contest *c, struct argp_state *state)
{
	static char gpu_db[PATH_MAX];
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
	if (!c->gpu_db) {
		gsb_bench_sibling("../examples/gpu_db/gpu_db", gpu_db, sizeof(gpu_db));
		c->gpu_db = gpu_db;
	}
	if (access(c->gpu_db, X_OK) < 0)
		argp_error(state, "%s: %s: --gpu-db says where the sample database is", c->gpu_db,
			   strerror(errno));
	while (c->n_mixes < GSB_MIXES_MAX && gsb_mix_at(c->n_mixes, c->full, &c->mixes[c->n_mixes]))
		c->n_mixes++;
	list_ways(c);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct gsb_contest *c = state->input;

	switch (key) {
	case 'd': c->site.device = arg; return 0;
	case 'n': c->rounds = count_of(state, "rounds", arg, 1, GSB_ROUNDS_MAX); return 0;
	case 'j': c->json = true; return 0;
	case OPT_POLICY: add_policy(c, arg, state); return 0;
	case OPT_FULL: c->full = true; return 0;
	case OPT_SCALE: c->scale = arg; return 0;
	case OPT_OPTIONS: c->site.options = arg; return 0;
	case OPT_DRAWN: c->n_drawn = count_of(state, "drawn", arg, 0, 100000); return 0;
	case OPT_PLOT: c->plot = arg; return 0;
	case OPT_GPU_DB: c->gpu_db = arg; return 0;
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
		.doc = "Policies side by side: mixes of the sample database, each a process, and drawn "
		       "loads.",
	};
	static struct gsb_contest c = {
		.site.device = "emu:h200", .scale = "1/256", .rounds = 1, .n_drawn = 20};

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	return run(&c) ? 1 : 0;
}
