/*
 * best.h - the best that order can do for a small load: all orders in which its launches can be issued, each run.
 *
 * A launch is issued when all before it in the order have been, and it is ready; so an order says who waits for whom, too. An idle device takes
 * the oldest that is ready, and copies go as they come: what no policy may do is not searched. Launches are as they were asked
 * for, on all SMs. So this is what a policy of order alone could reach if it knew all that comes; parts of the SMs may do better.
 */
#ifndef GSB_SIM_BEST_H
#define GSB_SIM_BEST_H

#include "sim/sim.h"

struct gsb_sim_best {
	uint64_t makespan_ns; /* the least */
	uint64_t n_orders;    /* tried */
};

/* In how many orders the launches can be issued; the streams' are kept. INFINITY: nobody could try them. */
double gsb_sim_orders(const struct gsb_workload *load);

/**
 * gsb_sim_best() - try them all
 * @p: of this the GPU, the law and when tenants begin
 *
 * Return: as gsb_sim_run().
 */
int gsb_sim_best(const struct gsb_workload *load, const struct gsb_sim_params *p,
		 struct gsb_sim_best *out, char *why, size_t size);

#endif
