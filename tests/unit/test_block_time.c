/*
 * test_block_time.c - the time of one block: a hand-worked case for each bound, limits, monotonicity.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/gpu/arch.h"
#include "model/time/block_time.h"

/* 1 GHz and 1 GB/s: a cycle is a ns, and so is a byte. */
static struct gsb_arch plain_arch(void)
{
	struct gsb_arch a = *gsb_arch_find("h200");

	a.clock_khz = 1000000;
	a.issue_width = 4;
	a.per_cycle = (struct gsb_arch_rates){.alu = 64, .imul = 42, .sfu = 16, .fp64 = 4};
	a.mem_bandwidth_bytes_per_s = 1000000000;
	return a;
}

static void test_block_time_alone_is_bound_by_its_own_latency(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work w = {.n_warps = 2, .n_insns = 200, .n_mem_insns = 4};
	const struct gsb_block_company alone = {2, 2};

	/* each warp: 100 instructions of 4 cycles, 2 loads of 500 */
	assert_int_equal(gsb_block_time_ns(&a, &w, &alone), 100 * 4 + 2 * 500);
}

static void test_block_time_in_company_is_bound_by_issue(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work w = {.n_warps = 2, .n_insns = 200};
	const struct gsb_block_company full = {64, 64};

	/* 2 of 64 warps get 1/32 of 4 instructions a cycle */
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 200 * 32 / 4);
}

/* Of 64 warps a pipe of 64 results a cycle takes two a cycle, and so on; what a block does of another kind is done meanwhile. */
static void test_block_time_in_company_is_bound_by_the_fullest_pipe(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_company alone = {2, 2}, full = {64, 64};
	struct gsb_block_work w = {.n_warps = 2, .n_insns = 4200, .n_alu = 2200};

	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 2200 * 32 / 2);
	assert_int_equal(gsb_block_time_ns(&a, &w, &alone), 4200 / 2 * 4);
	w.n_imul = 2100;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 2100 * 32 * 32 / 42);
	w.n_sfu = 1000;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 1000 * 32 * 2);
	assert_int_equal(gsb_block_time_ns(&a, &w, &alone), 4200 / 2 * 4);
	w.n_fp64 = 300;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 300 * 32 * 8);
	w.n_sfu = w.n_fp64 = 0;
	w.n_insns = 100 * w.n_imul;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 210000 * 32 / 4);
}

/* Loads and stores of both memories go one way, one a cycle. */
static void test_block_time_in_company_is_bound_by_accesses(void **state)
{
	const struct gsb_arch a = plain_arch();
	struct gsb_block_work w = {.n_warps = 2, .n_insns = 2000, .n_shared = 900};
	const struct gsb_block_company alone = {2, 2}, full = {64, 64};

	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 900 * 32);
	w.n_mem_insns = 100;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 1000 * 32);
	w.n_mem_insns = 0;
	w.n_insns = 4100;
	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 4100 * 32 / 4);
	assert_int_equal(gsb_block_time_ns(&a, &w, &alone), 4100 / 2 * 4);
}

static void test_block_time_in_company_is_bound_by_barriers(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work w = {.n_warps = 2, .n_insns = 2000, .n_barriers = 500};
	const struct gsb_block_company alone = {2, 2}, full = {64, 64};

	assert_int_equal(gsb_block_time_ns(&a, &w, &full), 500 * 32 * 2);
	assert_int_equal(gsb_block_time_ns(&a, &w, &alone), 1000 * 4);
}

/* With all units for itself, whoever is there: never more than the time of the block. */
static void test_block_waits_for_its_own_results(void **state)
{
	const struct gsb_arch a = plain_arch();
	struct gsb_block_work w = {.n_warps = 2, .n_insns = 200, .n_mem_insns = 4, .sleep_ns = 20};

	assert_int_equal(gsb_block_wait_ns(&a, &w), 100 * 4 + 2 * 500 + 10);
	w.alone_ns = 5000;
	assert_int_equal(gsb_block_wait_ns(&a, &w), 5000 + 10);
}

static void test_block_time_in_company_is_bound_by_bandwidth(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work w = {
		.n_warps = 2, .n_insns = 8, .n_mem_insns = 2, .n_bytes = 4000};
	const struct gsb_block_company far = {2, 20}; /* the others are on other SMs */

	assert_int_equal(gsb_block_time_ns(&a, &w, &far), 40000);
}

static void test_block_time_adds_sleep_and_is_never_zero(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work nothing = {.n_warps = 1};
	const struct gsb_block_work asleep = {.n_warps = 4, .sleep_ns = 4000};
	const struct gsb_block_company alone = {1, 1};

	assert_int_equal(gsb_block_time_ns(&a, &nothing, &alone), 1);
	assert_int_equal(gsb_block_time_ns(&a, &asleep, &alone), 1001);
}

static void test_block_time_of_huge_counts_does_not_wrap(void **state)
{
	const struct gsb_arch a = plain_arch();
	const struct gsb_block_work w = {.n_warps = 1,
					 .n_insns = UINT64_MAX,
					 .n_alu = UINT64_MAX,
					 .n_imul = UINT64_MAX,
					 .n_sfu = UINT64_MAX,
					 .n_fp64 = UINT64_MAX,
					 .n_mem_insns = UINT64_MAX,
					 .n_shared = UINT64_MAX,
					 .n_barriers = UINT64_MAX,
					 .n_bytes = UINT64_MAX};
	const struct gsb_block_company full = {64, 8448};

	assert_true(gsb_block_time_ns(&a, &w, &full) >= UINT64_MAX / 8);
}

/* What has been done so far never takes longer than all of it: device time relies on that. */
static void test_block_time_grows_with_each_count_and_with_company(void **state)
{
	const struct gsb_arch *a = gsb_arch_find("k40");
	struct gsb_block_company company = {8, 8};
	struct gsb_block_work w = {.n_warps = 8};
	uint64_t last = 0;

	for (unsigned i = 0; i < 2000; i++) {
		uint64_t t;

		switch (i % 11) {
		case 0: w.n_insns += 17 * i; break;
		case 1: w.n_mem_insns += i % 7; break;
		case 2: w.n_bytes += 31 * i; break;
		case 3: w.sleep_ns += i % 3; break;
		case 4: w.n_shared += 5 * i; break;
		case 5: w.n_barriers += 3 * i; break;
		case 6: w.n_alu += 17 * i; break;
		case 7: w.n_imul += 4 * i; break;
		case 8: w.n_sfu += 4 * i; break;
		case 9: w.n_fp64 += 8 * i; break;
		default: company.sm_warps += i % 2, company.device_warps += i;
		}
		t = gsb_block_time_ns(a, &w, &company);
		assert_true(t >= last);
		last = t;
	}
	assert_true(last > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_time_alone_is_bound_by_its_own_latency),
		cmocka_unit_test(test_block_time_in_company_is_bound_by_issue),
		cmocka_unit_test(test_block_time_in_company_is_bound_by_the_fullest_pipe),
		cmocka_unit_test(test_block_time_in_company_is_bound_by_accesses),
		cmocka_unit_test(test_block_time_in_company_is_bound_by_barriers),
		cmocka_unit_test(test_block_waits_for_its_own_results),
		cmocka_unit_test(test_block_time_in_company_is_bound_by_bandwidth),
		cmocka_unit_test(test_block_time_adds_sleep_and_is_never_zero),
		cmocka_unit_test(test_block_time_of_huge_counts_does_not_wrap),
		cmocka_unit_test(test_block_time_grows_with_each_count_and_with_company),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
