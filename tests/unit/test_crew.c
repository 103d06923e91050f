/*
 * test_crew.c - threads that do a part of a copy: each job is done once, and all are when they are said to be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "interpose/core/crew.h"

#define N_ROUNDS 2000
#define N_USERS	 3

struct job {
	_Atomic unsigned n_done;
	pthread_t by;
};

static void do_job(void *arg)
{
	struct job *j = arg;

	j->by = pthread_self();
	atomic_fetch_add(&j->n_done, 1);
}

/* How many of n jobs other threads have done; all are done, once. */
static unsigned run(unsigned n)
{
	struct job jobs[1 + GSB_CREW_MAX] = {0};
	void *list[1 + GSB_CREW_MAX];
	unsigned n_others = 0;

	for (unsigned i = 0; i < n; i++)
		list[i] = &jobs[i];
	gsb_crew_run(do_job, list, n);
	for (unsigned i = 0; i < n; i++) {
		if (atomic_load(&jobs[i].n_done) != 1)
			return UINT32_MAX;
		n_others += !pthread_equal(jobs[i].by, pthread_self());
	}
	return n_others;
}

static void test_run_without_a_crew_does_all_itself(void **state)
{
	assert_int_equal(gsb_crew_hire(0), 0);
	assert_int_equal(run(1 + GSB_CREW_MAX), 0);
}

static void test_each_has_a_job_and_the_caller_one(void **state)
{
	assert_int_equal(gsb_crew_hire(2), 2);
	assert_int_equal(gsb_crew_hire(GSB_CREW_MAX), 2); /* there are no more from now on */
	assert_int_equal(gsb_crew_hire(1), 1);
	assert_int_equal(run(1), 0);
	assert_int_equal(run(2), 1);
	assert_int_equal(run(3), 2);
	assert_int_equal(run(4), 2);
}

static void *use(void *arg)
{
	for (int i = 0; i < N_ROUNDS; i++)
		if (run(1 + i % (1 + GSB_CREW_MAX)) == UINT32_MAX)
			return arg;
	return NULL;
}

static void test_several_users_get_all_their_jobs_done(void **state)
{
	pthread_t users[N_USERS];
	static char failed;
	void *wrong;

	for (int i = 0; i < N_USERS; i++)
		assert_int_equal(pthread_create(&users[i], NULL, use, &failed), 0);
	for (int i = 0; i < N_USERS; i++) {
		assert_int_equal(pthread_join(users[i], &wrong), 0);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_without_a_crew_does_all_itself),
		cmocka_unit_test(test_each_has_a_job_and_the_caller_one),
		cmocka_unit_test(test_several_users_get_all_their_jobs_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
