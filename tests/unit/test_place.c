/*
 * test_place.c - filling SMs: what one takes and gives back, block by block, against the rule
 * written out; the placement of whole grids against one block at a time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpu/arch.h"
#include "model/placement/place.h"

static uint32_t rng_state = 3;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 1664525u + 1013904223u;
	return (rng_state >> 8) % below;
}

static struct gsb_block_need random_need(void)
{
	return (struct gsb_block_need){.warps = 1 + rng(32),
				       .regs_per_warp = rng(4) ? 256 * rng(14) : 0,
				       .smem_bytes = rng(2) ? 1024 * rng(40) : 0};
}

/* The rule: each warp to the partition with most registers free, the first of equal ones. */
static bool take_warp_by_warp(struct gsb_sm_room *room, const struct gsb_block_need *need)
{
	struct gsb_sm_room after = *room;

	if (room->warps < need->warps || !room->blocks || room->smem_bytes < need->smem_bytes)
		return false;
	for (uint32_t w = 0; w < need->warps; w++) {
		uint32_t best = 0;

		for (uint32_t p = 1; p < room->n_partitions; p++)
			if (after.regs[p] > after.regs[best])
				best = p;
		if (after.regs[best] < need->regs_per_warp)
			return false;
		after.regs[best] -= need->regs_per_warp;
	}
	after.warps -= need->warps;
	after.blocks--;
	after.smem_bytes -= need->smem_bytes;
	*room = after;
	return true;
}

/* Random blocks come and go; the room, what fits and what is refused are those of the rule. */
static void test_sm_room_takes_and_gives_as_the_rule_says(void **state)
{
	int refused = 0;

	(void)state;
	for (int round = 0; round < 500; round++) {
		const struct gsb_rules *rules = rng(4) ? &gsb_rules_hardware : &gsb_rules_paper;
		const struct gsb_arch *arch = gsb_arch_at(rng(10));
		struct gsb_block_place places[64];
		struct gsb_block_need needs[64];
		struct gsb_sm_room room, before[64];
		uint32_t n = 0;

		gsb_sm_room_init(&room, arch, rules);
		for (int i = 0; i < 40; i++) {
			struct gsb_block_need need = random_need();
			struct gsb_sm_room expected = room;
			uint32_t fit = gsb_sm_room_fit(&room, &need);
			bool taken = take_warp_by_warp(&expected, &need);

			before[n] = room;
			assert_int_equal(taken, fit > 0);
			assert_int_equal(gsb_sm_room_take(&room, &need, &places[n]),
					 taken ? 0 : -ENOSPC);
			assert_memory_equal(&room, &expected, sizeof(room));
			needs[n] = need;
			n += taken;
			refused += !taken;
		}
		while (n--) {
			gsb_sm_room_give(&room, &needs[n], &places[n]);
			assert_memory_equal(&room, &before[n], sizeof(room));
		}
	}
	assert_true(refused > 1000);
}

/* More warps in one partition than a byte counts. */
static void test_sm_room_gives_back_all_registers_of_a_huge_block(void **state)
{
	struct gsb_arch arch = *gsb_arch_find("h200");
	struct gsb_block_need need = {.warps = 600, .regs_per_warp = 32};
	struct gsb_block_place place;
	struct gsb_sm_room room;

	(void)state;
	arch.warp_unit = 1;
	arch.max_warps = 1024;
	gsb_sm_room_init(&room, &arch, &gsb_rules_hardware);
	assert_int_equal(gsb_sm_room_take(&room, &need, &place), 0);
	gsb_sm_room_give(&room, &need, &place);
	assert_int_equal(room.regs[0], arch.regs);
}

/* Breadth first: a block to the SM with most warps free, of equal ones the first. */
static uint32_t next_sm(const struct gsb_sm_room *sms, uint32_t n,
			const struct gsb_block_need *need)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++)
		if (gsb_sm_room_fit(&sms[i], need) && (best == n || sms[i].warps > sms[best].warps))
			best = i;
	return best;
}

static void assert_same_sms(const struct gsb_sm_array *a, const struct gsb_sm_room *sms)
{
	uint32_t sm = 0;

	for (uint32_t g = 0; g < a->n_groups; g++)
		for (uint32_t i = 0; i < a->groups[g].n_sms; i++)
			assert_memory_equal(&a->groups[g].room, &sms[sm++], sizeof(sms[0]));
}

static void test_sm_array_places_as_one_block_at_a_time(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct gsb_arch arch = *gsb_arch_at(rng(10));
		struct gsb_sm_room sms[16];
		struct gsb_sm_array array;

		arch.n_sms = 1 + rng(16);
		gsb_sm_array_init(&array, &arch, &gsb_rules_hardware, arch.n_sms);
		for (uint32_t i = 0; i < arch.n_sms; i++)
			gsb_sm_room_init(&sms[i], &arch, &gsb_rules_hardware);
		for (int k = 0; k < 8; k++) {
			struct gsb_block_need need = random_need();
			struct gsb_block_place place;
			uint64_t n = 1 + rng(60), placed = 0;
			uint64_t fit = gsb_sm_array_fit(&array, &need);
			bool room = gsb_sm_array_has_room(&array, &need, n);
			uint32_t sm;

			while (placed < n && (sm = next_sm(sms, arch.n_sms, &need)) < arch.n_sms) {
				assert_int_equal(gsb_sm_room_take(&sms[sm], &need, &place), 0);
				placed++;
			}
			assert_int_equal(placed, n < fit ? n : fit);
			assert_int_equal(room, placed == n);
			assert_int_equal(gsb_sm_array_place(&array, &need, GSB_BREADTH_FIRST, n),
					 placed);
			assert_same_sms(&array, sms);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sm_room_takes_and_gives_as_the_rule_says),
		cmocka_unit_test(test_sm_room_gives_back_all_registers_of_a_huge_block),
		cmocka_unit_test(test_sm_array_places_as_one_block_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
