/*
 * wmma.cu - d = a * b + c by the matrices of a warp, in each type that sm_80 has. Leading dimensions are larger
 * than the matrices, so that strides show.
 */
#ifdef __CUDACC__
#include <mma.h>

using namespace nvcuda;

#define KERNEL extern "C" __global__ void
#define LD     40 /* elements from line to line, of each matrix */

template <int M, int N, int K, class T, class A, class LA, class LB, class S>
__device__ void multiply(S *d, const A *a, const A *b, const S *c, wmma::layout_t layout)
{
	wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
	wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
	wmma::fragment<wmma::accumulator, M, N, K, S> fc;

	wmma::load_matrix_sync(fa, a, LD);
	wmma::load_matrix_sync(fb, b, LD);
	wmma::load_matrix_sync(fc, c, LD, layout);
	wmma::mma_sync(fc, fa, fb, fc);
	if constexpr (sizeof(S) > 2)
		for (int i = 0; i < fc.num_elements; i++)
			fc.x[i] = fc.x[i] * 2;
	wmma::store_matrix_sync(d, fc, LD, layout);
}

#define ROW wmma::row_major
#define COL wmma::col_major
#define ALL(name, M, N, K, T, A, S)                                                        \
	KERNEL name##_rr(S *d, const A *a, const A *b, const S *c)                         \
	{                                                                                  \
		multiply<M, N, K, T, A, ROW, ROW, S>(d, a, b, c, wmma::mem_row_major);     \
	}                                                                                  \
	KERNEL name##_cc(S *d, const A *a, const A *b, const S *c)                         \
	{                                                                                  \
		multiply<M, N, K, T, A, COL, COL, S>(d, a, b, c, wmma::mem_col_major);     \
	}
#define SHAPES(name, T, S)                       \
	ALL(name##_16, 16, 16, 16, T, T, S)      \
	ALL(name##_32, 32, 8, 16, T, T, S)       \
	ALL(name##_8, 8, 32, 16, T, T, S)

SHAPES(half_float, half, float)
SHAPES(half_half, half, half)
SHAPES(bf16, __nv_bfloat16, float)
SHAPES(s8, signed char, int)
SHAPES(u8, unsigned char, int)
ALL(tf32, 16, 16, 8, wmma::precision::tf32, float, float)
ALL(f64, 8, 8, 4, double, double, double)

/* Sums of one type become those of the other, element by element; through shared memory. */
KERNEL convert(half *d, const float *c)
{
	__shared__ __align__(32) float own[16 * 16];
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> h;

	for (int i = threadIdx.x; i < 256; i += 32)
		own[i] = c[i / 16 * LD + i % 16];
	__syncwarp();
	wmma::load_matrix_sync(f, own, 16, wmma::mem_row_major);
	for (int i = 0; i < f.num_elements; i++)
		h.x[i] = __float2half(f.x[i]);
	wmma::store_matrix_sync(d, h, LD, wmma::mem_row_major);
}

namespace ex = nvcuda::wmma::experimental;

/* 8 rows of a and 8 columns of b, 128 bits or 32 elements of 4 bits each; c is 5. */
template <int K, class T> __device__ void load_small(int *d, const int *a, const int *b, int op)
{
	wmma::fragment<wmma::matrix_a, 8, 8, K, T, ROW> fa;
	wmma::fragment<wmma::matrix_b, 8, 8, K, T, COL> fb;
	wmma::fragment<wmma::accumulator, 8, 8, K, int> fc;

	wmma::load_matrix_sync(fa, a, K);
	wmma::load_matrix_sync(fb, b, K);
	wmma::fill_fragment(fc, 5);
	if constexpr (K == 32)
		wmma::mma_sync(fc, fa, fb, fc);
	else if (op)
		wmma::bmma_sync(fc, fa, fb, fc, ex::bmmaBitOpAND, ex::bmmaAccumulateOpPOPC);
	else
		wmma::bmma_sync(fc, fa, fb, fc, ex::bmmaBitOpXOR, ex::bmmaAccumulateOpPOPC);
	wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}

KERNEL s4(int *d, const int *a, const int *b) { load_small<32, ex::precision::s4>(d, a, b, 0); }
KERNEL u4(int *d, const int *a, const int *b) { load_small<32, ex::precision::u4>(d, a, b, 0); }
KERNEL b1_and(int *d, const int *a, const int *b) { load_small<128, ex::precision::b1>(d, a, b, 1); }
KERNEL b1_xor(int *d, const int *a, const int *b) { load_small<128, ex::precision::b1>(d, a, b, 0); }
#endif
