/* Variables of the module: initialised, zero, constant, pointers to one another. */
#include "cuda_words.h"

__constant__ float weights[4] = {0.5f, 1.0f, -2.0f, 0.25f};
__constant__ int table[8];
__device__ int counter = 5;
__device__ double origin = -1.5;
__device__ uint16_t codes[5] = {1, 2, 65535, 4};
__device__ int squares[6] = {0, 1, 4, 9, 16, 25};
__device__ char greeting[] = "hello";

/* Pointers from one variable to another are generic addresses; clang 14 cannot write them. */
#ifdef __CUDACC__
__device__ int *squares_from_two = &squares[2];

struct pair {
	char tag;
	const int *where;
	double value;
};
__device__ struct pair pairs[2] = {{'a', squares, 1.0}, {'b', squares + 5, 2.5}};

KERNEL use_pointers(int *out, float *fout, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	fout[i] = (float)pairs[i % 2].value;
	out[i] = squares_from_two[i % 4] + pairs[i % 2].tag + *pairs[i % 2].where;
}
#endif

KERNEL use_globals(int *out, float *fout, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	fout[i] = weights[i % 4] + (float)origin;
	out[i] = table[i % 8] + codes[i % 5] + squares[i % 6] + greeting[i % 6];
	ATOMIC_ADD(&counter, 1);
}

KERNEL read_counter(int *out)
{
	*out = counter;
}
