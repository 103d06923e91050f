/*
 * resize_times.c - what the forms cost on a GPU, and what they are for.
 *
 * A time is the least of some runs, from an event before the first launch of a form to one after its last, so that the gaps between
 * the launches of a grid belong to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "tests/gpu/bound_kernels.h"
#include "tests/gpu/resize.h"
#include "tests/gpu/resize_kernels.h"

#define ORIGINAL  GSB_N_REWRITE_FORMS
#define SMS	  132
#define THREADS	  256
#define FULL	  (8 * SMS) /* blocks of THREADS */
#define WAVES	  64
#define RUNS	  3
#define PAIR	  512	/* threads of a block of two that share SMs */
#define PAIR_SMEM 38912 /* so that four of them fill an SM */
#define SCAN_UNIT (64ull * THREADS * 4 * SMS)
#define MIB	  (1ull << 20)
#define SCAN	  (1024 * MIB / SCAN_UNIT * SCAN_UNIT)
#define WORDS	  (1u << 26)
#define COUNTED	  2048 /* warps of a counting launch */
#define PATIENCE  15   /* times what a kernel takes alone */

static CUstream streams[3]; /* two kernels, and what is said to them meanwhile */
static CUevent begin, end;
static CUdeviceptr control, words, memory;
static CUmodule bound, more;

/* A kernel of the two texts, its two parameters, and what its form takes behind them. */
struct task {
	struct shot shot;
	struct {
		uint64_t p, n;
		union {
			struct gsb_variant_slice slice;
			struct gsb_variant_persistent persistent;
			struct gsb_variant_count count;
		} own;
	} params;
	unsigned int form;
	uint32_t blocks, slices, max_tiles;
};

static CUmodule load(const char *text)
{
	struct gsb_rewrite_job jobs[16];
	struct gsb_rewrite_refusal why = {.text = ""};
	struct gsb_ptx_module *m, *out;
	CUmodule module;
	char log[1024];
	size_t n = 0;

	if (gsb_ptx_parse(text, strlen(text), &m, NULL))
		exit(1);
	for (uint32_t i = 0; i < m->n_funcs; i++)
		for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
			jobs[n] = (struct gsb_rewrite_job){.kernel = m->funcs[i], .form = form};
			n += !gsb_rewrite_check(m, &jobs[n], &why);
		}
	if (gsb_rewrite(m, jobs, n, &out, &why)) {
		fprintf(stderr, "resize: %s\n", why.text);
		exit(1);
	}
	module = device_load(out, log, sizeof(log));
	if (!module) {
		fprintf(stderr, "resize: %s\n", log);
		exit(1);
	}
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
	return module;
}

static struct task task_of(CUmodule module, const char *kernel, unsigned int form, uint32_t blocks,
			   uint64_t n)
{
	struct task t = {.form = form, .blocks = blocks};

	t.shot = (struct shot){.function = device_find_form(module, kernel, form),
			       .grid = {blocks, 1, 1},
			       .block = {THREADS, 1, 1}};
	t.params.p = memory;
	t.params.n = n;
	return t;
}

static void fire(struct task *t, const void *own, size_t bytes, CUstream stream)
{
	if (own)
		memcpy(&t->params.own, own, bytes);
	t->shot.params = &t->params;
	t->shot.bytes = offsetof(struct task, params.own) - offsetof(struct task, params) + bytes;
	device_fire(&t->shot, stream);
}

static void fire_slices(struct task *t, CUstream stream)
{
	const uint32_t grid[3] = {t->blocks, 1, 1};
	struct gsb_variant_slice slice;
	uint64_t done = 0;

	while (gsb_variant_slice_next(grid, &done, (uint32_t)gsb_div_up(t->blocks, t->slices),
				      &slice, t->shot.grid))
		fire(t, &slice, sizeof(slice), stream);
}

static struct gsb_variant_persistent persistent_of(const struct task *t)
{
	return (struct gsb_variant_persistent){.control = control,
					       .grid = {t->blocks, 1, 1},
					       .total = t->blocks,
					       .batch = 1,
					       .max_tiles = t->max_tiles,
					       .max_ns = GSB_VARIANT_NO_TIME};
}

/* As often as nothing but the lifetime ends the blocks. */
static void fire_persistent(struct task *t, CUstream stream)
{
	struct gsb_variant_persistent own = persistent_of(t);
	uint64_t each = (uint64_t)t->shot.grid[0] * t->max_tiles;

	for (uint64_t done = 0; done < t->blocks; done += each)
		fire(t, &own, sizeof(own), stream);
}

static void fire_all(struct task *t, CUstream stream)
{
	struct gsb_variant_count count = {.words = words, .every = t->slices};

	switch (t->form) {
	case GSB_REWRITE_SLICE: fire_slices(t, stream); break;
	case GSB_REWRITE_PERSISTENT: fire_persistent(t, stream); break;
	case GSB_REWRITE_COUNT: fire(t, &count, sizeof(count), stream); break;
	default: fire(t, NULL, 0, stream);
	}
}

static void clear_control(void)
{
	need("clear", cu.cuMemsetD8_v2(control, 0, sizeof(struct gsb_variant_control)));
	need("wait", cu.cuCtxSynchronize());
}

static double elapsed_us(void)
{
	float ms;

	need("wait", cu.cuEventSynchronize(end));
	need("time", cu.cuEventElapsedTime(&ms, begin, end));
	return (double)ms * 1e3;
}

static double time_of(struct task *t)
{
	double least = 0;

	for (int i = 0; i <= RUNS; i++) {
		double us;

		clear_control();
		need("event", cu.cuEventRecord(begin, streams[0]));
		fire_all(t, streams[0]);
		need("event", cu.cuEventRecord(end, streams[0]));
		us = elapsed_us();
		if (i == 1 || us < least)
			least = us;
	}
	return least;
}

/* ---- what a form costs, by the length of blocks ---- */

static uint64_t turns_for(double block_us)
{
	struct task t = task_of(bound, "spin", ORIGINAL, FULL * WAVES, 1000);

	return (uint64_t)(1000 * block_us * WAVES / time_of(&t));
}

static void say_form(double block_us, const char *form, double us, double alone)
{
	printf("overhead\t%.0f\t%s\t%.1f\t%+.2f %%\n", block_us, form, us, 100 * (us / alone - 1));
}

static void costs_of_blocks(double block_us)
{
	static const uint32_t slices[] = {2, 8, 32}, lives[] = {GSB_VARIANT_NO_LIMIT, 64, 3, 1};
	const uint64_t n = turns_for(block_us);
	struct task t = task_of(bound, "spin", ORIGINAL, FULL * WAVES, n);
	const double alone = time_of(&t);
	char name[32];

	say_form(block_us, "original", alone, alone);
	t = task_of(bound, "spin", GSB_REWRITE_SLICE, FULL * WAVES, n);
	for (size_t i = 0; i < GSB_ARRAY_LEN(slices); i++) {
		t.slices = slices[i];
		snprintf(name, sizeof(name), "slice:%u", slices[i]);
		say_form(block_us, name, time_of(&t), alone);
	}
	t = task_of(bound, "spin", GSB_REWRITE_PERSISTENT, FULL * WAVES, n);
	t.shot.grid[0] = FULL;
	for (size_t i = 0; i < GSB_ARRAY_LEN(lives); i++) {
		t.max_tiles = lives[i];
		snprintf(name, sizeof(name), "persistent:%d", (int)lives[i]);
		say_form(block_us, name, time_of(&t), alone);
	}
}

static void raise_stop(void)
{
	static const uint32_t one = 1;

	need("stop", cu.cuMemcpyHtoDAsync_v2(control + offsetof(struct gsb_variant_control, stop),
					     &one, sizeof(one), streams[2]));
	need("stop", cu.cuStreamSynchronize(streams[2]));
}

/* From the end of the copy that raises the flag, and from before it, to the end of the blocks. */
static void stop_latency(double block_us)
{
	struct task t =
		task_of(bound, "spin", GSB_REWRITE_PERSISTENT, 1u << 30, turns_for(block_us));

	t.shot.grid[0] = FULL;
	t.max_tiles = GSB_VARIANT_NO_LIMIT;
	for (int i = 0; i < 5; i++) {
		uint64_t before, after, over, run = gsb_clock_ns() + 5000000;

		clear_control();
		fire_all(&t, streams[0]);
		while (gsb_clock_ns() < run)
			;
		before = gsb_clock_ns();
		raise_stop();
		after = gsb_clock_ns();
		need("wait", cu.cuStreamSynchronize(streams[0]));
		over = gsb_clock_ns();
		printf("stop\t%.0f\t%.1f\t%.1f\n", block_us, (double)(over - after) / 1e3,
		       (double)(over - before) / 1e3);
	}
}

/* ---- two that share SMs ---- */

static uint32_t tiles_done(void)
{
	uint32_t next;

	need("read", cu.cuMemcpyDtoHAsync_v2(&next, control, sizeof(next), streams[2]));
	need("read", cu.cuStreamSynchronize(streams[2]));
	return next;
}

static struct task pair_task(unsigned int form, uint32_t blocks, uint64_t n)
{
	struct task t = task_of(more, "pipe", form, blocks, n);

	t.shot.block[0] = PAIR;
	t.shot.smem = PAIR_SMEM;
	return t;
}

/* The second one's time while the first one is launched again and again; less than 0: not over after @most us, and the first was told to end. */
static double beside(struct task *first, struct task *second, double most, uint32_t *tiles,
		     uint64_t *launches)
{
	struct gsb_variant_persistent own = persistent_of(first);
	const bool tiled = first->form == GSB_REWRITE_PERSISTENT;
	uint64_t limit, before = 2;
	bool late = false;
	double us;

	clear_control();
	for (uint64_t i = 0; i < before; i++)
		fire(first, tiled ? &own : NULL, tiled ? sizeof(own) : 0, streams[0]);
	while (tiled && !tiles_done())
		;
	*tiles = tiled ? tiles_done() : 0;
	limit = gsb_clock_ns() + (uint64_t)(most * 1e3);
	need("event", cu.cuEventRecord(begin, streams[1]));
	fire_all(second, streams[1]);
	need("event", cu.cuEventRecord(end, streams[1]));
	*launches = 0;
	while (cu.cuEventQuery(end) == CUDA_ERROR_NOT_READY && !late) {
		if (*launches < 900 && first->max_tiles != GSB_VARIANT_NO_LIMIT) {
			fire(first, tiled ? &own : NULL, tiled ? sizeof(own) : 0, streams[0]);
			++*launches;
		}
		late = gsb_clock_ns() > limit;
	}
	*tiles = (tiled ? tiles_done() : 0) - *tiles;
	raise_stop();
	us = elapsed_us();
	need("wait", cu.cuCtxSynchronize());
	return late ? -us : us;
}

static void shares(void)
{
	static const uint32_t lives[] = {GSB_VARIANT_NO_LIMIT, 64, 3, 1};
	struct task first = pair_task(ORIGINAL, 2 * SMS * 200, 1500);
	struct task second = pair_task(ORIGINAL, 2 * SMS * 2000, 100);
	const double tile_us = time_of(&first) / first.blocks, alone = time_of(&second);

	printf("alone\tfirst: %.3f us a tile of all SMs\tsecond: %.1f us, %u blocks\n", tile_us,
	       alone, second.blocks);
	for (size_t i = 0; i < GSB_ARRAY_LEN(lives); i++) {
		uint64_t launches;
		uint32_t tiles;
		double us;

		first = pair_task(GSB_REWRITE_PERSISTENT, 1u << 30, 1500);
		first.shot.grid[0] = 2 * SMS;
		first.max_tiles = lives[i];
		us = beside(&first, &second, PATIENCE * alone, &tiles, &launches);
		printf("share\t%d\t%.1f\t%s%.3f\t%.3f\n", (int)lives[i], us, us < 0 ? "<" : "",
		       alone / (us < 0 ? -us : us), tiles * tile_us / (us < 0 ? -us : us));
	}
}

/* ---- hints ---- */

/* Reads of a table beside a scan, whose launches are counted: enough of them for all of the time. */
static void hints(uint32_t mib, unsigned int form)
{
	const uint32_t mask = (uint32_t)(mib * MIB / 4 - 1);
	struct task scan = task_of(bound, "scan", form, 4 * SMS, SCAN), reads;
	CUdeviceptr table = device_alloc(mib * MIB + 256);
	double scan_us, alone, us;
	uint64_t launches;
	uint32_t none;

	need("copy", cu.cuMemcpyHtoD_v2(table, &mask, sizeof(mask)));
	reads = task_of(more, "probe", ORIGINAL, 4 * SMS, 20000);
	reads.params.p = table;
	scan_us = time_of(&scan);
	alone = time_of(&reads);
	us = beside(&scan, &reads, PATIENCE * alone, &none, &launches);
	printf("hint\t%u\t%s\t%.1f\t%.1f\t%.1f\t%.3f\n", mib,
	       form == ORIGINAL ? "as it is" : "hint", scan_us, alone, us, alone / us);
	need("free", cu.cuMemFree_v2(table));
}

/* ---- counting, and sizes of blocks ---- */

static void counting(CUmodule module, const char *kernel, uint32_t blocks, uint64_t n)
{
	struct task t = task_of(module, kernel, ORIGINAL, blocks, n);
	double alone = time_of(&t), some, all;

	t = task_of(module, kernel, GSB_REWRITE_COUNT, blocks, n);
	t.slices = gsb_variant_every(blocks, THREADS / 32, COUNTED);
	some = time_of(&t);
	t.slices = 1;
	all = time_of(&t);
	printf("counting\t%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.2f\n", kernel, alone, some, some / alone,
	       all, all / alone);
}

static void block_sizes(void)
{
	for (uint32_t threads = 32; threads <= 1024; threads *= 2) {
		struct task t = task_of(more, "plus", ORIGINAL, WORDS / threads, 0);

		t.shot.block[0] = threads;
		printf("threads\tplus\t%u\t%.1f\n", threads, time_of(&t));
	}
}

static void prepare(void)
{
	bound = load(bound_ptx);
	more = load(resize_ptx);
	control = device_alloc(sizeof(struct gsb_variant_control));
	words = device_alloc(MIB);
	memory = device_alloc(SCAN + MIB);
	for (size_t i = 0; i < GSB_ARRAY_LEN(streams); i++)
		need("stream", cu.cuStreamCreate(&streams[i], 1));
	need("event", cu.cuEventCreate(&begin, 0));
	need("event", cu.cuEventCreate(&end, 0));
	for (int i = 0; i < 30; i++) /* clocks rise */
		turns_for(20);
}

static void all_of_counting(void)
{
	counting(bound, "spin", FULL * 8, 2000);
	counting(bound, "scan", FULL, SCAN);
	counting(more, "pipe", FULL * 8, 500);
	counting(more, "plus", WORDS / THREADS, 0);
}

int measure_times(bool counting_alone)
{
	static const double lengths[] = {2, 5, 20, 100};

	prepare();
	all_of_counting();
	if (counting_alone)
		return 0;
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++)
		costs_of_blocks(lengths[i]);
	for (size_t i = 0; i < GSB_ARRAY_LEN(lengths); i++)
		stop_latency(lengths[i]);
	block_sizes();
	for (uint32_t mib = 4; mib <= 32; mib *= 2) {
		hints(mib, ORIGINAL);
		hints(mib, GSB_REWRITE_HINT);
	}
	shares();
	return 0;
}
