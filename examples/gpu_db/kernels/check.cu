/*
 * check.cu - checksum of a column where it lies, in device memory.
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
