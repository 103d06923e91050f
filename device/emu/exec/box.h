/*
 * box.h - the box of a tensor that one copy takes: which bytes of global memory are which of shared memory.
 *
 * A box is rows, runs of elements along the innermost dimension. Tiled, each further dimension goes from where the box begins to its
 * end, the inner ones first. Of im2col it is the same walk: pixels from the base of the filter on, from corner to corner of
 * the box of pixels, image after image, until there are enough; the filter's offsets are added to each. So both are steps, ends, and
 * where to begin again. In shared memory rows lie one after another, the pieces of 16 bytes swizzled by their addresses.
 */
#ifndef GSB_DEVICE_EMU_EXEC_BOX_H
#define GSB_DEVICE_EMU_EXEC_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/tensor_map.h"

struct gsb_emu_box {
	uint64_t addr; /* of the tensor's first element */
	uint64_t dims[GSB_TENSOR_RANK_MAX];
	uint64_t strides[GSB_TENSOR_RANK_MAX]; /* bytes, of an element for the first */
	int64_t at[GSB_TENSOR_RANK_MAX];       /* first row */
	int64_t begin[GSB_TENSOR_RANK_MAX], end[GSB_TENSOR_RANK_MAX];
	uint32_t step[GSB_TENSOR_RANK_MAX], offset[GSB_TENSOR_RANK_MAX];
	uint32_t rank, row_bytes, pitch;
	uint64_t n_rows;
	uint8_t type, swizzle; /* CUtensorMapDataType, CUtensorMapSwizzle */
	bool nan;	       /* what is outside: else zero */
	/* What is copied where: the caller's. */
	bool to_global;
	uint32_t reduction;    /* to_global: reduce.h; 0: a copy */
	unsigned char *shared; /* memory of the block whose it is */
	uint32_t place;	       /* in it, of the first byte */
};

struct gsb_emu_box_row {
	uint64_t addr;	   /* of its first byte, outside too */
	uint32_t from, to; /* bytes of it that are inside; none: from == to */
	uint32_t place;	   /* as in the box */
};

/* Zeroed but for the box. */
struct gsb_emu_box_walk {
	const struct gsb_emu_box *box;
	int64_t at[GSB_TENSOR_RANK_MAX];
	uint64_t n; /* rows so far */
};

/* @m: not wrong. @at: a coordinate for each dimension. @offsets: of im2col, one less two; NULL: none. */
void gsb_emu_box_init(struct gsb_emu_box *b, const struct gsb_tensor_map *m, const int32_t *at,
		      const uint32_t *offsets);

/* Whether there is another one. */
bool gsb_emu_box_next(struct gsb_emu_box_walk *w, struct gsb_emu_box_row *row);

/* Copy it. All that is inside must be memory. */
void gsb_emu_box_move(const struct gsb_emu_box *b);

/* Bytes that are copied, those outside included; and of shared memory that it takes. */
static inline uint64_t gsb_emu_box_bytes(const struct gsb_emu_box *b)
{
	return b->n_rows * b->row_bytes;
}

static inline uint64_t gsb_emu_box_room(const struct gsb_emu_box *b)
{
	return b->n_rows * b->pitch;
}

#endif
