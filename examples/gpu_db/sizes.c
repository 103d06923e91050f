/*
 * sizes.c - see sizes.h.
 */
#include "sizes.h"

#include <errno.h>
#include <math.h>

#define MEBI (1024u * 1024u)

static uint32_t scaled(double full, double factor, uint32_t least)
{
	double n = round(full * factor);

	return n < least ? least : (uint32_t)n;
}

static uint32_t power_of_two_within(uint32_t limit)
{
	uint32_t n = 1;

	while (n <= limit / 2)
		n *= 2;
	return n;
}

int sizes_of(double scale, struct sizes *out)
{
	const uint32_t md5_unit = 16 * MD5_MESSAGES; /* one md5 block of every message */

	if (!(scale >= SCALE_MIN && scale <= SCALE_MAX))
		return -ERANGE;
	*out = (struct sizes){
		.scale = scale,
		.r_rows = scaled(10 * MEBI, scale, 1),
		.key_range = scaled(262144, scale, 1),
		.chunk_rows = scaled(65536, scale, 1),
		.buckets = power_of_two_within(scaled(8192, scale, 16)),
		.md5_words = scaled(64 * MEBI / 4.0 / md5_unit, scale, 8) * md5_unit,
		.matrix_n = (scaled(2048, sqrt(scale), 16) + 15) / 16 * 16,
		.atoms = scaled(1250, sqrt(scale), 2),
		.repeats = scaled(10000, scale, 256),
	};
	return 0;
}
