/*
 * test_engine_log.c - what a tenant, or tenants that come and go, can have the engine log as often as they like is limited,
 * and what is held back is counted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "tests/unit/engine_kit.h"

#define N 100

/* stderr goes to a file until it is read. */
struct log {
	FILE *file;
	int saved;
	uint64_t begun_ns;
};

static void begin_log(struct log *l)
{
	l->file = tmpfile();
	assert_non_null(l->file);
	fflush(stderr);
	l->saved = dup(STDERR_FILENO);
	l->begun_ns = gsb_clock_ns();
	dup2(fileno(l->file), STDERR_FILENO);
}

/* Lines with text in it; and how many were held back, as the log says: "... and 7 " and held_text. */
static unsigned end_log_of(struct log *l, const char *text, const char *held_text, unsigned *n_held)
{
	unsigned n = 0;
	char line[2048];

	dup2(l->saved, STDERR_FILENO);
	close(l->saved);
	rewind(l->file);
	*n_held = 0;
	while (fgets(line, sizeof(line), l->file)) {
		const char *held = strstr(line, "... and ");

		n += strstr(line, text) != NULL;
		if (held && strstr(held, held_text))
			*n_held += (unsigned)strtoul(held + strlen("... and "), NULL, 10);
	}
	fclose(l->file);
	return n;
}

static unsigned end_log(struct log *l, const char *text, unsigned *n_held)
{
	return end_log_of(l, text, "lines more", n_held);
}

/* A burst, and one for each second that it took. */
static unsigned most(const struct log *l)
{
	return GSB_LOG_BURST + 1 + (unsigned)((gsb_clock_ns() - l->begun_ns) / GSB_LOG_EVERY_NS);
}

/* Its first is the end of all its contexts: what comes behind is told nobody. */
static void test_fault_of_a_tenant_is_logged_once(void **state)
{
	struct kit_engine k;
	struct kit_tenant t;
	struct log log;
	unsigned n, n_held;
	uint64_t addr;

	kit_engine_init(&k, false);
	kit_tenant_init(&t, &k, NULL);
	addr = kit_alloc(&t, 64);
	for (uint32_t i = 1; i <= 3; i++) {
		kit_stream_create(&t, i, GSB_STREAM_NON_BLOCKING);
		kit_fill(&t, i, addr);
	}
	kit_settle(&k);
	begin_log(&log);
	for (unsigned i = 0; i < 3; i++)
		kit_complete(k.dev, i, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&k);
	kit_tenant_finish(&t);
	n = end_log(&log, "failed with CUDA_ERROR_ILLEGAL_ADDRESS", &n_held);
	assert_int_equal(n, 1);
	assert_int_equal(n_held, 0);
	kit_engine_finish(&k);
}

static void test_refusals_of_a_tenant_are_logged_now_and_then(void **state)
{
	struct gsb_rec_object fn = {.handle = kit_fn(0)};
	struct kit_engine k;
	struct kit_tenant t, other;
	struct log log;
	unsigned n, n_held, max;

	kit_engine_init(&k, false);
	k.dev->prepare_err = -ENOTSUP;
	kit_tenant_init(&t, &k, NULL);
	kit_tenant_init(&other, &k, NULL);
	kit_load_inc(&t, 0, 0);
	kit_load_inc(&other, 0, 0);
	begin_log(&log);
	for (int i = 0; i < N; i++)
		kit_call(&t, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	max = most(&log) + 1;
	kit_call(&other, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0); /* has its own */
	kit_tenant_finish(&t);
	n = end_log(&log, "opcode frobnicate", &n_held);
	assert_in_range(n, GSB_LOG_BURST + 1, max);
	assert_int_equal(n + n_held, N + 1);
	kit_tenant_finish(&other);
	kit_engine_finish(&k);
}

/* Each is another tenant, so none is past a limit of its own. At the end is said what nobody came to say. */
static void expect_few_lines_of_who_come_and_are_cut(const char *text, const char *held_text)
{
	struct gsb_rec_object fn = {.handle = kit_fn(0)}; /* which they do not have */
	struct kit_engine k;
	struct kit_tenant t;
	struct log log;
	unsigned n, n_held, max;

	kit_engine_init(&k, false);
	begin_log(&log);
	for (int i = 0; i < N; i++) {
		kit_tenant_init(&t, &k, NULL);
		kit_post_call(&t, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
		kit_settle(&k);
		kit_tenant_finish(&t);
	}
	max = most(&log);
	assert_int_equal(k.engine->n_cut, N);
	kit_engine_finish(&k);
	n = end_log_of(&log, text, held_text, &n_held);
	assert_in_range(n, GSB_LOG_BURST, max);
	assert_int_equal(n + n_held, N);
}

static void test_tenants_that_are_cut_off_are_logged_now_and_then(void **state)
{
	expect_few_lines_of_who_come_and_are_cut("is cut off", "more were cut off");
}

static void test_tenants_that_leave_are_logged_now_and_then(void **state)
{
	gsb_log_init("test_engine_log", GSB_LOG_INFO);
	expect_few_lines_of_who_come_and_are_cut("has left", "more have left");
	gsb_log_init("test_engine_log", GSB_LOG_WARN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault_of_a_tenant_is_logged_once),
		cmocka_unit_test(test_refusals_of_a_tenant_are_logged_now_and_then),
		cmocka_unit_test(test_tenants_that_are_cut_off_are_logged_now_and_then),
		cmocka_unit_test(test_tenants_that_leave_are_logged_now_and_then),
	};

	gsb_log_init("test_engine_log", GSB_LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
