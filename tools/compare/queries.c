/*
 * queries.c - gsb-bench compare --workload queries: mixes of the sample database under every policy, and natively where there is a GPU,
 * round after round and way after way, so that what changes on the machine meanwhile meets all of them.
 */
#include "tools/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tools/model_report.h"

#define ALONE_TRIES 3

/* ---- running ---- */

static void say_progress(const struct gsb_contest *c, unsigned done, const char *mix,
			 const char *way)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%u of %u: %s, %s", done,
			c->rounds * c->n_mixes * c->n_ways, mix, way);
}

static int run_way(struct gsb_contest *c, const struct gsb_mix *m, unsigned w,
		   struct gsb_outcome *out, struct gsb_workload *load)
{
	const char *socket = c->brokers[w].pid > 0 ? c->brokers[w].socket : NULL;

	return gsb_mix_run(&c->site, &c->program, m, &c->ways[w], socket, out, load);
}

static int by_makespan(const void *a, const void *b)
{
	const struct gsb_outcome *x = a, *y = b;

	return x->makespan_ns < y->makespan_ns ? -1 : x->makespan_ns > y->makespan_ns;
}

/* Alone on a GPU: natively, the median of some. */
static int run_alone_real(struct gsb_contest *c, const struct gsb_mix *m, double *ns)
{
	struct gsb_outcome of[ALONE_TRIES];

	for (unsigned i = 0; i < ALONE_TRIES; i++)
		if (run_way(c, m, 0, &of[i], NULL))
			return -1;
	qsort(of, ALONE_TRIES, sizeof(*of), by_makespan);
	*ns = of[ALONE_TRIES / 2].makespan_ns;
	return 0;
}

/* The first run of a query verifies its result, which takes time: it is not one of those that count. */
static int verify(struct gsb_contest *c, unsigned query)
{
	static const struct gsb_compared_way fifo = {GSB_WAY_POLICY, "fifo", "fifo"};
	const struct gsb_mix m = {.name = "verified", .n = 1, .query = {query}};
	struct gsb_outcome out;

	return gsb_mix_run(&c->site, &c->program, &m, c->site.is_real ? &c->ways[0] : &fifo, NULL,
			   &out, NULL);
}

/* What it asks of each unit: the simulator says it. */
static int find_units(const struct gsb_contest *c, unsigned query, const struct gsb_workload *load,
		      double units[GSB_SIM_N_UNITS])
{
	const struct gsb_sim_params p = {.arch = c->arch, .policy = &gsb_policy_fifo};
	struct gsb_sim_result r = {0};
	char why[256];
	int err;

	if (!c->arch)
		return 0;
	err = gsb_sim_run(load, &p, &r, why, sizeof(why));
	if (err)
		fprintf(stderr, "gsb-bench compare: q%u: %s\n", query + 1, why);
	else
		memcpy(units, r.unit_ns, sizeof(r.unit_ns));
	gsb_sim_finish(&r);
	return err;
}

static int run_alone_virtual(struct gsb_contest *c, const struct gsb_mix *m,
			     struct gsb_query_alone *to)
{
	const struct gsb_compared_way fifo = {GSB_WAY_POLICY, "fifo", "fifo"};
	struct gsb_workload load = {0};
	struct gsb_outcome out;
	int err = gsb_mix_run(&c->site, &c->program, m, &fifo, NULL, &out, &load);

	if (err)
		return err;
	to->ns = out.makespan_ns;
	err = find_units(c, m->query[0], &load, to->unit_ns);
	gsb_workload_finish(&load);
	return err;
}

/* What a query takes alone, once and repeated, if it is wanted. */
static int run_alone(struct gsb_contest *c, unsigned query, unsigned repeat,
		     struct gsb_query_alone *to)
{
	const struct gsb_mix m = {.name = "alone", .n = 1, .query = {query}, .repeat = repeat};

	return c->site.is_real ? run_alone_real(c, &m, &to->ns) : run_alone_virtual(c, &m, to);
}

/* Each of the queries, and the repeated ones of a mix. */
static int run_all_alone(struct gsb_contest *c)
{
	int err = 0;

	for (unsigned q = 0; !err && q < GSB_N_QUERIES; q++)
		err = verify(c, q) || run_alone(c, q, 0, &c->alone[q]) ? -1 : 0;
	for (unsigned m = 0; !err && m < c->n_mixes; m++)
		if (c->mixes[m].repeat)
			err = run_alone(c, c->mixes[m].query[0], c->mixes[m].repeat, &c->repeated);
	return err;
}

static void make_figures(const struct gsb_contest *c, const struct gsb_mix *m,
			 struct gsb_compared *of)
{
	double alone[GSB_MIX_MAX], units[GSB_SIM_N_UNITS] = {0};

	for (unsigned i = 0; i < m->n; i++) {
		const struct gsb_query_alone *its =
			m->repeat ? &c->repeated : &c->alone[m->query[i]];

		alone[i] = its->ns;
		for (unsigned u = 0; u < GSB_SIM_N_UNITS; u++)
			units[u] += its->unit_ns[u];
	}
	of->figures = gsb_figures_make(alone, of->outcome.tenant_ns, m->n, of->outcome.makespan_ns,
				       units);
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
				if (run_way(c, &c->mixes[m], w, &rounds[done++], NULL))
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
	int err = rounds ? run_all_alone(c) : -1;

	if (!err)
		err = run_rounds(c, rounds);
	if (!err)
		take_medians(c, rounds);
	free(rounds);
	return err;
}

/* ---- brokers that stay ---- */

/* On a GPU an engine takes a second to begin: programs meet one that has begun, as they do in a broker that serves others. */
static int start_brokers(struct gsb_contest *c)
{
	const struct gsb_mix warm = {.name = "warm", .n = 1};
	struct gsb_outcome out;
	int err = 0;

	for (unsigned w = 0; !err && c->site.is_real && w < c->n_ways; w++) {
		FILE *conf =
			c->ways[w].policy ? gsb_site_begin_conf(&c->site, c->ways[w].policy) : NULL;

		if (!c->ways[w].policy)
			continue;
		err = !conf || fclose(conf) || gsb_site_start_broker(&c->site, &c->brokers[w]) ||
				      run_way(c, &warm, w, &out, NULL)
			      ? -1
			      : 0;
	}
	return err;
}

static void stop_brokers(struct gsb_contest *c)
{
	for (unsigned w = 0; w < c->n_ways; w++)
		if (c->brokers[w].pid > 0)
			gsb_private_broker_stop(&c->brokers[w]);
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
	report_fact_text(&r, "clock",
			 c->site.is_real
				 ? "real, exec to exit; engines and MPS's daemon run already"
				 : "virtual");
	report_fact_text(&r, "scale", c->scale);
	report_fact_text(&r, "options", c->program.options ? c->program.options : "");
	report_fact_number(&r, "rounds", "%u", c->rounds);
	report_finish(&r);
}

/* ---- the whole ---- */

static int make_data(struct gsb_contest *c, char path[PATH_MAX])
{
	char command[2 * PATH_MAX];

	snprintf(path, PATH_MAX, "%s/data", c->site.dir);
	snprintf(command, sizeof(command), "'%s' gen --data '%s' --scale '%s' --quiet >/dev/null",
		 c->program.path, path, c->scale);
	if (!system(command)) {
		c->program.data = path;
		return 0;
	}
	fprintf(stderr, "gsb-bench compare: %s cannot make a data set; --gpu-db names another\n",
		c->program.path);
	return -1;
}

int gsb_compare_queries(struct gsb_contest *c)
{
	static char data[PATH_MAX];
	int err = make_data(c, data);

	if (!err)
		err = start_brokers(c);
	if (!err)
		err = run_all(c);
	stop_brokers(c);
	if (!err)
		report_all(c);
	if (!err && c->n_drawn)
		err = gsb_compare_drawn(c);
	if (!err && c->plot)
		err = gsb_compare_plot(c);
	return err;
}
