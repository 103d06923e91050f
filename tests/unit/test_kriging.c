/*
 * test_kriging.c - pairs of kernels from the probes that each is like.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/time/kriging.h"

#define N	  9
#define DIVISIONS 3
#define HALVES	  1

/* How a kernel with these wants gets on with another: by two units, of which the older one has more; and how much it minds what others do. */
struct wants {
	double memory, sm, minds;
};

/* The further on a division, the more the older one has of the SM. */
static struct gsb_encounter meet(struct wants a, struct wants b, uint32_t division)
{
	double memory = a.memory * b.memory, sm = a.sm * b.sm, more = 0.5 + 0.5 * division;

	return (struct gsb_encounter){
		exp(-a.minds * (0.3 * memory + 0.1 * sm) / more),
		exp(-b.minds * (1.2 * memory + 3 * sm + 2 * a.memory * b.sm) * more),
		exp(0.4 * memory + 0.6 * sm)};
}

static const struct wants probes[N] = {{1, 0, 1},     {0, 1, 1},     {0.5, 0.5, 1},
				       {0.9, 0.2, 1}, {0.1, 0.8, 1}, {0.7, 0.7, 1},
				       {0.3, 0.2, 1}, {0.2, 0.5, 1}, {0.6, 0.1, 1}};

static struct gsb_kriging kriging;

static void look_at_probes(void)
{
	struct gsb_encounter seen[DIVISIONS * N * N];
	uint32_t at = 0;

	for (uint32_t d = 0; d < DIVISIONS; d++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				seen[at++] = meet(probes[i], probes[j], d);
	assert_int_equal(gsb_kriging_init(&kriging, N, DIVISIONS, seen), 0);
}

static void take_profile(struct wants k, struct gsb_encounter older[DIVISIONS * N],
			 struct gsb_encounter younger[DIVISIONS * N])
{
	for (uint32_t d = 0; d < DIVISIONS; d++)
		for (int i = 0; i < N; i++) {
			older[d * N + i] = meet(k, probes[i], d);
			younger[d * N + i] = meet(probes[i], k, d);
		}
}

static struct gsb_encounter predict(struct wants a, struct wants b, uint32_t division)
{
	struct gsb_encounter of_a[DIVISIONS * N], of_b[DIVISIONS * N], unused[DIVISIONS * N], out;

	look_at_probes();
	take_profile(a, of_a, unused);
	take_profile(b, unused, of_b);
	assert_int_equal(gsb_kriging_predict(&kriging, division, of_a, of_b, &out), 0);
	return out;
}

static void assert_near(double is, double should, double factor)
{
	if (!(fabs(log(is / should)) <= log(factor)))
		fail_msg("%g for %g", is, should);
}

static void test_pairs_by_few_units_are_found_in_each_division(void **state)
{
	static const struct wants kernels[] = {
		{0.95, 0.05, 1}, {0.3, 0.9, 1}, {0.6, 0.4, 1}, {0.05, 0.95, 1}, {0.4, 0.3, 1}};

	for (uint32_t d = 0; d < DIVISIONS; d++)
		for (unsigned i = 0; i < 5; i++)
			for (unsigned j = 0; j < 5; j++) {
				struct gsb_encounter is = predict(kernels[i], kernels[j], d),
						     should = meet(kernels[i], kernels[j], d);

				assert_near(is.older, should.older, 1.05);
				assert_near(is.younger, should.younger, 1.15);
				assert_near(is.makespan, should.makespan, 1.1);
			}
}

static void test_order_counts(void **state)
{
	struct gsb_encounter is =
		predict((struct wants){0.2, 1, 1}, (struct wants){0.3, 0.9, 1}, HALVES);

	assert_true(is.older > 0.8);
	assert_true(is.younger < 0.07);
}

/* Who is a probe is as that probe, beside whomever. */
static void test_who_is_a_probe_goes_by_that(void **state)
{
	const struct wants other = {0.3, 0.9, 1};

	for (unsigned i = 0; i < N; i++) {
		struct gsb_encounter older = predict(probes[i], other, HALVES);
		struct gsb_encounter younger = predict(other, probes[i], HALVES);

		assert_near(older.older, meet(probes[i], other, HALVES).older, 1.02);
		assert_near(older.younger, meet(probes[i], other, HALVES).younger, 1.02);
		assert_near(younger.older, meet(other, probes[i], HALVES).older, 1.02);
		assert_near(younger.younger, meet(other, probes[i], HALVES).younger, 1.03);
	}
}

/* A kernel that loses what a probe loses, and everywhere half as much again, is like that probe; how much it loses is in its profile. */
static void test_who_minds_more_is_still_like_it(void **state)
{
	const struct wants a = {0.7, 0.6, 1}, b = {0.5, 0.5, 1.5};
	struct gsb_encounter is = predict(a, b, HALVES), should = meet(a, b, HALVES);

	assert_near(is.younger, should.younger, 1.12);
	assert_near(is.older, should.older, 1.03);
}

/* Makespans are not of this: the cross approximation of the division says them. */
static void test_makespans_are_those_of_the_cross_approximation(void **state)
{
	const struct wants a = {0.3, 0.8, 1}, b = {0.6, 0.4, 1};
	struct gsb_encounter of_a[DIVISIONS * N], of_b[DIVISIONS * N], unused[DIVISIONS * N], is,
		should;

	is = predict(a, b, 2);
	take_profile(a, of_a, unused);
	take_profile(b, unused, of_b);
	assert_int_equal(gsb_probes_predict(&kriging.divisions[2].cross, of_a + 2 * N, of_b + 2 * N,
					    &should),
			 0);
	assert_true(is.makespan == should.makespan);
	assert_true(is.younger != should.younger);
}

/* Two probes and two divisions, of which the first is asked for: the cross approximation, kriging of logarithms and that of sum and ratio have
 * been worked out apart from this program. */
static void test_two_probes_by_hand(void **state)
{
	const struct gsb_encounter seen[8] = {{0.8, 0.1, 2},   {1, 0.9, 1},	{1, 0.8, 1},
					      {0.9, 0.2, 2},   {0.6, 0.7, 1.1}, {0.9, 0.3, 1.2},
					      {0.5, 0.8, 1.3}, {1, 0.6, 1.4}};
	const struct gsb_encounter older[4] = {
		{0.7, 0.2, 1.5}, {1, 0.5, 1.2}, {0.6, 0.9, 1.1}, {0.3, 0.4, 1.9}};
	const struct gsb_encounter younger[4] = {
		{0.9, 0.3, 1.9}, {1, 1, 1.2}, {0.8, 0.9, 1.1}, {0.7, 0.2, 1.6}};
	struct gsb_encounter is;

	assert_int_equal(gsb_kriging_init(&kriging, 2, 2, seen), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, older, younger, &is), 0);
	assert_near(is.older, 0.851988588, 1.000001);
	assert_near(is.younger, 0.400503802, 1.000001);
}

/* One probe, and two of a kind, have no shape at all: still there are numbers. */
static void test_few_probes_give_numbers(void **state)
{
	struct gsb_encounter once = {0.4, 0.2, 1.8}, twice[4] = {once, once, once, once}, is;

	assert_int_equal(gsb_kriging_init(&kriging, 1, 1, &once), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, &once, &once, &is), 0);
	assert_near(is.older, 0.4, 1.2);
	assert_near(is.younger, 0.2, 1.3);
	assert_int_equal(gsb_kriging_init(&kriging, 2, 1, twice), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, twice, twice, &is), 0);
	assert_near(is.older, 0.4, 1.1);
	assert_near(is.younger, 0.2, 1.1);
}

/* Nobody is slower than can be measured; what was slower counts as that. */
static void test_who_starves_has_the_least_speed(void **state)
{
	const struct gsb_encounter half = {1, 0.3, 2},
				   other[4] = {{1, 0.3, 2}, {1, 0.1, 2}, {1, 0.2, 2}, {1, 0.4, 2}};
	const struct gsb_encounter starved[2] = {{1, 1e-9, 2}, {1, 0.1, 2}},
				   slow[2] = {{1, GSB_PROBES_LEAST, 2}, {1, 0.1, 2}};
	struct gsb_encounter is, should;

	assert_int_equal(gsb_kriging_init(&kriging, 1, 1, &half), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, starved, starved, &is), 0);
	assert_near(is.younger, GSB_PROBES_LEAST, 1.0001);
	assert_int_equal(gsb_kriging_init(&kriging, 2, 1, other), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, starved, starved, &is), 0);
	assert_int_equal(gsb_kriging_predict(&kriging, 0, slow, slow, &should), 0);
	assert_near(is.younger, should.younger, 1.0001);
	assert_near(is.older, should.older, 1.0001);
}

static void test_numbers_that_are_none_are_refused(void **state)
{
	static const double none[] = {0, -1, NAN, INFINITY};
	const struct gsb_encounter good[2] = {{1, 1, 1}, {1, 1, 1}};
	struct gsb_encounter out;

	assert_int_equal(gsb_kriging_init(&kriging, 0, 1, good), -EINVAL);
	assert_int_equal(gsb_kriging_init(&kriging, GSB_PROBES_MAX + 1, 1, good), -EINVAL);
	assert_int_equal(gsb_kriging_init(&kriging, 1, 0, good), -EINVAL);
	assert_int_equal(gsb_kriging_init(&kriging, 1, GSB_KRIGING_DIVISIONS_MAX + 1, good),
			 -EINVAL);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned what = 0; what < GSB_N_ENCOUNTER; what++) {
			struct gsb_encounter bad[2] = {good[0], good[1]};

			/* in the second of two divisions */
			memcpy((char *)&bad[1] + what * sizeof(double), &none[i], sizeof(double));
			assert_int_equal(gsb_kriging_init(&kriging, 1, 2, bad), -EINVAL);
			assert_int_equal(gsb_kriging_init(&kriging, 1, 2, good), 0);
			assert_int_equal(gsb_kriging_predict(&kriging, 0, bad, good, &out),
					 -EINVAL);
			assert_int_equal(gsb_kriging_predict(&kriging, 0, good, bad, &out),
					 -EINVAL);
		}
	assert_int_equal(gsb_kriging_predict(&kriging, 2, good, good, &out), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_by_few_units_are_found_in_each_division),
		cmocka_unit_test(test_order_counts),
		cmocka_unit_test(test_who_is_a_probe_goes_by_that),
		cmocka_unit_test(test_who_minds_more_is_still_like_it),
		cmocka_unit_test(test_makespans_are_those_of_the_cross_approximation),
		cmocka_unit_test(test_two_probes_by_hand),
		cmocka_unit_test(test_few_probes_give_numbers),
		cmocka_unit_test(test_who_starves_has_the_least_speed),
		cmocka_unit_test(test_numbers_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
