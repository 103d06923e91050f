/*
 * test_ptx_errors.c - what is wrong with a text is said in one message: place, what, the line, a caret.
 * Nothing crashes: every truncation and thousands of mutations of the samples; every allocation failing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "base/checked.h"
#include "ptx/kernel.h"
#include "ptx/print.h"
#include "tests/unit/ptx_text.h"

/* The module is HEAD and this text, so the text begins at line 4. */
static const struct {
	const char *text, *message;
} cases[] = {
	{"garbage",
	 "4:1: expected a directive, a variable or a function, found 'garbage'\n  garbage\n  ^"},
	{".entry k( { }", "4:11: expected a type before the name"},
	{".entry k(.global .u32 a) { }", "4:10: a parameter is .param or .reg"},
	{".entry k .u64 a, .param .u64 b) { }", "4:10: expected '{', found '.u64'"},
	{".entry k() { .align 4 .b8 a[4]; }", "4:27: expected a state space before the name"},
	{".entry k(.param .u64 a", "expected ')', found the end of the text"},
	{".entry k() { ret;", "expected '}', found the end of the text"},
	{".entry k() { ret }", "4:18: expected ';', found '}'"},
	{".entry k() { add.s32 %r1, %r2; }", "4:22: '%r1' is not declared"},
	{".entry k() { .reg .b32 %r<3>; add.s32 %r1, %r3, 1; }", "'%r3' is not declared"},
	{".entry k() { .reg .b32 a; add.s32 a; }",
	 "4:27: add.s32 with 1 operand: that is not how it is written"},
	{".entry k() { .reg .b32 a; add.s32 a, a, a, a; }",
	 "add.s32 takes 3 operands, here is one more"},
	{".entry k() { .reg .b64 a; add.s32 a, 1, 2; }",
	 "operand 1 of add.s32: a is .b64, a register of 32 bits is needed"},
	{".entry k() { .reg .pred p; add.s32 p, 1, 2; }",
	 "operand 1 of add.s32: p is .pred, a register of 32 bits is needed"},
	{".entry k() { .reg .b32 %r<3>; setp.eq.s32 %r1, 1, 2; }",
	 "operand 1 of setp.eq.s32: %r1 is .b32, a predicate register is needed"},
	{".entry k() { .reg .pred p; ld.global.u8 p, [0]; }",
	 "operand 1 of ld.global.u8: p is .pred, a register of 8 bits or more is needed"},
	{".entry k() { .reg .b8 b; setp.eq.s32 b, 1, 2; }",
	 "b is .b8, a predicate register is needed"},
	{".entry k() { .reg .b16 h; ld.global.u32 h, [0]; }",
	 "a register of 32 bits or more is needed"},
	{".entry k() { .reg .b32 a; add.s32 1, a, a; }",
	 "operand 1 of add.s32: a constant cannot be written to"},
	{".entry k() { .reg .b32 a; add.s32 a, a, _; }",
	 "operand 3 of add.s32: '_' is for results only"},
	{".entry k() { .reg .b32 a; add.s32 a, !a, a; }",
	 "operand 2 of add.s32: '!' does not go here"},
	{".entry k() { .reg .b32 a; add.s32 a, [0], a; }",
	 "operand 2 of add.s32: an address does not go here"},
	{".entry k() { .reg .b32 a; ld.global.u32 a, a; }",
	 "operand 2 of ld.global.u32: an address in [ ] is needed"},
	{".entry k() { .reg .b16 a; .reg .b32 b; ld.global.u32 b, [a]; }",
	 "an address is a register of 32 or 64 bits"},
	{".shared .b32 s; .entry k() { .reg .b32 a; ld.global.u32 a, [s]; }",
	 "operand 2 of ld.global.u32: 's' is in .shared"},
	{".entry k() { .reg .b32 a; ld.global.v2.u32 a, [0]; }", "a vector in { } is needed"},
	{".entry k() { .reg .b32 a; ld.global.v2.u32 {a, a, a}, [0]; }",
	 "a vector of this length does not go here"},
	{".entry k() { .reg .b32 a; .reg .b64 d; mov.b64 d, {a, a, a, a}; }",
	 "a register of 16 bits is needed"},
	{".entry k() { .reg .b64 d; .reg .b32 a; mov.b64 {a, a, a}, d; }",
	 "a vector of this length does not go here"},
	{".entry k() { .reg .pred p; .reg .b32 a; shfl.sync.up.b32 p|a, a, 1, 0, -1; }",
	 "operand 1 of shfl.sync.up.b32: p is .pred"},
	{".entry k() { .reg .b32 a; add.s32 a|a, 1, 2; }", "a pair a|b does not go here"},
	{".entry k() { .reg .b32 a; @a ret; }", "4:28: a guard must be a predicate register"},
	{".entry k() { bra nowhere; }", "4:18: there is no label 'nowhere' here"},
	{".entry k() { { inner: } bra inner; }", "there is no label 'inner' here"},
	{".entry k() { x: x: ret; }", "4:17: 'x' is already declared in line 4"},
	{".entry k() { .reg .b32 a, a; }", "'a' is already declared in line 4"},
	{".entry k() { .reg .b32 a<3>; .reg .b64 a<4>; }", "'a' is already declared in line 4"},
	{".entry k() { .reg .b32 %r<15>; .reg .b32 %r3; }",
	 "4:42: '%r3' is already declared in line 4"},
	{".entry k() { .reg .b32 %r3; .reg .b32 %r<4>; }",
	 "4:39: '%r3' is already declared in line 4"},
	{".entry k() { .reg .b32 %r<15>; .shared .b32 %r14; }", "'%r14' is already declared"},
	{".entry k() { .local .b32 a0; .reg .b32 a<1>; }", "'a0' is already declared"},
	{".entry k() { .reg .b32 %r<2000000>; }", "expected a number of registers up to 1048576"},
	{".entry k() { .reg .v2 .b32 a; }", "registers of vector type are not supported"},
	{".entry k() { .reg .b32 a; atom.global.cas.b32 a, [0], 1; }",
	 "that is not how it is written"},
	{".entry k() { .reg .b32 a; atom.global.add.u32 a, [0], 1, 2; }",
	 "that is not how it is written"},
	{".entry k() { .reg .pred p; setp.eq.and.s32 p, 1, 2; }", "that is not how it is written"},
	{".entry k() { .reg .pred p; setp.eq.s32 p, 1, 2, p; }", "that is not how it is written"},
	{".entry k() { brx.idx 1, t; }", "'t' is not a table of branch targets"},
	{".entry k() { .reg .b64 a; call a, (); }",
	 "an indirect call needs a prototype or a list of call targets"},
	{".entry k() { call k; }", "'k' is an entry: it is launched, not called"},
	{".func f(.param .b32 a); .entry k() { call f; }",
	 "call with 0 arguments where the function has 1"},
	{".func (.param .b32 r) f(); .entry k() { call f; }",
	 "call with 0 results where the function has 1"},
	{".func g(.reg .b32 a); .entry k() { call g, (_); }",
	 "operand 1 of call: a .param variable, a register or a constant is needed"},
	{".func f(.param .b32 a); .entry k() { .param .b64 p; call f, (p); }",
	 "its size differs from the parameter's"},
	{".func f(.param .b32 a); .entry k(.param .b32 p) { call f, (p); }",
	 "a parameter of the function itself cannot be passed on"},
	{".func f(.param .b32 a); .func g(.param .b32 p) { call f, (p); }",
	 "a parameter of the function itself cannot be passed on"},
	{".func (.param .b32 r) f(); .func (.param .b32 r) g() { call (r), f; }",
	 "a parameter of the function itself cannot be passed on"},
	{".func f(.param .b32 a); .entry k() { .reg .b64 p; call f, (p); }",
	 "a register of 32 bits is needed"},
	{".func f(.param .b8 a[8]); .entry k() { call f, (1); }",
	 "an array parameter needs a .param variable"},
	{".entry k() { ret; } .entry k() { ret; }", "'k' already has a body in line 4"},
	{".global .u32 k; .entry k() { ret; }", "'k' is already declared in line 4"},
	{".global .u32 a = ;", "4:18: expected a number, found ';'"},
	{".global .u32 a = 1 / 0;", "division by zero"},
	{".global .u32 a = 1.5 + 1;", "this operator takes integers only"},
	{".global .u32 a = b;", "'b' is not declared"},
	{".global .u16 a = 1.5;", "a fraction does not fit .u16"},
	{".global .u16 b; .global .u16 a = b;", "an address needs an element of 4 or 8 bytes"},
	{".global .u32 a[2] = {1, 2, 3};", "more initial values than the variable holds"},
	{".global .u32 a[2] = {{1}, {{2}}};", "too many braces for the dimensions of the variable"},
	{".shared .u32 a = 1;", "only .global and .const variables have initial values"},
	{".global .u32 a[-1];", "an array size must be an integer from 0 to 4294967296"},
	{".global .u64 a[4294967296];", "the limit is 4294967296"},
	{".global .u64 a[65536][65536][65536][65536];", "the limit is 4294967296"},
	{".global .align 3 .u64 a;", ".align must be a power of two"},
	{".global .align 4096 .u64 a;", ".align must be an integer from 1 to 1024"},
	{".global a;", "expected a type before the name"},
	{".global .pred a;", ".pred is for registers only"},
	{".entry k(.param .foo a) { ret; }", "'.foo' is no type, state space or qualifier"},
	{".foo { .entry k() { ret; }", "a '{' has no closing '}'"},
	{".entry k() { ret; } .visible .ent", "the text ends in a directive that is not known"},
	{".foo } .entry k() { ret; }", "'}' closes nothing"},
	{".entry k() { .reg .b32 a; mov.u32 a, b; }", "'b' is not declared"},
	{".entry k() { .reg .b32 a; mov.u32 a, %rd5; }", "'%rd5' is not declared"},
	{".entry k() { .reg .b32 %value<3>; mov.u32 %value1, %value3; }",
	 "'%value3' is not declared"},
	{".entry k() { .reg .b32 a; add.u32 a, %nobody, 1; }", "'%nobody' is not declared"},
	{".entry k() { .reg .b32 a; mov.u32 %new_counter, a; }", "'%new_counter' is not declared"},
	{".entry k() { .reg .b32 a; ld.global.u32 a, [%new_base]; }",
	 "'%new_base' is not declared"},
	{".entry k() { .reg .b32 a; @%new_flag mov.u32 a, a; }", "'%new_flag' is not declared"},
	{".entry k() { .foo x }", "expected ';', found the end of the text"},
	{".local .u32 a;", "a module has .global, .const and .shared variables only"},
	{".alias f, g;", "'f' is not a function that is only declared"},
	{".func f(); .alias f, f;", "'f' is not a function with a body"},
	{".section .x { { }", "the section has no closing '}'"},
	{".address_size 48", ".address_size must be 32 or 64"},
	{".entry k() .maxntid 0 { ret; }", ".maxntid must be an integer from 1 to 4294967295"},
	{".entry k(.param .b8 a[40000]) { ret; }", "bytes of parameters; the limit is 32764"},
	{".entry k() { .local .b8 a[20000000]; ret; }",
	 "bytes of .local memory; the limit is 16777216"},
	{"/* never closed", "4:1: the comment has no end"},
	{".pragma \"never closed", "the string has no end on this line"},
	{".global .u32 \x01;", "4:14: unexpected character\n  .global .u32 ?;"},
	{".global .u32 a = 99999999999999999999;", "the integer does not fit 64 bits"},
	{".global .f32 a = 0f12;", "0f wants 8 hexadecimal digits"},
	{".global .u32 a = ((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))));",
	 "levels of an expression; the limit is 32"},
	{".entry k() {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{ }}",
	 "nested blocks; the limit is 32"},
	{".global .u32 a[1][1][1][1][1][1][1][1][1];", "array dimensions; the limit is 8"},
};

static void test_errors_say_place_reason_and_line(void **state)
{
	int wrong = 0;

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		char text[512];
		struct gsb_ptx_module *m = NULL;
		struct gsb_ptx_error err = {0};

		snprintf(text, sizeof(text), "%s%s", HEAD, cases[i].text);
		if (gsb_ptx_parse(text, strlen(text), &m, &err) != -EILSEQ) {
			print_error("taken: %s\n", cases[i].text);
			wrong++;
			continue;
		}
		assert_null(m);
		if (!strstr(err.text, cases[i].message)) {
			print_error("%s\nsays: %s\nwant: %s\n", cases[i].text, err.text,
				    cases[i].message);
			wrong++;
		}
		assert_true(err.line >= 4 && err.column >= 1);
	}
	assert_int_equal(wrong, 0);
}

static void assert_head_error(const char *text, const char *message)
{
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err = {0};

	assert_int_equal(gsb_ptx_parse(text, strlen(text), &m, &err), -EILSEQ);
	if (!strstr(err.text, message))
		fail_msg("%s", err.text);
	assert_int_equal(gsb_ptx_parse(text, strlen(text), &m, NULL),
			 -EILSEQ); /* no report wanted */
}

static void test_errors_of_the_head(void **state)
{
	assert_head_error("", "1:1: expected '.version', found the end of the text");
	assert_head_error(".target sm_75", "expected '.version', found '.target'");
	assert_head_error(".version 7", "expected a version as in 7.0");
	assert_head_error(".version 7.0", "the module has no .target");
	assert_head_error(".version 7.0 .target x", "expected a target as in sm_75");
}

static void test_errors_place_is_found_in_a_long_line(void **state)
{
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err = {0};
	char text[4096];

	snprintf(text, sizeof(text), HEAD "%2000s bad %1000s", "", "x");
	assert_int_equal(gsb_ptx_parse(text, strlen(text), &m, &err), -EILSEQ);
	assert_int_equal(err.column, 2002);
	assert_non_null(strstr(err.text, "bad"));
	assert_true(strlen(err.text) < 400);
}

static void test_errors_text_over_the_limit_is_refused_at_once(void **state)
{
	size_t len = GSB_PTX_MAX_TEXT_BYTES + 1;
	char *text = calloc(1, len);
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err = {0};

	assert_non_null(text);
	memset(text, ' ', len);
	assert_int_equal(gsb_ptx_parse(text, len, &m, &err), -EILSEQ);
	assert_non_null(strstr(err.text, "bytes of text; the limit is 67108864"));
	free(text);
}

static void test_errors_tokens_over_the_limit_end_the_reading(void **state)
{
	static const char head[] = HEAD ".section .x {";
	size_t len = sizeof(head) - 1 + GSB_PTX_MAX_TOKENS;
	char *text = malloc(len);
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err = {0};

	assert_non_null(text);
	memset(text, ',', len);
	memcpy(text, head, sizeof(head) - 1);
	assert_int_equal(gsb_ptx_parse(text, len, &m, &err), -EILSEQ);
	assert_non_null(strstr(err.text, "too many tokens"));
	free(text);
}

/* Parse; what parses is also analysed and printed, as a loader would do. */
static void use_text(const char *text, size_t len)
{
	struct gsb_ptx_module *m;
	struct gsb_ptx_error err;
	char *printed;
	size_t printed_len;

	if (gsb_ptx_parse(text, len, &m, &err)) {
		assert_true(err.line > 0 && strlen(err.text) > 0);
		return;
	}
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		struct gsb_arena arena;
		struct gsb_ptx_kernel k;

		gsb_arena_init(&arena, 64 << 20);
		gsb_ptx_kernel_build(m, m->funcs[i], &arena, &k);
		gsb_arena_finish(&arena);
	}
	if (!gsb_ptx_print(m, &printed, &printed_len)) {
		struct gsb_ptx_module *again;

		if (gsb_ptx_parse(printed, printed_len, &again, &err))
			fail_msg("printed, but not parsed again: %s", err.text);
		gsb_ptx_module_destroy(again);
		free(printed);
	}
	gsb_ptx_module_destroy(m);
}

static void truncate_everywhere(const char *path, const char *text, size_t len)
{
	char *copy;

	for (size_t n = 0; n < len; n += 1 + len / 700) {
		copy = malloc(
			n +
			1); /* exactly as long as the text, so that a sanitizer sees one byte more */
		assert_non_null(copy);
		memcpy(copy, text, n);
		use_text(copy, n);
		free(copy);
	}
}

static void test_truncated_samples_never_crash(void **state)
{
	each_sample("hand_*.ptx", truncate_everywhere);
	each_sample("globals.*.ptx", truncate_everywhere);
	each_sample("calls.nvcc.ptx", truncate_everywhere);
	each_sample("reduce.lines.ptx", truncate_everywhere);
}

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

/* Words that mutations put in: what the grammar turns on. */
static const char *const splices[] = {
	"{",
	"}",
	"(",
	")",
	"[",
	"]",
	";",
	",",
	":",
	"|",
	"!",
	"@",
	"<9>",
	"%r1",
	"%p1",
	"-1",
	"0f00000000",
	"1.5",
	".reg .b32 %r<3>;",
	".param .b32 q;",
	"bra x;",
	"x:",
	"call f, (q);",
	".global .u64 g = {1};",
	"\"",
	"/*",
	"//",
	"brx.idx %r1, x;",
	"x: .branchtargets x;",
	"tex.2d q;",
	".v4",
	"99999999999999999999",
	"\xff",
	"generic(",
	"ret;",
};

static size_t mutate(char *text, size_t len, size_t cap)
{
	size_t at = random_below((uint32_t)len), n, other;
	const char *word;

	switch (random_below(5)) {
	case 0: text[at] = (char)random_below(256); return len;
	case 1: /* cut a piece out */
		n = 1 + random_below(40);
		n = n < len - at ? n : len - at;
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 2: /* put a word in */
		word = splices[random_below(GSB_ARRAY_LEN(splices))];
		n = strlen(word);
		if (len + n > cap)
			return len;
		memmove(text + at + n, text + at, len - at);
		memcpy(text + at, word, n);
		return len + n;
	case 3: /* copy a piece over another */
		other = random_below((uint32_t)len);
		n = 1 + random_below(60);
		n = n < len - at ? n : len - at;
		n = n < len - other ? n : len - other;
		memmove(text + at, text + other, n);
		return len;
	default: text[at] ^= (char)(1u << random_below(8)); return len;
	}
}

static void mutate_sample(const char *path, const char *text, size_t len)
{
	size_t cap = len + 400, n;
	char *copy = malloc(cap);

	assert_non_null(copy);
	seed = 2026 + len;
	for (int round = 0; round < 150; round++) {
		memcpy(copy, text, len);
		n = len;
		for (uint32_t i = 0; i <= random_below(4); i++)
			n = n ? mutate(copy, n, cap) : n;
		use_text(copy, n);
	}
	free(copy);
}

static void test_mutated_samples_never_crash(void **state)
{
	each_sample("*.ptx", mutate_sample);
}

/*
 * The n-th allocation fails, for n = 0, 1, 2 .. until all succeed: -ENOMEM each time, nothing leaks
 * (the sanitizer looks), nothing crashes. The linker gives us the allocators (--wrap).
 */
static long fail_after = -1;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static bool fails_now(void)
{
	return fail_after >= 0 && fail_after-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails_now() ? NULL : __real_reallocarray(p, n, size);
}

static void parse_with_failures(const char *path, const char *text, size_t len)
{
	int ret = -ENOMEM, n;

	for (n = 0; ret == -ENOMEM && n < 1000; n++) {
		struct gsb_ptx_module *m = NULL;
		struct gsb_arena arena;
		struct gsb_ptx_kernel k;

		fail_after = n;
		ret = gsb_ptx_parse(text, len, &m, NULL);
		gsb_arena_init(&arena, 64 << 20);
		if (!ret)
			ret = gsb_ptx_kernel_build(m, m->funcs[m->n_funcs - 1], &arena, &k);
		fail_after = -1;
		gsb_arena_finish(&arena);
		gsb_ptx_module_destroy(m);
	}
	assert_int_equal(ret, 0);
	assert_true(n > 10);
}

static void test_every_allocation_failing_is_reported(void **state)
{
	each_sample("hand_brx.ptx", parse_with_failures);
	each_sample("calls.nvcc.ptx", parse_with_failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_say_place_reason_and_line),
		cmocka_unit_test(test_errors_of_the_head),
		cmocka_unit_test(test_errors_place_is_found_in_a_long_line),
		cmocka_unit_test(test_errors_text_over_the_limit_is_refused_at_once),
		cmocka_unit_test(test_errors_tokens_over_the_limit_end_the_reading),
		cmocka_unit_test(test_truncated_samples_never_crash),
		cmocka_unit_test(test_mutated_samples_never_crash),
		cmocka_unit_test(test_every_allocation_failing_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
