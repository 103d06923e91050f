/*
 * test_agreement.c - the clock of the emulated device and gsb-model say the same of kernels beside each other, of which they know the same.
 *
 * The clock goes from blocks that have ended, where they stand, to speeds (progress.h). gsb-model goes from what a kernel asks for alone with
 * all of its blocks, which `gsb-emu stat --demands` prints, and its speed over residency (demand.h). There is one law for both.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "model/time/contend.h"
#include "model/time/progress.h"

#define SM_BLOCKS 8 /* of eight warps, which are all that an SM holds */
#define N_SMS	  132
#define MOST	  3

/* What blocks do. The first three fill one unit, as kernels of the law's table do, the others none, or two. */
static const struct {
	const char *name;
	struct gsb_block_work work;
} kernels[] = {
	{"computes", {.n_warps = 8, .n_insns = 8000000}},
	{"shares", {.n_warps = 8, .n_insns = 2400000, .n_shared = 2000000}},
	{"streams", {.n_warps = 8, .n_insns = 400000, .n_mem_insns = 100000, .n_bytes = 102400000}},
	{"waits", {.n_warps = 8, .n_insns = 400000, .n_mem_insns = 200000, .n_bytes = 6400000}},
	{"steps", {.n_warps = 8, .n_insns = 1600000, .n_shared = 400000, .n_barriers = 300000}},
	{"both",
	 {.n_warps = 8,
	  .n_insns = 6400000,
	  .n_shared = 1500000,
	  .n_mem_insns = 50000,
	  .n_bytes = 1600000}},
	{"counts", {.n_warps = 8, .n_insns = 6000000, .n_alu = 3900000, .n_imul = 1000000}},
	{"multiplies", {.n_warps = 8, .n_insns = 5000000, .n_alu = 900000, .n_imul = 3000000}},
	{"waves", {.n_warps = 8, .n_insns = 2000000, .n_alu = 400000, .n_sfu = 1000000}},
	{"doubles", {.n_warps = 8, .n_insns = 4400000, .n_fp64 = 3900000}},
	{"mixes",
	 {.n_warps = 8,
	  .n_insns = 5000000,
	  .n_alu = 1500000,
	  .n_sfu = 400000,
	  .n_fp64 = 1200000,
	  .n_mem_insns = 60000,
	  .n_bytes = 1920000}},
	{"nearly", {.n_warps = 8, .n_insns = 5000000, .n_shared = 2000000}},
};

#define N_KERNELS GSB_ARRAY_LEN(kernels)

struct mix {
	unsigned n, kernels[MOST], blocks[MOST]; /* on an SM */
	unsigned scale;				 /* blocks of the first are so many times as long */
};

struct bench {
	const struct gsb_arch *arch;
	struct gsb_interference f;
};

static struct bench bench(void)
{
	struct bench b = {.arch = gsb_arch_find("h200")};

	gsb_interference_init(&b.f, b.arch->name);
	return b;
}

static struct gsb_block_work work_of(const struct mix *m, unsigned i)
{
	struct gsb_block_work w = kernels[m->kernels[i]].work;
	unsigned by = i ? 1 : m->scale;

	w.n_insns *= by;
	w.n_alu *= by;
	w.n_imul *= by;
	w.n_sfu *= by;
	w.n_fp64 *= by;
	w.n_mem_insns *= by;
	w.n_shared *= by;
	w.n_bytes *= by;
	w.n_barriers *= by;
	return w;
}

static double block_ns(const struct bench *b, const struct gsb_block_work *w, unsigned sm_blocks)
{
	const struct gsb_block_company own = {sm_blocks * w->n_warps,
					      (uint64_t)sm_blocks * w->n_warps * N_SMS};

	return (double)gsb_block_time_ns(b->arch, w, &own);
}

/* ---- the clock ---- */

static void on_change(void *ctx, struct gsb_progress_block *block)
{
	(void)ctx;
	(void)block;
}

static void clock_says(const struct bench *b, const struct mix *m, double *speeds)
{
	static struct gsb_progress_block blocks[MOST][SM_BLOCKS * N_SMS];
	struct gsb_block_profile profiles[MOST] = {0};
	struct gsb_progress_grid grids[MOST] = {0};
	struct gsb_progress *p;

	assert_int_equal(gsb_progress_create(b->arch, &b->f, &p), 0);
	for (unsigned i = 0; i < m->n; i++) {
		const struct gsb_block_work w = work_of(m, i);

		gsb_block_profile_add(&profiles[i], &w);
		grids[i] = (struct gsb_progress_grid){.profile = &profiles[i],
						      .block_warps = w.n_warps};
		for (unsigned k = 0; k < m->blocks[i] * N_SMS; k++)
			gsb_progress_add(p, &grids[i], &blocks[i][k], k % N_SMS, 0);
	}
	gsb_progress_settle(p, 0, on_change, NULL);
	for (unsigned i = 0; i < m->n; i++)
		speeds[i] = (double)blocks[i][0].speed / GSB_FULL_SPEED;
	gsb_progress_destroy(p);
}

/* ---- the model ---- */

/* With all of its blocks: what gsb-emu says of it. */
static struct gsb_demand demand_of(const struct bench *b, const struct gsb_block_work *w,
				   struct gsb_curve *curve)
{
	struct gsb_demand d = {.units = {0}};
	double ns = block_ns(b, w, SM_BLOCKS);

	gsb_company_demand(b->arch, w, SM_BLOCKS * 1e9 / ns, SM_BLOCKS * N_SMS * 1e9 / ns, d.units);
	gsb_curve_from_saturation(curve, (double)gsb_block_wait_ns(b->arch, w) / ns, 0);
	return d;
}

static void model_says(const struct bench *b, const struct mix *m, double *speeds)
{
	struct gsb_resident r[MOST] = {0};

	for (unsigned i = 0; i < m->n; i++) {
		const struct gsb_block_work w = work_of(m, i);
		struct gsb_curve curve;
		const struct gsb_demand d = demand_of(b, &w, &curve);

		gsb_demand_at(&d, &curve, (double)m->blocks[i] / SM_BLOCKS, &r[i]);
		r[i].block_ns = block_ns(b, &w, m->blocks[i]);
	}
	assert_int_equal(gsb_law_speeds(&b->f, N_SMS, r, m->n, speeds), 0);
}

static void assert_agreed(const struct bench *b, const struct mix *m)
{
	double clock[MOST], model[MOST];

	clock_says(b, m, clock);
	model_says(b, m, model);
	for (unsigned i = 0; i < m->n; i++)
		if (!(fabs(clock[i] - model[i]) <= .002))
			fail_msg("%s, %s, %s: of %s %.4f by the clock, %.4f by the model",
				 kernels[m->kernels[0]].name, kernels[m->kernels[1]].name,
				 m->n > 2 ? kernels[m->kernels[2]].name : "nobody",
				 kernels[m->kernels[i]].name, clock[i], model[i]);
}

static void test_clock_and_model_agree_on_all_pairs(void **state)
{
	const struct bench b = bench();

	for (unsigned i = 0; i < N_KERNELS; i++)
		for (unsigned k = 0; k < N_KERNELS; k++)
			for (unsigned blocks = 2; blocks < SM_BLOCKS; blocks += 2)
				assert_agreed(
					&b,
					&(struct mix){2, {i, k}, {blocks, SM_BLOCKS - blocks}, 1});
}

static void test_clock_and_model_agree_on_all_triples(void **state)
{
	const struct bench b = bench();

	for (unsigned i = 0; i < N_KERNELS; i++)
		for (unsigned k = 0; k < N_KERNELS; k++)
			for (unsigned l = 0; l < N_KERNELS; l++)
				assert_agreed(&b, &(struct mix){3, {i, k, l}, {4, 2, 2}, 3});
}

/* Whole grids, as `gsb-model pair` has them: the first stays the older one there, as it does on the clock when its blocks are long. */
static void test_clock_and_model_agree_on_grids(void **state)
{
	const struct bench b = bench();

	for (unsigned i = 0; i < N_KERNELS; i++)
		for (unsigned k = 0; k < N_KERNELS; k++) {
			const struct mix m = {2, {i, k}, {4, 4}, 1000000};
			struct gsb_load pair[2] = {0};
			struct gsb_curve curves[2];
			struct gsb_contention c;
			double clock[MOST];

			for (unsigned s = 0; s < 2; s++) {
				const struct gsb_block_work w = work_of(&m, s);

				pair[s].needs = (struct gsb_kernel){256, 32, 0, 4 * N_SMS};
				pair[s].demand.of = demand_of(&b, &w, &curves[s]);
				pair[s].demand.curve = &curves[s];
			}
			clock_says(&b, &m, clock);
			assert_int_equal(gsb_contend(b.arch, &gsb_rules_hardware, &b.f, pair, &c),
					 0);
			for (unsigned s = 0; s < 2; s++)
				if (!(fabs(clock[s] - 1 / c.stretch[s]) <= .01))
					fail_msg(
						"%s, %s: of the %s %.4f by the clock, %.4f by the model",
						kernels[i].name, kernels[k].name,
						s ? "second" : "first", clock[s], 1 / c.stretch[s]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_and_model_agree_on_all_pairs),
		cmocka_unit_test(test_clock_and_model_agree_on_all_triples),
		cmocka_unit_test(test_clock_and_model_agree_on_grids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
