/*
 * As locks.cu, with memory of the heap taken and given back in the loop that waits. On an H200 (driver 580.159.04) this never ends natively: it is here
 * because an emulated device has to find its way out of it, and is not in the bundle for a GPU.
 */
#include "check.h"

#define BLOCKS	10
#define THREADS 32

__device__ bool try_swap(int *lock)
{
	return atomicCAS(lock, 0, 1) == 0;
}

__global__ void busy(int *words)
{
	volatile int *n = words + 1;

	for (int turn = 0; !try_swap(words); turn++) {
		void *p = malloc(8);

		if (turn > 1 << 30)
			printf("turn %d at %p\n", turn, p);
		free(p);
	}
	__threadfence();
	*n = *n + 1;
	__threadfence();
	atomicExch(words, 0);
}

int main()
{
	int *words, n;

	CHECK(cudaMalloc(&words, 2 * sizeof(*words)));
	CHECK(cudaMemset(words, 0, 2 * sizeof(*words)));
	busy<<<BLOCKS, THREADS>>>(words);
	CHECK(cudaMemcpy(&n, words + 1, sizeof(n), cudaMemcpyDeviceToHost));
	EXPECT(n == BLOCKS * THREADS);
	CHECK(cudaFree(words));
}
