/*
 * test_batch.c - stage 2: fewest batches by hand, against all partitions of small instances, and the
 * knapsack against enumeration.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/papers/batch.h"
#include "model/solvers/knapsack.h"

static int setup(void **state)
{
	*state = gsb_batch_work_create();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	gsb_batch_work_destroy(*state);
	return 0;
}

static uint32_t rng_state = 5;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

/* No batch over any capacity, every item in one. */
static void assert_packing_holds(const struct gsb_batch_problem *p,
				 const struct gsb_batch_solution *s)
{
	for (uint32_t j = 0; j < s->n_batches; j++) {
		uint64_t used[GSB_BATCH_DIMS] = {0}, items = 0;

		for (uint32_t i = 0; i < p->n_items; i++) {
			assert_true(s->batch_of[i] < s->n_batches);
			for (int k = 0; s->batch_of[i] == j && k < GSB_BATCH_DIMS; k++)
				used[k] += p->size[i][k];
			items += s->batch_of[i] == j;
		}
		assert_true(items > 0);
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			assert_true(used[k] <= p->capacity[k]);
	}
}

static void test_batch_complementary_items_share(void **state)
{
	struct gsb_batch_problem p = {.n_items = 4, .capacity = {10, 10, 10, 10}};
	struct gsb_batch_solution s;

	for (int i = 0; i < 4; i++) {
		p.size[i][0] = i < 2 ? 8 : 2;
		p.size[i][1] = i < 2 ? 2 : 8;
	}
	assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
	assert_int_equal(s.n_batches, 2);
	assert_true(s.proven);
	assert_packing_holds(&p, &s);
	assert_true(s.batch_of[0] != s.batch_of[1]);
}

/* First fit decreasing: 7 4, 6 3 2, 2. */
static void test_batch_beats_first_fit(void **state)
{
	static const uint32_t sizes[] = {7, 6, 4, 3, 2, 2};
	struct gsb_batch_problem p = {.n_items = 6, .capacity = {12, 0, 0, 0}};
	struct gsb_batch_solution s;

	for (int i = 0; i < 6; i++)
		p.size[i][0] = sizes[i];
	assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
	assert_int_equal(s.n_batches, 2);
	assert_packing_holds(&p, &s);
}

/* Five of 4 in batches of 10: volume says 2, the columns say 2.5. */
static void test_batch_bound_comes_from_the_columns(void **state)
{
	struct gsb_batch_problem p = {
		.n_items = 5, .capacity = {10, 0, 0, 0}, .way = GSB_BATCH_COLUMNS_FIRST};
	struct gsb_batch_solution s;

	for (int i = 0; i < 5; i++)
		p.size[i][0] = 4;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
	assert_int_equal(s.n_batches, 3);
	assert_true(s.proven);
	assert_true(fabs(s.lp_bound - 2.5) < 1e-6);
}

/* Volume says 2, and no search but the columns' can show that it is 3. */
static void test_batch_without_columns_claims_what_counting_shows(void **state)
{
	struct gsb_batch_problem p = {
		.n_items = 64, .capacity = {100, 0, 0, 0}, .way = GSB_BATCH_NO_COLUMNS};
	struct gsb_batch_solution s;

	for (int i = 0; i < 64; i++)
		p.size[i][0] = 26 + (uint32_t)i % 8;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
	assert_packing_holds(&p, &s);
	assert_int_equal(s.n_columns, 0);
	assert_int_equal(s.lower_bound, 19);
	assert_int_equal(s.n_batches, 22);
	assert_false(s.proven);
	p.way = GSB_BATCH_COLUMNS_LAST;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
	assert_int_equal(s.n_batches, 22);
	assert_true(s.proven && s.n_columns > 0);
}

static void test_batch_refuses_bad_input(void **state)
{
	struct gsb_batch_problem p = {.n_items = 1, .capacity = {10, 10, 10, 10}};
	struct gsb_batch_solution s = {.n_batches = 77};

	p.size[0][2] = 11;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), -EINVAL);
	p.size[0][2] = 10;
	p.n_items = 0;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), -EINVAL);
	p.n_items = GSB_BATCH_ITEMS_MAX + 1;
	assert_int_equal(gsb_batch_solve(*state, &p, &s), -EINVAL);
	assert_int_equal(s.n_batches, 77);
}

static void make_random(struct gsb_batch_problem *p, uint32_t n)
{
	static const uint32_t capacity[GSB_BATCH_DIMS] = {32, 64, 65536, 233472};
	uint32_t kinds = 1 + rng(n);

	memcpy(p->capacity, capacity, sizeof(capacity));
	p->way = GSB_BATCH_COLUMNS_LAST;
	p->max_nodes = 0;
	p->n_items = n;
	for (uint32_t i = 0; i < n; i++) {
		if (i >= kinds) {
			memcpy(p->size[i], p->size[rng(kinds)], sizeof(p->size[i]));
			continue;
		}
		p->size[i][0] = 1 + rng(12);
		p->size[i][1] = p->size[i][0] * (1 + rng(64 / p->size[i][0]));
		p->size[i][2] = p->size[i][1] * 256 * (1 + rng(4));
		p->size[i][3] = rng(3) ? rng(160000) : 1024;
	}
}

/* Fewest batches for each subset, by adding one more batch to a smaller subset. n <= 10. */
static uint32_t fewest_by_enumeration(const struct gsb_batch_problem *p)
{
	static uint8_t fewest[1 << 10], fits[1 << 10];
	uint32_t all = 1u << p->n_items;

	for (uint32_t set = 0; set < all; set++) {
		uint64_t used[GSB_BATCH_DIMS] = {0};

		fits[set] = 1;
		for (uint32_t i = 0; i < p->n_items; i++)
			for (int k = 0; (set >> i & 1) && k < GSB_BATCH_DIMS; k++)
				used[k] += p->size[i][k];
		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			fits[set] &= used[k] <= p->capacity[k];
	}
	fewest[0] = 0;
	for (uint32_t set = 1; set < all; set++) {
		fewest[set] = 255;
		for (uint32_t sub = set; sub; sub = (sub - 1) & set)
			if (fits[sub] && fewest[set ^ sub] + 1 < fewest[set])
				fewest[set] = (uint8_t)(fewest[set ^ sub] + 1);
	}
	return fewest[all - 1];
}

static void test_batch_equals_enumeration_on_small_instances(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 200, with_columns = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_batch_problem p;
		struct gsb_batch_solution s;
		uint32_t fewest;

		make_random(&p, 2 + rng(8));
		fewest = fewest_by_enumeration(&p);
		for (int way = 0; way < 2; way++) {
			p.way = way ? GSB_BATCH_COLUMNS_FIRST : GSB_BATCH_COLUMNS_LAST;
			assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
			assert_packing_holds(&p, &s);
			assert_true(s.proven);
			assert_int_equal(s.n_batches, fewest);
		}
		with_columns += s.n_columns > 0;
	}
	printf("%d instances, both ways; %d by column generation\n", rounds, with_columns);
	assert_true(with_columns > 5);
}

static void test_batch_large_instances_hold_and_print_their_gap(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 500 : 40, proven = 0, gap = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_batch_problem p;
		struct gsb_batch_solution s;

		make_random(&p, 16 + rng(49));
		p.way = round % 2 ? GSB_BATCH_COLUMNS_FIRST : GSB_BATCH_COLUMNS_LAST;
		p.max_nodes = 0;
		assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
		assert_packing_holds(&p, &s);
		assert_true(s.lower_bound <= s.n_batches);
		assert_int_equal(s.proven, s.lower_bound == s.n_batches);
		proven += s.proven;
		gap += (int)(s.n_batches - s.lower_bound);
	}
	printf("%d instances of 16 to 64 kernels: %d proven fewest, sum of gaps %d\n", rounds,
	       proven, gap);
}

/* Batches cut at random into pieces without waste: how many there were is the optimum. */
static uint32_t make_perfect(struct gsb_batch_problem *p)
{
	static const uint32_t full[GSB_BATCH_DIMS] = {60, 100, 80, 90};
	uint32_t n_batches = 3 + rng(4);

	memcpy(p->capacity, full, sizeof(full));
	p->n_items = 0;
	for (uint32_t j = 0; j < n_batches; j++) {
		uint32_t left[GSB_BATCH_DIMS], pieces = 3 + rng(3);

		memcpy(left, full, sizeof(left));
		for (uint32_t i = 0; i < pieces; i++) {
			for (int k = 0; k < GSB_BATCH_DIMS; k++) {
				uint32_t cut = left[k] * (20 + rng(60)) / 100;

				p->size[p->n_items][k] = i == pieces - 1 ? left[k] : cut;
				left[k] -= p->size[p->n_items][k];
			}
			p->n_items++;
		}
	}
	return n_batches;
}

/* Heuristics fail here; what is said to be proven is right, and mostly it is proven. */
static void test_batch_perfect_packings_are_found(void **state)
{
	int rounds = getenv("GSB_CHECK_LONG") ? 1000 : 100, found = 0;

	for (int round = 0; round < rounds; round++) {
		struct gsb_batch_problem p;
		struct gsb_batch_solution s;
		uint32_t optimum = make_perfect(&p);

		p.way = round % 2 ? GSB_BATCH_COLUMNS_FIRST : GSB_BATCH_COLUMNS_LAST;
		p.max_nodes = 0;
		assert_int_equal(gsb_batch_solve(*state, &p, &s), 0);
		assert_packing_holds(&p, &s);
		assert_true(s.lower_bound <= optimum && s.n_batches >= optimum);
		if (s.proven)
			assert_int_equal(s.n_batches, optimum);
		found += s.n_batches == optimum;
	}
	printf("%d of %d perfect packings found\n", found, rounds);
	assert_true(found > rounds / 2);
}

static double worth_by_enumeration(const struct gsb_knapsack *s, uint32_t c, uint32_t *room)
{
	uint32_t most;
	double best = 0;

	if (c == s->n)
		return 0;
	most = gsb_knapsack_fit(s, c, room);
	most = most < s->demand[c] ? most : s->demand[c];
	for (uint32_t n = 0; n <= most; n++) {
		uint32_t rest[GSB_BATCH_DIMS];

		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			rest[k] = room[k] - n * s->size[c][k];
		best = fmax(best, n * s->value[c] + worth_by_enumeration(s, c + 1, rest));
	}
	return best;
}

static void test_knapsack_equals_enumeration(void **state)
{
	for (int round = 0; round < 400; round++) {
		struct gsb_knapsack s = {.n = 1 + rng(7), .max_nodes = 0};
		double worth, sum = 0;

		for (int k = 0; k < GSB_BATCH_DIMS; k++)
			s.capacity[k] = 1 + rng(60);
		for (uint32_t c = 0; c < s.n; c++) {
			s.demand[c] = (uint8_t)(1 + rng(3));
			s.value[c] = rng(5) ? rng(1000) / 1000.0 : 0;
			for (int k = 0; k < GSB_BATCH_DIMS; k++)
				s.size[c][k] = rng(30);
		}
		assert_true(gsb_knapsack_solve(&s, s.demand, &worth));
		for (uint32_t c = 0; c < s.n; c++)
			sum += s.best[c] * s.value[c];
		assert_true(fabs(sum - worth) < 1e-9);
		assert_true(fabs(worth - worth_by_enumeration(&s, 0, s.capacity)) < 1e-8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch_complementary_items_share),
		cmocka_unit_test(test_batch_beats_first_fit),
		cmocka_unit_test(test_batch_bound_comes_from_the_columns),
		cmocka_unit_test(test_batch_without_columns_claims_what_counting_shows),
		cmocka_unit_test(test_batch_refuses_bad_input),
		cmocka_unit_test(test_batch_equals_enumeration_on_small_instances),
		cmocka_unit_test(test_batch_large_instances_hold_and_print_their_gap),
		cmocka_unit_test(test_batch_perfect_packings_are_found),
		cmocka_unit_test(test_knapsack_equals_enumeration),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
