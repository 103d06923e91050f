/* Device printf, with each kind of argument. */
#include "cuda_words.h"

#ifdef __CUDACC__
KERNEL say(const int *in, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i < n)
		printf("%d: %5d %c %s %.3f %llx %%\n", i, in[i], 'a' + i, "word", in[i] * 0.5,
		       (unsigned long long)in[i] << 33);
	if (i == 0)
		printf("no arguments\n");
}
#endif
