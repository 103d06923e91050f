/*
 * test_occupancy.c - Li 2014: each equation by hand, at its limit and monotone; §IV.A of the paper;
 * best geometry against trying everything.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model/gpu/arch.h"
#include "model/placement/occupancy.h"
#include "model/placement/place.h"

static struct gsb_occupancy occupancy(const char *gpu, struct gsb_kernel k,
				      const struct gsb_rules *rules)
{
	struct gsb_occupancy o;

	assert_int_equal(gsb_occupancy(gsb_arch_find(gpu), &k, rules, &o), 0);
	return o;
}

/* Li 2014, Table III. */
static const struct gsb_kernel kernel_a = {1024, 11, 0, 8}, kernel_b = {1024, 33, 0, 8},
			       kernel_c = {256, 11, 0, 8}, kernel_d = {256, 44, 0, 8},
			       kernel_e = {256, 11, 24576, 8}, kernel_f = {256, 44, 24576, 8};

/* Blocks of k2 on an SM of a GTX 680 that holds one block of k1 (§IV.A). */
static uint32_t beside_one(const struct gsb_kernel *k1, const struct gsb_kernel *k2)
{
	const struct gsb_arch *arch = gsb_arch_find("gtx680");
	struct gsb_block_need need1, need2;
	struct gsb_block_place place;
	struct gsb_sm_room room;

	assert_int_equal(gsb_block_need(arch, k1, &gsb_rules_hardware, &need1), 0);
	assert_int_equal(gsb_block_need(arch, k2, &gsb_rules_hardware, &need2), 0);
	gsb_sm_room_init(&room, arch, &gsb_rules_hardware);
	assert_int_equal(gsb_sm_room_take(&room, &need1, &place), 0);
	return gsb_sm_room_fit(&room, &need2);
}

static void test_room_beside_one_block_gives_li_2014_section_4a(void **state)
{
	assert_int_equal(beside_one(&kernel_a, &kernel_b), 1);
	assert_int_equal(beside_one(&kernel_c, &kernel_d), 5);
	assert_int_equal(beside_one(&kernel_e, &kernel_f), 1);
}

/* "57,344 registers", "65,536, exactly full", "16,384": what the section counts. */
static void test_block_need_registers_of_section_4a(void **state)
{
	static const struct {
		const struct gsb_kernel *k;
		uint32_t regs;
	} rows[] = {{&kernel_a, 16384}, {&kernel_b, 40960}, {&kernel_c, 4096},
		    {&kernel_d, 12288}, {&kernel_e, 4096},  {&kernel_f, 12288}};
	struct gsb_block_need need;

	for (int i = 0; i < 6; i++) {
		assert_int_equal(gsb_block_need(gsb_arch_find("gtx680"), rows[i].k,
						&gsb_rules_hardware, &need),
				 0);
		assert_int_equal(need.warps * need.regs_per_warp, rows[i].regs);
	}
}

/* Table III in 64ths: with ceilings as printed for A-D; E and F only without beta_S (they get 25 %). */
static void test_occupancy_of_table_3(void **state)
{
	assert_int_equal(occupancy("gtx680", kernel_a, &gsb_rules_hardware).warps_per_sm, 64);
	assert_int_equal(occupancy("gtx680", kernel_b, &gsb_rules_hardware).warps_per_sm, 32);
	assert_int_equal(occupancy("gtx680", kernel_c, &gsb_rules_hardware).warps_per_sm, 64);
	assert_int_equal(occupancy("gtx680", kernel_d, &gsb_rules_hardware).warps_per_sm, 40);
	assert_int_equal(occupancy("gtx680", kernel_e, &gsb_rules_hardware).warps_per_sm, 16);
	assert_int_equal(occupancy("gtx680", kernel_f, &gsb_rules_hardware).warps_per_sm, 16);
	assert_int_equal(occupancy("gtx680", kernel_e, &gsb_rules_hardware).limits, GSB_LIMIT_SMEM);
}

/* The floors of eq. 4 and 7: D and B get more than a GPU gives. */
static void test_occupancy_printed_floors_promise_too_much(void **state)
{
	assert_int_equal(occupancy("gtx680", kernel_d, &gsb_rules_printed).blocks_per_sm, 6);
	assert_int_equal(occupancy("gtx680", kernel_b, &gsb_rules_printed).blocks_per_sm, 2);
	assert_int_equal(occupancy("gtx680", kernel_d, &gsb_rules_hardware).blocks_per_sm, 5);
	assert_int_equal(occupancy("gtx680", kernel_b, &gsb_rules_hardware).blocks_per_sm, 1);
}

static void test_occupancy_eq_3_shared_memory(void **state)
{
	struct gsb_kernel k = {32, 0, 49152, 1};

	assert_int_equal(occupancy("gtx680", k, &gsb_rules_paper).by_smem, 1);
	k.smem_bytes = 49153;
	assert_int_equal(occupancy("gtx680", k, &gsb_rules_paper).blocks_per_sm, 0);
	k.smem_bytes = 16385;
	assert_int_equal(occupancy("gtx680", k, &gsb_rules_paper).by_smem, 2);
	k.smem_bytes = 0;
	assert_int_equal(occupancy("gtx680", k, &gsb_rules_paper).by_smem, GSB_NO_LIMIT);
}

static void test_occupancy_eq_4_warps_round_up_and_printed_down(void **state)
{
	const struct gsb_kernel k = {48, 0, 0, 1}, tiny = {16, 0, 0, 1};

	assert_int_equal(occupancy("gtx680", k, &gsb_rules_hardware).need.warps, 2);
	assert_int_equal(occupancy("gtx680", k, &gsb_rules_printed).need.warps, 1);
	assert_int_equal(occupancy("gtx680", tiny, &gsb_rules_printed).need.warps, 1);
}

/* 160 registers: 5,120 a warp, 3 warps in each of 4 partitions; 65,536 / 5,120 would be 12.8. */
static void test_occupancy_eq_5_to_7_registers(void **state)
{
	struct gsb_kernel k = {96, 160, 0, 1};

	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).need.regs_per_warp, 5120);
	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).by_regs, 4);
	k.regs_per_thread = 255;
	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).by_regs, 2);
	k.regs_per_thread = 256;
	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).blocks_per_sm, 0);
	k = (struct gsb_kernel){1024, 65, 0, 1};
	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).blocks_per_sm, 0);
	k.regs_per_thread = 64;
	assert_int_equal(occupancy("k40", k, &gsb_rules_hardware).blocks_per_sm, 1);
}

static void test_occupancy_eq_8_warps_and_blocks(void **state)
{
	const struct gsb_kernel one_warp = {32, 0, 0, 1}, big = {1024, 0, 0, 1};

	assert_int_equal(occupancy("k40", one_warp, &gsb_rules_hardware).blocks_per_sm, 16);
	assert_int_equal(occupancy("k40", one_warp, &gsb_rules_hardware).limits, GSB_LIMIT_BLOCKS);
	assert_int_equal(occupancy("k40", big, &gsb_rules_hardware).blocks_per_sm, 2);
	assert_int_equal(occupancy("k40", big, &gsb_rules_hardware).limits, GSB_LIMIT_WARPS);
}

/* The driver's 1,024 bytes a block: 228 KiB hold three blocks of 75 KiB, not of 75 KiB + 1. */
static void test_occupancy_reserve_and_unit_on_h200(void **state)
{
	struct gsb_kernel k = {32, 16, 75 << 10, 1};

	assert_int_equal(occupancy("h200", k, &gsb_rules_hardware).by_smem, 3);
	k.smem_bytes++;
	assert_int_equal(occupancy("h200", k, &gsb_rules_hardware).by_smem, 2);
	k.smem_bytes = 232448;
	assert_int_equal(occupancy("h200", k, &gsb_rules_hardware).by_smem, 1);
	k.smem_bytes++;
	assert_int_equal(occupancy("h200", k, &gsb_rules_hardware).blocks_per_sm, 0);
}

static void test_rounds_eq_1_by_hand_and_at_the_edge(void **state)
{
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	struct gsb_kernel k = {256, 0, 0, 120};
	uint64_t rounds = 77;

	assert_int_equal(gsb_rounds(k40, &k, &gsb_rules_hardware, &rounds), 0);
	assert_int_equal(rounds, 1);
	k.n_blocks = 121;
	assert_int_equal(gsb_rounds(k40, &k, &gsb_rules_hardware, &rounds), 0);
	assert_int_equal(rounds, 2);
	k.n_blocks = 0;
	assert_int_equal(gsb_rounds(k40, &k, &gsb_rules_hardware, &rounds), 0);
	assert_int_equal(rounds, 0);
	k.n_blocks = UINT64_MAX;
	assert_int_equal(gsb_rounds(k40, &k, &gsb_rules_hardware, &rounds), 0);
	assert_int_equal(rounds, UINT64_MAX / 120 + 1);
	k.smem_bytes = 49153;
	assert_int_equal(gsb_rounds(k40, &k, &gsb_rules_hardware, &rounds), -ENOSPC);
}

static uint32_t rng_state = 7;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

static void test_occupancy_is_monotone_in_each_resource(void **state)
{
	static const struct gsb_rules *const rules[] = {&gsb_rules_hardware, &gsb_rules_paper,
							&gsb_rules_printed};

	for (int i = 0; i < 6000; i++) {
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_kernel k = {1 + rng(1000), rng(250), rng(230000), 1}, more = k;
		struct gsb_occupancy a, b;

		switch (i % 3) {
		case 0: more.threads_per_block += rng(24); break;
		case 1: more.regs_per_thread += rng(30); break;
		case 2: more.smem_bytes += rng(5000); break;
		}
		assert_int_equal(gsb_occupancy(arch, &k, rules[i % 3], &a), 0);
		assert_int_equal(gsb_occupancy(arch, &more, rules[i % 3], &b), 0);
		assert_true(b.blocks_per_sm <= a.blocks_per_sm);
		assert_true(a.warps_per_sm <= arch->max_warps);
		assert_true(a.blocks_per_sm <= arch->max_blocks);
		assert_true((uint64_t)a.blocks_per_sm * a.need.smem_bytes <= arch->smem_bytes ||
			    !a.blocks_per_sm);
		assert_true((uint64_t)a.warps_per_sm * a.need.regs_per_warp <= arch->regs);
	}
}

static void test_occupancy_fuzzed_input_is_refused_or_sane(void **state)
{
	unsigned int refused = 0;

	for (int i = 0; i < 20000; i++) {
		struct gsb_arch arch = *gsb_arch_at(rng(10));
		struct gsb_kernel k = {rng(3) ? rng(2000) : rng_state,
				       rng(3) ? rng(300) : rng_state,
				       rng(3) ? rng(300000) : rng_state,
				       ((uint64_t)rng_state << 32) | rng(1u << 24)};
		struct gsb_occupancy o = {.blocks_per_sm = 4321};
		uint64_t rounds;
		uint32_t value;
		int err;

		value = rng(4) ? rng(70000) : rng_state;
		memcpy((char *)&arch + offsetof(struct gsb_arch, cc_major) + 4 * rng(20), &value,
		       sizeof(value));
		err = gsb_occupancy(&arch, &k, &gsb_rules_hardware, &o);
		if (err) {
			assert_int_equal(err, -EINVAL);
			assert_int_equal(o.blocks_per_sm, 4321);
			refused++;
			continue;
		}
		assert_true(o.warps_per_sm <= arch.max_warps);
		gsb_rounds(&arch, &k, &gsb_rules_hardware, &rounds);
	}
	assert_in_range(refused, 1, 19999);
}

static void test_best_geometry_equals_trying_every_size(void **state)
{
	unsigned int improved = 0;

	for (int i = 0; i < 400; i++) {
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_geometry_range range = {
			.kernel = {32 * (1 + rng(32)), rng(60), rng(2) ? rng(20000) : 0,
				   1 + rng(4000)},
			.smem_per_thread_bytes = rng(3) ? 0 : 4 * rng(8),
		};
		uint64_t total = range.kernel.n_blocks * range.kernel.threads_per_block;
		struct gsb_geometry best, g;
		uint64_t least = UINT64_MAX;
		int err;

		for (uint32_t t = 32; t <= arch->max_threads_per_block; t += 32)
			if (!gsb_geometry_at(arch, &range, t, &gsb_rules_hardware, &g) &&
			    g.rounds < least)
				least = g.rounds;
		err = gsb_best_geometry(arch, &range, &gsb_rules_hardware, &best);
		if (least == UINT64_MAX) {
			assert_int_equal(err, -ENOSPC);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(best.rounds, least);
		assert_int_equal(best.kernel.n_blocks * best.kernel.threads_per_block, total);
		if (!gsb_geometry_at(arch, &range, range.kernel.threads_per_block,
				     &gsb_rules_hardware, &g))
			improved += g.rounds > best.rounds;
	}
	assert_true(improved > 20);
}

/* 2^20 threads of 40 registers on a GTX 680: 48 warps fit. Powers of two up to 512 threads reach
 * them; 512 is nearest to the original. */
static void test_best_geometry_by_hand(void **state)
{
	struct gsb_geometry_range range = {.kernel = {1024, 40, 0, 1024}};
	struct gsb_geometry best;

	assert_int_equal(
		gsb_best_geometry(gsb_arch_find("gtx680"), &range, &gsb_rules_hardware, &best), 0);
	assert_int_equal(best.kernel.threads_per_block, 512);
	assert_int_equal(best.kernel.n_blocks, 2048);
	assert_int_equal(best.occupancy.warps_per_sm, 48);
	assert_int_equal(best.rounds, 86);
	range.max_threads = 200;
	assert_int_equal(
		gsb_best_geometry(gsb_arch_find("gtx680"), &range, &gsb_rules_hardware, &best), 0);
	assert_int_equal(best.kernel.threads_per_block, 128);
}

/* Eq. 11 and 12 as hard constraints: a kernel without shared memory may not use more than 4 warps. */
static void test_best_geometry_printed_constraints_exclude_large_blocks(void **state)
{
	struct gsb_geometry_range range = {.kernel = {1024, 20, 0, 1024}};
	struct gsb_geometry best;

	assert_int_equal(
		gsb_best_geometry(gsb_arch_find("gtx680"), &range, &gsb_rules_printed, &best), 0);
	assert_int_equal(best.kernel.threads_per_block, 128);
	assert_int_equal(
		gsb_best_geometry(gsb_arch_find("gtx680"), &range, &gsb_rules_hardware, &best), 0);
	assert_int_equal(best.kernel.threads_per_block, 1024);
}

static void test_geometry_refuses_what_changes_the_thread_count(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_geometry_range range = {.kernel = {100, 16, 0, 7}};
	struct gsb_geometry g;

	assert_int_equal(gsb_geometry_at(arch, &range, 100, &gsb_rules_hardware, &g), 0);
	assert_int_equal(gsb_geometry_at(arch, &range, 32, &gsb_rules_hardware, &g), -EINVAL);
	assert_int_equal(gsb_geometry_at(arch, &range, 0, &gsb_rules_hardware, &g), -EINVAL);
	range.kernel.n_blocks = UINT64_MAX;
	assert_int_equal(gsb_geometry_at(arch, &range, 100, &gsb_rules_hardware, &g), -EINVAL);
	assert_int_equal(gsb_best_geometry(arch, &range, &gsb_rules_hardware, &g), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_beside_one_block_gives_li_2014_section_4a),
		cmocka_unit_test(test_block_need_registers_of_section_4a),
		cmocka_unit_test(test_occupancy_of_table_3),
		cmocka_unit_test(test_occupancy_printed_floors_promise_too_much),
		cmocka_unit_test(test_occupancy_eq_3_shared_memory),
		cmocka_unit_test(test_occupancy_eq_4_warps_round_up_and_printed_down),
		cmocka_unit_test(test_occupancy_eq_5_to_7_registers),
		cmocka_unit_test(test_occupancy_eq_8_warps_and_blocks),
		cmocka_unit_test(test_occupancy_reserve_and_unit_on_h200),
		cmocka_unit_test(test_rounds_eq_1_by_hand_and_at_the_edge),
		cmocka_unit_test(test_occupancy_is_monotone_in_each_resource),
		cmocka_unit_test(test_occupancy_fuzzed_input_is_refused_or_sane),
		cmocka_unit_test(test_best_geometry_equals_trying_every_size),
		cmocka_unit_test(test_best_geometry_by_hand),
		cmocka_unit_test(test_best_geometry_printed_constraints_exclude_large_blocks),
		cmocka_unit_test(test_geometry_refuses_what_changes_the_thread_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
