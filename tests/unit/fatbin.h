/*
 * fatbin.h - the smallest fatbin that there is, for tests that then spoil it.
 */
#ifndef GSB_TESTS_FATBIN_H
#define GSB_TESTS_FATBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One uncompressed entry of PTX behind the two headers, laid out as nvcc does. */
static inline size_t make_fatbin(uint8_t *to, const char *text)
{
	uint64_t text_bytes = strlen(text) + 1, body = 64 + text_bytes;

	memset(to, 0, 16 + 64);
	memcpy(to, &(uint32_t){0xba55ed50}, 4);
	memcpy(to + 4, &(uint16_t){1}, 2);
	memcpy(to + 6, &(uint16_t){16}, 2);
	memcpy(to + 8, &body, 8);
	memcpy(to + 16, &(uint16_t){1}, 2);
	memcpy(to + 18, &(uint16_t){0x101}, 2);
	memcpy(to + 20, &(uint32_t){64}, 4);
	memcpy(to + 24, &text_bytes, 8);
	memcpy(to + 44, &(uint32_t){75}, 4);
	memcpy(to + 80, text, text_bytes);
	return 16 + body;
}

#endif
