/*
 * counting.c - see counting.h. What the words of a launch mean follows from the kernel's code, which the loader's thread reads: that
 * is asked for once in a kernel's life.
 */
#include "broker/engine/code/counting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/code/code.h"
#include "broker/engine/code/demand.h"
#include "broker/engine/code/job.h"
#include "broker/engine/code/proofs.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"
#include "ptx/resize/variant.h"

static uint32_t n_threads(const struct gsb_cmd_launch *l)
{
	return l->block[0] * l->block[1] * l->block[2];
}

static uint64_t n_blocks(const struct gsb_cmd_launch *l)
{
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static uint32_t log2_of(uint64_t n)
{
	return 63 - (uint32_t)__builtin_clzll(n);
}

struct gsb_warp_demand *gsb_counting_of(const struct gsb_kernel_fn *fn,
					const struct gsb_cmd_launch *l)
{
	return gsb_demand_find(fn->proof->demands, n_threads(l), log2_of(n_blocks(l)));
}

bool gsb_counting_is_wanted(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l)
{
	const struct gsb_warp_demand *d = gsb_counting_of(fn, l);

	return d && !d->n_threads;
}

uint32_t gsb_counting_every(const struct gsb_cmd_launch *l)
{
	return gsb_variant_every(n_blocks(l), (n_threads(l) + 31) / 32, GSB_COUNTING_WARPS);
}

/* ---- understanding the words ---- */

static int read_words(struct gsb_job *j, const struct gsb_ptx_module *m, struct gsb_arena *arena)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(m, j->name);
	struct gsb_count_sites sites;
	struct gsb_ptx_kernel k;
	int err = f ? gsb_ptx_kernel_build(m, f, arena, &k) : -ENOENT;

	if (!err)
		err = gsb_count_sites(&k, arena, &sites);
	if (!err && sites.n_words != j->fn->proof->n_count_words)
		err = -EINVAL;
	if (!err)
		gsb_count_read(&sites, j->words, &j->demand.sum);
	return err;
}

/* Of the kernel alone, so that what the engine's thread has learnt meanwhile is not read here. */
static void keep(const struct gsb_job *j)
{
	struct gsb_proof proof = {.demands = {j->demand}};

	gsb_proofs_add(j->resizing, j->variants, j->name, &proof);
}

static void run_count(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	const struct gsb_ptx_module *m = gsb_variants_module(j->variants);
	struct gsb_arena arena;

	if (!m) {
		j->err = -ENOMEM;
		return;
	}
	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	j->err = read_words(j, m, &arena);
	gsb_arena_finish(&arena);
	if (!j->err)
		keep(j);
}

static void counted(struct gsb_job *j)
{
	struct gsb_warp_demand *d = gsb_counting_of(j->fn, &j->launch);

	if (!j->err && d && !d->n_threads)
		*d = j->demand;
	free(j->words);
	gsb_job_destroy(j);
}

void gsb_counting_note(struct gsb_tenant *t, struct gsb_kernel_fn *fn, struct gsb_fence *fence,
		       const struct gsb_cmd_launch *l, uint64_t *words)
{
	struct gsb_job *j = gsb_job_create_in(t, fn->module->ctx, fence,
					      &(struct gsb_rec){.type = GSB_REC_LAUNCH});

	if (!j) {
		free(words);
		return;
	}
	j->run = run_count;
	j->done = counted;
	j->fn = fn;
	j->variants = fn->module->variants;
	j->words = words;
	j->resizing = t->resizing;
	j->launch = *l;
	j->demand = (struct gsb_warp_demand){.n_threads = n_threads(l),
					     .n_blocks_log2 = log2_of(n_blocks(l))};
	strcpy(j->name, gsb_variants_name(j->variants, fn->proof));
	gsb_job_give(j);
}
