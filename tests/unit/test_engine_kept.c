/*
 * test_engine_kept.c - the engine and memory that tenants keep when they free it: it counts, nothing names it, it is had again
 * by a record, and it goes back before anybody is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/engine/memory/kept.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/memory/puncher.h"
#include "tests/unit/control_kit.h"

#define MB (1ull << 20)

/* The device has 1,024 MiB. Two tenants with a context each, of which a may have 100 MiB, and 8 of pinned memory. */
struct fixture {
	struct kit_control c;
	struct kit_tenant a, b;
	uint64_t last_number;
};

static int setup(void **state)
{
	const struct gsb_tenant_limits limits = {.device_mem_bytes = 100 * MB,
						 .host_mem_bytes = 8 * MB};
	struct fixture *f = calloc(1, sizeof(*f));

	kit_control_init(&f->c, false);
	kit_tenant_init(&f->a, &f->c.k, &limits);
	kit_tenant_init(&f->b, &f->c.k, NULL);
	*state = f;
	return 0;
}

/* The engine has all of the device. */
static int setup_alone(void **state)
{
	struct fixture *f;

	setup(state);
	f = *state;
	kit_control_grant_all(&f->c);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	kit_control_finish(&f->c);
	free(f);
	return 0;
}

/* ---- a library's part ---- */

static struct gsb_rec_mem_keep keep_body(struct fixture *f, uint32_t index, uint64_t addr)
{
	return (struct gsb_rec_mem_keep){
		.ctx = kit_ctx(0), .addr = addr, .number = f->last_number += 2, .index = index};
}

static void post(struct kit_tenant *t, enum gsb_rec_type type, const struct gsb_rec_mem_keep *b)
{
	kit_post(t, type, 0, b, sizeof(*b), NULL, 0);
	kit_settle(t->kit);
}

static struct gsb_rec_mem_keep keep(struct fixture *f, struct kit_tenant *t, uint32_t index,
				    uint64_t addr)
{
	struct gsb_rec_mem_keep b = keep_body(f, index, addr);

	t->region->kept[index] = b.number;
	post(t, GSB_REC_MEM_KEEP, &b);
	assert_false(kit_tenant_is_gone(t));
	return b;
}

static void take(struct kit_tenant *t, const struct gsb_rec_mem_keep *b)
{
	t->region->kept[b->index] = 0;
	post(t, GSB_REC_MEM_TAKE, b);
	assert_false(kit_tenant_is_gone(t));
}

static bool is_kept(const struct kit_tenant *t, const struct gsb_rec_mem_keep *b)
{
	uint64_t word = t->region->kept[b->index];

	assert_true(word == b->number || word == (b->number | GSB_KEPT_GONE));
	return word == b->number;
}

static uint64_t free_bytes(struct kit_tenant *t)
{
	const struct gsb_reply_mem_info *info = kit_reply(t);
	struct gsb_rec_ctx ctx = {.ctx = kit_ctx(0)};

	assert_int_equal(kit_call(t, GSB_REC_MEM_INFO, &ctx, sizeof(ctx), NULL, 0), CUDA_SUCCESS);
	return info->free_bytes;
}

/* It is told so; the engine has forgotten it. */
static void expect_cut(struct kit_tenant *t, const char *why)
{
	struct gsb_msg_cut m;

	assert_int_not_equal(t->region->header.fatal, 0);
	assert_int_equal(gsb_channel_recv(t->socket, &m, sizeof(m), NULL, NULL), sizeof(m));
	assert_int_equal(m.msg.type, GSB_MSG_CUT);
	if (!strstr(m.reason, why))
		fail_msg("\"%s\" does not say \"%s\"", m.reason, why);
}

/* ---- kept and taken ---- */

static uint64_t have_of_engine;

static void have(struct gsb_ctx *ctx, uint64_t addr)
{
	have_of_engine = addr;
}

/* Whether the engine gets so much for itself. */
static bool of_engine(struct gsb_ctx *ctx, uint64_t size)
{
	gsb_memory_of_engine(ctx, size, have);
	return have_of_engine;
}

static void test_kept_memory_is_had_again_without_the_device(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	uint64_t addr;

	addr = kit_alloc(&f->a, 10 * MB);
	for (int i = 0; i < 3; i++) {
		b = keep(f, &f->a, 7, addr);
		assert_int_equal(f->c.k.dev->used_bytes, 10 * MB);
		assert_int_equal(f->a.t->device_used_bytes, 10 * MB);
		take(&f->a, &b);
	}
	kit_device_auto(f->c.k.dev);
	kit_fill(&f->a, 0, addr + 10 * MB - 4);
	kit_settle(&f->c.k);
	assert_int_equal(f->a.region->header.fatal, 0);
	assert_int_equal(f->a.t->device_used_bytes, 10 * MB);
}

static void test_kept_memory_is_nobodys_to_name(void **state)
{
	struct fixture *f = *state;
	uint64_t addr;

	addr = kit_alloc(&f->a, MB);
	keep(f, &f->a, 0, addr);
	kit_fill(&f->a, 0, addr);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&f->a, "not its own");
}

static void test_kept_memory_cannot_be_freed_again(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0)};

	b.addr = kit_alloc(&f->a, MB);
	keep(f, &f->a, 0, b.addr);
	kit_post(&f->a, GSB_REC_MEM_FREE, 0, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&f->a, "no allocation begins");
}

static void test_kept_memory_counts_as_free_to_who_asks(void **state)
{
	struct fixture *f = *state;
	uint64_t addr;

	addr = kit_alloc(&f->a, 10 * MB);
	assert_int_equal(free_bytes(&f->a), 90 * MB);
	assert_int_equal(free_bytes(&f->b), 1014 * MB);
	keep(f, &f->a, 0, addr);
	assert_int_equal(free_bytes(&f->a), 100 * MB);
	assert_int_equal(free_bytes(&f->b), 1024 * MB);
}

/* ---- given back ---- */

static void test_limit_is_not_reached_by_what_is_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;

	for (unsigned i = 0; i < 4; i++)
		b = keep(f, &f->a, i, kit_alloc(&f->a, 15 * MB));
	kit_alloc(&f->a, 30 * MB);
	assert_true(is_kept(&f->a, &b));
	kit_alloc(&f->a, 50 * MB);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->device_used_bytes, 80 * MB);
	assert_int_equal(f->c.k.dev->used_bytes, 80 * MB);
	assert_int_equal(kit_status_of(&f->a, kit_post_alloc(&f->a, 30 * MB)),
			 CUDA_ERROR_OUT_OF_MEMORY);
}

/* A limit that has become lower is no reason to lose more than what is above it, and what is kept goes first. */
static void test_lower_limit_takes_back_what_is_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_tenant_limits limits = {.device_mem_bytes = 30 * MB};
	struct gsb_rec_mem_keep b;

	b = keep(f, &f->a, 3, kit_alloc(&f->a, 16 * MB));
	kit_alloc(&f->a, 10 * MB);
	gsb_tenant_relimit(f->a.t, &limits);
	assert_true(is_kept(&f->a, &b));
	limits.device_mem_bytes = 20 * MB;
	gsb_tenant_relimit(f->a.t, &limits);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->device_used_bytes, 10 * MB);
}

/* Both have some, and one of them asks for nearly all. */
static void test_nobody_is_refused_before_all_reserves_are_given_back(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep of_a, of_b;

	of_a = keep(f, &f->a, 0, kit_alloc(&f->a, 16 * MB));
	of_b = keep(f, &f->b, 0, kit_alloc(&f->b, 16 * MB));
	kit_alloc(&f->b, 1010 * MB);
	assert_false(is_kept(&f->a, &of_a));
	assert_false(is_kept(&f->b, &of_b));
	assert_int_equal(f->c.k.dev->used_bytes, 1010 * MB);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	assert_int_equal(kit_status_of(&f->a, kit_post_alloc(&f->a, 15 * MB)),
			 CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_taken_memory_is_not_given_back(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	uint64_t addr;

	addr = kit_alloc(&f->a, 16 * MB);
	b = keep(f, &f->a, 0, addr);
	f->a.region->kept[0] = 0; /* its record is to come */
	assert_int_equal(kit_status_of(&f->b, kit_post_alloc(&f->b, 1010 * MB)),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(f->a.region->kept[0], 0);
	take(&f->a, &b);
	kit_device_auto(f->c.k.dev);
	kit_fill(&f->a, 0, addr);
	kit_settle(&f->c.k);
	assert_int_equal(f->a.region->header.fatal, 0);
}

/* Who keeps what is being worked with, against the rule, has it until the work is done; the kit's device sees to that as well. */
static void test_memory_under_work_is_not_given_back(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	uint64_t addr;

	addr = kit_alloc(&f->a, 16 * MB);
	kit_fill(&f->a, 0, addr);
	b = keep(f, &f->a, 0, addr);
	assert_int_equal(kit_status_of(&f->b, kit_post_alloc(&f->b, 1010 * MB)),
			 CUDA_ERROR_OUT_OF_MEMORY);
	take(&f->a, &b);
	b = keep(f, &f->a, 0, addr);
	assert_int_equal(kit_status_of(&f->b, kit_post_alloc(&f->b, 1010 * MB)),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_true(is_kept(&f->a, &b));
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 2000000);
	kit_settle(&f->c.k);
	kit_alloc(&f->b, 1010 * MB);
	assert_false(is_kept(&f->a, &b));
}

static void test_memory_that_is_not_taken_for_long_is_given_back(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep idle, used;
	uint64_t addr;

	addr = kit_alloc(&f->a, MB);
	idle = keep(f, &f->a, 0, kit_alloc(&f->a, MB));
	used = keep(f, &f->a, 1, addr);
	f->c.k.dev->now_ns += GSB_KEPT_NS;
	kit_settle(&f->c.k);
	take(&f->a, &used);
	used = keep(f, &f->a, 1, addr);
	f->c.k.dev->now_ns += GSB_KEPT_NS - 1;
	kit_settle(&f->c.k);
	assert_true(is_kept(&f->a, &idle));
	f->c.k.dev->now_ns++;
	kit_settle(&f->c.k);
	assert_false(is_kept(&f->a, &idle));
	assert_true(is_kept(&f->a, &used));
	f->c.k.dev->now_ns += GSB_KEPT_NS;
	kit_settle(&f->c.k);
	assert_false(is_kept(&f->a, &used));
	assert_int_equal(f->c.k.dev->used_bytes, 0);
	assert_int_equal(f->a.t->device_used_bytes, 0);
}

/* The device has the bytes, but not in one piece. */
static uint64_t refuse_above;
static int (*real_alloc)(struct gsb_space *space, uint64_t size, uint64_t *addr);

static int alloc_in_pieces(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	return size > refuse_above ? -ENOMEM : real_alloc(space, size, addr);
}

static void free_in_pieces(struct gsb_grant *g)
{
	refuse_above = UINT64_MAX;
}

static void (*real_reclaim)(struct gsb_grant *g);

static void reclaim_and_join(struct gsb_grant *g)
{
	real_reclaim(g);
	free_in_pieces(g);
}

static void break_device(struct fixture *f)
{
	real_alloc = f->c.k.dev->ops.mem_alloc;
	real_reclaim = f->c.k.engine->grant.reclaim;
	f->c.k.dev->ops.mem_alloc = alloc_in_pieces;
	f->c.k.engine->grant.reclaim = reclaim_and_join;
	refuse_above = MB;
}

static unsigned n_failed;

static int fail_to_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	n_failed++;
	return -EIO;
}

static void test_device_without_room_is_asked_again_without_reserves(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;

	b = keep(f, &f->a, 0, kit_alloc(&f->a, 16 * MB));
	break_device(f);
	kit_alloc(&f->b, 2 * MB);
	assert_false(is_kept(&f->a, &b));
}

/* Nothing of what is kept would help. */
static void test_device_that_fails_is_not_asked_again(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep(f, &f->a, 0, kit_alloc(&f->a, 16 * MB));

	f->c.k.dev->ops.mem_alloc = fail_to_alloc;
	kit_status_of(&f->b, kit_post_alloc(&f->b, 2 * MB));
	assert_int_equal(n_failed, 1);
	assert_true(is_kept(&f->a, &b));
}

static void test_engine_has_what_is_kept_for_itself(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep of_a = keep(f, &f->a, 0, kit_alloc(&f->a, 16 * MB)),
				of_b = keep(f, &f->b, 0, kit_alloc(&f->b, 16 * MB));
	struct gsb_ctx *ctx = gsb_ctx_find(f->b.t, kit_ctx(0));

	assert_true(of_engine(ctx, 1024 * MB));
	assert_false(is_kept(&f->a, &of_a));
	assert_false(is_kept(&f->b, &of_b));
	assert_int_equal(f->c.k.dev->used_bytes, 1024 * MB);
}

static void test_engine_asks_the_device_again_without_reserves(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep(f, &f->a, 0, kit_alloc(&f->a, 16 * MB));

	break_device(f);
	assert_true(of_engine(gsb_ctx_find(f->b.t, kit_ctx(0)), 2 * MB));
	assert_false(is_kept(&f->a, &b));
}

/* ---- pinned memory ---- */

static uint64_t post_pin(struct kit_tenant *t, uint64_t bytes)
{
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = bytes};
	uint64_t call = kit_post_call(t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0);

	kit_settle(t->kit);
	return call;
}

static uint64_t pin(struct kit_tenant *t, uint64_t bytes)
{
	assert_int_equal(kit_status_of(t, post_pin(t, bytes)), CUDA_SUCCESS);
	return ((const struct gsb_reply_range *)kit_reply(t))->addr;
}

static char *at(uint64_t addr)
{
	return (char *)(uintptr_t)addr;
}

static void make_second_context(struct kit_tenant *t)
{
	struct gsb_rec_ctx_create c = {.ctx = kit_ctx(1), .legacy = kit_stream(9)};

	assert_int_equal(kit_call(t, GSB_REC_CTX_CREATE, &c, sizeof(c), NULL, 0), CUDA_SUCCESS);
}

/* To the device, in a stream of one of the two. */
static void copy_from(struct kit_tenant *t, uint64_t addr, uint32_t ctx, uint32_t stream)
{
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(ctx), .size = 4096};
	struct gsb_rec_copy copy = {.src = addr,
				    .src_place = GSB_PLACE_HOST,
				    .dst_place = GSB_PLACE_DEVICE,
				    .width = 6,
				    .height = 1};

	assert_int_equal(kit_call(t, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0), CUDA_SUCCESS);
	copy.dst = ((const struct gsb_reply_range *)kit_reply(t))->addr;
	kit_post(t, GSB_REC_COPY, kit_stream(stream), &copy, sizeof(copy), NULL, 0);
	gsb_engine_turn(t->kit->engine);
}

/* What the device is told of a space's window. */
static struct pins {
	unsigned n_pinned, n_unpinned;
	int (*pin)(struct gsb_space *s, uint64_t addr, uint64_t size);
	int (*unpin)(struct gsb_space *s, uint64_t addr, uint64_t size);
} pins;

static int count_pin(struct gsb_space *s, uint64_t addr, uint64_t size)
{
	pins.n_pinned++;
	return pins.pin(s, addr, size);
}

static int count_unpin(struct gsb_space *s, uint64_t addr, uint64_t size)
{
	pins.n_unpinned++;
	return pins.unpin(s, addr, size);
}

static void count_pins(struct fixture *f)
{
	struct gsb_device_ops *ops = &f->c.k.dev->ops;

	pins = (struct pins){.pin = ops->host_pin, .unpin = ops->host_unpin};
	ops->host_pin = count_pin;
	ops->host_unpin = count_unpin;
}

static void pass_a_second(struct fixture *f)
{
	f->c.k.dev->now_ns += GSB_KEPT_NS;
	kit_settle(&f->c.k);
}

static void test_kept_pinned_memory_is_had_again_and_stays_pinned(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	uint64_t addr;

	count_pins(f);
	addr = pin(&f->a, 5000);
	for (int i = 0; i < 3; i++) {
		memcpy(at(addr), "pinned", 6);
		b = keep(f, &f->a, 7, addr);
		assert_int_equal(f->a.t->host_used_bytes, 8192);
		assert_int_equal(f->c.k.engine->grant.kept, 0); /* it is none of the device */
		take(&f->a, &b);
		assert_memory_equal(at(addr), "pinned", 6);
	}
	assert_int_equal(pins.n_pinned, 1);
	assert_int_equal(pins.n_unpinned, 0);
	copy_from(&f->a, addr, 0, 0);
	assert_int_equal(f->a.region->header.fatal, 0);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
}

static void test_kept_pinned_memory_is_nobodys_to_name(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096);

	keep(f, &f->a, 0, addr);
	copy_from(&f->a, addr, 0, 0);
	expect_cut(&f->a, "not its own");
}

static void test_kept_pinned_memory_cannot_be_freed_again(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = pin(&f->a, 4096)};

	keep(f, &f->a, 0, b.addr);
	kit_post_call(&f->a, GSB_REC_HOST_FREE, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&f->a, "no allocation begins");
}

static void test_pinned_memory_that_is_not_taken_for_long_goes(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096);
	struct gsb_rec_mem_keep b;

	count_pins(f);
	memcpy(at(addr), "pinned", 6);
	b = keep(f, &f->a, 0, addr);
	pass_a_second(f);
	assert_true(is_kept(&f->a, &b));
	pass_a_second(f);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(pins.n_unpinned, 1);
	assert_int_equal(f->a.t->host_used_bytes, 0);
	assert_memory_equal(at(addr), "\0\0\0\0\0\0", 6);
	pin(&f->a, 8 * MB); /* its numbers are free, too */
}

/* Who keeps what a copy of another context still reads, against the rule, has it until that is done. */
static void test_pinned_memory_under_a_copy_of_any_context_stays(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096);
	struct gsb_rec_mem_keep b;

	make_second_context(&f->a);
	copy_from(&f->a, addr, 1, 9);
	b = keep(f, &f->a, 0, addr);
	pass_a_second(f);
	pass_a_second(f);
	assert_true(is_kept(&f->a, &b));
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->c.k);
	pass_a_second(f);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->host_used_bytes, 0);
}

static void test_window_that_is_full_has_what_is_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep(f, &f->a, 0, pin(&f->a, 5 * MB));

	pin(&f->a, 6 * MB);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->host_used_bytes, 6 * MB);
}

/* No thread can be had that would take the pages away: the numbers are there at once, and nobody would tell of it later. */
static bool no_thread;

int __real_gsb_puncher_give(struct gsb_mailbox *box, struct gsb_punch_job *job);
int __wrap_gsb_puncher_give(struct gsb_mailbox *box, struct gsb_punch_job *job);

int __wrap_gsb_puncher_give(struct gsb_mailbox *box, struct gsb_punch_job *job)
{
	return no_thread ? -EAGAIN : __real_gsb_puncher_give(box, job);
}

static void test_window_that_is_full_has_what_is_kept_where_no_thread_is_had(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep(f, &f->a, 0, pin(&f->a, 5 * MB));

	no_thread = true;
	pin(&f->a, 6 * MB);
	no_thread = false;
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->host_used_bytes, 6 * MB);
}

static int pin_slowly(struct gsb_space *s, uint64_t addr, uint64_t size)
{
	return -EINPROGRESS;
}

/* It was freed while another thread's memory was being pinned, and goes when that is done. */
static void test_window_that_is_full_waits_for_what_is_kept_beside_work(void **state)
{
	struct fixture *f = *state;
	struct gsb_device_ops *ops = &f->c.k.dev->ops;
	uint64_t addr = pin(&f->a, 5 * MB), call;
	struct gsb_rec_mem_keep b;

	count_pins(f);
	ops->host_pin = pin_slowly;
	post_pin(&f->a, MB);
	b = keep(f, &f->a, 0, addr);
	call = post_pin(&f->a, 4 * MB);
	assert_true(is_kept(&f->a, &b));
	ops->host_pin = pins.pin;
	kit_settle(&f->c.k);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->host_used_bytes, 5 * MB);
}

/* What the library has taken meanwhile is none to wait for. */
static void test_window_that_is_full_of_what_is_taken_is_full(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 5 * MB), call;
	struct gsb_rec_mem_keep b;

	make_second_context(&f->a);
	copy_from(&f->a, addr, 1, 9);
	b = keep(f, &f->a, 0, addr);
	f->a.region->kept[0] = 0;
	call = post_pin(&f->a, 6 * MB);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_ERROR_OUT_OF_MEMORY);
	take(&f->a, &b);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
}

/* Memory of the device that is short is not had by what is pinned. */
static void test_pinned_memory_is_not_given_for_the_devices(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep(f, &f->a, 0, pin(&f->a, MB));

	kit_alloc(&f->b, 1024 * MB);
	kit_status_of(&f->b, kit_post_alloc(&f->b, MB));
	assert_true(is_kept(&f->a, &b));
}

/* It may be had again at any time, and then it is that context's, too. */
static void test_context_that_comes_has_what_is_kept_pinned(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	uint64_t addr;

	addr = pin(&f->a, 4096);
	b = keep(f, &f->a, 0, addr);
	count_pins(f);
	make_second_context(&f->a);
	assert_int_equal(pins.n_pinned, 1);
	take(&f->a, &b);
	copy_from(&f->a, addr, 1, 9);
	assert_int_equal(f->a.region->header.fatal, 0);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
}

/* The other context's copy began when it was allocated still. */
static void test_kept_pinned_memory_of_a_context_goes_with_it(void **state)
{
	struct gsb_rec_object end = {.handle = kit_ctx(0)};
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096);
	struct gsb_rec_mem_keep b;

	make_second_context(&f->a);
	memcpy(at(addr), "pinned", 6);
	copy_from(&f->a, addr, 1, 9);
	b = keep(f, &f->a, 0, addr);
	assert_int_equal(kit_call(&f->a, GSB_REC_CTX_DESTROY, &end, sizeof(end), NULL, 0),
			 CUDA_SUCCESS);
	assert_false(is_kept(&f->a, &b));
	assert_memory_equal(at(addr), "pinned", 6);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->c.k);
	assert_memory_equal(at(addr), "\0\0\0\0\0\0", 6);
	assert_int_equal(f->a.t->host_used_bytes, 0);
	pass_a_second(f);
	pass_a_second(f);
	assert_int_equal(f->a.region->header.fatal, 0);
}

/* It goes once, with all that was pinned: not by growing old as well, while that waits. */
static void test_kept_pinned_memory_of_a_context_that_ends_goes_once(void **state)
{
	struct gsb_rec_object end = {.handle = kit_ctx(0)};
	struct fixture *f = *state;
	uint64_t addr = pin(&f->a, 4096), other = pin(&f->a, 4096);
	struct gsb_rec_mem_keep b;

	memcpy(at(addr), "pinned", 6);
	b = keep(f, &f->a, 0, addr);
	copy_from(&f->a, other, 0, 0);
	kit_post_call(&f->a, GSB_REC_CTX_DESTROY, &end, sizeof(end), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	assert_false(is_kept(&f->a, &b));
	pass_a_second(f);
	pass_a_second(f);
	assert_memory_equal(at(addr), "pinned", 6);
	assert_int_equal(f->a.t->host_used_bytes, 8192);
	kit_complete(f->c.k.dev, 0, CUDA_SUCCESS, 0);
	kit_settle(&f->c.k);
	assert_int_equal(f->a.t->host_used_bytes, 0);
}

static void test_who_keeps_pinned_memory_of_the_process_is_cut_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {
		.ctx = kit_ctx(0), .size = 8192, .flags = GSB_HOST_OF_PROCESS};
	struct gsb_rec_mem_keep b = keep_body(f, 0, 0);

	assert_int_equal(kit_call(&f->a, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0), CUDA_SUCCESS);
	b.addr = ((const struct gsb_reply_range *)kit_reply(&f->a))->addr;
	f->a.region->kept[0] = b.number;
	kit_post(&f->a, GSB_REC_MEM_KEEP, 0, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&f->a, "no allocation begins");
}

static void test_who_keeps_the_middle_of_pinned_memory_is_cut_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep_body(f, 0, pin(&f->a, 8192) + 4096);

	f->a.region->kept[0] = b.number;
	kit_post(&f->a, GSB_REC_MEM_KEEP, 0, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&f->a, "no allocation begins");
}

/* ---- an engine that shares its device ---- */

static struct gsb_rec_mem_keep keep_granted(struct fixture *f, uint64_t bytes)
{
	uint64_t call = kit_post_alloc(&f->a, bytes);
	const struct gsb_reply_range *r = kit_reply(&f->a);

	kit_control_expect_ask(&f->c, bytes);
	kit_control_answer(&f->c, bytes, 0, 0);
	assert_int_equal(kit_status_of(&f->a, call), CUDA_SUCCESS);
	return keep(f, &f->a, 0, r->addr);
}

static void test_recall_takes_reserves_back(void **state)
{
	struct fixture *f = *state;
	struct gsb_ctl_memory m = {0};
	struct gsb_rec_mem_keep b = keep_granted(f, 10 * MB);

	kit_control_receive_nothing(&f->c);
	kit_control_send(&f->c, &m.msg, GSB_CTL_MEMORY_RECALL, sizeof(m));
	kit_control_expect_return(&f->c, 10 * MB, true);
	assert_false(is_kept(&f->a, &b));
	kit_control_receive_nothing(&f->c);
}

static void test_refusal_of_gsbrokerd_is_asked_again_for_what_a_reserve_leaves(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep_granted(f, 10 * MB);
	uint64_t call = kit_post_alloc(&f->b, 12 * MB);

	kit_control_expect_ask(&f->c, 12 * MB);
	assert_true(is_kept(&f->a, &b));
	kit_control_answer(&f->c, 0, 0, -ENOMEM);
	assert_false(is_kept(&f->a, &b));
	kit_control_expect_ask(&f->c, 2 * MB);
	kit_control_answer(&f->c, 2 * MB, 0, 0);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	kit_control_receive_nothing(&f->c);
}

static void test_refusal_of_gsbrokerd_is_none_where_a_reserve_suffices(void **state)
{
	struct fixture *f = *state;
	uint64_t call;

	keep_granted(f, 10 * MB);
	call = kit_post_alloc(&f->b, 4 * MB);
	kit_control_expect_ask(&f->c, 4 * MB);
	kit_control_answer(&f->c, 0, 0, -ENOMEM);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, 6 * MB, false);
	kit_control_receive_nothing(&f->c);
}

/* It cannot wait for an answer. */
static void test_engine_that_shares_has_what_is_kept_for_itself(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b = keep_granted(f, 10 * MB);
	struct gsb_ctx *ctx = gsb_ctx_find(f->b.t, kit_ctx(0));

	assert_true(of_engine(ctx, 4 * MB));
	assert_false(is_kept(&f->a, &b));
	kit_control_expect_return(&f->c, 6 * MB, false);
	assert_false(of_engine(ctx, MB));
	kit_control_receive_nothing(&f->c);
}

/* What its own tenants wait for an engine does not give to others. */
static void test_recall_of_reserves_leaves_what_is_waited_for(void **state)
{
	struct gsb_ctl_memory m = {.keeps = 1};
	struct fixture *f = *state;
	uint64_t call;

	keep_granted(f, 10 * MB);
	call = kit_post_alloc(&f->b, 12 * MB);
	kit_control_expect_ask(&f->c, 12 * MB);
	kit_control_send(&f->c, &m.msg, GSB_CTL_MEMORY_RECALL, sizeof(m));
	kit_control_expect_return(&f->c, 0, true);
	kit_control_answer(&f->c, 12 * MB, 0, 0);
	assert_int_equal(kit_status_of(&f->b, call), CUDA_SUCCESS);
	kit_control_expect_return(&f->c, 10 * MB, false);
	keep(f, &f->b, 0, ((const struct gsb_reply_range *)kit_reply(&f->b))->addr);
	kit_control_send(&f->c, &m.msg, GSB_CTL_MEMORY_RECALL, sizeof(m));
	kit_control_expect_return(&f->c, 12 * MB, true);
}

/* ---- ends ---- */

static void test_reserve_of_a_context_goes_with_it(void **state)
{
	struct gsb_rec_ctx_create again = {.ctx = KIT_HANDLE(GSB_HANDLE_CTX, 0, 2),
					   .legacy = KIT_HANDLE(GSB_HANDLE_STREAM, 0, 2)};
	struct gsb_rec_object end = {.handle = kit_ctx(0)};
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc alloc = {.ctx = again.ctx, .size = MB};
	const struct gsb_reply_range *r = kit_reply(&f->a);
	struct gsb_rec_mem_keep b;

	b = keep(f, &f->a, 5, kit_alloc(&f->a, MB));
	assert_int_equal(kit_call(&f->a, GSB_REC_CTX_DESTROY, &end, sizeof(end), NULL, 0),
			 CUDA_SUCCESS);
	assert_false(is_kept(&f->a, &b));
	assert_int_equal(f->a.t->device_used_bytes, 0);
	assert_int_equal(f->c.k.engine->grant.kept, 0);
	assert_int_equal(f->c.k.engine->grant.used, 0);
	assert_int_equal(kit_call(&f->a, GSB_REC_CTX_CREATE, &again, sizeof(again), NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(kit_call(&f->a, GSB_REC_MEM_ALLOC, &alloc, sizeof(alloc), NULL, 0),
			 CUDA_SUCCESS);
	b = keep_body(f, 5, r->addr); /* the index is free again */
	b.ctx = again.ctx;
	f->a.region->kept[5] = b.number;
	post(&f->a, GSB_REC_MEM_KEEP, &b);
	assert_int_equal(f->a.region->header.fatal, 0);
}

static void test_reserve_of_a_process_that_dies_is_free(void **state)
{
	struct fixture *f = *state;

	keep(f, &f->a, 0, kit_alloc(&f->a, 10 * MB));
	keep(f, &f->a, 1, kit_alloc(&f->a, 10 * MB));
	kit_tenant_die(&f->a);
	assert_int_equal(f->c.k.engine->grant.used, 0);
	assert_int_equal(f->c.k.engine->grant.kept, 0);
	assert_int_equal(f->c.k.dev->used_bytes, 0);
	kit_alloc(&f->b, 1024 * MB);
}

/* ---- who does it wrongly ---- */

enum wrong { INDEX, NO_NUMBER, GONE_NUMBER, TWICE, NOWHERE, MIDDLE, LARGE, MUCH, CONTEXT, N_KEEPS };

static void spoil_keep(struct fixture *f, enum wrong what, struct gsb_rec_mem_keep *b)
{
	switch (what) {
	case INDEX: b->index = GSB_N_KEPT; break;
	case NO_NUMBER: b->number = 0; break;
	case GONE_NUMBER: b->number |= GSB_KEPT_GONE; break;
	case TWICE: keep(f, &f->a, 0, kit_alloc(&f->a, MB)); break;
	case NOWHERE: b->addr = 0x1000; break;
	case MIDDLE: b->addr += 512; break;
	case LARGE: b->addr = kit_alloc(&f->a, GSB_KEPT_SIZE_MAX + 1); break;
	case MUCH:
		for (unsigned i = 1; i <= GSB_KEPT_BYTES_MAX / GSB_KEPT_SIZE_MAX; i++)
			keep(f, &f->a, i, kit_alloc(&f->a, GSB_KEPT_SIZE_MAX));
		break;
	default: b->ctx = kit_ctx(9); break;
	}
}

static void test_who_keeps_wrongly_is_cut_off(void **state)
{
	static const char *const why[N_KEEPS] = {
		[INDEX] = "MemKeep at 256",
		[NO_NUMBER] = "number 0",
		[GONE_NUMBER] = "MemKeep at",
		[TWICE] = "MemKeep at 0",
		[NOWHERE] = "no allocation",
		[MIDDLE] = "no allocation",
		[LARGE] = "of 16777217 bytes beside 0",
		[MUCH] = "of 1048576 bytes beside 67108864",
		[CONTEXT] = "with context",
	};

	for (unsigned i = 0; i < N_KEEPS; i++) {
		struct gsb_rec_mem_keep b;
		void *fixture;
		struct fixture *f;

		setup_alone(&fixture);
		f = fixture;
		b = keep_body(f, 0, kit_alloc(&f->a, MB));
		spoil_keep(f, (enum wrong)i, &b);
		kit_post(&f->a, GSB_REC_MEM_KEEP, 0, &b, sizeof(b), NULL, 0);
		gsb_engine_turn(f->c.k.engine);
		expect_cut(&f->a, why[i]);
		teardown(&fixture);
	}
}

static void test_who_takes_what_is_not_kept_is_cut_off(void **state)
{
	for (unsigned i = 0; i < 5; i++) {
		struct gsb_rec_mem_keep b;
		void *fixture;
		struct fixture *f;

		setup_alone(&fixture);
		f = fixture;
		b = keep(f, &f->a, 0, kit_alloc(&f->a, MB));
		b.index += i == 0;
		b.index += i == 1 ? GSB_N_KEPT : 0;
		b.number += i == 2 ? 2 : 0;
		b.addr += i == 3 ? 512 : 0;
		if (i == 4)
			take(&f->a, &b);
		kit_post(&f->a, GSB_REC_MEM_TAKE, 0, &b, sizeof(b), NULL, 0);
		gsb_engine_turn(f->c.k.engine);
		expect_cut(&f->a, "which is not kept");
		teardown(&fixture);
	}
}

static void test_device_that_checks_accesses_has_nothing_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_keep b;
	struct kit_tenant c;

	f->c.k.dev->ops.may_keep = false;
	kit_tenant_init(&c, &f->c.k, NULL);
	assert_int_equal(c.welcome.features, GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW);
	assert_int_equal(f->a.welcome.features, GSB_FEATURES_KNOWN);
	b = keep_body(f, 0, kit_alloc(&c, MB));
	kit_post(&c, GSB_REC_MEM_KEEP, 0, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->c.k.engine);
	expect_cut(&c, "not agreed on");
	kit_tenant_finish(&c);
}

#define kept_test(t)   cmocka_unit_test_setup_teardown(t, setup_alone, teardown)
#define shared_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(test_kept_memory_is_had_again_without_the_device),
		kept_test(test_kept_memory_is_nobodys_to_name),
		kept_test(test_kept_memory_cannot_be_freed_again),
		kept_test(test_kept_memory_counts_as_free_to_who_asks),
		kept_test(test_limit_is_not_reached_by_what_is_kept),
		kept_test(test_lower_limit_takes_back_what_is_kept),
		kept_test(test_nobody_is_refused_before_all_reserves_are_given_back),
		kept_test(test_taken_memory_is_not_given_back),
		kept_test(test_memory_under_work_is_not_given_back),
		kept_test(test_memory_that_is_not_taken_for_long_is_given_back),
		kept_test(test_device_without_room_is_asked_again_without_reserves),
		kept_test(test_device_that_fails_is_not_asked_again),
		kept_test(test_engine_has_what_is_kept_for_itself),
		kept_test(test_engine_asks_the_device_again_without_reserves),
		kept_test(test_kept_pinned_memory_is_had_again_and_stays_pinned),
		kept_test(test_kept_pinned_memory_is_nobodys_to_name),
		kept_test(test_kept_pinned_memory_cannot_be_freed_again),
		kept_test(test_pinned_memory_that_is_not_taken_for_long_goes),
		kept_test(test_pinned_memory_under_a_copy_of_any_context_stays),
		kept_test(test_window_that_is_full_has_what_is_kept),
		kept_test(test_window_that_is_full_has_what_is_kept_where_no_thread_is_had),
		kept_test(test_window_that_is_full_waits_for_what_is_kept_beside_work),
		kept_test(test_window_that_is_full_of_what_is_taken_is_full),
		kept_test(test_pinned_memory_is_not_given_for_the_devices),
		kept_test(test_context_that_comes_has_what_is_kept_pinned),
		kept_test(test_kept_pinned_memory_of_a_context_goes_with_it),
		kept_test(test_kept_pinned_memory_of_a_context_that_ends_goes_once),
		kept_test(test_who_keeps_pinned_memory_of_the_process_is_cut_off),
		kept_test(test_who_keeps_the_middle_of_pinned_memory_is_cut_off),
		shared_test(test_engine_that_shares_has_what_is_kept_for_itself),
		shared_test(test_recall_takes_reserves_back),
		shared_test(test_refusal_of_gsbrokerd_is_asked_again_for_what_a_reserve_leaves),
		shared_test(test_refusal_of_gsbrokerd_is_none_where_a_reserve_suffices),
		shared_test(test_recall_of_reserves_leaves_what_is_waited_for),
		kept_test(test_reserve_of_a_context_goes_with_it),
		kept_test(test_reserve_of_a_process_that_dies_is_free),
		cmocka_unit_test(test_who_keeps_wrongly_is_cut_off),
		cmocka_unit_test(test_who_takes_what_is_not_kept_is_cut_off),
		kept_test(test_device_that_checks_accesses_has_nothing_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
