/*
 * test_engine_gate.c - virtual time: it stands while a thread of a tenant runs, goes on when all are
 * blocked, and what happens in it does not depend on which process the kernel ran first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/channel.h"
#include "shm/wait.h"
#include "broker/engine/gate.h"
#include "tests/unit/engine_kit.h"

#define HOST_CALL_NS 100 /* what engine_kit.c declares */
#define COMMAND_NS   1000

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b;
	uint64_t mem_a, mem_b;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, true);
	kit_tenant_init(&f->a, &f->k, NULL);
	kit_tenant_init(&f->b, &f->k, NULL);
	f->mem_a = kit_alloc(&f->a, 64);
	f->mem_b = kit_alloc(&f->b, 64);
	kit_stream_create(&f->a, 1, 0);
	kit_event_create(&f->a, 0);
	kit_event_create(&f->a, 1);
	kit_settle(&f->k);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

static bool runs(const struct kit_tenant *t)
{
	return atomic_load(&t->region->threads[t->slot].state) == GSB_THREAD_RUNNING;
}

static void test_time_stands_while_a_thread_runs(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->k.dev->now_ns;

	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 0); /* b runs */
	assert_int_equal(f->k.dev->now_ns, now);
	kit_block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_int_equal(kit_done(&f->a, 0), 1);
	assert_true(runs(&f->a));
	assert_false(runs(&f->b));
}

/* From the moment that its condition holds a thread counts as running, asleep or not. */
static void test_time_waits_for_a_thread_that_was_woken(void **state)
{
	struct fixture *f = *state;

	kit_block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_fill(&f->a, 0, f->mem_a);
	kit_fill(&f->a, 1, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_true(runs(&f->a));
	assert_int_equal(kit_done(&f->a, 0), 1);
	assert_int_equal(f->k.dev->n_issued, 1); /* stream 1 is ready, but a runs */
	kit_block(&f->a, GSB_WAIT_STREAM, 1, 1);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 1), 1);
}

static void test_host_work_costs_what_is_declared(void **state)
{
	struct fixture *f = *state;
	uint64_t host = f->a.t->host_ns > f->k.dev->now_ns ? f->a.t->host_ns : f->k.dev->now_ns;

	kit_nop(&f->a, 0);
	kit_nop(&f->a, 0);
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 3);
	kit_block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->log[0].not_before_ns, host + 3 * HOST_CALL_NS);
}

static void test_event_times_are_device_times(void **state)
{
	struct fixture *f = *state;
	struct gsb_event_word *w = f->a.region->events;

	kit_block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_record(&f->a, 1, 0);
	kit_fill(&f->a, 1, f->mem_a);
	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, 1);
	kit_block(&f->a, GSB_WAIT_EVENT, 1, 1);
	kit_settle(&f->k);
	/* The first fill is posted one call after the record; the second follows at once. */
	assert_int_equal(w[1].time_ns - w[0].time_ns, HOST_CALL_NS + 2 * COMMAND_NS);
}

/* Both are ready at the same device time: the tenant's number decides, not who came first. */
static void test_order_of_issue_does_not_depend_on_arrival(void **state)
{
	struct fixture *f = *state;

	f->a.t->host_ns = f->b.t->host_ns = f->k.dev->now_ns;
	kit_fill(&f->b, 0, f->mem_b);
	kit_settle(&f->k);
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_block(&f->b, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->log[0].addr, f->mem_a);
	assert_int_equal(f->k.dev->log[1].addr, f->mem_b);
	assert_int_equal(f->k.dev->log[0].not_before_ns, f->k.dev->log[1].not_before_ns);
}

/* It blocked after the engine had looked: what it waits for is true, so it runs. */
static void test_time_waits_for_a_thread_that_blocked_in_vain(void **state)
{
	struct fixture *f = *state;

	kit_nop(&f->a, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 1);
	kit_fill(&f->b, 0, f->mem_b);
	kit_settle(&f->k);
	f->a.t->queues.changed = false;
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_block(&f->b, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_true(runs(&f->a));
	assert_int_equal(f->k.dev->n_advances, 0);
}

static void test_time_waits_for_a_host_function(void **state)
{
	struct fixture *f = *state;

	kit_host_func(&f->a, 0, 5);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_fill(&f->b, 0, f->mem_b);
	kit_block(&f->b, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_advances, 0); /* a thread of the library is at it */
	assert_true(kit_host_func_done(&f->a, 5));
	kit_settle(&f->k);
	assert_true(runs(&f->a));
	kit_block(&f->a, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 0), 1);
}

static void test_tenant_that_runs_too_long_is_charged_and_time_goes_on(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->k.dev->now_ns;

	f->k.engine->params.gate_timeout_ns = KIT_IMPATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	while (!kit_done(&f->a, 0)) /* b never blocks: the engine's own timer ends this */
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	assert_int_equal(f->b.t->stats.charged_ns, KIT_IMPATIENCE_NS);
	assert_int_equal(f->a.t->stats.charged_ns, 0);
	assert_int_equal(f->k.dev->advanced_to_ns, now + KIT_IMPATIENCE_NS);
	/* From now on nobody waits for b, and it is not charged again, until it blocked once. */
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 2);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 2);
	assert_int_equal(f->b.t->stats.charged_ns, KIT_IMPATIENCE_NS);
}

/* b is charged; then, while nothing waits at the gate, it is blocked in a call: time waits for it again. */
static void test_call_in_between_ends_the_charge(void **state)
{
	struct fixture *f = *state;
	uint32_t other;

	f->k.engine->params.gate_timeout_ns = KIT_IMPATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	while (!kit_done(&f->a, 0))
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	assert_true(f->b.t->charged);
	assert_int_equal(gsb_thread_acquire(f->b.region, &other), 0);
	kit_alloc(&f->b, 64);
	assert_true(f->b.t->charged); /* its other thread ran on */
	gsb_thread_release(f->b.region, other);
	kit_alloc(&f->b, 64);
	assert_false(f->b.t->charged);
	f->k.engine->params.gate_timeout_ns = KIT_PATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 2);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 1);
	kit_alloc(&f->b, 64); /* a waits: no call changes anything */
	assert_true(f->b.t->running_since_ns);
	kit_block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 2);
}

/* Records that queue nothing are consumed for ever; a ring that is never empty stops nobody else. */
static void test_time_goes_on_beside_a_ring_that_is_never_empty(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_event_create make = {.event = kit_event(7), .ctx = kit_ctx(0)};
	struct gsb_rec_object drop = {.handle = kit_event(7)};

	f->k.engine->params.gate_timeout_ns = KIT_IMPATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	for (int i = 0; i < 200000 && !kit_done(&f->a, 0); i++) {
		for (int n = i ? 0 : -GSB_TURN_RECORDS; n < GSB_TURN_RECORDS; n += 2) {
			kit_post(&f->b, GSB_REC_EVENT_CREATE, 0, &make, sizeof(make), NULL, 0);
			kit_post(&f->b, GSB_REC_EVENT_DESTROY, 0, &drop, sizeof(drop), NULL, 0);
		}
		gsb_engine_turn(f->k.engine);
	}
	assert_int_equal(kit_done(&f->a, 0), 1);
	assert_int_equal(f->b.t->stats.charged_ns, KIT_IMPATIENCE_NS);
	assert_int_equal(f->a.t->stats.charged_ns, 0);
}

static void test_time_goes_on_beside_a_load_that_takes_long(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object fn = {.handle = kit_fn(0)};
	uint64_t call;

	f->k.engine->params.gate_timeout_ns = KIT_IMPATIENCE_NS;
	kit_load_inc(&f->b, 0, 0);
	pthread_mutex_lock(&f->k.dev->preparing);
	call = kit_post_call(&f->b, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	kit_block(&f->b, GSB_WAIT_REPLY, 0, call);
	kit_fill(&f->a, 0, f->mem_a);
	kit_block(&f->a, GSB_WAIT_STREAM, 0, 1);
	alarm(20); /* without the engine's own timer this sleeps for ever */
	while (!kit_done(&f->a, 0))
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	alarm(0);
	assert_false(kit_answered(&f->b, call));
	assert_int_equal(f->b.t->stats.charged_ns, KIT_IMPATIENCE_NS);
	pthread_mutex_unlock(&f->k.dev->preparing);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->b, call));
}

static void test_idle_engine_asks_nobody_to_ring_when_blocking(void **state)
{
	struct fixture *f = *state;

	assert_false(gsb_clock_is_waited_for(&f->k.engine->scheduler.clock));
	assert_int_equal(gsb_gate_due_ns(f->k.engine), UINT64_MAX);
	kit_fill(&f->a, 0, f->mem_a);
	kit_settle(&f->k);
	assert_true(gsb_clock_is_waited_for(&f->k.engine->scheduler.clock));
	assert_true(gsb_gate_due_ns(f->k.engine) < UINT64_MAX);
}

#define gate_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		gate_test(test_time_stands_while_a_thread_runs),
		gate_test(test_time_waits_for_a_thread_that_was_woken),
		gate_test(test_host_work_costs_what_is_declared),
		gate_test(test_event_times_are_device_times),
		gate_test(test_order_of_issue_does_not_depend_on_arrival),
		gate_test(test_time_waits_for_a_thread_that_blocked_in_vain),
		gate_test(test_time_waits_for_a_host_function),
		gate_test(test_tenant_that_runs_too_long_is_charged_and_time_goes_on),
		gate_test(test_call_in_between_ends_the_charge),
		gate_test(test_time_goes_on_beside_a_ring_that_is_never_empty),
		gate_test(test_time_goes_on_beside_a_load_that_takes_long),
		gate_test(test_idle_engine_asks_nobody_to_ring_when_blocking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
