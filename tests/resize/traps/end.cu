/* Ends of threads, and what a block leaves behind, that no loop around a kernel's body can stand in for. */
#include <cstdio>
#define K extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

/* E1: right with a drain */
K leaves_before_barrier(float *a, int n)
{
	__shared__ float s[256];

	if (I >= n)
		return;
	s[threadIdx.x] = a[I];
	__syncthreads();
	a[I] = s[threadIdx.x ^ 1];
}
K leaves_from_loop(float *a, const int *n)
{
	__shared__ float s[256];

	for (int k = 0; k < 8; k++) {
		s[threadIdx.x] = a[I];
		__syncthreads();
		if (n[I] == k)
			return;
		a[I] += s[threadIdx.x ^ 1];
		__syncthreads();
	}
}
/* nobody leaves early to look at, but most go round the barrier to the end */
K barrier_of_one_warp(float *a)
{
	__shared__ float s[64];

	if (threadIdx.x < 32) {
		s[threadIdx.x] = a[I];
		__syncthreads();
		a[I] = s[threadIdx.x ^ 1];
	}
}
K leaves_by_data(float *a, const int *go)
{
	__shared__ float s[256];
	__shared__ int stop;

	if (threadIdx.x == 0)
		stop = go[blockIdx.x];
	__syncthreads();
	if (stop) /* the same for all, but that is not proven of what shared memory holds */
		return;
	s[threadIdx.x] = a[I];
	__syncthreads();
	a[I] = s[threadIdx.x ^ 1];
}
/* E0: all of a block or none */
K leaves_by_block(float *a, int n)
{
	__shared__ float s[256];

	if (blockIdx.x * blockDim.x >= n)
		return;
	s[threadIdx.x] = a[I];
	__syncthreads();
	a[I] = s[threadIdx.x ^ 1];
}
/* E2 */
K leaves_before_named(float *a, int n)
{
	if (I >= n)
		return;
	asm volatile("barrier.sync 3;" ::: "memory");
	a[I] += 1;
}
K leaves_before_counted(float *a, int n)
{
	if (threadIdx.x >= 64)
		return;
	asm volatile("barrier.sync 0, 64;" ::: "memory");
	a[I] += n;
}
K leaves_before_vote(int *a, int n)
{
	if (I >= n)
		return;
	a[I] = __syncthreads_or(a[I]);
}
K arrives_only(float *a)
{
	if (threadIdx.x < 32)
		asm volatile("barrier.sync 1, 64;" ::: "memory");
	else if (threadIdx.x < 64)
		asm volatile("barrier.arrive 1, 64;" ::: "memory");
	a[I] += 1;
}
K arrives_for_nobody(float *a)
{
	asm volatile("bar.arrive 1, 512;" ::: "memory");
	a[I] += 1;
}
K barrier_by_number(float *a, int n)
{
	asm volatile("barrier.sync %0;" ::"r"(n & 7) : "memory");
	a[I] += 1;
}
/* E3 */
K leaves_before_shuffle(unsigned *a, int n)
{
	if (I >= n)
		return;
	a[I] = __shfl_xor_sync(~0u, a[I], 1);
}
K shuffles_of_half(unsigned *a)
{
	if (threadIdx.x % 32 < 16)
		a[I] = __shfl_xor_sync(0xffffu, a[I], 1);
}
K rounds_by_lane(unsigned *a)
{
	unsigned v = a[I];

	for (unsigned k = 0; k < v % 8; k++)
		v += __ballot_sync(~0u, v & 1);
	a[I] = v;
}
K leaves_before_warp_barrier(unsigned *a, int n)
{
	if (a[I] == n)
		return;
	__syncwarp();
	a[I] += a[I ^ 1];
}
__noinline__ __device__ unsigned shuffles(unsigned v) { return __shfl_xor_sync(~0u, v, 3); }
K leaves_before_call(unsigned *a, int n)
{
	if (I >= n)
		return;
	a[I] = shuffles(a[I]);
}
__noinline__ __device__ unsigned shuffles_some(unsigned v) { return v & 1 ? __shfl_xor_sync(__activemask(), v, 3) : v; }
K calls_divergent(unsigned *a) { a[I] = shuffles_some(a[I]); }
/* what a called function does */
__noinline__ __device__ void meets(float *a)
{
	a[1] += 1;
	__syncthreads();
	a[0] += 1;
}
K leaves_before_called_barrier(float *a, int n)
{
	if (I >= n)
		return;
	meets(a + 2 * I);
}
__noinline__ __device__ void meets_maybe(float *a)
{
	if (a[0] > 0)
		__syncthreads();
	a[0] += 1;
}
K called_barrier_for_some(float *a) { meets_maybe(a + I); }
__noinline__ __device__ void may_end(float *a)
{
	if (a[0] > 1)
		asm volatile("exit;");
	a[0] += 1;
}
K ends_in_call(float *a) { may_end(a + I); }
__noinline__ __device__ unsigned which_block(unsigned x) { return x * blockIdx.x; }
K block_read_in_call(unsigned *a) { a[I] = which_block(a[I]); }
__noinline__ __device__ unsigned how_many_blocks(unsigned x) { return x * gridDim.y; }
K count_read_in_call(unsigned *a) { a[I] = how_many_blocks(a[I]); }
/* where and when */
K asks_clock(long long *a) { a[I] = clock64(); }
K asks_clock_32(int *a) { a[I] = clock(); }
K asks_time(unsigned long long *a)
{
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a[I]));
}
K asks_sm(unsigned *a)
{
	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	atomicAdd(a + sm, 1u);
}
K asks_warp(unsigned *a)
{
	unsigned warp;

	asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
	a[I] = warp;
}
K asks_grid(unsigned long long *a)
{
	unsigned long long id;

	asm volatile("mov.u64 %0, %%gridid;" : "=l"(id));
	a[I] = id;
}
K asks_shared_size(unsigned *a)
{
	unsigned n;

	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(n));
	a[I] = n;
}
K pointer_call(int (**f)(int), int *a) { a[I] = f[blockIdx.x](a[I]); }
K stack_of_its_own(int *a, int n)
{
	int *p = (int *)__builtin_alloca(4 * (n & 15) + 4);

	for (int k = 0; k < (n & 15) + 1; k++)
		p[k] = a[I] + k;
	a[I] = p[a[I] & n & 15];
}
