/*
 * test_emu_cluster.c - cooperative groups' this_cluster(), as nvcc 13 compiles it for sm_90, on 1, 2 and 4 workers.
 * A cluster has one block here, which is what every launch has that does not ask for more.
 *
 * tests/kernels/cluster.cu is the source; its text is shipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/device_kit.h"

#define GRID	5
#define THREADS 200 /* the last warp is a quarter */
#define WORDS	13

static int sample(uint32_t i)
{
	return (int)(i * 37 % 599) - 100;
}

static int sum_of_block(uint32_t block)
{
	int sum = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		sum += sample(block * THREADS + i);
	return sum;
}

static void expect_words(const int *out, uint32_t block, uint32_t i)
{
	const uint32_t first = block * THREADS;
	const int want[WORDS] = {
		1, /* blocks */
		THREADS,
		0, /* rank of the block */
		(int)i,
		111, /* blocks of each axis */
		0,   /* place of the block */
		THREADS,
		(int)i,
		sample(first + (i + 1) % THREADS),
		0, /* whose shared memory it is */
		(int)i * 3,
		sum_of_block(block),
		2 * sample(first + THREADS - 1 - i),
	};

	for (unsigned w = 0; w < WORDS; w++) {
		if (out[w] != want[w])
			fail_msg("block %u thread %u word %u: %d, not %d", block, i, w, out[w],
				 want[w]);
	}
}

static void check(const char *kernel, unsigned n_workers)
{
	struct t_device_launch l = {.kernel = kernel, .grid = GRID, .block = THREADS};
	struct gsb_completion c;
	struct t_device d;
	int *in, *out;

	t_device_open(&d, "emu:h200", n_workers);
	t_device_load_file(&d, "tests/ptx/cluster.nvcc.ptx");
	in = t_device_alloc(&d, 4 * GRID * THREADS);
	out = t_device_alloc(&d, 4 * GRID * THREADS * WORDS);
	for (uint32_t i = 0; i < GRID * THREADS; i++)
		in[i] = sample(i);
	l.args[0] = (uint64_t)(uintptr_t)in;
	l.args[1] = (uint64_t)(uintptr_t)out;
	c = t_device_run(&d, &l);
	if (c.result)
		fail_msg("%s: %d %s", kernel, c.result, c.detail);
	for (uint32_t i = 0; i < GRID * THREADS; i++)
		expect_words(&out[i * WORDS], i / THREADS, i % THREADS);
	t_device_close(&d);
}

static void test_cluster_of_a_launch_that_says_nothing_is_its_block(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n *= 2)
		check("cluster_of_the_launch", n);
}

static void test_cluster_of_one_block_that_the_kernel_asks_for(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n *= 2)
		check("cluster_of_the_kernel", n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cluster_of_a_launch_that_says_nothing_is_its_block),
		cmocka_unit_test(test_cluster_of_one_block_that_the_kernel_asks_for),
	};

	return cmocka_run_group_tests_name("emu_cluster", tests, NULL, NULL);
}
