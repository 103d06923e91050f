/*
 * drawn.c - loads that nobody recorded, through the simulator: of each policy the distribution of its makespan against fifo's, or, of
 * small loads, against the best of all orders.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "sim/best.h"
#include "sim/random.h"
#include "tools/compare/compare.h"
#include "tools/model_report.h"

#define N_KERNELS 8    /* of a tenant, one behind the other; or one that repeats */
#define WORSE	  1.01 /* than fifo, or the best: more than that is counted */

/* Of loads of which all orders are tried; some 70, 1,680 and 2,520 of them. */
static const struct {
	uint32_t n_tenants, n_kernels;
} small[] = {{2, 4}, {3, 3}, {4, 2}};

struct tally {
	double *ratios; /* of each load, its makespan over fifo's, or the best */
	double of_bound, coresidency, fairness, slowdown, worst_slowdown; /* summed */
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

static void add(struct tally *t, unsigned i, const struct gsb_sim_comparison *c,
		uint64_t against_ns)
{
	t->ratios[i] = (double)c->mix.makespan_ns / (double)against_ns;
	t->n_worse += t->ratios[i] > WORSE;
	t->of_bound += c->figures.of_bound;
	t->coresidency += c->mix.coresidency;
	t->fairness += c->figures.fairness;
	t->slowdown += c->figures.mean_slowdown;
	t->worst_slowdown += c->figures.worst_slowdown;
}

static struct gsb_random_load draw(const struct gsb_contest *c, unsigned i)
{
	const unsigned seed = c->drawn_from + i;
	struct gsb_random_load p = {
		.seed = seed,
		.n_tenants = 2 + seed % 7,
		.n_kernels = c->n_times ? 1 : N_KERNELS,
		.n_times = c->n_times,
		.units = c->n_times,
	};

	if (c->against_best) {
		p.n_tenants = small[seed % GSB_ARRAY_LEN(small)].n_tenants;
		p.n_kernels = small[seed % GSB_ARRAY_LEN(small)].n_kernels;
		p.units = seed / GSB_ARRAY_LEN(small) % 2;
	}
	return p;
}

static int find_best(const struct gsb_workload *load, const struct gsb_arch *arch, uint64_t *out_ns)
{
	const struct gsb_sim_params p = {.arch = arch};
	struct gsb_sim_best best;
	char why[256];

	if (gsb_sim_best(load, &p, &best, why, sizeof(why))) {
		fprintf(stderr, "gsb-bench compare: the best order: %s\n", why);
		return -1;
	}
	*out_ns = best.makespan_ns;
	return 0;
}

/* What all policies are held against. */
static int find_against(const struct gsb_contest *c, const struct gsb_workload *load,
			const struct gsb_arch *arch, uint64_t *out_ns)
{
	struct gsb_sim_comparison fifo;

	if (c->against_best)
		return find_best(load, arch, out_ns);
	if (run_one(load, arch, &gsb_policy_fifo, &fifo))
		return -1;
	*out_ns = fifo.mix.makespan_ns;
	gsb_sim_comparison_finish(&fifo);
	return 0;
}

static int run_load(const struct gsb_contest *c, const struct gsb_arch *arch, unsigned i,
		    struct tally *tallies)
{
	const struct gsb_random_load p = draw(c, i);
	struct gsb_sim_comparison one;
	struct gsb_workload load;
	uint64_t against_ns;
	int err;

	if (gsb_workload_random(arch, &p, &load))
		return -1;
	err = find_against(c, &load, arch, &against_ns);
	for (unsigned k = 0; !err && k < c->n_policies; k++) {
		err = run_one(&load, arch, c->policies[k], &one);
		if (err)
			break;
		add(&tallies[k], i, &one, against_ns);
		gsb_sim_comparison_finish(&one);
	}
	gsb_workload_finish(&load);
	return err;
}

/* Of sorted ones: so much of them are not larger. */
static double quantile(const double *sorted, unsigned n, double part)
{
	return sorted[(unsigned)((n - 1) * part + 0.5)];
}

static void report(const struct gsb_contest *c, const struct gsb_arch *arch, struct tally *tallies)
{
	const char *const columns[] = {"policy",
				       c->against_best ? "of_best" : "of_fifo",
				       "best",
				       "p90",
				       "p99",
				       "worst",
				       "worse",
				       "of_bound",
				       "coresidency",
				       "slowdown",
				       "worst_slowdown",
				       "fairness"};
	double n = c->n_drawn;
	struct report r;

	report_init(&r, c->json, columns, GSB_ARRAY_LEN(columns));
	for (unsigned k = 0; k < c->n_policies; k++) {
		struct tally *t = &tallies[k];

		qsort(t->ratios, c->n_drawn, sizeof(*t->ratios), by_value);
		report_text(&r, c->policies[k]->name);
		report_number(&r, "%.4f", quantile(t->ratios, c->n_drawn, 0.5));
		report_number(&r, "%.4f", t->ratios[0]);
		report_number(&r, "%.4f", quantile(t->ratios, c->n_drawn, 0.9));
		report_number(&r, "%.4f", quantile(t->ratios, c->n_drawn, 0.99));
		report_number(&r, "%.4f", t->ratios[c->n_drawn - 1]);
		report_number(&r, "%u", t->n_worse);
		report_number(&r, "%.4f", t->of_bound / n);
		report_number(&r, "%.4f", t->coresidency / n);
		report_number(&r, "%.4f", t->slowdown / n);
		report_number(&r, "%.4f", t->worst_slowdown / n);
		report_number(&r, "%.4f", t->fairness / n);
	}
	report_fact_text(&r, "arch", arch->name);
	report_fact_number(&r, "drawn_loads", "%u", c->n_drawn);
	report_fact_number(&r, "first_seed", "%u", c->drawn_from);
	report_fact_number(&r, "times", "%u", c->n_times ? c->n_times : 1);
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
