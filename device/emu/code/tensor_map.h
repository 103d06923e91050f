/*
 * tensor_map.h - the 128 bytes of a tensor map, as this device lays them out: made by cuTensorMapEncode*, changed by
 * tensormap.replace, read by the copies that name one.
 *
 * A program keeps them wherever it likes and may write anything there: who reads one checks all of it, each time.
 */
#ifndef GSB_DEVICE_EMU_CODE_TENSOR_MAP_H
#define GSB_DEVICE_EMU_CODE_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/tensor_map.h"

#define GSB_EMU_TENSOR_MAP_ALIGN 64
#define GSB_EMU_TENSOR_MAP_MAGIC UINT32_C(0x4d545347)

/* What is what: gsb/tensor_map.h. */
struct gsb_emu_tensor_map {
	uint32_t magic; /* MAGIC; anything else: it is none */
	uint8_t form, type, rank, interleave;
	uint8_t swizzle, l2_promotion, oob_fill;
	uint8_t element_strides[GSB_TENSOR_RANK_MAX];
	uint32_t zero;
	uint64_t addr;
	uint32_t last[GSB_TENSOR_RANK_MAX]; /* element of each dimension: its size less one */
	uint16_t box[GSB_TENSOR_RANK_MAX];
	uint16_t channels, pixels;
	int16_t lower[GSB_TENSOR_RANK_MAX - 2], upper[GSB_TENSOR_RANK_MAX - 2];
	uint16_t zero2;
	uint64_t strides[GSB_TENSOR_RANK_MAX - 1];
	uint64_t zero3[2];
};

_Static_assert(sizeof(struct gsb_emu_tensor_map) == GSB_TENSOR_MAP_WORDS * sizeof(uint64_t),
	       "as large as CUDA says");

/* NULL, or why a copy by such a map cannot be: what CUDA documents of cuTensorMapEncodeTiled and of its kind, for sm_90. */
const char *gsb_emu_tensor_map_wrong(const struct gsb_tensor_map *m);

/* Of one that is not wrong; what a form does not say is 0. */
void gsb_emu_tensor_map_pack(const struct gsb_tensor_map *m, struct gsb_emu_tensor_map *out);
/* False: it is none. What comes out may be wrong. */
bool gsb_emu_tensor_map_unpack(const struct gsb_emu_tensor_map *packed, struct gsb_tensor_map *out);

/* Bytes of an element; 0: sm_90 has no such type. */
uint32_t gsb_emu_tensor_type_bytes(uint32_t type);
/* Bytes of shared memory that one row of the box takes: its own, or as many as are swizzled together. */
uint32_t gsb_emu_tensor_row_bytes(const struct gsb_tensor_map *m);
uint32_t gsb_emu_tensor_pitch(const struct gsb_tensor_map *m);

#endif
