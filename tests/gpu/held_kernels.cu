/*
 * held_kernels.cu - kernels as databases have them, on which predictions by probes were tested on 2026-11-30 (doc/model.md), when no probe
 * was one of them and nothing of the model was chosen by them. Since then they are probes, and for development as those of dev_kernels.cu and
 * real_kernels.cu are; those of fresh_kernels.cu are what predictions are tested on.
 *
 * Each is written after its algorithm alone; real_loop.cuh says what they have in common. Compiled with -fmad=false, and held against the CPU
 * (tests/unit/test_held_kernels.c).
 */
#include "real_loop.cuh"

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ void keep(float *out, u32 n, u32 x)
{
	((u32 *)out)[(blockIdx.x * 256 + threadIdx.x) & (n - 1)] = x;
}

/* The sum of x up to this thread, of all threads; totals are of warps. */
static __device__ __forceinline__ u32 sum_up_to(u32 x, u32 totals[8])
{
	u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

#pragma unroll
	for (u32 d = 1; d < 32; d *= 2) {
		u32 before = __shfl_up_sync(ALL_LANES, x, d);

		if (lane >= d)
			x += before;
	}
	if (lane == 31)
		totals[warp] = x;
	__syncthreads();
	for (u32 w = 0; w < warp; w++)
		x += totals[w];
	return x;
}

/* Of each word the sum up to it, in pieces of 4,096. */
REAL(prefix_sums, 256)
{
	__shared__ u32 totals[2][8];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		u32 carry = 0;

		for (u32 k = 0; k < 16; k++) {
			u32 at = (item * 4096 + k * 256 + t) & (n - 1), *of_warps = totals[k & 1];

			((u32 *)out)[at] = carry + sum_up_to(word[at], of_warps);
			for (u32 w = 0; w < 8; w++)
				carry += of_warps[w];
		}
	}
}

/* Rows that two bitmaps have and a third has not. */
REAL(bitmaps, 256)
{
	const uint4 *map = (const uint4 *)word;
	u32 mask = n / 4 - 1, found = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 8; k++) {
			u32 i = item * 2048 + k * 256 + threadIdx.x;
			uint4 a = map[i & mask], b = map[(i + n / 16) & mask], c = map[(i + n / 8) & mask];

			found += __popc(a.x & b.x & ~c.x) + __popc(a.y & b.y & ~c.y);
			found += __popc(a.z & b.z & ~c.z) + __popc(a.w & b.w & ~c.w);
		}
	}
	keep(out, n, found);
}

/* A column of codes, two a word, becomes values, of a dictionary of 65,536. */
REAL(dictionary, 256)
{
	FOR_EACH_ITEM(item) {
#pragma unroll 4
		for (u32 k = 0; k < 16; k++) {
			u32 i = item * 4096 + k * 256 + threadIdx.x, codes = word[i & (n - 1)];

			((float2 *)out)[i & (n / 2 - 1)] = make_float2(real[codes & 65535], real[codes >> 16]);
		}
	}
}

/* 256 runs of one to sixteen equal values are written out. */
REAL(expand_runs, 256)
{
	__shared__ u32 totals[8], ends[256], values[256];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		for (u32 j = 0; j < 4; j++) {
			u32 piece = item * 4 + j, run = word[(piece * 256 + t) & (n - 1)];

			ends[t] = sum_up_to((run >> 28) + 1, totals);
			values[t] = run;
			__syncthreads();
			for (u32 i = t; i < ends[255]; i += 256) {
				u32 low = 0, high = 255;

				while (low < high) {
					u32 middle = (low + high) / 2;

					if (ends[middle] > i)
						high = middle;
					else
						low = middle + 1;
				}
				((u32 *)out)[(piece * 4096 + i) & (n - 1)] = values[low];
			}
			__syncthreads();
		}
	}
}

/* LIKE '%a_c%': of all places of a text, a byte each. */
REAL(find_text, 256)
{
	const uint4 *text = (const uint4 *)word;
	u32 found = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 1
		for (u32 k = 0; k < 16; k++) {
			u32 i = (item * 4096 + k * 256 + threadIdx.x) & (n / 4 - 1);
			uint4 here = text[i];
			u32 w[5] = {here.x, here.y, here.z, here.w, word[(4 * i + 4) & (n - 1)]};

#pragma unroll
			for (u32 b = 0; b < 16; b++)
				found += (__funnelshift_r(w[b / 4], w[b / 4 + 1], b % 4 * 8) & 0xff00ff) == 0x630061;
		}
	}
	keep(out, n, found);
}

/* GROUP BY: sums of 64 groups in a table of the block's own, open addressing, added to everybody's at the end of each unit. */
REAL(group_sums, 256)
{
	__shared__ u32 keys[128], sums[128];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		if (t < 128)
			keys[t] = sums[t] = 0;
		__syncthreads();
		for (u32 k = 0; k < 16; k++) {
			u32 row = word[(item * 4096 + k * 256 + t) & (n - 1)], key = (row >> 8 & 63) + 1;
			u32 at = key * 2654435761u >> 25, taken = atomicCAS(&keys[at], 0, key);

			while (taken && taken != key) {
				at = (at + 1) & 127;
				taken = atomicCAS(&keys[at], 0, key);
			}
			atomicAdd(&sums[at], row & 255);
		}
		__syncthreads();
		if (t < 128 && keys[t])
			atomicAdd((u32 *)out + keys[t], sums[t]);
	}
}

static __device__ __forceinline__ u32 largest_of_warp(u32 x)
{
#pragma unroll
	for (u32 d = 16; d; d /= 2)
		x = max(x, __shfl_xor_sync(ALL_LANES, x, d));
	return x;
}

/* ORDER BY ... LIMIT 8: each thread keeps the four largest that it sees, and of these the block takes eight. */
REAL(largest, 256)
{
	__shared__ u32 of_warps[2][8];
	u32 t = threadIdx.x;

	FOR_EACH_ITEM(item) {
		u32 best[4] = {0};

#pragma unroll 4
		for (u32 k = 0; k < 32; k++) {
			u32 x = word[(item * 8192 + k * 256 + t) & (n - 1)];

#pragma unroll
			for (u32 b = 0; b < 4; b++) {
				u32 less = min(best[b], x);

				best[b] = max(best[b], x);
				x = less;
			}
		}
		for (u32 r = 0; r < 8; r++) {
			u32 most = largest_of_warp(best[0]);

			if (t % 32 == 0)
				of_warps[r & 1][t / 32] = most;
			__syncthreads();
			for (u32 w = 0; w < 8; w++)
				most = max(most, of_warps[r & 1][w]);
			if (best[0] == most) {
				((u32 *)out)[(item * 8 + r) & (n - 1)] = most;
				best[0] = best[1];
				best[1] = best[2];
				best[2] = best[3];
				best[3] = 0;
			}
		}
	}
}

/* Keys that a Bloom filter of 4 MiB lets through: up to three bits of it. */
REAL(bloom, 256)
{
	u32 mask = min(n, 1u << 20) - 1, found = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 2
		for (u32 k = 0; k < 16; k++) {
			u32 key = word[(item * 4096 + k * 256 + threadIdx.x) & (n - 1)], bit = key * 2654435761u, tries = 0;

			while (tries < 3 && (word[bit >> 5 & mask] >> (bit & 31) & 1)) {
				bit = (bit ^ bit >> 15) * 0x846ca68bu;
				tries++;
			}
			found += tries == 3;
		}
	}
	keep(out, n, found);
}

/* Row i of a sorted column: it rises by sixteen and some. */
static __device__ __forceinline__ u32 sorted_key(const u32 *word, u32 i, u32 n)
{
	return 16 * i + (word[i & (n - 1)] & 15);
}

/* Equal keys of two sorted columns: each thread finds where its eight steps of the merge begin, and takes them. */
REAL(merge_join, 256)
{
	const u32 *other = word + n / 2;
	u32 found = 0;

	FOR_EACH_ITEM(item) {
		u32 from = item * 1024 & (n / 2 - 1), left, right, low, high, step = 8 * threadIdx.x;

		low = step > 1024 ? step - 1024 : 0;
		high = min(step, 1024u);
		while (low < high) {
			u32 middle = (low + high) / 2;

			if (sorted_key(word, from + middle, n) <= sorted_key(other, from + step - 1 - middle, n / 2))
				low = middle + 1;
			else
				high = middle;
		}
		left = low;
		right = step - low;
		for (u32 k = 0; k < 8; k++) {
			u32 a = left < 1024 ? sorted_key(word, from + left, n) : ALL_LANES;
			u32 b = right < 1024 ? sorted_key(other, from + right, n / 2) : ALL_LANES;

			found += a == b;
			if (a <= b)
				left++;
			else
				right++;
		}
	}
	keep(out, n, found);
}

/* A sparse matrix of eight values a row times a vector of 4 MiB. */
REAL(sparse_rows, 256)
{
	u32 mask = min(n, 1u << 20) - 1, t = threadIdx.x;

	FOR_EACH_ITEM(item) {
#pragma unroll 2
		for (u32 k = 0; k < 16; k++) {
			u32 i = (item * 4096 + k * 256 + t) & (n - 1);
			float sum = real[i] * real[word[i] & mask];

#pragma unroll
			for (u32 d = 4; d; d /= 2)
				sum += __shfl_xor_sync(ALL_LANES, sum, d);
			if (t % 8 == 0)
				out[i / 8] = sum;
		}
	}
}

/* Days since the first of March of the year 0 become year, month and day. */
REAL(dates, 256)
{
	u32 sum = 0;

	FOR_EACH_ITEM(item) {
#pragma unroll 2
		for (u32 k = 0; k < 32; k++) {
			u32 days = word[(item * 8192 + k * 256 + threadIdx.x) & (n - 1)] >> 12;
			u32 era = days / 146097, of_era = days % 146097;
			u32 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
			u32 of_year = of_era - (365 * year + year / 4 - year / 100);
			u32 month = (5 * of_year + 2) / 153, day = of_year - (153 * month + 2) / 5;

			sum += ((era * 400 + year) * 12 + month) * 31 + day;
		}
	}
	keep(out, n, sum);
}

/* A regular expression as 32 states by sixteen symbols, each thread with a text of its own. */
REAL(automaton, 256)
{
	__shared__ u32 next[512];
	u32 t = threadIdx.x, found = 0;

	for (u32 i = t; i < 512; i += 256)
		next[i] = word[i] & 31;
	FOR_EACH_ITEM(item) {
		u32 state = 0;

#pragma unroll 1
		for (u32 k = 0; k < 16; k++) {
			u32 text = word[(item * 4096 + k * 256 + t) & (n - 1)];

#pragma unroll
			for (u32 c = 0; c < 8; c++) {
				state = next[state * 16 + (text >> 4 * c & 15)];
				found += state == 0;
			}
		}
	}
	keep(out, n, found);
}
