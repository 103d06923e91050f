/* Reductions: shuffles in a warp, shared memory in a block, atomics over blocks; sum, least and most of a million. */
#include <climits>
#include <vector>

#include "check.h"

struct result {
	unsigned long long sum;
	int least, most;
};

__global__ void reduce(const int *in, int n, result *out)
{
	__shared__ long long sums[32];
	long long sum = 0;
	int least = INT_MAX, most = INT_MIN;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		sum += in[i];
		least = min(least, in[i]);
		most = max(most, in[i]);
	}
	for (int d = 16; d; d /= 2) {
		sum += __shfl_down_sync(~0u, sum, d);
		least = min(least, __shfl_xor_sync(~0u, least, d));
		most = max(most, __shfl_xor_sync(~0u, most, d));
	}
	if (threadIdx.x % 32 == 0) {
		sums[threadIdx.x / 32] = sum;
		atomicMin(&out->least, least);
		atomicMax(&out->most, most);
	}
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int w = 1; w < blockDim.x / 32; w++)
		sums[0] += sums[w];
	atomicAdd(&out->sum, (unsigned long long)sums[0]);
}

int main()
{
	const int n = 1 << 20;
	std::vector<int> in(n);
	result want = {0, INT_MAX, INT_MIN}, got = want, *out;
	unsigned x = 12345;
	int *dev;

	for (int &v : in) {
		x = x * 1664525 + 1013904223;
		v = (int)(x >> 8) - (1 << 23);
		want.sum += v;
		want.least = v < want.least ? v : want.least;
		want.most = v > want.most ? v : want.most;
	}
	CHECK(cudaMalloc(&dev, n * sizeof(int)));
	CHECK(cudaMalloc(&out, sizeof(result)));
	CHECK(cudaMemcpy(dev, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(out, &got, sizeof(got), cudaMemcpyHostToDevice));
	reduce<<<132, 256>>>(dev, n, out);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
	EXPECT(got.sum == want.sum);
	EXPECT(got.least == want.least && got.most == want.most);
	CHECK(cudaFree(dev));
	CHECK(cudaFree(out));
}
