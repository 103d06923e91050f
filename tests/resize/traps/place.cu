/* Threads that use their place in the block or the grid in another way than the linear number decides. */
#define K extern "C" __global__ void

K constant_512(float *a) { a[blockIdx.x * 512 + threadIdx.x] *= 2; }
K stores_block_size(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x; }
K stores_grid_size(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = gridDim.x; }
K place_in_block(float *a) { a[threadIdx.x] = 1; }
K one_a_block(float *a) { a[blockIdx.x] = 1; }
K tile_stride(float *a, int n)
{
	for (int t = blockIdx.x; t < n; t += gridDim.x)
		a[t] += 1;
}
K first_of_block(unsigned *sum)
{
	if (threadIdx.x == 0)
		atomicAdd(sum, 1u);
}
K two_a_thread(float *a)
{
	unsigned i = blockIdx.x * (2 * blockDim.x) + threadIdx.x;

	a[i] += 1;
	a[i + blockDim.x] += 2;
}
K transposed(float *a) { a[threadIdx.x * gridDim.x + blockIdx.x] += 1; }
K spread_out(float *a) { a[blockIdx.x * blockDim.x + 2 * threadIdx.x] += 1; }
K other_axis(float *a) { a[blockIdx.y * blockDim.x + threadIdx.x] += 1; }
K other_size(float *a) { a[blockIdx.x * blockDim.y + threadIdx.x] += 1; }
K warp_of_block(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x / 32; }
K low_six_bits(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x & 63; }
K part_of_24(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x % 24; }
K backwards(float *a) { a[blockIdx.x * blockDim.x + (blockDim.x - 1 - threadIdx.x)] += 1; }
K sixteen_bits(unsigned *a)
{
	unsigned short block = (unsigned short)(blockIdx.x * blockDim.x);
	unsigned i = (unsigned)block + threadIdx.x;

	a[i] = i;
}
K wraps_in_between(float *a, int first)
{
	int block = (int)(blockIdx.x * blockDim.x) + first;

	a[(long long)block + threadIdx.x] += 1;
}
K every_other_block(float *a)
{
	if (blockIdx.x & 1)
		a[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
K loops_by_place(float *a)
{
	float s = 0;

	for (unsigned k = 0; k < threadIdx.x; k++)
		s += a[k];
	a[blockIdx.x * blockDim.x + threadIdx.x + 4096] = s;
}
K chooses_by_place(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x < 20 ? 1 : 2; }
K reads_by_place(const float *table, float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = table[threadIdx.x]; }
K adds_block_size(unsigned *sum) { atomicAdd(sum, blockDim.x); }
K shuffles_place(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, 1); }
__noinline__ __device__ unsigned twice(unsigned x) { return x * 2 + __popc(x); }
K passes_place(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = twice(threadIdx.x); }
__noinline__ __device__ unsigned asks_thread(unsigned x) { return x + threadIdx.x; }
K calls_who_asks(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = asks_thread(3); }
K own_array(unsigned *a, int n)
{
	unsigned own[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	for (int k = 0; k < n; k++)
		own[k & 7] += k;
	a[blockIdx.x * blockDim.x + threadIdx.x] = own[threadIdx.x & 7] + own[blockIdx.x & 7];
}
K linear_in_y_alone(float *a, int pitch)
{
	a[(blockIdx.y * blockDim.y + threadIdx.y) * pitch + blockIdx.x * 16 + threadIdx.x] += 1;
}
K first_of_grid_by_parts(unsigned *a)
{
	if (blockIdx.x == 0 && threadIdx.x < 8)
		a[threadIdx.x] = 0;
}
K half_a_block(float *a)
{
	if (threadIdx.x < blockDim.x / 2)
		a[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
K seeds_by_block(unsigned *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1664525u * blockIdx.x + 1013904223u; }
K prefetches_by_place(const float *t, float *a)
{
	asm volatile("prefetch.global.L2 [%0];" ::"l"(t + threadIdx.x));
	a[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
