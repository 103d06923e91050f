/*
 * test_company.c - how fast the grids on an SM are beside each other: of one kind, of others, on other SMs, not yet known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/gpu/arch.h"
#include "model/time/company.h"

enum kind { COMPUTES, WAITS, STREAMS, SHARES, STEPS };

/* Blocks of 32 warps: one computes, one waits for loads, one moves bytes, one works in shared memory, and one between barriers. */
static const struct gsb_block_work works[] = {
	[COMPUTES] = {.n_warps = 32, .n_insns = 3200000},
	[WAITS] = {.n_warps = 32, .n_insns = 32000, .n_mem_insns = 16000, .n_bytes = 16000 * 32},
	[STREAMS] = {.n_warps = 32,
		     .n_insns = 64000,
		     .n_mem_insns = 16000,
		     .n_bytes = 16000 * 1024},
	[SHARES] = {.n_warps = 32, .n_insns = 64000, .n_shared = 64000},
	[STEPS] = {.n_warps = 32, .n_insns = 64000, .n_shared = 16000, .n_barriers = 8000},
};

static const struct gsb_elsewhere nobody;

/* A block on each SM of an H200. */
static struct gsb_neighbour on_all(enum kind kind)
{
	return (struct gsb_neighbour){.mean = works[kind], .sm_blocks = 1, .device_blocks = 132};
}

static struct gsb_neighbour stranger(uint32_t warps)
{
	const struct gsb_block_profile none = {.n_blocks = 0};

	return (struct gsb_neighbour){.mean = gsb_block_profile_mean(&none, warps),
				      .is_guess = true,
				      .sm_blocks = 1,
				      .device_blocks = 132};
}

static void find(const struct gsb_neighbour *all, unsigned n, const struct gsb_elsewhere *away,
		 uint32_t *speeds)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_interference f;

	gsb_interference_init(&f, arch->name);
	gsb_company_speeds(&f, arch, all, n, away, speeds);
}

static void assert_pair(struct gsb_neighbour a, struct gsb_neighbour b, uint32_t first,
			uint32_t second, uint32_t within)
{
	const struct gsb_neighbour both[2] = {a, b};
	uint32_t speeds[2];

	find(both, 2, &nobody, speeds);
	assert_in_range(speeds[0], first - within, first + within);
	assert_in_range(speeds[1], second - within, second + within);
}

static void test_mean_is_of_the_blocks_that_have_ended(void **state)
{
	const struct gsb_block_work kinds = {
		.n_warps = 32, .n_alu = 200, .n_imul = 400, .n_sfu = 600, .n_fp64 = 800};
	struct gsb_block_profile p = {.n_blocks = 0};
	struct gsb_block_work mean;

	gsb_block_profile_add(&p, &works[COMPUTES]);
	gsb_block_profile_add(&p, &works[SHARES]);
	gsb_block_profile_add(&p, &kinds);
	gsb_block_profile_add(&p, &kinds);
	mean = gsb_block_profile_mean(&p, 32);
	assert_int_equal(mean.n_warps, 32);
	assert_int_equal(mean.n_insns, (3200000 + 64000) / 4);
	assert_int_equal(mean.n_shared, 16000);
	assert_int_equal(mean.n_alu, 100);
	assert_int_equal(mean.n_imul, 200);
	assert_int_equal(mean.n_sfu, 300);
	assert_int_equal(mean.n_fp64, 400);
}

/* Of an H200, by what blocks that fill an SM do in a second: its pipes, and what is issued. */
static void test_demand_is_of_each_pipe_that_blocks_use(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const struct gsb_block_work w = {.n_warps = 8,
					 .n_insns = 4000,
					 .n_alu = 400,
					 .n_imul = 600,
					 .n_sfu = 200,
					 .n_fp64 = 1000};
	const double on_sm = arch->clock_khz; /* a block in a thousand cycles */
	double units[GSB_N_UNITS];

	gsb_company_demand(arch, &w, on_sm, on_sm * arch->n_sms, units);
	assert_float_equal(units[GSB_UNIT_ISSUE], 1, 1e-6);
	assert_float_equal(units[GSB_UNIT_ALU], .3, 1e-6);
	assert_float_equal(units[GSB_UNIT_SFU], .4, 1e-6);
	assert_float_equal(units[GSB_UNIT_FP64], .5, 1e-6);
}

static void test_speed_of_a_grid_alone_is_full(void **state)
{
	const struct gsb_neighbour alone = on_all(STREAMS);
	uint32_t speed;

	find(&alone, 1, &nobody, &speed);
	assert_int_equal(speed, GSB_FULL_SPEED);
}

/* With eight warps on an SM one leaves half of the issue slots, and then one that waits wants what is there: neither loses more than a few
 * per cent. */
static void test_another_kind_costs_little(void **state)
{
	struct gsb_neighbour some = on_all(COMPUTES);

	some.mean.n_warps = 8;
	some.mean.n_insns /= 4;
	assert_pair(some, on_all(WAITS), 1000, 1000, 24);
}

/*
 * Who fills the issue slots loses next to nothing to one that waits for memory; that one waits for slots while it is the younger. On an
 * H100 it has 0.15 and 0.63 of its speed then (chains; follow, gather: doc/results, model-dev-pairs), 0.62 and 1.01 as the older one.
 */
static void test_another_kind_waits_for_full_slots(void **state)
{
	assert_pair(on_all(COMPUTES), on_all(WAITS), 1000, 460, 170);
}

/* Between barriers a kernel keeps nothing full: it is in nobody's way for long, but what it asks for waits in a queue behind a full memory. */
static void test_requests_wait_behind_a_full_memory(void **state)
{
	struct gsb_neighbour both[2] = {on_all(STREAMS), on_all(STEPS)};
	uint32_t speeds[2], fewer[2];

	find(both, 2, &nobody, speeds);
	assert_in_range(speeds[1], 1, 200);
	both[1].mean.n_shared /= 16;
	find(both, 2, &nobody, fewer);
	assert_in_range(fewer[1], 2 * speeds[1], GSB_FULL_SPEED);
	/* and not where nobody knows what is asked */
	both[0].is_guess = true;
	find(both, 2, &nobody, speeds);
	assert_in_range(speeds[1], 900, GSB_FULL_SPEED);
}

static void test_its_own_kind_costs_half(void **state)
{
	assert_pair(on_all(COMPUTES), on_all(COMPUTES), 512, 512, 12);
	assert_pair(on_all(STREAMS), on_all(STREAMS), 512, 512, 12);
	assert_pair(on_all(SHARES), on_all(SHARES), 512, 512, 12);
}

/* A block of a is done in its turn, and then waits for one of b. */
static void test_longer_blocks_have_more_of_a_full_unit(void **state)
{
	struct gsb_neighbour longer = on_all(COMPUTES);

	longer.mean.n_insns *= 3;
	assert_pair(longer, on_all(COMPUTES), 768, 256, 16);
}

static void test_on_other_sms_memory_alone_costs(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const struct gsb_neighbour computes = on_all(COMPUTES), streams = on_all(STREAMS);
	const struct gsb_neighbour shares = on_all(SHARES);
	const struct gsb_elsewhere away = {.dram = gsb_company_dram(arch, &streams),
					   .warps = 132 * 32};
	const struct gsb_elsewhere more = {.dram = 3 * away.dram, .warps = 3 * away.warps};
	uint32_t speed;

	assert_true(away.dram > .9);
	assert_true(gsb_company_dram(arch, &computes) == 0);
	find(&computes, 1, &away, &speed);
	assert_int_equal(speed, GSB_FULL_SPEED);
	find(&shares, 1, &away, &speed);
	assert_int_equal(speed, GSB_FULL_SPEED);
	find(&streams, 1, &away, &speed);
	assert_in_range(speed, 500, 524);
	find(&streams, 1, &more, &speed);
	assert_in_range(speed, 240, 272);
}

/* Of nothing known: two that fill the GPU are in each other's way, two that are small are not. */
static void test_strangers_are_taken_for_kernels_that_load(void **state)
{
	struct gsb_neighbour small = stranger(1), large = stranger(32);

	small.device_blocks = 1;
	assert_pair(small, small, GSB_FULL_SPEED, GSB_FULL_SPEED, 0);
	large.sm_blocks = 2;
	large.device_blocks = 264;
	assert_pair(large, large, 700, 700, 100);
}

/* Their length is not known either: who is beside them has no advantage of that. */
static void test_strangers_have_blocks_of_the_length_of_others(void **state)
{
	struct gsb_neighbour known = on_all(COMPUTES), guessed = on_all(COMPUTES);

	guessed.is_guess = true;
	guessed.mean.n_insns /= 10;
	assert_pair(known, guessed, 512, 512, 12);
	assert_pair(guessed, guessed, 512, 512, 12);
}

/* What the law does not take is as slow as the slowest. */
static void test_a_crowd_is_as_slow_as_its_slowest(void **state)
{
	struct gsb_neighbour all[40];
	uint32_t speeds[40], least = GSB_FULL_SPEED;

	for (unsigned i = 0; i < 40; i++)
		all[i] = on_all(COMPUTES);
	find(all, 40, &nobody, speeds);
	for (unsigned i = 0; i < 32; i++) {
		assert_in_range(speeds[i], 28, 36);
		least = speeds[i] < least ? speeds[i] : least;
	}
	for (unsigned i = 32; i < 40; i++)
		assert_int_equal(speeds[i], least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_is_of_the_blocks_that_have_ended),
		cmocka_unit_test(test_demand_is_of_each_pipe_that_blocks_use),
		cmocka_unit_test(test_speed_of_a_grid_alone_is_full),
		cmocka_unit_test(test_another_kind_costs_little),
		cmocka_unit_test(test_another_kind_waits_for_full_slots),
		cmocka_unit_test(test_requests_wait_behind_a_full_memory),
		cmocka_unit_test(test_its_own_kind_costs_half),
		cmocka_unit_test(test_longer_blocks_have_more_of_a_full_unit),
		cmocka_unit_test(test_on_other_sms_memory_alone_costs),
		cmocka_unit_test(test_strangers_are_taken_for_kernels_that_load),
		cmocka_unit_test(test_strangers_have_blocks_of_the_length_of_others),
		cmocka_unit_test(test_a_crowd_is_as_slow_as_its_slowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
