/*
 * test_emu_db.c - the sample database's kernels on the interpreter: hash join from histogram to output,
 * MD5, matrix product, distances. What the whole program does with them is its own tests' business.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/emu_harness.h"

#define PTX(name) "examples/gpu_db/ptx/" name ".ptx"

static void run(struct t_gpu *g, const struct t_launch *l)
{
	if (t_launch(g, l))
		fail_msg("%s", g->fault.text);
}

/* ---- hash join ---- */

enum { ROWS = 700, MASK = 63, THREADS = 4 * 32, CELLS = (MASK + 1) * THREADS, TILE = 256 };

struct join {
	struct t_gpu g;
	uint32_t *key, *val, *hist, *start, *table_key, *table_val;
	uint32_t *probe, *count, *offset;
};

/* Exclusive prefix sums by the kernels for them; longer than a tile by way of the tiles' sums. */
static void scan(struct t_gpu *g, uint32_t *in, uint32_t *out, uint32_t n)
{
	uint32_t tiles = (n + TILE - 1) / TILE, *sums = t_alloc(g, 4 * tiles),
		 *none = t_alloc(g, 4);
	uint32_t *before = t_alloc(g, 4 * tiles);

	run(g, &(struct t_launch){.kernel = "scan_tiles",
				  .grid = {tiles},
				  .block = {TILE / 2},
				  .smem_bytes = 4 * TILE,
				  .args = {&in, &out, &sums, &n}});
	assert_true(tiles <= TILE);
	run(g, &(struct t_launch){.kernel = "scan_tiles",
				  .block = {TILE / 2},
				  .smem_bytes = 4 * TILE,
				  .args = {&sums, &before, &none, &tiles}});
	run(g, &(struct t_launch){.kernel = "scan_update",
				  .grid = {3},
				  .block = {TILE / 2},
				  .args = {&out, &before, &n}});
}

static void build(struct join *j)
{
	uint32_t rows = ROWS, mask = MASK, *counts;

	run(&j->g, &(struct t_launch){.kernel = "hash_build_hist",
				      .grid = {4},
				      .block = {32},
				      .args = {&j->key, &rows, &mask, &j->hist}});
	counts = t_copy(&j->g, j->hist, 4 * CELLS);
	scan(&j->g, j->hist, j->start, CELLS);
	for (uint32_t i = 0, sum = 0; i < CELLS; sum += counts[i++])
		assert_int_equal(j->start[i], sum);
	run(&j->g, &(struct t_launch){.kernel = "hash_build",
				      .grid = {4},
				      .block = {32},
				      .args = {&j->key, &j->val, &rows, &mask, &j->hist, &j->start,
					       &j->table_key, &j->table_val}});
}

static void start_join(struct join *j)
{
	t_gpu_init_file(&j->g, PTX("join"));
	j->key = t_alloc(&j->g, 4 * ROWS);
	j->val = t_alloc(&j->g, 4 * ROWS);
	j->probe = t_alloc(&j->g, 4 * ROWS);
	j->hist = t_alloc(&j->g, 4 * CELLS);
	j->start = t_alloc(&j->g, 4 * CELLS);
	j->table_key = t_alloc(&j->g, 4 * ROWS);
	j->table_val = t_alloc(&j->g, 4 * ROWS);
	j->count = t_alloc(&j->g, 4 * THREADS);
	j->offset = t_alloc(&j->g, 4 * THREADS);
	for (uint32_t i = 0; i < ROWS; i++) {
		j->key[i] = i * 2654435761u % 500;
		j->val[i] = i + 10000;
		j->probe[i] = i * 40503u % 600;
	}
	build(j);
}

/* Pairs (probe row, value of the matching row) as numbers, to be sorted. */
static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t expected_pairs(const struct join *j, uint64_t *out)
{
	size_t n = 0;

	for (uint32_t p = 0; p < ROWS; p++) {
		for (uint32_t i = 0; i < ROWS; i++) {
			if (j->key[i] == j->probe[p])
				out[n++] = (uint64_t)p << 32 | j->val[i];
		}
	}
	return n;
}

static void test_hash_join_finds_every_pair(void **state)
{
	static uint64_t want[ROWS * 8], got[ROWS * 8];
	uint32_t stride = THREADS, mask = MASK, rows = ROWS, *none = NULL;
	uint32_t *out_key, *out_table, *out_probe, total;
	struct join j;
	size_t n;

	start_join(&j);
	n = expected_pairs(&j, want);
	run(&j.g, &(struct t_launch){.kernel = "join_count",
				     .grid = {4},
				     .block = {32},
				     .args = {&j.table_key, &j.start, &stride, &mask, &rows,
					      &j.probe, &rows, &j.count}});
	scan(&j.g, j.count, j.offset, THREADS);
	total = j.offset[THREADS - 1] + j.count[THREADS - 1];
	assert_int_equal(total, n);
	out_key = t_alloc(&j.g, 4 * n);
	out_table = t_alloc(&j.g, 4 * n);
	out_probe = t_alloc(&j.g, 4 * n);
	run(&j.g, &(struct t_launch){.kernel = "join_write",
				     .grid = {4},
				     .block = {32},
				     .args = {&j.table_key, &j.table_val, &j.start, &stride, &mask,
					      &rows, &j.probe, &none, &rows, &j.offset, &total,
					      &out_key, &out_table, &out_probe}});
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(out_key[i], j.probe[out_probe[i]]);
		got[i] = (uint64_t)out_probe[i] << 32 | out_table[i];
	}
	qsort(want, n, sizeof(want[0]), by_value);
	qsort(got, n, sizeof(got[0]), by_value);
	assert_memory_equal(got, want, n * sizeof(want[0]));
	t_gpu_finish(&j.g);
}

/* ---- the others ---- */

static void check_digest(const uint32_t *digest, const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	char text[33] = "";

	for (int i = 0; i < 16; i++) {
		text[2 * i] = digits[((const uint8_t *)digest)[i] >> 4];
		text[2 * i + 1] = digits[((const uint8_t *)digest)[i] & 15];
	}
	assert_string_equal(text, hex);
}

static void test_md5_of_interleaved_messages(void **state)
{
	enum { MESSAGES = 40, WORDS = 32 };
	uint32_t messages = MESSAGES, each = WORDS, first = 0, last = MESSAGES - 1;
	uint32_t *words, *digest;
	struct t_gpu g;

	t_gpu_init_file(&g, PTX("md5"));
	words = t_alloc(&g, 4 * MESSAGES * WORDS);
	digest = t_alloc(&g, 16 * MESSAGES);
	for (uint32_t m = 0; m < MESSAGES; m++) {
		for (uint32_t w = 0; w < WORDS; w++)
			words[w * MESSAGES + m] = m * 1000 + w;
	}
	run(&g, &(struct t_launch){.kernel = "md5_messages",
				   .block = {64},
				   .args = {&words, &messages, &each, &first, &last, &digest}});
	check_digest(digest, "ce8ddc0353c0765872615c3ff1f88361");
	check_digest(digest + 20, "91879ff712784851b5f203c73e835f6a");
	for (int i = 0; i < 4; i++)
		assert_int_equal(digest[4 * (MESSAGES - 1) + i], 0);
	t_gpu_finish(&g);
}

static void test_matmul_equals_the_same_order_of_steps(void **state)
{
	enum { N = 37 };
	uint32_t n = N, first = 3, last = 30;
	float *a, *b, *c;
	struct t_gpu g;

	t_gpu_init_file(&g, PTX("matmul"));
	a = t_alloc(&g, 4 * N * N);
	b = t_alloc(&g, 4 * N * N);
	c = t_alloc(&g, 4 * N * N);
	for (int i = 0; i < N * N; i++) {
		a[i] = sinf((float)i);
		b[i] = cosf((float)i);
	}
	run(&g, &(struct t_launch){.kernel = "matmul",
				   .grid = {3, 4},
				   .block = {16, 16},
				   .args = {&a, &n, &b, &c, &n, &n, &first, &last}});
	for (uint32_t i = 0; i < N * N; i++) {
		float sum = 0;

		for (uint32_t k = 0; k < N && i / N >= first && i / N < last; k++)
			sum = fmaf(a[i / N * N + k], b[k * N + i % N], sum);
		assert_true(c[i] == sum);
	}
	t_gpu_finish(&g);
}

static void test_distances_equal_the_same_order_of_steps(void **state)
{
	enum { ATOMS = 150 };
	uint32_t atoms = ATOMS, repeats = 2, first = 0;
	float *x, *y;
	double *mean;
	struct t_gpu g;

	t_gpu_init_file(&g, PTX("distance"));
	x = t_alloc(&g, 4 * ATOMS);
	y = t_alloc(&g, 4 * ATOMS);
	mean = t_alloc(&g, 8 * ATOMS);
	for (int i = 0; i < ATOMS; i++) {
		x[i] = (float)(i * 37 % 101) / 7;
		y[i] = (float)(i * 53 % 97) / 3;
	}
	run(&g, &(struct t_launch){.kernel = "atom_distances",
				   .grid = {3},
				   .block = {64},
				   .smem_bytes = 4 * 4 * 64,
				   .args = {&x, &y, &atoms, &repeats, &first, &mean}});
	for (int i = 0; i < ATOMS; i++) {
		double sum = 0;

		for (int k = 0; k < ATOMS; k++) {
			float dx = x[i] - x[k], dy = y[i] - y[k];

			sum += (double)sqrtf(fmaf(dx, dx, dy * dy));
		}
		assert_true(mean[i] == (sum + sum) / (2.0 * (ATOMS - 1)));
	}
	t_gpu_finish(&g);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static void test_checksum_adds_up_from_all_blocks(void **state)
{
	uint32_t *words, n = 1001;
	uint64_t first = 5, *sum, want = 0;
	struct t_gpu g;

	t_gpu_init_file(&g, PTX("check"));
	words = t_alloc(&g, 4 * n);
	sum = t_alloc(&g, 8);
	for (uint32_t i = 0; i < n; i++) {
		words[i] = i * 2654435761u;
		want += mix((first + i) << 32 | words[i]);
	}
	run(&g, &(struct t_launch){.kernel = "column_checksum",
				   .grid = {3},
				   .block = {96},
				   .args = {&words, &n, &first, &sum}});
	assert_int_equal(*sum, want);
	t_gpu_finish(&g);
}

static void test_counter_of_a_module_keeps_its_value(void **state)
{
	struct t_gpu g;

	t_gpu_init_file(&g, PTX("counter"));
	for (int i = 0; i < 3; i++)
		run(&g, &(struct t_launch){.kernel = "count_up", .grid = {2}, .block = {50}});
	assert_int_equal(*(uint64_t *)t_var(&g, "counter"), 300);
	t_gpu_finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_join_finds_every_pair),
		cmocka_unit_test(test_md5_of_interleaved_messages),
		cmocka_unit_test(test_matmul_equals_the_same_order_of_steps),
		cmocka_unit_test(test_distances_equal_the_same_order_of_steps),
		cmocka_unit_test(test_checksum_adds_up_from_all_blocks),
		cmocka_unit_test(test_counter_of_a_module_keeps_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
