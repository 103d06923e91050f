/*
 * box.c - see box.h.
 */
#include "device/emu/exec/box.h"

#include <string.h>

#include "device/emu/code/tensor_map.h"
#include "device/emu/exec/reduce.h"

#define PIECE 16 /* bytes that stay together */

/* CUtensorMapDataType, of those that a copy changes. */
enum { TYPE_F32_FTZ = 10, TYPE_TF32, TYPE_TF32_FTZ };

/* ---- the walk ---- */

static void init_tile(struct gsb_emu_box *b, const struct gsb_tensor_map *m)
{
	b->n_rows = 1;
	for (uint32_t i = 1; i < b->rank; i++) {
		b->step[i] = m->element_strides[i];
		b->begin[i] = b->at[i];
		b->end[i] = b->at[i] + m->box[i];
		b->n_rows *= (m->box[i] + b->step[i] - 1) / b->step[i];
	}
}

/* Between channels and images are pixels; images have no end. */
static void init_im2col(struct gsb_emu_box *b, const struct gsb_tensor_map *m,
			const uint32_t *offsets)
{
	b->n_rows = m->pixels;
	for (uint32_t i = 1; i + 1 < b->rank; i++) {
		b->step[i] = m->element_strides[i];
		b->begin[i] = m->lower[i - 1];
		b->end[i] = (int64_t)m->dims[i] + m->upper[i - 1];
		b->offset[i] = offsets ? offsets[i - 1] : 0;
	}
	b->step[b->rank - 1] = 1;
	b->end[b->rank - 1] = INT64_MAX;
}

void gsb_emu_box_init(struct gsb_emu_box *b, const struct gsb_tensor_map *m, const int32_t *at,
		      const uint32_t *offsets)
{
	*b = (struct gsb_emu_box){
		.addr = m->addr,
		.rank = m->rank,
		.row_bytes = gsb_emu_tensor_row_bytes(m),
		.pitch = gsb_emu_tensor_pitch(m),
		.type = (uint8_t)m->type,
		.swizzle = (uint8_t)m->swizzle,
		.nan = m->oob_fill,
	};
	b->strides[0] = gsb_emu_tensor_type_bytes(m->type);
	for (uint32_t i = 0; i < b->rank; i++) {
		b->dims[i] = m->dims[i];
		b->at[i] = at[i];
		if (i)
			b->strides[i] = m->strides[i - 1];
	}
	if (m->form == GSB_TENSOR_TILED)
		init_tile(b, m);
	else
		init_im2col(b, m, offsets);
}

static void step(struct gsb_emu_box_walk *w)
{
	const struct gsb_emu_box *b = w->box;

	for (uint32_t i = 1; i < b->rank; i++) {
		w->at[i] += b->step[i];
		if (w->at[i] < b->end[i])
			return;
		w->at[i] = b->begin[i];
	}
}

/* Elements of a row that are inside. */
static void find_inside(const struct gsb_emu_box *b, struct gsb_emu_box_row *row)
{
	const int64_t first = b->at[0], size = (int64_t)b->dims[0],
		      n = b->row_bytes / b->strides[0];
	int64_t from = first < 0 ? -first : 0, to = size - first < n ? size - first : n;

	if (from >= to)
		return;
	row->from = (uint32_t)((uint64_t)from * b->strides[0]);
	row->to = (uint32_t)((uint64_t)to * b->strides[0]);
}

bool gsb_emu_box_next(struct gsb_emu_box_walk *w, struct gsb_emu_box_row *row)
{
	const struct gsb_emu_box *b = w->box;
	bool inside = true;

	if (w->n == b->n_rows)
		return false;
	if (w->n)
		step(w);
	else
		memcpy(w->at, b->at, sizeof(w->at));
	*row = (struct gsb_emu_box_row){
		.addr = b->addr + (uint64_t)b->at[0] * b->strides[0],
		.place = b->place + (uint32_t)(w->n++ * b->pitch),
	};
	for (uint32_t i = 1; i < b->rank; i++) {
		uint64_t at = (uint64_t)(w->at[i] + b->offset[i]);

		inside &= at < b->dims[i];
		row->addr += at * b->strides[i];
	}
	if (inside)
		find_inside(b, row);
	return true;
}

/* ---- pieces ---- */

/* Of a span of the swizzle, the pieces are exchanged by the number of the 128 bytes in which it lies. */
static uint32_t swizzled(const struct gsb_emu_box *b, uint32_t place)
{
	static const uint8_t exchanged[] = {0x00, 0x10, 0x30, 0x70};

	return place ^ (place >> 3 & exchanged[b->swizzle]);
}

/* What is outside: zero, or the NaN of which all bits but the sign are set. */
static void fill(const struct gsb_emu_box *b, unsigned char *piece)
{
	memset(piece, b->nan ? 0xff : 0, PIECE);
	for (uint64_t i = b->strides[0]; b->nan && i <= PIECE; i += b->strides[0])
		piece[i - 1] = 0x7f;
}

/* To the nearest number of 10 bits behind the point, or the even one; infinity stays, NaN is the usual one. */
static uint32_t to_tf32(uint32_t f)
{
	if ((f & 0x7f800000) == 0x7f800000)
		return f & 0x7fffff ? 0x7fffffff : f;
	return (f + 0xfff + (f >> 13 & 1)) & ~UINT32_C(0x1fff);
}

static void convert(const struct gsb_emu_box *b, unsigned char *piece)
{
	uint32_t f[PIECE / 4];

	if (b->type < TYPE_F32_FTZ)
		return;
	memcpy(f, piece, sizeof(f));
	for (unsigned int i = 0; i < PIECE / 4; i++) {
		if (b->type != TYPE_TF32 && !(f[i] & 0x7f800000))
			f[i] &= 0x80000000;
		if (b->type != TYPE_F32_FTZ)
			f[i] = to_tf32(f[i]);
	}
	memcpy(piece, f, sizeof(f));
}

/* @from, @to: which bytes of the piece at @place are those at @addr. */
static void load_piece(const struct gsb_emu_box *b, unsigned char *place, uint64_t addr,
		       uint32_t from, uint32_t to)
{
	unsigned char piece[PIECE];

	fill(b, piece);
	if (from < to)
		memcpy(piece + from, (const void *)(uintptr_t)addr, to - from);
	convert(b, piece);
	memcpy(place, piece, PIECE);
}

static void store_piece(const struct gsb_emu_box *b, const unsigned char *place, uint64_t addr,
			uint32_t from, uint32_t to)
{
	unsigned char *there = (unsigned char *)(uintptr_t)addr;

	if (from >= to)
		return;
	if (b->reduction)
		gsb_emu_reduce(there, place + from, to - from, b->reduction);
	else
		memcpy(there, place + from, to - from);
}

static void move_row(const struct gsb_emu_box *b, const struct gsb_emu_box_row *row)
{
	for (uint32_t at = 0; at < b->row_bytes; at += PIECE) {
		unsigned char *place = b->shared + swizzled(b, row->place + at);
		uint32_t from = row->from > at ? row->from - at : 0;
		uint32_t to = row->to > at ? row->to - at : 0;

		from = from < PIECE ? from : PIECE;
		to = to < PIECE ? to : PIECE;
		if (b->to_global)
			store_piece(b, place, row->addr + at + from, from, to);
		else
			load_piece(b, place, row->addr + at + from, from, to);
	}
}

void gsb_emu_box_move(const struct gsb_emu_box *b)
{
	struct gsb_emu_box_walk w = {.box = b};
	struct gsb_emu_box_row row;

	while (gsb_emu_box_next(&w, &row))
		move_row(b, &row);
}
