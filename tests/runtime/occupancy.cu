/* What a kernel needs and how many of its blocks fit: attributes, occupancy, the best block size, shared memory by request. */
#include <cstring>

#include "check.h"

__global__ void __launch_bounds__(512) stage(float *out)
{
	__shared__ float fixed[256];
	extern __shared__ float more[];

	fixed[threadIdx.x % 256] = out[threadIdx.x];
	more[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = fixed[(threadIdx.x + 1) % 256] + more[blockDim.x - 1 - threadIdx.x];
}

int main()
{
	const int big = 100 << 10;
	cudaFuncAttributes a;
	const char *name;
	size_t room = 0;
	float *x;
	int blocks = 0, fewer = 0, grid = 0, block = 0, per_block, optin;

	CHECK(cudaMalloc(&x, 1024 * sizeof(float)));
	CHECK(cudaMemset(x, 0, 1024 * sizeof(float)));
	CHECK(cudaFuncGetAttributes(&a, stage));
	EXPECT(a.sharedSizeBytes >= 256 * sizeof(float) && a.maxThreadsPerBlock == 512 && a.numRegs > 0);
	EXPECT(a.ptxVersion >= 50 && a.binaryVersion >= 50);
	CHECK(cudaFuncGetName(&name, (const void *)stage));
	EXPECT(strstr(name, "stage"));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stage, 512, 0));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, stage, 512, 40 << 10));
	EXPECT(blocks >= 1 && fewer >= 1 && fewer <= blocks);
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, stage, 0, 0));
	EXPECT(block > 0 && block <= 512 && grid > 0);
	CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, (const void *)stage, 1, 512));
	EXPECT(room > 0);

	CHECK(cudaDeviceGetAttribute(&per_block, cudaDevAttrMaxSharedMemoryPerBlock, 0));
	CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	EXPECT(per_block < big && big < optin);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stage, 64, big));
	EXPECT(blocks == 0); /* for a launch would be refused */
	stage<<<1, 64, big>>>(x);
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK(cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, big));
	stage<<<1, 64, big>>>(x);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFuncGetAttributes(&a, stage));
	EXPECT(a.maxDynamicSharedSizeBytes == big);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stage, 64, big));
	EXPECT(blocks > 0);
}
