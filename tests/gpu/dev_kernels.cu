/*
 * dev_kernels.cu - kernels on which the law of contention is made (doc/model.md): measured as those of real_kernels.cu are, which it is
 * tested on. The first sixteen ask for one unit each, or for two in proportion; constants are fitted to these. The others mix units
 * as kernels do that work, and say how far that carries. The last is a probe alone.
 *
 * real_loop.cuh says what they have in common.
 */
#include "real_loop.cuh"

static __device__ __forceinline__ void keep(float *out, u32 n, float x)
{
	out[(blockIdx.x * 256 + threadIdx.x) & (n - 1)] = x;
}

static __device__ __forceinline__ u32 scramble(u32 x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

/* ---- one unit each ---- */

/* Four chains of arithmetic: a warp always has one that does not wait. */
REAL(chains, 256)
{
	float a = real[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;

	FOR_EACH_UNIT(unit) {
#pragma unroll 8
		for (u32 k = 0; k < 512; k++) {
			a = fmaf(a, 0.999f, 0.001f);
			b = fmaf(b, 0.999f, 0.002f);
			c = fmaf(c, 0.999f, 0.003f);
			d = fmaf(d, 0.999f, 0.004f);
		}
	}
	keep(out, n, a + b + c + d);
}

/* Whole numbers, which have half of the lanes. */
REAL(scrambles, 256)
{
	u32 a = word[threadIdx.x], b = a + 1;

	FOR_EACH_UNIT(unit) {
#pragma unroll 4
		for (u32 k = 0; k < 128; k++) {
			a = scramble(a + k);
			b = scramble(b ^ k);
		}
	}
	keep(out, n, (float)(a ^ b));
}

REAL(sines, 256)
{
	float a = real[threadIdx.x], b = a + 1;

	FOR_EACH_UNIT(unit) {
#pragma unroll 8
		for (u32 k = 0; k < 128; k++) {
			a = __sinf(a);
			b = __expf(-b);
		}
	}
	keep(out, n, a + b);
}

REAL(doubles, 256)
{
	double a = real[threadIdx.x], b = a + 1;

	FOR_EACH_UNIT(unit) {
#pragma unroll 8
		for (u32 k = 0; k < 512; k++) {
			a = fma(a, 0.999, 0.001);
			b = fma(b, 0.999, 0.002);
		}
	}
	keep(out, n, (float)(a + b));
}

/* No conflicts, and nothing to do with what is read. */
REAL(shared_reads, 256)
{
	__shared__ float table[1024];
	u32 t = threadIdx.x;
	float sum = 0;

	for (u32 i = t; i < 1024; i += 256)
		table[i] = real[i];
	FOR_EACH_ITEM(item) {
		u32 at = t + item;

#pragma unroll 16
		for (u32 k = 0; k < 256; k++)
			sum += ((volatile float *)table)[(at + k * 32) & 1023];
	}
	keep(out, n, sum);
}

/* The same with arithmetic between: half of what the pipe can. */
REAL(shared_half, 256)
{
	__shared__ float table[1024];
	u32 t = threadIdx.x;
	float sum = 0;

	for (u32 i = t; i < 1024; i += 256)
		table[i] = real[i];
	FOR_EACH_ITEM(item) {
		u32 at = t + item;

#pragma unroll 4
		for (u32 k = 0; k < 128; k++) {
			float x = ((volatile float *)table)[(at + k * 32) & 1023], y = x;

#pragma unroll
			for (u32 j = 0; j < 6; j++) {
				x = fmaf(x, 0.999f, 0.001f);
				y = fmaf(y, 0.998f, 0.002f);
			}
			sum += x * y;
		}
	}
	keep(out, n, sum);
}

/* Counting in shared memory, bins at random. */
REAL(shared_counts, 256)
{
	__shared__ u32 bins[1024];
	u32 t = threadIdx.x, x = word[blockIdx.x * 256 + t];

	for (u32 i = t; i < 1024; i += 256)
		bins[i] = 0;
	FOR_EACH_UNIT(unit) {
#pragma unroll 4
		for (u32 k = 0; k < 64; k++) {
			x = next_random(x);
			atomicAdd(&bins[x >> 22], 1);
		}
	}
	keep(out, n, (float)bins[t]);
}

/* Short steps between barriers. */
REAL(steps, 256)
{
	__shared__ float row[256];
	u32 t = threadIdx.x;
	float x = real[t];

	FOR_EACH_UNIT(unit) {
		for (u32 k = 0; k < 128; k++) {
			row[t] = x;
			__syncthreads();
			x += row[(t + 1) & 255];
			__syncthreads();
		}
	}
	keep(out, n, x);
}

/* 8 KiB, which every SM has in its L1. */
REAL(cached_reads, 256)
{
	u32 t = threadIdx.x;
	float sum = 0;

	FOR_EACH_ITEM(item) {
		u32 at = t + item * 32;

#pragma unroll 16
		for (u32 k = 0; k < 256; k++)
			sum += real[(at + k * 32) & 2047];
	}
	keep(out, n, sum);
}

REAL(stream, 256)
{
	const float4 *all = (const float4 *)real;
	u32 t = threadIdx.x;
	float sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 32; k++) {
			float4 x = all[(item * 8192 + k * 256 + t) & (n / 4 - 1)];

			sum += x.x + x.y + x.z + x.w;
		}
	}
	keep(out, n, sum);
}

/* The same with so much arithmetic that the memory is half busy. */
REAL(stream_half, 256)
{
	const float4 *all = (const float4 *)real;
	u32 t = threadIdx.x;
	float sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 2
		for (u32 k = 0; k < 16; k++) {
			float4 x = all[(item * 4096 + k * 256 + t) & (n / 4 - 1)];

#pragma unroll
			for (u32 j = 0; j < 20; j++) {
				x.x = fmaf(x.x, 0.999f, 0.001f);
				x.y = fmaf(x.y, 0.998f, 0.002f);
				x.z = fmaf(x.z, 0.997f, 0.003f);
				x.w = fmaf(x.w, 0.996f, 0.004f);
			}
			sum += x.x + x.y + x.z + x.w;
		}
	}
	keep(out, n, sum);
}

REAL(fill, 256)
{
	float4 *all = (float4 *)out;
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 32; k++)
			all[(item * 8192 + k * 256 + t) & (n / 4 - 1)] = make_float4(t, k, item, 1);
	}
}

/* Words of 16 MiB, in the L2, many under way. */
REAL(gather, 256)
{
	u32 x = blockIdx.x * 256 + threadIdx.x;
	float sum = 0;

	FOR_EACH_UNIT(unit) {
#pragma unroll 8
		for (u32 k = 0; k < 32; k++) {
			x = next_random(x);
			sum += real[x >> 10 & ((1u << 22) - 1) & (n - 1)];
		}
	}
	keep(out, n, sum);
}

/* Each says where the next one is. */
REAL(follow, 256)
{
	u32 x = scramble(blockIdx.x * 256 + threadIdx.x);

	FOR_EACH_UNIT(unit) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++)
			x = word[x & ((1u << 22) - 1) & (n - 1)] + k;
	}
	keep(out, n, (float)x);
}

/* Additions all over 64 MiB. */
REAL(add_scattered, 256)
{
	u32 x = blockIdx.x * 256 + threadIdx.x;

	FOR_EACH_UNIT(unit) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++) {
			x = next_random(x);
			atomicAdd(&out[x >> 8 & (n - 1)], 1.0f);
		}
	}
}

/* Additions to 16 KiB, in which all meet. */
REAL(add_few, 256)
{
	u32 x = blockIdx.x * 256 + threadIdx.x;

	FOR_EACH_UNIT(unit) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++) {
			x = next_random(x);
			atomicAdd((u32 *)&out[x >> 20 & 4095], 1);
		}
	}
}

/* ---- held back from the fit ---- */

/* Words of all of the array. */
REAL(gather_far, 256)
{
	u32 x = blockIdx.x * 256 + threadIdx.x;
	float sum = 0;

	FOR_EACH_UNIT(unit) {
#pragma unroll 8
		for (u32 k = 0; k < 16; k++) {
			x = next_random(x);
			sum += real[x >> 4 & (n - 1)];
		}
	}
	keep(out, n, sum);
}

REAL(scale, 256)
{
	const float4 *from = (const float4 *)real;
	float4 *to = (float4 *)out;
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++) {
			u32 at = (item * 4096 + k * 256 + t) & (n / 4 - 1);
			float4 x = from[at];

			to[at] = make_float4(2 * x.x, 2 * x.y, 2 * x.z, 2 * x.w);
		}
	}
}

/* A sector for each thread. */
REAL(records, 256)
{
	u32 t = threadIdx.x;
	float sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++)
			sum += real[((item * 16 + k) * 256 + t) * 8 & (n - 1)];
	}
	keep(out, n, sum);
}

/* Keys are looked up in a table of 1 MiB. */
REAL(look_up, 256)
{
	u32 t = threadIdx.x, found = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 32; k++) {
			u32 key = word[((item * 32 + k) * 256 + t) & (n - 1)];

			if (word[scramble(key) & 262143 & (n - 1)] > key)
				found++;
		}
	}
	keep(out, n, (float)found);
}

/* The same for one key in eight; the others cost arithmetic alone. */
REAL(look_up_few, 256)
{
	u32 t = threadIdx.x, found = 0;

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 16; k++) {
			u32 key = word[((item * 16 + k) * 256 + t) & (n - 1)];

#pragma unroll
			for (u32 j = 0; j < 4; j++)
				key = scramble(key);
			if (!(key & 7) && word[key >> 8 & 262143 & (n - 1)] > key)
				found++;
		}
	}
	keep(out, n, (float)found);
}

/* What was there before is asked for. */
REAL(tickets, 256)
{
	u32 x = blockIdx.x * 256 + threadIdx.x, sum = 0;

	FOR_EACH_UNIT(unit) {
#pragma unroll 2
		for (u32 k = 0; k < 8; k++) {
			x = next_random(x);
			sum += atomicAdd((u32 *)&out[x >> 12 & 262143 & (n - 1)], 1);
		}
	}
	if (sum == 12345)
		keep(out, n, 0);
}

/* Words are read and counted by value. */
REAL(count_values, 256)
{
	__shared__ u32 bins[1024];
	u32 t = threadIdx.x;

	for (u32 i = t; i < 1024; i += 256)
		bins[i] = 0;
	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 32; k++)
			atomicAdd(&bins[word[((item * 32 + k) * 256 + t) & (n - 1)] >> 22], 1);
	}
	keep(out, n, (float)bins[t]);
}

/* 256 words in order, by exchanges. */
REAL(sort, 256)
{
	__shared__ u32 a[256];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		a[t] = word[(item * 256 + t) & (n - 1)];
		__syncthreads();
		for (u32 size = 2; size <= 256; size *= 2)
			for (u32 step = size / 2; step > 0; step /= 2) {
				u32 other = t ^ step;
				u32 x = a[t], y = a[other];

				__syncthreads();
				a[t] = ((t & size) == 0) == (t < other) ? min(x, y) : max(x, y);
				__syncthreads();
			}
		((u32 *)out)[(item * 256 + t) & (n - 1)] = a[t];
	}
}

/* A filter of 16 taps over a line in shared memory. */
REAL(filter, 256)
{
	__shared__ float line[272];
	u32 t = threadIdx.x;
	float c = real[t & 15];

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 8; k++) {
			u32 at = (item * 8 + k) * 256 + t;
			float sum = 0;

			line[t] = real[at & (n - 1)];
			if (t < 16)
				line[256 + t] = real[(at + 256) & (n - 1)];
			__syncthreads();
#pragma unroll
			for (u32 j = 0; j < 16; j++)
				sum = fmaf(line[t + j], c + 0.01f * j, sum);
			out[at & (n - 1)] = sum;
			__syncthreads();
		}
	}
}

/* ---- a probe, of which nothing is fitted ---- */

/* Additions to 64 words, in which all meet; nobody waits for what was there. */
REAL(tally, 256)
{
	FOR_EACH_UNIT(unit) {
#pragma unroll
		for (u32 k = 0; k < 2; k++)
			atomicAdd((u32 *)&out[(threadIdx.x + 32 * k) & 63], 1);
	}
}
