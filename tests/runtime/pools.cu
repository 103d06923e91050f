/* Memory in the order of streams: allocated, used and freed without a wait between; the device's pool. */
#include <cstdint>

#include "check.h"

__global__ void fill(int *x, int n, int value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value + i;
}

static void of_a_place(cudaMemPool_t of_device)
{
	cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
	cudaMemPool_t pool;

	CHECK(cudaMemGetDefaultMemPool(&pool, &here, cudaMemAllocationTypePinned));
	EXPECT(pool == of_device);
	CHECK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, pool));
	CHECK(cudaMemGetMemPool(&pool, &here, cudaMemAllocationTypePinned));
	EXPECT(pool == of_device);
}

__global__ void last(int *x, long long clocks)
{
	long long begin = clock64();

	while (clock64() - begin < clocks)
		;
	*x = 1;
}

/* More than there is at once: what a stream has yet to free is had again, there and in others. */
static void behind_frees(void)
{
	cudaStream_t s[2];
	size_t room, total;
	int *x;

	CHECK(cudaMemGetInfo(&room, &total));
	for (cudaStream_t &of : s)
		CHECK(cudaStreamCreateWithFlags(&of, cudaStreamNonBlocking));
	for (int round = 0; round < 6; round++) {
		CHECK(cudaMallocAsync(&x, room / 3 * 2, s[round / 3]));
		last<<<1, 1, 0, s[round / 3]>>>(x, 1000000);
		CHECK(cudaFreeAsync(x, s[round / 3]));
	}
	CHECK(cudaDeviceSynchronize());
	for (cudaStream_t of : s)
		CHECK(cudaStreamDestroy(of));
	CHECK_IS(cudaMallocAsync(&x, total * 2, 0), cudaErrorMemoryAllocation);
	CHECK_IS(cudaGetLastError(), cudaErrorMemoryAllocation);
}

int main()
{
	const int n = 10000;
	cudaMemPool_t pool;
	cudaStream_t s;
	uint64_t keep = UINT64_MAX, none = 0, used = 1;
	int *x, *host, supported = 0;

	CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
	EXPECT(supported == 1);
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMallocHost(&host, n * sizeof(int)));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	for (int round = 0; round < 8; round++) {
		if (round % 2)
			CHECK(cudaMallocAsync(&x, n * sizeof(int), s));
		else
			CHECK(cudaMallocFromPoolAsync(&x, n * sizeof(int), pool, s));
		fill<<<(n + 255) / 256, 256, 0, s>>>(x, n, round);
		CHECK(cudaMemcpyAsync(host, x, n * sizeof(int), cudaMemcpyDeviceToHost, s));
		CHECK(cudaFreeAsync(x, s));
		CHECK(cudaStreamSynchronize(s));
		for (int i = 0; i < n; i++)
			EXPECT(host[i] == round + i);
	}
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	EXPECT(used == 0);
	CHECK(cudaMemPoolTrimTo(pool, 0));
	CHECK(cudaMallocAsync(&x, 0, s));
	EXPECT(!x);
	CHECK(cudaFreeAsync(x, s));
	of_a_place(pool);
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &none));
	behind_frees();
	CHECK(cudaFreeHost(host));
	CHECK(cudaStreamDestroy(s));
}
