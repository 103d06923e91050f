/*
 * test_said.c - what a driver says on stderr and stdout (device/cuda/said.h): the former is logged, and lines of assertions are kept; the latter is for who listens.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "device/cuda/said.h"

#define LINE_BYTES 80 /* more than a line has here */

static FILE *heard_err, *heard_out;

static void hear(void)
{
	FILE *real_err = stderr, *real_out = stdout;

	cuda_said_hear();
	if (!heard_err) {
		heard_err = stderr;
		heard_out = stdout;
	}
	assert_ptr_not_equal(heard_out, real_out);
	stderr = real_err;
	stdout = real_out;
}

/* What is said is one process's for its life: each test reads behind the one before. cmocka has its own way to stderr. */
static void say(const char *text)
{
	hear();
	fputs(text, heard_err);
	fflush(heard_err);
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

/* Nobody listens, and the log is full of it. */
static void test_what_is_printed_does_not_silence_assertions(void **state)
{
	size_t at = cuda_said_bytes();

	hear();
	for (size_t i = 0; i < CUDA_SAID_MAX / 8; i++)
		fputs("a line of 19 bytes\n", heard_out);
	cuda_said_flush();
	say_failed(7);
	expect_read(&at, "a.cu:3: f: block: [0,0,0], thread: [7,0,0] Assertion `x` failed.\n");
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

static bool take_print(void *arg, const char *text, size_t n)
{
	char *into = arg;

	strncat(into, text, n);
	return true;
}

static bool take_nothing(void *arg, const char *text, size_t n)
{
	return false;
}

/* All that was written before: what comes then is somebody else's. */
static void test_what_is_printed_is_for_who_listens(void **state)
{
	char first[64] = "", second[64] = "";

	hear();
	cuda_said_listen(take_print, first);
	fputs("one\ntw", heard_out);
	assert_string_equal(first, "");
	cuda_said_flush();
	assert_string_equal(first, "one\ntw");
	fputs("o\n", heard_out);
	cuda_said_listen(take_print, second);
	fputs("three\n", heard_out);
	cuda_said_listen(NULL, NULL);
	assert_string_equal(first, "one\ntwo\n");
	assert_string_equal(second, "three\n");
}

static unsigned n_lines_of(FILE *log, const char *what)
{
	char line[512];
	unsigned n = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		n += strstr(line, what) != NULL;
	return n;
}

/* Lines of stderr and stdout may come at the same time, each in parts. */
static void test_what_is_printed_for_nobody_is_logged_by_lines(void **state)
{
	size_t at = cuda_said_bytes();
	FILE *log = tmpfile();
	int fd = dup(STDERR_FILENO);

	hear();
	dup2(fileno(log), STDERR_FILENO);
	gsb_log_init("test_said", GSB_LOG_WARN);
	cuda_said_listen(take_nothing, NULL);
	fputs("the first ", heard_out);
	cuda_said_flush();
	say("between\n");
	fputs("line\nAn Assertion `x` failed.\n", heard_out);
	cuda_said_listen(NULL, NULL);
	gsb_log_init("test_said", GSB_LOG_OFF);
	dup2(fd, STDERR_FILENO);
	close(fd);
	assert_int_equal(n_lines_of(log, "the driver says: the first line"), 1);
	assert_int_equal(n_lines_of(log, "the driver says: between"), 1);
	assert_int_equal(n_lines_of(log, "the driver says: An Assertion"), 1);
	expect_read(&at, "");
	fclose(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_assertions_are_kept_in_order),
		cmocka_unit_test(test_what_else_a_driver_says_is_nobodys),
		cmocka_unit_test(test_a_line_is_kept_when_it_has_ended),
		cmocka_unit_test(test_what_is_printed_is_for_who_listens),
		cmocka_unit_test(test_what_is_printed_for_nobody_is_logged_by_lines),
		cmocka_unit_test(test_what_is_printed_does_not_silence_assertions),
		cmocka_unit_test(test_more_than_there_is_room_for_is_not_kept),
	};

	gsb_log_init("test_said", GSB_LOG_OFF);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
