#include <cstdio>
/* Threads that need each other's company, or whose order decides. */
#define K extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

K sized_by_host(float *a)
{
	extern __shared__ float own[];

	own[threadIdx.x] = a[I];
	__syncthreads();
	a[I] = own[blockDim.x - 1 - threadIdx.x];
}
K sized_by_host_alone(float *a, int n)
{
	extern __shared__ float own[];
	unsigned i = I;

	own[i % n] = a[i]; /* only its own cell, but how many there are the host has said */
	a[i] = own[i % n] + 1;
}
K fixed_tile(float *a)
{
	__shared__ float tile[256];

	tile[threadIdx.x] = a[I];
	__syncthreads();
	a[I] = tile[threadIdx.x ^ 1];
}
K block_sum(const unsigned *a, unsigned *sum)
{
	__shared__ unsigned s;

	if (threadIdx.x == 0)
		s = 0;
	__syncthreads();
	atomicAdd(&s, a[I]);
	__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(sum, s);
}
K barrier_alone(volatile float *a, float *b)
{
	b[I] = 1;
	__syncthreads();
	b[I] += b[I ^ 1];
}
K counts_block(const int *a, int *out) { out[I] = __syncthreads_count(a[I]); }
K warp_synchronous(volatile unsigned *a)
{
	a[I] += a[I ^ 16]; /* takes the lanes of a warp to be in step */
	a[I] += a[I ^ 8];
}
K warp_synchronous_shared(const unsigned *a, unsigned *out)
{
	__shared__ volatile unsigned s[64];

	if (threadIdx.x < 32) {
		s[threadIdx.x] = a[I];
		s[threadIdx.x] += s[threadIdx.x + 16];
		out[I] = s[threadIdx.x];
	}
}
K fenced(unsigned *a, unsigned *b)
{
	a[I] = 1;
	__threadfence();
	b[I] = 2;
}
K fenced_block(unsigned *a, unsigned *b)
{
	a[I] = 1;
	__threadfence_block();
	b[I] = a[I ^ 1];
}
K reads_relaxed(const unsigned *a, unsigned *b)
{
	unsigned v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(a + I));
	b[I] = v;
}
K reads_again(const unsigned *a, unsigned *b) { b[I] = __ldcv(a + I); }
K atomic_of_block(unsigned *sum) { atomicAdd_block(sum, 1u); }
K ticket(const unsigned *a, unsigned *out, unsigned *n)
{
	if (a[I] & 1)
		out[atomicAdd(n, 1u)] = a[I];
}
K last_comes(unsigned *cell, unsigned *out) { out[I] = atomicExch(cell, I); }
K exchanges(unsigned *cell) { atomicExch(cell, I); }
K inserts(unsigned *slot, const unsigned *key)
{
	unsigned at = key[I] & 1023;

	while (atomicCAS(slot + at, 0u, key[I]))
		at = (at + 1) & 1023;
}
K wraps(unsigned *ring, unsigned *out) { out[I] = atomicInc(ring, 99); }
K adds_and_least(unsigned *cell, const unsigned *a)
{
	atomicAdd(cell, a[I]);
	atomicMin(cell, a[I]);
}
K signed_and_unsigned(unsigned *cell, const unsigned *a)
{
	atomicMin(cell, a[I]);
	atomicMin((int *)cell, (int)a[I]);
}
K sum_of_floats(float *sum, const float *a) { atomicAdd(sum, a[I]); }
K sum_of_doubles(double *sum, const double *a) { atomicAdd(sum, a[I]); }
K says(int n) { printf("%d\n", n + (int)I); }
K takes_memory(void **p) { p[I] = malloc(16); }
K last_block(unsigned *count, unsigned *out)
{
	__threadfence();
	if (atomicAdd(count, 1u) == gridDim.x * blockDim.x - 1)
		*out = 1;
}
K __launch_bounds__(128) bounded(float *a) { a[I] += 1; }
K lanes(unsigned *a) { a[I] = __ballot_sync(~0u, a[I] & 1); }
K lane_of_thread(unsigned *a) { a[I] = threadIdx.x & 31; }
K plain(float *a) { a[I] += 1; }
K plain_2d(float *a, int pitch) { a[(blockIdx.y * blockDim.y + threadIdx.y) * pitch + I] += 1; }
