/*
 * test_pool.c - the buddy pool: what it gives is apart, aligned and bounded, and joins again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/engine/order/pool.h"

#define POOL_BYTES (4 * GSB_POOL_MAX)

static void test_alloc_more_than_largest_block_is_null(void **state)
{
	struct gsb_pool p;

	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	assert_null(gsb_pool_alloc(&p, GSB_POOL_MAX + 1));
	assert_non_null(gsb_pool_alloc(&p, GSB_POOL_MAX));
	gsb_pool_finish(&p);
}

static void test_alloc_from_full_pool_is_null_until_something_is_freed(void **state)
{
	struct gsb_pool p;
	void *last = NULL, *b;
	size_t n = 0;

	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	while ((b = gsb_pool_alloc(&p, 64))) {
		last = b;
		n++;
	}
	assert_int_equal(n, POOL_BYTES / 64);
	gsb_pool_free(&p, last);
	assert_ptr_equal(gsb_pool_alloc(&p, 1), last);
	gsb_pool_finish(&p);
}

/* Whatever was in it before: an empty pool has room for the largest blocks again. */
static void test_emptied_pool_is_whole_again(void **state)
{
	struct gsb_pool p;
	void *blocks[POOL_BYTES / 64];
	size_t n = 0;

	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	while ((blocks[n] = gsb_pool_alloc(&p, 64 << n % 3)))
		n++;
	for (size_t i = 0; i < n; i++)
		gsb_pool_free(&p, blocks[(i * 7919) % n]);
	assert_int_equal(p.used_bytes, 0);
	for (size_t i = 0; i < POOL_BYTES / GSB_POOL_MAX; i++)
		assert_non_null(gsb_pool_alloc(&p, GSB_POOL_MAX));
	gsb_pool_finish(&p);
}

/* What was freed last is given first, as it is; but the pool does not grow while what was freed would do. */
static void test_freed_blocks_are_joined_before_the_pool_grows(void **state)
{
	struct gsb_pool p;
	void *a, *b;

	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	a = gsb_pool_alloc(&p, GSB_POOL_MAX / 2);
	b = gsb_pool_alloc(&p, GSB_POOL_MAX / 2);
	gsb_pool_free(&p, a);
	assert_ptr_equal(gsb_pool_alloc(&p, GSB_POOL_MAX / 2), a);
	gsb_pool_free(&p, a);
	gsb_pool_free(&p, b);
	assert_non_null(gsb_pool_alloc(&p, GSB_POOL_MAX));
	assert_int_equal(p.fresh, GSB_POOL_MAX);
	gsb_pool_finish(&p);
}

/* Of a size that nobody asks for any more few blocks stay apart. */
static void test_few_freed_blocks_are_kept_apart(void **state)
{
	struct gsb_pool p;
	void *blocks[4 * GSB_POOL_N_KEPT];

	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	for (size_t i = 0; i < GSB_ARRAY_LEN(blocks); i++)
		blocks[i] = gsb_pool_alloc(&p, GSB_POOL_UNIT);
	for (size_t i = 0; i < GSB_ARRAY_LEN(blocks); i++)
		gsb_pool_free(&p, blocks[i]);
	assert_int_equal(p.n_kept[0], GSB_POOL_N_KEPT);
	gsb_pool_finish(&p);
}

static void test_random_blocks_never_overlap(void **state)
{
	struct gsb_pool p;
	struct {
		uint8_t *at, mark;
		size_t size;
	} live[64] = {0};

	srand(1);
	assert_int_equal(gsb_pool_init(&p, POOL_BYTES), 0);
	for (int i = 0; i < 20000; i++) {
		int k = rand() % 64;

		if (live[k].at) {
			for (size_t j = 0; j < live[k].size; j++)
				assert_int_equal(live[k].at[j], live[k].mark);
			gsb_pool_free(&p, live[k].at);
			live[k].at = NULL;
			continue;
		}
		live[k].size = 1 + (size_t)rand() % (rand() % 8 ? 300 : 20000);
		live[k].at = gsb_pool_alloc(&p, live[k].size);
		live[k].mark = (uint8_t)i;
		if (live[k].at) {
			assert_int_equal((uintptr_t)live[k].at % 64, 0);
			memset(live[k].at, live[k].mark, live[k].size);
		}
	}
	gsb_pool_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_more_than_largest_block_is_null),
		cmocka_unit_test(test_alloc_from_full_pool_is_null_until_something_is_freed),
		cmocka_unit_test(test_emptied_pool_is_whole_again),
		cmocka_unit_test(test_freed_blocks_are_joined_before_the_pool_grows),
		cmocka_unit_test(test_few_freed_blocks_are_kept_apart),
		cmocka_unit_test(test_random_blocks_never_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
