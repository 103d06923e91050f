/*
 * test_starts.c - whose engine may start: a few at once, and those without room after a pause.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "broker/supervisor/starts.h"

#define PAUSE_NS (GSB_STARTS_PAUSE_MS * 1000000ull)

static struct gsb_loop loop;
static struct gsb_starts starts;
static struct gsb_start engines[6];
static char order[32]; /* a digit for each turn */

static void on_turn(struct gsb_starts *all, struct gsb_start *s)
{
	size_t n = strlen(order);

	assert_int_equal(s->state, GSB_START_UNDER_WAY);
	order[n] = (char)('0' + (s - engines));
	order[n + 1] = 0;
}

static void stop(struct gsb_timer *t)
{
	gsb_loop_stop(&loop);
}

/* Let whatever is due happen for so long. */
static void run_for(uint64_t ms)
{
	struct gsb_timer end = {.on_time = stop};

	loop.stopped = false;
	gsb_timer_set(&loop, &end, ms);
	assert_int_equal(gsb_loop_run(&loop), 0);
	gsb_timer_clear(&loop, &end);
}

static void expect_order(const char *expected)
{
	run_for(5);
	assert_string_equal(order, expected);
}

static int set_up(void **state)
{
	memset(engines, 0, sizeof(engines));
	*order = 0;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(engines); i++)
		engines[i].spec = "cuda:0";
	if (gsb_loop_init(&loop))
		return -1;
	gsb_starts_init(&starts, &loop, on_turn);
	return 0;
}

static int tear_down(void **state)
{
	gsb_loop_finish(&loop);
	return 0;
}

static void add_all(void)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(engines); i++)
		gsb_starts_add(&starts, &engines[i]);
}

static void test_a_few_start_at_once_in_the_order_they_came(void **state)
{
	add_all();
	expect_order("0123");
	gsb_starts_over(&starts, &engines[2]);
	expect_order("01234");
	gsb_starts_over(&starts, &engines[0]);
	gsb_starts_over(&starts, &engines[1]);
	expect_order("012345");
}

static void test_devices_do_not_wait_for_each_other(void **state)
{
	engines[5].spec = "cuda:1";
	add_all();
	expect_order("01235");
}

static void test_who_is_not_wanted_any_more_has_no_turn(void **state)
{
	add_all();
	gsb_starts_over(&starts, &engines[1]);
	expect_order("0234");
	gsb_starts_over(&starts, &engines[1]); /* it is none */
	expect_order("0234");
}

static void test_who_waits_already_waits_once(void **state)
{
	gsb_starts_add(&starts, &engines[0]);
	gsb_starts_add(&starts, &engines[0]);
	expect_order("0");
	gsb_starts_add(&starts, &engines[0]);
	expect_order("0");
}

static void test_who_found_no_room_comes_again_after_a_pause_before_all_others(void **state)
{
	uint64_t from = gsb_clock_ns();

	gsb_starts_add(&starts, &engines[0]);
	expect_order("0");
	assert_true(gsb_starts_again(&starts, &engines[0]));
	gsb_starts_add(&starts, &engines[1]);
	engines[5].spec = "cuda:1";
	gsb_starts_add(&starts, &engines[5]);
	expect_order("05");
	while (strlen(order) == 2)
		run_for(1);
	assert_true(gsb_clock_ns() - from >= PAUSE_NS);
	expect_order("0501");
}

static void test_pause_ends_when_there_may_be_room(void **state)
{
	gsb_starts_add(&starts, &engines[0]);
	expect_order("0");
	assert_true(gsb_starts_again(&starts, &engines[0]));
	gsb_starts_hurry(&starts, "cuda:1");
	expect_order("0");
	gsb_starts_hurry(&starts, "cuda:0");
	expect_order("00");
}

static void test_who_finds_no_room_too_often_is_told(void **state)
{
	unsigned n = 0;

	gsb_starts_add(&starts, &engines[0]);
	run_for(1);
	while (gsb_starts_again(&starts, &engines[0])) {
		gsb_starts_hurry(&starts, "cuda:0");
		run_for(1);
		n++;
	}
	assert_int_equal(n, GSB_STARTS_TRIES - 1);
	assert_int_equal(engines[0].state, GSB_START_UNDER_WAY);
	gsb_starts_over(&starts, &engines[0]);
	gsb_starts_add(&starts, &engines[0]);
	run_for(1);
	assert_true(gsb_starts_again(&starts, &engines[0])); /* another start, another count */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_few_start_at_once_in_the_order_they_came,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_devices_do_not_wait_for_each_other, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_who_is_not_wanted_any_more_has_no_turn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_who_waits_already_waits_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_who_found_no_room_comes_again_after_a_pause_before_all_others, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_pause_ends_when_there_may_be_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_who_finds_no_room_too_often_is_told, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
