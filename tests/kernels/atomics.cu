/* Every atomic operation, on integers (results are exact) and on floats with integral values. */
#include "cuda_words.h"

#ifdef __CUDACC__
KERNEL atomics32(unsigned int *cell, const unsigned int *in, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	atomicAdd(&cell[0], in[i]);
	atomicSub(&cell[1], in[i]);
	atomicMin(&cell[2], in[i]);
	atomicMax(&cell[3], in[i]);
	atomicMin((int *)&cell[4], (int)in[i]);
	atomicMax((int *)&cell[5], (int)in[i]);
	atomicAnd(&cell[6], in[i] | 0xff);
	atomicOr(&cell[7], in[i]);
	atomicXor(&cell[8], in[i]);
	atomicInc(&cell[9], 100);
	atomicDec(&cell[10], 100);
	atomicAdd((float *)&cell[11], 2.0f);
	cell[16 + i] = atomicExch(&cell[12], in[i]) != 0;
}

KERNEL atomics64(unsigned long long *cell, const unsigned long long *in, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	atomicAdd(&cell[0], in[i]);
	atomicMin(&cell[1], in[i]);
	atomicMax((long long *)&cell[2], (long long)in[i]);
	atomicOr(&cell[3], in[i]);
	atomicAdd((double *)&cell[4], 0.5);
	unsigned long long old = cell[5], seen;

	do {
		seen = old;
		old = atomicCAS(&cell[5], seen, seen + in[i]);
	} while (old != seen);
}

/* A block takes tickets and hands a value to the next one: waits for lower blocks. */
KERNEL chained(unsigned int *ticket, volatile unsigned int *flag, unsigned int *out)
{
	__shared__ unsigned int mine;

	if (TID_X == 0) {
		mine = atomicAdd(ticket, 1);
		while (mine > 0 && flag[mine - 1] == 0)
			;
		out[mine] = mine ? out[mine - 1] + mine : 1;
		__threadfence();
		flag[mine] = 1;
	}
}
#endif
