/* Functions that stay functions: direct calls, recursion, a table of function pointers. */
#include "cuda_words.h"

static __device__ __noinline__ int add_mul(int a, int b, int64_t c)
{
	return (int)(a + b * c);
}

static __device__ __noinline__ int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __device__ __noinline__ unsigned int ackermann(unsigned int m, unsigned int n)
{
	if (m == 0)
		return n + 1;
	return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static __device__ __noinline__ int op_add(int a, int b)
{
	return a + b;
}

static __device__ __noinline__ int op_sub(int a, int b)
{
	return a - b;
}

static __device__ __noinline__ int op_xor(int a, int b)
{
	return a ^ b;
}

typedef int (*op_fn)(int, int);

__device__ op_fn ops[3] = {op_add, op_sub, op_xor};

KERNEL call_direct(const int *a, int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		out[i] = add_mul(a[i], i, 3) + add_mul(i, a[i], 1);
}

KERNEL call_recursive(int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		out[i] = fib(i % 12) + (int)ackermann(i % 3, i % 4);
}

KERNEL call_indirect(const int *which, const int *a, const int *b, int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		out[i] = ops[which[i]](a[i], b[i]);
}
