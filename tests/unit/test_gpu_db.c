/*
 * test_gpu_db.c - the sample database's data set, files and CPU reference; no GPU.
 *
 * What --verify rests on: the generator repeats itself, damaged files are refused with a reason, the
 * reference agrees with cases worked by hand, and any changed bit of an input or result is seen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/gpu_db/data.h"
#include "examples/gpu_db/mix.h"
#include "examples/gpu_db/reference.h"
#include "tests/unit/temp.h"

/* ---- a folder for column files, and a data set in memory ---- */

static char dir[TEMP_PATH_MAX];

static int make_dir(void **state)
{
	temp_path(dir, "test_gpu_db.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static const char *path_of(enum column_id id)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s.col", dir, column_name(id));
	return path;
}

static int remove_dir(void **state)
{
	for (enum column_id id = 0; id < COLUMN_N; id++)
		unlink(path_of(id));
	return rmdir(dir);
}

static void generate(double scale, uint64_t seed, struct data *d)
{
	memset(d, 0, sizeof(*d));
	assert_int_equal(sizes_of(scale, &d->sizes), 0);
	for (enum column_id id = 0; id < COLUMN_N; id++)
		assert_int_equal(data_generate(&d->sizes, seed, id, &d->column[id]), 0);
}

static void write_column(double scale, uint64_t seed, enum column_id id)
{
	struct failure f;
	struct sizes sizes;
	struct column c;

	assert_int_equal(sizes_of(scale, &sizes), 0);
	assert_int_equal(data_generate(&sizes, seed, id, &c), 0);
	assert_int_equal(column_write(dir, id, &c, &f), 0);
	column_finish(&c);
}

static void change_byte(enum column_id id, long at, unsigned char by)
{
	FILE *file = fopen(path_of(id), "r+b");
	int c;

	assert_non_null(file);
	fseek(file, at, SEEK_SET);
	c = getc(file);
	assert_int_not_equal(c, EOF);
	fseek(file, at, SEEK_SET);
	putc(c ^ by, file);
	fclose(file);
}

static void assert_read_fails(enum column_id id, const char *reason)
{
	struct failure f = {""};
	struct column c = {0};

	assert_int_not_equal(column_read(dir, id, &c, &f), 0);
	assert_null(c.words);
	if (!strstr(f.text, reason) || !strstr(f.text, path_of(id)))
		fail_msg("expected '%s' and the path in: %s", reason, f.text);
}

/* ---- sizes ---- */

static void test_sizes_of_scale_one_are_the_papers(void **state)
{
	struct sizes s;

	assert_int_equal(sizes_of(1, &s), 0);
	assert_int_equal(s.r_rows, 10485760);
	assert_int_equal(s.key_range, 262144);
	assert_int_equal(s.chunk_rows, 65536);
	assert_int_equal(s.buckets, 8192);
	assert_int_equal(s.md5_words, 16777216);
	assert_int_equal(s.matrix_n, 2048);
	assert_int_equal(s.atoms, 1250);
	assert_int_equal(s.repeats, 10000);
}

static void test_sizes_of_any_scale_keep_what_kernels_need(void **state)
{
	for (double scale = SCALE_MIN; scale <= SCALE_MAX; scale *= 1.37) {
		struct sizes s;

		assert_int_equal(sizes_of(scale, &s), 0);
		assert_int_equal(s.buckets & (s.buckets - 1), 0);
		assert_int_equal(s.md5_words % (16 * MD5_MESSAGES), 0);
		assert_int_equal(s.matrix_n % 16, 0);
		assert_true(s.atoms >= 2);
		assert_true((uint64_t)s.chunk_rows * JOIN_CHUNKS >= s.key_range);
	}
}

static void test_sizes_of_scale_out_of_range_is_refused(void **state)
{
	struct sizes s = {.r_rows = 7};

	assert_int_equal(sizes_of(SCALE_MIN * 0.99, &s), -ERANGE);
	assert_int_equal(sizes_of(SCALE_MAX * 1.01, &s), -ERANGE);
	assert_int_equal(sizes_of(0.0 / strtod("0", NULL), &s), -ERANGE);
	assert_int_equal(s.r_rows, 7);
}

/* ---- generator ---- */

static void test_generate_same_seed_gives_known_checksums(void **state)
{
	static const uint64_t expected[COLUMN_N] = {
		0x220b4ff76e91b171, 0xf98eb0fb0fe507b7, 0x3cfaf63a6287f374, 0x3d1605d717bab486,
		0x7c71599a546e7157, 0x3d1605d717bab486, 0x62f690772cb90f21, 0x9d3315b695146753,
		0x985f68de34af4045, 0x64de30ed61d50ce6, 0xc949a8f2f8c8ceee};
	struct data d;

	generate(1.0 / 128, 1, &d);
	for (enum column_id id = 0; id < COLUMN_N; id++)
		assert_int_equal(d.column[id].checksum, expected[id]);
	data_finish(&d);
}

static void test_generate_other_seed_gives_other_keys(void **state)
{
	struct data a, b;

	generate(SCALE_MIN, 1, &a);
	generate(SCALE_MIN, 2, &b);
	assert_int_not_equal(a.column[COLUMN_R_KEY].checksum, b.column[COLUMN_R_KEY].checksum);
	assert_int_not_equal(a.column[COLUMN_TEXT].checksum, b.column[COLUMN_TEXT].checksum);
	data_finish(&a);
	data_finish(&b);
}

static void test_generate_s_and_z_hold_every_key(void **state)
{
	static const enum column_id ids[] = {COLUMN_S_KEY, COLUMN_Z_KEY};
	struct data d;

	generate(SCALE_DEFAULT, 5, &d);
	for (unsigned i = 0; i < 2; i++) {
		const struct column *c = &d.column[ids[i]];
		unsigned char *seen = calloc(d.sizes.key_range, 1);
		unsigned n = 0;

		for (uint64_t row = 0; row < c->rows; row++) {
			assert_true(c->words[row] < d.sizes.key_range);
			n += !seen[c->words[row]];
			seen[c->words[row]] = 1;
		}
		assert_int_equal(n, d.sizes.key_range);
		free(seen);
	}
	data_finish(&d);
}

/* ---- files ---- */

static void test_column_read_gives_what_was_written(void **state)
{
	struct failure f;
	struct column c;
	struct data d;

	generate(SCALE_MIN, 9, &d);
	write_column(SCALE_MIN, 9, COLUMN_A);
	assert_int_equal(column_read(dir, COLUMN_A, &c, &f), 0);
	assert_int_equal(c.rows, d.column[COLUMN_A].rows);
	assert_int_equal(c.seed, 9);
	assert_true(c.scale == SCALE_MIN);
	assert_memory_equal(c.words, d.column[COLUMN_A].words, c.rows * 4);
	column_finish(&c);
	data_finish(&d);
}

static void test_column_read_any_changed_byte_is_refused(void **state)
{
	enum { HEADER_BYTES = 72, X_BYTES = HEADER_BYTES + 39 * 4 };

	write_column(SCALE_MIN, 1, COLUMN_X);
	for (long at = 0; at < X_BYTES; at++) {
		struct failure f;
		struct column c;

		change_byte(COLUMN_X, at, 1u << at % 8);
		assert_int_equal(column_read(dir, COLUMN_X, &c, &f), -EINVAL);
		change_byte(COLUMN_X, at, 1u << at % 8);
	}
}

static void test_column_read_says_what_is_wrong(void **state)
{
	assert_read_fails(COLUMN_B, "no such file");
	write_column(SCALE_MIN, 1, COLUMN_B);
	change_byte(COLUMN_B, 0, 1);
	assert_read_fails(COLUMN_B, "not a column file");
	write_column(SCALE_MIN, 1, COLUMN_B);
	change_byte(COLUMN_B, 8, 2);
	assert_read_fails(COLUMN_B, "format version 3");
	write_column(SCALE_MIN, 1, COLUMN_B);
	change_byte(COLUMN_B, 40, 1);
	assert_read_fails(COLUMN_B, "header is damaged");
	write_column(SCALE_MIN, 1, COLUMN_B);
	change_byte(COLUMN_B, 1000, 1);
	assert_read_fails(COLUMN_B, "checksum");
}

static void test_column_read_wrong_length_is_refused(void **state)
{
	FILE *file;

	write_column(SCALE_MIN, 1, COLUMN_Y);
	assert_int_equal(truncate(path_of(COLUMN_Y), 100), 0);
	assert_read_fails(COLUMN_Y, "its header says");
	assert_int_equal(truncate(path_of(COLUMN_Y), 71), 0);
	assert_read_fails(COLUMN_Y, "too short");
	write_column(SCALE_MIN, 1, COLUMN_Y);
	file = fopen(path_of(COLUMN_Y), "ab");
	putc(0, file);
	fclose(file);
	assert_read_fails(COLUMN_Y, "its header says");
}

static void test_column_read_renamed_file_is_refused(void **state)
{
	char from[256];

	write_column(SCALE_MIN, 1, COLUMN_S_VAL);
	snprintf(from, sizeof(from), "%s", path_of(COLUMN_S_VAL));
	assert_int_equal(rename(from, path_of(COLUMN_Z_VAL)), 0);
	assert_read_fails(COLUMN_Z_VAL, "renamed");
}

static void assert_set_fails(unsigned ids, const char *reason)
{
	struct failure f = {""};
	struct data d = {.sizes = {.atoms = 7}};

	assert_int_equal(data_read(dir, ids, &d, &f), -EINVAL);
	assert_int_equal(d.sizes.atoms, 7);
	if (!strstr(f.text, reason))
		fail_msg("expected '%s' in: %s", reason, f.text);
}

static void test_data_read_columns_of_two_sets_are_refused(void **state)
{
	write_column(SCALE_MIN, 1, COLUMN_X);
	write_column(SCALE_MIN, 2, COLUMN_Y);
	assert_set_fails(1u << COLUMN_X | 1u << COLUMN_Y, "another data set");
	write_column(SCALE_MIN * 2, 1, COLUMN_Y);
	assert_set_fails(1u << COLUMN_X | 1u << COLUMN_Y, "another data set");
}

static void test_data_read_rows_that_do_not_fit_the_scale_are_refused(void **state)
{
	uint32_t words[3] = {0};
	struct column c = {.words = words, .rows = 3, .seed = 1, .scale = 1};
	struct failure f;

	assert_int_equal(column_write(dir, COLUMN_X, &c, &f), 0);
	assert_set_fails(1u << COLUMN_X, "3 rows, scale 1 has 1250");
	c.scale = 1e9;
	assert_int_equal(column_write(dir, COLUMN_X, &c, &f), 0);
	assert_set_fails(1u << COLUMN_X, "out of range");
}

static void test_column_write_to_no_folder_says_so(void **state)
{
	uint32_t word = 0;
	struct column c = {.words = &word, .rows = 1};
	struct failure f;

	assert_int_equal(column_write("/nonexistent/folder", COLUMN_X, &c, &f), -ENOENT);
	assert_non_null(strstr(f.text, "/nonexistent/folder/x.col"));
}

/* ---- reference: cases worked by hand ---- */

static struct column column_of(uint32_t *words, uint64_t rows)
{
	return (struct column){.words = words, .rows = rows};
}

static void test_join2_of_three_rows_and_two(void **state)
{
	uint32_t r_key[] = {1, 2, 1}, r_val[] = {10, 11, 12}, s_key[] = {1, 3}, s_val[] = {20, 21};
	struct data d = {.sizes = {.key_range = 4},
			 .column = {[COLUMN_R_KEY] = column_of(r_key, 3),
				    [COLUMN_R_VAL] = column_of(r_val, 3),
				    [COLUMN_S_KEY] = column_of(s_key, 2),
				    [COLUMN_S_VAL] = column_of(s_val, 2)}};
	struct result r;

	assert_int_equal(reference_join2(&d, &r), 0);
	assert_int_equal(r.rows, 2);
	assert_int_equal(r.checksum, mix_pair(10, 20) + mix_pair(12, 20));
}

static void test_join3_multiplies_matches_and_keeps_the_largest_key(void **state)
{
	uint32_t r_key[] = {3, 0}, r_val[] = {10, 11}, s_key[] = {3, 3}, s_val[] = {20, 21};
	uint32_t z_key[] = {2, 3, 3}, z_val[] = {30, 31, 32};
	struct data d = {.sizes = {.key_range = 4},
			 .column = {[COLUMN_R_KEY] = column_of(r_key, 2),
				    [COLUMN_R_VAL] = column_of(r_val, 2),
				    [COLUMN_S_KEY] = column_of(s_key, 2),
				    [COLUMN_S_VAL] = column_of(s_val, 2),
				    [COLUMN_Z_KEY] = column_of(z_key, 3),
				    [COLUMN_Z_VAL] = column_of(z_val, 3)}};
	struct result r;

	assert_int_equal(reference_join3(&d, &r), 0);
	assert_int_equal(r.rows, 4);
	assert_int_equal(r.checksum, mix_triple(10, 20, 31) + mix_triple(10, 20, 32) +
					     mix_triple(10, 21, 31) + mix_triple(10, 21, 32));
}

static void assert_digest(const uint32_t digest[4], const char *hex)
{
	char text[33];

	for (unsigned i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i / 4] >> 8 * (i % 4) & 0xff);
	assert_string_equal(text, hex);
}

static void test_md5_digest_gives_the_vectors_of_rfc_1321(void **state)
{
	uint32_t words[20] = {0}, strided[40] = {0}, digest[4];

	md5_digest(words, 0, 1, digest);
	assert_digest(digest, "d41d8cd98f00b204e9800998ecf8427e");
	for (unsigned i = 0; i < 80; i++)
		((char *)words)[i] = "1234567890"[i % 10];
	md5_digest(words, 20, 1, digest);
	assert_digest(digest, "57edf4a22be3c955ac49da2e2107b67a");
	for (unsigned i = 0; i < 20; i++)
		strided[2 * i] = words[i];
	md5_digest(strided, 20, 2, digest);
	assert_digest(digest, "57edf4a22be3c955ac49da2e2107b67a");
}

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* A = 2 I, but for a last column of ones: c[i][j] = 2 b[i][j] + b[15][j], 3 b[15][j] in the last row. */
static void test_matmul_of_small_whole_numbers_is_exact(void **state)
{
	uint32_t a[256] = {0}, b[256];
	struct data d = {
		.sizes = {.matrix_n = 16},
		.column = {[COLUMN_A] = column_of(a, 256), [COLUMN_B] = column_of(b, 256)}};
	struct result r;

	for (unsigned i = 0; i < 16; i++) {
		a[17 * i] = bits_of(2);
		a[16 * i + 15] = bits_of(i == 15 ? 3 : 1);
	}
	for (unsigned i = 0; i < 256; i++)
		b[i] = bits_of((float)i);
	assert_int_equal(reference_matmul(&d, &r), 0);
	assert_int_equal(r.rows, 16);
	for (unsigned i = 0; i < 256; i++) {
		float last = 240 + i % 16;

		assert_int_equal(r.words[i], bits_of(i < 240 ? 2 * i + last : 3 * last));
	}
	result_finish(&r);
}

/* (1 + 2^-12)^2 - 1 in one rounding is 2^-11 + 2^-24; the product alone would lose its last bit. */
static void test_matmul_rounds_each_step_once(void **state)
{
	uint32_t a[256] = {bits_of(1), bits_of(1 + 0x1p-12f)}, b[256] = {bits_of(-1)};
	struct data d = {
		.sizes = {.matrix_n = 16},
		.column = {[COLUMN_A] = column_of(a, 256), [COLUMN_B] = column_of(b, 256)}};
	struct result r;

	b[16] = bits_of(1 + 0x1p-12f);
	assert_int_equal(reference_matmul(&d, &r), 0);
	assert_int_equal(r.words[0], bits_of(0x1p-11f + 0x1p-24f));
	result_finish(&r);
}

static void test_distance_in_a_3_4_5_triangle(void **state)
{
	uint32_t x[] = {bits_of(0), bits_of(3), bits_of(0)},
		 y[] = {bits_of(0), bits_of(0), bits_of(4)};
	static const double expected[] = {3.5, 4.0, 4.5};
	struct data d = {.sizes = {.atoms = 3, .repeats = 2},
			 .column = {[COLUMN_X] = column_of(x, 3), [COLUMN_Y] = column_of(y, 3)}};
	struct result r;

	assert_int_equal(reference_distance(&d, &r), 0);
	assert_int_equal(r.rows, 3);
	assert_memory_equal(r.words, expected, sizeof(expected));
	result_finish(&r);
}

/* ---- a changed bit is seen ---- */

static void test_mix_words_sees_every_changed_bit_and_swap(void **state)
{
	uint32_t word[8] = {0, 1, 2, 3, 0, ~0u, 6, 7};
	uint64_t sum = mix_words(word, 8);

	for (unsigned bit = 0; bit < 8 * 32; bit++) {
		word[bit / 32] ^= 1u << bit % 32;
		assert_int_not_equal(mix_words(word, 8), sum);
		word[bit / 32] ^= 1u << bit % 32;
	}
	word[1] = 2;
	word[2] = 1;
	assert_int_not_equal(mix_words(word, 8), sum);
}

/* Q5: the lowest bit of a coordinate must survive all rounding up to the result. */
static void test_distance_any_changed_bit_changes_the_result(void **state)
{
	static const enum column_id ids[] = {COLUMN_X, COLUMN_Y};
	struct result good, bad;
	struct data d;

	generate(SCALE_MIN, 1, &d);
	assert_int_equal(reference_distance(&d, &good), 0);
	for (unsigned bit = 0; bit < 2 * d.sizes.atoms * 32; bit++) {
		uint32_t *word = &d.column[ids[bit % 2]].words[bit / 64];

		*word ^= 1u << bit / 2 % 32;
		assert_int_equal(reference_distance(&d, &bad), 0);
		assert_int_not_equal(bad.checksum, good.checksum);
		*word ^= 1u << bit / 2 % 32;
		result_finish(&bad);
	}
	result_finish(&good);
	data_finish(&d);
}

/* Q2 (and Q1 with it): S and Z hold every key, so every row of every table matters. */
static void test_join3_changed_bits_change_the_result(void **state)
{
	struct result good, bad;
	struct data d;

	generate(SCALE_MIN, 1, &d);
	assert_int_equal(reference_join3(&d, &good), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		struct column *c = &d.column[COLUMN_R_KEY + i % 6];
		uint32_t *word = &c->words[mix(i) % c->rows], bit = 1u << i / 6 % 32;

		*word ^= bit;
		assert_int_equal(reference_join3(&d, &bad), 0);
		assert_true(bad.rows != good.rows || bad.checksum != good.checksum);
		*word ^= bit;
	}
	data_finish(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_of_scale_one_are_the_papers),
		cmocka_unit_test(test_sizes_of_any_scale_keep_what_kernels_need),
		cmocka_unit_test(test_sizes_of_scale_out_of_range_is_refused),
		cmocka_unit_test(test_generate_same_seed_gives_known_checksums),
		cmocka_unit_test(test_generate_other_seed_gives_other_keys),
		cmocka_unit_test(test_generate_s_and_z_hold_every_key),
		cmocka_unit_test(test_column_read_gives_what_was_written),
		cmocka_unit_test(test_column_read_any_changed_byte_is_refused),
		cmocka_unit_test(test_column_read_says_what_is_wrong),
		cmocka_unit_test(test_column_read_wrong_length_is_refused),
		cmocka_unit_test(test_column_read_renamed_file_is_refused),
		cmocka_unit_test(test_data_read_columns_of_two_sets_are_refused),
		cmocka_unit_test(test_data_read_rows_that_do_not_fit_the_scale_are_refused),
		cmocka_unit_test(test_column_write_to_no_folder_says_so),
		cmocka_unit_test(test_join2_of_three_rows_and_two),
		cmocka_unit_test(test_join3_multiplies_matches_and_keeps_the_largest_key),
		cmocka_unit_test(test_md5_digest_gives_the_vectors_of_rfc_1321),
		cmocka_unit_test(test_matmul_of_small_whole_numbers_is_exact),
		cmocka_unit_test(test_matmul_rounds_each_step_once),
		cmocka_unit_test(test_distance_in_a_3_4_5_triangle),
		cmocka_unit_test(test_mix_words_sees_every_changed_bit_and_swap),
		cmocka_unit_test(test_distance_any_changed_bit_changes_the_result),
		cmocka_unit_test(test_join3_changed_bits_change_the_result),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
