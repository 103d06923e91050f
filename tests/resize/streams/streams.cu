// Which accesses stream: "once" behind a line of source: none of what it reads or writes in global memory is touched by
// anybody again, but for the thread itself on the same line; "again": it is, or nobody can prove that it is not.
// tests/unit/test_resize_streams.c reads these words.

/* ---- each place once ---- */

extern "C" __global__ void saxpy(float *y, const float *x, float a, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i]; // once
}

extern "C" __global__ void grid_stride(float *y, const float *x, float a, unsigned n)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i]; // once
}

extern "C" __global__ void unrolled(float *y, const float *x, float a, size_t n)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	for (; i + 3 * stride < n; i += 4 * stride) {
		float p = x[i], q = x[i + stride];		    // once
		float r = x[i + 2 * stride], s = x[i + 3 * stride]; // once

		y[i] = a * p;		   // once
		y[i + stride] = a * q;	   // once
		y[i + 2 * stride] = a * r; // once
		y[i + 3 * stride] = a * s; // once
	}
	for (; i < n; i += stride)
		y[i] = a * x[i]; // once
}

extern "C" __global__ void by_four(float4 *y, const float4 *x, unsigned n)
{
	unsigned i = blockIdx.x * 256 + threadIdx.x;

	if (i < n) {
		float4 v = x[i]; // once

		v.x += v.w;
		y[i] = v; // once
	}
}

/* Tiles of a fixed size, as block loads have them. */
extern "C" __global__ void __launch_bounds__(128) tiles(unsigned *y, const unsigned *x)
{
	unsigned base = blockIdx.x * 512 + threadIdx.x;
	unsigned v[4];

	for (int k = 0; k < 4; k++)
		v[k] = x[base + k * 128]; // once
	for (int k = 0; k < 4; k++)
		y[base + k * 128] = v[k] * v[3 - k]; // once
}

/* A part of the array for each block. */
extern "C" __global__ void parts(float *sums, const float *x, unsigned each)
{
	const float *mine = x + (size_t)blockIdx.x * each;
	float sum = 0;

	for (unsigned k = threadIdx.x; k < each; k += blockDim.x)
		sum += mine[k]; // once
	sums[blockIdx.x * blockDim.x + threadIdx.x] = sum; // once
}

/* A row for each warp. */
extern "C" __global__ void row_of_warp(float *sums, const float *x, unsigned width)
{
	unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	float sum = 0;

	for (unsigned k = threadIdx.x % 32; k < width; k += 32)
		sum += x[(size_t)row * width + k]; // once
	sum += __shfl_xor_sync(0xffffffff, sum, 16);
	if (threadIdx.x % 32 == 0)
		sums[row] = sum; // again
}

extern "C" __global__ void rows_and_columns(float *y, const float *x, unsigned w, unsigned h)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y;

	if (row < h && col < w)
		y[row * w + col] = 2 * x[row * w + col]; // once
}

extern "C" __global__ void planes(float *y, const float *x, unsigned w, unsigned h, unsigned d)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned row = blockIdx.y;

	for (unsigned plane = 0; plane < d; plane++)
		y[(plane * h + row) * w + col] = x[(plane * h + row) * w + col]; // once
}

/* Sums of columns: down a column, its neighbours beside it. */
extern "C" __global__ void columns(float *sums, const float *x, unsigned w, unsigned h)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (unsigned row = 0; row < h; row++)
		sum += x[(size_t)row * w + col]; // once
	sums[col] = sum;			 // once
}

struct pair {
	float a, b;
};

extern "C" __global__ void members(float *y, const pair *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i].a * x[i].b; // once
}

extern "C" __global__ void backwards(float *y, const float *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[n - 1 - i] = x[i]; // once
}

/* The index streams; what it leads to does not. */
extern "C" __global__ void gather(float *y, const float *x, const unsigned *index, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		unsigned at = index[i]; // once
		float v = x[at];	// again

		y[i] = v; // once
	}
}

extern "C" __global__ void histogram(unsigned *bins, const unsigned *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&bins[x[i] & 255], 1); // once
}

/* Two to begin with, as reductions have them. */
extern "C" __global__ void two_at_first(float *sums, const float *x)
{
	__shared__ float all[256];
	unsigned i = blockIdx.x * (2 * blockDim.x) + threadIdx.x;
	float v = x[i] + x[i + blockDim.x]; // once

	all[threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.x == 0)
		sums[blockIdx.x] = all[0] + all[255]; // again
}

/* ---- again ---- */

extern "C" __global__ void stencil(float *y, const float *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x + 1;

	if (i < n) {
		float left = x[i - 1], here = x[i], right = x[i + 1]; // again

		y[i] = left + here + right; // once
	}
}

extern "C" __global__ void five_points(float *y, const float *x, unsigned w)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
	float up = x[row * w + col], down = x[(row + 2) * w + col]; // again

	y[row * w + col] = up + down; // once
}

extern "C" __global__ void slides(float *y, const float *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (unsigned k = 0; k < n; k++)
		sum += x[i + k]; // again
	y[i] = sum;		 // once
}

extern "C" __global__ void slides_down(float *y, const float *x, unsigned w, unsigned n)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (unsigned k = 0; k < n; k++)
		sum += x[(row + k) * w + col]; // again
	y[row * w + col] = sum;		       // once
}

extern "C" __global__ void multiply(float *c, const float *a, const float *b, unsigned n)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (unsigned k = 0; k < n; k++) {
		float p = a[row * n + k]; // again
		float q = b[k * n + col]; // again

		sum += p * q;
	}
	c[row * n + col] = sum; // once
}

extern "C" __global__ void all_pairs(float *y, const float *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (unsigned k = threadIdx.x; k < n; k += blockDim.x)
		sum += x[k]; // again
	y[i] = sum;	     // once
}

extern "C" __global__ void twice(float *y, const float *x, unsigned each)
{
	float most = 0, sum = 0;

	for (unsigned k = threadIdx.x; k < each; k += blockDim.x)
		most = fmaxf(most, x[blockIdx.x * each + k]); // again
	for (unsigned k = threadIdx.x; k < each; k += blockDim.x)
		sum += x[blockIdx.x * each + k] - most; // again
	y[blockIdx.x * blockDim.x + threadIdx.x] = sum; // once
}

extern "C" __global__ void repeats(float *y, const float *x, unsigned n, unsigned times)
{
	unsigned stride = gridDim.x * blockDim.x;
	float sum = 0;

	for (unsigned t = 0; t < times; t++)
		for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
			sum += x[i]; // again
	y[blockIdx.x * blockDim.x + threadIdx.x] = sum; // once
}

/* A row for each thread: a line is used by the next turns, too. */
extern "C" __global__ void row_of_thread(float *sums, const float *x, unsigned width)
{
	unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (unsigned k = 0; k < width; k++)
		sum += x[(size_t)row * width + k]; // again
	sums[row] = sum;			   // once
}

extern "C" __global__ void follows(unsigned *y, const unsigned *next, unsigned turns)
{
	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned i = at;

	for (unsigned k = 0; k < turns; k++)
		at = next[at]; // again
	y[i] = at;	       // once
}

/* One array, read in order here and by index there. */
extern "C" __global__ void both(unsigned *y, const unsigned *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		unsigned at = x[i]; // again

		at = x[at % n]; // again
		y[i] = at;	// once
	}
}

/* Same rows for all blocks on y. */
extern "C" __global__ void scaled_rows(float *y, const float *x, const float *by, unsigned w)
{
	unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
	float s = by[col]; // again

	y[blockIdx.y * w + col] = s * x[blockIdx.y * w + col]; // once
}

/* Only some turns move it on. */
extern "C" __global__ void picks(unsigned *y, const unsigned *x, unsigned each, unsigned from)
{
	unsigned at = threadIdx.x;

	for (unsigned k = threadIdx.x; k < each; k += blockDim.x) {
		unsigned v = x[blockIdx.x * each + k]; // once

		if (v < from) {
			y[blockIdx.x * each + at] = v; // again
			at += blockDim.x;
		}
	}
}

/* Steps of two loops in one: a row of tiles, and the rows of a tile. */
extern "C" __global__ void tiles_of_rows(float *y, const float *x, unsigned w, unsigned h)
{
	for (unsigned row = blockIdx.y * blockDim.y + threadIdx.y; row < h; row += gridDim.y * blockDim.y)
		for (unsigned col = blockIdx.x * blockDim.x + threadIdx.x; col < w; col += gridDim.x * blockDim.x)
			y[(size_t)row * w + col] = x[(size_t)row * w + col]; // once
}

/* Threads of two axes that are one row together. */
extern "C" __global__ void flat_block(float *y, const float *x, unsigned n)
{
	unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
	unsigned i = blockIdx.x * (blockDim.x * blockDim.y) + thread;

	if (i < n)
		y[i] = x[i]; // once
}

/* Who reads first the one array and then the other. */
extern "C" __global__ void one_of_two(float *y, const float *a, const float *b, unsigned n, int which)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	const float *x = which ? a : b;

	if (i < n)
		y[i] = x[i]; // once
}

/* Every other place. */
extern "C" __global__ void every_other(float *y, const float *x, unsigned n)
{
	unsigned i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

	if (i < n)
		y[i] = x[i]; // once
}

/* A part of its own for each thread, in a structure of arrays: rows are given. */
extern "C" __global__ void arrays(float *y, const float *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float a = x[i], b = x[i + n], c = x[i + 2 * n]; // once

		y[i] = a + b + c; // once
	}
}

/* Halos: more is read than stepped over. */
extern "C" __global__ void halo(float *y, const float *x, unsigned n)
{
	__shared__ float part[256];
	unsigned i = blockIdx.x * (blockDim.x - 2) + threadIdx.x;

	part[threadIdx.x] = i < n ? x[i] : 0; // again
	__syncthreads();
	if (threadIdx.x < blockDim.x - 2 && i < n)
		y[i] = part[threadIdx.x] + part[threadIdx.x + 1]; // again
}

/* Wide where the program may, else not: one way for all. */
extern "C" __global__ void two_ways(float *y, const float *x, unsigned n, int wide)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (wide)
		((float4 *)y)[i] = ((const float4 *)x)[i]; // once
	else
		for (unsigned k = i; k < n; k += gridDim.x * blockDim.x)
			y[k] = x[k]; // once
}

/* The last tile is not a whole one: one way for all of a block. */
extern "C" __global__ void __launch_bounds__(256) last_tile(float *sums, const float *x, unsigned n)
{
	unsigned base = blockIdx.x * 1024;
	float sum = 0;

	if (base + 1024 <= n) {
		float4 v = ((const float4 *)(x + base))[threadIdx.x]; // once

		sum = v.x + v.y + v.z + v.w;
	} else {
#pragma unroll 1
		for (unsigned k = threadIdx.x; k < n - base; k += 256)
			sum += x[base + k]; // once
	}
	sums[blockIdx.x * 256 + threadIdx.x] = sum; // once
}

/* Each thread has its own way, and some go to their neighbour's. */
extern "C" __global__ void own_ways(float *y, const float *x, const float *by, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float v;

	if (by[i] > 0) // once
		v = x[i] * 3; // again
	else
		v = x[i + 1] - 4; // again
	y[i] = v; // once
}
