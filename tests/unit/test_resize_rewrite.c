/*
 * test_resize_rewrite.c - the rewriter by itself: what it refuses and at which line, what it keeps, what its helpers give.
 * That variants do what their kernels do is test_resize_diff's and test_resize_random's business.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/print.h"
#include "tests/unit/resize_kit.h"

#define HEAD  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 p)\n{\n"

static int check(const char *text, enum gsb_rewrite_form form, enum gsb_resize_early early,
		 struct gsb_rewrite_refusal *why)
{
	struct gsb_ptx_module *m = kit_parse(text);
	const struct gsb_rewrite_job job = {
		.kernel = gsb_ptx_find_func(m, "k"), .form = form, .early = early};
	int err = gsb_rewrite_check(m, &job, why);

	gsb_ptx_module_destroy(m);
	return err;
}

static void refuses(const char *text, enum gsb_rewrite_form form, enum gsb_resize_early early,
		    uint32_t line, const char *words)
{
	struct gsb_rewrite_refusal why = {0};

	if (!check(text, form, early, &why))
		fail_msg("not refused: %s", words);
	if (!strstr(why.text, words) || why.line != line)
		fail_msg("line %u: '%s', not line %u: '%s'", why.line, why.text, line, words);
}

static void takes(const char *text, enum gsb_rewrite_form form)
{
	struct gsb_rewrite_refusal why = {0};

	if (check(text, form, GSB_RESIZE_E0, &why))
		fail_msg("refused: %s", why.text);
}

/* ---- refusals ---- */

static void test_check_form_that_cannot_be_written_says_why_and_where(void **state)
{
	static const struct {
		enum gsb_rewrite_form form;
		enum gsb_resize_early early;
		uint32_t line;
		const char *text, *words;
	} rows[] = {
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E2, 4, HEAD ENTRY "ret;\n}\n", "not plain"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E3, 4, HEAD ENTRY "ret;\n}\n", "lanes leave"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E1, 7,
		 HEAD ENTRY ".reg .pred %p;\nbarrier.red.or.pred %p, 0, %p;\nret;\n}\n",
		 "barrier.red.or.pred"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E1, 6, HEAD ENTRY "bar.sync 1;\nret;\n}\n",
		 "bar.sync"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E1, 7,
		 HEAD ENTRY ".reg .pred %p;\n@%p bar.sync 0;\nret;\n}\n", "bar.sync"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E1, 6, HEAD ENTRY "bar.sync 0, 64;\nret;\n}\n",
		 "bar.sync"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 6,
		 HEAD ENTRY "bar.arrive 1, 64;\nret;\n}\n", "do not wait"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 7,
		 HEAD ENTRY ".reg .b64 %a;\nalloca.u64 %a, 16, 8;\nret;\n}\n", "add up"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 7,
		 HEAD ENTRY ".reg .b32 %a;\nmov.u32 %a, %total_smem_size;\nret;\n}\n",
		 "%total_smem_size"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 7,
		 HEAD ENTRY ".shared .b64 b;\nmbarrier.init.shared.b64 [b], 1;\nret;\n}\n",
		 "outlive"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 4,
		 HEAD ENTRY ".shared .b8 s[49000];\nst.shared.u8 [s], 0;\nret;\n}\n",
		 "shared memory"},
		{GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0, 4,
		 HEAD ".func f() { exit; }\n" ENTRY "call f;\nret;\n}\n", "inside a function"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 7,
		 HEAD ENTRY ".reg .b32 %a;\nmov.b32 %a, %envreg2;\nret;\n}\n", "cooperative"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 7,
		 HEAD ENTRY ".reg .b32 %a;\nmov.u32 %a, %cluster_ctarank;\nret;\n}\n", "clusters"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 4,
		 HEAD ".visible .entry k() .reqnctapercluster 2\n{\nret;\n}\n", "clusters"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 6, HEAD ENTRY "griddepcontrol.wait;\nret;\n}\n",
		 "wait for each other"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 6, HEAD ENTRY "no.such.thing;\nret;\n}\n",
		 "not understood"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 4,
		 HEAD ".visible .entry k(.param .b8 p[32760])\n{\nret;\n}\n", "no room"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 4,
		 HEAD ".visible .entry k$slice()\n{\nret;\n}\n" ENTRY "ret;\n}\n", "already"},
		{GSB_REWRITE_SLICE, GSB_RESIZE_E0, 0,
		 ".version 5.0\n.target sm_50\n.address_size 64\n" ENTRY "ret;\n}\n", "6.0"},
		{GSB_REWRITE_COUNT, GSB_RESIZE_E0, 0,
		 ".version 6.4\n.target sm_60\n.address_size 64\n" ENTRY "ret;\n}\n", "sm_70"},
	};

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++)
		refuses(rows[i].text, rows[i].form, rows[i].early, rows[i].line, rows[i].words);
}

#define NUMBER                                                                               \
	".reg .b64 %a<3>;\n.reg .b32 %r<5>;\n.reg .f32 %f<4>;\n"                             \
	"ld.param.u64 %a0, [p];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\n"            \
	"mov.u32 %r2, %tid.x;\nmad.lo.u32 %r3, %r0, %r1, %r2;\nmul.wide.u32 %a1, %r3, 16;\n" \
	"add.u64 %a2, %a0, %a1;\n"

static void test_check_hint_is_for_kernels_that_stream(void **state)
{
	(void)state;
	takes(HEAD ENTRY NUMBER "ld.global.u32 %r4, [%a2];\nno.such.thing;\nret;\n}\n",
	      GSB_REWRITE_HINT);
	takes(".version 5.0\n.target sm_50\n.address_size 64\n" ENTRY NUMBER
	      "st.global.u32 [%a2], %r3;\nret;\n}\n",
	      GSB_REWRITE_HINT);
	refuses(HEAD ENTRY NUMBER "ld.global.u32 %r4, [%a0];\nret;\n}\n", GSB_REWRITE_HINT,
		GSB_RESIZE_E0, 4, "known to stream");
	refuses(HEAD ENTRY NUMBER "ld.volatile.global.u32 %r4, [%a2];\nret;\n}\n", GSB_REWRITE_HINT,
		GSB_RESIZE_E0, 4, "known to stream");
}

/* ---- what comes out ---- */

static struct gsb_ptx_module *rewrite(const struct gsb_ptx_module *m, const char *kernel,
				      unsigned int forms, enum gsb_resize_early early)
{
	struct gsb_rewrite_job jobs[GSB_N_REWRITE_FORMS];
	struct gsb_rewrite_refusal why;
	struct gsb_ptx_module *out = NULL;
	size_t n = 0;

	forms = kit_forms(m, gsb_ptx_find_func(m, kernel), forms);
	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++)
		if (forms >> form & 1)
			jobs[n++] = (struct gsb_rewrite_job){.kernel = gsb_ptx_find_func(m, kernel),
							     .form = form,
							     .early = early};
	assert_int_equal(gsb_rewrite(m, jobs, n, &out, &why), 0);
	return out;
}

static void is_fixed_point(const struct gsb_ptx_module *m)
{
	struct gsb_ptx_module *again;
	char *once, *twice;
	size_t n, n2;

	assert_int_equal(gsb_ptx_print(m, &once, &n), 0);
	again = kit_parse(once);
	assert_int_equal(gsb_ptx_print(again, &twice, &n2), 0);
	assert_int_equal(n, n2);
	assert_memory_equal(once, twice, n);
	free(once);
	free(twice);
	gsb_ptx_module_destroy(again);
}

static void all_forms_print_a_fixed_point(const char *file, const char *var)
{
	struct gsb_ptx_module *m = kit_parse_file(file), *out;

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		if (!m->funcs[i]->is_entry)
			continue;
		out = rewrite(m, m->funcs[i]->name, KIT_ALL, GSB_RESIZE_E0);
		is_fixed_point(out);
		assert_non_null(gsb_ptx_find_func(out, m->funcs[i]->name));
		assert_true(!var || gsb_ptx_find_var(out, var));
		gsb_ptx_module_destroy(out);
	}
	gsb_ptx_module_destroy(m);
}

static void test_rewrite_all_forms_prints_a_fixed_point_with_the_original(void **state)
{
	(void)state;
	all_forms_print_a_fixed_point("tests/resize/hard.ptx", "cells");
	all_forms_print_a_fixed_point("tests/resize/streams/streams.75.ptx", NULL);
}

/* Of each instruction of the original, the line of the source is the same in the variant. */
static void test_rewrite_keeps_the_lines_of_the_source(void **state)
{
	struct gsb_ptx_module *m = kit_parse_file("tests/ptx/reduce.lines.ptx");
	struct gsb_ptx_module *out = rewrite(m, "reduce_tree", KIT_ALL, GSB_RESIZE_E1);
	const struct gsb_ptx_func *from = gsb_ptx_find_func(m, "reduce_tree");
	const struct gsb_ptx_func *to = gsb_ptx_find_func(out, "reduce_tree$persistent");
	const char *file, *file2;
	unsigned int n = 0;

	(void)state;
	for (uint32_t i = 0, k = 0; i < from->n_insns; i++) {
		if (strncmp(from->insns[i].spelling, "ld.global", 9) != 0)
			continue;
		while (strcmp(to->insns[k].spelling, from->insns[i].spelling) != 0 ||
		       to->insns[k].line < to->insns[0].line)
			assert_true(++k < to->n_insns);
		assert_int_equal(gsb_ptx_source_line(m, from, i, &file),
				 gsb_ptx_source_line(out, to, k, &file2));
		assert_string_equal(file, file2);
		n++;
	}
	assert_int_equal(n, 1);
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
}

static void test_rewrite_hint_marks_weak_accesses_of_global_memory_that_stream(void **state)
{
	static const char *const text =
		HEAD ".visible .global .u32 a;\n" ENTRY NUMBER "ld.global.nc.u32 %r4, [%a2];\n"
		     "ld.volatile.global.u32 %r4, [%a2];\n"
		     "ld.relaxed.gpu.global.u32 %r4, [%a2];\n"
		     "ld.global.L1::evict_last.u32 %r4, [%a2];\nst.u32 [%a2], %r4;\n"
		     "ld.weak.global.v4.f32 {%f0, %f1, %f2, %f3}, [%a2];\n"
		     "ld.global.u32 %r4, [a];\nret;\n}\n";
	static const char *const want[] = {"ld.global.cs.nc.u32",
					   "ld.volatile.global.u32",
					   "ld.relaxed.gpu.global.u32",
					   "ld.global.L1::evict_last.u32",
					   "st.cs.u32",
					   "ld.weak.global.cs.v4.f32",
					   "ld.global.u32",
					   "ret"};
	const uint32_t before = 7; /* instructions that make the address */
	struct gsb_ptx_module *m = kit_parse(text);
	struct gsb_ptx_module *out = rewrite(m, "k", 1u << GSB_REWRITE_HINT, GSB_RESIZE_E0);
	const struct gsb_ptx_func *f = gsb_ptx_find_func(out, "k$hint");

	(void)state;
	assert_int_equal(f->n_insns, before + GSB_ARRAY_LEN(want));
	for (size_t i = 0; i < GSB_ARRAY_LEN(want); i++)
		assert_string_equal(f->insns[before + i].spelling, want[i]);
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
}

/* The interpreter's copies land when they are waited for; a GPU's at any time, so the wait itself is looked for. */
static void test_rewrite_persistent_waits_for_copies_before_the_next_tile(void **state)
{
	struct gsb_ptx_module *m = kit_parse_file("tests/resize/hard.ptx");
	struct gsb_ptx_module *out =
		rewrite(m, "late_copy", 1u << GSB_REWRITE_PERSISTENT, GSB_RESIZE_E0);
	const struct gsb_ptx_func *f = gsb_ptx_find_func(out, "late_copy$persistent");
	unsigned int n = 0;

	(void)state;
	for (uint32_t i = 0; i < f->n_insns; i++)
		n += f->insns[i].op == GSB_PTX_OP_CP_ASYNC_WAIT_ALL;
	assert_int_equal(n, 1);
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
}

/* Additions to memory in the counting variant of k, from label "again" to label "done". */
static unsigned int sums_in_loop(const char *text)
{
	struct gsb_ptx_module *m = kit_parse(text);
	struct gsb_ptx_module *out = rewrite(m, "k", 1u << GSB_REWRITE_COUNT, GSB_RESIZE_E0);
	const struct gsb_ptx_func *f = gsb_ptx_find_func(out, "k$count");
	uint32_t from = 0, to = 0;
	unsigned int n = 0;

	for (uint32_t i = 0; i < f->n_labels; i++) {
		from = strcmp(f->labels[i].name, "again") ? from : f->labels[i].insn;
		to = strcmp(f->labels[i].name, "done") ? to : f->labels[i].insn;
	}
	assert_true(from < to);
	for (uint32_t i = from; i < to; i++)
		n += f->insns[i].op == GSB_PTX_OP_RED;
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
	return n;
}

#define LOOP                                                                          \
	".reg .b32 %i;\n.reg .pred %p;\nmov.u32 %i, 0;\nagain:\nadd.u32 %i, %i, 1;\n" \
	"setp.lt.u32 %p, %i, 9;\n@%p bra again;\ndone:\n"

/* Warps that add to the same words with each turn would wait for each other. */
static void test_rewrite_count_adds_to_memory_behind_loops(void **state)
{
	(void)state;
	assert_int_equal(sums_in_loop(HEAD ENTRY LOOP "ret;\n}\n"), 0);
}

/* What registers hold would be lost with a thread that ends in a function. */
static void test_rewrite_count_adds_to_memory_where_functions_end_threads(void **state)
{
	(void)state;
	assert_int_equal(
		sums_in_loop(HEAD ".func f()\n{\nexit;\n}\n" ENTRY LOOP "call f;\nret;\n}\n"), 2);
}

/* Questions of the counting variant of k to whole warps, whether they are whole. */
static unsigned int asks_of_whole_warps(const char *body)
{
	char text[1024];
	struct gsb_ptx_module *m, *out;
	const struct gsb_ptx_func *f;
	unsigned int n = 0;

	snprintf(text, sizeof(text),
		 "%s.reg .b32 %%r, %%q;\n.reg .b64 %%a, %%b;\nld.param.u64 %%a, [p];\n"
		 "mov.u32 %%r, %%tid.x;\n%s\nret;\n}\n",
		 HEAD ENTRY, body);
	m = kit_parse(text);
	out = rewrite(m, "k", 1u << GSB_REWRITE_COUNT, GSB_RESIZE_E0);
	f = gsb_ptx_find_func(out, "k$count");
	for (uint32_t i = 0; i < f->n_insns; i++)
		n += !strcmp(f->insns[i].spelling, "vote.sync.all.pred");
	gsb_ptx_module_destroy(out);
	gsb_ptx_module_destroy(m);
	return n;
}

/* Each lane is asked for its address only where one of them does not tell all. */
static void test_rewrite_count_asks_for_whole_warps_where_addresses_are_in_a_row(void **state)
{
	(void)state;
	assert_int_equal(asks_of_whole_warps("mad.wide.u32 %b, %r, 4, %a; ld.global.u32 %q, [%b];"),
			 1);
	assert_int_equal(asks_of_whole_warps("ld.global.u32 %q, [%a];"), 1);
	assert_int_equal(asks_of_whole_warps("mul.wide.u32 %b, %r, %r; add.u64 %b, %b, %a;"
					     "ld.global.u32 %q, [%b];"),
			 0);
	assert_int_equal(asks_of_whole_warps("mad.wide.u32 %b, %r, 4, %a;"), 0);
}

/* NVIDIA's assembler takes what is printed. */
static void test_rewrite_is_taken_by_the_assembler(void **state)
{
#ifdef TEST_PTXAS
	static const char *const files[] = {"tests/resize/hard.ptx", "tests/ptx/reduce.lines.ptx",
					    "tests/ptx/calls.clang.ptx",
					    "tests/resize/streams/streams.75.ptx"};

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(files); i++) {
		struct gsb_ptx_module *m = kit_parse_file(files[i]), *out;
		struct gsb_rewrite_job jobs[64 * GSB_N_REWRITE_FORMS];
		struct gsb_rewrite_refusal why;
		FILE *ptxas = popen(TEST_PTXAS " -arch=sm_90 -o /dev/null -", "w");
		size_t n = 0, len;
		char *text;

		for (uint32_t k = 0; k < m->n_funcs && k < 64; k++)
			for (int form = 0; m->funcs[k]->is_entry && form < GSB_N_REWRITE_FORMS;
			     form++) {
				jobs[n] = (struct gsb_rewrite_job){.kernel = m->funcs[k],
								   .form = form,
								   .early = GSB_RESIZE_E1};
				n += !gsb_rewrite_check(m, &jobs[n], &why);
			}
		assert_int_equal(gsb_rewrite(m, jobs, n, &out, &why), 0);
		assert_int_equal(gsb_ptx_print(out, &text, &len), 0);
		assert_int_equal(fwrite(text, 1, len, ptxas), len);
		if (pclose(ptxas))
			fail_msg("ptxas refuses variants of %s", files[i]);
		free(text);
		gsb_ptx_module_destroy(out);
		gsb_ptx_module_destroy(m);
	}
#else
	(void)state;
	skip();
#endif
}

/* ---- launches ---- */

static void test_slice_next_of_any_sizes_covers_each_block_once_in_order(void **state)
{
	static const uint32_t grids[][3] = {{7, 1, 1}, {3, 4, 5}, {1, 9, 2}, {5, 1, 6}, {2, 2, 2}};
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 50 * GSB_ARRAY_LEN(grids); i++) {
		const uint32_t *g = grids[i % GSB_ARRAY_LEN(grids)];
		struct gsb_variant_slice s;
		uint64_t done = 0, next = 0;
		uint32_t size[3], most = 1;

		while (gsb_variant_slice_next(g, &done, most, &s, size)) {
			assert_true((uint64_t)size[0] * size[1] * size[2] <= most);
			for (uint32_t b = 0; b < size[0] * size[1] * size[2]; b++, next++) {
				uint32_t x = s.first[0] + b % size[0];
				uint32_t y = s.first[1] + b / size[0] % size[1];
				uint32_t z = s.first[2] + b / size[0] / size[1];

				assert_int_equal((z * g[1] + y) * g[0] + x, next);
			}
			assert_int_equal(next, done);
			seed = seed * 1664525 + 1013904223;
			most = 1 + (seed >> 16) % 25;
		}
		assert_int_equal(done, (uint64_t)g[0] * g[1] * g[2]);
	}
}

static void test_reshapes_keep_the_number_of_threads(void **state)
{
	uint32_t out[64];

	(void)state;
	assert_int_equal(gsb_variant_reshapes(6, 64, 32, 1024, out, 64), 6);
	assert_int_equal(out[0], 32);
	assert_int_equal(out[1], 64);
	assert_int_equal(out[2], 96);
	assert_int_equal(out[3], 128);
	assert_int_equal(out[4], 192);
	assert_int_equal(out[5], 384);
	assert_int_equal(gsb_variant_reshapes(6, 64, 32, 100, out, 64), 3);
	assert_int_equal(gsb_variant_reshapes(5, 7, 32, 1024, out, 64), 0);
}

static void test_total_over_the_limit_is_none(void **state)
{
	(void)state;
	assert_int_equal(gsb_variant_total((const uint32_t[]){3, 4, 5}), 60);
	assert_int_equal(gsb_variant_total((const uint32_t[]){1u << 31, 1, 1}), 1u << 31);
	assert_int_equal(gsb_variant_total((const uint32_t[]){1u << 31, 2, 1}), 0);
	assert_int_equal(gsb_variant_total((const uint32_t[]){65535, 65535, 65535}), 0);
}

/* With 8 warps a block and one of 64 counted, it would be the same warp of the block each time. */
static void test_every_gives_all_warps_of_a_block_their_turn(void **state)
{
	(void)state;
	assert_int_equal(gsb_variant_every(1000, 8, 125), 63);
	assert_int_equal(gsb_variant_every(10, 8, 1000), 1);
	assert_int_equal(gsb_variant_every(10, 8, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_form_that_cannot_be_written_says_why_and_where),
		cmocka_unit_test(test_check_hint_is_for_kernels_that_stream),
		cmocka_unit_test(test_rewrite_all_forms_prints_a_fixed_point_with_the_original),
		cmocka_unit_test(test_rewrite_keeps_the_lines_of_the_source),
		cmocka_unit_test(
			test_rewrite_hint_marks_weak_accesses_of_global_memory_that_stream),
		cmocka_unit_test(test_rewrite_persistent_waits_for_copies_before_the_next_tile),
		cmocka_unit_test(test_rewrite_count_adds_to_memory_behind_loops),
		cmocka_unit_test(test_rewrite_count_adds_to_memory_where_functions_end_threads),
		cmocka_unit_test(
			test_rewrite_count_asks_for_whole_warps_where_addresses_are_in_a_row),
		cmocka_unit_test(test_rewrite_is_taken_by_the_assembler),
		cmocka_unit_test(test_slice_next_of_any_sizes_covers_each_block_once_in_order),
		cmocka_unit_test(test_reshapes_keep_the_number_of_threads),
		cmocka_unit_test(test_total_over_the_limit_is_none),
		cmocka_unit_test(test_every_gives_all_warps_of_a_block_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
