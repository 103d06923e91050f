/*
 * test_speeds.c - what tenants had of a device beside each other (tools/compare/speeds.h), and how their loads are written (loads.h).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/compare/loads.h"
#include "tools/compare/speeds.h"

#define A_LITTLE 1e-9

#define assert_near(value, wanted, far) assert_true(fabs((value) - (wanted)) <= (far))

/* One that begins then and goes on evenly to the end. */
static struct gsb_progress_of even(double begin, double took, double alone)
{
	struct gsb_progress_of p = {.asked = begin, .begin = begin, .alone = alone};

	for (unsigned i = 1; i <= GSB_LOOP_STEPS; i++)
		p.at[i] = took * i / GSB_LOOP_STEPS;
	return p;
}

static void test_progress_done_between_steps_is_the_line_between_them(void **state)
{
	struct gsb_progress_of p = even(10, 200, 100);

	assert_near(gsb_progress_done(&p, 5), 0, A_LITTLE);
	assert_near(gsb_progress_done(&p, 10), 0, A_LITTLE);
	assert_near(gsb_progress_done(&p, 15), 0.025, A_LITTLE);
	assert_near(gsb_progress_done(&p, 110), 0.5, A_LITTLE);
	assert_near(gsb_progress_done(&p, 210), 1, A_LITTLE);
	assert_near(gsb_progress_done(&p, 1000), 1, A_LITTLE);
}

static void test_speeds_of_two_alike_are_halves_until_the_first_ends(void **state)
{
	struct gsb_progress_of p[] = {even(0, 400, 200), even(0, 200, 100)};
	struct gsb_loop_speeds s = gsb_loop_speeds_make(p, 2, 0);

	assert_true(s.together);
	assert_near(s.makespan, 400, A_LITTLE);
	assert_near(s.speed[0], 0.5, A_LITTLE);
	assert_near(s.speed[1], 0.5, A_LITTLE);
	assert_near(s.before[0] + s.before[1], 0, A_LITTLE);
}

static void test_speeds_of_one_that_comes_later_count_from_then_on(void **state)
{
	struct gsb_progress_of p[] = {even(0, 1000, 800), even(500, 250, 100)};
	struct gsb_loop_speeds s;

	/* Half of its work in 100 ms, at once as fast as alone; the rest beside the other. */
	for (unsigned i = 1; i <= GSB_LOOP_STEPS; i++)
		p[0].at[i] = i <= 10 ? 50 * i : 500 + 100 * (i - 10);
	s = gsb_loop_speeds_make(p, 2, 0);
	assert_near(s.before[0], 0.8, A_LITTLE);
	assert_near(s.speed[0], 0.4, A_LITTLE);
	assert_near(s.speed[1], 0.4, A_LITTLE);
	assert_near(s.makespan, 1500, A_LITTLE);
}

static void test_speeds_of_one_that_has_to_wait_count_from_its_asking(void **state)
{
	struct gsb_progress_of p[] = {even(0, 100, 100), even(80, 100, 100)};
	struct gsb_loop_speeds s;

	p[1].asked = 0;
	s = gsb_loop_speeds_make(p, 2, 0);
	assert_near(s.speed[0], 1, A_LITTLE);
	assert_near(s.speed[1], 0.2, A_LITTLE);
	assert_near(s.least[1], 0, A_LITTLE);
	assert_near(s.makespan, 180, A_LITTLE);
}

static void test_least_speed_is_that_of_the_worst_window(void **state)
{
	struct gsb_progress_of p[] = {even(0, 2000, 1000), even(0, 2000, 1000)};
	struct gsb_loop_speeds s;

	/* The sixth step takes as long as ten, which those behind it make good. */
	for (unsigned i = 6; i <= GSB_LOOP_STEPS; i++)
		p[0].at[i] = 1500 + (i - 6) * 500.0 / 14;
	s = gsb_loop_speeds_make(p, 2, 500);
	assert_near(s.speed[0], 0.5, A_LITTLE);
	assert_near(s.least[0], 0.05 * 0.5 * 1000 / 500, A_LITTLE);
	assert_near(s.least[1], 0.5, A_LITTLE);
}

static void test_speeds_of_those_who_never_meet_are_none(void **state)
{
	struct gsb_progress_of p[] = {even(0, 100, 100), even(200, 100, 100)};
	struct gsb_loop_speeds s = gsb_loop_speeds_make(p, 2, 0);

	assert_false(s.together);
	assert_near(s.makespan, 300, A_LITTLE);
	assert_near(s.speed[0] + s.speed[1], 0, A_LITTLE);
}

static void test_load_parse_takes_what_is_said_and_else_what_is_usual(void **state)
{
	struct gsb_tenant_load l;

	assert_null(gsb_load_parse("lds:18000:1+fma+sfu:500:2:300:50", 3500, 1500, &l));
	assert_int_equal(l.n, 3);
	assert_string_equal(l.of[0].kind, "lds");
	assert_int_equal(l.of[0].us, 18000);
	assert_int_equal(l.of[0].rounds, 1);
	assert_int_equal(l.of[0].delay_ms, 0);
	assert_int_equal(l.of[1].us, 3500);
	assert_int_equal(l.of[1].rounds, 8);
	assert_int_equal(l.of[1].weight, 100);
	assert_int_equal(l.of[2].weight, 300);
	assert_int_equal(l.of[2].delay_ms, 1500);
	assert_int_equal(l.of[1].slowdown_percent, 0);
	assert_int_equal(l.of[2].slowdown_percent, 50);
}

static void test_load_parse_of_nonsense_says_what_is_wrong(void **state)
{
	static const char *const wrong[] = {"",
					    "fma+",
					    "fma:0",
					    "fma:x",
					    "fma:1:2:3:4:5",
					    "fma:1:2:3:0",
					    "fma:1:1:10001",
					    "fma+fma+fma+fma+fma+fma+fma+fma+fma"};
	struct gsb_tenant_load l;

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(gsb_load_parse(wrong[i], 1, 0, &l));
}

static void test_load_at_starvation_goes_over_kinds_and_both_weights(void **state)
{
	struct gsb_tenant_load l;
	unsigned n = 0, heavy = 0;

	for (; gsb_load_at(GSB_STARVATION, n, 3500, 1500, &l); n++) {
		assert_int_equal(l.n, 2);
		assert_string_equal(l.of[0].kind, l.of[1].kind);
		assert_int_equal(l.of[0].us, 5 * 3500);
		assert_int_equal(l.of[1].delay_ms, 1500);
		heavy += l.of[1].weight == 300;
	}
	assert_int_equal(n, 8);
	assert_int_equal(heavy, 4);
}

static void test_load_at_limits_goes_over_limits_of_the_first(void **state)
{
	static const unsigned limits[] = {0, 100, 50, 20};
	struct gsb_tenant_load l;
	unsigned n = 0;

	for (; gsb_load_at(GSB_LIMITS, n, 3500, 1500, &l); n++) {
		assert_int_equal(l.n, 4);
		assert_string_equal(l.of[0].kind, "lds");
		for (unsigned i = 0; i < l.n; i++) {
			assert_int_equal(l.of[i].slowdown_percent, i ? 0 : limits[n]);
			assert_int_equal(l.of[i].delay_ms, 0);
		}
	}
	assert_int_equal(n, 4);
}

static void test_load_at_critical_has_a_service_beside_four(void **state)
{
	struct gsb_tenant_load l;

	assert_true(gsb_load_at(GSB_CRITICAL, 0, 3500, 1500, &l));
	assert_false(gsb_load_at(GSB_CRITICAL, 1, 3500, 1500, &(struct gsb_tenant_load){0}));
	assert_int_equal(l.n, 5);
	for (unsigned i = 0; i < l.n; i++)
		assert_int_equal(l.of[i].critical, i == 4);
	assert_int_equal(l.of[4].us, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress_done_between_steps_is_the_line_between_them),
		cmocka_unit_test(test_speeds_of_two_alike_are_halves_until_the_first_ends),
		cmocka_unit_test(test_speeds_of_one_that_comes_later_count_from_then_on),
		cmocka_unit_test(test_speeds_of_one_that_has_to_wait_count_from_its_asking),
		cmocka_unit_test(test_least_speed_is_that_of_the_worst_window),
		cmocka_unit_test(test_speeds_of_those_who_never_meet_are_none),
		cmocka_unit_test(test_load_parse_takes_what_is_said_and_else_what_is_usual),
		cmocka_unit_test(test_load_parse_of_nonsense_says_what_is_wrong),
		cmocka_unit_test(test_load_at_starvation_goes_over_kinds_and_both_weights),
		cmocka_unit_test(test_load_at_limits_goes_over_limits_of_the_first),
		cmocka_unit_test(test_load_at_critical_has_a_service_beside_four),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
