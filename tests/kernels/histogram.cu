/* Counts of byte values: atomics in shared memory, then in global memory. */
#include "cuda_words.h"

KERNEL histogram(const uint8_t *in, unsigned int *counts, int n)
{
	__shared__ unsigned int bins[256];

	for (int b = TID_X; b < 256; b += NTID_X)
		bins[b] = 0;
	__syncthreads();
	for (int i = CTA_X * NTID_X + TID_X; i < n; i += NCTA_X * NTID_X)
		ATOMIC_ADD(&bins[in[i]], 1u);
	__syncthreads();
	for (int b = TID_X; b < 256; b += NTID_X)
		ATOMIC_ADD(&counts[b], bins[b]);
}
