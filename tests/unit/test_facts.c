/*
 * test_facts.c - what is kept of the geometries of a kernel is what would be found out anew.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "broker/engine/code/code.h"
#include "model/gpu/arch.h"

static struct gsb_kernel_fn kernel(void)
{
	return (struct gsb_kernel_fn){.hash = 7, .regs = 32};
}

static struct gsb_cmd_launch launch(uint32_t grid, uint32_t block)
{
	return (struct gsb_cmd_launch){.grid = {grid, 1, 1}, .block = {block, 1, 1}};
}

/* Of a kernel that was never launched before. */
static struct gsb_launch_facts anew(const struct gsb_cmd_launch *l)
{
	struct gsb_kernel_fn fn = kernel();

	return *gsb_facts_of(&fn, gsb_arch_find("h200"), l);
}

static void test_facts_of_launch_say_what_it_needs_and_how_much_fits(void **state)
{
	const struct gsb_cmd_launch l = launch(10, 1024);
	const struct gsb_launch_facts f = anew(&l);

	assert_int_equal(f.needs.n_blocks, 10);
	assert_int_equal(f.needs.threads_per_block, 1024);
	assert_int_equal(f.needs.regs_per_thread, 32);
	assert_int_equal(f.blocks_per_sm, 2);
	assert_int_not_equal(f.hash, 0);
}

/* Each number of a geometry by itself makes it another one. */
static void test_facts_of_geometries_that_differ_in_one_number_differ(void **state)
{
	struct gsb_kernel_fn fn = kernel();
	const struct gsb_arch *arch = gsb_arch_find("h200");
	struct gsb_cmd_launch l = launch(2, 2);
	uint32_t *numbers[] = {&l.grid[0],  &l.grid[1],	 &l.grid[2],   &l.block[0],
			       &l.block[1], &l.block[2], &l.smem_bytes};
	uint64_t hash = gsb_facts_of(&fn, arch, &l)->hash;

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct gsb_launch_facts f, g;

		*numbers[i] += 3;
		f = *gsb_facts_of(&fn, arch, &l);
		g = anew(&l);
		assert_int_not_equal(f.hash, hash);
		assert_int_equal(f.hash, g.hash);
		assert_int_equal(f.needs.n_blocks, g.needs.n_blocks);
		assert_int_equal(f.needs.threads_per_block, g.needs.threads_per_block);
		assert_int_equal(f.needs.smem_bytes, g.needs.smem_bytes);
		assert_int_equal(f.blocks_per_sm, g.blocks_per_sm);
		*numbers[i] -= 3;
		assert_int_equal(gsb_facts_of(&fn, arch, &l)->hash, hash);
	}
}

/* More geometries than are kept, again and again, each as often as the others and in both directions. */
static void test_facts_that_made_room_for_others_come_again(void **state)
{
	struct gsb_kernel_fn fn = kernel();
	const struct gsb_arch *arch = gsb_arch_find("h200");

	for (unsigned i = 0; i < 100; i++) {
		struct gsb_cmd_launch l = launch(1 + (i % 2 ? i : 100 - i) % 7, 32 << i % 5);
		const struct gsb_launch_facts f = *gsb_facts_of(&fn, arch, &l), g = anew(&l);

		assert_int_equal(f.hash, g.hash);
		assert_int_equal(f.blocks_per_sm, g.blocks_per_sm);
		assert_int_equal(f.needs.n_blocks, g.needs.n_blocks);
		assert_int_equal(f.needs.threads_per_block, g.needs.threads_per_block);
	}
}

/* Those launched last are looked up, not found out: what is there is left as it is. */
static void test_facts_of_the_last_geometries_are_kept(void **state)
{
	struct gsb_kernel_fn fn = kernel();
	const struct gsb_arch *arch = gsb_arch_find("h200");

	for (uint32_t i = 1; i <= GSB_N_FACTS; i++) {
		const struct gsb_cmd_launch l = launch(i, 32);

		gsb_facts_of(&fn, arch, &l)->admitted = i;
	}
	for (uint32_t i = 1; i <= GSB_N_FACTS; i++) {
		const struct gsb_cmd_launch l = launch(i, 32);

		assert_int_equal(gsb_facts_of(&fn, arch, &l)->admitted, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts_of_launch_say_what_it_needs_and_how_much_fits),
		cmocka_unit_test(test_facts_of_geometries_that_differ_in_one_number_differ),
		cmocka_unit_test(test_facts_that_made_room_for_others_come_again),
		cmocka_unit_test(test_facts_of_the_last_geometries_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
