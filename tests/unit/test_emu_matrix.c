/*
 * test_emu_matrix.c - the matrices of a warp: nvcc's kernels in each type and shape against a product computed
 * here, on values whose sums are exact; and what is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "ptx/matrix.h"
#include "tests/unit/emu_harness.h"

#define WMMA "tests/ptx/wmma.nvcc.ptx"
#define LD   40
#define N_EL (LD * 40)

/* ---- elements of each type, small whole numbers ---- */

enum kind { HALF, BF16, FLOAT, DOUBLE, S8, U8, S32 };

static const uint8_t kind_bytes[] = {2, 2, 4, 8, 1, 1, 4};

/* 16 bits of a float of @fraction bits of fraction; for whole numbers up to 2048 */
static uint16_t short_float(int v, int fraction, int bias)
{
	uint32_t mag = (uint32_t)abs(v), e = 0;

	if (!v)
		return 0;
	while (mag >> (e + 1))
		e++;
	return (uint16_t)((v < 0) << 15 | (e + (uint32_t)bias) << fraction |
			  ((mag << fraction >> e) & ((1u << fraction) - 1)));
}

static void put(void *base, uint32_t at, enum kind kind, int v)
{
	unsigned char *p = (unsigned char *)base + at * kind_bytes[kind];
	uint16_t half = short_float(v, 10, 15), bf16 = short_float(v, 7, 127);
	float f = (float)v;
	double d = v;

	switch (kind) {
	case HALF: memcpy(p, &half, 2); break;
	case BF16: memcpy(p, &bf16, 2); break;
	case FLOAT: memcpy(p, &f, 4); break;
	case DOUBLE: memcpy(p, &d, 8); break;
	case S32: memcpy(p, &v, 4); break;
	default: *p = (unsigned char)v; break;
	}
}

static bool is(const void *base, uint32_t at, enum kind kind, int v)
{
	unsigned char want[8];

	put(want, 0, kind, v);
	return !memcmp((const unsigned char *)base + at * kind_bytes[kind], want, kind_bytes[kind]);
}

/* ---- products ---- */

struct sample {
	const char *name;
	uint32_t m, n, k;
	enum kind factor, sum;
	bool col;
};

static int value(uint32_t seed, enum kind kind)
{
	int v = (int)(seed * 2654435761u >> 24) % 15;

	return kind == U8 ? v * 17 : kind == S8 ? v * 18 - 126 : v - 7;
}

static uint32_t place(const struct sample *s, uint32_t row, uint32_t col)
{
	return s->col ? col * LD + row : row * LD + col;
}

static int want_at(const struct sample *s, uint32_t i, uint32_t j)
{
	int sum = value(place(s, i, j) + 2000, S32);

	for (uint32_t k = 0; k < s->k; k++)
		sum += value(place(s, i, k), s->factor) * value(place(s, k, j) + 1000, s->factor);
	return s->sum == HALF ? sum : sum * 2; /* the kernel doubles what it can */
}

static void check_sample(struct t_gpu *g, const struct sample *s)
{
	unsigned char *d = t_alloc(g, 8 * N_EL), *a = t_alloc(g, 8 * N_EL),
		      *b = t_alloc(g, 8 * N_EL), *c = t_alloc(g, 8 * N_EL);

	for (uint32_t i = 0; i < N_EL; i++) {
		put(a, i, s->factor, value(i, s->factor));
		put(b, i, s->factor, value(i + 1000, s->factor));
		put(c, i, s->sum, value(i + 2000, S32));
		put(d, i, s->sum, 99);
	}
	if (t_launch(g, &(struct t_launch){
				.kernel = s->name, .block = {32}, .args = {&d, &a, &b, &c}}))
		fail_msg("%s: %s", s->name, g->fault.text);
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t j = 0; j < 40; j++) {
			int want = i < s->m && j < s->n ? want_at(s, i, j) : 99;

			if (!is(d, place(s, i, j), s->sum, want))
				fail_msg("%s: element %u,%u is not %d", s->name, i, j, want);
		}
	}
}

static void test_products_of_all_types_shapes_and_layouts(void **state)
{
	static const struct {
		const char *name;
		enum kind factor, sum;
	} types[] = {{"half_float", HALF, FLOAT},
		     {"half_half", HALF, HALF},
		     {"bf16", BF16, FLOAT},
		     {"s8", S8, S32},
		     {"u8", U8, S32}};
	static const uint32_t shapes[][2] = {{16, 16}, {32, 8}, {8, 32}};
	char name[64];
	struct t_gpu g;

	t_gpu_init_file(&g, WMMA);
	for (uint32_t i = 0; i < GSB_ARRAY_LEN(types) * GSB_ARRAY_LEN(shapes) * 2; i++) {
		uint32_t t = i % GSB_ARRAY_LEN(types), sh = i / GSB_ARRAY_LEN(types) % 3;
		bool col = i / GSB_ARRAY_LEN(types) / 3;
		struct sample s = {
			name, shapes[sh][0], shapes[sh][1], 16, types[t].factor, types[t].sum, col};

		snprintf(name, sizeof(name), "%s_%u_%s", types[t].name, shapes[sh][0],
			 col ? "cc" : "rr");
		check_sample(&g, &s);
	}
	check_sample(&g, &(struct sample){"tf32_rr", 16, 16, 8, FLOAT, FLOAT, false});
	check_sample(&g, &(struct sample){"tf32_cc", 16, 16, 8, FLOAT, FLOAT, true});
	check_sample(&g, &(struct sample){"f64_rr", 8, 8, 4, DOUBLE, DOUBLE, false});
	check_sample(&g, &(struct sample){"f64_cc", 8, 8, 4, DOUBLE, DOUBLE, true});
	t_gpu_finish(&g);
}

/* ---- less than a byte ---- */

static int nibble(const unsigned char *p, uint32_t at, bool is_signed)
{
	int v = p[at / 2] >> at % 2 * 4 & 15;

	return is_signed && v > 7 ? v - 16 : v;
}

static int want_small(const char *kernel, const unsigned char *a, const unsigned char *b,
		      uint32_t i, uint32_t j)
{
	int sum = 5;

	for (uint32_t k = 0; kernel[0] != 'b' && k < 32; k++)
		sum += nibble(a, i * 32 + k, kernel[0] == 's') *
		       nibble(b, j * 32 + k, kernel[0] == 's');
	for (uint32_t k = 0; kernel[0] == 'b' && k < 16; k++) {
		unsigned int x = a[i * 16 + k], y = b[j * 16 + k];

		sum += __builtin_popcount(kernel[3] == 'a' ? x & y : x ^ y);
	}
	return sum;
}

static void test_products_of_elements_of_4_bits_and_of_one(void **state)
{
	static const char *const kernels[] = {"s4", "u4", "b1_and", "b1_xor"};
	unsigned char *a, *b;
	struct t_gpu g;
	int *d;

	t_gpu_init_file(&g, WMMA);
	d = t_alloc(&g, 256);
	a = t_alloc(&g, 128);
	b = t_alloc(&g, 128);
	for (uint32_t i = 0; i < 128; i++) {
		a[i] = (unsigned char)(i * 2654435761u >> 24);
		b[i] = (unsigned char)((i + 500) * 2654435761u >> 22);
	}
	for (size_t n = 0; n < GSB_ARRAY_LEN(kernels); n++) {
		if (t_launch(&g, &(struct t_launch){.kernel = kernels[n],
						    .block = {32},
						    .args = {&d, &a, &b}}))
			fail_msg("%s", g.fault.text);
		for (uint32_t i = 0; i < 64; i++) {
			int want = want_small(kernels[n], a, b, i / 8, i % 8);

			if (d[i] != want)
				fail_msg("%s: element %u is %d, not %d", kernels[n], i, d[i], want);
		}
	}
	t_gpu_finish(&g);
}

static void test_sums_of_two_types_have_their_elements_at_the_same_places(void **state)
{
	struct t_gpu g;
	uint16_t *d;
	float *c;

	t_gpu_init_file(&g, WMMA);
	c = t_alloc(&g, 4 * N_EL);
	d = t_alloc(&g, 2 * N_EL);
	for (int i = 0; i < N_EL; i++)
		c[i] = (float)(i % 600 - 300);
	if (t_launch(&g, &(struct t_launch){.kernel = "convert", .block = {32}, .args = {&d, &c}}))
		fail_msg("%s", g.fault.text);
	for (int i = 0; i < 256; i++) {
		int at = i / 16 * LD + i % 16;

		assert_int_equal(d[at], short_float(at % 600 - 300, 10, 15));
	}
	t_gpu_finish(&g);
}

/* ---- by hand ---- */

#define HEAD ".version 7.8\n.target sm_90\n.address_size 64\n"
#define KERNEL(body)                                                                      \
	HEAD ".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>; .reg .b32 %r<40>;\n" \
	     ".reg .b64 %rd<8>; .reg .f64 %d<8>; .shared .align 32 .b8 sh[1024];\n"       \
	     "ld.param.u64 %rd1, [io];\n" body "\nret;\n}\n"
#define S32_8(a) "{" a ", " a ", " a ", " a ", " a ", " a ", " a ", " a "}"
#define DEST	 "{%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}"

static CUresult run(struct t_gpu *g, const char *text, uint32_t threads, int **io)
{
	t_gpu_init(g, text);
	*io = t_alloc(g, 4096);
	(*io)[0] = 0x7fffff00;
	return t_launch(g, &(struct t_launch){.kernel = "k", .block = {threads}, .args = {io}});
}

/* .satfinite stops at the largest number; without it sums wrap. */
static void test_integer_sums_saturate_when_asked_to(void **state)
{
	static const char *const ends[] = {"", ".satfinite"};
	char text[2048];

	for (int sat = 0; sat < 2; sat++) {
		struct t_gpu g;
		int *io;

		snprintf(
			text, sizeof(text), "%s%s%s",
			HEAD
			".visible .entry k(.param .u64 io) {\n.reg .b32 %r<40>;\n.reg .b64 %rd<4>;\n"
			"ld.param.u64 %rd1, [io]; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 0x7f7f7f7f;\n"
			"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32",
			ends[sat],
			" " DEST ", {%r2, %r2}, {%r2, %r2}, " S32_8(
				"%r1") ";\n"
				       "st.global.u32 [%rd1+4], %r27; ret; }\n");
		assert_int_equal(run(&g, text, 32, &io), CUDA_SUCCESS);
		assert_int_equal(io[1], sat ? INT32_MAX : (int)(0x7fffff00u + 16u * 127 * 127));
		t_gpu_finish(&g);
	}
}

static void test_matrix_misuse_ends_the_kernel(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		CUresult result;
		const char *reason;
	} cases[] = {
#define LOAD_C(addr) "wmma.load.c.sync.aligned.row.m16n16k16" addr ";"
		{KERNEL(LOAD_C(".global.s32 " DEST ", [%rd1], 16")), 16, CUDA_ERROR_LAUNCH_FAILED,
		 "all 32 lanes"},
		{KERNEL(LOAD_C(".global.s32 " DEST ", [%rd1+2], 16")), 32,
		 CUDA_ERROR_MISALIGNED_ADDRESS, "aligned to 4"},
		{KERNEL(LOAD_C(".shared.s32 " DEST ", [sh+64], 16")), 32,
		 CUDA_ERROR_ILLEGAL_ADDRESS, "matrix at address"},
		{KERNEL("mov.u64 %rd1, 64; " LOAD_C(".s32 " DEST ", [%rd1], 16")), 32,
		 CUDA_ERROR_ILLEGAL_ADDRESS, "matrix at address 0x40"},
		{KERNEL("mov.u32 %r1, 0xffffffff; " LOAD_C(".global.s32 " DEST ", [%rd1], %r1")),
		 32, CUDA_ERROR_ILLEGAL_ADDRESS, "matrix at address"},
		{KERNEL("wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r1}, [%rd1], 33;"), 32,
		 CUDA_ERROR_MISALIGNED_ADDRESS, "not whole bytes"},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		struct t_gpu g;
		int *io;
		CUresult got = run(&g, cases[i].text, cases[i].threads, &io);

		if (got != cases[i].result || !strstr(g.fault.text, cases[i].reason))
			fail_msg("%zu: %d '%s', not %d '%s'", i, got, g.fault.text, cases[i].result,
				 cases[i].reason);
		t_gpu_finish(&g);
	}
}

static void test_what_is_no_form_of_wmma_is_refused_by_name(void **state)
{
	static const char *const texts[] = {
		"wmma.load.a.sync.aligned.row.m16n16k16.global.tf32 {%r1, %r2, %r3, %r4}, [%rd1];",
		"wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%rd1];",
		"wmma.load.c.sync.aligned.row.m8n8k4.global.s32 {%r1, %r2}, [%rd1];",
		"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 " DEST
		", {%r1, %r2}, {%r1, %r2}, " S32_8("%r3") ";",
		"wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};",
		"wmma.load.c.sync.aligned.row.m16n16k16.global.s32 {%r1, %r2}, [%rd1];",
		"wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {%r1, %r2}, [%rd1];",
		"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(texts); i++) {
		char text[2048];
		struct t_gpu g;

		snprintf(
			text, sizeof(text), "%s%s%s",
			HEAD
			".visible .entry k(.param .u64 io) {\n.reg .b32 %r<40>;\n.reg .b64 %rd<4>;\n",
			texts[i], "\nret; }\n");
		t_gpu_init(&g, text);
		assert_int_equal(t_lower(&g, "k"), -ENOTSUP);
		assert_non_null(strstr(g.log, "mma."));
		t_gpu_finish(&g);
	}
}

static void test_decode_takes_words_in_their_order_only(void **state)
{
	struct gsb_ptx_matrix m;

#define DECODE(s) gsb_ptx_matrix_decode(s, strlen(s), &m)
	assert_true(DECODE("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rn"));
	assert_true(DECODE("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64"));
	assert_true(DECODE("wmma.store.d.sync.aligned.col.m32n8k16.shared::cta.f16"));
	assert_true(m.col_a && m.m == 32 && m.n == 8 && m.d == GSB_PTX_MATRIX_F16);
	assert_false(DECODE("wmma.store.d.sync.aligned.m32n8k16.col.shared.f16"));
	assert_false(DECODE("wmma.store.d.sync.aligned.col.m32n8k16.local.f16"));
	assert_false(DECODE("wmma.load.d.sync.aligned.col.m32n8k16.f16"));
	assert_false(DECODE("wmma.load.a.sync.aligned.col.m32n8k16"));
	assert_false(DECODE("wmma.load.a.sync.aligned.col.m32n8k16.f16.f16"));
	assert_false(DECODE("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite"));
	/* nor types, shapes and layouts that do not fit together */
	assert_false(DECODE("wmma.load.a.sync.aligned.row.m16n16k16.global.tf32"));
	assert_false(DECODE("wmma.load.a.sync.aligned.row.m16n16k8.global.f16"));
	assert_false(DECODE("wmma.load.b.sync.aligned.row.m8n8k32.s4"));
	assert_false(DECODE("wmma.load.c.sync.aligned.row.m8n8k4.f32"));
	assert_false(DECODE("wmma.mma.sync.aligned.row.col.m16n16k16.f16.bf16.bf16.f16"));
	assert_false(DECODE("wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32"));
	assert_false(DECODE("wmma.load.a"));
	assert_false(DECODE("wmma."));
	assert_false(DECODE("wmma"));
	assert_false(DECODE(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products_of_all_types_shapes_and_layouts),
		cmocka_unit_test(test_products_of_elements_of_4_bits_and_of_one),
		cmocka_unit_test(test_sums_of_two_types_have_their_elements_at_the_same_places),
		cmocka_unit_test(test_integer_sums_saturate_when_asked_to),
		cmocka_unit_test(test_matrix_misuse_ends_the_kernel),
		cmocka_unit_test(test_what_is_no_form_of_wmma_is_refused_by_name),
		cmocka_unit_test(test_decode_takes_words_in_their_order_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
