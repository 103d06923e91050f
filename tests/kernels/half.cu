/* Half precision and bfloat as programs use them: pairs, comparisons, conversions, atomics. Needs the toolkit's headers, so nvcc alone makes it. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_axpy(__half2 a, const __half2 *x, __half2 *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __hfma2(a, x[i], y[i]);
}

extern "C" __global__ void bfloat_axpy(__nv_bfloat162 a, const __nv_bfloat162 *x, __nv_bfloat162 *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __hfma2_relu(a, x[i], y[i]);
}

/* Values above a limit are counted, the largest is kept, and all are scaled into single precision and back. */
extern "C" __global__ void half_filter(const __half *x, __half limit, float scale, __half *out, unsigned int *count, __half *largest, int n)
{
	__half most = __ushort_as_half(0xfc00);

	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		if (__hgt(x[i], limit))
			atomicAdd(count, 1u);
		most = __hmax(most, x[i]);
		out[i] = __float2half_rn(__half2float(x[i]) * scale);
	}
	for (int by = 16; by; by /= 2)
		most = __hmax(most, __shfl_xor_sync(0xffffffffu, most, by));
	if (threadIdx.x == 0)
		*largest = most;
}

extern "C" __global__ void half_sum(const __half2 *x, __half2 *sums, int n_sums)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&sums[i % n_sums], x[i]);
}
