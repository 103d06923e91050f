/*
 * test_counts.c - what is asked of each unit, from counts: against figures by hand, of an H200.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/gpu/arch.h"
#include "model/time/counts.h"

/* A part that an SM does 1000 times in a million cycles, and the device 132000 times. */
static const double *find(const struct gsb_counts *c)
{
	static double units[GSB_N_UNITS];
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const double a_second = arch->clock_khz * 1e3 / 1e6 * 1000;

	gsb_counts_demand(arch, c, a_second, a_second * arch->n_sms, units);
	return units;
}

static void expect(const double *units, enum gsb_unit unit, double share)
{
	assert_float_equal(units[unit], share, 1e-6);
}

/* In a part's thousand cycles the pipes of 16 lanes take 500 of a kind, those of 64 lanes 2000, the schedulers 4000. */
static void test_each_pipe_has_its_width(void **state)
{
	const struct gsb_counts c = {
		.insns = 1000, .alu = 400, .sfu = 100, .fp64 = 200, .barriers = 25};
	const double *units = find(&c);

	expect(units, GSB_UNIT_ALU, .2);
	expect(units, GSB_UNIT_SFU, .2);
	expect(units, GSB_UNIT_FP64, .1);
	expect(units, GSB_UNIT_BARRIER, .05);
	expect(units, GSB_UNIT_DENSE, .25);
	expect(units, GSB_UNIT_ISSUE, 0);
	expect(units, GSB_UNIT_REQUESTS, 0);
	expect(units, GSB_UNIT_TENSOR, 0);
}

/* Whole numbers are as full as the fuller one of their two pipes; a GPU with other pipes is fuller of the same. */
static void test_pipes_are_those_of_the_gpu(void **state)
{
	const struct gsb_arch *titan = gsb_arch_find("titanx-pascal");
	struct gsb_counts c = {.insns = 1000, .alu = 400, .imul = 500, .sfu = 100, .fp64 = 10};
	double units[GSB_N_UNITS];

	expect(find(&c), GSB_UNIT_ALU, .25);
	c.imul = 300;
	expect(find(&c), GSB_UNIT_ALU, .2);
	gsb_counts_demand(titan, &c, titan->clock_khz, titan->clock_khz * 28.0, units);
	expect(units, GSB_UNIT_ALU, .3 * 32 / 42);
	expect(units, GSB_UNIT_SFU, .1);
	expect(units, GSB_UNIT_FP64, .08);
}

/* Of 40 sectors of each of 10 requests half get to the L2, a quarter to the memory. */
static void test_memory_is_asked_for_what_gets_there(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const struct gsb_counts c = {.insns = 100,
				     .requests = 10,
				     .sectors = 400,
				     .to_l2 = .5,
				     .to_dram = .25,
				     .shared = 30,
				     .shared_requests = 20};
	const double *units = find(&c);
	const double bytes = 400 * 32 * 132 / 1000.0; /* in a cycle of the device */

	expect(units, GSB_UNIT_L1, .05);
	expect(units, GSB_UNIT_L2, bytes * .5 / 5120);
	expect(units, GSB_UNIT_DRAM,
	       bytes * .25 * arch->clock_khz * 1e3 / (double)arch->mem_bandwidth_bytes_per_s);
	expect(units, GSB_UNIT_SHARED, .03);
	expect(units, GSB_UNIT_REQUESTS, .03);
	expect(units, GSB_UNIT_ISSUE, .025);
}

/* A request is a pass of the L1, however little it asks for. */
static void test_small_requests_cost_a_pass_of_the_l1(void **state)
{
	const struct gsb_counts c = {.insns = 100, .requests = 100, .sectors = 100};

	expect(find(&c), GSB_UNIT_L1, .1);
}

/* Once in a hundred instructions still is; once in fifty is not, nor who wants another unit more. */
static void test_who_hardly_asks_is_dense(void **state)
{
	struct gsb_counts c = {.insns = 1000, .requests = 5, .shared_requests = 5};

	expect(find(&c), GSB_UNIT_DENSE, .25);
	c.shared_requests = 15;
	expect(find(&c), GSB_UNIT_DENSE, 0);
	expect(find(&c), GSB_UNIT_ISSUE, .25);
	c.shared_requests = 5;
	c.sfu = 200;
	expect(find(&c), GSB_UNIT_DENSE, 0);
	expect(find(&c), GSB_UNIT_ISSUE, .25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_pipe_has_its_width),
		cmocka_unit_test(test_pipes_are_those_of_the_gpu),
		cmocka_unit_test(test_memory_is_asked_for_what_gets_there),
		cmocka_unit_test(test_small_requests_cost_a_pass_of_the_l1),
		cmocka_unit_test(test_who_hardly_asks_is_dense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
