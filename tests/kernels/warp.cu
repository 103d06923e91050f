/* Votes, matches, reductions and shuffles of a warp; all lanes present. */
#include "cuda_words.h"

#define FULL 0xffffffffu

KERNEL warp_votes(const int *in, unsigned int *out)
{
	int i = CTA_X * NTID_X + TID_X, v = in[i];

	out[4 * i + 0] = BALLOT(FULL, v & 1);
	out[4 * i + 1] = VOTE_ALL(FULL, v >= 0) + 2 * VOTE_ANY(FULL, v > 100);
	out[4 * i + 2] = SHFL_IDX(FULL, v, (v & 31));
	out[4 * i + 3] = SHFL_XOR(FULL, v, 5);
}

#ifdef __CUDACC__
KERNEL warp_match(const int *in, unsigned int *out)
{
	int i = CTA_X * NTID_X + TID_X, v = in[i], all;
	unsigned int m = __match_any_sync(FULL, v % 3);

	out[4 * i + 0] = m;
	out[4 * i + 1] = __match_all_sync(FULL, v / 1000, &all) + all;
	out[4 * i + 2] = __activemask();
	out[4 * i + 3] = __shfl_sync(FULL, v, 3, 8) + __shfl_up_sync(FULL, v, 2, 16);
}

/* Block-wide counting barriers. */
KERNEL block_votes(const int *in, int *out)
{
	int i = CTA_X * NTID_X + TID_X;

	out[3 * i + 0] = __syncthreads_count(in[i] & 1);
	out[3 * i + 1] = __syncthreads_and(in[i] > 0);
	out[3 * i + 2] = __syncthreads_or(in[i] > 1000);
}
#endif
