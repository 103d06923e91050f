/*
 * test_device_range.c - the allocation map of a space, against a naive one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/range.h"

#define BASE   0x400000000000ull
#define WINDOW (1ull << 20)
#define GUARD  4096

static void test_alloc_keeps_alignment_and_guard(void **state)
{
	struct gsb_ranges r;
	uint64_t a, b;

	gsb_ranges_init(&r, BASE, WINDOW);
	assert_int_equal(gsb_ranges_alloc(&r, 100, 512, GUARD, &a), 0);
	assert_int_equal(gsb_ranges_alloc(&r, 100, 512, GUARD, &b), 0);
	assert_int_equal(a, BASE);
	assert_int_equal(b % 512, 0);
	assert_true(b - (a + 100) >= GUARD);
	gsb_ranges_finish(&r);
}

static void test_find_takes_first_and_last_byte_only(void **state)
{
	struct gsb_ranges r;
	uint64_t a;

	gsb_ranges_init(&r, BASE, WINDOW);
	assert_int_equal(gsb_ranges_alloc(&r, 100, 512, GUARD, &a), 0);
	assert_null(gsb_ranges_find(&r, a - 1));
	assert_int_equal(gsb_ranges_find(&r, a)->start, a);
	assert_int_equal(gsb_ranges_find(&r, a + 99)->start, a);
	assert_null(gsb_ranges_find(&r, a + 100));
	gsb_ranges_finish(&r);
}

static void test_alloc_full_window_returns_enomem_until_free(void **state)
{
	struct gsb_ranges r;
	struct gsb_range was;
	uint64_t a[64], extra = 7;
	unsigned n = 0;

	gsb_ranges_init(&r, BASE, WINDOW);
	while (!gsb_ranges_alloc(&r, 60000, 512, GUARD, &a[n]))
		n++;
	assert_int_equal(n, 16); /* 60,000 + 4,096, up to 512: 64,512 each, in 1,048,576 */
	assert_int_equal(gsb_ranges_alloc(&r, 60000, 512, GUARD, &extra), -ENOMEM);
	assert_int_equal(extra, 7);
	assert_int_equal(gsb_ranges_alloc(&r, UINT64_MAX, 512, GUARD, &extra), -ENOMEM);
	assert_int_equal(gsb_ranges_remove(&r, a[3], &was), 0);
	assert_int_equal(was.size, 60000);
	assert_int_equal(gsb_ranges_alloc(&r, 60000, 512, GUARD, &extra), 0);
	assert_int_equal(extra, a[3]);
	gsb_ranges_finish(&r);
}

static void test_add_refuses_overlap_and_outside(void **state)
{
	struct gsb_ranges r;
	struct gsb_range was;

	gsb_ranges_init(&r, BASE, WINDOW);
	assert_int_equal(gsb_ranges_add(&r, BASE + 4096, 4096), 0);
	assert_int_equal(gsb_ranges_add(&r, BASE + 4096, 4096), -EEXIST);
	assert_int_equal(gsb_ranges_add(&r, BASE, 4097), -EEXIST);
	assert_int_equal(gsb_ranges_add(&r, BASE + 8191, 1), -EEXIST);
	assert_int_equal(gsb_ranges_add(&r, BASE, 4096), 0);
	assert_int_equal(gsb_ranges_add(&r, BASE - 1, 1), -ERANGE);
	assert_int_equal(gsb_ranges_add(&r, BASE + WINDOW, 1), -ERANGE);
	assert_int_equal(gsb_ranges_add(&r, BASE + WINDOW - 1, UINT64_MAX), -ERANGE);
	assert_int_equal(gsb_ranges_remove(&r, BASE + 1, &was), -EINVAL);
	gsb_ranges_finish(&r);
}

/* 20,000 random steps against one byte per page. */
static void test_random_steps_match_a_page_table(void **state)
{
	enum { PAGES = WINDOW / 4096 };
	static unsigned char taken[PAGES];
	struct gsb_ranges r;
	unsigned seed = 20261120, n_allocs = 0;

	print_message("seed %u\n", seed);
	srand(seed);
	gsb_ranges_init(&r, BASE, WINDOW);
	for (unsigned step = 0; step < 20000; step++) {
		uint64_t size = 4096ull * (1 + (unsigned)rand() % 20), at;
		struct gsb_range was;

		if (rand() % 2 && r.n_items) {
			at = r.items[(size_t)rand() % r.n_items].start;
			assert_int_equal(gsb_ranges_remove(&r, at, &was), 0);
			memset(taken + (at - BASE) / 4096, 0, was.size / 4096);
		} else if (!gsb_ranges_alloc(&r, size, 4096, GUARD, &at)) {
			for (uint64_t p = 0; p < size / 4096; p++)
				assert_int_equal(taken[(at - BASE) / 4096 + p]++, 0);
			assert_int_equal(taken[(at + size - BASE) / 4096], 0);
			n_allocs++;
		}
		at = (uint64_t)rand() % PAGES;
		assert_int_equal(!!gsb_ranges_find(&r, BASE + at * 4096 + 17), taken[at]);
	}
	assert_true(n_allocs > 5000);
	gsb_ranges_finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_keeps_alignment_and_guard),
		cmocka_unit_test(test_find_takes_first_and_last_byte_only),
		cmocka_unit_test(test_alloc_full_window_returns_enomem_until_free),
		cmocka_unit_test(test_add_refuses_overlap_and_outside),
		cmocka_unit_test(test_random_steps_match_a_page_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
