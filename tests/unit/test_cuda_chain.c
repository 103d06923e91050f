/*
 * test_cuda_chain.c - launches that go to the driver as graphs, on the fake driver of tests/fake: what they compute, in which order, how
 * many calls they take, and what becomes of them when the driver refuses a graph. All of it is run twice: with launches that are timed, behind which a word is written,
 * and with others, whose graphs have a mark.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "device/cuda/device.h"
#include "device/cuda/module.h"
#include "device/cuda/running.h"
#include "device/ops.h"
#include "tests/fake/fake.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 30)

/* *p = *p * 3 + k, and the same with 5 and a parameter more; by the first thread of all. */
#define CHAIN_KERNEL(name, more, factor)                                   \
	".visible .entry " name "(.param .u64 p, .param .u32 k" more ")\n" \
	"{\n"                                                              \
	"	.reg .pred %q<2>;\n"                                             \
	"	.reg .b32 %r<8>;\n"                                              \
	"	.reg .b64 %rd<2>;\n"                                             \
	"	mov.u32 %r1, %ctaid.x;\n"                                        \
	"	mov.u32 %r2, %tid.x;\n"                                          \
	"	or.b32 %r3, %r1, %r2;\n"                                         \
	"	setp.ne.u32 %q1, %r3, 0;\n"                                      \
	"	@%q1 ret;\n"                                                     \
	"	ld.param.u64 %rd1, [p];\n"                                       \
	"	ld.param.u32 %r4, [k];\n"                                        \
	"	ld.global.u32 %r5, [%rd1];\n"                                    \
	"	mad.lo.u32 %r6, %r5, " factor ", %r4;\n"                   \
	"	st.global.u32 [%rd1], %r6;\n"                                    \
	"	ret;\n"                                                          \
	"}\n"

/* clang-format off */
static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	CHAIN_KERNEL("three", "", "3")
	CHAIN_KERNEL("five", ", .param .u64 z", "5")
	".global .u32 count;\n"
	".visible .entry bare()\n"
	"{\n"
	"	.reg .b64 %rd<2>;\n"
	"	mov.u64 %rd1, count;\n"
	"	red.global.add.u32 [%rd1], 1;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

static struct {
	__typeof__(&fake_fail) inject;
	__typeof__(&fake_calls) calls;
	__typeof__(&fake_watch) watch;
	__typeof__(&fake_live) live;
	__typeof__(&fake_run) run;
	__typeof__(&fake_reset) reset;
} fake;

struct rig {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_function *three, *five;
	bool timed;
	uint64_t at;
	uint32_t value; /* what should be there */
	unsigned n_issued;
	uint64_t last_end_ns;
};

static void load(struct rig *r)
{
	static struct gsb_function_info info;
	char log[256] = "";

	assert_int_equal(
		r->ops->module_load(r->space, text, strlen(text), &r->module, log, sizeof(log)), 0);
	assert_int_equal(r->ops->function_get(r->module, "three", &r->three, &info), 0);
	assert_int_equal(r->ops->function_get(r->module, "five", &r->five, &info), 0);
	assert_int_equal(r->ops->function_prepare(r->three, log, sizeof(log)), 0);
	assert_int_equal(r->ops->function_prepare(r->five, log, sizeof(log)), 0);
}

static int setup(void **state)
{
	static struct rig rig;
	struct gsb_device_params p = {.spec = "cuda:0"};
	struct gsb_space_params s = {.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE};
	struct rig *r = &rig;
	char err[256] = "";

	*r = (struct rig){.timed = *(const bool *)*state};
	fake.reset();
	assert_int_equal(gsb_device_open(&p, &r->dev, err, sizeof(err)), 0);
	r->ops = r->dev->ops;
	assert_int_equal(r->ops->space_create(r->dev, &s, &r->space), 0);
	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queue), 0);
	assert_int_equal(r->ops->mem_alloc(r->space, 4096, &r->at), 0);
	load(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	r->ops->queue_destroy(r->queue);
	r->ops->space_destroy(r->space);
	r->ops->close(r->dev);
	for (unsigned kind = 0; kind < FAKE_N_KINDS; kind++)
		assert_int_equal(fake.live(kind), 0);
	return 0;
}

static struct gsb_completion next_end(struct rig *r)
{
	struct gsb_completion c;

	while (!r->ops->poll(r->dev, &c, 1)) {
		struct pollfd fd = {.fd = r->ops->event_fd(r->dev), .events = POLLIN};

		if (!r->ops->stay_awake(r->dev))
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	return c;
}

/* All of them, in the order in which they were issued, none before the one in front of it had ended. */
static void collect(struct rig *r)
{
	for (unsigned i = 0; i < r->n_issued; i++) {
		struct gsb_completion c = next_end(r);

		assert_int_equal(c.cookie, i);
		assert_int_equal(c.result, CUDA_SUCCESS);
		assert_true(c.start_ns <= c.end_ns && c.start_ns >= r->last_end_ns);
		r->last_end_ns = c.end_ns;
	}
	r->n_issued = 0;
}

static void issue(struct rig *r, struct gsb_queue *q, struct gsb_cmd cmd, bool more)
{
	cmd.space = r->space;
	cmd.cookie = r->n_issued++;
	cmd.more = more;
	assert_int_equal(r->ops->issue(q, &cmd), 0);
}

/* What nothing is known of is timed; what has been short not at once again. */
static void set_timed(const struct rig *r, struct gsb_function *f)
{
	f->habit = (struct cuda_habit){.unit_ns = r->timed ? 0 : 1000};
}

/* Of n blocks of so many threads. */
static void launch_on(struct rig *r, struct gsb_queue *q, struct gsb_function *f, uint32_t n,
		      uint32_t threads, bool more)
{
	struct {
		uint64_t p;
		uint32_t k, pad;
		uint64_t z;
	} args = {r->at, r->value ^ n, 0, 0};

	set_timed(r, f);
	r->value = r->value * (f == r->three ? 3 : 5) + args.k;
	issue(r, q,
	      (struct gsb_cmd){.kind = GSB_CMD_LAUNCH,
			       .launch = {.function = f,
					  .grid = {n, 1, 1},
					  .block = {threads, 1, 1},
					  .params = &args,
					  .params_bytes = sizeof(args)}},
	      more);
	memset(&args, 0xff, sizeof(args)); /* they were copied */
}

static void launch(struct rig *r, struct gsb_function *f, uint32_t n, bool more)
{
	launch_on(r, r->queue, f, n, 32, more);
}

/* What kernels add to is that word then. */
static void write_word(struct rig *r, const uint32_t *word, bool more)
{
	issue(r, r->queue,
	      (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .copy = {.dst = r->at,
					.src = (uint64_t)(uintptr_t)word,
					.width = sizeof(*word),
					.height = 1}},
	      more);
	r->value = *word;
}

/* The driver has taken both in these blocks. */
static void warm(struct rig *r)
{
	launch(r, r->three, 1, false);
	launch(r, r->five, 1, false);
	collect(r);
	assert_int_equal(fake.calls("cuLaunchKernel"), 2);
}

static void check_value(struct rig *r)
{
	uint32_t value = 0;

	r->n_issued = 0;
	issue(r, r->queue,
	      (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .copy = {.dst = (uint64_t)(uintptr_t)&value,
					.src = r->at,
					.width = sizeof(value),
					.height = 1}},
	      false);
	collect(r);
	assert_int_equal(value, r->value);
}

/* n of them behind each other, three and five as the bits of which say. */
static void run(struct rig *r, unsigned n, unsigned which, uint32_t blocks)
{
	for (unsigned i = 0; i < n; i++)
		launch(r, which >> i % 16 & 1 ? r->three : r->five, blocks, i + 1 < n);
}

/* ---- tests ---- */

static void test_launches_that_follow_each_other_are_few_calls(void **state)
{
	struct rig *r = *state;

	warm(r);
	run(r, 32, 0xffff, 1);
	collect(r);
	assert_int_equal(fake.calls("cuGraphLaunch"), 1);
	run(r, 13, 0xffff, 1); /* 8, 4 and 1 */
	collect(r);
	assert_int_equal(fake.calls("cuGraphLaunch"), 4);
	run(r, 72, 0xffff, 1); /* twice 32, and 8 */
	collect(r);
	assert_int_equal(fake.calls("cuGraphLaunch"), 7);
	assert_int_equal(fake.calls("cuLaunchKernel"), 2);
	check_value(r);
}

static void test_kernels_without_parameters_go_in_chains(void **state)
{
	static struct gsb_function_info info;
	struct rig *r = *state;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	uint64_t at, size;
	uint32_t count = 0;
	char log[256] = "";

	assert_int_equal(r->ops->function_get(r->module, "bare", &cmd.launch.function, &info), 0);
	assert_int_equal(r->ops->function_prepare(cmd.launch.function, log, sizeof(log)), 0);
	assert_int_equal(r->ops->global_get(r->module, "count", &at, &size), 0);
	for (unsigned i = 0; i < 6; i++)
		issue(r, r->queue, cmd, i && i < 5);
	issue(r, r->queue,
	      (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .copy = {.dst = (uint64_t)(uintptr_t)&count,
					.src = at,
					.width = sizeof(count),
					.height = 1}},
	      false);
	collect(r);
	assert_int_equal(count, 6);
	assert_int_equal(fake.calls("cuLaunchKernel"), 1);
}

static void test_chains_compute_what_launches_do(void **state)
{
	struct rig *r = *state;
	unsigned seed = 7;

	warm(r);
	for (unsigned i = 0; i < 60; i++) {
		seed = seed * 1103515245u + 12345u;
		run(r, 1 + (seed >> 8) % 20, seed >> 12, 1 + (seed >> 20) % 3);
		if (seed >> 30)
			collect(r);
	}
	collect(r);
	check_value(r);
}

static void test_a_graph_of_the_same_sequence_is_taken_again(void **state)
{
	struct rig *r = *state;
	unsigned n;

	warm(r);
	run(r, 8, 0xaa, 1);
	collect(r);
	run(r, 8, 0x0f, 1);
	collect(r);
	n = fake.calls("cuGraphInstantiateWithFlags");
	assert_int_equal(n, 2);
	for (unsigned i = 0; i < 10; i++) {
		run(r, 8, i & 1 ? 0xaa : 0x0f, 1);
		collect(r);
	}
	assert_int_equal(fake.calls("cuGraphInstantiateWithFlags"), n);
	check_value(r);
}

/* It would be changed while it is. */
static void test_a_graph_that_is_under_way_is_left_alone(void **state)
{
	struct rig *r = *state;

	warm(r);
	fake.run(false);
	for (unsigned i = 0; i < 3; i++)
		launch(r, r->three, 1, false);
	run(r, 4, 0xf, 1);
	run(r, 4, 0xf, 1);
	assert_int_equal(fake.live(FAKE_EXEC), 3 + 2);
	fake.run(true);
	collect(r);
	check_value(r);
}

static void test_there_are_so_many_graphs_and_no_more(void **state)
{
	struct rig *r = *state;

	warm(r);
	for (unsigned i = 0; i < 3 * CUDA_CHAIN_GRAPHS; i++) {
		run(r, 4, 0xf, 1 + i);
		collect(r);
	}
	assert_int_equal(fake.live(FAKE_EXEC), CUDA_CHAIN_GRAPHS);
	assert_int_equal(fake.calls("cuGraphLaunch"), 3 * CUDA_CHAIN_GRAPHS);
	check_value(r);
}

/* As many programs as that with kernels of their own: none has to give its graph to the next, which would set all its kernels anew. */
static void test_sequences_of_32_programs_have_graphs_of_their_own(void **state)
{
	struct rig *r = *state;

	warm(r);
	for (unsigned i = 0; i < 3 * 32; i++) {
		run(r, 4, 0xf, 1 + i % 32);
		collect(r);
	}
	assert_int_equal(fake.calls("cuGraphInstantiateWithFlags"), 32);
	assert_int_equal(fake.live(FAKE_EXEC), 32);
	check_value(r);
}

static void test_what_is_no_launch_keeps_its_place(void **state)
{
	static const uint32_t word = 100;
	struct rig *r = *state;

	warm(r);
	run(r, 5, 0x15, 1);
	launch(r, r->three, 1, true);
	launch(r, r->five, 1, true);
	write_word(r, &word, true);
	launch(r, r->five, 1, true);
	launch(r, r->three, 1, false);
	collect(r);
	check_value(r);
}

/* The driver may refuse it, which can be told only where it is sent by itself. */
static void test_blocks_that_are_new_to_the_driver_are_launched_plainly(void **state)
{
	struct rig *r = *state;

	warm(r);
	launch_on(r, r->queue, r->three, 1, 32, true);
	launch_on(r, r->queue, r->three, 1, 64, true);
	launch_on(r, r->queue, r->three, 1, 64, false);
	collect(r);
	assert_int_equal(fake.calls("cuLaunchKernel"), 3);
	assert_int_equal(fake.calls("cuGraphLaunch"), 2);
	check_value(r);
}

static void test_grids_that_are_none_are_refused_at_once(void **state)
{
	struct rig *r = *state;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = r->space};
	uint64_t args[3] = {r->at};

	warm(r);
	cmd.launch = (struct gsb_cmd_launch){.function = r->three,
					     .grid = {1, 1 << 17, 1},
					     .block = {32, 1, 1},
					     .params = args,
					     .params_bytes = sizeof(args)};
	launch(r, r->three, 1, true);
	assert_int_not_equal(r->ops->issue(r->queue, &cmd), 0);
	cmd.launch.grid[1] = 0;
	assert_int_not_equal(r->ops->issue(r->queue, &cmd), 0);
	collect(r); /* nothing comes behind it now */
	check_value(r);
}

static void test_what_comes_alone_again_and_again_is_a_chain_of_one(void **state)
{
	struct rig *r = *state;

	for (unsigned i = 0; i < 4; i++) {
		launch(r, r->three, 2, false);
		collect(r);
	}
	assert_int_equal(fake.calls("cuLaunchKernel"), 1);
	assert_int_equal(fake.calls("cuGraphLaunch"), 3);
	launch(r, r->three, 3, false);
	collect(r);
	assert_int_equal(fake.calls("cuLaunchKernel"), 2);
	check_value(r);
}

/* Kernels of a graph have all SMs, and the least priority. */
static void test_other_queues_have_no_chains(void **state)
{
	struct rig *r = *state;
	struct gsb_queue *part, *first;

	assert_int_equal(r->ops->queue_create(r->dev, 0, (struct gsb_sm_range){0, 16}, &part), 0);
	assert_int_equal(r->ops->queue_create(r->dev, -1, GSB_ALL_SMS, &first), 0);
	warm(r);
	r->last_end_ns = 0;
	for (unsigned i = 0; i < 8; i++)
		launch_on(r, part, r->three, 1, 32, i < 7);
	collect(r);
	r->last_end_ns = 0;
	for (unsigned i = 0; i < 8; i++)
		launch_on(r, first, r->three, 1, 32, i < 7);
	collect(r);
	r->last_end_ns = 0;
	assert_int_equal(fake.calls("cuGraphLaunch"), 0);
	check_value(r);
	r->ops->queue_destroy(part);
	r->ops->queue_destroy(first);
}

static void test_a_refused_graph_becomes_launches(void **state)
{
	static const char *const calls[] = {
		"cuGraphCreate",
		"cuGraphAddKernelNode_v2",
		"cuGraphInstantiateWithFlags",
		"cuGraphExecKernelNodeSetParams_v2",
		"cuGraphLaunch",
		"cuGraphAddMemsetNode" /* not of those that are timed */};
	struct rig *r = *state;

	warm(r);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls) - r->timed; i++) {
		unsigned before = fake.calls("cuLaunchKernel");

		if (!strcmp(calls[i],
			    "cuGraphExecKernelNodeSetParams_v2")) { /* of one that is there */
			run(r, 8, 0x55, 1 + i);
			collect(r);
		}
		fake.inject(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
		run(r, 8, 0x55, 1 + i);
		collect(r);
		assert_int_equal(fake.calls("cuLaunchKernel"), before + 8);
		check_value(r);
		run(r, 8, 0x55, 1 + i);
		collect(r);
		assert_int_equal(fake.calls("cuLaunchKernel"), before + 8);
		check_value(r);
	}
}

/* And if the driver does not take the launch either, its own completion says so. */
static void test_a_launch_that_is_refused_after_all_is_told(void **state)
{
	struct rig *r = *state;

	warm(r);
	fake.inject("cuGraphLaunch", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fake.inject("cuLaunchKernel", 2, CUDA_ERROR_OUT_OF_MEMORY);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t value = r->value;

		launch(r, r->three, 1, i < 3);
		if (i == 1)
			r->value = value;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(next_end(r).result, i == 1 ? CUDA_ERROR_OUT_OF_MEMORY : 0);
}

/* Another kernel may be where one of them was. */
static void test_graphs_of_code_that_has_gone_are_made_anew(void **state)
{
	struct rig *r = *state;
	unsigned n;

	warm(r);
	run(r, 4, 0xf, 1);
	collect(r);
	n = fake.calls("cuGraphInstantiateWithFlags");
	cuda_chain_forget((struct cuda_device *)r->dev);
	run(r, 4, 0xf, 1);
	collect(r);
	assert_int_equal(fake.calls("cuGraphInstantiateWithFlags"), n + 1);
	assert_int_equal(fake.live(FAKE_EXEC), 1);
	check_value(r);
}

static int n_open; /* calls during which code might have gone */

static void try_to_forget(void *arg)
{
	pthread_mutex_t *lock = arg;

	if (pthread_mutex_trylock(lock))
		return;
	n_open++;
	pthread_mutex_unlock(lock);
}

/* The driver looks at the kernel that a node has, to give it another: the thread that unloads it waits for that. */
static void test_code_does_not_go_while_a_graph_is_set(void **state)
{
	struct rig *r = *state;
	pthread_mutex_t *lock = &gsb_container_of(r->dev, struct cuda_device, base)->graphs.lock;

	warm(r);
	n_open = 0;
	fake.watch("cuGraphAddKernelNode_v2", try_to_forget, lock);
	fake.watch("cuGraphExecKernelNodeSetParams_v2", try_to_forget, lock);
	run(r, 4, 0xf, 1);
	collect(r);
	run(r, 4, 0xf, 2);
	collect(r);
	run(r, 4, 0xf, 2);
	collect(r);
	assert_int_equal(fake.calls("cuGraphExecKernelNodeSetParams_v2"), 4);
	assert_int_equal(n_open, 0);
	cuda_chain_forget((struct cuda_device *)r->dev);
	assert_int_equal(pthread_mutex_trylock(lock), 0);
	pthread_mutex_unlock(lock);
	check_value(r);
}

/* ---- ends ---- */

static const char *const driver_calls[] = {
#define GSB_DRIVER(name, parameters, threads) #name,
#include "device/cuda/driver.def"
};

/* All calls of the driver since the fake was reset, but for the question for the context's health, which is asked by the clock. */
static unsigned count_calls(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(driver_calls); i++)
		n += fake.calls(driver_calls[i]);
	return n - fake.calls("cuStreamQuery");
}

/* The graph's parameters, and the graph: it tells of its end by itself. */
static void test_a_launch_that_is_waited_for_takes_two_calls(void **state)
{
	struct rig *r = *state;
	unsigned before;

	warm(r);
	launch(r, r->three, 1, false);
	collect(r);
	before = count_calls();
	for (unsigned i = 0; i < 10; i++) {
		launch(r, r->three, 1, false);
		collect(r);
	}
	assert_int_equal(count_calls() - before, 10 * 2);
	check_value(r);
}

/* The same parameters each time: those of each other kernel are given anew when they are others, or another's. */
static void test_what_a_graph_has_is_not_set_again(void **state)
{
	struct {
		uint64_t p;
		uint32_t k, pad;
		uint64_t z;
	} args = {.k = 7};
	struct rig *r = *state;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {1, 1, 1},
					 .block = {32, 1, 1},
					 .params = &args,
					 .params_bytes = sizeof(args)}};
	unsigned n_set = fake.calls("cuGraphExecKernelNodeSetParams_v2");

	warm(r);
	args.p = r->at;
	for (unsigned round = 0; round < 6; round++) {
		args.k = round < 3 ? 7 : 8;
		for (unsigned i = 0; i < 4; i++) {
			cmd.launch.function = i & 1 ? r->five : r->three;
			set_timed(r, cmd.launch.function);
			r->value = r->value * (i & 1 ? 5 : 3) + args.k;
			issue(r, r->queue, cmd, i < 3);
		}
		collect(r);
	}
	assert_int_equal(fake.calls("cuGraphExecKernelNodeSetParams_v2") - n_set, 4);
	check_value(r);
}

/* All of that length are there: one gets another grid, of kernels that have no parameters. */
static void test_a_graph_gets_other_grids(void **state)
{
	static struct gsb_function_info info;
	struct rig *r = *state;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	uint64_t at, size;
	uint32_t count = 0, sum = 1;
	char log[256] = "";

	assert_int_equal(r->ops->function_get(r->module, "bare", &cmd.launch.function, &info), 0);
	assert_int_equal(r->ops->function_prepare(cmd.launch.function, log, sizeof(log)), 0);
	assert_int_equal(r->ops->global_get(r->module, "count", &at, &size), 0);
	issue(r, r->queue, cmd, false);
	for (uint32_t n = 1; n <= CUDA_CHAIN_GRAPHS + 8; n++) {
		cmd.launch.grid[0] = n;
		for (unsigned i = 0; i < 2; i++) {
			set_timed(r, cmd.launch.function);
			issue(r, r->queue, cmd, !i);
			sum += n;
		}
		collect(r);
	}
	issue(r, r->queue,
	      (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .copy = {.dst = (uint64_t)(uintptr_t)&count,
					.src = at,
					.width = sizeof(count),
					.height = 1}},
	      false);
	collect(r);
	assert_int_equal(count, sum);
}

/* An event behind the graph would come after its mark, and not be there when it is asked. */
static void test_a_timed_launch_has_its_events_and_its_word(void **state)
{
	struct rig *r = *state;
	unsigned words, events;

	warm(r);
	words = fake.calls("cuStreamWriteValue32_v2");
	events = fake.calls("cuEventRecord");
	for (unsigned i = 0; i < 4; i++) {
		launch(r, r->three, 1, false);
		collect(r);
	}
	assert_int_equal(fake.calls("cuStreamWriteValue32_v2") - words, 4);
	assert_int_equal(fake.calls("cuEventRecord") - events, 4 * 2);
	assert_int_equal(fake.calls("cuGraphAddMemsetNode"), 0);
}

static void test_only_the_last_graph_of_those_that_end_together_has_a_mark(void **state)
{
	struct rig *r = *state;
	unsigned words;

	warm(r);
	words = fake.calls("cuStreamWriteValue32_v2");
	run(r, 13, 0xffff, 1); /* 8, 4 and 1 */
	collect(r);
	assert_int_equal(fake.calls("cuGraphLaunch"), 3);
	assert_int_equal(fake.calls("cuGraphAddMemsetNode"), 1);
	assert_int_equal(fake.calls("cuStreamWriteValue32_v2"), words);
	check_value(r);
}

/* Nothing tells of a chain in front of a copy, but what tells of the copy. */
static void test_a_chain_that_does_not_end_last_has_no_mark(void **state)
{
	static const uint32_t word = 100;
	struct rig *r = *state;

	warm(r);
	run(r, 3, 7, 1);
	launch(r, r->three, 1, true);
	write_word(r, &word, false);
	collect(r);
	assert_int_equal(fake.calls("cuGraphAddMemsetNode"), 1);
	check_value(r);
}

static struct cuda_device *device_of(struct rig *r)
{
	return gsb_container_of(r->dev, struct cuda_device, base);
}

static void wait_for_marks(struct rig *r, unsigned n)
{
	const struct cuda_device *dev = device_of(r);
	unsigned set;

	do {
		set = 0;
		for (unsigned i = 0; i < CUDA_N_MARKS; i++)
			set += dev->marks[i];
	} while (set < n);
}

/* The engine has not looked: to send that graph again would take back that it has ended. */
static void test_a_mark_that_nobody_has_seen_is_not_cleared(void **state)
{
	struct rig *r = *state;
	struct gsb_queue *other;

	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &other), 0);
	warm(r);
	launch_on(r, other, r->three, 1, 32, false); /* the first of a queue has a word */
	collect(r);
	launch(r, r->three, 1, false);
	wait_for_marks(r, 1);
	fake.run(false);
	launch_on(r, other, r->three, 1, 32, false);
	assert_int_equal(next_end(r).cookie, 0);
	fake.run(true);
	assert_int_equal(next_end(r).cookie, 1);
	check_value(r);
	r->ops->queue_destroy(other);
}

/* Nobody wrote the numbers of the last ones; they must not come again. */
static void test_a_queue_goes_on_from_the_number_of_the_one_before(void **state)
{
	struct rig *r = *state;
	unsigned n;

	warm(r);
	for (unsigned i = 0; i < 20; i++) {
		launch(r, r->three, 1, false);
		collect(r);
	}
	r->ops->queue_destroy(r->queue);
	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queue), 0);
	n = fake.live(FAKE_EXEC);
	fake.run(false);
	for (unsigned i = 0; i < 3; i++)
		run(r, 4, 0xf, 1);
	assert_int_equal(fake.live(FAKE_EXEC), n + 3);
	fake.run(true);
	collect(r);
	check_value(r);
}

/* Its word may be far behind, and would seem ahead one day. */
static void test_the_first_end_of_a_queue_is_a_word(void **state)
{
	struct rig *r = *state;
	unsigned words;

	warm(r);
	r->ops->queue_destroy(r->queue);
	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queue), 0);
	words = fake.calls("cuStreamWriteValue32_v2");
	for (unsigned i = 0; i < 3; i++) {
		launch(r, r->three, 1, false);
		collect(r);
	}
	assert_int_equal(fake.calls("cuStreamWriteValue32_v2") - words, r->timed ? 3 : 1);
	check_value(r);
}

/* The engine may be in a call that waits for that thread. */
static void test_who_waits_for_what_runs_needs_no_engine(void **state)
{
	struct rig *r = *state;

	warm(r);
	for (unsigned i = 0; i < 3; i++) {
		launch(r, r->three, 1, false);
		cuda_wait_for_running(device_of(r));
		collect(r);
	}
	check_value(r);
}

static struct rig *sleeper; /* what is to happen while one sleeps; NULL: nothing */
static unsigned n_slept;

/* cuda_wait_for_running() sleeps between two looks: meanwhile what it waits for ends, and its graph is sent again. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct rig *r = sleeper;

	if (r && !n_slept++) {
		fake.run(true);
		collect(r);
		fake.run(false);
		launch(r, r->three, 1, false);
	}
	if (n_slept > 1000)
		fail_msg("it waits for what came after");
	return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

static void test_who_waits_does_not_wait_for_what_comes_after(void **state)
{
	struct rig *r = *state;

	warm(r);
	launch(r, r->three, 1, false);
	collect(r);
	n_slept = 0;
	fake.run(false);
	launch(r, r->three, 1, false);
	sleeper = r;
	cuda_wait_for_running(device_of(r));
	sleeper = NULL;
	assert_in_range(n_slept, 1, 1000);
	n_slept = 0;
	assert_int_equal(fake.live(FAKE_EXEC), 1);
	fake.run(true);
	collect(r);
	check_value(r);
}

/* ---- one word ---- */

static struct gsb_cmd copy_of(const struct rig *r, const void *from, uint64_t at, uint64_t bytes)
{
	return (struct gsb_cmd){.kind = GSB_CMD_COPY,
				.copy = {.dst = r->at + at,
					 .src = (uint64_t)(uintptr_t)from,
					 .width = bytes,
					 .height = 1}};
}

static struct gsb_cmd fill_of(const struct rig *r, uint64_t at, uint64_t n, uint32_t bytes)
{
	return (struct gsb_cmd){.kind = GSB_CMD_FILL,
				.fill = {r->at + at, n, 1, 0, 0x11223344, bytes}};
}

/* What is thought to be brief is not timed: what is goes as any. */
static void send_brief(struct rig *r, struct gsb_cmd cmd, bool more)
{
	for (unsigned i = 0; i < CUDA_N_KINDS; i++)
		device_of(r)->short_habits[i] = (struct cuda_habit){.unit_ns = 1000};
	issue(r, r->queue, cmd, more);
}

static unsigned n_fills(void)
{
	return fake.calls("cuMemsetD8Async") + fake.calls("cuMemsetD16Async") +
	       fake.calls("cuMemsetD32Async");
}

static void test_a_word_for_an_idle_queue_is_one_call(void **state)
{
	static const uint64_t word = 0x0102030405060708;
	struct rig *r = *state;
	const struct gsb_cmd cmds[] = {copy_of(r, &word, 4, 4), copy_of(r, &word, 8, 8),
				       fill_of(r, 16, 1, 4),	fill_of(r, 24, 8, 1),
				       fill_of(r, 32, 2, 2),	fill_of(r, 40, 2, 4)};
	unsigned words, copies, fills;

	words = fake.calls("cuStreamWriteValue32_v2");
	copies = fake.calls("cuMemcpyAsync");
	fills = n_fills();
	for (unsigned i = 0; i < GSB_ARRAY_LEN(cmds); i++) {
		send_brief(r, cmds[i], false);
		collect(r);
		assert_int_equal(fake.calls("cuStreamBatchMemOp_v2"), i + 1);
	}
	assert_int_equal(fake.calls("cuStreamWriteValue32_v2"), words);
	assert_int_equal(fake.calls("cuMemcpyAsync"), copies);
	assert_int_equal(n_fills(), fills);
}

/* Timed, of other lengths, not aligned, to the host, from the device, with more behind it, or behind a kernel that may yet write what is copied. */
static void test_other_copies_are_no_words(void **state)
{
	static const uint64_t word = 5;
	static uint64_t out;
	struct rig *r = *state;

	issue(r, r->queue, copy_of(r, &word, 64, 4), false);
	collect(r);
	send_brief(r, copy_of(r, &word, 4, 8), false);
	collect(r);
	send_brief(r, copy_of(r, &word, 2, 4), false);
	collect(r);
	send_brief(r, copy_of(r, &word, 0, 2), false);
	collect(r);
	send_brief(r,
		   (struct gsb_cmd){.kind = GSB_CMD_COPY,
				    .copy = {.dst = (uint64_t)(uintptr_t)&out,
					     .src = r->at,
					     .width = 8,
					     .height = 1}},
		   false);
	collect(r);
	send_brief(
		r,
		(struct gsb_cmd){.kind = GSB_CMD_COPY,
				 .copy = {.dst = r->at + 8, .src = r->at, .width = 8, .height = 1}},
		false);
	collect(r);
	send_brief(r, copy_of(r, &word, 128, 4), true);
	send_brief(r, copy_of(r, &word, 132, 4), false);
	collect(r);
	fake.run(false);
	launch(r, r->three, 1, false);
	send_brief(r, copy_of(r, &word, 136, 4), false);
	fake.run(true);
	collect(r);
	assert_int_equal(fake.calls("cuStreamBatchMemOp_v2"), 0);
}

static void test_a_word_that_the_driver_does_not_write_is_copied(void **state)
{
	static const uint32_t word = 5;
	struct rig *r = *state;

	fake.inject("cuStreamBatchMemOp_v2", 1, CUDA_ERROR_NOT_SUPPORTED);
	send_brief(r, copy_of(r, &word, 0, sizeof(word)), false);
	r->value = word;
	collect(r);
	send_brief(r, copy_of(r, &word, 0, sizeof(word)), false); /* and not tried again */
	collect(r);
	assert_int_equal(fake.calls("cuStreamBatchMemOp_v2"), 1);
	check_value(r);
}

int main(void)
{
	void *library = dlopen(GSB_FAKE_LIBCUDA, RTLD_NOW | RTLD_GLOBAL);
	static bool timed = true, untimed = false;
	static const struct CMUnitTest tests[] = {
#define ONLY(f, mode) {#f " (" #mode ")", f, setup, teardown, &(mode)}
#define RIGGED(f)     ONLY(f, timed), ONLY(f, untimed)
		RIGGED(test_launches_that_follow_each_other_are_few_calls),
		RIGGED(test_kernels_without_parameters_go_in_chains),
		RIGGED(test_chains_compute_what_launches_do),
		RIGGED(test_a_graph_of_the_same_sequence_is_taken_again),
		RIGGED(test_a_graph_that_is_under_way_is_left_alone),
		RIGGED(test_there_are_so_many_graphs_and_no_more),
		RIGGED(test_sequences_of_32_programs_have_graphs_of_their_own),
		RIGGED(test_what_is_no_launch_keeps_its_place),
		RIGGED(test_blocks_that_are_new_to_the_driver_are_launched_plainly),
		RIGGED(test_grids_that_are_none_are_refused_at_once),
		RIGGED(test_what_comes_alone_again_and_again_is_a_chain_of_one),
		RIGGED(test_other_queues_have_no_chains),
		RIGGED(test_a_refused_graph_becomes_launches),
		RIGGED(test_a_launch_that_is_refused_after_all_is_told),
		RIGGED(test_graphs_of_code_that_has_gone_are_made_anew),
		RIGGED(test_code_does_not_go_while_a_graph_is_set),
		ONLY(test_a_launch_that_is_waited_for_takes_two_calls, untimed),
		RIGGED(test_what_a_graph_has_is_not_set_again),
		RIGGED(test_a_graph_gets_other_grids),
		ONLY(test_a_timed_launch_has_its_events_and_its_word, timed),
		ONLY(test_only_the_last_graph_of_those_that_end_together_has_a_mark, untimed),
		ONLY(test_a_chain_that_does_not_end_last_has_no_mark, untimed),
		ONLY(test_a_mark_that_nobody_has_seen_is_not_cleared, untimed),
		RIGGED(test_a_queue_goes_on_from_the_number_of_the_one_before),
		RIGGED(test_the_first_end_of_a_queue_is_a_word),
		RIGGED(test_who_waits_for_what_runs_needs_no_engine),
		RIGGED(test_who_waits_does_not_wait_for_what_comes_after),
		ONLY(test_a_word_for_an_idle_queue_is_one_call, untimed),
		ONLY(test_other_copies_are_no_words, untimed),
		ONLY(test_a_word_that_the_driver_does_not_write_is_copied, untimed),
	};

	assert_non_null(library);
	setenv("GSB_REAL_LIBCUDA", GSB_FAKE_LIBCUDA, 1);
#define FIND(field, name) fake.field = (__typeof__(fake.field))dlsym(library, "fake_" #name)
	FIND(inject, fail);
	FIND(calls, calls);
	FIND(watch, watch);
	FIND(live, live);
	FIND(run, run);
	FIND(reset, reset);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
