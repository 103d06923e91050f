/* redux.sync: from compute capability 8.0 on, so nvcc compiles this file for compute_80. */
#include "cuda_words.h"

#ifdef __CUDACC__
KERNEL warp_redux(const int *in, unsigned int *out)
{
	int i = CTA_X * NTID_X + TID_X, v = in[i];

	out[5 * i + 0] = __reduce_add_sync(0xffffffffu, v);
	out[5 * i + 1] = __reduce_min_sync(0xffffffffu, v);
	out[5 * i + 2] = __reduce_max_sync(0xffffffffu, (unsigned int)v);
	out[5 * i + 3] = __reduce_and_sync(0xffffffffu, (unsigned int)v);
	out[5 * i + 4] = __reduce_xor_sync(0xffffffffu, (unsigned int)v);
}
#endif
