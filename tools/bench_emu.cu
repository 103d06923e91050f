/*
 * bench_emu.cu - the kernels of `gsb-bench emu`, one of each class of work. All take the same parameters, work on
 * words, and keep the lanes of a warp together, so that lane instructions are 32 times warp instructions.
 *
 * After a change: make bench-emu-ptx (needs nvcc), which writes bench_emu.ptx; that is what is shipped.
 */
#define KERNEL(name) extern "C" __global__ void name(unsigned *a, unsigned *b, unsigned *c, unsigned n)
#define ME	     (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL	     (gridDim.x * blockDim.x)
#define TILE	     16

/* Registers alone: four chains of multiply-add. */
KERNEL(multiply_add)
{
	float v = (float)ME, w = v + 1.0f, x = v + 2.0f, y = v + 3.0f;

	for (unsigned i = 0; i < n; i++) {
		v = v * 0.999f + 0.5f;
		w = w * 0.998f + 0.5f;
		x = x * 0.997f + 0.5f;
		y = y * 0.996f + 0.5f;
	}
	a[ME] = (unsigned)(v + w + x + y);
}

/* Registers alone: integers. */
KERNEL(xorshift)
{
	unsigned v = ME * 2 + 1;

	for (unsigned i = 0; i < n; i++) {
		v ^= v << 13;
		v ^= v >> 17;
		v ^= v << 5;
	}
	a[ME] = v;
}

/* Blocks of different lengths, more than are resident at once: a new one starts where and when another has ended. */
KERNEL(uneven)
{
	unsigned v = ME * 2 + 1, rounds = n / 4 + (blockIdx.x * 2654435761u >> 16) % n;

	for (unsigned i = 0; i < rounds; i++) {
		v ^= v << 13;
		v ^= v >> 17;
		v ^= v << 5;
	}
	a[ME] = v;
}

/* Each lane reads somewhere else. */
KERNEL(gather)
{
	unsigned v = ME * 2654435761u, sum = 0;

	for (unsigned i = 0; i < n; i++) {
		v = v * 1664525u + 1013904223u;
		sum += b[v >> 14];
	}
	a[ME] = sum;
}

/* One element a thread, as programs write it: a = b + 3 c. */
KERNEL(stream)
{
	unsigned i = ME;

	if (i < n)
		((float *)a)[i] = ((float *)b)[i] + 3.0f * ((float *)c)[i];
}

/* Four elements a thread, in vectors. */
KERNEL(stream4)
{
	unsigned i = ME;
	uint4 x, y;

	if (i >= n / 4)
		return;
	x = ((uint4 *)b)[i];
	y = ((uint4 *)c)[i];
	((uint4 *)a)[i] = make_uint4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}

/* Column by column through a matrix of rows of 33 words: a stride. */
KERNEL(stride)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += b[(ME * 33 + i) & 0x3ffff];
	a[ME] = sum;
}

/* a = b c, n x n, tiles of 16 x 16 in shared memory. */
KERNEL(matmul)
{
	__shared__ float bs[TILE][TILE], cs[TILE][TILE];
	unsigned per_row = n / TILE, tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
	unsigned row = blockIdx.x / per_row * TILE + ty, col = blockIdx.x % per_row * TILE + tx;
	float sum = 0.0f;

	for (unsigned t = 0; t < n; t += TILE) {
		bs[ty][tx] = ((float *)b)[row * n + t + tx];
		cs[ty][tx] = ((float *)c)[(t + ty) * n + col];
		__syncthreads();
#pragma unroll
		for (unsigned k = 0; k < TILE; k++)
			sum += bs[ty][k] * cs[k][tx];
		__syncthreads();
	}
	((float *)a)[row * n + col] = sum;
}

/* Counts in 65,536 places of global memory. */
KERNEL(histogram)
{
	unsigned v = ME * 2654435761u;

	for (unsigned i = 0; i < n; i++) {
		v = v * 1664525u + 1013904223u;
		atomicAdd(&a[v >> 16], 1u);
	}
}

/* All in one place. */
KERNEL(counter)
{
	for (unsigned i = 0; i < n; i++)
		atomicAdd(a, 1u);
}

/* Counts in 256 places of shared memory. */
KERNEL(bins)
{
	__shared__ unsigned bins[256];
	unsigned v = ME * 2654435761u;

	bins[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned i = 0; i < n; i++) {
		v = v * 1664525u + 1013904223u;
		atomicAdd(&bins[v >> 24], 1u);
	}
	__syncthreads();
	atomicAdd(&a[threadIdx.x], bins[threadIdx.x]);
}

/* Sums of blocks, in a tree in shared memory. */
KERNEL(reduce)
{
	__shared__ unsigned sums[256];
	unsigned sum = 0;

	for (unsigned i = ME; i < n; i += ALL)
		sum += b[i];
	sums[threadIdx.x] = sum;
	for (unsigned half = 128; half >= 32; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	__syncthreads();
	if (threadIdx.x < 32)
		a[blockIdx.x * 32 + threadIdx.x] = sums[threadIdx.x];
}
