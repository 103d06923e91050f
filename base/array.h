/*
 * array.h - where the texels of an array lie among the addresses that stand for it.
 *
 * Rows are 32 bytes or a multiple of that apart (CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT), levels begin at multiples of 512
 * (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT).
 */
#ifndef GSB_BASE_ARRAY_H
#define GSB_BASE_ARRAY_H

#include <stdbool.h>

#include "gsb/array.h"

struct gsb_array_level {
	uint64_t offset;		  /* bytes from the array's first address */
	uint64_t row_bytes, pitch_bytes;  /* of texels; from row to row */
	uint64_t slice_bytes;		  /* from slice, layer or face to the next */
	uint32_t width, n_rows, n_slices; /* each at least 1 */
};

/* Whether its texels can be counted: known texels, no side longer than any device has. Not whether a device has such arrays. */
bool gsb_array_is_sane(const struct gsb_array *a);

/* How many levels there are: one, of what is not mipmapped. */
unsigned gsb_array_n_levels(const struct gsb_array *a);

/* Of a sane array. */
void gsb_array_find_level(const struct gsb_array *a, unsigned level, struct gsb_array_level *out);

/* All levels of a sane array, to the end of the last row's pitch. */
uint64_t gsb_array_bytes(const struct gsb_array *a);

#endif
