/*
 * resize_times.c - what the forms cost on a GPU.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/gpu/resize_task.h"

#define WORDS	(1u << 26)
#define COUNTED 2048 /* warps of a counting launch */

static const double lengths[] = {2, 5, 20, 100}; /* of blocks, us */

/* ---- what a form costs, by the length of blocks ---- */

static void say_form(double block_us, const char *form, double us, double alone)
{
	printf("overhead\t%.0f\t%s\t%.1f\t%+.2f %%\n", block_us, form, us, 100 * (us / alone - 1));
}

static double spin_alone(double block_us, uint64_t *turns)
{
	struct task t;
	double us;

	*turns = task_turns(block_us);
	t = task_of(bench.bound, "spin", TASK_ORIGINAL, TASK_FULL * TASK_WAVES, *turns);
	us = task_us(&t, bench.streams[0]);
	say_form(block_us, "original", us, us);
	return us;
}

static struct task persistent_spin(uint64_t turns, uint32_t max_tiles)
{
	struct task t =
		task_of(bench.bound, "spin", GSB_REWRITE_PERSISTENT, TASK_FULL * TASK_WAVES, turns);

	t.shot.grid[0] = TASK_FULL;
	t.max_tiles = max_tiles;
	return t;
}

static void costs_of_blocks(double block_us)
{
	static const uint32_t slices[] = {2, 8, 32}, lives[] = {GSB_VARIANT_NO_LIMIT, 64, 3, 1};
	uint64_t turns;
	const double alone = spin_alone(block_us, &turns);
	struct task t =
		task_of(bench.bound, "spin", GSB_REWRITE_SLICE, TASK_FULL * TASK_WAVES, turns);
	char name[32];

	for (size_t i = 0; i < GSB_ARRAY_LEN(slices); i++) {
		t.slices = slices[i];
		snprintf(name, sizeof(name), "slice:%u", slices[i]);
		say_form(block_us, name, task_us(&t, bench.streams[0]), alone);
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(lives); i++) {
		t = persistent_spin(turns, lives[i]);
		snprintf(name, sizeof(name), "persistent:%d", (int)lives[i]);
		say_form(block_us, name, task_us(&t, bench.streams[0]), alone);
	}
}

/* Launches that take turns in two queues: the next one's blocks come in as the last one's end. */
static void costs_of_turns(double block_us)
{
	static const uint32_t lives[] = {64, 16, 8, 3, 1};
	uint64_t turns;
	const double alone = spin_alone(block_us, &turns);
	char name[64];

	for (size_t i = 0; i < GSB_ARRAY_LEN(lives); i++)
		for (uint32_t queues = 1; queues <= 2; queues++)
			for (uint32_t spare = 0; spare <= 1; spare++) {
				struct task t = persistent_spin(turns, lives[i]);

				t.queues = queues;
				t.spare = spare;
				snprintf(name, sizeof(name), "lifetime %u, queues %u, spare %u",
					 lives[i], queues, spare);
				say_form(block_us, name, task_us(&t, bench.streams[0]), alone);
			}
}

/* From the end of the copy that raises the flag, and from before it, to the end of the blocks. */
static void stop_latency(double block_us)
{
	struct task t = task_of(bench.bound, "spin", GSB_REWRITE_PERSISTENT, 1u << 30,
				task_turns(block_us));

	t.shot.grid[0] = TASK_FULL;
	t.max_tiles = GSB_VARIANT_NO_LIMIT;
	for (int i = 0; i < 5; i++) {
		uint64_t before, after, over, run = gsb_clock_ns() + 5000000;

		task_clear_control();
		task_fire_all(&t, bench.streams[0]);
		while (gsb_clock_ns() < run)
			;
		before = gsb_clock_ns();
		task_raise_stop();
		after = gsb_clock_ns();
		need("wait", cu.cuStreamSynchronize(bench.streams[0]));
		over = gsb_clock_ns();
		printf("stop\t%.0f\t%.1f\t%.1f\n", block_us, (double)(over - after) / 1e3,
		       (double)(over - before) / 1e3);
	}
}

/* ---- counting, and sizes of blocks ---- */

static void counting(CUmodule module, const char *kernel, uint32_t blocks, uint64_t n)
{
	struct task t = task_of(module, kernel, TASK_ORIGINAL, blocks, n);
	double alone = task_us(&t, bench.streams[0]), some, all;

	t = task_of(module, kernel, GSB_REWRITE_COUNT, blocks, n);
	t.slices = gsb_variant_every(blocks, TASK_THREADS / 32, COUNTED);
	some = task_us(&t, bench.streams[0]);
	t.slices = 1;
	all = task_us(&t, bench.streams[0]);
	printf("counting\t%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.2f\n", kernel, alone, some, some / alone,
	       all, all / alone);
}

static void block_sizes(void)
{
	for (uint32_t threads = 32; threads <= 1024; threads *= 2) {
		struct task t = task_of(bench.more, "plus", TASK_ORIGINAL, WORDS / threads, 0);

		t.shot.block[0] = threads;
		printf("threads\tplus\t%u\t%.1f\n", threads, task_us(&t, bench.streams[0]));
	}
}

int measure_counting(void)
{
	const uint32_t mask = 4 * TASK_MIB / 4 - 1;

	counting(bench.bound, "spin", TASK_FULL * 8, 2000);
	counting(bench.bound, "scan", TASK_FULL, TASK_SCAN);
	counting(bench.more, "pipe", TASK_FULL * 8, 500);
	counting(bench.more, "plus", WORDS / TASK_THREADS, 0);
	need("copy", cu.cuMemcpyHtoD_v2(bench.memory, &mask, sizeof(mask)));
	counting(bench.more, "probe", TASK_FULL, 1000);
	return 0;
}

int measure_overlap(void)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++)
		costs_of_turns(lengths[i]);
	return 0;
}

/* A turn's share of it is what can be compared: how many there are in a block is found in the same form. */
int measure_grids(void)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++) {
		uint64_t turns = task_turns(lengths[i]);
		struct task t =
			task_of(bench.bound, "spin", TASK_ORIGINAL, TASK_FULL * TASK_WAVES, turns);
		double us = task_us(&t, bench.streams[0]);

		printf("grid\t%.0f\t%.1f\t%.4f\n", lengths[i], us, 1e3 * us / (double)turns);
	}
	return 0;
}

int measure_times(void)
{
	measure_counting();
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++)
		costs_of_blocks(lengths[i]);
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++)
		stop_latency(lengths[i]);
	block_sizes();
	return 0;
}
