/*
 * facts.h - what follows from a kernel and the geometry of a launch alone: what it needs, how many of its blocks an SM has room for,
 * which shapes it admits. That takes divisions, hashes and a model of the SM, and most kernels are launched in few geometries again
 * and again: so the facts of the last few stand beside the kernel.
 */
#ifndef GSB_BROKER_ENGINE_CODE_FACTS_H
#define GSB_BROKER_ENGINE_CODE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/kernel.h"

struct gsb_arch;
struct gsb_cmd_launch;
struct gsb_kernel_fn;
struct gsb_shape;
struct gsb_tenant;

#define GSB_N_FACTS 4 /* geometries of a kernel */

struct gsb_launch_facts {
	uint32_t grid[3], block[3], smem_bytes; /* of which geometry; block[0] 0: of none */
	uint32_t blocks_per_sm;			/* that an empty SM has room for; 0: none */
	struct gsb_kernel needs;
	uint64_t hash; /* of the kernel in this geometry; never 0 */

	/* Of a list of shapes those that are admitted, a bit for each, while its forms are these. */
	uint32_t forms, admitted;
};

/*
 * gsb_facts_of() - of a launch
 * Return: valid until the next call for the kernel.
 */
struct gsb_launch_facts *gsb_facts_of(struct gsb_kernel_fn *fn, const struct gsb_arch *arch,
				      const struct gsb_cmd_launch *l);

/* Of a launch in this geometry; never 0. The parameters are left out: they say what it works on. */
uint64_t gsb_facts_hash(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l);

/* The same threads on x, in blocks of so many, which divides them: gsb_code_admits() has said so. */
void gsb_facts_cut(struct gsb_cmd_launch *l, uint32_t n_threads);

/*
 * gsb_facts_admitted() - which shapes the launch admits, a bit for each of @shapes
 * @shapes: n of them, at most 32; the same in every call
 */
uint32_t gsb_facts_admitted(const struct gsb_tenant *t, struct gsb_kernel_fn *fn,
			    const struct gsb_cmd_launch *l, const struct gsb_shape *shapes,
			    unsigned n);

#endif
