/*
 * test_trace_compact.c - the records that an engine writes for a launch, and the events that they stand for: each with what was
 * said, in the order of a chain, and counted when they are lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "broker/engine/trace/buffer.h"
#include "gsb/handle.h"
#include "tests/unit/trace_ring.h"
#include "trace/compact.h"
#include "trace/format.h"

#define EVENTS_MAX 128

static union gsb_trace_any events[EVENTS_MAX];
static unsigned n_events;

static void split(const uint8_t *at, uint32_t bytes)
{
	n_events = 0;
	for (uint32_t i = 0; i < bytes; i += events[n_events++].head.bytes) {
		const struct gsb_trace_head *head = (const struct gsb_trace_head *)(at + i);

		assert_in_range(n_events, 0, EVENTS_MAX - 1);
		assert_non_null(gsb_trace_event(head->type));
		assert_int_equal(head->bytes, gsb_trace_event(head->type)->bytes);
		memcpy(&events[n_events], head, head->bytes);
	}
}

static void expand(const struct gsb_trace_head *record)
{
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	uint32_t bytes = gsb_trace_expand(record, to);

	assert_in_range(bytes, 1, GSB_TRACE_EXPANSION * record->bytes);
	split(to, bytes);
	assert_int_equal(n_events, gsb_trace_n_events(record));
	for (unsigned i = 0; i < n_events; i++)
		assert_int_equal(events[i].head.time_ns, record->time_ns);
}

static void expect_types(const enum gsb_trace_type *types, unsigned n)
{
	assert_int_equal(n_events, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(events[i].head.type, types[i]);
}

#define EXPECT_TYPES(...)                                                 \
	expect_types((const enum gsb_trace_type[]){__VA_ARGS__},          \
		     sizeof((const enum gsb_trace_type[]){__VA_ARGS__}) / \
			     sizeof(enum gsb_trace_type))

static void test_expand_of_an_event_is_the_event(void **state)
{
	const struct gsb_trace_ready r = {.head = {GSB_TRACE_READY, sizeof(r), 3, 17}, .serial = 5};

	expand(&r.head);
	EXPECT_TYPES(GSB_TRACE_READY);
	assert_memory_equal(&events[0], &r, sizeof(r));
}

static void test_expand_of_a_launch_has_what_its_record_said(void **state)
{
	const struct gsb_compact_launch c = {
		.head = {GSB_COMPACT_LAUNCH, sizeof(c), 3, 17},
		.serial = 5,
		.post_device_ns = 6,
		.posted_ns = 8,
		.rec = {.thread = 7, .stream = gsb_handle_make(GSB_HANDLE_STREAM, 9, 1)},
		.body = {.function = 10,
			 .grid = {70000, 60000, 5},
			 .block = {16, 8, 2},
			 .smem_bytes = 11,
			 .flags = GSB_LAUNCH_COOPERATIVE | GSB_LAUNCH_IN_CLUSTERS},
	};
	const struct gsb_trace_queued queued = {.head = {GSB_TRACE_QUEUED, sizeof(queued), 3, 17},
						.serial = 5,
						.posted_ns = 8,
						.post_device_ns = 6,
						.stream = 9,
						.thread = 7,
						.kind = GSB_TRACE_OP_LAUNCH};
	const struct gsb_trace_launch launch = {.head = {GSB_TRACE_LAUNCH, sizeof(launch), 3, 17},
						.serial = 5,
						.function = 10,
						.n_blocks = 21000000000,
						.grid_x = 70000,
						.grid_y = 60000,
						.grid_z = 5,
						.block_x = 16,
						.block_y = 8,
						.block_z = 2,
						.smem_bytes = 11,
						.is_cooperative = 1};

	expand(&c.head);
	EXPECT_TYPES(GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH);
	assert_memory_equal(&events[0], &queued, sizeof(queued));
	assert_memory_equal(&events[1], &launch, sizeof(launch));
}

static struct {
	struct gsb_compact_launch first;
	struct gsb_compact_again more[2];
} launches;

/* Three that are alike, one behind another. */
static const struct gsb_trace_head *three_launches(void)
{
	launches.first = (struct gsb_compact_launch){
		.head = {GSB_COMPACT_LAUNCH, sizeof(launches), 3, 54000},
		.serial = 5,
		.post_device_ns = 6,
		.posted_ns = 52000,
		.rec = {.thread = 7, .stream = gsb_handle_make(GSB_HANDLE_STREAM, 9, 1)},
		.body = {.function = 10, .grid = {2, 3, 4}, .block = {32, 1, 1}},
	};
	launches.more[0] = (struct gsb_compact_again){56000, 54000};
	launches.more[1] = (struct gsb_compact_again){58000, 60000};
	return &launches.first.head;
}

static void test_expand_of_launches_alike_is_each_with_its_serial_and_times(void **state)
{
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * sizeof(launches)];
	const struct gsb_trace_head *head = three_launches();
	const uint64_t times[][2] = {{54000, 52000}, {56000, 54000}, {58000, 60000}};

	split(to, gsb_trace_expand(head, to));
	EXPECT_TYPES(GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH,
		     GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH);
	assert_int_equal(gsb_trace_n_events(head), 6);
	for (unsigned i = 0; i < 3; i++) {
		const struct gsb_trace_queued *q = &events[2 * i].queued;
		const struct gsb_trace_launch *l = &events[2 * i + 1].launch;

		assert_int_equal(q->head.time_ns, times[i][0]);
		assert_int_equal(q->posted_ns, times[i][1]);
		assert_int_equal(q->serial, 5 + i);
		assert_int_equal(q->head.tenant, 3);
		assert_int_equal(q->stream, 9);
		assert_int_equal(q->thread, 7);
		assert_int_equal(q->post_device_ns, 6);
		assert_int_equal(l->head.time_ns, times[i][0]);
		assert_int_equal(l->serial, 5 + i);
		assert_int_equal(l->function, 10);
		assert_int_equal(l->n_blocks, 24);
	}
}

static void test_expand_of_an_end_is_finished_and_completed(void **state)
{
	const struct gsb_compact_end c = {
		.head = {GSB_COMPACT_END, sizeof(c), 99, 17},
		.stream = {3, 9},
		.serial = 5,
		.number = 6,
		.result = {700, 1, 20, 30, 40, 50},
	};
	const struct gsb_trace_finished finished = {
		.head = {GSB_TRACE_FINISHED, sizeof(finished), 3, 17},
		.serial = 5,
		.start_device_ns = 20,
		.end_device_ns = 30,
		.n_blocks = 40,
		.n_instructions = 50,
		.stream = 9,
		.result = 700};
	const struct gsb_trace_completed completed = {
		.head = {GSB_TRACE_COMPLETED, sizeof(completed), 3, 17},
		.serial = 5,
		.device_ns = 30,
		.number = 6,
		.stream = 9,
		.failed = 1};

	expand(&c.head);
	EXPECT_TYPES(GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED);
	assert_memory_equal(&events[0], &finished, sizeof(finished));
	assert_memory_equal(&events[1], &completed, sizeof(completed));
}

/* ---- decisions ---- */

#define N_ISSUES 3

static union {
	struct gsb_compact_decision c;
	struct {
		uint8_t c[sizeof(struct gsb_compact_decision)];
		struct gsb_compact_issue issues[N_ISSUES];
	} all;
} decision;

/* The first was held before, and so told to be ready; the last goes in slices. */
static const struct gsb_compact_decision *three_issues(void)
{
	struct gsb_compact_decision *c = &decision.c;

	memset(&decision, 0xee, sizeof(decision)); /* as a ring that was used before */
	c->head = (struct gsb_trace_head){GSB_COMPACT_DECISION, sizeof(decision), 99, 17};
	c->decision = 4;
	c->device_ns = 50;
	c->n_ready = 3;
	c->n_running = 2;
	memcpy(c->beside, (uint64_t[]){80, 81, 0, 0}, sizeof(c->beside));
	for (unsigned i = 0; i < N_ISSUES; i++) {
		struct gsb_compact_issue *to = &c->issues[i];

		to->op = (struct gsb_compact_op){10 + i, 20 + i};
		to->why = (struct gsb_compact_why){.reason = GSB_TRACE_REASON_RANK,
						   .priority = -(int32_t)i,
						   .first_sm = 4,
						   .n_sms = 8,
						   .predicted_slowdown_ppm = 1500000,
						   .trust_ppm = 900000,
						   .predicted_ns = 1000 + i,
						   .part_ns = 100};
		to->stream = (struct gsb_compact_stream){1 + i, 30 + i};
		to->issued_device_ns = 60;
		to->n_blocks_after = 40;
		to->threads_per_block = 128;
		to->queue = 5 + i;
		to->n_ready = i;
		to->form = to->cut = GSB_TRACE_FORM_AS_ASKED;
	}
	c->issues[2].form = GSB_TRACE_FORM_SLICE;
	c->issues[2].n_blocks = 400;
	c->issues[2].n_parts = 10;
	return c;
}

static void test_expand_of_a_decision_has_all_decided_before_one_is_issued(void **state)
{
	expand(&three_issues()->head);
	EXPECT_TYPES(GSB_TRACE_READY, GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_DECIDED,
		     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_ISSUED, GSB_TRACE_SHAPED,
		     GSB_TRACE_ISSUED);
}

static void test_expand_of_a_decision_has_what_was_decided(void **state)
{
	const struct gsb_trace_ready ready = {.head = {GSB_TRACE_READY, sizeof(ready), 2, 17},
					      .serial = 11,
					      .ready_device_ns = 21,
					      .stream = 31,
					      .n_ready = 1};
	const struct gsb_trace_decided decided = {
		.head = {GSB_TRACE_DECIDED, sizeof(decided), 2, 17},
		.serial = 11,
		.decision = 4,
		.device_ns = 50,
		.n_blocks = 40,
		.n_blocks_after = 40,
		.beside = {80, 81},
		.predicted_ns = 1001,
		.predicted_slowdown_ppm = 1500000,
		.trust_ppm = 900000,
		.stream = 31,
		.n_ready = 3,
		.threads_per_block = 128,
		.priority = -1,
		.first_sm = 4,
		.n_sms = 8,
		.n_running = 2,
		.verdict = GSB_TRACE_VERDICT_ISSUE,
		.reason = GSB_TRACE_REASON_RANK};
	const struct gsb_trace_issued issued = {.head = {GSB_TRACE_ISSUED, sizeof(issued), 2, 17},
						.serial = 11,
						.device_ns = 60,
						.stream = 31,
						.queue = 6};

	expand(&three_issues()->head);
	assert_memory_equal(&events[0], &ready, sizeof(ready));
	assert_memory_equal(&events[3], &decided, sizeof(decided));
	assert_memory_equal(&events[6], &issued, sizeof(issued));
}

static void test_expand_of_a_resized_launch_has_both_grids(void **state)
{
	const struct gsb_trace_shaped shaped = {.head = {GSB_TRACE_SHAPED, sizeof(shaped), 3, 17},
						.serial = 12,
						.form = GSB_TRACE_FORM_SLICE,
						.n_parts = 10,
						.part_ns = 100};

	three_issues();
	decision.c.issues[1].cut =
		GSB_TRACE_FORM_RESHAPE; /* what it was to be cut to was not made */
	decision.c.issues[1].n_blocks = 80;
	expand(&decision.c.head);
	assert_int_equal(events[3].decided.n_blocks, 80);
	assert_int_equal(events[3].decided.n_blocks_after, 40);
	assert_int_equal(events[4].decided.n_blocks, 400);
	assert_int_equal(events[4].decided.n_blocks_after, 40);
	assert_memory_equal(&events[7], &shaped, sizeof(shaped));
}

static void test_expand_of_a_decision_beside_many_names_the_first(void **state)
{
	three_issues();
	decision.c.n_running = 9;
	decision.c.beside[2] = 82;
	decision.c.beside[3] = 83;
	expand(&decision.c.head);
	assert_int_equal(events[2].decided.beside[3], 83);
	assert_int_equal(events[2].decided.n_running, 9);
}

/* ---- runs ---- */

#define N_STEPS 3

static struct {
	struct gsb_compact_run c;
	struct gsb_compact_step steps[N_STEPS];
} run;

/* 10 ends and 11 is next, that ends and 14 is, and so on. */
static const struct gsb_trace_head *three_steps(void)
{
	run.c = (struct gsb_compact_run){
		.head = {GSB_COMPACT_RUN, sizeof(run), 99, 17},
		.stream = {3, 9},
		.serial = 10,
		.number = 21,
		.decision = 31,
		.priority = -1,
		.first_sm = 4,
		.n_sms = 8,
		.queue = 5,
		.n_ready = 2,
		.n_running = 1,
		.beside = {80},
	};
	run.steps[0] = (struct gsb_compact_step){{11, 200}, 100, 199, 40, 50, 60, 128, 0};
	run.steps[1] = (struct gsb_compact_step){{14, 300}, 200, 299, 41, 51, 61, 256, 0};
	run.steps[2] = (struct gsb_compact_step){{15, 400}, 300, 399, 42, 52, 62, 512, 0};
	return &run.c.head;
}

static void
test_expand_of_a_run_has_the_next_on_the_device_before_the_one_before_is_done(void **state)
{
	expand(three_steps());
	EXPECT_TYPES(GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_FINISHED,
		     GSB_TRACE_COMPLETED, GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_ISSUED,
		     GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED, GSB_TRACE_READY, GSB_TRACE_DECIDED,
		     GSB_TRACE_ISSUED, GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED);
}

static void test_expand_of_a_run_has_what_each_step_says(void **state)
{
	const struct gsb_trace_ready ready = {.head = {GSB_TRACE_READY, sizeof(ready), 3, 17},
					      .serial = 14,
					      .ready_device_ns = 300,
					      .stream = 9,
					      .n_ready = 3};
	const struct gsb_trace_decided decided = {
		.head = {GSB_TRACE_DECIDED, sizeof(decided), 3, 17},
		.serial = 14,
		.decision = 32,
		.device_ns = 300,
		.n_blocks = 61,
		.n_blocks_after = 61,
		.beside = {80},
		.stream = 9,
		.n_ready = 2,
		.threads_per_block = 256,
		.priority = -1,
		.first_sm = 4,
		.n_sms = 8,
		.n_running = 1,
		.verdict = GSB_TRACE_VERDICT_ISSUE,
		.reason = GSB_TRACE_REASON_RUN};
	const struct gsb_trace_issued issued = {.head = {GSB_TRACE_ISSUED, sizeof(issued), 3, 17},
						.serial = 14,
						.device_ns = 300,
						.stream = 9,
						.queue = 5};
	const struct gsb_trace_finished finished = {
		.head = {GSB_TRACE_FINISHED, sizeof(finished), 3, 17},
		.serial = 11,
		.start_device_ns = 200,
		.end_device_ns = 299,
		.n_blocks = 41,
		.n_instructions = 51,
		.stream = 9};
	const struct gsb_trace_completed completed = {
		.head = {GSB_TRACE_COMPLETED, sizeof(completed), 3, 17},
		.serial = 11,
		.device_ns = 299,
		.number = 22,
		.stream = 9};

	expand(three_steps());
	assert_memory_equal(&events[5], &ready, sizeof(ready));
	assert_memory_equal(&events[6], &decided, sizeof(decided));
	assert_memory_equal(&events[7], &issued, sizeof(issued));
	assert_memory_equal(&events[8], &finished, sizeof(finished));
	assert_memory_equal(&events[9], &completed, sizeof(completed));
	assert_int_equal(events[3].finished.serial, 10);
	assert_int_equal(events[13].finished.serial, 14);
}

/* ---- in the ring ---- */

static bool put(struct gsb_trace_buffer *b, const struct gsb_trace_head *record)
{
	return gsb_trace_buffer_put(b, record);
}

static uint32_t drain(struct gsb_trace_buffer *b, uint32_t most, void *to)
{
	return trace_ring_drain(b, gsb_trace_buffer_look(b, most), to);
}

static void test_ring_has_the_events_of_records_across_its_end(void **state)
{
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	const struct gsb_stamp_clock clock = {.rate = 1ull << 32};
	struct gsb_trace_buffer b = {0};

	assert_int_equal(gsb_trace_buffer_init(&b, 16384), 0);
	for (unsigned round = 0; round < 1000; round++) { /* the seam is everywhere */
		three_issues();
		decision.c.issues[0].op.serial = round;
		assert_true(put(&b, &decision.c.head));
		assert_int_equal(gsb_trace_buffer_time(&b, sizeof(decision), &clock), 9);
		split(to, drain(&b, GSB_TRACE_RECORD_MAX, to));
		assert_int_equal(n_events, 9);
		assert_int_equal(events[2].decided.serial, round);
		assert_int_equal(events[8].issued.serial, 12);
	}
	assert_int_equal(b.n_drained, 9000);
	assert_int_equal(b.n_lost, 0);
	gsb_trace_buffer_finish(&b);
}

static void test_time_of_a_launch_is_that_of_its_events_and_behind_its_posting(void **state)
{
	const struct gsb_stamp_clock clock = {.base = {1000, 50000},
					      .at = {3000, 54000},
					      .n_between = 100000,
					      .rate = 1ull << 31, /* 2 stamps a ns */
					      .last_ns = 6000};
	struct gsb_compact_launch c = {.head = {GSB_COMPACT_LAUNCH, sizeof(c), 3, 56000},
				       .posted_ns = 54000};
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	struct gsb_trace_buffer b = {0};

	assert_int_equal(gsb_trace_buffer_init(&b, 16384), 0);
	for (unsigned i = 0; i < 300; i++) {
		assert_true(put(&b, &c.head));
		assert_int_equal(gsb_trace_buffer_time(&b, sizeof(c), &clock), 2);
		split(to, drain(&b, sizeof(c), to));
		assert_int_equal(events[0].queued.posted_ns, 3000);
		assert_int_equal(events[0].head.time_ns, 4000);
		assert_int_equal(events[1].head.time_ns, 4000);
	}
	c.posted_ns = 58000; /* a tenant that posts in the future */
	assert_true(put(&b, &c.head));
	gsb_trace_buffer_time(&b, sizeof(c), &clock);
	split(to, drain(&b, sizeof(c), to));
	assert_int_equal(events[0].queued.posted_ns, 4000);
	gsb_trace_buffer_finish(&b);
}

static void test_times_of_launches_alike_are_each_its_own_and_behind_its_posting(void **state)
{
	const struct gsb_stamp_clock clock = {.base = {1000, 50000},
					      .at = {3000, 54000},
					      .n_between = 100000,
					      .rate = 1ull << 31, /* 2 stamps a ns */
					      .last_ns = 6000};
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	const uint64_t times[][2] = {{3000, 2000}, {4000, 3000}, {5000, 5000}};
	struct gsb_trace_buffer b = {0};

	assert_int_equal(gsb_trace_buffer_init(&b, 16384), 0);
	for (unsigned round = 0; round < 300; round++) { /* the seam is everywhere */
		b.last_ns = 0;
		assert_true(put(&b, three_launches()));
		assert_int_equal(gsb_trace_buffer_time(&b, sizeof(launches), &clock), 6);
		split(to, drain(&b, sizeof(launches), to));
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(events[2 * i].head.time_ns, times[i][0]);
			assert_int_equal(events[2 * i].queued.posted_ns, times[i][1]);
			assert_int_equal(events[2 * i + 1].head.time_ns, times[i][0]);
		}
	}
	gsb_trace_buffer_finish(&b);
}

static void test_lost_runs_are_as_many_lost_events_as_they_stand_for(void **state)
{
	struct gsb_trace_buffer b = {0};

	assert_int_equal(gsb_trace_buffer_init(&b, 4096), 0);
	while (put(&b, three_launches()))
		;
	assert_int_equal(b.n_lost, 6);
	assert_false(put(&b, three_steps()));
	assert_int_equal(b.n_lost, 6 + 15);
	gsb_trace_buffer_finish(&b);
}

static void test_lost_record_is_as_many_lost_events_as_it_stands_for(void **state)
{
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * 8192];
	struct gsb_trace_buffer b = {0};
	unsigned n = 0;

	assert_int_equal(gsb_trace_buffer_init(&b, 8192), 0);
	while (put(&b, &three_issues()->head))
		n++;
	assert_int_equal(b.n_lost, 9);
	split(to, drain(&b, GSB_TRACE_RECORD_MAX, to));
	assert_true(put(&b, &three_issues()->head));
	while (n_events && events[0].head.type != GSB_TRACE_LOST)
		split(to, drain(&b, sizeof(decision), to));
	assert_int_equal(events[0].lost.n_events, 9);
	assert_int_equal(b.n_drained, 9 * n + 1);
	gsb_trace_buffer_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand_of_an_event_is_the_event),
		cmocka_unit_test(test_expand_of_a_launch_has_what_its_record_said),
		cmocka_unit_test(test_expand_of_launches_alike_is_each_with_its_serial_and_times),
		cmocka_unit_test(test_expand_of_an_end_is_finished_and_completed),
		cmocka_unit_test(test_expand_of_a_decision_has_all_decided_before_one_is_issued),
		cmocka_unit_test(test_expand_of_a_decision_has_what_was_decided),
		cmocka_unit_test(test_expand_of_a_resized_launch_has_both_grids),
		cmocka_unit_test(test_expand_of_a_decision_beside_many_names_the_first),
		cmocka_unit_test(
			test_expand_of_a_run_has_the_next_on_the_device_before_the_one_before_is_done),
		cmocka_unit_test(test_expand_of_a_run_has_what_each_step_says),
		cmocka_unit_test(test_ring_has_the_events_of_records_across_its_end),
		cmocka_unit_test(
			test_time_of_a_launch_is_that_of_its_events_and_behind_its_posting),
		cmocka_unit_test(
			test_times_of_launches_alike_are_each_its_own_and_behind_its_posting),
		cmocka_unit_test(test_lost_runs_are_as_many_lost_events_as_they_stand_for),
		cmocka_unit_test(test_lost_record_is_as_many_lost_events_as_it_stands_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
