/*
 * test_base.c - arena, checked arithmetic, error codes, log levels.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

static void test_arena_within_limit_gives_zeroed_aligned_memory(void **state)
{
	struct gsb_arena a;

	gsb_arena_init(&a, 1 << 20);
	for (size_t size = 0; size < 5000; size += 37) {
		unsigned char *p = gsb_arena_alloc(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	gsb_arena_finish(&a);
}

static void test_arena_past_limit_returns_null(void **state)
{
	struct gsb_arena a;

	gsb_arena_init(&a, 4096);
	assert_non_null(gsb_arena_alloc(&a, 4000));
	assert_null(gsb_arena_alloc(&a, 128));
	assert_null(gsb_arena_alloc(&a, SIZE_MAX));
	assert_null(gsb_arena_alloc_array(&a, SIZE_MAX / 2, 3));
	assert_null(gsb_arena_alloc_array(&a, SIZE_MAX / 2 + 1, 2)); /* the product wraps to 0 */
	assert_non_null(gsb_arena_alloc(&a, 80));
	gsb_arena_finish(&a);
}

static void test_arena_finish_takes_zeroed_and_null(void **state)
{
	struct gsb_arena a = {0};

	gsb_arena_finish(&a);
	gsb_arena_finish(NULL);
}

static void test_range_ok_rejects_overflow(void **state)
{
	assert_true(gsb_range_ok(0, 10, 10));
	assert_true(gsb_range_ok(10, 0, 10));
	assert_false(gsb_range_ok(11, 0, 10));
	assert_false(gsb_range_ok(5, 6, 10));
	assert_false(gsb_range_ok(5, UINT64_MAX, 10));
}

static void test_cuda_result_maps_errno(void **state)
{
	assert_int_equal(gsb_cuda_result(0), CUDA_SUCCESS);
	assert_int_equal(gsb_cuda_result(-EINVAL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(gsb_cuda_result(-EFAULT), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(gsb_cuda_result(-ELIBSCN), CUDA_ERROR_UNKNOWN);
}

static void test_cuda_error_name_of_unknown_code_is_null(void **state)
{
	assert_string_equal(gsb_cuda_error_name(CUDA_ERROR_NOT_READY), "CUDA_ERROR_NOT_READY");
	assert_string_equal(gsb_cuda_error_string(CUDA_SUCCESS), "no error");
	assert_null(gsb_cuda_error_name((CUresult)12345));
}

static void test_log_level_parse_knows_names_only(void **state)
{
	enum gsb_log_level level = GSB_LOG_OFF;

	assert_true(gsb_log_level_parse("info", &level));
	assert_int_equal(level, GSB_LOG_INFO);
	assert_false(gsb_log_level_parse("loud", &level));
	assert_int_equal(level, GSB_LOG_INFO);
}

static void test_log_of_a_text_with_lines_is_one_line(void **state)
{
	char got[128] = "";
	int pipes[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	gsb_log_init("test", GSB_LOG_WARN);
	gsb_log(GSB_LOG_WARN, "topic", "%s", "a\ntest: error: b\r\033[2J\177c");
	dup2(saved, STDERR_FILENO);
	n = read(pipes[0], got, sizeof(got) - 1);
	assert_in_range(n, 1, sizeof(got) - 1);
	assert_string_equal(got, "test: warn: topic: a test: error: b  [2J c\n");
	close(saved);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_clock_never_goes_back(void **state)
{
	uint64_t last = gsb_clock_ns();

	for (int i = 0; i < 1000; i++) {
		uint64_t now = gsb_clock_ns();

		assert_true(now >= last);
		last = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_within_limit_gives_zeroed_aligned_memory),
		cmocka_unit_test(test_arena_past_limit_returns_null),
		cmocka_unit_test(test_arena_finish_takes_zeroed_and_null),
		cmocka_unit_test(test_range_ok_rejects_overflow),
		cmocka_unit_test(test_cuda_result_maps_errno),
		cmocka_unit_test(test_cuda_error_name_of_unknown_code_is_null),
		cmocka_unit_test(test_log_level_parse_knows_names_only),
		cmocka_unit_test(test_log_of_a_text_with_lines_is_one_line),
		cmocka_unit_test(test_clock_never_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
