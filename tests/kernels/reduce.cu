/* Sums of a block: by shuffles, and by a tree in dynamic shared memory. */
#include "cuda_words.h"

#define FULL 0xffffffffu

/* out[0] += sum of in[0..n); any block size that is a multiple of 32. */
KERNEL reduce_shfl(const int *in, int *out, int n)
{
	__shared__ int warps[32];
	int sum = 0;

	for (int i = CTA_X * NTID_X + TID_X; i < n; i += NCTA_X * NTID_X)
		sum += in[i];
	for (int d = 16; d > 0; d /= 2)
		sum += SHFL_DOWN(FULL, sum, d);
	if (TID_X % 32 == 0)
		warps[TID_X / 32] = sum;
	__syncthreads();
	if (TID_X < 32) {
		sum = TID_X < NTID_X / 32 ? warps[TID_X] : 0;
		for (int d = 16; d > 0; d /= 2)
			sum += SHFL_XOR(FULL, sum, d);
		if (TID_X == 0)
			ATOMIC_ADD(out, sum);
	}
}

/* out[block] = sum of the block's part; block size a power of two. */
KERNEL reduce_tree(const int *in, int *out, int n)
{
	extern __shared__ int tree[];
	int i = CTA_X * NTID_X + TID_X;

	tree[TID_X] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned int half = NTID_X / 2; half > 0; half /= 2) {
		if (TID_X < half)
			tree[TID_X] += tree[TID_X + half];
		__syncthreads();
	}
	if (TID_X == 0)
		out[CTA_X] = tree[0];
}
