/*
 * test_plan.c - the two-stage model: stage 1 against trying everything, the case that the printed
 * algorithm gets wrong, T x B kept, grouping of SMs, and both stages together.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpu/arch.h"
#include "model/placement/place.h"
#include "model/papers/plan.h"

static int setup(void **state)
{
	*state = gsb_plan_work_create();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	gsb_plan_work_destroy(*state);
	return 0;
}

static uint32_t rng_state = 9;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

static struct gsb_plan_kernel kernel(uint32_t threads, uint32_t regs, uint32_t smem,
				     uint64_t blocks)
{
	return (struct gsb_plan_kernel){.range.kernel = {threads, regs, smem, blocks}};
}

/* Every geometry of every kernel: the least shared memory within all four limits, or UINT64_MAX. */
struct brute {
	const struct gsb_plan_input *in;
	uint64_t best;
};

static void brute_force(struct brute *b, uint32_t i, const uint64_t used[4])
{
	const struct gsb_arch *arch = b->in->arch;
	const uint64_t limit[4] = {arch->max_blocks, arch->max_warps, arch->regs, arch->smem_bytes};

	for (int d = 0; d < 4; d++)
		if (used[d] > limit[d])
			return;
	if (i == b->in->n_kernels) {
		b->best = used[3] < b->best ? used[3] : b->best;
		return;
	}
	for (uint32_t t = 1; t <= 1024; t++) {
		const struct gsb_geometry_range *range = &b->in->kernels[i].range;
		struct gsb_kernel k = range->kernel;
		uint64_t total = k.n_blocks * k.threads_per_block, next[4], per_sm;
		struct gsb_block_need need;
		bool original = t == k.threads_per_block;

		if (!original && (b->in->kernels[i].fixed || t % 32 ||
				  (b->in->threads == GSB_PLAN_EXACT && total % t)))
			continue;
		k.threads_per_block = t;
		k.smem_bytes += range->smem_per_thread_bytes * t;
		per_sm = ((total + t - 1) / t + arch->n_sms - 1) / arch->n_sms;
		assert_int_equal(gsb_block_need(arch, &k, b->in->rules, &need), 0);
		if (need.regs_per_warp == GSB_NEVER_FITS || need.smem_bytes == GSB_NEVER_FITS)
			continue;
		next[0] = used[0] + per_sm;
		next[1] = used[1] + per_sm * need.warps;
		next[2] = used[2] + per_sm * need.warps * need.regs_per_warp;
		next[3] = used[3] + per_sm * need.smem_bytes;
		brute_force(b, i + 1, next);
	}
}

/* One SM without partitions: there the sums are the whole truth. */
static struct gsb_arch one_sm(void)
{
	struct gsb_arch arch = *gsb_arch_find(rng(2) ? "h200" : "k40");

	arch.n_sms = 1;
	arch.warp_unit = 1;
	return arch;
}

static struct gsb_plan_kernel random_kernel(void)
{
	struct gsb_plan_kernel k =
		kernel(32 * (1 + rng(16)), rng(80), rng(2) ? rng(9000) : 0, 1 + rng(6));
	k.range.smem_per_thread_bytes = rng(4) ? 0 : 4 * rng(6);
	k.fixed = !rng(5);
	if (!rng(6))
		k.range.kernel.threads_per_block -= rng(31);
	return k;
}

/* Odd numbers of warps beyond one block, a nearly full register file: waste decides. */
static void make_tight(struct gsb_plan_input *in, struct gsb_plan_kernel *kernels)
{
	in->threads = GSB_PLAN_COVER;
	in->n_kernels = 2 + rng(2);
	kernels[0] = kernel(32 * (33 + 2 * rng(4)), 8 * (4 + rng(3)), 512 + rng(3000), 1);
	kernels[0].range.kernel.threads_per_block /= 3;
	kernels[0].range.kernel.n_blocks = 3;
	kernels[1] = kernel(32 * (10 + rng(20)), 8 * (1 + rng(4)), rng(2000), 1);
	kernels[2] = kernel(32 * (1 + rng(4)), 8 * (1 + rng(4)), rng(2000), 1);
}

static void test_plan_equals_brute_force(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 10000 : 2000, found = 0, with_regs = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_arch arch = one_sm();
		struct gsb_plan_kernel kernels[4];
		struct gsb_plan_input in = {.arch = &arch,
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 1 + rng(4),
					    .threads = rng(2) ? GSB_PLAN_EXACT : GSB_PLAN_COVER};
		struct brute brute = {&in, UINT64_MAX};
		struct gsb_plan plan;
		int err;

		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i] = random_kernel();
		if (round % 4 == 0)
			make_tight(&in, kernels);
		err = gsb_plan_together(*state, &in, &plan);
		brute_force(&brute, 0, (uint64_t[4]){0});
		if (brute.best == UINT64_MAX) {
			assert_int_equal(err, -ENOSPC);
			continue;
		}
		assert_int_equal(err, 0);
		assert_true(plan.exact);
		assert_int_equal(plan.smem_bytes, brute.best);
		found++;
		with_regs += plan.regs_mattered;
	}
	printf("%d instances, %d with a plan, %d where registers decided\n", rounds, found,
	       with_regs);
	assert_true(found > rounds / 4 && with_regs > 0);
}

/*
 * A: 1,056 threads an SM. Two blocks of 17 warps need less shared memory than three of 11, but are 34
 * warps where 33 would do; with B (28 warps) beside it 66,560 registers against 65,024. The printed algorithm,
 * which drops the registers, gives two blocks: infeasible.
 */
static void test_plan_where_the_printed_algorithm_is_infeasible(void **state)
{
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	struct gsb_plan_kernel kernels[2] = {kernel(352, 48, 2048, 3 * 15), kernel(896, 16, 0, 15)};
	struct gsb_plan_input in = {.arch = k40,
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 2,
				    .threads = GSB_PLAN_COVER};
	struct gsb_plan plan;

	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_true(plan.regs_mattered);
	assert_int_equal(plan.choices[0].blocks_per_group, 3);
	assert_int_equal(plan.choices[0].threads_per_block, 352);
	assert_int_equal(plan.regs, 65024);
	kernels[1].range.kernel.regs_per_thread = 8;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_false(plan.regs_mattered);
	assert_int_equal(plan.choices[0].blocks_per_group, 2);
	assert_int_equal(plan.choices[0].threads_per_block, 544);
}

/* Theorem 1: with b blocks, ceil(c / 32 b) warps. 40 blocks of 32 threads do not fit 32 slots. */
static void test_plan_resizes_what_does_not_fit_the_block_slots(void **state)
{
	struct gsb_plan_kernel k = kernel(32, 16, 0, 40 * 132);
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = &k,
				    .n_kernels = 1};
	struct gsb_plan plan;

	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block * plan.choices[0].n_blocks,
			 32 * 40 * 132);
	assert_int_equal(plan.warps, 40);
	assert_int_equal(plan.choices[0].blocks_per_group, 2);
	k.fixed = true;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
}

static void test_plan_groups_sms_when_one_has_too_few_slots(void **state)
{
	struct gsb_plan_kernel kernels[20];
	struct gsb_plan_input in = {.arch = gsb_arch_find("titanx-pascal"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 20};
	struct gsb_arch few_slots = *in.arch;
	struct gsb_plan plan;

	few_slots.max_blocks = 16;
	in.arch = &few_slots;
	for (int i = 0; i < 20; i++)
		kernels[i] = kernel(64, 16, 0, 14);
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.sms_per_group, 2);
	assert_int_equal(plan.blocks, 20);
}

/* 20 kernels of 10 KiB: 20 of 11 KiB with the reserve and 16 slots, on groups of two SMs of 228 KiB. */
static void test_plan_counts_the_shared_memory_of_a_group(void **state)
{
	struct gsb_plan_kernel kernels[20];
	struct gsb_arch few_slots = *gsb_arch_find("h200");
	struct gsb_plan_input in = {.arch = &few_slots,
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 20};
	struct gsb_plan plan;

	few_slots.max_blocks = 16;
	for (int i = 0; i < 20; i++)
		kernels[i] = kernel(64, 16, 10 << 10, 66);
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.sms_per_group, 2);
	assert_int_equal(plan.smem_bytes, 20 * (11 << 10));
	for (int i = 0; i < 20; i++)
		kernels[i].range.kernel.smem_bytes = 200 << 10;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
}

static void test_plan_respects_bounds_on_the_block_size(void **state)
{
	struct gsb_plan_kernel k = kernel(32, 16, 0, 40 * 132);
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = &k,
				    .n_kernels = 1};
	struct gsb_plan plan;

	k.range.max_threads = 256;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block, 256);
	k.range.max_threads = 255;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block, 192);
	k.range.max_threads = 32;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
	k.range.max_threads = 700;
	k.range.min_threads = 641;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
	k.range.min_threads = 640;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block, 640);
}

static void test_plan_makes_no_more_grids_resident_than_the_gpu_takes(void **state)
{
	struct gsb_plan_kernel kernels[3] = {kernel(64, 16, 0, 10), kernel(64, 16, 0, 10),
					     kernel(64, 16, 0, 10)};
	struct gsb_arch two_grids = *gsb_arch_find("h200");
	struct gsb_plan_input in = {.arch = &two_grids,
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 2};
	struct gsb_plan plan;

	two_grids.max_resident_grids = 2;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	in.n_kernels = 3;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
}

/* Four blocks of 128 are less shared memory (the reserve) as one of 512; who asks to keep them does. */
static void test_plan_keep_leaves_what_fits_as_it_came(void **state)
{
	struct gsb_plan_kernel kernels[2] = {kernel(128, 16, 0, 4 * 132), kernel(64, 16, 0, 132)};
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 2};
	struct gsb_plan plan;

	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block, 512);
	in.keep = true;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.choices[0].threads_per_block, 128);
	kernels[0] = kernel(32, 16, 0, 40 * 132);
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_true(plan.choices[0].threads_per_block > 32);
}

/* What every plan promises: T x B, the limits, and a placement of all blocks in the given order. */
static void check_plan(const struct gsb_plan_input *in, const struct gsb_plan *plan)
{
	const struct gsb_arch *arch = in->arch;
	struct gsb_sm_array array;
	uint64_t seen = 0;

	assert_true(plan->warps <= arch->max_warps * plan->sms_per_group);
	assert_true(plan->regs <= arch->regs * plan->sms_per_group);
	assert_true(plan->smem_bytes <= arch->smem_bytes * plan->sms_per_group);
	assert_true(plan->blocks <= arch->max_blocks * plan->sms_per_group);
	gsb_sm_array_init(&array, arch, in->rules, arch->n_sms);
	for (uint32_t n = 0; n < plan->n_kernels; n++) {
		uint32_t i = plan->order[n];
		const struct gsb_plan_choice *c = &plan->choices[i];
		struct gsb_kernel k = in->kernels[i].range.kernel;
		uint64_t total = k.n_blocks * k.threads_per_block;
		struct gsb_block_need need;

		seen |= 1ull << i;
		if (in->threads == GSB_PLAN_EXACT)
			assert_int_equal(c->n_blocks * c->threads_per_block, total);
		else
			assert_true(c->n_blocks * c->threads_per_block >= total);
		k.threads_per_block = c->threads_per_block;
		k.smem_bytes = c->smem_bytes;
		assert_int_equal(gsb_block_need(arch, &k, in->rules, &need), 0);
		assert_int_equal(
			gsb_sm_array_place(&array, &need, in->rules->placement, c->n_blocks),
			c->n_blocks);
	}
	assert_int_equal(seen, plan->n_kernels == 64 ? UINT64_MAX : (1ull << plan->n_kernels) - 1);
}

static void test_plan_keeps_its_promises_on_whole_gpus(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 5000 : 300, found = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[16];
		struct gsb_plan_input in = {.arch = gsb_arch_at(rng(10)),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 1 + rng(16),
					    .threads = rng(2) ? GSB_PLAN_EXACT : GSB_PLAN_COVER};
		struct gsb_plan plan;

		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i] = kernel(32 * (1 + rng(8)), rng(48), rng(3) ? 0 : rng(6000),
					    1 + rng(3 * in.arch->n_sms));
		if (gsb_plan_together(*state, &in, &plan))
			continue;
		check_plan(&in, &plan);
		found++;
	}
	printf("%d of %d had a plan\n", found, rounds);
	assert_in_range(found, rounds / 10, rounds - 1);
}

static void test_plan_batches_cover_all_and_each_fits(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 60, proven = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[32], part[32];
		struct gsb_plan_input in = {.arch = gsb_arch_at(rng(10)),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 2 + rng(31)};
		struct gsb_plan_batches b;

		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i] = kernel(64 * (1 + rng(8)), rng(48), rng(3) ? 0 : rng(20000),
					    1 + rng(3 * in.arch->n_sms));
		assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
		assert_true(b.n_batches >= b.lower_bound);
		proven += b.proven;
		for (uint32_t j = 0; j < b.n_batches; j++) {
			struct gsb_plan_input one = in;
			struct gsb_plan plan;
			bool alone = false;

			one.kernels = part;
			one.n_kernels = 0;
			for (uint32_t i = 0; i < in.n_kernels; i++) {
				if (b.batch_of[i] != j)
					continue;
				part[one.n_kernels++] = kernels[i];
				alone |= b.alone[i];
				assert_int_equal(b.choices[i].n_blocks *
							 b.choices[i].threads_per_block,
						 kernels[i].range.kernel.n_blocks *
							 kernels[i].range.kernel.threads_per_block);
			}
			assert_true(one.n_kernels > 0);
			assert_true(!alone || one.n_kernels == 1);
			if (alone)
				continue;
			assert_int_equal(gsb_plan_together(*state, &one, &plan), 0);
			check_plan(&one, &plan);
		}
	}
	printf("%d instances, %d with the fewest batches proven\n", rounds, proven);
	assert_true(proven > rounds / 2);
}

/* Two that fill the GPU and two that take a tenth: 2 full ones alone, the small ones together. */
static void test_plan_batches_by_hand(void **state)
{
	struct gsb_plan_kernel kernels[4] = {kernel(1024, 32, 0, 100 * 132),
					     kernel(128, 16, 0, 132), kernel(1024, 32, 0, 90 * 132),
					     kernel(128, 16, 0, 132)};
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 4};
	struct gsb_plan_batches b;

	assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
	assert_int_equal(b.n_batches, 3);
	assert_true(b.alone[0] && b.alone[2] && !b.alone[1] && !b.alone[3]);
	assert_int_equal(b.batch_of[1], b.batch_of[3]);
	assert_true(b.proven);
}

static void test_plan_refuses_bad_input(void **state)
{
	struct gsb_plan_kernel k = kernel(256, 16, 0, 10);
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = &k,
				    .n_kernels = 1};
	struct gsb_plan plan = {.n_kernels = 77};
	struct gsb_plan_batches b;

	in.n_kernels = 0;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -EINVAL);
	in.n_kernels = GSB_PLAN_KERNELS_MAX + 1;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -EINVAL);
	in.n_kernels = 1;
	k.range.kernel.threads_per_block = 1025;
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -EINVAL);
	k.range.kernel.threads_per_block = 1024;
	k.range.kernel.n_blocks = UINT64_MAX / 8;
	assert_int_equal(gsb_plan_batches(*state, &in, &b), -EINVAL);
	k.range.kernel.n_blocks = 0;
	assert_int_equal(gsb_plan_batches(*state, &in, &b), -EINVAL);
	k.range.kernel.n_blocks = 1;
	k.range.kernel.smem_bytes = 1 << 20;
	assert_int_equal(gsb_plan_batches(*state, &in, &b), -ENOSPC);
	assert_int_equal(plan.n_kernels, 77);
}

static void test_plan_fuzzed_kernels_are_refused_or_kept(void **state)
{
	int planned = 0;

	for (int round = 0; round < 2000; round++) {
		struct gsb_plan_kernel kernels[5];
		struct gsb_plan_input in = {.arch = gsb_arch_at(rng(10)),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 1 + rng(5)};
		struct gsb_plan plan;

		for (uint32_t i = 0; i < in.n_kernels; i++) {
			kernels[i] = random_kernel();
			((uint32_t *)&kernels[i].range.kernel)[rng(5)] =
				rng(3) ? rng(3000) : rng_state;
			kernels[i].range.min_threads = rng(2) ? 0 : rng_state;
			kernels[i].range.max_threads = rng(2) ? 0 : rng(2000);
		}
		if (gsb_plan_together(*state, &in, &plan))
			continue;
		check_plan(&in, &plan);
		planned++;
	}
	assert_in_range(planned, 10, 1990);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_equals_brute_force),
		cmocka_unit_test(test_plan_where_the_printed_algorithm_is_infeasible),
		cmocka_unit_test(test_plan_resizes_what_does_not_fit_the_block_slots),
		cmocka_unit_test(test_plan_groups_sms_when_one_has_too_few_slots),
		cmocka_unit_test(test_plan_counts_the_shared_memory_of_a_group),
		cmocka_unit_test(test_plan_respects_bounds_on_the_block_size),
		cmocka_unit_test(test_plan_makes_no_more_grids_resident_than_the_gpu_takes),
		cmocka_unit_test(test_plan_keep_leaves_what_fits_as_it_came),
		cmocka_unit_test(test_plan_keeps_its_promises_on_whole_gpus),
		cmocka_unit_test(test_plan_batches_cover_all_and_each_fits),
		cmocka_unit_test(test_plan_batches_by_hand),
		cmocka_unit_test(test_plan_refuses_bad_input),
		cmocka_unit_test(test_plan_fuzzed_kernels_are_refused_or_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
