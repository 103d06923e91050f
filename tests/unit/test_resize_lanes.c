/*
 * test_resize_lanes.c - how far apart the addresses of a warp's lanes are found to be. That sectors which are counted from
 * it are the device's is in test_resize_diff.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ptx/resize/lanes.h"
#include "tests/unit/ptx_text.h"

#define APART GSB_LANES_APART
#define WHOLE HEAD ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
#define REGS                                                    \
	".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n" \
	"ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
#define READ "\nld.global.u32 %r8, [%d8];\nret;\n}\n"

/* Of the last instruction with an address of global memory. */
static int32_t stride_in(const char *text)
{
	struct gsb_ptx_module *m = parse(text);
	struct gsb_ptx_kernel k;
	struct gsb_arena arena;
	const int32_t *strides;
	int32_t stride = APART;

	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_ptx_kernel_build(m, func(m, "k"), &arena, &k), 0);
	assert_int_equal(gsb_lanes_strides(m, &k, &arena, &strides), 0);
	for (uint32_t i = 0; i < k.entry->n_insns; i++)
		if (k.entry->insns[i].space == GSB_PTX_SPACE_GLOBAL)
			stride = strides[i];
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(m);
	return stride;
}

struct row {
	const char *body; /* what makes %d8 of the pointer %d1, the number %r1 and %r2, %tid.x */
	int32_t stride;
};

static void each_is(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[2048];
		int32_t stride;

		snprintf(text, sizeof(text), "%s%s%s", WHOLE REGS, rows[i].body, READ);
		stride = stride_in(text);
		if (stride != rows[i].stride)
			fail_msg("%s: %d, not %d", rows[i].body, stride, rows[i].stride);
	}
}

static void test_strides_of_sums_and_products_are_known(void **state)
{
	static const struct row rows[] = {
		{"mov.u64 %d8, %d1;", 0},
		{"mad.wide.u32 %d8, %r2, 4, %d1;", 4},
		{"mad.wide.s32 %d8, %r2, -12, %d1;", -12},
		{"mul.wide.u32 %d2, %r2, 8; sub.u64 %d8, %d1, %d2;", -8},
		{"mul.wide.u32 %d2, %r2, 8; add.u64 %d8, %d2, %d1; add.u64 %d8, %d8, %d2;", APART},
		{"mul.wide.u32 %d2, %r2, 8; add.u64 %d3, %d2, %d1; add.u64 %d8, %d3, %d2;", 16},
		{"cvt.u64.u32 %d2, %r2; shl.b64 %d2, %d2, 3; add.u64 %d8, %d2, %d1;", APART},
		{"cvt.u64.u32 %d2, %r2; shl.b64 %d3, %d2, 3; add.u64 %d8, %d3, %d1;", 8},
		{"mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2;\n"
		 "mad.wide.u32 %d8, %r5, 4, %d1;",
		 4},
		{"mov.u32 %r3, %laneid; mad.wide.u32 %d8, %r3, 4, %d1;", 4},
		{"mov.u32 %r3, 6; mad.wide.u32 %d8, %r2, %r3, %d1;", 6},
		{"mov.u32 %r3, %tid.y; mad.wide.u32 %d8, %r3, 4, %d1;", 0},
		{"setp.lt.u32 %p1, %r1, 9; selp.b32 %r3, %r2, 7, %p1; mad.wide.u32 %d8, %r3, 4, %d1;",
		 APART},
		{"setp.lt.u32 %p1, %r1, 9; add.u32 %r4, %r2, 7; selp.b32 %r3, %r2, %r4, %p1;\n"
		 "mad.wide.u32 %d8, %r3, 4, %d1;",
		 4},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

static void test_strides_of_parts_of_the_number_are_those_of_whole_warps(void **state)
{
	static const struct row rows[] = {
		{"shr.u32 %r3, %r2, 5; mad.wide.u32 %d8, %r3, 4, %d1;", 0},
		{"shr.u32 %r3, %r2, 4; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"and.b32 %r3, %r2, 63; mad.wide.u32 %d8, %r3, 4, %d1;", 4},
		{"and.b32 %r3, %r2, 96; mad.wide.u32 %d8, %r3, 4, %d1;", 0},
		{"and.b32 %r3, %r2, 15; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"rem.u32 %r3, %r2, 64; mad.wide.u32 %d8, %r3, 4, %d1;", 4},
		{"rem.u32 %r3, %r2, 48; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"div.u32 %r3, %r2, 64; mad.wide.u32 %d8, %r3, 4, %d1;", 0},
		{"div.u32 %r3, %r2, 16; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		/* the first lane's is no multiple of 32 any more */
		{"add.u32 %r3, %r2, 1; and.b32 %r3, %r3, 31; mad.wide.u32 %d8, %r3, 4, %d1;",
		 APART},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

static void test_strides_of_what_lanes_do_not_share_are_unknown(void **state)
{
	static const struct row rows[] = {
		{"mul.wide.u32 %d2, %r2, %r1; add.u64 %d8, %d2, %d1;", APART},
		{"mul.hi.u32 %r3, %r2, 8; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"mad.wide.u32 %d8, %r2, 1048577, %d1;", APART},
		{"add.sat.s32 %r3, %r2, 8; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"xor.b32 %r3, %r2, 1; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"setp.lt.u32 %p1, %r2, 9; mov.u64 %d8, %d1; @%p1 add.u64 %d8, %d1, 8;", APART},
		{"setp.lt.u32 %p1, %r1, 9; mov.u64 %d8, %d1; @%p1 add.u64 %d8, %d1, 8;", 0},
		/* read together, from one place; others may write it between two lanes' looks */
		{"ld.global.u32 %r3, [%d1]; mad.wide.u32 %d8, %r3, 4, %d1;", 0},
		{"ld.volatile.global.u32 %r3, [%d1]; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"mad.wide.u32 %d2, %r2, 4, %d1; ld.global.u32 %r3, [%d2];\n"
		 "mad.wide.u32 %d8, %r3, 4, %d1;",
		 APART},
		{"atom.global.add.u32 %r3, [%d1], 1; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
		{"mov.u32 %r3, %clock; mad.wide.u32 %d8, %r3, 4, %d1;", APART},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

/* Each turn adds as much to the addresses of all lanes, or more to the later ones'. */
static void test_strides_in_loops_are_those_of_each_turn(void **state)
{
	static const struct row rows[] = {
		{"mad.wide.u32 %d8, %r2, 4, %d1;\nagain: add.u64 %d8, %d8, 128;\n"
		 "setp.lt.u64 %p1, %d8, 999; @%p1 bra again;",
		 4},
		{"mad.wide.u32 %d8, %r2, 4, %d1; mul.wide.u32 %d2, %r2, 2;\n"
		 "again: add.u64 %d8, %d8, %d2; setp.lt.u64 %p1, %d8, 999; @%p1 bra again;",
		 APART},
	};

	(void)state;
	each_is(rows, GSB_ARRAY_LEN(rows));
}

/* Lanes that end in a function are missed by nobody behind it. */
static void test_strides_where_functions_end_lanes_are_unknown(void **state)
{
	(void)state;
	assert_int_equal(stride_in(HEAD ".func f()\n{\nret;\n}\n.visible .entry k(.param .u64 p, "
					".param .u32 n)\n{\n" REGS
					"call f; mov.u64 %d8, %d1;" READ),
			 0);
	assert_int_equal(stride_in(HEAD ".func f()\n{\nexit;\n}\n.visible .entry k(.param .u64 p, "
					".param .u32 n)\n{\n" REGS
					"call f; mov.u64 %d8, %d1;" READ),
			 APART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strides_of_sums_and_products_are_known),
		cmocka_unit_test(test_strides_of_parts_of_the_number_are_those_of_whole_warps),
		cmocka_unit_test(test_strides_of_what_lanes_do_not_share_are_unknown),
		cmocka_unit_test(test_strides_in_loops_are_those_of_each_turn),
		cmocka_unit_test(test_strides_where_functions_end_lanes_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
