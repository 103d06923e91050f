/*
 * test_beside.c - two and three kernels on the same SMs, from how each gets on with the probes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/input/beside.h"
#include "model/time/three.h"

#define N 3

/* Three that all met, a quarter or a half for the older one; speeds of all sizes. */
static struct gsb_profiles *profiles(void)
{
	static const double alone[N][3] = {{0.3, 0.6, 0.9}, {0.5, 0.8, 0.9}, {0.9, 1, 1}};
	struct gsb_text_error err;
	struct gsb_profiles *p;
	char text[4096] = "";

	for (unsigned i = 0; i < N * N * 2; i++) {
		unsigned older = i / 6, younger = i / 2 % 3, half = i % 2;
		double a = alone[older][half], b = alone[younger][2 - half];
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len,
			 "%c,%c\t%s\t%.6f,%.6f\t0,0\t%.6f,%.6f\t-\t1.5\n", 'a' + older,
			 'a' + younger, half ? "2,2" : "1,3", a * (0.95 - 0.1 * younger),
			 b * (0.9 - 0.2 * older - 0.1 * younger - 0.1 * half), a, b);
	}
	if (gsb_profiles_read(text, strlen(text), &p, &err))
		fail_msg("line %u: %s", err.line, err.what);
	assert_int_equal(gsb_profiles_n_probes(p), N);
	return p;
}

/* As they are predicted in a division; 0: a quarter for the older one. */
static struct gsb_encounter pair(const struct gsb_profiles *p, uint32_t older, uint32_t younger,
				 uint32_t division, double alone[2])
{
	struct gsb_encounter e;

	gsb_profiles_predict(p, older, younger, division, &e, alone);
	return e;
}

static void assert_near(double is, double should)
{
	if (!(fabs(is - should) < 1e-9))
		fail_msg("%.12f instead of %.12f", is, should);
}

static void test_one_is_as_fast_as_it_was_alone(void **state)
{
	static const double points[][2] = {{0.125, 0.15}, {0.25, 0.3},	 {0.375, 0.45}, {0.5, 0.6},
					   {0.75, 0.9},	  {0.875, 0.95}, {1, 1}};
	struct gsb_profiles *p = profiles();

	for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++) {
		struct gsb_beside_set set = {1, {0}, {points[i][0]}};
		double speeds[GSB_BESIDE_MAX];

		gsb_beside_speeds(p, &set, speeds);
		assert_near(speeds[0], points[i][1]);
		assert_near(gsb_beside_makespan(p, &set), 1 / points[i][1]);
	}
	gsb_profiles_free(p);
}

static void test_two_in_a_division_are_as_predicted_there(void **state)
{
	struct gsb_profiles *p = profiles();

	for (uint32_t division = 0; division < 2; division++) {
		double part = gsb_profiles_share(p, division), alone[2], speeds[GSB_BESIDE_MAX];
		struct gsb_encounter e = pair(p, 1, 2, division, alone);

		gsb_beside_speeds(p, &(struct gsb_beside_set){2, {1, 2}, {part, 1 - part}}, speeds);
		assert_near(speeds[0], e.older * alone[0]);
		assert_near(speeds[1], e.younger * alone[1]);
	}
	gsb_profiles_free(p);
}

/* With half of the rest it is slower alone, and loses of that what the older one does not leave; who costs the older one has half of the blocks, too. */
static void test_who_has_not_all_of_the_rest_loses_what_was_not_left_for_it(void **state)
{
	struct gsb_profiles *p = profiles();
	double alone[2], speeds[GSB_BESIDE_MAX];
	struct gsb_encounter e = pair(p, 2, 0, 1, alone);

	gsb_beside_speeds(p, &(struct gsb_beside_set){2, {2, 0}, {0.5, 0.25}}, speeds);
	assert_true(e.younger * alone[1] < 0.3); /* of the 0.3 that a quarter has alone */
	assert_near(speeds[1], e.younger * alone[1]);
	assert_near(speeds[0], 1 / (1 + (1 / e.older - 1) / 2));
	e = pair(p, 0, 1, 0, alone);
	gsb_beside_speeds(p, &(struct gsb_beside_set){2, {0, 1}, {0.25, 0.125}}, speeds);
	assert_true(e.younger * alone[1] > 0.25);
	assert_near(speeds[1], 0.25); /* there is more left than it takes */
	gsb_profiles_free(p);
}

static void test_three_follow_from_their_pairs(void **state)
{
	struct gsb_profiles *p = profiles();
	double alone[2], speeds[GSB_BESIDE_MAX], is[GSB_BESIDE_MAX];
	struct gsb_encounter cb = pair(p, 2, 1, 1, alone), ca, ba;
	struct gsb_three t = {.first_by = {1 / cb.older - 1}};

	t.by_first[0] = 0.5 / (cb.younger * alone[1]) - 1;
	ca = pair(p, 2, 0, 1, alone);
	t.first_by[1] = 1 / ca.older - 1;
	t.by_first[1] = 0.3 / (ca.younger * alone[1]) - 1;
	ba = pair(p, 1, 0, 0, alone);
	t.third_by_second = 1 / ba.younger - 1; /* which has a quarter */
	ba = pair(p, 1, 0, 1, alone);
	t.second_by_third = (1 / ba.older - 1) / 2; /* half of what a half costs it */
	assert_true(t.by_first[0] > 0 && t.by_first[1] > 0);
	gsb_three_speeds(&t, speeds);
	gsb_beside_speeds(p, &(struct gsb_beside_set){3, {2, 1, 0}, {0.5, 0.25, 0.25}}, is);
	assert_near(is[0], speeds[0] * 1);
	assert_near(is[1], speeds[1] * 0.5);
	assert_near(is[2], speeds[2] * 0.3);
	gsb_profiles_free(p);
}

static void test_what_the_oldest_leaves_is_for_two(void **state)
{
	struct gsb_three t = {{0}, {0}, 0, 0};
	double speeds[3];

	gsb_three_speeds(&t, speeds);
	for (unsigned i = 0; i < 3; i++)
		assert_near(speeds[i], 1);
	t = (struct gsb_three){{0.6, 0.3}, {1, 2}, 0.5, 3};
	gsb_three_speeds(&t, speeds);
	assert_near(speeds[0], 1 / 1.5);
	assert_near(speeds[1], 1 / 3.5);
	assert_near(speeds[2], 1 / 8.);
	t = (struct gsb_three){{-0.9, -0.9}, {0, 0}, -0.1, -0.9};
	gsb_three_speeds(&t, speeds);
	assert_near(speeds[0], 1 / 0.3);
	assert_near(speeds[1], 1 / 0.9);
	assert_near(speeds[2], 1 / 0.3);
}

/* Until the first has ended all are there, and so on; by hand, from the speeds of those that are left. */
static void test_makespan_goes_from_three_to_one(void **state)
{
	struct gsb_profiles *p = profiles();
	struct gsb_beside_set set = {3, {2, 1, 0}, {0.5, 0.35, 0.15}};
	double three[GSB_BESIDE_MAX], two[GSB_BESIDE_MAX], one[GSB_BESIDE_MAX], t3, t2, t1;

	gsb_beside_speeds(p, &set, three);
	gsb_beside_speeds(p, &(struct gsb_beside_set){2, {1, 0}, {0.35, 0.15}}, two);
	gsb_beside_speeds(p, &(struct gsb_beside_set){1, {0}, {0.15}}, one);
	assert_true(three[0] > three[1] && three[1] > three[2]);
	t3 = 1 / three[0];
	t2 = (1 - t3 * three[1]) / two[0];
	t1 = (1 - t3 * three[2] - t2 * two[1]) / one[0];
	assert_true(t2 > 0 && t1 > 0);
	assert_near(gsb_beside_makespan(p, &set), t3 + t2 + t1);
	gsb_profiles_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_is_as_fast_as_it_was_alone),
		cmocka_unit_test(test_two_in_a_division_are_as_predicted_there),
		cmocka_unit_test(test_who_has_not_all_of_the_rest_loses_what_was_not_left_for_it),
		cmocka_unit_test(test_three_follow_from_their_pairs),
		cmocka_unit_test(test_what_the_oldest_leaves_is_for_two),
		cmocka_unit_test(test_makespan_goes_from_three_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
