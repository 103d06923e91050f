/*
 * test_wait.c - the thread words: who sets what, that no wake-up is lost, that hostile fields do no harm.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <string.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gsb/cuabi.h"
#include "shm/ring.h"
#include "shm/wait.h"
#include "tests/unit/task.h"

static int setup(void **state)
{
	*state = aligned_alloc(4096, sizeof(struct gsb_region));
	memset(*state, 0, sizeof(struct gsb_region));
	((struct gsb_region *)*state)->header.n_threads = GSB_N_THREADS; /* set by hand here */
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void test_acquire_gives_every_slot_once_then_eagain(void **state)
{
	struct gsb_region *r = *state;
	uint32_t slot = 12345;

	for (uint32_t i = 0; i < GSB_N_THREADS; i++) {
		assert_int_equal(gsb_thread_acquire(r, &slot), 0);
		assert_int_equal(slot, i);
	}
	assert_int_equal(gsb_thread_acquire(r, &slot), -EAGAIN);
	gsb_thread_release(r, 7);
	assert_int_equal(gsb_thread_acquire(r, &slot), 0);
	assert_int_equal(slot, 7);
}

static void test_wait_whose_condition_holds_does_not_block(void **state)
{
	struct gsb_region *r = *state;
	uint32_t slot;

	assert_int_equal(gsb_thread_acquire(r, &slot), 0);
	atomic_store(&r->streams[5], 10);
	assert_int_equal(
		gsb_thread_wait(r, slot, &(struct gsb_wait){GSB_WAIT_STREAM, 5, 10}, NULL, NULL),
		0);
	assert_int_equal(atomic_load(&r->threads[slot].state), GSB_THREAD_RUNNING);
}

static void test_wait_with_a_limit_ends_without_its_condition(void **state)
{
	struct gsb_region *r = *state;
	const struct gsb_wait w = {GSB_WAIT_STREAM, 5, 10, gsb_clock_ns() + 1000000};
	uint32_t slot;

	assert_int_equal(gsb_thread_acquire(r, &slot), 0);
	assert_int_equal(gsb_thread_wait(r, slot, &w, NULL, NULL), 0);
	assert_false(gsb_wait_holds(r, slot, &w));
	assert_int_equal(atomic_load(&r->threads[slot].state), GSB_THREAD_RUNNING);
	assert_int_equal(atomic_load(&r->header.blocked[slot / 64]), 0);
}

static void do_nothing(int signal)
{
}

/* Signals that come more often than it is long. */
static void test_wait_with_a_limit_ends_in_a_hail_of_signals(void **state)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
	const struct sigaction act = {.sa_handler = do_nothing};
	struct gsb_region *r = *state;
	const struct gsb_wait w = {GSB_WAIT_STREAM, 5, 10, gsb_clock_ns() + 50000000};
	uint32_t slot;

	assert_int_equal(gsb_thread_acquire(r, &slot), 0);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(gsb_thread_wait(r, slot, &w, NULL, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_false(gsb_wait_holds(r, slot, &w));
}

static void test_wake_wakes_only_whose_condition_holds(void **state)
{
	struct gsb_region *r = *state;
	const struct {
		uint32_t kind, index;
		uint64_t value;
	} waits[] = {{GSB_WAIT_STREAM, 1, 5}, {GSB_WAIT_EVENT, 2, 1}, {GSB_WAIT_RING, 0, 100}};

	for (uint32_t i = 0; i < 3; i++) {
		r->threads[i].wait_kind = waits[i].kind;
		r->threads[i].wait_index = waits[i].index;
		r->threads[i].wait_value = waits[i].value;
		atomic_store(&r->threads[i].state, GSB_THREAD_BLOCKED);
		r->header.blocked[0] |= 1u << i;
	}
	assert_int_equal(gsb_wake_waiters(r), 0);
	assert_true(gsb_threads_all_blocked(r));
	atomic_store(&r->events[2].done, 1);
	assert_int_equal(gsb_wake_waiters(r), 1);
	assert_int_equal(atomic_load(&r->threads[1].state), GSB_THREAD_RUNNING);
	assert_false(gsb_threads_all_blocked(r));
	atomic_store(&r->header.fatal, CUDA_ERROR_SYSTEM_NOT_READY);
	assert_int_equal(gsb_wake_waiters(r), 2);
}

static void note_told(void *arg, uint32_t slot, const struct gsb_wait *w)
{
	struct gsb_wait *told = arg;

	assert_int_equal(slot, 1);
	*told = *w;
}

static void test_wake_tells_of_whom_it_wakes_and_of_nobody_else(void **state)
{
	struct gsb_region *r = *state;
	struct gsb_wait told = {0};

	for (uint32_t i = 0; i < 2; i++) {
		r->threads[i].wait_kind = GSB_WAIT_EVENT;
		r->threads[i].wait_index = 2 + i;
		r->threads[i].wait_value = 7;
		atomic_store(&r->threads[i].state, GSB_THREAD_BLOCKED);
		r->header.blocked[0] |= 1u << i;
	}
	assert_int_equal(gsb_wake_waiters_and_tell(r, note_told, &told), 0);
	atomic_store(&r->events[3].done, 8);
	assert_int_equal(gsb_wake_waiters_and_tell(r, note_told, &told), 1);
	assert_int_equal(told.kind, GSB_WAIT_EVENT);
	assert_int_equal(told.index, 3);
	assert_int_equal(told.value, 7);
}

static void test_wake_reaches_the_last_slot(void **state)
{
	const uint32_t last = GSB_N_THREADS - 1;
	struct gsb_region *r = *state;

	r->threads[last].wait_kind = GSB_WAIT_STREAM;
	r->threads[last].wait_value = 1;
	atomic_store(&r->threads[last].state, GSB_THREAD_BLOCKED);
	atomic_store(&r->header.blocked[last / 64], 1ull << last % 64);
	atomic_store(&r->streams[0], 1);
	assert_int_equal(gsb_wake_waiters(r), 1);
	assert_int_equal(atomic_load(&r->threads[last].state), GSB_THREAD_RUNNING);
}

static void test_wake_with_hostile_fields_reads_nothing_outside(void **state)
{
	struct gsb_region *r = *state;

	for (uint32_t kind = 0; kind < 300; kind++) {
		r->threads[3].wait_kind = kind;
		r->threads[3].wait_index = 0xffffffffu - kind % 2 * 0x7fffff00u;
		r->threads[3].wait_value = UINT64_MAX;
		atomic_store(&r->threads[3].state, GSB_THREAD_BLOCKED);
		atomic_store(&r->header.blocked[0], UINT64_MAX);
		gsb_wake_waiters(r);
	}
}

static void test_wait_when_fatal_returns_epipe(void **state)
{
	struct gsb_region *r = *state;
	uint32_t slot;

	assert_int_equal(gsb_thread_acquire(r, &slot), 0);
	atomic_store(&r->header.fatal, CUDA_ERROR_SYSTEM_NOT_READY);
	assert_int_equal(
		gsb_thread_wait(r, slot, &(struct gsb_wait){GSB_WAIT_REPLY, 0, 1}, NULL, NULL),
		-EPIPE);
}

#define N_ROUNDS 20000

struct ping {
	struct gsb_region *region;
	uint32_t slot;
	_Atomic uint32_t tid; /* once it runs */
};

static void *waiter(void *arg)
{
	struct gsb_spin_room room = {.spin_ns = 1000, .n_max = 1, .now_ns = gsb_clock_ns};
	struct gsb_spin self = {0};
	struct ping *p = arg;

	for (uint64_t i = 1; i <= N_ROUNDS; i++) {
		atomic_store(&p->region->streams[9], i); /* asks */
		gsb_thread_wait(p->region, p->slot, &(struct gsb_wait){GSB_WAIT_REPLY, 0, i},
				i % 3 ? NULL : &room, &self);
	}
	return NULL;
}

/* A lost wake-up would hang here; the runner's time limit turns that into a failure. */
static void test_wait_and_reply_never_lose_a_wakeup(void **state)
{
	struct ping p = {.region = *state};
	pthread_t thread;

	assert_int_equal(gsb_thread_acquire(p.region, &p.slot), 0);
	assert_int_equal(pthread_create(&thread, NULL, waiter, &p), 0);
	for (uint64_t i = 1; i <= N_ROUNDS; i++) {
		while (atomic_load(&p.region->streams[9]) < i)
			gsb_wake_waiters(p.region);
		gsb_reply(p.region, p.slot, i, CUDA_SUCCESS, 0);
		gsb_wake_waiters(p.region);
	}
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&p.region->header.blocked[0]), 0);
}

static void *block_until_stream_9(void *arg)
{
	struct ping *p = arg;

	atomic_store(&p->tid, (uint32_t)gettid());
	gsb_thread_wait(p->region, p->slot, &(struct gsb_wait){GSB_WAIT_STREAM, 9, 1}, NULL, NULL);
	gsb_thread_release(p->region, p->slot);
	return NULL;
}

static uint64_t cpu_ns(pthread_t thread)
{
	struct timespec ts = {0};
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Until it sleeps, or has used a second of a processor without. */
static void test_wait_sleeps_in_the_kernel(void **state)
{
	struct ping p = {.region = *state};
	pthread_t thread;
	bool slept;

	assert_int_equal(gsb_thread_acquire(p.region, &p.slot), 0);
	assert_int_equal(pthread_create(&thread, NULL, block_until_stream_9, &p), 0);
	while (!(slept = task_is_asleep(atomic_load(&p.tid))) && cpu_ns(thread) < 1000000000)
		sched_yield();
	atomic_store(&p.region->streams[9], 1);
	gsb_wake_waiters(p.region);
	pthread_join(thread, NULL);
	assert_true(slept);
}

/* Virtual time waits for threads to block: an engine that sleeps must hear of it. */
static void test_wait_and_release_ring_only_when_the_gate_asked(void **state)
{
	struct ping p = {.region = *state};
	struct gsb_ring_producer producer;
	struct gsb_ring_consumer consumer;
	int fd = eventfd(0, EFD_CLOEXEC); /* reads block until somebody rings */
	uint64_t count = 0;
	pthread_t thread;

	gsb_ring_producer_init(&producer, p.region, fd, NULL);
	gsb_ring_consumer_init(&consumer, p.region);
	assert_int_equal(gsb_thread_acquire(p.region, &p.slot), 0);
	gsb_ring_prepare_gate(&consumer);
	assert_int_equal(pthread_create(&thread, NULL, block_until_stream_9, &p), 0);
	assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 1);
	assert_true(gsb_threads_all_blocked(p.region));
	gsb_ring_prepare_sleep(&consumer); /* from here on only records ring */
	atomic_store(&p.region->streams[9], 1);
	assert_int_equal(gsb_wake_waiters(p.region), 1);
	pthread_join(thread, NULL);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(fd, &count, sizeof(count)), -1);
	close(fd);
}

/* ---- when a thread spins ---- */

/*
 * Waits of one thread, and another that ends each by waking it once it sleeps. The clock of the spins is asked once
 * when a spin begins and once more: then the wait is over if spins are to hit, else the time is up.
 */
static struct spins {
	struct gsb_region *region;
	struct gsb_spin_room room;
	struct gsb_spin self;
	uint32_t slot;
	bool hit;
	unsigned n_asked;
	_Atomic uint64_t n_waits; /* which wait is under way; also the number that ends it */
	_Atomic unsigned n_sleeps, n_counted;
	_Atomic bool stop;
} spins;

static uint64_t spins_now_ns(void)
{
	bool second = spins.n_asked++ % 2;

	if (second && spins.hit)
		atomic_store(&spins.region->streams[9], spins.n_waits);
	return second && !spins.hit ? spins.room.spin_ns : 0;
}

static void *wake_sleeper(void *arg)
{
	while (!atomic_load(&spins.stop)) {
		if (atomic_load(&spins.region->threads[spins.slot].state) == GSB_THREAD_BLOCKED) {
			atomic_store(&spins.n_counted, atomic_load(&spins.room.n_waiting));
			spins.n_sleeps++;
			atomic_store(&spins.region->streams[9], spins.n_waits);
			gsb_wake_waiters(spins.region);
		}
		sched_yield();
	}
	return NULL;
}

static pthread_t spins_begin(struct gsb_region *region, uint32_t n_max)
{
	pthread_t waker;

	memset(&spins, 0, sizeof(spins));
	spins.region = region;
	spins.room =
		(struct gsb_spin_room){.spin_ns = 20000, .n_max = n_max, .now_ns = spins_now_ns};
	assert_int_equal(gsb_thread_acquire(region, &spins.slot), 0);
	assert_int_equal(pthread_create(&waker, NULL, wake_sleeper, NULL), 0);
	return waker;
}

static void spins_end(pthread_t waker)
{
	atomic_store(&spins.stop, true);
	pthread_join(waker, NULL);
}

/* Returns how often it spun; *n_sleeps how often it slept. */
static unsigned wait_often(unsigned n, bool hit, unsigned *n_sleeps)
{
	spins.hit = hit;
	spins.n_asked = 0;
	spins.n_sleeps = 0;
	for (unsigned i = 0; i < n; i++) {
		struct gsb_wait w = {GSB_WAIT_STREAM, 9, ++spins.n_waits};

		assert_int_equal(
			gsb_thread_wait(spins.region, spins.slot, &w, &spins.room, &spins.self), 0);
	}
	*n_sleeps = spins.n_sleeps;
	return spins.n_asked / 2;
}

static void test_wait_spins_while_that_ends_its_waits(void **state)
{
	pthread_t waker = spins_begin(*state, 1);
	unsigned n_sleeps;

	assert_int_equal(wait_often(100, true, &n_sleeps), 100);
	assert_int_equal(n_sleeps, 0);
	spins_end(waker);
}

static void test_wait_that_spinning_does_not_end_spins_seldom(void **state)
{
	pthread_t waker = spins_begin(*state, 1);
	unsigned n_sleeps;

	assert_int_equal(wait_often(6 + 160, false, &n_sleeps), 6 + 10); /* one of 16, to see */
	assert_int_equal(n_sleeps, 6 + 160);
	spins_end(waker);
}

static void test_wait_spins_again_once_that_ends_its_waits(void **state)
{
	pthread_t waker = spins_begin(*state, 1);
	unsigned n_sleeps;

	wait_often(1000, false, &n_sleeps);
	assert_in_range(wait_often(160, true, &n_sleeps), 10, 159);
	assert_int_equal(wait_often(100, true, &n_sleeps), 100);
	assert_int_equal(n_sleeps, 0);
	spins_end(waker);
}

/* The clock of a spin, a tenth of a millisecond further each time that it is asked. */
static uint64_t slow_now_ns(void)
{
	return spins.n_asked++ * 100000ull;
}

static unsigned spin_once(void)
{
	unsigned n_sleeps;

	wait_often(1, false, &n_sleeps);
	assert_int_equal(n_sleeps, 1);
	return spins.n_asked;
}

static void test_who_has_woken_the_engine_spins_for_longer(void **state)
{
	pthread_t waker = spins_begin(*state, 1);
	struct gsb_ring_producer producer;
	struct gsb_ring_consumer consumer;
	uint64_t ignored;
	int fd = eventfd(0, EFD_CLOEXEC);

	gsb_ring_producer_init(&producer, *state, fd, NULL);
	gsb_ring_consumer_init(&consumer, *state);
	spins.room.now_ns = slow_now_ns;
	assert_int_equal(spin_once(), 2);
	gsb_ring_prepare_sleep(&consumer);
	assert_int_equal(spin_once(), 2); /* it has work, and naps */
	gsb_ring_commit(&producer, gsb_ring_reserve(&producer, sizeof(struct gsb_rec), &ignored));
	assert_int_equal(spin_once(), 4); /* 300 us */
	gsb_ring_awake(&consumer);
	assert_int_equal(spin_once(), 2);
	spins_end(waker);
	close(fd);
}

static void test_wait_beside_as_many_others_does_not_spin(void **state)
{
	pthread_t waker = spins_begin(*state, 3);
	unsigned n_sleeps;

	spins.room.n_waiting = 2; /* other threads */
	assert_int_equal(wait_often(10, true, &n_sleeps), 10);
	spins.room.n_waiting = 3;
	assert_int_equal(wait_often(10, true, &n_sleeps), 0);
	assert_int_equal(n_sleeps, 10);
	assert_int_equal(spins.n_counted, 4); /* with itself, while it slept */
	assert_int_equal(spins.room.n_waiting, 3);
	spins_end(waker);
}

static void test_wait_without_a_processor_to_spare_never_spins(void **state)
{
	pthread_t waker = spins_begin(*state, 0);
	unsigned n_sleeps;

	assert_int_equal(wait_often(100, true, &n_sleeps), 0);
	assert_int_equal(n_sleeps, 100);
	spins_end(waker);
}

#define wait_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		wait_test(test_acquire_gives_every_slot_once_then_eagain),
		wait_test(test_wait_whose_condition_holds_does_not_block),
		wait_test(test_wait_with_a_limit_ends_without_its_condition),
		wait_test(test_wait_with_a_limit_ends_in_a_hail_of_signals),
		wait_test(test_wake_wakes_only_whose_condition_holds),
		wait_test(test_wake_tells_of_whom_it_wakes_and_of_nobody_else),
		wait_test(test_wake_reaches_the_last_slot),
		wait_test(test_wake_with_hostile_fields_reads_nothing_outside),
		wait_test(test_wait_when_fatal_returns_epipe),
		wait_test(test_wait_and_reply_never_lose_a_wakeup),
		wait_test(test_wait_sleeps_in_the_kernel),
		wait_test(test_wait_spins_while_that_ends_its_waits),
		wait_test(test_wait_that_spinning_does_not_end_spins_seldom),
		wait_test(test_wait_spins_again_once_that_ends_its_waits),
		wait_test(test_who_has_woken_the_engine_spins_for_longer),
		wait_test(test_wait_beside_as_many_others_does_not_spin),
		wait_test(test_wait_without_a_processor_to_spare_never_spins),
		wait_test(test_wait_and_release_ring_only_when_the_gate_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
