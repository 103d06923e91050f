/*
 * test_late_kernels.c - the kernels on which predictions by probes were tested second, which are probes themselves since, do the work that they
 * say: on the emulated device each gives what the CPU finds another way.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/real_kit.h"

#define THREADS (BLOCKS * 256)

static int start(void **state)
{
	real_start("tests/gpu/late_kernels.ptx");
	return 0;
}

static int finish(void **state)
{
	t_device_close(&dev);
	return 0;
}

/* What each thread has found, of `each` rows of an item: thread t has rows t, t + 256, ... of the block's items. */
static void expect_counts(uint32_t each, uint32_t (*count)(uint32_t at))
{
	uint32_t wanted[THREADS] = {0};

	for (EACH_ITEM(item))
		for (uint32_t i = 0; i < each; i++)
			wanted[item % BLOCKS * 256 + i % 256] += count(item * each + i);
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

/* All rows together. */
static uint32_t found(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		sum += words_out[i];
	return sum;
}

static uint32_t hash_of(uint32_t x)
{
	x = (x ^ x / 32768) * 0x2c1b3c6du;
	x = (x ^ x / 4096) * 0x297a2d39u;
	return x ^ x / 32768;
}

/* One text after the other, of which each is where the one before it ends. */
static void test_string_hash_is_that_of_each_string(void **state)
{
	const unsigned char *text = (const unsigned char *)real;
	uint32_t *wanted = calloc(N, sizeof(*wanted)), at = word[0] % 16;

	assert_non_null(wanted);
	run("string_hash", 256);
	for (uint32_t i = 0; i < ITEMS * 2048; i++) {
		uint32_t end = 16 * (i + 1) + word[i + 1] % 16;

		for (wanted[i] = 0x811c9dc5; at < end; at++)
			wanted[i] = (wanted[i] ^ text[at]) * 0x01000193;
	}
	assert_memory_equal(words_out, wanted, N * sizeof(*wanted));
	free(wanted);
}

static void test_decimals_are_products_over_a_million(void **state)
{
	uint64_t *wanted = calloc(N / 2, sizeof(*wanted));

	assert_non_null(wanted);
	run("decimals", 256);
	for (uint32_t i = 0; i < ITEMS * 4096; i++) {
		uint64_t of[2];

		memcpy(of, &word[4 * i], sizeof(of));
		wanted[i] = (uint64_t)(((unsigned __int128)of[0] * of[1] + 500000) / 1000000);
	}
	assert_memory_equal(words_out, wanted, N * 4);
	free(wanted);
}

/* Bit by bit. */
static void test_unpack_bits_gives_each_code(void **state)
{
	uint32_t *wanted = calloc(N, sizeof(*wanted));

	assert_non_null(wanted);
	run("unpack_bits", 256);
	for (uint32_t bit = 0; bit < ITEMS * 16384 * 11; bit++)
		wanted[bit / 11] |= (word[bit / 32] >> bit % 32 & 1) << bit % 11;
	assert_memory_equal(words_out, wanted, N * sizeof(*wanted));
	free(wanted);
}

/* A band that goes on behind the largest word begins again at 0. */
static void test_band_join_finds_who_is_within(void **state)
{
	uint32_t wanted = 0;

	run("band_join", 256);
	for (uint32_t tile = 0; tile < ITEMS * 4; tile++)
		for (uint32_t i = tile * 128; i < (tile + 1) * 128; i++)
			for (uint32_t j = tile * 512; j < (tile + 1) * 512; j++) {
				uint64_t from = word[i];
				uint64_t to = from + (uint64_t)(real[i] * 268435456.0f);
				uint64_t other = word[j + N / 2];

				wanted += (other >= from && other <= to) ||
					  other + (1ull << 32) <= to;
			}
	assert_true(wanted > 0);
	assert_int_equal(found(), wanted);
}

static void test_sketch_has_the_longest_of_each_part(void **state)
{
	uint32_t wanted[1024] = {0};

	run("sketch", 256);
	for (uint32_t i = 0; i < ITEMS * 16384; i++) {
		uint32_t hash = hash_of(word[i]), length = 1;

		while (length < 23 && !(hash >> (32 - length) & 1))
			length++;
		if (length > wanted[hash % 1024])
			wanted[hash % 1024] = length;
	}
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

/* By whole numbers: those of the array have 24 bits behind the point. Each that comes or goes rounds by 2^-19 at most. */
static void test_moving_average_is_that_of_64(void **state)
{
	run("moving_average", 256);
	for (uint32_t i = 0; i < N; i++) {
		uint64_t sum = 0;

		for (uint32_t j = i; j < i + 64; j++)
			sum += (uint64_t)((double)real[j & MASK] * 16777216);
		if (i < ITEMS * 8192)
			assert_true(fabs(out[i] - (double)sum / 16777216 / 64) < 80 * 0x1p-19 / 64);
		else
			assert_int_equal(words_out[i], 0);
	}
}

static uint32_t count_housed(uint32_t at)
{
	uint32_t key = word[at & MASK], hash = hash_of(key);

	return word[hash / 8 % N] / 16777216 == key / 16777216 ||
	       word[hash * 2654435761u / 32 % N] / 16777216 == key / 16777216;
}

static void test_cuckoo_probe_finds_who_is_in_either_place(void **state)
{
	run("cuckoo_probe", 256);
	expect_counts(1536, count_housed);
	assert_true(found() > 0);
}

static int rising(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void test_bitonic_sort_orders_each_thousand(void **state)
{
	uint32_t *wanted = calloc(N, sizeof(*wanted));

	assert_non_null(wanted);
	run("bitonic_sort", 256);
	memcpy(wanted, word, ITEMS * 2048 * sizeof(*wanted));
	for (uint32_t i = 0; i < ITEMS * 2; i++)
		qsort(&wanted[i * 1024], 1024, sizeof(*wanted), rising);
	assert_memory_equal(words_out, wanted, N * sizeof(*wanted));
	free(wanted);
}

/* By the angle between two directions. */
static double distance(const float from[2], const float to[2])
{
	const double pi = 3.14159265358979, a = (from[0] - 0.5) * pi, b = (to[0] - 0.5) * pi;
	double east = (to[1] - (double)from[1]) * 2 * pi;
	double x = cos(b) * sin(east), y = cos(a) * sin(b) - sin(a) * cos(b) * cos(east);

	return atan2(hypot(x, y), sin(a) * sin(b) + cos(a) * cos(b) * cos(east));
}

static void test_distances_are_those_on_a_globe(void **state)
{
	double wanted[THREADS] = {0};

	run("distances", 256);
	for (EACH_ITEM(item))
		for (uint32_t i = 0; i < 31 * 256; i++)
			wanted[item % BLOCKS * 256 + i % 256] += distance(
				&real[2 * (item * 8192 + i)], &real[2 * (item * 8192 + i + 256)]);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_true(fabs((double)out[i] / wanted[i] - 1) < 1e-4);
}

/* Keys rise by sixteen and some, so only one can be equal. */
static uint32_t count_in_tree(uint32_t at)
{
	uint32_t key = word[at & MASK] / 8 % (8 * N);

	return 16 * (key / 16) + 8 + word[key / 16] % 8 == key;
}

static void test_tree_lookup_finds_all_keys_that_are_there(void **state)
{
	run("tree_lookup", 256);
	expect_counts(1024, count_in_tree);
	assert_true(found() > 0);
}

static void test_distinct_counts_are_of_all_rows(void **state)
{
	uint32_t wanted[512] = {0};

	run("distinct_counts", 256);
	for (uint32_t i = 0; i < ITEMS * 512; i++)
		wanted[hash_of(word[i]) / 8388608]++;
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

/* Of all the text, number by number; it begins behind its end. */
static void test_parse_numbers_takes_each_once(void **state)
{
	const unsigned char *text = (const unsigned char *)word;
	uint32_t wanted[THREADS] = {0};

	run("parse_numbers", 256);
	for (uint32_t at = 0; at < ITEMS * 16384; at++) {
		uint32_t piece = at / 32, value = 0;

		if (text[at] >= 224 || text[(at - 1) % (4 * N)] < 224)
			continue;
		for (; text[at] < 224; at++)
			value = value * 10 + text[at] % 10;
		wanted[piece / 512 % BLOCKS * 256 + piece % 256] += value;
	}
	assert_memory_equal(words_out, wanted, sizeof(wanted));
}

static void test_every_late_kernel_stops_when_told_to(void **state)
{
#define REAL(name, threads, l2, dram) run_stopped(#name, threads);
#include "tests/gpu/late_kernels.def"
#undef REAL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string_hash_is_that_of_each_string),
		cmocka_unit_test(test_decimals_are_products_over_a_million),
		cmocka_unit_test(test_unpack_bits_gives_each_code),
		cmocka_unit_test(test_band_join_finds_who_is_within),
		cmocka_unit_test(test_sketch_has_the_longest_of_each_part),
		cmocka_unit_test(test_moving_average_is_that_of_64),
		cmocka_unit_test(test_cuckoo_probe_finds_who_is_in_either_place),
		cmocka_unit_test(test_bitonic_sort_orders_each_thousand),
		cmocka_unit_test(test_distances_are_those_on_a_globe),
		cmocka_unit_test(test_tree_lookup_finds_all_keys_that_are_there),
		cmocka_unit_test(test_distinct_counts_are_of_all_rows),
		cmocka_unit_test(test_parse_numbers_takes_each_once),
		cmocka_unit_test(test_every_late_kernel_stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
