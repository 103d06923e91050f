/*
 * tensor.c - see tensor.h.
 */
#include "device/emu/lower/tensor.h"

#include <string.h>

#include "device/emu/lower/operand.h"
#include "ptx/tensor.h"

#define MAP_BYTES 128

/* ---- boxes ---- */

/* [map, coordinates]: the generic address of a variable in global memory is that in its space. */
static uint32_t lower_map(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *box)
{
	struct gsb_ptx_operand map = *box;

	map.imm = 0;
	return gsb_emu_address(l, &map);
}

/* Coordinates, then offsets: a list of rows. */
static uint32_t lower_place(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *box,
			    const struct gsb_ptx_operand *offsets)
{
	const uint32_t n = box->n, m = offsets ? offsets->n : 0;
	uint32_t list = gsb_emu_list_new(l, n + m);

	for (uint32_t i = 0; i < n + m; i++) {
		uint32_t row = gsb_emu_src(l, i < n ? &box->elems[i] : &offsets->elems[i - n], 4);

		if (!l->err)
			l->lists[list + i] = row;
	}
	return list;
}

static void lower_box(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *o = in->operands;
	const char *shape = gsb_ptx_insn_shape(in);
	struct gsb_emu_op of = {.d = GSB_EMU_NONE, .c = GSB_EMU_NONE, .e = GSB_EMU_NONE}, *op;
	const struct gsb_ptx_operand *box = o, *offsets = NULL;
	struct gsb_ptx_tensor t;

	_Static_assert(sizeof(t) == sizeof(op->imm), "it goes into the op");
	gsb_ptx_tensor_decode(in->spelling, strlen(in->spelling), &t);
	for (uint32_t i = 0; i < in->n_operands; i++) {
		switch (shape[i]) {
		case 'K': box = &o[i]; break;
		case 'I': offsets = &o[i]; break;
		case 'j': of.e = gsb_emu_src(l, &o[i], 4); break;
		case 'h':
			*(of.d == GSB_EMU_NONE ? &of.d : &of.c) = gsb_emu_address(l, &o[i]);
			break;
		default: break; /* a cache policy */
		}
	}
	of.a = lower_map(l, box);
	of.b = lower_place(l, box, offsets);
	op = gsb_emu_emit(l, GSB_EMU_FORM_TENSOR, true);
	op->a = of.a;
	op->b = of.b;
	op->c = of.c;
	op->d = of.d;
	op->e = of.e;
	op->n = GSB_PTX_SPACE_CLUSTER; /* of the mbarrier */
	memcpy(&op->imm, &t, sizeof(t));
}

/* ---- maps ---- */

/* What sm_90 has of what is written as a constant. */
static bool constants_ok(const struct gsb_ptx_insn *in)
{
	const int64_t value = in->operands[1].imm;

	switch (in->op) {
	case GSB_PTX_OP_TENSORMAP_BOX:
	case GSB_PTX_OP_TENSORMAP_DIM:
	case GSB_PTX_OP_TENSORMAP_STEP: return value >= 0 && value < 5;
	case GSB_PTX_OP_TENSORMAP_STRIDE: return value >= 0 && value < 4;
	case GSB_PTX_OP_TENSORMAP_TYPE: return value >= 0 && value < 13;
	case GSB_PTX_OP_TENSORMAP_INTERLEAVE: return value >= 0 && value < 3;
	case GSB_PTX_OP_TENSORMAP_SWIZZLE: return value >= 0 && value < 4;
	case GSB_PTX_OP_TENSORMAP_FILL: return value >= 0 && value < 2;
	default: return true;
	}
}

static void lower_replace(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *o = in->operands;
	uint32_t map = gsb_emu_address(l, &o[0]);
	uint32_t value = gsb_emu_src(l, &o[in->n_operands - 1], gsb_ptx_type_bytes(in->type[0]));
	struct gsb_emu_op *op;

	if (!constants_ok(in)) {
		gsb_emu_not_carried(l);
		return;
	}
	op = gsb_emu_emit(l, GSB_EMU_FORM_TENSORMAP_REPLACE, true);
	op->a = map;
	op->b = value;
	op->c = in->n_operands > 2 ? (uint32_t)o[1].imm : 0;
	op->e = in->op;
	op->n = in->space;
}

/* All lanes of the warp come together first, and what they copy is there for all afterwards. */
static void lower_copy(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t to = gsb_emu_address(l, &o[0]), from = gsb_emu_address(l, &o[1]);
	uint32_t all = gsb_emu_const_row(l, GSB_EMU_ALL, 4);
	struct gsb_emu_op *op;

	if (o[2].imm != MAP_BYTES) {
		gsb_emu_not_carried(l);
		return;
	}
	gsb_emu_emit(l, GSB_EMU_FORM_BAR_WARP, false)->b = all;
	op = gsb_emu_emit(l, GSB_EMU_FORM_TENSORMAP_COPY, true);
	op->d = to;
	op->a = from;
	gsb_emu_emit(l, GSB_EMU_FORM_FENCE, false);
}

void gsb_emu_lower_tensor(struct gsb_emu_lowering *l)
{
	switch (l->insn->op) {
	case GSB_PTX_OP_TENSOR_COPY:
	case GSB_PTX_OP_TENSOR_REDUCE: lower_box(l); break;
	case GSB_PTX_OP_TENSOR_PREFETCH: gsb_emu_emit(l, GSB_EMU_FORM_NOP, true); break;
	case GSB_PTX_OP_TENSORMAP_COPY: lower_copy(l); break;
	default: lower_replace(l); break;
	}
}
