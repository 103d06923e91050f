/*
 * test_plan.c - the two-stage model: stage 1 against trying everything, the case that the printed
 * algorithm gets wrong, T x B kept, grouping of SMs, and both stages together.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
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
 * A: 1,056 threads an SM. Two blocks of 17 warps need less shared memory than three of 11, but are
 * 34 warps where 33 would do; with B (28 warps) beside it 66,560 registers against 65,024. The
 * printed algorithm, which drops the registers, gives two blocks: infeasible.
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
	for (int i = 0; i < 20; i++) {
		kernels[i].range.kernel.smem_bytes = 200 << 10;
		kernels[i].fixed = true;
	}
	assert_int_equal(gsb_plan_together(*state, &in, &plan), -ENOSPC);
}

/* 20 kernels of 6 blocks with 200 KiB are 120 blocks, one to an SM: no SMs are alike. */
static void test_plan_arranges_where_no_group_holds_all(void **state)
{
	struct gsb_plan_kernel kernels[20];
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 20};
	struct gsb_plan plan;

	for (int i = 0; i < 20; i++)
		kernels[i] = kernel(64, 16, 200 << 10, 66);
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	assert_int_equal(plan.sms_per_group, 132);
	assert_false(plan.exact);
	check_plan(&in, &plan);
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

/* All blocks of one kernel onto the SMs. */
static bool place_choice(const struct gsb_plan_input *in, const struct gsb_plan_kernel *kernel,
			 const struct gsb_plan_choice *c, struct gsb_sm_array *array)
{
	struct gsb_kernel k = kernel->range.kernel;
	struct gsb_block_need need;

	k.threads_per_block = c->threads_per_block;
	k.smem_bytes = c->smem_bytes;
	assert_int_equal(gsb_block_need(in->arch, &k, in->rules, &need), 0);
	return gsb_sm_array_place(array, &need, in->rules->placement, c->n_blocks) == c->n_blocks;
}

/* Each kernel in one batch, T x B kept, and each batch resident in the order that is given. */
static void check_batches(const struct gsb_plan_input *in, const struct gsb_plan_batches *b)
{
	struct gsb_sm_array array;
	uint64_t seen = 0;

	assert_true(b->n_batches >= b->lower_bound);
	assert_int_equal(b->proven, b->n_batches == b->lower_bound);
	for (uint32_t n = 0; n < in->n_kernels; n++) {
		const uint32_t i = b->order[n];
		const struct gsb_kernel *k = &in->kernels[i].range.kernel;
		const uint32_t batch = b->batch_of[i];
		const bool first = !n || b->batch_of[b->order[n - 1]] != batch;

		seen |= 1ull << i;
		assert_int_equal(batch, n ? b->batch_of[b->order[n - 1]] + first : 0);
		assert_int_equal(b->choices[i].n_blocks * b->choices[i].threads_per_block,
				 k->n_blocks * k->threads_per_block);
		if (first)
			gsb_sm_array_init(&array, in->arch, in->rules, in->arch->n_sms);
		assert_true(first || !b->alone[i]);
		assert_int_equal(place_choice(in, &in->kernels[i], &b->choices[i], &array),
				 !b->alone[i]);
	}
	assert_int_equal(seen, in->n_kernels == 64 ? UINT64_MAX : (1ull << in->n_kernels) - 1);
	assert_int_equal(b->batch_of[b->order[in->n_kernels - 1]] + 1, b->n_batches);
}

static void test_plan_batches_cover_all_and_each_fits(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 60, proven = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[32];
		struct gsb_plan_input in = {.arch = gsb_arch_at(rng(10)),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 2 + rng(31)};
		struct gsb_plan_batches b;

		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i] = kernel(64 * (1 + rng(8)), rng(48), rng(3) ? 0 : rng(20000),
					    1 + rng(3 * in.arch->n_sms));
		assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
		check_batches(&in, &b);
		proven += b.proven;
	}
	printf("%d instances, %d with the fewest batches proven\n", rounds, proven);
	assert_true(proven > rounds / 2);
}

/* Kernels of which some 5 fill the GPU, threads a power of two, registers from low to high. */
static void make_loaded(struct gsb_plan_input *in, struct gsb_plan_kernel *kernels, uint32_t low,
			uint32_t high)
{
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t warps = 1 + rng(23), threads = 32u << rng(4);

		kernels[i] = kernel(threads, low + rng(high - low + 1), rng(2) ? 0 : rng(3000),
				    (warps * 32ull * in->arch->n_sms + threads - 1) / threads);
	}
}

/* Largest share of any capacity of the GPU that the kernel takes as it came. */
static double share_of(const struct gsb_plan_input *in, const struct gsb_plan_kernel *kernel)
{
	const struct gsb_arch *a = in->arch;
	const struct gsb_kernel *k = &kernel->range.kernel;
	struct gsb_block_need need;
	double share = 0;

	assert_int_equal(gsb_block_need(a, k, in->rules, &need), 0);
	share = fmax(share, (double)need.warps / a->max_warps);
	share = fmax(share, (double)need.warps * need.regs_per_warp / a->regs);
	share = fmax(share, (double)need.smem_bytes / a->smem_bytes);
	return fmax(share, 1.0 / a->max_blocks) * (double)k->n_blocks / a->n_sms;
}

/* Each kernel, largest first, to the first batch in which stage 1 finds a plan for all. */
static uint32_t first_fit_decreasing(struct gsb_plan_work *work, const struct gsb_plan_input *in)
{
	static struct gsb_plan_kernel batches[32][32];
	uint32_t order[32], sizes[32] = {0}, n = 0;
	struct gsb_plan_input one = *in;
	struct gsb_plan plan;

	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t at = i;

		for (; at &&
		       share_of(in, &in->kernels[order[at - 1]]) < share_of(in, &in->kernels[i]);
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t j = 0;

		for (; j < n; j++) {
			one.kernels = batches[j];
			one.n_kernels = sizes[j] + 1;
			batches[j][sizes[j]] = in->kernels[order[i]];
			if (!gsb_plan_together(work, &one, &plan))
				break;
		}
		batches[j][sizes[j]++] = in->kernels[order[i]];
		n += j == n;
	}
	return n;
}

/* Registers decide from 33 on: what they charge by sums alone does not lie in the partitions. */
static void test_plan_batches_are_never_more_than_first_fit(void **state)
{
	static const uint32_t regs[][2] = {{16, 32}, {16, 64}, {0, 63}, {32, 128}};
	int rounds = getenv("GSB_CHECK_LONG") ? 200 : 15;

	for (uint32_t draw = 0; draw < 4; draw++) {
		uint32_t ours = 0, first_fit = 0, bound = 0;

		for (int round = 0; round < rounds; round++) {
			struct gsb_plan_kernel kernels[32];
			struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
						    .rules = &gsb_rules_hardware,
						    .kernels = kernels,
						    .n_kernels = 32};
			struct gsb_plan_batches b;
			uint32_t n;

			make_loaded(&in, kernels, regs[draw][0], regs[draw][1]);
			n = first_fit_decreasing(*state, &in);
			assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
			check_batches(&in, &b);
			assert_true(b.n_batches <= n);
			ours += b.n_batches;
			first_fit += n;
			bound += b.lower_bound;
		}
		printf("registers %u-%u: %.2f batches, first fit decreasing %.2f, bound %.2f\n",
		       regs[draw][0], regs[draw][1], (double)ours / rounds,
		       (double)first_fit / rounds, (double)bound / rounds);
		assert_true(ours - bound <= bound / 20);
	}
}

/* Half the SMs, 200 KiB a block: two at once, on SMs of their own; sums of one SM would say one. */
static void test_plan_batches_bound_holds_whatever_the_placement(void **state)
{
	struct gsb_plan_kernel kernels[3] = {kernel(256, 16, 200 << 10, 66),
					     kernel(256, 16, 200 << 10, 66),
					     kernel(256, 16, 200 << 10, 66)};
	struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 3};
	struct gsb_plan_batches b;

	for (int i = 0; i < 3; i++)
		kernels[i].fixed = true;
	assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
	assert_int_equal(b.lower_bound, 2);
	assert_int_equal(b.n_batches, 2);
	assert_true(b.proven);
	check_batches(&in, &b);
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
	check_batches(&in, &b);
	assert_int_equal(b.batch_of[1], b.batch_of[3]);
	assert_true(b.proven);
}

/* Are all blocks resident, each kernel as it came, submitted in the order as given? */
static bool is_resident_as_given(const struct gsb_plan_input *in)
{
	struct gsb_sm_array array;

	gsb_sm_array_init(&array, in->arch, in->rules, in->arch->n_sms);
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_kernel *k = &in->kernels[i].range.kernel;
		struct gsb_plan_choice c = {.threads_per_block = k->threads_per_block,
					    .n_blocks = k->n_blocks,
					    .smem_bytes = k->smem_bytes};

		if (!place_choice(in, &in->kernels[i], &c, &array))
			return false;
	}
	return true;
}

/* Sums of a group of SMs may not hold what all SMs together do, with other neighbours on each. */
static void test_plan_never_refuses_what_is_resident_as_given(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 80000 : 3000, resident = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[16];
		struct gsb_plan_input in = {.arch = gsb_arch_at(rng(10)),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 1 + rng(16),
					    .keep = rng(2),
					    .max_steps = rng(2)};
		uint32_t most = 3 * in.arch->n_sms / (in.n_kernels > 4 ? 4 : 1);
		struct gsb_plan plan;

		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i] = kernel(32 * (1 + rng(16)), rng(64), rng(3) ? 0 : rng(12000),
					    1 + rng(most + 1));
		if (!is_resident_as_given(&in))
			continue;
		resident++;
		assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
		check_plan(&in, &plan);
	}
	printf("%d of %d mixes resident as given, none refused\n", resident, rounds);
	assert_true(resident > rounds / 3);
}

/* Eleven kernels that fill a K40 as they came: the search ends before it finds another way. */
static void test_plan_takes_as_it_came_what_the_search_misses(void **state)
{
	struct gsb_plan_kernel kernels[] = {
		kernel(384, 13, 10124, 12), kernel(64, 58, 0, 1),      kernel(64, 12, 0, 2),
		kernel(512, 37, 0, 8),	    kernel(64, 8, 0, 9),       kernel(384, 57, 0, 11),
		kernel(512, 61, 11348, 4),  kernel(256, 63, 4490, 12), kernel(384, 13, 0, 10),
		kernel(32, 12, 0, 11),	    kernel(128, 39, 8108, 8)};
	struct gsb_plan_input in = {.arch = gsb_arch_find("k40"),
				    .rules = &gsb_rules_hardware,
				    .kernels = kernels,
				    .n_kernels = 11};
	struct gsb_plan plan;

	assert_true(is_resident_as_given(&in));
	assert_int_equal(gsb_plan_together(*state, &in, &plan), 0);
	check_plan(&in, &plan);
	for (uint32_t i = 0; i < in.n_kernels; i++)
		assert_int_equal(plan.choices[i].threads_per_block,
				 kernels[i].range.kernel.threads_per_block);
}

/* In some order, in some cut of each: by trying them all on the SMs. */
static bool can_be_resident(const struct gsb_plan_input *in, const struct gsb_sm_array *before,
			    uint32_t left)
{
	if (!left)
		return true;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_geometry_range *range = &in->kernels[i].range;
		uint64_t total = range->kernel.n_blocks * range->kernel.threads_per_block;

		for (uint32_t t = 32; (left >> i & 1) && t <= 1024; t += 32) {
			struct gsb_sm_array after = *before;
			struct gsb_plan_choice c = {.threads_per_block = t,
						    .n_blocks = (total + t - 1) / t,
						    .smem_bytes = range->kernel.smem_bytes};

			if (t != range->kernel.threads_per_block &&
			    (in->kernels[i].fixed || (in->threads == GSB_PLAN_EXACT && total % t)))
				continue;
			if (place_choice(in, &in->kernels[i], &c, &after) &&
			    can_be_resident(in, &after, left & ~(1u << i)))
				return true;
		}
	}
	return false;
}

/* Two or three kernels that nearly fill a few SMs. */
static void make_nearly_full(struct gsb_plan_input *in, struct gsb_arch *arch,
			     struct gsb_plan_kernel *kernels)
{
	static const uint32_t n_sms[] = {1, 2, 3, 5, 8};
	double load = 0.6 + rng(50) / 100.0;

	*arch = *gsb_arch_at(rng(10));
	arch->n_sms = n_sms[rng(5)];
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t threads = 32 * (1 + rng(16));
		double warps = load * arch->max_warps * arch->n_sms / in->n_kernels *
			       (0.3 + rng(140) / 100.0);

		kernels[i] = kernel(threads, rng(56), rng(3) ? 0 : rng(12000),
				    (uint64_t)(warps * 32 / threads) + 1);
		kernels[i].fixed = !rng(5);
	}
}

static void test_plan_finds_one_wherever_there_is_one(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 2000 : 150, feasible = 0, refused = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[3];
		struct gsb_arch arch;
		struct gsb_plan_input in = {.arch = &arch,
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 2 + rng(2),
					    .threads = rng(2) ? GSB_PLAN_EXACT : GSB_PLAN_COVER};
		struct gsb_sm_array empty;
		struct gsb_plan plan;
		bool possible;

		make_nearly_full(&in, &arch, kernels);
		gsb_sm_array_init(&empty, &arch, in.rules, arch.n_sms);
		possible = can_be_resident(&in, &empty, (1u << in.n_kernels) - 1);
		feasible += possible;
		refused += possible && gsb_plan_together(*state, &in, &plan);
		in.max_steps = GSB_PLAN_STEPS_LONG;
		assert_int_equal(gsb_plan_together(*state, &in, &plan), possible ? 0 : -ENOSPC);
		if (possible)
			check_plan(&in, &plan);
	}
	printf("%d of %d mixes can be resident in some geometry; %d of them refused within the usual "
	       "steps, none within the long ones\n",
	       feasible, rounds, refused);
	assert_true(feasible > rounds / 3 && refused <= feasible / 100);
}

/* Of all ways to split the kernels into batches that can be resident, or hold one kernel. */
static uint32_t fewest_batches(struct gsb_plan_input *in)
{
	uint32_t fewest[1 << 4] = {0}, all = 1u << in->n_kernels;
	struct gsb_sm_array empty;
	bool fits[1 << 4];

	gsb_sm_array_init(&empty, in->arch, in->rules, in->arch->n_sms);
	for (uint32_t set = 1; set < all; set++) {
		fits[set] = !(set & (set - 1)) || can_be_resident(in, &empty, set);
		fewest[set] = in->n_kernels;
		for (uint32_t sub = set; sub; sub = (sub - 1) & set)
			if (fits[sub] && fewest[set ^ sub] + 1 < fewest[set])
				fewest[set] = fewest[set ^ sub] + 1;
	}
	return fewest[all - 1];
}

static void test_plan_batches_claim_only_what_holds(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 100, proven = 0, fewest = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[4];
		struct gsb_arch arch;
		struct gsb_plan_input in = {.arch = &arch,
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = 4};
		struct gsb_plan_batches b;
		uint32_t n;

		make_nearly_full(&in, &arch, kernels);
		for (uint32_t i = 0; i < in.n_kernels; i++)
			kernels[i].range.kernel.n_blocks +=
				rng(2) * kernels[i].range.kernel.n_blocks;
		assert_int_equal(gsb_plan_batches(*state, &in, &b), 0);
		check_batches(&in, &b);
		n = fewest_batches(&in);
		assert_true(b.lower_bound <= n && b.n_batches >= n);
		proven += b.proven;
		fewest += b.n_batches == n;
	}
	printf("%d instances: %d in the fewest batches, %d of them proven\n", rounds, fewest,
	       proven);
	assert_true(fewest > rounds * 9 / 10 && proven > rounds / 2);
}

/* Registers up to 63 at loads at which they decide: what once took 39 ms. */
static void make_hard(struct gsb_plan_input *in, struct gsb_plan_kernel *kernels)
{
	const struct gsb_arch *arch = in->arch;
	double load = 0.7 + rng(1000) / 1000.0 * 0.15, weights[64], sum = 0;

	for (uint32_t i = 0; i < in->n_kernels; i++)
		sum += weights[i] = 1 + rng(100);
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t threads = 32 * (1 + rng(16));
		double warps = load * arch->max_warps * arch->n_sms * weights[i] / sum;

		kernels[i] = kernel(threads, rng(64), rng(2) ? 0 : rng(3000),
				    (uint64_t)(warps * 32 / threads) + 1);
	}
}

static void test_plan_work_is_bounded_and_more_of_it_is_never_worse(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 60, found = 0, exact = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_plan_kernel kernels[64];
		struct gsb_plan_input in = {.arch = gsb_arch_find("h200"),
					    .rules = &gsb_rules_hardware,
					    .kernels = kernels,
					    .n_kernels = round % 4 ? 16 : 64};
		struct gsb_plan plan, longer;

		make_hard(&in, kernels);
		if (gsb_plan_together(*state, &in, &plan))
			continue;
		check_plan(&in, &plan);
		assert_in_range(plan.steps, 1, GSB_PLAN_STEPS * in.n_kernels);
		found++;
		exact += plan.exact;
		in.max_steps = 20 * GSB_PLAN_STEPS * in.n_kernels;
		assert_int_equal(gsb_plan_together(*state, &in, &longer), 0);
		if (longer.sms_per_group == plan.sms_per_group)
			assert_true(longer.smem_bytes <= plan.smem_bytes);
		if (plan.exact)
			assert_memory_equal(longer.choices, plan.choices,
					    in.n_kernels * sizeof(plan.choices[0]));
	}
	printf("%d of %d hard mixes had a plan, %d proven to need the least shared memory\n", found,
	       rounds, exact);
	assert_true(found > rounds / 3);
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
		cmocka_unit_test(test_plan_arranges_where_no_group_holds_all),
		cmocka_unit_test(test_plan_respects_bounds_on_the_block_size),
		cmocka_unit_test(test_plan_makes_no_more_grids_resident_than_the_gpu_takes),
		cmocka_unit_test(test_plan_keep_leaves_what_fits_as_it_came),
		cmocka_unit_test(test_plan_keeps_its_promises_on_whole_gpus),
		cmocka_unit_test(test_plan_batches_cover_all_and_each_fits),
		cmocka_unit_test(test_plan_batches_are_never_more_than_first_fit),
		cmocka_unit_test(test_plan_batches_bound_holds_whatever_the_placement),
		cmocka_unit_test(test_plan_batches_by_hand),
		cmocka_unit_test(test_plan_never_refuses_what_is_resident_as_given),
		cmocka_unit_test(test_plan_takes_as_it_came_what_the_search_misses),
		cmocka_unit_test(test_plan_finds_one_wherever_there_is_one),
		cmocka_unit_test(test_plan_batches_claim_only_what_holds),
		cmocka_unit_test(test_plan_work_is_bounded_and_more_of_it_is_never_worse),
		cmocka_unit_test(test_plan_refuses_bad_input),
		cmocka_unit_test(test_plan_fuzzed_kernels_are_refused_or_kept),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
