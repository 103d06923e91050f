/*
 * test_watchdog.c - the thread that sees when a turn of the engine does not end.
 *
 * A limit is a millisecond here; what a test waits for comes, however slow the machine is, and what must not come is looked for
 * where it would have come first. A turn in which this thread was kept from its processor is as long as that took: where it must
 * not have been, the case is made again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <sched.h>
#include <semaphore.h>

#include "base/clock.h"
#include "broker/engine/watchdog.h"

#define LIMIT_NS 1000000

/* What the watchdog reads is further by this. */
static _Atomic uint64_t stopped_ns;

uint64_t __real_gsb_clock_ns(void);
uint64_t __wrap_gsb_clock_ns(void);

uint64_t __wrap_gsb_clock_ns(void)
{
	return __real_gsb_clock_ns() + stopped_ns;
}

static sem_t stuck;
static uint64_t longest_ns; /* of the turns since start() */

static void on_stuck(void *arg)
{
	assert_ptr_equal(arg, &stuck);
	sem_post(&stuck);
}

static void start(struct gsb_watchdog *w, uint64_t limit_ns)
{
	sem_init(&stuck, 0, 0);
	longest_ns = 0;
	assert_int_equal(gsb_watchdog_start(w, limit_ns, on_stuck, &stuck), 0);
}

static int n_told(void)
{
	int n;

	sem_getvalue(&stuck, &n);
	return n;
}

static void turn_of(struct gsb_watchdog *w, uint64_t ns)
{
	uint64_t from = gsb_clock_ns(), took_ns;

	gsb_watchdog_begin(w);
	while (gsb_clock_ns() - from < ns)
		sched_yield();
	gsb_watchdog_end(w);
	took_ns = gsb_clock_ns() - from;
	longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
}

static void turn(struct gsb_watchdog *w)
{
	turn_of(w, 0);
}

static void await_doze(struct gsb_watchdog *w)
{
	while (!w->dozing && !n_told())
		sched_yield();
}

static void test_watchdog_turn_that_does_not_end_is_told_once(void **state)
{
	struct gsb_watchdog w;

	start(&w, LIMIT_NS);
	turn(&w);
	gsb_watchdog_begin(&w);
	sem_wait(&stuck);
	gsb_watchdog_end(&w);
	turn(&w);
	gsb_watchdog_stop(&w);
	assert_int_equal(n_told(), 0);
}

/* It dozes only when it has seen nothing for a limit: a turn that had ended was not taken for one that had not. */
static void test_watchdog_turns_that_end_are_not_told(void **state)
{
	struct gsb_watchdog w;

	do {
		start(&w, LIMIT_NS);
		for (int i = 0; i < 3; i++) {
			turn(&w);
			await_doze(&w);
		}
		gsb_watchdog_stop(&w);
	} while (longest_ns > LIMIT_NS);
	assert_int_equal(n_told(), 0);
}

static void test_watchdog_that_dozes_is_woken_by_a_turn(void **state)
{
	struct gsb_watchdog w;

	start(&w, LIMIT_NS);
	await_doze(&w);
	gsb_watchdog_begin(&w);
	assert_false(w.dozing);
	sem_wait(&stuck);
	gsb_watchdog_end(&w);
	gsb_watchdog_stop(&w);
}

/* Turns for longer than a limit, and one that is long, but not so long. */
static void test_watchdog_many_turns_are_not_one(void **state)
{
	const uint64_t limit_ns = 100 * LIMIT_NS;
	struct gsb_watchdog w;

	do {
		uint64_t from = gsb_clock_ns();

		start(&w, limit_ns);
		while (gsb_clock_ns() - from < limit_ns + LIMIT_NS)
			turn(&w);
		turn_of(&w, limit_ns * 3 / 4);
		gsb_watchdog_stop(&w);
	} while (longest_ns > limit_ns);
	assert_int_equal(n_told(), 0);
}

static void await_real(uint64_t until_ns)
{
	while (__real_gsb_clock_ns() < until_ns)
		sched_yield();
}

/* The whole process was stopped for longer than a limit, in the middle of a turn that is short. */
static void test_watchdog_of_a_process_that_was_stopped(void **state)
{
	const uint64_t limit_ns = 100 * LIMIT_NS;
	struct gsb_watchdog w;
	uint64_t from, took_ns;

	do {
		start(&w, limit_ns);
		from = __real_gsb_clock_ns();
		gsb_watchdog_begin(&w);
		await_real(from + limit_ns * 2 / 5); /* it has seen that this turn began */
		stopped_ns += 10 * limit_ns;
		await_real(from + limit_ns * 4 / 5);
		gsb_watchdog_end(&w);
		took_ns = __real_gsb_clock_ns() - from;
		gsb_watchdog_stop(&w);
	} while (took_ns > limit_ns * 9 / 10);
	assert_int_equal(n_told(), 0);
}

static void test_watchdog_is_stopped_in_a_turn(void **state)
{
	struct gsb_watchdog w;

	start(&w, 3600ull * 1000000000);
	gsb_watchdog_begin(&w);
	gsb_watchdog_stop(&w);
	assert_int_equal(n_told(), 0);
}

static void test_watchdog_without_a_limit_watches_nothing(void **state)
{
	struct gsb_watchdog w;

	start(&w, 0);
	assert_false(w.started);
	gsb_watchdog_begin(&w);
	gsb_watchdog_end(&w);
	assert_int_equal(w.n_turns, 0);
	gsb_watchdog_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watchdog_turn_that_does_not_end_is_told_once),
		cmocka_unit_test(test_watchdog_turns_that_end_are_not_told),
		cmocka_unit_test(test_watchdog_that_dozes_is_woken_by_a_turn),
		cmocka_unit_test(test_watchdog_many_turns_are_not_one),
		cmocka_unit_test(test_watchdog_of_a_process_that_was_stopped),
		cmocka_unit_test(test_watchdog_is_stopped_in_a_turn),
		cmocka_unit_test(test_watchdog_without_a_limit_watches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
