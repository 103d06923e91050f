/*
 * test_emu_calls.c - lanes of one warp that are in different functions at once, as virtual functions and code without
 * inlining bring them there. Two functions that call each other, one of 32-bit registers and one of 64, begin in
 * neighbouring lanes and go down to depths of their own; each must find its registers and constants as it left them.
 * And what a function returns in a register.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

#define N_THREADS 96

/* call of f with n - 1, to %rd0 */
#define DEEPER(f)                                                                            \
	"sub.u32 %r9, %r0, 1;\n"                                                             \
	"{ .param .b32 a; .param .b64 v; st.param.b32 [a], %r9; call.uni (v), " f ", (a);\n" \
	"ld.param.b64 %rd0, [v]; }\n"

#define START(f)                                                                             \
	"{ .param .b32 a; .param .b64 v; st.param.b32 [a], %r1; call.uni (v), " f ", (a);\n" \
	"ld.param.b64 %rd2, [v]; }\n"

static const char functions[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".func (.param .b64 r) wide(.param .b32 n);\n"
	".func (.param .b64 r) narrow(.param .b32 n)\n{\n"
	".reg .b32 %r<10>; .reg .b64 %rd<3>; .reg .pred %p;\n"
	"ld.param.u32 %r0, [n]; setp.eq.u32 %p, %r0, 0; @%p bra end;\n"
	"mul.lo.u32 %r1, %r0, 3; xor.b32 %r2, %r0, 0x55; add.u32 %r3, %r0, 1000;\n" DEEPER(
		"wide") "cvt.u32.u64 %r4, %rd0; mad.lo.u32 %r5, %r1, %r2, %r4; xor.b32 %r5, %r5, %r3;\n"
			"sub.u32 %r5, %r5, 0x40000000; cvt.u64.u32 %rd1, %r5; st.param.b64 [r], %rd1; ret;\n"
			"end: st.param.b64 [r], 1; ret;\n}\n"
			".func (.param .b64 r) wide(.param .b32 n)\n{\n"
			".reg .b32 %r<10>; .reg .b64 %rd<6>; .reg .pred %p;\n"
			"ld.param.u32 %r0, [n]; setp.eq.u32 %p, %r0, 0; @%p bra end;\n"
			"cvt.u64.u32 %rd1, %r0; mul.lo.u64 %rd1, %rd1, 0x100000001;\n"
			"and.b32 %r1, %r0, 2; setp.eq.u32 %p, %r1, 0; @%p bra join; add.u64 %rd1, %rd1, 9;\n"
			"join:\n"
			"add.u64 %rd2, %rd1, 0x123456789;\n" DEEPER(
				"narrow") "mul.lo.u64 %rd3, %rd0, 5; xor.b64 %rd4, %rd1, %rd2; add.u64 %rd5, %rd3, %rd4;\n"
					  "st.param.b64 [r], %rd5; ret;\n"
					  "end: st.param.b64 [r], 7; ret;\n}\n"
					  ".visible .entry direct(.param .u64 out)\n{\n"
					  ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;\n"
					  "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 8, %rd0;\n"
					  "rem.u32 %r1, %r0, 7; and.b32 %r2, %r0, 1; setp.eq.u32 %p, %r2, 0; @%p bra even;\n" START("narrow") "bra done;\neven:\n" START(
						  "wide") "done: st.global.u64 [%rd1], %rd2; ret;\n}\n"
							  ".visible .entry indirect(.param .u64 out)\n{\n"
							  ".reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p;\n"
							  "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 8, %rd0;\n"
							  "rem.u32 %r1, %r0, 7; and.b32 %r2, %r0, 1; setp.eq.u32 %p, %r2, 0;\n"
							  "mov.u64 %rd3, narrow; mov.u64 %rd4, wide; selp.b64 %rd5, %rd4, %rd3, %p;\n"
							  "{ .param .b32 a; .param .b64 v; st.param.b32 [a], %r1;\n"
							  "proto: .callprototype (.param .b64 _) _ (.param .b32 _);\n"
							  "call (v), %rd5, (a), proto; ld.param.b64 %rd2, [v]; }\n"
							  "st.global.u64 [%rd1], %rd2; ret;\n}\n";

static uint64_t want_of(bool is_wide, uint32_t n)
{
	uint64_t below, a = n * UINT64_C(0x100000001);

	if (!n)
		return is_wide ? 7 : 1;
	below = want_of(!is_wide, n - 1);
	if (n & 2)
		a += 9;
	if (is_wide)
		return below * 5 + (a ^ (a + UINT64_C(0x123456789)));
	return (uint32_t)((((n * 3) * (n ^ 0x55u) + (uint32_t)below) ^ (n + 1000)) - 0x40000000u);
}

static void expect_own_registers(const char *kernel, uint64_t quantum)
{
	struct t_gpu g;
	uint64_t *out;

	t_gpu_init(&g, functions);
	g.stack_bytes = 4096;
	g.quantum = quantum;
	out = t_alloc(&g, N_THREADS * sizeof(*out));
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = kernel,
							 .block = {N_THREADS},
							 .args = {&out}}),
			 CUDA_SUCCESS);
	for (uint32_t i = 0; i < N_THREADS; i++)
		assert_int_equal(out[i], want_of(!(i & 1), i % 7));
	t_gpu_finish(&g);
}

static void test_direct(void **state)
{
	(void)state;
	expect_own_registers("direct", 0);
}

static void test_indirect(void **state)
{
	(void)state;
	expect_own_registers("indirect", 0);
}

/* Slices end where they will: whoever goes on finds its rows, too. */
static void test_in_slices(void **state)
{
	(void)state;
	for (uint64_t quantum = 1; quantum < 40; quantum += 6) {
		expect_own_registers("direct", quantum);
		expect_own_registers("indirect", quantum);
	}
}

static int32_t result_of(const char *body)
{
	struct t_gpu g;
	int32_t *out, got;
	char *text = NULL;

	assert_true(
		asprintf(
			&text,
			".version 7.8\n.target sm_90\n.address_size 64\n.global .b32 n = 40;\n"
			".func (.reg .b32 r) f(.reg .b32 by, .reg .b32 x) {\n.reg .b32 %%a<4>; .reg .pred %%p;\n"
			"%s }\n.visible .entry k(.param .u64 out) {\n"
			".reg .b64 %%rd; .reg .b32 %%r<3>; ld.param.u64 %%rd, [out];\n"
			"mov.b32 %%r1, 1; mov.b32 %%r0, 9; call (%%r2), f, (%%r1, %%r0); st.global.u32 [%%rd], %%r2; ret; }\n",
			body) > 0);
	t_gpu_init(&g, text);
	out = t_alloc(&g, 4);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k", .args = {&out}}),
			 CUDA_SUCCESS);
	got = *out;
	t_gpu_finish(&g);
	free(text);
	return got;
}

/* A result in a register is read by the caller alone: no other register has its place until then, and atomics give it. */
static void test_result_in_a_register_lives_until_the_return(void **state)
{
	(void)state;
	assert_int_equal(result_of("mov.b32 r, 40; mov.b32 %a1, 7; add.u32 %a2, %a1, by;\n"
				   "add.u32 %a3, %a2, %a1; st.global.u32 [n], %a3; ret;"),
			 40);
	assert_int_equal(result_of("mov.b32 r, 40; mov.b32 %a1, 7; add.u32 %a2, %a1, by;\n"
				   "st.global.u32 [n], %a2;"),
			 40); /* the end of the body returns, too */
	assert_int_equal(result_of("mov.b32 r, 40; mov.b32 %a1, 7; add.u32 %a2, %a1, by;\n"
				   "setp.eq.u32 %p, %a2, 8; @%p ret;\n"
				   "mov.b32 %a3, 3; add.u32 r, %a3, %a3; ret;"),
			 40);
	assert_int_equal(result_of("bra M; E: ret; M: mov.b32 r, 40; mov.b32 %a1, 7;\n"
				   "add.u32 %a2, %a1, by; st.global.u32 [n], %a2; bra E;"),
			 40); /* a return that stands before */
	assert_int_equal(result_of("atom.global.add.u32 r, [n], by; ret;"), 40);
}

/* "_" stands for a result that is not wanted; for an argument it does not. */
static void test_result_may_be_dropped(void **state)
{
	static const char text[] =
		".version 7.8\n.target sm_90\n.address_size 64\n"
		".func (.reg .b32 r, .param .align 8 .b8 s[16]) g(.reg .b32 to) {\n"
		"add.u32 r, to, 1; st.param.b64 [s], 5; ret; }\n"
		".visible .entry k(.param .u64 out) {\n.reg .b64 %rd; .reg .b32 %r<3>;\n"
		"ld.param.u64 %rd, [out]; mov.b32 %r1, 7; call (_, _), g, (%r1);\n"
		"call (%r2, _), g, (%r1);\n"
		"st.global.u32 [%rd], %r2; st.global.u32 [%rd+4], %r1; ret; }\n";
	struct t_gpu g;
	uint32_t *out;

	(void)state;
	t_gpu_init(&g, text);
	out = t_alloc(&g, 8);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k", .args = {&out}}),
			 CUDA_SUCCESS);
	assert_int_equal(out[0], 8);
	assert_int_equal(out[1], 7);
	t_gpu_finish(&g);
}

/* Parameters in registers are there from the start, also one that is written before it is read. */
static void test_parameters_in_registers_have_places_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(result_of("mov.b32 %a1, by; mov.b32 x, 5; add.u32 r, %a1, x; ret;"), 6);
	assert_int_equal(result_of("mov.b32 %a1, x; mov.b32 by, 5; add.u32 r, %a1, by; ret;"), 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_in_slices),
		cmocka_unit_test(test_result_in_a_register_lives_until_the_return),
		cmocka_unit_test(test_result_may_be_dropped),
		cmocka_unit_test(test_parameters_in_registers_have_places_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
