/*
 * test_queueing.c - what a kernel waits for another one that keeps a unit full, by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "model/time/queueing.h"

/* As many warps as another one of these, queued for all of a unit. */
static struct gsb_resident queued(enum gsb_unit unit, double requests)
{
	struct gsb_resident r = {.in_flight = .5, .backlog = 1};

	r.demand[unit] = 1;
	r.demand[GSB_UNIT_REQUESTS] = requests;
	return r;
}

static void assert_wait(const struct gsb_resident *k, const struct gsb_resident *by, bool older,
			double want)
{
	double wait = gsb_queueing_wait(k, by, gsb_unit_most_wanted(by->demand), older);

	if (!(fabs(wait - want) < 1e-9))
		fail_msg("%g, expected %g", wait, want);
}

static void test_most_wanted_is_no_request(void **state)
{
	double units[GSB_N_UNITS] = {[GSB_UNIT_SHARED] = .5, [GSB_UNIT_REQUESTS] = .9};

	assert_int_equal(gsb_unit_most_wanted(units), GSB_UNIT_SHARED);
	units[GSB_UNIT_DOWN] = .6;
	assert_int_equal(gsb_unit_most_wanted(units), GSB_UNIT_DOWN);
	units[GSB_UNIT_DENSE] = .6; /* of equal ones the first */
	assert_int_equal(gsb_unit_most_wanted(units), GSB_UNIT_DENSE);
}

static void test_place_is_one_for_units_that_are_one(void **state)
{
	assert_int_equal(gsb_unit_place(GSB_UNIT_DENSE), gsb_unit_place(GSB_UNIT_ISSUE));
	assert_int_equal(gsb_unit_place(GSB_UNIT_L1), gsb_unit_place(GSB_UNIT_SHARED));
	assert_int_equal(gsb_unit_place(GSB_UNIT_CHAIN), gsb_unit_place(GSB_UNIT_L2));
	assert_int_not_equal(gsb_unit_place(GSB_UNIT_DRAM), gsb_unit_place(GSB_UNIT_L2));
	assert_int_not_equal(gsb_unit_place(GSB_UNIT_ALU), gsb_unit_place(GSB_UNIT_ISSUE));
}

/* Ten requests of the one in the time in which the other has one: each waits for a part of that one, whatever it asks for. */
static void test_queueing_wait_behind_memory_is_by_requests(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_L2, .01), k = queued(GSB_UNIT_SHARED, .1);

	assert_wait(&k, &by, true, .3 * 10);
	assert_wait(&k, &by, false, 1.4 * 10);
	k = queued(GSB_UNIT_DENSE, .001);
	assert_wait(&k, &by, false, .14);
	by = queued(GSB_UNIT_DRAM, .01);
	assert_wait(&k, &by, false, .14);
}

/* More of its warps are before one of mine. */
static void test_queueing_wait_grows_with_the_warps_of_the_other(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_L2, .01), k = queued(GSB_UNIT_SHARED, .01);

	by.in_flight = .75;
	k.in_flight = .25;
	assert_wait(&k, &by, false, 3 * 1.4);
	by.in_flight = 0; /* not known */
	assert_wait(&k, &by, false, 1.4);
}

static void test_queueing_wait_is_for_who_has_a_backlog(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_L2, .01), k = queued(GSB_UNIT_SHARED, .01);

	by.backlog = .5;
	assert_wait(&k, &by, false, .7);
	by.backlog = 0;
	assert_wait(&k, &by, false, 0);
	assert_wait(&k, &by, true, 0);
}

/* A unit of the SM is the older one's, but for a turn in 200. */
static void test_queueing_wait_of_the_younger_is_for_a_turn(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_SFU, .01), k = queued(GSB_UNIT_L2, .1);

	assert_wait(&k, &by, false, 0);
	k.demand[GSB_UNIT_SFU] = .1;
	assert_wait(&k, &by, false, 20);
	assert_wait(&k, &by, true, 0);
}

/* Shared memory and the L1 stand behind the queue of requests, in which others have to stand as well. */
static void test_queueing_wait_for_shared_memory_is_for_all_requests(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_SHARED, .9), k = queued(GSB_UNIT_L2, .02);

	assert_wait(&k, &by, false, 4);
	by = queued(GSB_UNIT_L1, .6);
	assert_wait(&k, &by, false, 4);
	by = queued(GSB_UNIT_BARRIER, .6);
	assert_wait(&k, &by, false, 0);
}

/* Who never stalls never waits for slots; who does pays for those that others take. */
static void test_queueing_wait_for_slots_is_for_who_stalls(void **state)
{
	struct gsb_resident by = queued(GSB_UNIT_DENSE, .01), k = queued(GSB_UNIT_DENSE, .01);

	assert_wait(&k, &by, false, 0);
	assert_wait(&k, &by, true, 0);
	k = queued(GSB_UNIT_L2, .01);
	k.demand[GSB_UNIT_ISSUE] = .2;
	assert_wait(&k, &by, false, 40);
	assert_wait(&k, &by, true, .2);
	by = queued(GSB_UNIT_SFU, .01);
	by.demand[GSB_UNIT_ISSUE] = .5;
	assert_wait(&k, &by, true, .1);
	by.backlog = 0;
	assert_wait(&k, &by, true, .1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most_wanted_is_no_request),
		cmocka_unit_test(test_place_is_one_for_units_that_are_one),
		cmocka_unit_test(test_queueing_wait_behind_memory_is_by_requests),
		cmocka_unit_test(test_queueing_wait_grows_with_the_warps_of_the_other),
		cmocka_unit_test(test_queueing_wait_is_for_who_has_a_backlog),
		cmocka_unit_test(test_queueing_wait_of_the_younger_is_for_a_turn),
		cmocka_unit_test(test_queueing_wait_for_shared_memory_is_for_all_requests),
		cmocka_unit_test(test_queueing_wait_for_slots_is_for_who_stalls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
