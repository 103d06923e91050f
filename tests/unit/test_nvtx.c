/*
 * test_nvtx.c - ranges of NVTX: what a program calls becomes records, in its order, while somebody traces, and nothing
 * otherwise.
 */
#include "tests/unit/interpose.h"

#include <unistd.h>

#include "tests/unit/nvtx.h"

static CUfunction function;

static void trace(bool on)
{
	engine->is_traced = on;
	await_look(); /* by then it is in the region */
}

static int set_up_traced(void **state)
{
	int err = set_up(state);

	nvtx_n_places = 16;
	nvtx_has_callbacks = true;
	assert_int_equal(nvtx_open(GSB_LIBRARY), 1);
	trace(true);
	mark = engine->n_logged;
	return err;
}

/* The i-th range that was posted. */
static const struct fake_record *range(unsigned i)
{
	flush();
	for (unsigned at = mark; at < engine->n_logged; at++)
		if (engine->log[at].rec.type == GSB_REC_RANGE && !i--)
			return &engine->log[at];
	fail_msg("there are not so many ranges");
	return NULL;
}

static void expect_range(unsigned i, enum gsb_range_step step, uint64_t id, const char *text)
{
	const struct gsb_rec_range *b = (const void *)range(i)->body;
	char name[GSB_RANGE_TEXT_MAX + 1] = "";

	assert_int_equal(b->step, step);
	assert_int_equal(b->id, id);
	assert_in_range(b->text_bytes, 0, GSB_RANGE_TEXT_MAX);
	memcpy(name, b + 1, b->text_bytes);
	assert_string_equal(name, text);
}

static void launch(void)
{
	assert_cu(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void test_ranges_stand_among_launches_in_the_order_of_calls(void **state)
{
	static const enum gsb_rec_type want[] = {GSB_REC_RANGE, GSB_REC_LAUNCH, GSB_REC_RANGE,
						 GSB_REC_LAUNCH};
	unsigned n = 0;

	assert_int_equal(nvtx_push("q1"), -2);
	launch();
	assert_int_equal(nvtx_pop(), -2);
	launch();
	flush();
	for (unsigned at = mark; at < engine->n_logged && n < 4; at++)
		if (engine->log[at].rec.type == GSB_REC_RANGE ||
		    engine->log[at].rec.type == GSB_REC_LAUNCH)
			assert_int_equal(engine->log[at].rec.type, want[n++]);
	assert_int_equal(n, 4);
	expect_range(0, GSB_RANGE_PUSH, 0, "q1");
	expect_range(1, GSB_RANGE_POP, 0, "");
	assert_true(range(0)->rec.stamp > 0);
}

static void test_ranges_that_nobody_traces_are_not_posted(void **state)
{
	trace(false);
	nvtx_push("q1");
	nvtx_end(nvtx_start("q2"));
	nvtx_pop();
	assert_int_equal(count(GSB_REC_RANGE), 0);
	trace(true);
	nvtx_push("q3");
	assert_int_equal(count(GSB_REC_RANGE), 1);
	nvtx_pop();
}

static void test_started_ranges_have_numbers_of_their_own(void **state)
{
	uint64_t a = nvtx_start("a"), b;

	trace(false);
	b = nvtx_start("not told");
	trace(true);
	nvtx_end(b);
	nvtx_end(a);
	assert_true(a && b && a != b);
	expect_range(0, GSB_RANGE_START, a, "a");
	expect_range(1, GSB_RANGE_END, b, "");
	expect_range(2, GSB_RANGE_END, a, "");
}

static void test_domains_are_told_apart_and_named(void **state)
{
	struct nvtx_attributes a = nvtx_message(1, "build");
	void *db = nvtx_domain("db"), *other = nvtx_domain("other");
	uint64_t id;

	assert_ptr_not_equal(db, other);
	assert_ptr_equal(nvtx_domain("db"), db);
	nvtx_domain_push(db, &a);
	nvtx_domain_push(other, &a);
	id = nvtx_domain_start(NULL, &a);
	nvtx_domain_pop(db);
	nvtx_domain_end(NULL, id);
	expect_range(0, GSB_RANGE_PUSH, (uintptr_t)db, "db: build");
	expect_range(1, GSB_RANGE_PUSH, (uintptr_t)other, "other: build");
	expect_range(2, GSB_RANGE_START, id, "build");
	expect_range(3, GSB_RANGE_POP, (uintptr_t)db, "");
	expect_range(4, GSB_RANGE_END, id, "");
}

static void test_domains_without_number_have_no_name(void **state)
{
	struct nvtx_attributes a = nvtx_message(1, "x");
	char name[16];
	void *last_one = NULL;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "domain %u", i);
		last_one = nvtx_domain(name);
	}
	nvtx_domain_push(last_one, &a);
	nvtx_domain_push((void *)(1ull << 36), &a);
	expect_range(0, GSB_RANGE_PUSH, (uintptr_t)last_one, "x");
	expect_range(1, GSB_RANGE_PUSH, 1ull << 36, "x");
}

static void test_names_come_registered_wide_long_and_not_at_all(void **state)
{
	struct nvtx_attributes a = nvtx_message(3, nvtx_register(NULL, "registered"));
	char text[1000], cut[GSB_RANGE_TEXT_MAX + 1];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	snprintf(cut, sizeof(cut), "%.127s", text);
	nvtx_push_ex(&a);
	nvtx_push_wide(L"w\u00e4ide");
	nvtx_push(text);
	nvtx_push("a\nb");
	nvtx_push(NULL);
	nvtx_push_ex(NULL);
	a.size = 8; /* a program of another NVTX */
	nvtx_push_ex(&a);
	expect_range(0, GSB_RANGE_PUSH, 0, "registered");
	expect_range(1, GSB_RANGE_PUSH, 0, "w?ide");
	expect_range(2, GSB_RANGE_PUSH, 0, cut);
	expect_range(3, GSB_RANGE_PUSH, 0, "a?b");
	for (unsigned i = 4; i < 7; i++)
		expect_range(i, GSB_RANGE_PUSH, 0, "range");
}

/* A program may register a text again and again: what is kept of it is kept once. */
static void test_a_text_is_registered_once(void **state)
{
	const void *one = nvtx_register(NULL, "one"), *two = nvtx_register(NULL, "two");
	struct nvtx_attributes a = nvtx_message(3, two);

	assert_non_null(one);
	assert_ptr_not_equal(one, two);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(nvtx_register(NULL, "one"), one);
	assert_ptr_equal(nvtx_register(NULL, NULL), nvtx_register(NULL, ""));
	nvtx_push_ex(&a);
	expect_range(0, GSB_RANGE_PUSH, 0, "two");
}

static CUresult push_elsewhere(void *arg)
{
	nvtx_push(arg);
	return CUDA_SUCCESS;
}

static void test_ranges_are_their_threads(void **state)
{
	struct waiter w;

	nvtx_push("mine");
	launch();
	waiter_start(&w, push_elsewhere, "its");
	waiter_join(&w);
	assert_int_equal(range(0)->rec.thread, last(GSB_REC_LAUNCH)->rec.thread);
	assert_int_not_equal(range(1)->rec.thread, range(0)->rec.thread);
}

static void test_program_of_an_older_nvtx_has_its_places_filled_only(void **state)
{
	nvtx_n_places = 11;
	assert_int_equal(nvtx_open(GSB_LIBRARY), 1);
	assert_non_null(nvtx_core[10]);
	assert_null(nvtx_core[11]);
	assert_null(nvtx_core2[12]);
	nvtx_has_callbacks = false;
	assert_int_equal(nvtx_open(GSB_LIBRARY), 0);
	assert_null(nvtx_core[9]);
}

/* What is not taken stays as it is: nothing is called. */
static void test_places_of_marks_and_names_are_left_alone(void **state)
{
	static const unsigned left[] = {1, 2, 3, 12, 13, 14, 15};

	for (unsigned i = 0; i < sizeof(left) / sizeof(*left); i++)
		assert_null(nvtx_core[left[i]]);
	assert_null(nvtx_core2[1]);
	assert_null(nvtx_core2[6]);
	assert_null(nvtx_core[16]);
}

/* In a process that is no tenant, before cuInit or for good. */
static void test_ranges_before_the_first_call_of_cuda_do_no_harm(void **state)
{
	uint64_t id;

	assert_int_equal(nvtx_open(GSB_LIBRARY), 1);
	assert_int_equal(nvtx_push("q"), -2);
	id = nvtx_start("r");
	nvtx_end(id);
	assert_int_equal(nvtx_pop(), -2);
	assert_true(id > 0);
}

int main(void)
{
	const struct CMUnitTest before[] = {
		cmocka_unit_test(test_ranges_before_the_first_call_of_cuda_do_no_harm),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ranges_stand_among_launches_in_the_order_of_calls,
				       set_up_traced),
		cmocka_unit_test_setup(test_ranges_that_nobody_traces_are_not_posted,
				       set_up_traced),
		cmocka_unit_test_setup(test_started_ranges_have_numbers_of_their_own,
				       set_up_traced),
		cmocka_unit_test_setup(test_domains_are_told_apart_and_named, set_up_traced),
		cmocka_unit_test_setup(test_names_come_registered_wide_long_and_not_at_all,
				       set_up_traced),
		cmocka_unit_test_setup(test_a_text_is_registered_once, set_up_traced),
		cmocka_unit_test_setup(test_ranges_are_their_threads, set_up_traced),
		cmocka_unit_test_setup(test_program_of_an_older_nvtx_has_its_places_filled_only,
				       set_up_traced),
		cmocka_unit_test_setup(test_places_of_marks_and_names_are_left_alone,
				       set_up_traced),
		cmocka_unit_test_setup(test_domains_without_number_have_no_name, set_up_traced),
	};
	int failed = cmocka_run_group_tests(before, NULL, NULL);

	start_tenant();
	function = load_function();
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
