/*
 * test_traced.c - events joined to operations: every step finds its place, what is missing, twice or out of order is counted,
 * and what is under way is all that is held when that is asked for. And what operations cost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/unit/trace_kit.h"
#include "tools/trace/account.h"
#include "tools/trace/map.h"
#include "tools/trace/ranges.h"
#include "tools/trace/source.h"
#include "trace/read.h"

/* ---- ranges ---- */

static void put_range(struct trace_kit *k, uint32_t thread, enum gsb_trace_range_step step,
		      uint64_t id, const char *name)
{
	struct gsb_trace_range e = {
		.head = {GSB_TRACE_RANGE, sizeof(e), 1, k->real_ns += 10},
		.device_ns = k->real_ns,
		.id = id,
		.thread = thread,
		.step = (uint8_t)step,
	};

	snprintf(e.name, sizeof(e.name), "%s", name);
	trace_kit_put(k, &e);
}

#define PUSH(k, thread, domain, name) put_range(k, thread, GSB_TRACE_RANGE_STEP_PUSH, domain, name)
#define POP(k, thread, domain)	      put_range(k, thread, GSB_TRACE_RANGE_STEP_POP, domain, "")
#define START(k, thread, id, name)    put_range(k, thread, GSB_TRACE_RANGE_STEP_START, id, name)
#define END(k, thread, id)	      put_range(k, thread, GSB_TRACE_RANGE_STEP_END, id, "")

/* A nop that this thread posts. */
static void post(struct trace_kit *k, uint16_t thread, uint64_t serial)
{
	PUT(k, QUEUED, queued, 1, .serial = serial, .thread = thread, .kind = GSB_TRACE_OP_NOP);
}

static void expect_path(const struct gsb_traced *t, uint64_t serial, const char *want)
{
	uint32_t range = gsb_traced_find(t, serial)->range;
	char path[GSB_TRACED_NAME_MAX] = "";

	if (range != GSB_TRACED_NONE)
		gsb_traced_ranges_path(t, t->ranges[range].label, path, sizeof(path));
	assert_string_equal(path, want);
}

static void test_range_of_an_operation_is_its_threads_innermost(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	post(&k, 0, 1);
	PUSH(&k, 0, 0, "q1");
	post(&k, 0, 2);
	post(&k, 3, 3); /* another thread has opened none */
	PUSH(&k, 0, 0, "scan");
	PUSH(&k, 3, 0, "q2");
	post(&k, 0, 4);
	post(&k, 3, 5);
	POP(&k, 0, 0);
	post(&k, 0, 6);
	POP(&k, 0, 0);
	post(&k, 0, 7);
	trace_kit_load(&k, &t);
	expect_path(&t, 1, "");
	expect_path(&t, 2, "q1");
	expect_path(&t, 3, "");
	expect_path(&t, 4, "q1 => scan");
	expect_path(&t, 5, "q2");
	expect_path(&t, 6, "q1");
	expect_path(&t, 7, "");
	assert_int_equal(t.n_ranges, 3);
	assert_int_equal(t.ranges[0].close_ns - t.ranges[0].open_ns, 90);
	assert_int_equal(gsb_traced_ranges_end_ns(&t, &t.ranges[0]), t.ranges[0].close_ns);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_ranges_of_two_domains_nest_each_for_itself(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	PUSH(&k, 0, 1, "a");
	PUSH(&k, 0, 2, "b");
	post(&k, 0, 1);
	POP(&k, 0, 1); /* not what is innermost */
	post(&k, 0, 2);
	POP(&k, 0, 1); /* of a there is no more */
	post(&k, 0, 3);
	POP(&k, 0, 2);
	post(&k, 0, 4);
	trace_kit_load(&k, &t);
	expect_path(&t, 1, "a => b");
	expect_path(&t, 2, "a => b"); /* opened in a, whatever became of that */
	expect_path(&t, 3, "a => b");
	expect_path(&t, 4, "");
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_started_range_is_of_who_started_it_until_anybody_ends_it(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	START(&k, 0, 5, "q1");
	START(&k, 0, 6, "q2");
	post(&k, 0, 1);
	POP(&k, 0, 5); /* was pushed by nobody */
	END(&k, 0, 7);
	END(&k, 9, 6);
	post(&k, 0, 2);
	post(&k, 9, 3);
	END(&k, 9, 5);
	post(&k, 0, 4);
	START(&k, 0, 8, "q4");
	END(&k, 9, 5); /* once more, which ends nothing */
	post(&k, 0, 5);
	trace_kit_load(&k, &t);
	expect_path(&t, 5, "q4");
	expect_path(&t, 1, "q1 => q2");
	expect_path(&t, 2, "q1");
	expect_path(&t, 3, "");
	expect_path(&t, 4, "");
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* A range that closed meanwhile must not have operations for good. */
static void test_ranges_are_not_known_after_a_loss(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	PUSH(&k, 0, 0, "q1");
	START(&k, 0, 4, "q2");
	PUT(&k, LOST, lost, 0, .n_events = 3);
	post(&k, 0, 1);
	PUSH(&k, 0, 0, "q3");
	END(&k, 0, 4);
	post(&k, 0, 2);
	trace_kit_load(&k, &t);
	assert_int_equal(t.n_lost, 3);
	expect_path(&t, 1, "");
	expect_path(&t, 2, "q3");
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_ranges_of_any_depth_end(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	for (unsigned i = 0; i < 1000; i++)
		PUSH(&k, 0, 0, i % 2 ? "a => \n" : "b");
	post(&k, 0, 1);
	for (unsigned i = 0; i < 1000; i++)
		POP(&k, 0, 0);
	post(&k, 0, 2);
	trace_kit_load(&k, &t);
	assert_int_equal(t.n_labels, GSB_RANGE_DEPTH_MAX);
	assert_string_equal(t.labels[1].name, "a =) ?");
	assert_int_equal(gsb_traced_find(&t, 2)->range, GSB_TRACED_NONE);
	assert_int_equal(gsb_traced_ranges_around(&t, gsb_traced_find(&t, 1), "nobody's"),
			 GSB_TRACED_NONE);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* As of one kernel: a query that runs often is one row, with all that is in it. */
static void test_accounts_of_ranges_have_what_is_in_them(void **state)
{
	struct trace_kit k = {0};
	struct gsb_accounts a;
	struct gsb_traced t;

	trace_kit_tenant(&k, 1, "db");
	trace_kit_kernel(&k, 1, 5, "scan");
	for (unsigned i = 0; i < 3; i++) {
		const struct kit_op op = {.tenant = 1,
					  .serial = i + 1,
					  .kernel = 5,
					  .n_blocks = 1,
					  .post = 1000 * (i + 1),
					  .ready = 1000 * (i + 1),
					  .issued = 1000 * (i + 1),
					  .start = 1000 * (i + 1),
					  .end = 1000 * (i + 1) + 100};

		PUSH(&k, 0, 0, "q");
		if (i)
			PUSH(&k, 0, 0, "scan");
		trace_kit_op(&k, &op);
		if (i)
			POP(&k, 0, 0);
		POP(&k, 0, 0);
	}
	PUSH(&k, 0, 0, "open");
	trace_kit_load(&k, &t);
	assert_int_equal(gsb_accounts_make(&a, &t), 0);
	assert_int_equal(t.n_labels, 3);
	assert_string_equal(a.ranges[0].name, "q");
	assert_string_equal(a.ranges[0].tenant, "db");
	assert_int_equal(a.ranges[0].n_opened, 3);
	assert_int_equal(a.ranges[0].n_launches, 3);
	assert_int_equal(a.ranges[0].run_ns, 300);
	assert_string_equal(a.ranges[1].name, "q => scan");
	assert_int_equal(a.ranges[1].n_launches, 2);
	assert_int_equal(a.ranges[1].open_ns, t.ranges[2].close_ns - t.ranges[2].open_ns +
						      t.ranges[4].close_ns - t.ranges[4].open_ns);
	assert_int_equal(gsb_traced_ranges_end_ns(&t, &t.ranges[5]), t.now_ns);
	gsb_accounts_finish(&a);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* ---- the map ---- */

static void test_map_finds_what_was_put(void **state)
{
	struct gsb_map m = {0};

	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(gsb_map_put(&m, i % 3, i * 64, i), 0);
	assert_int_equal(m.n, 10000);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(gsb_map_get(&m, i % 3, i * 64), i);
		assert_int_equal(gsb_map_get(&m, (i + 1) % 3, i * 64), GSB_MAP_NONE);
	}
	gsb_map_finish(&m);
}

static void test_map_remove_leaves_the_others(void **state)
{
	struct gsb_map m = {0};

	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(gsb_map_put(&m, 0, i, i), 0);
	for (uint32_t i = 0; i < 5000; i += 2)
		gsb_map_remove(&m, 0, i);
	gsb_map_remove(&m, 0, 0);
	assert_int_equal(m.n, 2500);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(gsb_map_get(&m, 0, i), i % 2 ? i : GSB_MAP_NONE);
	gsb_map_finish(&m);
}

/* ---- the join ---- */

static void test_take_joins_all_steps_of_a_serial(void **state)
{
	struct trace_kit k = {0};
	const struct gsb_traced_op *op;
	struct gsb_traced t;

	trace_kit_story(&k);
	trace_kit_load(&k, &t);
	assert_int_equal(t.n_tenants, 2);
	assert_int_equal(t.n_ops, 6);
	assert_int_equal(t.n_completed, 6);
	assert_int_equal(t.n_flawed + t.n_orphans + t.n_duplicates, 0);
	op = gsb_traced_find(&t, 4);
	assert_non_null(op);
	assert_string_equal(t.tenants[op->tenant].name, "bob");
	assert_string_equal(t.kernels[op->kernel].name, "join");
	assert_int_equal(op->n_blocks, 200);
	assert_int_equal(op->n_blocks_after, 100);
	assert_int_equal(op->held_ns, 1000);
	assert_int_equal(op->hold_not_before_ns, 4400);
	assert_int_equal(op->hold_until, 3);
	assert_int_equal(op->decided_ns, 3400);
	assert_int_equal(op->beside[0], 3);
	assert_int_equal(op->start_ns, 3500);
	assert_int_equal(op->completed_ns, 4500);
	assert_int_equal(t.ops[op->previous].serial, 1);
	assert_null(gsb_traced_find(&t, 7));
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* Events of the story but for those of a type, and how often that one comes. */
static void load_story_with(struct gsb_traced *t, unsigned type, unsigned times)
{
	struct trace_kit k = {0}, changed = {0};

	trace_kit_story(&k);
	for (size_t at = 0; at < k.n;) {
		const struct gsb_trace_head *head = (const void *)(k.bytes + at);

		for (unsigned i = 0; i < (head->type == type ? times : 1); i++)
			trace_kit_put(&changed, head);
		at += head->bytes;
	}
	trace_kit_load(&changed, t);
	trace_kit_finish(&changed);
	trace_kit_finish(&k);
}

static void test_take_a_missing_step_is_a_flaw(void **state)
{
	static const unsigned steps[] = {GSB_TRACE_LAUNCH, GSB_TRACE_READY, GSB_TRACE_DECIDED,
					 GSB_TRACE_ISSUED, GSB_TRACE_FINISHED};
	struct gsb_traced t;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(steps); i++) {
		load_story_with(&t, steps[i], 0);
		assert_int_equal(t.flaws[GSB_FLAW_MISSING], steps[i] == GSB_TRACE_LAUNCH ? 5 : 6);
		assert_int_equal(t.flaws[GSB_FLAW_ORDER], 0);
		gsb_traced_finish(&t);
	}
}

static void test_take_a_step_told_twice_is_a_flaw(void **state)
{
	struct gsb_traced t;

	load_story_with(&t, GSB_TRACE_ISSUED, 2);
	assert_int_equal(t.flaws[GSB_FLAW_ORDER], 6);
	gsb_traced_finish(&t);
	load_story_with(&t, GSB_TRACE_QUEUED, 2);
	assert_int_equal(t.n_duplicates, 6);
	assert_int_equal(t.n_ops, 6);
	gsb_traced_finish(&t);
	load_story_with(&t, GSB_TRACE_PARKED, 3);
	assert_int_equal(t.n_flawed, 0);
	assert_int_equal(gsb_traced_find(&t, 6)->n_parks, 3);
	gsb_traced_finish(&t);
}

static void test_take_events_of_unknown_serials_are_counted(void **state)
{
	struct gsb_traced t;

	load_story_with(&t, GSB_TRACE_QUEUED, 0);
	assert_int_equal(t.n_ops, 0);
	assert_int_equal(t.n_orphans, 6 * 6 + 1 + 2 + 2); /* parked once, held twice */
	gsb_traced_finish(&t);
}

static void test_take_a_step_before_its_time_is_a_flaw(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	PUT(&k, QUEUED, queued, 1, .serial = 1, .kind = GSB_TRACE_OP_LAUNCH);
	PUT(&k, READY, ready, 1, .serial = 1);
	PUT(&k, LAUNCH, launch, 1, .serial = 1);
	trace_kit_load(&k, &t);
	assert_int_equal(t.flaws[GSB_FLAW_ORDER], 1);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_take_times_that_run_backwards_are_a_flaw(void **state)
{
	static const struct kit_op wrong[] = {
		{.post = 10, .ready = 9, .issued = 20, .start = 30, .end = 40},
		{.post = 10, .ready = 10, .issued = 31, .start = 30, .end = 40},
		{.post = 10, .ready = 31, .issued = 20, .start = 30, .end = 40},
		{.post = 10, .ready = 10, .issued = 20, .start = 30, .end = 29},
	};
	/* issued before it may start: the device waits */
	struct kit_op right = {.post = 25, .ready = 25, .issued = 20, .start = 30, .end = 40};
	struct gsb_traced t;

	for (unsigned i = 0; i <= GSB_ARRAY_LEN(wrong); i++) {
		struct kit_op op = i < GSB_ARRAY_LEN(wrong) ? wrong[i] : right;
		struct trace_kit k = {0};

		op.tenant = op.serial = op.n_blocks = 1;
		trace_kit_op(&k, &op);
		trace_kit_load(&k, &t);
		assert_int_equal(t.flaws[GSB_FLAW_TIMES], i < GSB_ARRAY_LEN(wrong));
		gsb_traced_finish(&t);
		trace_kit_finish(&k);
	}
}

static void test_take_streams_complete_in_order_and_count_on(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	for (uint64_t serial = 1; serial <= 4; serial++)
		PUT(&k, QUEUED, queued, 1, .serial = serial, .kind = GSB_TRACE_OP_NOP);
	PUT(&k, COMPLETED, completed, 1, .serial = 1, .number = 7);
	PUT(&k, COMPLETED, completed, 1, .serial = 3, .number = 8);
	PUT(&k, COMPLETED, completed, 1, .serial = 4, .number = 10);
	trace_kit_load(&k, &t);
	assert_int_equal(t.flaws[GSB_FLAW_OVERTOOK], 1);
	assert_int_equal(t.flaws[GSB_FLAW_NUMBER], 1);
	assert_int_equal(t.n_flawed, 2);
	assert_int_equal(t.n_queued - t.n_completed, 1);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* What was there before tells no steps; what failed passes from anywhere. */
static void test_take_operations_from_before_and_failed_ones_need_no_steps(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	PUT(&k, QUEUED, queued, 1, .serial = 1, .kind = GSB_TRACE_OP_LAUNCH, .before = 1);
	PUT(&k, COMPLETED, completed, 1, .serial = 1, .number = 1);
	PUT(&k, QUEUED, queued, 1, .serial = 2, .kind = GSB_TRACE_OP_LAUNCH);
	PUT(&k, COMPLETED, completed, 1, .serial = 2, .number = 2, .failed = 1);
	trace_kit_load(&k, &t);
	assert_int_equal(t.n_flawed, 0);
	assert_int_equal(t.n_completed, 2);
	assert_int_equal(t.tenants[0].n_kernels, 1);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_take_names_are_harmless(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	trace_kit_tenant(&k, 1, "a\033[2Jb\nc\377");
	trace_kit_load(&k, &t);
	assert_string_equal(t.tenants[0].name, "a?[2Jb?c?");
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static void test_load_a_torn_file_gives_what_is_there(void **state)
{
	struct gsb_traced t = {0};
	struct trace_kit k = {0};
	char why[GSB_TRACE_WHY_MAX];

	trace_kit_story(&k);
	PUT(&k, LOST, lost, 0, .n_events = 5);
	assert_int_equal(gsb_traced_load_fd(&t, trace_kit_file(&k, 1), why), 0);
	assert_int_equal(t.ending, GSB_TRACED_TORN);
	assert_int_equal(t.n_ops, 6);
	assert_int_equal(t.n_lost, 5);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* ---- a long trace ---- */

#define LONG_OPS 145000u /* of 7 events: a million */

struct seen {
	uint64_t n, sum;
};

static void on_done(void *arg, const struct gsb_traced *t, const struct gsb_traced_op *op)
{
	struct seen *s = arg;

	s->n++;
	s->sum += op->serial;
}

static void test_load_a_million_events_holds_what_is_under_way(void **state)
{
	struct seen s = {0};
	struct gsb_traced t = {.on_done = on_done, .arg = &s};
	char why[GSB_TRACE_WHY_MAX];
	struct trace_kit k = {0};

	trace_kit_tenant(&k, 1, "alice");
	for (uint64_t i = 1; i <= LONG_OPS; i++)
		trace_kit_op(&k, &(struct kit_op){.tenant = 1,
						  .stream = (uint32_t)i % 4,
						  .serial = i,
						  .kernel = 5,
						  .n_blocks = 1,
						  .post = i * 10,
						  .ready = i * 10,
						  .issued = i * 10,
						  .start = i * 10 + 1,
						  .end = i * 10 + 9});
	assert_int_equal(gsb_traced_load_fd(&t, trace_kit_file(&k, 0), why), 0);
	assert_int_equal(t.n_events, 1 + 7ull * LONG_OPS);
	assert_true(t.n_events >= 1000000);
	assert_int_equal(t.n_completed, LONG_OPS);
	assert_int_equal(t.n_flawed, 0);
	assert_int_equal(s.n, LONG_OPS);
	assert_int_equal(s.sum, (uint64_t)LONG_OPS * (LONG_OPS + 1) / 2);
	assert_int_equal(t.n_ops, 1);
	assert_int_equal(t.op_of.n, 0);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* What one tenant's events say of its own time is nothing that the device did; the other came at the beginning all the same. */
static void test_time_of_coming_is_what_the_device_had_reached(void **state)
{
	struct gsb_traced t = {0};
	struct trace_kit k = {0};

	trace_kit_tenant(&k, 1, "alice");
	PUT(&k, QUEUED, queued, 1, .serial = 1, .kind = GSB_TRACE_OP_EVENT_RECORD,
	    .post_device_ns = 53000);
	PUT(&k, COMPLETED, completed, 1, .serial = 1, .device_ns = 53000, .number = 1);
	trace_kit_tenant(&k, 2, "bob");
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .stream = 1,
					  .serial = 2,
					  .kernel = 5,
					  .n_blocks = 1,
					  .post = 54000,
					  .ready = 54000,
					  .issued = 54000,
					  .start = 55000,
					  .end = 60000});
	trace_kit_tenant(&k, 3, "carol");
	trace_kit_load(&k, &t);
	assert_int_equal(t.n_tenants, 3);
	assert_int_equal(t.tenants[1].come_ns, 0);
	assert_int_equal(t.tenants[2].come_ns, 60000);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

/* ---- what it costs ---- */

static void load_accounts(struct gsb_traced *t, struct gsb_accounts *a)
{
	struct trace_kit k = {0};

	trace_kit_story(&k);
	trace_kit_load(&k, t);
	assert_int_equal(gsb_accounts_make(a, t), 0);
	trace_kit_finish(&k);
}

static void finish_accounts(struct gsb_traced *t, struct gsb_accounts *a)
{
	gsb_accounts_finish(a);
	gsb_traced_finish(t);
}

static uint64_t wait_of(const struct gsb_traced *t, uint64_t serial, enum gsb_wait w)
{
	uint64_t waits[GSB_N_WAITS];

	gsb_account_waits(t, gsb_traced_find(t, serial), waits);
	return waits[w];
}

static void test_waits_name_their_causes(void **state)
{
	struct gsb_accounts a;
	struct gsb_traced t;

	load_accounts(&t, &a);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_STREAM), 500);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_POLICY), 900);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_DEVICE), 100);
	assert_int_equal(wait_of(&t, 5, GSB_WAIT_STREAM), 2500);
	assert_int_equal(wait_of(&t, 5, GSB_WAIT_POLICY), 600);
	assert_int_equal(wait_of(&t, 6, GSB_WAIT_EVENT), 1400);
	assert_int_equal(wait_of(&t, 6, GSB_WAIT_STREAM), 0);
	finish_accounts(&t, &a);
}

static void test_waits_and_time_on_the_device_are_all_there_is(void **state)
{
	struct gsb_accounts a;
	struct gsb_traced t;

	load_accounts(&t, &a);
	for (uint32_t i = 0; i < t.n_ops; i++) {
		const struct gsb_traced_op *op = &t.ops[i];
		uint64_t waits[GSB_N_WAITS], sum = op->end_ns - op->start_ns;

		gsb_account_waits(&t, op, waits);
		for (unsigned w = 0; w < GSB_N_WAITS; w++)
			sum += waits[w];
		assert_int_equal(sum, op->completed_ns - op->post_ns);
	}
	finish_accounts(&t, &a);
}

static void test_waits_for_several_things_stand_one_behind_another(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .stream = 1,
					  .serial = 1,
					  .n_blocks = 1,
					  .post = 100,
					  .ready = 100,
					  .issued = 100,
					  .start = 100,
					  .end = 200});
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .stream = 2,
					  .serial = 2,
					  .n_blocks = 1,
					  .post = 100,
					  .ready = 100,
					  .issued = 100,
					  .start = 100,
					  .end = 350});
	PUT(&k, QUEUED, queued, 1, .serial = 3, .stream = 1, .post_device_ns = 120);
	PUT(&k, LAUNCH, launch, 1, .serial = 3);
	PUT(&k, PARKED, parked, 1, .serial = 3, .on_serial = 2, .on = GSB_TRACE_PARK_EPOCH);
	PUT(&k, PARKED, parked, 1, .serial = 3, .on = GSB_TRACE_PARK_CODE);
	PUT(&k, READY, ready, 1, .serial = 3, .ready_device_ns = 400);
	trace_kit_load(&k, &t);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_STREAM), 80);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_EPOCH), 150);
	assert_int_equal(wait_of(&t, 3, GSB_WAIT_CODE), 50);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

static const struct gsb_account_row *row(const struct gsb_accounts *a, const char *tenant,
					 const char *name)
{
	for (uint32_t i = 0; i < a->n_kernels; i++)
		if (!strcmp(a->kernels[i].tenant, tenant) && !strcmp(a->kernels[i].name, name))
			return &a->kernels[i];
	fail_msg("no row %s %s", tenant, name);
	return NULL;
}

static void test_accounts_time_alone_and_shared(void **state)
{
	struct gsb_accounts a;
	struct gsb_traced t;

	load_accounts(&t, &a);
	assert_int_equal(row(&a, "alice", "scan")->run_ns, 3000);
	assert_int_equal(row(&a, "alice", "scan")->alone_ns, 2000);
	assert_int_equal(row(&a, "alice", "scan")->shared_ns, 1000);
	assert_int_equal(row(&a, "bob", "join")->alone_ns, 500);
	assert_int_equal(row(&a, "bob", "join")->shared_ns, 1000);
	assert_int_equal(a.busy_ns, 1000 + 2000 + 300 + 500);
	assert_int_equal(a.tenants[0].shared_ns, 1000);
	assert_int_equal(a.tenants[1].copy_ns, 400);
	finish_accounts(&t, &a);
}

static void test_accounts_slowdown_is_by_the_runs_alone(void **state)
{
	struct gsb_accounts a;
	struct gsb_traced t;

	load_accounts(&t, &a);
	/* scan: 1000 alone; 3000 in 2 runs */
	assert_int_equal(row(&a, "alice", "scan")->measured_ppm, 1500000);
	assert_int_equal(row(&a, "alice", "scan")->predicted_ppm, 1600000);
	/* 500 alone with the 100 blocks that the one beside alice was cut to */
	assert_int_equal(row(&a, "bob", "join")->measured_ppm, 1500000);
	assert_int_equal(row(&a, "bob", "join")->n_resized, 1);
	assert_int_equal(row(&a, "alice", "join")->measured_ppm, 1000000);
	finish_accounts(&t, &a);
}

static void test_accounts_bytes_by_direction(void **state)
{
	struct gsb_accounts a;
	struct gsb_traced t;

	load_accounts(&t, &a);
	assert_int_equal(a.tenants[1].bytes_h2d, 1 << 20);
	assert_int_equal(a.tenants[1].bytes_d2h + a.tenants[1].bytes_d2d, 0);
	assert_int_equal(row(&a, "bob", "(copy, host to device)")->bytes, 1 << 20);
	assert_int_equal(a.tenants[0].span_ns, 6000 - 900);
	finish_accounts(&t, &a);
}

/* What no report says is what a broker counts in the same run. */
static void ignore(void *arg, const struct gsb_traced *t, const struct gsb_traced_op *op)
{
}

/* What check says of a story with a thread that was woken, in its end. */
static uint64_t n_false_wakes(uint32_t who, uint64_t serial, uint32_t stream, uint64_t value,
			      bool all_kept, uint32_t *n_woke)
{
	struct trace_kit k = {0};
	struct gsb_traced t = {.on_done = all_kept ? NULL : ignore};
	char why[GSB_TRACE_WHY_MAX];
	uint64_t n;

	trace_kit_story(&k);
	PUT(&k, QUEUED, queued, 1, .serial = 7, .stream = 1, .post_device_ns = 7000);
	PUT(&k, WOKEN, woken, who, .n_threads = 1, .serial = serial, .index = stream,
	    .value = value, .waited = GSB_TRACE_WAIT_STREAM);
	assert_int_equal(gsb_traced_load_fd(&t, trace_kit_file(&k, 0), why), 0);
	n = t.n_false_wakes;
	*n_woke = gsb_traced_find(&t, 5) ? gsb_traced_find(&t, 5)->n_woke : 0;
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
	return n;
}

static void test_wakes_are_for_what_was_completed_and_is_theirs(void **state)
{
	uint32_t n_woke;

	for (unsigned all = 0; all < 2; all++) {
		assert_int_equal(n_false_wakes(1, 5, 1, 3, all, &n_woke), 0);
		assert_int_equal(n_woke, all);
		assert_int_equal(n_false_wakes(1, 0, 1, 9, all, &n_woke), 0); /* not told */
		assert_int_equal(n_false_wakes(1, 7, 1, 4, all, &n_woke), 1); /* under way */
		assert_int_equal(n_false_wakes(1, 8, 1, 4, all, &n_woke), 1); /* never queued */
		assert_int_equal(n_false_wakes(1, 3, 1, 3, all, &n_woke),
				 1); /* that is another's number */
		assert_int_equal(n_false_wakes(1, 3, 1, 2, all, &n_woke), 0);
	}
	assert_int_equal(n_false_wakes(2, 5, 3, 1, true, &n_woke), 1); /* another tenant's */
}

static void test_errors_of_the_model_add_up_as_the_broker_counts_them(void **state)
{
	struct trace_kit k = {0};
	struct gsb_traced t;

	trace_kit_story(&k);
	PUT(&k, TENANT_MODEL, tenant_model, 2, .n_predicted = 1, .error_ppm = 100000);
	trace_kit_load(&k, &t);
	assert_int_equal(t.tenants[0].n_predicted, 1);
	assert_int_equal(t.tenants[0].error_ppm, 200000); /* 1600 for 2000 */
	assert_int_equal(t.tenants[0].model.head.type, 0);
	assert_int_equal(t.tenants[1].n_predicted, t.tenants[1].model.n_predicted);
	assert_int_equal(t.tenants[1].error_ppm, t.tenants[1].model.error_ppm);
	gsb_traced_finish(&t);
	trace_kit_finish(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range_of_an_operation_is_its_threads_innermost),
		cmocka_unit_test(test_ranges_of_two_domains_nest_each_for_itself),
		cmocka_unit_test(test_started_range_is_of_who_started_it_until_anybody_ends_it),
		cmocka_unit_test(test_ranges_are_not_known_after_a_loss),
		cmocka_unit_test(test_ranges_of_any_depth_end),
		cmocka_unit_test(test_accounts_of_ranges_have_what_is_in_them),
		cmocka_unit_test(test_map_finds_what_was_put),
		cmocka_unit_test(test_map_remove_leaves_the_others),
		cmocka_unit_test(test_take_joins_all_steps_of_a_serial),
		cmocka_unit_test(test_take_a_missing_step_is_a_flaw),
		cmocka_unit_test(test_take_a_step_told_twice_is_a_flaw),
		cmocka_unit_test(test_take_events_of_unknown_serials_are_counted),
		cmocka_unit_test(test_take_a_step_before_its_time_is_a_flaw),
		cmocka_unit_test(test_take_times_that_run_backwards_are_a_flaw),
		cmocka_unit_test(test_take_streams_complete_in_order_and_count_on),
		cmocka_unit_test(test_take_operations_from_before_and_failed_ones_need_no_steps),
		cmocka_unit_test(test_take_names_are_harmless),
		cmocka_unit_test(test_load_a_torn_file_gives_what_is_there),
		cmocka_unit_test(test_load_a_million_events_holds_what_is_under_way),
		cmocka_unit_test(test_time_of_coming_is_what_the_device_had_reached),
		cmocka_unit_test(test_waits_name_their_causes),
		cmocka_unit_test(test_waits_and_time_on_the_device_are_all_there_is),
		cmocka_unit_test(test_waits_for_several_things_stand_one_behind_another),
		cmocka_unit_test(test_accounts_time_alone_and_shared),
		cmocka_unit_test(test_accounts_slowdown_is_by_the_runs_alone),
		cmocka_unit_test(test_accounts_bytes_by_direction),
		cmocka_unit_test(test_wakes_are_for_what_was_completed_and_is_theirs),
		cmocka_unit_test(test_errors_of_the_model_add_up_as_the_broker_counts_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
