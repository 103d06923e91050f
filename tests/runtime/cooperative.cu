/* A cooperative launch: all blocks meet at a barrier of their own between two phases, ten times. */
#include "check.h"

/* A barrier over all blocks, by counting: each turn waits for as many arrivals as there are blocks. */
__device__ void meet(unsigned *arrived, unsigned turn)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		atomicAdd(arrived, 1);
		while (atomicAdd(arrived, 0) < turn * gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
}

/* Each turn every block adds up what all blocks had. */
__global__ void sums(unsigned *values, unsigned *arrived, int turns)
{
	for (int t = 0; t < turns; t++) {
		unsigned sum = 0;

		for (int b = 0; b < gridDim.x; b++)
			sum += ((volatile unsigned *)values)[b];
		meet(arrived, 2 * t + 1);
		if (threadIdx.x == 0)
			((volatile unsigned *)values)[blockIdx.x] = sum % 1000003 + blockIdx.x;
		meet(arrived, 2 * t + 2);
	}
}

int main()
{
	const int n = 16;
	unsigned want[n], got[n], *values, *arrived;
	int turns = 10, can = 0, per_sm = 0, sms = 0;
	void *args[] = {&values, &arrived, &turns};

	CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	EXPECT(can == 1);
	for (int b = 0; b < n; b++)
		want[b] = b + 1;
	CHECK(cudaMalloc(&values, sizeof(want)));
	CHECK(cudaMalloc(&arrived, sizeof(unsigned)));
	CHECK(cudaMemcpy(values, want, sizeof(want), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(arrived, 0, sizeof(unsigned)));
	CHECK(cudaLaunchCooperativeKernel(sums, dim3(n), dim3(32), args, 0, 0));
	CHECK(cudaMemcpy(got, values, sizeof(got), cudaMemcpyDeviceToHost));
	for (int t = 0; t < turns; t++) {
		unsigned sum = 0;

		for (int b = 0; b < n; b++)
			sum += want[b];
		for (int b = 0; b < n; b++)
			want[b] = sum % 1000003 + b;
	}
	for (int b = 0; b < n; b++)
		EXPECT(got[b] == want[b]);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sums, 32, 0));
	CHECK_IS(cudaLaunchCooperativeKernel(sums, dim3(per_sm * sms + 1), dim3(32), args, 0, 0),
		 cudaErrorCooperativeLaunchTooLarge);
}
