/*
 * test_cut.c - the size of blocks that a launch is cut into: tried when it is worth it, taken when it was faster, and left when it is not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "broker/policy/cut.h"
#include "broker/policy/estimate.h"
#include "model/gpu/arch.h"

/* 8,192 blocks of 32 threads, and what they may be cut to. */
#define BLOCKS 8192
static const struct gsb_cut cuts[] = {{1, BLOCKS}, {2, BLOCKS / 4}, {3, BLOCKS / 8}};

struct fixture {
	const struct gsb_arch *arch;
	struct gsb_estimates *e;
};

static int setup(void **state)
{
	static struct fixture f;

	f.arch = gsb_arch_find("h200");
	*state = &f;
	return gsb_estimates_create(&f.e);
}

static int teardown(void **state)
{
	gsb_estimates_destroy(((struct fixture *)*state)->e);
	return 0;
}

static unsigned choose(const struct fixture *f)
{
	return gsb_cut_choose(f->e, f->arch, cuts, GSB_ARRAY_LEN(cuts));
}

static void ran(struct fixture *f, unsigned cut, uint64_t ns, bool shared)
{
	struct gsb_work w = {.kind = GSB_WORK_KERNEL,
			     .kernel = {.threads_per_block = 32, .n_blocks = cuts[cut].n_blocks},
			     .code = 9,
			     .launch = cuts[cut].launch,
			     .blocks_per_sm = 32};
	struct gsb_run run = {
		.work = &w,
		.took_ns = ns,
		.cut = cut,
		.company = {.shared = shared, .met = shared},
	};

	gsb_estimates_note(f->e, f->arch, &run);
}

static void ran_alone(struct fixture *f, unsigned cut, uint64_t ns, unsigned n)
{
	while (n--)
		ran(f, cut, ns, false);
}

/* Launches as they come, each cut as it is chosen; how many were cut. */
static unsigned come(struct fixture *f, const uint64_t ns[3], unsigned n)
{
	unsigned n_cut = 0;

	while (n--) {
		unsigned cut = choose(f);

		ran(f, cut, ns[cut], false);
		n_cut += cut > 0;
	}
	return n_cut;
}

static void test_cut_waits_until_the_launch_is_known(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < GSB_CUT_KNOWN; i++) {
		assert_int_equal(choose(f), 0);
		ran(f, 0, 100000, false);
	}
	assert_int_equal(choose(f), 1);
}

static void test_cut_tries_each_size_twice_and_takes_the_fastest(void **state)
{
	struct fixture *f = *state;

	ran_alone(f, 0, 1000000, GSB_CUT_KNOWN);
	for (unsigned cut = 1; cut <= 2; cut++)
		for (unsigned i = 0; i < GSB_CUT_TRIES; i++) {
			assert_int_equal(choose(f), cut);
			ran(f, cut, cut == 1 ? 300000 : 200000, false);
		}
	assert_int_equal(choose(f), 2);
	assert_int_equal(come(f, (uint64_t[]){1000000, 300000, 200000}, 100), 100);
}

static void test_cut_that_gains_too_little_is_not_taken(void **state)
{
	struct fixture *f = *state;

	ran_alone(f, 0, 1000000, GSB_CUT_KNOWN);
	assert_int_equal(come(f, (uint64_t[]){1000000, 960000, 1200000}, 100), 2 * GSB_CUT_TRIES);
}

static void test_cut_of_a_short_launch_is_not_tried(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(come(f, (uint64_t[]){GSB_CUT_WORTH_NS - 1, 1000, 1000}, 100), 0);
}

/* What it works on has changed, and the other size is better now: seen as soon as the one in use has become slow. */
static void test_cut_is_left_when_it_has_become_slower(void **state)
{
	struct fixture *f = *state;

	come(f, (uint64_t[]){1000000, 300000, 500000}, 100);
	assert_int_equal(choose(f), 1);
	come(f, (uint64_t[]){1000000, 5000000, 500000}, 20);
	assert_int_equal(choose(f), 2);
	come(f, (uint64_t[]){1000000, 5000000, 4000000}, 20);
	assert_int_equal(choose(f), 0);
}

/* With others there nothing is learned of a size, and that is not tried for ever. */
static void test_cut_is_given_up_where_it_is_never_alone(void **state)
{
	struct fixture *f = *state;
	unsigned n = 0;

	ran_alone(f, 0, 1000000, GSB_CUT_KNOWN);
	for (unsigned cut; n < 100 && (cut = choose(f)) != 0; n++)
		ran(f, cut, 100000, true);
	assert_int_equal(n, 2 * GSB_CUT_MOST);
}

static void test_cut_for_fewer_sms_is_not_tried(void **state)
{
	struct fixture *f = *state;
	const struct gsb_cut few[] = {{1, 400}, {2, 100}, {3, 200}}, tiny[] = {{1, 8}, {2, 8}};

	ran_alone(f, 0, 1000000, GSB_CUT_KNOWN);
	assert_int_equal(gsb_cut_choose(f->e, f->arch, few, 2), 0);
	assert_int_equal(gsb_cut_choose(f->e, f->arch, few, 3), 2);  /* 200 are enough for 132 */
	assert_int_equal(gsb_cut_choose(f->e, f->arch, tiny, 2), 1); /* of as many blocks */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_cut_waits_until_the_launch_is_known),
		TEST(test_cut_tries_each_size_twice_and_takes_the_fastest),
		TEST(test_cut_that_gains_too_little_is_not_taken),
		TEST(test_cut_of_a_short_launch_is_not_tried),
		TEST(test_cut_is_left_when_it_has_become_slower),
		TEST(test_cut_is_given_up_where_it_is_never_alone),
		TEST(test_cut_for_fewer_sms_is_not_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
