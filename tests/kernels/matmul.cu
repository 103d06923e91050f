/* C = A * B for square matrices, 16 x 16 tiles in shared memory; sizes need not be multiples of 16. */
#include "cuda_words.h"

#define TILE 16

KERNEL __launch_bounds__(TILE * TILE) matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = CTA_Y * TILE + TID_Y, col = CTA_X * TILE + TID_X;
	float sum = 0.0f;

	for (int t = 0; t < n; t += TILE) {
		as[TID_Y][TID_X] = row < n && t + (int)TID_X < n ? a[row * n + t + TID_X] : 0.0f;
		bs[TID_Y][TID_X] = t + (int)TID_Y < n && col < n ? b[(t + TID_Y) * n + col] : 0.0f;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[TID_Y][k] * bs[k][TID_X];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}
