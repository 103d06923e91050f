/* Lanes of one warp on different ways: half warps, loops of different length, early returns, a lock. */
#include "cuda_words.h"

KERNEL half_warps(const int *in, int *out)
{
	int i = CTA_X * NTID_X + TID_X, v = in[i];

	if (TID_X % 32 < 16) {
		for (int k = 0; k < (int)(TID_X % 16); k++)
			v = v * 3 + k;
		v += SHFL_XOR(0x0000ffffu, v, 1);
	} else {
		v = v ^ 0x55;
		v += SHFL_XOR(0xffff0000u, v, 2);
	}
	out[i] = v;
}

/* Collatz steps: every lane loops its own number of times, some return from inside. */
KERNEL collatz(const unsigned int *in, int *steps, int n)
{
	int i = CTA_X * NTID_X + TID_X, count = 0;

	if (i >= n)
		return;
	for (uint64_t v = in[i]; v != 1; count++) {
		if (v == 0) {
			steps[i] = -1;
			return;
		}
		v = v % 2 ? 3 * v + 1 : v / 2;
	}
	steps[i] = count;
}

/* A spin lock between lanes of one warp: finishes only if every lane makes progress. */
KERNEL spin_lock(int *lock, int *shared_count)
{
	for (bool done = false; !done;) {
		if (ATOMIC_CAS(lock, 0, 1) == 0) {
			*(volatile int *)shared_count += 1;
#ifdef __CUDACC__
			__threadfence();
			atomicExch(lock, 0);
#else
			__nvvm_membar_gl();
			__nvvm_atom_xchg_gen_i(lock, 0);
#endif
			done = true;
		}
	}
}
