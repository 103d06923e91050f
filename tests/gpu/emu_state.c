/*
 * emu_state.c - kernels that keep state, on a real GPU and here, from the same PTX and the same bytes: barriers,
 * pipelines, asynchronous copies, matrices of a warp and their tiles, alloca, and what mbarrier tokens answer.
 *
 * Matrices are run on small whole numbers, whose sums are exact in any order: how hardware adds is not
 * published.
 *
 * Usage: emu_state. As emu_oracle: tests/ptx is needed, and without a driver it exits 77.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gpu.h"
#include "tests/unit/emu_harness.h"

#define BUFFER_BYTES 65536u
#define MAX_SHOWN    4

enum fill { BYTES, HALF, BF16, FLOAT, DOUBLE, INT8, E4M3, E5M2, INT4, BIT, INT32 };

struct kernel {
	const char *file, *name;
	int n_arrays;
	unsigned int grid, block, smem;
	int n;
	enum fill sum, factor;	 /* of arrays 0 and 3, of 1 and 2 */
	const enum fill *spread; /* instead, of each array: elements in 64 bits each */
};

static uint32_t seed = 1;
static unsigned int n_kernels, n_differ;

static int small(void)
{
	seed = seed * 1664525 + 1013904223;
	return (int)(seed >> 16) % 15 - 7;
}

static uint16_t short_float(int v, int fraction, int bias)
{
	uint32_t mag = (uint32_t)abs(v), e = 0;

	while (mag >> (e + 1))
		e++;
	return v ? (uint16_t)((v < 0) << 15 | (e + (uint32_t)bias) << fraction |
			      ((mag << fraction >> e) & ((1u << fraction) - 1)))
		 : 0;
}

static void put(unsigned char *p, enum fill fill, int v)
{
	uint16_t half = short_float(v, fill == HALF ? 10 : 7, fill == HALF ? 15 : 127);
	uint16_t quarter = short_float(abs(v), fill == E4M3 ? 3 : 2, fill == E4M3 ? 7 : 15);
	float f = (float)v;
	double d = v;

	switch (fill) {
	case HALF:
	case BF16: memcpy(p, &half, 2); break;
	case FLOAT: memcpy(p, &f, 4); break;
	case DOUBLE: memcpy(p, &d, 8); break;
	case E4M3:
	case E5M2: *p = (unsigned char)(quarter | (v < 0) << 7); break;
	case INT4: *p = v & 15; break;
	case BIT: *p = v & 1; break;
	case INT32: memcpy(p, &v, 4); break;
	default: *p = (unsigned char)v; break;
	}
}

static void fill_array(unsigned char *p, enum fill fill)
{
	static const unsigned char bytes[] = {1, 2, 2, 4, 8, 1, 1, 1, 1, 1, 4};

	for (uint32_t i = 0; i < BUFFER_BYTES; i += bytes[fill])
		put(p + i, fill, fill == BYTES ? small() * 37 : small());
}

static void spread_array(unsigned char *p, enum fill fill)
{
	memset(p, 0, BUFFER_BYTES);
	for (uint32_t i = 0; i < BUFFER_BYTES; i += 8)
		put(p + i, fill, fill == INT8 ? small() * 37 : small());
}

static void tell(const struct kernel *k, int nth, const uint32_t *gpu, const uint32_t *ours)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < BUFFER_BYTES / 4; i++) {
		if (gpu[i] != ours[i] && n++ < MAX_SHOWN)
			printf("\t%s array %d word %u: gpu 0x%x ours 0x%x\n", k->name, nth, i,
			       gpu[i], ours[i]);
	}
	if (n)
		printf("kernel %s of %.40s: array %d: %u words differ\n", k->name, k->file, nth, n);
	n_differ += n != 0;
}

static void run(const struct kernel *k)
{
	static uint32_t theirs[BUFFER_BYTES / 4];
	CUdeviceptr on_gpu[4];
	void *args[T_MAX_ARGS] = {0};
	uint32_t *ours[4];
	struct t_launch l = {
		.kernel = k->name, .grid = {k->grid}, .block = {k->block}, .smem_bytes = k->smem};
	bool is_text = k->file[0] == '.';
	CUmodule module = is_text ? gpu_load(k->file) : gpu_load_file(k->file);
	struct t_gpu g;
	int n = k->n;

	if (is_text)
		t_gpu_init(&g, k->file);
	else
		t_gpu_init_file(&g, k->file);
	for (int i = 0; i < k->n_arrays; i++) {
		ours[i] = t_alloc(&g, BUFFER_BYTES);
		if (k->spread)
			spread_array((unsigned char *)ours[i], k->spread[i]);
		else
			fill_array((unsigned char *)ours[i], i == 1 || i == 2 ? k->factor : k->sum);
		on_gpu[i] = gpu_copy_in(ours[i], BUFFER_BYTES);
		args[i] = &on_gpu[i];
		l.args[i] = &ours[i];
	}
	l.args[k->n_arrays] = args[k->n_arrays] = &n;
	gpu_call(module, &(struct gpu_call){k->name, {k->grid, 1}, {k->block, 1}, k->smem, args});
	if (t_launch(&g, &l))
		printf("%s: %s\n", k->name, g.fault.text);
	for (int i = 0; i < k->n_arrays; i++) {
		gpu_copy_out(theirs, on_gpu[i], BUFFER_BYTES);
		tell(k, i, theirs, ours[i]);
	}
	n_kernels++;
	t_gpu_finish(&g);
	gpu_unload(module);
}

/* ---- which ---- */

static void run_async(void)
{
	static const char *const files[] = {"tests/ptx/async.nvcc.ptx",
					    "tests/ptx/async.80.nvcc.ptx",
					    "tests/ptx/async.90.nvcc.ptx"};
	static const struct kernel kernels[] = {
		{NULL, "barrier_ring", 2, 8, 128, 0, 9, BYTES, BYTES, NULL},
		{NULL, "barrier_drop", 1, 8, 100, 0, 5, BYTES, BYTES, NULL},
		{NULL, "barrier_roles", 2, 1, 128, 0, 20, BYTES, BYTES, NULL},
		{NULL, "pipeline_block", 2, 1, 128, 8192, 7, BYTES, BYTES, NULL},
		{NULL, "pipeline_thread", 2, 1, 128, 0, 6, BYTES, BYTES, NULL},
		{NULL, "group_copy", 2, 1, 128, 8192, 1000, BYTES, BYTES, NULL},
		{NULL, "barrier_copy", 2, 1, 128, 8192, 1024, BYTES, BYTES, NULL},
	};

	for (size_t f = 0; f < GSB_ARRAY_LEN(files); f++) {
		for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++) {
			struct kernel k = kernels[i];

			k.file = files[f];
			run(&k);
		}
	}
}

static void run_matrices(void)
{
	static const struct {
		const char *name;
		enum fill sum, factor;
	} types[] = {{"half_float_16", FLOAT, HALF}, {"half_float_32", FLOAT, HALF},
		     {"half_float_8", FLOAT, HALF},  {"half_half_16", HALF, HALF},
		     {"half_half_32", HALF, HALF},   {"half_half_8", HALF, HALF},
		     {"bf16_16", FLOAT, BF16},	     {"bf16_32", FLOAT, BF16},
		     {"bf16_8", FLOAT, BF16},	     {"s8_16", BYTES, INT8},
		     {"s8_32", BYTES, INT8},	     {"s8_8", BYTES, INT8},
		     {"u8_16", BYTES, BYTES},	     {"u8_32", BYTES, BYTES},
		     {"u8_8", BYTES, BYTES},	     {"tf32", FLOAT, FLOAT},
		     {"f64", DOUBLE, DOUBLE}};
	static const char *const small_ones[] = {"s4", "u4", "b1_and", "b1_xor"};

	for (size_t i = 0; i < 2 * GSB_ARRAY_LEN(types); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_%s", types[i / 2].name, i % 2 ? "cc" : "rr");
		run(&(struct kernel){"tests/ptx/wmma.nvcc.ptx", name, 4, 1, 32, 0, 0,
				     types[i / 2].sum, types[i / 2].factor, NULL});
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(small_ones); i++)
		run(&(struct kernel){"tests/ptx/wmma.nvcc.ptx", small_ones[i], 3, 1, 32, 0, 0,
				     BYTES, BYTES, NULL});
	run(&(struct kernel){"tests/ptx/wmma.nvcc.ptx", "convert", 2, 1, 32, 0, 0, FLOAT, FLOAT,
			     NULL});
}

static void run_mma(void)
{
	static const struct {
		const char *name;
		enum fill a, b, sum;
	} products[] = {
		{"f16_8", HALF, HALF, FLOAT},		{"f16_16", HALF, HALF, FLOAT},
		{"half_8", HALF, HALF, HALF},		{"half_16", HALF, HALF, HALF},
		{"bf16_8", BF16, BF16, FLOAT},		{"bf16_16", BF16, BF16, FLOAT},
		{"tf32_4", FLOAT, FLOAT, FLOAT},	{"tf32_8", FLOAT, FLOAT, FLOAT},
		{"e4m3_e5m2_16", E4M3, E5M2, FLOAT},	{"e5m2_e4m3_32", E5M2, E4M3, FLOAT},
		{"e4m3_half_32", E4M3, E4M3, HALF},	{"s8_u8_8x16", INT8, INT8, INT32},
		{"u8_s8_16", INT8, INT8, INT32},	{"s8_s8_32", INT8, INT8, INT32},
		{"u8_u8_32", INT8, INT8, INT32},	{"s8_s8_32_sat", INT8, INT8, INT32},
		{"s4_u4_8x32", INT4, INT4, INT32},	{"u4_s4_32", INT4, INT4, INT32},
		{"s4_s4_64", INT4, INT4, INT32},	{"b1_xor_8x128", BIT, BIT, INT32},
		{"b1_and_128", BIT, BIT, INT32},	{"b1_xor_256", BIT, BIT, INT32},
		{"b1_and_256", BIT, BIT, INT32},	{"f64_8x4", DOUBLE, DOUBLE, DOUBLE},
		{"f64_4", DOUBLE, DOUBLE, DOUBLE},	{"f64_8", DOUBLE, DOUBLE, DOUBLE},
		{"f64_16", DOUBLE, DOUBLE, DOUBLE},	{"f64_8x4_rz", DOUBLE, DOUBLE, DOUBLE},
		{"f64_8x4_rm", DOUBLE, DOUBLE, DOUBLE}, {"f64_8x4_rp", DOUBLE, DOUBLE, DOUBLE},
		{"quad_float_rc", HALF, HALF, FLOAT},	{"quad_float_cr", HALF, HALF, FLOAT},
		{"quad_half_rr", HALF, HALF, HALF},	{"quad_mixed_cc", HALF, HALF, HALF}};
	static const char *const moves[] = {"load_1",	      "load_2",	       "load_4",
					    "load_1_trans",   "load_2_trans",  "load_4_trans",
					    "load_4_generic", "store_1",       "store_2",
					    "store_4",	      "store_4_trans", "transpose"};

	for (size_t i = 0; i < GSB_ARRAY_LEN(products); i++) {
		const enum fill fills[] = {products[i].sum, products[i].a, products[i].b,
					   products[i].sum};

		run(&(struct kernel){"tests/ptx/mma.nvcc.ptx", products[i].name, 4, 1, 32, 0, 0,
				     BYTES, BYTES, fills});
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(moves); i++)
		run(&(struct kernel){"tests/ptx/mma.nvcc.ptx", moves[i], 2, 1, 32, 0, 0, BYTES,
				     BYTES, NULL});
}

/* Pending counts of the tokens of three arrivals, and which phases are over after each, by token and parity. */
static const char tokens_ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".visible .entry tokens(.param .u64 out, .param .u32 n) {\n"
	".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 8 .b64 bar;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, 0;\n"
	"mbarrier.init.shared.b64 [bar], 3; mbarrier.arrive.shared.b64 %rd2, [bar];\n"
	"again: mbarrier.pending_count.b64 %r2, %rd2; st.global.u32 [%rd1], %r2;\n"
	"mbarrier.test_wait.shared.b64 %p1, [bar], %rd2; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+4], %r2;\n"
	"mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+8], %r2;\n"
	"mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%rd1+12], %r2;\n"
	"mbarrier.arrive.shared.b64 %rd2, [bar]; add.u64 %rd1, %rd1, 16; add.u32 %r1, %r1, 1;\n"
	"setp.lt.u32 %p1, %r1, 8; @%p1 bra again; ret; }\n";

int main(void)
{
	gpu_start("");
	run(&(struct kernel){tokens_ptx, "tokens", 1, 1, 1, 0, 0, BYTES, BYTES, NULL});
	run_async();
	run_matrices();
	run_mma();
	run(&(struct kernel){"tests/ptx/heap.nvcc.ptx", "stack_sum", 1, 1, 32, 0, 50, BYTES, BYTES,
			     NULL});
	printf("# %u kernels: %u arrays differ\n", n_kernels, n_differ);
	return 0;
}
