/*
 * test_ptx_redirect.c - what is done with PTX before a driver gets it: calls of a built-in go to a function of ours, managed variables are
 * found.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/condition.h"
#include "ptx/managed.h"
#include "ptx/redirect.h"

/* What becomes of a text, and what its calls are said to go to; NULL: it stays as it is. */
static void check(const char *text, const char *want)
{
	char *copy = strdup(text);

	const char *to;

	assert_non_null(copy);
	to = gsb_ptx_redirect(copy, strlen(copy), "vprintf", "vprint$", "vprin$$");
	assert_int_equal(to != NULL, want != NULL);
	assert_true(!to || (want && strstr(want, to)));
	assert_string_equal(copy, want ? want : text);
	free(copy);
}

static void test_redirect_changes_declaration_and_calls(void **state)
{
	check(".extern .func (.param .b32 r) vprintf\n(\n.param .b64 vprintf_param_0\n)\n;\n"
	      ".entry k() { call.uni (r), vprintf, (a); mov.u64 %rd1, vprintf; }\n",
	      "        .func (.param .b32 r) vprint$\n(\n.param .b64 vprintf_param_0\n)\n;\n"
	      ".entry k() { call.uni (r), vprint$, (a); mov.u64 %rd1, vprint$; }\n");
}

static void test_redirect_leaves_other_declarations(void **state)
{
	check(".extern .func malloc(.param .b64 a);\n.extern .func vprintf(.param .b64 a);\n",
	      ".extern .func malloc(.param .b64 a);\n        .func vprin$$(.param .b64 a);\n");
}

/* As compilers other than nvcc have it, whose programs do not ask how many were printed. */
static void test_redirect_without_a_result_goes_to_a_function_that_has_none(void **state)
{
	check(".extern .func vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n"
	      ".entry k() { call.uni vprintf, (a, b); }\n",
	      "        .func vprin$$\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n"
	      ".entry k() { call.uni vprin$$, (a, b); }\n");
}

static void test_redirect_changes_every_declaration(void **state)
{
	check(".extern .func vprintf(.param .b64 a);\n.extern .func vprintf(.param .b64 a);\n",
	      "        .func vprin$$(.param .b64 a);\n        .func vprin$$(.param .b64 a);\n");
}

/* A parameter may have the name; what is .extern beside it is another function. */
static void test_redirect_leaves_functions_with_such_a_parameter(void **state)
{
	check(".extern .func f(.param .b64 vprintf);\n", NULL);
	check(".extern .func (.param .b64 vprintf) f(.param .b64 a);\n", NULL);
	check(".extern .global .b64 vprintf;\n.func g() { ret; }\n", NULL);
}

static void test_definitions_are_told_from_declarations(void **state)
{
	static const struct {
		const char *text;
		bool defines;
	} texts[] = {
		{".extern .func (.param .b32 r) vprintf(.param .b64 a);\n", false},
		{".visible .func (.param .b32 r) vprintf(.param .b64 a)\n{ ret; }\n", true},
		{".extern .func vprintf();\n.version 8.0\n.func vprintf()\n{ ret; }\n", true},
		{".extern .func f();\n.weak .func vprintf() { ret; }\n", true},
		{".func f(.param .b64 vprintf) { call vprintf; }\n", false},
		{".func (", false},
		{"", false},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(texts); i++)
		assert_int_equal(gsb_ptx_defines(texts[i].text, strlen(texts[i].text), "vprintf"),
				 texts[i].defines);
}

static void test_redirect_leaves_comments_and_strings(void **state)
{
	check("// vprintf\n.file 1 \"vprintf\"\n.extern .func vprintf();\n/* vprintf */\n",
	      "// vprintf\n.file 1 \"vprintf\"\n        .func vprin$$();\n/* vprintf */\n");
}

static void test_redirect_leaves_a_text_that_declares_none(void **state)
{
	static const char *const texts[] = {
		"",
		".version 9.0\n.target sm_90\n.entry k() { ret; }\n",
		".func vprintf() { ret; }\n.entry k() { call vprintf; }\n", /* its own */
		".extern .func malloc();\n.func vprintf() { ret; }\n",
		"// .extern .func vprintf();\n",
		".extern .func vprintf2();\n.extern .func my_vprintf();\n",
		".extern .func \"vprintf",
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(texts); i++)
		check(texts[i], NULL);
}

static void test_has_managed_sees_the_word_alone(void **state)
{
	const struct {
		const char *text;
		bool has;
	} rows[] = {
		{".global .attribute(.managed) .align 4 .u32 x;", true},
		{".version 9.0\n// .managed\n.global .u32 x; .file 1 \"a.managed\"", false},
		{".global .u32 x;\n.visible .global .attribute( .managed ) .u32 y;", true},
		{".global .u32 .managedx;", false},
		{".global \x01 .managed", true},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++)
		assert_int_equal(gsb_ptx_has_managed(rows[i].text, strlen(rows[i].text)),
				 rows[i].has);
}

/* ---- conditions of graphs ---- */

#define SETS                                                                                         \
	".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"                     \
	".visible .entry k(.param .u64 h)\n{\n\t.reg .b64 %h;\n\t.param .b64 a;\n\t.param .b32 b;\n" \
	"\tld.param.u64 %h, [h];\n\tst.param.b64 [a], %h;\n\tst.param.b32 [b], 1;\n"                 \
	"\tcall.uni cudaGraphSetConditional, (a, b);\n\tret;\n}\n"
#define HEAD ".version 8.3\n.target sm_75\n.address_size 64\n"

/* Of a text of several modules each that calls it has one of its own. */
static void test_condition_is_set_by_a_function_of_the_text(void **state)
{
	static const struct {
		const char *text;
		unsigned n; /* definitions behind it */
	} rows[] = {
		{HEAD SETS, 1},
		{HEAD SETS HEAD ".visible .entry other()\n{\n\tret;\n}\n", 1},
		{HEAD SETS HEAD SETS, 2},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		char *made = NULL;
		const char *at;
		unsigned n = 0;

		assert_int_equal(
			gsb_ptx_define_condition(rows[i].text, strlen(rows[i].text), &made), 0);
		assert_non_null(made);
		assert_null(strstr(made, "cudaGraphSetConditional"));
		for (at = made; (at = strstr(at, "st.volatile.u32")); at++)
			n++;
		assert_int_equal(n, rows[i].n);
		free(made);
	}
}

static void test_condition_of_nobody_changes_nothing(void **state)
{
	static const char *const texts[] = {
		HEAD ".visible .entry k()\n{\n\tret;\n}\n",
		HEAD "// cudaGraphSetConditional\n.visible .entry k()\n{\n\tret;\n}\n",
		HEAD ".func cudaGraphSetConditional(.param .b64 h, .param .b32 v)\n{\n\tret;\n}\n",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(texts); i++) {
		char *made = NULL;

		assert_int_equal(gsb_ptx_define_condition(texts[i], strlen(texts[i]), &made), 0);
		assert_null(made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redirect_changes_declaration_and_calls),
		cmocka_unit_test(test_redirect_leaves_other_declarations),
		cmocka_unit_test(test_redirect_without_a_result_goes_to_a_function_that_has_none),
		cmocka_unit_test(test_redirect_changes_every_declaration),
		cmocka_unit_test(test_redirect_leaves_functions_with_such_a_parameter),
		cmocka_unit_test(test_definitions_are_told_from_declarations),
		cmocka_unit_test(test_redirect_leaves_comments_and_strings),
		cmocka_unit_test(test_redirect_leaves_a_text_that_declares_none),
		cmocka_unit_test(test_has_managed_sees_the_word_alone),
		cmocka_unit_test(test_condition_is_set_by_a_function_of_the_text),
		cmocka_unit_test(test_condition_of_nobody_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
