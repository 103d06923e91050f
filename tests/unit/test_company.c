/*
 * test_company.c - what a block finds beside it: nothing is known, something is, on its SM and on others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/gpu/arch.h"
#include "model/time/company.h"

/* Blocks of 32 warps: one computes, one waits for loads, one moves bytes, one works in shared memory. */
static struct gsb_block_profile profiles[4], strange;

enum { COMPUTES, WAITS, STREAMS, SHARES };

static int make_profiles(void **state)
{
	const struct gsb_block_work works[4] = {
		{.n_warps = 32, .n_insns = 3200000},
		{.n_warps = 32, .n_insns = 32000, .n_mem_insns = 16000, .n_bytes = 16000 * 32},
		{.n_warps = 32, .n_insns = 64000, .n_mem_insns = 16000, .n_bytes = 16000 * 1024},
		{.n_warps = 32, .n_insns = 64000, .n_shared = 64000},
	};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 5; k++)
			gsb_block_profile_add(&profiles[i], &works[i]);
	return 0;
}

static struct gsb_neighbour on_this_sm(const struct gsb_block_profile *p)
{
	return (struct gsb_neighbour){p, 32, 1, 132};
}

static struct gsb_neighbour on_others(const struct gsb_block_profile *p)
{
	return (struct gsb_neighbour){p, 32, 0, 66};
}

static struct gsb_block_company find(struct gsb_neighbour a, struct gsb_neighbour b, unsigned self)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const struct gsb_neighbour both[2] = {a, b};
	struct gsb_interference f;

	gsb_interference_init(&f, arch->name);
	return gsb_company_find(&f, arch, both, 2, self);
}

static void assert_company(struct gsb_block_company c, uint32_t sm_warps, uint64_t device_warps,
			   uint32_t speed, uint32_t within)
{
	assert_int_equal(c.sm_warps, sm_warps);
	assert_int_equal(c.device_warps, device_warps);
	assert_in_range(c.speed, speed - within, speed + within);
}

static void test_company_of_none_is_its_own_grid(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	const struct gsb_neighbour alone = on_this_sm(&profiles[STREAMS]);
	struct gsb_interference f;

	gsb_interference_init(&f, arch->name);
	assert_company(gsb_company_find(&f, arch, &alone, 1, 0), 32, 4224, GSB_FULL_SPEED, 0);
}

static void test_company_of_strangers_shares_by_warps(void **state)
{
	struct gsb_neighbour known = on_this_sm(&profiles[COMPUTES]);
	struct gsb_neighbour stranger = on_this_sm(&strange);

	assert_company(find(known, stranger, 0), 64, 8448, GSB_FULL_SPEED, 0);
	assert_company(find(known, stranger, 1), 64, 8448, GSB_FULL_SPEED, 0);
	assert_company(find(known, on_others(&strange), 0), 32, 4224 + 66 * 32, GSB_FULL_SPEED, 0);
}

/* One that computes and one that waits want different things: neither loses more than a few per cent. */
static void test_company_of_another_kind_costs_little(void **state)
{
	struct gsb_neighbour a = on_this_sm(&profiles[COMPUTES]);
	struct gsb_neighbour b = on_this_sm(&profiles[WAITS]);

	assert_company(find(a, b, 0), 32, 4224, 1000, 24);
	assert_company(find(a, b, 1), 32, 4224, 1000, 24);
}

static void test_company_of_its_own_kind_costs_half(void **state)
{
	struct gsb_neighbour a = on_this_sm(&profiles[COMPUTES]), b = a;

	assert_company(find(a, b, 0), 32, 4224, 512, 12);
	a = b = on_this_sm(&profiles[STREAMS]);
	assert_company(find(a, b, 1), 32, 4224, 512, 12);
}

static void test_company_on_other_sms_costs_memory_alone(void **state)
{
	struct gsb_neighbour a = on_this_sm(&profiles[COMPUTES]);
	struct gsb_neighbour b = on_this_sm(&profiles[STREAMS]);

	a.device_blocks = b.device_blocks = 66;
	assert_company(find(a, on_others(&profiles[COMPUTES]), 0), 32, 2112, GSB_FULL_SPEED, 0);
	assert_company(find(b, on_others(&profiles[COMPUTES]), 0), 32, 2112, GSB_FULL_SPEED, 0);
	assert_company(find(b, on_others(&profiles[STREAMS]), 0), 32, 2112, 512, 12);
	a = on_this_sm(&profiles[SHARES]);
	assert_company(find(a, on_others(&profiles[STREAMS]), 1), 0, 2112, GSB_FULL_SPEED, 0);
}

/* Grids beyond what the law takes share by warps, the block's own never. */
static void test_company_of_a_crowd_has_room_for_itself(void **state)
{
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_neighbour all[40];
	struct gsb_interference f;
	struct gsb_block_company c;

	gsb_interference_init(&f, arch->name);
	for (unsigned i = 0; i < 40; i++)
		all[i] = (struct gsb_neighbour){&profiles[WAITS], 1, 1, 1};
	c = gsb_company_find(&f, arch, all, 40, 39);
	assert_int_equal(c.sm_warps, 1 + 40 - 32);
	assert_int_equal(c.device_warps, 1 + 40 - 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_company_of_none_is_its_own_grid),
		cmocka_unit_test(test_company_of_strangers_shares_by_warps),
		cmocka_unit_test(test_company_of_another_kind_costs_little),
		cmocka_unit_test(test_company_of_its_own_kind_costs_half),
		cmocka_unit_test(test_company_on_other_sms_costs_memory_alone),
		cmocka_unit_test(test_company_of_a_crowd_has_room_for_itself),
	};

	return cmocka_run_group_tests(tests, make_profiles, NULL);
}
