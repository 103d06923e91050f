/*
 * units.cu - kernels that keep one unit of a GPU full each, and as little else as can be (rig.c runs them, doc/model.md#calibrate).
 *
 * A block does so many passes and ends: so its length is a parameter, as the number of blocks is. 256 threads of 32 registers at most, an
 * eighth of an SM of 64 warps. No pass waits for another block, and nothing is written but a word at the end, by threads that
 * never come there: so that the compiler cannot leave out what leads to it.
 *
 * words has mask + 1 of them, all zero, a power of two. from is a number of each grid's own: where a grid begins in words.
 *
 *	make calibrate-ptx      makes units.ptx of it, which is shipped; needs nvcc
 */
typedef unsigned int u32;

#define THREADS 256

#define UNIT(name)                                                                                 \
	extern "C" __global__ void __launch_bounds__(THREADS, 8)                                   \
		name(const u32 *words, u32 mask, u32 from, u32 passes, u32 *out)

static __device__ __forceinline__ void keep(u32 *out, u32 x)
{
	if (x == 0x9e3779b9u)
		out[threadIdx.x] = x;
}

static __device__ __forceinline__ u32 next_random(u32 x)
{
	return x * 1664525u + 1013904223u;
}

/* Cached by the SM. volatile: each is done. */
static __device__ __forceinline__ u32 load_near(const u32 *p)
{
	u32 x;

	asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p));
	return x;
}

/* Cached by the L2 alone. */
static __device__ __forceinline__ u32 load_far(const u32 *p)
{
	u32 x;

	asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(p));
	return x;
}

/* Four chains: a warp always has one that does not wait. */
UNIT(dense)
{
	float a = (float)(threadIdx.x + from), b = a + 1, c = a + 2, d = a + 3;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 16; k++) {
			a = fmaf(a, 0.999f, 0.001f);
			b = fmaf(b, 0.999f, 0.002f);
			c = fmaf(c, 0.999f, 0.003f);
			d = fmaf(d, 0.999f, 0.004f);
		}
	}
	keep(out, __float_as_uint(a + b + c + d));
}

/* One chain: each warp waits for itself after each instruction, and eight of them fill a scheduler all the same. */
UNIT(issue)
{
	float a = (float)(threadIdx.x + from);

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 64; k++)
			a = fmaf(a, 0.999f, 0.001f);
	}
	keep(out, __float_as_uint(a));
}

/* Whole numbers without products, which another pipe has. */
UNIT(alu)
{
	u32 a = threadIdx.x + from, b = a + 1, c = a + 2, d = a + 3;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 16; k++) {
			a = min(a ^ d, a + 0x7feb352du);
			b = min(b ^ a, b + 0x846ca68bu);
			c = min(c ^ b, c + 0x9e3779b1u);
			d = min(d ^ c, d + 0x85ebca6bu);
		}
	}
	keep(out, a ^ b ^ c ^ d);
}

/* No conflicts, and nothing is done with what is read. */
UNIT(shared)
{
	extern __shared__ u32 table[]; /* a word for each thread */
	u32 sum = 0, at = (u32)__cvta_generic_to_shared(&table[threadIdx.x]);

	table[threadIdx.x] = from;
#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
		u32 x = 0;

#pragma unroll
		for (u32 k = 0; k < 64; k++)
			asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
		sum += x;
	}
	keep(out, sum);
}

/* 8 KiB, which every SM has near. */
UNIT(l1)
{
	const u32 *mine = words + threadIdx.x;
	u32 sum = 0;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
		u32 x = 0;

#pragma unroll
		for (u32 k = 0; k < 64; k++)
			x = load_near(mine + k % 8 * THREADS);
		sum += x;
	}
	keep(out, sum + from);
}

UNIT(sfu)
{
	float a = (float)(threadIdx.x + from), b = a + 1;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 32; k++) {
			asm volatile("sin.approx.f32 %0, %0;" : "+f"(a));
			asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(b));
		}
	}
	keep(out, __float_as_uint(a + b));
}

UNIT(fp64)
{
	double a = (double)(threadIdx.x + from), b = a + 1;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 32; k++) {
			a = fma(a, 0.999, 0.001);
			b = fma(b, 0.999, 0.002);
		}
	}
	keep(out, (u32)(a + b));
}

/* Two accumulators, so that a warp has one to go on with. */
UNIT(tensor)
{
	u32 x = threadIdx.x & 1, y = 0;
	float a[4] = {(float)from, 0, 0, 0}, b[4] = {1, 0, 0, 0};

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 16; k++) {
			asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
				     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
				     : "+f"(a[0]), "+f"(a[1]), "+f"(a[2]), "+f"(a[3])
				     : "r"(x), "r"(y), "r"(x));
			asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
				     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
				     : "+f"(b[0]), "+f"(b[1]), "+f"(b[2]), "+f"(b[3])
				     : "r"(x), "r"(y), "r"(x));
		}
	}
	keep(out, __float_as_uint(a[0] + a[1] + a[2] + a[3] + b[0] + b[1] + b[2] + b[3]));
}

/* Words at random, many under way. */
UNIT(l2)
{
	u32 x = (blockIdx.x * THREADS + threadIdx.x) * 2654435761u + from, sum = 0;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 8; k++) {
			x = next_random(x);
			sum += load_far(&words[x >> 4 & mask]);
		}
	}
	keep(out, sum);
}

/* Each says where the next one is. */
UNIT(chain)
{
	u32 x = (blockIdx.x * THREADS + threadIdx.x) * 2654435761u + from;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 4; k++)
			x = next_random(x + load_far(&words[x >> 4 & mask]));
	}
	keep(out, x);
}

/* Sixteen bytes a thread; each place once, until all of words has been read. */
UNIT(dram)
{
	const uint4 *all = (const uint4 *)words;
	u32 i = from + blockIdx.x * THREADS + threadIdx.x, step = gridDim.x * THREADS, sum = 0;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 4; k++) {
			uint4 x = __ldcg(&all[i & mask >> 2]);

			sum += x.x ^ x.y ^ x.z ^ x.w;
			i += step;
		}
	}
	keep(out, sum);
}

/* Short steps between barriers. */
UNIT(barrier)
{
	const u32 *mine = words + threadIdx.x;
	u32 sum = from;

#pragma unroll 1
	for (u32 pass = 0; pass < passes; pass++) {
#pragma unroll
		for (u32 k = 0; k < 8; k++) {
			__syncthreads();
			sum += load_near(mine + k * THREADS);
			__syncthreads();
		}
	}
	keep(out, sum);
}
