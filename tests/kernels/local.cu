/* Arrays that the compiler cannot keep in registers: local memory. */
#include "cuda_words.h"

KERNEL local_sort(int *io, int n)
{
	int i = CTA_X * NTID_X + TID_X, v[24];

	if (i >= n)
		return;
	for (int k = 0; k < 24; k++)
		v[k] = io[i * 24 + k];
	for (int k = 1; k < 24; k++) {
		int x = v[k], j = k - 1;

		for (; j >= 0 && v[j] > x; j--)
			v[j + 1] = v[j];
		v[j + 1] = x;
	}
	for (int k = 0; k < 24; k++)
		io[i * 24 + k] = v[k];
}

static __device__ __noinline__ void fill(int *where, int n, int seed)
{
	for (int k = 0; k < n; k++)
		where[k] = seed * k;
}

/* The address of a local array goes through a function: generic addressing of local memory. */
KERNEL local_by_address(int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X, v[16];

	if (i >= n)
		return;
	fill(v, 16, i);
	out[i] = v[(unsigned int)out[i] % 16];
}
