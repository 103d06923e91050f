/*
 * test_emu_groups.c - programs of cooperative groups, as nvcc 13 compiles them for sm_75 and for sm_90, on 1, 2
 * and 4 workers, against a reference that knows only lists of values.
 *
 * tests/kernels/groups.cu is the source; both texts are shipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/exec/exec.h"
#include "tests/unit/device_kit.h"

#define GRID	    3
#define MAX_THREADS 512
#define MAX_N	    (GRID * MAX_THREADS)
#define TILE_WORDS  14

/* How a module is run: what cmocka hands to a case. */
struct setup {
	const char *file;
	unsigned int n_workers;
	bool copies; /* it has copy_async */
};

struct rig {
	struct t_device d;
	const struct setup *setup;
	int *in;
	uint32_t *out;
};

/* Values of a group in the order of its ranks. */
struct list {
	int v[MAX_THREADS];
	uint32_t n;
};

/* ---- the reference ---- */

static int sample(uint32_t i)
{
	return (int)(i * 37 % 599) + (i % 11 == 3 ? 600 : 0) - (i % 13 == 5 ? 900 : 0);
}

static int sum_to(const struct list *l, uint32_t end)
{
	int s = 0;

	for (uint32_t i = 0; i < end; i++)
		s += l->v[i];
	return s;
}

static int most_to(const struct list *l, uint32_t end)
{
	int m = l->v[0];

	for (uint32_t i = 1; i < end; i++)
		m = l->v[i] > m ? l->v[i] : m;
	return m;
}

static int least(const struct list *l)
{
	int m = l->v[0];

	for (uint32_t i = 1; i < l->n; i++)
		m = l->v[i] < m ? l->v[i] : m;
	return m;
}

static int xor_all(const struct list *l)
{
	int x = 0;

	for (uint32_t i = 0; i < l->n; i++)
		x ^= l->v[i];
	return x;
}

/* Of a group of up to 32: the ranks where v % m is r; m 0: where v is r. */
static uint32_t ranks_with(const struct list *l, int m, int r)
{
	uint32_t ranks = 0;

	for (uint32_t i = 0; i < l->n; i++)
		ranks |= (uint32_t)((m ? l->v[i] % m : l->v[i]) == r) << i;
	return ranks;
}

static uint32_t how_many_sevens(const struct list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += l->v[i] % 7 == 0;
	return n;
}

static void want_tile(const struct list *l, uint32_t r, uint32_t words[TILE_WORDS])
{
	words[0] = l->n * 1000 + r;
	words[1] = how_many_sevens(l) != 0;
	words[2] = how_many_sevens(l) == 0;
	words[3] = (uint32_t)l->v[l->n > 32 ? l->n - 3 : (r + 1) % l->n];
	words[4] = (uint32_t)sum_to(l, l->n);
	words[5] = (uint32_t)least(l);
	words[6] = (uint32_t)xor_all(l);
	words[7] = (uint32_t)sum_to(l, r + 1);
	words[8] = (uint32_t)sum_to(l, r);
	words[9] = (uint32_t)most_to(l, r + 1);
	words[10] = (uint32_t)sum_to(l, l->n);
	words[11] = l->n * 7;
	words[12] = words[13] = 0;
}

static void want_small(const struct list *l, uint32_t r, uint32_t rank, uint32_t n_tiles,
		       uint32_t words[TILE_WORDS])
{
	want_tile(l, r, words);
	words[12] = (ranks_with(l, 2, 1) | ranks_with(l, 2, -1)) + ranks_with(l, 3, l->v[r] % 3);
	words[13] = (uint32_t)(l->v[r ^ l->n / 2] + l->v[r]) + rank * 100 + n_tiles;
}

static void want_group(const struct list *l, uint32_t r, uint32_t words[5])
{
	words[0] = l->n * 1000 + r;
	words[1] = (uint32_t)sum_to(l, l->n);
	words[2] = (uint32_t)most_to(l, l->n);
	words[3] = (uint32_t)sum_to(l, r);
	words[4] = (uint32_t)l->v[0] + (ranks_with(l, 0, 5) != 0) + 2 * (least(l) > 0) +
		   ranks_with(l, 2, l->v[r] % 2);
}

/* Those of the @size threads around @i that have its key; -> its rank among them. */
static uint32_t gather(const int *in, uint32_t i, uint32_t size, int (*key)(int), struct list *l)
{
	uint32_t first = i / size * size, rank = 0;

	l->n = 0;
	for (uint32_t k = first; k < first + size; k++) {
		if (key && key(in[k]) != key(in[i]))
			continue;
		if (k == i)
			rank = l->n;
		l->v[l->n++] = in[k];
	}
	return rank;
}

static void want_keyed(const int *in, uint32_t i, uint32_t size, int (*key)(int), uint32_t words[5])
{
	struct list l;
	uint32_t r = gather(in, i, size, key, &l);

	want_group(&l, r, words);
}

/* ---- running ---- */

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->setup = *state;
	t_device_open(&rig->d, "emu:h200", rig->setup->n_workers);
	t_device_load_file(&rig->d, rig->setup->file);
	rig->in = t_device_alloc(&rig->d, MAX_N * sizeof(*rig->in));
	rig->out = t_device_alloc(&rig->d, MAX_N * (TILE_WORDS + 2) * sizeof(*rig->out));
	for (uint32_t i = 0; i < MAX_N; i++)
		rig->in[i] = sample(i);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	t_device_close(&rig->d);
	free(rig);
	return 0;
}

static void launch(struct rig *rig, const char *kernel, uint32_t block, const void *third)
{
	struct t_device_launch l = {
		.kernel = kernel,
		.grid = GRID,
		.block = block,
		.args = {(uintptr_t)rig->in, (uintptr_t)rig->out, (uintptr_t)third}};
	struct gsb_completion done = t_device_run(&rig->d, &l);

	if (done.result)
		fail_msg("%s: %s", kernel, done.detail);
}

static void check(const char *what, uint32_t thread, const uint32_t *got, const uint32_t *want,
		  uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		if (got[k] != want[k])
			fail_msg("%s, thread %u, word %u: 0x%x, not 0x%x", what, thread, k, got[k],
				 want[k]);
	}
}

/* ---- tiles ---- */

static void test_tiles_of_a_warp(void **state)
{
	struct rig *rig = *state;

	for (uint32_t size = 1; size <= 32; size *= 2) {
		uint32_t block = 128;
		char kernel[16];

		snprintf(kernel, sizeof(kernel), "tile_%u", size);
		launch(rig, kernel, block, NULL);
		for (uint32_t i = 0; i < GRID * block; i++) {
			uint32_t want[TILE_WORDS];
			struct list l;
			uint32_t r = gather(rig->in, i, size, NULL, &l);

			want_small(&l, r, i % block / size, block / size, want);
			check(kernel, i, rig->out + (size_t)TILE_WORDS * i, want, TILE_WORDS);
		}
	}
}

static void test_tiles_of_several_warps(void **state)
{
	struct rig *rig = *state;

	for (uint32_t size = 64; size <= 512; size *= 2) {
		char kernel[16];

		snprintf(kernel, sizeof(kernel), "tile_%u", size);
		launch(rig, kernel, 512, NULL);
		for (uint32_t i = 0; i < GRID * 512; i++) {
			uint32_t want[TILE_WORDS];
			struct list l;
			uint32_t r = gather(rig->in, i, size, NULL, &l);

			want_tile(&l, r, want);
			check(kernel, i, rig->out + (size_t)TILE_WORDS * i, want, TILE_WORDS);
		}
	}
}

/* ---- groups that the data make ---- */

static int by_five(int v)
{
	return v % 5;
}

static int by_third(int v)
{
	return v % 3 == 0;
}

static int by_hundreds(int v)
{
	return v / 300;
}

static void test_labels_and_halves(void **state)
{
	struct rig *rig = *state;

	launch(rig, "labels", 128, NULL);
	for (uint32_t i = 0; i < GRID * 128; i++) {
		uint32_t want[15];

		want_keyed(rig->in, i, 32, by_five, want);
		want_keyed(rig->in, i, 16, by_third, want + 5);
		want_keyed(rig->in, i, 32, by_hundreds, want + 10);
		check("labels", i, rig->out + (size_t)15 * i, want, 15);
	}
}

static void test_lanes_that_came_one_way(void **state)
{
	struct rig *rig = *state;
	uint32_t *counters = t_device_alloc(&rig->d, 8), n = GRID * 128, some = 0;
	bool taken[GRID * 128] = {false};

	launch(rig, "coalesced", 128, counters);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *got = rig->out + (size_t)6 * i;
		uint32_t want[5];

		want_keyed(rig->in, i, 32, by_third, want);
		check("coalesced", i, got, want, 5);
		some += (uint32_t)by_third(rig->in[i]);
		if (!by_third(rig->in[i]))
			continue;
		assert_true(got[5] < n && !taken[got[5]]); /* each place is given once */
		taken[got[5]] = true;
	}
	assert_int_equal(counters[0], some);
	assert_int_equal(counters[1], n - some);
}

/* ---- blocks ---- */

static void test_block_barriers(void **state)
{
	struct rig *rig = *state;

	launch(rig, "block_sync", 320, NULL);
	for (uint32_t i = 0; i < GRID * 320; i++) {
		uint32_t next = i / 320 * 320 + (i % 320 + 3) % 320;

		assert_int_equal(rig->out[i], i / 320 + (uint32_t)rig->in[next] + 2 + 320);
	}
}

static void test_memcpy_async_by_plain_copies(void **state)
{
	struct rig *rig = *state;

	if (!rig->setup->copies)
		return;
	launch(rig, "copy_async", 96, NULL);
	for (uint32_t i = 0; i < GRID * 96; i++) {
		const int *in = rig->in + (size_t)(i / 96 * 96);
		uint32_t t = i % 96;

		assert_int_equal(rig->out[i], (uint32_t)(in[95 - t] + in[t ^ 15]));
	}
}

/* ---- grids ---- */

static struct t_device_launch grid_launch(const char *kernel, uint32_t grid, uint32_t block)
{
	return (struct t_device_launch){
		.kernel = kernel, .grid = grid, .block = block, .cooperative = true};
}

static void check_rounds(struct rig *rig, uint32_t grid, uint32_t block, uint32_t rounds)
{
	struct t_device_launch l = grid_launch("grid_rounds", grid, block);
	uint32_t *a = t_device_alloc(&rig->d, grid * sizeof(*a));
	uint32_t *b = t_device_alloc(&rig->d, grid * sizeof(*b));
	uint32_t *want = calloc(grid, sizeof(*want)), *old = calloc(grid, sizeof(*old));
	struct gsb_completion done;

	assert_true(want && old);
	for (uint32_t i = 0; i < grid; i++)
		a[i] = want[i] = i * 7 + 1;
	for (uint32_t r = 0; r < rounds; r++) {
		memcpy(old, want, grid * sizeof(*old));
		for (uint32_t i = 0; i < grid; i++)
			want[i] = old[i] * 3 + old[(i + 1) % grid];
	}
	l.args[0] = (uintptr_t)a;
	l.args[1] = (uintptr_t)b;
	l.args[2] = rounds;
	done = t_device_run(&rig->d, &l);
	if (done.result)
		fail_msg("grid of %u: %s", grid, done.detail);
	assert_memory_equal(rounds & 1 ? b : a, want, grid * sizeof(*want));
	free(want);
	free(old);
}

static void test_grid_barrier_of_any_grid(void **state)
{
	check_rounds(*state, 1, 32, 5);
	check_rounds(*state, 2, 64, 20);
	check_rounds(*state, 7, 96, 20);
	check_rounds(*state, 132, 256, 6);
}

/* 2 blocks of 1,024 threads on each of 132 SMs, and not one more. */
static void test_grid_barrier_up_to_all_that_fit(void **state)
{
	struct rig *rig = *state;
	struct t_device_launch l = grid_launch("grid_rounds", 265, 1024);

	check_rounds(rig, 264, 1024, 4);
	assert_int_equal(t_device_issue(&rig->d, &l), -E2BIG);
}

static void test_grid_group_is_valid_in_cooperative_launches_only(void **state)
{
	struct rig *rig = *state;
	struct t_device_launch l = grid_launch("grid_valid", 2, 32);

	l.args[0] = (uintptr_t)rig->out;
	for (int i = 0; i < 2; i++) {
		rig->out[0] = 7;
		l.cooperative = i;
		assert_int_equal(t_device_run(&rig->d, &l).result, CUDA_SUCCESS);
		assert_int_equal(rig->out[0], i);
	}
}

/* The place where its blocks are counted is the device's: nobody pays, and it is given back. */
static void test_grid_workspace_is_not_the_tenants(void **state)
{
	struct rig *rig = *state;
	uint64_t before, after, total;

	rig->d.ops->mem_info(rig->d.dev, &before, &total);
	rig->d.ops->space_limit(rig->d.space, 1);
	for (int i = 0; i < 3; i++) {
		struct t_device_launch l = grid_launch("grid_rounds", 4, 32);

		l.args[0] = l.args[1] = (uintptr_t)rig->out;
		l.args[2] = 2;
		assert_int_equal(t_device_run(&rig->d, &l).result, CUDA_SUCCESS);
	}
	rig->d.ops->mem_info(rig->d.dev, &after, &total);
	assert_true(before == after);
}

/* ---- what compiled code asks for ---- */

static const char asking[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".visible .entry workspace(.param .u64 out) {\n"
	".reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;\n"
	"mov.b64 %rd2, {%r2, %r1}; ld.global.u32 %r3, [%rd2]; ld.u32 %r4, [%rd2+4];\n"
	"st.u32 [%rd2+4], 77; st.global.u64 [%rd1], %rd2;\n"
	"st.global.v2.u32 [%rd1+8], {%r3, %r4}; ret; }\n"
	".visible .entry peek(.param .u64 at) {\n"
	".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd1, [at]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1; ret; }\n"
	".visible .entry shared_words(.param .u64 out) {\n"
	".reg .b32 %r<12>; .reg .b64 %rd<4>; .shared .align 8 .b8 own[24];\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r0, %reserved_smem_offset_begin; st.global.u32 [%rd1], %r0;\n"
	"mov.u32 %r0, %reserved_smem_offset_end; st.global.u32 [%rd1+4], %r0;\n"
	"mov.u32 %r0, %reserved_smem_offset_cap; st.global.u32 [%rd1+8], %r0;\n"
	"mov.u32 %r0, %reserved_smem_offset_0; st.global.u32 [%rd1+12], %r0;\n"
	"mov.u32 %r0, %reserved_smem_offset_1; st.global.u32 [%rd1+16], %r0;\n"
	"mov.u32 %r0, own; st.global.u32 [%rd1+20], %r0;\n"
	"mov.u32 %r0, dynamic; st.global.u32 [%rd1+24], %r0;\n"
	"mov.u32 %r0, %total_smem_size; st.global.u32 [%rd1+28], %r0;\n"
	"mov.u32 %r0, %dynamic_smem_size; st.global.u32 [%rd1+32], %r0;\n"
	"mov.u32 %r0, %aggr_smem_size; st.global.u32 [%rd1+36], %r0; ret; }\n";

static void ask(struct rig *rig, struct t_device_launch *l)
{
	if (t_device_load(&rig->d, asking))
		fail_msg("%s", rig->d.log);
	l->args[0] = (uintptr_t)rig->out;
	assert_int_equal(t_device_run(&rig->d, l).result, CUDA_SUCCESS);
}

/* A grid finds none of what another left there, and nobody reaches it when the grid has ended. */
static void test_grid_workspace_is_fresh_and_given_back(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(gsb_emu_guard_install(), 0); /* cmocka has taken the signals */
	for (int i = 0; i < 3; i++) {
		struct t_device_launch l = grid_launch("workspace", 1, 1);
		struct t_device_launch peek = {.kernel = "peek", .grid = 1, .block = 1};

		ask(rig, &l);
		assert_int_equal(rig->out[2], 8);
		assert_int_equal(rig->out[3], 0);
		memcpy(&peek.args[0], rig->out, sizeof(peek.args[0]));
		assert_true(peek.args[0]);
		assert_int_equal(t_device_run(&rig->d, &peek).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}

static void test_reserved_shared_memory_lies_before_the_programs(void **state)
{
	struct rig *rig = *state;
	const uint32_t *out = rig->out;
	struct t_device_launch l = {
		.kernel = "shared_words", .grid = 1, .block = 1, .smem_bytes = 100};

	ask(rig, &l);
	assert_int_equal(out[0], 0);
	assert_int_equal(out[1], 288);
	assert_int_equal(out[2], 1024);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[4], 0);
	assert_int_equal(out[5], 1024);
	assert_int_equal(out[6], 1024 + 32);
	assert_int_equal(out[7], 256); /* 32 + 100, in units of 128 */
	assert_int_equal(out[8], 100);
	assert_int_equal(out[9], 1024 + 32 + 100);
}

#define EACH(file, workers, copies_)                                                           \
	{                                                                                      \
		static const struct setup s = {file, workers, copies_};                        \
		const struct CMUnitTest tests[] = {                                            \
			CASE(test_tiles_of_a_warp),                                            \
			CASE(test_tiles_of_several_warps),                                     \
			CASE(test_labels_and_halves),                                          \
			CASE(test_lanes_that_came_one_way),                                    \
			CASE(test_block_barriers),                                             \
			CASE(test_memcpy_async_by_plain_copies),                               \
			CASE(test_grid_barrier_of_any_grid),                                   \
			CASE(test_grid_barrier_up_to_all_that_fit),                            \
			CASE(test_grid_group_is_valid_in_cooperative_launches_only),           \
			CASE(test_grid_workspace_is_not_the_tenants),                          \
			CASE(test_grid_workspace_is_fresh_and_given_back),                     \
			CASE(test_reserved_shared_memory_lies_before_the_programs),            \
		};                                                                             \
		failed += cmocka_run_group_tests_name(#workers " workers, " file, tests, NULL, \
						      NULL);                                   \
	}
#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, set_up, tear_down, (void *)&s)

int main(void)
{
	int failed = 0;

	EACH("tests/ptx/groups.nvcc.ptx", 1, true);
	EACH("tests/ptx/groups.nvcc.ptx", 2, true);
	EACH("tests/ptx/groups.nvcc.ptx", 4, true);
	EACH("tests/ptx/groups.sm90.nvcc.ptx", 1, false);
	EACH("tests/ptx/groups.sm90.nvcc.ptx", 2, false);
	EACH("tests/ptx/groups.sm90.nvcc.ptx", 4, false);
	return failed;
}
