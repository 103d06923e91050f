/*
 * test_said.c - what a driver says on stderr (device/cuda/said.h): all of it is logged, lines of assertions are kept.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/log.h"
#include "device/cuda/said.h"

#define LINE_BYTES 80 /* more than a line has here */

/* What is said is one process's for its life: each test reads behind the one before. cmocka has its own way to stderr. */
static void say(const char *text)
{
	FILE *real = stderr;
	static FILE *heard;

	if (heard)
		stderr = heard;
	cuda_said_hear();
	heard = stderr;
	fputs(text, stderr);
	fflush(stderr);
	stderr = real;
}

static void say_failed(unsigned thread)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "a.cu:3: f: block: [0,0,0], thread: [%u,0,0] Assertion `x` failed.\n", thread);
	say(line);
}

static void expect_read(size_t *at, const char *expected)
{
	char text[512] = "";
	size_t n = 0, part;

	while ((part = cuda_said_read(at, text + n, 7)))
		n += part;
	text[n] = 0;
	assert_string_equal(text, expected);
}

static void test_lines_of_assertions_are_kept_in_order(void **state)
{
	size_t at = cuda_said_bytes();

	say_failed(1);
	say_failed(2);
	expect_read(&at, "a.cu:3: f: block: [0,0,0], thread: [1,0,0] Assertion `x` failed.\n"
			 "a.cu:3: f: block: [0,0,0], thread: [2,0,0] Assertion `x` failed.\n");
	expect_read(&at, "");
}

static void test_what_else_a_driver_says_is_nobodys(void **state)
{
	size_t at = cuda_said_bytes();

	say("warning\n");
	expect_read(&at, "");
}

static void test_a_line_is_kept_when_it_has_ended(void **state)
{
	size_t at = cuda_said_bytes();

	say("b.cu:1: g: block: [0,0,0]");
	expect_read(&at, "");
	say(", thread: [0,0,0] Assertion `5` failed.\n");
	expect_read(&at, "b.cu:1: g: block: [0,0,0], thread: [0,0,0] Assertion `5` failed.\n");
}

/* The last test: nothing more is kept. */
static void test_more_than_there_is_room_for_is_not_kept(void **state)
{
	char text[256];
	size_t at = cuda_said_bytes(), before = at, n = 0, part;

	for (unsigned i = 0; i < 2000; i++)
		say_failed(i);
	assert_true(cuda_said_bytes() <= CUDA_SAID_MAX);
	assert_true(cuda_said_bytes() > CUDA_SAID_MAX - 2 * LINE_BYTES);
	while ((part = cuda_said_read(&at, text, sizeof(text))))
		n += part;
	assert_int_equal(n, cuda_said_bytes() - before);
	assert_int_equal(text[(n - 1) % sizeof(text)], '\n'); /* whole lines */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_assertions_are_kept_in_order),
		cmocka_unit_test(test_what_else_a_driver_says_is_nobodys),
		cmocka_unit_test(test_a_line_is_kept_when_it_has_ended),
		cmocka_unit_test(test_more_than_there_is_room_for_is_not_kept),
	};

	gsb_log_init("test_said", GSB_LOG_OFF);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
