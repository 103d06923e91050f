/*
 * bulk.c - see bulk.h.
 */
#include "base/bulk.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE	 64
#define BULK_MIN (64u << 10) /* less than that stays in the cache until it is read */

static void copy_lines(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t at = 0; at < n; at += LINE) {
		const __m128i *from = (const __m128i *)(const void *)(src + at);
		__m128i *to = (__m128i *)(void *)(dst + at);
		__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
		__m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
	_mm_sfence();
}

void gsb_bulk_copy(void *dst, const void *src, size_t n)
{
	uint8_t *to = dst;
	const uint8_t *from = src;
	size_t head = -(uintptr_t)dst % LINE, lines;

	if (n < BULK_MIN) {
		memcpy(dst, src, n);
		return;
	}
	lines = (n - head) / LINE * LINE;
	memcpy(to, from, head);
	copy_lines(to + head, from + head, lines);
	memcpy(to + head + lines, from + head + lines, n - head - lines);
}
#else
void gsb_bulk_copy(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}
#endif
