/*
 * test_progress.c - blocks whose speeds change while they run: when each ends, what is told, and that no work is lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "model/time/progress.h"

#define N_GRIDS	 4
#define N_BLOCKS 64

struct bench {
	const struct gsb_arch *arch;
	struct gsb_interference f;
	struct gsb_progress *p;
	struct gsb_block_profile profiles[N_GRIDS];
	struct gsb_progress_grid grids[N_GRIDS];
	struct gsb_progress_block blocks[N_BLOCKS];
	unsigned n_changes;
};

static const struct gsb_block_work computes = {.n_warps = 32, .n_insns = 3200000};
static const struct gsb_block_work streams = {
	.n_warps = 32, .n_insns = 64000, .n_mem_insns = 16000, .n_bytes = 16000 * 1024};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->arch = gsb_arch_find("h200");
	gsb_interference_init(&b->f, b->arch->name);
	assert_int_equal(gsb_progress_create(b->arch, &b->f, &b->p), 0);
	for (unsigned i = 0; i < N_GRIDS; i++)
		b->grids[i] =
			(struct gsb_progress_grid){.profile = &b->profiles[i], .block_warps = 32};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	gsb_progress_destroy(b->p);
	free(b);
	return 0;
}

static void add(struct bench *b, unsigned grid, unsigned block, uint32_t sm, uint64_t now)
{
	gsb_progress_add(b->p, &b->grids[grid], &b->blocks[block], sm, now);
}

static void count_change(void *ctx, struct gsb_progress_block *block)
{
	struct bench *b = ctx;

	assert_non_null(block->grid);
	b->n_changes++;
}

/* How many blocks have another speed now. */
static unsigned settle(struct bench *b, uint64_t now)
{
	b->n_changes = 0;
	gsb_progress_settle(b->p, now, count_change, b);
	return b->n_changes;
}

static void test_a_grid_alone_has_full_speed(void **state)
{
	struct bench *b = *state;

	add(b, 0, 0, 5, 100);
	add(b, 0, 1, 5, 100);
	assert_int_equal(settle(b, 100), 0);
	assert_int_equal(gsb_progress_end_ns(&b->blocks[1], 1000), 1100);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[0]).sm_warps, 64);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[0]).device_warps, 64);
}

/* Half of the speed while the other is there: half of 600 ns is lost. */
static void test_a_block_is_slower_only_while_others_are_there(void **state)
{
	struct bench *b = *state;

	gsb_block_profile_add(&b->profiles[0], &computes);
	gsb_block_profile_add(&b->profiles[1], &computes);
	add(b, 0, 0, 5, 0);
	assert_int_equal(settle(b, 0), 0);
	add(b, 1, 1, 5, 1000);
	assert_int_equal(settle(b, 1000), 2);
	assert_in_range(b->blocks[0].speed, 500, 512);
	assert_in_range(gsb_progress_end_ns(&b->blocks[0], 2000), 3000, 3050);
	assert_in_range(gsb_progress_end_ns(&b->blocks[1], 2000), 5000, 5100);
	gsb_progress_remove(b->p, &b->blocks[1]);
	assert_int_equal(settle(b, 1600), 1);
	assert_in_range(gsb_progress_end_ns(&b->blocks[0], 2000), 2300, 2310);
}

/* However often others came and went: there is no room but for those that are there. */
static void test_blocks_that_come_and_go_leave_no_trace(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < 3; i++)
		gsb_block_profile_add(&b->profiles[i], &computes);
	add(b, 0, 0, 5, 0);
	add(b, 0, 1, 6, 0);
	for (unsigned i = 0; i < 1000; i++) {
		add(b, 1, 2, 5, i);
		assert_int_equal(settle(b, i), 2);
		gsb_progress_remove(b->p, &b->blocks[2]);
		assert_int_equal(settle(b, i), 1);
	}
	add(b, 1, 3, 6, 1000);
	assert_int_equal(settle(b, 1000), 2);
	assert_int_equal(b->blocks[0].speed, GSB_FULL_SPEED);
	assert_in_range(b->blocks[1].speed, 500, 512);
}

static void test_its_own_grid_is_company_of_another_kind(void **state)
{
	struct bench *b = *state;

	gsb_block_profile_add(&b->profiles[0], &computes);
	gsb_block_profile_add(&b->profiles[1], &computes);
	add(b, 0, 0, 5, 0);
	add(b, 0, 1, 5, 0);
	add(b, 1, 2, 5, 0);
	add(b, 1, 3, 6, 0);
	settle(b, 0);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[0]).sm_warps, 64);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[0]).device_warps, 64);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[2]).sm_warps, 32);
	assert_int_equal(gsb_progress_company(b->p, &b->blocks[2]).device_warps, 64);
}

/* One SM has company, another has not. */
static void test_speed_is_that_of_the_sm(void **state)
{
	struct bench *b = *state;

	gsb_block_profile_add(&b->profiles[0], &computes);
	gsb_block_profile_add(&b->profiles[1], &computes);
	add(b, 0, 0, 5, 0);
	add(b, 0, 1, 6, 0);
	add(b, 1, 2, 6, 0);
	settle(b, 0);
	assert_int_equal(b->blocks[0].speed, GSB_FULL_SPEED);
	assert_in_range(b->blocks[1].speed, 500, 524);
	assert_in_range(b->blocks[2].speed, 500, 524);
}

/* What others want of the memory is felt on SMs on which nothing has come or gone. */
static void test_memory_is_felt_on_other_sms(void **state)
{
	struct bench *b = *state;
	struct gsb_progress_block third;

	gsb_block_profile_add(&b->profiles[0], &streams);
	gsb_block_profile_add(&b->profiles[1], &streams);
	gsb_block_profile_add(&b->profiles[2], &computes);
	for (unsigned i = 0; i < 32; i++)
		add(b, 0, i, i, 0);
	gsb_progress_add(b->p, &b->grids[2], &third, 131, 0);
	settle(b, 0);
	for (unsigned i = 32; i < 64; i++)
		add(b, 1, i, i, 10);
	assert_true(settle(b, 10) >= 32);
	assert_in_range(b->blocks[0].speed, 100, GSB_FULL_SPEED * 3 / 4);
	assert_in_range(b->blocks[40].speed, 100, GSB_FULL_SPEED * 3 / 4);
	for (unsigned i = 32; i < 64; i++)
		gsb_progress_remove(b->p, &b->blocks[i]);
	assert_int_equal(settle(b, 20), 32);
	assert_int_equal(b->blocks[0].speed, GSB_FULL_SPEED);
}

/* On an SM with both each has its own: by the law blocks of three times the length have three times as much of it. */
static void test_each_grid_has_its_own_speed(void **state)
{
	struct bench *b = *state;
	struct gsb_block_work longer = computes;

	longer.n_insns *= 3;
	gsb_block_profile_add(&b->profiles[0], &computes);
	gsb_block_profile_add(&b->profiles[1], &longer);
	add(b, 1, 0, 5, 0);
	add(b, 0, 1, 5, 0);
	add(b, 1, 2, 6, 0);
	add(b, 0, 3, 6, 0);
	settle(b, 0);
	assert_in_range(b->blocks[0].speed, 750, 780);
	assert_in_range(b->blocks[1].speed, 240, 270);
	assert_int_equal(b->blocks[2].speed, b->blocks[0].speed);
	assert_int_equal(b->blocks[3].speed, b->blocks[1].speed);
}

/* Not before its work is done: three ns at 700 of 1024 take 4.4. */
static void test_ends_are_rounded_up(void **state)
{
	struct gsb_progress_block block = {.speed = 700, .since_ns = 10};

	assert_int_equal(gsb_progress_end_ns(&block, 3), 15);
	block.done = 3 * GSB_FULL_SPEED;
	assert_int_equal(gsb_progress_end_ns(&block, 3), 10);
}

/* The first block that ends tells of its grid, wherever its others are. */
static void test_what_becomes_known_counts_from_then_on(void **state)
{
	struct bench *b = *state;

	gsb_block_profile_add(&b->profiles[0], &computes);
	add(b, 0, 0, 5, 0);
	add(b, 1, 1, 5, 0);
	add(b, 1, 2, 6, 0);
	settle(b, 0);
	assert_in_range(b->blocks[0].speed, 700, GSB_FULL_SPEED);
	gsb_progress_remove(b->p, &b->blocks[2]);
	gsb_block_profile_add(&b->profiles[1], &computes);
	assert_true(settle(b, 50) > 0);
	assert_in_range(b->blocks[0].speed, 500, 524);
}

/* A block that takes the place of another of its grid has that one's speed, and nobody else another. */
static void test_a_block_in_the_place_of_another_changes_nothing(void **state)
{
	struct bench *b = *state;

	gsb_block_profile_add(&b->profiles[0], &computes);
	gsb_block_profile_add(&b->profiles[1], &computes);
	add(b, 0, 0, 5, 0);
	add(b, 1, 1, 5, 0);
	settle(b, 0);
	gsb_progress_remove(b->p, &b->blocks[1]);
	add(b, 1, 2, 5, 700);
	assert_int_equal(settle(b, 700), 1);
	assert_int_equal(b->blocks[0].since_ns, 0);
	assert_int_equal(b->blocks[2].speed, b->blocks[0].speed);
	assert_in_range(gsb_progress_end_ns(&b->blocks[2], 100), 900, 903);
}

static void test_a_block_that_never_ends_does_not_wrap(void **state)
{
	struct bench *b = *state;

	add(b, 0, 0, 5, UINT64_C(1) << 40);
	settle(b, UINT64_C(1) << 40);
	assert_true(gsb_progress_end_ns(&b->blocks[0], UINT64_MAX / 4) > UINT64_C(1) << 52);
	b->blocks[0].speed = 1;
	assert_true(gsb_progress_end_ns(&b->blocks[0], UINT64_MAX / 4) > UINT64_C(1) << 62);
}

/* ---- random comings and goings ---- */

/* What a block has done by now, added up over its life by another way. */
struct account {
	uint64_t from_ns, done;
};

static void check_shares(const struct bench *b)
{
	double sum[132] = {0};

	for (unsigned i = 0; i < N_BLOCKS; i++)
		if (b->blocks[i].grid)
			assert_in_range(b->blocks[i].speed, 1, GSB_FULL_SPEED);
	for (unsigned g = 0; g < 2; g++)
		for (unsigned sm = 0; sm < 8; sm++)
			for (unsigned i = 0; i < N_BLOCKS; i++)
				if (b->blocks[i].grid == &b->grids[g] && b->blocks[i].sm == sm) {
					sum[sm] += b->blocks[i].speed;
					break;
				}
	for (unsigned sm = 0; sm < 8; sm++) /* of the issue slots, which both fill */
		assert_true(sum[sm] <= GSB_FULL_SPEED * 1.03);
}

/* Two grids that fill the issue slots, two that want memory; ends are asked for again and again, and are kept. */
static void test_random_blocks_end_when_their_work_is_done(void **state)
{
	struct bench *b = *state;
	struct account accounts[N_BLOCKS] = {{0}};
	uint64_t now = 0;
	unsigned n_changes = 0;

	srand(5);
	for (unsigned g = 0; g < N_GRIDS; g++)
		gsb_block_profile_add(&b->profiles[g], g < 2 ? &computes : &streams);
	for (unsigned step = 0; step < 5000; step++) {
		unsigned i = (unsigned)rand() % N_BLOCKS;
		struct gsb_progress_block *block = &b->blocks[i];
		uint64_t later = now + (unsigned)rand() % 50;

		for (unsigned k = 0; k < N_BLOCKS; k++)
			if (b->blocks[k].grid)
				accounts[k].done += (later - now) * b->blocks[k].speed;
		now = later;
		if (block->grid) {
			uint64_t work = accounts[i].done / GSB_FULL_SPEED;

			assert_true(gsb_progress_end_ns(block, work) <= now);
			assert_true(gsb_progress_end_ns(block, work + 1) >= now);
			gsb_progress_remove(b->p, block);
		} else {
			accounts[i] = (struct account){now, 0};
			add(b, (unsigned)rand() % N_GRIDS, i, (uint32_t)rand() % 8, now);
		}
		n_changes += settle(b, now);
		check_shares(b);
	}
	assert_true(n_changes > 1000);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_a_grid_alone_has_full_speed),
		CASE(test_a_block_is_slower_only_while_others_are_there),
		CASE(test_blocks_that_come_and_go_leave_no_trace),
		CASE(test_its_own_grid_is_company_of_another_kind),
		CASE(test_speed_is_that_of_the_sm),
		CASE(test_memory_is_felt_on_other_sms),
		CASE(test_each_grid_has_its_own_speed),
		cmocka_unit_test(test_ends_are_rounded_up),
		CASE(test_what_becomes_known_counts_from_then_on),
		CASE(test_a_block_in_the_place_of_another_changes_nothing),
		CASE(test_a_block_that_never_ends_does_not_wrap),
		CASE(test_random_blocks_end_when_their_work_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
