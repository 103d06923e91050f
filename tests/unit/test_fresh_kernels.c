/*
 * test_fresh_kernels.c - the kernels on which predictions by probes are tested do the work that they say: on the emulated device each
 * gives what the CPU finds another way.
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
	real_start("tests/gpu/fresh_kernels.ptx");
	return 0;
}

static int finish(void **state)
{
	t_device_close(&dev);
	return 0;
}

static uint32_t *some_words(void)
{
	uint32_t *wanted = calloc(N, sizeof(*wanted));

	assert_non_null(wanted);
	return wanted;
}

static void expect_words(uint32_t *wanted)
{
	for (uint32_t i = 0; i < N; i++)
		if (wanted[i] != words_out[i])
			fail_msg("%u: %#x, not %#x", i, words_out[i], wanted[i]);
	free(wanted);
}

/* A bit of a row, of n; some are set and some are not. */
static void expect_bits(uint32_t n, bool (*is_set)(uint32_t row))
{
	uint32_t *wanted = some_words(), set = 0;

	for (uint32_t i = 0; i < n; i++)
		if (is_set(i)) {
			wanted[i / 32] |= 1u << i % 32;
			set++;
		}
	assert_in_range(set, n / 50, n - n / 50);
	expect_words(wanted);
}

static uint32_t hash_of(uint32_t x)
{
	x = (x ^ x / 32768) * 0x2c1b3c6du;
	x = (x ^ x / 4096) * 0x297a2d39u;
	return x ^ x / 32768;
}

static int falling(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

static void test_running_sums_begin_anew_with_each_partition(void **state)
{
	uint32_t *wanted = some_words(), sum = 0, rows = 0, n_begun = 0;

	run("running_sums", 256);
	for (uint32_t i = 0; i < ITEMS * 4096; i++) {
		if (word[i] % 64 == 0 || i % 4096 == 0) {
			sum = rows = 0;
			n_begun++;
		}
		wanted[2 * i] = sum += word[i] / 1048576;
		wanted[2 * i + 1] = ++rows;
	}
	assert_in_range(n_begun, ITEMS * 32, ITEMS * 128);
	expect_words(wanted);
}

static void test_heap_top_has_the_ten_largest_of_each_thread(void **state)
{
	run("heap_top", 256);
	for (uint32_t i = 0; i < ITEMS * 256; i++) {
		uint32_t rows[64], found[10], item = i / 256, t = i % 256;

		for (uint32_t k = 0; k < 64; k++)
			rows[k] = word[item * 16384 + k * 256 + t];
		for (uint32_t k = 0; k < 10; k++)
			found[k] = words_out[item * 2560 + k * 256 + t];
		assert_true(found[0] <= found[1] && found[0] <= found[2]);
		qsort(rows, 64, sizeof(*rows), falling);
		qsort(found, 10, sizeof(*found), falling);
		assert_memory_equal(rows, found, sizeof(found));
	}
	for (uint32_t i = ITEMS * 2560; i < N; i++)
		assert_int_equal(words_out[i], 0);
}

/* By trying each place for what a % stands for. */
static bool fits(const char *pattern, const unsigned char *text, uint32_t length)
{
	if (!*pattern)
		return !length;
	if (*pattern == '%')
		return fits(pattern + 1, text, length) ||
		       (length && fits(pattern, text + 1, length - 1));
	return length && (*pattern == '_' || *pattern == "abcd"[*text % 4]) &&
	       fits(pattern + 1, text + 1, length - 1);
}

static uint32_t offset_of(uint32_t string)
{
	return 16 * string + word[N / 2 + string] % 16;
}

static bool is_like(uint32_t row)
{
	return fits("%ab_c%da%", (const unsigned char *)word + offset_of(row),
		    offset_of(row + 1) - offset_of(row));
}

static void test_like_finds_who_fits_the_pattern(void **state)
{
	run("like", 256);
	expect_bits(ITEMS * 1024, is_like);
}

/* Byte by byte. */
static uint32_t fourth_field(const unsigned char *record)
{
	bool in_string = false;
	int depth = 0, commas = 0;

	for (uint32_t at = 0; at < 1024; at++) {
		unsigned char c = record[at];

		if (c < 16)
			in_string = !in_string;
		else if (in_string)
			continue;
		else if (c < 24)
			depth++;
		else if (c < 32)
			depth--;
		else if (c < 48 && depth == 0 && ++commas == 3)
			return at + 1;
	}
	return 1024;
}

static void test_json_field_finds_where_it_begins(void **state)
{
	uint32_t *wanted = some_words(), n_without = 0;

	run("json_field", 256);
	for (uint32_t i = 0; i < ITEMS * 32; i++) {
		wanted[i] = fourth_field((const unsigned char *)&word[256 * i]);
		n_without += wanted[i] == 1024;
	}
	assert_in_range(n_without, 1, ITEMS * 16);
	expect_words(wanted);
}

/* Bit by bit. */
static uint32_t bits_at(uint32_t from, uint32_t n)
{
	uint32_t code = 0;

	for (uint32_t b = 0; b < n; b++)
		code |= (word[(from + b) / 32] >> (from + b) % 32 & 1) << b;
	return code;
}

static void test_delta_decode_adds_up_differences(void **state)
{
	uint32_t *wanted = some_words();

	run("delta_decode", 256);
	for (uint32_t block = 0; block < ITEMS * 128; block++) {
		uint32_t at = 48 * block + word[block + N / 2] % 16, value = word[at],
			 bit = 32 * (at + 2);

		for (uint32_t i = 0; i < 128; i++) {
			uint32_t width = bits_at(32 * (at + 1) + i / 32 * 4, 4) + 1,
				 code = bits_at(bit, width);

			value += code % 2 ? ~(code / 2) : code / 2;
			wanted[128 * block + i] = value;
			bit += width;
		}
	}
	expect_words(wanted);
}

struct text {
	const unsigned char *bytes;
	uint32_t length;
};

static struct text text_of(uint32_t string)
{
	uint32_t at = 16 * string + word[string] % 16;

	return (struct text){(const unsigned char *)real + at,
			     16 * string + 16 + word[string + 1] % 16 - at};
}

/* The first string that is the same: of those that are equal it stands for all. */
static uint32_t first_of(uint32_t string)
{
	struct text s = text_of(string);

	for (uint32_t i = 0;; i++)
		if (text_of(i).length == s.length && !memcmp(text_of(i).bytes, s.bytes, s.length))
			return i;
}

static void test_string_groups_counts_and_sums_each_once(void **state)
{
	run("string_groups", 256);
	for (EACH_ITEM(item)) {
		const uint32_t *table = &words_out[item * 1536];
		uint32_t counts[256] = {0}, sums[256] = {0};

		for (uint32_t i = 0; i < 1024; i++) {
			uint32_t row = word[item * 1024 + i], group = first_of(row % 256);

			counts[group]++;
			sums[group] += row / 1048576;
		}
		for (uint32_t i = 0; i < 512; i++) {
			uint32_t group;

			if (!table[i]) {
				assert_int_equal(table[512 + i] | table[1024 + i], 0);
				continue;
			}
			group = first_of(table[i] - 1);
			assert_int_equal(table[512 + i], counts[group]);
			assert_int_equal(table[1024 + i], sums[group]);
			counts[group] = 0;
		}
		for (uint32_t i = 0; i < 256; i++)
			assert_int_equal(counts[i], 0);
	}
}

static void corner(uint32_t i, double c[2])
{
	double along = i % 12 / 12.0, deep = 0.3 * (double)real[i];
	const double corners[4][2] = {
		{along, deep}, {1 - deep, along}, {1 - along, 1 - deep}, {deep, 1 - along}};

	memcpy(c, corners[i / 12], sizeof(corners[0]));
}

/* By where on its way to the right it would cross each edge. */
static bool is_inside(uint32_t row)
{
	double x = real[2 * row], y = real[2 * row + 1], a[2], b[2];
	bool inside = false;

	for (uint32_t i = 0; i < 48; i++) {
		corner(i, a);
		corner((i + 1) % 48, b);
		if ((a[1] > y) != (b[1] > y) &&
		    a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) > x)
			inside = !inside;
	}
	return inside;
}

static void test_in_polygon_finds_who_is_inside(void **state)
{
	run("in_polygon", 256);
	expect_bits(ITEMS * 2048, is_inside);
}

/* Of 8,192 rows each 32 have a word in each of sixteen planes. */
static bool is_between(uint32_t row)
{
	const uint32_t *planes = &word[row / 8192 * 4096 + row % 8192 / 32];
	uint32_t code = 0;

	for (uint32_t b = 0; b < 16; b++)
		code = 2 * code + (planes[b * 256] >> row % 32 & 1);
	return code >= 20000 && code < 46000;
}

static void test_bit_slices_finds_who_is_between(void **state)
{
	run("bit_slices", 256);
	expect_bits(ITEMS * 4 * 8192, is_between);
}

static int falling_numbers(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x < y) - (x > y);
}

static void test_quantiles_are_within_one_per_cent(void **state)
{
	static const uint32_t ranks[4] = {82, 819, 4096, 7373};

	run("quantiles", 256);
	for (EACH_ITEM(item)) {
		float rows[8192];

		memcpy(rows, &real[item * 8192], sizeof(rows));
		qsort(rows, 8192, sizeof(*rows), falling_numbers);
		for (uint32_t q = 0; q < 4; q++)
			assert_true(fabs((double)out[item * 4 + q] / (double)rows[ranks[q]] - 1) <
				    0.01);
	}
	for (uint32_t i = ITEMS * 4; i < N; i++)
		assert_int_equal(words_out[i], 0);
}

/* What the first of four has that agrees in two bits; -1: none does. */
static int32_t found_in(uint32_t from, uint32_t buckets, uint32_t key)
{
	const uint32_t *bucket = &word[4 * ((from + hash_of(key) % buckets) % (N / 4))];

	for (uint32_t i = 0; i < 4; i++)
		if (bucket[i] / 1073741824 == key / 1073741824)
			return (int32_t)(bucket[i] % 4096);
	return -1;
}

static void test_star_probe_joins_who_is_in_all_three(void **state)
{
	uint32_t *wanted = some_words(), n = 0;

	run("star_probe", 256);
	for (uint32_t i = 0; i < ITEMS * 2048; i++) {
		int32_t one = found_in(N / 32, 4096, word[i]),
			two = found_in(N / 16, 65536, word[i + N / 4]);
		int32_t three = found_in(N / 8, N / 4, word[i + N / 2]);

		if (one < 0 || two < 0 || three < 0)
			continue;
		wanted[i / 2048 % BLOCKS * 256 + i % 256] += (uint32_t)(one + two + three);
		n++;
	}
	assert_in_range(n, ITEMS * 2048 / 4, ITEMS * 2048 / 2);
	expect_words(wanted);
}

static void test_outer_flags_are_of_both_sides(void **state)
{
	uint32_t *wanted = some_words(), n = 0;

	run("outer_flags", 256);
	for (uint32_t i = 0; i < ITEMS * 2048; i++) {
		uint32_t at = hash_of(word[i]) % N;

		if (word[at] / 2147483648u == word[i] / 2147483648u) {
			((unsigned char *)wanted)[at] = 1;
			n++;
		} else {
			wanted[N / 2 + i / 32] |= 1u << i % 32;
		}
	}
	assert_in_range(n, ITEMS * 900, ITEMS * 1150);
	expect_words(wanted);
}

/* In two passes: means, then what is over them. */
static void test_regression_is_the_line_of_least_squares(void **state)
{
	run("regression", 256);
	for (EACH_ITEM(item)) {
		const float *x = &real[item * 8192], *y = x + N / 2;
		double mean_x = 0, mean_y = 0, xx = 0, xy = 0, slope;

		for (uint32_t i = 0; i < 8192; i++) {
			mean_x += (double)x[i] / 8192;
			mean_y += (double)y[i] / 8192;
		}
		for (uint32_t i = 0; i < 8192; i++) {
			xx += (x[i] - mean_x) * (x[i] - mean_x);
			xy += (x[i] - mean_x) * (y[i] - mean_y);
		}
		slope = xy / xx;
		assert_true(fabs((double)out[2 * item] - slope) < 1e-6);
		assert_true(fabs((double)out[2 * item + 1] - (mean_y - slope * mean_x)) < 1e-6);
	}
	for (uint32_t i = ITEMS * 2; i < N; i++)
		assert_int_equal(words_out[i], 0);
}

static void test_every_fresh_kernel_stops_when_told_to(void **state)
{
	static const char *const kernels[] = {
#define REAL(name, threads, l2, dram) #name,
#include "tests/gpu/fresh_kernels.def"
#undef REAL
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		run_stopped(kernels[i], 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_sums_begin_anew_with_each_partition),
		cmocka_unit_test(test_heap_top_has_the_ten_largest_of_each_thread),
		cmocka_unit_test(test_like_finds_who_fits_the_pattern),
		cmocka_unit_test(test_json_field_finds_where_it_begins),
		cmocka_unit_test(test_delta_decode_adds_up_differences),
		cmocka_unit_test(test_string_groups_counts_and_sums_each_once),
		cmocka_unit_test(test_in_polygon_finds_who_is_inside),
		cmocka_unit_test(test_bit_slices_finds_who_is_between),
		cmocka_unit_test(test_quantiles_are_within_one_per_cent),
		cmocka_unit_test(test_star_probe_joins_who_is_in_all_three),
		cmocka_unit_test(test_outer_flags_are_of_both_sides),
		cmocka_unit_test(test_regression_is_the_line_of_least_squares),
		cmocka_unit_test(test_every_fresh_kernel_stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
