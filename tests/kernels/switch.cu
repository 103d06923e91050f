/* A dense switch whose arms do not reduce to selects: both compilers make a tree of compares. */
#include "cuda_words.h"

static __device__ __noinline__ int step(int v, int k)
{
	return v * 31 + k;
}

KERNEL switch_dense(const int *op, int *io, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	switch (op[i]) {
	case 0: ATOMIC_ADD(&io[i], 7); break;
	case 1: io[i] = io[i] * io[i]; break;
	case 2: ATOMIC_MAX(&io[i], 1000); break;
	case 3:
		for (int k = 0; k < io[i] % 5; k++)
			io[i] = step(io[i], k); /* fall through */
	case 4: io[i] -= 13; break;
	case 5: io[i] = -io[i]; break;
	case 6: io[i] = io[i] / (op[i] + 1); break;
	case 7: ATOMIC_CAS(&io[i], 5, 6); break;
	case 8: io[i] = step(io[i], 100); break;
	case 9: ATOMIC_ADD(&io[i], -4); break;
	case 10: io[i] ^= 0x1234; break;
	case 11: io[i] = POPC(io[i]); break;
	default: io[i] = -1;
	}
}
