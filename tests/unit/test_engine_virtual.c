/*
 * test_engine_virtual.c - reserved addresses and what is mapped there, in the engine: who has which addresses, when memory counts, and
 * that nothing goes under work.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include <string.h>
#include <unistd.h>

#include "base/mapping.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/memory/addresses.h"
#include "shm/channel.h"
#include "tests/unit/engine_kit.h"

#define UNIT  GSB_VIRTUAL_UNIT
#define PART  GSB_VIRTUAL_PART
#define BASE  GSB_VIRTUAL_BASE
#define WHOLE GSB_VIRTUAL_SIZE

/* ---- whose addresses ---- */

struct area {
	struct gsb_addresses addresses;
	struct gsb_ranges own[3];
};

static int set_up_area(void **state)
{
	struct area *a = calloc(1, sizeof(*a));

	for (unsigned i = 0; i < 3; i++)
		gsb_ranges_init(&a->own[i], BASE, WHOLE);
	*state = a;
	return 0;
}

static int tear_down_area(void **state)
{
	struct area *a = *state;

	for (unsigned i = 0; i < 3; i++)
		gsb_ranges_finish(&a->own[i]);
	free(a);
	return 0;
}

static int take(struct area *a, uint32_t slot, uint64_t size, uint64_t hint, uint64_t *at)
{
	return gsb_addresses_take(&a->addresses, slot, &a->own[slot], size, UNIT, hint, at);
}

static int give(struct area *a, uint32_t slot, uint64_t at)
{
	return gsb_addresses_give(&a->addresses, slot, &a->own[slot], at);
}

static void test_addresses_of_two_share_no_part(void **state)
{
	uint64_t a = 0, b = 0, c = 0;

	assert_int_equal(take(*state, 0, UNIT, 0, &a), 0);
	assert_int_equal(take(*state, 1, UNIT, 0, &b), 0);
	assert_int_not_equal((a - BASE) / PART, (b - BASE) / PART);
	assert_int_equal(take(*state, 1, UNIT, a + UNIT, &c), 0); /* the hint is another's */
	assert_int_not_equal((c - BASE) / PART, (a - BASE) / PART);
}

static void test_hint_behind_its_own_is_kept(void **state)
{
	uint64_t a = 0, b = 0, c = 0;

	assert_int_equal(take(*state, 0, PART - UNIT, 0, &a), 0);
	assert_int_equal(take(*state, 0, 2 * UNIT, a + PART - UNIT, &b), 0);
	assert_int_equal(b, a + PART - UNIT);
	assert_int_equal(take(*state, 0, UNIT, b, &c), 0); /* taken: somewhere else */
	assert_int_not_equal(c, b);
	assert_int_equal(take(*state, 0, UNIT, 4096, &c), 0); /* none of the area's */
}

static void test_part_is_free_when_its_last_reservation_goes(void **state)
{
	struct area *a = *state;
	uint64_t first = 0, second = 0, other = 0;

	assert_int_equal(take(a, 0, UNIT, 0, &first), 0);
	assert_int_equal(take(a, 0, UNIT, first + UNIT, &second), 0);
	assert_int_equal(a->addresses.n_taken, 1);
	assert_int_equal(give(a, 0, first), 0);
	assert_int_equal(take(a, 1, UNIT, first, &other), 0);
	assert_int_not_equal(other, first);
	assert_int_equal(give(a, 0, second), 0);
	assert_int_equal(give(a, 0, second), -EINVAL);
	assert_int_equal(take(a, 1, UNIT, first, &other), 0);
	assert_int_equal(other, first);
}

/* Half of all at most, and of what that leaves half again. */
static void test_one_leaves_addresses_for_others(void **state)
{
	struct area *a = *state;
	uint64_t at = 0;

	assert_int_equal(take(a, 0, WHOLE / 2 + PART, 0, &at), -ENOMEM);
	assert_int_equal(take(a, 0, WHOLE / 2, 0, &at), 0);
	assert_int_equal(take(a, 0, UNIT, 0, &at), -ENOMEM);
	assert_int_equal(take(a, 1, WHOLE / 4, 0, &at), 0);
	assert_int_equal(take(a, 1, PART, 0, &at), -ENOMEM);
	assert_int_equal(take(a, 2, PART, 0, &at), 0);
}

static void test_addresses_are_aligned_as_asked(void **state)
{
	struct area *a = *state;
	uint64_t at = 0;

	assert_int_equal(take(a, 0, UNIT, 0, &at), 0);
	assert_int_equal(gsb_addresses_take(&a->addresses, 0, &a->own[0], UNIT, 8 * PART, 0, &at),
			 0);
	assert_int_equal(at % (8 * PART), 0);
	assert_int_equal(gsb_addresses_take(&a->addresses, 0, &a->own[0], UNIT, 1ull << 63, 0, &at),
			 -ENOMEM);
}

/* ---- in the engine ---- */

struct fixture {
	struct kit_engine k;
	struct kit_tenant a, b;
};

static int setup(void **state)
{
	static const struct gsb_tenant_limits limits = {.device_mem_bytes = 8 * UNIT,
							.host_mem_bytes = 8 * UNIT};
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_tenant_init(&f->a, &f->k, &limits);
	kit_tenant_init(&f->b, &f->k, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kit_tenant_finish(&f->a);
	kit_tenant_finish(&f->b);
	assert_int_equal(f->k.dev->n_mappings, 0);
	assert_int_equal(f->k.dev->n_backings, 0);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

static uint64_t reserve(struct kit_tenant *t, uint64_t units)
{
	const struct gsb_rec_address_reserve b = {.size = units * UNIT, .align = UNIT};
	const struct gsb_reply_range *r = kit_reply(t);

	assert_int_equal(kit_call(t, GSB_REC_ADDRESS_RESERVE, &b, sizeof(b), NULL, 0), 0);
	return r->addr;
}

static CUresult create(struct kit_tenant *t, uint64_t units, uint64_t *id)
{
	const struct gsb_rec_backing_create b = {.size = units * UNIT};
	const struct gsb_reply_number *n = kit_reply(t);
	CUresult result = kit_call(t, GSB_REC_BACKING_CREATE, &b, sizeof(b), NULL, 0);

	if (!result)
		*id = n->number;
	return result;
}

static CUresult destroy(struct kit_tenant *t, uint64_t id)
{
	const struct gsb_rec_object b = {.handle = id};

	return kit_call(t, GSB_REC_BACKING_DESTROY, &b, sizeof(b), NULL, 0);
}

static CUresult map(struct kit_tenant *t, uint64_t id, uint64_t at)
{
	const struct gsb_rec_backing_map b = {.backing = id, .addr = at};

	return kit_call(t, GSB_REC_BACKING_MAP, &b, sizeof(b), NULL, 0);
}

static uint64_t post_range(struct kit_tenant *t, enum gsb_rec_type type, uint64_t at,
			   uint64_t units, uint32_t access)
{
	const struct gsb_rec_backing_range b = {.addr = at, .size = units * UNIT, .access = access};
	uint64_t call = kit_post_call(t, type, &b, sizeof(b), NULL, 0);

	kit_settle(t->kit);
	return call;
}

static CUresult set_access(struct kit_tenant *t, uint64_t at, uint64_t units, uint32_t access)
{
	uint64_t call = post_range(t, GSB_REC_BACKING_ACCESS, at, units, access);

	assert_true(kit_answered(t, call));
	return (CUresult)t->region->threads[t->slot].status;
}

/* So much, mapped and accessible. */
static uint64_t make(struct kit_tenant *t, uint64_t units, uint64_t *id)
{
	uint64_t at = reserve(t, units);

	assert_int_equal(create(t, units, id), 0);
	assert_int_equal(map(t, *id, at), 0);
	assert_int_equal(set_access(t, at, units, GSB_MAPPING_BOTH), 0);
	return at;
}

static void test_memory_counts_once_from_when_it_is_made(void **state)
{
	struct fixture *f = *state;
	uint64_t first = 0, second = 0, at = reserve(&f->a, 1024);

	assert_int_equal(f->a.t->device_used_bytes, 0);
	assert_int_equal(create(&f->a, 9, &first), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(create(&f->a, 6, &first), 0);
	assert_int_equal(f->a.t->device_used_bytes, 6 * UNIT);
	assert_int_equal(map(&f->a, first, at), 0);
	assert_int_equal(map(&f->a, first, at + 100 * UNIT), 0);
	assert_int_equal(f->a.t->device_used_bytes, 6 * UNIT);
	assert_int_equal(create(&f->a, 3, &second), CUDA_ERROR_OUT_OF_MEMORY);
	assert_true(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 6, 0)));
	assert_true(kit_answered(&f->a,
				 post_range(&f->a, GSB_REC_BACKING_UNMAP, at + 100 * UNIT, 6, 0)));
	assert_int_equal(destroy(&f->a, first), 0);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	assert_int_equal(f->k.dev->used_bytes, 0);
	assert_int_equal(create(&f->a, 8, &second), 0);
}

static void test_unmap_waits_for_the_work_before_it(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 2, &id), call;

	kit_fill(&f->a, 0, at);
	kit_settle(&f->k);
	call = post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 2, 0);
	assert_false(kit_answered(&f->a, call));
	assert_int_equal(f->k.dev->n_mappings, 1);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 10);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->a, call));
	assert_int_equal(f->k.dev->n_mappings, 0);
}

static void test_access_that_is_taken_away_waits_for_the_work_before_it(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 2, &id), call;

	kit_fill(&f->a, 0, at);
	kit_settle(&f->k);
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_BOTH), 0); /* takes nothing away */
	call = post_range(&f->a, GSB_REC_BACKING_ACCESS, at, 2, GSB_MAPPING_READ);
	assert_false(kit_answered(&f->a, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 10);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->a, call));
}

/* The device is asked, and says no: it is as before. */
static void test_what_the_device_refuses_is_told(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 2, &id);

	f->k.dev->backing_err = -ENOTSUP;
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_READ), CUDA_ERROR_NOT_SUPPORTED);
	f->k.dev->backing_err = -ENOMEM;
	assert_true(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 2, 0)));
	assert_int_equal(map(&f->a, id, at), CUDA_ERROR_OUT_OF_MEMORY);
	f->k.dev->backing_err = 0;
	assert_int_equal(map(&f->a, id, at), 0);
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_BOTH), 0);
}

/* Two, one behind the other, each a unit. */
static uint64_t make_two(struct kit_tenant *t)
{
	uint64_t at = reserve(t, 2), id = 0;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(create(t, 1, &id), 0);
		assert_int_equal(map(t, id, at + i * UNIT), 0);
	}
	return at;
}

/* The first of two has changed when the device refuses the second: both are what they were, for it and for the engine. */
static void test_access_that_is_refused_stays_what_it_was(void **state)
{
	struct fixture *f = *state;
	uint64_t at = make_two(&f->a);

	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_BOTH), 0);
	f->k.dev->refuse_access = 2;
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_READ), CUDA_ERROR_NOT_SUPPORTED);
	kit_device_auto(f->k.dev);
	for (unsigned i = 0; i < 2; i++)
		kit_fill(&f->a, 0, at + i * UNIT);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 2);
	*(uint32_t *)(uintptr_t)at = 7; /* of the device's own */
	*(uint32_t *)(uintptr_t)(at + UNIT) = 7;
}

static CUresult try_reserve(struct kit_tenant *t)
{
	const struct gsb_rec_address_reserve b = {.size = UNIT, .align = UNIT};

	return kit_call(t, GSB_REC_ADDRESS_RESERVE, &b, sizeof(b), NULL, 0);
}

static void test_reservations_are_not_without_end(void **state)
{
	struct fixture *f = *state;
	const struct gsb_rec_address first = {.addr = reserve(&f->a, 1)};
	unsigned n = 1;

	while (!try_reserve(&f->a))
		n++;
	assert_int_equal(n, 4096);
	assert_int_equal(try_reserve(&f->b), 0);
	assert_int_equal(kit_call(&f->a, GSB_REC_ADDRESS_FREE, &first, sizeof(first), NULL, 0), 0);
	assert_int_equal(try_reserve(&f->a), 0);
	assert_int_equal(try_reserve(&f->a), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_mappings_are_not_without_end(void **state)
{
	struct fixture *f = *state;
	uint64_t at = reserve(&f->a, 16385), id = 0;
	unsigned n = 0;

	assert_int_equal(create(&f->a, 1, &id), 0);
	while (n < 16385 && !map(&f->a, id, at + n * UNIT))
		n++;
	assert_int_equal(n, 16384);
	assert_true(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 1, 0)));
	assert_int_equal(map(&f->a, id, at), 0);
}

/* What no mapping has, or may not be read, no texture has. */
static void test_texture_is_of_what_is_mapped(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_texture_create b = {
		.ctx = kit_ctx(0), .view = {.width = UNIT / 4, .height = 1, .n_channels = 1}};
	uint64_t at = make_two(&f->a);

	b.view.format = CU_AD_FORMAT_UNSIGNED_INT32;
	b.view.base = at + UNIT;
	assert_int_equal(kit_call(&f->a, GSB_REC_TEXTURE_CREATE, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_READ), 0);
	/* The kit's device makes none. */
	assert_int_equal(kit_call(&f->a, GSB_REC_TEXTURE_CREATE, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
	b.view.base += 4;
	assert_int_equal(kit_call(&f->a, GSB_REC_TEXTURE_CREATE, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
	b.view.base -= 4;
	b.is_surface = true;
	assert_int_equal(kit_call(&f->a, GSB_REC_TEXTURE_CREATE, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
}

static void test_tenant_that_dies_under_work_keeps_its_mappings_until_then(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 2, &id);

	kit_fill(&f->a, 0, at);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 2, 0)));
	kit_tenant_die(&f->a);
	kit_settle(&f->k);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(f->k.dev->n_mappings, 0);
	assert_int_equal(f->k.dev->used_bytes, 0);
	assert_int_equal(f->k.engine->addresses.n_taken, 0);
	kit_tenant_free(&f->a);
	kit_tenant_init(&f->a, &f->k, NULL);
}

static void test_copy_over_a_seam_is_let_through(void **state)
{
	struct fixture *f = *state;
	uint64_t at = make_two(&f->a);

	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_BOTH), 0);
	kit_device_auto(f->k.dev);
	kit_post(&f->a, GSB_REC_FILL, kit_stream(0),
		 &(struct gsb_rec_fill){at + UNIT - 8, 4, 1, 0, 7, 4}, sizeof(struct gsb_rec_fill),
		 NULL, 0);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->a, 0), 1);
	assert_int_equal(*(uint32_t *)(uintptr_t)(at + UNIT + 4), 7);
}

/* ---- hostile records ---- */

/* What a library never asks, of a tenant that has two units mapped to be read: AT; and addresses behind them. */
struct hostile {
	const char *why;
	enum gsb_rec_type type;
	uint64_t words[4]; /* of the body; AT: its address is added */
	bool at[4];
};

static const struct hostile hostile[] = {
	{"reservation of 4096 bytes", GSB_REC_ADDRESS_RESERVE, {4096, UNIT, 0}, {0}},
	{"aligned to 4096", GSB_REC_ADDRESS_RESERVE, {UNIT, 4096, 0}, {0}},
	{"aligned to 6291456", GSB_REC_ADDRESS_RESERVE, {UNIT, 3 * UNIT, 0}, {0}},
	{"reservation of 0 bytes", GSB_REC_ADDRESS_RESERVE, {0, UNIT, 0}, {0}},
	{"which are not reserved", GSB_REC_ADDRESS_FREE, {4096}, {0}},
	{"which are not whole, or mapped", GSB_REC_ADDRESS_FREE, {0}, {true}},
	{"which are no units", GSB_REC_BACKING_CREATE, {UNIT + 1}, {0}},
	{"which are no units", GSB_REC_BACKING_CREATE, {0}, {0}},
	{"which are no units", GSB_REC_BACKING_OF_HOST, {UNIT + 1}, {0}},
	{"which are no units", GSB_REC_BACKING_OF_HOST, {0}, {0}},
	{"unmapped memory 0x1", GSB_REC_BACKING_DESTROY, {1}, {0}},
	{"unmapped memory 0x63", GSB_REC_BACKING_DESTROY, {99}, {0}},
	{"memory 0x63", GSB_REC_BACKING_MAP, {99, 2 * UNIT}, {0, true}},
	{"which is not free", GSB_REC_BACKING_MAP, {1, 0}, {0, true}},
	{"which is not free", GSB_REC_BACKING_MAP, {1, UNIT}, {0, true}},
	{"which is not free", GSB_REC_BACKING_MAP, {1, 7 * UNIT}, {0, true}},
	{"which is not free", GSB_REC_BACKING_MAP, {1, 2 * UNIT + 4096}, {0, true}},
	{"which is not free", GSB_REC_BACKING_MAP, {1, BASE + WHOLE / 2}, {0}},
	{"is not what it has mapped", GSB_REC_BACKING_UNMAP, {0, UNIT}, {true}},
	{"is not what it has mapped", GSB_REC_BACKING_UNMAP, {0, 3 * UNIT}, {true}},
	{"is not what it has mapped", GSB_REC_BACKING_UNMAP, {0, 0}, {true}},
	{"is not what it has mapped", GSB_REC_BACKING_ACCESS, {UNIT, UNIT, 3}, {true}},
	{"access 2", GSB_REC_BACKING_ACCESS, {0, 2 * UNIT, 2}, {true}},
	{"access 7", GSB_REC_BACKING_ACCESS, {0, 2 * UNIT, 7}, {true}},
};

static void expect_cut(struct fixture *f, const char *why)
{
	struct gsb_msg_cut m;

	kit_settle(&f->k);
	assert_int_equal(gsb_channel_recv(f->a.socket, &m, sizeof(m), NULL, NULL), sizeof(m));
	assert_int_equal(m.msg.type, GSB_MSG_CUT);
	if (!strstr(m.reason, why))
		fail_msg("\"%s\" does not say \"%s\"", m.reason, why);
	assert_true(kit_tenant_is_gone(&f->a));
}

static uint64_t make_readable(struct fixture *f)
{
	uint64_t id = 0, at = reserve(&f->a, 8);

	assert_int_equal(create(&f->a, 2, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(map(&f->a, id, at), 0);
	assert_int_equal(set_access(&f->a, at, 2, GSB_MAPPING_READ), 0);
	return at;
}

static void test_each_hostile_record_cuts_its_tenant_off_alone(void **state)
{
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		struct hostile h = hostile[i];
		struct fixture *f;
		void *fixture;
		uint64_t at, id = 0;

		setup(&fixture);
		f = fixture;
		at = make_readable(f);
		for (unsigned k = 0; k < 4; k++)
			h.words[k] += h.at[k] ? at : 0;
		kit_post_call(&f->a, h.type, h.words, gsb_rec_min_size(h.type) - 32, NULL, 0);
		expect_cut(f, h.why);
		assert_int_equal(f->k.engine->n_cut, 1);
		assert_int_equal(f->k.dev->n_mappings, 0);
		make(&f->b, 1, &id);
		teardown(&fixture);
	}
}

static void test_write_to_what_may_be_read_cuts_off(void **state)
{
	struct fixture *f = *state;
	uint64_t at = make_readable(f);

	kit_fill(&f->a, 0, at);
	expect_cut(f, "not its own");
}

static void test_copy_of_what_another_has_mapped_cuts_off(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->b, 1, &id);

	kit_fill(&f->a, 0, at);
	expect_cut(f, "not its own");
}

/* From the moment it is asked for: the answer may be long in coming. */
static void test_write_to_what_is_being_unmapped_cuts_off(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 1, &id);

	kit_fill(&f->a, 0, at);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 1, 0)));
	kit_fill(&f->a, 0, at);
	expect_cut(f, "not its own");
}

static void test_second_unmap_of_the_same_cuts_off(void **state)
{
	struct fixture *f = *state;
	uint64_t id = 0, at = make(&f->a, 1, &id);

	kit_fill(&f->a, 0, at);
	kit_settle(&f->k);
	post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 1, 0);
	post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 1, 0);
	expect_cut(f, "is not what it has mapped");
}

/* ---- memory of the host ---- */

static CUresult create_of_host(struct kit_tenant *t, uint64_t units,
			       struct gsb_reply_host_backing *out)
{
	const struct gsb_rec_backing_create b = {.size = units * UNIT};
	CUresult result = kit_call(t, GSB_REC_BACKING_OF_HOST, &b, sizeof(b), NULL, 0);

	if (!result)
		memcpy(out, kit_reply(t), sizeof(*out));
	return result;
}

static uint64_t make_of_host(struct kit_tenant *t, uint64_t units,
			     struct gsb_reply_host_backing *out)
{
	uint64_t at = reserve(t, units);

	assert_int_equal(create_of_host(t, units, out), 0);
	assert_int_equal(map(t, out->backing, at), 0);
	assert_int_equal(set_access(t, at, units, GSB_MAPPING_BOTH), 0);
	return at;
}

static void end_of_host(struct kit_tenant *t, uint64_t at, uint64_t units, uint64_t id)
{
	assert_true(kit_answered(t, post_range(t, GSB_REC_BACKING_UNMAP, at, units, 0)));
	assert_int_equal(destroy(t, id), 0);
}

static CUresult pin(struct kit_tenant *t, uint64_t units)
{
	const struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = units * UNIT};

	return kit_call(t, GSB_REC_HOST_ALLOC, &b, sizeof(b), NULL, 0);
}

static void test_host_memory_counts_as_pinned_from_when_it_is_made(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing first, second;
	uint64_t at, free_bytes = f->k.dev->used_bytes;

	assert_int_equal(create_of_host(&f->a, 9, &first), CUDA_ERROR_OUT_OF_MEMORY);
	at = make_of_host(&f->a, 6, &first);
	assert_int_equal(f->a.t->host_used_bytes, 6 * UNIT);
	assert_int_equal(f->a.t->device_used_bytes, 0);
	assert_int_equal(f->k.dev->used_bytes, free_bytes);
	assert_int_equal(map(&f->a, first.backing, reserve(&f->a, 6)), 0); /* once more */
	assert_int_equal(f->a.t->host_used_bytes, 6 * UNIT);
	assert_int_equal(create_of_host(&f->a, 3, &second), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(pin(&f->a, 3), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(pin(&f->a, 2), 0);
	assert_int_equal(create_of_host(&f->a, 1, &second), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(f->a.t->stats.host_mem_peak_bytes, 8 * UNIT);
	assert_true(kit_answered(&f->a, post_range(&f->a, GSB_REC_BACKING_UNMAP, at, 6, 0)));
}

static void test_host_memory_that_has_gone_may_be_had_again_and_is_zero(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing made;

	for (unsigned i = 0; i < 3; i++) {
		uint64_t at = make_of_host(&f->a, 8, &made);
		uint32_t *words = (uint32_t *)(uintptr_t)at; /* the engine's */

		assert_int_equal(words[0], 0);
		assert_int_equal(*(uint32_t *)(uintptr_t)made.addr, 0);
		words[0] = 7;
		assert_int_equal(*(uint32_t *)(uintptr_t)made.addr, 7); /* as the tenant sees it */
		end_of_host(&f->a, at, 8, made.backing);
		assert_int_equal(f->a.t->host_used_bytes, 0);
	}
}

/* The device has none, or no more: nothing is counted, nor ever was. */
static void test_host_memory_that_the_device_refuses_is_not_counted(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing made;

	f->k.dev->backing_err = -ENOMEM;
	assert_int_equal(create_of_host(&f->a, 8, &made), CUDA_ERROR_OUT_OF_MEMORY);
	f->k.dev->backing_err = 0;
	f->k.dev->ops.backing_of_host = NULL;
	assert_int_equal(create_of_host(&f->a, 8, &made), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(f->a.t->host_used_bytes, 0);
	assert_int_equal(f->a.t->stats.host_mem_peak_bytes, 0);
	assert_int_equal(pin(&f->a, 8), 0);
}

static void test_host_memory_is_not_exported(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing made;
	struct gsb_rec_object b;

	assert_int_equal(create_of_host(&f->a, 1, &made), 0);
	b.handle = made.backing;
	assert_int_equal(kit_call(&f->a, GSB_REC_BACKING_EXPORT, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_NOT_SUPPORTED);
}

static void copy_from_host(struct kit_tenant *t, uint64_t dst, uint64_t src)
{
	const struct gsb_rec_copy b = {.dst = dst,
				       .src = src,
				       .width = 64,
				       .height = 1,
				       .dst_pitch = 64,
				       .src_pitch = 64,
				       .dst_place = GSB_PLACE_HOST,
				       .src_place = GSB_PLACE_HOST};

	kit_post(t, GSB_REC_COPY, kit_stream(0), &b, sizeof(b), NULL, 0);
	kit_settle(t->kit);
}

static void test_host_memory_is_named_where_it_is_mapped_and_nowhere_else(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing made;
	uint64_t at = make_of_host(&f->a, 1, &made);

	kit_device_auto(f->k.dev);
	copy_from_host(&f->a, at, at + 4096);
	assert_int_equal(f->k.dev->n_issued, 1);
	assert_int_equal(f->k.dev->log[0].addr, at);
	copy_from_host(&f->a, at, made.addr);
	expect_cut(f, "pinned range");
}

static void test_host_memory_without_access_is_not_named(void **state)
{
	struct fixture *f = *state;
	struct gsb_reply_host_backing made;
	uint64_t at = reserve(&f->a, 1);

	assert_int_equal(create_of_host(&f->a, 1, &made), 0);
	assert_int_equal(map(&f->a, made.backing, at), 0);
	copy_from_host(&f->a, at, at + 4096);
	expect_cut(f, "pinned range");
}

/* ---- many at once ---- */

#define A_TURN 64 /* N_CHANGES_A_TURN of virtual.c */
#define MANY   (2 * A_TURN)

static int (*device_access)(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			    CUmemAccess_flags access);
static unsigned n_accesses;

static int count_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			CUmemAccess_flags access)
{
	n_accesses++;
	return device_access(b, owner, addr, access);
}

/* One unit, mapped many times over. */
static uint64_t map_many(struct fixture *f)
{
	uint64_t at = reserve(&f->a, MANY), id = 0;

	device_access = f->k.dev->ops.backing_access;
	f->k.dev->ops.backing_access = count_access;
	assert_int_equal(create(&f->a, 1, &id), 0);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(map(&f->a, id, at + i * UNIT), 0);
	n_accesses = 0;
	return at;
}

static unsigned n_changed(const struct fixture *f)
{
	return n_accesses + MANY - f->k.dev->n_mappings;
}

/* The engine has more to do, and does not sleep; others have their turn. */
static bool is_answered_behind_a_part(struct fixture *f, uint64_t call)
{
	unsigned before = n_changed(f);

	assert_true(gsb_engine_turn(f->k.engine));
	assert_in_range(n_changed(f) - before, 0, A_TURN);
	return kit_answered(&f->a, call);
}

static void test_record_about_many_mappings_goes_in_parts(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_backing_range b = {.size = MANY * UNIT, .access = GSB_MAPPING_BOTH};
	uint64_t call;

	b.addr = map_many(f);
	call = kit_post_call(&f->a, GSB_REC_BACKING_ACCESS, &b, sizeof(b), NULL, 0);
	while (!is_answered_behind_a_part(f, call))
		;
	assert_int_equal(n_accesses, MANY);
	b.access = GSB_MAPPING_NONE;
	call = kit_post_call(&f->a, GSB_REC_BACKING_UNMAP, &b, sizeof(b), NULL, 0);
	while (!is_answered_behind_a_part(f, call))
		;
	assert_int_equal(f->k.dev->n_mappings, 0);
}

static void test_end_of_one_with_many_mappings_goes_in_parts(void **state)
{
	struct fixture *f = *state;

	map_many(f);
	close(f->a.pidfd_write);
	f->a.pidfd_write = -1;
	gsb_engine_listen(f->k.engine, UINT64_MAX);
	while (!kit_tenant_is_gone(&f->a)) {
		unsigned before = n_changed(f);

		gsb_engine_turn(f->k.engine);
		assert_in_range(n_changed(f) - before, 0, A_TURN);
	}
	assert_int_equal(f->k.dev->n_mappings, 0);
}

/* What a pinner was told to make ready. */
static struct {
	_Atomic unsigned n;
	uint64_t owner[4], addr[4], size[4];
} told;

static void note_prepared(struct gsb_device *dev, uint64_t owner, uint64_t addr, uint64_t size)
{
	told.owner[told.n] = owner;
	told.addr[told.n] = addr;
	told.size[told.n] = size;
	told.n++;
}

static int set_up_pinner(void **state)
{
	static const struct gsb_tenant_limits limits = {.host_mem_bytes = 8 * UNIT};
	struct gsb_engine_params p = {.policy = &gsb_policy_fifo, .gate_timeout_ns = 1000000};
	struct fixture *f = calloc(1, sizeof(*f));

	told.n = 0;
	f->k = (struct kit_engine){.dev = kit_device_create(false), .next_id = 1};
	f->k.dev->ops.host_prepare = note_prepared;
	assert_int_equal(gsb_engine_create(&f->k.dev->base, &p, &f->k.engine), 0);
	kit_tenant_init(&f->a, &f->k, &limits);
	kit_tenant_init(&f->b, &f->k, NULL);
	*state = f;
	return 0;
}

/* Each once, by a thread, before the device gives access; not what is the device's, nor what has access. */
static void test_host_memory_is_made_ready_before_the_device_has_it(void **state)
{
	struct fixture *f = *state;
	uint64_t at = reserve(&f->a, 4), id = 0;
	struct gsb_reply_host_backing made;

	for (unsigned i = 0; i < 4; i++) {
		if (i == 1)
			assert_int_equal(create(&f->a, 1, &id), 0);
		else
			assert_int_equal(create_of_host(&f->a, 1, &made), 0);
		assert_int_equal(map(&f->a, i == 1 ? id : made.backing, at + i * UNIT), 0);
	}
	assert_int_equal(set_access(&f->a, at + 2 * UNIT, 1, GSB_MAPPING_READ), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(set_access(&f->a, at, 4, GSB_MAPPING_BOTH), 0);
	assert_int_equal(told.n, 3);
	assert_int_equal(told.addr[0], at + 2 * UNIT);
	assert_int_equal(told.addr[1], at);
	assert_int_equal(told.addr[2], at + 3 * UNIT);
	assert_int_equal(told.size[2], UNIT);
	assert_int_equal(told.owner[2], gsb_tenant_owner(f->a.t));
	assert_int_equal(set_access(&f->a, at, 4, GSB_MAPPING_NONE), 0);
	assert_int_equal(told.n, 3);
}

/* Nobody waits for it any more, and it goes with the rest. */
static void test_tenant_that_dies_while_its_memory_is_made_ready_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t at = reserve(&f->a, 1);
	const struct gsb_rec_backing_range b = {
		.addr = at, .size = UNIT, .access = GSB_MAPPING_BOTH};
	struct gsb_reply_host_backing made;

	assert_int_equal(create_of_host(&f->a, 1, &made), 0);
	assert_int_equal(map(&f->a, made.backing, at), 0);
	kit_post_call(&f->a, GSB_REC_BACKING_ACCESS, &b, sizeof(b), NULL, 0);
	gsb_engine_turn(f->k.engine);
	kit_tenant_die(&f->a);
	assert_int_equal(told.n, 1);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(f->k.dev->n_mappings, 0);
}

/* It may have thousands of mappings, which are a millisecond each on a GPU, and others wait for a pinner. */
static void test_memory_of_who_leaves_is_made_ready_no_more(void **state)
{
	struct fixture *f = *state;
	uint64_t at = reserve(&f->a, 3);
	const struct gsb_rec_backing_range b = {
		.addr = at, .size = 3 * UNIT, .access = GSB_MAPPING_BOTH};
	struct gsb_reply_host_backing made;

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(create_of_host(&f->a, 1, &made), 0);
		assert_int_equal(map(&f->a, made.backing, at + i * UNIT), 0);
	}
	kit_post_call(&f->a, GSB_REC_BACKING_ACCESS, &b, sizeof(b), NULL, 0);
	assert_int_equal(gsb_dispatch_ring(f->a.t, 1), 1);
	gsb_tenant_leave(f->a.t);
	kit_settle(&f->k);
	assert_int_equal(told.n, 1);
	assert_true(kit_tenant_is_gone(&f->a));
	assert_int_equal(f->k.dev->n_mappings, 0);
}

int main(void)
{
#define PINNER(f) cmocka_unit_test_setup_teardown(f, set_up_pinner, teardown)
#define AREA(f)	  cmocka_unit_test_setup_teardown(f, set_up_area, tear_down_area)
#define CASE(f)	  cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		AREA(test_addresses_of_two_share_no_part),
		AREA(test_hint_behind_its_own_is_kept),
		AREA(test_part_is_free_when_its_last_reservation_goes),
		AREA(test_one_leaves_addresses_for_others),
		AREA(test_addresses_are_aligned_as_asked),
		CASE(test_memory_counts_once_from_when_it_is_made),
		CASE(test_unmap_waits_for_the_work_before_it),
		CASE(test_access_that_is_taken_away_waits_for_the_work_before_it),
		CASE(test_what_the_device_refuses_is_told),
		CASE(test_access_that_is_refused_stays_what_it_was),
		CASE(test_reservations_are_not_without_end),
		CASE(test_mappings_are_not_without_end),
		CASE(test_texture_is_of_what_is_mapped),
		CASE(test_tenant_that_dies_under_work_keeps_its_mappings_until_then),
		CASE(test_copy_over_a_seam_is_let_through),
		cmocka_unit_test(test_each_hostile_record_cuts_its_tenant_off_alone),
		CASE(test_write_to_what_may_be_read_cuts_off),
		CASE(test_copy_of_what_another_has_mapped_cuts_off),
		CASE(test_write_to_what_is_being_unmapped_cuts_off),
		CASE(test_second_unmap_of_the_same_cuts_off),
		CASE(test_host_memory_counts_as_pinned_from_when_it_is_made),
		CASE(test_host_memory_that_has_gone_may_be_had_again_and_is_zero),
		CASE(test_host_memory_that_the_device_refuses_is_not_counted),
		CASE(test_host_memory_is_not_exported),
		CASE(test_host_memory_is_named_where_it_is_mapped_and_nowhere_else),
		CASE(test_host_memory_without_access_is_not_named),
		CASE(test_record_about_many_mappings_goes_in_parts),
		CASE(test_end_of_one_with_many_mappings_goes_in_parts),
		PINNER(test_host_memory_is_made_ready_before_the_device_has_it),
		PINNER(test_memory_of_who_leaves_is_made_ready_no_more),
		PINNER(test_tenant_that_dies_while_its_memory_is_made_ready_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
