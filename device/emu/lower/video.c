/*
 * video.c - lowering of the video instructions: opcode, types and the parts that the operands name become one
 * description (code/video.h).
 */
#include "device/emu/lower/video.h"

#include <string.h>

#include "device/emu/code/video.h"
#include "device/emu/lower/operand.h"
#include "ptx/ptx.h"

bool gsb_emu_is_video(const struct gsb_ptx_insn *in)
{
	return in->op >= GSB_PTX_OP_VADD && in->op <= GSB_PTX_OP_VSET4;
}

/* The scalar form, and how many elements; an average has no scalar form and goes by its own first name. */
static void set_form(struct gsb_emu_video *v, unsigned int op)
{
	static const uint16_t families[] = {
		GSB_PTX_OP_VADD, GSB_PTX_OP_VSUB, GSB_PTX_OP_VAVRG2, GSB_PTX_OP_VABSDIFF,
		GSB_PTX_OP_VMIN, GSB_PTX_OP_VMAX, GSB_PTX_OP_VSET,
	};

	v->n = op < GSB_PTX_OP_VADD2 ? 1 : op < GSB_PTX_OP_VADD4 ? 2 : 4;
	v->op = (uint16_t)op;
	if (v->n > 1)
		v->op = families[op - (v->n == 2 ? GSB_PTX_OP_VADD2 : GSB_PTX_OP_VADD4)];
}

static bool is_signed(const struct gsb_ptx_insn *in, unsigned int nth)
{
	return gsb_ptx_type_is_signed(in->type[nth]);
}

/* vset names no type of the result: it is compared with c as one of a's. */
static void set_flags(struct gsb_emu_video *v, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = in->operands;
	bool names_result = v->op != GSB_PTX_OP_VSET;

	v->flags |= is_signed(in, 0) ? GSB_EMU_VIDEO_D_SIGNED : 0;
	v->flags |= is_signed(in, names_result) ? GSB_EMU_VIDEO_A_SIGNED : 0;
	v->flags |= is_signed(in, names_result + 1u) ? GSB_EMU_VIDEO_B_SIGNED : 0;
	v->flags |= in->flags & GSB_PTX_F_SAT ? GSB_EMU_VIDEO_SAT : 0;
	v->flags |= in->flags & GSB_PTX_F_WRAP ? GSB_EMU_VIDEO_WRAP : 0;
	v->flags |= in->flags & GSB_PTX_F_PO ? GSB_EMU_VIDEO_PO : 0;
	v->flags |= !o[1].negated != !o[2].negated ? GSB_EMU_VIDEO_NEG_AB : 0;
	if (v->op == GSB_PTX_OP_VMAD)
		v->flags |= o[3].negated ? GSB_EMU_VIDEO_NEG_C : 0;
	v->shift = in->flags & GSB_PTX_F_SHR7 ? 7 : in->flags & GSB_PTX_F_SHR15 ? 15 : 0;
	v->sub = in->sub;
	v->cmp = in->cmp;
}

/* One part of a register that a scalar form reads or writes; @base: of the register in the pair. */
static bool scalar_part(const struct gsb_ptx_operand *o, unsigned int base, uint8_t *bits,
			uint8_t *at)
{
	*bits = !o->part ? 32 : o->part == 'b' ? 8 : 16;
	*at = (uint8_t)(base + (o->part ? o->parts * *bits : 0));
	return !o->part || (o->n_parts == 1 && o->parts < 32 / *bits);
}

/* The elements of a SIMD source are any of both registers' parts. */
static bool simd_parts(const struct gsb_ptx_operand *o, const struct gsb_emu_video *v,
		       unsigned int base, uint8_t *bits, uint8_t *at)
{
	bool right = o->part == (v->n == 2 ? 'h' : 'b') && o->n_parts == v->n;

	*bits = (uint8_t)(32 / v->n);
	for (unsigned int i = 0; i < v->n; i++) {
		unsigned int part = o->part ? o->parts >> 4 * i & 15 : base / *bits + i;

		right &= part < 2u * v->n;
		at[i] = (uint8_t)(part * *bits);
	}
	return !o->part || right;
}

/* Which elements of the result are written: digits that descend. */
static bool set_mask(struct gsb_emu_video *v, const struct gsb_ptx_operand *o)
{
	unsigned int above = 0;

	v->d_bits = (uint8_t)(32 / v->n);
	for (unsigned int i = 0; i < v->n; i++)
		v->d_at[i] = (uint8_t)(i * v->d_bits);
	v->mask = (uint8_t)((1 << v->n) - 1);
	if (!o->part)
		return true;
	v->mask = 0;
	for (unsigned int i = 0; i < o->n_parts; i++) {
		unsigned int part = o->parts >> 4 * i & 15;

		if (part >= v->n || (i && part <= above))
			return false;
		v->mask |= (uint8_t)(1 << part);
		above = part;
	}
	return o->part == (v->n == 2 ? 'h' : 'b');
}

static bool set_parts(struct gsb_emu_video *v, const struct gsb_ptx_operand *o)
{
	if (v->n > 1)
		return simd_parts(&o[1], v, 0, &v->a_bits, v->a_at) &&
		       simd_parts(&o[2], v, 32, &v->b_bits, v->b_at) && set_mask(v, &o[0]);
	v->mask = 1;
	return scalar_part(&o[1], 0, &v->a_bits, v->a_at) &&
	       scalar_part(&o[2], 32, &v->b_bits, v->b_at) &&
	       scalar_part(&o[0], 0, &v->d_bits, v->d_at);
}

/* c is there where it is merged into or combined with, and only there. */
static bool describe(struct gsb_emu_video *v, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = in->operands;
	bool merge, needs_c;

	set_form(v, in->op);
	set_flags(v, in);
	if (v->flags & GSB_EMU_VIDEO_NEG_C && v->flags & (GSB_EMU_VIDEO_NEG_AB | GSB_EMU_VIDEO_PO))
		return false;
	if (v->flags & GSB_EMU_VIDEO_PO && v->flags & GSB_EMU_VIDEO_NEG_AB)
		return false;
	if (!set_parts(v, o))
		return false;
	merge = v->n > 1 ? !in->sub : o[0].part != 0;
	needs_c = v->op == GSB_PTX_OP_VMAD || v->n > 1 || merge || in->sub;
	v->flags |= merge ? GSB_EMU_VIDEO_MERGE : 0;
	return needs_c == (in->n_operands == 4) && !(v->n == 1 && merge && in->sub);
}

void gsb_emu_lower_video(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	struct gsb_emu_video v = {0};
	uint32_t a, b, c = GSB_EMU_SCRATCH_ROW, d, list;
	struct gsb_emu_op *op;

	if (!describe(&v, in)) {
		gsb_emu_not_carried(l);
		return;
	}
	list = gsb_emu_list_new(l, GSB_EMU_VIDEO_WORDS);
	if (!l->err)
		memcpy(l->lists + list, &v, sizeof(v));
	a = gsb_emu_src(l, &in->operands[1], 4);
	b = gsb_emu_src(l, &in->operands[2], 4);
	if (in->n_operands == 4)
		c = gsb_emu_src(l, &in->operands[3], 4);
	d = gsb_emu_dest(l, &in->operands[0], 4);
	op = gsb_emu_emit(l, GSB_EMU_FORM_VIDEO, true);
	op->d = d;
	op->a = a;
	op->b = b;
	op->c = c;
	op->e = list;
}
