/* What kernels print comes out, in order, before the wait returns. */
#include "check.h"

__global__ void hello(int from)
{
	printf("thread %d of block %d says %.2f %s\n", threadIdx.x, blockIdx.x, from + threadIdx.x / 4.0, "hello");
}

int main()
{
	for (int i = 0; i < 3; i++) {
		hello<<<1, 2>>>(i);
		CHECK(cudaDeviceSynchronize());
		printf("host %d\n", i);
		fflush(stdout);
	}
}
