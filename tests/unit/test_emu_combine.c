/*
 * test_emu_combine.c - reductions that a thread combines before memory sees them: memory has them in the end, whoever may ask finds
 * them before, and kernels that could tell are not had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/exec/combine.h"
#include "device/emu/exec/guard.h"
#include "tests/unit/emu_harness.h"

#define LANES	32
#define PAGE	4096
#define P_BYTES ((uint64_t)1 << 20)

/*
 * Each lane has a place of its own, which is not beside its neighbour's: %rd4, in 32 words of p, and %rd5, in 32 words of
 * 64 bits. %rd6: the lane's word of q. %rd8: the lane's word of p, in order. %r2: the thread of the grid.
 */
static const char *const head =
	".version 8.3\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u64 q) {\n"
	".reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n"
	"ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r1, %tid.x;\n"
	"mov.u32 %r4, %ctaid.x;\nshl.b32 %r4, %r4, 5;\nadd.u32 %r2, %r4, %r1;\n"
	"mul.lo.u32 %r3, %r1, 7;\nand.b32 %r3, %r3, 31;\n"
	"mul.wide.u32 %rd3, %r3, 4;\nadd.u64 %rd4, %rd1, %rd3;\n"
	"mul.wide.u32 %rd3, %r3, 8;\nadd.u64 %rd5, %rd1, %rd3;\n"
	"mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd6, %rd2, %rd3;\n"
	"mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd8, %rd1, %rd3;\n";

#define THRICE(red) red red red
#define ADD	    "red.global.add.u32 [%rd4], 1;\n"
#define THREE	    THRICE(ADD)
#define ANSWER	    "st.global.u32 [%rd6], %r5;\n"

struct bench {
	struct t_gpu g;
	uint32_t *p, *q;
};

static unsigned int place_of(unsigned int lane)
{
	return lane * 7 % LANES;
}

static void open_bench(struct bench *b, const char *body)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%sret;\n}\n", head, body);
	t_gpu_init(&b->g, text);
	b->p = t_alloc(&b->g, P_BYTES);
	b->q = t_alloc(&b->g, P_BYTES);
	b->g.combiner = gsb_emu_combiner_create();
	assert_non_null(b->g.combiner);
}

static void close_bench(struct bench *b)
{
	gsb_emu_combiner_destroy(b->g.combiner);
	t_gpu_finish(&b->g);
}

static CUresult launch(struct bench *b, uint32_t grid)
{
	return t_launch(&b->g, &(struct t_launch){.kernel = "k",
						  .grid = {grid},
						  .block = {LANES},
						  .args = {&b->p, &b->q}});
}

/* Is something kept back by a kernel of this body? In the end p and q are as they are said to be. */
static bool is_held_by(const char *body, uint32_t in_p, uint32_t in_q)
{
	struct bench b;
	bool held;

	open_bench(&b, body);
	assert_int_equal(launch(&b, 1), CUDA_SUCCESS);
	held = gsb_emu_combiner_holds(b.g.combiner);
	for (unsigned int i = 0; i < LANES; i++) {
		if (!held)
			assert_int_equal(b.p[i], in_p);
		assert_int_equal(b.q[i], in_q);
	}
	gsb_emu_combiner_flush(b.g.combiner);
	assert_false(gsb_emu_combiner_holds(b.g.combiner));
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(b.p[i], in_p);
	close_bench(&b);
	return held;
}

/* ---- what memory has in the end ---- */

enum op { ADD_, MIN_, MAX_, AND_, OR_, XOR_ };

static const struct kind {
	const char *spelling;
	enum op op;
	bool wide, is_signed;
} kinds[] = {
	{"add.u32", ADD_, false, false}, {"add.s32", ADD_, false, true},
	{"add.u64", ADD_, true, false},	 {"min.u32", MIN_, false, false},
	{"min.s32", MIN_, false, true},	 {"min.u64", MIN_, true, false},
	{"min.s64", MIN_, true, true},	 {"max.u32", MAX_, false, false},
	{"max.s32", MAX_, false, true},	 {"max.u64", MAX_, true, false},
	{"max.s64", MAX_, true, true},	 {"and.b32", AND_, false, false},
	{"and.b64", AND_, true, false},	 {"or.b32", OR_, false, false},
	{"or.b64", OR_, true, false},	 {"xor.b32", XOR_, false, false},
	{"xor.b64", XOR_, true, false},
};

static uint64_t noise(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return i ^ i >> 32;
}

static uint64_t apply(const struct kind *k, uint64_t a, uint64_t b)
{
	bool less = k->is_signed ? (k->wide ? (int64_t)a < (int64_t)b : (int32_t)a < (int32_t)b)
				 : a < b;

	switch (k->op) {
	case ADD_: return k->wide ? a + b : (uint32_t)(a + b);
	case MIN_: return less ? a : b;
	case MAX_: return less ? b : a;
	case AND_: return a & b;
	case OR_: return a | b;
	default: return a ^ b;
	}
}

/* The values come from q: lane i's nth at word i + 32 n, of the kind's width. */
static void put_reductions(char *body, size_t size, const struct kind *k)
{
	int n = snprintf(body, size, "shl.b64 %%rd3, %%rd3, %d;\nadd.u64 %%rd9, %%rd2, %%rd3;\n",
			 k->wide);

	for (int i = 0; i < 3; i++)
		n += snprintf(body + n, size - (size_t)n,
			      "ld.global.b%d %%%s, [%%rd9+%d];\nred.global.%s [%%rd%d], %%%s;\n",
			      k->wide ? 64 : 32, k->wide ? "rd7" : "r7",
			      i * LANES * (k->wide ? 8 : 4), k->spelling, k->wide ? 5 : 4,
			      k->wide ? "rd7" : "r7");
}

static uint64_t word_of(const void *words, const struct kind *k, unsigned int i)
{
	return k->wide ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}

static void check_kind(const struct kind *k)
{
	uint64_t want[LANES];
	char body[2048];
	struct bench b;

	put_reductions(body, sizeof(body), k);
	open_bench(&b, body);
	for (unsigned int i = 0; i < 2 * LANES; i++)
		b.p[i] = (uint32_t)noise(i);
	for (unsigned int i = 0; i < 6 * LANES; i++)
		b.q[i] = (uint32_t)noise(1000 + i);
	for (unsigned int i = 0; i < LANES; i++) {
		want[place_of(i)] = word_of(b.p, k, place_of(i));
		for (unsigned int n = 0; n < 3; n++)
			want[place_of(i)] =
				apply(k, want[place_of(i)], word_of(b.q, k, i + n * LANES));
	}
	assert_int_equal(launch(&b, 1), CUDA_SUCCESS);
	if (!gsb_emu_combiner_holds(b.g.combiner))
		fail_msg("%s is not combined", k->spelling);
	gsb_emu_combiner_flush(b.g.combiner);
	for (unsigned int i = 0; i < LANES; i++)
		if (word_of(b.p, k, i) != want[i])
			fail_msg("%s: %llx at place %u, not %llx", k->spelling,
				 (unsigned long long)word_of(b.p, k, i), i,
				 (unsigned long long)want[i]);
	close_bench(&b);
}

static void test_reductions_of_each_kind_are_what_they_are_one_by_one(void **state)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(kinds); i++)
		check_kind(&kinds[i]);
}

static void test_lanes_at_one_place_are_all_counted(void **state)
{
	struct bench b;

	open_bench(&b, THRICE("red.global.add.u32 [%rd1], 5;\n")
			       THRICE("red.global.max.u32 [%rd1+64], %r2;\n"));
	assert_int_equal(launch(&b, 4), CUDA_SUCCESS);
	assert_true(b.p[0] < 5 * 3 * 4 * LANES); /* most of it is not there yet */
	gsb_emu_combiner_flush(b.g.combiner);
	assert_int_equal(b.p[0], 5 * 3 * 4 * LANES);
	assert_int_equal(b.p[16], 4 * LANES - 1);
	close_bench(&b);
}

static void test_an_atomic_whose_result_is_not_read_is_combined(void **state)
{
	const char *atom = THRICE("atom.global.add.u32 %r5, [%rd4], 1;\n");
	char body[1024];

	assert_true(is_held_by(atom, 3, 0));
	snprintf(body, sizeof(body), "%s%s", atom, ANSWER);
	assert_false(is_held_by(body, 3, 2));
	assert_true(is_held_by(THRICE("red.add.u32 [%rd4], 1;\n"), 3, 0)); /* a generic address */
}

/* ---- what a thread finds ---- */

/* The nth access of those that follow is what it has to be, though what is before it was kept back. */
static void test_a_thread_finds_its_own_reductions(void **state)
{
	/* lanes scattered, in order, in order again, in vectors */
	is_held_by(THREE "ld.global.u32 %r5, [%rd4];\n" ANSWER, 3, 3);
	is_held_by(THREE "bar.warp.sync -1;\nld.global.u32 %r5, [%rd8];\n" ANSWER, 3, 3);
	is_held_by("st.global.u32 [%rd8+4096], %r1;\n" THREE "ld.global.u32 %r5, [%rd8];\n" ANSWER,
		   3, 3);
	is_held_by(
		THREE
		"and.b32 %r7, %r1, 7;\nmul.wide.u32 %rd10, %r1, 12;\nadd.u64 %rd10, %rd8, %rd10;\n"
		"ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd10];\n"
		"setp.lt.u32 %p1, %r1, 8;\nselp.u32 %r5, %r8, 3, %p1;\n" ANSWER,
		3, 3);
	is_held_by(THREE "ld.u32 %r5, [%rd4];\n" ANSWER, 3, 3);
	is_held_by("red.global.add.u32 [%rd4+4096], 1;\n" THREE
		   "ld.global.u32 %r5, [%rd4];\n" ANSWER,
		   3, 3);
	is_held_by(THREE "ld.global.u8 %r5, [%rd4];\n" ANSWER, 3, 3);
}

static void test_what_a_thread_does_after_its_reductions_stays_after_them(void **state)
{
	is_held_by(THREE "st.global.u32 [%rd4], 100;\n", 100, 0);
	is_held_by(THREE "bar.warp.sync -1;\nmov.u32 %r5, 100;\nst.global.u32 [%rd8], %r5;\n", 100,
		   0);
	is_held_by(THREE "red.global.min.u32 [%rd4], 2;\n", 2, 0);
	is_held_by(THREE "red.global.min.u32 [%rd4], 2;\n" ADD ADD, 4, 0);
	is_held_by(THREE "red.global.inc.u32 [%rd4], 2;\n", 0, 0);
	is_held_by(THREE "atom.global.exch.b32 %r5, [%rd4], 7;\n", 7, 0);
	is_held_by(THREE "bar.warp.sync -1;\nred.global.xor.b32 [%rd8], 1;\n", 2, 0); /* in order */
}

/* Threads of a block, which are on one worker: a barrier is enough. */
static void test_other_threads_of_the_block_find_them_behind_a_barrier(void **state)
{
	is_held_by(THREE "bar.sync 0;\nxor.b32 %r7, %r1, 31;\nmul.wide.u32 %rd10, %r7, 4;\n"
			 "add.u64 %rd10, %rd1, %rd10;\nld.global.u32 %r5, [%rd10];\n" ANSWER,
		   3, 3);
}

/* ---- who is not had ---- */

static void test_kernels_that_could_tell_are_left_alone(void **state)
{
	static const char *const words[] = {
		"membar.gl;\n",
		"fence.acq_rel.gpu;\n",
		"fence.sc.cta;\n",
		"fence.proxy.alias;\n",
		"fence.release.sync_restrict::shared::cta.cluster;\n",
		"ld.mmio.relaxed.sys.global.u32 %r7, [%rd2+8192];\n",
		"ld.volatile.global.u32 %r7, [%rd2+8192];\n",
		"ld.relaxed.gpu.global.u32 %r7, [%rd2+8192];\n",
		"ld.acquire.gpu.global.u32 %r7, [%rd2+8192];\n",
		"st.release.gpu.global.u32 [%rd2+8192], %r1;\n",
		"st.volatile.global.u32 [%rd2+8192], %r1;\n",
		"atom.acq_rel.gpu.global.add.u32 %r7, [%rd2+8192], 1;\n",
		"red.release.gpu.global.add.u32 [%rd2+8192], 1;\n",
		"nanosleep.u32 20;\n",
		"atom.global.inc.u32 %r7, [%rd2+8192], 3;\nst.global.u32 [%rd2+12288], %r7;\n",
		"atom.global.add.u32 %r7, [%rd2+8192], 1;\nst.global.u32 [%rd2+12288], %r7;\n",
		"atom.add.u32 %r7, [%rd2+8192], 1;\nst.global.u32 [%rd2+12288], %r7;\n",
	};
	char body[1024];

	assert_true(is_held_by(THREE, 3, 0));
	for (size_t i = 0; i < GSB_ARRAY_LEN(words); i++) {
		snprintf(body, sizeof(body), "%s%s", THREE, words[i]);
		if (is_held_by(body, 3, 0))
			fail_msg("combined beside %s", words[i]);
	}
}

static void test_reductions_beside_each_other_are_left_alone(void **state)
{
	assert_false(is_held_by(THRICE("red.global.add.u32 [%rd8], 1;\n"), 3, 0));
}

static void test_memory_of_the_host_has_each_at_once(void **state)
{
	static _Alignas(4096) uint32_t pinned[PAGE / 4];
	struct bench b;

	open_bench(&b, THREE);
	b.g.memory.host = (struct gsb_emu_range){(uintptr_t)pinned, sizeof(pinned)};
	b.p = pinned;
	assert_int_equal(launch(&b, 1), CUDA_SUCCESS);
	assert_false(gsb_emu_combiner_holds(b.g.combiner));
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(pinned[i], 3);
	close_bench(&b);
}

/* One line a thread, more of them than there are: the first of a line is done in memory, and after some it does without. */
static void test_lines_that_are_found_once_are_in_memory_at_once(void **state)
{
	struct bench b;

	open_bench(&b, "mul.wide.u32 %rd10, %r2, 64;\nadd.u64 %rd10, %rd1, %rd10;\n"
		       "red.global.add.u32 [%rd10], 1;\n");
	assert_int_equal(launch(&b, P_BYTES / 64 / LANES), CUDA_SUCCESS);
	for (unsigned int i = 0; i < P_BYTES / 4; i++)
		assert_int_equal(b.p[i], i % 16 == 0);
	assert_in_range(b.g.combiner->n_used, LANES, GSB_EMU_MAX_PATIENCE + 2 * LANES);
	close_bench(&b);
}

/* ---- lines ---- */

/* 64 KiB apart four times the same slots: who comes second gets no line, and is right all the same. */
static void test_a_slot_that_is_taken_leaves_the_rest_to_memory(void **state)
{
	const uint64_t apart = (uint64_t)GSB_EMU_N_LINES * GSB_EMU_LINE_BYTES / 4;
	struct bench b;

	open_bench(&b, THREE "red.global.add.u32 [%rd4+262144], 2;\n" THREE
			     "red.global.add.u32 [%rd4+262144], 2;\n");
	assert_int_equal(launch(&b, 2), CUDA_SUCCESS);
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(b.p[apart + i], 8);
	assert_true(gsb_emu_combiner_holds(b.g.combiner));
	gsb_emu_combiner_flush(b.g.combiner);
	for (unsigned int i = 0; i < LANES; i++) {
		assert_int_equal(b.p[i], 12);
		assert_int_equal(b.p[apart + i], 8);
	}
	close_bench(&b);
}

/* Of a program that frees what its kernel works on: the engine must not fall over what is gone, nor lose the rest. */
static void test_lines_that_are_gone_are_dropped_alone(void **state)
{
	struct bench b;
	char *page;

	open_bench(&b, "mul.wide.u32 %rd10, %r3, 1024;\nadd.u64 %rd10, %rd1, %rd10;\n" THRICE(
			       "red.global.add.u32 [%rd10], 1;\n"));
	assert_int_equal(gsb_emu_guard_install(), 0);
	assert_int_equal(launch(&b, 1), CUDA_SUCCESS);
	page = (char *)(((uintptr_t)b.p + 3 * PAGE) & ~(uintptr_t)(PAGE - 1));
	assert_int_equal(mprotect(page, PAGE, PROT_NONE), 0);
	gsb_emu_combiner_flush(b.g.combiner);
	assert_false(gsb_emu_combiner_holds(b.g.combiner));
	assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
	for (unsigned int i = 0; i < LANES; i++) {
		const uint32_t *word = &b.p[i * 256];
		bool gone = (const char *)word >= page && (const char *)word < page + PAGE;

		assert_int_equal(*word, gone ? 1 : 3);
	}
	close_bench(&b);
}

static void test_a_bad_address_is_the_fault_of_its_own_instruction(void **state)
{
	struct bench b;

	open_bench(&b, THREE "setp.eq.u32 %p1, %r1, 31;\nmov.u64 %rd11, %rd4;\n"
			     "@%p1 add.u64 %rd11, %rd4, 134217728;\n" /* in a hole */
			     "red.global.add.u32 [%rd11], 1;\n" THREE);
	assert_int_equal(gsb_emu_guard_install(), 0);
	assert_int_equal(launch(&b, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_string_equal(b.g.fault.spelling, "red.global.add.u32");
	assert_int_equal(b.g.fault.address, (uintptr_t)&b.p[place_of(31)] + 134217728);
	assert_int_equal(b.g.fault.tid[0], 31);
	gsb_emu_combiner_flush(b.g.combiner);
	for (unsigned int i = 0; i < LANES - 1; i++) /* the bad one is the last of its row */
		assert_int_equal(b.p[place_of(i)], 4);
	close_bench(&b);
}

static void test_blocks_of_another_memory_begin_with_nothing_kept(void **state)
{
	struct bench b, other;

	open_bench(&b, THREE);
	open_bench(&other, "mov.u32 %r5, 1;\n" ANSWER);
	gsb_emu_combiner_destroy(other.g.combiner);
	other.g.combiner = b.g.combiner;
	assert_int_equal(launch(&b, 1), CUDA_SUCCESS);
	assert_true(gsb_emu_combiner_holds(b.g.combiner));
	assert_int_equal(launch(&other, 1), CUDA_SUCCESS);
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(b.p[i], 3);
	other.g.combiner = NULL;
	close_bench(&other);
	close_bench(&b);
}

/* Device time is made of them. */
static void test_what_a_kernel_is_counted_for_is_the_same(void **state)
{
	struct gsb_emu_stats with;
	struct bench b;

	open_bench(&b, THREE "ld.global.u32 %r5, [%rd8];\n" ANSWER);
	assert_int_equal(launch(&b, 9), CUDA_SUCCESS);
	with = b.g.stats;
	gsb_emu_combiner_destroy(b.g.combiner);
	b.g.combiner = NULL;
	assert_int_equal(launch(&b, 9), CUDA_SUCCESS);
	assert_memory_equal(&with, &b.g.stats, sizeof(with));
	assert_int_equal(with.n_mem_insns, 9 * 5);
	close_bench(&b);
}

/* What a processor fetches by guess from one lies in no other: combine.c. */
static void test_combiners_lie_farther_apart_than_their_lines(void **state)
{
	struct gsb_emu_combiner *c[8];

	(void)state;
	for (unsigned int i = 0; i < GSB_ARRAY_LEN(c); i++) {
		c[i] = gsb_emu_combiner_create();
		assert_non_null(c[i]);
		assert_int_equal((uintptr_t)c[i] % GSB_EMU_LINE_BYTES, 0);
		for (unsigned int k = 0; k < i; k++) {
			uintptr_t low = (uintptr_t)(c[i] < c[k] ? c[i] : c[k]),
				  high = (uintptr_t)(c[i] < c[k] ? c[k] : c[i]);

			assert_true(high - low >= sizeof(*c[i]) + sizeof(c[i]->sums));
		}
	}
	for (unsigned int i = 0; i < GSB_ARRAY_LEN(c); i++)
		gsb_emu_combiner_destroy(c[i]);
	gsb_emu_combiner_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reductions_of_each_kind_are_what_they_are_one_by_one),
		cmocka_unit_test(test_lanes_at_one_place_are_all_counted),
		cmocka_unit_test(test_an_atomic_whose_result_is_not_read_is_combined),
		cmocka_unit_test(test_a_thread_finds_its_own_reductions),
		cmocka_unit_test(test_what_a_thread_does_after_its_reductions_stays_after_them),
		cmocka_unit_test(test_other_threads_of_the_block_find_them_behind_a_barrier),
		cmocka_unit_test(test_kernels_that_could_tell_are_left_alone),
		cmocka_unit_test(test_reductions_beside_each_other_are_left_alone),
		cmocka_unit_test(test_memory_of_the_host_has_each_at_once),
		cmocka_unit_test(test_lines_that_are_found_once_are_in_memory_at_once),
		cmocka_unit_test(test_a_slot_that_is_taken_leaves_the_rest_to_memory),
		cmocka_unit_test(test_lines_that_are_gone_are_dropped_alone),
		cmocka_unit_test(test_a_bad_address_is_the_fault_of_its_own_instruction),
		cmocka_unit_test(test_blocks_of_another_memory_begin_with_nothing_kept),
		cmocka_unit_test(test_what_a_kernel_is_counted_for_is_the_same),
		cmocka_unit_test(test_combiners_lie_farther_apart_than_their_lines),
	};

	return cmocka_run_group_tests_name("emu_combine", tests, NULL, NULL);
}
