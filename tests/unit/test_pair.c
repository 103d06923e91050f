/*
 * test_pair.c - cases A, B, C and the slowdown: the paper's tables as fractions, what an H200 does,
 * and properties.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "model/gpu/arch.h"
#include "model/papers/pair.h"

/* Cruz, Tables 2 and 4. Synthetic kernels work on register values; their registers are not given. */
static const struct gsb_kernel s1 = {256, 0, 1024, 110}, s2 = {256, 0, 0, 450};
static const struct gsb_kernel s3 = {256, 0, 4096, 100}, s4 = {256, 0, 0, 60};
static const struct gsb_kernel s5 = {512, 0, 256, 42}, s6 = {128, 0, 0, 120};
static const struct gsb_kernel s7 = {256, 0, 896, 90}, s8 = {512, 0, 256, 467};
static const struct gsb_kernel s9 = {256, 0, 2048, 35}, s10 = {512, 0, 1024, 130};
static const struct gsb_kernel s11 = {256, 0, 0, 35}, s12 = {256, 0, 0, 230};
static const struct gsb_kernel knn = {256, 8, 0, 3840}, pf = {256, 13, 2048, 463};
static const struct gsb_kernel hs3 = {256, 36, 0, 1024}, bfs = {512, 19, 0, 1954};
static const struct gsb_kernel hs2 = {256, 38, 3072, 1849}, srad = {256, 21, 5120, 16384};
static const struct gsb_kernel lud = {16, 32, 1024, 1}, pfl = {128, 13, 0, 47};

struct golden {
	const char *pair;
	const struct gsb_kernel *k1, *k2;
	uint64_t num, den;
};

static const struct golden table3[] = {
	{"S1-S2, printed 11.25", &s1, &s2, 45, 4},
	{"S3-S4, printed 3.00", &s3, &s4, 3, 1},
	{"S5-S6, printed 2.00", &s5, &s6, 2, 1},
	{"S7-S8, printed 4.00", &s7, &s8, 32, 8},
	{"S9-S10, printed 1.30 for 4/3", &s9, &s10, 4, 3},
	{"S11-S12, printed 1.50", &s11, &s12, 3, 2},
};

/* HS3 is printed as 1.290 = 18/14; with the K40's register unit it is 15/12: doc/model.md. */
static const struct golden table5[] = {
	{"PFL-kNN, printed 1.250", &pfl, &knn, 40, 32},
	{"PFL-PF, printed 1.250", &pfl, &pf, 5, 4},
	{"PFL-HS3, printed 1.290", &pfl, &hs3, 15, 12},
	{"PFL-BFS, printed 1.240", &pfl, &bfs, 41, 33},
	{"PFL-HS2, printed 1.240", &pfl, &hs2, 26, 21},
	{"PFL-SRAD, printed 1.250", &pfl, &srad, 171, 137},
	{"PFL-LUD, printed 1.000", &pfl, &lud, 1, 1},
};

static void check_golden(const struct golden *rows, size_t n, const struct gsb_rules *rules)
{
	for (size_t i = 0; i < n; i++) {
		struct gsb_ratio r = {0, 0};

		assert_int_equal(
			gsb_slowdown(gsb_arch_find("k40"), rules, rows[i].k1, rows[i].k2, &r), 0);
		if (r.num != rows[i].num || r.den != rows[i].den)
			fail_msg("%s: %d/%d, expected %d/%d", rows[i].pair, (int)r.num, (int)r.den,
				 (int)rows[i].num, (int)rows[i].den);
	}
}

static void test_slowdown_paper_rules_give_cruz_table_3(void **state)
{
	check_golden(table3, 6, &gsb_rules_paper);
}

static void test_slowdown_paper_rules_give_cruz_table_5(void **state)
{
	check_golden(table5, 7, &gsb_rules_paper);
}

/* Table 3 cannot tell the placements apart, Table 5 can. */
static void test_slowdown_hardware_rules_agree_on_table_3_only(void **state)
{
	static const struct golden breadth_first[] = {
		{"PFL-kNN", &pfl, &knn, 43, 32},     {"PFL-PF", &pfl, &pf, 6, 4},
		{"PFL-BFS", &pfl, &bfs, 44, 33},     {"PFL-HS2", &pfl, &hs2, 25, 21},
		{"PFL-SRAD", &pfl, &srad, 183, 137}, {"PFL-LUD", &pfl, &lud, 1, 1},
	};

	check_golden(table3, 6, &gsb_rules_hardware);
	check_golden(breadth_first, 6, &gsb_rules_hardware);
}

/* Eq. 3 with the one AllocBl of Algorithm 2: no row but S5-S6 and S11-S12 is what the paper prints. */
static void test_slowdown_printed_rules_give_equation_3_to_the_letter(void **state)
{
	static const struct golden letter[] = {
		{"S1-S2", &s1, &s2, 57, 4},  {"S3-S4", &s3, &s4, 4, 1},
		{"S5-S6", &s5, &s6, 2, 1},   {"S7-S8", &s7, &s8, 39, 8},
		{"S9-S10", &s9, &s10, 4, 3}, {"S11-S12", &s11, &s12, 3, 2},
	};

	check_golden(letter, 6, &gsb_rules_printed);
}

static enum gsb_case case_of(const char *gpu, const struct gsb_rules *rules,
			     const struct gsb_kernel *k1, const struct gsb_kernel *k2)
{
	const struct gsb_kernel kernels[2] = {*k1, *k2};
	struct gsb_coreside cs[2];

	assert_int_equal(gsb_coreside(gsb_arch_find(gpu), rules, kernels, 2, cs), 0);
	return cs[1].when;
}

/* The text says that all sample pairs are Case A; the algorithms as printed say B for every one. */
static void test_coreside_sample_pairs_are_case_a_but_printed_algorithm_says_b(void **state)
{
	const struct golden *tables[2] = {table3, table5};
	const size_t sizes[2] = {6, 7};

	for (int t = 0; t < 2; t++) {
		for (size_t i = 0; i < sizes[t]; i++) {
			const struct golden *g = &tables[t][i];

			assert_int_equal(case_of("k40", &gsb_rules_paper, g->k1, g->k2),
					 GSB_CASE_A);
			assert_int_equal(case_of("k40", &gsb_rules_hardware, g->k1, g->k2),
					 GSB_CASE_A);
			assert_int_equal(case_of("k40", &gsb_rules_printed, g->k1, g->k2),
					 GSB_CASE_B);
		}
	}
}

/* Spin kernels on a real H200: 5 ms together is A, 10 ms one after the other is C, a tail is B. */
static void test_coreside_hardware_rules_agree_with_an_h200(void **state)
{
	static const struct {
		struct gsb_kernel k1, k2;
		enum gsb_case when;
	} measured[] = {
		{{1024, 8, 0, 132}, {1024, 8, 0, 132}, GSB_CASE_A},
		{{1024, 8, 0, 264}, {1024, 8, 0, 132}, GSB_CASE_C},
		{{1024, 8, 0, 396}, {1024, 8, 0, 132}, GSB_CASE_B},
		{{32, 8, 120 << 10, 132}, {32, 8, 120 << 10, 132}, GSB_CASE_C},
		{{32, 8, 120 << 10, 132}, {32, 8, 100 << 10, 132}, GSB_CASE_A},
		{{32, 8, 0, 31 * 132}, {32, 8, 0, 132}, GSB_CASE_A},
		{{32, 8, 0, 32 * 132}, {32, 8, 0, 132}, GSB_CASE_C},
	};

	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
		assert_int_equal(
			case_of("h200", &gsb_rules_hardware, &measured[i].k1, &measured[i].k2),
			measured[i].when);
}

/* k1 120 KB, k2 120 KB, k3 nothing: k3 would fit but stands behind k2; submitted before k2 it runs. */
static void test_coreside_head_of_line_blocks_what_would_fit(void **state)
{
	const struct gsb_kernel big = {32, 8, 120 << 10, 132}, small = {32, 8, 0, 132};
	const struct gsb_kernel behind[3] = {big, big, small}, before[3] = {big, small, big};
	struct gsb_coreside cs[3];

	assert_int_equal(gsb_coreside(gsb_arch_find("h200"), &gsb_rules_hardware, behind, 3, cs),
			 0);
	assert_int_equal(cs[2].resident, 0);
	assert_int_equal(cs[2].when, GSB_CASE_B);
	assert_int_equal(gsb_coreside(gsb_arch_find("h200"), &gsb_rules_hardware, before, 3, cs),
			 0);
	assert_int_equal(cs[1].when, GSB_CASE_A);
	assert_int_equal(cs[1].resident, 132);
	assert_int_equal(cs[2].resident, 0);
}

/* Case B without a remainder: shared memory limits k1 to one block an SM, warps stay free. */
static void test_coreside_exact_rounds_still_leave_a_tail(void **state)
{
	const struct gsb_kernel k1 = {256, 8, 120 << 10, 264}, k2 = {256, 8, 0, 132};

	assert_int_equal(case_of("h200", &gsb_rules_hardware, &k1, &k2), GSB_CASE_B);
	assert_int_equal(case_of("h200", &gsb_rules_printed, &k1, &k2), GSB_CASE_C);
}

/* By the letter a k1 that exactly fills the GPU never leaves room; an H200 runs both at once. */
static void test_coreside_printed_rules_refuse_an_exactly_full_k1(void **state)
{
	const struct gsb_kernel k1 = {32, 8, 120 << 10, 132}, k2 = {32, 8, 100 << 10, 132};

	assert_int_equal(case_of("h200", &gsb_rules_hardware, &k1, &k2), GSB_CASE_A);
	assert_int_equal(case_of("h200", &gsb_rules_printed, &k1, &k2), GSB_CASE_C);
}

/*
 * Eq. 3 where AllocBl is not 0: two blocks of 24 KiB fill the shared memory of each K40 SM, 60 warps
 * stay; k2 of 8 warps: 7 beside, 8 alone. 10 blocks of k1 on 5 SMs: 5 x 7 + 10 x 8 = 115 of 120.
 */
static void test_slowdown_printed_rules_with_room_beside_a_full_k1(void **state)
{
	const struct gsb_kernel k1 = {64, 0, 24576, 10}, k2 = {256, 0, 0, 460};
	const struct gsb_kernel one_more = {256, 0, 0, 461};
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	struct gsb_ratio r;

	assert_int_equal(gsb_slowdown(k40, &gsb_rules_printed, &k1, &k2, &r), 0);
	assert_int_equal(r.num, 4);
	assert_int_equal(r.den, 4);
	assert_int_equal(case_of("k40", &gsb_rules_printed, &k1, &k2), GSB_CASE_A);
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_printed, &k1, &one_more, &r), 0);
	assert_int_equal(r.num, 5);
}

static void test_coreside_takes_as_many_kernels_as_it_says(void **state)
{
	static struct gsb_kernel kernels[GSB_PLACE_KERNELS_MAX + 1];
	static struct gsb_coreside cs[GSB_PLACE_KERNELS_MAX + 1];
	const struct gsb_arch *h200 = gsb_arch_find("h200");

	for (int i = 0; i <= GSB_PLACE_KERNELS_MAX; i++)
		kernels[i] = (struct gsb_kernel){32, 8, 0, 1};
	assert_int_equal(
		gsb_coreside(h200, &gsb_rules_hardware, kernels, GSB_PLACE_KERNELS_MAX, cs), 0);
	assert_int_equal(cs[GSB_PLACE_KERNELS_MAX - 1].resident, 1);
	assert_int_equal(
		gsb_coreside(h200, &gsb_rules_hardware, kernels, GSB_PLACE_KERNELS_MAX + 1, cs),
		-EINVAL);
	assert_int_equal(gsb_coreside(h200, &gsb_rules_hardware, kernels, 0, cs), -EINVAL);
}

static void test_case_with_launch_short_k1_is_case_c(void **state)
{
	assert_int_equal(gsb_case_with_launch(GSB_CASE_A, 4000, 4300), GSB_CASE_C);
	assert_int_equal(gsb_case_with_launch(GSB_CASE_A, 4300, 4300), GSB_CASE_C);
	assert_int_equal(gsb_case_with_launch(GSB_CASE_A, 4301, 4300), GSB_CASE_A);
}

static void test_slowdown_refuses_what_has_no_answer(void **state)
{
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	struct gsb_kernel bad = s1;
	struct gsb_ratio r = {7, 7};

	bad.threads_per_block = 0;
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_paper, &bad, &s2, &r), -EINVAL);
	bad.threads_per_block = 1025;
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_paper, &s1, &bad, &r), -EINVAL);
	bad = s1;
	bad.n_blocks = 0;
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_paper, &s1, &bad, &r), -EINVAL);
	bad = s1;
	bad.smem_bytes = 49153;
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_paper, &s1, &bad, &r), -ENOSPC);
	bad = s1;
	bad.n_blocks = 120;
	assert_int_equal(gsb_slowdown(k40, &gsb_rules_paper, &bad, &s2, &r), -EAGAIN);
	assert_int_equal(r.num, 7);
}

static uint32_t rng_state = 1;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

static struct gsb_kernel random_kernel(void)
{
	return (struct gsb_kernel){1 + rng(1024), rng(2) ? rng(128) : 0, rng(2) ? rng(49152) : 0,
				   1 + rng(400)};
}

static void test_slowdown_limits_no_k1_gives_one_and_more_k1_never_helps(void **state)
{
	const struct gsb_arch *k40 = gsb_arch_find("k40");
	unsigned int compared = 0;

	for (int i = 0; i < 4000; i++) {
		const struct gsb_rules *rules = i % 2 ? &gsb_rules_paper : &gsb_rules_hardware;
		struct gsb_kernel k1 = random_kernel(), k2 = random_kernel();
		struct gsb_ratio less, more;

		k1.n_blocks = 1 + rng(30);
		if (gsb_slowdown(k40, rules, &k1, &k2, &less))
			continue;
		assert_true(less.num >= less.den);
		k1.n_blocks += 1 + rng(5);
		if (gsb_slowdown(k40, rules, &k1, &k2, &more))
			continue;
		assert_int_equal(more.den, less.den);
		assert_true(more.num >= less.num);
		compared++;
	}
	assert_true(compared > 1000);
}

/* Placed blocks never pass any limit of an SM, in either order of filling. */
static void test_coreside_resident_blocks_stay_within_every_limit(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");

	for (int i = 0; i < 2000; i++) {
		const struct gsb_rules *rules = i % 2 ? &gsb_rules_paper : &gsb_rules_hardware;
		struct gsb_sm_array a;
		struct gsb_block_need need[6];
		uint32_t sms = 0;

		gsb_sm_array_init(&a, arch, rules, arch->n_sms);
		for (int k = 0; k < 6; k++) {
			struct gsb_kernel kernel = random_kernel();
			uint64_t fit;

			assert_int_equal(gsb_block_need(arch, &kernel, rules, &need[k]), 0);
			fit = gsb_sm_array_fit(&a, &need[k]);
			kernel.n_blocks = kernel.n_blocks < fit ? kernel.n_blocks : fit;
			assert_int_equal(
				gsb_sm_array_place(&a, &need[k], rules->placement, kernel.n_blocks),
				kernel.n_blocks);
		}
		for (uint32_t g = 0; g < a.n_groups; g++) {
			uint64_t warps = 0, regs = 0, smem = 0, blocks = 0;

			for (int k = 0; k < 6; k++) {
				uint64_t n = a.groups[g].blocks[k];

				warps += n * need[k].warps;
				regs += n ? n * need[k].warps * need[k].regs_per_warp : 0;
				smem += n * need[k].smem_bytes;
				blocks += n;
			}
			assert_in_range(warps, 0, arch->max_warps);
			assert_in_range(regs, 0, arch->regs);
			assert_in_range(smem, 0, arch->smem_bytes);
			assert_in_range(blocks, 0, arch->max_blocks);
			sms += a.groups[g].n_sms;
		}
		assert_int_equal(sms, arch->n_sms);
	}
}

static void test_sm_room_give_undoes_take(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_block_place places[32];
	struct gsb_block_need need[32];
	struct gsb_sm_room room, empty;
	int n = 0;

	gsb_sm_room_init(&room, arch, &gsb_rules_hardware);
	empty = room;
	while (n < 32) {
		struct gsb_kernel k = {32 * (1 + rng(4)), 1 + rng(100), rng(4096), 1};

		assert_int_equal(gsb_block_need(arch, &k, &gsb_rules_hardware, &need[n]), 0);
		if (gsb_sm_room_take(&room, &need[n], &places[n]))
			break;
		n++;
	}
	assert_true(n > 4);
	for (int i = 0; i < n; i++)
		gsb_sm_room_give(&room, &need[i], &places[i]);
	assert_memory_equal(&room, &empty, sizeof(room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slowdown_paper_rules_give_cruz_table_3),
		cmocka_unit_test(test_slowdown_paper_rules_give_cruz_table_5),
		cmocka_unit_test(test_slowdown_hardware_rules_agree_on_table_3_only),
		cmocka_unit_test(test_slowdown_printed_rules_give_equation_3_to_the_letter),
		cmocka_unit_test(
			test_coreside_sample_pairs_are_case_a_but_printed_algorithm_says_b),
		cmocka_unit_test(test_coreside_hardware_rules_agree_with_an_h200),
		cmocka_unit_test(test_coreside_head_of_line_blocks_what_would_fit),
		cmocka_unit_test(test_coreside_exact_rounds_still_leave_a_tail),
		cmocka_unit_test(test_coreside_printed_rules_refuse_an_exactly_full_k1),
		cmocka_unit_test(test_slowdown_printed_rules_with_room_beside_a_full_k1),
		cmocka_unit_test(test_coreside_takes_as_many_kernels_as_it_says),
		cmocka_unit_test(test_case_with_launch_short_k1_is_case_c),
		cmocka_unit_test(test_slowdown_refuses_what_has_no_answer),
		cmocka_unit_test(test_slowdown_limits_no_k1_gives_one_and_more_k1_never_helps),
		cmocka_unit_test(test_coreside_resident_blocks_stay_within_every_limit),
		cmocka_unit_test(test_sm_room_give_undoes_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
