/*
 * matmul.cu - C = A * B for square row-major matrices, naive: one thread per cell, no tiles.
 *
 * The dot product runs over k in ascending order with one fused multiply-add per step, which is an
 * order that the CPU can repeat exactly: results are compared bit for bit. `pitch_a` and `pitch_c`
 * are in elements. A launch computes the rows from `first_row` on, up to `last_row`.
 */
#include "kernel.h"

KERNEL matmul(const float *a, u32 pitch_a, const float *b, float *c, u32 pitch_c, u32 n, u32 first_row,
	      u32 last_row)
{
	u32 col = BLOCK_X * BLOCK_DIM_X + THREAD_X;
	u32 row = first_row + BLOCK_Y * BLOCK_DIM_Y + THREAD_Y;
	float sum = 0.0f;

	if (row >= last_row || col >= n)
		return;
	for (u32 k = 0; k < n; k++)
		sum = fused_multiply_add(a[(u64)row * pitch_a + k], b[(u64)k * n + col], sum);
	c[(u64)row * pitch_c + col] = sum;
}
