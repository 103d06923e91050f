/*
 * test_litmus.c - the memory model of PTX on the emulated device, with 1, 2 and 4 workers: no outcome that
 * the model forbids, no torn value; litmus.def and programs.def have the tests. What was seen is printed with
 * GSB_CHECK_LONG, which also makes 100,000 instances of each.
 *
 * Usage: test_litmus [WORDS ...]: only the tests whose names have one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/litmus/emu.h"

static char **words;

static bool is_asked_for(const char *name)
{
	for (char **w = words; *w; w++) {
		if (strstr(name, *w))
			return true;
	}
	return !*words;
}

/* A sanitizer looks at accesses, not at orders, and takes its time. */
static bool is_long(void)
{
#ifdef __SANITIZE_ADDRESS__
	return false;
#else
	return getenv("GSB_CHECK_LONG");
#endif
}

struct sum {
	unsigned int n_cases, n_bad, n_weak;
	uint64_t n;
};

static void tell(const char *name, const struct litmus_case *c, const struct litmus_result *r)
{
	char text[4096];

	litmus_histogram_print(&r->seen, text, sizeof(text));
	printf("%-48s %s%s\n", name, text, c->row->weak[0] && r->n_weak ? " (weak seen)" : "");
}

static void judge(const struct litmus_case *c, const struct litmus_result *r, const char *name,
		  struct sum *sum)
{
	const char *what = r->n_forbidden   ? "forbidden"
			   : r->n_torn	    ? "torn"
			   : !r->n_witness  ? "no witness"
			   : r->seen.n_lost ? "too many outcomes"
					    : NULL;

	sum->n_cases++;
	sum->n += r->n;
	sum->n_weak += r->n_weak != 0;
	sum->n_bad += what != NULL;
	if (what)
		print_error("%s: %s (%s; witness %s); %s\n", name, what, c->row->forbidden,
			    c->row->witness, c->row->why);
	if (what || is_long())
		tell(name, c, r);
}

/* Each push: a twelfth of the cases, others for each number of workers; most rows have two dozen. */
static bool is_in_turn(unsigned int nth, unsigned int n_workers)
{
	return is_long() || nth % 12 == n_workers;
}

static void run_cases(unsigned int n_workers)
{
	struct litmus_case c = {0};
	struct litmus_emu m;
	struct sum sum = {0};
	unsigned int nth = 0;

	litmus_emu_open(&m, n_workers);
	while (litmus_next_case(&c)) {
		static struct litmus_result r;
		char name[128];

		litmus_case_name(&c, name, sizeof(name));
		if (!is_asked_for(name) || (!*words && !is_in_turn(nth++, n_workers)))
			continue;
		if (litmus_run(&m.base, &c, is_long() ? 100000 : 2048, 1 + n_workers, &r)) {
			judge(&c, &r, name, &sum);
		} else {
			print_error("%s: %s\n", name, r.log);
			sum.n_bad++;
		}
	}
	litmus_emu_close(&m);
	printf("%u workers: %u cases, %llu instances, weak outcomes in %u cases, %u bad\n",
	       n_workers, sum.n_cases, (unsigned long long)sum.n, sum.n_weak, sum.n_bad);
	assert_int_equal(sum.n_bad, 0);
}

static void test_litmus_one_worker_never_sees_what_is_forbidden(void **state)
{
	run_cases(1);
}

static void test_litmus_two_workers_never_see_what_is_forbidden(void **state)
{
	run_cases(2);
}

static void test_litmus_four_workers_never_see_what_is_forbidden(void **state)
{
	run_cases(4);
}

static void run_tasks(unsigned int n_workers)
{
	struct litmus_emu m;
	unsigned int n_bad = 0;

	litmus_emu_open(&m, n_workers);
	for (unsigned int i = 0; i < litmus_n_tasks; i++) {
		const struct litmus_task *t = &litmus_tasks[i];
		char log[512] = "";
		uint64_t n;

		if (!is_asked_for(t->name))
			continue;
		if (litmus_task_run(&m.base, t, is_long() ? 100000 : 512, &n, log, sizeof(log)))
			continue;
		print_error("%s, %u workers: %s; %s\n", t->name, n_workers, log, t->why);
		n_bad++;
	}
	litmus_emu_close(&m);
	assert_int_equal(n_bad, 0);
}

static void test_programs_of_locks_barriers_and_counters_hold_on_one_worker(void **state)
{
	run_tasks(1);
}

static void test_programs_of_locks_barriers_and_counters_hold_on_two_workers(void **state)
{
	run_tasks(2);
}

static void test_programs_of_locks_barriers_and_counters_hold_on_four_workers(void **state)
{
	run_tasks(4);
}

static void test_rows_are_spelt_and_name_what_they_have(void **state)
{
	for (unsigned int i = 0; i < litmus_n_rows; i++) {
		const struct litmus_row *r = &litmus_rows[i];
		struct litmus_program p;
		const char *at;

		if (!litmus_parse(r->threads, &p, &at))
			fail_msg("%s: '%s'", r->name, at);
		if (!litmus_condition_ok(&p, r->forbidden) || !litmus_condition_ok(&p, r->weak) ||
		    !litmus_condition_ok(&p, r->witness))
			fail_msg("%s: a condition", r->name);
		assert_true(r->forbidden[0] || r->weak[0]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_spelt_and_name_what_they_have),
		cmocka_unit_test(test_litmus_one_worker_never_sees_what_is_forbidden),
		cmocka_unit_test(test_litmus_two_workers_never_see_what_is_forbidden),
		cmocka_unit_test(test_litmus_four_workers_never_see_what_is_forbidden),
		cmocka_unit_test(test_programs_of_locks_barriers_and_counters_hold_on_one_worker),
		cmocka_unit_test(test_programs_of_locks_barriers_and_counters_hold_on_two_workers),
		cmocka_unit_test(test_programs_of_locks_barriers_and_counters_hold_on_four_workers),
	};

	words = argv + (argc > 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
