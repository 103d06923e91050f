/* Host functions and callbacks run in the order of their stream, after what is before them and before what is behind. */
#include <atomic>
#include <vector>

#include "check.h"

__global__ void add(int *x, int by)
{
	*x += by;
}

static int *seen; /* pinned: what the device wrote before the host function ran */
static std::vector<int> order;

static void CUDART_CB note(void *number)
{
	order.push_back((int)(size_t)number + *seen);
}

static void CUDART_CB on_stream(cudaStream_t stream, cudaError_t status, void *number)
{
	EXPECT(status == cudaSuccess);
	note(number);
}

int main()
{
	cudaStream_t s;
	int *dev;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&dev, sizeof(int)));
	CHECK(cudaMemset(dev, 0, sizeof(int)));
	CHECK(cudaHostAlloc(&seen, sizeof(int), cudaHostAllocDefault));
	for (int i = 0; i < 4; i++) {
		add<<<1, 1, 0, s>>>(dev, 1);
		CHECK(cudaMemcpyAsync(seen, dev, sizeof(int), cudaMemcpyDeviceToHost, s));
		if (i % 2)
			CHECK(cudaLaunchHostFunc(s, note, (void *)(size_t)(100 * i)));
		else
			CHECK(cudaStreamAddCallback(s, on_stream, (void *)(size_t)(100 * i), 0));
	}
	CHECK(cudaStreamSynchronize(s));
	EXPECT((order == std::vector<int>{1, 102, 203, 304}));
	CHECK(cudaStreamDestroy(s));
}
