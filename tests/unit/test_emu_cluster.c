/*
 * test_emu_cluster.c - clusters of blocks: cooperative groups' this_cluster(), as nvcc 13 compiles it for sm_90, where a
 * cluster has one block; and kernels by hand in which blocks reach each other's shared memory. On 1, 2 and 4 workers.
 *
 * tests/kernels/cluster.cu is the source of the first; its text is shipped. tests/ptx/hand_cluster.ptx has the others.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/device_kit.h"

#define GRID	5
#define THREADS 200 /* the last warp is a quarter */
#define WORDS	13

static int sample(uint32_t i)
{
	return (int)(i * 37 % 599) - 100;
}

static int sum_of_block(uint32_t block)
{
	int sum = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		sum += sample(block * THREADS + i);
	return sum;
}

static void expect_words(const int *out, uint32_t block, uint32_t i)
{
	const uint32_t first = block * THREADS;
	const int want[WORDS] = {
		1, /* blocks */
		THREADS,
		0, /* rank of the block */
		(int)i,
		111, /* blocks of each axis */
		0,   /* place of the block */
		THREADS,
		(int)i,
		sample(first + (i + 1) % THREADS),
		0, /* whose shared memory it is */
		(int)i * 3,
		sum_of_block(block),
		2 * sample(first + THREADS - 1 - i),
	};

	for (unsigned w = 0; w < WORDS; w++) {
		if (out[w] != want[w])
			fail_msg("block %u thread %u word %u: %d, not %d", block, i, w, out[w],
				 want[w]);
	}
}

static void check(const char *kernel, unsigned n_workers)
{
	struct t_device_launch l = {.kernel = kernel, .grid = GRID, .block = THREADS};
	struct gsb_completion c;
	struct t_device d;
	int *in, *out;

	t_device_open(&d, "emu:h200", n_workers);
	t_device_load_file(&d, "tests/ptx/cluster.nvcc.ptx");
	in = t_device_alloc(&d, 4 * GRID * THREADS);
	out = t_device_alloc(&d, 4 * GRID * THREADS * WORDS);
	for (uint32_t i = 0; i < GRID * THREADS; i++)
		in[i] = sample(i);
	l.args[0] = (uint64_t)(uintptr_t)in;
	l.args[1] = (uint64_t)(uintptr_t)out;
	c = t_device_run(&d, &l);
	if (c.result)
		fail_msg("%s: %d %s", kernel, c.result, c.detail);
	for (uint32_t i = 0; i < GRID * THREADS; i++)
		expect_words(&out[i * WORDS], i / THREADS, i % THREADS);
	t_device_close(&d);
}

static void test_cluster_of_a_launch_that_says_nothing_is_its_block(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n *= 2)
		check("cluster_of_the_launch", n);
}

static void test_cluster_of_one_block_that_the_kernel_asks_for(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n *= 2)
		check("cluster_of_the_kernel", n);
}

/* ---- several blocks ---- */

#define N_THREADS 64

static void open_hand(struct t_device *d, unsigned n_workers)
{
	t_device_open(d, "emu:h200", n_workers);
	t_device_load_file(d, "tests/ptx/hand_cluster.ptx");
}

static void run_well(struct t_device *d, const struct t_device_launch *l)
{
	struct gsb_completion c = t_device_run(d, l);

	if (c.result)
		fail_msg("%s: %d %s", l->kernel, c.result, c.detail);
}

/* Of a block in a grid of 4 x 6 x 2, in clusters of 2 x 3 x 1. */
static void expect_who(const uint32_t *got, uint32_t x, uint32_t y, uint32_t z)
{
	const uint32_t want[] = {
		x / 2, y / 3, z, 2, 2, 2, x % 2, y % 3, 0, 2, 3, 1, y % 3 * 2 + x % 2, 6, 1};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++)
		if (got[i] != want[i])
			fail_msg("block %u,%u,%u word %u: %u, not %u", x, y, z, i, got[i], want[i]);
}

static void test_blocks_know_their_place_in_the_cluster(void **state)
{
	struct t_device_launch l = {.kernel = "who",
				    .grid = 4,
				    .grid_y = 6,
				    .grid_z = 2,
				    .block = N_THREADS,
				    .cluster = {2, 3, 1}};

	(void)state;
	for (unsigned n = 1; n <= 4; n *= 2) {
		struct t_device d;
		uint32_t *out;

		open_hand(&d, n);
		out = t_device_alloc(&d, 48 * 64);
		l.args[0] = (uintptr_t)out;
		run_well(&d, &l);
		for (uint32_t i = 0; i < 48; i++)
			expect_who(&out[i * 16], i % 4, i / 4 % 6, i / 24);
		t_device_close(&d);
	}
}

static uint32_t number_of(uint32_t block, uint32_t thread)
{
	return block * 1000 + thread;
}

static void expect_reached(const uint32_t *got, uint32_t block, uint32_t n, uint32_t t)
{
	const uint32_t rank = block % n, first = block - rank, next = first + (rank + 1) % n,
		       before = first + (rank + n - 1) % n, four = t & ~3u;
	const uint32_t want[] = {
		number_of(next, t),
		number_of(next, t),
		number_of(next, t ^ 63),
		number_of(next, four) + number_of(next, four + 3),
		number_of(next, four + 1),
		number_of(next, four + 2),
		(rank + 1) % n,
		(rank + 1) % n,
		rank,
		n == 1 ? 15
		       : 13, /* in the cluster, not in the block; a generic address of the block; mapa of itself */
		number_of(before, t) + 500,
		63 * 64 / 2 * n,
		number_of(first + n - 1, 63),
		77,
		3 * 64 * n,
		number_of(block, t * 7 % 64),
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++)
		if (got[i] != want[i])
			fail_msg("block %u of clusters of %u, thread %u word %u: %u, not %u", block,
				 n, t, i, got[i], want[i]);
}

static void test_blocks_reach_each_others_shared_memory(void **state)
{
	static const uint8_t sizes[] = {1, 2, 3, 8, 16};

	(void)state;
	for (unsigned i = 0; i < 3 * GSB_ARRAY_LEN(sizes); i++) {
		const uint32_t n = sizes[i / 3], blocks = 5 * n;
		struct t_device_launch l = {.kernel = "reach",
					    .grid = blocks,
					    .block = N_THREADS,
					    .cluster = {(uint8_t)n, 1, 1}};
		struct t_device d;
		uint32_t *out;

		open_hand(&d, 1u << i % 3);
		out = t_device_alloc(&d, blocks * N_THREADS * 64);
		l.args[0] = (uintptr_t)out;
		run_well(&d, &l);
		for (uint32_t k = 0; k < blocks * N_THREADS; k++)
			expect_reached(&out[(size_t)k * 16], k / N_THREADS, n, k % N_THREADS);
		t_device_close(&d);
	}
}

static void expect_arrived(const uint32_t *got, const uint32_t *in, uint32_t block, uint32_t n)
{
	const uint32_t rank = block % n, before = block - rank + (rank + n - 1) % n,
		       a = before + 10;
	uint32_t want[N_THREADS] = {a, 0, a, rank, a, a + 1, rank, a, a, 1, a, rank};

	for (uint32_t i = 0; i < 8; i++)
		want[16 + i] = before * 100 + i;
	memcpy(&want[32], in, 64);
	for (uint32_t i = 0; i < N_THREADS; i++)
		if (got[i] != want[i])
			fail_msg("block %u of clusters of %u, word %u: %u, not %u", block, n, i,
				 got[i], want[i]);
}

static void test_blocks_are_told_of_what_others_have_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		const uint32_t n = (uint32_t[]){2, 5, 16}[i / 3], blocks = 4 * n;
		struct t_device_launch l = {.kernel = "arrive",
					    .grid = blocks,
					    .block = N_THREADS,
					    .cluster = {(uint8_t)n, 1, 1}};
		struct t_device d;
		uint32_t *in, *out;

		open_hand(&d, 1u << i % 3);
		in = t_device_alloc(&d, 64);
		out = t_device_alloc(&d, blocks * N_THREADS * 4);
		for (uint32_t k = 0; k < 16; k++)
			in[k] = k * k + 1;
		l.args[0] = (uintptr_t)in;
		l.args[1] = (uintptr_t)out;
		run_well(&d, &l);
		for (uint32_t k = 0; k < blocks; k++)
			expect_arrived(&out[(size_t)k * N_THREADS], in, k, n);
		t_device_close(&d);
	}
}

static void test_cluster_that_the_kernel_asks_for_needs_no_launch_that_does(void **state)
{
	struct t_device_launch l = {.kernel = "pairs", .grid = 6, .block = 1};
	struct t_device d;
	uint32_t *out;

	(void)state;
	open_hand(&d, 2);
	out = t_device_alloc(&d, 64);
	l.args[0] = (uintptr_t)out;
	run_well(&d, &l);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(out[i], 0x200 + i % 2);
	t_device_close(&d);
}

static void test_cluster_that_no_launch_can_have_is_refused(void **state)
{
	static const struct {
		const char *kernel;
		uint32_t grid;
		uint8_t cluster;
		int err;
	} rows[] = {
		{"pairs", 5, 0, -EINVAL}, {"pairs", 8, 4, -EINVAL}, {"pairs", 8, 2, 0},
		{"told", 8, 0, -EINVAL},  {"told", 8, 4, 0},	    {"told", 8, 8, -EINVAL},
		{"who", 34, 17, -EINVAL}, {"who", 32, 16, 0},	    {"who", 9, 2, -EINVAL},
		{"arrive", 8, 8, 0},
	};
	struct t_device d;

	(void)state;
	open_hand(&d, 1);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct t_device_launch l = {.kernel = rows[i].kernel,
					    .grid = rows[i].grid,
					    .block = 1,
					    .cluster = {rows[i].cluster, 1, 1}};

		l.cluster[1] = l.cluster[2] = rows[i].cluster > 0;
		l.args[0] = l.args[1] = (uintptr_t)t_device_alloc(&d, 4096);
		if (rows[i].err)
			assert_int_equal(t_device_issue(&d, &l), rows[i].err);
	}
	t_device_close(&d);
}

static void test_kernel_says_which_clusters_it_wants(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k0() { ret; }\n"
		".visible .entry k1() .explicitcluster { ret; }\n"
		".visible .entry k2() .reqnctapercluster 2,3,1 { ret; }\n"
		".visible .entry k3() .explicitcluster .reqnctapercluster 2,2,1 { ret; }\n";
	static const int32_t want[][4] = {{0}, {1}, {0, 2, 3, 1}, {1, 2, 2, 1}};
	struct t_device d;

	(void)state;
	t_device_open(&d, "emu:h200", 1);
	assert_int_equal(t_device_load(&d, text), 0);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++) {
		struct gsb_function_info info;
		char name[] = {'k', (char)('0' + i), 0};

		t_device_function(&d, name, &info);
		assert_memory_equal(&info.attrs[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET],
				    want[i], sizeof(want[i]));
	}
	t_device_close(&d);
}

/* It asks nothing of its cluster, and has shared memory of its own by a generic address. */
static void test_kernel_that_knows_no_clusters_runs_in_them(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
		".reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .b32 s;\n"
		"ld.param.u64 %rd1, [out]; cvta.shared.u64 %rd2, s;\n"
		"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;\n"
		"mad.lo.u32 %r1, %r2, %r3, %r1; st.u32 [%rd2], %r1; ld.shared.u32 %r4, [s];\n"
		"mul.wide.u32 %rd3, %r4, 4; add.u64 %rd1, %rd1, %rd3; red.global.add.u32 [%rd1], 1; ret;\n}\n";
	struct t_device_launch l = {
		.kernel = "k", .grid = 4, .grid_y = 6, .block = 1, .cluster = {2, 3, 1}};
	struct t_device d;
	uint32_t *out;

	(void)state;
	t_device_open(&d, "emu:h200", 2);
	assert_int_equal(t_device_load(&d, text), 0);
	out = t_device_alloc(&d, 4096);
	l.args[0] = (uintptr_t)out;
	run_well(&d, &l);
	for (uint32_t i = 0; i < 25; i++)
		assert_int_equal(out[i], i < 24);
	t_device_close(&d);
}

/* Bits that another block has combined with the word, of 32. */
static void test_block_combines_bits_in_another_ones_memory(void **state)
{
	static const char text[] =
		".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
		".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 16 .b32 s[4];\n"
		".shared .align 8 .b64 bar;\n"
		"ld.param.u64 %rd1, [out]; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;\n"
		"st.shared.v4.b32 [s], {6, 6, 6, 6}; mbarrier.init.shared.b64 [bar], 1;\n"
		"mbarrier.arrive.expect_tx.shared.b64 _, [bar], 12; fence.mbarrier_init.release.cluster;\n"
		"barrier.cluster.arrive; barrier.cluster.wait;\n"
		"mov.u32 %r3, s; mapa.shared::cluster.u32 %r4, %r3, %r2;\n"
		"mov.u32 %r5, bar; mapa.shared::cluster.u32 %r6, %r5, %r2;\n"
#define RED "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes."
		RED "and.b32 [%r4], 3, [%r6];\n" RED "or.b32 [%r4+4], 3, [%r6];\n" RED
		"xor.b32 [%r4+8], 3, [%r6];\n"
#undef RED
		"wait: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra wait;\n"
		"ld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [s]; mul.wide.u32 %rd2, %r1, 16;\n"
		"add.u64 %rd1, %rd1, %rd2; st.global.v4.b32 [%rd1], {%r7, %r8, %r9, %r10};\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n";
	static const uint32_t want[] = {2, 7, 5, 6};
	struct t_device_launch l = {.kernel = "k", .grid = 2, .block = 1, .cluster = {2, 1, 1}};
	struct t_device d;
	uint32_t *out;

	(void)state;
	t_device_open(&d, "emu:h200", 2);
	assert_int_equal(t_device_load(&d, text), 0);
	out = t_device_alloc(&d, 4096);
	l.args[0] = (uintptr_t)out;
	run_well(&d, &l);
	assert_memory_equal(out, want, sizeof(want));
	assert_memory_equal(out + 4, want, sizeof(want));
	t_device_close(&d);
}

/* Of four blocks the first gives three a box of 8 rows of 16 bytes, each at its place and to its mbarrier. */
static void test_tensor_copy_goes_to_each_block_of_the_mask(void **state)
{
	static const char text[] =
		".version 8.1\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 out, .param .u64 map)\n{\n"
		".reg .pred %p<4>; .reg .b16 %h<2>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
		".shared .align 128 .b32 s[64]; .shared .align 8 .b64 bar;\n"
		"ld.param.u64 %rd1, [out]; ld.param.u64 %rd3, [map]; mov.u32 %r0, %tid.x;\n"
		"mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s; shl.b32 %r3, %r0, 2;\n"
		"add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], 7; st.shared.u32 [%r4+128], 7;\n"
		"setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 1;\n"
		"@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
		"fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;\n"
		"or.b32 %r5, %r0, %r1; setp.ne.u32 %p2, %r5, 0; mov.u16 %h1, 11;\n"
		"@%p2 bra given; add.u32 %r6, %r2, 128;\n"
		"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
		".multicast::cluster [%r6], [%rd3, {4, 0}], [bar], %h1;\n"
		"given: setp.eq.u32 %p3, %r1, 2; @%p3 bra done;\n"
		"wait: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra wait;\n"
		"done: ld.shared.u32 %r7, [%r4]; ld.shared.u32 %r8, [%r4+128];\n"
		"mad.lo.u32 %r9, %r1, 64, %r0; mul.wide.u32 %rd4, %r9, 4; add.u64 %rd5, %rd1, %rd4;\n"
		"st.global.u32 [%rd5], %r7; st.global.u32 [%rd5+128], %r8;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n";
	struct t_device_launch l = {.kernel = "k", .grid = 4, .block = 32, .cluster = {4, 1, 1}};
	struct gsb_tensor_map m = {.form = GSB_TENSOR_TILED,
				   .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
				   .rank = 2,
				   .dims = {16, 8},
				   .strides = {64},
				   .element_strides = {1, 1},
				   .box = {4, 8}};
	uint32_t *out, *tensor;
	struct t_device d;
	uint64_t *map;

	(void)state;
	t_device_open(&d, "emu:h200", 2);
	assert_int_equal(t_device_load(&d, text), 0);
	out = t_device_alloc(&d, 4096);
	tensor = t_device_alloc(&d, 4096);
	map = t_device_alloc(&d, 4096);
	for (uint32_t i = 0; i < 128; i++)
		tensor[i] = 1000 + i;
	m.addr = (uintptr_t)tensor;
	assert_int_equal(d.dev->ops->tensor_map(d.dev, 1, &m, map), 0);
	l.args[0] = (uintptr_t)out;
	l.args[1] = (uintptr_t)map;
	run_well(&d, &l);
	for (uint32_t i = 0; i < 256; i++) {
		bool is_given = i % 64 >= 32 && i / 64 != 2;
		uint32_t row = i % 32 / 4, want = is_given ? 1000 + row * 16 + 4 + i % 4 : 7;

		if (out[i] != want)
			fail_msg("word %u: %u, not %u", i, out[i], want);
	}
	t_device_close(&d);
}

/* ---- what goes wrong ---- */

#define HEAD                                                                                     \
	".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" \
	".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 16 .b32 s[64];\n"  \
	"mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s; setp.eq.u32 %p1, %r1, 1;\n"
#define SYNC "barrier.cluster.arrive; barrier.cluster.wait;\n"

/* In clusters of two; what is said must have all of these words. */
static void expect_fault(const char *body, CUresult result, const char *const *words)
{
	struct t_device_launch l = {.kernel = "k", .grid = 4, .block = 32, .cluster = {2, 1, 1}};
	char text[4096];

	snprintf(text, sizeof(text), "%s%s}\n", HEAD, body);
	for (unsigned n = 1; n <= 4; n *= 2) {
		struct gsb_completion c;
		struct t_device d;

		t_device_open(&d, "emu:h200", n);
		if (t_device_load(&d, text))
			fail_msg("%s", d.log);
		l.args[0] = (uintptr_t)t_device_alloc(&d, 4096);
		c = t_device_run(&d, &l);
		assert_int_equal(c.result, result);
		for (const char *const *w = words; *w; w++)
			if (!strstr(c.detail, *w))
				fail_msg("'%s' is not in: %s", *w, c.detail);
		t_device_close(&d);
	}
}

static void test_block_of_a_rank_that_is_not_there_is_a_fault(void **state)
{
	static const char *const words[] = {"kernel 'k'",
					    "shared address 0x2000400",
					    "no block of that rank",
					    "ld.shared::cluster.u32 in line",
					    "thread (0,0,0), the first of 32",
					    NULL};
	static const char *const generic[] = {"shared address 0x2000400", "no block of that rank",
					      NULL};

	(void)state;
	expect_fault(
		"mapa.shared::cluster.u32 %r3, %r2, 2; ld.shared::cluster.u32 %r4, [%r3];\n" SYNC
		"ret;\n",
		CUDA_ERROR_LAUNCH_FAILED, words);
	expect_fault("cvta.shared.u64 %rd1, s; mapa.u64 %rd1, %rd1, 2; ld.u32 %r4, [%rd1];\n" SYNC
		     "ret;\n",
		     CUDA_ERROR_LAUNCH_FAILED, generic);
}

static void test_beyond_the_shared_memory_of_another_block_is_a_fault(void **state)
{
	static const char *const words[] = {"write of 4 bytes at 0x1", "64 bytes", NULL};
	static const char *const generic[] = {"atomic operation on 4 bytes at 0x80000", NULL};

	(void)state;
	expect_fault(
		"mapa.shared::cluster.u32 %r3, %r2, 1; st.shared::cluster.u32 [%r3+512], 1;\n" SYNC
		"ret;\n",
		CUDA_ERROR_ILLEGAL_ADDRESS, (const char *const[]){words[0], NULL});
	expect_fault(
		"cvta.shared.u64 %rd1, s; mapa.u64 %rd1, %rd1, 1; red.add.u32 [%rd1+512], 1;\n" SYNC
		"ret;\n",
		CUDA_ERROR_ILLEGAL_ADDRESS, generic);
}

static void test_another_blocks_memory_is_not_shared_of_the_block(void **state)
{
	static const char *const words[] = {"it is another block's", "ld.shared.u32", NULL};

	(void)state;
	expect_fault("xor.b32 %r5, %r1, 1; mapa.shared::cluster.u32 %r3, %r2, 1;\n"
		     "ld.shared.u32 %r4, [%r3];\n" SYNC "ret;\n",
		     CUDA_ERROR_ILLEGAL_INSTRUCTION, words);
}

static void test_block_that_has_exited_has_no_shared_memory(void **state)
{
	static const char *const words[] = {"have exited", "block (0,0,0)", NULL};

	(void)state;
	expect_fault(
		SYNC
		"@%p1 ret;\nmov.u32 %r6, 0;\n"
		"L: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 100000; @%p2 bra L;\n"
		"mapa.shared::cluster.u32 %r3, %r2, 1; ld.shared::cluster.u32 %r4, [%r3]; ret;\n",
		CUDA_ERROR_LAUNCH_FAILED, words);
}

static void test_cluster_of_which_all_wait_hangs(void **state)
{
	static const char *const words[] = {"hang: each of 64 threads waits", NULL};
	static const char *const half[] = {"hang: each of 32 threads waits", NULL};

	(void)state;
	/* A block waits at its own barrier for threads that wait for the other block. */
	expect_fault("mov.u32 %r6, %tid.x; setp.eq.u32 %p2, %r6, 0;\n@%p2 bra B;\n" SYNC
		     "ret;\nB: barrier.sync 1, 64; ret;\n",
		     CUDA_ERROR_LAUNCH_TIMEOUT, words);
	/* The other one leaves. */
	expect_fault("@%p1 ret;\nbarrier.sync 1, 64; ret;\n", CUDA_ERROR_LAUNCH_TIMEOUT, half);
}

static void test_store_to_a_wrong_place_of_another_block_is_a_fault(void **state)
{
	static const char *const words[] = {"shared address 0x5000400", "st.async", NULL};
	static const char *const mbar[] = {"shared address 0x3000400", "mbarrier.arrive", NULL};

	(void)state;
	expect_fault(
		"mapa.shared::cluster.u32 %r3, %r2, 5;\nst.async.shared::cluster.mbarrier::complete_tx"
		"::bytes.u32 [%r3], 1, [%r2+8];\n" SYNC "ret;\n",
		CUDA_ERROR_LAUNCH_FAILED, words);
	expect_fault("mapa.shared::cluster.u32 %r3, %r2, 3;\n"
		     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n" SYNC
		     "ret;\n",
		     CUDA_ERROR_LAUNCH_FAILED, mbar);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cluster_of_a_launch_that_says_nothing_is_its_block),
		cmocka_unit_test(test_cluster_of_one_block_that_the_kernel_asks_for),
		cmocka_unit_test(test_blocks_know_their_place_in_the_cluster),
		cmocka_unit_test(test_blocks_reach_each_others_shared_memory),
		cmocka_unit_test(test_blocks_are_told_of_what_others_have_sent),
		cmocka_unit_test(test_cluster_that_the_kernel_asks_for_needs_no_launch_that_does),
		cmocka_unit_test(test_cluster_that_no_launch_can_have_is_refused),
		cmocka_unit_test(test_kernel_says_which_clusters_it_wants),
		cmocka_unit_test(test_kernel_that_knows_no_clusters_runs_in_them),
		cmocka_unit_test(test_block_combines_bits_in_another_ones_memory),
		cmocka_unit_test(test_tensor_copy_goes_to_each_block_of_the_mask),
		cmocka_unit_test(test_block_of_a_rank_that_is_not_there_is_a_fault),
		cmocka_unit_test(test_beyond_the_shared_memory_of_another_block_is_a_fault),
		cmocka_unit_test(test_another_blocks_memory_is_not_shared_of_the_block),
		cmocka_unit_test(test_block_that_has_exited_has_no_shared_memory),
		cmocka_unit_test(test_cluster_of_which_all_wait_hangs),
		cmocka_unit_test(test_store_to_a_wrong_place_of_another_block_is_a_fault),
	};

	return cmocka_run_group_tests_name("emu_cluster", tests, NULL, NULL);
}
