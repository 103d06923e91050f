/*
 * counter.cu - a counter in a module's global memory, for `gpu_db counter`.
 *
 * Two processes that load this module have a counter each: neither may see the other's steps.
 */
#include "kernel.h"

extern "C" __device__ u64 counter = 0;

KERNEL count_up(void)
{
	atomic_add(&counter, 1ull);
}
