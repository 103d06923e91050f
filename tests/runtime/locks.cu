/* Made with -G, so that what looks whether a lock is free is a function that is called: threads of all blocks count, one at a time. */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include "check.h"

#define BLOCKS	10
#define THREADS 32

typedef cuda::barrier<cuda::thread_scope_device> barrier_t;

__device__ bool try_exchange(int *lock)
{
	return atomicExch(lock, 1) == 0;
}

__device__ bool try_swap(int *lock)
{
	return atomicCAS(lock, 0, 1) == 0;
}

__device__ bool try_deep(int *lock, int n)
{
	return n ? try_deep(lock, n - 1) : try_swap(lock);
}

typedef bool try_fn(int *);
__device__ try_fn *ways[] = {try_exchange, try_swap};

/* What the lock is there for. */
__device__ void count(int *words)
{
	volatile int *n = words + 1;

	__threadfence();
	*n = *n + 1;
	__threadfence();
}

__global__ void direct(int *words)
{
	while (!try_swap(words))
		;
	count(words);
	atomicExch(words, 0);
}

__global__ void by_address(int *words)
{
	while (!ways[threadIdx.x % 2](words))
		;
	count(words);
	atomicExch(words, 0);
}

__global__ void recursive(int *words)
{
	while (!try_deep(words, threadIdx.x % 3))
		;
	count(words);
	atomicExch(words, 0);
}

/* In order of arrival. */
__global__ void tickets(int *words)
{
	cuda::atomic_ref<int, cuda::thread_scope_device> next(words[2]), served(words[3]);
	int mine = next.fetch_add(1);

	while (served.load() != mine)
		;
	count(words);
	served.fetch_add(1);
}

__global__ void of_the_block(int *words)
{
	__shared__ int own[2];

	if (threadIdx.x == 0)
		own[0] = own[1] = 0;
	__syncthreads();
	while (!try_swap(own))
		;
	count(own);
	atomicExch(own, 0);
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(words + 1, own[1]);
}

__global__ void of_the_grid(int *words)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();

	for (int i = 0; i < BLOCKS; i++) {
		if (blockIdx.x == i && threadIdx.x == i)
			words[1] += THREADS;
		grid.sync();
	}
}

__global__ void begin(barrier_t *meet, int n)
{
	init(meet, n);
}

__global__ void at_a_barrier(int *words, barrier_t *meet)
{
	for (int i = 0; i < BLOCKS; i++) {
		if (blockIdx.x == i && threadIdx.x == i)
			words[1] += THREADS;
		meet->arrive_and_wait();
	}
}

int main()
{
	void (*kernels[])(int *) = {direct, by_address, recursive, tickets, of_the_block, of_the_grid};
	barrier_t *meet;
	int *words, n;
	void *args[] = {&words, &meet};

	CHECK(cudaMalloc(&words, 4 * sizeof(*words)));
	CHECK(cudaMalloc(&meet, sizeof(*meet)));
	for (auto kernel : kernels) {
		CHECK(cudaMemset(words, 0, 4 * sizeof(*words)));
		CHECK(cudaLaunchCooperativeKernel(kernel, dim3(BLOCKS), dim3(THREADS), args, 0, 0));
		CHECK(cudaMemcpy(&n, words + 1, sizeof(n), cudaMemcpyDeviceToHost));
		EXPECT(n == BLOCKS * THREADS);
	}
	CHECK(cudaMemset(words, 0, 4 * sizeof(*words)));
	begin<<<1, 1>>>(meet, BLOCKS * THREADS);
	CHECK(cudaLaunchCooperativeKernel(at_a_barrier, dim3(BLOCKS), dim3(THREADS), args, 0, 0));
	CHECK(cudaMemcpy(&n, words + 1, sizeof(n), cudaMemcpyDeviceToHost));
	EXPECT(n == BLOCKS * THREADS);
	CHECK(cudaFree(meet));
	CHECK(cudaFree(words));
}
