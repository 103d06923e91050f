/*
 * test_ptx_lex.c - tokens, and the table of names with its scopes and ranges.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "ptx/lex.h"
#include "ptx/names.h"
#include "ptx/ptx.h"

static struct gsb_ptx_token only_token(const char *text)
{
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token first, second;

	gsb_ptx_lex_init(&lx, text, strlen(text));
	gsb_ptx_lex_next(&lx, &first);
	gsb_ptx_lex_next(&lx, &second);
	if (first.kind != GSB_PTX_TOKEN_BAD)
		assert_int_equal(second.kind, GSB_PTX_TOKEN_END);
	return first;
}

static void assert_number(const char *text, enum gsb_ptx_imm_form form, uint64_t value)
{
	struct gsb_ptx_token t = only_token(text);

	assert_int_equal(t.kind, GSB_PTX_TOKEN_NUMBER);
	assert_int_equal(t.form, form);
	assert_int_equal(t.value, value);
}

static void assert_bad(const char *text, const char *why)
{
	struct gsb_ptx_token t = only_token(text);

	assert_int_equal(t.kind, GSB_PTX_TOKEN_BAD);
	assert_string_equal(t.bad, why);
}

static void test_lex_integers_in_every_radix(void **state)
{
	assert_number("0", GSB_PTX_IMM_INT, 0);
	assert_number("1234567890", GSB_PTX_IMM_INT, 1234567890);
	assert_number("0x1fU", GSB_PTX_IMM_INT, 31);
	assert_number("0b101", GSB_PTX_IMM_INT, 5);
	assert_number("017", GSB_PTX_IMM_INT, 15);
	assert_number("0xffffffffffffffff", GSB_PTX_IMM_INT, UINT64_MAX);
	assert_bad("0x10000000000000000", "the integer does not fit 64 bits");
	assert_bad("12ab", "malformed number");
	assert_bad("0x", "malformed number");
	assert_bad("089", "malformed number");
}

static void test_lex_floats_keep_their_bits(void **state)
{
	assert_number("0f3F800000", GSB_PTX_IMM_F32, 0x3f800000);
	assert_number("0F7fC00001", GSB_PTX_IMM_F32, 0x7fc00001);
	assert_number("0d3FF0000000000000", GSB_PTX_IMM_F64, 0x3ff0000000000000);
	assert_number("1.5", GSB_PTX_IMM_F64, 0x3ff8000000000000);
	assert_number(".5e1", GSB_PTX_IMM_F64, 0x4014000000000000);
	assert_number("2e-1", GSB_PTX_IMM_F64, 0x3fc999999999999a);
	assert_bad("0f3F80", "0f wants 8 hexadecimal digits");
	assert_bad("0d3FF000000000000g", "0d wants 16 hexadecimal digits");
	assert_bad("1.2.3", "malformed number");
}

static void test_lex_fraction_in_a_locale_with_decimal_comma_is_the_same(void **state)
{
	/* Set where the machine has such a locale; the reading is in the C locale whatever it is. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	assert_number("2.5", GSB_PTX_IMM_F64, 0x4004000000000000);
	setlocale(LC_ALL, "C");
}

static void test_lex_word_takes_modifiers_and_axes(void **state)
{
	assert_int_equal(only_token("ld.global.L1::evict_last.u32").kind, GSB_PTX_TOKEN_WORD);
	assert_int_equal(only_token("%tid.x").kind, GSB_PTX_TOKEN_WORD);
	assert_int_equal(only_token("$L__BB0_2").kind, GSB_PTX_TOKEN_WORD);
	assert_int_equal(only_token(".reg").kind, GSB_PTX_TOKEN_DOT);
	assert_int_equal(only_token("\"a string\"").kind, GSB_PTX_TOKEN_STRING);
}

static void assert_words(const char *text, const char *first, const char *second)
{
	struct gsb_ptx_token a, b, end;
	struct gsb_ptx_lexer lx;

	gsb_ptx_lex_init(&lx, text, strlen(text));
	gsb_ptx_lex_next(&lx, &a);
	gsb_ptx_lex_next(&lx, &b);
	gsb_ptx_lex_next(&lx, &end);
	assert_int_equal(a.kind, GSB_PTX_TOKEN_WORD);
	assert_int_equal(b.kind, GSB_PTX_TOKEN_WORD);
	assert_int_equal(end.kind, GSB_PTX_TOKEN_END);
	assert_int_equal(a.len, strlen(first));
	assert_memory_equal(a.at, first, a.len);
	assert_int_equal(b.len, strlen(second));
	assert_memory_equal(b.at, second, b.len);
}

/* As ptxas 13.0 takes them: asm("mov.u32%0, %%laneid;") of CUDA C++ comes out so. */
static void test_lex_percent_sign_begins_a_word(void **state)
{
	assert_words("mov.u32%r1", "mov.u32", "%r1");
	assert_words("%r1%tid.x", "%r1", "%tid.x");
	assert_words("$a%b_$2", "$a", "%b_$2");
}

static void test_lex_counts_lines_and_columns_through_comments(void **state)
{
	const char *text = "// one\n/* two\nthree */ word\n@@DWARF x\n  next";
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	gsb_ptx_lex_init(&lx, text, strlen(text));
	gsb_ptx_lex_next(&lx, &t);
	assert_int_equal(t.line, 3);
	assert_int_equal(t.at - t.line_at, 9);
	gsb_ptx_lex_next(&lx, &t);
	assert_int_equal(t.line, 5);
	assert_int_equal(t.at - t.line_at, 2);
	gsb_ptx_lex_next(&lx, &t);
	assert_int_equal(t.kind, GSB_PTX_TOKEN_END);
	gsb_ptx_lex_next(&lx, &t);
	assert_int_equal(t.kind, GSB_PTX_TOKEN_END);
}

static void test_lex_bad_characters_are_named(void **state)
{
	assert_bad("/* no end", "the comment has no end");
	assert_bad("\"no end", "the string has no end on this line");
	assert_bad("\x80", "unexpected character");
	assert_bad("#", "unexpected character");
}

static void test_lex_stops_at_nul(void **state)
{
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	gsb_ptx_lex_init(&lx, "a\0b", 3);
	gsb_ptx_lex_next(&lx, &t);
	gsb_ptx_lex_next(&lx, &t);
	assert_int_equal(t.kind, GSB_PTX_TOKEN_END);
}

static int setup_names(void **state)
{
	static struct gsb_arena arena;
	static struct gsb_ptx_names names;

	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_ptx_names_init(&names, &arena), 0);
	*state = &names;
	return 0;
}

static int teardown_names(void **state)
{
	struct gsb_ptx_names *t = *state;

	gsb_arena_finish(t->arena);
	return 0;
}

static struct gsb_ptx_name *add(struct gsb_ptx_names *t, const char *name, int kind, uint32_t index,
				uint32_t count)
{
	struct gsb_ptx_name *e = gsb_ptx_names_add(t, name, strlen(name));

	assert_non_null(e);
	e->kind = kind;
	e->index = index;
	e->count = count;
	return e;
}

static void test_names_inner_scope_hides_and_gives_back(void **state)
{
	struct gsb_ptx_names *t = *state;
	struct gsb_ptx_name *outer = add(t, "x", GSB_PTX_NAME_VAR, 1, 1), *inner;
	uint32_t mark = t->n;

	inner = add(t, "x", GSB_PTX_NAME_VAR, 2, 1);
	assert_ptr_equal(gsb_ptx_names_get(t, "x", 1), inner);
	gsb_ptx_names_leave(t, mark);
	assert_ptr_equal(gsb_ptx_names_get(t, "x", 1), outer);
	assert_null(gsb_ptx_names_get(t, "y", 1));
}

static void test_names_survive_growth_with_hiding_intact(void **state)
{
	struct gsb_ptx_names *t = *state;
	char name[16];
	uint32_t mark = 0;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "n%u_", i);
			add(t, name, GSB_PTX_NAME_VAR, i + 10000 * (uint32_t)round, 1);
		}
		mark = round ? mark : t->n;
	}
	assert_int_equal(gsb_ptx_names_get(t, "n4321_", 6)->index, 14321);
	gsb_ptx_names_leave(t, mark);
	assert_int_equal(gsb_ptx_names_get(t, "n4321_", 6)->index, 4321);
}

static void test_names_find_resolves_ranges(void **state)
{
	struct gsb_ptx_names *t = *state;
	uint32_t index;

	add(t, "%r", GSB_PTX_NAME_RANGE, 100, 50);
	add(t, "%r1", GSB_PTX_NAME_RANGE, 500, 100);
	assert_non_null(gsb_ptx_names_find(t, "%r7", 3, &index));
	assert_int_equal(index, 107);
	assert_non_null(
		gsb_ptx_names_find(t, "%r177", 5, &index)); /* past %r<50>, but %r1<100> has it */
	assert_int_equal(index, 577);
	assert_null(gsb_ptx_names_find(t, "%r250", 5, &index));
	assert_null(gsb_ptx_names_find(t, "%r07", 4, &index));
	assert_null(gsb_ptx_names_find(t, "%r", 2, &index));
	assert_null(gsb_ptx_names_find(t, "%r99999999999", 13, &index));
}

static void test_names_find_prefers_the_later_of_range_and_single(void **state)
{
	struct gsb_ptx_names *t = *state;
	uint32_t index, mark;

	add(t, "%r3", GSB_PTX_NAME_REG, 9, 1);
	mark = t->n;
	add(t, "%r", GSB_PTX_NAME_RANGE, 100, 50);
	gsb_ptx_names_find(t, "%r3", 3, &index);
	assert_int_equal(index, 103);
	gsb_ptx_names_leave(t, mark);
	gsb_ptx_names_find(t, "%r3", 3, &index);
	assert_int_equal(index, 9);
}

static void test_names_of_a_range_and_of_a_single_are_apart(void **state)
{
	struct gsb_ptx_names *t = *state;
	struct gsb_ptx_name *single = add(t, "%k", GSB_PTX_NAME_REG, 7, 1);
	struct gsb_ptx_name *range = add(t, "%k", GSB_PTX_NAME_RANGE, 100, 15);
	uint32_t index;

	assert_ptr_equal(gsb_ptx_names_get(t, "%k", 2), single);
	assert_ptr_equal(gsb_ptx_names_range(t, "%k", 2), range);
	assert_ptr_equal(gsb_ptx_names_find(t, "%k", 2, &index), single);
	assert_int_equal(index, 7);
	assert_ptr_equal(gsb_ptx_names_find(t, "%k14", 4, &index), range);
	assert_int_equal(index, 114);
}

static void test_names_past_the_arena_say_no_memory(void **state)
{
	struct gsb_ptx_names t;
	struct gsb_arena a;

	gsb_arena_init(&a, 100);
	assert_int_equal(gsb_ptx_names_init(&t, &a), -ENOMEM);
	gsb_arena_finish(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lex_integers_in_every_radix),
		cmocka_unit_test(test_lex_floats_keep_their_bits),
		cmocka_unit_test(test_lex_fraction_in_a_locale_with_decimal_comma_is_the_same),
		cmocka_unit_test(test_lex_word_takes_modifiers_and_axes),
		cmocka_unit_test(test_lex_percent_sign_begins_a_word),
		cmocka_unit_test(test_lex_counts_lines_and_columns_through_comments),
		cmocka_unit_test(test_lex_bad_characters_are_named),
		cmocka_unit_test(test_lex_stops_at_nul),
		cmocka_unit_test_setup_teardown(test_names_inner_scope_hides_and_gives_back,
						setup_names, teardown_names),
		cmocka_unit_test_setup_teardown(test_names_survive_growth_with_hiding_intact,
						setup_names, teardown_names),
		cmocka_unit_test_setup_teardown(test_names_find_resolves_ranges, setup_names,
						teardown_names),
		cmocka_unit_test_setup_teardown(
			test_names_find_prefers_the_later_of_range_and_single, setup_names,
			teardown_names),
		cmocka_unit_test_setup_teardown(test_names_of_a_range_and_of_a_single_are_apart,
						setup_names, teardown_names),
		cmocka_unit_test(test_names_past_the_arena_say_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
