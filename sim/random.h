/*
 * random.h - loads that nobody recorded: tenants with kernels of random shapes, as the synthetic ones of Li, Tu, Zeng 2019.
 */
#ifndef GSB_SIM_RANDOM_H
#define GSB_SIM_RANDOM_H

#include <stdbool.h>

#include "gsb/arch.h"
#include "model/input/workload.h"

#define GSB_RANDOM_TENANTS_MAX 64
#define GSB_RANDOM_KERNELS_MAX 1024 /* of a tenant */
#define GSB_RANDOM_TIMES_MAX   1024

struct gsb_random_load {
	uint64_t seed;
	uint32_t n_tenants, n_kernels; /* of each tenant, one behind the other */
	uint32_t n_times;	       /* that each tenant runs its kernels through; 0: once */
	bool units;		       /* draw what each kernel lives on, too */
};

/* A kind of kernel: the unit that it lives on, and how much of that it wants, as struct gsb_workload_kernel has it. */
struct gsb_random_kind {
	const char *name, *unit;
	uint32_t want_ppm;
	double issue; /* share of the issue slots */
};

/* Kinds as database kernels have them; the last has no name. Those of memory are full with a third of an H200's SMs, as measured. */
extern const struct gsb_random_kind gsb_random_kinds[];

/**
 * gsb_workload_random() - draw a load for a GPU
 * @out: written only on success; gsb_workload_finish() frees it
 *
 * Each tenant copies its input, runs its kernels one behind the other in a stream, and copies its result back. Block sizes,
 * registers, shared memory, grids of a tenth of a round to four rounds, times alone of 10 us to 3 ms and shares of the
 * issue slots of 5 to 80 % are drawn evenly, each on its scale; with units one of gsb_random_kinds. The same numbers give the same load everywhere.
 *
 * Return: 0, -EINVAL: numbers out of bounds; -ENOMEM.
 */
int gsb_workload_random(const struct gsb_arch *arch, const struct gsb_random_load *p,
			struct gsb_workload *out);

#endif
