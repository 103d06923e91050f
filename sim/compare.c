/*
 * compare.c - see compare.h.
 */
#include "sim/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/policy/estimate.h"

static int run_alone(const struct gsb_workload *load, const struct gsb_sim_params *p,
		     uint64_t *out_ns, char *why, size_t size)
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
		out_ns[i] = r.makespan_ns;
		gsb_sim_finish(&r);
	}
	return err;
}

static double max_double(double a, double b)
{
	return a > b ? a : b;
}

/* A tenant that did nothing is neither slow nor fast. */
static void sum_up(struct gsb_sim_comparison *c)
{
	double longest = 0, slowdowns = 0, squares = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->mix.n_tenants; i++) {
		const struct gsb_sim_tenant *t = &c->mix.tenants[i];
		double alone = (double)c->alone_ns[i], mixed = (double)(t->end_ns - t->come_ns);

		c->sum_alone_ns += alone;
		longest = max_double(longest, alone);
		if (!c->alone_ns[i] || t->end_ns == t->come_ns)
			continue;
		n++;
		slowdowns += mixed / alone;
		c->worst_slowdown = max_double(c->worst_slowdown, mixed / alone);
		c->throughput += alone / mixed;
		squares += alone / mixed * (alone / mixed);
	}
	c->bound_ns = max_double(longest, (double)c->mix.work_ns);
	if (c->mix.makespan_ns) {
		c->speedup = c->sum_alone_ns / (double)c->mix.makespan_ns;
		c->of_bound = c->bound_ns / (double)c->mix.makespan_ns;
	}
	if (!n)
		return;
	c->mean_slowdown = slowdowns / n;
	c->fairness = c->throughput * c->throughput / (n * squares);
}

/* Alone, then all. */
static int run_both(const struct gsb_workload *load, const struct gsb_sim_params *p, bool cold,
		    struct gsb_sim_comparison *c, char *why, size_t size)
{
	struct gsb_sim_params alone = *p;
	int err;

	if (cold)
		alone.estimates = NULL;
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
	if (err) {
		gsb_sim_comparison_finish(&c);
		return err;
	}
	sum_up(&c);
	*out = c;
	return 0;
}

void gsb_sim_comparison_finish(struct gsb_sim_comparison *c)
{
	gsb_sim_finish(&c->mix);
	free(c->alone_ns);
	*c = (struct gsb_sim_comparison){0};
}
