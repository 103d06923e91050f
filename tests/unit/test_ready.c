/*
 * test_ready.c - what is ready stands in its order, whatever comes and goes between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "broker/engine/work/ready.h"

#define N 40

static struct gsb_head *add(struct gsb_ready *r, uint64_t since_ns, uint32_t stream)
{
	struct gsb_head *h = gsb_head_create(r, NULL);

	h->work = (struct gsb_work){.since_ns = since_ns, .stream = stream};
	gsb_ready_add(r, h);
	return h;
}

static void remove_and_destroy(struct gsb_ready *r, struct gsb_head *h)
{
	gsb_ready_remove(r, h);
	gsb_head_destroy(r, h);
}

static void expect_since(const struct gsb_ready *r, const uint64_t *since, unsigned n)
{
	assert_int_equal(r->n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(gsb_ready_works(r)[i]->since_ns, since[i]);
}

static void test_ready_by_time_stands_by_time_whatever_came_first(void **state)
{
	struct gsb_ready r;
	struct gsb_head *mid;

	assert_int_equal(gsb_ready_init(&r, true), 0);
	add(&r, 10, 1);
	add(&r, 30, 2);
	mid = add(&r, 20, 3);
	expect_since(&r, (uint64_t[]){10, 20, 30}, 3);
	add(&r, 5, 4);
	expect_since(&r, (uint64_t[]){5, 10, 20, 30}, 4);
	remove_and_destroy(&r, mid);
	expect_since(&r, (uint64_t[]){5, 10, 30}, 3);
	gsb_ready_finish(&r);
}

static void test_ready_by_arrival_stands_by_arrival_whatever_its_time(void **state)
{
	struct gsb_ready r;
	struct gsb_head *mid, *last;

	assert_int_equal(gsb_ready_init(&r, false), 0);
	add(&r, 10, 1);
	mid = add(&r, 30, 2);
	last = add(&r, 20, 3);
	expect_since(&r, (uint64_t[]){10, 30, 20}, 3);
	remove_and_destroy(&r, mid);
	expect_since(&r, (uint64_t[]){10, 20}, 2);
	remove_and_destroy(&r, last);
	expect_since(&r, (uint64_t[]){10}, 1);
	gsb_ready_finish(&r);
}

static bool is_ordered(const struct gsb_ready *r)
{
	for (unsigned i = 1; i < r->n; i++) {
		const struct gsb_work *a = gsb_ready_works(r)[i - 1], *b = gsb_ready_works(r)[i];

		if (r->by_time ? a->since_ns > b->since_ns ||
					 (a->since_ns == b->since_ns && a->stream >= b->stream)
			       : gsb_head_of(a)->number >= gsb_head_of(b)->number)
			return false;
	}
	return true;
}

/* Heads come and go a hundred thousand times: the window wanders, and never leaves its room. */
static void churn(bool by_time)
{
	struct gsb_head *heads[N] = {0};
	unsigned n = 0, furthest = 0;
	struct gsb_ready r;

	srand(1);
	assert_int_equal(gsb_ready_init(&r, by_time), 0);
	for (int i = 0; i < 100000; i++) {
		uint32_t k = (uint32_t)rand() % N;

		if (heads[k]) {
			remove_and_destroy(&r, heads[k]);
			heads[k] = NULL;
			n--;
		} else {
			heads[k] = add(&r, (uint64_t)i / 100 + (uint64_t)rand() % 50, k);
			n++;
		}
		assert_int_equal(r.n, n);
		assert_true(is_ordered(&r));
		furthest = r.first > furthest ? r.first : furthest;
	}
	assert_in_range(furthest, 1, N);
	gsb_ready_finish(&r);
}

static void test_ready_stays_ordered_and_in_its_room(void **state)
{
	churn(true);
	churn(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_by_time_stands_by_time_whatever_came_first),
		cmocka_unit_test(test_ready_by_arrival_stands_by_arrival_whatever_its_time),
		cmocka_unit_test(test_ready_stays_ordered_and_in_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
