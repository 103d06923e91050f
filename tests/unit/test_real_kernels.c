/*
 * test_real_kernels.c - the kernels on which the law is tested do the work that they say: on the emulated device each gives what the
 * CPU finds another way. What is shipped is text: this is also what says that the text is of these kernels.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "examples/gpu_db/reference.h"
#include "tests/unit/real_kit.h"

static int start(void **state)
{
	real_start("tests/gpu/real_kernels.ptx");
	return 0;
}

static int finish(void **state)
{
	t_device_close(&dev);
	return 0;
}

static void test_nearest_finds_the_least_distance(void **state)
{
	float *wanted = nothing();

	run("nearest", 256);
	for (uint32_t i = 0; i < BLOCKS * 256; i++)
		wanted[i] = 4;
	for (EACH_ITEM(item))
		for (uint32_t i = item * 16384; i < (item + 1) * 16384; i++) {
			float x = real[2 * (i & (N / 2 - 1))] - 0.5f;
			float y = real[2 * (i & (N / 2 - 1)) + 1] - 0.25f;
			float *best = &wanted[item % BLOCKS * 256 + i % 256];

			*best = fminf(*best, sqrtf(x * x + y * y));
		}
	expect(wanted);
	free(wanted);
}

static void test_cheapest_path_costs_what_a_plain_search_finds(void **state)
{
	run("cheapest_path", 256);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint32_t cost[256] = {0}, next[256];

		for (uint32_t r = 0; r < UNITS * 64; r++) {
			uint32_t row = (r / 64 * BLOCKS + b) * 64 + r % 64;

			for (int x = 0; x < 256; x++) {
				uint32_t least = cost[x];

				for (int near = x - 1; near <= x + 1; near += 2)
					if (near >= 0 && near < 256 && cost[near] < least)
						least = cost[near];
				next[x] = least + word[(row * 256 + (uint32_t)x) & MASK] % 16;
			}
			memcpy(cost, next, sizeof(cost));
		}
		assert_memory_equal(&words_out[b * 256], cost, sizeof(cost));
	}
}

static int clamp(int i)
{
	return i < 0 ? 0 : i > 15 ? 15 : i;
}

static void heat_tile_of_plate(uint32_t id, float *wanted)
{
	uint32_t corner = id / 64 * 16 * 1024 + id % 64 * 16;
	float now[16][16], next[16][16];

	for (int i = 0; i < 256; i++)
		now[i / 16][i % 16] = real[(corner + (uint32_t)(i / 16 * 1024 + i % 16)) & MASK];
	for (int step = 0; step < 8; step++) {
		for (int y = 0; y < 16; y++)
			for (int x = 0; x < 16; x++) {
				uint32_t at = corner + (uint32_t)(y * 1024 + x);
				float t = now[y][x], power = real[(at + N / 2) & MASK];
				float around = (now[clamp(y - 1)][x] + now[clamp(y + 1)][x]) +
					       (now[y][clamp(x - 1)] + now[y][clamp(x + 1)]);

				next[y][x] = t + 0.1f * (around - 4.0f * t) + 0.05f * power;
			}
		memcpy(now, next, sizeof(now));
	}
	for (int i = 0; i < 256; i++)
		wanted[(corner + (uint32_t)(i / 16 * 1024 + i % 16)) & MASK] = now[i / 16][i % 16];
}

static void test_plate_heats_tiles(void **state)
{
	float *wanted = nothing();

	run("plate", 256);
	for (uint32_t id = 0; id < ITEMS * 8; id++)
		heat_tile_of_plate(id, wanted);
	expect(wanted);
	free(wanted);
}

static float box_at(uint32_t z, uint32_t y, uint32_t x)
{
	return real[(z % 4 * 65536 + y % 256 * 256 + x % 256) & MASK];
}

static void test_box_heats_rows_of_all_planes(void **state)
{
	float *wanted = nothing();

	run("box", 256);
	for (EACH_ITEM(y))
		for (uint32_t z = 0; z < 4; z++)
			for (uint32_t x = 0; x < 256; x++)
				wanted[z * 65536 + y * 256 + x] =
					0.4f * box_at(z, y, x) +
					0.1f * (box_at(z + 1, y, x) + box_at(z + 3, y, x)) +
					0.1f * ((box_at(z, y + 255, x) + box_at(z, y + 1, x)) +
						(box_at(z, y, x + 255) + box_at(z, y, x + 1)));
	expect(wanted);
	free(wanted);
}

static void test_frontier_marks_unseen_neighbours(void **state)
{
	const uint32_t nodes = N / 8;
	float *wanted = nothing();

	run("frontier", 256);
	for (uint32_t i = 0; i < ITEMS * 1024; i++) {
		uint32_t node = word[i] % nodes, degree = node * 2654435761u / 536870912u + 1;

		for (uint32_t j = 0; j < degree; j++)
			if (real[word[node * 8 + j] % nodes] < 0.5f)
				wanted[word[node * 8 + j] % nodes] = 1;
	}
	expect(wanted);
	free(wanted);
}

static float pixel(uint32_t y, uint32_t x)
{
	return real[y % (N / 1024) * 1024 + x % 1024] + 0.5f;
}

static float smoothed(uint32_t y, uint32_t x)
{
	float c = pixel(y, x), north = pixel(y + N / 1024 - 1, x) - c, south = pixel(y + 1, x) - c;
	float west = pixel(y, x + 1023) - c, east = pixel(y, x + 1) - c;
	float squares = ((north * north + south * south) + (west * west + east * east)) / (c * c);
	float sum = (north + south) + (west + east), laplace = sum / c;
	float den = 1.0f + 0.25f * laplace;
	float q = (0.5f * squares - 0.0625f * laplace * laplace) / (den * den);
	float k = 1.0f / (1.0f + (q - 0.05f) / 0.0525f);

	return c + 0.25f * fminf(fmaxf(k, 0), 1) * sum;
}

static void test_speckle_smooths_a_picture(void **state)
{
	float *wanted = nothing();

	run("speckle", 256);
	for (EACH_ITEM(item))
		for (uint32_t i = 0; i < 16 * 256; i++) {
			uint32_t y = item / 4 * 16 + i / 256, x = item % 4 * 256 + i % 256;

			wanted[y * 1024 + x] = smoothed(y, x);
		}
	expect(wanted);
	free(wanted);
}

static void test_tile_update_takes_the_product_off(void **state)
{
	float *wanted = nothing();

	run("tile_update", 256);
	for (uint32_t i = 0; i < ITEMS * 16 * 256; i++) {
		uint32_t tile = i / 256 * 256, y = i % 256 / 16, x = i % 16;
		float rest = real[(i + N / 4) & MASK];

		for (uint32_t k = 0; k < 16; k++)
			rest = fmaf(-real[(tile + y * 16 + k) & MASK],
				    real[((tile + k * 16 + x) & 262143) ^ N / 2], rest);
		wanted[i & MASK] = rest;
	}
	expect(wanted);
	free(wanted);
}

static void follow_particle(uint32_t state, double *weight, double *place)
{
	uint32_t other = RANDOM(state), at = 0;
	double radius = sqrt(-2 * log(((state >> 8) + 1) / 16777216.0)), like = 0;
	double noise = radius * cos((other >> 8) / 4194304.0);

	for (int j = 0; j < 8; j++) {
		other = RANDOM(other);
		like += pow(real[other >> 16] - 0.4, 2) - pow(real[other >> 16] - 0.9, 2);
	}
	while (at < 4095 && (float)at + real[at] < (float)(other >> 20))
		at++;
	*weight += exp(0.1 * like + 0.01 * noise);
	*place += at;
}

static void test_particles_are_weighed_and_placed(void **state)
{
	run("particles", 256);
	for (uint32_t i = 0; i < BLOCKS * 256; i++) {
		double weight = 0, place = 0;

		for (EACH_ITEM(item)) {
			uint32_t now = (item * 256 + i % 256) * 2654435761u;

			for (int k = 0; k < 4 && item % BLOCKS == i / 256; k++) {
				follow_particle(now, &weight, &place);
				for (int j = 0; j < 9; j++)
					now = RANDOM(now);
			}
		}
		assert_true(fabs((double)out[2 * i] / weight - 1) < 1e-4);
		assert_true((double)out[2 * i + 1] == place);
	}
}

static void test_triad_adds_three_times_the_second(void **state)
{
	float *wanted = nothing();

	run("triad", 256);
	for (uint32_t i = 0; i < ITEMS * 8192; i++)
		wanted[i & MASK] = fmaf(3, real[(i + N / 2) & MASK], real[i & MASK]);
	expect(wanted);
	free(wanted);
}

static void test_updates_are_all_in_the_table(void **state)
{
	float *wanted = nothing();
	void *table = wanted;

	run("updates", 256);
	for (uint32_t i = 0; i < ITEMS * 256; i++) {
		uint32_t now = i * 2654435761u;

		for (int k = 0; k < 16; k++) {
			now = RANDOM(now);
			((uint32_t *)table)[(now ^ now >> 13) & MASK] ^= now;
		}
	}
	expect(wanted);
	free(wanted);
}

static void test_multiply_gives_the_product(void **state)
{
	float *wanted = nothing();

	run("multiply", 128);
	for (EACH_ITEM(item))
		for (uint32_t i = 0; i < 64 * 32; i++) {
			uint32_t row = item / 8 * 64 + i / 32, col = item % 8 * 32 + i % 32;
			float sum = 0;

			for (uint32_t k = 0; k < 256; k++)
				sum = fmaf(real[row * 256 + k],
					   real[(k * 256 + col + N / 2) & MASK], sum);
			wanted[row * 256 + col] = sum;
		}
	expect(wanted);
	free(wanted);
}

static int by_word(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort(uint32_t *words, size_t n)
{
	qsort(words, n, sizeof(*words), by_word);
}

/* Every key is in its table, and found without passing an empty place. */
static void test_hash_build_puts_all_keys_where_they_are_found(void **state)
{
	run("hash_build", 256);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint32_t *table = &words_out[b * 4096], item = (UNITS - 1) * BLOCKS + b,
			 keys[4096] = {0};

		for (uint32_t i = 0; i < 2048; i++) {
			uint32_t key = word[item * 2048 + i] | 1, at = key * 2654435761u >> 20;

			keys[2048 + i] = key;
			while (table[at] && table[at] != key)
				at = (at + 1) % 4096;
			assert_int_equal(table[at], key);
		}
		sort(keys, 4096);
		sort(table, 4096);
		assert_memory_equal(table, keys, sizeof(keys));
	}
}

static void test_hash_probe_counts_its_steps(void **state)
{
	uint32_t steps[BLOCKS * 256] = {0};

	run("hash_probe", 256);
	for (uint32_t i = 0; i < ITEMS * 1024; i++) {
		uint32_t at = word[i] * 2654435761u / 32 & MASK;

		for (; word[at] % 8 && word[at] != word[i]; at = (at + 1) & MASK)
			steps[i / 1024 % BLOCKS * 256 + i % 256]++;
	}
	assert_memory_equal(words_out, steps, sizeof(steps));
}

static void test_radix_partition_orders_by_digit_and_loses_none(void **state)
{
	static uint32_t wanted[4096];

	run("radix_partition", 256);
	for (EACH_ITEM(item)) {
		uint32_t *part = &words_out[item * 4096];

		for (uint32_t i = 1; i < 4096; i++)
			assert_true((part[i - 1] >> 20 & 63) <= (part[i] >> 20 & 63));
		memcpy(wanted, &word[item * 4096], sizeof(wanted));
		sort(wanted, 4096);
		sort(part, 4096);
		assert_memory_equal(part, wanted, sizeof(wanted));
	}
}

static void test_arithmetic_keeps_its_registers(void **state)
{
	run("arithmetic", 256);
	for (uint32_t i = 0; i < BLOCKS * 256; i++) {
		float x = (float)(i % 256), y = 1;
		uint32_t v = i;

		for (uint32_t k = 0; k < UNITS * 512; k++) {
			if (k % 512 == 0)
				v ^= k / 512 * BLOCKS + i / 256;
			x = fmaf(x, 0.999f, 0.001f);
			y = fmaf(y, 0.5f, x);
			v = RANDOM(v);
			v ^= v >> 7;
		}
		assert_true(out[2 * i] == y);
		assert_int_equal(words_out[2 * i + 1], v);
	}
}

static void test_digest_is_that_of_rfc_1321(void **state)
{
	run("digest", 128);
	for (uint32_t i = 0; i < BLOCKS * 128; i++) {
		uint32_t all[4] = {0}, one[4];

		for (EACH_ITEM(item)) {
			if (item % BLOCKS != i / 128)
				continue;
			md5_digest(&word[item * 16384 + i % 128], 128, 128, one);
			for (int w = 0; w < 4; w++)
				all[w] ^= one[w];
		}
		assert_memory_equal(&words_out[4 * i], all, sizeof(all));
	}
}

/* Whoever is told to stop has done nothing more, and says so. */
static void test_every_kernel_stops_when_told_to(void **state)
{
#define REAL(name, threads, l2, dram) run_stopped(#name, threads);
#include "tests/gpu/real_kernels.def"
#undef REAL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest_finds_the_least_distance),
		cmocka_unit_test(test_cheapest_path_costs_what_a_plain_search_finds),
		cmocka_unit_test(test_plate_heats_tiles),
		cmocka_unit_test(test_box_heats_rows_of_all_planes),
		cmocka_unit_test(test_frontier_marks_unseen_neighbours),
		cmocka_unit_test(test_speckle_smooths_a_picture),
		cmocka_unit_test(test_tile_update_takes_the_product_off),
		cmocka_unit_test(test_particles_are_weighed_and_placed),
		cmocka_unit_test(test_triad_adds_three_times_the_second),
		cmocka_unit_test(test_updates_are_all_in_the_table),
		cmocka_unit_test(test_multiply_gives_the_product),
		cmocka_unit_test(test_hash_build_puts_all_keys_where_they_are_found),
		cmocka_unit_test(test_hash_probe_counts_its_steps),
		cmocka_unit_test(test_radix_partition_orders_by_digit_and_loses_none),
		cmocka_unit_test(test_arithmetic_keeps_its_registers),
		cmocka_unit_test(test_digest_is_that_of_rfc_1321),
		cmocka_unit_test(test_every_kernel_stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
