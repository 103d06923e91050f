/*
 * test_resize_streams.c - which accesses stream. The kernels of tests/resize/streams say so themselves, line by line; below
 * are sums and products, and forms that compilers write seldom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ptx/resize/poly.h"
#include "ptx/resize/stream.h"
#include "tests/unit/ptx_text.h"

/* ---- kernels with words behind their lines ---- */

enum word { SILENT, ONCE, TWICE };

struct source {
	char *text;
	uint32_t n_lines;
	struct line {
		enum word word;
		unsigned int n_accesses;
	} * lines; /* from 1 */
};

static enum word word_of(const char *line, size_t len)
{
	static const char *const words[] = {"// once", "// again"};

	for (enum word w = ONCE; w <= TWICE; w++) {
		size_t n = strlen(words[w - 1]);

		if (len >= n && !memcmp(line + len - n, words[w - 1], n))
			return w;
	}
	return SILENT;
}

/* Of tests/resize/streams. */
static char *read_own(const char *name, size_t *len)
{
	const char *srcdir = getenv("srcdir");
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/resize/streams/%s", srcdir ? srcdir : ".", name);
	return read_file(path, len);
}

static struct source read_source(const char *name)
{
	struct source s = {0};
	size_t len;

	s.text = read_own(name, &len);
	s.lines = calloc(len + 2, sizeof(*s.lines));
	assert_non_null(s.lines);
	for (const char *at = s.text; *at;) {
		size_t n = strcspn(at, "\n");

		s.lines[++s.n_lines].word = word_of(at, n);
		at += n + (at[n] == '\n');
	}
	return s;
}

static bool is_global(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_MEM && in->space == GSB_PTX_SPACE_GLOBAL;
}

static unsigned int check_kernel(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f,
				 struct source *s)
{
	struct gsb_ptx_kernel k;
	struct gsb_arena arena;
	unsigned int n_wrong = 0;
	const bool *streams;
	const char *file;

	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_ptx_kernel_build(m, f, &arena, &k), 0);
	assert_int_equal(gsb_streams(m, &k, &arena, &streams), 0);
	for (uint32_t i = 0; i < f->n_insns; i++) {
		uint32_t line = gsb_ptx_source_line(m, f, i, &file);

		if (!is_global(&f->insns[i]) || !strstr(file, "streams.cu"))
			continue;
		assert_in_range(line, 1, s->n_lines);
		s->lines[line].n_accesses++;
		if (s->lines[line].word == (streams[i] ? ONCE : TWICE))
			continue;
		print_error("%s, line %u, '%s': %s\n", f->name, line, f->insns[i].spelling,
			    streams[i] ? "streams" : "does not stream");
		n_wrong++;
	}
	gsb_arena_finish(&arena);
	return n_wrong;
}

static void expect_words(const char *name)
{
	struct source s = read_source("streams.cu");
	size_t len;
	char *text = read_own(name, &len);
	struct gsb_ptx_module *m = parse_len(text, len);
	unsigned int n_wrong = 0;

	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry)
			n_wrong += check_kernel(m, m->funcs[i], &s);
	for (uint32_t line = 1; line <= s.n_lines; line++)
		if (!s.lines[line].n_accesses != !s.lines[line].word)
			fail_msg("line %u: %u accesses, and a word or none", line,
				 s.lines[line].n_accesses);
	assert_int_equal(n_wrong, 0);
	gsb_ptx_module_destroy(m);
	free(text);
	free(s.lines);
	free(s.text);
}

static void test_streams_are_where_the_source_says(void **state)
{
	(void)state;
	expect_words("streams.75.ptx");
}

static void test_streams_are_found_in_loops_taken_apart(void **state)
{
	(void)state;
	expect_words("streams.100.ptx");
}

/* ---- one access ---- */

#define WHOLE HEAD ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
#define REGS                                                                  \
	".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<9>;\n"              \
	"ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];\n"                     \
	"mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n" \
	"mov.u32 %r5, %nctaid.x; mad.lo.s32 %r6, %r3, %r4, %r2; mul.lo.s32 %r7, %r4, %r5;\n"
#define READ2(r, d, e)                                                                          \
	" mul.wide.s32 %" d ", %" r ", 4; add.s64 %" e ", %d1, %" d "; ld.global.u32 %r9, [%" e \
	"];\n"
#define READ  READ2("r8", "d2", "d3")
#define AGAIN READ2("r18", "d4", "d5")
#define END   "ret;\n}\n"

/* Do all accesses of kernel k stream? */
static bool all_stream(const char *text)
{
	struct gsb_ptx_module *m = parse(text);
	struct gsb_ptx_kernel k;
	struct gsb_arena arena;
	const bool *streams;
	bool all = true;

	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_ptx_kernel_build(m, func(m, "k"), &arena, &k), 0);
	assert_int_equal(gsb_streams(m, &k, &arena, &streams), 0);
	for (uint32_t i = 0; i < k.entry->n_insns; i++)
		all &= streams[i] || !is_global(&k.entry->insns[i]);
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(m);
	return all;
}

struct row {
	const char *
		body; /* makes %r8, the index, of n %r1, tid %r2, ctaid %r3, their number %r6 and all threads %r7 */
	bool streams;
};

static void each_is(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[4096];

		snprintf(text, sizeof(text), "%s%s%s", WHOLE REGS, rows[i].body, END);
		if (all_stream(text) != rows[i].streams)
			fail_msg("%s: it %s", rows[i].body,
				 rows[i].streams ? "streams" : "does not stream");
	}
}

static void test_streams_of_sums_products_and_bits_are_known(void **state)
{
	static const struct row rows[] = {
		{"mov.u32 %r8, %r6;" READ, true},
		{"add.s32 %r8, %r6, 7;" READ, true},
		{"sub.s32 %r8, %r1, %r6;" READ, true},
		{"not.b32 %r8, %r6;" READ, true},
		{"shl.b32 %r8, %r6, 2;" READ, true},
		{"shl.b32 %r8, %r6, 4;" READ, false}, /* a sector has one lane's alone */
		{"mul.lo.s32 %r8, %r6, %r1;" READ, false},
		{"mov.u32 %r8, %r2;" READ, false}, /* all blocks */
		{"mov.u32 %r8, %r3;" READ, false}, /* all threads */
		{"mov.u32 %r8, %r1;" READ, false},
		{"shl.b32 %r10, %r3, 8; or.b32 %r8, %r10, %r2;" READ, true},
		{"shl.b32 %r10, %r3, 8; or.b32 %r8, %r2, %r10;" READ, true},
		{"shl.b32 %r10, %r3, 4; or.b32 %r8, %r10, %r2;" READ, false},
		{"shl.b32 %r10, %r3, 4; add.s32 %r8, %r10, %r2;" READ, false},
		{"xor.b32 %r8, %r6, 1;" READ, false},
		{"and.b32 %r8, %r6, 1023;" READ, false},
		{"min.s32 %r8, %r6, %r1;" READ, false},
		{"setp.lt.s32 %p1, %r2, 3; selp.b32 %r8, %r6, %r2, %p1;" READ, false},
		{"setp.lt.s32 %p1, %r2, 3; mov.u32 %r8, %r2; @%p1 mov.u32 %r8, %r6;" READ, false},
		{"or.b32 %r8, %r6, 16;" READ, false},
		{"mul.hi.u32 %r8, %r6, %r1;" READ, false},
		{"mad.lo.s32 %r8, %r4, %r3, %r2;" READ, true},
		{"add.s32 %r10, %r4, 1; mad.lo.s32 %r8, %r10, %r3, %r2;" READ, false},
		{"add.s32 %r10, %r1, 8; mad.lo.s32 %r8, %r10, %r3, %r2;" READ,
		 true}, /* parts, given */
		{"sub.s32 %r10, %r1, 8; mad.lo.s32 %r8, %r10, %r3, %r2;" READ, false},
		{"and.b32 %r10, %r2, 31; shr.u32 %r11, %r2, 5; mad.lo.s32 %r12, %r3, 8, %r11;"
		 "mad.lo.s32 %r8, %r12, %r1, %r10;" READ,
		 true},
		{"and.b32 %r10, %r2, 31; mad.lo.s32 %r8, %r3, %r1, %r10;" READ,
		 false}, /* all warps */
		{"rem.u32 %r10, %r2, 16; div.u32 %r11, %r2, 16; mad.lo.s32 %r12, %r11, %r1, %r10;"
		 "mul.lo.s32 %r13, %r1, %r4; mad.lo.s32 %r8, %r3, %r13, %r12;" READ,
		 true},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

#define LOOP(before, in_it, step)                     \
	before "mov.u32 %r10, 0;\nagain: " in_it step \
	       " add.s32 %r10, %r10, 1; setp.lt.s32 %p1, %r10, %r1; @%p1 bra again;\n"

static void test_streams_in_loops_have_to_go_on(void **state)
{
	static const struct row rows[] = {
		{LOOP("mov.u32 %r8, %r6;", READ, "add.s32 %r8, %r8, %r7;"), true},
		{LOOP("mov.u32 %r8, %r6;", READ, ""), false},
		{LOOP("mov.u32 %r8, %r6;", READ, "add.s32 %r8, %r8, %r4;"), false},
		{LOOP("mov.u32 %r8, %r6;", READ, "add.s32 %r8, %r8, 1;"), false},
		{LOOP("mov.u32 %r8, %r6;", READ, "add.s32 %r8, %r8, %r6;"), false},
		{LOOP("mov.u32 %r8, %r6;", READ, "add.s32 %r8, %r8, %r10;"), false},
		{LOOP("mov.u32 %r8, %r6;", READ, "sub.s32 %r8, %r8, %r7;"), true},
		/* moved in some turns */
		{LOOP("mov.u32 %r8, %r6;", READ,
		      "setp.eq.s32 %p2, %r9, 0; @%p2 bra on; add.s32 %r8, %r8, %r7; on:"),
		 false},
		/* set back in each turn of a loop around it */
		{"mov.u32 %r11, 0;\nouter: " LOOP(
			 "mov.u32 %r8, %r6;", READ,
			 "add.s32 %r8, %r8, %r7;") "add.s32 %r11, %r11, 1; setp.lt.s32 %p2, %r11, %r1; @%p2 bra outer;\n",
		 false},
		/* entered in the middle: no loop that is known */
		{"mov.u32 %r8, %r6; setp.lt.s32 %p1, %r1, 3; @%p1 bra b;\na:" READ
		 "b: add.s32 %r8, %r8, %r7; setp.lt.s32 %p1, %r8, %r1; @%p1 bra a;\n",
		 false},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

static void test_streams_meet_in_one_array(void **state)
{
	static const struct row rows[] = {
		{"mov.u32 %r18, %r8;" AGAIN, true}, /* the thread itself, there */
		{"add.s32 %r18, %r8, 1;" AGAIN, false},
		{"add.s32 %r18, %r8, -31;" AGAIN, false},
		{"add.s32 %r18, %r8, 1024;" AGAIN, true}, /* no thread of the block is there */
		{"add.s32 %r18, %r8, %r4;" AGAIN, false},
		{"add.s32 %r18, %r8, %r7;" AGAIN, true}, /* the other half */
		{"add.s32 %r18, %r8, %r1;" AGAIN, true},
		{"sub.s32 %r18, %r7, %r8;" AGAIN, false},
		{"mov.u32 %r18, %r9;" AGAIN, false},
		{"atom.global.add.u32 %r19, [%d1], 1;", true}, /* one place */
		{"and.b32 %r18, %r9, 255; mul.wide.u32 %d4, %r18, 4; add.u64 %d5, %d1, %d4;"
		 "red.global.add.u32 [%d5], 1;",
		 false},
	};
	char bodies[GSB_ARRAY_LEN(rows)][512];
	struct row whole[GSB_ARRAY_LEN(rows)];

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		snprintf(bodies[i], sizeof(bodies[i]), "mov.u32 %%r8, %%r6; %s%s", READ,
			 rows[i].body);
		whole[i] = (struct row){bodies[i], rows[i].streams};
	}
	each_is(whole, GSB_ARRAY_LEN(rows));
}

static void test_streams_of_members_are_apart(void **state)
{
	static const struct row rows[] = {
		{"shl.b32 %r8, %r6, 1;" READ "add.s32 %r18, %r8, 1;" AGAIN, true},
		{"shl.b32 %r8, %r6, 1;" READ "add.s32 %r18, %r8, 2;" AGAIN, false},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

/* One way if @decides is above 4, and the other. */
#define WAYS(decides, one, other)                                                                 \
	"mov.u32 %r8, %r6; setp.gt.s32 %p1, " decides ", 4; @%p1 bra other;" one "bra.uni out;\n" \
	"other:" other "\nout:"
/* Anywhere in the array. */
#define SOMEWHERE                                                                      \
	"mul.lo.s32 %r10, %r6, %r6; mul.wide.s32 %d6, %r10, 4; add.s64 %d7, %d1, %d6;" \
	"red.global.add.u32 [%d7], 1;"
/* In the same part of the block, the last thread first. */
#define REVERSED "sub.s32 %r12, 31, %r2; mad.lo.s32 %r18, %r3, %r4, %r12;" AGAIN

static void test_streams_on_ways_that_exclude_each_other_do_not_meet(void **state)
{
	static const struct row rows[] = {
		{WAYS("%r1", READ, SOMEWHERE), true}, /* all threads of the grid go one way */
		{WAYS("%r3", READ, SOMEWHERE), false},
		{WAYS("%r2", READ, SOMEWHERE), false},
		{WAYS("%r1", READ, REVERSED), true},
		{WAYS("%r3", READ, REVERSED), true}, /* all threads of a block */
		{WAYS("%r2", READ, REVERSED), false},
		{WAYS("%r1", READ, "") REVERSED, false}, /* both, one after the other */
		{WAYS("%r3", READ, "add.s32 %r18, %r8, %r4;" AGAIN), false}, /* the next block's */
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

/* ---- sums of products ---- */

static struct gsb_poly sum_of(uint32_t a, uint32_t b)
{
	struct gsb_poly p = gsb_poly_symbol(a), q = gsb_poly_symbol(b);

	assert_true(gsb_poly_add(&p, &q, 1));
	return p;
}

static void test_poly_adds_and_takes_away(void **state)
{
	struct gsb_poly p = sum_of(2, 1), q = sum_of(1, 2), none = gsb_poly_constant(0);
	int64_t is;

	(void)state;
	assert_true(gsb_poly_is_equal(&p, &q));
	assert_true(gsb_poly_add(&p, &q, 3));
	assert_int_equal(p.n, 2);
	assert_int_equal(p.terms[0].times, 4);
	assert_false(gsb_poly_is_constant(&p, &is));
	assert_true(gsb_poly_add(&p, &q, -4));
	assert_true(gsb_poly_is_equal(&p, &none));
	assert_true(gsb_poly_is_constant(&p, &is));
	assert_int_equal(is, 0);
}

static void test_poly_multiplies_each_with_each(void **state)
{
	struct gsb_poly p = sum_of(1, 2), q = sum_of(1, 2), more = gsb_poly_symbol(1), out;
	struct gsb_product divided;

	(void)state;
	assert_true(gsb_poly_add(&q, &more, -2)); /* 2 - 1 */
	assert_true(gsb_poly_multiply(&p, &q, &out));
	assert_int_equal(out.n, 2); /* 2 * 2 - 1 * 1 */
	assert_int_equal(out.terms[0].times, -1);
	assert_int_equal(out.terms[1].times, 1);
	assert_int_equal(out.terms[1].symbols[1], 2);
	assert_true(gsb_product_divide(&out.terms[1], &p.terms[1], &divided));
	assert_int_equal(divided.symbols[0], 2);
	assert_false(gsb_product_divide(&out.terms[1], &p.terms[0], &divided));
}

static void test_poly_replaces_a_symbol(void **state)
{
	struct gsb_poly p = sum_of(5, 6), by = gsb_poly_constant(9), want;
	int64_t is;

	(void)state;
	assert_true(gsb_poly_multiply(&p, &p, &p)); /* 5 5 + 2 * 5 6 + 6 6 */
	assert_true(gsb_poly_replace(&p, 5, &by));
	assert_true(gsb_poly_replace(&p, 5, &by));
	want = sum_of(6, 6);
	assert_int_equal(p.n, 3);
	by = gsb_poly_constant(-9);
	assert_true(gsb_poly_replace(&p, 6, &by));
	assert_true(gsb_poly_replace(&p, 6, &by));
	assert_true(gsb_poly_is_constant(&p, &is));
	assert_int_equal(is, 0);
	assert_int_equal(want.terms[0].times, 2);
}

static void test_poly_refuses_what_does_not_fit(void **state)
{
	struct gsb_poly p = gsb_poly_constant(INT64_MAX), one = gsb_poly_constant(1), before, q;

	(void)state;
	before = p;
	assert_false(gsb_poly_add(&p, &one, 1));
	assert_true(gsb_poly_is_equal(&p, &before));
	p = gsb_poly_symbol(1);
	q = p;
	for (int i = 1; i < GSB_POLY_MOST_SYMBOLS; i++)
		assert_true(gsb_poly_multiply(&p, &q, &p));
	assert_false(gsb_poly_multiply(&p, &q, &p));
	p = gsb_poly_constant(0);
	for (uint32_t i = 1; i <= GSB_POLY_MOST_TERMS; i++) {
		q = gsb_poly_symbol(i);
		assert_true(gsb_poly_add(&p, &q, 1));
	}
	q = gsb_poly_symbol(GSB_POLY_MOST_TERMS + 1);
	before = p;
	assert_false(gsb_poly_add(&p, &q, 1));
	assert_true(gsb_poly_is_equal(&p, &before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_are_where_the_source_says),
		cmocka_unit_test(test_streams_are_found_in_loops_taken_apart),
		cmocka_unit_test(test_streams_of_sums_products_and_bits_are_known),
		cmocka_unit_test(test_streams_in_loops_have_to_go_on),
		cmocka_unit_test(test_streams_meet_in_one_array),
		cmocka_unit_test(test_streams_of_members_are_apart),
		cmocka_unit_test(test_streams_on_ways_that_exclude_each_other_do_not_meet),
		cmocka_unit_test(test_poly_adds_and_takes_away),
		cmocka_unit_test(test_poly_multiplies_each_with_each),
		cmocka_unit_test(test_poly_replaces_a_symbol),
		cmocka_unit_test(test_poly_refuses_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
