/*
 * real_kit.h - what the tests of the kernels for tests/gpu/real_measure share: their arrays on the emulated device, a run of a few
 * blocks, and what it should have written.
 */
#ifndef GSB_TESTS_REAL_KIT_H
#define GSB_TESTS_REAL_KIT_H

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/real_data.h"
#include "tests/unit/device_kit.h"

#define N	  (1u << 18)
#define MASK	  (N - 1)
#define BLOCKS	  3u
#define UNITS	  2u
#define ITEMS	  (BLOCKS * UNITS)
#define RANDOM(x) ((x)*1664525u + 1013904223u)

static struct t_device dev;
static float *real, *out;
static uint32_t *word, *words_out, *progress, *stop;

static inline void real_start(const char *path)
{
	void *written;

	t_device_open(&dev, "emu:h200", 2);
	t_device_load_file(&dev, path);
	real = t_device_alloc(&dev, N * 4);
	word = t_device_alloc(&dev, N * 4);
	written = t_device_alloc(&dev, N * 4);
	out = written;
	words_out = written;
	progress = t_device_alloc(&dev, BLOCKS * 8);
	stop = t_device_alloc(&dev, 4);
	for (uint32_t i = 0; i < N; i++) {
		real[i] = real_number(i);
		word[i] = real_word(i);
	}
}

static inline void launch(const char *kernel, uint32_t threads)
{
	const struct t_device_launch l = {
		.kernel = kernel,
		.grid = BLOCKS,
		.block = threads,
		.args = {(uintptr_t)real, (uintptr_t)word, (uintptr_t)out, N, UNITS,
			 (uintptr_t)progress, (uintptr_t)stop},
	};

	memset(out, 0, N * 4);
	memset(progress, 0, BLOCKS * 8);
	assert_int_equal(t_device_run(&dev, &l).result, CUDA_SUCCESS);
}

static inline void run(const char *kernel, uint32_t threads)
{
	*stop = 0;
	launch(kernel, threads);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		assert_int_equal(progress[2 * b], UNITS);
		assert_in_range(progress[2 * b + 1], 1, 132);
	}
}

/* One that is told to stop before it begins. */
static inline void run_stopped(const char *kernel, uint32_t threads)
{
	*stop = 1;
	launch(kernel, threads);
	for (uint32_t b = 0; b < BLOCKS; b++)
		assert_int_equal(progress[2 * b], 0);
}

/* What a kernel should have written, and nothing else. */
static inline void expect(const float *wanted)
{
	for (uint32_t i = 0; i < N; i++)
		if (memcmp(&wanted[i], &out[i], 4) != 0)
			fail_msg("%u: %.9g, not %.9g", i, (double)out[i], (double)wanted[i]);
}

static inline float *nothing(void)
{
	float *wanted = calloc(N, sizeof(*wanted));

	assert_non_null(wanted);
	return wanted;
}

/* Unit u of block b: items are numbered as in the kernels. */
#define EACH_ITEM(item)    \
	uint32_t item = 0; \
	item < ITEMS;      \
	item++

#endif
