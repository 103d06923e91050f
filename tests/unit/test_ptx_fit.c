/*
 * test_ptx_fit.c - words that an opcode takes each for itself, and together: taken and refused as the PTX manual has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "ptx/ops.h"

static void expect(const char *const *spellings, size_t n, bool taken)
{
	for (size_t i = 0; i < n; i++) {
		struct gsb_ptx_insn in = {0};

		if (gsb_ptx_insn_decode(spellings[i], strlen(spellings[i]), &in) != taken)
			fail_msg("%s is %s", spellings[i], taken ? "refused" : "taken");
	}
}

/* The table of prmt's modes has six: what came from before or behind it was read from beyond the table. */
static void test_modifiers_fit_mode_of_another_opcode_refused(void **state)
{
	static const char *const spellings[] = {
		"prmt.b32.up",	      "prmt.b32.finite",    "shfl.sync.any.b32",
		"shfl.sync.f4e.b32",  "vote.sync.up.pred",  "vote.sync.f4e.pred",
		"match.idx.sync.b32", "match.uni.sync.b32", "testp.rc16.f32",
		"testp.any.f64",
	};

	(void)state;
	expect(spellings, GSB_ARRAY_LEN(spellings), false);
}

static void test_modifiers_fit_order_of_untyped_bits_refused(void **state)
{
	static const char *const no[] = {"setp.lt.b32", "set.ge.u32.b64"};
	static const char *const yes[] = {"setp.ne.b32", "set.eq.u32.b64", "setp.hs.u16"};

	(void)state;
	expect(no, GSB_ARRAY_LEN(no), false);
	expect(yes, GSB_ARRAY_LEN(yes), true);
}

static void test_modifiers_fit_conversion_rounds_where_bits_are_lost(void **state)
{
	static const char *const no[] = {
		"cvt.rn.s32.f32",  "cvt.s32.f32",    "cvt.f32.s32",
		"cvt.rzi.f32.u8",  "cvt.f32.f64",    "cvt.rn.f64.f32",
		"cvt.rni.f64.f32", "cvt.rn.f32.f32", "cvt.rn.u8.s32",
	};
	static const char *const yes[] = {
		"cvt.rni.s32.f32", "cvt.rz.f32.s32", "cvt.rm.f32.f64", "cvt.f64.f32",
		"cvt.rpi.f32.f32", "cvt.f32.f32",    "cvt.u8.s32",
	};

	(void)state;
	expect(no, GSB_ARRAY_LEN(no), false);
	expect(yes, GSB_ARRAY_LEN(yes), true);
}

static void test_modifiers_fit_flag_without_a_meaning_refused(void **state)
{
	static const char *const no[] = {
		"cvt.sat.u32.u8",      "cvt.sat.s64.s64",     "cvt.ftz.f64.f64",
		"cvt.rni.ftz.s32.f64", "cvt.rn.sat.bf16.f32", "cvt.rni.u8.bf16",
		"add.sat.f64",	       "mul.ftz.f64",	      "add.cc.f32",
		"div.rn.full.f32",     "div.approx.full.f32", "rcp.approx.f64",
		"sqrt.approx.ftz.f64", "rcp.rn.approx.f32",   "slct.ftz.u32.s32",
		"setp.lt.ftz.f64",     "add.rni.f32",
	};
	static const char *const yes[] = {
		"cvt.sat.u8.u32",     "cvt.sat.s32.u32",     "cvt.rn.sat.f32.s32",
		"cvt.sat.f64.f32",    "cvt.rni.ftz.s32.f32", "add.sat.f32",
		"rcp.approx.ftz.f64", "rsqrt.approx.f64",    "slct.ftz.f64.f32",
		"set.lt.ftz.u32.f32", "add.cc.s64",
	};

	(void)state;
	expect(no, GSB_ARRAY_LEN(no), false);
	expect(yes, GSB_ARRAY_LEN(yes), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modifiers_fit_mode_of_another_opcode_refused),
		cmocka_unit_test(test_modifiers_fit_order_of_untyped_bits_refused),
		cmocka_unit_test(test_modifiers_fit_conversion_rounds_where_bits_are_lost),
		cmocka_unit_test(test_modifiers_fit_flag_without_a_meaning_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
