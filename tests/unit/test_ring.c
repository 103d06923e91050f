/*
 * test_ring.c - the ring against a plain queue, against a hostile producer, and between two threads.
 *
 * The two-thread case is what `make check-tsan` looks at: one process, one mapping.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "shm/ring.h"
#include "shm/wait.h"

#define N_QUEUE 1024

struct fixture {
	struct gsb_region *region;
	struct gsb_ring_producer producer;
	struct gsb_ring_consumer consumer;
	int event_fd;
	_Alignas(GSB_RECORD_ALIGN) uint8_t copy[GSB_RECORD_MAX];
};

static int setup(void **state)
{
	struct fixture *f = aligned_alloc(64, gsb_round_up(sizeof(*f), 64));

	f->region = aligned_alloc(4096, sizeof(*f->region));
	memset(f->region, 0, sizeof(*f->region));
	f->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	gsb_ring_producer_init(&f->producer, f->region, f->event_fd, NULL);
	gsb_ring_consumer_init(&f->consumer, f->region);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->event_fd);
	free(f->region);
	free(f);
	return 0;
}

/* A launch with params_bytes of a pattern that seed decides. */
static bool post_launch(struct fixture *f, uint32_t params_bytes, uint8_t seed)
{
	uint32_t size = sizeof(struct gsb_rec) + sizeof(struct gsb_rec_launch) + params_bytes;
	uint64_t wait_for;
	struct gsb_rec *rec = gsb_ring_reserve(&f->producer, size, &wait_for);
	struct gsb_rec_launch *launch;

	if (!rec)
		return false;
	rec->type = GSB_REC_LAUNCH;
	rec->stream = seed;
	launch = (struct gsb_rec_launch *)(rec + 1);
	launch->params_bytes = params_bytes;
	memset(launch + 1, seed, params_bytes);
	gsb_ring_commit(&f->producer, rec);
	return true;
}

static void assert_launch(const struct fixture *f, uint32_t params_bytes, uint8_t seed)
{
	const struct gsb_rec *rec = (const struct gsb_rec *)f->copy;
	const struct gsb_rec_launch *launch = (const struct gsb_rec_launch *)(rec + 1);
	const uint8_t *params = (const uint8_t *)(launch + 1);

	assert_int_equal(rec->type, GSB_REC_LAUNCH);
	assert_int_equal(rec->stream, seed);
	assert_int_equal(launch->params_bytes, params_bytes);
	for (uint32_t i = 0; i < params_bytes; i++)
		assert_int_equal(params[i], seed);
}

static void test_ring_random_operations_equal_plain_queue(void **state)
{
	struct fixture *f = *state;
	struct {
		uint32_t params_bytes;
		uint8_t seed;
	} queue[N_QUEUE];
	unsigned first = 0, n = 0, posted = 0, full = 0;

	srandom(4711);
	for (int step = 0; step < 200000; step++) {
		if (random() % 2) {
			uint32_t bytes = (uint32_t)(random() % 4000);
			uint8_t seed = (uint8_t)random();

			if (n == N_QUEUE)
				continue;
			if (!post_launch(f, bytes, seed)) {
				full++;
				continue;
			}
			queue[(first + n) % N_QUEUE].params_bytes = bytes;
			queue[(first + n++) % N_QUEUE].seed = seed;
			posted++;
		} else {
			int r = gsb_ring_peek(&f->consumer, f->copy);

			assert_int_equal(r, n ? 1 : 0);
			if (!r)
				continue;
			assert_launch(f, queue[first].params_bytes, queue[first].seed);
			gsb_ring_advance(&f->consumer, (struct gsb_rec *)f->copy);
			first = (first + 1) % N_QUEUE;
			n--;
		}
	}
	assert_true(posted > 50000);
	assert_true(full > 0); /* the wrap and the full ring were met */
}

static unsigned count_launches_ahead(const struct fixture *f, uint64_t tail)
{
	uint64_t at = f->consumer.head;
	struct gsb_ring_glance g;
	unsigned n = 0;

	while (gsb_ring_glance(&f->consumer, tail, &at, &g)) {
		assert_int_equal(g.object, g.type == GSB_REC_LAUNCH ? 4711 : 0);
		n += g.type == GSB_REC_LAUNCH;
	}
	assert_int_equal(at, tail);
	return n;
}

static void test_ring_glance_sees_all_that_peek_will_take(void **state)
{
	struct fixture *f = *state;

	for (int round = 0; round < 100; round++) {
		unsigned n = 0;

		while (post_launch(f, (uint32_t)(random() % 4000), 1))
			n++;
		for (uint64_t at = f->consumer.head; at != f->producer.tail;) {
			struct gsb_rec *rec =
				(struct gsb_rec *)(f->region->ring + (at & (GSB_RING_BYTES - 1)));

			if (rec->type == GSB_REC_LAUNCH)
				((struct gsb_rec_launch *)(rec + 1))->function = 4711;
			at += rec->size;
		}
		assert_int_equal(count_launches_ahead(f, gsb_ring_tail(&f->consumer)), n);
		while (gsb_ring_peek(&f->consumer, f->copy)) {
			gsb_ring_advance(&f->consumer, (struct gsb_rec *)f->copy);
			n--;
		}
		assert_int_equal(n, 0);
	}
}

static void test_ring_glance_past_a_damaged_record_sees_nothing(void **state)
{
	static const uint64_t tails[] = {1ull << 63, GSB_RING_BYTES + 16};
	struct fixture *f = *state;
	struct gsb_rec *first = (struct gsb_rec *)f->region->ring;
	struct gsb_ring_glance g;
	uint64_t at = 0;

	post_launch(f, 0, 1);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(tails); i++)
		assert_int_equal(gsb_ring_glance(&f->consumer, tails[i], &at, &g), 0);
	at = first->size + 16; /* the tail went back */
	assert_int_equal(gsb_ring_glance(&f->consumer, first->size, &at, &g), 0);
	at = 0;
	first->size += 16;
	assert_int_equal(gsb_ring_glance(&f->consumer, f->producer.tail, &at, &g), 0);
	assert_int_equal(at, 0);
}

static void test_ring_commit_stamped_stamps_what_nobody_traces(void **state)
{
	struct fixture *f = *state;
	uint64_t wait_for, before = gsb_clock_stamp();
	struct gsb_rec *rec = gsb_ring_reserve(&f->producer, sizeof(*rec), &wait_for);

	rec->type = GSB_REC_NOP;
	gsb_ring_commit_stamped(&f->producer, rec);
	assert_int_equal(gsb_ring_peek(&f->consumer, f->copy), 1);
	assert_in_range(((struct gsb_rec *)f->copy)->stamp, before, gsb_clock_stamp());
}

static void test_ring_reserve_when_full_says_what_to_wait_for(void **state)
{
	struct fixture *f = *state;
	uint64_t wait_for = 0;

	while (post_launch(f, 4000, 1))
		;
	assert_null(gsb_ring_reserve(&f->producer, 4096, &wait_for));
	while (atomic_load(&f->region->header.head) < wait_for) {
		assert_int_equal(gsb_ring_peek(&f->consumer, f->copy), 1);
		gsb_ring_advance(&f->consumer, (struct gsb_rec *)f->copy);
	}
	assert_non_null(gsb_ring_reserve(&f->producer, 4096, &wait_for));
}

static void test_ring_commit_wakes_only_a_sleeping_engine(void **state)
{
	struct fixture *f = *state;
	uint64_t count;

	assert_true(post_launch(f, 0, 1));
	assert_int_equal(read(f->event_fd, &count, sizeof(count)), -1);
	gsb_ring_prepare_sleep(&f->consumer);
	assert_true(post_launch(f, 0, 2));
	assert_true(post_launch(f, 0, 2)); /* the engine is on its way: no second bell */
	assert_int_equal(read(f->event_fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 1);
	gsb_ring_awake(&f->consumer);
	assert_true(post_launch(f, 0, 3));
	assert_int_equal(read(f->event_fd, &count, sizeof(count)), -1);
}

/* What a hostile producer may store at the tail, and that peek refuses it. */
static void test_ring_peek_of_damaged_record_is_eproto(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec *rec = (struct gsb_rec *)f->region->ring;
	const struct {
		uint16_t type;
		uint32_t size;
		uint64_t tail;
	} bad[] = {
		{GSB_N_RECS, 64, 64},
		{0xffff, 64, 64},
		{GSB_REC_LAUNCH, 0, 64},
		{GSB_REC_LAUNCH, 33, 64},
		{GSB_REC_LAUNCH, 48, 64},  /* shorter than header and body */
		{GSB_REC_LAUNCH, 128, 64}, /* longer than what was published */
		{GSB_REC_LAUNCH, GSB_RECORD_MAX + 16, GSB_RING_BYTES},
		{GSB_REC_LAUNCH, 0xfffffff0u, GSB_RING_BYTES},
		{GSB_REC_PAD, 0, 64},
		{GSB_REC_PAD, GSB_RING_BYTES + 16, GSB_RING_BYTES},
		{GSB_REC_NOP, 32, GSB_RING_BYTES + 16}, /* tail too far ahead */
		{GSB_REC_NOP, 32, 40},			/* tail not aligned */
		{GSB_REC_NOP, 32, UINT64_MAX - 15},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		rec->type = bad[i].type;
		rec->size = bad[i].size;
		atomic_store(&f->region->header.tail, bad[i].tail);
		assert_int_equal(gsb_ring_peek(&f->consumer, f->copy), -EPROTO);
	}
}

static void test_ring_peek_ignores_what_tenant_wrote_to_head(void **state)
{
	struct fixture *f = *state;

	assert_true(post_launch(f, 16, 9));
	atomic_store(&f->region->header.head, 1ull << 40);
	assert_int_equal(gsb_ring_peek(&f->consumer, f->copy), 1);
	assert_launch(f, 16, 9);
}

static void test_rec_names_and_sizes_follow_the_list(void **state)
{
	assert_string_equal(gsb_rec_name(GSB_REC_LAUNCH), "Launch");
	assert_string_equal(gsb_rec_name(GSB_N_RECS), "?");
	assert_int_equal(gsb_rec_min_size(GSB_REC_NOP), sizeof(struct gsb_rec));
	assert_int_equal(gsb_rec_min_size(GSB_N_RECS), 0);
	assert_int_equal(gsb_rec_class(GSB_REC_LAUNCH), GSB_CLASS_STREAM);
	assert_int_equal(gsb_rec_class(GSB_REC_MEM_ALLOC), GSB_CLASS_CALL);
}

#define N_STRESS 20000

static void *producer_thread(void *arg)
{
	struct fixture *f = arg;
	uint32_t slot;

	assert_int_equal(gsb_thread_acquire(f->region, &slot), 0);
	for (unsigned i = 0; i < N_STRESS; i++)
		while (!post_launch(f, i % 600, (uint8_t)i)) {
			struct gsb_wait w = {.kind = GSB_WAIT_RING};
			uint64_t wait_for;

			if (gsb_ring_reserve(&f->producer, 1024, &wait_for))
				continue; /* emptied in between; nothing is committed */
			w.value = wait_for;
			gsb_thread_wait(f->region, slot, &w, NULL, NULL);
		}
	gsb_thread_release(f->region, slot);
	return NULL;
}

static void test_ring_two_threads_lose_nothing(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	unsigned got = 0;

	assert_int_equal(pthread_create(&thread, NULL, producer_thread, f), 0);
	while (got < N_STRESS) {
		int r = gsb_ring_peek(&f->consumer, f->copy);

		assert_true(r >= 0);
		if (!r) {
			gsb_wake_waiters(f->region);
			continue;
		}
		assert_launch(f, got % 600, (uint8_t)got);
		gsb_ring_advance(&f->consumer, (struct gsb_rec *)f->copy);
		gsb_wake_waiters(f->region);
		got++;
	}
	pthread_join(thread, NULL);
	assert_true(gsb_ring_is_empty(&f->consumer));
}

#define ring_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(test_ring_random_operations_equal_plain_queue),
		ring_test(test_ring_glance_sees_all_that_peek_will_take),
		ring_test(test_ring_glance_past_a_damaged_record_sees_nothing),
		ring_test(test_ring_commit_stamped_stamps_what_nobody_traces),
		ring_test(test_ring_reserve_when_full_says_what_to_wait_for),
		ring_test(test_ring_commit_wakes_only_a_sleeping_engine),
		ring_test(test_ring_peek_of_damaged_record_is_eproto),
		ring_test(test_ring_peek_ignores_what_tenant_wrote_to_head),
		ring_test(test_ring_two_threads_lose_nothing),
		cmocka_unit_test(test_rec_names_and_sizes_follow_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
