/*
 * test_emu_workers.c - kernels that keep state, on a whole device with 1, 2 and 4 workers: malloc from many
 * blocks at once, barriers and pipelines of many blocks, and the time that kernels read.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/emu.h"
#include "device/ops.h"

#ifdef __SANITIZE_THREAD__ /* its runtime leaves programs no addresses but low ones */
#define DEVICE_BASE 0x1000000000ull
#else
#define DEVICE_BASE 0x200000000000ull
#endif
#define DEVICE_SIZE (1ull << 32)
#define MB	    (1ull << 20)

static const unsigned workers[] = {1, 2, 4};

struct rig {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
};

static char *read_text(const char *path)
{
	const char *dir = getenv("srcdir");
	char name[1024], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", dir ? dir : ".", path);
	f = fopen(name, "r");
	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f))
		fail_msg("%s: cannot be read", name);
	fclose(f);
	return text;
}

static void load(struct rig *r, const char *text)
{
	char log[1024] = "";

	if (r->ops->module_load(r->space, text, strlen(text), &r->module, log, sizeof(log)))
		fail_msg("%s", log);
}

static void open_rig(struct rig *r, unsigned n_workers, uint64_t limit)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = n_workers};
	struct gsb_space_params s = {
		.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE, .mem_limit_bytes = limit};
	char err[256] = "";

	if (gsb_device_open(&p, &r->dev, err, sizeof(err)))
		fail_msg("%s", err);
	r->ops = r->dev->ops;
	assert_int_equal(r->ops->space_create(r->dev, &s, &r->space), 0);
	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queue), 0);
}

static void open_file(struct rig *r, unsigned n_workers, const char *path)
{
	char *text = read_text(path);

	open_rig(r, n_workers, 0);
	load(r, text);
	free(text);
}

static void close_rig(struct rig *r)
{
	r->ops->queue_destroy(r->queue);
	r->ops->space_destroy(r->space);
	r->ops->close(r->dev);
}

static struct gsb_completion complete(struct rig *r)
{
	struct gsb_completion c;

	while (!r->ops->poll(r->dev, &c, 1)) {
		struct pollfd fd = {.fd = r->ops->event_fd(r->dev), .events = POLLIN};

		r->ops->advance(r->dev, UINT64_MAX);
		if (r->ops->poll(r->dev, &c, 1))
			break;
		assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	return c;
}

/* Returns what issue says; the completion is in *c. */
static int launch(struct rig *r, const char *kernel, uint32_t grid, uint32_t block,
		  const uint64_t args[3], struct gsb_completion *c)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = r->space,
			      .launch = {.grid = {grid, 1, 1},
					 .block = {block, 1, 1},
					 .smem_bytes = 8192,
					 .params = args,
					 .params_bytes = 24}};
	static struct gsb_function_info info;
	int err;

	assert_int_equal(r->ops->function_get(r->module, kernel, &cmd.launch.function, &info), 0);
	err = r->ops->issue(r->queue, &cmd);
	if (!err)
		*c = complete(r);
	return err;
}

static void run(struct rig *r, const char *kernel, uint32_t grid, uint32_t block,
		const uint64_t args[3])
{
	struct gsb_completion c;

	assert_int_equal(launch(r, kernel, grid, block, args, &c), 0);
	if (c.result)
		fail_msg("%s: %d %s", kernel, c.result, c.detail);
}

/* Memory of the device, which is memory of this process. */
static void *alloc(struct rig *r, uint64_t size)
{
	uint64_t addr;

	assert_int_equal(r->ops->mem_alloc(r->space, size, &addr), 0);
	return (void *)(uintptr_t)addr;
}

#define A(p) (uint64_t)(uintptr_t)(p)

/* ---- malloc ---- */

#define BLOCKS	40
#define THREADS 96

static void test_many_blocks_allocate_at_once(void **state)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(workers); i++) {
		struct rig r;
		uint64_t *heads, now;
		int *out;

		open_file(&r, workers[i], "tests/ptx/heap.nvcc.ptx");
		assert_int_equal(r.ops->heap_size(r.space, 64 * MB, &now), 0);
		heads = alloc(&r, 8 * BLOCKS * THREADS);
		out = alloc(&r, 4 * BLOCKS * THREADS);
		run(&r, "churn", BLOCKS, THREADS, (uint64_t[]){A(out), 3, 0});
		for (int t = 0; t < BLOCKS * THREADS; t++)
			assert_int_equal(out[t], 0);
		run(&r, "list_make", BLOCKS, THREADS, (uint64_t[]){A(heads), 7, 0});
		run(&r, "list_sum", BLOCKS, THREADS, (uint64_t[]){A(heads), A(out), 0});
		for (int t = 0; t < BLOCKS * THREADS; t++)
			assert_int_equal(out[t], 7 * t + 21);
		/* all is free again: it is to be had in one piece */
		run(&r, "take", 1, 1, (uint64_t[]){A(heads), 64 * MB, 0});
		assert_int_not_equal(heads[0], 0);
		close_rig(&r);
	}
}

/* It is the space's memory, within its limit, and for as long as it lives. */
static void test_heap_is_charged_to_its_space(void **state)
{
	char *text = read_text("tests/ptx/heap.nvcc.ptx");
	uint64_t *out, now, before, after, total;
	struct gsb_completion c;
	struct rig r;

	open_rig(&r, 1, 32 * MB);
	load(&r, text);
	assert_int_equal(r.ops->module_heap(r.module), 8 * MB);
	assert_int_equal(r.ops->heap_size(r.space, 0, &now), 0);
	assert_int_equal(now, 4096);
	assert_int_equal(r.ops->heap_size(r.space, 64 * MB, &now), 0);
	assert_int_equal(r.ops->module_heap(r.module), 64 * MB);
	out = alloc(&r, 64);
	assert_int_equal(launch(&r, "take", 1, 1, (uint64_t[]){A(out), 100, 0}, &c), -ENOMEM);
	assert_int_equal(r.ops->heap_size(r.space, UINT64_MAX, &now), -ENOMEM);
	assert_int_equal(r.ops->heap_size(r.space, 16 * MB - 1, &now), 0);
	assert_int_equal(now, 16 * MB);
	r.ops->mem_info(r.dev, &before, &total);
	run(&r, "take", 1, 1, (uint64_t[]){A(out), 12 * MB, 0});
	r.ops->mem_info(r.dev, &after, &total);
	assert_int_equal(before - after, 16 * MB);
	assert_int_not_equal(out[0], 0);
	assert_int_equal(r.ops->heap_size(r.space, 8 * MB, &now), -EINVAL);
	/* what is in it outlives the module */
	memset((void *)(uintptr_t)out[0], 5, 12 * MB);
	r.ops->module_unload(r.module);
	load(&r, text);
	assert_int_equal(*(unsigned char *)(uintptr_t)(out[0] + 12 * MB - 1), 5);
	run(&r, "give", 1, 1, (uint64_t[]){A(out), 0, 0});
	close_rig(&r);
	free(text);
}

static void test_module_without_malloc_needs_no_heap(void **state)
{
	struct rig r;

	open_file(&r, 1, "tests/ptx/print.nvcc.ptx");
	assert_int_equal(r.ops->module_heap(r.module), 0);
	close_rig(&r);
}

/* What one space's kernels do with a foreign pointer does not touch another's heap. */
static void test_heap_of_another_space_is_out_of_reach(void **state)
{
	char *text = read_text("tests/ptx/heap.nvcc.ptx");
	struct gsb_space_params s = {.device_base = DEVICE_BASE + DEVICE_SIZE,
				     .device_size = DEVICE_SIZE};
	uint64_t *mine, *theirs, stolen;
	struct gsb_completion c;
	struct rig r, other;

	open_rig(&r, 2, 0);
	load(&r, text);
	other = r;
	assert_int_equal(r.ops->space_create(r.dev, &s, &other.space), 0);
	load(&other, text);
	mine = alloc(&r, 8);
	theirs = alloc(&other, 8);
	run(&other, "take", 1, 1, (uint64_t[]){A(theirs), 64, 0});
	stolen = *mine = *theirs;
	assert_int_equal(launch(&r, "give", 1, 1, (uint64_t[]){A(mine), 0, 0}, &c), 0);
	assert_int_equal(c.result, CUDA_ERROR_LAUNCH_FAILED);
	run(&other, "give", 1, 1, (uint64_t[]){A(theirs), 0, 0});
	assert_int_equal(*theirs, stolen);
	r.ops->space_destroy(other.space);
	close_rig(&r);
	free(text);
}

static void test_stack_size_is_for_kernels_that_come(void **state)
{
	struct gsb_completion c;
	struct rig r;
	int *out;

	open_file(&r, 1, "tests/ptx/heap.nvcc.ptx");
	out = alloc(&r, 4 * 32);
	assert_int_equal(launch(&r, "stack_sum", 1, 32, (uint64_t[]){A(out), 10000, 0}, &c), 0);
	assert_int_equal(c.result, CUDA_ERROR_HARDWARE_STACK_ERROR);
	r.ops->stack_size(r.space, 48000);
	run(&r, "stack_sum", 1, 32, (uint64_t[]){A(out), 10000, 0});
	r.ops->stack_size(r.space, UINT64_MAX);
	run(&r, "stack_sum", 1, 32, (uint64_t[]){A(out), 100000, 0});
	close_rig(&r);
}

/* ---- copies and barriers ---- */

static void test_blocks_with_barriers_and_pipelines(void **state)
{
	static const char *const builds[] = {"tests/ptx/async.nvcc.ptx",
					     "tests/ptx/async.80.nvcc.ptx",
					     "tests/ptx/async.90.nvcc.ptx"};

	for (size_t i = 0; i < GSB_ARRAY_LEN(workers) * GSB_ARRAY_LEN(builds); i++) {
		struct rig r;
		int *in, *out;

		open_file(&r, workers[i % GSB_ARRAY_LEN(workers)],
			  builds[i / GSB_ARRAY_LEN(workers)]);
		in = alloc(&r, 4 * 128 * BLOCKS);
		out = alloc(&r, 4 * 128 * BLOCKS);
		for (int k = 0; k < 128 * BLOCKS; k++)
			in[k] = k / 128 * 1000 + 1;
		run(&r, "barrier_ring", BLOCKS, 128, (uint64_t[]){A(out), A(in), 5});
		for (int k = 0; k < 128 * BLOCKS; k++)
			assert_int_equal(out[k], 32 * (k / 128 * 1000 + 1));
		run(&r, "group_copy", BLOCKS, 128, (uint64_t[]){A(out), A(in), 256});
		for (int k = 0; k < 128; k++)
			assert_int_equal(out[k], in[255 - k] + in[127 - k]);
		close_rig(&r);
	}
}

/* A barrier that nobody ends, on the only worker: another space's kernel runs all the same. */
static const char endless_ptx[] =
	".version 7.8\n.target sm_90\n.address_size 64\n"
	".visible .entry endless(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
	".reg .pred %p; .shared .align 8 .b64 bar; mbarrier.init.shared.b64 [bar], 1000;\n"
	"wait: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra wait; ret; }\n";

static void test_wait_for_ever_keeps_nobody_else(void **state)
{
	struct gsb_space_params s = {.device_base = DEVICE_BASE + DEVICE_SIZE,
				     .device_size = DEVICE_SIZE};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .cookie = 77,
			      .launch = {.grid = {4, 1, 1}, .block = {64, 1, 1}}};
	static struct gsb_function_info info;
	struct gsb_completion c;
	struct rig r, other;
	uint64_t args[3] = {0};
	int *out;

	open_file(&r, 1, "tests/ptx/async.80.nvcc.ptx");
	other = r;
	assert_int_equal(r.ops->space_create(r.dev, &s, &other.space), 0);
	assert_int_equal(r.ops->queue_create(r.dev, 0, GSB_ALL_SMS, &other.queue), 0);
	load(&other, endless_ptx);
	assert_int_equal(r.ops->function_get(other.module, "endless", &cmd.launch.function, &info),
			 0);
	cmd.space = other.space;
	cmd.launch.params = args;
	cmd.launch.params_bytes = sizeof(args);
	assert_int_equal(r.ops->issue(other.queue, &cmd), 0);
	out = alloc(&r, 4 * 128);
	run(&r, "barrier_drop", 1, 100, (uint64_t[]){A(out), 5, 0});
	assert_int_equal(out[0], 80);
	r.ops->space_cancel(other.space);
	c = complete(&r);
	assert_int_equal(c.cookie, 77);
	assert_int_not_equal(c.result, CUDA_SUCCESS);
	r.ops->queue_destroy(other.queue);
	r.ops->space_destroy(other.space);
	close_rig(&r);
}

/* ---- numbers of blocks ---- */

/* Of a grid of 3 by 2 by 2: each block counts at its own place. */
static const char number_ptx[] =
	".version 7.8\n.target sm_90\n.address_size 64\n"
	".visible .entry number(.param .u64 out, .param .u64 b, .param .u64 c) {\n"
	".reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
	"mad.lo.u32 %r2, %r3, 2, %r2; mad.lo.u32 %r1, %r2, 3, %r1;\n"
	"mad.wide.u32 %rd1, %r1, 4, %rd1; red.global.add.u32 [%rd1], 1; ret; }\n";

static void test_blocks_are_numbered_in_three_dimensions(void **state)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {3, 2, 2}, .block = {1, 1, 1}}};
	static struct gsb_function_info info;
	uint64_t args[3] = {0};
	struct rig r;
	int *out;

	open_rig(&r, 1, 0);
	load(&r, number_ptx);
	out = alloc(&r, 4 * 64);
	args[0] = A(out);
	assert_int_equal(r.ops->function_get(r.module, "number", &cmd.launch.function, &info), 0);
	cmd.space = r.space;
	cmd.launch.params = args;
	cmd.launch.params_bytes = sizeof(args);
	assert_int_equal(r.ops->issue(r.queue, &cmd), 0);
	assert_int_equal(complete(&r).result, CUDA_SUCCESS);
	for (int i = 0; i < 12; i++)
		assert_int_equal(out[i], 1);
	close_rig(&r);
}

/* ---- time ---- */

/* Each thread: timer and clock, %r1 turns of a loop, a sleep of %r2 ns, timer and clock again. */
static const char time_ptx[] =
	".version 7.8\n.target sm_90\n.address_size 64\n"
	".visible .entry times(.param .u64 out, .param .u64 turns, .param .u64 sleep) {\n"
	".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<12>;\n"
	"ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [turns]; ld.param.u32 %r2, [sleep];\n"
	"mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
	"mad.lo.u32 %r3, %r3, %r4, %r5; mad.wide.u32 %rd1, %r3, 32, %rd1;\n"
	"mov.u64 %rd2, %globaltimer; mov.u64 %rd3, %clock64;\n"
	"again: sub.u32 %r1, %r1, 1; setp.gt.s32 %p1, %r1, 0; @%p1 bra again;\n"
	"setp.ne.u32 %p1, %r2, 0; @%p1 nanosleep.u32 %r2;\n"
	"mov.u64 %rd4, %globaltimer; mov.u64 %rd5, %clock64; mov.u64 %rd6, %clock64;\n"
	"setp.le.u64 %p1, %rd6, %rd5; @%p1 trap;\n"
	"st.global.v2.u64 [%rd1], {%rd2, %rd3}; st.global.v2.u64 [%rd1+16], {%rd4, %rd5}; ret; }\n";

struct times {
	uint64_t timer0, clock0, timer1, clock1;
};

/* One launch: what its threads read lies in it, and no clock stands still. -> its end */
static uint64_t check_times(struct rig *r, struct times *t, uint32_t grid, uint32_t block,
			    uint64_t turns, uint64_t sleep, uint64_t from)
{
	const uint64_t khz = r->ops->info(r->dev)->arch.clock_khz;
	struct gsb_completion c;

	memset(t, 0, sizeof(*t) * grid * block);
	assert_int_equal(launch(r, "times", grid, block, (uint64_t[]){A(t), turns, sleep}, &c), 0);
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_true(c.start_ns >= from);
	for (uint32_t i = 0; i < grid * block; i++) {
		uint64_t ns = t[i].timer1 - t[i].timer0, cycles = t[i].clock1 - t[i].clock0;
		uint64_t want = ns * khz / 1000000;

		assert_true(t[i].timer0 >= c.start_ns && t[i].timer1 >= t[i].timer0);
		assert_true(t[i].timer1 <= c.end_ns);
		assert_true(t[i].clock1 > t[i].clock0);
		/* to a microsecond: the timer has whole ns, and a clock that is read moves on */
		assert_true(cycles <= want + khz / 1000 && want <= cycles + khz / 1000);
		if (block <= 32) {
			assert_true(ns >= sleep);
			assert_true(cycles >= turns * 3);
		}
	}
	return c.end_ns;
}

static void test_clocks_of_kernels_agree_with_device_time(void **state)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(workers); i++) {
		uint64_t end = 0;
		struct times *t;
		struct rig r;

		open_rig(&r, workers[i], 0);
		load(&r, time_ptx);
		t = alloc(&r, sizeof(*t) * 8192);
		end = check_times(&r, t, 1, 32, 1000, 0, end);
		end = check_times(&r, t, 1, 1, 10, 50000, end);
		end = check_times(&r, t, 8, 1024, 3000, 0, end);
		end = check_times(&r, t, 8, 1024, 10, 2000, end);
		check_times(&r, t, 1, 32, 1, 0, end);
		close_rig(&r);
	}
}

/* ---- reductions, which workers combine ---- */

#define N_PLACES 65536u
#define COUNTERS 60

/* count: each thread adds 1 at n places, one after another, of p, which are anywhere in N_PLACES words; the first of them also in q.
 * wait: the first block adds 2 to p, in two steps, the others wait until somebody has set q. */
static const char *const count_ptx =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry count(.param .u64 p, .param .u64 q, .param .u64 n) {\n"
	".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r2, %r2, %r3, %r4;\nmul.lo.u32 %r2, %r2, 2654435761;\n"
	"red.global.add.u32 [%rd2], 1;\n"
	"loop:\nmul.lo.u32 %r2, %r2, 1664525;\nadd.u32 %r2, %r2, 1013904223;\n"
	"shr.u32 %r5, %r2, 16;\nmul.wide.u32 %rd3, %r5, 4;\nadd.u64 %rd3, %rd1, %rd3;\n"
	"atom.global.add.u32 %r6, [%rd3], 1;\n"
	"sub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra loop;\nret;\n}\n"
	".visible .entry wait(.param .u64 p, .param .u64 q, .param .u64 n) {\n"
	".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r2, %ctaid.x;\n"
	"setp.ne.u32 %p1, %r2, 0;\n@%p1 bra loop;\n"
	"red.global.add.u32 [%rd1], 1;\nred.global.add.u32 [%rd1], 1;\nret;\n"
	"loop:\natom.global.or.b32 %r3, [%rd2], 0;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra loop;\nret;\n}\n";

static void add_counts(uint32_t *places, uint32_t n_threads, uint32_t n)
{
	for (uint32_t i = 0; i < n_threads; i++) {
		uint32_t v = i * 2654435761u;

		for (uint32_t k = 0; k < n; k++) {
			v = v * 1664525u + 1013904223u;
			places[v >> 16]++;
		}
	}
}

/* Exact, after each launch, and in the same device time whatever the number of workers. */
static void test_reductions_at_places_that_blocks_share(void **state)
{
	static uint32_t want[N_PLACES];
	uint64_t end_ns[3][3];

	for (size_t i = 0; i < GSB_ARRAY_LEN(workers); i++) {
		uint32_t *p, *q;
		struct rig r;

		open_rig(&r, workers[i], 0);
		load(&r, count_ptx);
		p = alloc(&r, sizeof(want));
		q = alloc(&r, 4);
		memset(p, 0, sizeof(want));
		memset(want, 0, sizeof(want));
		*q = 0;
		for (uint32_t n = 0; n < 3; n++) {
			struct gsb_completion c;

			assert_int_equal(launch(&r, "count", COUNTERS << n, 256,
						(uint64_t[]){A(p), A(q), 40u >> n}, &c),
					 0);
			assert_int_equal(c.result, CUDA_SUCCESS);
			add_counts(want, (COUNTERS << n) * 256, 40u >> n);
			assert_memory_equal(p, want, sizeof(want));
			assert_int_equal(*q, COUNTERS * 256 * ((2u << n) - 1));
			end_ns[i][n] = c.end_ns;
		}
		close_rig(&r);
	}
	assert_memory_equal(end_ns[0], end_ns[1], sizeof(end_ns[0]));
	assert_memory_equal(end_ns[0], end_ns[2], sizeof(end_ns[0]));
}

/* Whoever looks at memory sees them while others of the kernel are still at it, though it waits for that. */
static void test_reductions_are_seen_while_the_kernel_goes_on(void **state)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(workers); i++) {
		struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
				      .launch = {.grid = {8, 1, 1}, .block = {32, 1, 1}}};
		struct gsb_function_info info;
		struct gsb_completion c;
		uint32_t *p, *q;
		uint64_t args[3];
		struct rig r;

		open_rig(&r, workers[i], 0);
		load(&r, count_ptx);
		p = alloc(&r, 4);
		q = alloc(&r, 4);
		*p = *q = 0;
		args[0] = A(p);
		args[1] = A(q);
		cmd.space = r.space;
		cmd.launch.params = args;
		cmd.launch.params_bytes = sizeof(args);
		assert_int_equal(r.ops->function_get(r.module, "wait", &cmd.launch.function, &info),
				 0);
		assert_int_equal(r.ops->issue(r.queue, &cmd), 0);
		r.ops->advance(r.dev, UINT64_MAX);
		while (__atomic_load_n(p, __ATOMIC_ACQUIRE) != 64)
			sched_yield();
		__atomic_store_n(q, 1, __ATOMIC_RELEASE);
		c = complete(&r);
		assert_int_equal(c.result, CUDA_SUCCESS);
		close_rig(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_blocks_allocate_at_once),
		cmocka_unit_test(test_heap_is_charged_to_its_space),
		cmocka_unit_test(test_module_without_malloc_needs_no_heap),
		cmocka_unit_test(test_heap_of_another_space_is_out_of_reach),
		cmocka_unit_test(test_stack_size_is_for_kernels_that_come),
		cmocka_unit_test(test_blocks_with_barriers_and_pipelines),
		cmocka_unit_test(test_wait_for_ever_keeps_nobody_else),
		cmocka_unit_test(test_blocks_are_numbered_in_three_dimensions),
		cmocka_unit_test(test_clocks_of_kernels_agree_with_device_time),
		cmocka_unit_test(test_reductions_at_places_that_blocks_share),
		cmocka_unit_test(test_reductions_are_seen_while_the_kernel_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
