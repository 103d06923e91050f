/*
 * compare.h - one load under one policy, held against its tenants alone: the figures by which policies are compared.
 *
 * With T_i the time of tenant i alone, t_i its time in the mix and M the makespan:
 *   speed-up     sum T_i / M, over one tenant after the other
 *   bound        max(longest T_i, what the fullest unit has to do). No order ends before the second; before the first only one that
 *                runs a tenant's own streams better than fifo does
 *   slowdown     t_i / T_i; the mean of them is Eyerman's ANTT, sum T_i / t_i his STP
 *   fairness     Jain's index of the speeds T_i / t_i: 1 all alike, 1/n one has all
 */
#ifndef GSB_SIM_COMPARE_H
#define GSB_SIM_COMPARE_H

#include "sim/sim.h"

struct gsb_figures {
	double sum_alone_ns, bound_ns;
	double speedup, of_bound; /* of_bound: bound / makespan */
	double mean_slowdown, worst_slowdown, throughput, fairness;
};

/*
 * gsb_figures_make() - of so many tenants
 * @alone_ns, @mixed_ns: T_i and t_i; a tenant with a time of 0 is neither slow nor fast
 * @unit_ns: what all of them ask of each unit; NULL: not known
 * Pure.
 */
struct gsb_figures gsb_figures_make(const double *alone_ns, const double *mixed_ns, uint32_t n,
				    double makespan_ns, const double unit_ns[GSB_SIM_N_UNITS]);

struct gsb_sim_comparison {
	struct gsb_sim_result mix;
	double *alone_ns; /* of each tenant of the result */
	struct gsb_figures figures;
};

/*
 * As gsb_sim_run() for all of them. The tenants alone run under fifo, on the same GPU. A policy that predicts has seen these
 * runs a few times, as in a broker that has served each of them before; or nothing at all, if it is to be @cold.
 * gsb_sim_comparison_finish() frees it.
 */
int gsb_sim_compare(const struct gsb_workload *load, const struct gsb_sim_params *p, bool cold,
		    struct gsb_sim_comparison *out, char *why, size_t size);
void gsb_sim_comparison_finish(struct gsb_sim_comparison *c); /* takes a zeroed one, too */

#endif
