/*
 * test_waiting_trace.c - whose engines offer their events to LTTng from their beginning: those of who asked for it, all of them if
 * he may trace all, until he takes it back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "broker/supervisor/waiting_trace.h"

static void test_wish_is_for_ones_own_engines(void **state)
{
	struct gsb_lttng_wishes w = {0};

	assert_false(gsb_lttng_wishes_want(&w, 7));
	assert_int_equal(gsb_lttng_wishes_add(&w, 7, false), 0);
	assert_true(gsb_lttng_wishes_has(&w, 7));
	assert_true(gsb_lttng_wishes_want(&w, 7));
	assert_false(gsb_lttng_wishes_has(&w, 8));
	assert_false(gsb_lttng_wishes_want(&w, 8));
}

static void test_wish_of_who_may_trace_all_is_for_all(void **state)
{
	struct gsb_lttng_wishes w = {0};

	assert_int_equal(gsb_lttng_wishes_add(&w, 7, false), 0);
	assert_int_equal(gsb_lttng_wishes_add(&w, 0, true), 0);
	assert_true(gsb_lttng_wishes_want(&w, 8));
	assert_false(gsb_lttng_wishes_has(&w, 8));
}

static void test_wish_that_is_taken_back_leaves_the_others(void **state)
{
	struct gsb_lttng_wishes w = {0};

	for (uid_t uid = 1; uid <= 3; uid++)
		assert_int_equal(gsb_lttng_wishes_add(&w, uid, false), 0);
	assert_int_equal(gsb_lttng_wishes_add(&w, 1, false), 0); /* once is enough */
	assert_true(gsb_lttng_wishes_remove(&w, 1));
	assert_false(gsb_lttng_wishes_remove(&w, 1));
	assert_false(gsb_lttng_wishes_want(&w, 1));
	assert_true(gsb_lttng_wishes_want(&w, 2));
	assert_true(gsb_lttng_wishes_want(&w, 3));
}

static void test_wish_of_too_many_is_refused(void **state)
{
	struct gsb_lttng_wishes w = {0};

	for (uid_t uid = 0; uid < GSB_LTTNG_WISHES_MAX; uid++)
		assert_int_equal(gsb_lttng_wishes_add(&w, uid, false), 0);
	assert_int_equal(gsb_lttng_wishes_add(&w, GSB_LTTNG_WISHES_MAX, false), -ENOSPC);
	assert_int_equal(gsb_lttng_wishes_add(&w, 5, true), 0);
	assert_true(gsb_lttng_wishes_remove(&w, 9));
	assert_int_equal(gsb_lttng_wishes_add(&w, GSB_LTTNG_WISHES_MAX, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wish_is_for_ones_own_engines),
		cmocka_unit_test(test_wish_of_who_may_trace_all_is_for_all),
		cmocka_unit_test(test_wish_that_is_taken_back_leaves_the_others),
		cmocka_unit_test(test_wish_of_too_many_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
