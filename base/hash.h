/*
 * hash.h - numbers for contents: good enough to find things by, not against somebody who wants two to be alike.
 */
#ifndef GSB_BASE_HASH_H
#define GSB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GSB_HASH_BEGIN 0xcbf29ce484222325ull

/* One number behind those that gave h, each of its bits in all of the result's (the finalizer of splitmix64). */
static inline uint64_t gsb_hash_number(uint64_t h, uint64_t number)
{
	h = (h ^ number) + 0x9e3779b97f4a7c15ull;
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
	return h ^ (h >> 31);
}

/* These bytes behind what gave h, eight at a time as FNV-1a takes one: a few GB/s. */
static inline uint64_t gsb_hash_bytes(uint64_t h, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, p + i, size - i < sizeof(word) ? size - i : sizeof(word));
		h = (h ^ word) * 0x100000001b3ull;
		h ^= h >> 32;
	}
	return gsb_hash_number(h, size);
}

#endif
