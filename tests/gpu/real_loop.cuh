/*
 * real_loop.cuh - how the kernels of real_kernels.cu, dev_kernels.cu, held_kernels.cu, late_kernels.cu and fresh_kernels.cu go through
 * their work, so that real_measure.c can look at them while they run.
 *
 * A block works through units, one after the other, as often as it is told to or until it is stopped, and says after each how many it has
 * done. So residency (blocks of the grid) and length (units) are parameters, a kernel that starves still has a rate, and nothing
 * is added up by atomics which others would wait for. A unit takes 10 to 100 us with eight blocks on an SM. A block of each takes an
 * eighth of an SM or less: 256 threads of 32 registers, or 128 of 64.
 *
 * Arrays have n words, a power of two and at least 2^18: real from 0 to 1, word at random, out is written.
 */
#ifndef GSB_TESTS_GPU_REAL_LOOP_CUH
#define GSB_TESTS_GPU_REAL_LOOP_CUH

#include "../../examples/gpu_db/kernels/kernel.h"

#define REAL(name, threads)                                                                        \
	extern "C" __global__ void __launch_bounds__(threads, 8)                                   \
		name(const float *__restrict__ real, const u32 *__restrict__ word, float *out, u32 n, u32 units, \
		     u32 *progress, const volatile u32 *stop)

#define FOR_EACH_UNIT(unit) for (u32 unit = 0; goes_on(unit, units, progress, stop); ++unit)

/* The same: item is a number that no other unit has. */
#define FOR_EACH_ITEM(item)                                                                        \
	for (u32 unit = 0, item = blockIdx.x; goes_on(unit, units, progress, stop);                \
	     item = ++unit * gridDim.x + blockIdx.x)

/* progress: of each block two words, units done, and one more than the SM it is on. */
static __device__ __forceinline__ bool goes_on(u32 unit, u32 units, u32 *progress, const volatile u32 *stop)
{
	__shared__ bool on;

	__syncthreads();
	if (threadIdx.x == 0) {
		volatile u32 *mine = progress + 2 * blockIdx.x;
		u32 sm;

		if (unit == 0) {
			asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
			mine[1] = sm + 1;
		}
		mine[0] = unit;
		on = unit < units && !*stop;
	}
	__syncthreads();
	return on;
}

static __device__ __forceinline__ u32 next_random(u32 x)
{
	return x * 1664525u + 1013904223u;
}

#endif
