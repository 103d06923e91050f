/*
 * test_cuda_joint.c - launches of several queues that go to the driver as one graph, on the fake driver of tests/fake: which do, how many
 * calls they take, what they compute, what is behind them, and what becomes of them when the driver refuses the graph.
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
#include "device/cuda/queue.h"
#include "device/ops.h"
#include "tests/fake/fake.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 30)
#define N_QUEUES    20
#define N_WAITS	    3 /* launches that each has waited for, before those of a test */
#define BRIEF_NS    1000
#define LONG_NS	    15000 /* too long for company, and not timed */

/* *p = *p * 3 + k, by one thread. */
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
	struct gsb_function *three[N_QUEUES];
	uint64_t at[N_QUEUES];	   /* a word of each */
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
	assert_int_equal(r->ops->function_prepare(r->three[i], log, sizeof(log)), 0);
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

static void collect(struct rig *r)
{
	while (r->n_ended < r->n_issued) {
		struct gsb_completion c = next_end(r);

		assert_int_equal(c.result, CUDA_SUCCESS);
		assert_true(c.start_ns < c.end_ns && c.end_ns <= gsb_clock_ns());
	}
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
	for (unsigned i = 0; i < N_QUEUES; i++)
		if (r->three[i])
			r->three[i]->habit = (struct cuda_habit){.unit_ns = ns};
}

/* By the i-th queue, so. */
static void launch_with(struct rig *r, unsigned i, const void *args, uint32_t bytes,
			unsigned n_beside)
{
	if (!r->learns)
		set_habit(r, BRIEF_NS);
	issue(r, i,
	      (struct gsb_cmd){.kind = GSB_CMD_LAUNCH,
			       .launch = {.function = r->three[i],
					  .grid = {1, 1, 1},
					  .block = {1, 1, 1},
					  .params = args,
					  .params_bytes = bytes}},
	      n_beside);
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

/* By the first n queues, each a launch. */
static void launch_all(struct rig *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		launch(r, i, n - 1 - i);
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
static int setup(void **state)
{
	static struct rig rig;
	struct gsb_device_params p = {.spec = "cuda:0"};
	struct rig *r = &rig;
	char err[256] = "";

	*r = (struct rig){.learns = true};
	fake.reset();
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

static int teardown(void **state)
{
	struct rig *r = *state;

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
	unsigned graphs, launches, words, records, waits;
};

/* Since the last time. */
static struct calls count_calls(struct calls *before)
{
	return (struct calls){.graphs = since(&before->graphs, "cuGraphLaunch"),
			      .launches = since(&before->launches, "cuLaunchKernel"),
			      .words = since(&before->words, "cuStreamWriteValue32_v2"),
			      .records = since(&before->records, "cuEventRecord"),
			      .waits = since(&before->waits, "cuStreamWaitEvent")};
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

/* Up to 16. */
static void test_any_number_of_them_is_one_call(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};

	count_calls(&before);
	launch_all(r, 15);
	collect(r);
	expect_calls(&before, 1, 0, 0);
	launch_all(r, 20);
	collect(r);
	expect_calls(&before, 2, 0, 0);
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

/* Of the queue that lends its stream, and of the others. */
static void test_what_follows_is_behind_all_of_them(void **state)
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
	assert_int_equal(calls.records, 1);
	assert_int_equal(calls.waits, 3);
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
	/* and ends with the others all the same, and not with what follows */
	assert_int_equal(r->queues[1]->flights->mark, r->queues[0]->flights->mark);
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
	assert_int_equal(calls.records + calls.waits, 0);
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

/* Whose it is is not known, so all are timed the next time. */
static void test_company_that_was_long_is_timed_then(void **state)
{
	struct rig *r = *state;
	struct calls before = {0};
	uint64_t from;

	r->learns = true;
	set_habit(r, BRIEF_NS);
	fake.run(false);
	launch_all(r, 3);
	for (from = gsb_clock_ns(); gsb_clock_ns() - from < 2000000;)
		r->ops->stay_awake(r->dev);
	fake.run(true);
	collect(r);
	count_calls(&before);
	launch_all(r, 3);
	expect_calls(&before, 3, 0, 3);
	collect(r);
	check_values(r);
}

/* So that nobody is blamed for a kernel that may be another one's. */
static void test_whose_it_is_is_not_known(void **state)
{
	struct rig *r = *state;

	fake.run(false);
	launch_all(r, 3);
	launch(r, 3, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r->ops->ends_with_others(r->queues[i]), i < 3);
	fake.run(true);
	collect(r);
	assert_false(r->ops->ends_with_others(r->queues[0]));
}

/* ---- refusals ---- */

static void test_a_refused_graph_becomes_launches_of_each_queue(void **state)
{
	static const char *const calls[] = {"cuGraphCreate", "cuGraphAddKernelNode_v2",
					    "cuGraphAddMemsetNode", "cuGraphInstantiateWithFlags",
					    "cuGraphLaunch"};
	struct rig *r = *state;
	struct calls before = {0};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++) {
		count_calls(&before);
		fake.inject(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
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

/* Who did it is not known, as where each has a graph of its own; those that wait for company have not begun, and end all the same. */
static void test_a_fault_of_one_is_told_to_all(void **state)
{
	struct rig *r = *state;
	const struct {
		uint64_t p;
		uint32_t k, pad;
	} args = {r->at[5] + 1, 1, 0};

	fake.run(false);
	launch_all(r, 4);
	launch(r, 4, 3);
	launch_with(r, 5, &args, sizeof(args), 2);
	launch(r, 6, 1);
	launch(r, 7, 0);
	fake.run(true);
	for (unsigned i = 0; i < 4; i++)
		(void)next_end(r);
	while (r->n_ended < r->n_issued)
		assert_int_equal(next_end(r).result, CUDA_ERROR_MISALIGNED_ADDRESS);
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
		RIGGED(test_what_follows_is_behind_all_of_them),
		RIGGED(test_what_follows_one_that_waits_is_behind_it),
		RIGGED(test_what_follows_one_that_waits_in_vain_is_behind_it),
		RIGGED(test_what_follows_when_they_have_ended_needs_no_event),
		RIGGED(test_an_end_that_is_not_taken_yet_is_not_lost),
		RIGGED(test_who_waits_for_what_runs_waits_for_all_of_them),
		RIGGED(test_company_that_was_long_is_timed_then),
		RIGGED(test_whose_it_is_is_not_known),
		RIGGED(test_a_refused_graph_becomes_launches_of_each_queue),
		RIGGED(test_one_that_is_refused_after_all_is_told),
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
