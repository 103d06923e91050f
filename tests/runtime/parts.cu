/* A program of two files with kernels of the same name in each, and constants of its own: parts_more.cu. */
#include "check.h"

__constant__ int factor = 3;
static __device__ int calls;

static __global__ void scale(int *x)
{
	x[threadIdx.x] *= factor;
	if (threadIdx.x == 0)
		calls++;
}

void scale_there(int *x, int n);
int calls_there();

int main()
{
	int host[32], here = 0, *dev, five = 5;

	for (int i = 0; i < 32; i++)
		host[i] = i;
	CHECK(cudaMalloc(&dev, sizeof(host)));
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	scale<<<1, 32>>>(dev);
	scale_there(dev, 32);
	CHECK(cudaMemcpyToSymbol(factor, &five, sizeof(int)));
	scale<<<1, 32>>>(dev);
	CHECK(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 32; i++)
		EXPECT(host[i] == i * 3 * 10 * 5);
	CHECK(cudaMemcpyFromSymbol(&here, calls, sizeof(int)));
	EXPECT(here == 2 && calls_there() == 1);
}
