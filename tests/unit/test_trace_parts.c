/*
 * test_trace_parts.c - compact records in trace files: what comes out is the events that they stand for, whatever version wrote
 * them; and sizes that lie, parts that are none, and lists that are forged do no harm.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "trace/compact.h"
#include "trace/read.h"
#include "trace/write.h"

#define N_MUTATIONS 20000

static const struct gsb_trace_header about = {.pid = 17, .device = "emu:h200", .n_sms = 132};

static uint64_t seed = 1;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int make_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* From its beginning; the descriptor is the reader's now. */
static int open_again(int fd, struct gsb_trace_reader **r)
{
	char why[GSB_TRACE_WHY_MAX] = "";

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return gsb_trace_open_fd(fd, r, why);
}

static struct gsb_trace_reader *written(const void *records, uint32_t bytes)
{
	struct gsb_trace_writer w;
	struct gsb_trace_reader *r;
	int fd = make_file();

	assert_int_equal(gsb_trace_write_header(&w, fd, &about), 0);
	assert_int_equal(gsb_trace_write_chunk(&w, records, bytes), 0);
	assert_int_equal(gsb_trace_write_chunk(&w, NULL, 0), 0);
	assert_int_equal(open_again(fd, &r), 0);
	return r;
}

/* Records to the end; what next() said last in *last. */
static uint64_t count_records(struct gsb_trace_reader *r, int *last)
{
	static FILE *sink;
	struct gsb_trace_record rec;
	uint64_t n = 0;

	if (!sink)
		sink = fopen("/dev/null", "we");
	while ((*last = gsb_trace_next(r, &rec)) > 0) {
		assert_int_equal(rec.number, n);
		gsb_trace_print(sink, r, &rec);
		n++;
	}
	return n;
}

/* ---- what was written ---- */

/* A record of a type with so many parts, of bytes that nobody chose but for its head. Return: its bytes. */
static uint32_t put_random(uint8_t *to, unsigned type, unsigned n_parts)
{
	const struct gsb_compact_layout *c = gsb_compact_layout(type);
	uint32_t bytes = c->record.bytes + n_parts * c->part.bytes;
	struct gsb_trace_head head = {(uint16_t)type, (uint16_t)bytes, 3, random64()};

	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)random64();
	memcpy(to, &head, sizeof(head));
	return bytes;
}

/* Next from the file is each of these events. */
static void expect_events(struct gsb_trace_reader *r, const uint8_t *events, uint32_t bytes,
			  uint64_t *number)
{
	for (uint32_t at = 0; at < bytes;) {
		const struct gsb_trace_head *want = (const struct gsb_trace_head *)(events + at);
		struct gsb_trace_record rec;

		assert_int_equal(gsb_trace_next(r, &rec), 1);
		assert_int_equal(rec.type, want->type);
		assert_int_equal(rec.number, (*number)++);
		assert_ptr_equal(rec.event, gsb_trace_event(want->type));
		assert_memory_equal(rec.any, want, want->bytes);
		assert_memory_equal(rec.bytes, want, want->bytes);
		at += want->bytes;
	}
}

static void test_read_of_compact_records_is_the_events_that_they_stand_for(void **state)
{
	static _Alignas(8) uint8_t events[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	static _Alignas(8) uint8_t records[GSB_TRACE_CHUNK_MAX];
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	uint64_t number = 0;
	uint32_t bytes = 0;

	for (unsigned i = 0; i < 200; i++) {
		unsigned type = GSB_COMPACT_LAUNCH + i % (GSB_N_COMPACT_TYPES - GSB_COMPACT_LAUNCH);

		bytes += put_random(records + bytes, type, i / 4 % 30);
	}
	r = written(records, bytes);
	for (uint32_t at = 0; at < bytes;) {
		const struct gsb_trace_head *record = (const struct gsb_trace_head *)(records + at);

		expect_events(r, events, gsb_trace_expand(record, events), &number);
		at += record->bytes;
	}
	assert_int_equal(gsb_trace_next(r, &rec), 0);
	assert_int_equal(gsb_trace_ending(r), GSB_TRACE_COMPLETE);
	gsb_trace_close(r);
}

/* In two pieces as they lie around the end of a ring, in a record's middle. */
static void test_read_of_records_in_two_pieces_is_the_same(void **state)
{
	static _Alignas(8) uint8_t events[GSB_TRACE_EXPANSION * GSB_TRACE_RECORD_MAX];
	_Alignas(8) uint8_t record[2048];
	uint32_t bytes = put_random(record, GSB_COMPACT_RUN, 20);
	const struct iovec pieces[2] = {{record, 408}, {record + 408, bytes - 408}};
	struct gsb_trace_writer w;
	struct gsb_trace_reader *r;
	uint64_t number = 0;
	int fd = make_file();

	assert_int_equal(gsb_trace_write_header(&w, fd, &about), 0);
	assert_int_equal(gsb_trace_write_pieces(&w, pieces, 2), 0);
	assert_int_equal(open_again(fd, &r), 0);
	expect_events(r, events, gsb_trace_expand((const void *)record, events), &number);
	assert_int_equal(number, 100);
	gsb_trace_close(r);
}

static void test_reader_waits_when_all_events_of_a_record_are_told(void **state)
{
	_Alignas(8) uint8_t record[256];
	uint32_t bytes = put_random(record, GSB_COMPACT_END, 0);
	struct gsb_trace_reader *r = written(record, bytes);
	struct gsb_trace_record rec;

	assert_true(gsb_trace_must_wait(r));
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_false(gsb_trace_must_wait(r));
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_true(gsb_trace_must_wait(r));
	gsb_trace_close(r);
}

/* ---- the list ---- */

static void check_fields(const struct gsb_trace_event *e, unsigned from)
{
	uint8_t taken[GSB_TRACE_RECORD_MAX] = {0};

	for (unsigned i = 0; i < e->n_fields; i++) {
		const struct gsb_trace_field *f = &e->fields[i];

		assert_in_range(f->offset, from, e->bytes - f->bytes);
		for (unsigned b = 0; b < f->bytes; b++)
			assert_int_equal(taken[f->offset + b]++, 0);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(f->name, e->fields[j].name);
	}
}

static void test_layouts_have_names_of_their_own_and_fields_apart(void **state)
{
	for (unsigned type = GSB_COMPACT_LAUNCH; type < GSB_N_COMPACT_TYPES; type++) {
		const struct gsb_compact_layout *c = gsb_compact_layout(type);
		char part[GSB_TRACE_NAME_MAX];

		check_fields(&c->record, sizeof(struct gsb_trace_head));
		check_fields(&c->part, 0);
		snprintf(part, sizeof(part), "%s" GSB_TRACE_PART, c->record.name);
		if (c->part.bytes)
			assert_string_equal(c->part.name, part);
		for (unsigned event = 1; event < GSB_N_TRACE_TYPES; event++)
			assert_string_not_equal(c->record.name, gsb_trace_event(event)->name);
	}
	assert_null(gsb_compact_layout(GSB_COMPACT_LAUNCH - 1));
	assert_null(gsb_compact_layout(GSB_N_COMPACT_TYPES));
}

/* ---- other versions ---- */

struct other {
	struct gsb_trace_header header;
	struct gsb_trace_event_format events[3];
	struct gsb_trace_field_format fields[9];
};

/* Launches with fields elsewhere, and one more in each part; and a record with parts that nobody knows. */
static const struct other other_version = {
	.events = {{7, 56, 0, 4, "launches"},
		   {8, 24, 4, 3, "launches_part"},
		   {9, 24, 7, 1, "of_tomorrow"}},
	.fields = {{16, 8, GSB_TRACE_FIELD_U64, {0}, "function"},
		   {24, 8, GSB_TRACE_FIELD_U64, {0}, "serial"},
		   {32, 8, GSB_TRACE_FIELD_U64, {0}, "novelty"},
		   {40, 8, GSB_TRACE_FIELD_U64, {0}, "posted_ns"},
		   {0, 8, GSB_TRACE_FIELD_U64, {0}, "posted_ns"},
		   {8, 8, GSB_TRACE_FIELD_U64, {0}, "novelty"},
		   {16, 8, GSB_TRACE_FIELD_U64, {0}, "time_ns"},
		   {16, 8, GSB_TRACE_FIELD_U64, {0}, "what"},
		   {0, 8, GSB_TRACE_FIELD_U64, {0}, "unused"}},
};

static int write_other(struct other o, const void *records, uint32_t bytes)
{
	struct gsb_trace_chunk c = {GSB_TRACE_CHUNK_MAGIC, bytes, 0, 0};
	int fd = make_file();

	memcpy(o.header.magic, GSB_TRACE_MAGIC, 8);
	o.header.byte_order = GSB_TRACE_BYTE_ORDER;
	if (!o.header.major)
		o.header.major = GSB_TRACE_MAJOR;
	o.header.n_events = GSB_ARRAY_LEN(o.events);
	o.header.n_fields = GSB_ARRAY_LEN(o.fields);
	o.header.sum = gsb_trace_sum(0, &o.header, offsetof(struct gsb_trace_header, sum));
	o.header.sum = gsb_trace_sum(o.header.sum, o.events, sizeof(o.events));
	o.header.sum = gsb_trace_sum(o.header.sum, o.fields, sizeof(o.fields));
	c.sum = gsb_trace_sum(gsb_trace_sum(0, &c, offsetof(struct gsb_trace_chunk, sum)), records,
			      bytes);
	assert_int_equal(write(fd, &o, sizeof(o)), sizeof(o));
	assert_int_equal(write(fd, &c, sizeof(c)), sizeof(c));
	assert_int_equal(write(fd, records, bytes), bytes);
	return fd;
}

/* Two launches of that version in words: a head of two, serial 42 and 43. */
static void fill_launches(uint64_t words[10])
{
	const struct gsb_trace_head head = {7, 80, 5, 1000};
	const uint64_t rest[8] = {70, 42, 1, 900, 0, 1100, 2, 1200};

	memcpy(words, &head, sizeof(head));
	memcpy(words + 2, rest, sizeof(rest));
}

static void expect_queued(struct gsb_trace_reader *r, uint64_t serial, uint64_t time_ns,
			  uint64_t posted_ns)
{
	struct gsb_trace_record rec;

	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_int_equal(rec.type, GSB_TRACE_QUEUED);
	assert_int_equal(rec.any->queued.head.tenant, 5);
	assert_int_equal(rec.any->queued.head.time_ns, time_ns);
	assert_int_equal(rec.any->queued.serial, serial);
	assert_int_equal(rec.any->queued.posted_ns, posted_ns);
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_int_equal(rec.type, GSB_TRACE_LAUNCH);
	assert_int_equal(rec.any->launch.serial, serial);
	assert_int_equal(rec.any->launch.function, 70);
	assert_int_equal(rec.any->launch.grid_x, 0); /* it says nothing of it */
}

static void test_read_of_another_version_finds_fields_of_parts_by_name(void **state)
{
	struct gsb_trace_reader *r;
	uint64_t words[10];
	int last;

	fill_launches(words);
	assert_int_equal(open_again(write_other(other_version, words, sizeof(words)), &r), 0);
	expect_queued(r, 42, 1000, 900);
	expect_queued(r, 43, 1200, 1100);
	assert_int_equal(count_records(r, &last), 0);
	gsb_trace_close(r);
}

/* What it stands for nobody knows here; it is one, with what the list says of it, and what is behind it is read. */
static void test_read_of_an_unknown_record_with_parts_goes_on_behind_them(void **state)
{
	struct other o = other_version;
	struct gsb_trace_head head = {7, 80, 5, 0};
	struct gsb_trace_head behind = {9, 24, 6, 0};
	struct gsb_trace_record rec;
	struct gsb_trace_reader *r;
	uint64_t words[13] = {[3] = 4711};

	strcpy(o.events[0].name, "leaps");
	strcpy(o.events[1].name, "leaps_part");
	memcpy(words, &head, sizeof(head));
	memcpy(words + 10, &behind, sizeof(behind));
	assert_int_equal(open_again(write_other(o, words, sizeof(words)), &r), 0);
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_int_equal(rec.type, GSB_TRACE_NONE);
	assert_string_equal(rec.event->name, "leaps");
	assert_int_equal(gsb_trace_value(rec.bytes, &rec.event->fields[1]), 4711);
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_string_equal(rec.event->name, "of_tomorrow");
	gsb_trace_close(r);
}

/* The version before had events alone, whatever they were called, and their fields behind the head. */
static void test_read_of_the_version_before_knows_no_parts(void **state)
{
	struct other o = other_version;
	struct gsb_trace_head head = {7, 56, 5, 0}, part = {8, 24, 5, 0};
	struct gsb_trace_record rec;
	struct gsb_trace_reader *r;
	uint64_t words[10] = {0};

	o.header.major = 1;
	assert_int_equal(open_again(write_other(o, words, 0), &r), -EBADMSG);
	for (unsigned i = 4; i < 7; i++)
		o.fields[i].offset = 16;
	memcpy(words, &head, sizeof(head));
	memcpy(words + 7, &part, sizeof(part));
	assert_int_equal(open_again(write_other(o, words, sizeof(words)), &r), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(gsb_trace_next(r, &rec), 1);
		assert_int_equal(rec.type, GSB_TRACE_NONE);
		assert_string_equal(rec.event->name, o.events[i].name);
	}
	gsb_trace_close(r);
	fill_launches(words);
	assert_int_equal(open_again(write_other(o, words, sizeof(words)), &r), 0);
	assert_int_equal(gsb_trace_next(r, &rec), -EBADMSG);
	gsb_trace_close(r);
}

/* ---- what is damaged ---- */

/* Its sum is right: only the record itself is not. */
static void test_read_of_parts_that_do_not_fit_is_damaged(void **state)
{
	const struct {
		struct gsb_trace_head head;
		uint32_t bytes; /* of the chunk */
		int next;
	} cases[] = {
		{{7, 80, 5, 0}, 80, 1},
		{{7, 56, 5, 0}, 56, 1},
		{{7, 72, 5, 0}, 80, -EBADMSG},
		{{7, 48, 5, 0}, 80, -EBADMSG},
		{{7, 80, 5, 0}, 72, -EBADMSG},
		{{8, 24, 5, 0}, 24, -EBADMSG},
		{{9, 48, 5, 0}, 48, -EBADMSG},
		{{7, 4088, 5, 0}, 4088, 1},
		{{7, 4112, 5, 0}, 4112, -EBADMSG},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		uint64_t records[600] = {0};
		struct gsb_trace_reader *r;
		struct gsb_trace_record rec;

		memcpy(records, &cases[i].head, sizeof(cases[i].head));
		assert_int_equal(
			open_again(write_other(other_version, records, cases[i].bytes), &r), 0);
		assert_int_equal(gsb_trace_next(r, &rec), cases[i].next);
		if (cases[i].next < 0)
			assert_int_equal(gsb_trace_ending(r), GSB_TRACE_DAMAGED);
		gsb_trace_close(r);
	}
}

/* As many parts as a record can have, each as small as one can be, are as much larger in this build. */
static void test_read_of_most_parts_has_room_for_all_of_them(void **state)
{
	const unsigned n_parts = (GSB_TRACE_RECORD_MAX - 16) / 16;
	struct other o = other_version;
	struct gsb_trace_head head = {7, (uint16_t)(16 + 16 * n_parts), 5, 0};
	uint64_t records[GSB_TRACE_RECORD_MAX / 8] = {0};
	const char *const names[] = {"launches", "decision", "run"};
	const unsigned n_each[] = {2, 2, 5}, n_alone[] = {2, 0, 0};
	struct gsb_trace_reader *r;
	int last;

	memcpy(records, &head, sizeof(head));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(names); i++) {
		o.events[0] = (struct gsb_trace_event_format){7, 16, 0, 0, ""};
		o.events[1] = (struct gsb_trace_event_format){8, 16, 0, 0, ""};
		o.events[2].first_field = 0;
		strcpy(o.events[0].name, names[i]);
		snprintf(o.events[1].name, GSB_TRACE_NAME_MAX, "%s_part", names[i]);
		assert_int_equal(open_again(write_other(o, records, head.bytes), &r), 0);
		assert_int_equal(count_records(r, &last), n_alone[i] + n_each[i] * n_parts);
		assert_int_equal(last, 0);
		gsb_trace_close(r);
	}
}

/* Sums that fit, so that all that is behind them is tried, too. */
static void test_read_of_a_forged_file_stays_inside(void **state)
{
	static const char *const names[] = {"launches", "decision", "run", "end", "queued", "lost"};
	int n_mutations = N_MUTATIONS * (getenv("GSB_CHECK_LONG") ? 50 : 1), last;
	unsigned n_opened = 0, n_read = 0;

	for (int i = 0; i < n_mutations; i++) {
		struct other o = other_version;
		uint8_t *list = (uint8_t *)o.events;
		const char *name = names[random64() % GSB_ARRAY_LEN(names)];
		struct gsb_trace_reader *r;
		uint64_t words[20];
		int n_flips = (int)(random64() % 3);

		strcpy(o.events[0].name, name);
		snprintf(o.events[1].name, GSB_TRACE_NAME_MAX, "%s_part", name);
		fill_launches(words);
		fill_launches(words + 10);
		for (int f = 0; f < n_flips; f++)
			list[random64() % (sizeof(o) - sizeof(o.header))] = (uint8_t)random64();
		if (random64() % 2)
			((uint8_t *)words)[random64() % 80] = (uint8_t)random64();
		o.header.major = random64() % 8 ? 0 : 1;
		if (!open_again(write_other(o, words, sizeof(words)), &r)) {
			n_opened++;
			n_read += count_records(r, &last) > 0;
			gsb_trace_close(r);
		}
	}
	assert_in_range(n_opened, n_mutations / 4, n_mutations - 1);
	assert_in_range(n_read, n_mutations / 8, n_opened - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_of_compact_records_is_the_events_that_they_stand_for),
		cmocka_unit_test(test_read_of_records_in_two_pieces_is_the_same),
		cmocka_unit_test(test_reader_waits_when_all_events_of_a_record_are_told),
		cmocka_unit_test(test_layouts_have_names_of_their_own_and_fields_apart),
		cmocka_unit_test(test_read_of_another_version_finds_fields_of_parts_by_name),
		cmocka_unit_test(test_read_of_an_unknown_record_with_parts_goes_on_behind_them),
		cmocka_unit_test(test_read_of_the_version_before_knows_no_parts),
		cmocka_unit_test(test_read_of_parts_that_do_not_fit_is_damaged),
		cmocka_unit_test(test_read_of_most_parts_has_room_for_all_of_them),
		cmocka_unit_test(test_read_of_a_forged_file_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
