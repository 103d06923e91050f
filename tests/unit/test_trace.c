/*
 * test_trace.c - the list of events, and trace files: what was written is what is read, by this version and by others; and
 * what is cut off, damaged or hostile does no harm.
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
#include "trace/read.h"
#include "trace/write.h"

#define N_MUTATIONS 20000

static const struct gsb_trace_header about = {
	.mono_ns = 1000000000,
	.real_ns = 2000000000,
	.device_ns = 5,
	.is_virtual = 1,
	.pid = 17,
	.version = "1.2",
	.device = "emu:h200",
	.policy = "fifo",
	.n_sms = 132,
};

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

/* From its beginning; the descriptor stays the test's. */
static int open_again(int fd, struct gsb_trace_reader **r)
{
	char why[GSB_TRACE_WHY_MAX] = "";
	int copy = dup(fd);

	assert_int_equal(lseek(copy, 0, SEEK_SET), 0);
	return gsb_trace_open_fd(copy, r, why);
}

static size_t put_record(uint8_t *to, unsigned type, uint32_t tenant)
{
	const struct gsb_trace_event *e = gsb_trace_event(type);
	struct gsb_trace_head head = {(uint16_t)type, e->bytes, tenant, 1000000000 + tenant};

	for (unsigned i = 0; i < e->bytes; i++)
		to[i] = (uint8_t)random64();
	memcpy(to, &head, sizeof(head));
	for (unsigned i = 0; i < e->n_fields; i++)
		if (e->fields[i].type == GSB_TRACE_FIELD_TEXT)
			to[e->fields[i].offset + e->fields[i].bytes - 1] = 0;
	return e->bytes;
}

/* One record of each event in each of two chunks, and the end. */
static size_t write_all_events(int fd, uint8_t records[GSB_TRACE_CHUNK_MAX])
{
	struct gsb_trace_writer w;
	size_t n = 0;

	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++)
		n += put_record(records + n, type, type);
	assert_int_equal(gsb_trace_write_header(&w, fd, &about), 0);
	assert_int_equal(gsb_trace_write_chunk(&w, records, (uint32_t)n), 0);
	assert_int_equal(gsb_trace_write_chunk(&w, records, (uint32_t)n), 0);
	assert_int_equal(gsb_trace_write_chunk(&w, NULL, 0), 0);
	assert_int_equal(w.n_chunks, 3);
	assert_int_equal(w.n_bytes, lseek(fd, 0, SEEK_END));
	return n;
}

/* Records to the end; what next() said last in *last. */
static uint64_t count_records(struct gsb_trace_reader *r, int *last)
{
	struct gsb_trace_record rec;
	uint64_t n = 0;
	FILE *sink = fopen("/dev/null", "we");

	while ((*last = gsb_trace_next(r, &rec)) > 0) {
		assert_int_equal(rec.number, n);
		gsb_trace_print(sink, r, &rec);
		n++;
	}
	fclose(sink);
	return n;
}

/* ---- the list ---- */

static void test_list_every_event_fills_its_record(void **state)
{
	for (unsigned type = 1; type < GSB_N_TRACE_TYPES; type++) {
		const struct gsb_trace_event *e = gsb_trace_event(type);
		unsigned at = sizeof(struct gsb_trace_head);

		for (unsigned i = 0; i < e->n_fields; at += e->fields[i++].bytes) {
			assert_int_equal(e->fields[i].offset, at);
			assert_in_range(strlen(e->fields[i].name), 1, GSB_TRACE_NAME_MAX - 1);
		}
		assert_int_equal(e->bytes, at);
		assert_int_equal(e->bytes % 8, 0);
		assert_in_range(e->bytes, 16, GSB_TRACE_RECORD_MAX);
		assert_in_range(strlen(e->name), 1, GSB_TRACE_NAME_MAX - 1);
		assert_true(*e->doc);
	}
}

static void test_list_names_are_unique(void **state)
{
	for (unsigned a = 1; a < GSB_N_TRACE_TYPES; a++) {
		const struct gsb_trace_event *e = gsb_trace_event(a);

		for (unsigned b = 1; b < a; b++)
			assert_string_not_equal(e->name, gsb_trace_event(b)->name);
		for (unsigned i = 0; i < e->n_fields; i++)
			for (unsigned j = 0; j < i; j++)
				assert_string_not_equal(e->fields[i].name, e->fields[j].name);
	}
}

static void test_list_no_such_type_is_null(void **state)
{
	assert_null(gsb_trace_event(0));
	assert_null(gsb_trace_event(GSB_N_TRACE_TYPES));
	assert_null(gsb_trace_event(UINT32_MAX));
}

static void test_choice_name_past_the_last_is_null(void **state)
{
	const struct gsb_trace_event *e = gsb_trace_event(GSB_TRACE_QUEUED);
	const struct gsb_trace_choice *op = NULL;

	for (unsigned i = 0; i < e->n_fields; i++)
		if (!strcmp(e->fields[i].name, "kind"))
			op = e->fields[i].choice;
	assert_non_null(op);
	assert_string_equal(gsb_trace_choice_name(op, GSB_TRACE_OP_LAUNCH), "launch");
	assert_string_equal(gsb_trace_choice_name(op, GSB_TRACE_OP_NOP), "nop");
	assert_null(gsb_trace_choice_name(op, GSB_TRACE_OP_NOP + 1));
}

/* ---- what was written ---- */

static void test_read_of_what_was_written_is_the_same(void **state)
{
	uint8_t *records = malloc(GSB_TRACE_CHUNK_MAX);
	int fd = make_file(), last;
	size_t n = write_all_events(fd, records), at = 0;
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;

	assert_int_equal(open_again(fd, &r), 0);
	assert_int_equal(gsb_trace_header(r)->pid, 17);
	assert_string_equal(gsb_trace_header(r)->device, "emu:h200");
	for (unsigned i = 0; i < 2 * (GSB_N_TRACE_TYPES - 1); i++) {
		unsigned type = 1 + i % (GSB_N_TRACE_TYPES - 1);

		assert_int_equal(gsb_trace_next(r, &rec), 1);
		assert_int_equal(rec.type, type);
		assert_int_equal(rec.number, i);
		assert_int_equal(rec.any->head.tenant, type);
		/* pads are nobody's */
		for (unsigned f = 0; f < rec.event->n_fields; f++)
			if (rec.event->fields[f].type != GSB_TRACE_FIELD_PAD)
				assert_memory_equal((const uint8_t *)rec.any +
							    rec.event->fields[f].offset,
						    records + at + rec.event->fields[f].offset,
						    rec.event->fields[f].bytes);
		at = (at + rec.event->bytes) % n;
	}
	assert_int_equal(gsb_trace_ending(r), GSB_TRACE_GOES_ON);
	assert_int_equal(count_records(r, &last), 0);
	assert_int_equal(last, 0);
	assert_int_equal(gsb_trace_ending(r), GSB_TRACE_COMPLETE);
	gsb_trace_close(r);
	close(fd);
	free(records);
}

static void test_read_lost_events_are_counted(void **state)
{
	struct gsb_trace_lost lost = {
		.head = {GSB_TRACE_LOST, sizeof(lost), 0, 0},
		.n_events = 7,
	};
	struct gsb_trace_writer w;
	struct gsb_trace_reader *r;
	int fd = make_file(), last;

	gsb_trace_write_header(&w, fd, &about);
	gsb_trace_write_chunk(&w, &lost, sizeof(lost));
	gsb_trace_write_chunk(&w, &lost, sizeof(lost));
	gsb_trace_write_chunk(&w, NULL, 0);
	assert_int_equal(open_again(fd, &r), 0);
	assert_int_equal(count_records(r, &last), 2);
	assert_int_equal(gsb_trace_n_lost(r), 14);
	gsb_trace_close(r);
	close(fd);
}

static void test_print_text_holds_nothing_for_a_terminal(void **state)
{
	struct gsb_trace_fault fault = {
		.head = {GSB_TRACE_FAULT, sizeof(fault), 3, 1500000000},
		.result = -5,
		.detail = "a\x1b[2J\"\xff",
	};
	struct gsb_trace_writer w;
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int fd = make_file();

	gsb_trace_write_header(&w, fd, &about);
	gsb_trace_write_chunk(&w, &fault, sizeof(fault));
	assert_int_equal(open_again(fd, &r), 0);
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	gsb_trace_print(to, r, &rec);
	fclose(to);
	assert_string_equal(text,
			    "0.500000000 tenant=3 fault result=-5 context=0 detail=\"a?[2J??\"\n");
	free(text);
	gsb_trace_close(r);
	close(fd);
}

/* ---- other versions ---- */

struct other {
	struct gsb_trace_header header;
	struct gsb_trace_event_format events[2];
	struct gsb_trace_field_format fields[5];
};

/* issued with its fields in another order, one of another type and one more; and an event that nobody knows. */
static const struct other other_version = {
	.events = {{7, 56, 0, 4, "issued"}, {9, 24, 4, 1, "of_tomorrow"}},
	.fields = {{16, 4, GSB_TRACE_FIELD_U32, {0}, "stream"},
		   {24, 8, GSB_TRACE_FIELD_U64, {0}, "serial"},
		   {32, 8, GSB_TRACE_FIELD_U64, {0}, "queue"},
		   {40, 8, GSB_TRACE_FIELD_U64, {0}, "novelty"},
		   {16, 8, GSB_TRACE_FIELD_U64, {0}, "what"}},
};

static void write_other(int fd, struct other o, const void *records, uint32_t bytes)
{
	struct gsb_trace_chunk c = {GSB_TRACE_CHUNK_MAGIC, bytes, 0, 0};

	memcpy(o.header.magic, GSB_TRACE_MAGIC, 8);
	if (!o.header.byte_order)
		o.header.byte_order = GSB_TRACE_BYTE_ORDER;
	if (!o.header.major)
		o.header.major = GSB_TRACE_MAJOR;
	o.header.minor = 99;
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
}

static void test_read_of_another_version_finds_fields_by_name(void **state)
{
	uint64_t records[10] = {[3] = 42, [4] = 43, [5] = 44, [9] = 45};
	struct gsb_trace_head head = {7, 56, 5, 0}, tomorrow = {9, 24, 6, 0};
	uint32_t stream = 11;
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	int fd = make_file();

	memcpy(records, &head, sizeof(head));
	memcpy(records + 2, &stream, sizeof(stream));
	memcpy(records + 7, &tomorrow, sizeof(tomorrow));
	write_other(fd, other_version, records, sizeof(records));
	assert_int_equal(open_again(fd, &r), 0);
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_int_equal(rec.type, GSB_TRACE_ISSUED);
	assert_int_equal(rec.any->head.tenant, 5);
	assert_int_equal(rec.any->issued.stream, 11);
	assert_int_equal(rec.any->issued.serial, 42);
	assert_int_equal(rec.any->issued.queue, 0); /* it has become 64 bits wide: another field */
	assert_int_equal(rec.any->issued.device_ns, 0); /* it is no more */
	assert_int_equal(gsb_trace_next(r, &rec), 1);
	assert_int_equal(rec.type, GSB_TRACE_NONE);
	assert_string_equal(rec.event->name, "of_tomorrow");
	assert_int_equal(gsb_trace_value(rec.bytes, &rec.event->fields[0]), 45);
	assert_int_equal(gsb_trace_next(r, &rec), 0);
	assert_int_equal(gsb_trace_ending(r), GSB_TRACE_TORN);
	gsb_trace_close(r);
	close(fd);
}

static int open_other(const struct other *o)
{
	struct gsb_trace_reader *r;
	int fd = make_file(), err;

	write_other(fd, *o, NULL, 0);
	err = open_again(fd, &r);
	if (!err)
		gsb_trace_close(r);
	close(fd);
	return err;
}

static void test_open_what_it_cannot_understand_is_refused(void **state)
{
	struct other o = other_version;

	assert_int_equal(open_other(&o), 0);
	o.header.major = GSB_TRACE_MAJOR + 1;
	assert_int_equal(open_other(&o), -EPROTONOSUPPORT);
	o = other_version;
	o.header.byte_order = 0x04030201;
	assert_int_equal(open_other(&o), -EPROTONOSUPPORT);
}

/* Each of these would read or write outside of a record, or make a name of what is none. */
static void test_open_list_that_lies_is_refused(void **state)
{
	struct other o = other_version;
	const struct other bad[] = {o, o, o, o, o, o, o, o, o, o, o, o};
	struct other b[GSB_ARRAY_LEN(bad)];

	memcpy(b, bad, sizeof(b));
	b[0].events[0].bytes = 48; /* shorter than its last field's end */
	b[0].fields[3].offset = 41;
	b[1].events[0].bytes = 8;	/* no head */
	b[2].events[0].bytes = 60;	/* no multiple of 8 */
	b[3].events[0].n_fields = 6;	/* more than there are */
	b[4].events[1].first_field = 3; /* shares one */
	b[5].events[1].type = 7;	/* twice */
	b[6].events[1].type = 0;	/* no type */
	b[7].events[1].type = 1024;	/* past the last */
	b[8].fields[0].offset = 8;	/* in the head */
	b[9].fields[0].bytes = 8;	/* a u32 of 8 bytes */
	b[10].fields[2].name[0] = '\n';
	memset(b[11].events[1].name, 'a', GSB_TRACE_NAME_MAX); /* no end */
	for (unsigned i = 0; i < GSB_ARRAY_LEN(b); i++)
		assert_int_equal(open_other(&b[i]), -EBADMSG);
}

/* ---- what is damaged ---- */

static void test_read_of_every_beginning_ends_torn(void **state)
{
	uint8_t *records = malloc(GSB_TRACE_CHUNK_MAX);
	int fd = make_file(), last;
	size_t n = write_all_events(fd, records);
	off_t size = lseek(fd, 0, SEEK_END);
	off_t list = size - (off_t)(2 * n + 3 * sizeof(struct gsb_trace_chunk));
	uint64_t of_chunk = GSB_N_TRACE_TYPES - 1;

	for (off_t cut = size - 1; cut >= 0; cut -= cut > list + 64 ? 7 : 1) {
		struct gsb_trace_reader *r;
		off_t chunk = list + (off_t)(n + sizeof(struct gsb_trace_chunk));

		assert_int_equal(ftruncate(fd, cut), 0);
		if (cut < list) {
			assert_int_equal(open_again(fd, &r), -EBADMSG);
			continue;
		}
		assert_int_equal(open_again(fd, &r), 0);
		assert_int_equal(count_records(r, &last),
				 of_chunk * (uint64_t)((cut - list) / (chunk - list)));
		assert_int_equal(last, 0);
		assert_int_equal(gsb_trace_ending(r), GSB_TRACE_TORN);
		gsb_trace_close(r);
	}
	close(fd);
	free(records);
}

static void test_read_of_a_flipped_bit_is_never_believed(void **state)
{
	uint8_t *records = malloc(GSB_TRACE_CHUNK_MAX), *file;
	int fd = make_file(), last;
	size_t n = write_all_events(fd, records);
	off_t size = lseek(fd, 0, SEEK_END);
	size_t list = (size_t)size - (2 * n + 3 * sizeof(struct gsb_trace_chunk));

	file = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < 1000; i++) {
		size_t at = random64() % (size_t)size;
		struct gsb_trace_reader *r;
		int err;

		file[at] ^= (uint8_t)(1u << (random64() % 8));
		err = open_again(fd, &r);
		if (at < list)
			assert_true(err == -EBADMSG || err == -EPROTONOSUPPORT);
		else
			assert_int_equal(err, 0);
		if (!err) {
			assert_true(count_records(r, &last) < 2 * (GSB_N_TRACE_TYPES - 1) ||
				    gsb_trace_ending(r) != GSB_TRACE_COMPLETE);
			assert_int_not_equal(gsb_trace_ending(r), GSB_TRACE_COMPLETE);
			gsb_trace_close(r);
		}
		munmap(file, (size_t)size);
		assert_int_equal(ftruncate(fd, 0), 0);
		lseek(fd, 0, SEEK_SET);
		write_all_events(fd, records);
		file = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	munmap(file, (size_t)size);
	close(fd);
	free(records);
}

/* Its sum is right: only the record itself is not. */
static void test_read_of_a_record_that_does_not_fit_is_damaged(void **state)
{
	const struct gsb_trace_head good = {7, 56, 5, 0}, longer = {7, 64, 5, 0},
				    unknown = {8, 56, 5, 0};
	const struct {
		struct gsb_trace_head head;
		uint32_t bytes; /* of the chunk */
		int next;
	} cases[] = {
		{good, 56, 1},		{good, 48, -EBADMSG},	 {good, 8, -EBADMSG},
		{longer, 64, -EBADMSG}, {unknown, 56, -EBADMSG},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		uint64_t records[8] = {0};
		struct gsb_trace_reader *r;
		struct gsb_trace_record rec;
		int fd = make_file();

		memcpy(records, &cases[i].head, sizeof(cases[i].head));
		write_other(fd, other_version, records, cases[i].bytes);
		assert_int_equal(open_again(fd, &r), 0);
		assert_int_equal(gsb_trace_next(r, &rec), cases[i].next);
		if (cases[i].next < 0) {
			assert_int_equal(gsb_trace_ending(r), GSB_TRACE_DAMAGED);
			assert_int_equal(gsb_trace_next(r, &rec), -EBADMSG); /* and stays so */
		}
		gsb_trace_close(r);
		close(fd);
	}
}

/* Sums that fit, so that all that is behind them is tried, too. */
static void test_read_of_a_forged_file_stays_inside(void **state)
{
	uint64_t records[32];
	int n_mutations = N_MUTATIONS * (getenv("GSB_CHECK_LONG") ? 50 : 1), last;
	unsigned n_opened = 0, n_read = 0;

	for (int i = 0; i < n_mutations; i++) {
		struct other o = other_version;
		struct gsb_trace_head head = {7, 56, 5, 0};
		uint8_t *list = (uint8_t *)o.events;
		struct gsb_trace_reader *r;
		int fd = make_file(), n_flips = (int)(random64() % 3);

		memset(records, 0x5a, sizeof(records));
		memcpy(records, &head, sizeof(head));
		memcpy(records + 7, &head, sizeof(head));
		for (int f = 0; f < n_flips; f++)
			list[random64() % (sizeof(o) - sizeof(o.header))] = (uint8_t)random64();
		if (random64() % 2)
			((uint8_t *)records)[random64() % 80] = (uint8_t)random64();
		write_other(fd, o, records, 14 * 8);
		if (!open_again(fd, &r)) {
			n_opened++;
			n_read += count_records(r, &last) == 2;
			gsb_trace_close(r);
		}
		close(fd);
	}
	assert_in_range(n_opened, n_mutations / 4, n_mutations - 1);
	assert_in_range(n_read, n_mutations / 8, n_opened - 1);
}

static void test_open_no_trace_says_so(void **state)
{
	char why[GSB_TRACE_WHY_MAX] = "";
	struct gsb_trace_reader *r;

	assert_int_equal(gsb_trace_open("/dev/null", &r, why), -EBADMSG);
	assert_non_null(strstr(why, "no trace of gsbroker"));
	assert_int_equal(gsb_trace_open("/no/such/file", &r, why), -ENOENT);
	assert_string_equal(why, strerror(ENOENT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_every_event_fills_its_record),
		cmocka_unit_test(test_list_names_are_unique),
		cmocka_unit_test(test_list_no_such_type_is_null),
		cmocka_unit_test(test_choice_name_past_the_last_is_null),
		cmocka_unit_test(test_read_of_what_was_written_is_the_same),
		cmocka_unit_test(test_read_lost_events_are_counted),
		cmocka_unit_test(test_print_text_holds_nothing_for_a_terminal),
		cmocka_unit_test(test_read_of_another_version_finds_fields_by_name),
		cmocka_unit_test(test_open_what_it_cannot_understand_is_refused),
		cmocka_unit_test(test_open_list_that_lies_is_refused),
		cmocka_unit_test(test_read_of_every_beginning_ends_torn),
		cmocka_unit_test(test_read_of_a_flipped_bit_is_never_believed),
		cmocka_unit_test(test_read_of_a_record_that_does_not_fit_is_damaged),
		cmocka_unit_test(test_read_of_a_forged_file_stays_inside),
		cmocka_unit_test(test_open_no_trace_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
