/*
 * test_emu_mma.c - mma.sync, ldmatrix, stmatrix and movmatrix. nvcc's kernels (tests/kernels/mma.cu) place elements in
 * registers by the manual's formulas; here whole products are compared with sums over plain arrays, on values whose
 * sums are exact, and tiles with plain indexing. And what is refused, and how misuse ends.
 */
#include <errno.h>
#include <math.h>
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

#define MMA   "tests/ptx/mma.nvcc.ptx"
#define MAX_A (16 * 256)

/* ---- elements: small whole numbers, as bits ---- */

enum kind { F16, BF16, F32, F64, E4M3, E5M2, S8, U8, S4, U4, B1, S32 };

/* Bits of a float of @fraction bits of fraction; for whole numbers */
static uint32_t float_bits(int v, int fraction, int bias, int width)
{
	uint32_t mag = (uint32_t)abs(v), e = 0;

	if (!v)
		return 0;
	while (mag >> (e + 1))
		e++;
	return (uint32_t)(v < 0) << (width - 1) | (e + (uint32_t)bias) << fraction |
	       (uint32_t)(((uint64_t)mag << fraction >> e) & ((1u << fraction) - 1));
}

static uint64_t bits_of(int v, enum kind kind)
{
	double d = v;
	uint64_t bits;

	switch (kind) {
	case F16: return float_bits(v, 10, 15, 16);
	case BF16: return float_bits(v, 7, 127, 16);
	case F32: return float_bits(v, 23, 127, 32);
	case F64: memcpy(&bits, &d, 8); return bits;
	case E4M3: return float_bits(v, 3, 7, 8);
	case E5M2: return float_bits(v, 2, 15, 8);
	case S8:
	case U8: return (uint8_t)v;
	case S4:
	case U4: return v & 15;
	case B1: return v & 1;
	default: return (uint32_t)v;
	}
}

/* Different at each place, over all that the type has. */
static int value(uint32_t seed, enum kind kind)
{
	int v = (int)(seed * 2654435761u >> 16 & 0xff);

	switch (kind) {
	case S8: return v - 128;
	case U8: return v;
	case S4: return v % 16 - 8;
	case U4: return v % 16;
	case B1: return v % 2;
	default: return v % 15 - 7;
	}
}

/* ---- products ---- */

struct sample {
	const char *name;
	uint32_t m, k;
	enum kind a, b, sum;
	bool is_and;
};

static const struct sample samples[] = {
	{"f16_8", 16, 8, F16, F16, F32, 0},	      {"f16_16", 16, 16, F16, F16, F32, 0},
	{"half_8", 16, 8, F16, F16, F16, 0},	      {"half_16", 16, 16, F16, F16, F16, 0},
	{"bf16_8", 16, 8, BF16, BF16, F32, 0},	      {"bf16_16", 16, 16, BF16, BF16, F32, 0},
	{"tf32_4", 16, 4, F32, F32, F32, 0},	      {"tf32_8", 16, 8, F32, F32, F32, 0},
	{"e4m3_e5m2_16", 16, 16, E4M3, E5M2, F32, 0}, {"e5m2_e4m3_32", 16, 32, E5M2, E4M3, F32, 0},
	{"e4m3_half_32", 16, 32, E4M3, E4M3, F16, 0}, {"s8_u8_8x16", 8, 16, S8, U8, S32, 0},
	{"u8_s8_16", 16, 16, U8, S8, S32, 0},	      {"s8_s8_32", 16, 32, S8, S8, S32, 0},
	{"u8_u8_32", 16, 32, U8, U8, S32, 0},	      {"s4_u4_8x32", 8, 32, S4, U4, S32, 0},
	{"u4_s4_32", 16, 32, U4, S4, S32, 0},	      {"s4_s4_64", 16, 64, S4, S4, S32, 0},
	{"b1_xor_8x128", 8, 128, B1, B1, S32, 0},     {"b1_and_128", 16, 128, B1, B1, S32, 1},
	{"b1_xor_256", 16, 256, B1, B1, S32, 0},      {"b1_and_256", 16, 256, B1, B1, S32, 1},
	{"f64_8x4", 8, 4, F64, F64, F64, 0},	      {"f64_4", 16, 4, F64, F64, F64, 0},
	{"f64_8", 16, 8, F64, F64, F64, 0},	      {"f64_16", 16, 16, F64, F64, F64, 0},
};

/* What a kernel multiplies: elements row after row, as values and as the bits that it reads. */
struct matrices {
	int a[MAX_A], b[MAX_A], c[256];
	uint64_t *d_bits, *a_bits, *b_bits, *c_bits;
};

static void alloc_matrices(struct t_gpu *g, struct matrices *x)
{
	x->d_bits = t_alloc(g, 256 * 8);
	x->a_bits = t_alloc(g, MAX_A * 8);
	x->b_bits = t_alloc(g, MAX_A * 8);
	x->c_bits = t_alloc(g, 256 * 8);
}

static void fill(int *v, uint64_t *bits, uint32_t n, uint32_t seed, enum kind kind)
{
	for (uint32_t i = 0; i < n; i++) {
		v[i] = value(seed + i, kind);
		bits[i] = bits_of(v[i], kind);
	}
}

static void multiply(struct t_gpu *g, const char *name, struct matrices *x)
{
	for (int i = 0; i < 256; i++)
		x->d_bits[i] = UINT64_C(0x5a5a5a5a5a5a5a5a);
	if (t_launch(g,
		     &(struct t_launch){.kernel = name,
					.block = {32},
					.args = {&x->d_bits, &x->a_bits, &x->b_bits, &x->c_bits}}))
		fail_msg("%s: %s", name, g->fault.text);
}

static int want_at(const struct sample *s, const struct matrices *x, uint32_t i, uint32_t j)
{
	int sum = x->c[i * 8 + j];

	for (uint32_t k = 0; k < s->k; k++) {
		int a = x->a[i * s->k + k], b = x->b[k * 8 + j];

		sum += s->a != B1 ? a * b : s->is_and ? (a & b) : (a ^ b);
	}
	return sum;
}

static void test_mma_products_of_all_types_and_shapes(void **state)
{
	struct matrices x;
	struct t_gpu g;

	t_gpu_init_file(&g, MMA);
	alloc_matrices(&g, &x);
	for (size_t n = 0; n < GSB_ARRAY_LEN(samples); n++) {
		const struct sample *s = &samples[n];

		fill(x.a, x.a_bits, s->m * s->k, 0, s->a);
		fill(x.b, x.b_bits, s->k * 8, 5000, s->b);
		fill(x.c, x.c_bits, s->m * 8, 9000, F32);
		for (uint32_t i = 0; i < s->m * 8; i++)
			x.c_bits[i] = bits_of(x.c[i], s->sum);
		multiply(&g, s->name, &x);
		for (uint32_t i = 0; i < s->m * 8; i++) {
			int want = want_at(s, &x, i / 8, i % 8);

			if (x.d_bits[i] != bits_of(want, s->sum))
				fail_msg("%s: element %u,%u is 0x%llx, not %d", s->name, i / 8,
					 i % 8, (unsigned long long)x.d_bits[i], want);
		}
	}
	t_gpu_finish(&g);
}

static void test_mma_of_quads_is_four_products_in_each_layout(void **state)
{
	static const struct {
		const char *name;
		enum kind c, d;
	} kernels[] = {{"quad_float_rc", F32, F32},
		       {"quad_float_cr", F32, F32},
		       {"quad_half_rr", F16, F16},
		       {"quad_mixed_cc", F16, F32}};
	struct matrices x;
	struct t_gpu g;

	t_gpu_init_file(&g, MMA);
	alloc_matrices(&g, &x);
	for (size_t n = 0; n < GSB_ARRAY_LEN(kernels); n++) {
		fill(x.a, x.a_bits, 128, 0, F16);
		fill(x.b, x.b_bits, 128, 5000, F16);
		fill(x.c, x.c_bits, 256, 9000, F16);
		for (uint32_t i = 0; i < 256; i++)
			x.c_bits[i] = bits_of(x.c[i], kernels[n].c);
		multiply(&g, kernels[n].name, &x);
		for (int i = 0; i < 256; i++) {
			int q = i / 64, row = i % 64 / 8, col = i % 8, want = x.c[i];

			for (int k = 0; k < 4; k++)
				want += x.a[q * 32 + row * 4 + k] * x.b[q * 32 + k * 8 + col];
			if (x.d_bits[i] != bits_of(want, kernels[n].d))
				fail_msg("%s: product %d, element %d,%d is 0x%llx, not %d",
					 kernels[n].name, q, row, col,
					 (unsigned long long)x.d_bits[i], want);
		}
	}
	t_gpu_finish(&g);
}

static void test_mma_integer_sums_wrap_or_saturate(void **state)
{
	static const char *const names[] = {"s8_s8_32", "s8_s8_32_sat"};
	struct matrices x;
	struct t_gpu g;

	t_gpu_init_file(&g, MMA);
	alloc_matrices(&g, &x);
	for (int sat = 0; sat < 2; sat++) {
		for (int i = 0; i < 16 * 32; i++)
			x.a_bits[i] = (uint8_t)(i / 32 % 2 ? -100 : 100);
		for (int i = 0; i < 32 * 8; i++)
			x.b_bits[i] = 100;
		for (int i = 0; i < 128; i++)
			x.c_bits[i] = i / 8 % 2 ? 0x80000005u : 0x7ffffff0u;
		multiply(&g, names[sat], &x);
		for (int i = 0; i < 128; i++) {
			uint32_t sum = (uint32_t)x.c_bits[i] + (i / 8 % 2 ? -320000u : 320000u);

			assert_int_equal(x.d_bits[i], !sat	  ? sum
						      : i / 8 % 2 ? 0x80000000u
								  : 0x7fffffffu);
		}
	}
	t_gpu_finish(&g);
}

/* The smallest and largest numbers of eight bits, and what is none. */
static void test_mma_floats_of_eight_bits_at_their_ends(void **state)
{
	static const struct {
		uint8_t e4m3, e5m2;
		float want;
	} cases[] = {
		{0x01, 0x01, 0x1p-25f},	  {0x07, 0x83, -21 * 0x1p-25f},
		{0x7e, 0x7b, 0x1.88p24f}, {0xfe, 0x7b, -0x1.88p24f},
		{0x38, 0x7c, INFINITY},	  {0xb8, 0x7c, -INFINITY},
		{0x7f, 0x3c, NAN},	  {0xff, 0x3c, NAN},
		{0x38, 0x7e, NAN},	  {0x08, 0x04, 0x1p-20f},
	};
	struct matrices x;
	struct t_gpu g;

	t_gpu_init_file(&g, MMA);
	alloc_matrices(&g, &x);
	for (size_t n = 0; n < GSB_ARRAY_LEN(cases); n++) {
		uint32_t bits;
		float got;

		memset(x.a_bits, 0, MAX_A * 8);
		memset(x.b_bits, 0, MAX_A * 8);
		memset(x.c_bits, 0, 256 * 8);
		x.a_bits[3 * 16 + 9] = cases[n].e4m3;
		x.b_bits[9 * 8 + 5] = cases[n].e5m2;
		multiply(&g, "e4m3_e5m2_16", &x);
		bits = (uint32_t)x.d_bits[3 * 8 + 5];
		memcpy(&got, &bits, 4);
		if (isnan(cases[n].want) ? !isnan(got) : memcmp(&got, &cases[n].want, 4))
			fail_msg("%zu: %a, not %a", n, (double)got, (double)cases[n].want);
	}
	t_gpu_finish(&g);
}

static void test_mma_of_doubles_rounds_as_it_says(void **state)
{
	static const double less = 0x1.fffffffffffffp-1;
	static const struct {
		const char *name;
		double up, down; /* of 1 - 2^-60, and of its negative */
	} kernels[] = {{"f64_8x4", 1, -1},
		       {"f64_8x4_rz", less, -less},
		       {"f64_8x4_rm", less, -1},
		       {"f64_8x4_rp", 1, -less},
		       {"f64_8x4", 1, -1}};
	const double tiny = -0x1p-60, one = 1;
	struct matrices x;
	struct t_gpu g;

	t_gpu_init_file(&g, MMA);
	alloc_matrices(&g, &x);
	for (size_t n = 0; n < GSB_ARRAY_LEN(kernels); n++) {
		double got[2], c;

		memset(x.a_bits, 0, MAX_A * 8);
		memset(x.b_bits, 0, MAX_A * 8);
		for (int i = 0; i < 2; i++) {
			double v = i ? -tiny : tiny;

			memcpy(&x.a_bits[i * 4], &v, 8);
			c = i ? -1 : 1;
			memcpy(&x.c_bits[i * 8], &c, 8);
		}
		memcpy(&x.b_bits[0], &one, 8);
		multiply(&g, kernels[n].name, &x);
		memcpy(&got[0], &x.d_bits[0], 8);
		memcpy(&got[1], &x.d_bits[8], 8);
		if (memcmp(&got[0], &kernels[n].up, 8) || memcmp(&got[1], &kernels[n].down, 8))
			fail_msg("%s: %a and %a", kernels[n].name, got[0], got[1]);
	}
	t_gpu_finish(&g);
}

/* ---- tiles ---- */

#define ROW_OF(i) ((i)*5 % 32) /* as in mma.cu */

/* Element @e of word @word of a lane, by the rows that the lanes point to. */
static uint16_t tile_at(const uint16_t *rows, int word, int lane, int e, bool trans)
{
	int line = lane / 4, along = lane % 4 * 2 + e;

	return trans ? rows[ROW_OF(word * 8 + along) * 8 + line]
		     : rows[ROW_OF(word * 8 + line) * 8 + along];
}

static void test_ldmatrix_gives_what_plain_loads_give(void **state)
{
	static const struct {
		const char *name;
		int n;
		bool trans;
	} kernels[] = {{"load_1", 1, false},	    {"load_2", 2, false},
		       {"load_4", 4, false},	    {"load_1_trans", 1, true},
		       {"load_2_trans", 2, true},   {"load_4_trans", 4, true},
		       {"load_4_generic", 4, false}};
	struct t_gpu g;
	uint16_t *in;
	uint32_t *out;

	t_gpu_init_file(&g, MMA);
	in = t_alloc(&g, 512);
	out = t_alloc(&g, 512);
	for (int i = 0; i < 256; i++)
		in[i] = (uint16_t)(i * 251 + 7);
	for (size_t n = 0; n < GSB_ARRAY_LEN(kernels); n++) {
		if (t_launch(&g, &(struct t_launch){.kernel = kernels[n].name,
						    .block = {32},
						    .args = {&out, &in}}))
			fail_msg("%s: %s", kernels[n].name, g.fault.text);
		for (int i = 0; i < 128; i++) {
			uint32_t want = tile_at(in, i % 4, i / 4, 0, kernels[n].trans) |
					(uint32_t)tile_at(in, i % 4, i / 4, 1, kernels[n].trans)
						<< 16;

			if (out[i] != (i % 4 < kernels[n].n ? want : 0))
				fail_msg("%s: word %d of lane %d is 0x%x", kernels[n].name, i % 4,
					 i / 4, out[i]);
		}
	}
	t_gpu_finish(&g);
}

static void test_stmatrix_is_the_reverse_of_ldmatrix(void **state)
{
	static const struct {
		const char *name;
		int n;
		bool trans;
	} kernels[] = {{"store_1", 1, false},
		       {"store_2", 2, false},
		       {"store_4", 4, false},
		       {"store_4_trans", 4, true}};
	uint16_t want[256];
	struct t_gpu g;
	uint16_t *out;
	uint32_t *in;

	t_gpu_init_file(&g, MMA);
	in = t_alloc(&g, 512);
	out = t_alloc(&g, 512);
	for (uint32_t i = 0; i < 128; i++)
		in[i] = i * 0x01230457;
	for (size_t n = 0; n < GSB_ARRAY_LEN(kernels); n++) {
		memset(want, 0xff, sizeof(want));
		for (int i = 0; i < kernels[n].n * 64; i++) {
			int word = i / 64, lane = i % 64 / 2, e = i % 2;
			int line = lane / 4, along = lane % 4 * 2 + e;
			int row = word * 8 + (kernels[n].trans ? along : line);

			want[ROW_OF(row) * 8 + (kernels[n].trans ? line : along)] =
				(uint16_t)(in[lane * 4 + word] >> e * 16);
		}
		if (t_launch(&g, &(struct t_launch){.kernel = kernels[n].name,
						    .block = {32},
						    .args = {&out, &in}}))
			fail_msg("%s: %s", kernels[n].name, g.fault.text);
		if (memcmp(out, want, sizeof(want)))
			fail_msg("%s", kernels[n].name);
	}
	t_gpu_finish(&g);
}

static void test_movmatrix_transposes(void **state)
{
	struct t_gpu g;
	uint32_t *in, *out;

	t_gpu_init_file(&g, MMA);
	in = t_alloc(&g, 128);
	out = t_alloc(&g, 128);
	for (uint32_t i = 0; i < 32; i++)
		in[i] = (2 * i) | (2 * i + 1) << 16; /* element: 8 row + column */
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "transpose",
							 .block = {32},
							 .args = {&out, &in}}),
			 CUDA_SUCCESS);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t row = i / 4, col = i % 4 * 2;

		assert_int_equal(out[i], (col * 8 + row) | ((col + 1) * 8 + row) << 16);
	}
	t_gpu_finish(&g);
}

/* ---- as programs use them ---- */

static void test_gemm_of_tiles_equals_a_plain_product(void **state)
{
	enum { M = 128, N = 192, K = 96 };
	static int va[M * K], vb[K * N];
	int n = N, k = K;
	struct t_gpu g;
	uint16_t *a, *b;
	float *d;

	t_gpu_init_file(&g, MMA);
	d = t_alloc(&g, sizeof(float) * M * N);
	a = t_alloc(&g, sizeof(uint16_t) * M * K);
	b = t_alloc(&g, sizeof(uint16_t) * K * N);
	for (uint32_t i = 0; i < M * K; i++)
		a[i] = (uint16_t)bits_of(va[i] = value(i, F16), F16);
	for (uint32_t i = 0; i < K * N; i++)
		b[i] = (uint16_t)bits_of(vb[i] = value(i + 77777, F16), F16);
	if (t_launch(&g, &(struct t_launch){.kernel = "gemm",
					    .grid = {N / 64, M / 64},
					    .block = {128},
					    .args = {&d, &a, &b, &n, &k}}))
		fail_msg("%s", g.fault.text);
	for (int i = 0; i < M * N; i++) {
		int want = 0;

		for (int at = 0; at < K; at++)
			want += va[i / N * K + at] * vb[at * N + i % N];
		if ((int)d[i] != want)
			fail_msg("element %d,%d is %f, not %d", i / N, i % N, (double)d[i], want);
	}
	t_gpu_finish(&g);
}

/* ---- by hand ---- */

#define HEAD ".version 8.4\n.target sm_90\n.address_size 64\n"
#define KERNEL(body)                                                                      \
	HEAD ".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>; .reg .b32 %r<40>;\n" \
	     ".reg .b64 %rd<8>; .reg .f64 %d<8>; .shared .align 32 .b8 sh[1024];\n"       \
	     "ld.param.u64 %rd1, [io];\n" body "\nret;\n}\n"
#define R4 "{%r1, %r2, %r3, %r4}"

static CUresult run(struct t_gpu *g, const char *text, uint32_t threads, int **io)
{
	t_gpu_init(g, text);
	*io = t_alloc(g, 4096);
	return t_launch(g, &(struct t_launch){.kernel = "k", .block = {threads}, .args = {io}});
}

static void test_tile_misuse_ends_the_kernel(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		CUresult result;
		const char *reason;
	} cases[] = {
		{KERNEL("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " R4 ", " R4
			", {%r5, %r6}, " R4 ";"),
		 16, CUDA_ERROR_LAUNCH_FAILED, "all 32 lanes"},
		{KERNEL("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;"), 16,
		 CUDA_ERROR_LAUNCH_FAILED, "all 32 lanes"},
		{KERNEL("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [sh+8];"), 32,
		 CUDA_ERROR_MISALIGNED_ADDRESS, "aligned to 16"},
		{KERNEL("mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 7;"
			"ldmatrix.sync.aligned.m8n8.x4.shared.b16 " R4 ", [%r1];"),
		 32, CUDA_ERROR_ILLEGAL_ADDRESS, "matrix at address"},
		{KERNEL("mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 9;"
			"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r1], {%r2};"),
		 32, CUDA_ERROR_ILLEGAL_ADDRESS, "matrix at address"},
		{KERNEL("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1];"), 32,
		 CUDA_ERROR_INVALID_ADDRESS_SPACE, "not in shared memory"},
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

static void test_mma_takes_constants_and_leaves_results_out(void **state)
{
	struct t_gpu g;
	int *io;

	assert_int_equal(
		run(&g,
		    KERNEL("mov.u32 %r2, %laneid; mov.u32 %r3, 0x02020202;"
			   "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {_, %r5, _, %r6}, "
			   "{%r3, %r3, %r3, %r3}, {%r3, %r3}, {0, 7, 9, -1000};"
			   "mad.wide.u32 %rd2, %r2, 8, %rd1; st.global.v2.u32 [%rd2], {%r5, %r6};"
			   "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, _}, "
			   "{0d4000000000000000}, {0d4008000000000000}, {0d3FF0000000000000, 0};"
			   "cvt.rni.s32.f64 %r7, %d1; st.global.u32 [%rd1+256], %r7;"),
		    32, &io),
		CUDA_SUCCESS);
	for (int i = 0; i < 64; i++)
		assert_int_equal(io[i], i % 2 ? 32 * 4 - 1000 : 32 * 4 + 7);
	assert_int_equal(io[64], 4 * 6 + 1);
	t_gpu_finish(&g);
}

/* Lanes beyond the tiles that are asked for may point anywhere. */
static void test_ldmatrix_takes_addresses_of_its_own_lanes_only(void **state)
{
	struct t_gpu g;
	int *io;

	assert_int_equal(run(&g,
			     KERNEL("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;"
				    "shl.b32 %r1, %r1, 4; selp.b32 %r1, %r1, 0x7fffffff, %p1;"
				    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%r1];"),
			     32, &io),
			 CUDA_SUCCESS);
	t_gpu_finish(&g);
}

static void test_what_sm_90_has_not_is_refused_by_name(void **state)
{
	static const char *const texts[] = {
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " R4
		", {%r5, %r6}, {%r7, %r8}, " R4 ", %r9, 0x0;",
		"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e3m2.f32 " R4 ", " R4
		", {%r5, %r6}, " R4 ";",
		"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
		"stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};",
		"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(texts); i++) {
		char text[2048];
		struct t_gpu g;

		snprintf(text, sizeof(text), "%s%s%s",
			 HEAD ".visible .entry k(.param .u64 io) {\n.reg .b32 %r<40>;\n", texts[i],
			 "\nret; }\n");
		t_gpu_init(&g, text);
		assert_int_equal(t_lower(&g, "k"), -ENOTSUP);
		assert_non_null(strstr(g.log, i == 0   ? "sparse"
					      : i == 4 ? "mma.sync"
						       : "sm_90 has not"));
		t_gpu_finish(&g);
	}
}

static void test_decode_of_mma_takes_what_a_driver_takes(void **state)
{
	struct gsb_ptx_matrix m;

#define DECODE(s) gsb_ptx_matrix_decode(s, strlen(s), &m)
	/* .satfinite, the rounding and .popc stand where ptxas takes them */
	assert_true(DECODE("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"));
	assert_true(m.saturate && m.k == 32 && m.a == GSB_PTX_MATRIX_U8);
	assert_true(DECODE("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32.satfinite"));
	assert_true(DECODE("mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64"));
	assert_true(DECODE("mma.and.popc.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32"));
	assert_true(m.is_and);
	assert_true(DECODE("mma.sync.aligned.m16n8k128.row.col.xor.popc.s32.b1.b1.s32"));
	assert_true(DECODE("mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16"));
	assert_true(DECODE("wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64"));
	assert_true(DECODE("ldmatrix.sync.aligned.x4.trans.m8n8.shared::cta.b16"));
	assert_true(DECODE("movmatrix.sync.aligned.m8n8.trans.b16"));
	/* each of these it refuses */
	assert_false(DECODE("mma.sync.m16n8k8.row.col.f16.f16.f16.f16"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.col.col.f16.f16.f16.f16"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16"));
	assert_false(DECODE("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f16"));
	assert_false(DECODE("mma.sync.aligned.m16n8k8.row.col.f32.f32.f32.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.row.col.s32.s8.s4.s32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k16.row.col.rn.f32.f16.f16.f32"));
	assert_false(DECODE("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32"));
	assert_false(DECODE("ldmatrix.sync.m8n8.x2.shared.b16"));
	assert_false(DECODE("ldmatrix.sync.aligned.m8n8.x2.shared::cluster.b16"));
	assert_false(DECODE("ldmatrix.sync.aligned.m8n8.x3.shared.b16"));
	assert_false(DECODE("ldmatrix.sync.aligned.m8n8.shared.b16"));
	assert_false(DECODE("movmatrix.sync.aligned.m8n8.b16"));
	assert_false(DECODE("mma"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mma_products_of_all_types_and_shapes),
		cmocka_unit_test(test_mma_of_quads_is_four_products_in_each_layout),
		cmocka_unit_test(test_mma_integer_sums_wrap_or_saturate),
		cmocka_unit_test(test_mma_floats_of_eight_bits_at_their_ends),
		cmocka_unit_test(test_mma_of_doubles_rounds_as_it_says),
		cmocka_unit_test(test_ldmatrix_gives_what_plain_loads_give),
		cmocka_unit_test(test_stmatrix_is_the_reverse_of_ldmatrix),
		cmocka_unit_test(test_movmatrix_transposes),
		cmocka_unit_test(test_gemm_of_tiles_equals_a_plain_product),
		cmocka_unit_test(test_tile_misuse_ends_the_kernel),
		cmocka_unit_test(test_mma_takes_constants_and_leaves_results_out),
		cmocka_unit_test(test_ldmatrix_takes_addresses_of_its_own_lanes_only),
		cmocka_unit_test(test_what_sm_90_has_not_is_refused_by_name),
		cmocka_unit_test(test_decode_of_mma_takes_what_a_driver_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
