/*
 * mix.h - the checksum of columns and results: a sum of mixed (position, value) pairs.
 *
 * mix() is a bijection of 64 bits (the finalizer of splitmix64), so one changed bit changes one term
 * of the sum and nothing else: it cannot go unseen. A sum does not depend on order, so parts may be
 * computed in parallel. kernels/check.cu computes the same on the device.
 */
#ifndef GPU_DB_MIX_H
#define GPU_DB_MIX_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

static inline uint64_t mix_words(const uint32_t *word, uint64_t words)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < words; i++)
		sum += mix(i << 32 | word[i]);
	return sum;
}

/* A row of a join's result: its place in the output does not count, what it holds does. */
static inline uint64_t mix_pair(uint32_t r, uint32_t s)
{
	return mix((uint64_t)r << 32 | s);
}

static inline uint64_t mix_triple(uint32_t r, uint32_t s, uint32_t z)
{
	return mix(mix_pair(r, s) + z);
}

#endif
