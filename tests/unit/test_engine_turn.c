/*
 * test_engine_turn.c - one turn of the engine, looked at closely: in which order it writes the words that a tenant
 * reads, who is first at the device, and when a turn is enough.
 *
 * The order of writes is seen by the pages that they hit: all are read-only for the engine, and a fault says where
 * the first write to each page went.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/policy/bound.h"
#include "tests/unit/engine_kit.h"

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b;
	uint64_t mem_a, mem_b; /* 4,096 bytes each */
};

static int setup_clock(void **state, bool is_virtual)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, is_virtual);
	kit_tenant_init(&f->a, &f->k, NULL);
	kit_tenant_init(&f->b, &f->k, NULL);
	f->mem_a = kit_alloc(&f->a, 4096);
	f->mem_b = kit_alloc(&f->b, 4096);
	kit_stream_create(&f->a, 1, 0);
	kit_event_create(&f->a, 0);
	kit_settle(&f->k);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_clock(state, false);
}

static int setup_virtual(void **state)
{
	return setup_clock(state, true);
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

/* ---- in which order words are written ---- */

static struct {
	uint8_t *base; /* the region as the engine sees it */
	size_t at[64]; /* offsets of first writes to a page, in order */
	unsigned n;
	struct sigaction before;
} writes;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	uint8_t *addr = info->si_addr;
	uint8_t *page = (uint8_t *)((uintptr_t)addr & ~(uintptr_t)4095);

	if (addr < writes.base || addr >= writes.base + sizeof(struct gsb_region) || writes.n == 64)
		abort();
	writes.at[writes.n++] = (size_t)(addr - writes.base);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void watch_writes(struct kit_tenant *t)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	writes.base = (uint8_t *)t->t->region;
	writes.n = 0;
	assert_int_equal(sigaction(SIGSEGV, &sa, &writes.before), 0);
	assert_int_equal(mprotect(t->t->region, sizeof(struct gsb_region), PROT_READ), 0);
}

static void end_watch(struct kit_tenant *t)
{
	assert_int_equal(mprotect(t->t->region, sizeof(struct gsb_region), PROT_READ | PROT_WRITE),
			 0);
	assert_int_equal(sigaction(SIGSEGV, &writes.before, NULL), 0);
}

/* When the word at this offset was written, as the first of its page. */
static unsigned nth_write(size_t offset)
{
	for (unsigned i = 0; i < writes.n; i++)
		if (writes.at[i] == offset)
			return i;
	fail_msg("no first write to offset %zu", offset);
	return 0;
}

#define word_of(member) offsetof(struct gsb_region, member)

static void test_error_word_is_written_before_the_done_word(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	watch_writes(&f->a);
	kit_settle(&f->k);
	end_watch(&f->a);
	assert_int_equal(kit_error(&f->a, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(kit_done(&f->a, 1), 1);
	assert_true(nth_write(word_of(ctxs[0].error)) < nth_write(word_of(streams[1])));
}

static void test_event_time_is_written_before_its_word_and_that_before_the_stream(void **state)
{
	struct fixture *f = *state;

	kit_record(&f->a, 1, 0);
	watch_writes(&f->a);
	kit_settle(&f->k);
	end_watch(&f->a);
	assert_int_equal(atomic_load(&f->a.region->events[0].done), 1);
	assert_int_equal(kit_done(&f->a, 1), 1);
	assert_true(nth_write(word_of(events[0].time_ns)) < nth_write(word_of(streams[1])));
}

/* ---- who is first ---- */

/* Two tenants at once, turn after turn: the first at the device is one and then the other. */
static void test_each_turn_begins_with_another_tenant(void **state)
{
	struct fixture *f = *state;
	unsigned n_first[2] = {0};

	kit_device_auto(f->k.dev);
	for (unsigned i = 0; i < 10; i++) {
		kit_device_forget(f->k.dev);
		kit_fill(&f->a, 0, f->mem_a);
		kit_fill(&f->b, 0, f->mem_b);
		gsb_engine_turn(f->k.engine);
		assert_int_equal(f->k.dev->n_issued, 2);
		n_first[f->k.dev->log[0].addr == f->mem_b]++;
	}
	assert_int_equal(n_first[0], 5);
	assert_int_equal(n_first[1], 5);
}

static void test_one_turn_reads_no_more_of_a_ring_than_its_share(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i <= GSB_TURN_RECORDS; i++)
		kit_nop(&f->a, 1);
	kit_fill(&f->b, 0, f->mem_b);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(kit_done(&f->a, 1), GSB_TURN_RECORDS);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
}

/* More heads than there are queues: the oldest is the next, whatever was shown before. */
static void test_what_is_ready_first_is_issued_first(void **state)
{
	enum { N = 6 * GSB_N_QUEUES };
	struct fixture *f = *state;

	for (uint32_t i = 0; i < N; i++) {
		kit_stream_create(&f->a, 10 + i, GSB_STREAM_NON_BLOCKING);
		kit_fill(&f->a, 10 + i, f->mem_a + 4 * i);
	}
	kit_settle(&f->k);
	for (unsigned i = 0; i < N; i++) {
		assert_true(i < f->k.dev->n_issued);
		assert_int_equal(f->k.dev->log[i].addr, f->mem_a + 4 * i);
		kit_complete(f->k.dev, i, CUDA_SUCCESS, 0);
		kit_settle(&f->k);
	}
}

static unsigned hold_all(const struct gsb_view *view, struct gsb_policy_area *area,
			 struct gsb_decision *out)
{
	return 0;
}

static const struct gsb_policy holding = {.name = "holding", .decide = hold_all};

static void test_nothing_is_held_while_the_device_is_idle(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->b, 0, f->mem_b);
	kit_settle(&f->k);
	f->k.engine->scheduler.policy = &holding;
	kit_fill(&f->a, 1, f->mem_a);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
}

/* ---- queues and completions ---- */

static int created[8];
static unsigned n_created;
static int (*real_queue_create)(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
				struct gsb_queue **out);

static int note_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			     struct gsb_queue **out)
{
	assert_in_range(n_created, 0, 7);
	created[n_created++] = priority;
	return real_queue_create(dev, priority, sms, out);
}

static void fill_to_its_end(struct fixture *f, uint32_t stream)
{
	kit_fill(&f->a, stream, f->mem_a);
	kit_settle(&f->k);
	kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
}

static void test_queue_is_used_again_for_its_own_priority_only(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_stream_create urgent = {
		.stream = kit_stream(2), .ctx = kit_ctx(0), .priority = -5};

	n_created = 0;
	real_queue_create = f->k.dev->ops.queue_create;
	f->k.dev->ops.queue_create = note_queue_create;
	kit_post(&f->a, GSB_REC_STREAM_CREATE, 0, &urgent, sizeof(urgent), NULL, 0);
	fill_to_its_end(f, 2);
	fill_to_its_end(f, 2);
	assert_int_equal(n_created, 1);
	fill_to_its_end(f, 1);
	assert_int_equal(n_created, 2);
	assert_int_equal(created[0], -5);
	assert_int_equal(created[1], 0);
}

/* The queue serves another command by now: what its last one was called means nothing. */
static void test_completion_that_comes_twice_is_for_nobody(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;

	fill_to_its_end(f, 1);
	kit_fill(&f->a, 1, f->mem_a);
	kit_settle(&f->k);
	assert_ptr_equal(d->log[0].queue, d->log[1].queue);
	d->done[d->n_done++] = (struct gsb_completion){.cookie = d->log[0].cookie};
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 1), 1);
	kit_complete(d, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 1), 2);
}

/* ---- virtual time ---- */

static void block(struct kit_tenant *t, enum gsb_wait_kind kind, uint32_t index, uint64_t value)
{
	struct gsb_thread *th = &t->region->threads[t->slot];

	th->wait_kind = kind;
	th->wait_index = index;
	th->wait_value = value;
	atomic_fetch_or(&t->region->header.blocked[0], 1ull << t->slot);
	atomic_store(&th->state, GSB_THREAD_BLOCKED);
}

static void run(struct kit_tenant *t)
{
	atomic_store(&t->region->threads[t->slot].state, GSB_THREAD_RUNNING);
	atomic_fetch_and(&t->region->header.blocked[0], ~(1ull << t->slot));
}

/* All threads are blocked, and work is ready; but what they posted is not all read yet. */
static void test_time_waits_for_what_was_posted_before(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 0, f->mem_a);
	for (unsigned i = 0; i < GSB_TURN_RECORDS; i++)
		kit_nop(&f->a, 1);
	block(&f->a, GSB_WAIT_STREAM, 0, 1);
	block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(f->k.dev->n_advances, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_advances, 1);
	assert_int_equal(kit_done(&f->a, 0), 1);
}

/* b was charged for running too long; it blocks once, and from then on time waits for it as for all. */
static void test_charge_ends_when_the_tenant_blocks(void **state)
{
	struct fixture *f = *state;

	f->k.engine->params.gate_timeout_ns = KIT_IMPATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	block(&f->a, GSB_WAIT_STREAM, 0, 1);
	while (!kit_done(&f->a, 0)) /* the engine's own timer ends this */
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	assert_true(f->b.t->charged);
	f->k.engine->params.gate_timeout_ns = KIT_PATIENCE_NS;
	kit_fill(&f->a, 0, f->mem_a);
	block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	block(&f->a, GSB_WAIT_STREAM, 0, 2);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 2);
	run(&f->b);
	kit_fill(&f->a, 0, f->mem_a);
	block(&f->a, GSB_WAIT_STREAM, 0, 3);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 2); /* b runs */
	block(&f->b, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 3);
}

static bool never_awake(struct gsb_device *dev)
{
	return false;
}

static void *ring_later(void *dev)
{
	usleep(20000);
	eventfd_write(((struct kit_device *)dev)->event_fd, 1);
	return NULL;
}

static void expect_sleep(struct kit_engine *k)
{
	uint64_t from = gsb_clock_ns();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, ring_later, k->dev), 0);
	gsb_engine_sleep(k->engine);
	assert_in_range(gsb_clock_ns() - from, 10000000, UINT64_MAX);
	pthread_join(thread, NULL);
	kit_settle(k);
}

/* To be woken would take as long as its launch, now and then; but not for ever, nor on a device that needs the host's processors. */
static void test_engine_is_awake_while_a_critical_tenant_is_active(void **state)
{
	const struct gsb_tenant_limits critical = {.critical = 1};
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t memory;

	(void)state;
	kit_engine_init(&k, false);
	kit_tenant_init(&t, &k, &critical);
	kit_device_auto(k.dev);
	memory = kit_alloc(&t, 4096);
	kit_fill(&t, 0, memory);
	kit_settle(&k);
	expect_sleep(&k);
	k.dev->ops.stay_awake = never_awake;
	alarm(60); /* a sleep would have no end */
	for (int i = 0; i < 100; i++)
		gsb_engine_sleep(k.engine);
	alarm(0);
	k.dev->now_ns += GSB_CRITICAL_LINGER_NS;
	expect_sleep(&k);
	kit_tenant_finish(&t);
	kit_engine_finish(&k);
}

/* It ran for longer than anybody is waited for, and is gone now: time must not jump on for those who are there. */
static void test_who_leaves_is_not_charged(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->k.dev->now_ns;

	kit_fill(&f->a, 0, f->mem_a);
	kit_settle(&f->k); /* work waits for time, and that for both */
	f->b.t->n_jobs++;  /* so it cannot be gone yet */
	kit_tenant_die(&f->b);
	if (f->b.t->running_since_ns) /* the clock may have begun a minute ago: the difference counts */
		f->b.t->running_since_ns = gsb_clock_ns() - ((uint64_t)1 << 60);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->now_ns, now);
	assert_int_equal(kit_done(&f->a, 0), 0); /* a runs */
	f->b.t->n_jobs--;
	block(&f->a, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 1);
}

/* ---- a real clock ---- */

static unsigned n_reads;

/* Each look at the clock takes its time. */
static uint64_t ticking_now(struct gsb_device *dev)
{
	n_reads++;
	return ((struct kit_device *)dev)->now_ns += 1000;
}

static void tick(struct fixture *f)
{
	n_reads = 0;
	f->k.dev->ops.now_ns = ticking_now;
}

static void test_real_clock_is_read_once_a_turn(void **state)
{
	struct fixture *f = *state;

	kit_device_auto(f->k.dev);
	tick(f);
	for (uint32_t i = 0; i < GSB_TURN_RECORDS; i++)
		kit_fill(&f->a, i % 2, f->mem_a);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(kit_done(&f->a, 0) + kit_done(&f->a, 1), GSB_TURN_RECORDS);
	assert_int_equal(n_reads, 1);
}

/* Who is critical has no time to wake up; and in virtual time nobody spins. */
static void test_welcome_says_how_long_to_spin(void **state)
{
	const struct gsb_tenant_limits critical = {.critical = true};
	struct fixture *f = *state;
	struct kit_tenant c;

	kit_tenant_init(&c, &f->k, &critical);
	if (f->k.dev->info.clock_is_virtual) {
		assert_int_equal(f->a.welcome.spin_ns, 0);
		assert_int_equal(c.welcome.spin_ns, 0);
	} else {
		assert_int_equal(f->a.welcome.spin_ns, 50000);
		assert_int_equal(c.welcome.spin_ns, 1000000);
	}
	kit_tenant_finish(&c);
}

/* Nor is its device to take its time over what it waits for. */
static void test_commands_of_who_is_critical_are_urgent(void **state)
{
	struct fixture *f = *state;

	f->b.t->claim.critical = true;
	kit_fill(&f->a, 0, f->mem_a);
	kit_fill(&f->b, 0, f->mem_b);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(f->k.dev->n_issued, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(f->k.dev->log[i].urgent, f->k.dev->log[i].addr == f->mem_b);
	for (unsigned i = 0; i < 2; i++)
		kit_complete(f->k.dev, i, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
}

/* What a tenant measures is not as coarse as a turn. */
static void test_two_events_of_one_turn_have_times_of_their_own(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->k.dev->now_ns;

	kit_event_create(&f->a, 1);
	tick(f);
	kit_record(&f->a, 1, 0);
	kit_record(&f->a, 1, 1);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(f->a.region->events[0].time_ns, now + 2000);
	assert_int_equal(f->a.region->events[1].time_ns, now + 3000);
}

static void test_event_behind_a_host_function_tells_when_that_was_done(void **state)
{
	struct fixture *f = *state;

	kit_host_func(&f->a, 1, 7);
	kit_record(&f->a, 1, 0);
	kit_settle(&f->k);
	f->k.dev->now_ns += 5000000;
	assert_true(kit_host_func_done(&f->a, 7));
	kit_settle(&f->k);
	assert_int_equal(atomic_load(&f->a.region->events[0].done), 1);
	assert_int_equal(f->a.region->events[0].time_ns, f->k.dev->now_ns);
}

/* What a policy goes by: since when work is ready, and since when it runs. */
static void test_ready_and_running_work_tells_since_when(void **state)
{
	struct fixture *f = *state;
	const struct gsb_flight *flight = &f->k.engine->scheduler.flights[0];

	f->k.dev->now_ns += 1000;
	kit_fill(&f->a, 1, f->mem_a);
	kit_settle(&f->k);
	assert_int_equal(flight->item->op.ready_ns, f->k.dev->now_ns);
	assert_int_equal(flight->item->head->work.since_ns, f->k.dev->now_ns);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
}

#define turn_test(t)	cmocka_unit_test_setup_teardown(t, setup, teardown)
#define virtual_test(t) cmocka_unit_test_setup_teardown(t, setup_virtual, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		turn_test(test_error_word_is_written_before_the_done_word),
		turn_test(test_event_time_is_written_before_its_word_and_that_before_the_stream),
		turn_test(test_each_turn_begins_with_another_tenant),
		turn_test(test_one_turn_reads_no_more_of_a_ring_than_its_share),
		turn_test(test_what_is_ready_first_is_issued_first),
		turn_test(test_nothing_is_held_while_the_device_is_idle),
		turn_test(test_welcome_says_how_long_to_spin),
		turn_test(test_commands_of_who_is_critical_are_urgent),
		cmocka_unit_test(test_engine_is_awake_while_a_critical_tenant_is_active),
		turn_test(test_real_clock_is_read_once_a_turn),
		turn_test(test_two_events_of_one_turn_have_times_of_their_own),
		turn_test(test_event_behind_a_host_function_tells_when_that_was_done),
		turn_test(test_ready_and_running_work_tells_since_when),
		turn_test(test_queue_is_used_again_for_its_own_priority_only),
		turn_test(test_completion_that_comes_twice_is_for_nobody),
		virtual_test(test_welcome_says_how_long_to_spin),
		virtual_test(test_time_waits_for_what_was_posted_before),
		virtual_test(test_charge_ends_when_the_tenant_blocks),
		virtual_test(test_who_leaves_is_not_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
