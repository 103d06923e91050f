/*
 * test_emu_heap.c - memory that kernels take themselves: the heap of malloc, and alloca.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

#define BASE  UINT64_C(0x7f0000000000)
#define PAGE  ((uint64_t)GSB_EMU_HEAP_PAGE)
#define HEAP  "tests/ptx/heap.nvcc.ptx"
#define N_MAX 4096

/* ---- the heap itself ---- */

struct piece {
	uint64_t addr, size;
};

static int heap_set_up(void **state)
{
	struct gsb_emu_malloc *h = malloc(sizeof(*h));

	gsb_emu_malloc_init(h, NULL);
	assert_int_equal(gsb_emu_malloc_start(h, BASE, 64 * PAGE), 0);
	*state = h;
	return 0;
}

static int heap_tear_down(void **state)
{
	gsb_emu_malloc_finish(*state);
	free(*state);
	return 0;
}

static void test_malloc_gives_disjoint_aligned_pieces_of_the_heap(void **state)
{
	struct gsb_emu_malloc *h = *state;
	static struct piece pieces[N_MAX];
	uint32_t seed = 1, n = 0;

	for (int round = 0; round < 20000; round++) {
		uint64_t align = UINT64_C(1) << (seed >> 8) % 14;
		struct piece *p = &pieces[(seed >> 16) % N_MAX];

		seed = seed * 1664525 + 1013904223;
		if (p->addr) {
			assert_int_equal(gsb_emu_malloc_free(h, p->addr), 0);
			p->addr = 0;
			n--;
			continue;
		}
		p->size = (seed >> 12) % (round % 7 ? 200 : 9000);
		p->addr = gsb_emu_malloc(h, p->size, align);
		if (!p->addr)
			continue;
		n++;
		assert_int_equal(p->addr % (align < 16 ? 16 : align), 0);
		assert_true(p->addr >= BASE && p->addr + p->size <= BASE + 64 * PAGE);
		for (struct piece *q = pieces; round % 16 == 0 && q < pieces + N_MAX; q++)
			assert_true(q == p || !q->addr ||
				    q->addr >= p->addr + (p->size ? p->size : 1) ||
				    q->addr + (q->size ? q->size : 1) <= p->addr);
	}
	assert_true(n > 50);
	for (struct piece *q = pieces; q < pieces + N_MAX; q++)
		assert_int_equal(q->addr ? gsb_emu_malloc_free(h, q->addr) : 0, 0);
	memset(pieces, 0, sizeof(pieces));
	/* nothing has been lost: all of it can be had in one piece */
	assert_int_equal(gsb_emu_malloc(h, 64 * PAGE, 16), BASE);
}

static void test_malloc_of_more_than_there_is_gives_none(void **state)
{
	struct gsb_emu_malloc *h = *state;
	uint32_t n = 0;

	assert_int_equal(gsb_emu_malloc(h, 64 * PAGE + 1, 16), 0);
	assert_int_equal(gsb_emu_malloc(h, UINT64_MAX, 16), 0);
	assert_int_equal(gsb_emu_malloc(h, 16, 48), 0);
	assert_int_equal(gsb_emu_malloc(h, 16, UINT64_C(1) << 63), 0);
	while (gsb_emu_malloc(h, 16, 16))
		n++;
	assert_int_equal(n, 64 * PAGE / 16);
	assert_int_equal(gsb_emu_malloc_free(h, BASE + 5 * PAGE + 32), 0);
	assert_int_equal(gsb_emu_malloc(h, 8, 16), BASE + 5 * PAGE + 32);
	assert_int_equal(gsb_emu_malloc(h, 8, 16), 0);
}

static void test_free_takes_only_what_malloc_gave(void **state)
{
	struct gsb_emu_malloc *h = *state;
	uint64_t small = gsb_emu_malloc(h, 40, 16), large = gsb_emu_malloc(h, 3 * PAGE, 16);

	assert_int_equal(gsb_emu_malloc_free(h, small + 16), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, small + 48), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, large + PAGE), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, large + 16), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, BASE - 16), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, BASE + 64 * PAGE), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, 16), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, BASE + 60 * PAGE), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, small), 0);
	assert_int_equal(gsb_emu_malloc_free(h, small), -EINVAL);
	assert_int_equal(gsb_emu_malloc_free(h, large), 0);
	assert_int_equal(gsb_emu_malloc_free(h, large), -EINVAL);
}

static void test_heap_without_memory_gives_none(void **state)
{
	struct gsb_emu_storage sum = {.max_bytes = 4096}, own = {.sum = &sum};
	struct gsb_emu_malloc h;

	gsb_emu_malloc_init(&h, &own);
	assert_int_equal(gsb_emu_malloc(&h, 16, 16), 0);
	assert_int_equal(gsb_emu_malloc_free(&h, 4096), -EINVAL);
	assert_int_equal(gsb_emu_malloc_start(&h, BASE, 1 << 30), -ENOMEM);
	assert_int_equal(own.used_bytes, 0);
	assert_int_equal(gsb_emu_malloc_start(&h, BASE, 2 * PAGE), 0);
	assert_int_equal(gsb_emu_malloc_start(&h, BASE, 2 * PAGE), -EEXIST);
	assert_true(own.used_bytes > 0);
	gsb_emu_malloc_finish(&h);
	assert_int_equal(own.used_bytes, 0);
}

/* ---- kernels ---- */

static void launch(struct t_gpu *g, const struct t_launch *l)
{
	if (t_launch(g, l))
		fail_msg("%s: %s", l->kernel, g->fault.text);
}

static void test_lists_that_one_kernel_makes_another_one_reads(void **state)
{
	struct t_gpu g;
	void **heads;
	int *out, n = 9;

	t_gpu_init_file(&g, HEAP);
	t_heap(&g, 1 << 20);
	heads = t_alloc(&g, 8 * 256);
	out = t_alloc(&g, 4 * 256);
	launch(&g,
	       &(struct t_launch){
		       .kernel = "list_make", .grid = {4}, .block = {64}, .args = {&heads, &n}});
	assert_int_equal(g.heap.n_free, 256 - 9);
	launch(&g,
	       &(struct t_launch){
		       .kernel = "list_sum", .grid = {4}, .block = {64}, .args = {&heads, &out}});
	for (int t = 0; t < 256; t++)
		assert_int_equal(out[t], 9 * t + 36);
	assert_int_equal(g.heap.n_free, 256);
	t_gpu_finish(&g);
}

static void test_pieces_of_threads_that_take_and_give_stay_apart(void **state)
{
	struct t_gpu g;
	int *out, rounds = 12;

	t_gpu_init_file(&g, HEAP);
	t_heap(&g, 8 << 20);
	g.resident = 6;
	g.quantum = 1000;
	out = t_alloc(&g, 4 * 6 * 96);
	launch(&g, &(struct t_launch){
			   .kernel = "churn", .grid = {6}, .block = {96}, .args = {&out, &rounds}});
	for (int t = 0; t < 6 * 96; t++)
		assert_int_equal(out[t], 0);
	assert_int_equal(g.heap.n_free, g.heap.n_pages);
	t_gpu_finish(&g);
}

static void test_malloc_gives_null_when_the_heap_is_full(void **state)
{
	uint64_t size = 100000, align = 1024, n = 0;
	struct t_gpu g;
	uint64_t *out;

	t_gpu_init_file(&g, HEAP);
	t_heap(&g, 1 << 20);
	out = t_alloc(&g, 8 * 64);
	launch(&g, &(struct t_launch){.kernel = "take", .block = {64}, .args = {&out, &size}});
	for (int t = 0; t < 64; t++)
		n += out[t] != 0;
	assert_int_equal(n, 256 / 25);
	launch(&g, &(struct t_launch){.kernel = "give", .block = {64}, .args = {&out}});
	size = 700;
	launch(&g, &(struct t_launch){
			   .kernel = "take_aligned", .block = {64}, .args = {&out, &size, &align}});
	for (int t = 0; t < 64; t++)
		assert_true(out[t] && out[t] % 1024 == 0);
	t_gpu_finish(&g);
}

static void test_without_a_heap_malloc_gives_null(void **state)
{
	uint64_t size = 8, *out;
	struct t_gpu g;

	t_gpu_init_file(&g, HEAP);
	out = t_alloc(&g, 8);
	*out = 1;
	launch(&g, &(struct t_launch){.kernel = "take", .args = {&out, &size}});
	assert_int_equal(*out, 0);
	launch(&g, &(struct t_launch){.kernel = "give", .args = {&out}});
	t_gpu_finish(&g);
}

static void test_free_of_a_foreign_pointer_ends_the_kernel_alone(void **state)
{
	uint64_t size = 8, *out, bad[5], good;
	struct t_gpu g;

	t_gpu_init_file(&g, HEAP);
	t_heap(&g, 1 << 20);
	out = t_alloc(&g, 8);
	launch(&g, &(struct t_launch){.kernel = "take", .args = {&out, &size}});
	good = *out;
	bad[0] = good + 8;
	bad[1] = (uintptr_t)out;
	bad[2] = (uintptr_t)&g;
	bad[3] = UINT64_MAX;
	bad[4] = good + 16;
	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		*out = bad[i];
		assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "give", .args = {&out}}),
				 CUDA_ERROR_LAUNCH_FAILED);
		assert_non_null(strstr(g.fault.text, "malloc has not given"));
	}
	*out = good;
	launch(&g, &(struct t_launch){.kernel = "give", .args = {&out}});
	assert_int_equal(g.heap.n_free, g.heap.n_pages);
	t_gpu_finish(&g);
}

static void test_copies_inside_a_kernel(void **state)
{
	unsigned char *in, *out;
	uint64_t n = 1001;
	struct t_gpu g;

	t_gpu_init_file(&g, HEAP);
	t_heap(&g, 1 << 20);
	in = t_alloc(&g, n);
	out = t_alloc(&g, 2 * n);
	for (uint64_t i = 0; i < n; i++)
		in[i] = (unsigned char)(i * 7);
	launch(&g, &(struct t_launch){.kernel = "copies", .args = {&out, &in, &n}});
	for (uint64_t i = 0; i < 2 * n; i++)
		assert_int_equal(out[i], i < n / 2 || i >= n / 2 + n ? 7 : in[i - n / 2]);
	t_gpu_finish(&g);
}

/* ---- the stack ---- */

static void test_alloca_of_another_size_in_each_lane(void **state)
{
	struct t_gpu g;
	int *out, n = 100;

	t_gpu_init_file(&g, HEAP);
	out = t_alloc(&g, 4 * 96);
	launch(&g, &(struct t_launch){.kernel = "stack_sum", .block = {96}, .args = {&out, &n}});
	for (int t = 0; t < 96; t++) {
		int sum = 0;

		for (int i = 0; i < n + t; i += 3)
			sum += i * t;
		assert_int_equal(out[t], sum);
	}
	t_gpu_finish(&g);
}

static int descend(int depth, int above)
{
	return (depth ? descend(depth - 1, depth + above) : 0) + depth + 1 + above;
}

static void test_alloca_of_each_call_lives_until_it_returns(void **state)
{
	struct t_gpu g;
	int *out, n = 12;

	t_gpu_init_file(&g, HEAP);
	out = t_alloc(&g, 4 * 64);
	launch(&g,
	       &(struct t_launch){.kernel = "stack_recursion", .block = {64}, .args = {&out, &n}});
	for (int t = 0; t < 64; t++)
		assert_int_equal(out[t], descend(n + t % 5, 1));
	t_gpu_finish(&g);
}

static void test_stack_that_is_overrun_ends_the_kernel_with_the_reason(void **state)
{
	struct t_gpu g;
	int *out, n = 100000, deep = 400;

	t_gpu_init_file(&g, HEAP);
	out = t_alloc(&g, 4 * 64);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "stack_sum",
							 .block = {32},
							 .args = {&out, &n}}),
			 CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_non_null(strstr(g.fault.text, "alloca of 400000 bytes"));
	n = -1; /* 2^64 - 4 bytes */
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "stack_sum",
							 .block = {32},
							 .args = {&out, &n}}),
			 CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "stack_recursion",
							 .block = {32},
							 .args = {&out, &deep}}),
			 CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_non_null(strstr(g.fault.text, "stack overflow"));
	/* with a larger stack it runs */
	g.stack_bytes = 500000;
	launch(&g, &(struct t_launch){
			   .kernel = "stack_recursion", .block = {32}, .args = {&out, &deep}});
	assert_int_equal(out[3], descend(403, 1));
	t_gpu_finish(&g);
}

#define STACK(body)                                                                               \
	".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 io) {\n"    \
	".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [io];\n" body \
	"}\n"

static CUresult run_stack(struct t_gpu *g, const char *text, uint64_t *out)
{
	uint64_t *io;
	CUresult result;

	t_gpu_init(g, text);
	io = t_alloc(g, 64);
	result = t_launch(g, &(struct t_launch){.kernel = "k", .args = {&io}});
	*out = io[0];
	return result;
}

#define CALLEE                                                                        \
	".version 7.8\n.target sm_90\n.address_size 64\n"                             \
	".func f(.param .b64 n) {\n.reg .b64 %rd<4>; .local .b8 own[8192];\n"         \
	"ld.param.u64 %rd1, [n]; alloca.u64 %rd2, %rd1; st.local.u64 [%rd2], %rd1;\n" \
	"st.local.u64 [own], %rd1; ret; }\n"

/* What a function takes is given back by its ret. */
static void test_alloca_is_given_back_at_the_return(void **state)
{
	struct t_gpu g;
	uint64_t out;

	assert_int_equal(
		run_stack(
			&g,
			CALLEE
			".visible .entry k(.param .u64 io) {\n.reg .pred %p<2>; .reg .b32 %r<4>;\n"
			".reg .b64 %rd<4>; .param .b64 a;\nld.param.u64 %rd1, [io]; mov.u32 %r1, 0;\n"
			"again: st.param.b64 [a], 4000; call f, (a);\n"
			"add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000; @%p1 bra again;\n"
			"st.global.u64 [%rd1], 1; ret; }\n",
			&out),
		CUDA_SUCCESS);
	assert_int_equal(out, 1);
	t_gpu_finish(&g);
}

/* The frame of a call does not reach into what its caller took. */
static void test_frames_end_where_alloca_begins(void **state)
{
	struct t_gpu g;
	uint64_t out;

	assert_int_equal(
		run_stack(&g,
			  CALLEE
			  ".visible .entry k(.param .u64 io) {\n.reg .b64 %rd<4>; .param .b64 a;\n"
			  "alloca.u64 %rd2, 24000; st.param.b64 [a], 8; call f, (a); ret; }\n",
			  &out),
		CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_non_null(strstr(g.fault.text, "call stack overflow"));
	t_gpu_finish(&g);
}

static void test_stackrestore_takes_what_stacksave_gave(void **state)
{
	struct t_gpu g;
	uint64_t out;

	/* 1000 turns of 1000 bytes fit, because each is given back; the pieces are aligned */
	assert_int_equal(
		run_stack(&g,
			  STACK("mov.u32 %r1, 0; again: stacksave.u64 %rd2;\n"
				"alloca.u64 %rd3, 1000, 256; alloca.u64 %rd4, 8;\n"
				"st.local.u32 [%rd3+996], %r1; st.local.u64 [%rd4], %rd3;\n"
				"ld.local.u64 %rd5, [%rd4]; and.b64 %rd5, %rd5, 255;\n"
				"stackrestore.u64 %rd2; add.u32 %r1, %r1, 1;\n"
				"setp.lt.u32 %p1, %r1, 1000; @%p1 bra again;\n"
				"st.global.u64 [%rd1], %rd5; ret;"),
			  &out),
		CUDA_SUCCESS);
	assert_int_equal(out, 0);
	t_gpu_finish(&g);
	assert_int_equal(
		run_stack(&g, STACK("mov.u64 %rd2, 12345678; stackrestore.u64 %rd2; ret;"), &out),
		CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_non_null(strstr(g.fault.text, "stackrestore"));
	t_gpu_finish(&g);
	assert_int_equal(run_stack(&g,
				   STACK(".local .b32 v[64]; alloca.u64 %rd3, 64;\n"
					 "mov.u64 %rd2, 0; stackrestore.u64 %rd2; ret;"),
				   &out),
			 CUDA_ERROR_HARDWARE_STACK_ERROR);
	t_gpu_finish(&g);
}

#define heap_test(f) cmocka_unit_test_setup_teardown(f, heap_set_up, heap_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_test(test_malloc_gives_disjoint_aligned_pieces_of_the_heap),
		heap_test(test_malloc_of_more_than_there_is_gives_none),
		heap_test(test_free_takes_only_what_malloc_gave),
		cmocka_unit_test(test_heap_without_memory_gives_none),
		cmocka_unit_test(test_lists_that_one_kernel_makes_another_one_reads),
		cmocka_unit_test(test_pieces_of_threads_that_take_and_give_stay_apart),
		cmocka_unit_test(test_malloc_gives_null_when_the_heap_is_full),
		cmocka_unit_test(test_without_a_heap_malloc_gives_null),
		cmocka_unit_test(test_free_of_a_foreign_pointer_ends_the_kernel_alone),
		cmocka_unit_test(test_copies_inside_a_kernel),
		cmocka_unit_test(test_alloca_of_another_size_in_each_lane),
		cmocka_unit_test(test_alloca_of_each_call_lives_until_it_returns),
		cmocka_unit_test(test_stack_that_is_overrun_ends_the_kernel_with_the_reason),
		cmocka_unit_test(test_alloca_is_given_back_at_the_return),
		cmocka_unit_test(test_frames_end_where_alloca_begins),
		cmocka_unit_test(test_stackrestore_takes_what_stacksave_gave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
