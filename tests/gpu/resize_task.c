/*
 * resize_task.c - see resize_task.h.
 */
#include "tests/gpu/resize_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "tests/gpu/bound_kernels.h"
#include "tests/gpu/resize_kernels.h"

#define RUNS	   3
#define MAX_QUEUES 2

struct bench bench;

static CUmodule load(const char *text, int n_forms)
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
		for (int form = 0; form < n_forms; form++) {
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

struct task task_of(CUmodule module, const char *kernel, unsigned int form, uint32_t blocks,
		    uint64_t n)
{
	struct task t = {.form = form, .blocks = blocks};

	t.shot = (struct shot){.function = device_find_form(module, kernel, form),
			       .grid = {blocks, 1, 1},
			       .block = {TASK_THREADS, 1, 1}};
	t.params.p = bench.memory;
	t.params.n = n;
	return t;
}

void task_fire(struct task *t, const void *own, size_t bytes, CUstream stream)
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
		task_fire(t, &slice, sizeof(slice), stream);
}

struct gsb_variant_persistent task_persistent(const struct task *t)
{
	return (struct gsb_variant_persistent){.control = bench.control,
					       .grid = {t->blocks, 1, 1},
					       .total = t->blocks,
					       .batch = 1,
					       .max_tiles = t->max_tiles,
					       .max_ns = GSB_VARIANT_NO_TIME};
}

/* As often as nothing but the lifetime ends the blocks; the last queue's end is the first one's, too. */
static void fire_persistent(struct task *t, CUstream stream)
{
	struct gsb_variant_persistent own = task_persistent(t);
	CUstream queues[MAX_QUEUES] = {stream, bench.streams[1]};
	uint64_t each = (uint64_t)t->shot.grid[0] * t->max_tiles;
	uint64_t n = gsb_div_up(t->blocks, each) + t->spare;
	uint32_t n_queues = t->queues ? t->queues : 1;

	for (uint64_t i = 0; i < n; i++)
		task_fire(t, &own, sizeof(own), queues[i % n_queues]);
	if (n_queues == 1)
		return;
	need("event", cu.cuEventRecord(bench.joined, queues[1]));
	need("join", cu.cuStreamWaitEvent(queues[0], bench.joined, 0));
}

void task_fire_all(struct task *t, CUstream stream)
{
	struct gsb_variant_count count = {.words = bench.words, .every = t->slices};

	switch (t->form) {
	case GSB_REWRITE_SLICE: fire_slices(t, stream); break;
	case GSB_REWRITE_PERSISTENT: fire_persistent(t, stream); break;
	case GSB_REWRITE_COUNT: task_fire(t, &count, sizeof(count), stream); break;
	default: task_fire(t, NULL, 0, stream);
	}
}

void task_clear_control(void)
{
	need("clear", cu.cuMemsetD8_v2(bench.control, 0, sizeof(struct gsb_variant_control)));
	need("wait", cu.cuCtxSynchronize());
}

void task_raise_stop(void)
{
	static const uint32_t one = 1;

	need("stop",
	     cu.cuMemcpyHtoDAsync_v2(bench.control + offsetof(struct gsb_variant_control, stop),
				     &one, sizeof(one), bench.streams[2]));
	need("stop", cu.cuStreamSynchronize(bench.streams[2]));
}

double task_elapsed_us(CUevent from, CUevent to)
{
	float ms;

	need("wait", cu.cuEventSynchronize(to));
	need("time", cu.cuEventElapsedTime(&ms, from, to));
	return (double)ms * 1e3;
}

double task_us(struct task *t, CUstream stream)
{
	double least = 0;

	for (int i = 0; i <= RUNS; i++) {
		double us;

		task_clear_control();
		need("event", cu.cuEventRecord(bench.begin, stream));
		task_fire_all(t, stream);
		need("event", cu.cuEventRecord(bench.end, stream));
		us = task_elapsed_us(bench.begin, bench.end);
		if (i == 1 || us < least)
			least = us;
	}
	return least;
}

uint64_t task_turns(double block_us)
{
	struct task t = task_of(bench.bound, "spin", TASK_ORIGINAL, TASK_FULL * TASK_WAVES, 1000);

	return (uint64_t)(1000 * block_us * TASK_WAVES / task_us(&t, bench.streams[0]));
}

void task_prepare(int n_forms)
{
	bench.bound = load(bound_ptx, n_forms);
	bench.more = load(resize_ptx, n_forms);
	bench.control = device_alloc(sizeof(struct gsb_variant_control));
	bench.words = device_alloc(TASK_MIB);
	bench.memory = device_alloc(TASK_SCAN + TASK_MIB);
	for (size_t i = 0; i < GSB_ARRAY_LEN(bench.streams); i++)
		need("stream", cu.cuStreamCreate(&bench.streams[i], 1));
	need("event", cu.cuEventCreate(&bench.begin, 0));
	need("event", cu.cuEventCreate(&bench.end, 0));
	need("event", cu.cuEventCreate(&bench.joined, 0));
	for (int i = 0; i < 30; i++) /* clocks rise */
		task_turns(20);
}
