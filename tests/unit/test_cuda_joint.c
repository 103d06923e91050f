/*
 * test_cuda_joint.c - launches of several queues that go to the driver as one graph, on the fake driver of tests/fake: which do, how many
 * calls they take, what they compute, what is behind them, and what becomes of them when one does not end or the driver refuses the graph.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/cuda/device.h"
#include "device/cuda/flight.h"
#include "device/cuda/module.h"
#include "device/cuda/running.h"
#include "device/ops.h"
#include "tests/fake/fake.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 30)
#define N_QUEUES    20
#define N_WAITS	    3 /* launches that each has waited for, before those of a test */
#define BRIEF_NS    1000
#define LONG_NS	    15000 /* too long for company, and not timed */

/* *p = *p * 3 + k, by one thread; and one that waits until *p is not 0. */
static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry three(.param .u64 p, .param .u32 k)\n"
			   "{\n"
			   "	.reg .b32 %r<4>;\n"
			   "	.reg .b64 %rd<2>;\n"
			   "	ld.param.u64 %rd1, [p];\n"
			   "	ld.param.u32 %r1, [k];\n"
			   "	ld.global.u32 %r2, [%rd1];\n"
			   "	mad.lo.u32 %r3, %r2, 3, %r1;\n"
			   "	st.global.u32 [%rd1], %r3;\n"
			   "	ret;\n"
			   "}\n"
			   ".visible .entry until(.param .u64 p)\n"
			   "{\n"
			   "	.reg .pred %p;\n"
			   "	.reg .b32 %r;\n"
			   "	.reg .b64 %rd;\n"
			   "	ld.param.u64 %rd, [p];\n"
			   "again:\n"
			   "	ld.volatile.global.u32 %r, [%rd];\n"
			   "	setp.eq.u32 %p, %r, 0;\n"
			   "	@%p bra again;\n"
			   "	ret;\n"
			   "}\n";

static struct {
	__typeof__(&fake_fail) inject;
	__typeof__(&fake_calls) calls;
	__typeof__(&fake_live) live;
	__typeof__(&fake_run) run;
	__typeof__(&fake_reset) reset;
} fake;

struct rig {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	/* a program for each queue */
	struct gsb_space *spaces[N_QUEUES];
	struct gsb_queue *queues[N_QUEUES];
	struct gsb_function *three[N_QUEUES], *until[N_QUEUES];
	uint64_t at[N_QUEUES]; /* a word of each, and behind it the one that until() waits for */
	uint32_t values[N_QUEUES]; /* what should be there */
	unsigned n_issued, n_ended;
	bool learns; /* what launches take; else they are brief each time, however busy this machine is */
};

static struct cuda_device *device_of(const struct rig *r)
{
	return to_cuda(r->dev);
}

/* The i-th program. */
static void begin(struct rig *r, unsigned i)
{
	const struct gsb_space_params p = {.device_base = DEVICE_BASE + i * DEVICE_SIZE,
					   .device_size = DEVICE_SIZE,
					   .owner = 1 + i};
	static struct gsb_function_info info;
	struct gsb_module *module;
	char log[256] = "";

	assert_int_equal(r->ops->space_create(r->dev, &p, &r->spaces[i]), 0);
	assert_int_equal(r->ops->mem_alloc(r->spaces[i], 4096, &r->at[i]), 0);
	assert_int_equal(
		r->ops->module_load(r->spaces[i], text, strlen(text), &module, log, sizeof(log)),
		0);
	assert_int_equal(r->ops->function_get(module, "three", &r->three[i], &info), 0);
	assert_int_equal(r->ops->function_get(module, "until", &r->until[i], &info), 0);
	assert_int_equal(r->ops->function_prepare(r->three[i], log, sizeof(log)), 0);
	assert_int_equal(r->ops->function_prepare(r->until[i], log, sizeof(log)), 0);
	assert_int_equal(r->ops->queue_create(r->dev, 0, GSB_ALL_SMS, &r->queues[i]), 0);
}

static struct gsb_completion next_end(struct rig *r)
{
	struct gsb_completion c;

	while (!r->ops->poll(r->dev, &c, 1)) {
		struct pollfd fd = {.fd = r->ops->event_fd(r->dev), .events = POLLIN};

		if (!r->ops->stay_awake(r->dev))
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	r->n_ended++;
	return c;
}

/* But for so many. */
static void collect_until(struct rig *r, unsigned n_left)
{
	while (r->n_ended + n_left < r->n_issued) {
		struct gsb_completion c = next_end(r);

		assert_int_equal(c.result, CUDA_SUCCESS);
		assert_true(c.start_ns < c.end_ns && c.end_ns <= gsb_clock_ns());
	}
}

static void collect(struct rig *r)
{
	collect_until(r, 0);
}

static void issue(struct rig *r, unsigned i, struct gsb_cmd cmd, unsigned n_beside)
{
	cmd.space = r->spaces[i];
	cmd.cookie = r->n_issued++;
	cmd.n_beside = n_beside;
	assert_int_equal(r->ops->issue(r->queues[i], &cmd), 0);
}

static void set_habit(struct rig *r, uint64_t ns)
{
	for (unsigned i = 0; i < N_QUEUES; i++) {
		if (!r->three[i])
			continue;
		r->three[i]->habit = (struct cuda_habit){.unit_ns = ns};
		r->until[i]->habit = (struct cuda_habit){.unit_ns = ns};
	}
}

/* By the i-th queue. */
static void launch_function(struct rig *r, unsigned i, struct gsb_function *function,
			    const void *args, uint32_t bytes, unsigned n_beside)
{
	if (!r->learns)
		set_habit(r, BRIEF_NS);
	issue(r, i,
	      (struct gsb_cmd){.kind = GSB_CMD_LAUNCH,
			       .launch = {.function = function,
					  .grid = {1, 1, 1},
					  .block = {1, 1, 1},
					  .params = args,
					  .params_bytes = bytes}},
	      n_beside);
}

static void launch_with(struct rig *r, unsigned i, const void *args, uint32_t bytes,
			unsigned n_beside)
{
	launch_function(r, i, r->three[i], args, bytes, n_beside);
}

/* The i-th may go on, or not. */
static void set_until(struct rig *r, unsigned i, uint32_t value)
{
	__atomic_store_n((uint32_t *)(uintptr_t)(r->at[i] + sizeof(uint32_t)), value,
			 __ATOMIC_RELEASE);
}

static void launch_until(struct rig *r, unsigned i, unsigned n_beside)
{
	const uint64_t at = r->at[i] + sizeof(uint32_t);

	launch_function(r, i, r->until[i], &at, sizeof(at), n_beside);
}

/* The driver has taken it, and it was brief; from now on it does not end until set_until(). */
static void teach_until(struct rig *r, unsigned i)
{
	set_until(r, i, 1);
	launch_until(r, i, 0);
	collect(r);
	set_until(r, i, 0);
}

/* By the i-th queue, on its word. */
static void launch(struct rig *r, unsigned i, unsigned n_beside)
{
	struct {
		uint64_t p;
		uint32_t k, pad;
	} args = {r->at[i], r->n_issued, 0};

	r->values[i] = r->values[i] * 3 + args.k;
	launch_with(r, i, &args, sizeof(args), n_beside);
	memset(&args, 0xff, sizeof(args)); /* they were copied */
}

/* However slow this machine is: what is under way does not seem to take long. */
static void set_sent_just_now(const struct rig *r)
{
	for (unsigned i = 0; i < CUDA_FORKS; i++)
		device_of(r)->graphs.forks[i].sent_ns = gsb_clock_ns() + 1000000000;
}

/* By the first n queues, each a launch. */
static void launch_all(struct rig *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		launch(r, i, n - 1 - i);
		set_sent_just_now(r);
	}
}

static void copy(struct rig *r, unsigned i, uint32_t *to, unsigned n_beside)
{
	issue(r, i,
	      (struct gsb_cmd){.kind = GSB_CMD_COPY,
			       .copy = {.dst = (uint64_t)(uintptr_t)to,
					.src = r->at[i],
					.width = sizeof(*to),
					.height = 1}},
	      n_beside);
}

static void check_values(struct rig *r)
{
	uint32_t values[N_QUEUES];

	for (unsigned i = 0; i < N_QUEUES; i++)
		copy(r, i, &values[i], 0);
	collect(r);
	assert_memory_equal(values, r->values, sizeof(values));
}

/* The driver has taken it, each queue has had its first word, and it is known to be brief. */
static int open_device(void **state)
{
	static struct rig rig;
	struct gsb_device_params p = {.spec = "cuda:0"};
	struct rig *r = &rig;
	char err[256] = "";

	*r = (struct rig){.learns = true};
	assert_int_equal(gsb_device_open(&p, &r->dev, err, sizeof(err)), 0);
	r->ops = r->dev->ops;
	for (unsigned i = 0; i < N_QUEUES; i++) {
		begin(r, i);
		launch(r, i, 0);
		collect(r);
	}
	r->learns = false;
	for (unsigned round = 1; round < N_WAITS; round++)
		for (unsigned i = 0; i < N_QUEUES; i++) {
			launch(r, i, 0);
			collect(r);
		}
	*state = r;
	return 0;
}

static int setup(void **state)
{
	fake.reset();
	return open_device(state);
}

static int setup_without_marks(void **state)
{
	fake.reset();
	fake.inject("cuLibraryLoadData", 1, CUDA_ERROR_INVALID_PTX);
	return open_device(state);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (unsigned i = 0; i < N_QUEUES; i++) /* of a test that has failed */
		set_until(r, i, 1);
	fake.run(true);
	for (unsigned i = 0; i < N_QUEUES; i++) {
		r->ops->queue_destroy(r->queues[i]);
		r->ops->space_destroy(r->spaces[i]);
	}
	r->ops->close(r->dev);
	for (unsigned kind = 0; kind < FAKE_N_KINDS; kind++)
		assert_int_equal(fake.live(kind), 0);
	return 0;
}

/* What a call of the driver was called since. */
static unsigned since(unsigned *before, const char *name)
{
	unsigned n = fake.calls(name) - *before;

	*before += n;
	return n;
}

struct calls {
	unsigned graphs, launches, words, records, waits, looks;
};

/* Since the last time. */
static struct calls count_calls(struct calls *before)
{
	return (struct calls){.graphs = since(&before->graphs, "cuGraphLaunch"),
			      .launches = since(&before->launches, "cuLaunchKernel"),
			      .words = since(&before->words, "cuStreamWriteValue32_v2"),
			      .records = since(&before->records, "cuEventRecord"),
			      .waits = since(&before->waits, "cuStreamWaitEvent"),
			      .looks = since(&before->looks, "cuStreamWaitValue32_v2")};
}

static void expect_calls(struct calls *before, unsigned graphs, unsigned launches, unsigned words)
{
	struct calls c = count_calls(before);

	assert_int_equal(c.graphs, graphs);
	assert_int_equal(c.launches, launches);
	assert_int_equal(c.words, words);
}

/* ---- which, and how many calls ---- */

static void test_launches_of_several_queues_are_one_call(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	for (unsigned round = 0; round < 6; round++) {
		launch_all(r, 8);
		collect(r);
		expect_calls(&before, 1, 0, 0);
	}
	assert_int_equal(count_calls(&before).records, 0);
	check_values(r);
}

/* Up to eight: more are more calls. */
static void test_any_number_of_them_is_one_call(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	launch_all(r, 7);
	collect(r);
	expect_calls(&before, 1, 0, 0);
	launch_all(r, 20);
	collect(r);
	expect_calls(&before, 3, 0, 0);
	check_values(r);
}

static void test_one_by_itself_waits_for_nobody(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	launch(r, 0, 0);
	expect_calls(&before, 1, 0, 0);
	collect(r);
	check_values(r);
}

/* And if there are three, one of which may not be with the others: those two have waited a moment, and go as they would have. */
static void test_two_are_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	uint32_t value;

	count_calls(&before);
	launch(r, 0, 1);
	expect_calls(&before, 1, 0, 0);
	launch(r, 1, 0);
	expect_calls(&before, 1, 0, 0);
	collect(r);
	launch(r, 0, 2);
	launch(r, 1, 1);
	expect_calls(&before, 0, 0, 0);
	copy(r, 2, &value, 0);
	expect_calls(&before, 2, 0, 1);
	collect(r);
	check_values(r);
}

/* Who launches in bursts has more to come, which would have to wait for the others, too. */
static void test_who_does_not_wait_for_each_has_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	fake.run(false);
	for (unsigned i = 0; i < 2 * 4; i++)
		launch(r, i % 4, 0);
	fake.run(true);
	collect(r);
	count_calls(&before);
	for (unsigned round = 0; round < N_WAITS; round++) {
		launch_all(r, 4);
		collect(r);
		expect_calls(&before, 4, 0, 0);
	}
	launch_all(r, 4);
	collect(r);
	expect_calls(&before, 1, 0, 0);
	check_values(r);
}

/* Who was to come does not come after all, or comes with something else. */
static void test_who_waits_in_vain_goes_with_the_next_poll(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	uint32_t value;

	count_calls(&before);
	launch(r, 0, 3);
	launch(r, 1, 2);
	launch(r, 2, 1);
	expect_calls(&before, 0, 0, 0);
	collect(r);
	expect_calls(&before, 1, 0, 0);
	launch(r, 0, 3);
	launch(r, 1, 2);
	launch(r, 2, 1);
	copy(r, 3, &value, 0);
	assert_int_equal(count_calls(&before).graphs, 1);
	collect(r);
	check_values(r);
}

/* The order in which they come is another each time: the graph is the one of before, and has what each wants. */
static void test_who_comes_first_does_not_matter_to_the_graph(void **state)
{
	static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}};
	struct rig *r = *state;
	unsigned n_set = fake.calls("cuGraphExecKernelNodeSetParams_v2");

	for (unsigned round = 0; round < GSB_ARRAY_LEN(orders); round++) {
		for (unsigned i = 0; i < 4; i++) {
			unsigned q = orders[round][i];
			const struct {
				uint64_t p;
				uint32_t k, pad;
			} args = {r->at[q], 7, 0};

			r->values[q] = r->values[q] * 3 + 7;
			launch_with(r, q, &args, sizeof(args), 3 - i);
		}
		collect(r);
	}
	assert_int_equal(fake.calls("cuGraphExecKernelNodeSetParams_v2"), n_set);
	check_values(r);
}

static void test_long_and_timed_launches_have_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	r->learns = true;
	set_habit(r, LONG_NS);
	launch_all(r, 4);
	expect_calls(&before, 4, 0, 0);
	collect(r);
	set_habit(r, 0); /* not known: the first that ends says it */
	launch_all(r, 4);
	expect_calls(&before, 4, 0, 4);
	collect(r);
	check_values(r);
}

/* What is under way in a queue is before it, and may be long. */
static void test_a_queue_that_is_busy_has_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	fake.run(false);
	launch(r, 0, 0);
	count_calls(&before);
	launch_all(r, 5);
	expect_calls(&before, 2, 0, 0);
	fake.run(true);
	collect(r);
	check_values(r);
}

static void test_other_priorities_and_parts_have_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	r->ops->queue_destroy(r->queues[1]);
	r->ops->queue_destroy(r->queues[2]);
	assert_int_equal(
		r->ops->queue_create(r->dev, 0, (struct gsb_sm_range){0, 16}, &r->queues[1]), 0);
	assert_int_equal(r->ops->queue_create(r->dev, -1, GSB_ALL_SMS, &r->queues[2]), 0);
	launch(r, 1, 0);
	launch(r, 2, 0);
	collect(r);
	count_calls(&before);
	launch_all(r, 5);
	collect(r);
	expect_calls(&before, 1, 2, 2);
	check_values(r);
}

/* They may wait for each other: of two queues of a space, and of two spaces of an owner. */
static void test_launches_of_one_program_are_no_company(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	struct gsb_space *space = r->spaces[9];

	count_calls(&before);
	launch(r, 0, 3);
	r->spaces[9] = r->spaces[0];
	launch(r, 9, 2);
	r->spaces[9] = space;
	launch(r, 2, 1);
	launch(r, 4, 0);
	expect_calls(&before, 2, 0, 0);
	collect(r);
	r->spaces[1]->owner = r->spaces[3]->owner;
	launch(r, 1, 3);
	launch(r, 3, 2);
	launch(r, 5, 1);
	launch(r, 7, 0);
	expect_calls(&before, 2, 0, 0);
	collect(r);
	check_values(r);
}

static void test_memory_that_is_not_zero_yet_is_waited_for(void **state)
{
	struct rig *r = *state;
	struct calls before = {0}, calls;
	uint64_t at;

	fake.run(false);
	assert_int_equal(r->ops->mem_alloc(r->spaces[1], 8 << 20, &at), 0);
	count_calls(&before);
	launch_all(r, 4);
	calls = count_calls(&before);
	assert_int_equal(calls.graphs, 2);
	assert_int_equal(calls.waits, 1);
	fake.run(true);
	collect(r);
	check_values(r);
}

/* ---- what is behind ---- */

static void test_what_follows_is_behind_its_own(void **state)
{
	struct rig *r = *state;
	struct calls before = {0}, calls;

	count_calls(&before);
	fake.run(false);
	launch_all(r, 4);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 4; i++)
			launch(r, i, 0);
	calls = count_calls(&before);
	assert_int_equal(calls.graphs, 1 + 8);
	assert_int_equal(calls.records + calls.waits, 0);
	assert_int_equal(calls.looks, 4);
	fake.run(true);
	collect(r);
	check_values(r);
}

static void test_what_follows_one_that_waits_is_behind_it(void **state)
{
	struct rig *r = *state;

	fake.run(false);
	for (unsigned i = 0; i < 3; i++)
		launch(r, i, 3);
	launch(r, 1, 3);
	/* and is with the others all the same, and does not end with what follows */
	assert_true(cuda_chain_is_beside(r->queues[1]->flights->mark));
	launch(r, 0, 0);
	fake.run(true);
	collect(r);
	check_values(r);
}

static void test_what_follows_one_that_waits_in_vain_is_behind_it(void **state)
{
	struct rig *r = *state;

	fake.run(false);
	launch(r, 0, 2);
	launch(r, 0, 0);
	assert_int_not_equal(r->queues[0]->flights->mark, CUDA_NO_MARK);
	assert_int_not_equal(r->queues[0]->flights->mark, r->queues[0]->last->mark);
	fake.run(true);
	collect(r);
	check_values(r);
}

/* There is nothing to be behind. */
static void test_what_follows_when_they_have_ended_needs_no_event(void **state)
{
	struct rig *r = *state;
	struct calls before = {0}, calls;

	count_calls(&before);
	launch_all(r, 3);
	cuda_wait_for_running(device_of(r));
	launch(r, 1, 0);
	calls = count_calls(&before);
	assert_int_equal(calls.records + calls.waits + calls.looks, 0);
	collect(r);
	check_values(r);
}

/* Nor in their queues is anything behind the one that does not end. */
static void test_what_follows_is_not_behind_others(void **state)
{
	struct rig *r = *state;

	teach_until(r, 0);
	teach_until(r, 1);
	set_until(r, 0, 1);
	fake.run(false);
	launch_until(r, 0, 2);
	launch_until(r, 1, 1);
	launch(r, 2, 0);
	launch(r, 0, 0);
	launch(r, 2, 0);
	fake.run(true);
	collect_until(r, 1);
	assert_non_null(r->queues[1]->flights);
	set_until(r, 1, 1);
	collect(r);
	check_values(r);
}

static unsigned fork_of(const struct rig *r, unsigned i)
{
	unsigned mark = r->queues[i]->flights->mark;

	assert_true(cuda_chain_is_beside(mark));
	return (mark - CUDA_N_CHAIN_MARKS) / CUDA_BESIDE_MAX;
}

/* The next graph would clear it, and the GPU may not have looked yet. */
static void test_a_mark_is_kept_for_what_follows(void **state)
{
	struct rig *r = *state;

	teach_until(r, 1);
	fake.run(false);
	launch_all(r, 3);
	assert_int_equal(fork_of(r, 1), 0);
	launch_until(r, 1, 0);
	fake.run(true);
	collect_until(r, 1);
	set_sent_just_now(r);
	launch(r, 5, 2);
	launch(r, 6, 1);
	launch(r, 7, 0);
	assert_int_equal(fork_of(r, 5), 1);
	set_until(r, 1, 1);
	collect(r);
	launch(r, 5, 2);
	launch(r, 6, 1);
	launch(r, 7, 0);
	assert_int_equal(fork_of(r, 5), 0);
	collect(r);
	check_values(r);
}

/* ---- ends ---- */

/* Those of one graph are taken one by one, and meanwhile others go. */
static void test_an_end_that_is_not_taken_yet_is_not_lost(void **state)
{
	struct rig *r = *state;

	launch_all(r, 4);
	next_end(r);
	fake.run(false);
	for (unsigned i = 4; i < 8; i++)
		launch(r, i, 7 - i);
	for (unsigned i = 0; i < 3; i++)
		next_end(r);
	fake.run(true);
	collect(r);
	check_values(r);
}

/* All but the 2nd and the 5th of the first eight; the calls that it takes. */
static unsigned launch_six(struct rig *r)
{
	unsigned before = fake.calls("cuGraphLaunch"), n_left = 6;

	for (unsigned i = 0; i < 8; i++)
		if (i != 2 && i != 5)
			launch(r, i, --n_left);
	collect_until(r, 2);
	return fake.calls("cuGraphLaunch") - before;
}

static void launch_two_that_do_not_end(struct rig *r)
{
	teach_until(r, 2);
	teach_until(r, 5);
	launch_all(r, 8);
	collect(r);
	launch_until(r, 2, 7);
	launch_until(r, 5, 6);
}

static void end_those_two(struct rig *r)
{
	assert_non_null(r->queues[2]->flights);
	assert_non_null(r->queues[5]->flights);
	set_until(r, 2, 1);
	set_until(r, 5, 1);
	collect(r);
}

static void test_one_that_does_not_end_keeps_nobody(void **state)
{
	struct rig *r = *state;

	launch_two_that_do_not_end(r);
	for (unsigned round = 0; round < 4; round++) {
		assert_int_equal(launch_six(r), 1);
		set_sent_just_now(r);
	}
	end_those_two(r);
	check_values(r);
}

/* What comes behind it goes one by one, until it has ended. */
static void test_beside_one_that_takes_long_nothing_is_joined(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	uint64_t from = gsb_clock_ns();

	launch_two_that_do_not_end(r);
	assert_int_equal(launch_six(r), 1);
	while (gsb_clock_ns() - from < 1000000)
		;
	for (unsigned round = 0; round < 4; round++)
		assert_int_equal(launch_six(r), 6);
	end_those_two(r);
	count_calls(&before);
	launch_all(r, 8);
	collect(r);
	expect_calls(&before, 1, 0, 0);
	check_values(r);
}

/* Each of these keeps its graph, and that a stream; when one has ended, there is one again. */
static void test_where_no_graph_is_free_each_has_one_of_its_own(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	for (unsigned i = 0; i < CUDA_FORKS; i++)
		teach_until(r, i);
	count_calls(&before);
	for (unsigned i = 0; i < CUDA_FORKS; i++) {
		launch_until(r, i, 2);
		launch(r, CUDA_FORKS, 1);
		launch(r, CUDA_FORKS + 1, 0);
		expect_calls(&before, 1, 0, 0);
		set_sent_just_now(r);
		collect_until(r, i + 1);
	}
	for (unsigned i = 0; i < 3; i++)
		launch(r, CUDA_FORKS + i, 2 - i);
	expect_calls(&before, 3, 0, 0);
	collect_until(r, CUDA_FORKS);
	set_until(r, 3, 1);
	collect_until(r, CUDA_FORKS - 1);
	for (unsigned i = 0; i < 3; i++)
		launch(r, CUDA_FORKS + i, 2 - i);
	expect_calls(&before, 1, 0, 0);
	for (unsigned i = 0; i < CUDA_FORKS; i++)
		set_until(r, i, 1);
	collect(r);
	check_values(r);
}

static void test_who_waits_for_what_runs_waits_for_all_of_them(void **state)
{
	struct rig *r = *state;

	for (unsigned round = 0; round < 3; round++) {
		launch_all(r, 4);
		cuda_wait_for_running(device_of(r));
		collect(r);
	}
	check_values(r);
}

/* It goes alone the next time, and says how long it takes; the others may have been as brief as ever. */
static void test_one_that_was_long_is_timed_then(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	uint64_t from;

	teach_until(r, 0);
	launch_until(r, 0, 2);
	launch(r, 1, 1);
	launch(r, 2, 0);
	collect_until(r, 1);
	for (from = gsb_clock_ns(); gsb_clock_ns() - from < 2000000;)
		r->ops->stay_awake(r->dev);
	r->learns = true;
	set_until(r, 0, 1);
	collect(r);
	count_calls(&before);
	launch_until(r, 0, 0);
	expect_calls(&before, 1, 0, 1);
	collect(r);
	check_values(r);
}

/* ---- refusals ---- */

static void test_a_refused_graph_becomes_launches_of_each_queue(void **state)
{
	static const char *const calls[] = {"cuGraphCreate", "cuGraphAddKernelNode_v2",
					    "cuGraphAddKernelNode_v2",
					    "cuGraphInstantiateWithFlags", "cuGraphLaunch"};
	static const unsigned nth[] = {1, 1, 2, 1, 1}; /* a kernel, and its mark */
	struct rig *r = *state;
	struct calls before = {0};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++) {
		count_calls(&before);
		fake.inject(calls[i], nth[i], CUDA_ERROR_OUT_OF_MEMORY);
		launch_all(r, 4);
		cuda_wait_for_running(device_of(r));
		collect(r);
		assert_int_equal(count_calls(&before).graphs,
				 4 + !strcmp(calls[i], "cuGraphLaunch"));
		check_values(r);
	}
}

static void test_one_that_is_refused_after_all_is_told(void **state)
{
	struct rig *r = *state;
	unsigned first = r->n_issued, n_refused = 0;
	uint32_t values[4];

	memcpy(values, r->values, sizeof(values));
	fake.inject("cuGraphCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fake.inject("cuGraphLaunch", 2, CUDA_ERROR_OUT_OF_MEMORY);
	fake.inject("cuLaunchKernel", 1, CUDA_ERROR_OUT_OF_MEMORY);
	launch_all(r, 4);
	while (r->n_ended < r->n_issued) {
		struct gsb_completion c = next_end(r);

		if (!c.result)
			continue;
		assert_int_equal(c.result, CUDA_ERROR_OUT_OF_MEMORY);
		r->values[c.cookie - first] = values[c.cookie - first];
		n_refused++;
	}
	assert_int_equal(n_refused, 1);
	check_values(r);
}

/* It opened the device, and a GPU that is too old, say, would refuse it as well. */
static void test_without_the_kernel_that_marks_each_has_a_graph_of_its_own(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	launch_all(r, 4);
	collect(r);
	expect_calls(&before, 4, 0, 0);
	check_values(r);
}

/* The end of the context is that of all of them, whether they were sent or not. */
static void test_the_end_of_the_context_ends_all_of_them(void **state)
{
	struct rig *r = *state;

	fake.inject("cuGraphLaunch", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
	launch_all(r, 7);
	while (r->n_ended < r->n_issued)
		assert_int_equal(next_end(r).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(device_of(r)->n_in_flight, 0);
}

/* Who did it is not known, as where each has a graph of its own: but for those that have ended before. */
static void test_a_fault_of_one_is_told_to_all(void **state)
{
	struct rig *r = *state;
	const struct {
		uint64_t p;
		uint32_t k, pad;
	} args = {r->at[5] + 1, 1, 0};
	uint64_t bad;
	fake.run(false);
	launch_all(r, 4);
	launch(r, 4, 3);
	bad = r->n_issued;
	launch_with(r, 5, &args, sizeof(args), 2);
	launch_until(r, 6, 1); /* by itself it would not end */
	launch(r, 7, 0);
	fake.run(true);
	while (r->n_ended < r->n_issued) {
		struct gsb_completion c = next_end(r);

		if (c.result || c.cookie == bad)
			assert_int_equal(c.result, CUDA_ERROR_MISALIGNED_ADDRESS);
	}
	assert_int_equal(device_of(r)->n_in_flight, 0);
}

/* Its launch runs on, and what it had goes when all of that graph have ended; the others go on without it. */
static void test_who_goes_leaves_the_others_their_graph(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	for (unsigned round = 0; round < 2; round++) {
		launch_all(r, 5);
		collect(r);
	}
	r->ops->queue_destroy(r->queues[4]);
	r->ops->space_destroy(r->spaces[4]);
	r->three[4] = NULL;
	count_calls(&before);
	for (unsigned round = 0; round < 2; round++) {
		launch_all(r, 4);
		collect(r);
		expect_calls(&before, 1, 0, 0);
	}
	begin(r, 4);
	r->values[4] = 0;
	check_values(r);
}

int main(void)
{
	void *library = dlopen(GSB_FAKE_LIBCUDA, RTLD_NOW | RTLD_GLOBAL);
	static const struct CMUnitTest tests[] = {
#define RIGGED(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		RIGGED(test_launches_of_several_queues_are_one_call),
		RIGGED(test_any_number_of_them_is_one_call),
		RIGGED(test_one_by_itself_waits_for_nobody),
		RIGGED(test_two_are_no_company),
		RIGGED(test_who_does_not_wait_for_each_has_no_company),
		RIGGED(test_who_waits_in_vain_goes_with_the_next_poll),
		RIGGED(test_who_comes_first_does_not_matter_to_the_graph),
		RIGGED(test_long_and_timed_launches_have_no_company),
		RIGGED(test_a_queue_that_is_busy_has_no_company),
		RIGGED(test_other_priorities_and_parts_have_no_company),
		RIGGED(test_launches_of_one_program_are_no_company),
		RIGGED(test_memory_that_is_not_zero_yet_is_waited_for),
		RIGGED(test_what_follows_is_behind_its_own),
		RIGGED(test_what_follows_is_not_behind_others),
		RIGGED(test_a_mark_is_kept_for_what_follows),
		RIGGED(test_what_follows_one_that_waits_is_behind_it),
		RIGGED(test_what_follows_one_that_waits_in_vain_is_behind_it),
		RIGGED(test_what_follows_when_they_have_ended_needs_no_event),
		RIGGED(test_an_end_that_is_not_taken_yet_is_not_lost),
		RIGGED(test_who_waits_for_what_runs_waits_for_all_of_them),
		RIGGED(test_one_that_does_not_end_keeps_nobody),
		RIGGED(test_beside_one_that_takes_long_nothing_is_joined),
		RIGGED(test_where_no_graph_is_free_each_has_one_of_its_own),
		RIGGED(test_one_that_was_long_is_timed_then),
		RIGGED(test_a_refused_graph_becomes_launches_of_each_queue),
		RIGGED(test_one_that_is_refused_after_all_is_told),
		cmocka_unit_test_setup_teardown(
			test_without_the_kernel_that_marks_each_has_a_graph_of_its_own,
			setup_without_marks, teardown),
		RIGGED(test_the_end_of_the_context_ends_all_of_them),
		RIGGED(test_a_fault_of_one_is_told_to_all),
		RIGGED(test_who_goes_leaves_the_others_their_graph),
	};

	assert_non_null(library);
	setenv("GSB_REAL_LIBCUDA", GSB_FAKE_LIBCUDA, 1);
#define FIND(field, name) fake.field = (__typeof__(fake.field))dlsym(library, "fake_" #name)
	FIND(inject, fail);
	FIND(calls, calls);
	FIND(live, live);
	FIND(run, run);
	FIND(reset, reset);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
