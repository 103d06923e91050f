/*
 * test_engine_counts.c - what is counted of a tenant: how long the heads of its streams have waited and for what, SM
 * time, how right the policy was of its kernels, and memory that it was refused. Device times are the test's, so that every sum is known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/code/code.h"
#include "broker/engine/status.h"
#include "model/gpu/arch.h"
#include "tests/unit/engine_kit.h"

/* ---- an engine that runs one thing at a time, if asked to ---- */

static bool one_at_a_time;
static uint64_t predicted_ns;

static unsigned decide(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	unsigned n = 0;

	if (one_at_a_time && view->n_running)
		return 0;
	while (n < view->n_ready && n < view->n_free_queues && (!one_at_a_time || !n)) {
		out[n] = (struct gsb_decision){
			.ready = n, .predicted_wait_ns = 5, .predicted_ns = predicted_ns};
		n++;
	}
	return n;
}

static const struct gsb_policy policy = {.name = "test", .decide = decide};
static const struct gsb_policy predicting = {.name = "test", .predicts = true, .decide = decide};

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;
	uint64_t begin_ns; /* device time when the test begins */
};

static int begin(void **state, const struct gsb_policy *of)
{
	const struct gsb_tenant_limits limits = {.device_mem_bytes = 1 << 20};
	struct fixture *f = calloc(1, sizeof(*f));

	one_at_a_time = false;
	predicted_ns = 0;
	kit_engine_init_with(&f->k, false, of);
	kit_tenant_init(&f->t, &f->k, &limits);
	f->mem = kit_alloc(&f->t, 4096);
	kit_stream_create(&f->t, 1, 0);
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	kit_stream_create(&f->t, 3, GSB_STREAM_NON_BLOCKING);
	kit_event_create(&f->t, 0);
	kit_settle(&f->k);
	f->begin_ns = f->k.dev->now_ns;
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return begin(state, &policy);
}

static int setup_predicting(void **state)
{
	return begin(state, &predicting);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->t);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* The i-th command begins and ends at these times since the test began. */
static void run(struct fixture *f, unsigned i, uint64_t start_ns, uint64_t end_ns)
{
	struct kit_device *d = f->k.dev;

	kit_complete(d, i, CUDA_SUCCESS, f->begin_ns + end_ns);
	d->done[d->n_done - 1].start_ns = f->begin_ns + start_ns;
	kit_settle(&f->k);
}

static struct gsb_ctl_tenant row(const struct fixture *f)
{
	struct gsb_ctl_tenant row;

	gsb_status_row(f->t.t, &row);
	return row;
}

static void expect_waits(const struct fixture *f, uint64_t order, uint64_t event,
			 uint64_t policy_ns, uint64_t device)
{
	const struct gsb_ctl_tenant r = row(f);

	assert_int_equal(r.wait_ns[GSB_WAITED_ORDER], order);
	assert_int_equal(r.wait_ns[GSB_WAITED_EVENT], event);
	assert_int_equal(r.wait_ns[GSB_WAITED_POLICY], policy_ns);
	assert_int_equal(r.wait_ns[GSB_WAITED_DEVICE], device);
}

/* ---- waits ---- */

static void test_waits_of_a_full_device_are_from_issue_to_start(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	run(f, 0, 300, 1000);
	expect_waits(f, 0, 0, 0, 300);
	assert_int_equal(row(f).copy_ns, 700);
	assert_int_equal(row(f).device_ns, 0);
}

static void test_waits_behind_own_work_count_nowhere(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	run(f, 0, 0, 1000);
	run(f, 1, 1000, 3000);
	expect_waits(f, 0, 0, 0, 0);
	assert_int_equal(row(f).copy_ns, 3000);
}

static void test_waits_for_the_legacy_stream_are_of_order(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem); /* waits for nobody */
	kit_settle(&f->k);
	run(f, 1, 0, 500);
	run(f, 0, 0, 1000);
	run(f, 2, 1000, 1100);
	expect_waits(f, 1000, 0, 0, 0);
}

static void test_waits_for_an_event_are_of_the_one_who_waits(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 2, f->mem);
	kit_record(&f->t, 2, 0);
	kit_wait(&f->t, 3, 0);
	kit_fill(&f->t, 3, f->mem);
	kit_settle(&f->k);
	run(f, 0, 0, 2000);
	run(f, 1, 2000, 2500);
	expect_waits(f, 0, 2000, 0, 0);
	kit_wait(&f->t, 3, 0); /* done already */
	kit_settle(&f->k);
	expect_waits(f, 0, 2000, 0, 0);
}

static void test_waits_of_what_is_held_are_of_the_policy(void **state)
{
	struct fixture *f = *state;

	one_at_a_time = true;
	kit_fill(&f->t, 2, f->mem);
	kit_fill(&f->t, 3, f->mem);
	kit_settle(&f->k);
	run(f, 0, 0, 2000);
	run(f, 1, 2300, 2500);
	expect_waits(f, 0, 0, 2000, 300);
}

static void test_waits_of_a_failed_context_end_with_it(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_ERROR_LAUNCH_FAILED, f->begin_ns + 5000);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 1);
	assert_int_equal(row(f).wait_ns[GSB_WAITED_ORDER], 0);
	assert_int_equal(row(f).n_errors, 1);
}

/* ---- SM time ---- */

/* A launch of that many blocks, of which an SM of an H200 holds two; it has 132. */
static uint64_t sm_ns(uint32_t n_blocks, uint64_t took_ns, uint64_t blocks_ns)
{
	const struct gsb_completion c = {
		.start_ns = 500, .end_ns = 500 + took_ns, .blocks_ns = blocks_ns};

	return gsb_code_sm_ns(gsb_arch_find("h200"), n_blocks, 2, &c);
}

static void test_sm_time_is_the_part_of_an_sm_that_each_block_holds(void **state)
{
	assert_int_equal(sm_ns(3, 1000, 3000), 1500);
	assert_int_equal(sm_ns(264, 1000, 264 * 1000), 132 * 1000);
}

static void test_sm_time_not_told_is_bounded_by_what_there_is_room_for(void **state)
{
	assert_int_equal(sm_ns(3, 1000, 0), 1500);
	assert_int_equal(sm_ns(3, 1, 0), 1);
	assert_int_equal(sm_ns(1000, 1000, 0), 132 * 1000);
	assert_int_equal(sm_ns(3, 1ull << 62, 0), 3ull << 61); /* no overflow on the way */
}

static void test_sm_time_of_launches_adds_up(void **state)
{
	struct fixture *f = *state;

	f->k.dev->info.arch = *gsb_arch_find("h200");
	kit_load_inc(&f->t, 1, 1);
	kit_launch_inc(&f->t, 2, 1, f->mem, 1); /* a block of 32 threads: 32 fit an SM */
	kit_launch_inc(&f->t, 2, 1, f->mem, 1);
	kit_settle(&f->k);
	run(f, 0, 0, 3200);
	run(f, 1, 4000, 7200);
	assert_int_equal(row(f).sm_ns, 200);
	assert_int_equal(row(f).device_ns, 6400);
	assert_int_equal(row(f).kernels, 2);
}

/* ---- the model ---- */

static void launch(struct fixture *f, uint32_t stream)
{
	kit_launch_inc(&f->t, stream, 1, f->mem, 1);
	kit_settle(&f->k);
}

static void expect_model(const struct fixture *f, uint64_t n, uint64_t error_ppm)
{
	assert_int_equal(row(f).n_predicted, n);
	assert_int_equal(row(f).error_ppm, error_ppm);
}

static void test_errors_of_the_model_are_by_what_was_measured(void **state)
{
	struct fixture *f = *state;

	kit_load_inc(&f->t, 1, 1);
	launch(f, 2); /* nothing was said of it */
	run(f, 0, 100, 900);
	expect_model(f, 0, 0);
	predicted_ns = 1000;
	launch(f, 2);
	run(f, 1, 1100, 1900); /* waiting is no part of it */
	expect_model(f, 1, 250000);
	launch(f, 2);
	run(f, 2, 2000, 4000);
	expect_model(f, 2, 750000);
	launch(f, 2);
	run(f, 3, 5000, 5000); /* took no time at all */
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	run(f, 4, 5000, 6000);
	expect_model(f, 2, 750000);
	launch(f, 2);
	kit_complete(f->k.dev, 5, CUDA_ERROR_ILLEGAL_ADDRESS, f->begin_ns + 7000);
	kit_settle(&f->k);
	expect_model(f, 2, 750000);
}

static void test_slowdown_is_by_what_kernels_take_alone(void **state)
{
	struct fixture *f = *state;

	kit_load_inc(&f->t, 1, 1);
	launch(f, 2);
	launch(f, 3);
	run(f, 0, 0, 1000); /* beside each other, and nothing is known */
	run(f, 1, 0, 1000);
	assert_int_equal(row(f).known_ns + row(f).alone_ns, 0);
	launch(f, 2);
	run(f, 2, 2000, 2800);
	assert_int_equal(row(f).known_ns, 800);
	assert_int_equal(row(f).alone_ns, 800);
	launch(f, 2);
	launch(f, 3);
	run(f, 3, 3000, 5000);
	run(f, 4, 3000, 4600);
	assert_int_equal(row(f).known_ns, 800 + 2000 + 1600);
	assert_int_equal(row(f).alone_ns, 3 * 800);
}

/* Of those that have one; at the very end of it is in time. */
static void test_kernels_behind_their_deadline_are_counted(void **state)
{
	struct fixture *f = *state;

	kit_load_inc(&f->t, 1, 1);
	launch(f, 2);
	run(f, 0, 0, 5000);
	assert_int_equal(row(f).n_late, 0);
	f->t.t->claim.deadline_ns = 1000;
	launch(f, 2);
	run(f, 1, 5000, 6000);
	assert_int_equal(row(f).n_late, 0);
	launch(f, 2);
	run(f, 2, 6000, 7001);
	assert_int_equal(row(f).n_late, 1);
}

static void test_policy_that_does_not_predict_knows_nothing_of_that(void **state)
{
	struct fixture *f = *state;

	predicted_ns = 1000;
	kit_load_inc(&f->t, 1, 1);
	launch(f, 2);
	run(f, 0, 0, 1000);
	expect_model(f, 0, 0);
	assert_int_equal(row(f).known_ns + row(f).alone_ns, 0);
}

/* ---- memory ---- */

static void test_memory_refused_is_counted(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_mem_alloc much = {.ctx = kit_ctx(0), .size = 2 << 20};

	assert_int_equal(kit_call(&f->t, GSB_REC_MEM_ALLOC, &much, sizeof(much), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	kit_alloc(&f->t, 4096);
	assert_int_equal(row(f).n_mem_refused, 1);
}

#define MODEL_TEST(name) cmocka_unit_test_setup_teardown(name, setup_predicting, teardown)
#define TEST(name)	 cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_waits_of_a_full_device_are_from_issue_to_start),
		TEST(test_waits_behind_own_work_count_nowhere),
		TEST(test_waits_for_the_legacy_stream_are_of_order),
		TEST(test_waits_for_an_event_are_of_the_one_who_waits),
		TEST(test_waits_of_what_is_held_are_of_the_policy),
		TEST(test_waits_of_a_failed_context_end_with_it),
		cmocka_unit_test(test_sm_time_is_the_part_of_an_sm_that_each_block_holds),
		cmocka_unit_test(test_sm_time_not_told_is_bounded_by_what_there_is_room_for),
		TEST(test_sm_time_of_launches_adds_up),
		MODEL_TEST(test_errors_of_the_model_are_by_what_was_measured),
		MODEL_TEST(test_slowdown_is_by_what_kernels_take_alone),
		MODEL_TEST(test_kernels_behind_their_deadline_are_counted),
		TEST(test_policy_that_does_not_predict_knows_nothing_of_that),
		TEST(test_memory_refused_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
