/*
 * counts.c - see counts.h.
 */
#include "model/time/counts.h"

#include <math.h>
#include <stdbool.h>

/* Of an SM, in a cycle: warps at a barrier, and sectors of the L1, 128 bytes. */
#define BARRIERS     0.5
#define SECTORS_L1   4.0
#define SECTOR_BYTES 32.0
#define ASKS_MOST    0.01   /* requests to an instruction */
#define L2_PER_CYCLE 5120.0 /* bytes, of the device, from the A100 on */

static void set_issue(const struct gsb_arch *arch, const struct gsb_counts *c, double of_sm,
		      double *units)
{
	double share = c->insns * of_sm / arch->issue_width;
	bool dense = c->requests + c->shared_requests <= ASKS_MOST * c->insns;

	units[GSB_UNIT_DENSE] = units[GSB_UNIT_ISSUE] = 0;
	for (unsigned u = 0; u < GSB_N_UNITS; u++)
		dense &= u == GSB_UNIT_REQUESTS || share > units[u];
	units[dense ? GSB_UNIT_DENSE : GSB_UNIT_ISSUE] = share;
}

/* Cycles of a pipe for so many instructions of warps. */
static double pipe(double n_insns, uint32_t per_cycle)
{
	return n_insns * GSB_WARP_SIZE / per_cycle;
}

void gsb_counts_demand(const struct gsb_arch *arch, const struct gsb_counts *c, double on_sm,
		       double on_device, double units[GSB_N_UNITS])
{
	double hz = arch->clock_khz * 1e3, of_sm = on_sm / hz;
	double bytes = c->sectors * SECTOR_BYTES * on_device;

	for (unsigned u = 0; u < GSB_N_UNITS; u++)
		units[u] = 0;
	units[GSB_UNIT_ALU] =
		fmax(pipe(c->alu, arch->per_cycle.alu), pipe(c->imul, arch->per_cycle.imul)) *
		of_sm;
	units[GSB_UNIT_SFU] = pipe(c->sfu, arch->per_cycle.sfu) * of_sm;
	units[GSB_UNIT_FP64] = pipe(c->fp64, arch->per_cycle.fp64) * of_sm;
	units[GSB_UNIT_BARRIER] = c->barriers * of_sm / BARRIERS;
	units[GSB_UNIT_L1] = fmax(c->requests, c->sectors / SECTORS_L1) * (1 - c->to_l2) * of_sm;
	units[GSB_UNIT_L2] = bytes * c->to_l2 / (L2_PER_CYCLE * hz);
	units[GSB_UNIT_DRAM] = bytes * c->to_dram / (double)arch->mem_bandwidth_bytes_per_s;
	units[GSB_UNIT_SHARED] = c->shared * of_sm;
	units[GSB_UNIT_REQUESTS] = (c->requests + c->shared_requests) * of_sm;
	set_issue(arch, c, of_sm, units);
}
