/* What kernels print comes out, in order, before the wait returns. */
#include "check.h"

__global__ void hello(int from)
{
	printf("thread %d of block %d says %.2f %s\n", threadIdx.x, blockIdx.x, from + threadIdx.x / 4.0, "hello");
}

__global__ void fault(int *nowhere)
{
	printf("before the fault\n");
	*nowhere = 1;
}

/* With an argument: what was said before a fault is not lost. */
static int end_by_fault()
{
	fault<<<1, 1>>>((int *)8);
	return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}

int main(int argc, char **)
{
	if (argc > 1)
		return end_by_fault();
	for (int i = 0; i < 3; i++) {
		hello<<<1, 2>>>(i);
		CHECK(cudaDeviceSynchronize());
		printf("host %d\n", i);
		fflush(stdout);
	}
}
