/*
 * test_probes.c - pairs of kernels from how each gets on with the probes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/time/probes.h"

#define N 6

/* How a kernel with these wants gets on with another: by two units, of which the older one has more; and who fills the memory keeps the younger one from its SM. */
struct wants {
	double memory, sm;
};

static struct gsb_encounter meet(struct wants a, struct wants b)
{
	double memory = a.memory * b.memory, sm = a.sm * b.sm;

	return (struct gsb_encounter){exp(-0.3 * memory - 0.1 * sm),
				      exp(-1.2 * memory - 3 * sm - 2 * a.memory * b.sm),
				      exp(0.4 * memory + 0.6 * sm)};
}

static const struct wants probes[N] = {{1, 0},	   {0, 1},     {0.5, 0.5},
				       {0.9, 0.2}, {0.1, 0.8}, {0.7, 0.7}};

static void look_at_probes(struct gsb_probes *p)
{
	struct gsb_encounter seen[N * N];

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			seen[i * N + j] = meet(probes[i], probes[j]);
	assert_int_equal(gsb_probes_init(p, N, seen), 0);
}

static void take_profile(struct wants k, struct gsb_encounter older[N],
			 struct gsb_encounter younger[N])
{
	for (int i = 0; i < N; i++) {
		older[i] = meet(k, probes[i]);
		younger[i] = meet(probes[i], k);
	}
}

static struct gsb_encounter predict(struct wants a, struct wants b)
{
	struct gsb_encounter of_a[N], of_b[N], unused[N], out;
	struct gsb_probes p;

	look_at_probes(&p);
	take_profile(a, of_a, unused);
	take_profile(b, unused, of_b);
	assert_int_equal(gsb_probes_predict(&p, of_a, of_b, &out), 0);
	return out;
}

static void assert_near(double is, double should, double factor)
{
	if (fabs(log(is / should)) > log(factor))
		fail_msg("%g for %g", is, should);
}

/* What is in the way are two units, and the probes want both: so nothing is missing but what is damped. */
static void test_pairs_by_few_units_are_found(void **state)
{
	static const struct wants kernels[] = {
		{0.95, 0.05}, {0.3, 0.9}, {0.6, 0.4}, {0.05, 0.95}, {1, 1}};

	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = 0; j < 5; j++) {
			struct gsb_encounter is = predict(kernels[i], kernels[j]),
					     should = meet(kernels[i], kernels[j]);

			assert_near(is.older, should.older, 1.2);
			assert_near(is.younger, should.younger, 1.25);
			assert_near(is.makespan, should.makespan, 1.1);
		}
}

/* Of two the older one loses little; so their order counts. */
static void test_order_counts(void **state)
{
	struct gsb_encounter is = predict((struct wants){0.2, 1}, (struct wants){0.3, 0.9});

	assert_true(is.older > 0.8);
	assert_true(is.younger < 0.05);
}

static void test_who_is_in_nobodys_way_is_in_nobodys_way(void **state)
{
	struct gsb_encounter is = predict((struct wants){0, 0}, (struct wants){0.8, 0.8});

	assert_near(is.older, 1, 1.001);
	assert_near(is.younger, 1, 1.001);
	assert_near(is.makespan, 1, 1.001);
}

/* The second probe says nothing that the first does not: what both say counts once. */
static void test_two_probes_of_a_kind_are_one(void **state)
{
	struct gsb_encounter once = {0.4, 0.2, 1.8}, twice[4] = {once, once, once, once}, one, two;
	struct gsb_probes p;

	assert_int_equal(gsb_probes_init(&p, 1, &once), 0);
	assert_int_equal(gsb_probes_predict(&p, &once, &once, &one), 0);
	assert_int_equal(gsb_probes_init(&p, 2, twice), 0);
	assert_int_equal(gsb_probes_predict(&p, twice, twice, &two), 0);
	assert_near(one.younger, 0.2, 1.5);
	assert_near(two.younger, one.younger, 1.3);
	assert_near(two.younger, 0.2, 1.2);
	assert_near(two.makespan, 1.8, 1.1);
}

/* Of a kernel that is as a probe all is known; and of two it is enough that one is. */
static void test_who_resembles_a_probe_goes_by_that(void **state)
{
	const struct wants other = {0.3, 0.9};

	for (unsigned i = 0; i < N; i++) {
		struct gsb_encounter older = predict(probes[i], other);
		struct gsb_encounter younger = predict(other, probes[i]);

		assert_near(older.makespan, meet(probes[i], other).makespan, 1.005);
		assert_near(older.younger, meet(probes[i], other).younger, 1.005);
		assert_near(younger.makespan, meet(other, probes[i]).makespan, 1.005);
		assert_near(younger.younger, meet(other, probes[i]).younger, 1.02);
	}
}

/* Nobody is slower than can be measured; what was slower counts as that. */
static void test_who_starves_has_the_least_speed(void **state)
{
	struct gsb_encounter starved = {1, 1e-9, 2}, slow = {1, GSB_PROBES_LEAST, 2}, seen[2], is,
			     should, more[2] = {{1, 1e-9, 2}, {1, 1e-9, 2}};
	struct gsb_probes p;

	assert_int_equal(gsb_probes_init(&p, 1, &starved), 0);
	assert_int_equal(gsb_probes_predict(&p, &starved, &starved, &is), 0);
	assert_int_equal(gsb_probes_init(&p, 1, &slow), 0);
	assert_int_equal(gsb_probes_predict(&p, &slow, &slow, &should), 0);
	assert_near(is.younger, should.younger, 1.0001);
	/* Beside a probe that slows down by half, who is starved as no probe is: what follows is less than is there. */
	seen[0] = (struct gsb_encounter){1, 0.3, 2};
	assert_int_equal(gsb_probes_init(&p, 1, seen), 0);
	assert_int_equal(gsb_probes_predict(&p, more, more, &is), 0);
	assert_true(is.younger == GSB_PROBES_LEAST);
}

static void test_numbers_that_are_none_are_refused(void **state)
{
	static const double none[] = {0, -1, NAN, INFINITY};
	const struct gsb_encounter good = {1, 1, 1};
	static struct gsb_encounter many[(GSB_PROBES_MAX + 1) * (GSB_PROBES_MAX + 1)];
	struct gsb_encounter out;
	struct gsb_probes p;

	for (unsigned i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = good;
	assert_int_equal(gsb_probes_init(&p, 0, many), -EINVAL);
	assert_int_equal(gsb_probes_init(&p, GSB_PROBES_MAX + 1, many), -EINVAL);
	assert_int_equal(gsb_probes_init(&p, GSB_PROBES_MAX, many), 0);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned what = 0; what < GSB_N_ENCOUNTER; what++) {
			struct gsb_encounter bad = good;

			memcpy((char *)&bad + what * sizeof(double), &none[i], sizeof(double));
			assert_int_equal(gsb_probes_init(&p, 1, &bad), -EINVAL);
			assert_int_equal(gsb_probes_init(&p, 1, &good), 0);
			assert_int_equal(gsb_probes_predict(&p, &bad, &good, &out), -EINVAL);
			assert_int_equal(gsb_probes_predict(&p, &good, &bad, &out), -EINVAL);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_by_few_units_are_found),
		cmocka_unit_test(test_order_counts),
		cmocka_unit_test(test_who_is_in_nobodys_way_is_in_nobodys_way),
		cmocka_unit_test(test_two_probes_of_a_kind_are_one),
		cmocka_unit_test(test_who_resembles_a_probe_goes_by_that),
		cmocka_unit_test(test_who_starves_has_the_least_speed),
		cmocka_unit_test(test_numbers_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
