/* What linked.cu and linked_more.cu have of each other. */
#ifndef GSB_TESTS_RUNTIME_LINKED_H
#define GSB_TESTS_RUNTIME_LINKED_H

typedef int unary(int);
typedef unary *unary_pointer;

extern __device__ int calls;	/* linked.cu */
extern __constant__ int factor; /* linked_more.cu, like the rest */
extern __device__ unary_pointer tripler;
__device__ int triple(int x);
__global__ void there(int *x);
void twice_there(int *x);

/* Both files have it, and one is left. */
template <typename T> __global__ void twice(T *x)
{
	x[threadIdx.x] *= 2;
}

#endif
