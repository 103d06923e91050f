/*
 * unit.c - see unit.h.
 */
#include "ptx/unit.h"

static bool is_float(uint8_t type)
{
	return gsb_ptx_type_is_float(type);
}

/* Of fp32 and fp16; of integers only what multiplies. */
static enum gsb_ptx_unit unit_of_sum(const struct gsb_ptx_insn *in, bool multiplies)
{
	return multiplies || is_float(in->type[0]) ? GSB_PTX_UNIT_FMA : GSB_PTX_UNIT_ALU;
}

static enum gsb_ptx_unit unit_of_arithmetic(const struct gsb_ptx_insn *in)
{
	const bool f64 = in->type[0] == GSB_PTX_TYPE_F64;

	switch (in->op) {
	case GSB_PTX_OP_SELP:
	case GSB_PTX_OP_SLCT: return GSB_PTX_UNIT_ALU;
	case GSB_PTX_OP_SIN:
	case GSB_PTX_OP_COS:
	case GSB_PTX_OP_EX2:
	case GSB_PTX_OP_LG2:
	case GSB_PTX_OP_TANH:
	case GSB_PTX_OP_POPC:
	case GSB_PTX_OP_CLZ:
	case GSB_PTX_OP_BFIND:
	case GSB_PTX_OP_BREV: return GSB_PTX_UNIT_XU;
	case GSB_PTX_OP_RCP:
	case GSB_PTX_OP_SQRT:
	case GSB_PTX_OP_RSQRT:
		return f64 && !(in->flags & GSB_PTX_F_APPROX) ? GSB_PTX_UNIT_FP64 : GSB_PTX_UNIT_XU;
	case GSB_PTX_OP_MUL:
	case GSB_PTX_OP_MAD:
	case GSB_PTX_OP_MADC:
	case GSB_PTX_OP_MUL24:
	case GSB_PTX_OP_MAD24:
	case GSB_PTX_OP_DP4A:
	case GSB_PTX_OP_DP2A:
	case GSB_PTX_OP_FMA: return f64 ? GSB_PTX_UNIT_FP64 : unit_of_sum(in, true);
	case GSB_PTX_OP_ADD:
	case GSB_PTX_OP_SUB:
	case GSB_PTX_OP_DIV: return f64 ? GSB_PTX_UNIT_FP64 : unit_of_sum(in, false);
	default: return f64 ? GSB_PTX_UNIT_FP64 : GSB_PTX_UNIT_ALU;
	}
}

static enum gsb_ptx_unit unit_of_conversion(const struct gsb_ptx_insn *in)
{
	bool same = in->type[0] == in->type[1];

	if (!is_float(in->type[0]) && !is_float(in->type[1]))
		return GSB_PTX_UNIT_ALU;
	if (same && in->type[0] == GSB_PTX_TYPE_F64)
		return GSB_PTX_UNIT_FP64;
	return GSB_PTX_UNIT_XU;
}

static enum gsb_ptx_unit unit_of_memory(const struct gsb_ptx_insn *in)
{
	switch (in->space) {
	case GSB_PTX_SPACE_CONST:
	case GSB_PTX_SPACE_PARAM: return GSB_PTX_UNIT_ADU;
	default: return GSB_PTX_UNIT_LSU;
	}
}

/* Shuffles go through the paths of shared memory. */
static enum gsb_ptx_unit unit_of_warp(const struct gsb_ptx_insn *in)
{
	switch (in->op) {
	case GSB_PTX_OP_BAR_WARP_SYNC: return GSB_PTX_UNIT_CBU;
	case GSB_PTX_OP_SHFL: return GSB_PTX_UNIT_LSU;
	default: return GSB_PTX_UNIT_ALU;
	}
}

enum gsb_ptx_unit gsb_ptx_unit_of(const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU: return unit_of_arithmetic(in);
	case GSB_PTX_CLASS_CVT: return unit_of_conversion(in);
	case GSB_PTX_CLASS_CMP:
		return in->type[0] == GSB_PTX_TYPE_F64 ? GSB_PTX_UNIT_FP64 : GSB_PTX_UNIT_ALU;
	case GSB_PTX_CLASS_MOV: return GSB_PTX_UNIT_ALU;
	case GSB_PTX_CLASS_MEM: return unit_of_memory(in);
	case GSB_PTX_CLASS_ATOM:
	case GSB_PTX_CLASS_FENCE: return GSB_PTX_UNIT_LSU;
	case GSB_PTX_CLASS_TEX: return GSB_PTX_UNIT_TEX;
	case GSB_PTX_CLASS_BARRIER: return GSB_PTX_UNIT_ADU;
	case GSB_PTX_CLASS_WARP: return unit_of_warp(in);
	case GSB_PTX_CLASS_BRANCH:
	case GSB_PTX_CLASS_CALL:
	case GSB_PTX_CLASS_LEAVE: return GSB_PTX_UNIT_CBU;
	default: return GSB_PTX_UNIT_OTHER;
	}
}

bool gsb_ptx_multiplies_integers(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_unit_of(in) == GSB_PTX_UNIT_FMA && !is_float(in->type[0]);
}
