/*
 * tensor_map.h - what a tensor map says: a tensor in device memory, and the box of it that one copy of the TMA unit takes.
 *
 * The 128 bytes that kernels read are an encoding of this: the driver's own, which nobody else knows, so the driver is asked, or
 * the emulated device's.
 */
#ifndef GSB_TENSOR_MAP_H
#define GSB_TENSOR_MAP_H

#include <stdint.h>

#define GSB_TENSOR_RANK_MAX  5
#define GSB_TENSOR_MAP_WORDS 16 /* of its encoding */

enum gsb_tensor_form {
	GSB_TENSOR_TILED,
	GSB_TENSOR_IM2COL,
	GSB_TENSOR_MOVED, /* a map that there is, with another address */
	GSB_N_TENSOR_FORMS
};

/* Numbers are CUDA's: CUtensorMapDataType and so on. What a form does not say is 0. */
struct gsb_tensor_map {
	uint32_t form; /* enum gsb_tensor_form */
	uint32_t type, rank;
	uint32_t interleave, swizzle, l2_promotion, oob_fill;
	uint32_t zero;
	uint64_t addr;
	uint64_t dims[GSB_TENSOR_RANK_MAX];	   /* elements; the first `rank` count */
	uint64_t strides[GSB_TENSOR_RANK_MAX - 1]; /* bytes, of all dimensions but the innermost */
	uint32_t element_strides[GSB_TENSOR_RANK_MAX];
	uint32_t box[GSB_TENSOR_RANK_MAX];	/* TILED: elements */
	int32_t lower[GSB_TENSOR_RANK_MAX - 2]; /* IM2COL: corners of the box of pixels */
	int32_t upper[GSB_TENSOR_RANK_MAX - 2];
	uint32_t channels, pixels;		/* IM2COL: of a pixel, of a column */
	uint64_t encoded[GSB_TENSOR_MAP_WORDS]; /* MOVED */
};

#endif
