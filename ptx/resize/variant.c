/*
 * variant.c - see variant.h.
 */
#include "ptx/resize/variant.h"

#include <string.h>

uint32_t gsb_variant_total(const uint32_t grid[3])
{
	uint64_t n = 1;

	for (int i = 0; i < 3; i++) {
		n *= grid[i];
		if (n > GSB_VARIANT_MAX_BLOCKS)
			return 0;
	}
	return (uint32_t)n;
}

static uint32_t at_most(uint64_t n, uint32_t most)
{
	return n < most ? (uint32_t)n : most;
}

/* From the outermost axis: what of it can be taken whole, from this place on? */
bool gsb_variant_slice_next(const uint32_t grid[3], uint64_t *done, uint32_t most,
			    struct gsb_variant_slice *out, uint32_t size[3])
{
	const uint64_t row = grid[0], plane = row * grid[1];

	if (*done / plane >= grid[2] || !most)
		return false;
	memcpy(out->grid, grid, sizeof(out->grid));
	out->first[0] = (uint32_t)(*done % row);
	out->first[1] = (uint32_t)(*done / row % grid[1]);
	out->first[2] = (uint32_t)(*done / plane);
	size[0] = grid[0];
	size[1] = size[2] = 1;
	if (!out->first[0] && !out->first[1] && most >= plane) {
		size[1] = grid[1];
		size[2] = at_most(most / plane, grid[2] - out->first[2]);
	} else if (!out->first[0] && most >= row) {
		size[1] = at_most(most / row, grid[1] - out->first[1]);
	} else {
		size[0] = at_most(most, grid[0] - out->first[0]);
	}
	*done += (uint64_t)size[0] * size[1] * size[2];
	return true;
}

size_t gsb_variant_reshapes(uint32_t blocks, uint32_t threads, uint32_t step, uint32_t most,
			    uint32_t *out, size_t room)
{
	const uint64_t all = (uint64_t)blocks * threads;
	size_t n = 0;

	for (uint64_t t = step; t <= most && n < room; t += step)
		if (all % t == 0 && all / t <= INT32_MAX)
			out[n++] = (uint32_t)t;
	return n;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint32_t gsb_variant_every(uint64_t n_blocks, uint32_t warps_per_block, uint64_t want)
{
	uint64_t every = want ? n_blocks * warps_per_block / want : 0;

	if (every > UINT32_MAX)
		every = UINT32_MAX;
	while (every > 1 && common_divisor(every, warps_per_block) > 1)
		every--;
	return every ? (uint32_t)every : 1;
}
