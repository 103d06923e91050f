/*
 * test_contend.c - issue slots and bandwidth: reduces to the plain model, worked cases, conservation,
 * monotonicity.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "model/gpu/arch.h"
#include "model/time/contend.h"
#include "model/time/stretch.h"

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

/* Two that want 0.8 and 0.6 of one resource: (1-u)+uq with 0.8/(.2+.8q) + 0.6/(.4+.6q) = 1. */
static void test_stretch_fills_the_resource_exactly(void **state)
{
	struct gsb_stretch s = {.n_groups = 1, .issue_capacity = 1, .bandwidth_capacity = 1};
	double used = 0;

	s.groups[0].weight = 1;
	s.groups[0].speed[0] = s.groups[0].speed[1] = 1;
	s.shares[0].bandwidth = 0.8;
	s.shares[1].bandwidth = 0.6;
	gsb_stretch_solve(&s);
	assert_true(s.bandwidth_factor > 1);
	assert_near(s.groups[0].issue_factor, 1);
	for (uint32_t k = 0; k < 2; k++)
		used += s.shares[k].bandwidth * gsb_stretch_speed(&s, k);
	assert_near(used, 1);
	s.shares[1].bandwidth = 0.2;
	gsb_stretch_solve(&s);
	assert_near(s.bandwidth_factor, 1);
	s.shares[0].bandwidth = s.shares[1].bandwidth = 1;
	gsb_stretch_solve(&s);
	assert_near(s.bandwidth_factor, 2);
}

/* Whatever the mix: no resource over its capacity, and none stretched that has room. */
static void test_stretch_random_mixes_use_no_more_than_there_is(void **state)
{
	for (int round = 0; round < 2000; round++) {
		struct gsb_stretch s = {.n_groups = 1 + rng(4),
					.issue_capacity = 0.5 + unit(),
					.bandwidth_capacity = 0.5 + unit()};
		double bandwidth = 0;

		for (uint32_t k = 0; k < 2; k++)
			s.shares[k] = (struct gsb_share){unit(), unit()};
		for (uint32_t g = 0; g < s.n_groups; g++) {
			s.groups[g].weight = 1.0 / s.n_groups;
			s.groups[g].speed[0] = unit();
			s.groups[g].speed[1] = unit();
		}
		gsb_stretch_solve(&s);
		for (uint32_t g = 0; g < s.n_groups; g++) {
			double issue = 0;

			for (uint32_t k = 0; k < 2; k++)
				issue += s.groups[g].speed[k] * s.shares[k].issue /
					 gsb_stretch_of(&s, g, k);
			assert_true(issue <= s.issue_capacity * (1 + 1e-6));
			if (s.groups[g].issue_factor > 1 + 1e-6)
				assert_true(issue >= s.issue_capacity * (1 - 1e-6));
		}
		for (uint32_t k = 0; k < 2; k++)
			bandwidth += gsb_stretch_speed(&s, k) * s.shares[k].bandwidth;
		assert_true(bandwidth <= s.bandwidth_capacity * (1 + 1e-6));
		if (s.bandwidth_factor > 1 + 1e-6)
			assert_true(bandwidth >= s.bandwidth_capacity * (1 - 1e-6));
	}
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
		assert_int_equal(gsb_contend(arch, rules, pair, NULL, &c), 0);
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
		{{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5, .solo_ns = 1000}},
		{{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5, .solo_ns = 1000}}};
	struct gsb_contention c;

	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 0);
	assert_int_equal(c.when, GSB_CASE_A);
	assert_near(c.slowdown[0], 2);
	assert_near(c.slowdown[1], 2);
	assert_near(c.makespan_ns, 2000);
	pair[1].demand.bandwidth = 0;
	pair[1].demand.issue = 1;
	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 0);
	assert_near(c.makespan_ns, 1000);
}

/* Case C: 10 + 5; Case B: one and a half rounds of 10, k2 of 5 beside the last half. */
static void test_contend_times_of_cases_b_and_c(void **state)
{
	struct gsb_load pair[2] = {{{1024, 16, 0, 264}, {.solo_ns = 10}},
				   {{1024, 16, 0, 132}, {.solo_ns = 5}}};
	struct gsb_contention c;

	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 0);
	assert_int_equal(c.when, GSB_CASE_C);
	assert_near(c.end_ns[0], 10);
	assert_near(c.end_ns[1], 15);
	assert_near(c.slowdown[1], 3);
	pair[0].needs.n_blocks = 396;
	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 0);
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

	assert_int_equal(gsb_contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, NULL, &c), 0);
	assert_near(c.steady[1], 8);
	assert_near(c.end_ns[0], 8);
	assert_near(c.end_ns[1], 8 + 99);
}

/* Both stream; together each takes twice as long. k2 (10) ends at 20, k1 (30) has 20 left: 40. */
static void test_contend_k1_recovers_when_k2_ends(void **state)
{
	struct gsb_load pair[2] = {
		{{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5, .solo_ns = 30}},
		{{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5, .solo_ns = 10}}};
	const struct gsb_arch *h200 = gsb_arch_find("h200");
	struct gsb_contention c;

	assert_int_equal(gsb_contend(h200, &gsb_rules_hardware, pair, NULL, &c), 0);
	assert_near(c.end_ns[1], 20);
	assert_near(c.end_ns[0], 40);
	assert_near(c.slowdown[0], 4.0 / 3);
	pair[0].demand.solo_ns = 0;
	assert_int_equal(gsb_contend(h200, &gsb_rules_hardware, pair, NULL, &c), 0);
	assert_near(c.end_ns[1], 0);
	assert_near(c.slowdown[0], 2);
	assert_near(c.slowdown[1], 2);
}

/* 8 times slower beside k1: of 20, 5/8 are done when k1 ends at 100; the rest takes 7.5. */
static void test_contend_the_first_end_counts_the_slowdown(void **state)
{
	struct gsb_load pair[2] = {{{256, 0, 0, 7 * 15}, {.solo_ns = 100}},
				   {{256, 0, 0, 8 * 15 * 10}, {.solo_ns = 20}}};
	struct gsb_contention c;

	assert_int_equal(gsb_contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, NULL, &c), 0);
	assert_near(c.end_ns[0], 100);
	assert_near(c.end_ns[1], 107.5);
	assert_near(c.makespan_ns, 107.5);
}

/* A mix gets 0.8 of the bandwidth: two that stream take 2 / 0.8 as long; one alone still all of it. */
static void test_contend_capacity_is_of_the_mix_not_of_one_alone(void **state)
{
	const struct gsb_capacity mix = {.issue = 1, .bandwidth = 0.8};
	struct gsb_load pair[2] = {{{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5}},
				   {{256, 16, 0, 4 * 132}, {.bandwidth = 1, .saturation = 0.5}}};
	const struct gsb_arch *h200 = gsb_arch_find("h200");
	struct gsb_contention c;

	assert_int_equal(gsb_contend(h200, &gsb_rules_hardware, pair, &mix, &c), 0);
	assert_near(c.steady[0], 2.5);
	assert_near(c.steady[1], 2.5);
	assert_near(c.stretch[0], 2.5);
	assert_near(c.stretch[1], 2.5);
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
	assert_int_equal(gsb_contend(k40, &gsb_rules_hardware, pair, NULL, &c), 0);
	assert_near(c.stretch[1], 0.5);
	assert_near(c.slowdown[1], 1);
	assert_near(c.makespan_ns, 0);
}

/* Of one resource; with two it may: a kernel held up at memory leaves issue slots to the other. */
static void test_contend_more_demand_of_one_resource_never_helps(void **state)
{
	unsigned int compared = 0, slower = 0;

	for (int round = 0; round < 600; round++) {
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_load pair[2] = {random_load(60), random_load(2000)};
		struct gsb_contention less, more;
		bool issue = rng(2);
		double *demand = issue ? &pair[0].demand.issue : &pair[0].demand.bandwidth;

		for (int k = 0; k < 2; k++)
			pair[k].demand = (struct gsb_contend_demand){
				issue ? unit() : 0, issue ? 0 : unit(), unit(), 1 + rng(100)};
		if (gsb_contend(arch, &gsb_rules_hardware, pair, NULL, &less))
			continue;
		*demand += (1 - *demand) * unit();
		assert_int_equal(gsb_contend(arch, &gsb_rules_hardware, pair, NULL, &more), 0);
		assert_true(more.steady[1] >= less.steady[1] - 1e-9);
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
	static const struct gsb_contend_demand bad[] = {{.issue = 1.1},	       {.issue = -0.1},
							{.bandwidth = NAN},    {.saturation = 2},
							{.solo_ns = INFINITY}, {.solo_ns = -1}};
	const struct gsb_capacity none = {0, 1};
	struct gsb_load pair[2] = {random_load(10), random_load(10)};
	struct gsb_contention c = {.makespan_ns = 77};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pair[1].demand = bad[i];
		assert_int_equal(
			gsb_contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, NULL, &c),
			-EINVAL);
	}
	pair[1].demand = (struct gsb_contend_demand){0};
	assert_int_equal(gsb_contend(gsb_arch_find("k40"), &gsb_rules_hardware, pair, &none, &c),
			 -EINVAL);
	assert_int_equal(gsb_contend(gsb_arch_find("k40"), &gsb_rules_printed, pair, NULL, &c),
			 -EINVAL);
	assert_true(c.makespan_ns == 77);
}

/* k1 leaves half of every SM: there a measured curve says 0.8 of full speed. */
static void test_contend_curve_stands_for_saturation(void **state)
{
	const struct gsb_curve curve = {.n = 2, .points = {{0.5, 0.4}, {1, 0.5}}};
	struct gsb_load pair[2] = {{{1024, 16, 0, 132}, {0}},
				   {{256, 16, 0, 8 * 132}, {.curve = &curve}}};
	struct gsb_curve bad = curve;
	struct gsb_contention c;

	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 0);
	assert_near(c.steady[1], 1 / 0.8);
	bad.points[0].speed = NAN;
	pair[1].demand.curve = &bad;
	assert_int_equal(gsb_contend(gsb_arch_find("h200"), &gsb_rules_hardware, pair, NULL, &c),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretch_fills_the_resource_exactly),
		cmocka_unit_test(test_stretch_random_mixes_use_no_more_than_there_is),
		cmocka_unit_test(test_contend_without_demand_is_the_plain_model),
		cmocka_unit_test(test_contend_two_streaming_kernels_halve),
		cmocka_unit_test(test_contend_times_of_cases_b_and_c),
		cmocka_unit_test(test_contend_k2_recovers_when_k1_ends),
		cmocka_unit_test(test_contend_the_first_end_counts_the_slowdown),
		cmocka_unit_test(test_contend_capacity_is_of_the_mix_not_of_one_alone),
		cmocka_unit_test(test_contend_saturated_kernel_loses_less_than_its_rounds),
		cmocka_unit_test(test_contend_k1_recovers_when_k2_ends),
		cmocka_unit_test(test_contend_more_demand_of_one_resource_never_helps),
		cmocka_unit_test(test_contend_refuses_bad_demand),
		cmocka_unit_test(test_contend_curve_stands_for_saturation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
