/* Sorts each block of 512 keys in shared memory. */
#include "cuda_words.h"

#define KEYS 512

KERNEL __launch_bounds__(KEYS / 2) bitonic(unsigned int *keys)
{
	__shared__ unsigned int s[KEYS];
	unsigned int *block = keys + CTA_X * KEYS;

	s[TID_X] = block[TID_X];
	s[TID_X + KEYS / 2] = block[TID_X + KEYS / 2];
	for (unsigned int size = 2; size <= KEYS; size *= 2) {
		for (unsigned int stride = size / 2; stride > 0; stride /= 2) {
			unsigned int lo = 2 * TID_X - (TID_X & (stride - 1)), hi = lo + stride;
			bool up = !(lo & size);

			__syncthreads();
			if ((s[lo] > s[hi]) == up) {
				unsigned int t = s[lo];

				s[lo] = s[hi];
				s[hi] = t;
			}
		}
	}
	__syncthreads();
	block[TID_X] = s[TID_X];
	block[TID_X + KEYS / 2] = s[TID_X + KEYS / 2];
}
