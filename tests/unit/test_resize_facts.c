/*
 * test_resize_facts.c - what the analyses hand to a rewriter, a planner and the memory manager: exits, barriers, readers,
 * pointers, order, and which launches may be changed. Which kernels are refused, and why, is in test_resize_traps.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ptx/resize/facts.h"
#include "tests/unit/ptx_text.h"

static struct gsb_ptx_module *module;
static struct gsb_arena arena;

static int finish(void **state)
{
	(void)state;
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(module);
	module = NULL;
	return 0;
}

static struct gsb_resize_facts facts_of(const char *name)
{
	struct gsb_resize_facts f;

	gsb_arena_finish(&arena);
	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_resize_analyse(module, func(module, name), &arena, &f), 0);
	return f;
}

static struct gsb_resize_facts facts_in(const char *file, const char *kernel)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	size_t len;
	char *text;

	snprintf(path, sizeof(path), "%s/tests/resize/%s", srcdir ? srcdir : ".", file);
	text = read_file(path, &len);
	gsb_ptx_module_destroy(module);
	module = parse_len(text, len);
	free(text);
	return facts_of(kernel);
}

static struct gsb_resize_facts facts_for(const char *text)
{
	gsb_ptx_module_destroy(module);
	module = parse(text);
	return facts_of("k");
}

/* A kernel of pointers p, q, a number n and a structure s, whose registers are declared. */
#define KERNEL(body)                                                                               \
	HEAD ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, "                     \
	     ".param .align 8 .b8 s[24]) {\n.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n" \
	     ".shared .b32 tile[32];\n" body "\nret;\n}\n"

static void test_analyse_exits_says_which_come_early(void **state)
{
	struct gsb_resize_facts f = facts_in("traps/end.ptx", "leaves_before_barrier");

	(void)state;
	assert_int_equal(f.early, GSB_RESIZE_E1);
	assert_int_equal(f.n_exits, 1);
	assert_true(f.exits[0].early);
	assert_int_equal(f.n_barriers, 1);
	assert_int_equal(f.barriers[0].same, GSB_RESIZE_LANE);
	assert_true(f.barriers[0].plain);
	f = facts_in("traps/hand.ptx", "some_exit");
	assert_int_equal(f.n_exits, 2);
	assert_int_equal(f.exits[0].same, GSB_RESIZE_WARP);
	assert_int_equal(f.exits[1].same, GSB_RESIZE_BLOCK);
}

static void test_analyse_uniform_exit_is_not_early(void **state)
{
	struct gsb_resize_facts f = facts_in("traps/end.ptx", "leaves_by_block");

	(void)state;
	assert_int_equal(f.early, GSB_RESIZE_E0);
	for (uint32_t i = 0; i < f.n_exits; i++) {
		assert_int_equal(f.exits[i].same, GSB_RESIZE_BLOCK);
		assert_false(f.exits[i].early);
	}
}

static void test_analyse_barriers_tells_plain_from_others(void **state)
{
	struct gsb_resize_facts f = facts_for(KERNEL("bar.sync 0;\nbarrier.sync 0;\nbar.sync 1;\n"
						     "barrier.sync 0, 64;\n"
						     "bar.red.popc.u32 %r1, 0, %p1;"));

	(void)state;
	assert_int_equal(f.n_barriers, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(f.barriers[i].plain, i < 2);
}

static void test_analyse_readers_lists_block_number_and_count(void **state)
{
	struct gsb_resize_facts f =
		facts_for(KERNEL("mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %tid.x;\n"
				 "mov.u32 %r3, %nctaid.z;"));

	(void)state;
	assert_int_equal(f.n_readers, 2);
	assert_int_equal(f.readers[0].sreg, GSB_PTX_SREG_CTAID);
	assert_int_equal(f.readers[0].axis, 1);
	assert_int_equal(f.readers[1].sreg, GSB_PTX_SREG_NCTAID);
	assert_int_equal(f.readers[1].axis, 2);
	assert_ptr_equal(f.readers[1].place.func, func(module, "k"));
}

static void test_analyse_readers_in_called_function_name_it(void **state)
{
	struct gsb_resize_facts f = facts_in("traps/end.ptx", "block_read_in_call");
	const struct gsb_resize_finding *why = gsb_resize_why_not(&f, GSB_RESIZE_SLICE);

	(void)state;
	assert_non_null(why);
	assert_int_equal(why->rule, GSB_RESIZE_RULE_READER_CALLED);
	assert_false(why->place.func->is_entry);
	assert_true(gsb_resize_line(&why->place) > 0);
}

/* ---- pointers ---- */

static const struct gsb_resize_pointer *pointer(const struct gsb_resize_facts *f, uint32_t param,
						uint32_t offset)
{
	for (uint32_t i = 0; i < f->n_pointers; i++)
		if (f->pointers[i].param == param && f->pointers[i].offset == offset)
			return &f->pointers[i];
	fail_msg("parameter %u at %u is not listed", param, offset);
	return NULL;
}

static void test_analyse_pointers_are_read_written_or_both(void **state)
{
	struct gsb_resize_facts f =
		facts_for(KERNEL("ld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n"
				 "ld.param.u32 %r1, [n];\ncvta.to.global.u64 %d3, %d1;\n"
				 "mul.wide.u32 %d4, %r1, 4;\nadd.u64 %d5, %d3, %d4;\n"
				 "ld.global.u32 %r2, [%d5];\nst.u32 [%d2], %r2;\n"
				 "ld.param.u64 %d6, [s+8];\nred.global.add.u32 [%d6], 1;"));

	(void)state;
	assert_int_equal(f.n_pointers, 3);
	assert_int_equal(pointer(&f, 0, 0)->access, GSB_RESIZE_READ);
	assert_int_equal(pointer(&f, 1, 0)->access, GSB_RESIZE_WRITTEN | GSB_RESIZE_GENERIC);
	assert_int_equal(pointer(&f, 3, 8)->access,
			 GSB_RESIZE_READ | GSB_RESIZE_WRITTEN | GSB_RESIZE_ATOMIC);
	assert_false(f.loaded_pointers);
}

static void test_analyse_pointer_from_memory_is_said(void **state)
{
	struct gsb_resize_facts f = facts_for(KERNEL("ld.param.u64 %d1, [p];\n"
						     "ld.global.u64 %d2, [%d1];\n"
						     "st.global.u32 [%d2], 1;"));

	(void)state;
	assert_int_equal(f.n_pointers, 1);
	assert_int_equal(pointer(&f, 0, 0)->access, GSB_RESIZE_READ);
	assert_true(f.loaded_pointers);
}

static void test_analyse_pointer_that_is_stored_escapes(void **state)
{
	struct gsb_resize_facts f = facts_for(KERNEL("ld.param.u64 %d1, [p];\n"
						     "ld.param.u64 %d2, [q];\n"
						     "ld.global.u32 %r1, [%d1];\n"
						     "st.global.u64 [%d2], %d1;"));

	(void)state;
	assert_int_equal(pointer(&f, 0, 0)->access, GSB_RESIZE_READ | GSB_RESIZE_ESCAPES);
}

static void test_analyse_pointer_chosen_from_two_is_both(void **state)
{
	struct gsb_resize_facts f = facts_for(KERNEL("ld.param.v2.u64 {%d1, %d2}, [s];\n"
						     "ld.param.u32 %r1, [n];\n"
						     "setp.eq.u32 %p1, %r1, 0;\n"
						     "selp.b64 %d3, %d1, %d2, %p1;\n"
						     "st.global.u32 [%d3], 1;"));

	(void)state;
	assert_int_equal(pointer(&f, 3, 0)->access, GSB_RESIZE_WRITTEN);
	assert_int_equal(pointer(&f, 3, 8)->access, GSB_RESIZE_WRITTEN);
}

/* ---- order, shared memory ---- */

static void test_analyse_order_says_what_two_runs_may_differ_in(void **state)
{
	(void)state;
	assert_int_equal(facts_in("traps/memory.ptx", "sum_of_floats").order,
			 GSB_RESIZE_ORDER_FLOAT);
	assert_int_equal(facts_in("traps/memory.ptx", "ticket").order, GSB_RESIZE_ORDER_RESULT);
	assert_int_equal(facts_in("traps/memory.ptx", "fenced").order, GSB_RESIZE_ORDER_MEMORY);
	assert_int_equal(facts_in("traps/memory.ptx", "plain").order, 0);
}

static void test_analyse_shared_memory_says_who_sizes_it(void **state)
{
	(void)state;
	assert_int_equal(facts_in("traps/memory.ptx", "sized_by_host").shared,
			 GSB_RESIZE_SHARED_DYNAMIC);
	assert_int_equal(facts_in("traps/memory.ptx", "fixed_tile").shared,
			 GSB_RESIZE_SHARED_STATIC);
	assert_int_equal(facts_in("traps/memory.ptx", "plain").shared, 0);
}

/* ---- launches ---- */

static const struct gsb_resize_geometry from = {{1000, 1, 1}, {128, 1, 1}};

static void test_reshape_refused_same_product_is_not(void **state)
{
	const struct gsb_resize_geometry to = {{500, 1, 1}, {256, 1, 1}},
					 odd = {{2560, 1, 1}, {50, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "plain");

	(void)state;
	assert_null(gsb_resize_reshape_refused(&f.launch, &from, &to, 1024));
	assert_null(gsb_resize_reshape_refused(&f.launch, &from, &odd, 0));
}

static void test_reshape_refused_other_product_is(void **state)
{
	const struct gsb_resize_geometry more = {{501, 1, 1}, {256, 1, 1}},
					 none = {{0, 1, 1}, {256, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "plain");

	(void)state;
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &more, 1024));
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &none, 1024));
}

static void test_reshape_refused_two_to_the_31_threads_is(void **state)
{
	const struct gsb_resize_geometry big = {{1u << 24, 1, 1}, {128, 1, 1}},
					 to = {{1u << 23, 1, 1}, {256, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "plain");

	(void)state;
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &big, &to, 1024));
}

static void test_reshape_refused_launch_bounds_are_kept(void **state)
{
	const struct gsb_resize_geometry more = {{500, 1, 1}, {256, 1, 1}},
					 less = {{2000, 1, 1}, {64, 1, 1}},
					 huge = {{50, 1, 1}, {2560, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "bounded");

	(void)state;
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &more, 1024));
	assert_null(gsb_resize_reshape_refused(&f.launch, &from, &less, 1024));
	f = facts_in("traps/memory.ptx", "plain");
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &more, 200));
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &huge, 0));
}

static void test_reshape_refused_bounds_of_an_axis_are_kept(void **state)
{
	const struct gsb_resize_geometry flat = {{4, 4, 1}, {16, 16, 1}},
					 wide = {{2, 4, 1}, {32, 16, 1}},
					 tall = {{4, 8, 1}, {16, 8, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "plain_2d");

	(void)state;
	assert_int_equal(f.launch.reshape_axes, 7);
	assert_null(gsb_resize_reshape_refused(&f.launch, &flat, &wide, 1024));
	assert_null(gsb_resize_reshape_refused(&f.launch, &flat, &tall, 1024));
	f.launch.max_on_axis[0] = 16;
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &flat, &wide, 1024));
	assert_null(gsb_resize_reshape_refused(&f.launch, &flat, &tall, 1024));
}

static void test_reshape_refused_axis_without_proof_is(void **state)
{
	const struct gsb_resize_geometry flat = {{4, 4, 1}, {16, 16, 1}},
					 tall = {{4, 8, 1}, {16, 8, 1}},
					 thin = {{8, 4, 1}, {8, 16, 1}};
	struct gsb_resize_facts f =
		facts_for(KERNEL("ld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
				 "mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
				 "mad.lo.u32 %r4, %r1, %r2, %r3;\nmov.u32 %r5, %ctaid.y;\n"
				 "add.u32 %r6, %r4, %r5;\nmul.wide.u32 %d2, %r6, 4;\n"
				 "add.u64 %d3, %d1, %d2;\nst.global.u32 [%d3], 1;\nbra end;\n"
				 "ld.shared.u32 %r7, [tile];\nend:"));

	(void)state;
	assert_false(f.forms & GSB_RESIZE_BIT(GSB_RESIZE_RESHAPE)); /* it has shared memory */
	f = facts_for(HEAD ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n"
			   "ld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
			   "mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
			   "mad.lo.u32 %r4, %r1, %r2, %r3;\nmov.u32 %r5, %ctaid.y;\n"
			   "add.u32 %r6, %r4, %r5;\nmul.wide.u32 %d2, %r6, 4;\n"
			   "add.u64 %d3, %d1, %d2;\nst.global.u32 [%d3], 1;\nret;\n}\n");
	assert_int_equal(f.launch.reshape_axes, 1 | 4);
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &flat, &tall, 1024));
	assert_null(gsb_resize_reshape_refused(&f.launch, &flat, &thin, 1024));
}

static void test_reshape_refused_warps_are_kept(void **state)
{
	const struct gsb_resize_geometry whole = {{2000, 1, 1}, {64, 1, 1}},
					 broken = {{8000, 1, 1}, {16, 1, 1}},
					 odd = {{10, 1, 1}, {48, 1, 1}},
					 even = {{15, 1, 1}, {32, 1, 1}},
					 rows = {{1000, 1, 1}, {32, 4, 1}},
					 long_rows = {{500, 1, 1}, {64, 4, 1}};
	struct gsb_resize_facts f = facts_in("traps/memory.ptx", "lanes");

	(void)state;
	assert_true(f.launch.whole_warps);
	assert_int_equal(f.launch.reshape_axes, 1);
	assert_null(gsb_resize_reshape_refused(&f.launch, &from, &whole, 1024));
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &broken, 1024));
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &odd, &even, 1024));
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &rows, &long_rows, 1024));
	f = facts_in("traps/memory.ptx", "lane_of_thread");
	assert_true(f.launch.whole_warps);
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &broken, 1024));
}

static void test_reshape_refused_kernel_without_proof_is(void **state)
{
	const struct gsb_resize_geometry to = {{500, 1, 1}, {256, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/place.ptx", "constant_512");

	(void)state;
	assert_int_equal(f.launch.reshape_axes, 0);
	assert_non_null(gsb_resize_reshape_refused(&f.launch, &from, &to, 1024));
}

static void test_persistent_refused_warps_over_several_rows_are(void **state)
{
	const struct gsb_resize_geometry rows = {{10, 1, 1}, {16, 4, 1}},
					 whole = {{10, 1, 1}, {64, 4, 1}},
					 line = {{10, 1, 1}, {48, 1, 1}};
	struct gsb_resize_facts f = facts_in("traps/hand.ptx", "warps_exit");

	(void)state;
	assert_non_null(gsb_resize_persistent_refused(&f.launch, &rows));
	assert_null(gsb_resize_persistent_refused(&f.launch, &whole));
	assert_null(gsb_resize_persistent_refused(&f.launch, &line));
	f = facts_in("traps/hand.ptx", "half_exits");
	assert_non_null(gsb_resize_persistent_refused(&f.launch, &line));
}

static void test_analyse_look_back_is_ordered_in_forms_that_are_right_otherwise(void **state)
{
	struct gsb_resize_facts f = facts_in("traps/wait.ptx", "looks_back");

	(void)state;
	assert_int_equal(f.forms, GSB_RESIZE_BIT(GSB_RESIZE_ORDERED));
	assert_int_equal(f.ordered_forms,
			 GSB_RESIZE_BIT(GSB_RESIZE_SLICE) | GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT));
	assert_null(gsb_resize_persistent_refused(&f.launch, &from));
	assert_int_equal(facts_in("traps/wait.ptx", "grid_barrier").ordered_forms, 0);
}

/* ---- limits ---- */

/* Branches in a row that lanes take differently, each deciding about all the rest: quadratic for who looks at each. */
static void test_analyse_text_made_to_be_slow_is_left_alone(void **state)
{
	enum { BRANCHES = 20000 };
	size_t size = (size_t)BRANCHES * 80 + 4096, n;
	char *text = calloc(1, size);
	struct gsb_resize_facts f;

	(void)state;
	assert_non_null(text);
	n = (size_t)snprintf(text, size,
			     HEAD ".visible .entry k(.param .u64 p) {\n.reg .pred %%q;\n.reg .b32 "
				  "%%r<4>;\nmov.u32 %%r1, %%tid.x;\nsetp.eq.u32 %%q, %%r1, 7;\n");
	for (int i = 0; i < BRANCHES; i++)
		n += (size_t)snprintf(text + n, size - n,
				      "@%%q bra out;\nadd.u32 %%r2, %%r1, %d;\n", i);
	snprintf(text + n, size - n, "bar.sync 0;\nret;\nout:\nret;\n}\n");
	f = facts_for(text);
	free(text);
	assert_int_equal(f.forms, 0);
	assert_int_equal(f.findings[0].rule, GSB_RESIZE_RULE_TOO_LARGE);
}

static void test_analyse_function_is_refused(void **state)
{
	struct gsb_resize_facts f;

	(void)state;
	gsb_ptx_module_destroy(module);
	module = parse(HEAD ".func f() { ret; }\n.visible .entry k() { call f, (); ret; }\n");
	gsb_arena_finish(&arena);
	gsb_arena_init(&arena, 1 << 20);
	assert_int_equal(gsb_resize_analyse(module, func(module, "f"), &arena, &f), -22);
}

/* Each step of memory may be the last one: an error, and nothing else. */
static void test_analyse_without_memory_fails_cleanly(void **state)
{
	struct gsb_resize_facts f = facts_in("traps/wait.ptx", "looks_back_by_ticket");
	size_t whole = arena.used_bytes;

	(void)state;
	assert_true(whole > 1000);
	for (size_t limit = 0; limit < whole; limit += 64) {
		gsb_arena_finish(&arena);
		gsb_arena_init(&arena, limit);
		assert_int_equal(gsb_resize_analyse(module, func(module, "looks_back_by_ticket"),
						    &arena, &f),
				 -12);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_analyse_exits_says_which_come_early),
		TEST(test_analyse_uniform_exit_is_not_early),
		TEST(test_analyse_barriers_tells_plain_from_others),
		TEST(test_analyse_readers_lists_block_number_and_count),
		TEST(test_analyse_readers_in_called_function_name_it),
		TEST(test_analyse_pointers_are_read_written_or_both),
		TEST(test_analyse_pointer_from_memory_is_said),
		TEST(test_analyse_pointer_that_is_stored_escapes),
		TEST(test_analyse_pointer_chosen_from_two_is_both),
		TEST(test_analyse_order_says_what_two_runs_may_differ_in),
		TEST(test_analyse_shared_memory_says_who_sizes_it),
		TEST(test_reshape_refused_same_product_is_not),
		TEST(test_reshape_refused_other_product_is),
		TEST(test_reshape_refused_two_to_the_31_threads_is),
		TEST(test_reshape_refused_launch_bounds_are_kept),
		TEST(test_reshape_refused_bounds_of_an_axis_are_kept),
		TEST(test_reshape_refused_axis_without_proof_is),
		TEST(test_reshape_refused_warps_are_kept),
		TEST(test_reshape_refused_kernel_without_proof_is),
		TEST(test_persistent_refused_warps_over_several_rows_are),
		TEST(test_analyse_look_back_is_ordered_in_forms_that_are_right_otherwise),
		TEST(test_analyse_text_made_to_be_slow_is_left_alone),
		TEST(test_analyse_function_is_refused),
		TEST(test_analyse_without_memory_fails_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
