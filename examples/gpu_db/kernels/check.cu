/*
 * check.cu - checksum of a column, or of a result, where it lies, in device memory.
 *
 * The sum over all words of a mix of position and value: any order of adding gives the same number,
 * a single changed bit gives another. The column files carry the same number, so that a column is
 * checked from the disk to the memory that the kernels read. A column that passes in chunks is summed
 * chunk by chunk: `first` is the position of a chunk's first word.
 */
#include "kernel.h"

static inline __device__ u64 mix(u64 v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

KERNEL column_checksum(const u32 *word, u32 words, u64 first, u64 *sum)
{
	u64 part = 0;

	for (u64 i = thread_id(); i < words; i += thread_count())
		part += mix((first + i) << 32 | word[i]);
	atomic_add(sum, part);
}

/* Rows of a join's result, in any order: two columns, or three where z is not 0. */
KERNEL row_checksum(const u32 *r, const u32 *s, const u32 *z, u32 rows, u64 *sum)
{
	u64 part = 0;

	for (u32 i = thread_id(); i < rows; i += thread_count()) {
		u64 row = mix((u64)r[i] << 32 | s[i]);

		part += z ? mix(row + z[i]) : row;
	}
	atomic_add(sum, part);
}
