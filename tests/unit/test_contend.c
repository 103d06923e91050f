/*
 * test_contend.c - two kernels that want the same units: reduces to the plain model, worked cases, monotonicity.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "model/gpu/arch.h"
#include "model/time/contend.h"

#define STREAMS .of.units[GSB_UNIT_DRAM] = 1

static uint32_t rng_state = 21;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

static double unit(void)
{
	return rng(1001) / 1000.0;
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
		fail_msg("%.12g, expected %.12g", a, b);
}

/* Within a hundredth: what the table of an H200 has for two that want one thing. */
static void assert_about(double a, double b)
{
	if (!(fabs(a - b) <= 0.025 * b))
		fail_msg("%.6g, expected about %.6g", a, b);
}

static int contend(const struct gsb_arch *arch, const struct gsb_rules *rules,
		   const struct gsb_load pair[2], struct gsb_contention *out)
{
	struct gsb_interference law;

	gsb_interference_init(&law, arch->name);
	return gsb_contend(arch, rules, &law, pair, out);
}

static struct gsb_load random_load(uint32_t blocks)
{
	return (struct gsb_load){
		.needs = {32 * (1 + rng(16)), rng(40), rng(2) ? 0 : rng(20000), 1 + rng(blocks)}};
}

static void test_contend_without_demand_is_the_plain_model(void **state)
{
	unsigned int compared = 0;

	for (int round = 0; round < 1000; round++) {
		const struct gsb_rules *rules = rng(2) ? &gsb_rules_hardware : &gsb_rules_paper;
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_load pair[2] = {random_load(60), random_load(2000)};
		struct gsb_contention c;
		struct gsb_ratio plain;

		if (gsb_slowdown(arch, rules, &pair[0].needs, &pair[1].needs, &plain))
			continue;
		assert_int_equal(contend(arch, rules, pair, &c), 0);
		assert_near(c.slowdown[1], gsb_ratio_value(plain));
		assert_near(c.slowdown[0], 1);
		compared++;
	}
	assert_true(compared > 200);
}

/* Both fit on every SM, both use all bandwidth alone: each takes twice as long. */
static void test_contend_two_streaming_kernels_halve(void **state)
{
	struct gsb_load pair[2] = {
		{{256, 16, 0, 4 * 132}, {STREAMS, .saturation = 0.5, .solo_ns = 1000}},
		{{256, 16, 0, 4 * 132}, {STREAMS, .saturation = 0.5, .solo_ns = 1000}}};
	struct gsb_contention c;

	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), 0);
	assert_int_equal(c.when, GSB_CASE_A);
	assert_about(c.slowdown[0], 2);
	assert_about(c.slowdown[1], 2);
	assert_about(c.makespan_ns, 2000);
	pair[1].demand.of.units[GSB_UNIT_DRAM] = 0;
	pair[1].demand.of.units[GSB_UNIT_SFU] = 1;
	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), 0);
	assert_about(c.makespan_ns, 1020);
}

/* Case C: 10 + 5; Case B: one and a half rounds of 10, k2 of 5 beside the last half. */
static void test_contend_times_of_cases_b_and_c(void **state)
{
	struct gsb_load pair[2] = {{{1024, 16, 0, 264}, {.solo_ns = 10}},
				   {{1024, 16, 0, 132}, {.solo_ns = 5}}};
	struct gsb_contention c;

	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), 0);
	assert_int_equal(c.when, GSB_CASE_C);
	assert_near(c.end_ns[0], 10);
	assert_near(c.end_ns[1], 15);
	assert_near(c.slowdown[1], 3);
	pair[0].needs.n_blocks = 396;
	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), 0);
	assert_int_equal(c.when, GSB_CASE_B);
	assert_near(c.end_ns[0], 10);
	assert_near(c.end_ns[1], 10);
}

/* k1 ends first: k2 goes on with the whole GPU. 4 / 1 while together, 1 after. */
static void test_contend_k2_recovers_when_k1_ends(void **state)
{
	struct gsb_load pair[2] = {{{256, 0, 0, 7 * 15}, {.solo_ns = 8}},
				   {{256, 0, 0, 8 * 15 * 10}, {.solo_ns = 100}}};
	struct gsb_contention c;

	assert_int_equal(contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.steady[1], 8);
	assert_near(c.end_ns[0], 8);
	assert_near(c.end_ns[1], 8 + 99);
}

/* Both stream; together each takes twice as long. k2 (10) ends at 20, k1 (30) has 20 left: 40. */
static void test_contend_k1_recovers_when_k2_ends(void **state)
{
	struct gsb_load pair[2] = {
		{{256, 16, 0, 4 * 132}, {STREAMS, .saturation = 0.5, .solo_ns = 30}},
		{{256, 16, 0, 4 * 132}, {STREAMS, .saturation = 0.5, .solo_ns = 10}}};
	const struct gsb_arch *h200 = gsb_arch_find("h200");
	struct gsb_contention c;

	assert_int_equal(contend(h200, &gsb_rules_hardware, pair, &c), 0);
	assert_about(c.end_ns[1], 20);
	assert_about(c.end_ns[0], 40);
	assert_about(c.slowdown[0], 4.0 / 3);
	pair[0].demand.solo_ns = 0;
	assert_int_equal(contend(h200, &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.end_ns[1], 0);
	assert_about(c.slowdown[0], 2);
	assert_about(c.slowdown[1], 2);
}

/* 8 times slower beside k1: of 20, 5/8 are done when k1 ends at 100; the rest takes 7.5. */
static void test_contend_the_first_end_counts_the_slowdown(void **state)
{
	struct gsb_load pair[2] = {{{256, 0, 0, 7 * 15}, {.solo_ns = 100}},
				   {{256, 0, 0, 8 * 15 * 10}, {.solo_ns = 20}}};
	struct gsb_contention c;

	assert_int_equal(contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.end_ns[0], 100);
	assert_near(c.end_ns[1], 107.5);
	assert_near(c.makespan_ns, 107.5);
}

/* Both keep the special functions full at half residency: the second gets nothing for as long as the first is there. */
static void test_contend_the_first_wins_a_unit_of_the_sm(void **state)
{
	struct gsb_load pair[2] = {{{256, 16, 0, 4 * 132}, {.saturation = 0.5, .solo_ns = 1000}},
				   {{256, 16, 0, 4 * 132}, {.saturation = 0.5, .solo_ns = 1000}}};
	const struct gsb_arch *h200 = gsb_arch_find("h200");
	struct gsb_contention c;

	pair[0].demand.of.units[GSB_UNIT_SFU] = pair[1].demand.of.units[GSB_UNIT_SFU] = 1;
	assert_int_equal(contend(h200, &gsb_rules_hardware, pair, &c), 0);
	assert_about(c.steady[0], 1);
	assert_true(c.steady[1] > 100);
	assert_about(c.end_ns[0], 1010);
	assert_about(c.end_ns[1], 2010);
}

/* A profiler gives it but 0.6 of the L2; that it is as fast with fewer blocks says that this is full. */
static void test_contend_a_flat_curve_says_that_a_unit_is_full(void **state)
{
	const struct gsb_curve flat = {.n = 3, .points = {{0.25, 0.97}, {0.5, 0.98}, {1, 1}}};
	struct gsb_load pair[2] = {{{256, 16, 0, 4 * 132}, {.curve = &flat}},
				   {{256, 16, 0, 4 * 132}, {.saturation = 1}}};
	const struct gsb_arch *h200 = gsb_arch_find("h200");
	struct gsb_contention c;

	pair[0].demand.of.units[GSB_UNIT_L2] = pair[1].demand.of.units[GSB_UNIT_L2] = 0.6;
	assert_int_equal(contend(h200, &gsb_rules_hardware, pair, &c), 0);
	assert_true(c.steady[1] > 2.5);
	pair[0].demand.curve = NULL;
	assert_int_equal(contend(h200, &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.steady[1], 1);
}

/*
 * A kernel with full speed at half its residency, half of it left: its blocks are twice as fast, its
 * rounds twice as many, it loses nothing; rounds alone say 2.
 */
static void test_contend_saturated_kernel_loses_less_than_its_rounds(void **state)
{
	struct gsb_load pair[2] = {{{256, 0, 0, 4 * 15}, {.solo_ns = 1e6}},
				   {{256, 0, 0, 8 * 15 * 4}, {.saturation = 0.5}}};
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	struct gsb_contention c;
	struct gsb_ratio rounds;

	assert_int_equal(
		gsb_slowdown(k40, &gsb_rules_hardware, &pair[0].needs, &pair[1].needs, &rounds), 0);
	assert_near(gsb_ratio_value(rounds), 2);
	assert_int_equal(contend(k40, &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.stretch[1], 0.5);
	assert_near(c.slowdown[1], 1);
	assert_near(c.makespan_ns, 0);
}

/* Of one unit of the SM. Of the memory, which goes by requests, it may by a tenth. */
static void test_contend_more_demand_of_one_unit_never_helps(void **state)
{
	unsigned int compared = 0, slower = 0;

	for (int round = 0; round < 600; round++) {
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_load pair[2] = {random_load(60), random_load(2000)};
		enum gsb_unit unit_of = rng(2) ? GSB_UNIT_SHARED : GSB_UNIT_SFU;
		double *demand = &pair[0].demand.of.units[unit_of];
		struct gsb_contention less, more;

		for (int k = 0; k < 2; k++) {
			pair[k].demand = (struct gsb_contend_demand){.saturation = unit(),
								     .solo_ns = 1 + rng(100)};
			pair[k].demand.of.units[unit_of] = unit();
		}
		if (contend(arch, &gsb_rules_hardware, pair, &less))
			continue;
		*demand += (1 - *demand) * unit();
		assert_int_equal(contend(arch, &gsb_rules_hardware, pair, &more), 0);
		assert_true(more.steady[1] >= less.steady[1] * (1 - 1e-6));
		assert_true(less.steady[0] >= 1 && less.steady[1] >= 1);
		assert_true(less.makespan_ns >=
			    fmax(pair[0].demand.solo_ns, pair[1].demand.solo_ns) - 1e-9);
		slower += more.steady[1] > less.steady[1];
		compared++;
	}
	assert_true(compared > 100 && slower > 5);
}

static void test_contend_refuses_bad_demand(void **state)
{
	static const struct gsb_contend_demand bad[] = {{.of = {.units = {[GSB_UNIT_ISSUE] = 1.1}}},
							{.of = {.units = {[GSB_UNIT_L1] = -0.1}}},
							{.of = {.units = {[GSB_UNIT_DRAM] = NAN}}},
							{.saturation = 2},
							{.solo_ns = INFINITY},
							{.solo_ns = -1}};
	struct gsb_load pair[2] = {random_load(10), random_load(10)};
	struct gsb_contention c = {.makespan_ns = 77};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pair[1].demand = bad[i];
		assert_int_equal(contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, &c),
				 -EINVAL);
	}
	pair[1].demand = (struct gsb_contend_demand){0};
	assert_int_equal(contend(gsb_arch_find("k40"), &gsb_rules_printed, pair, &c), -EINVAL);
	assert_true(c.makespan_ns == 77);
}

/* k1 leaves half of every SM: there a measured curve says 0.8 of full speed. */
static void test_contend_curve_stands_for_saturation(void **state)
{
	const struct gsb_curve curve = {.n = 2, .points = {{0.5, 0.4}, {1, 0.5}}};
	struct gsb_load pair[2] = {{{1024, 16, 0, 132}, {.solo_ns = 0}},
				   {{256, 16, 0, 8 * 132}, {.curve = &curve}}};
	struct gsb_curve bad = curve;
	struct gsb_contention c;

	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), 0);
	assert_near(c.steady[1], 1 / 0.8);
	bad.points[0].speed = NAN;
	pair[1].demand.curve = &bad;
	assert_int_equal(contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, &c), -EINVAL);
}

/* As fast with a quarter fewer blocks of those that it has, not of all: then the rest of them waits. */
static void test_demand_at_says_how_far_its_warps_queue(void **state)
{
	static const struct gsb_curve curve = {3, {{.25, .5}, {.5, .9}, {1, 1}}};
	static const struct gsb_demand d = {{[GSB_UNIT_SHARED] = .8, [GSB_UNIT_REQUESTS] = .4}};
	struct gsb_resident r = {0};

	assert_true(fabs(gsb_demand_at(&d, &curve, 1, &r) - 1) < 1e-9);
	assert_true(fabs(r.backlog - .8) < 1e-9);
	assert_true(fabs(gsb_demand_at(&d, &curve, .5, &r) - .9) < 1e-9);
	assert_true(fabs(r.backlog - (1 - 4 * .2 / .9)) < 1e-9);
	assert_true(fabs(r.demand[GSB_UNIT_REQUESTS] - .36) < 1e-9);
	gsb_demand_at(&d, &curve, .25, &r);
	assert_true(r.backlog < 1e-9);
}

/* The kernels that the table was measured with: of units.cu, and what each wants besides, by its instructions. */
static void test_demand_of_the_tables_kernels_is_like_them(void **state)
{
	static const double kernels[][GSB_N_UNITS] = {
		{[GSB_UNIT_DENSE] = 1, [GSB_UNIT_REQUESTS] = .001},
		{[GSB_UNIT_ALU] = 1, [GSB_UNIT_ISSUE] = .52},
		{[GSB_UNIT_ISSUE] = 1},
		{[GSB_UNIT_SHARED] = .97, [GSB_UNIT_REQUESTS] = .97, [GSB_UNIT_ISSUE] = .26},
		{[GSB_UNIT_L1] = .97, [GSB_UNIT_REQUESTS] = .97, [GSB_UNIT_ISSUE] = .26},
		{[GSB_UNIT_SFU] = 1, [GSB_UNIT_ISSUE] = .2},
		{[GSB_UNIT_FP64] = 1, [GSB_UNIT_ISSUE] = .52, [GSB_UNIT_ALU] = .02},
		{[GSB_UNIT_DRAM] = 1, [GSB_UNIT_L2] = .9, [GSB_UNIT_ISSUE] = .1},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		assert_true(gsb_demand_alike(kernels[i], 1) == 1);
}

/* Neither who fills nothing nor who fills two units; half way in both respects it is a quarter. */
static void test_demand_of_others_is_not_like_the_tables_kernels(void **state)
{
	double units[GSB_N_UNITS] = {[GSB_UNIT_SFU] = .8, [GSB_UNIT_REQUESTS] = 1};

	assert_true(gsb_demand_alike(units, 1) < 1e-9);
	units[GSB_UNIT_SFU] = 1;
	assert_true(gsb_demand_alike(units, .8) < 1e-9);
	assert_near(gsb_demand_alike(units, .875), .5);
	units[GSB_UNIT_L2] = .75;
	assert_true(gsb_demand_alike(units, 1) < 1e-9);
	units[GSB_UNIT_L2] = .65;
	assert_near(gsb_demand_alike(units, 1), .5);
	units[GSB_UNIT_L2] = .65 / .875;
	assert_near(gsb_demand_alike(units, .875), .25);
}

/* A memory that is full of requests under way is nothing of which the table knows: what counts is what was counted, at that residency. */
static void test_demand_at_is_like_the_table_by_what_is_counted(void **state)
{
	static const struct gsb_curve flat = {2, {{.25, 1}, {1, 1}}}, linear = {1, {{1, 1}}};
	struct gsb_demand d = {{[GSB_UNIT_DRAM] = .5, [GSB_UNIT_REQUESTS] = .01}};
	struct gsb_resident r = {0};

	gsb_demand_at(&d, &flat, 1, &r);
	assert_near(r.demand[GSB_UNIT_DRAM], 1);
	assert_true(r.alike < 1e-9);
	d.units[GSB_UNIT_DRAM] = 1;
	gsb_demand_at(&d, &flat, .5, &r);
	assert_near(r.alike, 1);
	gsb_demand_at(&d, &linear, .875, &r);
	assert_near(r.alike, .5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contend_without_demand_is_the_plain_model),
		cmocka_unit_test(test_contend_two_streaming_kernels_halve),
		cmocka_unit_test(test_contend_times_of_cases_b_and_c),
		cmocka_unit_test(test_contend_k2_recovers_when_k1_ends),
		cmocka_unit_test(test_contend_the_first_end_counts_the_slowdown),
		cmocka_unit_test(test_contend_the_first_wins_a_unit_of_the_sm),
		cmocka_unit_test(test_contend_a_flat_curve_says_that_a_unit_is_full),
		cmocka_unit_test(test_contend_saturated_kernel_loses_less_than_its_rounds),
		cmocka_unit_test(test_contend_k1_recovers_when_k2_ends),
		cmocka_unit_test(test_contend_more_demand_of_one_unit_never_helps),
		cmocka_unit_test(test_contend_refuses_bad_demand),
		cmocka_unit_test(test_contend_curve_stands_for_saturation),
		cmocka_unit_test(test_demand_at_says_how_far_its_warps_queue),
		cmocka_unit_test(test_demand_of_the_tables_kernels_is_like_them),
		cmocka_unit_test(test_demand_of_others_is_not_like_the_tables_kernels),
		cmocka_unit_test(test_demand_at_is_like_the_table_by_what_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
