/*
 * test_bench_device.c - what `gsb-bench device` makes of its rounds (tools/bench/series.h), and what it says that they are of (about.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench/about.h"
#include "tools/bench/series.h"

static struct gsb_series series_of(const double *v, unsigned n)
{
	struct gsb_series s = {0};

	for (unsigned i = 0; i < n; i++)
		gsb_series_add(&s, v[i]);
	gsb_series_sort(&s);
	return s;
}

static void test_series_median_of_an_odd_number_is_the_middle_one(void **state)
{
	static const double v[] = {9, 1, 2};
	struct gsb_series s = series_of(v, 3);

	assert_true(gsb_series_median(&s) == 2);
	assert_true(s.v[0] == 1 && s.v[2] == 9);
}

static void test_series_median_of_an_even_number_is_the_mean_of_two(void **state)
{
	static const double v[] = {8, 1, 100, 4};
	struct gsb_series s = series_of(v, 4), two = series_of(v, 2);

	assert_true(gsb_series_median(&s) == 6);
	assert_true(gsb_series_median(&two) == 4.5);
}

static void test_series_median_of_none_is_0(void **state)
{
	struct gsb_series s = {0};

	assert_true(gsb_series_median(&s) == 0);
}

static void test_series_add_beyond_the_most_is_left_out(void **state)
{
	struct gsb_series s = {0};

	for (int i = 0; i < GSB_SERIES_MAX + 5; i++)
		gsb_series_add(&s, i);
	assert_int_equal(s.n, GSB_SERIES_MAX);
	assert_true(s.v[GSB_SERIES_MAX - 1] == GSB_SERIES_MAX - 1);
}

static void test_bench_query_ms_of_a_line_is_the_whole_querys(void **state)
{
	assert_true(gsb_bench_query_ms("{\"query\": \"q1\", \"wall_ms\": 2.5, \"best_wall_ms\": 1, "
				       "\"phases\": {\"read\": {\"wall_ms\": 7}}}") == 2.5);
	assert_true(gsb_bench_query_ms("{\"best_wall_ms\": 3}") == 0);
	assert_true(gsb_bench_query_ms("{\"wall_ms\": -1}") == 0);
	assert_true(gsb_bench_query_ms("") == 0);
}

static void test_bench_rate_of_programs_is_the_sum_unless_one_failed(void **state)
{
	static const double all[] = {100, 200, 500}, some[] = {100, 0, 500};

	assert_true(gsb_bench_rate(all, 3) == 17);
	assert_true(gsb_bench_rate(some, 3) == 0);
}

static void assert_driver(const char *line, const char *wanted)
{
	char out[32] = "?";

	gsb_about_driver(line, out, sizeof(out));
	assert_string_equal(out, wanted);
}

static void test_about_driver_of_either_module_is_its_version(void **state)
{
	assert_driver(
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct 14 2025\n",
		"580.159.04");
	assert_driver("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release",
		      "580.65.06");
	assert_driver("NVRM version: 64 none\n", "");
	assert_driver("", "");
}

static void test_about_begin_has_the_command_and_the_time(void **state)
{
	char *argv[] = {(char *)"gsb-bench device", (char *)"--rounds", (char *)"5", NULL};
	struct gsb_about a;

	gsb_about_begin(&a, 3, argv);
	assert_string_equal(a.command, "gsb-bench device --rounds 5");
	assert_int_equal(strlen(a.time), strlen("2026-01-01T00:00:00Z"));
	assert_int_equal(a.time[19], 'Z');
	assert_string_equal(a.gpu, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series_median_of_an_odd_number_is_the_middle_one),
		cmocka_unit_test(test_series_median_of_an_even_number_is_the_mean_of_two),
		cmocka_unit_test(test_series_median_of_none_is_0),
		cmocka_unit_test(test_series_add_beyond_the_most_is_left_out),
		cmocka_unit_test(test_bench_query_ms_of_a_line_is_the_whole_querys),
		cmocka_unit_test(test_bench_rate_of_programs_is_the_sum_unless_one_failed),
		cmocka_unit_test(test_about_driver_of_either_module_is_its_version),
		cmocka_unit_test(test_about_begin_has_the_command_and_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
