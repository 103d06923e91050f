/* The other file of linked.cu. */
#include "check.h"
#include "linked.h"

__constant__ int factor = 5;
static __device__ int own = 1000;
__device__ unary_pointer tripler = triple;

static __device__ int add_own(int x)
{
	return x + own;
}

__device__ int triple(int x)
{
	return 3 * x;
}

__global__ void there(int *x)
{
	x[threadIdx.x] = add_own(x[threadIdx.x]);
	atomicAdd(&calls, 1);
}

void twice_there(int *x)
{
	twice<int><<<1, 32>>>(x);
	CHECK(cudaGetLastError());
}
