/*
 * join.cu - hash join by histogram: no atomics, so the order of the rows is the same in every run.
 *
 * Build: each thread counts its rows per bucket in a histogram of its own (bucket-major: all threads
 * of bucket 0, then of bucket 1, ...). The exclusive prefix sum of that array is, at once, where each
 * thread writes its rows of each bucket and where each bucket begins. Probe: each thread counts the
 * matches of its rows, a prefix sum gives every thread its place in the output, a second pass writes.
 *
 * hash_build must run with the geometry of hash_build_hist, and join_write with that of join_count:
 * what a thread counted is what it writes. Positions read from memory are checked against the
 * arrays' lengths, so that a damaged histogram gives a wrong result and not a fault.
 */
#include "kernel.h"

static inline __device__ u32 bucket_of(u32 key, u32 mask)
{
	return (key ^ key >> 7 ^ key >> 13 ^ key >> 21) & mask;
}

KERNEL hash_build_hist(const u32 *key, u32 rows, u32 mask, u32 *hist)
{
	u64 self = thread_id(), threads = thread_count();

	for (u64 i = self; i < rows; i += threads)
		hist[bucket_of(key[i], mask) * threads + self]++;
}

KERNEL hash_build(const u32 *key, const u32 *val, u32 rows, u32 mask, u32 *hist, const u32 *start,
		  u32 *table_key, u32 *table_val)
{
	u64 self = thread_id(), threads = thread_count();

	for (u64 i = self; i < rows; i += threads) {
		u64 cell = bucket_of(key[i], mask) * threads + self;
		u32 to = start[cell] + --hist[cell];

		if (to < rows) {
			table_key[to] = key[i];
			table_val[to] = val[i];
		}
	}
}

/* The rows of one bucket: [first, end) of the table; `stride` is the number of threads that built it. */
static inline __device__ u32 bucket_first(const u32 *start, u32 bucket, u32 stride)
{
	return start[(u64)bucket * stride];
}

static inline __device__ u32 bucket_end(const u32 *start, u32 bucket, u32 stride, u32 mask, u32 rows)
{
	u32 end = bucket == mask ? rows : start[(u64)(bucket + 1) * stride];

	return end < rows ? end : rows;
}

KERNEL join_count(const u32 *table_key, const u32 *start, u32 stride, u32 mask, u32 table_rows,
		  const u32 *key, u32 rows, u32 *count)
{
	u32 self = thread_id(), threads = thread_count();
	u32 matches = 0;

	for (u32 i = self; i < rows; i += threads) {
		u32 k = key[i], bucket = bucket_of(k, mask);
		u32 end = bucket_end(start, bucket, stride, mask, table_rows);

		for (u32 j = bucket_first(start, bucket, stride); j < end; j++)
			matches += table_key[j] == k;
	}
	count[self] = matches;
}

/* A null `val` stands for the row number; a null `out_key` leaves the key out. */
KERNEL join_write(const u32 *table_key, const u32 *table_val, const u32 *start, u32 stride, u32 mask,
		  u32 table_rows, const u32 *key, const u32 *val, u32 rows, const u32 *offset,
		  u32 capacity, u32 *out_key, u32 *out_table, u32 *out_probe)
{
	u32 self = thread_id(), threads = thread_count();
	u32 to = offset[self];

	for (u32 i = self; i < rows; i += threads) {
		u32 k = key[i], bucket = bucket_of(k, mask), v = val ? val[i] : i;
		u32 end = bucket_end(start, bucket, stride, mask, table_rows);

		for (u32 j = bucket_first(start, bucket, stride); j < end; j++) {
			if (table_key[j] != k)
				continue;
			if (to < capacity) {
				if (out_key)
					out_key[to] = k;
				out_table[to] = table_val[j];
				out_probe[to] = v;
			}
			to++;
		}
	}
}

/* out[i] = column[index[i]]: late materialisation of what an earlier join found */
KERNEL gather_rows(const u32 *column, u32 column_rows, const u32 *index, u32 rows, u32 *out)
{
	for (u32 i = thread_id(); i < rows; i += thread_count()) {
		u32 from = index[i];

		out[i] = from < column_rows ? column[from] : ~0u;
	}
}

/*
 * Exclusive prefix sum of tiles of 2 * blockDim items (a power of two): up-sweep and down-sweep in
 * shared memory. sums[t] is the total of tile t. in and out may be the same array.
 */
KERNEL scan_tiles(const u32 *in, u32 *out, u32 *sums, u32 items)
{
	extern __shared__ u32 item[];
	u32 self = THREAD_X, width = 2 * BLOCK_DIM_X;
	u32 tiles = (items + width - 1) / width;

	for (u32 tile = BLOCK_X; tile < tiles; tile += GRID_DIM_X) {
		u32 a = tile * width + self, b = a + BLOCK_DIM_X;

		item[self] = a < items ? in[a] : 0;
		item[self + BLOCK_DIM_X] = b < items ? in[b] : 0;
		for (u32 step = 1; step < width; step *= 2) {
			u32 right = (self + 1) * 2 * step - 1;

			__syncthreads();
			if (right < width)
				item[right] += item[right - step];
		}
		__syncthreads();
		if (self == 0) {
			sums[tile] = item[width - 1];
			item[width - 1] = 0;
		}
		for (u32 step = width / 2; step > 0; step /= 2) {
			u32 right = (self + 1) * 2 * step - 1;

			__syncthreads();
			if (right < width) {
				u32 left = item[right - step];

				item[right - step] = item[right];
				item[right] += left;
			}
		}
		__syncthreads();
		if (a < items)
			out[a] = item[self];
		if (b < items)
			out[b] = item[self + BLOCK_DIM_X];
		__syncthreads();
	}
}

/* Second half of a prefix sum longer than one tile: adds to each tile the sum of those before it. */
KERNEL scan_update(u32 *out, const u32 *sums, u32 items)
{
	u32 width = 2 * BLOCK_DIM_X;
	u32 tiles = (items + width - 1) / width;

	for (u32 tile = BLOCK_X; tile < tiles; tile += GRID_DIM_X) {
		u32 a = tile * width + THREAD_X, b = a + BLOCK_DIM_X;

		if (a < items)
			out[a] += sums[tile];
		if (b < items)
			out[b] += sums[tile];
	}
}
