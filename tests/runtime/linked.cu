/*
 * A program of two files that are linked for the device, too (nvcc -rdc=true): functions, variables and constants of one are
 * used in the other, and what is static in each is its own: linked_more.cu.
 */
#include "check.h"
#include "linked.cuh"

__device__ int calls;
static __device__ int own = 100;

static __device__ int add_own(int x)
{
	return x + own;
}

__global__ void here(int *x)
{
	x[threadIdx.x] = add_own(triple(x[threadIdx.x])) * factor;
	atomicAdd(&calls, 1);
}

__global__ void through_pointer(unary_pointer *f, int *x)
{
	x[threadIdx.x] = (*f)(x[threadIdx.x]);
}

__global__ void compiled_for(int *sm)
{
#ifdef __CUDA_ARCH__
	*sm = __CUDA_ARCH__ / 10;
#endif
}

/* Not launched. NVIDIA's device runtime is linked because of it, and has PTX for newer GPUs alone. */
__global__ void asks_device_runtime(int *x)
{
	cudaGetDevice(x);
}

/* CUB looks for its kernel by this number. */
static void expect_ptx_version(int *dev)
{
	cudaFuncAttributes attrs;
	int sm = 0;

	compiled_for<<<1, 1>>>(dev);
	CHECK(cudaMemcpy(&sm, dev, sizeof(sm), cudaMemcpyDeviceToHost));
	CHECK(cudaFuncGetAttributes(&attrs, compiled_for));
	EXPECT(attrs.ptxVersion == sm);
	CHECK(cudaFuncGetAttributes(&attrs, there));
	EXPECT(attrs.ptxVersion == sm);
}

static void expect_all(const int *dev, int (*want)(int))
{
	int host[32];

	CHECK(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 32; i++)
		EXPECT(host[i] == want(i));
}

static void run()
{
	int host[32], n = 0, seven = 7, *dev;
	unary_pointer *f;

	for (int i = 0; i < 32; i++)
		host[i] = i;
	CHECK(cudaMalloc(&dev, sizeof(host)));
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	here<<<1, 32>>>(dev);
	CHECK(cudaGetLastError());
	expect_all(dev, [](int i) { return (3 * i + 100) * 5; });
	there<<<1, 32>>>(dev);
	expect_all(dev, [](int i) { return (3 * i + 100) * 5 + 1000; });
	twice<int><<<1, 32>>>(dev);
	twice_there(dev);
	expect_all(dev, [](int i) { return ((3 * i + 100) * 5 + 1000) * 4; });
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyToSymbol(factor, &seven, sizeof(int)));
	here<<<1, 32>>>(dev);
	expect_all(dev, [](int i) { return (3 * i + 100) * 7; });
	CHECK(cudaMemcpyFromSymbol(&n, calls, sizeof(int)));
	EXPECT(n == 96);
	CHECK(cudaGetSymbolAddress((void **)&f, tripler));
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	through_pointer<<<1, 32>>>(f, dev);
	expect_all(dev, [](int i) { return 3 * i; });
	expect_ptx_version(dev);
	CHECK(cudaFree(dev));
}

/* After a reset the code is loaded anew. */
int main()
{
	run();
	CHECK(cudaDeviceReset());
	run();
}
