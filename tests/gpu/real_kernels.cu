/*
 * real_kernels.cu - kernels that do real work, on which the law of contention is tested (real_measure.c, doc/model.md). The law was
 * not made on them, and nothing of it is to be chosen by them: the kernels for that are those of model_kernels.cu, and those of
 * doc/results/2026-11-21-interference-h200.txt.
 *
 * Each is written as such kernels are, after the algorithm alone; real_loop.cuh says what they have in common. Compiled with -fmad=false:
 * what is fused says so, and the CPU can repeat it (tests/unit/test_real_kernels.c).
 */
#include "../../examples/gpu_db/kernels/md5.cu"
#include "real_loop.cuh"

/* The record nearest to a point. */
REAL(nearest, 256)
{
	const float2 *records = (const float2 *)real;
	u32 t = threadIdx.x;
	float best = 4.0f;

	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 64; k++) {
			float2 r = records[(item * 16384 + k * 256 + t) & (n / 2 - 1)];
			float dx = r.x - 0.5f, dy = r.y - 0.25f;

			best = fminf(best, sqrtf(dx * dx + dy * dy));
		}
	}
	out[(blockIdx.x * 256 + t) & (n - 1)] = best;
}

/* The cheapest way down a wall, row by row, 256 columns a block. */
REAL(cheapest_path, 256)
{
	__shared__ u32 cost[2][256];
	u32 t = threadIdx.x, left = t ? t - 1 : 0, right = t < 255 ? t + 1 : 255;

	cost[0][t] = 0;
	FOR_EACH_ITEM(item) {
		for (u32 r = 0; r < 64; r++) {
			const u32 *from = cost[r & 1];
			u32 least = min(from[t], min(from[left], from[right]));

			cost[(r + 1) & 1][t] = least + (word[((item * 64 + r) * 256 + t) & (n - 1)] & 15);
			__syncthreads();
		}
	}
	((u32 *)out)[(blockIdx.x * 256 + t) & (n - 1)] = cost[0][t];
}

/* Heat on a plate: tiles of 16 x 16, eight steps of each in shared memory. */
REAL(plate, 256)
{
	__shared__ float tile[2][16][16];
	u32 x = threadIdx.x % 16, y = threadIdx.x / 16;
	u32 left = x ? x - 1 : 0, right = x < 15 ? x + 1 : 15, up = y ? y - 1 : 0, down = y < 15 ? y + 1 : 15;

	FOR_EACH_ITEM(item) {
		for (u32 j = 0; j < 8; j++) {
			u32 id = item * 8 + j, at = ((id / 64 * 16 + y) * 1024 + id % 64 * 16 + x) & (n - 1);
			float power = real[(at + n / 2) & (n - 1)];

			tile[0][y][x] = real[at];
			__syncthreads();
			for (u32 k = 0; k < 8; k++) {
				float(*from)[16] = tile[k & 1], here = from[y][x];
				float around = (from[up][x] + from[down][x]) + (from[y][left] + from[y][right]);

				tile[(k + 1) & 1][y][x] = here + 0.1f * (around - 4.0f * here) + 0.05f * power;
				__syncthreads();
			}
			out[at] = tile[0][y][x];
		}
	}
}

static __device__ __forceinline__ u32 in_box(u32 z, u32 y, u32 x, u32 n)
{
	return ((z * 256 + (y & 255)) * 256 + (x & 255)) & (n - 1);
}

/* Heat in a box: seven points, a row of 256 columns walks through 32 planes. */
REAL(box, 256)
{
	u32 x = threadIdx.x;

	FOR_EACH_ITEM(item) {
		u32 y = item & 255, from = (item >> 8) * 32;
		float below = real[in_box(from - 1, y, x, n)], here = real[in_box(from, y, x, n)];

#pragma unroll 2
		for (u32 z = from; z < from + 32; z++) {
			float above = real[in_box(z + 1, y, x, n)];
			float beside = (real[in_box(z, y - 1, x, n)] + real[in_box(z, y + 1, x, n)]) +
				       (real[in_box(z, y, x - 1, n)] + real[in_box(z, y, x + 1, n)]);

			out[in_box(z, y, x, n)] = 0.4f * here + 0.1f * (above + below) + 0.1f * beside;
			below = here;
			here = above;
		}
	}
}

/* One level of a search through a graph: neighbours of the nodes of a list that were not seen before are marked. */
REAL(frontier, 256)
{
	u32 nodes = min(n / 8, 1u << 22), t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 4; k++) {
			u32 node = word[(item * 1024 + k * 256 + t) & (n - 1)] & (nodes - 1);
			u32 degree = (node * 2654435761u >> 29) + 1;

			for (u32 j = 0; j < degree; j++) {
				u32 to = word[node * 8 + j] & (nodes - 1);

				if (real[to] < 0.5f)
					out[to] = 1.0f;
			}
		}
	}
}

/* Smooths a picture where it has no edges; rows of 1,024. */
REAL(speckle, 256)
{
	FOR_EACH_ITEM(item) {
		u32 x = item % 4 * 256 + threadIdx.x, left = (x - 1) & 1023, right = (x + 1) & 1023;

#pragma unroll 1
		for (u32 r = 0; r < 16; r++) {
			u32 y = (item / 4 * 16 + r) * 1024, up = (y - 1024) & (n - 1), down = (y + 1024) & (n - 1);
			float c = real[(y & (n - 1)) + x] + 0.5f;
			float north = real[up + x] + 0.5f - c, south = real[down + x] + 0.5f - c;
			float west = real[(y & (n - 1)) + left] + 0.5f - c, east = real[(y & (n - 1)) + right] + 0.5f - c;
			float sum = (north + south) + (west + east);
			float squares = ((north * north + south * south) + (west * west + east * east)) / (c * c);
			float laplace = sum / c, den = 1.0f + 0.25f * laplace;
			float q = (0.5f * squares - 0.0625f * laplace * laplace) / (den * den);
			float k = 1.0f / (1.0f + (q - 0.05f) / 0.0525f);

			out[(y & (n - 1)) + x] = c + 0.25f * fminf(fmaxf(k, 0.0f), 1.0f) * sum;
		}
	}
}

/* What is left of a matrix when a block row and a block column are eliminated; tiles of 16 x 16 lie one behind the other. */
REAL(tile_update, 256)
{
	__shared__ float l[16][16], u[16][16];
	u32 t = threadIdx.x, x = t % 16, y = t / 16;

	FOR_EACH_ITEM(item) {
		for (u32 j = 0; j < 16; j++) {
			u32 at = ((item * 16 + j) * 256 + t) & (n - 1);
			float rest = real[(at + n / 4) & (n - 1)];

			l[y][x] = real[at];
			u[y][x] = real[(at & 262143) ^ n / 2];
			__syncthreads();
#pragma unroll
			for (u32 k = 0; k < 16; k++)
				rest = fmaf(-l[y][k], u[k][x], rest);
			out[at] = rest;
			__syncthreads();
		}
	}
}

/* Particles: noise, likelihood by eight pixels, and the place of a number in a rising table. */
REAL(particles, 256)
{
	float weights = 0, places = 0;
	u32 at = (blockIdx.x * 256 + threadIdx.x) & (n / 2 - 1);

	FOR_EACH_ITEM(item) {
		u32 state = (item * 256 + threadIdx.x) * 2654435761u;

#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 other = next_random(state), low = 0, high = 4095;
			float radius = sqrtf(-2.0f * __logf((float)((state >> 8) + 1) * 0x1p-24f));
			float noise = radius * __cosf((float)(other >> 8) * 0x1p-22f), like = 0, wanted;

			state = other;
			for (u32 j = 0; j < 8; j++) {
				float v;

				state = next_random(state);
				v = real[state >> 16];
				like += (v - 0.4f) * (v - 0.4f) - (v - 0.9f) * (v - 0.9f);
			}
			weights += __expf(0.1f * like + 0.01f * noise);
			wanted = (float)(state >> 20);
			while (low < high) {
				u32 middle = (low + high) / 2;

				if ((float)middle + real[middle] >= wanted)
					high = middle;
				else
					low = middle + 1;
			}
			places += (float)low;
		}
	}
	out[2 * at] = weights;
	out[2 * at + 1] = places;
}

/* a = b + 3 c */
REAL(triad, 256)
{
	const float4 *in = (const float4 *)real;
	u32 mask = n / 4 - 1;

	FOR_EACH_ITEM(item) {
#pragma unroll
		for (u32 k = 0; k < 8; k++) {
			u32 i = (item * 2048 + k * 256 + threadIdx.x) & mask;
			float4 b = in[i], c = in[(i + n / 8) & mask];

			((float4 *)out)[i] = make_float4(fmaf(3, c.x, b.x), fmaf(3, c.y, b.y), fmaf(3, c.z, b.z), fmaf(3, c.w, b.w));
		}
	}
}

/* Random places of a large table. */
REAL(updates, 256)
{
	FOR_EACH_ITEM(item) {
		u32 state = (item * 256 + threadIdx.x) * 2654435761u;

		for (u32 k = 0; k < 16; k++) {
			state = next_random(state);
			atomicXor((u32 *)out + ((state ^ state >> 13) & (n - 1)), state);
		}
	}
}

/* C = A B, A of n / 256 rows and 256 columns; 64 x 32 a block and 4 x 4 a thread. */
REAL(multiply, 128)
{
	__shared__ __align__(16) float a[16][68], b[16][32];
	u32 t = threadIdx.x, x = t % 8 * 4, y = t / 8 * 4;

	FOR_EACH_ITEM(item) {
		u32 row = item / 8 * 64, col = item % 8 * 32;
		float c[4][4] = {{0}};

#pragma unroll 1
		for (u32 k0 = 0; k0 < 256; k0 += 16) {
#pragma unroll
			for (u32 e = t; e < 1024; e += 128)
				a[e % 16][e / 16] = real[((row + e / 16) * 256 + k0 + e % 16) & (n - 1)];
#pragma unroll
			for (u32 e = t; e < 512; e += 128)
				b[e / 32][e % 32] = real[((k0 + e / 32) * 256 + col + e % 32 + n / 2) & (n - 1)];
			__syncthreads();
#pragma unroll
			for (u32 k = 0; k < 16; k++) {
				float4 p = *(float4 *)&a[k][y], q = *(float4 *)&b[k][x];
				float of_a[4] = {p.x, p.y, p.z, p.w}, of_b[4] = {q.x, q.y, q.z, q.w};

#pragma unroll
				for (u32 i = 0; i < 16; i++)
					c[i / 4][i % 4] = fmaf(of_a[i / 4], of_b[i % 4], c[i / 4][i % 4]);
			}
			__syncthreads();
		}
#pragma unroll
		for (u32 i = 0; i < 16; i++)
			out[((row + y + i / 4) * 256 + col + x + i % 4) & (n - 1)] = c[i / 4][i % 4];
	}
}

/* Tables of 4,096 places, a block's own, each built of 2,048 keys; who finds a place taken goes to the next. */
REAL(hash_build, 256)
{
	u32 *table = (u32 *)out + (blockIdx.x * 4096 & (n - 1)), t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 i = t; i < 4096; i += 256)
			table[i] = 0;
		__syncthreads();
		for (u32 i = t; i < 2048; i += 256) {
			u32 key = word[(item * 2048 + i) & (n - 1)] | 1, at = key * 2654435761u >> 20;

			for (u32 tries = 0; tries < 4096 && atomicCAS(&table[at], 0, key); tries++)
				at = (at + 1) & 4095;
		}
	}
}

/* Keys looked up in a table of up to 128 MiB, of whose places an eighth are empty: those whose last three bits are 0. */
REAL(hash_probe, 256)
{
	u32 mask = min(n, 1u << 25) - 1, t = threadIdx.x, steps = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 key = word[(item * 1024 + k * 256 + t) & (n - 1)], at = (key * 2654435761u >> 5) & mask;

			for (u32 found = word[at]; (found & 7) && found != key; found = word[at]) {
				at = (at + 1) & mask;
				steps++;
			}
		}
	}
	((u32 *)out)[(blockIdx.x * 256 + t) & (n - 1)] = steps;
}

/* 4,096 words by six of their bits: counted, then put in their places. */
REAL(radix_partition, 256)
{
	__shared__ u32 counts[64], place[64];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		const u32 *from = word + (item * 4096 & (n - 1));
		u32 *to = (u32 *)out + (item * 4096 & (n - 1)), before = 0;

		if (t < 64)
			counts[t] = 0;
		__syncthreads();
		for (u32 i = t; i < 4096; i += 256)
			atomicAdd(&counts[from[i] >> 20 & 63], 1);
		__syncthreads();
		if (t < 64) {
			for (u32 d = 0; d < t; d++)
				before += counts[d];
			place[t] = before;
		}
		__syncthreads();
		for (u32 i = t; i < 4096; i += 256) {
			u32 w = from[i];

			to[atomicAdd(&place[w >> 20 & 63], 1)] = w;
		}
	}
}

/* Registers alone, in all warps: floats and integers that mostly wait for their own last result. */
REAL(arithmetic, 256)
{
	u32 i = blockIdx.x * 256 + threadIdx.x, v = i;
	float x = (float)threadIdx.x, y = 1.0f;

	FOR_EACH_ITEM(item) {
		v ^= item;
#pragma unroll 8
		for (u32 k = 0; k < 512; k++) {
			x = fmaf(x, 0.999f, 0.001f);
			y = fmaf(y, 0.5f, x);
			v = next_random(v);
			v ^= v >> 7;
		}
	}
	out[(2 * i) & (n - 1)] = y;
	((u32 *)out)[(2 * i + 1) & (n - 1)] = v;
}

/* MD5 of messages of 128 words as gpu_db has it, one a thread. */
REAL(digest, 128)
{
	u32 *to = (u32 *)out + 4 * ((blockIdx.x * 128 + threadIdx.x) & (n / 4 - 1)), all[4] = {0};

	FOR_EACH_ITEM(item) {
		u32 state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u}, m[16];

#pragma unroll 1
		for (u32 block = 0; block < 9; block++) {
#pragma unroll
			for (u32 w = 0; w < 16; w++)
				m[w] = block < 8 ? word[(((item * 8 + block) * 16 + w) * 128 + threadIdx.x) & (n - 1)] : 0;
			if (block == 8) {
				m[0] = 0x80;
				m[14] = 128 << 5;
			}
			md5_block(state, m);
		}
		for (u32 w = 0; w < 4; w++)
			all[w] ^= state[w];
	}
	for (u32 w = 0; w < 4; w++)
		to[w] = all[w];
}
