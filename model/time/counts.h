/*
 * counts.h - what a kernel asks of the units of a GPU, from what it executes: the one place where counts become demands.
 *
 * A demand is what is executed in a second over what an SM, or the device, can do in one: data sheets, no fit. Who counts is the
 * emulated device, of PTX; of what has no counter there, as where a sector comes from, or latency, nothing is known here either.
 */
#ifndef GSB_MODEL_TIME_COUNTS_H
#define GSB_MODEL_TIME_COUNTS_H

#include "gsb/arch.h"
#include "model/gpu/interference.h"

/* Of a part of a kernel, as a block; instructions of warps unless said. */
struct gsb_counts {
	double insns;	 /* all */
	double alu;	 /* whole numbers and logic */
	double imul;	 /* products of whole numbers */
	double sfu;	 /* special functions */
	double fp64;	 /* double precision */
	double barriers; /* of blocks, once a warp */
	double requests; /* loads, stores and atomics of global memory */
	double sectors;	 /* that these touch */
	double to_l2,	 /* parts of the sectors that the L1 does not have, 0 .. 1, */
		to_dram; /* and the L2 neither */
	double shared;	 /* passes over the banks of shared memory */
	double shared_requests;
};

/**
 * gsb_counts_demand() - of a kernel that has SMs for itself
 * @counts:  of a part of it
 * @on_sm:   parts a second that an SM does        @on_device: that all do together
 * @units:   shares; above 1 where the counts are wrong, or the data sheet. With requests the law goes by queues (law.h)
 *
 * Whole numbers have two pipes on a GPU, and one unit here: it is as full as the fuller pipe.
 * Who wants issue slots most, and asks for something once in a hundred instructions or less, has them without waiting: dense.
 *
 * Source:  ours; doc/model.md#queues.
 * Context: pure, any thread.
 */
void gsb_counts_demand(const struct gsb_arch *arch, const struct gsb_counts *counts, double on_sm,
		       double on_device, double units[GSB_N_UNITS]);

#endif
