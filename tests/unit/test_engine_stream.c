/*
 * test_engine_stream.c - CUDA's order in the engine: what is issued when, and what completes when.
 * The device completes only what a test says, so each assertion is about one exact moment.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/channel.h"
#include "shm/region.h"
#include "tests/unit/engine_kit.h"
#include "tests/unit/failing_send.h"

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem; /* 4,096 bytes of the tenant's */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_tenant_init(&f->t, &f->k, NULL);
	f->mem = kit_alloc(&f->t, 4096);
	for (uint32_t i = 1; i <= 4; i++)
		kit_stream_create(&f->t, i, i == 4 ? GSB_STREAM_NON_BLOCKING : 0);
	for (uint32_t i = 0; i < 4; i++)
		kit_event_create(&f->t, i);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->t);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* Stream 4 does not block with the legacy stream 0. */
#define NON_BLOCKING 4

static void test_one_stream_issues_only_its_head(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(kit_done(&f->t, 1), 1);
}

static void test_streams_run_side_by_side(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem + 4);
	kit_fill(&f->t, NON_BLOCKING, f->mem + 8);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 0);
	assert_int_equal(kit_done(&f->t, 2), 1);
}

static void test_streams_run_side_by_side_on_queues_used_before(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i <= 4; i++)
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	for (unsigned i = 0; i < 4; i++)
		kit_complete(f->k.dev, i, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	for (uint32_t i = 1; i <= 4; i++)
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 8);
	for (unsigned i = 4; i < 8; i++)
		for (unsigned other = i + 1; other < 8; other++)
			assert_ptr_not_equal(f->k.dev->log[i].queue, f->k.dev->log[other].queue);
}

static void test_at_most_32_commands_are_on_the_device(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 10; i < 50; i++) {
		kit_stream_create(&f->t, i, 0);
		kit_fill(&f->t, i, f->mem);
	}
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_open, GSB_N_QUEUES);
	kit_complete(f->k.dev, 3, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_open, GSB_N_QUEUES);
	assert_int_equal(f->k.dev->n_issued, GSB_N_QUEUES + 1);
}

static void test_legacy_stream_waits_for_all_blocking_work_before_it(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_fill(&f->t, NON_BLOCKING, f->mem);
	kit_fill(&f->t, 0, f->mem + 64);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0); /* the non-blocking one may go on running */
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 4);
	assert_int_equal(f->k.dev->log[3].addr, f->mem + 64);
}

static void test_blocking_streams_wait_for_legacy_work_before_them(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, NON_BLOCKING, f->mem + 64);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued,
			 2); /* legacy's first, and the one that does not care */
	assert_int_equal(f->k.dev->log[1].addr, f->mem + 64);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(kit_done(&f->t, 1), 0);
	kit_complete(f->k.dev, 2, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 4);
}

static void test_nop_on_legacy_stream_is_a_barrier(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_nop(&f->t, 0);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_int_equal(kit_done(&f->t, 0), 0);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 0), 1);
	assert_int_equal(f->k.dev->n_issued, 2);
}

static void test_wait_for_event_never_recorded_does_nothing(void **state)
{
	struct fixture *f = *state;

	kit_wait(&f->t, 1, 0);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_int_equal(kit_done(&f->t, 1), 1);
}

static void test_wait_holds_until_the_record_is_done(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 0);
	kit_wait(&f->t, 2, 0);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 5000000);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(f->t.region->events[0].time_ns, 5000000);
	assert_int_equal(atomic_load(&f->t.region->events[0].done), 1);
}

/* The wait took the record that was the latest when it was posted; a later one changes nothing. */
static void test_wait_is_for_the_latest_record_at_that_point(void **state)
{
	struct fixture *f = *state;

	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 0);
	kit_wait(&f->t, 3, 0);
	kit_fill(&f->t, 3, f->mem + 64);
	kit_record(&f->t, 2, 0); /* stream 2 is idle: this record is done at once */
	kit_settle(&f->k);
	assert_int_equal(atomic_load(&f->t.region->events[0].done), 2);
	assert_int_equal(f->k.dev->n_issued, 1); /* yet stream 3 waits for the first record */
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9000000);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
	/* The first record is done last: word and time stay those of the second. */
	assert_int_equal(atomic_load(&f->t.region->events[0].done), 2);
	assert_int_not_equal(f->t.region->events[0].time_ns, 9000000);
}

static void test_event_destroyed_before_it_is_done_still_releases_waits(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object b = {.handle = kit_event(0)};

	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 0);
	kit_wait(&f->t, 2, 0);
	kit_post(&f->t, GSB_REC_EVENT_DESTROY, 0, &b, sizeof(b), NULL, 0);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
}

static void test_destroyed_stream_finishes_its_queue_and_its_index_counts_on(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object b = {.handle = kit_stream(1)};
	struct gsb_rec_stream_create again = {.stream = gsb_handle_make(GSB_HANDLE_STREAM, 1, 2),
					      .ctx = kit_ctx(0)};

	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_post(&f->t, GSB_REC_STREAM_DESTROY, 0, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 2);
	kit_post(&f->t, GSB_REC_STREAM_CREATE, 0, &again, sizeof(again), NULL, 0);
	kit_post(&f->t, GSB_REC_NOP, again.stream, NULL, 0, NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 3);
}

static void test_free_is_answered_when_the_work_before_it_is_done(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = f->mem};
	uint64_t other = kit_alloc(&f->t, 64), call;

	kit_fill(&f->t, 1, other);
	kit_fill(&f->t, NON_BLOCKING, other);
	call = kit_post_call(&f->t, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
	kit_fill(&f->t, 2, other); /* after the free: it does not hold it up */
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 4096 + 64);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 64);
}

static void test_free_async_is_ordered_in_its_stream(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = f->mem};

	kit_fill(&f->t, 1, f->mem);
	kit_post(&f->t, GSB_REC_MEM_FREE_ASYNC, kit_stream(1), &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->used_bytes, 4096);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->used_bytes, 0);
	assert_int_equal(kit_done(&f->t, 1), 2);
}

static void read_host_func(struct fixture *f, uint64_t cookie)
{
	struct gsb_msg_host_func m;

	assert_int_equal(gsb_channel_recv(f->t.socket, &m, sizeof(m), NULL, NULL), sizeof(m));
	assert_int_equal(m.msg.type, GSB_MSG_HOST_FUNC);
	assert_int_equal(m.cookie, cookie);
}

static void test_host_function_stops_its_stream_until_it_is_done(void **state)
{
	struct fixture *f = *state;
	struct gsb_msg_host_func m;

	kit_fill(&f->t, 1, f->mem);
	kit_host_func(&f->t, 1, 42);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_int_equal(gsb_channel_recv(f->t.socket, &m, sizeof(m), NULL, NULL), -EAGAIN);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	read_host_func(f, 42);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_true(kit_host_func_done(&f->t, 42));
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
}

/* Whatever keeps the message from going out now. */
static void test_host_function_is_asked_for_later(void **state)
{
	static const int passing[] = {EAGAIN, ENOBUFS, ENOMEM};
	struct fixture *f = *state;

	kit_device_auto(f->k.dev);
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		kit_host_func(&f->t, 1, i + 1);
		next_send_fails_with = passing[i];
		kit_settle(&f->k);
		assert_int_equal(next_send_fails_with, 0);
		read_host_func(f, i + 1);
		assert_true(kit_host_func_done(&f->t, i + 1));
		kit_settle(&f->k);
		assert_int_equal(kit_done(&f->t, 1), i + 1);
	}
}

/* The ring is read no further then, but the socket is. */
static void test_host_function_done_while_the_queue_is_full(void **state)
{
	struct fixture *f = *state;

	f->t.t->queues.max_queued = 4;
	kit_host_func(&f->t, 1, 9);
	for (int i = 0; i < 20; i++)
		kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_true(f->t.t->queues.stalled);
	read_host_func(f, 9);
	assert_true(kit_host_func_done(&f->t, 9));
	kit_device_auto(f->k.dev);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 21);
}

static void test_full_queue_stops_reading_that_ring_only(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant other;
	uint64_t mem;

	kit_tenant_init(&other, &f->k, NULL);
	mem = kit_alloc(&other, 64);
	f->t.t->queues.max_queued = 8;
	for (int i = 0; i < 20; i++)
		kit_fill(&f->t, 1, f->mem);
	kit_fill(&other, 0, mem);
	kit_settle(&f->k);
	assert_int_equal(f->t.t->queues.n_queued, 8);
	assert_true(f->t.t->queues.stalled);
	assert_int_equal(f->k.dev->n_issued, 2);
	kit_device_auto(f->k.dev);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 20);
	kit_tenant_finish(&other);
}

static void test_fault_fails_its_context_and_nobody_else(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant other;
	uint64_t mem;

	kit_tenant_init(&other, &f->k, NULL);
	mem = kit_alloc(&other, 64);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 1, f->mem);
	kit_wait(&f->t, 2, 1);
	kit_record(&f->t, 1, 1);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k); /* the other tenant's comes third */
	kit_fill(&other, 0, mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	kit_complete(f->k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&f->k);
	/* What waited is not run; its waiters see it done, and the error word first. */
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(kit_done(&f->t, 1), 3);
	assert_int_equal(atomic_load(&f->t.region->events[1].done), 1);
	assert_int_equal(kit_error(&other, 0), 0);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_complete(f->k.dev, 2, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 2), 2);
	assert_int_equal(kit_done(&other, 0), 1);
	kit_fill(&f->t, 3, f->mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3); /* nothing of a failed context is issued */
	assert_int_equal(kit_done(&f->t, 3), 1);
	kit_tenant_finish(&other);
}

static void test_failed_context_with_many_barriers_passes_them_all(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 50; i++) {
		kit_fill(&f->t, 1, f->mem);
		kit_fill(&f->t, 0, f->mem);
		kit_fill(&f->t, 2, f->mem);
	}
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_ERROR_LAUNCH_FAILED, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_int_equal(kit_done(&f->t, 0), 50);
	assert_int_equal(kit_done(&f->t, 1), 50);
	assert_int_equal(kit_done(&f->t, 2), 50);
}

static void test_context_destroy_waits_and_takes_everything(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_ctx_create b = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(1), .size = 512};
	struct gsb_rec_object d = {.handle = kit_ctx(1)};
	uint64_t mem, call;

	assert_int_equal(kit_call(&f->t, GSB_REC_CTX_CREATE, &b, sizeof(b), NULL, 0), 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0), 0);
	mem = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	kit_fill(&f->t, 9, mem);
	call = kit_post_call(&f->t, GSB_REC_CTX_DESTROY, &d, sizeof(d), NULL, 0);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 2);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 1);
	assert_int_equal(f->t.t->device_used_bytes, 4096);
}

static void test_contexts_have_legacy_streams_of_their_own(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_ctx_create b = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(1), .size = 512};
	uint64_t mem;

	assert_int_equal(kit_call(&f->t, GSB_REC_CTX_CREATE, &b, sizeof(b), NULL, 0), 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0), 0);
	mem = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 9, mem);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 2);
}

static CUresult create_ctx(struct kit_tenant *t, uint32_t index)
{
	struct gsb_rec_ctx_create b = {.ctx = kit_ctx(index), .legacy = kit_stream(8 + index)};

	return kit_call(t, GSB_REC_CTX_CREATE, &b, sizeof(b), NULL, 0);
}

/* Each finds a window of its own; the first holds all the memory that a large card has. */
static void test_many_contexts_have_windows_of_their_own(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctx *const *c;
	struct kit_tenant t;
	uint64_t end;

	f->k.dev->info.total_mem_bytes = 192ull << 30;
	kit_tenant_init(&t, &f->k, NULL);
	c = t.t->ctxs;
	assert_int_equal(c[0]->window_size, GSB_DEVICE_WINDOW_STRIDE / 2);
	for (uint32_t i = 1; i < 10; i++) {
		end = c[i - 1]->window_base + c[i - 1]->window_size;
		assert_int_equal(create_ctx(&t, i), CUDA_SUCCESS);
		assert_true(c[i]->window_base >= end);
		assert_in_range(c[i]->window_size, 64ull << 20, 64ull << 30);
	}
	end = c[9]->window_base + c[9]->window_size;
	assert_true(end <= gsb_device_window_base(t.t->slot) + GSB_DEVICE_WINDOW_SIZE);
	kit_tenant_finish(&t);
}

/* Something of the engine's own may lie there: no fault of the tenant, who lives on. */
static void test_context_at_addresses_in_use_is_out_of_memory(void **state)
{
	struct fixture *f = *state;
	const struct gsb_ctx *c = f->t.t->ctxs[0];
	uint64_t base = c->window_base + c->window_size;
	uint64_t size = gsb_device_window_base(f->t.t->slot) + GSB_DEVICE_WINDOW_SIZE - base;

	assert_int_equal(gsb_window_block(base, size), 0);
	assert_int_equal(create_ctx(&f->t, 1), CUDA_ERROR_OUT_OF_MEMORY);
	gsb_window_unmap(base, size);
	assert_int_equal(f->k.engine->n_cut, 0);
	assert_int_equal(create_ctx(&f->t, 1), CUDA_SUCCESS);
}

static void test_copies_of_every_place_move_the_bytes(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_copy in = {.dst = f->mem,
				  .src_place = GSB_PLACE_INLINE,
				  .dst_place = GSB_PLACE_DEVICE,
				  .width = 5,
				  .height = 1};
	struct gsb_rec_copy out = {.src = f->mem,
				   .dst = 8192,
				   .src_place = GSB_PLACE_DEVICE,
				   .dst_place = GSB_PLACE_STAGING,
				   .width = 2,
				   .height = 2,
				   .src_pitch = 3,
				   .dst_pitch = 16};

	kit_device_auto(f->k.dev);
	kit_post(&f->t, GSB_REC_COPY, kit_stream(1), &in, sizeof(in), "hello", 5);
	kit_post(&f->t, GSB_REC_COPY, kit_stream(1), &out, sizeof(out), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 2);
	assert_memory_equal(f->t.staging + 8192, "he", 2);
	assert_memory_equal(f->t.staging + 8192 + 16, "lo", 2);
	assert_int_equal(f->t.t->stats.bytes_h2d, 5);
	assert_int_equal(f->t.t->stats.bytes_d2h, 4);
}

static void test_pinned_memory_is_shared_at_one_address_and_scrubbed(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = 100};
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0)};
	struct gsb_rec_copy c = {.dst = f->mem,
				 .src_place = GSB_PLACE_HOST,
				 .dst_place = GSB_PLACE_DEVICE,
				 .width = 6,
				 .height = 1};

	kit_device_auto(f->k.dev);
	assert_int_equal(kit_call(&f->t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0), 0);
	b.addr = c.src = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	memcpy((void *)(uintptr_t)b.addr, "pinned", 6);
	kit_post(&f->t, GSB_REC_COPY, kit_stream(1), &c, sizeof(c), NULL, 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_HOST_FREE, &b, sizeof(b), NULL, 0), 0);
	assert_memory_equal((void *)(uintptr_t)f->mem, "pinned", 6);
	assert_memory_equal((void *)(uintptr_t)b.addr, "\0\0\0\0\0\0", 6);
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

static void test_launch_runs_with_its_parameters(void **state)
{
	struct fixture *f = *state;

	kit_device_auto(f->k.dev);
	kit_load_inc(&f->t, 0, 0);
	for (int i = 0; i < 1000; i++)
		kit_launch_inc(&f->t, i % 4, 0, f->mem, 4);
	kit_settle(&f->k);
	assert_int_equal(((uint32_t *)(uintptr_t)f->mem)[3], 1000);
	assert_int_equal(f->t.t->stats.kernels, 1000);
	assert_int_equal(f->t.t->queues.n_queued, 0);
}

static void test_kernel_that_cannot_be_prepared_fails_its_context_by_name(void **state)
{
	struct fixture *f = *state;

	f->k.dev->prepare_err = -ENOTSUP;
	kit_load_inc(&f->t, 0, 0);
	kit_launch_inc(&f->t, 1, 0, f->mem, 4);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(kit_done(&f->t, 1), 2);
	assert_int_equal(f->k.dev->n_issued, 0);
}

static void test_command_that_the_device_refuses_fails_its_context(void **state)
{
	struct fixture *f = *state;

	f->k.dev->issue_err = -E2BIG;
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(kit_done(&f->t, 0), 1);
	assert_int_equal(kit_done(&f->t, 1), 1);
	assert_int_equal(kit_done(&f->t, 2), 1);
}

#define stream_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stream_test(test_one_stream_issues_only_its_head),
		stream_test(test_streams_run_side_by_side),
		stream_test(test_streams_run_side_by_side_on_queues_used_before),
		stream_test(test_at_most_32_commands_are_on_the_device),
		stream_test(test_legacy_stream_waits_for_all_blocking_work_before_it),
		stream_test(test_blocking_streams_wait_for_legacy_work_before_them),
		stream_test(test_nop_on_legacy_stream_is_a_barrier),
		stream_test(test_wait_for_event_never_recorded_does_nothing),
		stream_test(test_wait_holds_until_the_record_is_done),
		stream_test(test_wait_is_for_the_latest_record_at_that_point),
		stream_test(test_event_destroyed_before_it_is_done_still_releases_waits),
		stream_test(test_destroyed_stream_finishes_its_queue_and_its_index_counts_on),
		stream_test(test_free_is_answered_when_the_work_before_it_is_done),
		stream_test(test_free_async_is_ordered_in_its_stream),
		stream_test(test_host_function_stops_its_stream_until_it_is_done),
		stream_test(test_host_function_is_asked_for_later),
		stream_test(test_host_function_done_while_the_queue_is_full),
		stream_test(test_full_queue_stops_reading_that_ring_only),
		stream_test(test_fault_fails_its_context_and_nobody_else),
		stream_test(test_failed_context_with_many_barriers_passes_them_all),
		stream_test(test_context_destroy_waits_and_takes_everything),
		stream_test(test_contexts_have_legacy_streams_of_their_own),
		stream_test(test_many_contexts_have_windows_of_their_own),
		stream_test(test_context_at_addresses_in_use_is_out_of_memory),
		stream_test(test_copies_of_every_place_move_the_bytes),
		stream_test(test_pinned_memory_is_shared_at_one_address_and_scrubbed),
		stream_test(test_launch_runs_with_its_parameters),
		stream_test(test_kernel_that_cannot_be_prepared_fails_its_context_by_name),
		stream_test(test_command_that_the_device_refuses_fails_its_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
