/*
 * test_engine_memory.c - device memory between an engine and gsbrokerd's ledger, which the test is: who waits, who
 * does not, what is asked for and what is given back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "broker/engine/code/code.h"
#include "broker/engine/dismissal.h"
#include "shm/channel.h"
#include "shm/region.h"
#include "shm/wait.h"
#include "tests/unit/control_kit.h"

#define MB (1ull << 20)

/* An engine that shares its device: nothing is granted that it did not ask for. Two tenants with a context each. */
struct fixture {
	struct kit_control c;
	struct kit_tenant a, b;
};

static int start(void **state, bool virtual_clock)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_control_init(&f->c, virtual_clock);
	kit_tenant_init(&f->a, &f->c.k, NULL);
	kit_tenant_init(&f->b, &f->c.k, NULL);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return start(state, false);
}

static int setup_virtual(void **state)
{
	return start(state, true);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->c.k.engine) {
		kit_tenant_finish(&f->a);
		kit_tenant_finish(&f->b);
	} else {
		kit_tenant_free(&f->a);
		kit_tenant_free(&f->b);
	}
	kit_control_finish(&f->c);
	free(f);
	return 0;
}

/* ---- gsbrokerd's part ---- */

static void answer(struct fixture *f, uint64_t bytes, int error)
{
	kit_control_answer(&f->c, bytes, 300 * MB, error);
}

static void recall(struct fixture *f)
{
	struct gsb_ctl_memory m = {0};

	kit_control_send(&f->c, &m.msg, GSB_CTL_MEMORY_RECALL, sizeof(m));
}

/* ---- a tenant's part ---- */

static uint64_t address(const struct kit_tenant *t)
{
	const struct gsb_reply_range *r = kit_reply(t);

	return r->addr;
}

/* So many bytes, asked for and granted. */
static uint64_t alloc_granted(struct fixture *f, struct kit_tenant *t, uint64_t size)
{
	uint64_t call = kit_post_alloc(t, size);

	kit_control_expect_ask(&f->c, size);
	assert_false(kit_answered(t, call));
	answer(f, size, 0);
	assert_int_equal(kit_status_of(t, call), CUDA_SUCCESS);
	return address(t);
}

static void free_memory(struct kit_tenant *t, uint64_t addr)
{
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};

	assert_int_equal(kit_call(t, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0), CUDA_SUCCESS);
}

/* ---- alone ---- */

static void test_alone_allocates_and_frees_without_a_message(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc too_much = {.ctx = kit_ctx(0), .size = 1025 * MB};
	struct gsb_rec_ctx ctx = {.ctx = kit_ctx(0)};
	const struct gsb_reply_mem_info *info = kit_reply(&f->a);
	uint64_t addr;

	kit_control_grant_all(&f->c);
	addr = kit_alloc(&f->a, 100 * MB);
	assert_int_equal(kit_call(&f->a, GSB_REC_MEM_ALLOC, &too_much, sizeof(too_much), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(kit_call(&f->a, GSB_REC_MEM_INFO, &ctx, sizeof(ctx), NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(info->free_bytes, 924 * MB);
	assert_int_equal(info->total_bytes, 1024 * MB);
	free_memory(&f->a, addr);
	kit_control_receive_nothing(&f->c);
}

static void test_recall_returns_what_is_not_used_and_then_each_allocation_asks(void **state)
{
	struct fixture *f = *state;

	kit_control_grant_all(&f->c);
	kit_alloc(&f->a, 100 * MB);
	recall(f);
	kit_control_expect_return(&f->c, 924 * MB, true);
	recall(f);
	kit_control_expect_return(&f->c, 0, true);
	alloc_granted(f, &f->a, 5 * MB);
	kit_control_receive_nothing(&f->c);
}

/* ---- among several ---- */

static void test_allocation_waits_for_its_answer_and_nothing_else_does(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	kit_device_auto(f->c.k.dev);
	call = kit_post_alloc(&f->a, 10 * MB);
	kit_control_expect_ask(&f->c, 10 * MB);
	kit_nop(&f->a, 0);
	kit_nop(&f->b, 0);
	kit_settle(&f->c.k);
	assert_false(kit_answered(&f->a, call));
	assert_int_equal(kit_done(&f->a, 0), 1);
	assert_int_equal(kit_done(&f->b, 0), 1);
	answer(f, 10 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	kit_fill(&f->a, 0, address(&f->a));
	kit_settle(&f->c.k);
	assert_int_equal(kit_error(&f->a, 0), CUDA_SUCCESS);
	kit_control_receive_nothing(&f->c);
}

static void test_refused_allocation_is_out_of_memory_and_the_next_one_asks(void **state)
{
	struct fixture *f = *state;
	uint64_t first = kit_post_alloc(&f->a, 500 * MB), second = kit_post_alloc(&f->b, 10 * MB);

	kit_control_expect_ask(&f->c, 500 * MB);
	kit_control_receive_nothing(&f->c); /* one question at a time */
	answer(f, 0, -ENOMEM);
	assert_int_equal(kit_status_of(&f->a, first), CUDA_ERROR_OUT_OF_MEMORY);
	assert_false(kit_answered(&f->b, second));
	kit_control_expect_ask(&f->c, 10 * MB);
	answer(f, 10 * MB, 0);
	assert_int_equal(kit_status_of(&f->b, second), CUDA_SUCCESS);
	kit_control_receive_nothing(&f->c);
}

static void test_freed_memory_is_returned_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, 10 * MB);

	alloc_granted(f, &f->a, 3 * MB);
	free_memory(&f->a, addr);
	kit_control_expect_return(&f->c, 10 * MB, false);
	kit_tenant_die(&f->a);
	kit_control_expect_return(&f->c, 3 * MB, false);
}

/* What a free gives while somebody waits is his; and what was too much to ask for may be no longer. */
static void test_free_serves_who_waits_before_it_is_returned(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, 10 * MB), small = alloc_granted(f, &f->a, 4 * MB);
	uint64_t call = kit_post_alloc(&f->b, 12 * MB);
	struct gsb_ctl_gone gone;

	kit_control_expect_ask(&f->c, 12 * MB);
	free_memory(&f->a, small);
	kit_control_receive_nothing(&f->c);
	answer(f, 0, -ENOMEM);
	kit_control_expect_ask(&f->c, 8 * MB);
	assert_false(kit_answered(&f->b, call));
	free_memory(&f->a, addr);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, 2 * MB, false);
	answer(f, 8 * MB, 0); /* on its way when nobody needed it any more */
	kit_control_expect_return(&f->c, 8 * MB, false);
	kit_tenant_die(&f->b);
	kit_control_expect_return(&f->c, 12 * MB, false);
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
}

static void test_recall_while_an_answer_is_on_its_way_asks_again(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, 4 * MB), call;

	call = kit_post_alloc(&f->b, 12 * MB);
	kit_control_expect_ask(&f->c, 12 * MB);
	free_memory(&f->a, addr);
	recall(f);
	kit_control_expect_return(&f->c, 4 * MB, true);
	answer(f, 8 * MB, 0);
	kit_control_expect_ask(&f->c, 4 * MB);
	answer(f, 4 * MB, 0);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	kit_control_receive_nothing(&f->c);
}

static void test_mem_info_says_what_gsbrokerd_says(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_ctx ctx = {.ctx = kit_ctx(0)};
	const struct gsb_reply_mem_info *info = kit_reply(&f->a);
	uint64_t call;

	alloc_granted(f, &f->a, 10 * MB);
	call = kit_post_call(&f->a, GSB_REC_MEM_INFO, &ctx, sizeof(ctx), NULL, 0);
	kit_control_expect_ask(&f->c, 0);
	assert_false(kit_answered(&f->a, call));
	answer(f, 0, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(info->free_bytes, 300 * MB);
	assert_int_equal(info->total_bytes, 1024 * MB);
	kit_control_receive_nothing(&f->c);
}

/* ---- memory that others may have: what the device has in one piece with it ---- */

static uint64_t post_export(struct fixture *f, uint64_t addr)
{
	const struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};

	f->c.k.dev->piece_bytes = 4 * MB;
	return kit_post_call(&f->a, GSB_REC_MEM_EXPORT, &b, sizeof(b), NULL, 0);
}

static void test_export_waits_until_the_piece_is_granted(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, MB), call = post_export(f, addr);

	kit_control_expect_ask(&f->c, 4 * MB);
	assert_false(kit_answered(&f->a, call));
	answer(f, 4 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(f->c.k.engine->grant.used, 5 * MB);
	free_memory(&f->a, addr);
	assert_int_equal(f->c.k.engine->grant.used, 0);
	assert_int_equal(f->c.k.dev->n_backings, 0);
}

static void test_export_of_a_piece_that_nobody_has_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t call = post_export(f, alloc_granted(f, &f->a, MB));

	kit_control_expect_ask(&f->c, 4 * MB);
	answer(f, 0, -ENOMEM);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(f->c.k.engine->grant.used, MB);
	assert_int_equal(f->c.k.dev->n_backings, 0);
}

/* Its context ends meanwhile. */
static void test_export_that_waits_ends_with_its_context(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_object ctx = {.handle = kit_ctx(0)};
	uint64_t call = post_export(f, alloc_granted(f, &f->a, MB));

	kit_control_expect_ask(&f->c, 4 * MB);
	kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	kit_settle(&f->c.k);
	assert_int_equal(f->c.k.dev->n_backings, 0);
	assert_int_equal(f->c.k.engine->grant.used, 0);
	assert_true(kit_answered(&f->a, call));
}

static struct gsb_device_ops prompt;
static bool is_slow;

static int share_slowly(struct gsb_space *s, uint64_t addr, struct gsb_backing **out,
			uint64_t *offset, uint64_t *size)
{
	return is_slow ? -EINPROGRESS : prompt.mem_share(s, addr, out, offset, size);
}

/* The device answers when the context is gone already: nothing is asked for any more. */
static void test_export_that_comes_too_late_ends_with_its_context(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_object ctx = {.handle = kit_ctx(0)};
	uint64_t addr = alloc_granted(f, &f->a, MB), call;

	prompt = f->c.k.dev->ops;
	f->c.k.dev->ops.mem_share = share_slowly;
	is_slow = true;
	call = post_export(f, addr);
	kit_settle(&f->c.k);
	kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	kit_settle(&f->c.k);
	is_slow = false;
	kit_settle(&f->c.k);
	kit_settle(&f->c.k);
	assert_true(kit_answered(&f->a, call));
	kit_control_expect_return(&f->c, MB, false);
	kit_control_receive_nothing(&f->c);
	assert_int_equal(f->c.k.dev->n_backings, 0);
	assert_int_equal(f->c.k.engine->grant.used, 0);
}

/* What the device takes for an allocation counts, not what the tenant asked for. */
static uint64_t cost_in_megabytes(struct gsb_device *dev, uint64_t size)
{
	return (size + MB - 1) / MB * MB;
}

static void test_what_the_device_takes_is_asked_for_and_returned(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	f->c.k.dev->ops.mem_cost = cost_in_megabytes;
	call = kit_post_alloc(&f->a, 100);
	kit_control_expect_ask(&f->c, MB);
	answer(f, MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(f->a.t->device_used_bytes, MB);
	free_memory(&f->a, address(&f->a));
	kit_control_expect_return(&f->c, MB, false);
}

/* ---- modules ---- */

static uint64_t post_load_in(struct kit_tenant *t, uint32_t ctx, uint32_t module)
{
	struct gsb_rec_image_part part = {.image = module + 1, .length = 4, .total = 4};
	struct gsb_rec_module_load load = {
		.module = kit_module(module), .ctx = kit_ctx(ctx), .image = module + 1};
	uint64_t call;

	memcpy(t->staging, "good", 4);
	assert_int_equal(kit_call(t, GSB_REC_IMAGE_PART, &part, sizeof(part), NULL, 0),
			 CUDA_SUCCESS);
	call = kit_post_call(t, GSB_REC_MODULE_LOAD, &load, sizeof(load), NULL, 0);
	kit_settle(t->kit);
	return call;
}

static uint64_t post_load(struct kit_tenant *t, uint32_t module)
{
	return post_load_in(t, 0, module);
}

static void unload(struct kit_tenant *t, uint32_t module)
{
	struct gsb_rec_object b = {.handle = kit_module(module)};

	assert_int_equal(kit_call(t, GSB_REC_MODULE_UNLOAD, &b, sizeof(b), NULL, 0), CUDA_SUCCESS);
}

static void test_variables_of_a_module_are_asked_for_and_returned(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	f->c.k.dev->module_cost = 3 * MB;
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 3 * MB);
	assert_false(kit_answered(&f->a, call));
	answer(f, 3 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(f->a.t->device_used_bytes, 3 * MB);
	unload(&f->a, 0);
	kit_control_expect_return(&f->c, 3 * MB, false);
	assert_int_equal(f->a.t->device_used_bytes, 0);
}

static uint64_t pin(struct kit_tenant *t, uint64_t bytes)
{
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = bytes};

	assert_int_equal(kit_call(t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0), CUDA_SUCCESS);
	return ((const struct gsb_reply_range *)kit_reply(t))->addr;
}

static void place(struct kit_tenant *t, uint32_t module, uint64_t addr)
{
	struct gsb_rec_module_place b = {
		.module = kit_module(module), .addr = addr, .initialise = 1};

	kit_post_call(t, GSB_REC_MODULE_PLACE, &b, sizeof(b), NULL, 0);
	kit_settle(t->kit);
}

static void test_managed_variables_are_placed_in_pinned_memory(void **state)
{
	struct fixture *f = *state;
	uint64_t addr, call;

	f->c.k.dev->module_managed = 5000;
	call = post_load(&f->a, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(((const struct gsb_reply_module *)kit_reply(&f->a))->managed_bytes, 5000);
	addr = pin(&f->a, 5000);
	place(&f->a, 0, addr);
	assert_int_equal(f->c.k.dev->managed, addr);
	assert_true(f->c.k.dev->initialised);
	unload(&f->a, 0);
	assert_false(kit_tenant_is_gone(&f->a));
}

/* Nothing of a module can be named before its variables have their places, which are pinned memory of that tenant. */
static void test_managed_variables_are_placed_nowhere_else(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_function_get get = {kit_fn(1), kit_module(0), 1};
	struct kit_tenant *t = &f->a;
	uint64_t addr = pin(&f->b, 4096);

	f->c.k.dev->module_managed = 5000;
	post_load(&f->b, 0);
	place(&f->b, 0, addr); /* too little */
	assert_true(kit_tenant_is_gone(&f->b));
	post_load(t, 0);
	kit_post_call(t, GSB_REC_FUNCTION_GET, &get, sizeof(get), "f", 1);
	kit_settle(t->kit);
	assert_true(kit_tenant_is_gone(t));
	assert_int_equal(f->c.k.dev->managed, 0);
}

static void test_managed_variables_are_placed_once(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096), other = pin(&f->a, 4096);

	f->c.k.dev->module_managed = 64;
	post_load(&f->a, 0);
	place(&f->a, 0, addr);
	place(&f->a, 0, other);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(f->c.k.dev->managed, addr);
}

static uint64_t post_heap(struct kit_tenant *t, uint64_t bytes)
{
	struct gsb_rec_kernel_memory b = {
		.ctx = kit_ctx(0), .bytes = bytes, .which = GSB_KERNEL_HEAP};
	uint64_t call = kit_post_call(t, GSB_REC_KERNEL_MEMORY, &b, sizeof(b), NULL, 0);

	kit_settle(t->kit);
	return call;
}

/* The first module whose kernels allocate brings it, and it stays when that goes. */
static void test_heap_of_kernels_is_charged_once_a_context(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	f->c.k.dev->module_heap = 8 * MB;
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 8 * MB);
	answer(f, 8 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(f->a.t->device_used_bytes, 8 * MB);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 1)), CUDA_SUCCESS);
	unload(&f->a, 0);
	unload(&f->a, 1);
	assert_int_equal(f->a.t->device_used_bytes, 8 * MB);
}

static void test_heap_size_is_free_until_a_module_needs_it(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	assert_int_equal(kit_status_of(&f->a, post_heap(&f->a, 64 * MB)), CUDA_SUCCESS);
	assert_int_equal(f->c.k.dev->heap_size, 64 * MB);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	f->c.k.dev->module_heap = 8 * MB;
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 8 * MB);
	answer(f, 8 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	/* more of it is asked for */
	call = post_heap(&f->a, 20 * MB);
	kit_control_expect_ask(&f->c, 12 * MB);
	assert_false(kit_answered(&f->a, call));
	answer(f, 12 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(f->a.t->device_used_bytes, 20 * MB);
	assert_int_equal(f->c.k.dev->heap_size, 20 * MB);
	/* less is returned */
	assert_int_equal(kit_status_of(&f->a, post_heap(&f->a, 4 * MB)), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, 16 * MB, false);
	assert_int_equal(f->a.t->device_used_bytes, 4 * MB);
	/* and none when it is in use */
	f->c.k.dev->heap_in_use = true;
	assert_int_equal(kit_status_of(&f->a, post_heap(&f->a, 2 * MB)), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(f->a.t->device_used_bytes, 4 * MB);
}

static void test_heap_that_is_refused_stays_as_it_was(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	f->c.k.dev->module_heap = 8 * MB;
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 8 * MB);
	answer(f, 8 * MB, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		call = post_heap(&f->a, 100 * MB);
		kit_control_expect_ask(&f->c, 92 * MB);
		answer(f, 0, -ENOMEM);
		assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_OUT_OF_MEMORY);
	}
	assert_int_equal(f->a.t->device_used_bytes, 8 * MB);
	assert_int_equal(f->c.k.dev->heap_size, 0);
}

/* It is unloaded when nothing of its context is on the device: the device of the tests looks at that. */
static void test_module_that_is_refused_its_variables_is_unloaded_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, MB), call;

	f->c.k.dev->module_cost = 3 * MB;
	kit_fill(&f->a, 0, addr);
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 3 * MB);
	answer(f, 0, -ENOMEM);
	assert_false(kit_answered(&f->a, call));
	assert_int_equal(f->c.k.dev->n_modules, 1);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 2000000);
	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(f->c.k.dev->n_modules, 0);
	f->c.k.dev->module_cost = 0;
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 0)),
			 CUDA_SUCCESS); /* its name is free */
}

static void test_context_that_ends_refuses_a_module_that_waits(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object ctx = {.handle = kit_ctx(0)};
	uint32_t thread = f->a.slot;
	uint64_t call, end;

	f->c.k.dev->module_cost = 3 * MB;
	call = post_load(&f->a, 0);
	kit_control_expect_ask(&f->c, 3 * MB);
	assert_int_equal(gsb_thread_acquire(f->a.region, &f->a.slot), 0);
	end = kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, end), CUDA_SUCCESS);
	f->a.slot = thread;
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	assert_int_equal(f->c.k.dev->n_modules, 0);
	answer(f, 3 * MB, 0);
	kit_control_expect_return(&f->c, 3 * MB, false);
}

static void test_modules_past_code_memory_are_out_of_memory(void **state)
{
	struct fixture *f = *state;
	uint64_t limit = f->a.t->limits.code_mem_bytes;

	f->c.k.dev->module_bytes = limit / 2 - sizeof(struct gsb_code_module);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 0)), CUDA_SUCCESS);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 1)), CUDA_SUCCESS);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 2)), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(f->a.t->code_used_bytes, limit);
	assert_int_equal(kit_status_of(&f->b, post_load(&f->b, 0)), CUDA_SUCCESS);
	unload(&f->a, 0);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 2)), CUDA_SUCCESS);
}

static void test_kernel_that_takes_modules_past_code_memory_is_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object fn = {.handle = kit_fn(0)};

	kit_load_inc(&f->a, 0, 0);
	f->c.k.dev->module_bytes = f->a.t->limits.code_mem_bytes + 1;
	assert_int_equal(kit_call(&f->a, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
}

static int get_inc(struct kit_tenant *t, uint32_t module, uint32_t fn)
{
	struct gsb_rec_function_get get = {
		.function = kit_fn(fn), .module = kit_module(module), .name_bytes = 3};

	return kit_call(t, GSB_REC_FUNCTION_GET, &get, sizeof(get), "inc", 3);
}

/* Whoever gets the same kernel again and again has what each costs the engine counted. */
static void test_functions_past_code_memory_are_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct gsb_tenant *t = f->a.t;

	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 0)), CUDA_SUCCESS);
	t->limits.code_mem_bytes = t->code_used_bytes + 3 * sizeof(struct gsb_kernel_fn);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(get_inc(&f->a, 0, i), CUDA_SUCCESS);
	assert_int_equal(get_inc(&f->a, 0, 3), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(t->code_used_bytes, t->limits.code_mem_bytes);
	unload(&f->a, 0);
	assert_int_equal(t->code_used_bytes, 0);
	kit_load_inc(&f->a, 0, 3);
}

/* One that is not there costs nothing. */
static void test_function_that_is_not_found_is_not_charged(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_function_get get = {
		.function = kit_fn(0), .module = kit_module(0), .name_bytes = 3};
	uint64_t used;

	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 0)), CUDA_SUCCESS);
	used = f->a.t->code_used_bytes;
	assert_int_equal(used, sizeof(struct gsb_code_module));
	assert_int_equal(kit_call(&f->a, GSB_REC_FUNCTION_GET, &get, sizeof(get), "dec", 3),
			 CUDA_ERROR_NOT_FOUND);
	assert_int_equal(f->a.t->code_used_bytes, used);
}

#define N_MANY 2000 /* functions, which are not freed in one turn */

static void get_many(struct fixture *f)
{
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 0)), CUDA_SUCCESS);
	for (uint32_t i = 0; i < N_MANY; i++)
		assert_int_equal(get_inc(&f->a, 0, i), CUDA_SUCCESS);
}

/* Meanwhile their places, and the same handles, may be had again. */
static void test_functions_of_an_unloaded_module_are_freed_in_turns(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object module = {.handle = kit_module(0)}, fn = {.handle = kit_fn(0)};
	uint64_t many = N_MANY * sizeof(struct gsb_kernel_fn), call;

	get_many(f);
	assert_int_equal(f->a.t->code_used_bytes, sizeof(struct gsb_code_module) + many);
	assert_int_equal(kit_status_of(&f->a, post_load(&f->a, 1)), CUDA_SUCCESS);
	call = kit_post_call(&f->a, GSB_REC_MODULE_UNLOAD, &module, sizeof(module), NULL, 0);
	assert_true(gsb_engine_turn(f->c.k.engine));
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_in_range(f->a.t->code_used_bytes, many / 2, many - 1);
	assert_null(gsb_code_find_function(f->a.t, kit_fn(0)));
	assert_non_null(f->a.t->unloaded);
	assert_int_equal(get_inc(&f->a, 1, 0), CUDA_SUCCESS);
	assert_null(f->a.t->unloaded);
	assert_int_equal(f->a.t->code_used_bytes,
			 sizeof(struct gsb_code_module) + sizeof(struct gsb_kernel_fn));
	assert_int_equal(kit_call(&f->a, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0),
			 CUDA_SUCCESS);
}

/* Its context has gone, and it is there until nothing of it is left. */
static void test_functions_of_who_leaves_are_freed_in_turns(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_gone gone;
	unsigned n = 0;

	get_many(f);
	gsb_tenant_leave(f->a.t);
	for (; f->c.k.engine->n_tenants > 1 && n < N_MANY; n++)
		assert_true(gsb_engine_turn(f->c.k.engine));
	assert_in_range(n, 4, N_MANY);
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
}

#define UNLOADED_A_TURN 32
#define N_MODULES	(3 * UNLOADED_A_TURN)

/* One turn, in which modules are unloaded, and before the last of them no space goes. */
static void turn_of_unloading(struct fixture *f, unsigned n_spaces)
{
	const struct kit_device *d = f->c.k.dev;
	unsigned before = d->n_modules;

	assert_true(gsb_engine_turn(f->c.k.engine));
	assert_in_range(before - d->n_modules, 0, UNLOADED_A_TURN);
	if (d->n_modules)
		assert_int_equal(d->n_spaces, n_spaces);
}

/* Others are served meanwhile, and the context's numbers are its own until it has ended. */
static void test_modules_of_a_context_that_ends_are_unloaded_in_turns(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object ctx = {.handle = kit_ctx(0)};
	struct gsb_rec_mem_alloc pinned = {.ctx = kit_ctx(0), .size = 4096};
	struct kit_device *d = f->c.k.dev;
	unsigned n_spaces = d->n_spaces;
	uint64_t end, others;

	for (uint32_t i = 0; i < N_MODULES; i++)
		assert_int_equal(kit_status_of(&f->a, post_load(&f->a, i)), CUDA_SUCCESS);
	end = kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	turn_of_unloading(f, n_spaces);
	assert_int_equal(d->n_modules, N_MODULES - UNLOADED_A_TURN);
	assert_null(gsb_code_find_module(f->a.t, kit_module(N_MODULES - 1)));
	others = kit_post_call(&f->b, GSB_REC_HOST_ALLOC, &pinned, sizeof(pinned), NULL, 0);
	turn_of_unloading(f, n_spaces);
	assert_true(kit_answered(&f->b, others));
	assert_false(kit_answered(&f->a, end));
	while (d->n_modules)
		turn_of_unloading(f, n_spaces);
	assert_int_equal(kit_status_of(&f->a, end), CUDA_SUCCESS);
	assert_int_equal(d->n_spaces, n_spaces - 1);
	assert_int_equal(f->a.t->code_used_bytes, 0);
}

/* Of all of its contexts together. */
static void test_modules_of_who_leaves_are_unloaded_in_turns(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_ctx_create second = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};
	struct kit_device *d = f->c.k.dev;
	struct gsb_ctl_gone gone;
	unsigned n_spaces, n = 0;

	assert_int_equal(kit_call(&f->a, GSB_REC_CTX_CREATE, &second, sizeof(second), NULL, 0),
			 CUDA_SUCCESS);
	n_spaces = d->n_spaces;
	for (uint32_t i = 0; i < N_MODULES; i++)
		assert_int_equal(kit_status_of(&f->a, post_load_in(&f->a, i % 2, i)), CUDA_SUCCESS);
	gsb_tenant_leave(f->a.t);
	for (; d->n_modules && n < N_MODULES; n++)
		turn_of_unloading(f, n_spaces);
	assert_int_equal(n, N_MODULES / UNLOADED_A_TURN);
	kit_settle(&f->c.k);
	assert_int_equal(d->n_spaces, n_spaces - 2);
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
}

/* ---- the memory of who has gone ---- */

#define PART_BYTES (16 * MB) /* of what is unmapped at a time */
#define N_PARTS	   3

static struct {
	bool looks;
	pthread_t engine;
	const void *staging, *region;		   /* and the window, wherever that is */
	_Atomic unsigned n_of_engine, n_of_others; /* of these, or of their parts */
	sem_t may;				   /* others go on */
	bool awaited;				   /* by the engine, which ends */
} unmapping;

static bool is_in(const void *at, const void *start, size_t size)
{
	return (uintptr_t)at - (uintptr_t)start < size;
}

static bool is_looked_at(const void *at, size_t size)
{
	return size == PART_BYTES || size == N_PARTS * PART_BYTES ||
	       is_in(at, unmapping.staging, MB) ||
	       is_in(at, unmapping.region, sizeof(struct gsb_region));
}

int munmap(void *at, size_t size)
{
	if (unmapping.looks && is_looked_at(at, size)) {
		if (pthread_equal(pthread_self(), unmapping.engine)) {
			unmapping.n_of_engine++;
		} else {
			sem_wait(&unmapping.may);
			unmapping.n_of_others++;
		}
	}
	return (int)syscall(SYS_munmap, at, size);
}

/* What a tenant of so many parts of a window has in all: staging memory is one, a region two. */
static unsigned n_parts(unsigned n_of_window)
{
	static_assert(sizeof(struct gsb_region) > PART_BYTES &&
			      sizeof(struct gsb_region) <= 2 * PART_BYTES,
		      "two parts");
	return n_of_window + 1 + 2;
}

/* Of the engine's only where it ends. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};

	if (unmapping.looks && pthread_equal(pthread_self(), unmapping.engine)) {
		unmapping.awaited = true;
		for (unsigned i = 0; i < n_parts(1); i++)
			sem_post(&unmapping.may);
	}
	return ppoll(fds, n, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static void begin_to_look(const struct kit_tenant *t)
{
	unmapping.staging = t->t->staging;
	unmapping.region = t->t->region;
	unmapping.engine = pthread_self();
	unmapping.n_of_engine = unmapping.n_of_others = 0;
	unmapping.awaited = false;
	sem_init(&unmapping.may, 0, 0);
	unmapping.looks = true;
}

static uint32_t *window_of(const struct kit_tenant *t)
{
	return (uint32_t *)(uintptr_t)gsb_host_window_base(t->t->slot);
}

/* However many pages are in it: the engine serves others meanwhile, the next one in the same place, too. */
static void test_memory_of_who_has_gone_goes_without_the_engine(void **state)
{
	static const struct gsb_tenant_limits limits = {.host_mem_bytes = N_PARTS * PART_BYTES,
							.staging_bytes = MB};
	struct fixture *f = *state;
	struct kit_tenant gone, next;
	uint32_t *window;
	char why[256];
	int files[3];

	kit_tenant_init(&gone, &f->c.k, &limits);
	files[0] = gone.t->host_fd;
	files[1] = gone.t->staging_fd;
	files[2] = gone.t->region_fd;
	window = window_of(&gone);
	*window = 5;
	begin_to_look(&gone);
	gsb_tenant_leave(gone.t);
	while (!kit_tenant_is_gone(&gone))
		gsb_engine_turn(f->c.k.engine);
	assert_int_equal(kit_tenant_admit(&next, &f->c.k, &limits, why, sizeof(why)), 0);
	assert_ptr_equal(window_of(&next), window);
	assert_int_equal(*window, 0);
	*window = 7;
	for (unsigned i = 0; i < n_parts(N_PARTS); i++)
		sem_post(&unmapping.may);
	kit_settle(&f->c.k);
	unmapping.looks = false;
	assert_int_equal(*window, 7);
	assert_int_equal(unmapping.n_of_engine, 2); /* without pages: gsb_window_move() */
	assert_int_equal(unmapping.n_of_others, n_parts(N_PARTS));
	for (unsigned i = 0; i < GSB_ARRAY_LEN(files); i++)
		assert_int_equal(fcntl(files[i], F_GETFD), -1);
	kit_tenant_free(&gone);
	kit_tenant_finish(&next);
}

/* Whatever the process itself has there. */
static void test_window_that_cannot_be_mapped_leaves_what_is_there(void **state)
{
	uint32_t *there = (uint32_t *)(uintptr_t)gsb_host_window_base(0);
	struct kit_tenant refused;
	struct kit_engine k;
	char why[256];

	assert_ptr_equal(mmap(there, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 there);
	*there = 5;
	kit_engine_init(&k, false);
	assert_int_equal(kit_tenant_admit(&refused, &k, NULL, why, sizeof(why)), -EEXIST);
	kit_engine_finish(&k);
	assert_int_equal(mprotect(there, 4096, PROT_READ), 0); /* -ENOMEM where there is nothing */
	assert_int_equal(*there, 5);
	munmap(there, 4096);
}

/* Its thread would find no engine any more. */
static void test_engine_that_ends_waits_for_what_is_unmapped(void **state)
{
	static const struct gsb_tenant_limits limits = {.host_mem_bytes = PART_BYTES,
							.staging_bytes = MB};
	struct kit_tenant gone;
	struct kit_engine k;

	kit_engine_init(&k, false);
	kit_tenant_init(&gone, &k, &limits);
	begin_to_look(&gone);
	gsb_tenant_leave(gone.t);
	while (!kit_tenant_is_gone(&gone))
		gsb_engine_turn(k.engine);
	kit_engine_finish(&k);
	unmapping.looks = false;
	assert_true(unmapping.awaited);
	assert_int_equal(unmapping.n_of_others, n_parts(1));
	kit_tenant_free(&gone);
}

/* ---- ends ---- */

static void test_context_that_ends_answers_its_waiting_calls(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object ctx = {.handle = kit_ctx(0)};
	uint64_t call = kit_post_alloc(&f->a, 10 * MB), end, next;
	uint32_t thread = f->a.slot;

	kit_control_expect_ask(&f->c, 10 * MB);
	assert_int_equal(gsb_thread_acquire(f->a.region, &f->a.slot), 0);
	end = kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, end), CUDA_SUCCESS);
	f->a.slot = thread;
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	next = kit_post_alloc(&f->b, 4 * MB);
	answer(f, 10 * MB, 0);
	assert_int_equal(kit_status_of(&f->b, next), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, 6 * MB, false);
}

static void test_refusal_of_who_has_left_is_not_the_next_ones(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_gone gone;
	uint64_t next;

	kit_post_alloc(&f->a, 500 * MB);
	kit_control_expect_ask(&f->c, 500 * MB);
	next = kit_post_alloc(&f->b, 600 * MB);
	kit_tenant_die(&f->a);
	assert_true(kit_tenant_is_gone(&f->a));
	kit_control_receive(&f->c, GSB_CTL_GONE, &gone, sizeof(gone));
	answer(f, 0, -ENOMEM);
	assert_false(kit_answered(&f->b, next));
	kit_control_expect_ask(&f->c, 600 * MB);
	answer(f, 600 * MB, 0);
	assert_int_equal(kit_status_of(&f->b, next), CUDA_SUCCESS);
}

static void test_engine_that_ends_waits_for_no_answer(void **state)
{
	struct fixture *f = *state;

	kit_post_alloc(&f->a, 10 * MB);
	kit_control_expect_ask(&f->c, 10 * MB);
	kit_post_alloc(&f->b, 10 * MB);
	gsb_engine_destroy(f->c.k.engine);
	f->c.k.engine = NULL;
	assert_int_equal(atomic_load(&f->a.region->header.fatal), CUDA_ERROR_SYSTEM_NOT_READY);
	assert_int_equal(atomic_load(&f->b.region->header.fatal), CUDA_ERROR_SYSTEM_NOT_READY);
}

/* ---- a gsbrokerd that does not read ---- */

/* Until the engine's send finds no room. */
static void fill_socket(struct fixture *f)
{
	struct gsb_ctl_memory m = {0};

	gsb_msg_init(&m.msg, GSB_CTL_MEMORY_OPEN, sizeof(m));
	while (!gsb_channel_send(f->c.control.watch.fd, &m.msg, NULL, 0))
		;
}

static void empty_socket(struct fixture *f)
{
	struct gsb_ctl_memory m;

	while (gsb_channel_recv(f->c.brokerd, &m, sizeof(m), NULL, NULL) > 0)
		assert_int_equal(m.msg.type, GSB_CTL_MEMORY_OPEN);
}

static void test_full_socket_delays_and_adds_up(void **state)
{
	struct fixture *f = *state;
	uint64_t one = alloc_granted(f, &f->a, 10 * MB), two = alloc_granted(f, &f->a, 5 * MB);

	fill_socket(f);
	free_memory(&f->a, one);
	free_memory(&f->a, two);
	recall(f);
	kit_post_alloc(&f->b, 7 * MB);
	empty_socket(f);
	kit_control_expect_return(&f->c, 15 * MB, true);
	kit_control_expect_ask(&f->c, 7 * MB);
	kit_control_receive_nothing(&f->c);
}

/* ---- the end ---- */

static void expect_last(struct fixture *f, uint64_t bytes)
{
	struct gsb_ctl_memory m;

	kit_control_receive(&f->c, GSB_CTL_MEMORY_LAST, &m, sizeof(m));
	assert_int_equal(m.bytes, bytes);
}

/* Recalls and grants that were on their way are in what gsbrokerd has heard. */
static void test_engine_that_ends_says_what_it_uses_and_hears_no_more(void **state)
{
	struct fixture *f = *state;
	uint64_t addr;

	kit_control_grant_all(&f->c);
	addr = kit_alloc(&f->a, 10 * MB);
	gsb_control_finish(&f->c.control);
	expect_last(f, 10 * MB);
	recall(f);
	kit_control_grant_all(&f->c);
	kit_control_receive_nothing(&f->c);
	free_memory(&f->a, addr);
	kit_control_expect_return(&f->c, 10 * MB, false);
	kit_control_receive_nothing(&f->c);
}

static void test_engine_that_ends_asks_for_nothing_more(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	alloc_granted(f, &f->a, 10 * MB);
	call = kit_post_alloc(&f->a, 5 * MB);
	kit_control_expect_ask(&f->c, 5 * MB);
	gsb_control_finish(&f->c.control);
	expect_last(f, 10 * MB);
	answer(f, 5 * MB, 0);
	kit_post_alloc(&f->b, MB);
	kit_control_receive_nothing(&f->c);
	assert_false(kit_answered(&f->a, call));
}

/* ---- virtual time ---- */

static void test_virtual_time_stands_still_while_a_call_waits(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->b, MB), call;
	struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = 10 * MB};

	kit_fill(&f->b, 0, addr);
	call = kit_post_call(&f->a, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0);
	kit_block(&f->a, GSB_WAIT_REPLY, 0, call);
	kit_block(&f->b, GSB_WAIT_STREAM, 0, 1);
	kit_control_expect_ask(&f->c, 10 * MB);
	assert_int_equal(f->c.k.dev->n_advances, 0);
	answer(f, 10 * MB, 0);
	assert_int_equal(f->c.k.dev->n_advances, 0); /* it runs now */
}

/* ---- arrays, and what reads them ---- */

static const struct gsb_array small_array = {
	.width = 100, .height = 10, .format = CU_AD_FORMAT_FLOAT, .n_channels = 1};

static uint64_t post_and_settle(struct kit_tenant *t, enum gsb_rec_type type, const void *body,
				uint32_t bytes)
{
	uint64_t call = kit_post_call(t, type, body, bytes, NULL, 0);

	kit_settle(t->kit);
	return call;
}

static uint64_t post_array(struct kit_tenant *t, const struct gsb_array *array)
{
	struct gsb_rec_array_alloc b = {.ctx = kit_ctx(0), .array = *array};

	return post_and_settle(t, GSB_REC_ARRAY_ALLOC, &b, sizeof(b));
}

static uint64_t post_free(struct kit_tenant *t, uint64_t addr)
{
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};

	return post_and_settle(t, GSB_REC_MEM_FREE, &b, sizeof(b));
}

static void test_array_is_memory_where_the_device_has_none(void **state)
{
	const uint64_t bytes = gsb_array_bytes(&small_array);
	struct gsb_array bad = small_array;
	struct fixture *f = *state;
	uint64_t call = post_array(&f->a, &small_array), addr;

	kit_control_expect_ask(&f->c, bytes);
	answer(f, bytes, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	addr = address(&f->a);
	assert_int_equal(f->a.t->device_used_bytes, bytes);
	kit_fill(&f->a, 0, addr + bytes - 4);
	kit_settle(&f->c.k);
	assert_false(kit_tenant_is_gone(&f->a));
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 2000000);
	assert_int_equal(kit_status_of(&f->a, post_free(&f->a, addr)), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, bytes, false);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	bad.n_channels = 3;
	assert_int_equal(kit_status_of(&f->a, post_array(&f->a, &bad)), CUDA_ERROR_INVALID_VALUE);
	bad = small_array;
	bad.width = 0;
	assert_int_equal(kit_status_of(&f->a, post_array(&f->a, &bad)), CUDA_ERROR_INVALID_VALUE);
	bad.width = UINT32_MAX;
	assert_int_equal(kit_status_of(&f->a, post_array(&f->a, &bad)), CUDA_ERROR_INVALID_VALUE);
}

#define ROOM 0x10000

static struct gsb_array asked_for;
static int (*kit_mem_alloc)(struct gsb_space *space, uint64_t size, uint64_t *addr);

static int kit_array_alloc(struct gsb_space *space, const struct gsb_array *array, uint64_t *addr)
{
	asked_for = *array;
	return kit_mem_alloc(space, ROOM, addr);
}

static uint64_t kit_array_bytes(struct gsb_device *dev, const struct gsb_array *array)
{
	return ROOM;
}

/* It takes more of the device than it has texels, and only those may be named. */
static void test_array_of_the_device_counts_what_it_takes(void **state)
{
	struct fixture *f = *state;
	uint64_t call, addr;

	kit_mem_alloc = f->c.k.dev->ops.mem_alloc;
	f->c.k.dev->ops.array_alloc = kit_array_alloc;
	f->c.k.dev->ops.array_bytes = kit_array_bytes;
	call = post_array(&f->a, &small_array);
	kit_control_expect_ask(&f->c, ROOM);
	answer(f, ROOM, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_memory_equal(&asked_for, &small_array, sizeof(asked_for));
	addr = address(&f->a);
	assert_int_equal(f->a.t->device_used_bytes, ROOM);
	assert_int_equal(kit_status_of(&f->a, post_free(&f->a, addr)), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, ROOM, false);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	call = post_array(&f->a, &small_array);
	kit_control_expect_ask(&f->c, ROOM);
	answer(f, ROOM, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	kit_fill(&f->a, 0, address(&f->a) + gsb_array_bytes(&small_array));
	kit_settle(&f->c.k);
	assert_true(kit_tenant_is_gone(&f->a));
}

static struct {
	unsigned n_created, n_destroyed;
	bool is_surface;
} views;

static int kit_texture_create(struct gsb_space *space, const struct gsb_texture *view,
			      bool is_surface, uint64_t *handle)
{
	views.n_created++;
	views.is_surface = is_surface;
	*handle = view->base + 1;
	return view->base ? 0 : -EINVAL;
}

static int kit_texture_destroy(struct gsb_space *space, uint64_t handle, bool is_surface)
{
	views.n_destroyed += is_surface == views.is_surface;
	return handle == 4097 ? 0 : -EINVAL;
}

static uint64_t post_texture(struct kit_tenant *t, uint64_t base, bool is_surface)
{
	struct gsb_rec_texture_create b = {
		.ctx = kit_ctx(0), .is_surface = is_surface, .view.base = base};

	return post_and_settle(t, GSB_REC_TEXTURE_CREATE, &b, sizeof(b));
}

static uint64_t post_no_texture(struct kit_tenant *t, uint64_t handle, bool is_surface)
{
	struct gsb_rec_texture_destroy b = {
		.ctx = kit_ctx(0), .handle = handle, .is_surface = is_surface};

	return post_and_settle(t, GSB_REC_TEXTURE_DESTROY, &b, sizeof(b));
}

static void test_texture_is_refused_where_the_device_makes_none(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(kit_status_of(&f->a, post_texture(&f->a, 4096, false)),
			 CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(kit_status_of(&f->a, post_no_texture(&f->a, 4097, false)),
			 CUDA_ERROR_NOT_SUPPORTED);
}

static void test_texture_goes_when_the_work_before_is_done(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = alloc_granted(f, &f->a, MB), call;

	views.n_created = views.n_destroyed = 0;
	f->c.k.dev->ops.texture_create = kit_texture_create;
	f->c.k.dev->ops.texture_destroy = kit_texture_destroy;
	assert_int_equal(kit_status_of(&f->a, post_texture(&f->a, 4096, true)), CUDA_SUCCESS);
	assert_int_equal(((const struct gsb_reply_number *)kit_reply(&f->a))->number, 4097);
	assert_true(views.is_surface);
	assert_int_equal(kit_status_of(&f->a, post_texture(&f->a, 0, true)),
			 CUDA_ERROR_INVALID_VALUE);
	kit_fill(&f->a, 0, addr);
	call = post_no_texture(&f->a, 4097, true);
	kit_settle(&f->c.k);
	assert_false(kit_answered(&f->a, call));
	assert_int_equal(views.n_destroyed, 0);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 2000000);
	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_int_equal(views.n_destroyed, 1);
	assert_int_equal(kit_status_of(&f->a, post_no_texture(&f->a, 5, true)),
			 CUDA_ERROR_INVALID_VALUE);
}

#define memory_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

/* Nothing of the device's memory, but asked of it all the same. */
static void test_tensor_map_is_refused_where_the_device_makes_none(void **state)
{
	struct gsb_rec_tensor_map b = {.map = {.form = GSB_TENSOR_TILED, .rank = 1}};
	struct fixture *f = *state;
	uint64_t call = kit_post_call(&f->a, GSB_REC_TENSOR_MAP, &b, sizeof(b), NULL, 0);

	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		memory_test(test_alone_allocates_and_frees_without_a_message),
		memory_test(test_recall_returns_what_is_not_used_and_then_each_allocation_asks),
		memory_test(test_allocation_waits_for_its_answer_and_nothing_else_does),
		memory_test(test_refused_allocation_is_out_of_memory_and_the_next_one_asks),
		memory_test(test_freed_memory_is_returned_at_once),
		memory_test(test_free_serves_who_waits_before_it_is_returned),
		memory_test(test_recall_while_an_answer_is_on_its_way_asks_again),
		memory_test(test_engine_that_ends_says_what_it_uses_and_hears_no_more),
		memory_test(test_engine_that_ends_asks_for_nothing_more),
		memory_test(test_mem_info_says_what_gsbrokerd_says),
		memory_test(test_what_the_device_takes_is_asked_for_and_returned),
		memory_test(test_variables_of_a_module_are_asked_for_and_returned),
		memory_test(test_managed_variables_are_placed_in_pinned_memory),
		memory_test(test_managed_variables_are_placed_nowhere_else),
		memory_test(test_managed_variables_are_placed_once),
		memory_test(test_heap_of_kernels_is_charged_once_a_context),
		memory_test(test_tensor_map_is_refused_where_the_device_makes_none),
		memory_test(test_heap_size_is_free_until_a_module_needs_it),
		memory_test(test_array_is_memory_where_the_device_has_none),
		memory_test(test_array_of_the_device_counts_what_it_takes),
		memory_test(test_texture_is_refused_where_the_device_makes_none),
		memory_test(test_texture_goes_when_the_work_before_is_done),
		memory_test(test_heap_that_is_refused_stays_as_it_was),
		memory_test(test_module_that_is_refused_its_variables_is_unloaded_in_order),
		memory_test(test_context_that_ends_refuses_a_module_that_waits),
		memory_test(test_modules_past_code_memory_are_out_of_memory),
		memory_test(test_functions_past_code_memory_are_out_of_memory),
		memory_test(test_function_that_is_not_found_is_not_charged),
		memory_test(test_functions_of_an_unloaded_module_are_freed_in_turns),
		memory_test(test_functions_of_who_leaves_are_freed_in_turns),
		memory_test(test_modules_of_a_context_that_ends_are_unloaded_in_turns),
		memory_test(test_modules_of_who_leaves_are_unloaded_in_turns),
		memory_test(test_memory_of_who_has_gone_goes_without_the_engine),
		cmocka_unit_test(test_window_that_cannot_be_mapped_leaves_what_is_there),
		cmocka_unit_test(test_engine_that_ends_waits_for_what_is_unmapped),
		memory_test(test_kernel_that_takes_modules_past_code_memory_is_out_of_memory),
		memory_test(test_context_that_ends_answers_its_waiting_calls),
		memory_test(test_refusal_of_who_has_left_is_not_the_next_ones),
		memory_test(test_engine_that_ends_waits_for_no_answer),
		memory_test(test_full_socket_delays_and_adds_up),
		memory_test(test_export_waits_until_the_piece_is_granted),
		memory_test(test_export_of_a_piece_that_nobody_has_is_refused),
		memory_test(test_export_that_waits_ends_with_its_context),
		memory_test(test_export_that_comes_too_late_ends_with_its_context),
		cmocka_unit_test_setup_teardown(test_virtual_time_stands_still_while_a_call_waits,
						setup_virtual, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
