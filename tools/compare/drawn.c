/*
 * drawn.c - loads that nobody recorded, through the simulator: of each policy the distribution of its makespan against fifo's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "sim/random.h"
#include "tools/compare/compare.h"
#include "tools/model_report.h"

#define N_KERNELS 8
#define WORSE	  1.01 /* than fifo: more than that is counted */

struct tally {
	double *ratios; /* of each load, its makespan over fifo's */
	double of_bound, coresidency, fairness, slowdown; /* summed */
	unsigned n_worse;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int run_one(const struct gsb_workload *load, const struct gsb_arch *arch,
		   const struct gsb_policy *policy, struct gsb_sim_comparison *out)
{
	const struct gsb_sim_params p = {.arch = arch, .policy = policy};
	char why[256];

	if (!gsb_sim_compare(load, &p, false, out, why, sizeof(why)))
		return 0;
	fprintf(stderr, "gsb-bench compare: %s: %s\n", policy->name, why);
	return -1;
}

static void add(struct tally *t, unsigned i, const struct gsb_sim_comparison *c, double fifo_ns)
{
	t->ratios[i] = (double)c->mix.makespan_ns / fifo_ns;
	t->n_worse += t->ratios[i] > WORSE;
	t->of_bound += c->figures.of_bound;
	t->coresidency += c->mix.coresidency;
	t->fairness += c->figures.fairness;
	t->slowdown += c->figures.mean_slowdown;
}

static int run_load(const struct gsb_contest *c, const struct gsb_arch *arch, unsigned i,
		    struct tally *tallies)
{
	const struct gsb_random_load p = {
		.seed = i, .n_tenants = 2 + i % 7, .n_kernels = N_KERNELS};
	struct gsb_sim_comparison fifo, other;
	struct gsb_workload load;
	int err;

	if (gsb_workload_random(arch, &p, &load))
		return -1;
	err = run_one(&load, arch, &gsb_policy_fifo, &fifo);
	for (unsigned k = 0; !err && k < c->n_policies; k++) {
		err = run_one(&load, arch, c->policies[k], &other);
		if (err)
			break;
		add(&tallies[k], i, &other, (double)fifo.mix.makespan_ns);
		gsb_sim_comparison_finish(&other);
	}
	if (!err)
		gsb_sim_comparison_finish(&fifo);
	gsb_workload_finish(&load);
	return err;
}

static void report(const struct gsb_contest *c, const struct gsb_arch *arch, struct tally *tallies)
{
	static const char *const columns[] = {"policy",	     "of_fifo",	 "best",
					      "worst",	     "worse",	 "of_bound",
					      "coresidency", "slowdown", "fairness"};
	double n = c->n_drawn;
	struct report r;

	report_init(&r, c->json, columns, GSB_ARRAY_LEN(columns));
	for (unsigned k = 0; k < c->n_policies; k++) {
		struct tally *t = &tallies[k];

		qsort(t->ratios, c->n_drawn, sizeof(*t->ratios), by_value);
		report_text(&r, c->policies[k]->name);
		report_number(&r, "%.4f", t->ratios[c->n_drawn / 2]);
		report_number(&r, "%.4f", t->ratios[0]);
		report_number(&r, "%.4f", t->ratios[c->n_drawn - 1]);
		report_number(&r, "%u", t->n_worse);
		report_number(&r, "%.4f", t->of_bound / n);
		report_number(&r, "%.4f", t->coresidency / n);
		report_number(&r, "%.4f", t->slowdown / n);
		report_number(&r, "%.4f", t->fairness / n);
	}
	report_fact_text(&r, "arch", arch->name);
	report_fact_number(&r, "drawn_loads", "%u", c->n_drawn);
	report_finish(&r);
}

int gsb_compare_drawn(const struct gsb_contest *c)
{
	const struct gsb_arch *arch = c->arch ? c->arch : gsb_arch_find("h200");
	struct tally tallies[GSB_POLICIES_MAX] = {0};
	int err = 0;

	for (unsigned k = 0; k < c->n_policies; k++) {
		tallies[k].ratios = calloc(c->n_drawn, sizeof(double));
		err |= tallies[k].ratios ? 0 : -1;
	}
	for (unsigned i = 0; !err && i < c->n_drawn; i++)
		err = run_load(c, arch, i, tallies);
	if (!err)
		report(c, arch, tallies);
	for (unsigned k = 0; k < c->n_policies; k++)
		free(tallies[k].ratios);
	return err;
}
