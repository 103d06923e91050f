/*
 * test_base.c - arena, checked arithmetic, error codes; the log: its lines, readers that do not read, limits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/bulk.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/lowest.h"
#include "base/sha256.h"
#include "gsb/texture.h"

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
	assert_int_equal(gsb_cuda_result(-ESHUTDOWN), CUDA_ERROR_SYSTEM_NOT_READY);
	assert_int_equal(gsb_cuda_result(-ESRCH), CUDA_ERROR_SYSTEM_NOT_READY);
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

/* stderr, replaced by the writing end of a pipe or a socket until it is given back. The log stays
 * where gsb_log_never_wait() led it last: cases that do not call it come first. */
struct captured {
	int saved, reader;
};

/* What can be read at once, without waiting for more. */
static size_t read_some(const struct captured *c, char *out, size_t size)
{
	int flags = fcntl(c->reader, F_GETFL);
	ssize_t n;

	fcntl(c->reader, F_SETFL, flags | O_NONBLOCK);
	n = read(c->reader, out, size - 1);
	fcntl(c->reader, F_SETFL, flags);
	out[n < 0 ? 0 : n] = 0;
	return n < 0 ? 0 : (size_t)n;
}

static void capture(struct captured *c, const int ends[2], bool never_wait)
{
	char left[512];

	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	c->reader = ends[0];
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	gsb_log_init("test", GSB_LOG_WARN);
	if (never_wait)
		gsb_log_never_wait();
	gsb_log(GSB_LOG_WARN, "topic", "and what the case before this one has left unsaid");
	read_some(c, left, sizeof(left));
}

static void capture_pipe(struct captured *c, bool never_wait)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	capture(c, ends, never_wait);
}

static void give_back(struct captured *c)
{
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->reader);
}

static void test_log_of_a_text_with_lines_is_one_line(void **state)
{
	struct captured c;
	char got[128];

	capture_pipe(&c, false);
	gsb_log(GSB_LOG_WARN, "topic", "%s", "a\ntest: error: b\r\033[2J\177c");
	read_some(&c, got, sizeof(got));
	give_back(&c);
	assert_string_equal(got, "test: warn: topic: a test: error: b  [2J c\n");
}

static _Atomic bool has_said;

static void *say_while_ending(void *unused)
{
	pthread_cancel(pthread_self());
	gsb_log(GSB_LOG_WARN, "topic", "its caller has a lock");
	has_said = true;
	pthread_testcancel();
	return unused;
}

static void test_log_ends_no_thread(void **state)
{
	struct captured c;
	pthread_t thread;
	char got[128];
	void *result;

	capture_pipe(&c, false);
	pthread_create(&thread, NULL, say_while_ending, NULL);
	pthread_join(thread, &result);
	read_some(&c, got, sizeof(got));
	give_back(&c);
	assert_string_equal(got, "test: warn: topic: its caller has a lock\n");
	assert_true(has_said);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

#define N_LINES	   2000 /* more than a pipe or a socket takes */
#define LINE_BYTES 95

/* What became of N_LINES that nobody read. */
struct outcome {
	unsigned taken, dropped; /* dropped: by what the next line says */
	bool errno_kept;
	char next[256], last[256]; /* read after the next line, and after one more */
};

static void log_too_much(const struct captured *c, struct outcome *o)
{
	static char got[1 << 20];

	*o = (struct outcome){.errno_kept = true};
	for (unsigned i = 0; i < N_LINES; i++) {
		errno = ENOTTY;
		gsb_log(GSB_LOG_WARN, "topic", "%075u", i);
		o->errno_kept &= errno == ENOTTY;
	}
	while (read_some(c, got, sizeof(got)))
		for (const char *s = strchr(got, '\n'); s; s = strchr(s + 1, '\n'))
			o->taken++;
	gsb_log(GSB_LOG_WARN, "topic", "again");
	read_some(c, o->next, sizeof(o->next));
	sscanf(o->next, "test: warn: log: %u lines were dropped\n", &o->dropped);
	gsb_log(GSB_LOG_WARN, "topic", "once more");
	read_some(c, o->last, sizeof(o->last));
}

static void expect_all_accounted_for(const struct outcome *o)
{
	assert_int_equal(o->taken + o->dropped, N_LINES);
	assert_in_range(o->taken, 1, N_LINES - 1);
	assert_non_null(strstr(o->next, " lines were dropped\ntest: warn: topic: again\n"));
	assert_string_equal(o->last, "test: warn: topic: once more\n");
	assert_true(o->errno_kept);
}

static void test_log_into_a_full_pipe_drops_and_says_how_many(void **state)
{
	struct captured c;
	struct outcome o;

	capture_pipe(&c, false);
	log_too_much(&c, &o);
	give_back(&c);
	expect_all_accounted_for(&o);
}

static void test_log_that_never_waits_leaves_the_flags_of_stderr(void **state)
{
	struct captured c;
	struct outcome o;
	int flags;

	capture_pipe(&c, true);
	log_too_much(&c, &o);
	flags = fcntl(STDERR_FILENO, F_GETFL);
	give_back(&c);
	expect_all_accounted_for(&o);
	assert_int_equal(o.taken, 4096 / LINE_BYTES); /* a look for room would leave some */
	assert_int_equal(flags & O_NONBLOCK, 0);
}

static void test_log_into_a_full_socket_drops_and_says_how_many(void **state)
{
	struct captured c;
	struct outcome o;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	capture(&c, ends, true);
	log_too_much(&c, &o);
	give_back(&c);
	expect_all_accounted_for(&o);
}

static void test_log_to_a_terminal_that_is_stopped_drops(void **state)
{
	int ends[2] = {posix_openpt(O_RDWR | O_NOCTTY), -1};
	struct captured c;

	assert_true(ends[0] >= 0);
	grantpt(ends[0]);
	unlockpt(ends[0]);
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
	assert_true(ends[1] >= 0);
	capture(&c, ends, true);
	for (unsigned i = 0; i < N_LINES; i++) /* returns at all */
		gsb_log(GSB_LOG_WARN, "topic", "%075u", i);
	give_back(&c);
}

static void test_log_to_a_full_disk_goes_on(void **state)
{
	struct captured c;
	int ends[2] = {open("/dev/null", O_RDONLY), open("/dev/full", O_WRONLY)};

	capture(&c, ends, true);
	errno = 0;
	gsb_log(GSB_LOG_WARN, "topic", "text");
	assert_int_equal(errno, 0);
	give_back(&c);
}

#define N_THREADS 4

static void *log_lines(void *arg)
{
	for (int i = 0; i < N_LINES; i++)
		gsb_log(GSB_LOG_WARN, "topic", "%075d", i);
	return NULL;
}

/* One line as it was read. Return: how many lines it stands for; 0: it is damaged. */
static unsigned long lines_of(const char *line)
{
	unsigned long n;

	if (sscanf(line, "test: warn: log: %lu lines were dropped", &n) == 1)
		return n;
	return strlen(line) == LINE_BYTES;
}

struct reading {
	FILE *f;
	unsigned long n_lines;
	bool damaged;
};

static void *read_lines(void *arg)
{
	struct reading *r = arg;
	char line[256];

	while (fgets(line, sizeof(line), r->f) && strcmp(line, "test: error: topic: the end\n")) {
		r->n_lines += lines_of(line);
		r->damaged |= !lines_of(line);
	}
	return NULL;
}

/* Every line of several threads is whole, and each is either there or counted. */
static void test_log_of_threads_counts_every_line(void **state)
{
	pthread_t threads[N_THREADS], reader;
	struct reading r = {0};
	struct captured c;

	capture_pipe(&c, true);
	r.f = fdopen(dup(c.reader), "r");
	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, log_lines, NULL);
	pthread_create(&reader, NULL, read_lines, &r);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	fcntl(c.reader, F_SETPIPE_SZ, 1 << 20); /* room for what comes now */
	gsb_log(GSB_LOG_ERROR, "topic", "the end");
	pthread_join(reader, NULL);
	fclose(r.f);
	give_back(&c);
	assert_false(r.damaged);
	assert_int_equal(r.n_lines, N_LINES * N_THREADS);
}

/* ---- limits ---- */

static unsigned pass_many(struct gsb_log_limit *l, uint64_t now_ns, unsigned n, unsigned *held)
{
	unsigned passed = 0;

	for (unsigned i = 0; i < n; i++)
		passed += gsb_log_limit_pass(l, now_ns, held);
	return passed;
}

static void test_log_limit_passes_a_burst_then_one_a_period(void **state)
{
	struct gsb_log_limit l = {0};
	uint64_t now = 1000 * GSB_LOG_EVERY_NS;
	unsigned held = 99;

	assert_int_equal(pass_many(&l, now, 300, &held), GSB_LOG_BURST);
	assert_int_equal(held, 0);
	assert_false(gsb_log_limit_pass(&l, now + GSB_LOG_EVERY_NS - 1, &held));
	assert_int_equal(pass_many(&l, now + GSB_LOG_EVERY_NS, 5, &held), 1);
	assert_int_equal(held, 300 - GSB_LOG_BURST + 1);
	assert_int_equal(pass_many(&l, now + 2 * GSB_LOG_EVERY_NS, 5, &held), 1);
	assert_int_equal(held, 4);
}

static void test_log_limit_saves_no_more_than_a_burst(void **state)
{
	struct gsb_log_limit l = {0};
	unsigned held;

	pass_many(&l, 0, 100, &held);
	assert_int_equal(pass_many(&l, 1000000 * GSB_LOG_EVERY_NS, 100, &held), GSB_LOG_BURST);
}

static void test_stamp_clock_runs_with_the_clock_and_never_back(void **state)
{
	struct gsb_stamp_clock c = {0};
	uint64_t last = 0;
	const uint64_t slack = 1000000; /* somebody else may have the processor */

	for (int i = 0; i < 200000; i++) {
		uint64_t before = gsb_clock_ns(), ns = gsb_stamp_clock_ns(&c);

		assert_in_range(ns, before - slack, gsb_clock_ns() + slack);
		assert_true(ns >= last);
		last = ns;
	}
}

static void test_stamp_is_a_time_between_the_beginning_and_now(void **state)
{
	struct gsb_stamp_clock c;
	uint64_t before, stamp, after, ns;
	const uint64_t slack = 1000000;

	gsb_stamp_clock_begin(&c);
	while (gsb_stamp_clock_ns(&c) < c.base.ns + 2 * slack)
		;
	before = gsb_clock_ns();
	stamp = gsb_clock_stamp();
	after = gsb_clock_ns();
	assert_true(stamp);
	assert_in_range(gsb_stamp_clock_of(&c, stamp), before - slack, after + slack);
	assert_int_equal(gsb_stamp_clock_of(&c, 0), 0);
	assert_int_equal(gsb_stamp_clock_of(&c, 1), c.base.ns);
	ns = gsb_stamp_clock_of(&c, UINT64_MAX);
	assert_int_equal(ns, c.last_ns);
	ns = gsb_stamp_clock_past(&c, gsb_clock_stamp() + 100000); /* by the clock as it is */
	assert_int_equal(ns, c.last_ns);
}

/* Of one that runs as it is told: 2 stamps a ns, compared last at stamp 54000. */
static void test_stamp_clock_goes_by_the_rate_that_was_seen(void **state)
{
	struct gsb_stamp_clock c = {
		.base = {1000, 50000},
		.at = {3000, 54000},
		.n_between = UINT64_MAX - 54000,
		.rate = 1ull << 31,
		.last_ns = UINT64_MAX, /* any time is before now */
	};

	assert_int_equal(gsb_stamp_clock_of(&c, 52000), 2000);
	assert_int_equal(gsb_stamp_clock_of(&c, 53998), 2999);
	assert_int_equal(gsb_stamp_clock_of(&c, 54000), 3000);
	assert_int_equal(gsb_stamp_clock_of(&c, 54400), 3200);
	assert_int_equal(gsb_stamp_clock_of(&c, 49000), 1000);
	c.n_between = 1; /* long ago: compared now, and yet not back */
	assert_int_equal(gsb_stamp_clock_ns(&c), UINT64_MAX);
	assert_true(c.at.ns > 3000);
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

/* ---- hashes ---- */

/* The examples of FIPS 180-4, and the lengths around a block. */
static void test_sha256_of_known_texts_is_that_of_the_standard(void **state)
{
	static const struct {
		const char *text, *hash;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	uint8_t hash[GSB_SHA256_BYTES];
	char hex[GSB_SHA256_HEX];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		gsb_sha256(cases[i].text, strlen(cases[i].text), hash);
		gsb_sha256_hex(hash, hex);
		assert_string_equal(hex, cases[i].hash);
	}
}

static void test_sha256_in_pieces_is_that_of_the_whole(void **state)
{
	uint8_t text[300], whole[GSB_SHA256_BYTES], parts[GSB_SHA256_BYTES];
	struct gsb_sha256 s;

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7);
	for (unsigned n = 1; n < sizeof(text); n += 13) {
		gsb_sha256(text, sizeof(text), whole);
		gsb_sha256_init(&s);
		for (unsigned at = 0; at < sizeof(text); at += n)
			gsb_sha256_add(&s, text + at,
				       at + n > sizeof(text) ? sizeof(text) - at : n);
		gsb_sha256_end(&s, parts);
		assert_memory_equal(whole, parts, sizeof(whole));
	}
}

/* Each byte, wherever both begin, and none beside them. */
static void test_bulk_copy_is_a_copy(void **state)
{
	enum { MOST = (64 << 10) + 256, ROOM = MOST + 256 };
	static const size_t sizes[] = {0,   1, 63, 4096, (64 << 10) - 1, 64 << 10, (64 << 10) + 1,
				       MOST};
	uint8_t *src = malloc(ROOM), *dst = malloc(ROOM);

	for (size_t i = 0; i < ROOM; i++)
		src[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t from = 0; from < 128; from += 7)
			for (size_t to = 1; to < 128; to += 9) {
				memset(dst, 0xee, ROOM);
				gsb_bulk_copy(dst + to, src + from, sizes[i]);
				assert_memory_equal(dst + to, src + from, sizes[i]);
				assert_int_equal(dst[to - 1], 0xee);
				assert_int_equal(dst[to + sizes[i]], 0xee);
			}
	free(src);
	free(dst);
}

/* ---- arrays ---- */

static void expect_level(const struct gsb_array *a, unsigned level, struct gsb_array_level want)
{
	struct gsb_array_level l;

	gsb_array_find_level(a, level, &l);
	assert_int_equal(l.offset, want.offset);
	assert_int_equal(l.row_bytes, want.row_bytes);
	assert_int_equal(l.pitch_bytes, want.pitch_bytes);
	assert_int_equal(l.slice_bytes, want.slice_bytes);
	assert_int_equal(l.width, want.width);
	assert_int_equal(l.n_rows, want.n_rows);
	assert_int_equal(l.n_slices, want.n_slices);
}

static void test_array_levels_lie_one_behind_the_other(void **state)
{
	struct gsb_array a = {.width = 20,
			      .height = 20,
			      .depth = 6,
			      .format = CU_AD_FORMAT_UNSIGNED_INT16,
			      .n_channels = 1,
			      .n_levels = 3};

	assert_true(gsb_array_is_sane(&a));
	expect_level(&a, 0, (struct gsb_array_level){0, 40, 64, 1280, 20, 20, 6});
	expect_level(&a, 1, (struct gsb_array_level){7680, 20, 32, 320, 10, 10, 3});
	expect_level(&a, 2, (struct gsb_array_level){8704, 10, 32, 160, 5, 5, 1});
	assert_int_equal(gsb_array_bytes(&a), 8704 + 160);
	a.flags = CUDA_ARRAY3D_CUBEMAP;
	expect_level(&a, 1, (struct gsb_array_level){7680, 20, 32, 320, 10, 10, 6});
	expect_level(&a, 2, (struct gsb_array_level){9728, 10, 32, 160, 5, 5, 6});
	a = (struct gsb_array){.width = 3, .format = CU_AD_FORMAT_FLOAT, .n_channels = 4};
	assert_int_equal(gsb_array_n_levels(&a), 1);
	expect_level(&a, 0, (struct gsb_array_level){0, 48, 64, 64, 3, 1, 1});
	a.n_levels = GSB_TEXTURE_LEVELS_MAX + 1;
	assert_false(gsb_array_is_sane(&a));
}

/* ---- lowest ---- */

static void test_lowest_numbers_are_had_first(void **state)
{
	static const uint32_t back[] = {100, 3, 127, 64, 0};
	static const uint32_t want[] = {0, 3, 64, 100, 127, GSB_LOWEST_NONE};
	struct gsb_lowest l = {0};

	(void)state;
	assert_int_equal(gsb_lowest_take(&l), GSB_LOWEST_NONE);
	assert_int_equal(gsb_lowest_grow(&l), 0);
	assert_int_equal(gsb_lowest_grow(&l), 0);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(gsb_lowest_take(&l), i);
	assert_int_equal(gsb_lowest_take(&l), GSB_LOWEST_NONE);
	for (size_t i = 0; i < GSB_ARRAY_LEN(back); i++)
		gsb_lowest_give(&l, back[i]);
	for (size_t i = 0; i < GSB_ARRAY_LEN(want); i++)
		assert_int_equal(gsb_lowest_take(&l), want[i]);
	assert_int_equal(gsb_lowest_grow(&l), 0);
	assert_int_equal(gsb_lowest_take(&l), 128);
	gsb_lowest_finish(&l);
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
		cmocka_unit_test(test_log_ends_no_thread),
		cmocka_unit_test(test_log_into_a_full_pipe_drops_and_says_how_many),
		cmocka_unit_test(test_log_that_never_waits_leaves_the_flags_of_stderr),
		cmocka_unit_test(test_log_into_a_full_socket_drops_and_says_how_many),
		cmocka_unit_test(test_log_to_a_terminal_that_is_stopped_drops),
		cmocka_unit_test(test_log_to_a_full_disk_goes_on),
		cmocka_unit_test(test_log_of_threads_counts_every_line),
		cmocka_unit_test(test_log_limit_passes_a_burst_then_one_a_period),
		cmocka_unit_test(test_log_limit_saves_no_more_than_a_burst),
		cmocka_unit_test(test_stamp_clock_runs_with_the_clock_and_never_back),
		cmocka_unit_test(test_stamp_is_a_time_between_the_beginning_and_now),
		cmocka_unit_test(test_stamp_clock_goes_by_the_rate_that_was_seen),
		cmocka_unit_test(test_clock_never_goes_back),
		cmocka_unit_test(test_sha256_of_known_texts_is_that_of_the_standard),
		cmocka_unit_test(test_sha256_in_pieces_is_that_of_the_whole),
		cmocka_unit_test(test_bulk_copy_is_a_copy),
		cmocka_unit_test(test_array_levels_lie_one_behind_the_other),
		cmocka_unit_test(test_lowest_numbers_are_had_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
