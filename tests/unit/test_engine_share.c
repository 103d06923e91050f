/*
 * test_engine_share.c - memory of one tenant in another one, in the engine: who holds it, in whose account it is, and who may open it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapping.h"
#include "shm/channel.h"
#include "tests/unit/engine_kit.h"

#define UNIT GSB_VIRTUAL_UNIT

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b, c;
};

static int setup(void **state)
{
	static const struct gsb_tenant_limits limits = {.device_mem_bytes = 8 * UNIT};
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_device_auto(f->k.dev);
	kit_tenant_init(&f->a, &f->k, &limits);
	kit_tenant_init(&f->b, &f->k, &limits);
	kit_tenant_init(&f->c, &f->k, &limits);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	kit_tenant_finish(&f->c);
	assert_int_equal(f->k.dev->n_backings, 0);
	assert_int_equal(f->k.engine->grant.used, 0);
	assert_null(f->k.engine->exports.all);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* ---- what tenants ask ---- */

static CUresult try_alloc(struct kit_tenant *t, uint64_t size, uint64_t *addr)
{
	const struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = size};
	const struct gsb_reply_range *r = kit_reply(t);
	CUresult result = kit_call(t, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0);

	if (!result)
		*addr = r->addr;
	return result;
}

static uint64_t allocate(struct kit_tenant *t, uint64_t size)
{
	uint64_t addr = 0;

	assert_int_equal(try_alloc(t, size, &addr), 0);
	return addr;
}

static CUresult free_at(struct kit_tenant *t, uint64_t addr)
{
	const struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};

	return kit_call(t, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
}

static CUresult export(struct kit_tenant *t, uint64_t addr, struct gsb_ipc_handle *out)
{
	const struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};
	const struct gsb_reply_ipc *r = kit_reply(t);
	CUresult result = kit_call(t, GSB_REC_MEM_EXPORT, &b, sizeof(b), NULL, 0);

	if (!result)
		*out = r->handle;
	return result;
}

static CUresult open_as(struct kit_tenant *t, const struct gsb_ipc_handle *h, uint64_t *addr)
{
	const struct gsb_rec_mem_open b = {.ctx = kit_ctx(0), .handle = *h};
	const struct gsb_reply_range *r = kit_reply(t);
	CUresult result = kit_call(t, GSB_REC_MEM_OPEN, &b, sizeof(b), NULL, 0);

	if (!result)
		*addr = r->addr;
	return result;
}

static uint64_t opened(struct kit_tenant *t, const struct gsb_ipc_handle *h)
{
	uint64_t addr = 0;

	assert_int_equal(open_as(t, h, &addr), 0);
	return addr;
}

static struct gsb_ipc_handle handle_of(struct kit_tenant *t, uint64_t addr)
{
	struct gsb_ipc_handle h = {0};

	assert_int_equal(export(t, addr, &h), 0);
	return h;
}

static uint64_t create(struct kit_tenant *t, uint64_t units)
{
	const struct gsb_rec_backing_create b = {.size = units * UNIT};
	const struct gsb_reply_number *n = kit_reply(t);

	assert_int_equal(kit_call(t, GSB_REC_BACKING_CREATE, &b, sizeof(b), NULL, 0), 0);
	return n->number;
}

static struct gsb_ipc_handle handle_of_backing(struct kit_tenant *t, uint64_t id)
{
	const struct gsb_rec_object b = {.handle = id};
	const struct gsb_reply_ipc *r = kit_reply(t);

	assert_int_equal(kit_call(t, GSB_REC_BACKING_EXPORT, &b, sizeof(b), NULL, 0), 0);
	return r->handle;
}

static CUresult open_backing(struct kit_tenant *t, const struct gsb_ipc_handle *h, uint64_t *id)
{
	const struct gsb_rec_ipc b = {.handle = *h};
	const struct gsb_reply_backing *r = kit_reply(t);
	CUresult result = kit_call(t, GSB_REC_BACKING_OPEN, &b, sizeof(b), NULL, 0);

	if (!result)
		*id = r->backing;
	return result;
}

static void destroy(struct kit_tenant *t, uint64_t id)
{
	const struct gsb_rec_object b = {.handle = id};

	assert_int_equal(kit_call(t, GSB_REC_BACKING_DESTROY, &b, sizeof(b), NULL, 0), 0);
}

static uint64_t used(const struct kit_tenant *t)
{
	return t->t->device_used_bytes;
}

static void end_ctx(struct kit_tenant *t)
{
	const struct gsb_rec_object b = {.handle = kit_ctx(0)};

	assert_int_equal(kit_call(t, GSB_REC_CTX_DESTROY, &b, sizeof(b), NULL, 0), 0);
}

/* ---- accounts ---- */

static void test_what_is_opened_is_in_its_owners_account(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, 6 * UNIT);
	struct gsb_ipc_handle h = handle_of(&f->a, at);

	opened(&f->b, &h);
	assert_int_equal(used(&f->a), 6 * UNIT);
	assert_int_equal(used(&f->b), 0);
	assert_int_equal(f->k.engine->grant.used, 6 * UNIT);
}

/* The account goes from one holder to the next, and what is granted stays so until the last has let go. */
static void test_account_goes_to_who_is_left(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, 6 * UNIT), b, c, more;
	struct gsb_ipc_handle h = handle_of(&f->a, at);

	b = opened(&f->b, &h);
	c = opened(&f->c, &h);
	allocate(&f->b, 4 * UNIT);
	assert_int_equal(free_at(&f->a, at), 0);
	assert_int_equal(used(&f->a), 0);
	assert_int_equal(used(&f->b), 10 * UNIT); /* more than it may have */
	assert_int_equal(try_alloc(&f->b, 1, &more), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(free_at(&f->b, b), 0);
	assert_int_equal(used(&f->b), 4 * UNIT);
	assert_int_equal(used(&f->c), 6 * UNIT);
	assert_int_equal(f->k.engine->grant.used, 10 * UNIT);
	assert_int_equal(f->k.dev->n_backings, 1);
	assert_int_equal(free_at(&f->c, c), 0);
	assert_int_equal(used(&f->c), 0);
	assert_int_equal(f->k.engine->grant.used, 4 * UNIT);
	assert_int_equal(f->k.dev->n_backings, 0);
}

static void test_account_goes_with_the_owners_death(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, 6 * UNIT));
	uint64_t at = opened(&f->b, &h);

	kit_tenant_die(&f->a);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(used(&f->b), 6 * UNIT);
	kit_fill(&f->b, 0, at);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 0), 1);
}

static void test_account_goes_with_the_owners_context(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, 6 * UNIT));

	allocate(&f->a, UNIT);
	opened(&f->b, &h);
	end_ctx(&f->a);
	assert_int_equal(used(&f->a), 0);
	assert_int_equal(used(&f->b), 6 * UNIT);
	assert_int_equal(f->k.engine->grant.used, 6 * UNIT);
	end_ctx(&f->b);
	assert_int_equal(used(&f->b), 0);
	assert_int_equal(f->k.engine->grant.used, 0);
}

/* What the device has in one piece is all that is kept by who opens a part of it. */
static void test_piece_that_is_more_counts_from_the_export_on(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, 256), b;
	struct gsb_ipc_handle h;

	f->k.dev->piece_bytes = UNIT;
	h = handle_of(&f->a, at);
	assert_int_equal(used(&f->a), UNIT + 256);
	b = opened(&f->b, &h);
	assert_int_equal(free_at(&f->a, at), 0);
	assert_int_equal(used(&f->a), 0);
	assert_int_equal(used(&f->b), UNIT);
	assert_int_equal(free_at(&f->b, b), 0);
	assert_int_equal(used(&f->b), 0);
	assert_int_equal(f->k.engine->grant.used, 0);
}

static void test_piece_that_is_too_much_is_not_exported(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, 256);
	struct gsb_ipc_handle h;

	f->k.dev->piece_bytes = 8 * UNIT;
	assert_int_equal(export(&f->a, at, &h), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(used(&f->a), 256);
	assert_int_equal(f->k.engine->grant.used, 256);
	assert_int_equal(f->k.dev->n_backings, 0);
}

/* ---- handles ---- */

static void test_memory_has_one_handle_as_long_as_it_is_there(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, UNIT), none;
	struct gsb_ipc_handle h = handle_of(&f->a, at), again = handle_of(&f->a, at), next;

	assert_memory_equal(&h, &again, sizeof(h));
	opened(&f->b, &h);
	assert_int_equal(free_at(&f->a, at), 0);
	assert_int_equal(open_as(&f->c, &h, &none), CUDA_ERROR_INVALID_VALUE);
	at = allocate(&f->a, UNIT);
	next = handle_of(&f->a, at);
	assert_int_not_equal(next.id, h.id);
	assert_memory_not_equal(next.secret, h.secret, sizeof(h.secret));
}

/* From the moment it is freed: it goes when the work before that is done. */
static void test_memory_that_is_being_freed_is_not_opened(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, UNIT), none, call;
	struct gsb_ipc_handle h = handle_of(&f->a, at);
	const struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = at};

	f->k.dev->automatic = false;
	kit_fill(&f->a, 0, at);
	call = kit_post_call(&f->a, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->a, call));
	assert_int_equal(open_as(&f->b, &h, &none), CUDA_ERROR_INVALID_VALUE);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 10);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->a, call));
}

static void test_handle_opens_what_it_is_of_alone(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle memory = handle_of(&f->a, allocate(&f->a, UNIT)),
			      backing = handle_of_backing(&f->a, create(&f->a, 1)), forged;
	uint64_t none;

	assert_int_equal(open_as(&f->b, &backing, &none), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(open_backing(&f->b, &memory, &none), CUDA_ERROR_INVALID_VALUE);
	forged = backing;
	forged.id = memory.id;
	assert_int_equal(open_as(&f->b, &forged, &none), CUDA_ERROR_INVALID_VALUE);
	forged = memory;
	forged.kind = GSB_IPC_BACKING;
	assert_int_equal(open_backing(&f->b, &forged, &none), CUDA_ERROR_INVALID_VALUE);
	for (unsigned bit = 0; bit < 128; bit++) {
		forged = memory;
		forged.secret[bit / 64] ^= 1ull << bit % 64;
		assert_int_equal(open_as(&f->b, &forged, &none), CUDA_ERROR_INVALID_VALUE);
	}
	opened(&f->b, &memory);
}

/* Another engine's is said to be that. */
static void test_memory_of_another_engine_is_not_opened(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, UNIT));
	uint64_t none;

	h.id++;
	assert_int_equal(open_as(&f->b, &h, &none), CUDA_ERROR_INVALID_VALUE);
	h.pid++;
	assert_int_equal(open_as(&f->b, &h, &none), CUDA_ERROR_MAP_FAILED);
	h.kind = GSB_IPC_BACKING;
	assert_int_equal(open_backing(&f->b, &h, &none), CUDA_ERROR_MAP_FAILED);
}

static void test_own_memory_is_not_opened(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, UNIT));
	uint64_t none;

	assert_int_equal(open_as(&f->a, &h, &none), CUDA_ERROR_INVALID_CONTEXT);
}

/* Another thread of a program may have freed it in between: nobody is cut off. */
static void test_export_of_nothing_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, UNIT), b;
	struct gsb_ipc_handle h;

	assert_int_equal(export(&f->a, at + 256, &h), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(free_at(&f->a, at), 0);
	assert_int_equal(export(&f->a, at, &h), CUDA_ERROR_INVALID_VALUE);
	h = handle_of(&f->a, allocate(&f->a, UNIT));
	b = opened(&f->b, &h);
	assert_int_equal(export(&f->b, b, &h), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(f->k.engine->n_cut, 0);
}

static void test_what_the_device_refuses_is_told(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, UNIT), none;
	struct gsb_ipc_handle h;

	f->k.dev->backing_err = -ENOTSUP;
	assert_int_equal(export(&f->a, at, &h), CUDA_ERROR_NOT_SUPPORTED);
	f->k.dev->backing_err = 0;
	h = handle_of(&f->a, at);
	f->k.dev->backing_err = -ENOMEM;
	assert_int_equal(open_as(&f->b, &h, &none), CUDA_ERROR_OUT_OF_MEMORY);
	f->k.dev->backing_err = 0;
	opened(&f->b, &h);
}

/* ---- what was opened ---- */

/* Of it a record may name what was exported, and nothing of what else is in the piece. */
static void test_opened_memory_is_what_was_exported(void **state)
{
	struct fixture *f = *state;
	uint64_t at = allocate(&f->a, 256), b;
	struct gsb_ipc_handle h;

	f->k.dev->piece_bytes = UNIT;
	h = handle_of(&f->a, at);
	b = opened(&f->b, &h);
	assert_int_equal(b % UNIT, UNIT - 256); /* where it is in the piece */
	kit_fill(&f->b, 0, b);
	kit_fill(&f->b, 0, b + 252);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 0), 2);
	kit_fill(&f->b, 0, b - 4);
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->n_cut, 1);
}

static void test_opened_memory_is_not_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, UNIT));
	const struct gsb_rec_mem_keep keep = {
		.ctx = kit_ctx(0), .addr = opened(&f->b, &h), .number = 2, .index = 0};

	kit_post(&f->b, GSB_REC_MEM_KEEP, 0, &keep, sizeof(keep), NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(f->k.engine->n_cut, 1);
}

static void test_each_opening_is_its_own(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, UNIT));
	uint64_t first = opened(&f->b, &h), second = opened(&f->b, &h);

	assert_int_not_equal(first, second);
	assert_int_equal(free_at(&f->b, first), 0);
	kit_fill(&f->b, 0, second);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->b, 0), 1);
}

static void test_one_opens_no_more_than_the_engine_can_bear(void **state)
{
	struct fixture *f = *state;
	struct gsb_ipc_handle h = handle_of(&f->a, allocate(&f->a, 256));
	uint64_t at = 0, n = 0;

	while (n < 10000 && !open_as(&f->b, &h, &at))
		n++;
	assert_int_equal(n, 8192);
	assert_int_equal(free_at(&f->b, at), 0);
	opened(&f->b, &h);
	opened(&f->c, &h); /* another one has its own */
}

/* ---- memory without an address ---- */

static void test_backing_is_in_the_account_of_who_is_left(void **state)
{
	struct fixture *f = *state;
	uint64_t a = create(&f->a, 6), b = 0, own = 0;
	struct gsb_ipc_handle h = handle_of_backing(&f->a, a);

	assert_int_equal(open_backing(&f->a, &h, &own), 0);
	assert_int_equal(open_backing(&f->b, &h, &b), 0);
	assert_int_equal(used(&f->a), 6 * UNIT);
	assert_int_equal(used(&f->b), 0);
	destroy(&f->b, b);
	assert_int_equal(used(&f->a), 6 * UNIT);
	assert_int_equal(used(&f->b), 0);
	assert_int_equal(open_backing(&f->b, &h, &b), 0);
	destroy(&f->a, a);
	assert_int_equal(used(&f->a), 6 * UNIT);
	destroy(&f->a, own);
	assert_int_equal(used(&f->a), 0);
	assert_int_equal(used(&f->b), 6 * UNIT);
	assert_int_equal(open_backing(&f->c, &h, &own), 0); /* as long as anybody has it */
	kit_tenant_die(&f->b);
	kit_settle(&f->k);
	assert_int_equal(used(&f->c), 6 * UNIT);
	destroy(&f->c, own);
	assert_int_equal(f->k.engine->grant.used, 0);
	assert_int_equal(open_backing(&f->c, &h, &own), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_what_is_opened_is_in_its_owners_account),
		TEST(test_account_goes_to_who_is_left),
		TEST(test_account_goes_with_the_owners_death),
		TEST(test_account_goes_with_the_owners_context),
		TEST(test_piece_that_is_more_counts_from_the_export_on),
		TEST(test_piece_that_is_too_much_is_not_exported),
		TEST(test_memory_has_one_handle_as_long_as_it_is_there),
		TEST(test_memory_that_is_being_freed_is_not_opened),
		TEST(test_handle_opens_what_it_is_of_alone),
		TEST(test_memory_of_another_engine_is_not_opened),
		TEST(test_own_memory_is_not_opened),
		TEST(test_export_of_nothing_is_refused),
		TEST(test_what_the_device_refuses_is_told),
		TEST(test_opened_memory_is_what_was_exported),
		TEST(test_opened_memory_is_not_kept),
		TEST(test_each_opening_is_its_own),
		TEST(test_one_opens_no_more_than_the_engine_can_bear),
		TEST(test_backing_is_in_the_account_of_who_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
