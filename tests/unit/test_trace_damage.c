/*
 * test_trace_damage.c - trace files of this format and the one before, each byte of which lies once: what is left of them is read,
 * or it is said what is wrong, and everything that gsb-trace says of them comes to an end. Sums are made to fit, since whoever means
 * harm makes them fit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/unit/temp.h"
#include "tests/unit/trace_kit.h"
#include "tools/trace/commands.h"
#include "tools/trace/export.h"
#include "tools/trace/source.h"
#include "trace/read.h"
#include "trace/write.h"

/* ---- files ---- */

struct image {
	uint8_t *bytes;
	size_t size, list_end; /* where chunks begin */
};

static void seal(struct image *m)
{
	struct gsb_trace_header *h = (struct gsb_trace_header *)m->bytes;
	struct gsb_trace_chunk *c;
	size_t at = m->list_end;

	h->sum = gsb_trace_sum(0, h, offsetof(struct gsb_trace_header, sum));
	h->sum = gsb_trace_sum(h->sum, m->bytes + sizeof(*h), (uint32_t)(m->list_end - sizeof(*h)));
	for (; at + sizeof(*c) <= m->size; at += sizeof(*c) + c->bytes) {
		c = (struct gsb_trace_chunk *)(m->bytes + at);
		if (c->bytes % 8 || c->bytes > m->size - at - sizeof(*c))
			break;
		c->sum = gsb_trace_sum(0, c, offsetof(struct gsb_trace_chunk, sum));
		c->sum = gsb_trace_sum(c->sum, c + 1, c->bytes);
	}
}

static int file_of(const struct image *m, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_int_equal(write(fd, m->bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void load_image(struct image *m, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	const struct gsb_trace_header *h;

	m->size = (size_t)size;
	m->bytes = malloc(m->size);
	assert_int_equal(pread(fd, m->bytes, m->size, 0), m->size);
	close(fd);
	h = (const struct gsb_trace_header *)m->bytes;
	m->list_end = sizeof(*h) + h->n_events * sizeof(struct gsb_trace_event_format) +
		      h->n_fields * sizeof(struct gsb_trace_field_format);
}

/* One of each event, as short as a record with nothing in it but its head. */
static void put_each(struct trace_kit *k)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++) {
		_Alignas(8) uint8_t room[GSB_TRACE_RECORD_MAX] = {0};
		const struct gsb_trace_head head = {(uint16_t)type, gsb_trace_event(type)->bytes, 1,
						    k->real_ns += 10};

		memcpy(room, &head, sizeof(head));
		trace_kit_put(k, room);
	}
}

/* Its list has no parts; events are before what is compact. */
static void make_first_format(struct image *m)
{
	struct gsb_trace_header *h = (struct gsb_trace_header *)m->bytes;
	struct gsb_trace_event_format *e = (void *)(h + 1);
	const uint32_t events = GSB_N_TRACE_TYPES - 1;
	const uint32_t fields = e[events].first_field;
	uint8_t *to = (uint8_t *)(e + events), *from = (uint8_t *)(e + h->n_events);

	memmove(to, from, fields * sizeof(struct gsb_trace_field_format));
	to += fields * sizeof(struct gsb_trace_field_format);
	memmove(to, m->bytes + m->list_end, m->size - m->list_end);
	m->size -= (size_t)(m->bytes + m->list_end - to);
	m->list_end = (size_t)(to - m->bytes);
	h->major = 1;
	h->n_events = events;
	h->n_fields = fields;
	seal(m);
}

static void make_image(struct image *m, unsigned major)
{
	struct trace_kit k = {0};

	trace_kit_story(&k);
	if (major > 1)
		trace_kit_compact(&k);
	put_each(&k);
	load_image(m, trace_kit_file(&k, 0));
	if (major == 1)
		make_first_format(m);
	trace_kit_finish(&k);
}

/* ---- what is said of them ---- */

static void say_all(const struct gsb_traced *t, const char *dir)
{
	static const char *const words[] = {"alice", "join", "4", "21"};
	struct gsb_trace_request q = {.path = "trace", .output = "/dev/null", .all = true};

	gsb_traced_warn(t, "trace");
	for (unsigned json = 0; json < 2; json++) {
		q.json = json;
		gsb_trace_summary(t, &q);
		gsb_trace_critical(t, &q);
		gsb_trace_model_error(t, &q);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(words); i++) {
		q.word = words[i];
		gsb_trace_explain(t, &q);
		gsb_trace_critical(t, &q);
	}
	gsb_trace_timeline(t, &q);
	gsb_trace_perfetto(t, &q);
	gsb_trace_error_plot(t, &q);
	gsb_trace_replay(t, &q);
	q.output = dir;
	gsb_trace_profile(t, &q);
}

/* 0: it was read, to its end or to where it is wrong. */
static int say_all_of_file(int fd, const char *dir, char *why)
{
	struct gsb_traced t = {0};
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	gsb_trace_check(&(struct gsb_trace_request){.path = path});
	err = gsb_traced_load_fd(&t, fd, why);
	if (err)
		return err;
	say_all(&t, dir);
	gsb_traced_finish(&t);
	return 0;
}

/* What a byte or a word becomes, one after the other. */
#define N_LIES 5

static void lie(uint8_t *at, size_t bytes, unsigned i)
{
	static const uint64_t words[N_LIES] = {0, 1, UINT64_MAX, 1ull << 63, 1ull << 32};
	const uint8_t flipped[N_LIES] = {*at ^ 1u, *at ^ 0x80u, 0, 0xff, 0x7f};

	if (bytes == 1)
		*at = flipped[i];
	else
		memcpy(at, &words[i], bytes);
}

/* One in so many lies, unless there is time for all. */
static size_t one_in(size_t usual)
{
	return getenv("GSB_CHECK_LONG") ? 1 : usual;
}

/* Said of a file that is not as it was. */
typedef void say(int fd, const char *dir);

/* Bytes or words of an image from one place to another are lied about, each in turn. */
static void lie_about(struct image *m, size_t from, size_t to, size_t bytes, size_t usual,
		      say *what, const char *dir)
{
	size_t n = 0;

	for (size_t at = from; at < to; at += bytes)
		for (unsigned i = 0; i < N_LIES; i++) {
			uint8_t was[8];

			if (n++ % one_in(usual))
				continue;
			memcpy(was, m->bytes + at, bytes);
			lie(m->bytes + at, bytes, i);
			seal(m);
			what(file_of(m, m->size), dir);
			memcpy(m->bytes + at, was, bytes);
		}
}

static void say_all_of(int fd, const char *dir)
{
	char why[GSB_TRACE_WHY_MAX];

	assert_int_equal(say_all_of_file(fd, dir, why), 0);
}

/* Not believed, with a sentence why, or read to an end. */
static void print_or_refuse(int fd, const char *dir)
{
	char why[GSB_TRACE_WHY_MAX] = "";
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	int err = gsb_trace_open_fd(fd, &r, why);

	if (err) {
		assert_true(err == -EBADMSG || err == -EPROTONOSUPPORT);
		assert_non_null(strchr(why, ':')); /* the reason, and what to do */
		return;
	}
	while (gsb_trace_next(r, &rec) > 0) {
		gsb_trace_print(stdout, r, &rec);
		gsb_trace_print_json(stdout, r, &rec);
	}
	assert_int_not_equal(gsb_trace_ending(r), GSB_TRACE_GOES_ON);
	gsb_trace_close(r);
}

/* From which byte to which, of how many bytes each, and how many of the lies. */
static void lie_in_both_formats(bool in_list, size_t bytes, size_t usual, say *what)
{
	char dir[TEMP_PATH_MAX];
	int saved[2];

	trace_kit_folder(dir);
	trace_kit_silence(saved);
	for (unsigned major = 1; major <= 2; major++) {
		struct image m;

		make_image(&m, major);
		lie_about(&m, in_list ? 0 : m.list_end, in_list ? m.list_end : m.size, bytes, usual,
			  what, dir);
		free(m.bytes);
	}
	trace_kit_restore(saved);
	trace_kit_remove(dir);
}

static void test_reports_survive_each_byte_of_the_records(void **state)
{
	lie_in_both_formats(false, 1, 101, say_all_of);
}

static void test_reports_survive_each_word_of_the_records(void **state)
{
	lie_in_both_formats(false, 8, 13, say_all_of);
}

static void test_list_is_refused_or_read_whatever_each_byte_of_it_is(void **state)
{
	lie_in_both_formats(true, 1, 37, print_or_refuse);
}

/* Operations that a file has which ends after so many bytes; -1: it is none. */
static int64_t count_ops(const struct image *m, size_t size, int *ending)
{
	struct gsb_traced t = {0};
	char why[GSB_TRACE_WHY_MAX] = "";
	int64_t n;

	if (gsb_traced_load_fd(&t, file_of(m, size), why))
		return -1;
	n = t.n_ops;
	*ending = t.ending;
	gsb_traced_finish(&t);
	return n;
}

/* One chunk has the records, an empty one the end. */
static void test_file_that_ends_early_is_read_as_far_as_it_is_whole(void **state)
{
	for (unsigned major = 1; major <= 2; major++) {
		struct image m;
		size_t last = sizeof(struct gsb_trace_chunk);

		make_image(&m, major);
		for (size_t size = 0; size <= m.size; size += size < m.list_end - 64 ? 61 : 1) {
			bool has_records = size >= m.size - last;
			int ending = -1;
			int64_t n = count_ops(&m, size, &ending);

			assert_int_equal(n, size < m.list_end ? -1
					    : !has_records    ? 0
					    : major == 1      ? 7
							      : 10);
			if (n >= 0)
				assert_int_equal(ending, size == m.size ? GSB_TRACED_WHOLE
									: GSB_TRACED_TORN);
		}
		free(m.bytes);
	}
}

/* ---- later versions ---- */

/* What gsb_traced_warn() says of a trace. */
static void read_warning(const struct gsb_traced *t, char *text, size_t size)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), saved = fcntl(2, F_DUPFD_CLOEXEC, 10);
	ssize_t n;

	dup2(fd, 2);
	gsb_traced_warn(t, "file");
	dup2(saved, 2);
	close(saved);
	n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
}

/* A record with parts that a later engine writes for launches: what is missing is told, for operations seem to have no end. */
static void test_records_of_a_later_version_are_said_to_be_left_out(void **state)
{
	struct image m;
	struct gsb_traced t = {0};
	struct gsb_trace_event_format *e;
	char why[GSB_TRACE_WHY_MAX], text[1024];

	make_image(&m, 2);
	e = (void *)(m.bytes + sizeof(struct gsb_trace_header));
	for (; strcmp(e->name, "launches") != 0; e++)
		;
	strcpy(e[0].name, "launches2");
	strcpy(e[1].name, "launches2_part");
	seal(&m);
	assert_int_equal(gsb_traced_load_fd(&t, file_of(&m, m.size), why), 0);
	read_warning(&t, text, sizeof(text));
	assert_non_null(strstr(text, "file: 1 event is of a later version and left out: use"));
	gsb_traced_finish(&t);
	free(m.bytes);
	make_image(&m, 2);
	assert_int_equal(gsb_traced_load_fd(&t, file_of(&m, m.size), why), 0);
	read_warning(&t, text, sizeof(text));
	assert_null(strstr(text, "later version"));
	gsb_traced_finish(&t);
	free(m.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports_survive_each_byte_of_the_records),
		cmocka_unit_test(test_reports_survive_each_word_of_the_records),
		cmocka_unit_test(test_list_is_refused_or_read_whatever_each_byte_of_it_is),
		cmocka_unit_test(test_file_that_ends_early_is_read_as_far_as_it_is_whole),
		cmocka_unit_test(test_records_of_a_later_version_are_said_to_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
