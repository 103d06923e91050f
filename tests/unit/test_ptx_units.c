/*
 * test_ptx_units.c - linked text: several modules one behind the other, whose names meet where they are shared and
 * stay apart where they are not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "ptx/kernel.h"
#include "ptx/print.h"
#include "tests/unit/ptx_text.h"

#define HEAD_32 ".version 7.0\n.target sm_75\n.address_size 32\n"
#define CALLER                                                                      \
	HEAD ".extern .func (.param .b32 r) f(.param .b32 a);\n"                    \
	     ".visible .entry k() {\n.reg .b32 %r; .param .b32 in, out;\n"          \
	     "st.param.b32 [in], 1;\ncall (out), f, (in);\nld.param.b32 %r, [out];" \
	     "\nret;\n}\n"
#define BODY(word) " .func (.param .b32 r) f(.param .b32 b) {\n" word "\nret;\n}\n"

static void expect_error(const char *text, const char *words)
{
	struct gsb_ptx_module *m;
	struct gsb_ptx_error error = {0};

	assert_int_equal(gsb_ptx_parse(text, strlen(text), &m, &error), -EILSEQ);
	if (!strstr(error.text, words))
		fail_msg("'%s' is not in: %s", words, error.text);
}

static const struct gsb_ptx_func *called_by_k(const struct gsb_ptx_module *m)
{
	const struct gsb_ptx_func *k = func(m, "k");

	for (uint32_t i = 0; i < k->n_insns; i++)
		if (k->insns[i].call)
			return k->insns[i].call->target.func;
	fail_msg("k calls nothing");
	return NULL;
}

static uint32_t target_of(const struct gsb_ptx_module *m, const char *name)
{
	struct gsb_arena arena;
	struct gsb_ptx_kernel k;

	gsb_arena_init(&arena, 1 << 20);
	assert_int_equal(gsb_ptx_kernel_build(m, func(m, name), &arena, &k), 0);
	gsb_arena_finish(&arena);
	return k.target_sm;
}

static void test_units_declaration_means_the_definition_before_and_behind(void **state)
{
	static const char *const texts[] = {CALLER HEAD ".visible" BODY(""),
					    HEAD ".visible" BODY("") CALLER};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(texts); i++) {
		struct gsb_ptx_module *m = parse(texts[i]);

		assert_ptr_equal(called_by_k(m), func(m, "f"));
		assert_true(func(m, "f")->has_body);
		assert_int_equal(m->n_funcs, 2);
		gsb_ptx_module_destroy(m);
	}
}

static void test_units_names_that_are_not_shared_stay_apart(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".global .u32 x = 1;\n.func f() { ret; }\n"
			   ".visible .entry a() {\n.reg .u32 %r;\nld.global.u32 %r, [x];\n"
			   "call f;\nret;\n}\n" HEAD ".global .u64 x = 2;\n"
			   ".func f() { ret; }\n.visible .entry b() { call f; ret; }\n");

	assert_int_equal(m->n_vars, 2);
	assert_int_equal(m->n_funcs, 4);
	assert_ptr_not_equal(func(m, "a")->insns[1].call->target.func,
			     func(m, "b")->insns[0].call->target.func);
	assert_int_equal(m->vars[0]->init[0], 1);
	assert_int_equal(m->vars[1]->init[0], 2);
	assert_string_equal(m->vars[0]->name, "x$1");
	assert_int_equal(gsb_ptx_find_var(m, "x")->init[0], 2);
	gsb_ptx_module_destroy(m);
}

/* NVIDIA's device runtime, which is linked to all that was compiled by parts, has PTX for newer GPUs alone. */
static void test_units_kernel_is_for_what_its_own_module_says(void **state)
{
	struct gsb_ptx_module *m = parse(
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".weak .entry shared() { ret; }\n.visible .entry old() { ret; }\n"
		".version 9.0\n.target sm_121\n.address_size 64\n"
		".weak .entry shared() { ret; }\n.visible .entry young() { ret; }\n"
		".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry oldest() { ret; }\n");

	assert_int_equal(m->target_sm, 121);
	assert_int_equal(target_of(m, "old"), 90);
	assert_int_equal(target_of(m, "young"), 121);
	assert_int_equal(target_of(m, "oldest"), 75);
	assert_int_equal(target_of(m, "shared"), 90);
	gsb_ptx_module_destroy(m);
}

/* In print they are one module, and mean the same. */
static void test_units_printed_parse_again(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func f() { ret; }\n.global .u32 x = 1;\n"
			   ".visible .entry a() { call f; ret; }\n" HEAD
			   ".func f() { bar.sync 0; ret; }\n.global .u32 x = 2;\n"
			   ".visible .entry b() { call f; ret; }\n" HEAD ".global .u32 x = 3;\n");
	struct gsb_ptx_module *again;
	char *text;
	size_t len;

	assert_int_equal(gsb_ptx_print(m, &text, &len), 0);
	again = parse_len(text, len);
	assert_int_equal(again->n_vars, 3);
	assert_int_equal(func(again, "a")->insns[0].call->target.func->n_insns, 1);
	assert_int_equal(func(again, "b")->insns[0].call->target.func->n_insns, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(again->vars[i]->init[0], m->vars[i]->init[0]);
	free(text);
	gsb_ptx_module_destroy(again);
	gsb_ptx_module_destroy(m);
}

static void test_units_hidden_name_is_found_from_outside(void **state)
{
	struct gsb_ptx_module *m = parse(HEAD ".global .u32 x = 7;\n.func g() { ret; }\n" HEAD
					      ".visible .entry k() { ret; }\n");

	assert_int_equal(gsb_ptx_find_var(m, "x")->init[0], 7);
	assert_string_equal(func(m, "g")->name, "g");
	gsb_ptx_module_destroy(m);
	expect_error(HEAD ".func g() { ret; }\n" HEAD ".entry k() { call g; ret; }\n",
		     "'g' is not declared");
}

static void test_units_variables_are_one_whatever_comes_first(void **state)
{
	static const char *const texts[] = {
		HEAD ".extern .global .align 4 .u32 x;\n" HEAD
		     ".visible .global .align 16 .u32 x = 5;\n",
		HEAD ".visible .global .align 16 .u32 x = 5;\n" HEAD
		     ".extern .global .align 4 .u32 x;\n",
		HEAD ".extern .global .align 16 .u32 x;\n" HEAD
		     ".visible .global .align 4 .u32 x = 5;\n",
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(texts); i++) {
		struct gsb_ptx_module *m = parse(texts[i]);

		assert_int_equal(m->n_vars, 1);
		assert_int_equal(m->vars[0]->linkage, GSB_PTX_LINK_VISIBLE);
		assert_int_equal(m->vars[0]->align, 16);
		assert_int_equal(m->vars[0]->init[0], 5);
		gsb_ptx_module_destroy(m);
	}
	expect_error(HEAD ".extern .global .u32 x;\n" HEAD ".visible .const .u32 x = 5;\n",
		     "'x' was declared in another space in line 4");
}

static void test_units_weak_definitions_yield(void **state)
{
	static const struct {
		const char *text;
		uint32_t n_insns;
		uint8_t init;
	} rows[] = {
		{HEAD ".weak" BODY("bar.sync 0;") ".weak .global .u32 x = 1;\n" HEAD
						  ".weak" BODY("") ".weak .global .u32 x = 2;\n",
		 2, 1},
		{HEAD
		 ".weak" BODY("bar.sync 0;") ".weak .global .u32 x = 1;\n" HEAD
					     ".visible" BODY("") ".visible .global .u32 x = 2;\n",
		 1, 2},
		{HEAD ".visible" BODY("bar.sync 0;") ".visible .global .u32 x = 1;\n" HEAD
						     ".weak" BODY("") ".weak .global .u32 x = 2;\n",
		 2, 1},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_ptx_module *m = parse(rows[i].text);

		assert_int_equal(m->n_funcs, 1);
		assert_int_equal(m->n_vars, 1);
		assert_int_equal(func(m, "f")->n_insns, rows[i].n_insns);
		assert_int_equal(gsb_ptx_find_var(m, "x")->init[0], rows[i].init);
		gsb_ptx_module_destroy(m);
	}
}

static void test_units_second_strong_definition_is_refused(void **state)
{
	expect_error(HEAD ".visible" BODY("") HEAD ".visible" BODY(""), "'f' already has a body");
	expect_error(HEAD ".entry k() { ret; }\n" HEAD ".entry k() { ret; }\n",
		     "'k' already has a body");
	expect_error(HEAD ".visible .global .u32 x;\n" HEAD ".visible .global .u32 x;\n",
		     "'x' is already declared");
	expect_error(HEAD ".weak" BODY("") ".weak" BODY(""), "'f' already has a body");
}

static void test_units_head_is_the_most_that_one_asks_for(void **state)
{
	struct gsb_ptx_module *m = parse(".version 8.1\n.target sm_80\n.address_size 64\n"
					 ".version 7.8\n.target sm_90a\n.address_size 64\n"
					 ".version 8.0\n.target sm_75\n.address_size 64\n");

	assert_int_equal(m->version_major * 10 + m->version_minor, 81);
	assert_string_equal(m->target, "sm_90a");
	gsb_ptx_module_destroy(m);
	expect_error(HEAD HEAD_32, "modules of 32 and of 64 bits cannot be linked");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_declaration_means_the_definition_before_and_behind),
		cmocka_unit_test(test_units_names_that_are_not_shared_stay_apart),
		cmocka_unit_test(test_units_kernel_is_for_what_its_own_module_says),
		cmocka_unit_test(test_units_printed_parse_again),
		cmocka_unit_test(test_units_hidden_name_is_found_from_outside),
		cmocka_unit_test(test_units_variables_are_one_whatever_comes_first),
		cmocka_unit_test(test_units_weak_definitions_yield),
		cmocka_unit_test(test_units_second_strong_definition_is_refused),
		cmocka_unit_test(test_units_head_is_the_most_that_one_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
