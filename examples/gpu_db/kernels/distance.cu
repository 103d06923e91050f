/*
 * distance.cu - mean distance of each atom to all others, by tiles in shared memory.
 *
 * Four tiles of one float per thread, in dynamic shared memory: the coordinates of the block's own
 * atoms, and of the atoms that it is being compared with. Distances are floats, correctly rounded;
 * their sum is a double, over the atoms in ascending order whatever the block size, so that the CPU
 * can repeat it exactly. The whole is done `repeats` times, as in the paper, and averaged.
 */
#include "kernel.h"

KERNEL atom_distances(const float *x, const float *y, u32 atoms, u32 repeats, u32 first, double *mean)
{
	extern __shared__ float tile[];
	u32 self = THREAD_X, width = BLOCK_DIM_X;
	u32 atom = first + thread_id();
	float *own_x = tile, *own_y = own_x + width;
	float *other_x = own_y + width, *other_y = other_x + width;
	double total = 0.0;

	own_x[self] = atom < atoms ? x[atom] : 0.0f;
	own_y[self] = atom < atoms ? y[atom] : 0.0f;
	for (u32 r = 0; r < repeats; r++) {
		double sum = 0.0;

		for (u32 base = 0; base < atoms; base += width) {
			u32 n = atoms - base < width ? atoms - base : width;

			if (self < n) {
				other_x[self] = x[base + self];
				other_y[self] = y[base + self];
			}
			__syncthreads();
			for (u32 k = 0; k < n; k++) {
				float dx = own_x[self] - other_x[k];
				float dy = own_y[self] - other_y[k];

				sum += square_root(fused_multiply_add(dx, dx, dy * dy));
			}
			__syncthreads();
		}
		total += sum;
	}
	if (atom < atoms)
		mean[atom] = total / ((double)repeats * (atoms - 1));
}
