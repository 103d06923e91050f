/*
 * test_engine_resize.c - an item in a shape: which commands it becomes, in which order and how many at a time, and that all of
 * them are one completion, whatever becomes of each. What a launch admits, and lists of names.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/compare.h"
#include "broker/engine/code/scratch.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/status.h"
#include "broker/policy/estimate.h"
#include "model/gpu/arch.h"
#include "ptx/resize/variant.h"
#include "tests/unit/engine_kit.h"

#define ALL_SHAPES (GSB_SHAPE_BIT(GSB_N_SHAPES) - 1)

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;
	struct gsb_kernel_fn *fn;
	struct gsb_proof *proof;
	struct gsb_variants *variants;
	struct gsb_function *forms[GSB_N_SHAPES];
};

/* "inc" with variants, all of which are the device's "inc". */
static void give_shapes(struct fixture *f)
{
	struct gsb_ctx *ctx = f->fn->module->ctx;

	for (unsigned i = 0; i < GSB_N_SHAPES; i++)
		f->fn->forms[i] = (struct gsb_kernel_form){
			.function = f->fn->function, .regs = 16, .max_threads = 1024};
	f->variants = f->fn->module->variants = calloc(1, sizeof(struct gsb_variants));
	f->variants->names = calloc(1, sizeof(char *));
	f->variants->names_room = f->variants->names[0] = strdup("inc");
	f->variants->n_kernels = 1;
	f->variants->proofs = calloc(1, sizeof(struct gsb_proof));
	f->proof = f->variants->proofs;
	*f->proof = (struct gsb_proof){
		.shapes = ALL_SHAPES,
		.n_count_words = 4,
		.launch = {.reshape_axes = 1, .persistent = true},
	};
	f->fn->proof = f->proof;
	f->fn->shapes = ALL_SHAPES & ~GSB_SHAPE_BIT(GSB_SHAPE_COUNT);
	gsb_scratch_make(ctx);
	assert_true(ctx->scratch);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	f->k.dev->info.arch = *gsb_arch_find("h200");
	kit_tenant_init(&f->t, &f->k, NULL);
	f->mem = kit_alloc(&f->t, 4096);
	kit_load_inc(&f->t, 0, 0);
	kit_stream_create(&f->t, 1, 0);
	kit_launch_inc(&f->t, 1, 0, f->mem, 1); /* makes it ready */
	kit_settle(&f->k);
	kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_SUCCESS, 1000);
	kit_settle(&f->k);
	kit_device_forget(f->k.dev);
	f->fn = gsb_code_find_function(f->t.t, kit_fn(0));
	give_shapes(f);
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

static void force(struct fixture *f, const char *shape)
{
	struct gsb_resizing *r = &f->k.engine->params.resizing;

	r->mode = GSB_RESIZE_MODE_SAFE;
	r->max_loss_percent = 25;
	assert_int_equal(gsb_shape_parse(shape, &r->force), 0);
}

static void post_launch(struct fixture *f, uint32_t x, uint32_t y, uint32_t threads, uint32_t flags)
{
	struct kit_inc params = {.p = f->mem, .n = 1};
	struct gsb_rec_launch b = {
		.function = kit_fn(0),
		.grid = {x, y, 1},
		.block = {threads, 1, 1},
		.flags = flags,
		.params_bytes = sizeof(params),
	};

	kit_post(&f->t, GSB_REC_LAUNCH, kit_stream(1), &b, sizeof(b), &params, sizeof(params));
}

static void launch_with(struct fixture *f, uint32_t x, uint32_t y, uint32_t threads, uint32_t flags)
{
	post_launch(f, x, y, threads, flags);
	kit_settle(&f->k);
}

static void launch(struct fixture *f, uint32_t x, uint32_t y)
{
	launch_with(f, x, y, 64, 0);
}

static void complete_next(struct fixture *f, unsigned i, CUresult result)
{
	struct kit_device *d = f->k.dev;

	kit_complete(d, i, result, d->now_ns + 100);
	d->done[d->n_done - 1].start_ns = d->now_ns - 50;
	kit_settle(&f->k);
}

static const void *own(const struct kit_cmd *c)
{
	return c->params + sizeof(struct kit_inc);
}

static const struct gsb_ctl_tenant *row(struct fixture *f)
{
	return &f->t.t->stats;
}

/* ---- slices ---- */

static void expect_slice(const struct kit_cmd *c, uint32_t x0, uint32_t y0, uint32_t x, uint32_t y)
{
	const struct gsb_variant_slice *s = own(c);

	assert_int_equal(c->kind, GSB_CMD_LAUNCH);
	assert_int_equal(s->first[0], x0);
	assert_int_equal(s->first[1], y0);
	assert_int_equal(c->grid[0], x);
	assert_int_equal(c->grid[1], y);
	assert_int_equal(c->block[0], 64);
}

static void test_slices_go_two_at_a_time_and_are_one_completion(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	uint64_t done = kit_done(&f->t, 1), kernels = row(f)->kernels;

	force(f, "slice:4");
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, 2); /* so many are in the queue, and no more */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(kit_done(&f->t, 1), done);
		assert_int_equal(row(f)->kernels, kernels);
		complete_next(f, i, CUDA_SUCCESS);
		assert_int_equal(f->k.dev->n_issued, i < 2 ? i + 3 : 4);
	}
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	assert_int_equal(row(f)->kernels, kernels + 1);
	assert_int_equal(row(f)->n_resized, 1);
	expect_slice(&log[0], 0, 0, 3, 1);
	expect_slice(&log[1], 3, 0, 3, 1);
	expect_slice(&log[2], 6, 0, 3, 1);
	expect_slice(&log[3], 9, 0, 1, 1);
}

static void test_slices_of_a_plane_are_rows(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;

	force(f, "slice:3");
	launch(f, 5, 6);
	for (unsigned i = 0; i < 3; i++)
		complete_next(f, i, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	for (unsigned i = 0; i < 3; i++)
		expect_slice(&log[i], 0, 2 * i, 5, 2);
}

/* From the first one's start to the last one's end; the tenant's device time is that. */
static void test_times_of_slices_are_those_of_one(void **state)
{
	struct fixture *f = *state;
	uint64_t before = row(f)->device_ns, begin;

	force(f, "slice:2");
	launch(f, 2, 1);
	begin = f->k.dev->now_ns;
	complete_next(f, 0, CUDA_SUCCESS); /* begin + 50 .. begin + 100 */
	complete_next(f, 1, CUDA_SUCCESS); /* .. begin + 200 */
	assert_int_equal(f->k.dev->now_ns, begin + 200);
	assert_int_equal(row(f)->device_ns - before, 150);
}

static void test_failed_slice_is_the_last(void **state)
{
	struct fixture *f = *state;

	force(f, "slice:8");
	launch(f, 8, 1);
	complete_next(f, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(kit_error(&f->t, 0), 0); /* one is still on the device */
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_no_slice_follows_the_end_of_its_context(void **state)
{
	struct fixture *f = *state;

	force(f, "slice:8");
	launch(f, 8, 1);
	gsb_ctx_fail(f->fn->module->ctx, CUDA_ERROR_ASSERT, "another stream did");
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(f->k.dev->n_open, 0);
}

static void test_tenant_that_dies_between_slices_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	force(f, "slice:8");
	launch(f, 8, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	kit_tenant_die(&f->t);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->t));
	assert_in_range(f->k.dev->n_issued, 2, 4);
}

static void test_more_slices_than_blocks_are_as_many_as_blocks(void **state)
{
	struct fixture *f = *state;

	force(f, "slice:65536");
	launch(f, 3, 1);
	for (unsigned i = 0; i < 3; i++)
		complete_next(f, i, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_int_equal(row(f)->kernels, 2);
}

static CUresult nothing_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

/* From now on short ones go behind what is on the device. */
static void let_run(struct fixture *f)
{
	struct gsb_scheduler *s = &f->k.engine->scheduler;

	f->k.dev->ops.lost = nothing_lost;
	s->runs = gsb_run_is_possible(s);
	assert_true(s->runs);
}

/*
 * The launch takes the place of a fill that ends in the same turn, when it is known already that more may go behind that one.
 * Behind a launch that has slices to come, what follows it would overtake them, and nobody would know how many are left.
 */
static void test_nothing_goes_behind_slices_before_the_last_has_ended(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;
	uint64_t done = kit_done(&f->t, 1);

	let_run(f);
	force(f, "slice:4");
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	post_launch(f, 8, 1, 64, 0);
	kit_fill(&f->t, 1, f->mem);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(d->n_issued, 3);
	for (unsigned i = 1; i < 5; i++)
		complete_next(f, i, CUDA_SUCCESS);
	assert_int_equal(d->n_issued, 6);
	assert_int_equal(d->log[4].kind, GSB_CMD_LAUNCH);
	assert_int_equal(d->log[5].kind, GSB_CMD_FILL);
	complete_next(f, 5, CUDA_SUCCESS);
	assert_int_equal(kit_done(&f->t, 1), done + 3);
}

/* Beside another stream what stands behind what begins goes with it: not with slices, of which the first promise the device no more. */
static void test_nothing_begins_with_slices(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;
	uint64_t done = kit_done(&f->t, 1);

	let_run(f);
	force(f, "slice:4");
	kit_stream_create(&f->t, 2, 0);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	post_launch(f, 8, 1, 64, 0);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	assert_int_equal(d->n_issued, 3);
	assert_false(d->log[1].more);
	assert_false(d->log[2].more);
	for (unsigned i = 1; i < 5; i++)
		complete_next(f, i, CUDA_SUCCESS);
	assert_int_equal(d->n_issued, 6);
	assert_int_equal(d->log[4].kind, GSB_CMD_LAUNCH);
	assert_int_equal(d->log[5].kind, GSB_CMD_FILL);
	complete_next(f, 5, CUDA_SUCCESS);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(kit_done(&f->t, 1), done + 2);
	assert_int_equal(kit_done(&f->t, 2), 1);
}

/* ---- persistent blocks ---- */

static const struct gsb_variant_persistent *tiles_of(const struct kit_cmd *c)
{
	assert_int_equal(c->kind, GSB_CMD_LAUNCH);
	return own(c);
}

static void test_persistent_blocks_begin_with_a_counter_of_nothing(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	const struct gsb_variant_persistent *p;

	force(f, "persistent:5");
	launch(f, 10, 3);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(log[0].kind, GSB_CMD_FILL);
	p = tiles_of(&log[1]);
	assert_int_equal(p->control, log[0].addr);
	assert_int_equal(p->control, f->fn->module->ctx->scratch);
	assert_int_equal(p->total, 30);
	assert_int_equal(p->grid[0], 10);
	assert_int_equal(p->grid[1], 3);
	assert_int_equal(p->max_tiles, GSB_VARIANT_NO_LIMIT);
	assert_int_equal(log[1].grid[0], 5);
	assert_int_equal(log[1].grid[1], 1);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(row(f)->kernels, 2);
}

/* 3 blocks of 4 tiles each take 12 a launch: 30 tiles are 3 launches. */
static void test_blocks_with_a_lifetime_are_launched_until_all_tiles_are_taken(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;

	force(f, "persistent:3:4");
	launch(f, 30, 1);
	for (unsigned i = 0; i < 4; i++)
		complete_next(f, i, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 4);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(tiles_of(&log[i])->max_tiles, 4);
	assert_int_equal(row(f)->kernels, 2);
}

static void test_no_more_blocks_than_tiles(void **state)
{
	struct fixture *f = *state;

	force(f, "persistent:132");
	launch(f, 7, 1);
	assert_int_equal(f->k.dev->log[1].grid[0], 7);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
}

/* 64 threads of 16 registers: an SM has room for 32 blocks. */
static void test_as_many_blocks_as_there_is_room_for(void **state)
{
	struct fixture *f = *state;

	force(f, "persistent:0");
	launch(f, 100000, 1);
	assert_int_equal(f->k.dev->log[1].grid[0], 132 * 32);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
}

static void test_two_at_a_time_count_in_places_of_their_own(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	struct kit_inc params = {.p = f->mem, .n = 1};
	struct gsb_rec_launch b = {.function = kit_fn(0),
				   .grid = {9, 1, 1},
				   .block = {64, 1, 1},
				   .params_bytes = sizeof(params)};

	force(f, "persistent:2");
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	launch(f, 9, 1);
	kit_post(&f->t, GSB_REC_LAUNCH, kit_stream(2), &b, sizeof(b), &params, sizeof(params));
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 4);
	assert_true(log[2].addr >= log[0].addr + sizeof(struct gsb_variant_control));
	for (unsigned i = 0; i < 4; i++)
		complete_next(f, i, CUDA_SUCCESS);
}

/* 132 SMs have room for 4224 blocks, which take one tile each: 10000 tiles are 3 launches, and one to spare. */
static void launch_for_two_queues(struct fixture *f)
{
	force(f, "persistent:0:1");
	launch(f, 10000, 1);
}

static void test_blocks_that_fill_the_device_and_end_take_turns_in_two_queues(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	uint64_t done = kit_done(&f->t, 1);

	launch_for_two_queues(f);
	assert_int_equal(f->k.dev->n_issued, 2); /* the counter is not clear yet */
	assert_ptr_equal(log[1].queue, log[0].queue);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 5); /* two in each */
	assert_ptr_not_equal(log[2].queue, log[0].queue);
	assert_ptr_equal(log[3].queue, log[0].queue);
	assert_ptr_equal(log[4].queue, log[2].queue);
	for (unsigned i = 1; i < 5; i++) {
		assert_int_equal(tiles_of(&log[i])->total, 10000);
		assert_int_equal(kit_done(&f->t, 1), done);
		complete_next(f, i, CUDA_SUCCESS);
	}
	assert_int_equal(f->k.dev->n_issued, 5);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	assert_int_equal(row(f)->kernels, 2);
}

/* 4224 blocks fill the device. */
static void test_slices_that_fill_the_device_take_turns_in_two_queues(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	uint64_t done = kit_done(&f->t, 1);

	force(f, "slice:7");
	launch(f, 7 * 4224 - 1, 1);
	assert_int_equal(f->k.dev->n_issued, 2); /* what was before the launch may still run */
	assert_ptr_equal(log[1].queue, log[0].queue);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 5); /* two in each */
	for (unsigned i = 1; i < 7; i++) {
		assert_int_equal(kit_done(&f->t, 1), done);
		complete_next(f, i, CUDA_SUCCESS);
	}
	for (unsigned i = 0; i < 7; i++) {
		expect_slice(&log[i], i * 4224, 0, i < 6 ? 4224 : 4223, 1);
		assert_true((log[i].queue == log[0].queue) == (i < 2 || i % 2));
	}
	assert_int_equal(f->k.dev->n_issued, 7);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
}

static void test_second_queue_is_given_back(void **state)
{
	struct fixture *f = *state;
	unsigned n;

	for (int i = 0; i < 2; i++) {
		launch_for_two_queues(f);
		n = f->k.dev->n_queues;
		for (unsigned k = 0; k < 5; k++)
			complete_next(f, k, CUDA_SUCCESS);
		kit_device_forget(f->k.dev);
	}
	assert_int_equal(n, 2);
	launch_for_two_queues(f);
	complete_next(f, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_ptr_not_equal(gsb_queue_pool_take(&f->k.engine->scheduler.pool, 0, GSB_ALL_SMS),
			     gsb_queue_pool_take(&f->k.engine->scheduler.pool, 0, GSB_ALL_SMS));
	assert_int_equal(f->k.dev->n_queues, 2);
}

/* The last to be told of need not be the last to have ended. */
static void test_end_of_two_queues_is_the_later_one(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;
	uint64_t begin, before = row(f)->device_ns;

	launch_for_two_queues(f);
	begin = d->now_ns;
	complete_next(f, 0, CUDA_SUCCESS); /* from begin + 50 */
	complete_next(f, 1, CUDA_SUCCESS);
	kit_complete_run(d, 2, CUDA_SUCCESS, begin + 100, begin + 900);
	kit_complete_run(d, 4, CUDA_SUCCESS, begin + 900, begin + 1000);
	kit_complete_run(d, 3, CUDA_SUCCESS, begin + 200, begin + 800);
	kit_settle(&f->k);
	assert_int_equal(row(f)->device_ns - before, 950);
}

static void test_failed_launch_of_two_queues_is_the_last(void **state)
{
	struct fixture *f = *state;

	force(f, "persistent:0:1");
	launch(f, 100000, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 2, CUDA_ERROR_ILLEGAL_ADDRESS);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(kit_error(&f->t, 0), 0); /* others are still on the device */
		complete_next(f, (const unsigned[]){1, 3, 4}[i], CUDA_SUCCESS);
	}
	assert_int_equal(f->k.dev->n_issued, 5);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Returns how many commands it was. */
static unsigned run_in_one_queue(struct fixture *f, const char *shape, uint32_t n_blocks)
{
	const struct kit_device *d = f->k.dev;
	unsigned n;

	kit_device_forget(f->k.dev);
	force(f, shape);
	launch(f, n_blocks, 1);
	for (n = 0; n < d->n_issued; n++) {
		assert_ptr_equal(d->log[n].queue, d->log[0].queue);
		complete_next(f, n, CUDA_SUCCESS);
	}
	return n;
}

/* The first leave places on purpose, those of the second end with the tiles, and of the third each may take several of the few. Slices
 * of the fourth leave places, too, and the fifth are over before there could be turns. */
static void test_others_have_one_queue(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run_in_one_queue(f, "persistent:4223:1", 10000), 1 + 3);
	assert_int_equal(run_in_one_queue(f, "persistent:0", 10000), 1 + 1);
	assert_int_equal(run_in_one_queue(f, "persistent:0:2", 4224), 1 + 1);
	assert_int_equal(run_in_one_queue(f, "slice:5", 5 * 4223), 5);
	assert_int_equal(run_in_one_queue(f, "slice:2", 2 * 4224), 2);
	assert_int_equal(f->k.dev->n_queues, 1);
}

static int refuse_queue(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			struct gsb_queue **out)
{
	return -ENOMEM;
}

/* One of another priority would have its launches go before, or behind, those of others. */
static void test_one_queue_where_there_is_no_second_like_it(void **state)
{
	struct fixture *f = *state;
	struct gsb_queue_pool *pool = &f->k.engine->scheduler.pool;
	struct gsb_pooled_queue *other = gsb_queue_pool_take(pool, -1, GSB_ALL_SMS);

	f->k.dev->ops.queue_create = refuse_queue;
	assert_int_equal(run_in_one_queue(f, "persistent:0:1", 10000), 1 + 3);
	gsb_queue_pool_give(other);
	assert_int_equal(run_in_one_queue(f, "persistent:0:1", 10000), 1 + 3);
	assert_ptr_equal(gsb_queue_pool_take(pool, -1, GSB_ALL_SMS), other);
}

static const struct gsb_queue *slow;

static uint64_t ran_ns(struct gsb_queue *queue)
{
	return queue == slow ? 7 : 3;
}

static void test_limit_is_for_the_longer_of_two_queues(void **state)
{
	struct fixture *f = *state;
	const struct gsb_flight *flight = f->k.engine->scheduler.flights;
	struct kit_device *d = f->k.dev;

	d->ops.ran_ns = ran_ns;
	launch_for_two_queues(f);
	complete_next(f, 0, CUDA_SUCCESS);
	for (unsigned i = 1; i <= 2; i++) {
		slow = d->log[i].queue;
		assert_int_equal(gsb_course_ran_ns(flight, &d->ops), 7);
	}
	slow = NULL;
	for (unsigned i = 1; i < 5; i++)
		complete_next(f, i, CUDA_SUCCESS);
}

/* ---- the others ---- */

static void test_reshape_keeps_the_number_of_threads(void **state)
{
	struct fixture *f = *state;

	force(f, "reshape:128");
	launch(f, 10, 2);
	assert_int_equal(f->k.dev->log[0].grid[0], 5);
	assert_int_equal(f->k.dev->log[0].grid[1], 2);
	assert_int_equal(f->k.dev->log[0].block[0], 128);
	complete_next(f, 0, CUDA_SUCCESS);
	launch(f, 3, 1); /* 192 threads are no whole number of 128 */
	assert_int_equal(f->k.dev->log[1].grid[0], 3);
	assert_int_equal(f->k.dev->log[1].block[0], 64);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(row(f)->n_resized, 1);
}

/* The words are cleared, then written, then read; what they mean is not known without a text, and the launch is done. */
static void test_counting_is_a_fill_a_launch_and_a_copy(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	const struct gsb_variant_count *p = own(&log[1]);
	struct gsb_ctx *ctx = f->fn->module->ctx;

	f->fn->shapes = GSB_SHAPE_BIT(GSB_SHAPE_COUNT);
	force(f, "");
	launch(f, 10, 1);
	assert_int_equal(log[0].kind, GSB_CMD_FILL);
	assert_int_equal(log[0].addr, gsb_scratch_words(ctx));
	assert_int_equal(log[1].kind, GSB_CMD_LAUNCH);
	assert_int_equal(p->words, log[0].addr);
	assert_int_equal(p->every, 1);
	assert_true(ctx->counting);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(log[2].kind, GSB_CMD_COPY);
	assert_int_equal(log[2].src, log[0].addr);
	complete_next(f, 1, CUDA_SUCCESS);
	complete_next(f, 2, CUDA_ERROR_LAUNCH_FAILED); /* so that nobody reads them here */
	assert_false(ctx->counting);
	assert_int_equal(f->k.dev->n_issued, 3);
}

/* ---- what a device refuses later ---- */

static void refuse_next(struct fixture *f, unsigned i)
{
	struct kit_device *d = f->k.dev;

	kit_complete(d, i, CUDA_ERROR_OUT_OF_MEMORY, d->now_ns + 100);
	d->done[d->n_done - 1].refused = true;
	kit_settle(&f->k);
}

static void expect_original_alone(struct fixture *f, unsigned at, uint64_t done)
{
	const struct kit_cmd *log = f->k.dev->log;

	assert_int_equal(f->k.dev->n_issued, at + 1);
	assert_int_equal(log[at].kind, GSB_CMD_LAUNCH);
	assert_int_equal(log[at].grid[0], 10);
	assert_int_equal(log[at].block[0], 64);
	assert_int_equal(kit_done(&f->t, 1), done);
	complete_next(f, at, CUDA_SUCCESS);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	assert_false(f->fn->module->ctx->order.failed);
	kit_device_forget(f->k.dev);
}

/* Of the only flight. */
static uint32_t *manner(struct fixture *f)
{
	struct gsb_scheduler *s = &f->k.engine->scheduler;

	return &s->flights[__builtin_ctz(~s->free_flights)].item->head->work.manner;
}

/* Else what is measured of it, and of who is beside it, would count for launches that are limited. */
static void test_limited_launch_that_is_refused_later_is_none(void **state)
{
	struct fixture *f = *state;
	uint64_t done = kit_done(&f->t, 1);

	kit_device_forget(f->k.dev);
	force(f, "reshape:128");
	launch(f, 10, 1);
	*manner(f) = 4;
	refuse_next(f, 0);
	assert_int_equal(*manner(f), 0);
	expect_original_alone(f, 1, done);
}

static void test_shape_that_is_refused_later_is_given_up(void **state)
{
	struct fixture *f = *state;
	uint64_t done = kit_done(&f->t, 1);

	kit_device_forget(f->k.dev);
	force(f, "reshape:128");
	launch(f, 10, 1);
	refuse_next(f, 0);
	expect_original_alone(f, 1, done++);
	force(f, "slice:5");
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, 2);
	refuse_next(f, 0);
	assert_int_equal(f->k.dev->n_issued, 2);
	refuse_next(f, 1);
	expect_original_alone(f, 2, done++);
	force(f, "persistent:0");
	launch(f, 10, 1);
	refuse_next(f, 1); /* ahead of the fill */
	complete_next(f, 0, CUDA_SUCCESS);
	expect_original_alone(f, 2, done++);
	f->fn->shapes |= GSB_SHAPE_BIT(GSB_SHAPE_COUNT);
	force(f, "");
	launch(f, 10, 1);
	refuse_next(f, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_false(f->fn->module->ctx->counting);
	expect_original_alone(f, 2, done);
}

/* It would run twice. */
static void test_launch_of_which_a_part_has_run_is_not_begun_anew(void **state)
{
	struct fixture *f = *state;

	kit_device_forget(f->k.dev);
	force(f, "slice:5");
	launch(f, 10, 1);
	refuse_next(f, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_true(f->fn->module->ctx->order.failed);
}

static void test_launch_behind_a_fill_that_failed_is_not_begun_anew(void **state)
{
	struct fixture *f = *state;

	kit_device_forget(f->k.dev);
	force(f, "persistent:0");
	launch(f, 10, 1);
	complete_next(f, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
	refuse_next(f, 1);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_true(f->fn->module->ctx->order.failed);
}

/* ---- what is not admitted ---- */

static void expect_as_asked(struct fixture *f, const char *shape, uint32_t threads, uint32_t flags)
{
	unsigned at = f->k.dev->n_issued;
	uint64_t resized = row(f)->n_resized;

	force(f, shape);
	launch_with(f, 10, 1, threads, flags);
	assert_int_equal(f->k.dev->n_issued, at + 1);
	assert_int_equal(f->k.dev->log[at].kind, GSB_CMD_LAUNCH);
	assert_int_equal(f->k.dev->log[at].grid[0], 10);
	assert_int_equal(f->k.dev->log[at].block[0], threads);
	complete_next(f, at, CUDA_SUCCESS);
	assert_int_equal(row(f)->n_resized, resized);
}

static void test_cooperative_launch_is_left_alone(void **state)
{
	struct fixture *f = *state;

	expect_as_asked(f, "slice:2", 64, GSB_LAUNCH_COOPERATIVE);
	expect_as_asked(f, "persistent:2", 64, GSB_LAUNCH_COOPERATIVE);
}

static void test_form_that_a_shadow_run_refuted_is_used_no_more(void **state)
{
	struct fixture *f = *state;

	f->proof->refuted = GSB_SHAPE_BIT(GSB_SHAPE_SLICE);
	expect_as_asked(f, "slice:2", 64, 0);
}

static void test_form_that_was_not_proven_is_not_used(void **state)
{
	struct fixture *f = *state;

	f->fn->shapes = 0;
	expect_as_asked(f, "slice:2", 64, 0);
	expect_as_asked(f, "hint", 64, 0);
}

static void test_warps_over_rows_do_not_loop(void **state)
{
	struct fixture *f = *state;
	struct kit_inc params = {.p = f->mem, .n = 1};
	struct gsb_rec_launch b = {.function = kit_fn(0),
				   .grid = {4, 1, 1},
				   .block = {24, 2, 1},
				   .params_bytes = sizeof(params)};

	f->proof->launch.warp_rows = true;
	force(f, "persistent:2");
	kit_post(&f->t, GSB_REC_LAUNCH, kit_stream(1), &b, sizeof(b), &params, sizeof(params));
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	complete_next(f, 0, CUDA_SUCCESS);
}

static void test_without_memory_of_ours_nothing_counts_tiles(void **state)
{
	struct fixture *f = *state;

	f->fn->module->ctx->scratch = 0;
	expect_as_asked(f, "persistent:2", 64, 0);
}

/* 1,024 threads of 32 registers fit twice, of 48 once: half of the threads are lost. */
static void test_form_that_loses_too_many_threads_is_not_used(void **state)
{
	struct fixture *f = *state;
	struct gsb_resizing *r = &f->k.engine->params.resizing;

	f->fn->forms[GSB_SHAPE_AS_ASKED].regs = 32;
	f->fn->forms[GSB_SHAPE_HINT].regs = 48;
	expect_as_asked(f, "hint", 1024, 0);
	r->max_loss_percent = 50;
	launch_with(f, 10, 1, 1024, 0);
	complete_next(f, f->k.dev->n_issued - 1, CUDA_SUCCESS);
	assert_int_equal(row(f)->n_resized, 1);
}

/* A count keeps its sums in registers: half of the threads are lost, for one launch; with 128 not one block would fit. */
static void test_count_that_loses_threads_is_used_where_it_fits(void **state)
{
	struct fixture *f = *state;

	f->fn->shapes = GSB_SHAPE_BIT(GSB_SHAPE_COUNT);
	f->fn->forms[GSB_SHAPE_AS_ASKED].regs = 32;
	f->fn->forms[GSB_SHAPE_COUNT].regs = 128;
	expect_as_asked(f, "", 1024, 0);
	f->fn->forms[GSB_SHAPE_COUNT].regs = 48;
	launch_with(f, 10, 1, 1024, 0);
	assert_int_equal(f->k.dev->log[1].kind, GSB_CMD_FILL);
	complete_next(f, 1, CUDA_SUCCESS);
	complete_next(f, 2, CUDA_SUCCESS);
	complete_next(f, 3, CUDA_ERROR_LAUNCH_FAILED);
}

static void test_form_that_does_not_fit_an_sm_is_not_used(void **state)
{
	struct fixture *f = *state;

	f->fn->forms[GSB_SHAPE_HINT].static_smem_bytes = 228 << 10;
	expect_as_asked(f, "hint", 64, 0);
}

/* Complete what is issued until nothing more comes. */
static void run_out(struct fixture *f)
{
	for (unsigned i = 0; i < f->k.dev->n_issued; i++)
		if (!f->k.dev->log[i].done)
			complete_next(f, i, CUDA_SUCCESS);
}

/* ---- a policy that chooses ---- */

static unsigned choice; /* of the shapes that are offered; 0: none */
static struct gsb_shape offered[GSB_N_OFFERED];
static unsigned n_offered;

static unsigned choose(const struct gsb_view *view, struct gsb_policy_area *area,
		       struct gsb_decision *out)
{
	if (!view->n_ready)
		return 0;
	n_offered = view->ready[0]->n_shapes;
	for (unsigned i = 0; i < n_offered; i++)
		offered[i] = view->ready[0]->shapes[i];
	out[0] = (struct gsb_decision){.shape = choice};
	return 1;
}

static void test_policy_is_offered_shapes_and_gets_the_one_that_it_names(void **state)
{
	static const struct gsb_policy policy = {
		.name = "choosing", .reshapes = true, .decide = choose};
	struct fixture *f = *state;

	force(f, "");
	f->k.engine->scheduler.policy = &policy;
	choice = 0;
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(n_offered, GSB_N_OFFERED);
	assert_int_equal(offered[1].form, GSB_SHAPE_SLICE);
	assert_int_equal(offered[1].n_slices, 4);
	choice = 2;
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->log[1].grid[0], 3);
	run_out(f);
	assert_int_equal(f->k.dev->n_issued, 5);
	f->fn->shapes = GSB_SHAPE_BIT(GSB_SHAPE_HINT);
	choice = 2; /* there is one only */
	launch(f, 10, 1);
	assert_int_equal(n_offered, 1);
	assert_int_equal(f->k.dev->n_issued, 6);
	assert_int_equal(f->k.dev->log[5].grid[0], 10);
	complete_next(f, 5, CUDA_SUCCESS);
	launch_with(f, 10, 1, 64, GSB_LAUNCH_COOPERATIVE);
	assert_int_equal(n_offered, 0);
	complete_next(f, 6, CUDA_SUCCESS);
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

#define HINT   (GSB_N_OFFERED - GSB_N_BESIDE)
#define LIMITS (GSB_N_OFFERED - GSB_N_LIMITS) /* the first of them */

/* As the view shows the only one. */
static const struct gsb_work *work_in_flight(const struct fixture *f)
{
	const struct gsb_scheduler *s = &f->k.engine->scheduler;

	return &s->flights[__builtin_ctz(~s->free_flights)].item->head->work;
}

/* It goes with blocks for half of the places of the device, and for that long the view says so. */
static void test_policy_may_have_a_launch_with_a_part_of_its_blocks(void **state)
{
	static const struct gsb_policy policy = {
		.name = "choosing", .predicts = true, .reshapes = true, .decide = choose};
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;

	force(f, "");
	f->k.engine->scheduler.policy = &policy;
	assert_int_equal(gsb_estimates_create(&f->k.engine->scheduler.estimates), 0);
	choice = LIMITS + 1;
	launch(f, 100000, 1);
	assert_int_equal(offered[LIMITS].eighths, GSB_LIMIT_HALF);
	assert_int_equal(log[1].grid[0], 132 * 32 / 2);
	assert_int_equal(tiles_of(&log[1])->total, 100000);
	assert_int_equal(work_in_flight(f)->manner, GSB_LIMIT_HALF);
	run_out(f);
	choice = LIMITS + 3;
	launch(f, 100000, 1);
	assert_int_equal(log[3].grid[0], 132 * 32 * 6 / 8);
	run_out(f);
	choice = HINT + 1;
	launch(f, 100000, 1);
	assert_int_equal(offered[HINT].form, GSB_SHAPE_HINT);
	assert_int_equal(log[4].grid[0], 100000);
	assert_int_equal(work_in_flight(f)->manner, GSB_MANNER_HINT);
	run_out(f);
	choice = 0;
	launch(f, 100000, 1);
	assert_int_equal(work_in_flight(f)->manner, 0);
	run_out(f);
	gsb_estimates_destroy(f->k.engine->scheduler.estimates);
	f->k.engine->scheduler.estimates = NULL;
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

/* Who is beside it is beside what really runs. */
static void test_neighbour_of_a_limited_launch_that_is_refused_later_has_none(void **state)
{
	static const struct gsb_policy policy = {
		.name = "choosing", .predicts = true, .reshapes = true, .decide = choose};
	struct fixture *f = *state;
	struct gsb_scheduler *s = &f->k.engine->scheduler;
	const struct gsb_company *beside;
	unsigned at = f->k.dev->n_issued;

	force(f, "");
	s->policy = &policy;
	assert_int_equal(gsb_estimates_create(&s->estimates), 0);
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	choice = 0;
	kit_launch_inc(&f->t, 2, 0, f->mem, 1);
	kit_settle(&f->k);
	beside = &s->flights[__builtin_ctz(~s->free_flights)].company;
	choice = LIMITS + 1;
	launch(f, 100000, 1);
	assert_int_equal(beside->manner, GSB_LIMIT_HALF);
	refuse_next(f, at + 2); /* behind a fill of its own */
	complete_next(f, at + 1, CUDA_SUCCESS);
	assert_true(beside->shared && !beside->manner && !beside->varied);
	run_out(f);
	gsb_estimates_destroy(s->estimates);
	s->estimates = NULL;
	s->policy = &gsb_policy_fifo;
}

/* Only that, and only of launches that are known to be long: the others may go in runs. */
static void test_policy_that_thinks_of_others_is_offered_that_of_long_launches(void **state)
{
	static const struct gsb_policy policy = {
		.name = "choosing", .predicts = true, .beside = true, .decide = choose};
	struct fixture *f = *state;
	const struct kit_device *d = f->k.dev;

	force(f, "");
	f->k.engine->scheduler.policy = &policy;
	assert_int_equal(gsb_estimates_create(&f->k.engine->scheduler.estimates), 0);
	choice = 0;
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t end_ns = (i + 1) * 1000000;

		launch(f, 10 + i / 2 * 100000, 1); /* twice one, and twice another */
		assert_int_equal(n_offered, i == 3 ? GSB_N_BESIDE : 0);
		kit_complete(f->k.dev, i, CUDA_SUCCESS, end_ns);
		f->k.dev->done[d->n_done - 1].start_ns = end_ns - (i < 2 ? 1000 : 100000);
		kit_settle(&f->k);
	}
	gsb_estimates_destroy(f->k.engine->scheduler.estimates);
	f->k.engine->scheduler.estimates = NULL;
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

/* ---- a policy that has parts wait ---- */

static bool has_to_wait;
static struct gsb_sm_range where;

static unsigned let_all_go(const struct gsb_view *view, struct gsb_policy_area *area,
			   struct gsb_decision *out)
{
	for (unsigned i = 0; i < view->n_ready; i++)
		out[i] = (struct gsb_decision){.ready = i, .sms = where};
	return view->n_ready;
}

static uint64_t says_wait(const struct gsb_view *view)
{
	return has_to_wait ? UINT64_MAX : 0;
}

static const struct gsb_policy policy_waits = {
	.name = "waits", .decide = let_all_go, .yields_until = says_wait};

/* As when somebody comes to the device, or leaves it. */
static void set_wait(struct fixture *f, bool wait)
{
	has_to_wait = wait;
	f->k.engine->scheduler.moved = true;
	kit_settle(&f->k);
}

static void begin_waiting(struct fixture *f, const char *shape, bool wait)
{
	force(f, shape);
	f->k.engine->scheduler.policy = &policy_waits;
	set_wait(f, wait);
}

static void end_waiting(struct fixture *f)
{
	set_wait(f, false);
	where = GSB_ALL_SMS;
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

static void test_slices_wait_while_the_policy_says_so(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	uint64_t done = kit_done(&f->t, 1);

	begin_waiting(f, "slice:4", false);
	launch(f, 10, 1);
	set_wait(f, true);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 2);
	assert_int_equal(f->k.engine->scheduler.clock.n_in_flight, 1);
	assert_int_equal(kit_done(&f->t, 1), done);
	set_wait(f, false);
	assert_int_equal(f->k.dev->n_issued, 4);
	complete_next(f, 2, CUDA_SUCCESS);
	complete_next(f, 3, CUDA_SUCCESS);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	assert_int_equal(row(f)->kernels, 2);
	expect_slice(&log[2], 6, 0, 3, 1);
	expect_slice(&log[3], 9, 0, 1, 1);
	end_waiting(f);
}

static void test_launch_in_parts_may_have_to_wait_from_the_beginning(void **state)
{
	struct fixture *f = *state;
	uint64_t done = kit_done(&f->t, 1);

	begin_waiting(f, "persistent:3:4", true);
	launch(f, 30, 1);
	assert_int_equal(f->k.dev->n_issued, 0);
	set_wait(f, false);
	run_out(f);
	assert_int_equal(f->k.dev->n_issued, 4);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	end_waiting(f);
}

/* A critical tenant's own, and what is not in parts. */
static void test_others_do_not_wait(void **state)
{
	struct fixture *f = *state;

	begin_waiting(f, "persistent:3", true);
	launch(f, 30, 1);
	assert_int_equal(f->k.dev->n_issued, 2);
	run_out(f);
	force(f, "slice:4");
	f->t.t->claim.critical = true;
	launch(f, 10, 1);
	run_out(f);
	assert_int_equal(f->k.dev->n_issued, 6);
	assert_int_equal(row(f)->kernels, 3);
	end_waiting(f);
}

static void test_what_waits_ends_with_its_context(void **state)
{
	struct fixture *f = *state;

	begin_waiting(f, "slice:4", false);
	launch(f, 10, 1);
	set_wait(f, true);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
	gsb_ctx_fail(f->fn->module->ctx, CUDA_ERROR_ASSERT, "another stream did");
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->scheduler.clock.n_in_flight, 0);
	assert_int_equal(f->k.dev->n_issued, 2);
	end_waiting(f);
}

static void test_tenant_that_dies_while_it_waits_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	begin_waiting(f, "slice:4", true);
	launch(f, 10, 1);
	kit_tenant_die(&f->t);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->t));
	assert_int_equal(f->k.dev->n_issued, 0);
	end_waiting(f);
}

/* They are to end soon: so many are there at most, in both queues together, and where others' are, one. */
static void test_parts_that_may_have_to_wait_are_two_at_a_time(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;

	begin_waiting(f, "persistent:0:1", false);
	launch(f, 10000, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	assert_ptr_not_equal(log[2].queue, log[1].queue);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 4);
	assert_ptr_equal(log[3].queue, log[1].queue);
	run_out(f);
	assert_int_equal(f->k.dev->n_issued, 5);
	end_waiting(f);
}

static void test_parts_beside_others_are_one_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct kit_inc params = {.p = f->mem, .n = 1};
	struct gsb_rec_launch b = {.function = kit_fn(0),
				   .grid = {10, 1, 1},
				   .block = {64, 1, 1},
				   .params_bytes = sizeof(params)};

	begin_waiting(f, "slice:4", false);
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	launch(f, 10, 1);
	kit_post(&f->t, GSB_REC_LAUNCH, kit_stream(2), &b, sizeof(b), &params, sizeof(params));
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	complete_next(f, 0, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 4);
	run_out(f);
	assert_int_equal(f->k.dev->n_issued, 8);
	end_waiting(f);
}

/* The device's own issue, and the tenant that a launch comes between. */
static int (*issue_as_ever)(struct gsb_queue *queue, const struct gsb_cmd *cmd);
static struct fixture *between;
static unsigned
	n_unaware; /* commands that went to the device before words that had changed were told of */

static int issue_and_look(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	n_unaware += between->t.t->queues.changed;
	return issue_as_ever(queue, cmd);
}

static void begin_between(struct fixture *f,
			  int (*issue)(struct gsb_queue *, const struct gsb_cmd *))
{
	between = f;
	issue_as_ever = f->k.dev->ops.issue;
	f->k.dev->ops.issue = issue;
}

/* The fill has ended, and the recording behind it, which takes no command, when slices go on. */
static void test_who_waits_is_woken_before_parts_go_on(void **state)
{
	struct fixture *f = *state;

	begin_waiting(f, "slice:4", false);
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	kit_event_create(&f->t, 1);
	launch(f, 10, 1);
	kit_fill(&f->t, 2, f->mem);
	kit_record(&f->t, 2, 1);
	set_wait(f, true);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 3);
	begin_between(f, issue_and_look);
	n_unaware = 0;
	has_to_wait = false;
	complete_next(f, 2, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 5);
	assert_int_equal(n_unaware, 0);
	f->k.dev->ops.issue = issue_as_ever;
	run_out(f);
	end_waiting(f);
}

/* When the first part goes to the device the tenant asks for something else. */
static int issue_and_ask(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	between->k.dev->ops.issue = issue_as_ever;
	kit_fill(&between->t, 2, between->mem);
	return issue_as_ever(queue, cmd);
}

static void test_tenants_are_heard_between_parts(void **state)
{
	struct fixture *f = *state;
	struct kit_device *d = f->k.dev;
	unsigned at = 0;

	begin_waiting(f, "slice:40", false);
	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	begin_between(f, issue_and_ask);
	d->automatic = true;
	launch(f, 40, 1);
	assert_int_equal(d->n_issued, 41);
	while (d->log[at].kind != GSB_CMD_FILL)
		at++;
	assert_in_range(at, 1, 4);
	d->automatic = false;
	end_waiting(f);
}

/* Half of the SMs have room for half of them. */
static void test_blocks_on_a_part_are_as_many_as_that_has_room_for(void **state)
{
	struct fixture *f = *state;

	begin_waiting(f, "persistent:0", false);
	where = (struct gsb_sm_range){0, 66};
	launch(f, 100000, 1);
	assert_int_equal(f->k.dev->log[1].grid[0], 66 * 32);
	run_out(f);
	end_waiting(f);
}

/* What it does not read is not found out. */
static void test_policy_that_does_not_choose_is_offered_nothing(void **state)
{
	static const struct gsb_policy policy = {.name = "not choosing", .decide = choose};
	struct fixture *f = *state;

	force(f, "");
	f->k.engine->scheduler.policy = &policy;
	choice = 1;
	n_offered = 1;
	launch(f, 10, 1);
	assert_int_equal(n_offered, 0);
	assert_int_equal(f->k.dev->log[0].grid[0], 10);
	complete_next(f, 0, CUDA_SUCCESS);
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

/* ---- sizes that are learned ---- */

/* Each launch alone, in the time that blocks of its size take. Returns how many threads the last had. */
static uint32_t come(struct fixture *f, unsigned n, uint32_t threads)
{
	struct kit_device *d = f->k.dev;
	uint32_t last = 0;

	while (n--) {
		unsigned at = d->n_issued;
		uint64_t begin = d->now_ns;

		launch_with(f, 4096, 1, threads, 0);
		assert_int_equal(d->n_issued, at + 1);
		last = d->log[at].block[0];
		assert_int_equal((uint64_t)d->log[at].grid[0] * last, 4096 * threads);
		kit_complete(d, at, CUDA_SUCCESS, begin + (last == 256 ? 100000 : 500000));
		d->done[d->n_done - 1].start_ns = begin;
		kit_settle(&f->k);
		kit_device_forget(d);
	}
	return last;
}

static void test_blocks_are_cut_to_the_size_that_was_fastest(void **state)
{
	struct fixture *f = *state;

	force(f, "");
	f->k.engine->scheduler.policy = &gsb_policy_coreside;
	assert_int_equal(gsb_estimates_create(&f->k.engine->scheduler.estimates), 0);
	assert_int_equal(come(f, 8, 64), 64);
	assert_int_equal(row(f)->n_resized, 0);
	assert_int_equal(come(f, 1, 64), 128); /* tried */
	assert_int_equal(come(f, 20, 64), 256);
	assert_int_equal(row(f)->n_resized, 21);
	f->proof->refuted = GSB_SHAPE_BIT(GSB_SHAPE_RESHAPE);
	assert_int_equal(come(f, 1, 64), 64);
	f->proof->refuted = 0;
	f->proof->launch.reshape_axes = 0;
	f->fn->facts_at = 0;
	memset(f->fn->facts, 0, sizeof(f->fn->facts));
	assert_int_equal(come(f, 1, 64), 64);
	assert_int_equal(row(f)->n_resized, 21);
	gsb_estimates_destroy(f->k.engine->scheduler.estimates);
	f->k.engine->scheduler.estimates = NULL;
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

/* ---- both ways ---- */

/* Memory on the device is real: each launch of "inc" adds 1 to one word, so that a form of one launch does what the original does,
 * and one of several does not. */
static void shadow(struct fixture *f, const char *shape)
{
	struct gsb_resizing *r = &f->k.engine->params.resizing;

	force(f, shape);
	r->mode = GSB_RESIZE_MODE_SHADOW;
	r->shadow_every = 1;
	r->shadow_bytes = 1 << 20;
	r->shadow_limit_ns = 1000000;
	f->fn->took_ns = 1000;
}

static uint32_t word(const struct fixture *f)
{
	return *(const uint32_t *)(uintptr_t)f->mem;
}

static void expect_kinds(const struct fixture *f, const char *kinds)
{
	assert_int_equal(f->k.dev->n_issued, strlen(kinds));
	for (unsigned i = 0; kinds[i]; i++)
		assert_int_equal(f->k.dev->log[i].kind, kinds[i] == 'L'	  ? GSB_CMD_LAUNCH
							: kinds[i] == 'C' ? GSB_CMD_COPY
									  : GSB_CMD_FILL);
}

static void test_shadow_run_of_the_same_results_counts_as_one_launch(void **state)
{
	struct fixture *f = *state;
	const struct kit_cmd *log = f->k.dev->log;
	uint64_t done = kit_done(&f->t, 1), kernels = row(f)->kernels;
	uint32_t before = word(f);

	shadow(f, "hint");
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, 1); /* step by step */
	run_out(f);
	expect_kinds(f, "CLCCLC");
	assert_int_equal(log[0].src, f->mem);
	assert_int_equal(log[3].addr, f->mem); /* what was there comes back */
	assert_int_equal(log[3].src, log[0].addr);
	assert_int_not_equal(log[2].addr, log[0].addr);
	assert_int_equal(word(f), before + 1);
	assert_int_equal(kit_done(&f->t, 1), done + 1);
	assert_int_equal(row(f)->kernels, kernels + 1);
	assert_int_equal(row(f)->n_shadowed, 1);
	assert_int_equal(row(f)->n_differed, 0);
	assert_int_equal(f->proof->refuted, 0);
}

static void test_form_with_other_results_is_refuted_and_the_tenant_has_the_originals(void **state)
{
	struct fixture *f = *state;
	uint32_t before = word(f);
	unsigned at;

	shadow(f, "slice:2");
	launch(f, 10, 1);
	run_out(f);
	expect_kinds(f, "CLLCCLC");
	assert_int_equal(word(f), before + 1);
	assert_int_equal(row(f)->n_differed, 1);
	assert_int_equal(f->proof->refuted, GSB_SHAPE_BIT(GSB_SHAPE_SLICE));
	at = f->k.dev->n_issued;
	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, at + 1);
	assert_int_equal(f->k.dev->log[at].grid[0], 10);
	complete_next(f, at, CUDA_SUCCESS);
	assert_int_equal(kit_error(&f->t, 0), 0);
}

static void test_device_time_of_a_shadow_run_is_the_originals(void **state)
{
	struct fixture *f = *state;
	uint64_t before = row(f)->device_ns;

	shadow(f, "hint");
	launch(f, 10, 1);
	run_out(f);
	assert_int_equal(row(f)->device_ns - before, 50);
}

/* Once it has a part of its blocks, and once all: it counts as neither for what is beside it, but as the original. */
static void test_shadow_run_says_nothing_of_a_part_of_its_blocks(void **state)
{
	static const struct gsb_policy policy = {
		.name = "choosing", .predicts = true, .reshapes = true, .decide = choose};
	struct fixture *f = *state;
	struct gsb_estimates *e;

	assert_int_equal(gsb_estimates_create(&e), 0);
	shadow(f, "");
	f->k.engine->scheduler.policy = &policy;
	f->k.engine->scheduler.estimates = e;
	choice = LIMITS + 1;
	launch(f, 100000, 1);
	assert_int_equal(work_in_flight(f)->manner, 0);
	run_out(f);
	assert_int_equal(row(f)->n_shadowed, 1);
	choice = 0;
	gsb_estimates_destroy(e);
	f->k.engine->scheduler.estimates = NULL;
	f->k.engine->scheduler.policy = &gsb_policy_fifo;
}

static void test_form_that_fails_alone_is_refuted_and_the_tenant_goes_on(void **state)
{
	struct fixture *f = *state;
	uint32_t before = word(f);

	shadow(f, "slice:4");
	launch(f, 10, 1);
	complete_next(f, 0, CUDA_SUCCESS);
	complete_next(f, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
	run_out(f);
	expect_kinds(f, "CLCLC"); /* saved; one slice; back; the original; looked at */
	assert_int_equal(kit_error(&f->t, 0), 0);
	assert_int_equal(word(f), before + 1);
	assert_int_equal(row(f)->n_differed, 1);
	assert_int_equal(f->proof->refuted, GSB_SHAPE_BIT(GSB_SHAPE_SLICE));
}

static void test_original_that_fails_in_a_shadow_run_fails_its_context(void **state)
{
	struct fixture *f = *state;

	shadow(f, "hint");
	launch(f, 10, 1);
	for (unsigned i = 0; i < 4; i++)
		complete_next(f, i, CUDA_SUCCESS);
	complete_next(f, 4, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(f->k.dev->n_issued, 5);
	assert_int_equal(kit_error(&f->t, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(row(f)->n_shadowed, 0);
	assert_int_equal(f->proof->refuted, 0);
}

/* Another stream's work would be undone: it waits, and then goes. */
static void test_nothing_of_the_tenant_runs_beside_a_shadow_run(void **state)
{
	struct fixture *f = *state;

	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	kit_settle(&f->k);
	shadow(f, "hint");
	launch(f, 10, 1);
	kit_fill(&f->t, 2, f->mem + 64);
	kit_settle(&f->k);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(f->k.dev->n_issued, i + 1);
		complete_next(f, i, CUDA_SUCCESS);
	}
	complete_next(f, 5, CUDA_SUCCESS);
	assert_int_equal(f->k.dev->n_issued, 7);
	assert_int_equal(f->k.dev->log[6].kind, GSB_CMD_FILL);
	complete_next(f, 6, CUDA_SUCCESS);
	assert_int_equal(kit_done(&f->t, 2), 1);
}

static void expect_no_shadow(struct fixture *f)
{
	unsigned at = f->k.dev->n_issued;

	launch(f, 10, 1);
	assert_int_equal(f->k.dev->n_issued, at + 1);
	assert_int_equal(f->k.dev->log[at].kind, GSB_CMD_LAUNCH);
	complete_next(f, at, CUDA_SUCCESS);
	assert_int_equal(row(f)->n_shadowed, 0);
}

/* What is on the device already writes, too. */
static void test_launch_beside_others_is_not_run_both_ways(void **state)
{
	struct fixture *f = *state;

	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	kit_fill(&f->t, 2, f->mem + 64);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 1);
	shadow(f, "hint");
	expect_no_shadow(f);
	complete_next(f, 0, CUDA_SUCCESS);
}

static void test_tenant_that_dies_in_a_shadow_run_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	kit_stream_create(&f->t, 2, GSB_STREAM_NON_BLOCKING);
	kit_settle(&f->k);
	shadow(f, "hint");
	launch(f, 10, 1);
	kit_fill(&f->t, 2, f->mem + 64);
	kit_settle(&f->k);
	complete_next(f, 0, CUDA_SUCCESS);
	kit_tenant_die(&f->t);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->t));
}

static void test_what_must_not_run_twice_does_not(void **state)
{
	struct fixture *f = *state;
	struct gsb_resizing *r = &f->k.engine->params.resizing;

	shadow(f, "hint");
	f->proof->writes_outside = true;
	expect_no_shadow(f);
	f->proof->writes_outside = false;
	f->proof->order = GSB_RESIZE_ORDER_RESULT;
	expect_no_shadow(f);
	f->proof->order = GSB_RESIZE_ORDER_MEMORY | GSB_RESIZE_ORDER_FLOAT;
	expect_no_shadow(f);
	f->proof->order = 0;
	r->shadow_bytes = 4095; /* it has 4,096 */
	expect_no_shadow(f);
	r->shadow_bytes = 4096;
	f->fn->took_ns = r->shadow_limit_ns + 1;
	expect_no_shadow(f);
	f->fn->took_ns = 1000;
	r->mode = GSB_RESIZE_MODE_SAFE;
	expect_no_shadow(f);
	r->mode = GSB_RESIZE_MODE_SHADOW;
	launch(f, 10, 1);
	run_out(f);
	assert_int_equal(row(f)->n_shadowed, 1);
}

static void test_kernel_that_may_write_to_the_host_does_not_run_twice(void **state)
{
	struct fixture *f = *state;

	struct gsb_ranges *host = &f->t.t->host_live, was = *host;

	shadow(f, "hint");
	gsb_ranges_init(host, f->mem & ~0xfffffull, 1 << 20);
	assert_int_equal(gsb_ranges_add(host, f->mem, 4), 0); /* a parameter points there */
	expect_no_shadow(f);
	gsb_ranges_remove(host, f->mem, &(struct gsb_range){0});
	assert_int_equal(gsb_ranges_add(host, f->mem + 4096, 4), 0);
	f->proof->loaded_pointers = true; /* and where it may point is not known */
	expect_no_shadow(f);
	f->proof->loaded_pointers = false;
	f->fn->module->managed_bytes = 4; /* it has a variable there */
	expect_no_shadow(f);
	f->fn->module->managed_bytes = 0;
	launch(f, 10, 1);
	run_out(f);
	assert_int_equal(row(f)->n_shadowed, 1);
	gsb_ranges_finish(host);
	*host = was;
}

/* A unit of the host's memory at reserved addresses. */
static uint64_t map_host(struct fixture *f)
{
	const struct gsb_rec_address_reserve r = {.size = GSB_VIRTUAL_UNIT,
						  .align = GSB_VIRTUAL_UNIT};
	const struct gsb_rec_backing_create c = {.size = GSB_VIRTUAL_UNIT};
	const struct gsb_reply_range *range = kit_reply(&f->t);
	const struct gsb_reply_host_backing *made = kit_reply(&f->t);
	struct gsb_rec_backing_map m;
	struct gsb_rec_backing_range all = {.size = GSB_VIRTUAL_UNIT,
					    .access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	assert_int_equal(kit_call(&f->t, GSB_REC_ADDRESS_RESERVE, &r, sizeof(r), NULL, 0), 0);
	m.addr = all.addr = range->addr;
	assert_int_equal(kit_call(&f->t, GSB_REC_BACKING_OF_HOST, &c, sizeof(c), NULL, 0), 0);
	m.backing = made->backing;
	assert_int_equal(kit_call(&f->t, GSB_REC_BACKING_MAP, &m, sizeof(m), NULL, 0), 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_BACKING_ACCESS, &all, sizeof(all), NULL, 0), 0);
	return all.addr;
}

static void test_kernel_that_may_write_to_mapped_host_memory_does_not_run_twice(void **state)
{
	struct fixture *f = *state;
	const uint64_t plain = f->mem;

	shadow(f, "hint");
	f->mem = map_host(f); /* a parameter points there */
	expect_no_shadow(f);
	f->mem = plain;
	f->proof->loaded_pointers = true; /* and where it may point is not known */
	expect_no_shadow(f);
	f->proof->loaded_pointers = false;
	launch(f, 10, 1);
	run_out(f);
	assert_int_equal(row(f)->n_shadowed, 1);
}

static void test_one_launch_in_so_many_is_run_both_ways(void **state)
{
	struct fixture *f = *state;

	shadow(f, "hint");
	f->k.engine->params.resizing.shadow_every = 4;
	for (int i = 0; i < 12; i++) {
		launch(f, 10, 1);
		run_out(f);
	}
	assert_int_equal(row(f)->n_shadowed, 3);
}

/* ---- comparing ---- */

static bool same(void *asked, void *shaped, size_t bytes, uint32_t rounds, uint64_t *addr)
{
	struct gsb_compare_range r[] = {{.addr = 0x1000, .bytes = 8, .at = 0},
					{.addr = 0x9000, .bytes = bytes - 8, .at = 8}};
	struct gsb_compare c = {.n_ranges = 2,
				.ranges = r,
				.bytes = bytes,
				.asked = asked,
				.shaped = shaped,
				.rounds = rounds};
	bool is_same = gsb_compare_is_same(&c);

	assert_int_equal(c.differs, !is_same);
	*addr = c.addr;
	return is_same;
}

static void test_sums_of_floats_may_round_and_nothing_else_may(void **state)
{
	float a[4] = {1, 1000.1f, 3, 0}, b[4] = {1, 1000.2f, 3, 0};
	double x[2] = {1, 1e10}, y[2] = {1, 1e10 + 1};
	uint64_t addr;

	assert_true(same(a, a, sizeof(a), 0, &addr));
	assert_false(same(a, b, sizeof(a), 0, &addr));
	assert_in_range(addr, 0x1004, 0x1007);
	assert_true(same(a, b, sizeof(a), GSB_ROUNDS_F32, &addr));
	b[2] = 3.1f;
	assert_false(same(a, b, sizeof(a), GSB_ROUNDS_F32, &addr));
	assert_in_range(addr, 0x9000, 0x9003);
	assert_false(same(x, y, sizeof(x), GSB_ROUNDS_F32, &addr));
	assert_true(same(x, y, sizeof(x), GSB_ROUNDS_F64, &addr));
	y[1] = 2e10;
	assert_false(same(x, y, sizeof(x), GSB_ROUNDS_F64, &addr));
}

/* ---- lists ---- */

static void test_lists_name_kernels_by_pattern_and_images_by_hash(void **state)
{
	static const struct {
		const char *allow, *deny, *kernel;
		bool may;
	} cases[] = {
		{"", "", "a", true},
		{NULL, NULL, "a", true},
		{"a", "", "a", true},
		{"a", "", "ab", false},
		{"a*", "", "ab", true},
		{"*b", "", "aab", true},
		{"a?c", "", "abc", true},
		{"a?c", "", "ac", false},
		{"*a*b*", "", "xxaxxbxx", true},
		{"*ab", "", "aab", true},
		{"x y z", "", "y", true},
		{"", "y*", "yes", false},
		{"yes", "y*", "yes", false},
		{"hash:0123abcd", "", "any", true},
		{"hash:0123abce", "", "any", false},
		{"", "hash:0123abcd", "any", false},
		{"", "hash:123abcd", "any", true},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		struct gsb_resizing r = {.allow = cases[i].allow, .deny = cases[i].deny};

		if (gsb_resizing_allows(&r, cases[i].kernel, "0123abcd4567") != cases[i].may)
			fail_msg("case %zu", i);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_slices_go_two_at_a_time_and_are_one_completion),
		CASE(test_slices_of_a_plane_are_rows),
		CASE(test_times_of_slices_are_those_of_one),
		CASE(test_failed_slice_is_the_last),
		CASE(test_no_slice_follows_the_end_of_its_context),
		CASE(test_tenant_that_dies_between_slices_leaves_nothing),
		CASE(test_more_slices_than_blocks_are_as_many_as_blocks),
		CASE(test_nothing_goes_behind_slices_before_the_last_has_ended),
		CASE(test_nothing_begins_with_slices),
		CASE(test_persistent_blocks_begin_with_a_counter_of_nothing),
		CASE(test_blocks_with_a_lifetime_are_launched_until_all_tiles_are_taken),
		CASE(test_no_more_blocks_than_tiles),
		CASE(test_as_many_blocks_as_there_is_room_for),
		CASE(test_two_at_a_time_count_in_places_of_their_own),
		CASE(test_blocks_that_fill_the_device_and_end_take_turns_in_two_queues),
		CASE(test_slices_that_fill_the_device_take_turns_in_two_queues),
		CASE(test_second_queue_is_given_back),
		CASE(test_end_of_two_queues_is_the_later_one),
		CASE(test_failed_launch_of_two_queues_is_the_last),
		CASE(test_others_have_one_queue),
		CASE(test_one_queue_where_there_is_no_second_like_it),
		CASE(test_limit_is_for_the_longer_of_two_queues),
		CASE(test_reshape_keeps_the_number_of_threads),
		CASE(test_counting_is_a_fill_a_launch_and_a_copy),
		CASE(test_limited_launch_that_is_refused_later_is_none),
		CASE(test_shape_that_is_refused_later_is_given_up),
		CASE(test_launch_of_which_a_part_has_run_is_not_begun_anew),
		CASE(test_launch_behind_a_fill_that_failed_is_not_begun_anew),
		CASE(test_cooperative_launch_is_left_alone),
		CASE(test_form_that_a_shadow_run_refuted_is_used_no_more),
		CASE(test_form_that_was_not_proven_is_not_used),
		CASE(test_warps_over_rows_do_not_loop),
		CASE(test_without_memory_of_ours_nothing_counts_tiles),
		CASE(test_form_that_loses_too_many_threads_is_not_used),
		CASE(test_count_that_loses_threads_is_used_where_it_fits),
		CASE(test_form_that_does_not_fit_an_sm_is_not_used),
		CASE(test_policy_may_have_a_launch_with_a_part_of_its_blocks),
		CASE(test_neighbour_of_a_limited_launch_that_is_refused_later_has_none),
		CASE(test_policy_that_thinks_of_others_is_offered_that_of_long_launches),
		CASE(test_policy_is_offered_shapes_and_gets_the_one_that_it_names),
		CASE(test_slices_wait_while_the_policy_says_so),
		CASE(test_launch_in_parts_may_have_to_wait_from_the_beginning),
		CASE(test_others_do_not_wait),
		CASE(test_what_waits_ends_with_its_context),
		CASE(test_tenant_that_dies_while_it_waits_leaves_nothing),
		CASE(test_parts_that_may_have_to_wait_are_two_at_a_time),
		CASE(test_parts_beside_others_are_one_at_a_time),
		CASE(test_who_waits_is_woken_before_parts_go_on),
		CASE(test_tenants_are_heard_between_parts),
		CASE(test_blocks_on_a_part_are_as_many_as_that_has_room_for),
		CASE(test_policy_that_does_not_choose_is_offered_nothing),
		CASE(test_blocks_are_cut_to_the_size_that_was_fastest),
		CASE(test_shadow_run_of_the_same_results_counts_as_one_launch),
		CASE(test_form_with_other_results_is_refuted_and_the_tenant_has_the_originals),
		CASE(test_device_time_of_a_shadow_run_is_the_originals),
		CASE(test_shadow_run_says_nothing_of_a_part_of_its_blocks),
		CASE(test_form_that_fails_alone_is_refuted_and_the_tenant_goes_on),
		CASE(test_original_that_fails_in_a_shadow_run_fails_its_context),
		CASE(test_nothing_of_the_tenant_runs_beside_a_shadow_run),
		CASE(test_launch_beside_others_is_not_run_both_ways),
		CASE(test_tenant_that_dies_in_a_shadow_run_leaves_nothing),
		CASE(test_what_must_not_run_twice_does_not),
		CASE(test_kernel_that_may_write_to_the_host_does_not_run_twice),
		CASE(test_kernel_that_may_write_to_mapped_host_memory_does_not_run_twice),
		CASE(test_one_launch_in_so_many_is_run_both_ways),
		cmocka_unit_test(test_sums_of_floats_may_round_and_nothing_else_may),
		cmocka_unit_test(test_lists_name_kernels_by_pattern_and_images_by_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
