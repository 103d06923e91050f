/*
 * test_emu_repeat.c - the same work gives the same: ordinary kernels, as nvcc makes them, in three queues with copies
 * and fills between them, on 1, 2 and 4 workers and again. Each byte of what they leave and each nanosecond of when
 * they ran is compared. doc/design.md promises it for kernels that do not wait for other blocks.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/ops.h"

#ifdef __SANITIZE_THREAD__ /* its runtime leaves programs no addresses but low ones */
#define DEVICE_BASE 0x1000000000ull
#else
#define DEVICE_BASE 0x400000000000ull
#endif
#define BUFFER	 65536 /* bytes of each argument that is an array */
#define ELEMENTS 1000u
#define N_QUEUES 3

/* args: b an array of its own, filled with numbers; n how many elements; f a float. */
static const struct program {
	const char *file, *kernel, *args;
	uint32_t grid[2], block[2], smem;
} programs[] = {
	{"vadd", "vadd", "bbbn", {8, 1}, {128, 1}, 0},
	{"vadd", "saxpy", "nfbb", {3, 1}, {96, 1}, 0},
	{"matmul", "matmul", "bbbn", {7, 7}, {16, 16}, 0},
	{"reduce", "reduce_shfl", "bbn", {5, 1}, {160, 1}, 0},
	{"reduce", "reduce_tree", "bbn", {40, 1}, {256, 1}, 1024},
	{"scan", "scan_block", "bbn", {4, 1}, {256, 1}, 0},
	{"bitonic", "bitonic", "b", {16, 1}, {256, 1}, 0},
	{"histogram", "histogram", "bbn", {30, 1}, {192, 1}, 0},
	{"bits", "bits", "bbbbn", {8, 1}, {128, 1}, 0},
	{"muldiv", "divmod", "bbbbbbbbn", {8, 1}, {128, 1}, 0},
	{"muldiv", "mul_wide", "bbbbn", {8, 1}, {128, 1}, 0},
	{"fmath", "fma_poly", "bbbbn", {8, 1}, {128, 1}, 0},
	{"fmath", "transcendental", "bbbbn", {32, 1}, {32, 1}, 0},
	{"local", "local_sort", "bn", {20, 1}, {32, 1}, 0},
	{"calls", "call_recursive", "bn", {16, 1}, {64, 1}, 0},
	{"switch", "switch_dense", "bbn", {32, 1}, {32, 1}, 0},
};

#define N_PROGRAMS GSB_ARRAY_LEN(programs)
#define MAX_ARGS   9
#define N_COMMANDS (N_PROGRAMS * 3)

struct outcome {
	struct gsb_completion done[N_COMMANDS]; /* by cookie */
	unsigned char *memory;			/* of all arrays of all programs */
	size_t bytes;
};

struct rig {
	struct gsb_device *dev;
	struct gsb_space *space;
	struct gsb_queue *queues[N_QUEUES];
	uint64_t memory;
};

static char *read_ptx(const char *name)
{
	const char *dir = getenv("srcdir");
	char path[512], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/ptx/%s.nvcc.ptx", dir ? dir : ".", name);
	f = fopen(path, "r");
	if (!f || !text)
		fail_msg("%s: cannot be read", path);
	fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return text;
}

static struct gsb_function *function(struct rig *rig, const struct program *p)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_function_info info;
	struct gsb_function *f = NULL;
	struct gsb_module *module = NULL;
	char *text = read_ptx(p->file), log[512] = "";

	if (ops->module_load(rig->space, text, strlen(text), &module, log, sizeof(log)) ||
	    ops->function_get(module, p->kernel, &f, &info) ||
	    ops->function_prepare(f, log, sizeof(log)))
		fail_msg("%s: %s", p->kernel, log);
	free(text);
	return f;
}

static uint64_t array_of(const struct rig *rig, size_t program, unsigned int nth)
{
	return rig->memory + (program * MAX_ARGS + nth) * BUFFER;
}

/* Small numbers, of which floats and doubles are ordinary. */
static void fill(uint64_t at, uint64_t seed)
{
	uint32_t *words = (uint32_t *)(uintptr_t)at;

	for (unsigned int i = 0; i < BUFFER / 4; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		words[i] = (uint32_t)(seed >> 33) % 2 ? (uint32_t)(seed >> 40)
						      : 0x3f800000 | (uint32_t)(seed >> 44);
	}
}

static uint32_t put_args(const struct rig *rig, size_t program, unsigned char *params)
{
	uint32_t at = 0, n = ELEMENTS, arrays = 0;
	float f = 0.5f;

	if (!strcmp(programs[program].kernel, "matmul"))
		n = 100;
	for (const char *a = programs[program].args; *a; a++) {
		uint64_t p = array_of(rig, program, arrays);

		if (*a == 'b') {
			at = (at + 7) & ~7u;
			memcpy(params + at, &p, 8);
			fill(p, program * MAX_ARGS + arrays++);
			at += 8;
			continue;
		}
		memcpy(params + at, *a == 'n' ? (void *)&n : (void *)&f, 4);
		at += 4;
	}
	return at;
}

/* A launch, a copy of what it made over its second half, and a fill behind that. */
static void issue(struct rig *rig, size_t program)
{
	const struct program *p = &programs[program];
	struct gsb_queue *queue = rig->queues[program % N_QUEUES];
	uint64_t first = array_of(rig, program, 0);
	unsigned char params[128] = {0};
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_LAUNCH,
		.space = rig->space,
		.cookie = program * 3,
		.launch = {.function = function(rig, p),
			   .grid = {p->grid[0], p->grid[1], 1},
			   .block = {p->block[0], p->block[1], 1},
			   .smem_bytes = p->smem,
			   .params = params,
			   .params_bytes = put_args(rig, program, params)},
	};

	assert_int_equal(rig->dev->ops->issue(queue, &cmd), 0);
	cmd = (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .space = rig->space,
			       .cookie = program * 3 + 1,
			       .copy = {first + BUFFER / 2, first, 1000 + program * 8, 1, 0, 0}};
	assert_int_equal(rig->dev->ops->issue(queue, &cmd), 0);
	cmd = (struct gsb_cmd){.kind = GSB_CMD_FILL,
			       .space = rig->space,
			       .cookie = program * 3 + 2,
			       .fill = {first + BUFFER / 4 * 3, 100 + program, 1, 0, 7, 4}};
	assert_int_equal(rig->dev->ops->issue(queue, &cmd), 0);
}

static void collect(struct rig *rig, struct outcome *out)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_completion c;
	unsigned int have = 0;

	while (have < N_COMMANDS) {
		struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};

		if (!ops->poll(rig->dev, &c, 1)) {
			ops->advance(rig->dev, UINT64_MAX);
			if (!ops->poll(rig->dev, &c, 1)) {
				assert_int_equal(poll(&fd, 1, 60000), 1);
				continue;
			}
		}
		assert_true(c.cookie < N_COMMANDS);
		out->done[c.cookie] = c;
		have++;
	}
}

static void work(unsigned int n_workers, struct outcome *out)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = n_workers};
	struct gsb_space_params space = {.device_base = DEVICE_BASE, .device_size = 1ull << 32};
	struct rig rig = {0};
	char err[256] = "";

	if (gsb_device_open(&p, &rig.dev, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(rig.dev->ops->space_create(rig.dev, &space, &rig.space), 0);
	for (unsigned int i = 0; i < N_QUEUES; i++)
		assert_int_equal(
			rig.dev->ops->queue_create(rig.dev, 0, GSB_ALL_SMS, &rig.queues[i]), 0);
	out->bytes = N_PROGRAMS * MAX_ARGS * (size_t)BUFFER;
	assert_int_equal(rig.dev->ops->mem_alloc(rig.space, out->bytes, &rig.memory), 0);
	for (size_t i = 0; i < N_PROGRAMS; i++)
		issue(&rig, i);
	collect(&rig, out);
	out->memory = malloc(out->bytes);
	assert_non_null(out->memory);
	memcpy(out->memory, (void *)(uintptr_t)rig.memory, out->bytes);
	for (unsigned int i = 0; i < N_QUEUES; i++)
		rig.dev->ops->queue_destroy(rig.queues[i]);
	rig.dev->ops->space_destroy(rig.space);
	rig.dev->ops->close(rig.dev);
}

static void compare(const struct outcome *a, const struct outcome *b, unsigned int n_workers)
{
	for (unsigned int i = 0; i < N_COMMANDS; i++) {
		const struct gsb_completion *x = &a->done[i], *y = &b->done[i];

		if (x->result || y->result)
			fail_msg("%s: %s", programs[i / 3].kernel, y->detail);
		if (x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
		    x->n_blocks != y->n_blocks || x->n_instructions != y->n_instructions)
			fail_msg("%s, command %u, with %u workers: another time",
				 programs[i / 3].kernel, i % 3, n_workers);
	}
	for (size_t i = 0; i < a->bytes; i++) {
		if (a->memory[i] != b->memory[i])
			fail_msg("%s with %u workers: byte %zu of array %zu differs",
				 programs[i / BUFFER / MAX_ARGS].kernel, n_workers, i % BUFFER,
				 i / BUFFER % MAX_ARGS);
	}
}

static void test_results_and_timeline_are_the_same_on_any_number_of_workers(void **state)
{
	static const unsigned int workers[] = {1, 2, 4};
	unsigned int rounds = getenv("GSB_CHECK_LONG") ? 100 : 3;
	static struct outcome first, again;

	work(1, &first);
	for (unsigned int i = 0; i < rounds * GSB_ARRAY_LEN(workers); i++) {
		work(workers[i % GSB_ARRAY_LEN(workers)], &again);
		compare(&first, &again, workers[i % GSB_ARRAY_LEN(workers)]);
		free(again.memory);
	}
	free(first.memory);
}

/* What the comparison rests on: kernels ran beside each other, and wrote. */
static void test_programs_run_beside_each_other_and_write(void **state)
{
	static struct outcome out;
	unsigned int n_beside = 0;

	work(2, &out);
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		unsigned char *was = malloc(BUFFER * MAX_ARGS);
		const unsigned char *is = out.memory + i * BUFFER * MAX_ARGS;
		unsigned int n_arrays = 0;

		assert_non_null(was);
		for (const char *a = programs[i].args; *a; a++) {
			if (*a == 'b')
				fill((uintptr_t)was + n_arrays * BUFFER, i * MAX_ARGS + n_arrays);
			n_arrays += *a == 'b';
		}
		/* The copy and the fill write behind the middle of the first array. */
		if (!memcmp(was, is, BUFFER / 2) &&
		    !memcmp(was + BUFFER, is + BUFFER, (n_arrays - 1) * (size_t)BUFFER))
			fail_msg("%s wrote nothing", programs[i].kernel);
		free(was);
		n_beside += i && out.done[3 * i].start_ns < out.done[3 * i - 3].end_ns;
	}
	assert_true(n_beside >= 2);
	free(out.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results_and_timeline_are_the_same_on_any_number_of_workers),
		cmocka_unit_test(test_programs_run_beside_each_other_and_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
