/*
 * mma.cu - d = a * b + c by mma.sync in each shape and type of sm_90, and the moves of tiles around it: ldmatrix,
 * stmatrix, movmatrix.
 *
 * Matrices are in memory row after row, one element in 64 bits, whatever its type: so the kernels place each element in
 * its register by itself, by the formulas that the PTX manual gives for each shape, and nothing else has a say in it.
 */
#ifdef __CUDACC__
#include <cuda_fp16.h>

/* Blocks are of one warp, that is what the elements are placed by, but for gemm's. */
#define KERNEL extern "C" __global__ void __launch_bounds__(32)
typedef unsigned long long u64;
typedef unsigned int u32;

#define GROUP (threadIdx.x / 4)
#define IN_GROUP (threadIdx.x % 4)

/* ---- where the i-th element of a lane is: n elements in a register ---- */

template <int M, int N> __device__ int row_of_a(int i)
{
	if (M == 8)
		return GROUP;
	return i < N || (i >= 2 * N && i < 3 * N) || (i >= 4 * N && i % 2 == 0) ? GROUP : GROUP + 8;
}

template <int M, int N> __device__ int col_of_a(int i)
{
	if (i >= 4 * N) /* 16 of .f64 */
		return (i % 2 == 0 ? i * 2 : i * 2 - 2) + IN_GROUP;
	return IN_GROUP * N + i % N + (i >= 2 * N ? 4 * N : 0);
}

template <int N> __device__ int row_of_b(int i) { return IN_GROUP * N + i % N + i / N * 4 * N; }
__device__ int col_of_b() { return GROUP; }
__device__ int row_of_c(int i) { return i < 2 ? GROUP : GROUP + 8; }
__device__ int col_of_c(int i) { return IN_GROUP * 2 + (i & 1); }

/* ---- fragments ---- */

template <int M, int K, int BITS, int REGS, class R> __device__ void load_a(R *r, const u64 *a)
{
	const int n = sizeof(R) * 8 / BITS;

	for (int i = 0; i < REGS; i++)
		r[i] = 0;
	for (int i = 0; i < REGS * n; i++)
		r[i / n] |= (R)a[row_of_a<M, n>(i) * K + col_of_a<M, n>(i)] << i % n * (BITS % 64);
}

template <int BITS, int REGS, class R> __device__ void load_b(R *r, const u64 *b)
{
	const int n = sizeof(R) * 8 / BITS;

	for (int i = 0; i < REGS; i++)
		r[i] = 0;
	for (int i = 0; i < REGS * n; i++)
		r[i / n] |= (R)b[row_of_b<n>(i) * 8 + col_of_b()] << i % n * (BITS % 64);
}

template <int BITS, int REGS, class R> __device__ void load_c(R *r, const u64 *c)
{
	const int n = sizeof(R) * 8 / BITS;

	for (int i = 0; i < REGS; i++)
		r[i] = 0;
	for (int i = 0; i < REGS * n; i++)
		r[i / n] |= (R)c[row_of_c(i) * 8 + col_of_c(i)] << i % n * (BITS % 64);
}

template <int BITS, int REGS, class R> __device__ void store_d(u64 *d, const R *r)
{
	const int n = sizeof(R) * 8 / BITS;

	for (int i = 0; i < REGS * n; i++)
		d[row_of_c(i) * 8 + col_of_c(i)] =
			r[i / n] >> i % n * (BITS % 64) & (BITS == 64 ? ~0ull : (1ull << BITS % 64) - 1);
}

/* ---- products ---- */

#define MMA_2_1_1(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name " {%0,%1}, {%2}, {%3}, {%4,%5};"                     \
		     : "=" o(d[0]), "=" o(d[1])                                                    \
		     : o(a[0]), o(b[0]), o(c[0]), o(c[1]))
#define MMA_2_2_1(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name " {%0,%1}, {%2,%3}, {%4}, {%5,%6};"                  \
		     : "=" o(d[0]), "=" o(d[1])                                                    \
		     : o(a[0]), o(a[1]), o(b[0]), o(c[0]), o(c[1]))
#define MMA_2_4_2(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"         \
		     : "=" o(d[0]), "=" o(d[1])                                                    \
		     : o(a[0]), o(a[1]), o(a[2]), o(a[3]), o(b[0]), o(b[1]), o(c[0]), o(c[1]))
#define MMA_4_2_1(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"     \
		     : "=" o(d[0]), "=" o(d[1]), "=" o(d[2]), "=" o(d[3])                          \
		     : o(a[0]), o(a[1]), o(b[0]), o(c[0]), o(c[1]), o(c[2]), o(c[3]))
#define MMA_4_4_2(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name                                                      \
		     " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                  \
		     : "=" o(d[0]), "=" o(d[1]), "=" o(d[2]), "=" o(d[3])                          \
		     : o(a[0]), o(a[1]), o(a[2]), o(a[3]), o(b[0]), o(b[1]), o(c[0]), o(c[1]),     \
		       o(c[2]), o(c[3]))
#define MMA_4_8_4(name, o)                                                                         \
	asm volatile("mma.sync.aligned." name                                                      \
		     " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "            \
		     "{%16,%17,%18,%19};"                                                          \
		     : "=" o(d[0]), "=" o(d[1]), "=" o(d[2]), "=" o(d[3])                          \
		     : o(a[0]), o(a[1]), o(a[2]), o(a[3]), o(a[4]), o(a[5]), o(a[6]), o(a[7]),     \
		       o(b[0]), o(b[1]), o(b[2]), o(b[3]), o(c[0]), o(c[1]), o(c[2]), o(c[3]))

/* Registers of a lane are NC, NA, NB, of type R; elements of factors have BITS, sums CBITS. */
#define PRODUCT(id, name, M, K, R, BITS, CBITS, NC, NA, NB, ASM)                                   \
	KERNEL id(u64 *out, const u64 *ma, const u64 *mb, const u64 *mc)                           \
	{                                                                                          \
		R a[NA], b[NB], c[NC], d[NC];                                                      \
                                                                                                   \
		load_a<M, K, BITS, NA>(a, ma);                                                     \
		load_b<BITS, NB>(b, mb);                                                           \
		load_c<CBITS, NC>(c, mc);                                                          \
		ASM;                                                                               \
		store_d<CBITS, NC>(out, d);                                                        \
	}
#define WORDS(id, name, M, K, BITS, CBITS, NC, NA, NB)                                             \
	PRODUCT(id, name, M, K, u32, BITS, CBITS, NC, NA, NB, MMA_##NC##_##NA##_##NB(name, "r"))
#define LONGS(id, name, M, K, NC, NA, NB)                                                          \
	PRODUCT(id, name, M, K, u64, 64, 64, NC, NA, NB, MMA_##NC##_##NA##_##NB(name, "l"))

WORDS(f16_8, "m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, 32, 4, 2, 1)
WORDS(f16_16, "m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 16, 32, 4, 4, 2)
WORDS(half_8, "m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 16, 16, 2, 2, 1)
WORDS(half_16, "m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 16, 16, 2, 4, 2)
WORDS(bf16_8, "m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, 32, 4, 2, 1)
WORDS(bf16_16, "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, 32, 4, 4, 2)
WORDS(tf32_4, "m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, 32, 4, 2, 1)
WORDS(tf32_8, "m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 32, 4, 4, 2)
WORDS(e4m3_e5m2_16, "m16n8k16.row.col.f32.e4m3.e5m2.f32", 16, 16, 8, 32, 4, 2, 1)
WORDS(e5m2_e4m3_32, "m16n8k32.row.col.f32.e5m2.e4m3.f32", 16, 32, 8, 32, 4, 4, 2)
WORDS(e4m3_half_32, "m16n8k32.row.col.f16.e4m3.e4m3.f16", 16, 32, 8, 16, 2, 4, 2)
WORDS(s8_u8_8x16, "m8n8k16.row.col.s32.s8.u8.s32", 8, 16, 8, 32, 2, 1, 1)
WORDS(u8_s8_16, "m16n8k16.row.col.s32.u8.s8.s32", 16, 16, 8, 32, 4, 2, 1)
WORDS(s8_s8_32, "m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 8, 32, 4, 4, 2)
WORDS(u8_u8_32, "m16n8k32.row.col.s32.u8.u8.s32", 16, 32, 8, 32, 4, 4, 2)
WORDS(s8_s8_32_sat, "m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 32, 8, 32, 4, 4, 2)
WORDS(s4_u4_8x32, "m8n8k32.row.col.s32.s4.u4.s32", 8, 32, 4, 32, 2, 1, 1)
WORDS(u4_s4_32, "m16n8k32.row.col.s32.u4.s4.s32", 16, 32, 4, 32, 4, 2, 1)
WORDS(s4_s4_64, "m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 4, 32, 4, 4, 2)
WORDS(b1_xor_8x128, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 128, 1, 32, 2, 1, 1)
WORDS(b1_and_128, "m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 128, 1, 32, 4, 2, 1)
WORDS(b1_xor_256, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 256, 1, 32, 4, 4, 2)
WORDS(b1_and_256, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 256, 1, 32, 4, 4, 2)
LONGS(f64_8x4, "m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 2, 1, 1)
LONGS(f64_4, "m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 4, 2, 1)
LONGS(f64_8, "m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 4, 4, 2)
LONGS(f64_16, "m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 4, 8, 4)
LONGS(f64_8x4_rz, "m8n8k4.row.col.f64.f64.f64.f64.rz", 8, 4, 2, 1, 1)
LONGS(f64_8x4_rm, "m8n8k4.row.col.f64.f64.f64.f64.rm", 8, 4, 2, 1, 1)
LONGS(f64_8x4_rp, "m8n8k4.row.col.f64.f64.f64.f64.rp", 8, 4, 2, 1, 1)

/* ---- m8n8k4 of .f16: four products, each by the lanes of a quad and those 16 further ---- */

#define QUAD	 (threadIdx.x % 16 / 4)
#define UPPER	 (threadIdx.x >= 16 ? 4 : 0)
#define VOLTA_AB " {%8,%9}, {%10,%11},"

template <bool COL> __device__ void load_quad_a(u32 *r, const u64 *a)
{
	a += QUAD * 32;
	r[0] = r[1] = 0;
	for (int i = 0; i < 4; i++) {
		int row = COL ? i % 4 + UPPER : threadIdx.x % 4 + UPPER;
		int col = COL ? threadIdx.x % 4 : i;

		r[i / 2] |= (u32)a[row * 4 + col] << i % 2 * 16;
	}
}

template <bool COL> __device__ void load_quad_b(u32 *r, const u64 *b)
{
	b += QUAD * 32;
	r[0] = r[1] = 0;
	for (int i = 0; i < 4; i++) {
		int row = COL ? i : threadIdx.x % 4;
		int col = COL ? threadIdx.x % 4 + UPPER : i + UPPER;

		r[i / 2] |= (u32)b[row * 8 + col] << i % 2 * 16;
	}
}

__device__ int place_of_half(int i) { return (threadIdx.x % 4 + UPPER) * 8 + i; }

__device__ int place_of_float(int i)
{
	int row = (threadIdx.x & 1) + (i & 2) + UPPER;

	return row * 8 + (i & 4) + (threadIdx.x & 2) + (i & 1);
}

template <bool HALF> __device__ void load_quad_c(u32 *r, const u64 *c)
{
	c += QUAD * 64;
	for (int i = 0; i < 8; i++)
		r[i] = HALF && i > 3 ? 0
		       : HALF	     ? (u32)(c[place_of_half(2 * i)] | c[place_of_half(2 * i + 1)] << 16)
				     : (u32)c[place_of_float(i)];
}

template <bool HALF> __device__ void store_quad_d(u64 *d, const u32 *r)
{
	d += QUAD * 64;
	for (int i = 0; i < 8; i++) {
		if (HALF)
			d[place_of_half(i)] = r[i / 2] >> i % 2 * 16 & 0xffff;
		else
			d[place_of_float(i)] = r[i];
	}
}

#define SUMS_8 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
#define SUMS_4 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define FACTORS "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1])
#define QUADS(id, COL_A, COL_B, HALF_D, HALF_C, text, outs, ...)                                   \
	KERNEL id(u64 *out, const u64 *ma, const u64 *mb, const u64 *mc)                           \
	{                                                                                          \
		u32 a[2], b[2], c[8], d[8];                                                        \
                                                                                                   \
		load_quad_a<COL_A>(a, ma);                                                         \
		load_quad_b<COL_B>(b, mb);                                                         \
		load_quad_c<HALF_C>(c, mc);                                                        \
		asm volatile("mma.sync.aligned.m8n8k4." text : outs : FACTORS, __VA_ARGS__);       \
		store_quad_d<HALF_D>(out, d);                                                      \
	}
#define C_4 "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
#define C_8 C_4, "r"(c[4]), "r"(c[5]), "r"(c[6]), "r"(c[7])
#define D_8 " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "

QUADS(quad_float_rc, false, true, false, false,
      "row.col.f32.f16.f16.f32" D_8 "{%12,%13,%14,%15,%16,%17,%18,%19};", SUMS_8, C_8)
QUADS(quad_float_cr, true, false, false, false,
      "col.row.f32.f16.f16.f32" D_8 "{%12,%13,%14,%15,%16,%17,%18,%19};", SUMS_8, C_8)
QUADS(quad_half_rr, false, false, true, true,
      "row.row.f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11};", SUMS_4, C_4)
QUADS(quad_mixed_cc, true, true, false, true,
      "col.col.f32.f16.f16.f16" D_8 "{%12,%13,%14,%15};", SUMS_8, C_4)

/* ---- tiles ---- */

#define ROW_HALVES 24 /* of a row in shared memory, 8 of them in use */
#define ROW_OF(i)  ((i) * 5 % 32) /* the rows of a tile are not in order */

__device__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

#define OUT_1 "=r"(r[0])
#define OUT_2 OUT_1, "=r"(r[1])
#define OUT_4 OUT_2, "=r"(r[2]), "=r"(r[3])
#define IN_1 "r"(r[0])
#define IN_2 IN_1, "r"(r[1])
#define IN_4 IN_2, "r"(r[2]), "r"(r[3])

/* 32 rows of 8 halves; -> four words of each lane */
#define LOAD_TILES(id, n, regs, at, o, p)                                                          \
	KERNEL id(u32 *out, const unsigned short *in)                                              \
	{                                                                                          \
		__shared__ __align__(16) unsigned short rows[32 * ROW_HALVES];                     \
		const void *own = rows + ROW_OF(threadIdx.x) * ROW_HALVES;                         \
		u32 r[4] = {0, 0, 0, 0};                                                           \
                                                                                                   \
		for (int i = threadIdx.x; i < 32 * 8; i += 32)                                     \
			rows[i / 8 * ROW_HALVES + i % 8] = in[i];                                  \
		__syncwarp();                                                                      \
		asm volatile("ldmatrix.sync.aligned.m8n8." id##_text " {" regs "}, [" at "];"      \
			     : OUT_##n                                                             \
			     : o(p)                                                                \
			     : "memory");                                                          \
		for (int i = 0; i < 4; i++)                                                        \
			out[threadIdx.x * 4 + i] = r[i];                                           \
	}
#define load_1_text "x1.shared.b16"
#define load_2_text "x2.shared.b16"
#define load_4_text "x4.shared.b16"
#define load_1_trans_text "x1.trans.shared.b16"
#define load_2_trans_text "x2.trans.shared.b16"
#define load_4_trans_text "x4.trans.shared.b16"
#define load_4_generic_text "x4.b16"
LOAD_TILES(load_1, 1, "%0", "%1", "r", shared_address(own))
LOAD_TILES(load_2, 2, "%0,%1", "%2", "r", shared_address(own))
LOAD_TILES(load_4, 4, "%0,%1,%2,%3", "%4", "r", shared_address(own))
LOAD_TILES(load_1_trans, 1, "%0", "%1", "r", shared_address(own))
LOAD_TILES(load_2_trans, 2, "%0,%1", "%2", "r", shared_address(own))
LOAD_TILES(load_4_trans, 4, "%0,%1,%2,%3", "%4", "r", shared_address(own))
LOAD_TILES(load_4_generic, 4, "%0,%1,%2,%3", "%4", "l", own)

/* Four words of each lane; -> 32 rows of 8 halves, as they are then in shared memory */
#define STORE_TILES(id, n, regs, at)                                                               \
	KERNEL id(unsigned short *out, const u32 *in)                                              \
	{                                                                                          \
		__shared__ __align__(16) unsigned short rows[32 * ROW_HALVES];                     \
		u32 r[4], own = shared_address(rows + ROW_OF(threadIdx.x) * ROW_HALVES);           \
                                                                                                   \
		for (int i = 0; i < 4; i++)                                                        \
			r[i] = in[threadIdx.x * 4 + i];                                            \
		for (int i = threadIdx.x; i < 32 * ROW_HALVES; i += 32)                            \
			rows[i] = 0xffff;                                                          \
		__syncwarp();                                                                      \
		asm volatile("stmatrix.sync.aligned.m8n8." id##_text " [" at "], {" regs "};"      \
			     :                                                                     \
			     : IN_##n, "r"(own)                                                    \
			     : "memory");                                                          \
		__syncwarp();                                                                      \
		for (int i = threadIdx.x; i < 32 * 8; i += 32)                                     \
			out[i] = rows[i / 8 * ROW_HALVES + i % 8];                                 \
	}
#define store_1_text "x1.shared.b16"
#define store_2_text "x2.shared.b16"
#define store_4_text "x4.shared.b16"
#define store_4_trans_text "x4.trans.shared.b16"
STORE_TILES(store_1, 1, "%0", "%1")
STORE_TILES(store_2, 2, "%0,%1", "%2")
STORE_TILES(store_4, 4, "%0,%1,%2,%3", "%4")
STORE_TILES(store_4_trans, 4, "%0,%1,%2,%3", "%4")

KERNEL transpose(u32 *out, const u32 *in)
{
	u32 d;

	asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(in[threadIdx.x]));
	out[threadIdx.x] = d;
}

/* ---- as programs use them: a block of 128 threads multiplies 64 x 32 by 32 x 64, tile after tile ---- */

#define SIDE  64
#define DEPTH 32

__device__ void copy_16(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
		     :
		     : "r"(shared_address(to)), "l"(from)
		     : "memory");
}

__device__ void load_tile(half *to, int to_ld, const half *from, int from_ld, int rows, int cols)
{
	for (int i = threadIdx.x; i < rows * cols / 8; i += blockDim.x) {
		int row = i / (cols / 8), col = i % (cols / 8) * 8;

		copy_16(to + row * to_ld + col, from + row * from_ld + col);
	}
}

/* d = a * b, row after row; n and k are multiples of 64 and 32. */
extern "C" __global__ void __launch_bounds__(128) gemm(float *d, const half *a, const half *b, int n, int k)
{
	__shared__ __align__(16) half sa[SIDE][DEPTH + 8], sb[DEPTH][SIDE + 8];
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	float c[8][4] = {};

	a += (size_t)blockIdx.y * SIDE * k;
	b += blockIdx.x * SIDE;
	for (int at = 0; at < k; at += DEPTH) {
		load_tile(&sa[0][0], DEPTH + 8, a + at, k, SIDE, DEPTH);
		load_tile(&sb[0][0], SIDE + 8, b + (size_t)at * n, n, DEPTH, SIDE);
		asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
		__syncthreads();
		for (int step = 0; step < DEPTH; step += 16) {
			u32 fa[4];

			asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
				     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
				     : "r"(shared_address(
					     &sa[warp * 16 + lane % 16][step + lane / 16 * 8])));
			for (int j = 0; j < 8; j++) {
				u32 fb[2];

				asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
					     : "=r"(fb[0]), "=r"(fb[1])
					     : "r"(shared_address(&sb[step + lane % 16][j * 8])));
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
					     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
					     : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
					     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]),
					       "r"(fb[0]), "r"(fb[1]));
			}
		}
		__syncthreads();
	}
	d += ((size_t)blockIdx.y * SIDE + warp * 16) * n + blockIdx.x * SIDE;
	for (int j = 0; j < 8; j++) {
		for (int i = 0; i < 4; i++)
			d[(lane / 4 + i / 2 * 8) * n + j * 8 + lane % 4 * 2 + i % 2] = c[j][i];
	}
}
#endif
