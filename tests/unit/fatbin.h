/*
 * fatbin.h - the smallest fatbin that there is, for tests that then spoil it.
 */
#ifndef GSB_TESTS_FATBIN_H
#define GSB_TESTS_FATBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FATBIN_PTX 1
#define FATBIN_ELF 2

/* Another uncompressed entry, laid out as nvcc does; @size: what there is so far, 0: nothing. Returns what there is then. */
static inline size_t fatbin_add(uint8_t *to, size_t size, uint16_t kind, uint32_t sm,
				const void *data, uint64_t bytes)
{
	uint8_t *entry = to + (size ? size : 16);
	uint64_t body = (uint64_t)(entry - to) - 16 + 64 + bytes;

	if (!size) {
		memset(to, 0, 16);
		memcpy(to, &(uint32_t){0xba55ed50}, 4);
		memcpy(to + 4, &(uint16_t){1}, 2);
		memcpy(to + 6, &(uint16_t){16}, 2);
	}
	memcpy(to + 8, &body, 8);
	memset(entry, 0, 64);
	memcpy(entry, &kind, 2);
	memcpy(entry + 2, &(uint16_t){0x101}, 2);
	memcpy(entry + 4, &(uint32_t){64}, 4);
	memcpy(entry + 8, &bytes, 8);
	memcpy(entry + 28, &sm, 4);
	memcpy(entry + 64, data, bytes);
	return 16 + body;
}

/* One entry of PTX. */
static inline size_t make_fatbin(uint8_t *to, const char *text)
{
	return fatbin_add(to, 0, FATBIN_PTX, 75, text, strlen(text) + 1);
}

#endif
