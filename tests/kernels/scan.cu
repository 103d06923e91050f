/* Inclusive prefix sums of each block of 256: inside warps by shuffles, then over the warps. */
#include "cuda_words.h"

#define FULL 0xffffffffu

KERNEL __launch_bounds__(256) scan_block(const int *in, int *out, int n)
{
	__shared__ int totals[8];
	int i = CTA_X * 256 + TID_X, lane = TID_X % 32, warp = TID_X / 32;
	int v = i < n ? in[i] : 0;

	for (int d = 1; d < 32; d *= 2) {
		int below = SHFL_UP(FULL, v, d);

		if (lane >= d)
			v += below;
	}
	if (lane == 31)
		totals[warp] = v;
	__syncthreads();
	for (int w = 0; w < warp; w++)
		v += totals[w];
	if (i < n)
		out[i] = v;
}
