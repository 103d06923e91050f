/*
 * test_ends.c - which thing ends next: by time, and in one instant by order, however the ends were said.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "model/placement/ends.h"

#define N      1000
#define ROUNDS 20000

static uint32_t rng(uint32_t n)
{
	static uint64_t x = 1;

	x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(x >> 33) % n;
}

/* The same without any idea: what is known is looked through. */
struct plain {
	bool known[N];
	uint64_t time[N], order[N];
};

static uint32_t plain_first(const struct plain *p)
{
	uint32_t best = N;

	for (uint32_t i = 0; i < N; i++) {
		if (!p->known[i])
			continue;
		if (best == N || p->time[i] < p->time[best] ||
		    (p->time[i] == p->time[best] && p->order[i] < p->order[best]))
			best = i;
	}
	return best;
}

static void set(struct gsb_ends *e, struct plain *p, uint32_t thing, uint64_t time, uint64_t order)
{
	gsb_ends_set(e, thing, time, order);
	p->known[thing] = true;
	p->time[thing] = time;
	p->order[thing] = order;
}

/* One is taken, or none is to be had. */
static void take(struct gsb_ends *e, struct plain *p, uint64_t time)
{
	uint32_t thing = N, want = plain_first(p);
	uint64_t next = 0;

	assert_int_equal(gsb_ends_next(e, &next), want < N);
	if (want < N)
		assert_int_equal(next, p->time[want]);
	if (want == N || p->time[want] > time) {
		assert_false(gsb_ends_take(e, time, &thing));
		return;
	}
	assert_true(gsb_ends_take(e, time, &thing));
	assert_int_equal(thing, want);
	p->known[want] = false;
}

static void take_all(struct gsb_ends *e, struct plain *p)
{
	while (plain_first(p) < N)
		take(e, p, UINT64_MAX);
	take(e, p, UINT64_MAX);
	assert_int_equal(e->n_known, 0);
}

static void open_ends(struct gsb_ends *e, struct plain **p)
{
	*p = calloc(1, sizeof(**p));
	assert_non_null(*p);
	assert_int_equal(gsb_ends_init(e, N), 0);
}

static void close_ends(struct gsb_ends *e, struct plain *p)
{
	gsb_ends_finish(e);
	free(p);
}

/* As two workers bring back blocks: eight of one, then eight of the other, which were before or behind them. */
static void test_ends_of_one_instant_come_in_order(void **state)
{
	struct gsb_ends e;
	struct plain *p;

	open_ends(&e, &p);
	for (uint32_t i = 0; i < N; i++)
		set(&e, p, i, 7, i ^ 8);
	take(&e, p, 6);
	take_all(&e, p);
	close_ends(&e, p);
}

static void test_ends_of_one_instant_come_in_order_however_they_were_said(void **state)
{
	struct gsb_ends e;
	struct plain *p;

	open_ends(&e, &p);
	for (uint32_t i = 0; i < N; i++)
		set(&e, p, i * 7 % N, 7, i * 387 % 1001);
	take_all(&e, p);
	for (uint32_t i = N; i-- > 0;)
		set(&e, p, i, 7, i);
	take_all(&e, p);
	close_ends(&e, p);
}

/* Two instants by turns, so that neither gets two ends one after the other. */
static void test_instants_that_are_said_by_turns_are_two(void **state)
{
	struct gsb_ends e;
	struct plain *p;

	open_ends(&e, &p);
	for (uint32_t i = 0; i < N; i++)
		set(&e, p, i, 5 + i % 2, N - i);
	take_all(&e, p);
	close_ends(&e, p);
}

/* While others of the instant have been taken already. */
static void test_an_end_that_is_said_late_comes_in_its_order(void **state)
{
	struct gsb_ends e;
	struct plain *p;

	open_ends(&e, &p);
	for (uint32_t i = 0; i < 100; i++)
		set(&e, p, i, 5, 10 * i);
	for (uint32_t i = 0; i < 50; i++)
		take(&e, p, 5);
	for (uint32_t i = 100; i < 200; i++)
		set(&e, p, i, 5, 10 * (i - 100) + 1);
	take_all(&e, p);
	close_ends(&e, p);
}

/* What is likely next is had in the cache before it is taken. */
static void test_the_end_that_comes_soon_is_known(void **state)
{
	struct gsb_ends e;
	struct plain *p;

	open_ends(&e, &p);
	for (uint32_t i = 0; i < 100; i++)
		set(&e, p, i, 5, i);
	for (uint32_t i = 100; i < 200; i++)
		set(&e, p, i, i, i);
	for (uint32_t i = 0; i < 96; i++) {
		take(&e, p, 5);
		assert_int_equal(gsb_ends_soon(&e), i + 4);
	}
	for (uint32_t i = 96; i < 199; i++) {
		take(&e, p, 200);
		assert_int_equal(gsb_ends_soon(&e), i < 99 ? 99 : i + 1);
	}
	take_all(&e, p);
	close_ends(&e, p);
}

static void copy_over(struct gsb_ends *e)
{
	struct gsb_ends other;

	assert_int_equal(gsb_ends_init(&other, N), 0);
	gsb_ends_copy(&other, e);
	gsb_ends_finish(e);
	*e = other;
}

/* Of few instants or of many; said again, put off, brought forward; in a copy as in the first. */
static void test_random_ends_come_as_they_were_said_last(void **state)
{
	struct gsb_ends e;
	struct plain *p;
	uint64_t order = 0, now = 0;

	open_ends(&e, &p);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t spread = 1 + rng(rng(2) ? 3 : 1000), thing = rng(N);

		if (!p->known[thing] || !rng(4))
			set(&e, p, thing, now + rng(spread),
			    p->known[thing] ? p->order[thing] : order++);
		if (rng(3))
			take(&e, p, now + rng(spread));
		if (!rng(20))
			gsb_ends_next(&e, &now);
		if (!rng(500))
			copy_over(&e);
	}
	take_all(&e, p);
	close_ends(&e, p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_of_one_instant_come_in_order),
		cmocka_unit_test(test_ends_of_one_instant_come_in_order_however_they_were_said),
		cmocka_unit_test(test_instants_that_are_said_by_turns_are_two),
		cmocka_unit_test(test_an_end_that_is_said_late_comes_in_its_order),
		cmocka_unit_test(test_the_end_that_comes_soon_is_known),
		cmocka_unit_test(test_random_ends_come_as_they_were_said_last),
	};

	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
