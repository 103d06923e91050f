/*
 * test_emu_order.c - blocks of different lengths, over several waves: they can be executed beside each other, and in
 * whatever order that is done, device time is the same.
 *
 * A hand takes the place of the worker threads and executes the jobs one by one, so that what there is to be had for
 * a second worker can be counted, and the order chosen.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/device.h"
#include "tests/unit/device_kit.h"

#define GRID   1500 /* 2 blocks an SM: five or six waves */
#define BLOCK  1024
#define PLACED 264 /* at first */

enum order { OLDEST_FIRST, NEWEST_FIRST, IN_TURN, N_ORDERS };

/*
 * A block does 20 multiply-adds, then 8 to 71 rounds of a loop, as its number says. The block of number %r9, if there
 * is one, then writes where no memory is; with .early it does that before anything else, but for what is .first.
 */
static const char *kernel_text(unsigned bad_block, bool early, const char *first)
{
	static char text[4096];
	int n = snprintf(
		text, sizeof(text),
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 p) {\n"
		".reg .pred %%p<4>;\n.reg .b32 %%r<12>;\n.reg .b64 %%rd<4>;\n"
		"ld.param.u64 %%rd1, [p];\nmov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ctaid.x;\n"
		"mov.u64 %%rd3, 16;\nsetp.eq.u32 %%p2, %%r1, %u;\n%s%s",
		bad_block, first, early ? "@%p2 st.global.u32 [%rd3], %r0;\n" : "");

	for (int i = 0; i < 20; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "mad.lo.u32 %%r0, %%r0, 3, %%r1;\n");
	snprintf(
		text + n, sizeof(text) - (size_t)n,
		"mul.lo.u32 %%r2, %%r1, 7;\nrem.u32 %%r2, %%r2, 64;\nadd.u32 %%r2, %%r2, 8;\n"
		"loop:\nmad.lo.u32 %%r0, %%r0, 5, %%r2;\nsub.u32 %%r2, %%r2, 1;\n"
		"setp.ne.u32 %%p1, %%r2, 0;\n@%%p1 bra loop;\n"
		"@%%p2 st.global.u32 [%%rd3], %%r0;\n"
		"mul.wide.u32 %%rd2, %%r1, 4;\nadd.u64 %%rd2, %%rd2, %%rd1;\nst.global.u32 [%%rd2], %%r0;\n"
		"ret;\n}\n");
	return text;
}

/* ---- the hand ---- */

struct hand {
	struct emu_workers *w;
	enum order order;
	bool early; /* its jobs are executed before their company is known, as threads may do it */
	unsigned n_taken, n_beside; /* jobs; of them, taken while there was another */
	unsigned n_awaited;	    /* of them, for which time was waiting */
	unsigned n_ahead;	    /* of them, taken before they were placed */
};

/* From the threads, which end. */
static void hand_take_over(struct hand *h, struct t_device *d, enum order order)
{
	struct emu_workers *w = &to_emu(d->dev)->clock.workers;
	pthread_mutex_t *lock = w->lock;
	emu_on_slice *on_slice = w->on_slice;
	void *ctx = w->ctx;

	emu_workers_finish(w);
	emu_workers_init(w, lock, on_slice, ctx);
	w->n_threads = 1; /* the hand counts as one */
	*h = (struct hand){.w = w, .order = order};
}

static void hand_close(struct hand *h, struct t_device *d)
{
	h->w->n_threads = 0;
	t_device_close(d);
}

static struct emu_job *choose_job(struct hand *h)
{
	bool newest = h->order == NEWEST_FIRST || (h->order == IN_TURN && h->n_taken % 2);

	return newest ? TAILQ_LAST(&h->w->ready, emu_jobs) : TAILQ_FIRST(&h->w->ready);
}

/* And executes it; NULL: there is none. */
static struct emu_job *hand_take(struct hand *h, bool *more)
{
	struct emu_job *job;

	pthread_mutex_lock(h->w->lock);
	job = choose_job(h);
	if (!job) {
		pthread_mutex_unlock(h->w->lock);
		return NULL;
	}
	h->n_taken++;
	h->n_beside += TAILQ_FIRST(&h->w->ready) != TAILQ_LAST(&h->w->ready, emu_jobs);
	h->n_ahead += !job->placed;
	emu_worker_remove(h->w, job);
	job->running = true;
	job->settled = job->placed && !h->early;
	pthread_mutex_unlock(h->w->lock);
	*more = job->cmd->run(job, NULL);
	return job;
}

static void hand_tell(struct hand *h, struct emu_job *job, bool more, bool last)
{
	pthread_mutex_lock(h->w->lock);
	job->settled = job->placed;
	h->n_awaited += job->cmd->clock->blocker == job;
	job->running = false;
	h->w->on_slice(h->w->ctx, job, more, last);
	pthread_mutex_unlock(h->w->lock);
}

static void hand_execute(struct hand *h)
{
	bool more;
	struct emu_job *job = hand_take(h, &more);

	if (job)
		hand_tell(h, job, more, true);
}

/* ---- runs ---- */

/* A launch that is under way, with the hand to execute it; -> 4 * GRID bytes, its argument. */
static uint32_t *start_by_hand(const char *text, enum order order, struct hand *h,
			       struct t_device *d)
{
	struct t_device_launch l = {.kernel = "k", .grid = GRID, .block = BLOCK};
	struct gsb_function_info info;
	uint32_t *words;

	t_device_open(d, "emu:h200", 1);
	assert_int_equal(t_device_load(d, text), 0);
	words = t_device_alloc(d, 4 * GRID);
	l.args[0] = (uint64_t)(uintptr_t)words;
	t_device_function(d, "k", &info);
	hand_take_over(h, d, order);
	assert_int_equal(t_device_issue(d, &l), 0);
	d->ops->advance(d->dev, UINT64_MAX);
	return words;
}

/* No job takes more than two turns. */
static struct gsb_completion finish_by_hand(struct hand *h, struct t_device *d)
{
	struct gsb_completion c;

	for (unsigned turns = 0; !d->ops->poll(d->dev, &c, 1); turns++) {
		assert_true(turns < 3 * GRID);
		hand_execute(h);
	}
	return c;
}

static struct gsb_completion run_by_hand_from(const char *text, enum order order, bool early,
					      struct hand *h)
{
	struct gsb_completion c;
	struct t_device d;

	start_by_hand(text, order, h, &d);
	h->early = early;
	c = finish_by_hand(h, &d);
	assert_true(to_emu(d.dev)->clock.free_jobs.n_words <= (PLACED + 64) / 64 + 1);
	hand_close(h, &d);
	return c;
}

static struct gsb_completion run_by_hand(const char *text, enum order order, struct hand *h)
{
	return run_by_hand_from(text, order, false, h);
}

static struct gsb_completion run_by_threads(const char *text, unsigned n_workers)
{
	struct t_device_launch l = {.kernel = "k", .grid = GRID, .block = BLOCK};
	struct gsb_completion c;
	struct t_device d;

	t_device_open(&d, "emu:h200", n_workers);
	assert_int_equal(t_device_load(&d, text), 0);
	l.args[0] = (uint64_t)(uintptr_t)t_device_alloc(&d, 4 * GRID);
	c = t_device_run(&d, &l);
	t_device_close(&d);
	return c;
}

static void expect_same(const struct gsb_completion *a, const struct gsb_completion *b)
{
	assert_int_equal(a->result, b->result);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->n_blocks, b->n_blocks);
	assert_int_equal(a->n_instructions, b->n_instructions);
	assert_string_equal(a->detail, b->detail);
}

static void expect_same_in_any_order(const char *text, CUresult result)
{
	static const unsigned workers[] = {1, 2, 4};
	struct hand h;
	const struct gsb_completion first = run_by_hand(text, OLDEST_FIRST, &h);

	assert_int_equal(first.result, result);
	for (enum order order = NEWEST_FIRST; order < N_ORDERS; order++) {
		const struct gsb_completion c = run_by_hand(text, order, &h);

		expect_same(&first, &c);
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(workers); i++) {
		const struct gsb_completion c = run_by_threads(text, workers[i]);

		expect_same(&first, &c);
	}
}

/* Ends come one by one, and with each of them a new block: hardly any would find another one to run beside, if time
 * waited for each to be executed. */
static void test_blocks_that_start_one_by_one_leave_work_for_a_second_worker(void **state)
{
	struct hand h;
	const struct gsb_completion c =
		run_by_hand(kernel_text(GRID, false, "mov.u32 %r3, %smid;\n"), OLDEST_FIRST, &h);

	(void)state;
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_int_equal(c.n_blocks, GRID);
	assert_int_equal(h.n_taken, GRID);
	assert_int_equal(h.n_ahead, 0);
	if (h.n_beside < GRID * 95 / 100)
		fail_msg("only %u of %u blocks had another beside them", h.n_beside, GRID);
}

static void test_time_is_the_same_in_any_order_of_execution(void **state)
{
	(void)state;
	expect_same_in_any_order(kernel_text(GRID, false, ""), CUDA_SUCCESS);
}

/* Blocks are to be had while others are still being placed beside them, and what is beside them is what their times depend on. */
static void
test_time_is_the_same_when_blocks_are_executed_before_their_company_is_known(void **state)
{
	const char *text = kernel_text(GRID, false, "");
	struct hand h;
	const struct gsb_completion first = run_by_hand(text, OLDEST_FIRST, &h);

	(void)state;
	for (enum order order = OLDEST_FIRST; order < N_ORDERS; order++) {
		const struct gsb_completion c = run_by_hand_from(text, order, true, &h);

		expect_same(&first, &c);
	}
}

/* Equal blocks, six waves of them: time waits for the last of a wave, and looks once or twice, not at each. */
static void test_time_waits_for_the_last_of_blocks_that_end_together(void **state)
{
	struct hand h;
	const struct gsb_completion c =
		run_by_hand(".version 8.0\n.target sm_90\n.address_size 64\n"
			    ".visible .entry k(.param .u64 p) { ret; }\n",
			    OLDEST_FIRST, &h);

	(void)state;
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_int_equal(h.n_taken, GRID);
	assert_in_range(h.n_awaited, 6, 18);
}

/* The fault is found in real time before or after blocks that end before it in device time. */
static void test_time_of_a_fault_is_the_same_in_any_order(void **state)
{
	(void)state;
	expect_same_in_any_order(kernel_text(700, false, ""), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_same_in_any_order(kernel_text(700, true, ""), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_same_in_any_order(kernel_text(0, true, ""), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- blocks that are not placed yet ---- */

/* Each block puts down what it reads. */
static const char *reading_text(const char *what, const char *type)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 ".version 8.0\n.target sm_90\n.address_size 64\n"
		 ".visible .entry k(.param .u64 p) {\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n"
		 "ld.param.u64 %%rd1, [p];\nmov.u32 %%r1, %%ctaid.x;\n"
		 "mad.wide.u32 %%rd1, %%r1, 4, %%rd1;\nmov.%s %%%s2, %s;\n"
		 "st.global.u32 [%%rd1], %%%s2;\nret;\n}\n",
		 type, strcmp(type, "u64") ? "r" : "rd", what, strcmp(type, "u64") ? "r" : "rd");
	return text;
}

static unsigned count_ahead(const char *what, const char *type)
{
	struct hand h;

	run_by_hand(reading_text(what, type), NEWEST_FIRST, &h);
	assert_int_equal(h.n_taken, GRID);
	return h.n_ahead;
}

/* While the clock ends one wave and places the next, workers go on with those that will be placed, whatever happens. */
static void test_blocks_are_had_before_they_are_placed(void **state)
{
	struct hand h;
	const struct gsb_completion c = run_by_hand(kernel_text(GRID, false, ""), NEWEST_FIRST, &h);

	(void)state;
	assert_int_equal(c.n_blocks, GRID);
	assert_int_equal(h.n_taken, GRID);
	assert_in_range(h.n_ahead, 256, GRID - PLACED);
	assert_in_range(count_ahead("%ctaid.x", "u32"), 64, GRID - PLACED);
}

/* Block 300 takes several slices. */
static const char long_text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>;\n.reg .pred %p<4>;\n"
	"mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 300;\nselp.u32 %r2, 4000, 10, %p1;\n"
	"loop:\nsub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra loop;\nret;\n}\n";

static void test_time_is_the_same_when_a_block_is_placed_between_two_slices(void **state)
{
	struct hand h;

	(void)state;
	run_by_hand(long_text, NEWEST_FIRST, &h);
	assert_true(h.n_taken > GRID);
	expect_same_in_any_order(long_text, CUDA_SUCCESS);
}

static void test_blocks_that_read_where_or_when_they_run_are_placed_first(void **state)
{
	(void)state;
	assert_int_equal(count_ahead("%smid", "u32"), 0);
	assert_int_equal(count_ahead("%clock", "u32"), 0);
	assert_int_equal(count_ahead("%clock_hi", "u32"), 0);
	assert_int_equal(count_ahead("%clock64", "u64"), 0);
	assert_int_equal(count_ahead("%globaltimer", "u64"), 0);
	assert_int_equal(count_ahead("%globaltimer_lo", "u32"), 0);
	assert_int_equal(count_ahead("%globaltimer_hi", "u32"), 0);
}

static void test_blocks_read_the_sm_that_they_are_placed_on(void **state)
{
	struct t_device d;
	struct hand h;
	uint32_t *sms = start_by_hand(reading_text("%smid", "u32"), NEWEST_FIRST, &h, &d);

	(void)state;
	finish_by_hand(&h, &d);
	for (uint32_t i = 0; i < PLACED; i++)
		assert_int_equal(sms[i], i % 132);
	hand_close(&h, &d);
}

/* The first thread of each block says its number; block 0 then fails. */
static const char saying_text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 format[4] = {37, 117, 10, 0};\n"
	".visible .entry k(.param .u64 p) {\n.local .align 8 .b8 args[8];\n"
	".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.reg .pred %p<4>;\n"
	"mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra done;\n"
	"mov.u32 %r1, %ctaid.x;\nmov.u64 %rd1, args;\nst.local.u32 [%rd1], %r1;\n"
	"cvta.local.u64 %rd1, %rd1;\nmov.u64 %rd2, format;\n{\n.param .b64 f;\n.param .b64 a;\n"
	".param .b32 r;\nst.param.b64 [f], %rd2;\nst.param.b64 [a], %rd1;\n"
	"call (r), vprintf, (f, a);\n}\n"
	"setp.eq.u32 %p2, %r1, 0;\n@%p2 trap;\ndone:\nret;\n}\n";

static unsigned count_said(struct t_device *d, unsigned *highest)
{
	static char text[65536];
	bool to_stderr = false, more;
	size_t len = d->ops->print_read(d->space, text, sizeof(text) - 1, &to_stderr, &more);
	unsigned n = 0;

	text[len] = '\0';
	*highest = 0;
	for (char *line = strtok(text, "\n"); line && !to_stderr; line = strtok(NULL, "\n"), n++)
		if ((unsigned)atoi(line) > *highest)
			*highest = (unsigned)atoi(line);
	return n;
}

static void test_blocks_that_are_never_placed_have_said_nothing(void **state)
{
	unsigned n, highest;
	struct t_device d;
	struct hand h;

	(void)state;
	start_by_hand(saying_text, NEWEST_FIRST, &h, &d);
	assert_int_equal(finish_by_hand(&h, &d).result, CUDA_ERROR_LAUNCH_FAILED);
	assert_in_range(h.n_ahead, 64, GRID);
	n = count_said(&d, &highest);
	assert_in_range(n, 1, PLACED);
	assert_in_range(highest, 1, PLACED - 1);
	hand_close(&h, &d);
}

/* What a worker still has of a kernel that is over may be writing to memory: nobody hears of the end before. */
static void test_kernel_is_not_over_while_a_worker_has_a_block_that_was_not_placed(void **state)
{
	struct gsb_completion c;
	struct emu_job *job;
	struct t_device d;
	struct hand h;
	bool more;

	(void)state;
	start_by_hand(saying_text, NEWEST_FIRST, &h, &d);
	job = hand_take(&h, &more);
	assert_false(job->placed);
	while (!TAILQ_EMPTY(&h.w->ready))
		hand_execute(&h);
	assert_int_equal(d.ops->poll(d.dev, &c, 1), 0);
	hand_tell(&h, job, more, true);
	assert_int_equal(d.ops->poll(d.dev, &c, 1), 1);
	assert_int_equal(c.result, CUDA_ERROR_LAUNCH_FAILED);
	hand_close(&h, &d);
}

/* Of a batch of short blocks each could let time pass: it is looked at behind the last. */
static void test_time_is_looked_at_once_for_all_that_a_worker_tells_of(void **state)
{
	enum { N_TOLD = 50 };
	struct emu_job *jobs[N_TOLD];
	bool more[N_TOLD];
	struct t_device d;
	uint64_t from;
	struct hand h;

	(void)state;
	start_by_hand(kernel_text(GRID, false, ""), OLDEST_FIRST, &h, &d);
	for (unsigned i = 0; i < PLACED; i++)
		hand_execute(&h);
	from = d.ops->now_ns(d.dev);
	for (unsigned i = 0; i < N_TOLD; i++)
		jobs[i] = hand_take(&h, &more[i]);
	for (unsigned i = 0; i < N_TOLD; i++) {
		assert_int_equal(d.ops->now_ns(d.dev), from);
		hand_tell(&h, jobs[i], more[i], i + 1 == N_TOLD);
	}
	assert_true(d.ops->now_ns(d.dev) > from);
	assert_int_equal(finish_by_hand(&h, &d).result, CUDA_SUCCESS);
	hand_close(&h, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_that_start_one_by_one_leave_work_for_a_second_worker),
		cmocka_unit_test(test_time_is_the_same_in_any_order_of_execution),
		cmocka_unit_test(
			test_time_is_the_same_when_blocks_are_executed_before_their_company_is_known),
		cmocka_unit_test(test_time_waits_for_the_last_of_blocks_that_end_together),
		cmocka_unit_test(test_time_of_a_fault_is_the_same_in_any_order),
		cmocka_unit_test(test_blocks_are_had_before_they_are_placed),
		cmocka_unit_test(test_time_is_the_same_when_a_block_is_placed_between_two_slices),
		cmocka_unit_test(test_blocks_that_read_where_or_when_they_run_are_placed_first),
		cmocka_unit_test(test_blocks_read_the_sm_that_they_are_placed_on),
		cmocka_unit_test(test_blocks_that_are_never_placed_have_said_nothing),
		cmocka_unit_test(
			test_kernel_is_not_over_while_a_worker_has_a_block_that_was_not_placed),
		cmocka_unit_test(test_time_is_looked_at_once_for_all_that_a_worker_tells_of),
	};

	return cmocka_run_group_tests_name("emu_order", tests, NULL, NULL);
}
