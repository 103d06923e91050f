/*
 * late_kernels.cu - twelve more kernels as databases have them, on which predictions by probes were tested on 2026-11-30 after those of
 * held_kernels.cu (doc/model.md), when no probe was one of them and nothing of the model was chosen by them. Since then they are probes, and for
 * development as the others are; those of fresh_kernels.cu are what predictions are tested on.
 *
 * Each is written after its algorithm alone; real_loop.cuh says what they have in common. Compiled with -fmad=false, and held against the CPU
 * (tests/unit/test_late_kernels.c).
 */
#include "real_loop.cuh"

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ void keep(float *out, u32 n, u32 x)
{
	((u32 *)out)[(blockIdx.x * 256 + threadIdx.x) & (n - 1)] = x;
}

/* Where string i begins: strings have one to 31 bytes, sixteen in the mean. */
static __device__ __forceinline__ u32 string_at(const u32 *offsets, u32 i, u32 n)
{
	return 16 * i + (offsets[i & (n - 1)] & 15);
}

/* FNV-1a of strings, each from one offset to the next. */
REAL(string_hash, 256)
{
	const unsigned char *text = (const unsigned char *)real;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 8; k++) {
			u32 i = item * 2048 + k * 256 + threadIdx.x, hash = 2166136261u;
			u32 at = string_at(word, i, n), end = string_at(word, i + 1, n);

#pragma unroll 1
			for (; at != end; at++)
				hash = (hash ^ text[at & (4 * n - 1)]) * 16777619u;
			((u32 *)out)[i & (n - 1)] = hash;
		}
	}
}

/* Amounts times rates of six decimals: of 128 bits, over a million, rounded. */
REAL(decimals, 256)
{
	const uint4 *rows = (const uint4 *)word;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 16; k++) {
			u32 i = item * 4096 + k * 256 + threadIdx.x;
			uint4 row = rows[i & (n / 4 - 1)];
			u64 amount = (u64)row.y << 32 | row.x, rate = (u64)row.w << 32 | row.z;
			u64 low = amount * rate, high = __umul64hi(amount, rate), part, rest;

			high += low + 500000 < low;
			low += 500000;
			rest = high % 1000000;
			part = rest << 32 | low >> 32;
			rest = part % 1000000;
			part = (part / 1000000) << 32 | (rest << 32 | (u32)low) / 1000000;
			((uint2 *)out)[i & (n / 2 - 1)] = make_uint2((u32)part, (u32)(part >> 32));
		}
	}
}

/* Codes of eleven bits, one behind the other, each into a word. */
REAL(unpack_bits, 256)
{
	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 64; k++) {
			u32 i = (item * 16384 + k * 256 + threadIdx.x) & (n - 1), w = i / 32 * 11 + i % 32 * 11 / 32;
			u32 code = __funnelshift_r(word[w], word[w + 1], i % 32 * 11);

			((u32 *)out)[i] = code & 2047;
		}
	}
}

/* a.low <= b and b <= a.low + a.width: all of one tile with all of another. */
REAL(band_join, 256)
{
	__shared__ u32 low[128], width[128], other[512];
	u32 t = threadIdx.x, found = 0;

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 4; k++) {
			u32 i = item * 4 + k, from, within;

			if (t < 128) {
				low[t] = word[(i * 128 + t) & (n - 1)];
				width[t] = (u32)(real[(i * 128 + t) & (n - 1)] * 0x1p28f);
			}
			other[t] = word[(i * 512 + t + n / 2) & (n - 1)];
			other[t + 256] = word[(i * 512 + t + 256 + n / 2) & (n - 1)];
			__syncthreads();
			from = low[t & 127];
			within = width[t & 127];
#pragma unroll 8
			for (u32 j = 0; j < 256; j++)
				found += other[(t & 128) * 2 + j] - from <= within;
			__syncthreads();
		}
	}
	keep(out, n, found);
}

static __device__ __forceinline__ u32 hash_of(u32 x)
{
	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

/* HyperLogLog: of each of 1,024 parts the longest run of zeros, the block's own, and at the end of each unit everybody's. */
REAL(sketch, 256)
{
	__shared__ u32 longest[1024];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 i = t; i < 1024; i += 256)
			longest[i] = 0;
		__syncthreads();
#pragma unroll 4
		for (u32 k = 0; k < 64; k++) {
			u32 hash = hash_of(word[(item * 16384 + k * 256 + t) & (n - 1)]);

			atomicMax(&longest[hash & 1023], (u32)__clz((int)(hash | 1023)) + 1);
		}
		__syncthreads();
		for (u32 i = t; i < 1024; i += 256)
			if (longest[i])
				atomicMax((u32 *)out + i, longest[i]);
	}
}

/* A word more behind every 32: who goes by steps of eight meets no bank twice. */
static __device__ __forceinline__ u32 padded(u32 i)
{
	return i + i / 32;
}

/* The mean of each 64 in a row: of its first window a thread takes the sum, then what comes and what goes. */
REAL(moving_average, 256)
{
	__shared__ float line[2112 + 66];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 4; k++) {
			u32 from = (item * 4 + k) * 2048;
			float sum = 0, mean[8];

			for (u32 i = t; i < 2112; i += 256)
				line[padded(i)] = real[(from + i) & (n - 1)];
			__syncthreads();
#pragma unroll 8
			for (u32 j = 0; j < 64; j++)
				sum += line[padded(8 * t + j)];
#pragma unroll
			for (u32 j = 0; j < 8; j++) {
				mean[j] = sum * 0x1p-6f;
				sum += line[padded(8 * t + j + 64)] - line[padded(8 * t + j)];
			}
#pragma unroll
			for (u32 j = 0; j < 8; j += 4)
				*(float4 *)&out[(from + 8 * t + j) & (n - 1)] = make_float4(mean[j], mean[j + 1], mean[j + 2], mean[j + 3]);
			__syncthreads();
		}
	}
}

/* Keys in a cuckoo table of up to 64 MiB: each has two places, of which the upper byte says who is there. */
REAL(cuckoo_probe, 256)
{
	u32 mask = min(n, 1u << 24) - 1, found = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 3
		for (u32 k = 0; k < 6; k++) {
			u32 key = word[(item * 1536 + k * 256 + threadIdx.x) & (n - 1)], hash = hash_of(key);
			u32 one = word[hash >> 3 & mask], two = word[(hash * 2654435761u >> 5) & mask];

			found += (one ^ key) < 1u << 24 || (two ^ key) < 1u << 24;
		}
	}
	keep(out, n, found);
}

/* What an exchange leaves here. */
static __device__ __forceinline__ u32 one_of(u32 x, u32 other, bool less)
{
	return less ? min(x, other) : max(x, other);
}

/* 1,024 words in order, by exchanges: of four in a thread's registers, of 128 in a warp, of all through shared memory. */
REAL(bitonic_sort, 256)
{
	__shared__ u32 a[1024];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 k = 0; k < 2; k++) {
			uint4 *to = (uint4 *)out + ((item * 512 + k * 256 + t) & (n / 4 - 1));
			uint4 four = ((const uint4 *)word)[(item * 512 + k * 256 + t) & (n / 4 - 1)];
			u32 x[4] = {four.x, four.y, four.z, four.w};

#pragma unroll 1
			for (u32 size = 2; size <= 1024; size *= 2) {
				bool up = !(4 * t & size);

#pragma unroll 1
				for (u32 stride = size / 2; stride >= 128; stride /= 2) {
#pragma unroll
					for (u32 j = 0; j < 4; j++)
						a[j * 256 + t] = x[j];
					__syncthreads();
#pragma unroll
					for (u32 j = 0; j < 4; j++)
						x[j] = one_of(x[j], a[j * 256 + (t ^ stride / 4)], !(4 * t & stride) == up);
					__syncthreads();
				}
#pragma unroll 1
				for (u32 stride = min(size / 2, 64u); stride >= 4; stride /= 2)
#pragma unroll
					for (u32 j = 0; j < 4; j++)
						x[j] = one_of(x[j], __shfl_xor_sync(ALL_LANES, x[j], stride / 4), !(4 * t & stride) == up);
				if (size > 2)
#pragma unroll
					for (u32 j = 0; j < 2; j++) {
						u32 y = x[j];

						x[j] = one_of(y, x[j + 2], up);
						x[j + 2] = one_of(y, x[j + 2], !up);
					}
#pragma unroll
				for (u32 j = 0; j < 4; j += 2) {
					bool rises = size > 2 ? up : j == 0;
					u32 y = x[j];

					x[j] = one_of(y, x[j + 1], rises);
					x[j + 1] = one_of(y, x[j + 1], !rises);
				}
			}
			*to = make_uint4(x[0], x[1], x[2], x[3]);
		}
	}
}

/* The lengths of tracks on a globe of radius 1: haversines from each point to the next. */
REAL(distances, 256)
{
	const float2 *points = (const float2 *)real;
	float sum = 0;

	FOR_EACH_ITEM(item) {
		float2 from = points[(item * 8192 + threadIdx.x) & (n / 2 - 1)];

#pragma unroll 2
		for (u32 k = 1; k < 32; k++) {
			float2 to = points[(item * 8192 + k * 256 + threadIdx.x) & (n / 2 - 1)];
			float north = __sinf((to.x - from.x) * 1.57079633f), east = __sinf((to.y - from.y) * 3.14159265f);
			float level = __cosf((from.x - 0.5f) * 3.14159265f) * __cosf((to.x - 0.5f) * 3.14159265f);

			sum += 2 * asinf(fminf(sqrtf(north * north + level * (east * east)), 1.0f));
			from = to;
		}
	}
	out[(blockIdx.x * 256 + threadIdx.x) & (n - 1)] = sum;
}

/* In a node of 32 the last entry that is not more than the key, or the first; an entry is of 2^shift leaves. */
static __device__ __forceinline__ u32 child_of(const u32 *node, u32 first, u32 shift, u32 above, u32 key)
{
	u32 at = first;

#pragma unroll
	for (u32 d = 16; d; d /= 2)
		if (((at + d) << shift) * 16 + above + (node[at + d] & 7) <= key)
			at += d;
	return at;
}

/*
 * Keys in a tree of four levels, 32 entries a node and a million leaves (but no more than half of the array): key i is 16 i + 8 .. 15,
 * and the least of what an entry leads to is by one to fifteen more than the entry. The block has the two upper levels.
 */
REAL(tree_lookup, 256)
{
	__shared__ u32 root[32], second[1024];
	u32 leaves = min(n / 2, 1u << 20), t = threadIdx.x, found = 0;
	const u32 *third = word + n / 2, *leaf = word;

	for (u32 i = t; i < 1024; i += 256)
		second[i] = word[n / 2 + n / 4 + i];
	if (t < 32)
		root[t] = word[n / 2 + n / 4 + 1024 + t];
	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 4; k++) {
			u32 key = word[(item * 1024 + k * 256 + t) & (n - 1)] >> 3 & (16 * leaves - 1), at;

			at = child_of(root, 0, 15, 0, key);
			at = child_of(second, 32 * at, 10, 0, key);
			at = child_of(third, 32 * at, 5, 0, key);
			at = child_of(leaf, 32 * at, 0, 8, key);
			found += 16 * at + 8 + (leaf[at] & 7) == key;
		}
	}
	keep(out, n, found);
}

/* How many rows there are of each of 512 values, counted where all blocks see it. */
REAL(distinct_counts, 256)
{
	FOR_EACH_ITEM(item) {
#pragma unroll
		for (u32 k = 0; k < 2; k++)
			atomicAdd((u32 *)out + (hash_of(word[(item * 512 + k * 256 + threadIdx.x) & (n - 1)]) >> 23), 1);
	}
}

/* A byte of the text: one of ten digits, or, one in eight, what separates numbers. */
static __device__ __forceinline__ bool is_digit(u32 byte)
{
	return byte < 224;
}

/* Numbers in a text: each thread takes those that begin in its 32 bytes, to their ends. */
REAL(parse_numbers, 256)
{
	const unsigned char *text = (const unsigned char *)word;
	u32 mask = 4 * n - 1, sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 2; k++) {
			u32 at = ((item * 2 + k) * 256 + threadIdx.x) * 32, end = at + 32, value = 0;
			bool is_mine = !is_digit(text[(at - 1) & mask]), in_number;

			do {
				u32 byte = text[at & mask];

				in_number = is_digit(byte) && is_mine;
				sum += is_digit(byte) ? 0 : value;
				value = in_number ? value * 10 + byte % 10 : 0;
				is_mine |= !is_digit(byte);
				at++;
			} while (in_number || (int)(at - end) < 0);
		}
	}
	keep(out, n, sum);
}
