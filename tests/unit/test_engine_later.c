/*
 * test_engine_later.c - a device that answers later: whose calls wait, who goes on meanwhile, and what becomes of those that end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/memory/memory.h"
#include "tests/unit/engine_kit.h"

#define PAGE 4096

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b; /* a's part of the device is silent at times */
};

/* ---- the device ---- */

static struct gsb_device_ops real;
static const struct gsb_tenant *silent; /* whose it is */
static unsigned n_asked;

static bool is_silent(bool is_of_silent)
{
	n_asked += silent && is_of_silent;
	return silent && is_of_silent;
}

static bool is_space_of_silent(const struct gsb_space *space)
{
	for (uint32_t i = 0; silent && i < GSB_N_CTXS; i++)
		if (silent->ctxs[i] && silent->ctxs[i]->space == space)
			return true;
	return silent && silent->making && silent->making->space == space;
}

static int late_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
			     struct gsb_space **out)
{
	return is_silent(silent && p->owner == gsb_tenant_owner(silent))
		       ? -EINPROGRESS
		       : real.space_create(dev, p, out);
}

static int late_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	return is_silent(is_space_of_silent(space)) ? -EINPROGRESS
						    : real.mem_alloc(space, size, addr);
}

static int late_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	return is_silent(is_space_of_silent(space)) ? -EINPROGRESS
						    : real.host_pin(space, addr, size);
}

static int late_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now)
{
	return is_silent(is_space_of_silent(space)) ? -EINPROGRESS
						    : real.heap_size(space, bytes, now);
}

static int late_backing_create(struct gsb_device *dev, uint64_t owner, uint64_t size,
			       struct gsb_backing **out)
{
	return is_silent(silent && owner == gsb_tenant_owner(silent))
		       ? -EINPROGRESS
		       : real.backing_create(dev, owner, size, out);
}

static int late_backing_of_host(struct gsb_device *dev, uint64_t owner, int fd, uint64_t at,
				uint64_t size, struct gsb_backing **out)
{
	return is_silent(silent && owner == gsb_tenant_owner(silent))
		       ? -EINPROGRESS
		       : real.backing_of_host(dev, owner, fd, at, size, out);
}

static int late_function_name(struct gsb_module *m, unsigned i, const char **name)
{
	return is_silent(true) ? -EINPROGRESS : real.function_name(m, i, name);
}

static int late_global_get(struct gsb_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	return is_silent(true) ? -EINPROGRESS : real.global_get(m, name, addr, size);
}

static bool is_settled(struct gsb_device *dev, uint64_t owner)
{
	return !is_silent(silent && owner == gsb_tenant_owner(silent));
}

static void make_late(struct kit_device *d)
{
	silent = NULL;
	n_asked = 0;
	real = d->ops;
	d->ops.space_create = late_space_create;
	d->ops.mem_alloc = late_mem_alloc;
	d->ops.host_pin = late_host_pin;
	d->ops.heap_size = late_heap_size;
	d->ops.backing_create = late_backing_create;
	d->ops.backing_of_host = late_backing_of_host;
	d->ops.function_name = late_function_name;
	d->ops.global_get = late_global_get;
	d->ops.is_settled = is_settled;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	kit_engine_init(&f->k, false);
	kit_device_auto(f->k.dev);
	make_late(f->k.dev);
	kit_tenant_init(&f->a, &f->k, NULL);
	kit_tenant_init(&f->b, &f->k, NULL);
	kit_load_inc(&f->a, 0, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	assert_int_equal(f->k.dev->used_bytes, 0);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* ---- the calls ---- */

static const struct call {
	enum gsb_rec_type type;
	union {
		struct gsb_rec_ctx_create ctx;
		struct gsb_rec_mem_alloc alloc;
		struct gsb_rec_host_mirror mirror;
		struct gsb_rec_kernel_memory heap;
		struct gsb_rec_object object;
		struct gsb_rec_function_name name;
		struct gsb_rec_global_get global;
	};
	uint32_t bytes;
	const char *tail;
	CUresult result;
} calls[] = {
	{GSB_REC_CTX_CREATE, .ctx = {kit_ctx(1), kit_stream(9), 0, 0},
	 sizeof(struct gsb_rec_ctx_create), NULL, CUDA_SUCCESS},
	{GSB_REC_MEM_ALLOC, .alloc = {kit_ctx(0), PAGE, 0, 0}, sizeof(struct gsb_rec_mem_alloc),
	 NULL, CUDA_SUCCESS},
	{GSB_REC_HOST_ALLOC, .alloc = {kit_ctx(0), PAGE, 0, 0}, sizeof(struct gsb_rec_mem_alloc),
	 NULL, CUDA_SUCCESS},
	{GSB_REC_HOST_MIRROR, .mirror = {kit_ctx(0), PAGE, {0}}, sizeof(struct gsb_rec_host_mirror),
	 NULL, CUDA_SUCCESS},
	{GSB_REC_KERNEL_MEMORY, .heap = {kit_ctx(0), 1 << 20, GSB_KERNEL_HEAP, 0},
	 sizeof(struct gsb_rec_kernel_memory), NULL, CUDA_SUCCESS},
	{GSB_REC_KERNEL_MEMORY, .heap = {kit_ctx(0), 2048, GSB_KERNEL_STACK, 0},
	 sizeof(struct gsb_rec_kernel_memory), NULL, CUDA_SUCCESS},
	{GSB_REC_BACKING_CREATE, .object = {GSB_VIRTUAL_UNIT}, sizeof(struct gsb_rec_object), NULL,
	 CUDA_SUCCESS},
	{GSB_REC_BACKING_OF_HOST, .object = {GSB_VIRTUAL_UNIT}, sizeof(struct gsb_rec_object), NULL,
	 CUDA_SUCCESS},
	{GSB_REC_FUNCTION_NAME, .name = {kit_module(0), 0}, sizeof(struct gsb_rec_function_name),
	 NULL, CUDA_SUCCESS},
	{GSB_REC_GLOBAL_GET, .global = {kit_module(0), 7, 0}, sizeof(struct gsb_rec_global_get),
	 "nothing", CUDA_ERROR_NOT_FOUND},
	{GSB_REC_MEM_INFO, .object = {kit_ctx(0)}, sizeof(struct gsb_rec_object), NULL,
	 CUDA_SUCCESS},
};

static uint64_t post(struct fixture *f, const struct call *c)
{
	return kit_post_call(&f->a, c->type, &c->ctx, c->bytes, c->tail,
			     c->tail ? (uint32_t)strlen(c->tail) : 0);
}

/* All that comes later for a is its own matter: b allocates, works and is told, in the same turns. */
static void expect_b_goes_on(struct fixture *f)
{
	uint64_t addr = kit_alloc(&f->b, PAGE), done = kit_done(&f->b, 0);

	kit_fill(&f->b, 0, addr);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 0), done + 1);
}

static void test_call_that_comes_later_waits_alone(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		uint64_t call;

		silent = f->a.t;
		call = post(f, &calls[i]);
		kit_settle(&f->k);
		assert_false(kit_answered(&f->a, call));
		expect_b_goes_on(f);
		assert_false(kit_answered(&f->a, call));
		silent = NULL;
		kit_settle(&f->k);
		assert_true(kit_answered(&f->a, call));
		assert_int_equal(kit_status_of(&f->a, call), calls[i].result);
	}
	assert_true(n_asked > 2 * sizeof(calls) / sizeof(calls[0]));
}

/* A context that ends waits for what it has asked for, and so does its answer. */
static void test_context_ends_behind_what_comes_later(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_object ctx = {kit_ctx(0)};
	uint64_t alloc, end;

	silent = f->a.t;
	alloc = kit_post_alloc(&f->a, PAGE);
	end = kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &ctx, sizeof(ctx), NULL, 0);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->a, alloc));
	assert_false(kit_answered(&f->a, end));
	silent = NULL;
	kit_settle(&f->k);
	assert_true(kit_answered(&f->a, end));
}

/* Who dies meanwhile leaves nothing: teardown looks. */
static void test_tenant_that_dies_waits_for_what_comes_later(void **state)
{
	struct fixture *f = *state;

	silent = f->a.t;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		post(f, &calls[i]);
	kit_settle(&f->k);
	kit_tenant_die(&f->a);
	kit_settle(&f->k);
	expect_b_goes_on(f);
	assert_false(kit_tenant_is_gone(&f->a));
	silent = NULL;
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->a));
}

/* One context more, and memory that is pinned: what is pinned is pinned in all of them. */
static void test_context_that_comes_later_has_what_was_pinned_meanwhile(void **state)
{
	struct fixture *f = *state;
	uint64_t made, pinned;

	silent = f->a.t;
	made = post(f, &calls[0]);
	pinned = post(f, &calls[2]);
	kit_settle(&f->k);
	assert_ptr_equal(f->a.t->pinning, f->k.engine->laters.first);
	silent = NULL;
	kit_settle(&f->k);
	assert_true(kit_answered(&f->a, made));
	assert_true(kit_answered(&f->a, pinned));
	assert_null(f->a.t->pinning);
	assert_null(f->a.t->making);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_call_that_comes_later_waits_alone),
		CASE(test_context_ends_behind_what_comes_later),
		CASE(test_tenant_that_dies_waits_for_what_comes_later),
		CASE(test_context_that_comes_later_has_what_was_pinned_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
