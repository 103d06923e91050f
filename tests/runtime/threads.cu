/* Eight threads, each with its stream and the per-thread default stream; first use of everything is a race. */
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

__device__ unsigned total;

__global__ void work(unsigned *out, int n, unsigned seed)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = seed * 2654435761u + i;
	if (i == 0)
		atomicAdd(&total, seed);
}

static void one(unsigned seed)
{
	const int n = 5000;
	std::vector<unsigned> host(n);
	cudaStream_t s;
	unsigned *dev;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&dev, n * sizeof(unsigned)));
	for (int round = 0; round < 10; round++) {
		cudaStream_t on = round % 2 ? s : cudaStreamPerThread;

		work<<<(n + 127) / 128, 128, 0, on>>>(dev, n, seed + round);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(host.data(), dev, n * sizeof(unsigned), cudaMemcpyDeviceToHost, on));
		CHECK(cudaStreamSynchronize(on));
		for (int i = 0; i < n; i++)
			EXPECT(host[i] == (seed + round) * 2654435761u + i);
	}
	CHECK(cudaFree(dev));
	CHECK(cudaStreamDestroy(s));
}

int main()
{
	std::vector<std::thread> threads;
	unsigned sum = 0, want = 0;

	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back(one, 100 * t);
	for (std::thread &t : threads)
		t.join();
	for (unsigned t = 0; t < 8; t++)
		want += 10 * 100 * t + 45;
	CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof(sum)));
	EXPECT(sum == want);
}
