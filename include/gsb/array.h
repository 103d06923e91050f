/*
 * array.h - a CUDA array as the wire and devices have it: texels in one to three dimensions, in layers or faces, with levels of detail.
 *
 * In a window of device addresses a part stands for each: row-major, level after level (base/array.h). Copies name texels
 * by those addresses. Whether there is memory behind them is for the device to say: a GPU keeps texels in an order of its own.
 */
#ifndef GSB_ARRAY_H
#define GSB_ARRAY_H

#include <stdint.h>

struct gsb_array {
	uint32_t width, height, depth; /* texels, layers or faces; 0: there is no such dimension */
	uint32_t flags;		       /* CUDA_ARRAY3D_* */
	uint8_t format;		       /* CUarray_format */
	uint8_t n_channels;	       /* 1, 2 or 4 */
	uint8_t n_levels;	       /* of a mipmapped array; 0: it is none */
	uint8_t zero[5];
};

_Static_assert(sizeof(struct gsb_array) == 24, "the same in library and engine");

#endif
