/*
 * test_engine_shared.c - events that several tenants have: a recording by any of them is what all wait for, in the order in which
 * they posted, whichever ring is read first; and whoever ends, nobody waits for what will never come.
 *
 * Event 0 of each tenant is the same one, which a has made.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/engine/order/shared.h"
#include "tests/unit/engine_kit.h"

#define E 0

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b, c;
	uint64_t mem_a, mem_b, mem_c;
	struct gsb_ipc_handle handle;
};

/* ---- a library's part ---- */

static void event_make(struct kit_tenant *t, uint32_t event)
{
	struct gsb_rec_event_create b = {.event = kit_event(event),
					 .ctx = kit_ctx(0),
					 .flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING};

	kit_post(t, GSB_REC_EVENT_CREATE, 0, &b, sizeof(b), NULL, 0);
}

static CUresult event_export(struct kit_tenant *t, uint32_t event, struct gsb_ipc_handle *out)
{
	struct gsb_rec_object b = {.handle = kit_event(event)};
	CUresult result = kit_call(t, GSB_REC_EVENT_EXPORT, &b, sizeof(b), NULL, 0);

	if (!result)
		*out = ((const struct gsb_reply_ipc *)kit_reply(t))->handle;
	return result;
}

static CUresult event_open(struct kit_tenant *t, uint32_t event, const struct gsb_ipc_handle *h)
{
	struct gsb_rec_event_open b = {.event = kit_event(event), .ctx = kit_ctx(0), .handle = *h};

	return kit_call(t, GSB_REC_EVENT_OPEN, &b, sizeof(b), NULL, 0);
}

static void event_destroy(struct kit_tenant *t, uint32_t event)
{
	struct gsb_rec_object b = {.handle = kit_event(event)};

	kit_post(t, GSB_REC_EVENT_DESTROY, 0, &b, sizeof(b), NULL, 0);
}

static uint64_t post_await(struct kit_tenant *t, bool only_ask)
{
	struct gsb_rec_event_await b = {.event = kit_event(E), .only_ask = only_ask};

	return kit_post_call(t, GSB_REC_EVENT_AWAIT, &b, sizeof(b), NULL, 0);
}

static CUresult ask(struct kit_tenant *t)
{
	uint64_t call = post_await(t, true);

	kit_settle(t->kit);
	return kit_status_of(t, call);
}

/* When the record that was posted last was posted. Records about events have one size. */
static void at(struct kit_tenant *t, uint64_t stamp)
{
	uint64_t size = sizeof(struct gsb_rec) + sizeof(struct gsb_rec_event_record);
	uint64_t offset = (t->producer.tail - size) & (GSB_RING_BYTES - 1);

	((struct gsb_rec *)(t->region->ring + offset))->stamp = stamp;
}

/* Whose ring is read first in the next turn. */
static void read_first(struct kit_tenant *t)
{
	t->kit->engine->first_slot = (t->t->slot + GSB_N_SLOTS - 1) % GSB_N_SLOTS;
}

static bool is_issued(const struct kit_device *d, uint64_t addr)
{
	for (unsigned i = 0; i < d->n_issued; i++)
		if (d->log[i].addr == addr)
			return true;
	return false;
}

/* The fill of a word, which is under way. */
static void complete(struct kit_engine *k, uint64_t addr)
{
	struct kit_device *d = k->dev;

	for (unsigned i = 0; i < d->n_issued; i++)
		if (d->log[i].addr == addr && !d->log[i].done) {
			kit_complete(d, i, CUDA_SUCCESS, d->now_ns + 1000);
			kit_settle(k);
			return;
		}
	fail_msg("nothing is under way there");
}

static void complete_all(struct kit_engine *k)
{
	struct kit_device *d = k->dev;

	for (unsigned i = 0; i < d->n_issued; i++)
		if (!d->log[i].done) {
			kit_complete(d, i, CUDA_SUCCESS, d->now_ns + 1000);
			kit_settle(k);
		}
}

/* ---- fixtures ---- */

static void add(struct fixture *f, struct kit_tenant *t, uint64_t *mem)
{
	kit_tenant_init(t, &f->k, NULL);
	*mem = kit_alloc(t, 4096);
	kit_stream_create(t, 1, GSB_STREAM_NON_BLOCKING);
	kit_stream_create(t, 2, GSB_STREAM_NON_BLOCKING);
	kit_settle(&f->k);
}

static int setup_clock(void **state, bool is_virtual)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, is_virtual);
	add(f, &f->a, &f->mem_a);
	add(f, &f->b, &f->mem_b);
	add(f, &f->c, &f->mem_c);
	event_make(&f->a, E);
	assert_int_equal(event_export(&f->a, E, &f->handle), CUDA_SUCCESS);
	assert_int_equal(event_open(&f->b, E, &f->handle), CUDA_SUCCESS);
	assert_int_equal(event_open(&f->c, E, &f->handle), CUDA_SUCCESS);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_clock(state, false);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	complete_all(&f->k);
	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	kit_tenant_finish(&f->c);
	assert_null(f->k.engine->exports.all);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* ---- what waits for what ---- */

static void test_wait_of_another_tenant_waits_for_the_recording(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_b));
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_int_equal(kit_done(&f->b, 1), 1);
}

static void test_event_never_recorded_is_complete(void **state)
{
	struct fixture *f = *state;

	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	kit_settle(&f->k);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_int_equal(ask(&f->c), CUDA_SUCCESS);
}

static void test_recording_by_who_opened_it_is_one_for_all(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->b, 1, f->mem_b);
	kit_record(&f->b, 1, E);
	kit_settle(&f->k);
	kit_wait(&f->a, 1, E);
	kit_fill(&f->a, 1, f->mem_a);
	kit_wait(&f->c, 1, E);
	kit_fill(&f->c, 1, f->mem_c);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_a));
	assert_false(is_issued(f->k.dev, f->mem_c));
	complete(&f->k, f->mem_b);
	assert_true(is_issued(f->k.dev, f->mem_a));
	assert_true(is_issued(f->k.dev, f->mem_c));
}

static void test_wait_keeps_to_the_recording_that_was_the_latest(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	kit_settle(&f->k);
	kit_fill(&f->c, 1, f->mem_c);
	kit_record(&f->c, 1, E);
	kit_settle(&f->k);
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_int_equal(ask(&f->b), CUDA_ERROR_NOT_READY); /* of the latest, now */
}

static void test_words_tell_a_tenant_its_own_recordings_only(void **state)
{
	struct fixture *f = *state;

	kit_record(&f->a, 1, E);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	assert_int_equal(f->a.region->events[E].done, 2);
	assert_int_equal(f->b.region->events[E].done, 0);
}

/* ---- order across rings ---- */

static void begin_recording(struct fixture *f, struct kit_tenant *t, uint64_t mem, uint64_t stamp)
{
	kit_fill(t, 1, mem);
	kit_record(t, 1, E);
	at(t, stamp);
}

static void begin_wait(struct kit_tenant *t, uint64_t mem, uint64_t stamp)
{
	kit_wait(t, 1, E);
	at(t, stamp);
	kit_fill(t, 1, mem);
}

static void test_wait_that_is_read_first_waits_for_what_was_posted_before_it(void **state)
{
	struct fixture *f = *state;

	begin_recording(f, &f->a, f->mem_a, 11);
	begin_wait(&f->b, f->mem_b, 21);
	read_first(&f->b);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_b));
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_b));
}

/* A turn reads no more than 64 records of a ring. */
static void test_wait_waits_for_a_recording_that_takes_turns_to_come_to(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 4 * GSB_TURN_RECORDS; i++)
		kit_nop(&f->a, 2);
	begin_recording(f, &f->a, f->mem_a, 11);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_b));
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_b));
}

static void test_wait_does_not_take_a_recording_that_was_posted_after_it(void **state)
{
	struct fixture *f = *state;

	begin_wait(&f->b, f->mem_b, 11);
	begin_recording(f, &f->a, f->mem_a, 21);
	read_first(&f->a);
	kit_settle(&f->k);
	assert_true(is_issued(f->k.dev, f->mem_b));
}

static void test_latest_recording_is_the_one_that_was_posted_last(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant *first[] = {&f->a, &f->b};

	for (unsigned i = 0; i < 2; i++) {
		kit_device_forget(f->k.dev);
		begin_recording(f, &f->a, f->mem_a, 101 * i + 11);
		begin_recording(f, &f->b, f->mem_b, 101 * i + 21);
		read_first(first[i]);
		kit_settle(&f->k);
		complete(&f->k, f->mem_b);
		assert_int_equal(ask(&f->c), CUDA_SUCCESS); /* whatever a's is doing */
		complete(&f->k, f->mem_a);
	}
}

static void test_call_waits_for_what_was_posted_before_it(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	begin_recording(f, &f->a, f->mem_a, 11);
	call = post_await(&f->b, true);
	at(&f->b, 21);
	read_first(&f->b);
	kit_settle(&f->k);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_ERROR_NOT_READY);
}

/* Each posts a recording and a wait, at the same time as the other: nobody holds who holds him. */
static void test_rings_that_wait_for_each_other_go_by_stamps(void **state)
{
	struct fixture *f = *state;

	begin_recording(f, &f->a, f->mem_a, 11);
	begin_wait(&f->a, f->mem_a + 4, 41);
	begin_recording(f, &f->b, f->mem_b, 21);
	begin_wait(&f->b, f->mem_b + 4, 31);
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->preceded, 0);
	complete(&f->k, f->mem_b);
	assert_true(is_issued(f->k.dev, f->mem_b + 4));
	assert_false(is_issued(f->k.dev, f->mem_a + 4)); /* its stream has a recording before it */
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_a + 4));
}

/* They count as if they did not fall: else a and b would wait for each other. */
static void test_stamps_that_fall_hold_nobody_up_for_ever(void **state)
{
	struct fixture *f = *state;

	begin_recording(f, &f->a, f->mem_a, 101);
	begin_recording(f, &f->a, f->mem_a + 4, 1);
	begin_recording(f, &f->b, f->mem_b, 51);
	read_first(&f->b);
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->preceded, 0);
	complete_all(&f->k);
	assert_int_equal(kit_done(&f->a, 1), 4);
	assert_int_equal(kit_done(&f->b, 1), 2);
}

static void stall(struct fixture *f, struct kit_tenant *t, uint64_t mem)
{
	gsb_tenant_relimit(t->t, &(struct gsb_tenant_limits){.queued_records = 4});
	kit_fill(t, 1, mem);
	for (int i = 0; i < 8; i++)
		kit_nop(t, 1);
}

static void test_wait_is_held_while_the_recording_has_no_room(void **state)
{
	struct fixture *f = *state;

	stall(f, &f->a, f->mem_a);
	begin_recording(f, &f->a, f->mem_a + 4, 11);
	kit_settle(&f->k);
	assert_true(f->a.t->queues.stalled);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	begin_wait(&f->c, f->mem_c, 31);
	kit_settle(&f->k);
	assert_false(gsb_engine_turn(f->k.engine)); /* it sleeps meanwhile */
	complete(&f->k, f->mem_a);
	assert_false(is_issued(f->k.dev, f->mem_b));
	assert_false(is_issued(f->k.dev, f->mem_c));
	complete(&f->k, f->mem_a + 4);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_true(is_issued(f->k.dev, f->mem_c));
}

static void test_ring_that_is_full_of_other_things_holds_nobody(void **state)
{
	struct fixture *f = *state;

	stall(f, &f->a, f->mem_a);
	kit_event_create(&f->a, 1);
	kit_record(&f->a, 1, 1);
	at(&f->a, 11);
	kit_settle(&f->k);
	assert_true(f->a.t->queues.stalled);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	assert_true(is_issued(f->k.dev, f->mem_b));
}

static void test_what_is_posted_later_holds_nobody(void **state)
{
	struct fixture *f = *state;

	stall(f, &f->a, f->mem_a);
	begin_recording(f, &f->a, f->mem_a + 4, 11);
	kit_fill(&f->b, 2, f->mem_b + 4);
	kit_settle(&f->k);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	for (int i = 0; i < 100; i++) { /* with a stamp of before, as no library posts it */
		kit_record(&f->a, 2, E);
		at(&f->a, 11);
	}
	complete(&f->k, f->mem_b + 4); /* there is room, and it is offered again */
	assert_true(f->b.t->precedence.until[f->a.t->slot] < f->a.producer.tail);
	assert_int_equal(f->k.engine->preceded, 1ull << f->b.t->slot);
}

/* ---- those who end ---- */

static void test_destroyed_event_of_its_maker_goes_on_for_the_others(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	event_destroy(&f->a, E);
	kit_settle(&f->k);
	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_b));
	complete(&f->k, f->mem_a);
	assert_true(is_issued(f->k.dev, f->mem_b));
	kit_fill(&f->b, 2, f->mem_b + 4);
	kit_record(&f->b, 2, E);
	kit_settle(&f->k);
	assert_int_equal(ask(&f->c), CUDA_ERROR_NOT_READY);
}

static void test_event_of_nobody_ends_with_its_last_recording(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	event_destroy(&f->a, E);
	event_destroy(&f->b, E);
	event_destroy(&f->c, E);
	kit_settle(&f->k);
	assert_non_null(f->k.engine->exports.all);
	complete(&f->k, f->mem_a);
	assert_null(f->k.engine->exports.all);
	assert_int_equal(event_open(&f->b, E, &f->handle), CUDA_ERROR_MAP_FAILED);
}

static void test_tenant_that_dies_releases_who_waits_for_its_recording(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_fill(&f->a, 1, f->mem_a);
	kit_fill(&f->a, 1, f->mem_a + 4);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	call = post_await(&f->c, false);
	kit_settle(&f->k);
	assert_false(is_issued(f->k.dev, f->mem_b));
	assert_false(kit_answered(&f->c, call));
	kit_tenant_die(&f->a);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_false(is_issued(f->k.dev, f->mem_a + 4));
	assert_int_equal(kit_status_of(&f->c, call), CUDA_SUCCESS);
}

static void test_tenant_that_dies_while_it_waits_is_forgotten(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	kit_wait(&f->b, 1, E);
	kit_fill(&f->b, 1, f->mem_b);
	post_await(&f->b, false);
	kit_settle(&f->k);
	kit_tenant_die(&f->b);
	assert_true(kit_tenant_is_gone(&f->b));
	complete(&f->k, f->mem_a);
	assert_false(is_issued(f->k.dev, f->mem_b));
	assert_int_equal(ask(&f->c), CUDA_SUCCESS);
}

static void test_tenant_that_dies_holds_nobody(void **state)
{
	struct fixture *f = *state;
	uint32_t slot = f->a.t->slot;

	stall(f, &f->a, f->mem_a);
	begin_recording(f, &f->a, f->mem_a + 4, 11);
	kit_settle(&f->k);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->preceded, 1ull << f->b.t->slot);
	kit_tenant_die(&f->a);
	assert_true(is_issued(f->k.dev, f->mem_b));
	assert_int_equal(f->b.t->precedence.slots & 1ull << slot, 0);
}

/* What it has on the device goes on, and keeps it there. */
static void test_tenant_that_is_leaving_holds_nobody(void **state)
{
	struct fixture *f = *state;

	f->k.dev->ops.space_cancel = NULL;
	stall(f, &f->a, f->mem_a);
	begin_recording(f, &f->a, f->mem_a + 4, 11);
	kit_settle(&f->k);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	kit_tenant_die(&f->a);
	assert_false(kit_tenant_is_gone(&f->a));
	assert_true(is_issued(f->k.dev, f->mem_b));
}

static void test_tenant_that_dies_while_it_is_held_leaves_its_slot(void **state)
{
	struct fixture *f = *state;

	stall(f, &f->a, f->mem_a);
	begin_recording(f, &f->a, f->mem_a + 4, 11);
	kit_settle(&f->k);
	begin_wait(&f->b, f->mem_b, 21);
	kit_settle(&f->k);
	kit_tenant_die(&f->b);
	assert_true(kit_tenant_is_gone(&f->b));
	assert_int_equal(f->k.engine->preceded, 0);
}

/* ---- calls ---- */

static void test_call_is_answered_when_the_recording_is_done(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	assert_int_equal(ask(&f->b), CUDA_ERROR_NOT_READY);
	call = post_await(&f->b, false);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->b, call));
	complete(&f->k, f->mem_a);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	assert_int_equal(ask(&f->b), CUDA_SUCCESS);
}

/* What loops over queries in virtual time waits for this word. */
static void test_recording_counts_as_progress_of_who_may_have_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t before = f->b.region->header.n_completed;

	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	assert_int_equal(f->b.region->header.n_completed, before + 1);
	assert_int_equal(f->a.region->header.n_completed, 1);
}

static void test_more_calls_than_threads_cut_off(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	for (int i = 0; i < GSB_N_THREADS; i++)
		post_await(&f->b, false);
	kit_settle(&f->k);
	assert_int_equal(f->b.region->header.fatal, 0);
	post_await(&f->b, false);
	kit_settle(&f->k);
	assert_int_not_equal(f->b.region->header.fatal, 0);
	assert_int_equal(ask(&f->c), CUDA_ERROR_NOT_READY);
}

/* ---- virtual time ---- */

static int setup_virtual(void **state)
{
	return setup_clock(state, true);
}

static void test_virtual_time_goes_on_while_others_wait(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	begin_recording(f, &f->a, f->mem_a, 11);
	begin_wait(&f->b, f->mem_b, 21);
	call = post_await(&f->c, false);
	at(&f->c, 31);
	read_first(&f->c);
	kit_block(&f->a, GSB_WAIT_STREAM, 1, 2);
	kit_block(&f->b, GSB_WAIT_STREAM, 1, 2);
	kit_block(&f->c, GSB_WAIT_REPLY, 0, call);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 1), 2);
	assert_int_equal(kit_status_of(&f->c, call), CUDA_SUCCESS);
	assert_int_equal(f->c.region->threads[f->c.slot].state, GSB_THREAD_RUNNING);
	kit_block(&f->a, GSB_WAIT_NOTHING, 0, 0);
	kit_block(&f->c, GSB_WAIT_NOTHING, 0, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 1), 2);
	assert_int_equal(f->k.dev->log[1].not_before_ns, f->k.dev->log[0].not_before_ns + 1000);
}

/* ---- handles ---- */

static void test_handle_is_the_same_whenever_it_is_asked_for(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle again;

	assert_int_equal(event_export(&f->a, E, &again), CUDA_SUCCESS);
	assert_memory_equal(&again, &f->handle, sizeof(again));
	assert_int_equal(event_export(&f->b, E, &again), CUDA_ERROR_INVALID_HANDLE);
}

static void test_event_that_is_no_ones_else_has_no_handle(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h;

	kit_event_create(&f->a, 1);
	assert_int_equal(event_export(&f->a, 1, &h), CUDA_ERROR_INVALID_HANDLE);
}

static void test_handles_that_are_none_open_nothing(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h;

	h = f->handle;
	h.magic++;
	h.id += 1000;
	assert_int_equal(event_open(&f->b, 1, &h), CUDA_ERROR_MAP_FAILED);
	h = f->handle;
	h.secret[1] ^= 1;
	assert_int_equal(event_open(&f->b, 1, &h), CUDA_ERROR_MAP_FAILED);
	h.pid++;
	assert_int_equal(event_open(&f->b, 1, &h), CUDA_ERROR_MAP_FAILED);
	h = f->handle;
	h.id++;
	h.kind = GSB_IPC_MEMORY;
	assert_int_equal(event_open(&f->b, 1, &h), CUDA_ERROR_MAP_FAILED);
	assert_int_equal(f->b.t->queues.n_events, 1);
	assert_int_equal(event_open(&f->b, 1, &f->handle), CUDA_SUCCESS);
}

static void test_maker_does_not_open_its_own(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(event_open(&f->a, 1, &f->handle), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(f->a.t->queues.n_events, 1);
}

/* However many are its own: whoever looks through its ring does so once. */
static void test_tenant_that_opens_often_is_one_sharer(void **state)
{
	struct fixture *f = *state;
	const struct gsb_shared *s = f->b.t->queues.events[E].sharer->of;

	for (uint32_t round = 0; round < 5; round++) {
		const struct gsb_sharer *sharer;
		unsigned n = 0;

		for (uint32_t i = 1; i <= 20000; i++)
			assert_int_equal(event_open(&f->b, i, &f->handle), CUDA_SUCCESS);
		for (sharer = s->sharers; sharer; sharer = sharer->next)
			n++;
		assert_int_equal(n, 3);
		for (uint32_t i = 1; i <= 20000; i++) {
			event_destroy(&f->b, i);
			if (i % 1000 == 0)
				kit_settle(&f->k);
		}
	}
	kit_fill(&f->a, 1, f->mem_a);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	assert_int_equal(ask(&f->b), CUDA_ERROR_NOT_READY);
}

static void test_await_of_an_event_of_its_own_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_event_await b = {.event = kit_event(1)};

	kit_event_create(&f->b, 1);
	kit_post_call(&f->b, GSB_REC_EVENT_AWAIT, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_int_not_equal(f->b.region->header.fatal, 0);
}

static void test_open_into_an_index_in_use_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_event_open b = {
		.event = kit_event(E), .ctx = kit_ctx(0), .handle = f->handle};

	kit_post_call(&f->b, GSB_REC_EVENT_OPEN, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_int_not_equal(f->b.region->header.fatal, 0);
	kit_record(&f->a, 1, E);
	kit_settle(&f->k);
	assert_int_equal(ask(&f->c), CUDA_SUCCESS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(wait_of_another_tenant_waits_for_the_recording),
		CASE(event_never_recorded_is_complete),
		CASE(recording_by_who_opened_it_is_one_for_all),
		CASE(wait_keeps_to_the_recording_that_was_the_latest),
		CASE(words_tell_a_tenant_its_own_recordings_only),
		CASE(wait_that_is_read_first_waits_for_what_was_posted_before_it),
		CASE(wait_waits_for_a_recording_that_takes_turns_to_come_to),
		CASE(wait_does_not_take_a_recording_that_was_posted_after_it),
		CASE(latest_recording_is_the_one_that_was_posted_last),
		CASE(call_waits_for_what_was_posted_before_it),
		CASE(rings_that_wait_for_each_other_go_by_stamps),
		CASE(stamps_that_fall_hold_nobody_up_for_ever),
		CASE(wait_is_held_while_the_recording_has_no_room),
		CASE(ring_that_is_full_of_other_things_holds_nobody),
		CASE(what_is_posted_later_holds_nobody),
		CASE(destroyed_event_of_its_maker_goes_on_for_the_others),
		CASE(event_of_nobody_ends_with_its_last_recording),
		CASE(tenant_that_dies_releases_who_waits_for_its_recording),
		CASE(tenant_that_dies_while_it_waits_is_forgotten),
		CASE(tenant_that_dies_holds_nobody),
		CASE(tenant_that_is_leaving_holds_nobody),
		CASE(tenant_that_dies_while_it_is_held_leaves_its_slot),
		CASE(call_is_answered_when_the_recording_is_done),
		CASE(recording_counts_as_progress_of_who_may_have_asked),
		CASE(more_calls_than_threads_cut_off),
		cmocka_unit_test_setup_teardown(test_virtual_time_goes_on_while_others_wait,
						setup_virtual, teardown),
		CASE(handle_is_the_same_whenever_it_is_asked_for),
		CASE(event_that_is_no_ones_else_has_no_handle),
		CASE(handles_that_are_none_open_nothing),
		CASE(maker_does_not_open_its_own),
		CASE(tenant_that_opens_often_is_one_sharer),
		CASE(await_of_an_event_of_its_own_cuts_off),
		CASE(open_into_an_index_in_use_cuts_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
