/*
 * test_queue_pool.c - queues by kind: who asks for a priority and SMs gets a queue of these and of nothing else as long as there is room, whatever
 * was asked for before, and nobody has the queue of another.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "broker/engine/work/queue_pool.h"

struct gsb_queue {
	int32_t priority;
	struct gsb_sm_range sms;
	bool taken;
};

static struct {
	unsigned live, most, made, destroyed;
	bool full;
} seen;

static int create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
		  struct gsb_queue **out)
{
	if (seen.full)
		return -ENOMEM;
	*out = malloc(sizeof(**out));
	assert_non_null(*out);
	**out = (struct gsb_queue){.priority = priority, .sms = sms};
	seen.made++;
	if (++seen.live > seen.most)
		seen.most = seen.live;
	return 0;
}

static void destroy(struct gsb_queue *q)
{
	assert_false(q->taken);
	seen.live--;
	seen.destroyed++;
	free(q);
}

static const struct gsb_device_ops ops = {.queue_create = create, .queue_destroy = destroy};
static struct gsb_device dev = {.ops = &ops};
static struct gsb_queue_pool pool;

static int setup(void **state)
{
	seen.live = seen.most = seen.made = seen.destroyed = 0;
	seen.full = false;
	gsb_queue_pool_init(&pool, &dev);
	return 0;
}

static int teardown(void **state)
{
	gsb_queue_pool_finish(&pool);
	return seen.live != 0;
}

/* As many kinds as there are numbers; two of the same number are one kind. */
static struct gsb_pooled_queue *take(unsigned kind)
{
	const struct gsb_sm_range sms = {16 * (kind / 3), 16};
	const int32_t priority = -(int32_t)(kind % 3);
	struct gsb_pooled_queue *q = gsb_queue_pool_take(&pool, priority, sms);

	assert_non_null(q);
	assert_false(q->queue->taken);
	assert_int_equal(q->queue->priority, priority);
	assert_int_equal(q->queue->sms.first, sms.first);
	q->queue->taken = true;
	return q;
}

static void give(struct gsb_pooled_queue *q)
{
	q->queue->taken = false;
	gsb_queue_pool_give(q);
}

static void test_an_idle_one_is_used_again(void **state)
{
	struct gsb_pooled_queue *q = take(0), *other = take(0);

	assert_ptr_not_equal(q, other);
	give(other);
	assert_ptr_equal(take(0), other);
	assert_int_equal(seen.made, 2);
	give(q);
	give(other);
}

/* An H100 has 45 ranges, each for several priorities: more kinds than there are places. */
static void test_more_kinds_than_places_have_queues_of_their_own(void **state)
{
	for (unsigned round = 0; round < 3; round++)
		for (unsigned kind = 0; kind < 3 * GSB_N_QUEUE_KINDS; kind++)
			give(take(kind));
	assert_true(seen.most <= GSB_N_POOLED);
}

/* What is in use stays, whatever else comes and goes. */
static void test_kinds_in_use_make_no_room(void **state)
{
	struct gsb_pooled_queue *used[GSB_N_QUEUE_KINDS], *q;
	unsigned n = GSB_N_QUEUE_KINDS - 1;

	for (unsigned i = 0; i < n; i++)
		used[i] = take(i);
	for (unsigned kind = n; kind < 4 * GSB_N_QUEUE_KINDS; kind++)
		give(take(kind));
	used[n] = take(n);
	assert_null(gsb_queue_pool_take(&pool, -7, GSB_ALL_SMS)); /* all are in use */
	q = used[0];
	give(q);
	assert_ptr_equal(gsb_queue_pool_take(&pool, -7, GSB_ALL_SMS),
			 q); /* its only queue is of other SMs no more */
	assert_int_equal(q->queue->priority, -7);
	for (unsigned i = 0; i < n + 1; i++)
		give(used[i]);
}

static void test_where_the_device_has_no_more_any_will_do(void **state)
{
	struct gsb_pooled_queue *q = take(4), *other;

	give(q);
	seen.full = true;
	other = gsb_queue_pool_take(&pool, -1, GSB_ALL_SMS);
	assert_ptr_equal(other, q);
	gsb_queue_pool_give(other);
	assert_int_equal(seen.live, 1);
}

/* Up to all places at once, of kinds that are asked for again soon or never. */
static void test_random_takers_have_what_they_asked_for(void **state)
{
	struct gsb_pooled_queue *held[24];
	unsigned n = 0;

	srand(7);
	for (unsigned i = 0; i < 100000; i++) {
		unsigned at = (unsigned)rand() % 24;

		if (at < n) {
			give(held[at]);
			held[at] = held[--n];
		} else {
			held[n++] = take((unsigned)rand() % (i % 1000 < 500 ? 8 : 200));
		}
	}
	while (n)
		give(held[--n]);
	assert_true(seen.most <= GSB_N_POOLED);
	assert_true(seen.destroyed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_idle_one_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_more_kinds_than_places_have_queues_of_their_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kinds_in_use_make_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_where_the_device_has_no_more_any_will_do,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_takers_have_what_they_asked_for, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
