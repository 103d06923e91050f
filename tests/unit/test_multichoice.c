/*
 * test_multichoice.c - one option of each class: against trying all, what is accepted, and what is
 * claimed when the steps end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/solvers/multichoice.h"

#define DIMS GSB_MULTICHOICE_DIMS

static uint32_t rng_state = 7;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

struct instance {
	struct gsb_multichoice m;
	struct gsb_multichoice_option options[GSB_MULTICHOICE_CLASSES_MAX][6];
};

/* What costs little uses much; capacities of which that share is left above the least use. */
static void make_random(struct instance *s, uint32_t n, uint32_t slack_pct)
{
	uint64_t least[DIMS] = {0}, most[DIMS] = {0};

	memset(s, 0, sizeof(*s));
	s->m.n = n;
	for (uint32_t i = 0; i < n; i++) {
		s->m.classes[i] = (struct gsb_multichoice_class){1 + rng(6), s->options[i]};
		for (uint32_t j = 0; j < s->m.classes[i].n; j++) {
			struct gsb_multichoice_option *o = &s->options[i][j];

			o->cost = 64 * rng(20);
			for (int d = 0; d < DIMS; d++)
				o->use[d] = 5 + rng(30) + (20 - o->cost / 64);
		}
		for (int d = 0; d < DIMS; d++) {
			uint32_t low = UINT32_MAX, high = 0;

			for (uint32_t j = 0; j < s->m.classes[i].n; j++) {
				uint32_t use = s->options[i][j].use[d];

				low = use < low ? use : low;
				high = use > high ? use : high;
			}
			least[d] += low;
			most[d] += high;
		}
	}
	for (int d = 0; d < DIMS; d++)
		s->m.capacity[d] = least[d] + (most[d] - least[d]) * slack_pct / 100;
}

static bool keeps_capacities(const struct gsb_multichoice *m, const uint8_t *picked)
{
	for (int d = 0; d < DIMS; d++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < m->n; i++)
			sum += m->classes[i].options[picked[i]].use[d];
		if (sum > m->capacity[d])
			return false;
	}
	return true;
}

/* The least cost of all answers that are accepted; UINT64_MAX when there are none. */
static uint64_t least_by_enumeration(const struct gsb_multichoice *m, uint8_t *picked, uint32_t i,
				     uint64_t cost)
{
	uint64_t least = UINT64_MAX;

	if (i == m->n)
		return keeps_capacities(m, picked) && (!m->accept || m->accept(m->ctx, picked))
			       ? cost
			       : UINT64_MAX;
	for (uint32_t j = 0; j < m->classes[i].n; j++) {
		uint64_t now;

		picked[i] = (uint8_t)j;
		now = least_by_enumeration(m, picked, i + 1, cost + m->classes[i].options[j].cost);
		least = now < least ? now : least;
	}
	return least;
}

static void check_answer(const struct gsb_multichoice *m)
{
	uint64_t cost = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		assert_true(m->picked[i] < m->classes[i].n);
		cost += m->classes[i].options[m->picked[i]].cost;
	}
	assert_int_equal(cost, m->cost);
	assert_true(keeps_capacities(m, m->picked));
}

/* Some answers only: a stand-in for what sums do not tell. */
static bool accept_some(void *ctx, const uint8_t *picked)
{
	const struct gsb_multichoice *m = ctx;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++)
		sum += picked[i] * (i + 1);
	return sum % 3 == 0;
}

static void test_multichoice_equals_enumeration(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 5000 : 600, none = 0, dear = 0;

	(void)state;
	for (int round = 0; round < rounds; round++) {
		uint8_t picked[GSB_MULTICHOICE_CLASSES_MAX];
		uint64_t steps = 1000000, least;
		struct instance s;
		int err;

		make_random(&s, 1 + rng(6), rng(60));
		if (round % 3 == 0) {
			s.m.accept = accept_some;
			s.m.ctx = &s.m;
		}
		least = least_by_enumeration(&s.m, picked, 0, 0);
		err = gsb_multichoice_solve(&s.m, &steps);
		assert_int_equal(err, least == UINT64_MAX ? -ENOSPC : 0);
		none += err != 0;
		if (err)
			continue;
		check_answer(&s.m);
		assert_true(s.m.proven);
		assert_int_equal(s.m.cost, least);
		dear += least > 0;
	}
	printf("%d instances, %d without an answer\n", rounds, none);
	assert_true(none > rounds / 20 && dear > rounds / 2);
}

/* With half of what the classes would like the answer is proven in a few thousand steps, mostly. */
static void test_multichoice_large_instances_hold_within_their_steps(void **state)
{
	int proven = 0, found = 0;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t steps = 20000;
		struct instance s;

		make_random(&s, 16 + rng(49), 20 + rng(60));
		if (gsb_multichoice_solve(&s.m, &steps))
			continue;
		assert_true(steps <= 20000);
		check_answer(&s.m);
		found++;
		proven += s.m.proven;
	}
	printf("200 instances of 16 to 64 classes: %d with an answer, %d proven\n", found, proven);
	assert_true(found > 150 && proven > 50);
}

/* The more steps, the better; what is called proven with few is what many find. */
static void test_multichoice_claims_no_more_than_the_steps_showed(void **state)
{
	int unproven = 0;

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint64_t few = 20 + rng(600), many = 10000000, given = few, cost;
		struct instance s;
		bool proven;
		int err;

		make_random(&s, 4 + rng(6), 5 + rng(30));
		err = gsb_multichoice_solve(&s.m, &few);
		assert_true(few <= given);
		if (err == -EAGAIN) {
			assert_int_equal(few, 0);
			unproven++;
			continue;
		}
		proven = s.m.proven;
		cost = s.m.cost;
		assert_int_equal(gsb_multichoice_solve(&s.m, &many), err);
		if (err)
			continue;
		assert_true(s.m.proven && s.m.cost <= cost);
		if (proven)
			assert_int_equal(s.m.cost, cost);
		unproven += !proven;
	}
	assert_in_range(unproven, 30, 290);
}

static bool accept_none(void *ctx, const uint8_t *picked)
{
	(void)picked;
	++*(int *)ctx;
	return false;
}

static void test_multichoice_gives_no_answer_that_was_not_accepted(void **state)
{
	uint64_t steps = 100000;
	struct instance s;
	int asked = 0;

	(void)state;
	make_random(&s, 4, 100);
	s.m.accept = accept_none;
	s.m.ctx = &asked;
	assert_int_equal(gsb_multichoice_solve(&s.m, &steps), -ENOSPC);
	assert_true(asked > 0);
}

/* A dimension that nobody uses and one without bound cost nothing. */
static void test_multichoice_ignores_capacities_that_do_not_bind(void **state)
{
	uint64_t steps = 1000;
	struct instance s;

	(void)state;
	make_random(&s, 3, 0);
	for (uint32_t i = 0; i < s.m.n; i++)
		for (uint32_t j = 0; j < s.m.classes[i].n; j++) {
			s.options[i][j].use[0] = 0;
			s.options[i][j].cost = 100 - j;
		}
	s.m.capacity[0] = 0;
	s.m.capacity[1] = s.m.capacity[2] = UINT64_MAX;
	assert_int_equal(gsb_multichoice_solve(&s.m, &steps), 0);
	assert_true(s.m.proven);
	for (uint32_t i = 0; i < s.m.n; i++)
		assert_int_equal(s.m.picked[i], s.m.classes[i].n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_multichoice_equals_enumeration),
		cmocka_unit_test(test_multichoice_large_instances_hold_within_their_steps),
		cmocka_unit_test(test_multichoice_claims_no_more_than_the_steps_showed),
		cmocka_unit_test(test_multichoice_gives_no_answer_that_was_not_accepted),
		cmocka_unit_test(test_multichoice_ignores_capacities_that_do_not_bind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
