/*
 * test_held_kernels.c - the kernels on which predictions by probes were tested first, which are probes themselves since, do the work that they
 * say: on the emulated device each gives what the CPU finds another way.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/real_kit.h"

#define THREADS (BLOCKS * 256)

static int start(void **state)
{
	real_start("tests/gpu/held_kernels.ptx");
	return 0;
}

static int finish(void **state)
{
	t_device_close(&dev);
	return 0;
}

/* What each thread has found, of `each` words of an item: thread t has words t, t + 256, ... of the block's items. */
static void expect_counts(uint32_t each, uint32_t (*count)(uint32_t at))
{
	uint32_t wanted[THREADS] = {0};

	for (EACH_ITEM(item))
		for (uint32_t i = 0; i < each; i++)
			wanted[item % BLOCKS * 256 + i % 256] += count(item * each + i);
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

static void test_prefix_sums_are_sums_up_to_each_word(void **state)
{
	run("prefix_sums", 256);
	for (uint32_t i = 0, sum = 0; i < ITEMS * 4096; i++) {
		sum = (i % 4096 ? sum : 0) + word[i];
		assert_int_equal(words_out[i], sum);
	}
}

static uint32_t count_bits(uint32_t at)
{
	uint32_t sum = 0;

	for (uint32_t i = 4 * at; i < 4 * at + 4; i++)
		for (int b = 0; b < 32; b++)
			sum += (word[i & MASK] >> b & 1) && (word[(i + N / 4) & MASK] >> b & 1) &&
			       !(word[(i + N / 2) & MASK] >> b & 1);
	return sum;
}

static void test_bitmaps_have_rows_of_two_and_not_of_the_third(void **state)
{
	run("bitmaps", 256);
	expect_counts(2048, count_bits);
}

static void test_dictionary_has_the_value_of_each_code(void **state)
{
	float *wanted = nothing();

	run("dictionary", 256);
	for (uint32_t i = 0; i < 2 * ITEMS * 4096; i++)
		wanted[i] = real[(i % 2 ? word[i / 2] >> 16 : word[i / 2]) & 0xffff];
	expect(wanted);
	free(wanted);
}

static void test_expand_runs_writes_each_as_often_as_it_says(void **state)
{
	uint32_t *wanted = calloc(N, sizeof(*wanted));

	assert_non_null(wanted);
	run("expand_runs", 256);
	for (uint32_t piece = 0; piece < ITEMS * 4; piece++)
		for (uint32_t run = 0, at = piece * 4096; run < 256; run++)
			for (uint32_t k = 0; k <= word[piece * 256 + run] / 268435456; k++)
				wanted[at++] = word[piece * 256 + run];
	assert_memory_equal(words_out, wanted, N * sizeof(*wanted));
	free(wanted);
}

static uint32_t count_places(uint32_t at)
{
	const char *text = (const char *)word;
	uint32_t sum = 0;

	for (uint32_t i = 16 * at; i < 16 * at + 16; i++)
		sum += text[i % (4 * N)] == 'a' && text[(i + 2) % (4 * N)] == 'c';
	return sum;
}

static void test_find_text_finds_all_places(void **state)
{
	uint32_t sum = 0;

	run("find_text", 256);
	expect_counts(4096, count_places);
	for (uint32_t i = 0; i < THREADS; i++)
		sum += words_out[i];
	assert_true(sum > 0);
}

static void test_group_sums_are_of_all_rows(void **state)
{
	uint32_t wanted[65] = {0};

	run("group_sums", 256);
	for (uint32_t i = 0; i < ITEMS * 4096; i++)
		wanted[1 + word[i] / 256 % 64] += word[i] % 256;
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

static int falling(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

static void test_largest_are_the_first_of_all_in_order(void **state)
{
	static uint32_t wanted[8192];

	run("largest", 256);
	for (EACH_ITEM(item)) {
		memcpy(wanted, &word[item * 8192], sizeof(wanted));
		qsort(wanted, 8192, sizeof(*wanted), falling);
		assert_memory_equal(&words_out[item * 8], wanted, 8 * sizeof(*wanted));
	}
}

static uint32_t count_let_through(uint32_t at)
{
	uint32_t bit = word[at & MASK] * 2654435761u;

	for (int k = 0; k < 3; k++) {
		if (!(word[bit / 32 % N] >> bit % 32 & 1))
			return 0;
		bit = (bit ^ bit >> 15) * 0x846ca68bu;
	}
	return 1;
}

static void test_bloom_lets_through_who_has_all_bits(void **state)
{
	run("bloom", 256);
	expect_counts(4096, count_let_through);
}

/* Rows of either side are 16 apart, so only rows of one number can be equal. */
static void test_merge_join_finds_all_equal_keys(void **state)
{
	uint32_t wanted = 0, found = 0;

	run("merge_join", 256);
	for (uint32_t i = 0; i < ITEMS * 1024; i++)
		wanted += word[i] % 16 == word[i + N / 2] % 16;
	for (uint32_t i = 0; i < THREADS; i++)
		found += words_out[i];
	assert_int_equal(found, wanted);
}

static void test_sparse_rows_give_the_product(void **state)
{
	float *wanted = nothing();

	run("sparse_rows", 256);
	for (uint32_t row = 0; row < ITEMS * 512; row++) {
		float p[8];

		for (uint32_t k = 0; k < 8; k++)
			p[k] = real[row * 8 + k] * real[word[row * 8 + k] & MASK];
		wanted[row] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
	}
	expect(wanted);
	free(wanted);
}

/* By the calendar, year by year: a year begins in March. */
static uint32_t date_of(uint32_t at)
{
	static const uint32_t lengths[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31};
	uint32_t days = word[at & MASK] / 4096, year = days / 146097 * 400, month = 0;

	days %= 146097;
	for (;; year++) {
		uint32_t next = year + 1;
		bool leap = next % 4 == 0 && (next % 100 != 0 || next % 400 == 0);

		if (days < (leap ? 366u : 365u))
			break;
		days -= leap ? 366 : 365;
	}
	for (; month < 11 && days >= lengths[month]; month++)
		days -= lengths[month];
	return (year * 12 + month) * 31 + days;
}

static void test_dates_are_those_of_the_calendar(void **state)
{
	run("dates", 256);
	expect_counts(8192, date_of);
}

static void test_automaton_goes_through_its_states(void **state)
{
	uint32_t wanted[THREADS] = {0};

	run("automaton", 256);
	for (EACH_ITEM(item))
		for (uint32_t t = 0; t < 256; t++)
			for (uint32_t c = 0, now = 0; c < 128; c++) {
				uint32_t text = word[(item * 4096 + c / 8 * 256 + t) & MASK];

				now = word[now * 16 + text / (1u << 4 * (c % 8)) % 16] % 32;
				wanted[item % BLOCKS * 256 + t] += !now;
			}
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

static void test_every_held_kernel_stops_when_told_to(void **state)
{
#define REAL(name, threads, l2, dram) run_stopped(#name, threads);
#include "tests/gpu/held_kernels.def"
#undef REAL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix_sums_are_sums_up_to_each_word),
		cmocka_unit_test(test_bitmaps_have_rows_of_two_and_not_of_the_third),
		cmocka_unit_test(test_dictionary_has_the_value_of_each_code),
		cmocka_unit_test(test_expand_runs_writes_each_as_often_as_it_says),
		cmocka_unit_test(test_find_text_finds_all_places),
		cmocka_unit_test(test_group_sums_are_of_all_rows),
		cmocka_unit_test(test_largest_are_the_first_of_all_in_order),
		cmocka_unit_test(test_bloom_lets_through_who_has_all_bits),
		cmocka_unit_test(test_merge_join_finds_all_equal_keys),
		cmocka_unit_test(test_sparse_rows_give_the_product),
		cmocka_unit_test(test_dates_are_those_of_the_calendar),
		cmocka_unit_test(test_automaton_goes_through_its_states),
		cmocka_unit_test(test_every_held_kernel_stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
