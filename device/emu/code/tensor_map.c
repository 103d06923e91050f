/*
 * tensor_map.c - see tensor_map.h.
 */
#include "device/emu/code/tensor_map.h"

#include <string.h>

#include "base/compiler.h"

#define UNIT	     16 /* bytes that a copy takes at least */
#define MAX_DIM	     (UINT64_C(1) << 32)
#define MAX_STRIDE   (UINT64_C(1) << 40) /* bytes, not this */
#define MAX_STEP     8
#define MAX_BOX	     256
#define MAX_PIXELS   1024
#define MAX_PROMOTED 3 /* CU_TENSOR_MAP_L2_PROMOTION_L2_256B */
#define LEAST_IM2COL 3 /* dimensions: channels, pixels, images */

/* By CUtensorMapDataType. Packed types are of sm_100. */
static const struct {
	uint8_t bytes;
	bool is_float;
} types[] = {
	{1, false}, {2, false}, {4, false}, {4, false}, {8, false}, {8, false}, {2, true},
	{4, true},  {8, true},	{2, true},  {4, true},	{4, true},  {4, true},
};

/* By CUtensorMapSwizzle: bytes that are swizzled together; 0: as they come. Other atoms are of sm_100. */
static const uint8_t spans[] = {0, 32, 64, 128};

uint32_t gsb_emu_tensor_type_bytes(uint32_t type)
{
	return type < GSB_ARRAY_LEN(types) ? types[type].bytes : 0;
}

uint32_t gsb_emu_tensor_row_bytes(const struct gsb_tensor_map *m)
{
	uint32_t n = m->form == GSB_TENSOR_TILED ? m->box[0] : m->channels;

	return n * gsb_emu_tensor_type_bytes(m->type);
}

uint32_t gsb_emu_tensor_pitch(const struct gsb_tensor_map *m)
{
	uint32_t own = gsb_emu_tensor_row_bytes(m);

	return own < spans[m->swizzle] ? spans[m->swizzle] : own;
}

/* ---- what is wrong ---- */

static const char *numbers_wrong(const struct gsb_tensor_map *m)
{
	uint32_t least = m->form == GSB_TENSOR_IM2COL ? LEAST_IM2COL : 1;

	if (m->form != GSB_TENSOR_TILED && m->form != GSB_TENSOR_IM2COL)
		return "it is neither tiled nor im2col";
	if (!gsb_emu_tensor_type_bytes(m->type))
		return "sm_90 has no such type of elements";
	if (m->rank < least || m->rank > GSB_TENSOR_RANK_MAX)
		return "it has as many dimensions as none may have";
	if (m->interleave)
		return "interleaved tensors are not carried by the emulated device";
	if (m->swizzle >= GSB_ARRAY_LEN(spans))
		return "sm_90 has no such swizzle";
	if (m->l2_promotion > MAX_PROMOTED)
		return "there is no such promotion in the L2";
	if (m->oob_fill > 1 || (m->oob_fill && !types[m->type].is_float))
		return "elements outside are zero or, of floats, NaN";
	return NULL;
}

static const char *tensor_wrong(const struct gsb_tensor_map *m)
{
	if (m->addr % UNIT)
		return "its address is not aligned to 16 bytes";
	for (uint32_t i = 0; i < m->rank; i++) {
		if (!m->dims[i] || m->dims[i] > MAX_DIM)
			return "a dimension has from 1 to 2^32 elements";
		if (i && (!m->element_strides[i] || m->element_strides[i] > MAX_STEP))
			return "a stride of elements is from 1 to 8";
		if (i && (m->strides[i - 1] % UNIT || m->strides[i - 1] >= MAX_STRIDE))
			return "a stride of bytes is a multiple of 16, and less than 2^40";
	}
	return NULL;
}

/* Of the corners of the box of pixels; they have fewer bits where there are more of them. */
static const char *corners_wrong(const struct gsb_tensor_map *m)
{
	static const int32_t most[] = {32768, 128, 16};
	const int32_t limit = most[m->rank - LEAST_IM2COL];

	for (uint32_t i = 0; i + 2 < m->rank; i++) {
		if (m->lower[i] < -limit || m->lower[i] >= limit || m->upper[i] < -limit ||
		    m->upper[i] >= limit)
			return "a corner of its box of pixels is too far out";
		if (m->lower[i] >= (int64_t)m->dims[i + 1] + m->upper[i])
			return "its box of pixels is empty";
	}
	return NULL;
}

static const char *box_wrong(const struct gsb_tensor_map *m)
{
	const uint32_t row = gsb_emu_tensor_row_bytes(m);

	for (uint32_t i = 0; m->form == GSB_TENSOR_TILED && i < m->rank; i++)
		if (!m->box[i] || m->box[i] > MAX_BOX)
			return "a dimension of its box has from 1 to 256 elements";
	if (m->form == GSB_TENSOR_IM2COL &&
	    (!m->channels || m->channels > MAX_BOX || !m->pixels || m->pixels > MAX_PIXELS))
		return "it takes from 1 to 256 channels of 1 to 1024 pixels";
	if (row % UNIT)
		return "a row of its box is no multiple of 16 bytes";
	if (m->swizzle && row > spans[m->swizzle])
		return "a row of its box has more bytes than are swizzled together";
	return m->form == GSB_TENSOR_IM2COL ? corners_wrong(m) : NULL;
}

const char *gsb_emu_tensor_map_wrong(const struct gsb_tensor_map *m)
{
	const char *wrong = numbers_wrong(m);

	if (!wrong)
		wrong = tensor_wrong(m);
	return wrong ? wrong : box_wrong(m);
}

/* ---- the bytes ---- */

void gsb_emu_tensor_map_pack(const struct gsb_tensor_map *m, struct gsb_emu_tensor_map *out)
{
	*out = (struct gsb_emu_tensor_map){
		.magic = GSB_EMU_TENSOR_MAP_MAGIC,
		.form = (uint8_t)m->form,
		.type = (uint8_t)m->type,
		.rank = (uint8_t)m->rank,
		.swizzle = (uint8_t)m->swizzle,
		.l2_promotion = (uint8_t)m->l2_promotion,
		.oob_fill = (uint8_t)m->oob_fill,
		.addr = m->addr,
		.channels = (uint16_t)m->channels,
		.pixels = (uint16_t)m->pixels,
	};
	memcpy(out->strides, m->strides, sizeof(out->strides));
	for (uint32_t i = 0; i < m->rank; i++) {
		out->last[i] = (uint32_t)(m->dims[i] - 1);
		out->element_strides[i] = (uint8_t)m->element_strides[i];
		out->box[i] = (uint16_t)m->box[i];
	}
	for (uint32_t i = 0; i + 2 < m->rank; i++) {
		out->lower[i] = (int16_t)m->lower[i];
		out->upper[i] = (int16_t)m->upper[i];
	}
}

bool gsb_emu_tensor_map_unpack(const struct gsb_emu_tensor_map *packed, struct gsb_tensor_map *out)
{
	if (packed->magic != GSB_EMU_TENSOR_MAP_MAGIC)
		return false;
	*out = (struct gsb_tensor_map){
		.form = packed->form,
		.type = packed->type,
		.rank = packed->rank,
		.interleave = packed->interleave,
		.swizzle = packed->swizzle,
		.l2_promotion = packed->l2_promotion,
		.oob_fill = packed->oob_fill,
		.addr = packed->addr,
		.channels = packed->channels,
		.pixels = packed->pixels,
	};
	memcpy(out->strides, packed->strides, sizeof(out->strides));
	for (uint32_t i = 0; i < GSB_TENSOR_RANK_MAX; i++) {
		out->dims[i] = (uint64_t)packed->last[i] + 1;
		out->element_strides[i] = packed->element_strides[i];
		out->box[i] = packed->box[i];
	}
	for (uint32_t i = 0; i < GSB_TENSOR_RANK_MAX - 2; i++) {
		out->lower[i] = packed->lower[i];
		out->upper[i] = packed->upper[i];
	}
	return true;
}
