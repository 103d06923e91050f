/*
 * test_cuda_pace.c - when a GPU is asked again, by what its commands took before.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "device/cuda/device.h"
#include "device/cuda/module.h"
#include "device/cuda/pace.h"

#define US	  1000ull
#define MS	  1000000ull
#define WINDOW	  0x10000000000ull
#define SOMEWHERE 0x1000ull

static struct cuda_device *dev;
static struct gsb_space space;

static int setup(void **state)
{
	dev = calloc(1, sizeof(*dev));
	space = (struct gsb_space){.dev = dev, .base = WINDOW, .size = 1 << 30};
	return !dev;
}

static int teardown(void **state)
{
	free(dev);
	return 0;
}

static struct gsb_cmd copy(uint64_t dst, uint64_t src, uint64_t bytes)
{
	return (struct gsb_cmd){.kind = GSB_CMD_COPY,
				.space = &space,
				.copy = {.dst = dst, .src = src, .width = bytes, .height = 1}};
}

/* One such has taken so long. */
static void teach(const struct gsb_cmd *cmd, uint64_t took_ns)
{
	struct cuda_outlook o = cuda_outlook_of(dev, cmd, 0);

	cuda_outlook_end(&o, took_ns);
}

static uint64_t due_ns(const struct gsb_cmd *cmd)
{
	return cuda_outlook_of(dev, cmd, 5 * US).due_ns;
}

/* ---- what is due when ---- */

static void test_kernel_is_due_after_what_it_took_last(void **state)
{
	struct gsb_function f = {0}, other = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};

	assert_int_equal(due_ns(&cmd), 0);
	teach(&cmd, 300 * US);
	teach(&cmd, 70 * US);
	assert_int_equal(due_ns(&cmd), 75 * US);
	cmd.launch.function = &other;
	assert_int_equal(due_ns(&cmd), 0);
}

static void test_long_copy_is_due_by_its_length_and_direction(void **state)
{
	struct gsb_cmd in = copy(WINDOW, SOMEWHERE, 4 << 20),
		       out = copy(SOMEWHERE, WINDOW, 8 << 20);
	struct gsb_cmd within = copy(WINDOW, WINDOW + (16 << 20), 8 << 20);

	teach(&in, 64 * US);
	assert_int_equal(due_ns(&out), 0);
	assert_int_equal(due_ns(&within), 0);
	teach(&out, 256 * US);
	in.copy.width *= 3;
	assert_int_equal(due_ns(&in), 5 * US + 192 * US);
	assert_int_equal(due_ns(&out), 5 * US + 256 * US);
	in.copy.width = 128 << 10; /* between short and long: it teaches nothing */
	teach(&in, 9 * MS);
	assert_int_equal(due_ns(&in), 0);
}

static void test_short_ones_are_a_kind_of_their_own(void **state)
{
	struct gsb_cmd in = copy(WINDOW, SOMEWHERE, 4), out = copy(SOMEWHERE, WINDOW, 4);
	struct gsb_cmd fill = {.kind = GSB_CMD_FILL,
			       .space = &space,
			       .fill = {.width = 100, .height = 100, .elem_bytes = 4}};

	teach(&in, 2 * US);
	in.copy.width = 65536;
	assert_int_equal(due_ns(&in), 7 * US);
	assert_int_equal(due_ns(&out), 0);
	assert_int_equal(due_ns(&fill), 0);
	teach(&fill, 3 * US);
	assert_int_equal(due_ns(&fill), 8 * US);
	in.copy.width = 1 << 20;
	assert_int_equal(due_ns(&in), 0);
}

/* ---- which are timed ---- */

static bool must_be_timed(const struct gsb_cmd *cmd)
{
	struct cuda_outlook o = cuda_outlook_of(dev, cmd, 0);

	return cuda_outlook_must_be_timed(&o);
}

static uint64_t guess(const struct gsb_cmd *cmd, uint64_t sent, uint64_t open, uint64_t end)
{
	struct cuda_outlook o = cuda_outlook_of(dev, cmd, sent);

	return cuda_outlook_guess_ns(&o, &(struct cuda_untimed){1, o.about_ns, sent, open, end});
}

static void test_one_of_sixteen_short_ones_is_timed(void **state)
{
	struct gsb_cmd cmd = copy(WINDOW, SOMEWHERE, 4);

	assert_true(must_be_timed(&cmd));
	for (int round = 0; round < 3; round++) {
		teach(&cmd, 2 * US);
		for (int i = 0; i < 15; i++) {
			assert_false(must_be_timed(&cmd));
			guess(&cmd, 0, 0, 9 * US);
		}
		assert_true(must_be_timed(&cmd));
	}
}

static void test_what_is_not_short_is_timed(void **state)
{
	struct gsb_function f = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};

	teach(&cmd, 20 * US);
	assert_false(must_be_timed(&cmd));
	teach(&cmd, 21 * US);
	assert_true(must_be_timed(&cmd));
}

/* But who waits for its end waits for the events, too. */
static void test_what_is_urgent_is_seldom_timed(void **state)
{
	struct gsb_function f = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};

	cmd.urgent = true;
	assert_true(must_be_timed(&cmd));
	for (int round = 0; round < 3; round++) {
		teach(&cmd, 100 * US);
		for (int i = 0; i < 15; i++) {
			assert_false(must_be_timed(&cmd));
			guess(&cmd, 0, 0, 130 * US);
		}
		assert_true(must_be_timed(&cmd));
	}
	teach(&cmd, 1000 * US);
	assert_false(must_be_timed(&cmd));
	teach(&cmd, 1001 * US);
	assert_true(must_be_timed(&cmd));
	cmd.urgent = false;
	teach(&cmd, 100 * US);
	assert_true(must_be_timed(&cmd));
}

static void test_what_is_not_timed_took_what_can_be(void **state)
{
	struct gsb_function f = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};

	teach(&cmd, 10 * US);
	assert_int_equal(guess(&cmd, 100 * US, 0, 120 * US), 10 * US);
	assert_int_equal(guess(&cmd, 100 * US, 0, 900 * US), 10 * US); /* nobody looked */
	assert_int_equal(guess(&cmd, 100 * US, 0, 104 * US), 4 * US);
	assert_int_equal(guess(&cmd, 100 * US, 119 * US, 120 * US), 11 * US);
	assert_false(must_be_timed(&cmd));
	assert_int_equal(guess(&cmd, 100 * US, 850 * US, 900 * US), 742 * US);
	assert_true(must_be_timed(&cmd)); /* it is not what it was */
}

/* It may have begun when that had returned, and no sooner. */
static void test_what_the_driver_took_is_not_the_kernels(void **state)
{
	struct gsb_function f = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};
	struct cuda_untimed u = {.n = 1,
				 .about_ns = 10 * US,
				 .sent_ns = 100 * US,
				 .open_ns = 150 * US,
				 .end_ns = 151 * US,
				 .call_ns = 40 * US};
	struct cuda_outlook o;

	teach(&cmd, 10 * US);
	o = cuda_outlook_of(dev, &cmd, 0);
	assert_int_equal(cuda_outlook_guess_ns(&o, &u), 10 * US);
	u.open_ns = 170 * US;
	u.end_ns = 171 * US;
	assert_int_equal(cuda_outlook_guess_ns(&o, &u), 22 * US);
}

static void test_those_that_end_together_took_their_sum(void **state)
{
	struct gsb_function f = {0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = &space, .launch.function = &f};
	struct cuda_outlook o;

	teach(&cmd, 10 * US);
	o = cuda_outlook_of(dev, &cmd, 0);
	assert_int_equal(
		cuda_outlook_guess_ns(&o, &(struct cuda_untimed){4, 35 * US, 0, 0, 90 * US}),
		35 * US);
	assert_false(must_be_timed(&cmd));
	assert_int_equal(
		cuda_outlook_guess_ns(&o, &(struct cuda_untimed){4, 35 * US, 0, 88 * US, 90 * US}),
		80 * US);
	assert_false(must_be_timed(&cmd)); /* each of them is short still */
	cuda_outlook_guess_ns(&o, &(struct cuda_untimed){4, 35 * US, 0, 95 * US, 99 * US});
	assert_true(must_be_timed(&cmd));
}

/* ---- naps ---- */

static uint64_t nap(uint64_t now, uint64_t due, uint64_t about)
{
	return cuda_nap_ns(now, now, &(struct cuda_outlook){.due_ns = due, .about_ns = about});
}

static void test_nobody_naps_just_after_news(void **state)
{
	assert_true(cuda_is_lively(99 * US));
	assert_false(cuda_is_lively(100 * US));
	assert_int_equal(nap(49 * US, 0, 0), 0);
	assert_int_equal(nap(50 * US, 0, 0), 20 * US);
}

static void test_nap_grows_with_the_wait(void **state)
{
	assert_int_equal(nap(400 * US, 0, 0), 50 * US);
	assert_in_range(nap(60 * MS, 0, 0), 900 * US, MS - 1);
}

static void test_nap_ends_before_the_time_that_is_due(void **state)
{
	assert_int_equal(nap(4 * MS, 5 * MS, 1 * MS), 500 * US);
	assert_int_equal(nap(4600 * US, 5 * MS, 1 * MS), 350 * US);
	assert_int_equal(nap(4900 * US, 5 * MS, 1 * MS), 50 * US);
	/* a 32nd of what it should take, and not more than 1 ms */
	assert_int_equal(nap(4800 * US, 5 * MS, 3200 * US), 100 * US);
	assert_int_equal(nap(98 * MS, 100 * MS, 100 * MS), MS - 1);
	assert_int_equal(nap(98900 * US, 100 * MS, 100 * MS), 100 * US);
}

static void test_nobody_naps_around_the_time_that_is_due(void **state)
{
	assert_int_equal(nap(4940 * US, 5 * MS, 1 * MS), 0);
	assert_int_equal(nap(5 * MS, 5 * MS, 1 * MS), 0);
	assert_int_equal(nap(5049 * US, 5 * MS, 1 * MS), 0);
	assert_int_equal(nap(5056 * US, 5 * MS, 1 * MS), 632 * US);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_kernel_is_due_after_what_it_took_last),
		CASE(test_long_copy_is_due_by_its_length_and_direction),
		CASE(test_short_ones_are_a_kind_of_their_own),
		CASE(test_one_of_sixteen_short_ones_is_timed),
		CASE(test_what_is_not_short_is_timed),
		CASE(test_what_is_urgent_is_seldom_timed),
		CASE(test_what_is_not_timed_took_what_can_be),
		CASE(test_what_the_driver_took_is_not_the_kernels),
		CASE(test_those_that_end_together_took_their_sum),
		CASE(test_nobody_naps_just_after_news),
		CASE(test_nap_grows_with_the_wait),
		CASE(test_nap_ends_before_the_time_that_is_due),
		CASE(test_nobody_naps_around_the_time_that_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
