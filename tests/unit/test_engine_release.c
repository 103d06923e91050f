/*
 * test_engine_release.c - nothing is given back under work on the device: memory, pinned memory, modules and
 * spaces of contexts that fail, end or lose their tenant while commands of theirs are in flight.
 *
 * The kit's device looks at each release: if a command that it still has works with what is given back, the
 * test fails there (engine_kit.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include "base/log.h"
#include "tests/unit/engine_kit.h"

/* ---- one context, and a second one with stream 9 ---- */

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem, other; /* 4,096 bytes each */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_tenant_init(&f->t, &f->k, NULL);
	f->mem = kit_alloc(&f->t, 4096);
	f->other = kit_alloc(&f->t, 4096);
	for (uint32_t i = 1; i <= 3; i++)
		kit_stream_create(&f->t, i, 0);
	kit_event_create(&f->t, 0);
	kit_load_inc(&f->t, 0, 0);
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

static uint64_t call_object(struct kit_tenant *t, enum gsb_rec_type type, uint64_t handle)
{
	struct gsb_rec_object b = {.handle = handle};

	return kit_post_call(t, type, &b, sizeof(b), NULL, 0);
}

static uint64_t call_free(struct kit_tenant *t, enum gsb_rec_type type, uint32_t ctx, uint64_t addr)
{
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(ctx), .addr = addr};

	return kit_post_call(t, type, &b, sizeof(b), NULL, 0);
}

/* A command of stream 3 faults, while what was issued before is still on the device. */
static void fail_context(struct fixture *f)
{
	kit_settle(&f->k);
	kit_fill(&f->t, 3, f->other);
	kit_settle(&f->k);
	kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(f->k.dev->n_open, 1);
}

static void test_ordered_free_in_a_failed_context_leaves_memory_to_its_end(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = f->mem};
	uint64_t call;

	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 0);
	kit_wait(&f->t, 2, 0); /* the free comes after the fill, as it should */
	kit_post(&f->t, GSB_REC_MEM_FREE_ASYNC, kit_stream(2), &b, sizeof(b), NULL, 0);
	fail_context(f);
	assert_int_equal(kit_done(&f->t, 2), 2); /* both have passed */
	assert_int_equal(f->k.dev->used_bytes, 8192);
	call = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 0);
	assert_int_equal(f->t.t->device_used_bytes, 0);
}

static void test_free_in_a_failed_context_waits_for_what_is_in_flight(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_fill(&f->t, 1, f->mem);
	call = call_free(&f->t, GSB_REC_MEM_FREE, 0, f->mem);
	fail_context(f);
	assert_false(kit_answered(&f->t, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->t.region->threads[f->t.slot].status, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(f->k.dev->used_bytes, 4096);
}

static void test_free_that_nobody_waits_for_is_done_and_not_answered(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = f->mem};
	uint64_t last = f->t.region->threads[f->t.slot].call;

	kit_fill(&f->t, 1, f->mem);
	kit_post(&f->t, GSB_REC_MEM_FREE, 0, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->used_bytes, 8192);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->used_bytes, 4096);
	assert_int_equal(f->t.region->threads[f->t.slot].call, last);
}

/* What comes after the free passes at once, and must not count for what was before it. */
static void test_later_work_that_passes_does_not_let_a_free_go_early(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 1, f->mem);
	call = call_free(&f->t, GSB_REC_MEM_FREE, 0, f->mem);
	fail_context(f);
	for (uint32_t i = 1; i <= 3; i++)
		kit_nop(&f->t, i);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 2), 1);
	assert_false(kit_answered(&f->t, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
}

static void test_module_of_a_failed_context_stays_while_its_kernel_runs(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_launch_inc(&f->t, 1, 0, f->mem, 1);
	call = call_object(&f->t, GSB_REC_MODULE_UNLOAD, kit_module(0));
	fail_context(f);
	assert_false(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_modules, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_modules, 0);
}

static void test_failed_context_ends_when_its_last_command_has(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_launch_inc(&f->t, 1, 0, f->mem, 1);
	fail_context(f);
	call = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 0);
}

static void test_bytes_of_an_inline_copy_stay_while_it_runs(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_copy in = {.dst = f->mem,
				  .src_place = GSB_PLACE_INLINE,
				  .dst_place = GSB_PLACE_DEVICE,
				  .width = 5,
				  .height = 1};

	kit_post(&f->t, GSB_REC_COPY, kit_stream(1), &in, sizeof(in), "hello", 5);
	fail_context(f);
	for (int i = 0; i < 1000; i++) /* what is given back to the pool is used again */
		kit_nop(&f->t, 2);
	kit_settle(&f->k);
	assert_memory_equal((void *)(uintptr_t)f->k.dev->log[0].src, "hello", 5);
	assert_int_equal(kit_done(&f->t, 1), 0);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
}

/* ---- pinned memory, which is every context's ---- */

static uint64_t alloc_pinned(struct fixture *f)
{
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = 4096};
	uint64_t addr;

	assert_int_equal(kit_call(&f->t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0), 0);
	addr = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	memcpy((void *)(uintptr_t)addr, "pinned", 6);
	return addr;
}

/* Context 1 and its stream 9 copy from pinned memory of context 0; the copy is on the device. */
static uint64_t copy_in_second_context(struct fixture *f)
{
	struct gsb_rec_ctx_create c = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(1), .size = 4096};
	struct gsb_rec_copy copy = {.src = alloc_pinned(f),
				    .src_place = GSB_PLACE_HOST,
				    .dst_place = GSB_PLACE_DEVICE,
				    .width = 6,
				    .height = 1};

	assert_int_equal(kit_call(&f->t, GSB_REC_CTX_CREATE, &c, sizeof(c), NULL, 0), 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0), 0);
	copy.dst = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	kit_post(&f->t, GSB_REC_COPY, kit_stream(9), &copy, sizeof(copy), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_open, 1);
	return copy.src;
}

static void test_host_free_waits_for_copies_of_every_context(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = copy_in_second_context(f), call;

	call = call_free(&f->t, GSB_REC_HOST_FREE, 0, addr);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	assert_memory_equal((void *)(uintptr_t)addr, "pinned", 6);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_memory_equal((void *)(uintptr_t)addr, "\0\0\0\0\0\0", 6);
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

/* Its end does not wait for the other context, but its pinned memory does. */
static void test_pinned_memory_of_an_ended_context_waits_for_the_others(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = copy_in_second_context(f), call;

	call = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 1);
	assert_memory_equal((void *)(uintptr_t)addr, "pinned", 6);
	assert_int_equal(f->t.t->host_used_bytes, 4096);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_memory_equal((void *)(uintptr_t)addr, "\0\0\0\0\0\0", 6);
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

/* What is the process's stays when all contexts have gone, is every later context's, and needs none to be freed. */
static void test_pinned_memory_of_the_process_goes_with_no_context(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {
		.ctx = kit_ctx(0), .size = 4096, .flags = GSB_HOST_OF_PROCESS};
	uint64_t addr, call;

	assert_int_equal(kit_call(&f->t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0), 0);
	addr = ((const struct gsb_reply_range *)kit_reply(&f->t))->addr;
	memcpy((void *)(uintptr_t)addr, "pinned", 6);
	call = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->n_spaces, 0);
	assert_memory_equal((void *)(uintptr_t)addr, "pinned", 6);
	assert_int_equal(f->t.t->host_used_bytes, 4096);
	call = kit_post_call(&f->t, GSB_REC_HOST_FREE, &(struct gsb_rec_mem_free){.addr = addr},
			     sizeof(struct gsb_rec_mem_free), NULL, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_memory_equal((void *)(uintptr_t)addr, "\0\0\0\0\0\0", 6);
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

/* A context whose own end waits for the copy is among those that are waited for. */
static void test_host_free_waits_for_a_context_that_is_ending(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = copy_in_second_context(f), ended;

	ended = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(1));
	call_free(&f->t, GSB_REC_HOST_FREE, 0, addr);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, ended));
	assert_memory_equal((void *)(uintptr_t)addr, "pinned", 6);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, ended));
	assert_int_equal(f->k.dev->n_spaces, 1);
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

static void test_pinned_memory_of_a_failed_context_waits_for_what_is_in_flight(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_copy copy = {.dst = f->mem,
				    .src = alloc_pinned(f),
				    .src_place = GSB_PLACE_HOST,
				    .dst_place = GSB_PLACE_DEVICE,
				    .width = 6,
				    .height = 1};
	uint64_t call;

	kit_post(&f->t, GSB_REC_COPY, kit_stream(1), &copy, sizeof(copy), NULL, 0);
	call = call_free(&f->t, GSB_REC_HOST_FREE, 0, copy.src);
	fail_context(f);
	assert_false(kit_answered(&f->t, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->t.t->host_used_bytes, 0);
}

/* ---- memory of one context in the work of another ---- */

/* Context 1 and its stream 9 have work on the device with memory of context 0. */
static void work_across(struct fixture *f, enum gsb_rec_type type)
{
	struct gsb_rec_ctx_create c = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};
	struct gsb_rec_copy copy = {.src = f->mem,
				    .dst = f->other,
				    .src_place = GSB_PLACE_DEVICE,
				    .dst_place = GSB_PLACE_DEVICE,
				    .width = 6,
				    .height = 1};

	assert_int_equal(kit_call(&f->t, GSB_REC_CTX_CREATE, &c, sizeof(c), NULL, 0), 0);
	if (type == GSB_REC_FILL)
		kit_fill(&f->t, 9, f->mem);
	else
		kit_post(&f->t, GSB_REC_COPY, kit_stream(9), &copy, sizeof(copy), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_open, 1);
}

static void check_free_across(struct fixture *f, enum gsb_rec_type type)
{
	uint64_t call;

	work_across(f, type);
	call = call_free(&f->t, GSB_REC_MEM_FREE, 0, f->mem);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 8192);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 4096);
	assert_int_equal(kit_done(&f->t, 9), 1);
}

static void test_free_waits_for_a_copy_of_another_context(void **state)
{
	check_free_across(*state, GSB_REC_COPY);
}

static void test_free_waits_for_a_fill_of_another_context(void **state)
{
	check_free_across(*state, GSB_REC_FILL);
}

static void test_context_ends_when_the_others_have_done_what_names_its_memory(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	work_across(f, GSB_REC_COPY);
	call = call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 0);
	assert_int_equal(f->k.dev->n_spaces, 1);
}

/* What has not begun passes without effect in a context that failed; then nothing keeps the other one's memory. */
static void test_failed_context_keeps_no_memory_of_another(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	work_across(f, GSB_REC_FILL);
	kit_fill(&f->t, 9, f->mem);
	call = call_free(&f->t, GSB_REC_MEM_FREE, 0, f->mem);
	kit_complete(f->k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(kit_answered(&f->t, call));
	assert_int_equal(f->k.dev->used_bytes, 4096);
}

/* As of a process on a GPU: what waits in the others passes, and no context is made any more. */
static void test_fault_of_one_context_is_the_end_of_all(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_ctx_create c = {.ctx = kit_ctx(2), .legacy = kit_stream(10)};

	work_across(f, GSB_REC_FILL);
	kit_fill(&f->t, 1, f->other);
	kit_fill(&f->t, 1, f->other);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(kit_error(&f->t, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(kit_call(&f->t, GSB_REC_CTX_CREATE, &c, sizeof(c), NULL, 0),
			 CUDA_ERROR_ILLEGAL_ADDRESS);
	while (f->k.dev->n_open)
		kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 1), 2);
	assert_int_equal(f->t.t->stats.n_errors, 1);
}

/* Nothing may name it that comes later than its end. */
static void test_memory_of_an_ending_context_cannot_be_named(void **state)
{
	struct fixture *f = *state;

	work_across(f, GSB_REC_COPY);
	call_object(&f->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
	kit_fill(&f->t, 9, f->mem);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->t));
}

/* A device that cannot abandon work: the tenant's memory waits for the end of it. */
/* ---- the tenant, and the device itself ---- */

static void test_dead_tenant_keeps_everything_until_its_last_command_ended(void **state)
{
	struct fixture *f = *state;

	f->k.dev->ops.space_cancel = NULL;
	kit_launch_inc(&f->t, 1, 0, f->mem, 1);
	kit_fill(&f->t, 2, f->other);
	kit_settle(&f->k);
	kit_tenant_die(&f->t);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_false(kit_tenant_is_gone(&f->t));
	assert_int_equal(f->k.dev->n_spaces, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->t));
	assert_int_equal(f->k.dev->n_spaces, 0);
}

/* A kernel that cannot be abandoned runs on: the engine ends and leaves the device all that it may work with. */
static void test_lost_device_is_left_what_its_kernel_works_with(void **state)
{
	struct fixture *f = *state;
	struct gsb_engine *e = f->k.engine;

	f->k.dev->ops.space_cancel = NULL;
	e->scheduler.kernel_limit_ns = 1;
	alarm(20); /* what is not as it should be may leave the kernel, and who waits for its end, for ever */
	kit_launch_inc(&f->t, 1, 0, f->mem, 1);
	while (!e->scheduler.lost)
		gsb_engine_turn(e);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_LAUNCH_TIMEOUT);
	assert_int_equal(gsb_engine_destroy(e), -EIO);
	assert_int_equal(f->k.dev->n_spaces, 1);
	assert_int_equal(f->k.dev->n_queues, 1);
	assert_int_equal(atomic_load(&f->t.region->header.fatal), CUDA_ERROR_LAUNCH_TIMEOUT);
	/* here it does end, and the test cleans up */
	e->scheduler.lost = false;
	e->scheduler.stuck = NULL;
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 0);
	alarm(0);
}

/* ---- random programs that fail somewhere ---- */

#define N_STEPS	   80
#define N_PROGRAMS 300
#define N_BLOCKS   8
#define N_STREAMS  5 /* 0 is the legacy stream */

struct program {
	struct kit_engine *k;
	struct kit_tenant t;
	uint64_t block[N_BLOCKS]; /* 0: freed */
	bool loaded;
};

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

/* As a program must do it: after all that uses the block, whichever stream that is in. */
static void free_in_order(struct program *p, uint32_t stream, uint32_t i)
{
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = p->block[i]};

	for (uint32_t s = 0; s < N_STREAMS; s++) {
		kit_record(&p->t, s, s);
		kit_wait(&p->t, stream, s);
	}
	kit_post(&p->t, GSB_REC_MEM_FREE_ASYNC, kit_stream(stream), &b, sizeof(b), NULL, 0);
	p->block[i] = 0;
}

static void complete_one(struct program *p)
{
	struct kit_device *d = p->k->dev;
	uint32_t k = d->n_open ? rng(d->n_open) : 0;
	bool fails = !rng(10);

	for (unsigned i = 0; i < d->n_issued; i++) {
		if (d->log[i].done || k--)
			continue;
		kit_complete(d, i, fails ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS, 0);
		return;
	}
}

static void step(struct program *p)
{
	uint32_t stream = rng(N_STREAMS), i = rng(N_BLOCKS);

	switch (rng(8)) {
	case 0:
		if (p->block[i])
			free_in_order(p, stream, i);
		return;
	case 1:
		if (p->block[i])
			call_free(&p->t, GSB_REC_MEM_FREE, 0, p->block[i]);
		p->block[i] = 0;
		return;
	case 2:
		if (p->loaded && !rng(4)) {
			call_object(&p->t, GSB_REC_MODULE_UNLOAD, kit_module(0));
			p->loaded = false;
		}
		return;
	case 3:
	case 4:
		kit_settle(p->k);
		complete_one(p);
		return;
	case 5:
		if (p->loaded && p->block[i])
			kit_launch_inc(&p->t, stream, 0, p->block[i], 1);
		return;
	default:
		if (p->block[i])
			kit_fill(&p->t, stream, p->block[i]);
	}
}

static void begin(struct program *p, struct kit_engine *k)
{
	*p = (struct program){.k = k, .loaded = true};
	kit_tenant_init(&p->t, k, NULL);
	for (uint32_t i = 1; i < N_STREAMS; i++)
		kit_stream_create(&p->t, i, i == N_STREAMS - 1 ? GSB_STREAM_NON_BLOCKING : 0);
	for (uint32_t i = 0; i < N_STREAMS; i++)
		kit_event_create(&p->t, i);
	for (uint32_t i = 0; i < N_BLOCKS; i++)
		p->block[i] = kit_alloc(&p->t, 64);
	kit_load_inc(&p->t, 0, 0);
}

/* The context is destroyed, or the tenant dies, with work on the device; the rest ends one by one. */
static void end(struct program *p)
{
	if (rng(2)) {
		call_object(&p->t, GSB_REC_CTX_DESTROY, kit_ctx(0));
		kit_settle(p->k);
	} else {
		kit_tenant_die(&p->t);
	}
	while (p->k->dev->n_open) {
		complete_one(p);
		kit_settle(p->k);
	}
	kit_tenant_finish(&p->t);
	assert_int_equal(p->k->dev->used_bytes, 0);
	assert_int_equal(p->k->dev->n_spaces, 0);
	assert_int_equal(p->k->dev->n_modules, 0);
}

static void test_random_programs_that_fail_release_nothing_under_work(void **state)
{
	struct kit_engine k;
	unsigned n_failed = 0;

	kit_engine_init(&k, false);
	k.dev->ops.space_cancel = NULL;
	for (uint64_t seed = 1; seed <= N_PROGRAMS; seed++) {
		struct program p;

		rng_state = seed;
		begin(&p, &k);
		for (int i = 0; i < N_STEPS; i++)
			step(&p);
		n_failed += kit_error(&p.t, 0) != 0;
		end(&p);
		kit_device_forget(k.dev);
	}
	assert_in_range(n_failed, N_PROGRAMS / 4, N_PROGRAMS);
	kit_engine_finish(&k);
}

#define release_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		release_test(test_ordered_free_in_a_failed_context_leaves_memory_to_its_end),
		release_test(test_free_in_a_failed_context_waits_for_what_is_in_flight),
		release_test(test_free_that_nobody_waits_for_is_done_and_not_answered),
		release_test(test_later_work_that_passes_does_not_let_a_free_go_early),
		release_test(test_module_of_a_failed_context_stays_while_its_kernel_runs),
		release_test(test_failed_context_ends_when_its_last_command_has),
		release_test(test_bytes_of_an_inline_copy_stay_while_it_runs),
		release_test(test_host_free_waits_for_copies_of_every_context),
		release_test(test_pinned_memory_of_an_ended_context_waits_for_the_others),
		release_test(test_pinned_memory_of_the_process_goes_with_no_context),
		release_test(test_host_free_waits_for_a_context_that_is_ending),
		release_test(test_pinned_memory_of_a_failed_context_waits_for_what_is_in_flight),
		release_test(test_free_waits_for_a_copy_of_another_context),
		release_test(test_free_waits_for_a_fill_of_another_context),
		release_test(test_context_ends_when_the_others_have_done_what_names_its_memory),
		release_test(test_failed_context_keeps_no_memory_of_another),
		release_test(test_fault_of_one_context_is_the_end_of_all),
		release_test(test_memory_of_an_ending_context_cannot_be_named),
		release_test(test_dead_tenant_keeps_everything_until_its_last_command_ended),
		release_test(test_lost_device_is_left_what_its_kernel_works_with),
		cmocka_unit_test(test_random_programs_that_fail_release_nothing_under_work),
	};

	gsb_log_init("test_engine_release", GSB_LOG_OFF); /* faults are what it is about */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
