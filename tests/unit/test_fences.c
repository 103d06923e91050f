/*
 * test_fences.c - two sides that must not miss each other, met at the same moment some ten thousand times.
 *
 * The engine says that it sleeps and looks once more; the tenant changes what it looks at and looks whether it sleeps.
 * One of the two sees the other, whatever the order: without a full fence on either side a processor's store buffer
 * hides each from the other, and the engine sleeps on. So with a thread that falls asleep and its answer. Here a miss
 * is counted, never waited for.
 *
 * Each round both sides set out together, each on a processor of its own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "shm/ring.h"
#include "shm/wait.h"
#include "tests/unit/task.h"

#define N_ROUNDS      100000
#define ENGINE_STEPS  170 /* of delay before the engine looks */
#define N_COLD_STORES 8
#define COLD_BYTES    (16ul << 20)

struct meeting {
	struct gsb_region *region;
	struct gsb_ring_producer producer;
	struct gsb_ring_consumer consumer;
	int event_fd;
	uint32_t slot;
	uint8_t *cold[2];
	uint32_t steps[2]; /* of delay before the tenant's change, in even and in odd rounds */
	uint32_t missed;
	cpu_set_t ours;			     /* processors */
	uint32_t tid;			     /* the tenant's */
	_Alignas(64) _Atomic uint32_t begun; /* the engine's: the round that is on */
	_Alignas(64) _Atomic uint32_t done;  /* the tenant's */
	_Alignas(GSB_RECORD_ALIGN) uint8_t copy[GSB_RECORD_MAX];
};

static int setup(void **state)
{
	struct meeting *m = aligned_alloc(64, sizeof(*m));

	memset(m, 0, sizeof(*m));
	m->region = aligned_alloc(4096, sizeof(*m->region));
	memset(m->region, 0, sizeof(*m->region));
	m->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	gsb_ring_producer_init(&m->producer, m->region, m->event_fd, NULL);
	gsb_ring_consumer_init(&m->consumer, m->region);
	m->cold[0] = calloc(2, COLD_BYTES);
	m->cold[1] = m->cold[0] + COLD_BYTES;
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct meeting *m = *state;

	close(m->event_fd);
	free(m->cold[0]);
	free(m->region);
	free(m);
	return 0;
}

/* The other side is about to come, unless somebody else has its processor: then another time is better. */
static void relax(unsigned spins)
{
	if (spins < 4000)
		gsb_cpu_relax();
	else
		sched_yield();
}

static void await(_Atomic uint32_t *word, uint32_t round)
{
	for (unsigned i = 0; atomic_load_explicit(word, memory_order_acquire) < round; i++)
		relax(i);
}

static void say(_Atomic uint32_t *word, uint32_t round)
{
	atomic_store_explicit(word, round, memory_order_release);
}

static void delay(uint32_t steps)
{
	for (volatile uint32_t i = steps; i; i--)
		;
}

/* Stores that find nothing in the cache: what is stored after them waits behind them in the store buffer. */
static void crowd_out(uint8_t *cold, uint32_t round)
{
	for (uint32_t i = 0; i < N_COLD_STORES; i++)
		*(volatile uint8_t *)(cold + (round * N_COLD_STORES + i) * 4160ul % COLD_BYTES) = 1;
}

/* What the two sides do in a round. */
struct deeds {
	struct meeting *m;
	void (*arrange)(struct meeting *m); /* before both */
	void (*change)(struct meeting *m);  /* the tenant */
	bool (*look)(struct meeting *m);    /* the engine; whether the tenant was first */
	void (*settle)(struct meeting *m,
		       bool tenant_first); /* the engine, until the tenant is done */
};

static void *tenant(void *arg)
{
	const struct deeds *d = arg;
	struct meeting *m = d->m;

	m->tid = (uint32_t)gettid();
	for (uint32_t round = 1; round <= N_ROUNDS; round++) {
		await(&m->begun, round);
		atomic_load(&m->region->header
				     .engine_sleeps); /* a tenant at work has it in its cache */
		delay(m->steps[round % 2] + round % 16);
		d->change(m);
		say(&m->done, round);
	}
	return NULL;
}

/* The next processor from *cpu on that this process may use, as a set. */
static bool next_processor(const cpu_set_t *ours, int *cpu, cpu_set_t *one)
{
	CPU_ZERO(one);
	for (; *cpu < CPU_SETSIZE; (*cpu)++)
		if (CPU_ISSET(*cpu, ours)) {
			CPU_SET((*cpu)++, one);
			return true;
		}
	return false;
}

/* Each side has a processor of its own: it spins beside the other, never in its place. */
static bool start_tenant(struct deeds *d, pthread_t *thread)
{
	cpu_set_t ours, engines, tenants;
	pthread_attr_t attr;
	int cpu = 0;

	sched_getaffinity(0, sizeof(ours), &ours);
	if (!next_processor(&ours, &cpu, &engines) || !next_processor(&ours, &cpu, &tenants))
		return false;
	pthread_setaffinity_np(pthread_self(), sizeof(engines), &engines);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(tenants), &tenants);
	assert_int_equal(pthread_create(thread, &attr, tenant, d), 0);
	pthread_attr_destroy(&attr);
	d->m->ours = ours;
	return true;
}

/* The tenant's delay is led to where both come at once. */
static void steer(uint32_t *steps, bool tenant_first)
{
	if (tenant_first)
		(*steps)++;
	else if (*steps)
		(*steps)--;
}

/* How often neither saw the other. In odd rounds the engine's stores take their time. */
static unsigned count_misses(struct deeds *d)
{
	struct meeting *m = d->m;
	pthread_t thread;
	bool first;

	if (!start_tenant(d, &thread))
		skip();
	for (uint32_t round = 1; round <= N_ROUNDS; round++) {
		d->arrange(m);
		say(&m->begun, round);
		delay(ENGINE_STEPS);
		if (round % 2)
			crowd_out(m->cold[1], round);
		first = d->look(m);
		d->settle(m, first);
		steer(&m->steps[round % 2], first);
	}
	pthread_join(thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(m->ours), &m->ours);
	return m->missed;
}

static void arrange_nothing(struct meeting *m)
{
}

static void commit(struct meeting *m)
{
	uint64_t wait_for;
	struct gsb_rec *rec = gsb_ring_reserve(&m->producer, sizeof(*rec), &wait_for);

	rec->type = GSB_REC_NOP;
	crowd_out(m->cold[0], m->begun);
	gsb_ring_commit(&m->producer, rec);
}

static bool look_at_ring(struct meeting *m)
{
	gsb_ring_prepare_sleep(&m->consumer);
	return !gsb_ring_is_empty(&m->consumer);
}

/* Who saw nothing sleeps, until somebody rings: who rings puts another word there. */
static void settle_sleep(struct meeting *m, bool tenant_first)
{
	await(&m->done, m->begun);
	m->missed += !tenant_first && (m->region->header.engine_sleeps & GSB_SLEEPS);
	gsb_ring_awake(&m->consumer);
	while (gsb_ring_peek(&m->consumer, m->copy) == 1)
		gsb_ring_advance(&m->consumer, (struct gsb_rec *)m->copy);
}

static void test_commit_and_sleep_never_miss_each_other(void **state)
{
	struct deeds d = {*state, arrange_nothing, commit, look_at_ring, settle_sleep};

	assert_int_equal(count_misses(&d), 0);
}

static void acquire(struct meeting *m)
{
	gsb_thread_acquire(m->region, &m->slot);
}

static void release(struct meeting *m)
{
	gsb_thread_release(m->region, m->slot);
}

static bool look_at_threads(struct meeting *m)
{
	gsb_ring_prepare_gate(&m->consumer);
	return gsb_threads_all_blocked(m->region);
}

static void test_release_and_gate_never_miss_each_other(void **state)
{
	struct deeds d = {*state, acquire, release, look_at_threads, settle_sleep};

	assert_int_equal(count_misses(&d), 0);
}

static void wait_for_reply(struct meeting *m)
{
	gsb_thread_wait(m->region, m->slot,
			&(struct gsb_wait){.kind = GSB_WAIT_REPLY, .value = m->begun}, NULL, NULL);
}

static bool reply_and_wake(struct meeting *m)
{
	gsb_reply(m->region, m->slot, m->begun, CUDA_SUCCESS, 0);
	return gsb_wake_waiters(m->region) == 1;
}

/* A thread that sleeps now was missed: its answer is there. */
static void settle_wait(struct meeting *m, bool tenant_first)
{
	for (unsigned i = 1; m->done < m->begun; i++) {
		if (i % 1024 == 0 && m->region->threads[m->slot].state == GSB_THREAD_BLOCKED &&
		    task_is_asleep(m->tid))
			m->missed += gsb_wake_waiters(m->region);
		relax(i);
	}
}

static void test_reply_and_wait_never_miss_each_other(void **state)
{
	struct deeds d = {*state, arrange_nothing, wait_for_reply, reply_and_wake, settle_wait};

	acquire(d.m);
	assert_int_equal(count_misses(&d), 0);
}

#define fences_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fences_test(test_commit_and_sleep_never_miss_each_other),
		fences_test(test_release_and_gate_never_miss_each_other),
		fences_test(test_reply_and_wait_never_miss_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
