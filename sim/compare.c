/*
 * compare.c - see compare.h.
 */
#include "sim/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/policy/estimate.h"

#define N_SEEN 3 /* a policy that predicts trusts what it has seen a few times */

static int run_alone(const struct gsb_workload *load, const struct gsb_sim_params *p,
		     double *out_ns, char *why, size_t size)
{
	struct gsb_sim_params alone = *p;
	int err = 0;

	alone.policy = &gsb_policy_fifo;
	for (uint32_t i = 0; !err && i < load->n_tenants; i++) {
		struct gsb_sim_result r;

		alone.tenant = load->tenants[i].id;
		err = gsb_sim_run(load, &alone, &r, why, size);
		if (err)
			break;
		out_ns[i] = (double)r.makespan_ns;
		gsb_sim_finish(&r);
	}
	return err;
}

static double max_double(double a, double b)
{
	return a > b ? a : b;
}

struct gsb_figures gsb_figures_make(const double *alone_ns, const double *mixed_ns, uint32_t n,
				    double makespan_ns, const double unit_ns[GSB_SIM_N_UNITS])
{
	struct gsb_figures f = {0};
	double slowdowns = 0, squares = 0;
	uint32_t counted = 0;

	for (unsigned u = 0; unit_ns && u < GSB_SIM_N_UNITS; u++)
		f.bound_ns = max_double(f.bound_ns, unit_ns[u]);
	for (uint32_t i = 0; i < n; i++) {
		f.sum_alone_ns += alone_ns[i];
		f.bound_ns = max_double(f.bound_ns, alone_ns[i]);
		if (alone_ns[i] <= 0 || mixed_ns[i] <= 0)
			continue;
		counted++;
		slowdowns += mixed_ns[i] / alone_ns[i];
		f.worst_slowdown = max_double(f.worst_slowdown, mixed_ns[i] / alone_ns[i]);
		f.throughput += alone_ns[i] / mixed_ns[i];
		squares += alone_ns[i] / mixed_ns[i] * (alone_ns[i] / mixed_ns[i]);
	}
	if (makespan_ns > 0) {
		f.speedup = f.sum_alone_ns / makespan_ns;
		f.of_bound = f.bound_ns / makespan_ns;
	}
	if (counted) {
		f.mean_slowdown = slowdowns / counted;
		f.fairness = f.throughput * f.throughput / (counted * squares);
	}
	return f;
}

static int sum_up(struct gsb_sim_comparison *c)
{
	double *mixed = calloc((size_t)c->mix.n_tenants + 1, sizeof(*mixed));

	if (!mixed)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->mix.n_tenants; i++)
		mixed[i] = (double)(c->mix.tenants[i].end_ns - c->mix.tenants[i].come_ns);
	c->figures = gsb_figures_make(c->alone_ns, mixed, c->mix.n_tenants,
				      (double)c->mix.makespan_ns, c->mix.unit_ns);
	free(mixed);
	return 0;
}

/* Alone, then all. */
static int run_both(const struct gsb_workload *load, const struct gsb_sim_params *p, bool cold,
		    struct gsb_sim_comparison *c, char *why, size_t size)
{
	struct gsb_sim_params alone = *p;
	int err = 0;

	if (cold)
		alone.estimates = NULL;
	for (unsigned i = 0; !err && i < (alone.estimates ? N_SEEN : 1); i++)
		err = run_alone(load, &alone, c->alone_ns, why, size);
	return err ? err : gsb_sim_run(load, p, &c->mix, why, size);
}

int gsb_sim_compare(const struct gsb_workload *load, const struct gsb_sim_params *p, bool cold,
		    struct gsb_sim_comparison *out, char *why, size_t size)
{
	struct gsb_sim_comparison c = {0};
	struct gsb_sim_params with = *p;
	int err = 0;

	c.alone_ns = calloc((size_t)load->n_tenants + 1, sizeof(*c.alone_ns));
	snprintf(why, size, "no memory");
	if (!c.alone_ns)
		return -ENOMEM;
	if (p->policy->predicts)
		err = gsb_estimates_create(&with.estimates);
	if (!err)
		err = run_both(load, &with, cold, &c, why, size);
	if (p->policy->predicts)
		gsb_estimates_destroy(with.estimates);
	if (!err)
		err = sum_up(&c);
	if (err)
		gsb_sim_comparison_finish(&c);
	else
		*out = c;
	return err;
}

void gsb_sim_comparison_finish(struct gsb_sim_comparison *c)
{
	gsb_sim_finish(&c->mix);
	free(c->alone_ns);
	*c = (struct gsb_sim_comparison){0};
}
