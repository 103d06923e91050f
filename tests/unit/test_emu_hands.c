/*
 * test_emu_hands.c - the workers of the emulated device by themselves: what they do while the clock is busy, what they tell of it,
 * and who gets a job that is taken back.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/clock/worker.h"
#include "device/emu/exec/combine.h"

#define N 1000

struct bench {
	pthread_mutex_t lock;
	struct emu_workers w;
	struct emu_cmd cmd;
	struct emu_job jobs[N];
	unsigned n_told, told[N]; /* with the lock */
	unsigned n_last;	  /* of them, each the last that a worker told of in one go */
};

static sem_t executed, told;

static void wait_on(sem_t *sem, unsigned n)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	while (n--)
		if (sem_timedwait(sem, &end))
			fail_msg("it does not come");
}

static bool run(struct emu_job *job, GSB_UNUSED struct gsb_emu_combiner *combiner)
{
	job->index++;
	sem_post(&executed);
	return false;
}

/* Blocks that add 1 to a word, which the worker keeps back. */
static uint32_t counted[GSB_EMU_LINE_BYTES / sizeof(uint32_t)]
	__attribute__((aligned(GSB_EMU_LINE_BYTES)));

static bool run_counting(struct emu_job *job, struct gsb_emu_combiner *c)
{
	static const struct gsb_emu_memory memory;
	static const struct gsb_emu_launch launch = {.memory = &memory};
	static struct gsb_emu_block block = {.launch = &launch};
	struct gsb_emu_exec x = {.block = &block, .combiner = c};

	gsb_emu_combine_begin(&x, (uintptr_t)counted, GSB_EMU_REDUCE_ATOM_ADD_32, 0);
	*(uint32_t *)(void *)c->sums[gsb_emu_slot_of((uintptr_t)counted)] += 1;
	job->work.n_insns = 20000;
	return run(job, c);
}

static void on_slice(void *ctx, struct emu_job *job, bool more, bool last)
{
	struct bench *b = ctx;

	assert_false(more);
	assert_false(job->running);
	b->n_last += last;
	b->told[b->n_told++] = (unsigned)(job - b->jobs);
	if (last && b->cmd.run == run_counting) /* memory has what they did, each time */
		assert_int_equal(counted[0], b->n_told);
	sem_post(&told);
}

static struct bench *open_bench(unsigned n_workers)
{
	struct bench *b = aligned_alloc(_Alignof(struct bench), sizeof(*b));

	assert_non_null(b);
	memset(b, 0, sizeof(*b));
	sem_init(&executed, 0, 0);
	sem_init(&told, 0, 0);
	pthread_mutex_init(&b->lock, NULL);
	b->cmd.kind = GSB_CMD_LAUNCH;
	b->cmd.run = run;
	for (unsigned i = 0; i < N; i++)
		b->jobs[i].cmd = &b->cmd;
	emu_workers_init(&b->w, &b->lock, on_slice, b);
	assert_int_equal(emu_workers_start(&b->w, n_workers), 0);
	return b;
}

static void close_bench(struct bench *b)
{
	emu_workers_finish(&b->w);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void add(struct bench *b, unsigned from, unsigned to)
{
	struct emu_jobs jobs = TAILQ_HEAD_INITIALIZER(jobs);

	for (unsigned i = from; i < to; i++)
		TAILQ_INSERT_TAIL(&jobs, &b->jobs[i], ready);
	emu_worker_add_all(&b->w, &jobs, to - from);
}

static void expect_each_once(const struct bench *b, unsigned n)
{
	assert_int_equal(b->n_told, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(b->jobs[i].index, 1);
	assert_int_equal(b->cmd.n_running, 0);
}

/* The clock has its lock, and places blocks. */
static void test_short_blocks_are_executed_while_the_clock_is_busy(void **state)
{
	struct bench *b = open_bench(1);

	pthread_mutex_lock(&b->lock);
	add(b, 0, 40);
	wait_on(&executed, 40);
	assert_int_equal(b->n_told, 0);
	pthread_mutex_unlock(&b->lock);
	wait_on(&told, 40);
	emu_workers_finish(&b->w);
	assert_int_equal(b->n_last, 1);
	emu_workers_init(&b->w, &b->lock, on_slice, b);
	close_bench(b);
}

static void test_what_was_executed_is_told_once_and_in_order(void **state)
{
	struct bench *b = open_bench(1);

	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < N; i += 10)
		add(b, i, i + 10);
	wait_on(&executed, 40);
	pthread_mutex_unlock(&b->lock);
	wait_on(&told, N);
	pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(b->told[i], i);
	pthread_mutex_unlock(&b->lock);
	emu_workers_finish(&b->w);
	expect_each_once(b, N);
	emu_workers_init(&b->w, &b->lock, on_slice, b);
	close_bench(b);
}

static void test_several_workers_execute_each_job_once(void **state)
{
	struct bench *b = open_bench(4);

	for (unsigned i = 0; i < N; i += 10)
		add(b, i, i + 10);
	wait_on(&told, N);
	emu_workers_finish(&b->w);
	expect_each_once(b, N);
	emu_workers_init(&b->w, &b->lock, on_slice, b);
	close_bench(b);
}

/* Ten of these blocks are as long as a worker keeps what memory is to have, and the last are told as soon as there are no others. */
static void test_blocks_that_combine_are_told_together_and_not_for_ever(void **state)
{
	struct bench *b = open_bench(1);

	b->cmd.run = run_counting;
	counted[0] = 0;
	add(b, 0, 45);
	wait_on(&told, 45);
	emu_workers_finish(&b->w);
	expect_each_once(b, 45);
	assert_int_equal(counted[0], 45);
	assert_int_equal(b->n_last, 5);
	emu_workers_init(&b->w, &b->lock, on_slice, b);
	close_bench(b);
}

/* It is taken out of the list, or a worker has it and will tell. */
static void test_a_job_that_a_worker_has_is_not_taken_back(void **state)
{
	struct bench *b = open_bench(1);

	pthread_mutex_lock(&b->lock);
	add(b, 0, 1);
	wait_on(&executed, 1);
	assert_false(emu_worker_remove(&b->w, &b->jobs[0]));
	pthread_mutex_unlock(&b->lock);
	wait_on(&told, 1);
	emu_workers_finish(&b->w);
	emu_workers_init(&b->w, &b->lock, on_slice, b); /* without threads */
	add(b, 1, 3);
	assert_true(emu_worker_remove(&b->w, &b->jobs[1]));
	assert_ptr_equal(TAILQ_FIRST(&b->w.ready), &b->jobs[2]);
	assert_true(emu_worker_remove(&b->w, &b->jobs[2]));
	assert_true(TAILQ_EMPTY(&b->w.ready));
	assert_int_equal(b->w.n_ready, 0);
	close_bench(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_blocks_are_executed_while_the_clock_is_busy),
		cmocka_unit_test(test_what_was_executed_is_told_once_and_in_order),
		cmocka_unit_test(test_several_workers_execute_each_job_once),
		cmocka_unit_test(test_blocks_that_combine_are_told_together_and_not_for_ever),
		cmocka_unit_test(test_a_job_that_a_worker_has_is_not_taken_back),
	};

	return cmocka_run_group_tests_name("emu_hands", tests, NULL, NULL);
}
