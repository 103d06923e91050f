/*
 * crew.c - see crew.h.
 *
 * Each has one word: IDLE, BUSY or ASLEEP. Who gives it a job makes the word BUSY, and wakes it if it was ASLEEP; it makes it IDLE
 * when the job is done, which is what the giver looks for. A copy takes so little time that the giver does not sleep meanwhile.
 */
#include "interpose/core/crew.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "interpose/core/helper.h"

#define SPIN_NS		     50000
#define SPINS_PER_CLOCK_READ 64
#define SPINS_PER_YIELD	     4096

enum { IDLE, BUSY, ASLEEP };

struct hand {
	GSB_CACHE_ALIGNED _Atomic uint32_t state;
	void (*run)(void *job);
	void *job;
};

static struct hand hands[GSB_CREW_MAX];
static _Atomic uint32_t n_hands, n_started;
static pthread_mutex_t hiring = PTHREAD_MUTEX_INITIALIZER, using = PTHREAD_MUTEX_INITIALIZER;

/* ---- theirs ---- */

static bool spin_for_job(struct hand *h)
{
	uint64_t end = gsb_clock_ns() + SPIN_NS;

	do
		for (int i = 0; i < SPINS_PER_CLOCK_READ; i++) {
			if (atomic_load_explicit(&h->state, memory_order_acquire) == BUSY)
				return true;
			gsb_cpu_relax();
		}
	while (gsb_clock_ns() < end);
	return false;
}

static void wait_for_job(struct hand *h)
{
	uint32_t idle = IDLE;

	if (spin_for_job(h) || !atomic_compare_exchange_strong(&h->state, &idle, ASLEEP))
		return;
	while (atomic_load_explicit(&h->state, memory_order_acquire) == ASLEEP)
		syscall(SYS_futex, &h->state, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
}

/* What the program's memory does when it is written to is its own affair, as in its own thread. */
static void let_faults_through(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void *hand_main(void *arg)
{
	struct hand *h = &hands[atomic_fetch_add(&n_started, 1)];

	let_faults_through();
	for (;;) {
		wait_for_job(h);
		h->run(h->job);
		atomic_store_explicit(&h->state, IDLE, memory_order_release);
	}
	return NULL;
}

/* ---- ours ---- */

unsigned gsb_crew_hire(unsigned most)
{
	uint32_t n = atomic_load_explicit(&n_hands, memory_order_acquire);

	if (n || !most)
		return n < most ? n : most;
	pthread_mutex_lock(&hiring);
	n = atomic_load_explicit(&n_hands, memory_order_acquire);
	if (!n) {
		while (n < most && n < GSB_CREW_MAX && !gsb_helper_start(hand_main))
			n++;
		atomic_store_explicit(&n_hands, n, memory_order_release);
	}
	pthread_mutex_unlock(&hiring);
	return n;
}

static void give(struct hand *h, void (*run)(void *job), void *job)
{
	h->run = run;
	h->job = job;
	if (atomic_exchange_explicit(&h->state, BUSY, memory_order_acq_rel) == ASLEEP)
		syscall(SYS_futex, &h->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_until_done(struct hand *h)
{
	for (unsigned i = 1; atomic_load_explicit(&h->state, memory_order_acquire) == BUSY; i++)
		if (i % SPINS_PER_YIELD)
			gsb_cpu_relax();
		else
			sched_yield();
}

void gsb_crew_run(void (*run)(void *job), void *const *jobs, unsigned n)
{
	bool have = n > 1 && !pthread_mutex_trylock(&using);
	uint32_t there = have ? atomic_load_explicit(&n_hands, memory_order_acquire) : 0;
	unsigned given = 0;

	for (; given < there && given + 1 < n; given++)
		give(&hands[given], run, jobs[given]);
	for (unsigned i = given; i < n; i++)
		run(jobs[i]);
	for (unsigned i = 0; i < given; i++)
		wait_until_done(&hands[i]);
	if (have)
		pthread_mutex_unlock(&using);
}
