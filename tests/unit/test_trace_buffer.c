/*
 * test_trace_buffer.c - the ring between the engine's thread and the one that writes: nothing comes out that was not put
 * in, in another order, or twice; and what found no room is counted to the last record.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/trace/buffer.h"
#include "tests/unit/trace_ring.h"
#include "trace/compact.h"
#include "trace/format.h"

#define N_RACED 400000

static struct gsb_trace_buffer buffer;

static int setup(void **state)
{
	return gsb_trace_buffer_init(&buffer, 4096);
}

static int teardown(void **state)
{
	gsb_trace_buffer_finish(&buffer);
	return 0;
}

static struct gsb_trace_ready ready(uint64_t serial)
{
	return (struct gsb_trace_ready){
		.head = {GSB_TRACE_READY, sizeof(struct gsb_trace_ready), 1, serial},
		.serial = serial,
		.stream = (uint32_t)serial * 3,
	};
}

static bool put(uint64_t serial)
{
	struct gsb_trace_ready r = ready(serial);

	return gsb_trace_buffer_put(&buffer, &r.head);
}

/* What is oldest, at most room bytes of it, out of the ring. */
static uint32_t take_bytes(void *to, uint32_t room)
{
	return trace_ring_drain(&buffer, gsb_trace_buffer_look(&buffer, room),
				to); /* all of them are events */
}

/* Takes n records, which must be those of serial first on. */
static void take(uint64_t first, unsigned n)
{
	struct gsb_trace_ready got[128];

	assert_in_range(n, 1, 128);
	assert_int_equal(take_bytes(got, (uint32_t)(n * sizeof(got[0]))), n * sizeof(got[0]));
	for (unsigned i = 0; i < n; i++) {
		struct gsb_trace_ready want = ready(first + i);

		assert_memory_equal(&got[i], &want, sizeof(want));
	}
}

static void test_take_of_what_was_put_is_the_same_around_the_end(void **state)
{
	uint64_t next = 0;

	for (unsigned n = 1; n <= 100;
	     n++) { /* 40 bytes do not divide 4096: the seam is everywhere */
		for (unsigned i = 0; i < n; i++)
			assert_true(put(next + i));
		take(next, n);
		next += n;
	}
	assert_int_equal(take_bytes(&next, sizeof(next)), 0);
	assert_int_equal(buffer.n_drained, next);
	assert_int_equal(buffer.n_lost, 0);
}

static void test_take_with_little_room_takes_whole_records(void **state)
{
	uint8_t to[100];

	put(1);
	put(2);
	put(3);
	assert_int_equal(take_bytes(to, sizeof(to)), 2 * sizeof(struct gsb_trace_ready));
	take(3, 1);
}

static void test_put_into_a_full_ring_leaves_what_is_in_it_as_it_is(void **state)
{
	const unsigned fits = 4096 / sizeof(struct gsb_trace_ready);

	for (unsigned i = 0; i < fits; i++)
		assert_true(put(i));
	assert_int_equal(gsb_trace_buffer_look(&buffer, 4096),
			 fits * sizeof(struct gsb_trace_ready));
	assert_false(put(1000)); /* the writer is at it */
	take(0, fits);
}

static void test_put_without_room_is_counted_and_said_before_the_next(void **state)
{
	const unsigned fits = 4096 / sizeof(struct gsb_trace_ready);
	struct {
		struct gsb_trace_lost lost;
		struct gsb_trace_ready after;
	} got;
	uint8_t rest[4096];

	for (unsigned i = 0; i < fits; i++)
		assert_true(put(i));
	for (unsigned i = 0; i < 7; i++)
		assert_false(put(1000 + i));
	assert_int_equal(buffer.n_lost, 7);
	take(0, 1);
	assert_false(put(1007)); /* room for it, and not for what was lost before */
	take(1, 1);
	assert_true(put(2000));
	take_bytes(rest, (fits - 2) * sizeof(struct gsb_trace_ready));
	assert_int_equal(take_bytes(&got, sizeof(got)), sizeof(got));
	assert_int_equal(got.lost.head.type, GSB_TRACE_LOST);
	assert_int_equal(got.lost.n_events, 8);
	assert_int_equal(got.after.serial, 2000);
	assert_int_equal(buffer.n_lost, 8);
	assert_int_equal(buffer.n_drained, fits + 2);
	assert_true(put(2001)); /* said once */
	take(2001, 1);
}

static void test_last_words_say_what_was_lost_at_the_end(void **state)
{
	struct gsb_trace_lost lost;

	assert_false(gsb_trace_buffer_last_words(&buffer, &lost));
	for (int i = 0; i < 1000 && put(1); i++)
		;
	assert_true(gsb_trace_buffer_last_words(&buffer, &lost));
	assert_int_equal(lost.n_events, 1);
	assert_false(gsb_trace_buffer_last_words(&buffer, &lost));
}

/* ---- in place ---- */

static int setup_large(void **state)
{
	return gsb_trace_buffer_init(&buffer, 65536);
}

static bool end_at(const struct gsb_trace_head *record, void *end)
{
	return gsb_trace_buffer_end(&buffer, end) || gsb_trace_buffer_end_rare(&buffer, record);
}

/* False: it was lost. */
static bool try_to_fill(uint64_t serial)
{
	struct gsb_trace_ready *r = gsb_trace_buffer_begin(&buffer);

	*r = ready(serial);
	return end_at(&r->head, r + 1);
}

static void fill(uint64_t serial)
{
	assert_true(try_to_fill(serial));
}

static void test_filled_is_there_when_it_is_published(void **state)
{
	uint8_t to[4096];

	for (uint64_t i = 0; i < 5; i++)
		fill(i);
	assert_int_equal(take_bytes(to, sizeof(to)), 0);
	gsb_trace_buffer_publish(&buffer);
	take(0, 5);
	assert_int_equal(buffer.n_drained, 5);
}

static void test_begun_and_not_ended_is_no_record(void **state)
{
	struct gsb_trace_ready *r = gsb_trace_buffer_begin(&buffer);

	*r = ready(7);
	fill(0);
	gsb_trace_buffer_publish(&buffer);
	take(0, 1);
	assert_int_equal(take_bytes(r, sizeof(*r)), 0);
}

static void test_filled_is_in_one_piece_around_the_end(void **state)
{
	uint64_t next = 0;

	for (unsigned round = 0; round < 1000; round++) {
		unsigned n = 1 + round % 100;

		for (unsigned i = 0; i < n; i++)
			fill(next + i);
		gsb_trace_buffer_publish(&buffer);
		take(next, n);
		next += n;
	}
	assert_int_equal(buffer.n_lost, 0);
	assert_int_equal(buffer.n_drained, next);
}

static void test_closed_is_published_and_tries_nothing_more(void **state)
{
	fill(0);
	fill(1);
	gsb_trace_buffer_close(&buffer);
	assert_false(try_to_fill(2));
	take(0, 2);
	assert_false(put(3));
	assert_int_equal(buffer.n_lost, 0);
}

static bool put_large(void)
{
	struct gsb_trace_head *head = gsb_trace_buffer_begin(&buffer);

	*head = (struct gsb_trace_head){GSB_TRACE_FAULT, GSB_TRACE_RECORD_MAX, 1, 0};
	return end_at(head, (uint8_t *)head + head->bytes);
}

/* What is small would fit where what is large did not; the loss is said first all the same. */
static void test_small_record_behind_a_lost_one_does_not_overtake_what_was_lost(void **state)
{
	const unsigned fits = 65536 / sizeof(struct gsb_trace_ready) - 10;
	struct gsb_trace_lost lost;
	uint8_t rest[65536];

	for (unsigned i = 0; i < fits; i++)
		fill(i);
	assert_false(put_large());
	fill(fits);
	gsb_trace_buffer_publish(&buffer);
	take_bytes(rest, (uint32_t)(fits * sizeof(struct gsb_trace_ready)));
	assert_int_equal(take_bytes(&lost, sizeof(lost)), sizeof(lost));
	assert_int_equal(lost.head.type, GSB_TRACE_LOST);
	take(fits, 1);
}

/* ---- continued ---- */

/* Of which a part has room for records of any size. */
static int setup_parts(void **state)
{
	return gsb_trace_buffer_init(&buffer, 1 << 20);
}

#define POSTED 0x123456789abcdefull /* what is read elsewhere by mistake is not that */

/* A record that may be, for whom of is; then whether it goes on by one more for him. */
static void open_launch(uint64_t serial, const void *of)
{
	struct gsb_compact_launch *c = gsb_trace_buffer_begin(&buffer);

	*c = (struct gsb_compact_launch){.head = {GSB_COMPACT_LAUNCH, sizeof(*c), 1, serial},
					 .serial = serial,
					 .posted_ns = POSTED};
	if (gsb_trace_buffer_end(&buffer, c + 1))
		gsb_trace_buffer_open(&buffer, &c->head, of);
	else
		assert_true(gsb_trace_buffer_end_rare(&buffer, &c->head));
}

static bool go_on(const void *of)
{
	struct gsb_compact_again *more = gsb_trace_buffer_begin(&buffer);

	if (!gsb_trace_buffer_is_open(&buffer, of))
		return false;
	*more = (struct gsb_compact_again){.posted_ns = POSTED};
	gsb_trace_buffer_add_more(&buffer, sizeof(*more));
	return true;
}

/* Serials of all that is queued in what is there. */
static unsigned take_queued(uint64_t first)
{
	static _Alignas(8) uint8_t to[GSB_TRACE_EXPANSION * 65536];
	uint32_t bytes = take_bytes(to, 65536), at = 0;
	unsigned n = 0;

	while (at < bytes) {
		const struct gsb_trace_queued *q = (const void *)(to + at);

		if (q->head.type == GSB_TRACE_QUEUED) {
			assert_int_equal(q->serial, first + n++);
			assert_int_equal(q->posted_ns, POSTED);
		}
		at += q->head.bytes;
	}
	return n;
}

static void test_record_goes_on_for_its_own_until_it_is_published(void **state)
{
	const int a = 0, b = 0;

	open_launch(1, &a);
	assert_true(go_on(&a));
	assert_false(go_on(&b));
	assert_true(go_on(&a));
	gsb_trace_buffer_publish(&buffer);
	assert_false(go_on(&a)); /* the writer is at it */
	assert_int_equal(take_queued(1), 3);
	assert_int_equal(buffer.n_drained, 6);
}

static void test_record_does_not_go_on_behind_another_or_a_split(void **state)
{
	const int a = 0;

	open_launch(1, &a);
	gsb_trace_buffer_split(&buffer);
	assert_false(go_on(&a));
	open_launch(2, &a);
	fill(7);
	assert_false(go_on(&a));
	gsb_trace_buffer_publish(&buffer);
	assert_int_equal(take_queued(1), 2);
}

static void test_record_that_goes_on_always_has_the_room(void **state)
{
	const unsigned n_most = (GSB_TRACE_RECORD_MAX - sizeof(struct gsb_compact_launch)) /
				sizeof(struct gsb_compact_again);
	const int a = 0;
	uint64_t next = 0;
	unsigned n_long = 0;

	for (unsigned round = 0; round < 1000; round++) { /* the seam is everywhere */
		unsigned n = 1;

		open_launch(next, &a);
		while (n <= n_most && go_on(&a))
			n++;
		n_long += n > n_most;
		gsb_trace_buffer_publish(&buffer);
		assert_int_equal(take_queued(next), n);
		next += n;
	}
	assert_in_range(n_long, 500, 1000); /* not in front of the end */
	assert_int_equal(buffer.n_lost, 0);
}

/* ---- times ---- */

static void put_queued(uint64_t stamp, uint64_t posted)
{
	const struct gsb_trace_queued q = {.head = {GSB_TRACE_QUEUED, sizeof(q), 1, stamp},
					   .posted_ns = posted};

	assert_true(gsb_trace_buffer_put(&buffer, &q.head));
}

static void expect_times(const struct gsb_trace_queued *q, uint64_t ns, uint64_t posted_ns)
{
	assert_int_equal(q->head.time_ns, ns);
	assert_int_equal(q->posted_ns, posted_ns);
}

/* Of a clock with 2 stamps a ns, that was read last at stamp 60000. */
static void test_time_of_records_never_goes_back_and_is_behind_their_posting(void **state)
{
	const struct gsb_stamp_clock clock = {
		.base = {1000, 50000},
		.at = {3000, 54000},
		.n_between = 100000,
		.rate = 1ull << 31,
		.last_ns = 6000,
	};

	struct gsb_trace_queued q[4];

	for (unsigned round = 0; round < 300; round++) {
		buffer.last_ns = 0;
		put_queued(54000, 52000);
		put_queued(53000, 0);	  /* another processor's stamp */
		put_queued(56000, 58000); /* a tenant that posts in the future */
		put_queued(58000, 1);	  /* and one of before all */
		gsb_trace_buffer_time(&buffer, sizeof(q), &clock);
		assert_int_equal(take_bytes(q, sizeof(q)), sizeof(q));
		expect_times(&q[0], 3000, 2000);
		expect_times(&q[1], 3000, 0);
		expect_times(&q[2], 4000, 4000);
		expect_times(&q[3], 5000, 1000);
	}
}

/* ---- two threads ---- */

static _Atomic bool ended;

static void *produce(void *unused)
{
	for (uint64_t i = 1; i <= N_RACED; i++) {
		try_to_fill(i);
		if (i % 7 == 0)
			gsb_trace_buffer_publish(&buffer);
	}
	gsb_trace_buffer_close(&buffer);
	atomic_store(&ended, true);
	return NULL;
}

struct seen {
	uint64_t last, n, n_lost; /* serial; records of the producer; said to be lost */
};

static void look(struct seen *seen, const uint8_t *at, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes;) {
		struct gsb_trace_head head;
		struct gsb_trace_ready r;
		struct gsb_trace_lost lost;

		memcpy(&head, at + i, sizeof(head));
		if (head.type == GSB_TRACE_LOST) {
			memcpy(&lost, at + i, sizeof(lost));
			seen->n_lost += lost.n_events;
		} else {
			struct gsb_trace_ready want;

			memcpy(&r, at + i, sizeof(r));
			want = ready(r.serial);
			assert_memory_equal(&r, &want, sizeof(r));
			/* what is missing was said to be lost, no more and no less */
			assert_int_equal(r.serial, seen->n + seen->n_lost + 1);
			seen->n++;
		}
		i += head.bytes;
	}
}

static void test_put_beside_take_loses_nothing_that_it_does_not_count(void **state)
{
	struct seen seen = {0};
	struct gsb_trace_lost lost;
	pthread_t producer;
	uint8_t chunk[65536];
	uint32_t bytes, room = 512;

	atomic_store(&ended, false);
	assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
	while (!atomic_load(&ended)) { /* a little, and all of it, while the producer is at it */
		room = room == 512 ? sizeof(chunk) : 512;
		look(&seen, chunk, take_bytes(chunk, room));
	}
	pthread_join(producer, NULL);
	while ((bytes = take_bytes(chunk, sizeof(chunk))))
		look(&seen, chunk, bytes);
	if (gsb_trace_buffer_last_words(&buffer, &lost))
		seen.n_lost += lost.n_events;
	assert_int_equal(seen.n + seen.n_lost, N_RACED);
	assert_int_equal(seen.n_lost, buffer.n_lost);
	assert_true(seen.n > 100);
}

int main(void)
{
#define CASE(f)	      cmocka_unit_test_setup_teardown(f, setup, teardown)
#define CASE_LARGE(f) cmocka_unit_test_setup_teardown(f, setup_large, teardown)
#define CASE_PARTS(f) cmocka_unit_test_setup_teardown(f, setup_parts, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_take_of_what_was_put_is_the_same_around_the_end),
		CASE(test_take_with_little_room_takes_whole_records),
		CASE(test_put_into_a_full_ring_leaves_what_is_in_it_as_it_is),
		CASE(test_put_without_room_is_counted_and_said_before_the_next),
		CASE(test_last_words_say_what_was_lost_at_the_end),
		CASE_LARGE(test_filled_is_there_when_it_is_published),
		CASE_LARGE(test_begun_and_not_ended_is_no_record),
		CASE_LARGE(test_filled_is_in_one_piece_around_the_end),
		CASE_LARGE(test_closed_is_published_and_tries_nothing_more),
		CASE_LARGE(test_small_record_behind_a_lost_one_does_not_overtake_what_was_lost),
		CASE_PARTS(test_record_goes_on_for_its_own_until_it_is_published),
		CASE_PARTS(test_record_does_not_go_on_behind_another_or_a_split),
		CASE_PARTS(test_record_that_goes_on_always_has_the_room),
		CASE(test_time_of_records_never_goes_back_and_is_behind_their_posting),
		CASE(test_put_beside_take_loses_nothing_that_it_does_not_count),
		CASE_LARGE(test_put_beside_take_loses_nothing_that_it_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
