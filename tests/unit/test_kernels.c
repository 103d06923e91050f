/*
 * test_kernels.c - kernels from words and tables: what is read, and where what is wrong is said to be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model/input/kernels.h"

static int parse_table(const char *text, struct gsb_kernel_row *rows, size_t max, size_t *n,
		       struct gsb_text_error *err)
{
	return gsb_kernel_table_parse(text, strlen(text), rows, max, n, err);
}

static void test_kernel_row_takes_every_key(void **state)
{
	char text[] = "name=A, threads=256,regs=33,smem=1024,blocks=5000000000,smem_per_thread=4,"
		      "min_threads=64,max_threads=512,fixed=yes,issue=0.25,bandwidth=1,l2=.75,"
		      "alu=.125,requests=.375,"
		      "saturation=.5,solo_us=12.5,curve=0.25:0.5/1:0.95,rest=1:1";
	struct gsb_kernel_row row = {0};
	struct gsb_text_error err;

	assert_int_equal(gsb_kernel_row_set_all(&row, text, 1, &err), 0);
	assert_int_equal(gsb_kernel_row_check(&row, 1, &err), 0);
	assert_string_equal(row.name, "A");
	assert_int_equal(row.plan.range.kernel.threads_per_block, 256);
	assert_true(row.plan.range.kernel.n_blocks == 5000000000);
	assert_int_equal(row.plan.range.max_threads, 512);
	assert_true(row.plan.fixed);
	assert_true(row.demand.of.units[GSB_UNIT_ISSUE] == 0.25);
	assert_true(row.demand.of.units[GSB_UNIT_DRAM] == 1);
	assert_true(row.demand.of.units[GSB_UNIT_L2] == 0.75);
	assert_true(row.demand.of.units[GSB_UNIT_ALU] == 0.125);
	assert_true(row.demand.of.units[GSB_UNIT_REQUESTS] == 0.375);
	assert_true(row.demand.saturation == 0.5 && row.demand.solo_ns == 12500);
	assert_int_equal(row.held.n, 2);
	assert_true(row.held.points[1].speed == 0.95);
	assert_int_equal(row.rest.n, 1);
}

static void test_kernel_row_keys_are_all_known(void **state)
{
	char keys[512], *at = keys, *key;
	struct gsb_kernel_row row = {0};
	struct gsb_text_error err;

	strcpy(keys, gsb_kernel_keys);
	while ((key = strsep(&at, " "))) {
		gsb_kernel_row_set(&row, key, "?", 1, &err);
		assert_null(strstr(err.what, "unknown"));
	}
}

static void test_kernel_table_reads_columns_in_any_order(void **state)
{
	struct gsb_kernel_row rows[4];
	struct gsb_text_error err;
	size_t n = 0;

	assert_int_equal(parse_table("# two kernels\nblocks threads\tname  regs\n\n"
				     "110 256 S1 -\n450 256 S2 20 # k2\n",
				     rows, 4, &n, &err),
			 0);
	assert_int_equal(n, 2);
	assert_string_equal(rows[1].name, "S2");
	assert_int_equal(rows[0].plan.range.kernel.regs_per_thread, 0);
	assert_int_equal(rows[1].plan.range.kernel.regs_per_thread, 20);
	assert_int_equal(rows[1].plan.range.kernel.n_blocks, 450);
}

static void test_kernel_table_faults_name_line_and_reason(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *reason;
	} cases[] = {
		{"", 0, "empty"},
		{"threads blocks\n", 0, "no kernel"},
		{"threads blocks\n32 10\n32\n", 3, "no cell for column 'blocks'"},
		{"threads blocks\n32 10 4\n", 2, "more cells"},
		{"threads blocks reg\n32 10 4\n", 2, "unknown key 'reg'"},
		{"threads blocks threads\n", 1, "twice"},
		{"threads\n32\n", 2, "blocks (of the grid) not given"},
		{"threads blocks\n0 1\n", 2, "threads = '0'"},
		{"threads blocks\n-1 1\n", 2, "whole number"},
		{"threads blocks issue\n1 1 1.5\n", 2, "from 0 to 1"},
		{"threads blocks issue\n1 1 nan\n", 2, "from 0 to 1"},
		{"threads blocks curve\n1 1 0.5:1/0.25:1\n", 2, "must rise"},
		{"threads blocks curve\n1 1 0.5\n", 2, "FRACTION:SPEED"},
		{"threads blocks fixed\n1 1 maybe\n", 2, "yes or no"},
		{"threads blocks\n1 1\n2 2\n3 3\n4 4\n5 5\n", 6, "more than 4"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gsb_text_error err = {.line = 77};
		struct gsb_kernel_row rows[4];
		size_t n = 77;

		assert_int_equal(parse_table(cases[i].text, rows, 4, &n, &err), -EINVAL);
		assert_int_equal(err.line, cases[i].line);
		if (!strstr(err.what, cases[i].reason))
			fail_msg("'%s' does not say '%s'", err.what, cases[i].reason);
		assert_int_equal(n, 77);
	}
}

static void test_kernel_table_mutations_are_read_or_refused(void **state)
{
	static const char seed[] = "name threads blocks regs issue curve\n"
				   "A 256 100 32 0.5 0.25:0.5/1:1\nB 128 7 - - -\n";
	unsigned int rng = 99, accepted = 0;

	for (int i = 0; i < 20000; i++) {
		char text[sizeof(seed)];
		struct gsb_kernel_row rows[3];
		struct gsb_text_error err;
		size_t n;

		memcpy(text, seed, sizeof(seed));
		for (int k = 0; k < 2; k++) {
			rng = rng * 1103515245 + 12345;
			text[(rng >> 8) % (sizeof(seed) - 1)] = (char)(rng >> 24);
		}
		if (gsb_kernel_table_parse(text, sizeof(seed) - 1, rows, 3, &n, &err))
			continue;
		accepted++;
		for (size_t r = 0; r < n; r++)
			assert_int_equal(gsb_kernel_row_check(&rows[r], 1, &err), 0);
	}
	assert_in_range(accepted, 1, 19999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_row_takes_every_key),
		cmocka_unit_test(test_kernel_row_keys_are_all_known),
		cmocka_unit_test(test_kernel_table_reads_columns_in_any_order),
		cmocka_unit_test(test_kernel_table_faults_name_line_and_reason),
		cmocka_unit_test(test_kernel_table_mutations_are_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
