/*
 * resize_cub.c - CUB's scan of 32-bit sums, the kernel that nvcc made of CUB's own headers, in its forms: its blocks wait for lower ones,
 * so that what the order of blocks does to a form shows as a hang.
 *
 * How many words a block takes is the kernel's secret: one block is run, and what it has written is counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "tests/gpu/resize.h"
#include "tests/unit/resize_kit.h"

#define MOST_A_TILE   (1u << 16)
#define THREADS	      128
#define PADDING_TILES 32 /* in front of the first one's state */
#define N_SMS	      132
#define ORIGINAL      GSB_N_REWRITE_FORMS

/* As the kernel takes them, and what its form takes behind. */
struct scan_params {
	uint64_t in, out, state;
	uint32_t first_tile;
	uint8_t plus;
	uint64_t initial[2]; /* "not in memory", 0 */
	uint32_t n, padding;
	union {
		struct gsb_variant_slice slice;
		struct gsb_variant_persistent persistent;
	} own;
};

struct init_params {
	uint64_t state;
	uint32_t n_tiles;
};

struct scan {
	const char *file;
	const char *kernel, *init;
	CUmodule module;
	CUdeviceptr in, out, state, control;
	CUstream queues[2];
	CUevent begin, end, joined;
	uint32_t *expected, *got;
	uint32_t n, tile, n_tiles; /* words; of them in a tile */
	double alone_us;
	bool wrong;
};

static struct gsb_ptx_func *find(const struct gsb_ptx_module *m, const char *a, const char *b)
{
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry && strstr(m->funcs[i]->name, a) &&
		    strstr(m->funcs[i]->name, b))
			return m->funcs[i];
	fprintf(stderr, "resize: no kernel with %s and %s in its name\n", a, b);
	exit(1);
}

static enum gsb_resize_early early_of(const struct gsb_ptx_module *m,
				      const struct gsb_ptx_func *kernel)
{
	struct gsb_resize_facts facts;
	struct gsb_arena arena;
	enum gsb_resize_early early;

	gsb_arena_init(&arena, (size_t)1 << 30);
	if (gsb_resize_analyse(m, kernel, &arena, &facts) ||
	    !(facts.ordered_forms & GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT))) {
		fprintf(stderr, "resize: CUB's scan is not ordered\n");
		exit(1);
	}
	early = facts.early;
	gsb_arena_finish(&arena);
	return early;
}

/* The compiler takes half a minute for all of CUB. */
static struct gsb_ptx_module *read_scan(const char *path)
{
	struct gsb_ptx_module *all = kit_parse_file(path), *m;
	struct gsb_ptx_func *const entries[] = {
		find(all, "16DeviceScanKernel", "Ijjjj"),
		find(all, "20DeviceScanInitKernel", "ScanTileStateIj")};

	m = device_text_of(all, entries, GSB_ARRAY_LEN(entries));
	gsb_ptx_module_destroy(all);
	return m;
}

static void load(struct scan *s, const struct gsb_ptx_module *m)
{
	const struct gsb_ptx_func *kernel = find(m, "16DeviceScanKernel", "");
	struct gsb_rewrite_job jobs[] = {
		{.kernel = kernel, .form = GSB_REWRITE_SLICE},
		{.kernel = kernel, .form = GSB_REWRITE_PERSISTENT, .early = early_of(m, kernel)}};
	struct gsb_rewrite_refusal why = {.text = ""};
	struct gsb_ptx_module *out;
	char log[1024];

	s->kernel = kernel->name;
	s->init = find(m, "20DeviceScanInitKernel", "")->name;
	if (gsb_rewrite(m, jobs, GSB_ARRAY_LEN(jobs), &out, &why)) {
		fprintf(stderr, "resize: %s\n", why.text);
		exit(1);
	}
	s->module = device_load(out, log, sizeof(log));
	gsb_ptx_module_destroy(out);
	if (!s->module) {
		fprintf(stderr, "resize: %s\n", log);
		exit(1);
	}
}

static void fire(struct scan *s, unsigned int form, uint32_t blocks, const void *own, size_t bytes,
		 CUstream queue)
{
	struct scan_params p = {.in = s->in, .out = s->out, .state = s->state, .n = s->n};
	struct shot shot = {.function = device_find_form(s->module, s->kernel, form),
			    .grid = {blocks, 1, 1},
			    .block = {THREADS, 1, 1},
			    .params = &p};

	if (bytes)
		memcpy(&p.own, own, bytes);
	shot.bytes = bytes ? offsetof(struct scan_params, own) + bytes
			   : offsetof(struct scan_params, padding);
	device_fire(&shot, queue);
}

/* The states, and an output that tells what was not written. */
static void begin(struct scan *s)
{
	struct init_params p = {s->state, s->n_tiles};
	struct shot shot = {
		.function = device_find(s->module, s->init),
		.grid = {(uint32_t)gsb_div_up(s->n_tiles + PADDING_TILES, THREADS), 1, 1},
		.block = {THREADS, 1, 1},
		.params = &p,
		.bytes = offsetof(struct init_params, n_tiles) + sizeof(p.n_tiles)};

	need("clear", cu.cuMemsetD8_v2(s->out, 0xff, 4ull * s->n));
	need("clear", cu.cuMemsetD8_v2(s->control, 0, sizeof(struct gsb_variant_control)));
	device_fire(&shot, s->queues[0]);
	need("wait", cu.cuCtxSynchronize());
	need("event", cu.cuEventRecord(s->begin, s->queues[0]));
}

static double end(struct scan *s, const char *what)
{
	float ms;

	need("event", cu.cuEventRecord(s->joined, s->queues[1]));
	need("join", cu.cuStreamWaitEvent(s->queues[0], s->joined, 0));
	need("event", cu.cuEventRecord(s->end, s->queues[0]));
	device_await(s->queues[0], "DeviceScan", what);
	need("time", cu.cuEventElapsedTime(&ms, s->begin, s->end));
	need("copy", cu.cuMemcpyDtoH_v2(s->got, s->out, 4ull * s->n));
	return (double)ms * 1e3;
}

static void say(struct scan *s, const char *what, double us)
{
	const bool equal = !memcmp(s->got, s->expected, 4ull * s->n);

	printf("scan\t%s\t%s\t%.1f\t%.2f\t%s\n", s->file, what, us, us / s->alone_us,
	       equal ? "equal" : "DIFFERS");
	s->wrong |= !equal;
}

static void run_original(struct scan *s)
{
	for (int i = 0; i < 3; i++) {
		begin(s);
		fire(s, ORIGINAL, s->n_tiles, NULL, 0, s->queues[0]);
		s->alone_us = end(s, "original");
	}
	say(s, "original", s->alone_us);
}

static void run_slices(struct scan *s, uint32_t n)
{
	const uint32_t grid[3] = {s->n_tiles, 1, 1};
	struct gsb_variant_slice slice;
	uint64_t done = 0;
	uint32_t size[3];
	char what[32];

	snprintf(what, sizeof(what), "slice:%u", n);
	begin(s);
	while (gsb_variant_slice_next(grid, &done, (uint32_t)gsb_div_up(s->n_tiles, n), &slice,
				      size))
		fire(s, GSB_REWRITE_SLICE, size[0], &slice, sizeof(slice), s->queues[0]);
	say(s, what, end(s, what));
}

static void run_persistent(struct scan *s, uint32_t blocks, uint32_t tiles, uint32_t n_queues)
{
	struct gsb_variant_persistent own = {.control = s->control,
					     .grid = {s->n_tiles, 1, 1},
					     .total = s->n_tiles,
					     .batch = 1,
					     .max_tiles = tiles,
					     .max_ns = GSB_VARIANT_NO_TIME};
	uint64_t each = (uint64_t)blocks * tiles;
	char what[64];

	snprintf(what, sizeof(what), "persistent:%u:%d, queues %u", blocks, (int)tiles, n_queues);
	begin(s);
	for (uint64_t done = 0, i = 0; done < s->n_tiles; done += each, i++)
		fire(s, GSB_REWRITE_PERSISTENT, blocks, &own, sizeof(own), s->queues[i % n_queues]);
	say(s, what, end(s, what));
}

static void find_tile(struct scan *s)
{
	uint32_t n = 0;

	s->n_tiles = 1;
	begin(s);
	fire(s, ORIGINAL, 1, NULL, 0, s->queues[0]);
	end(s, "one block");
	while (n < MOST_A_TILE && s->got[n] != UINT32_MAX)
		n++;
	s->tile = n;
	s->n_tiles = (uint32_t)gsb_div_up(s->n, n ? n : 1);
	printf("tile\t%s\t%u words\t%u tiles\n", s->file, n, s->n_tiles);
	if (!n || n == MOST_A_TILE)
		exit(1);
}

/* An exclusive sum. Words are small, so that no sum is what was not written. */
static void fill(struct scan *s)
{
	uint32_t *in = malloc(4ull * s->n), sum = 0, seed = 1;

	if (!in)
		exit(1);
	for (uint32_t i = 0; i < s->n; i++) {
		seed = seed * 1664525 + 1013904223;
		in[i] = seed >> 26;
		s->expected[i] = sum;
		sum += in[i];
	}
	need("copy", cu.cuMemcpyHtoD_v2(s->in, in, 4ull * s->n));
	free(in);
}

static void open_scan(struct scan *s)
{
	s->in = device_alloc(4ull * s->n);
	s->out = device_alloc(4ull * s->n);
	s->state = device_alloc(8ull * (s->n / THREADS + PADDING_TILES));
	s->control = device_alloc(sizeof(struct gsb_variant_control));
	s->expected = malloc(4ull * s->n);
	s->got = malloc(4ull * s->n);
	if (!s->expected || !s->got)
		exit(1);
	for (int i = 0; i < 2; i++)
		need("stream", cu.cuStreamCreate(&s->queues[i], 1));
	need("event", cu.cuEventCreate(&s->begin, 0));
	need("event", cu.cuEventCreate(&s->end, 0));
	need("event", cu.cuEventCreate(&s->joined, 0));
	fill(s);
}

static void close_scan(struct scan *s)
{
	cu.cuModuleUnload(s->module);
	cu.cuMemFree_v2(s->in);
	cu.cuMemFree_v2(s->out);
	cu.cuMemFree_v2(s->state);
	cu.cuMemFree_v2(s->control);
	free(s->expected);
	free(s->got);
}

static void run_forms(struct scan *s)
{
	static const uint32_t slices[] = {2, 8, 32}, lives[] = {GSB_VARIANT_NO_LIMIT, 64, 3, 1};
	const int fit = device_resident(
		device_find_form(s->module, s->kernel, GSB_REWRITE_PERSISTENT), THREADS, 0);
	const uint32_t full = N_SMS * (uint32_t)fit,
		       blocks[] = {1, N_SMS, full, 2 * full, 16 * full};

	for (size_t i = 0; i < GSB_ARRAY_LEN(slices); i++)
		run_slices(s, slices[i]);
	for (size_t i = 0; i < GSB_ARRAY_LEN(blocks); i++)
		for (size_t k = 0; k < GSB_ARRAY_LEN(lives); k++)
			for (uint32_t queues = 1; queues <= 2; queues++)
				run_persistent(s, blocks[i], lives[k], queues);
}

int measure_cub(const char *path, uint32_t n_words)
{
	struct gsb_ptx_module *m = read_scan(path);
	struct scan s = {.n = n_words, .file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path};

	load(&s, m);
	open_scan(&s);
	find_tile(&s);
	run_original(&s);
	run_forms(&s);
	close_scan(&s);
	gsb_ptx_module_destroy(m);
	return s.wrong;
}
