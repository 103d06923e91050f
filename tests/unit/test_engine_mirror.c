/*
 * test_engine_mirror.c - pinned memory whose first or last page is one that its tenant has already: what is seen where, who is told, and that the
 * numbers have pages of their own again before anybody else has them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/region.h"
#include "tests/unit/engine_kit.h"

#define PAGE   GSB_WINDOW_PAGE
#define WINDOW (64 * PAGE)

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b;
};

/* What is said to who maps the window, too. */
static struct {
	_Atomic unsigned n, n_prepared;
	uint64_t owner, addr[8], from[8];
	int fd;
	unsigned fails_at; /* counted from 1; 0: never */
	bool of_engine;	   /* its thread has called */
	pthread_t engine;
} told;

static int note_page(struct gsb_device *dev, uint64_t owner, int fd, uint64_t addr, uint64_t from)
{
	(void)dev;
	told.owner = owner;
	told.fd = fd;
	told.addr[told.n] = addr;
	told.from[told.n] = from;
	told.of_engine |= pthread_equal(pthread_self(), told.engine);
	return ++told.n == told.fails_at ? -EOWNERDEAD : 0;
}

static void note_prepared(struct gsb_device *dev, uint64_t owner, uint64_t addr, uint64_t size)
{
	(void)dev;
	(void)owner;
	(void)addr;
	(void)size;
	told.n_prepared++;
}

static int start(void **state, bool is_mapped_by_others)
{
	static const struct gsb_tenant_limits limits = {.host_mem_bytes = WINDOW};
	const struct gsb_engine_params p = {.policy = &gsb_policy_fifo, .gate_timeout_ns = 1000000};
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	told.n = told.n_prepared = told.fails_at = 0;
	told.of_engine = false;
	told.engine = pthread_self();
	f->k = (struct kit_engine){.dev = kit_device_create(false), .next_id = 1};
	if (is_mapped_by_others) {
		f->k.dev->ops.host_prepare = note_prepared;
		f->k.dev->ops.host_page = note_page;
	}
	assert_int_equal(gsb_engine_create(&f->k.dev->base, &p, &f->k.engine), 0);
	kit_tenant_init(&f->a, &f->k, &limits);
	kit_tenant_init(&f->b, &f->k, &limits);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return start(state, false);
}

static int setup_mapped_by_others(void **state)
{
	return start(state, true);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

static CUresult make(struct kit_tenant *t, uint64_t pages, uint64_t first, uint64_t last,
		     uint64_t *addr)
{
	const struct gsb_rec_host_mirror b = {
		.ctx = kit_ctx(0), .size = pages * PAGE, .shared = {first, last}};
	uint64_t call = kit_post_call(t, GSB_REC_HOST_MIRROR, &b, sizeof(b), NULL, 0);

	kit_settle(t->kit);
	*addr = ((const struct gsb_reply_range *)kit_reply(t))->addr;
	return kit_status_of(t, call);
}

static uint64_t made(struct kit_tenant *t, uint64_t pages, uint64_t first, uint64_t last)
{
	uint64_t addr;

	assert_int_equal(make(t, pages, first, last, &addr), CUDA_SUCCESS);
	return addr;
}

static void end(struct kit_tenant *t, uint64_t addr)
{
	const struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};

	assert_int_equal(kit_call(t, GSB_REC_HOST_FREE, &b, sizeof(b), NULL, 0), CUDA_SUCCESS);
	kit_settle(t->kit);
}

static _Atomic uint32_t *word(uint64_t addr)
{
	return (_Atomic uint32_t *)(uintptr_t)addr;
}

static bool are_one(uint64_t a, uint64_t b)
{
	static uint32_t n = 1;

	*word(a) = ++n;
	*word(b) = ++n;
	return *word(a) == n;
}

static void test_ends_are_others_pages(void **state)
{
	struct fixture *f = *state;
	uint64_t low = made(&f->a, 3, 0, 0), high = made(&f->a, 2, 0, 0);
	uint64_t between = made(&f->a, 3, low + 2 * PAGE, high);

	assert_true(are_one(between, low + 2 * PAGE));
	assert_true(are_one(between + 2 * PAGE, high));
	assert_false(are_one(between + PAGE, low + PAGE));
	assert_false(are_one(between, low + PAGE));
	assert_false(are_one(between + 2 * PAGE, high + PAGE));
	assert_int_equal(f->a.t->host_used_bytes, 8 * PAGE);
	end(&f->a, between);
	assert_int_equal(f->a.t->host_used_bytes, 5 * PAGE);
	assert_false(are_one(between, low + 2 * PAGE));
	assert_false(are_one(between + 2 * PAGE, high));
	end(&f->a, high);
	end(&f->a, low);
}

/* One page, and all that it names is there: its first page is its last. */
static void test_one_page(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 1, 0, 0), same = made(&f->a, 1, other, 0), addr;

	assert_true(are_one(same, other));
	assert_int_equal(make(&f->a, 1, other, other, &addr), CUDA_ERROR_INVALID_VALUE);
	end(&f->a, same);
	assert_false(are_one(same, other));
	assert_int_equal(f->a.t->host_aliases.n_items, 0);
}

/* Whoever has the numbers next has zeroed pages of his own there. */
static void test_numbers_are_used_again(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 1, 0, 0), all;

	*word(other) = 77;
	for (unsigned i = 0; i < 200; i++)
		end(&f->a, made(&f->a, 2 + i % 3, i % 2 ? other : 0, i % 2 ? 0 : other));
	all = made(&f->a, WINDOW / PAGE - 1, 0, 0);
	for (unsigned i = 0; i < WINDOW / PAGE - 1; i++) {
		assert_int_equal(*word(all + i * PAGE), 0);
		*word(all + i * PAGE) = i + 100;
	}
	assert_int_equal(*word(other), 77);
	for (unsigned i = 0; i < WINDOW / PAGE - 1; i++)
		assert_int_equal(*word(all + i * PAGE), i + 100);
}

static void test_what_is_not_its_own_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t own = made(&f->a, 2, 0, 0), others = made(&f->b, 2, 0, 0), addr;
	const struct gsb_rec_host_mirror half = {.ctx = kit_ctx(0), .size = 100, .shared = {own}};

	assert_int_equal(make(&f->a, 2, others, 0, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(make(&f->a, 2, 0, others, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(make(&f->a, 2, own + 8, 0, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(make(&f->a, 2, own + 2 * PAGE, 0, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(make(&f->a, 0, own, 0, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(kit_call(&f->a, GSB_REC_HOST_MIRROR, &half, sizeof(half), NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(make(&f->a, WINDOW / PAGE, own, 0, &addr), CUDA_ERROR_OUT_OF_MEMORY);
	end(&f->a, own);
	assert_int_equal(make(&f->a, 2, own, 0, &addr), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(f->a.t->host_used_bytes, 0);
	assert_false(kit_tenant_is_gone(&f->a));
}

/* As an allocation without such pages. */
static void test_of_no_context_cuts_off(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_host_mirror b = {.ctx = kit_ctx(9), .size = PAGE};

	kit_post_call(&f->a, GSB_REC_HOST_MIRROR, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_false(kit_tenant_is_gone(&f->b));
}

/* A thread tells it, before it is made ready and before the numbers are another's; by offsets in the file. */
static void test_who_maps_the_window_too_is_told(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 2, 0, 0), shared;
	const uint64_t base = gsb_host_window_base(f->a.t->slot);

	assert_int_equal(told.n, 0);
	shared = made(&f->a, 3, other + PAGE, other);
	assert_int_equal(told.n_prepared, 2);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.owner, gsb_tenant_owner(f->a.t));
	assert_int_equal(told.fd, f->a.t->host_fd);
	assert_int_equal(told.addr[0], shared);
	assert_int_equal(told.from[0], other + PAGE - base);
	assert_int_equal(told.addr[1], shared + 2 * PAGE);
	assert_int_equal(told.from[1], other - base);
	end(&f->a, shared);
	assert_int_equal(told.n, 4);
	assert_int_equal(told.addr[2], shared);
	assert_int_equal(told.from[2], shared - base);
	assert_int_equal(told.addr[3], shared + 2 * PAGE);
	assert_int_equal(told.from[3], shared + 2 * PAGE - base);
	assert_false(told.of_engine);
}

/* It is not made ready either, and nothing of it stays. */
static void test_who_maps_the_window_too_cannot(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 2, 0, 0), addr;

	told.fails_at = 2;
	assert_int_not_equal(make(&f->a, 3, other, other + PAGE, &addr), CUDA_SUCCESS);
	assert_int_equal(told.n_prepared, 1);
	assert_int_equal(told.n, 4); /* both are its own again */
	assert_int_equal(f->a.t->host_aliases.n_items, 0);
	assert_int_equal(f->a.t->host_used_bytes, 2 * PAGE);
	end(&f->a, made(&f->a, 3, other, other + PAGE));
}

/* Numbers at which somebody else may see others' pages are nobody's any more. */
static void test_numbers_that_cannot_be_had_back_are_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 1, 0, 0), addr;

	addr = made(&f->a, 2, other, 0);
	told.fails_at = 2;
	end(&f->a, addr);
	assert_non_null(gsb_ranges_find(&f->a.t->host_taken, addr));
	assert_int_equal(f->a.t->host_aliases.n_items, 1);
	assert_int_equal(f->a.t->host_used_bytes, PAGE);
	assert_int_equal(make(&f->a, WINDOW / PAGE - 1, 0, 0, &addr), CUDA_ERROR_OUT_OF_MEMORY);
}

static unsigned n_moved;

void *mremap(void *at, size_t size, size_t new_size, int flags, ...)
{
	va_list args;
	void *to, *moved;

	va_start(args, flags);
	to = va_arg(args, void *);
	va_end(args);
	moved = (void *)syscall(SYS_mremap, at, size, new_size, flags, to);
	n_moved += moved != MAP_FAILED;
	return moved;
}

/* In one piece, as one without aliases: only so it can be moved out of the way (gsb_window_move). */
static void test_window_of_who_leaves_is_whole(void **state)
{
	struct fixture *f = *state;
	uint64_t other = made(&f->a, 3, 0, 0), base = gsb_host_window_base(f->a.t->slot);

	made(&f->a, 2, other + PAGE, 0);
	made(&f->a, 2, 0, other + 2 * PAGE);
	assert_null(gsb_window_move(base, WINDOW));
	n_moved = 0;
	kit_tenant_die(&f->a);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(n_moved, 1);
}

int main(void)
{
#define CASE(f)	  cmocka_unit_test_setup_teardown(f, setup, teardown)
#define OTHERS(f) cmocka_unit_test_setup_teardown(f, setup_mapped_by_others, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_ends_are_others_pages),
		CASE(test_one_page),
		CASE(test_numbers_are_used_again),
		CASE(test_what_is_not_its_own_is_refused),
		CASE(test_of_no_context_cuts_off),
		OTHERS(test_who_maps_the_window_too_is_told),
		OTHERS(test_who_maps_the_window_too_cannot),
		OTHERS(test_numbers_that_cannot_be_had_back_are_kept),
		CASE(test_window_of_who_leaves_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
