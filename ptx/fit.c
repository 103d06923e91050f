/*
 * fit.c - see fit.h. A row of ops.def says which words an opcode takes; here is what it says about words beside each other: modes that belong to
 * another opcode, roundings that a conversion must have or may not, flags without a meaning for a type.
 *
 * What does not fit is refused as NVIDIA's assembler refuses it: an instruction that no handler was made for must not run.
 */
#include "ptx/fit.h"

static bool is_between(unsigned int word, unsigned int first, unsigned int last)
{
	return word >= first && word <= last;
}

static bool is_untyped(enum gsb_ptx_type type)
{
	return type >= GSB_PTX_TYPE_B8 && type <= GSB_PTX_TYPE_B128;
}

/* Registers of devices: one word, seen by all. */
static bool mmio_fits(const struct gsb_ptx_insn *in)
{
	return in->sem == GSB_PTX_SEM_RELAXED && in->scope == GSB_PTX_SCOPE_SYS &&
	       (in->space == GSB_PTX_SPACE_GENERIC || in->space == GSB_PTX_SPACE_GLOBAL);
}

/* Of the words that all opcodes share, each takes some; bits are equal or not, and have no order. */
static bool word_fits(const struct gsb_ptx_insn *in)
{
	switch (in->op) {
	case GSB_PTX_OP_SHFL: return is_between(in->mode, GSB_PTX_MODE_UP, GSB_PTX_MODE_IDX);
	case GSB_PTX_OP_VOTE: return is_between(in->mode, GSB_PTX_MODE_ALL, GSB_PTX_MODE_BALLOT);
	case GSB_PTX_OP_MATCH: return is_between(in->mode, GSB_PTX_MODE_ALL, GSB_PTX_MODE_ANY);
	case GSB_PTX_OP_PRMT:
		return !in->mode || is_between(in->mode, GSB_PTX_MODE_F4E, GSB_PTX_MODE_RC16);
	case GSB_PTX_OP_TESTP:
		return is_between(in->mode, GSB_PTX_MODE_FINITE, GSB_PTX_MODE_SUBNORMAL);
	case GSB_PTX_OP_SETP:
	case GSB_PTX_OP_SET:
		return in->cmp <= GSB_PTX_CMP_NE ||
		       !is_untyped(in->type[1] ? in->type[1] : in->type[0]);
	case GSB_PTX_OP_LD:
	case GSB_PTX_OP_ST: return !(in->flags & GSB_PTX_F_MMIO) || mmio_fits(in);
	default: return true;
	}
}

/* Every value of one integer type is one of the other. */
static bool holds(enum gsb_ptx_type to, enum gsb_ptx_type from)
{
	bool to_signed = gsb_ptx_type_is_signed(to), from_signed = gsb_ptx_type_is_signed(from);
	uint32_t n = gsb_ptx_type_bytes(to), m = gsb_ptx_type_bytes(from);

	return to_signed == from_signed ? n >= m : to_signed && n > m;
}

static bool is_integer(enum gsb_ptx_type type)
{
	return !gsb_ptx_type_is_float(type);
}

/* Pairs, tf32 and floats of 8 bits: their rows say all that there is to say. */
static bool has_own_row(enum gsb_ptx_type type)
{
	return is_between(type, GSB_PTX_TYPE_F16X2, GSB_PTX_TYPE_E5M2X2);
}

/* Integers are cut, or saturated where that means something; floats are rounded where bits are lost. */
static bool conversion_fits(const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_type to = in->type[0], from = in->type[1];
	uint32_t n = gsb_ptx_type_bytes(to), m = gsb_ptx_type_bytes(from);
	bool to_integer = in->rnd >= GSB_PTX_RND_RNI, to_float = in->rnd && !to_integer;

	if (has_own_row(to) || has_own_row(from))
		return true;
	if (in->flags & GSB_PTX_F_FTZ && to != GSB_PTX_TYPE_F32 && from != GSB_PTX_TYPE_F32)
		return false;
	/* bf16 is not saturated. */
	if ((to == GSB_PTX_TYPE_BF16 || from == GSB_PTX_TYPE_BF16) && in->flags & GSB_PTX_F_SAT)
		return false;
	if (is_integer(to) && is_integer(from))
		return !in->rnd && !(in->flags & GSB_PTX_F_SAT && holds(to, from));
	if (is_integer(to))
		return to_integer;
	if (is_integer(from))
		return to_float;
	if (to == from)
		return !to_float;
	return n < m ? to_float : !to_integer && (!in->rnd || from == GSB_PTX_TYPE_BF16 || n == m);
}

/* Roundings and flags of an operation, by its types. */
static bool arithmetic_fits(const struct gsb_ptx_insn *in)
{
	bool ftz = in->flags & GSB_PTX_F_FTZ, of_f32 = in->type[1] == GSB_PTX_TYPE_F32;
	bool approx = in->flags & GSB_PTX_F_APPROX, full = in->flags & GSB_PTX_F_FULL;

	if (in->rnd >= GSB_PTX_RND_RNI || approx + full + (in->rnd != 0) > 1)
		return false;
	if (in->flags & GSB_PTX_F_CC && !is_integer(in->type[0]))
		return false;
	if (ftz && ((in->type[1] == GSB_PTX_TYPE_F64 && !approx) ||
		    (in->op == GSB_PTX_OP_SLCT && !of_f32)))
		return false;
	if (in->type[0] != GSB_PTX_TYPE_F64 || of_f32)
		return true;
	if (approx)
		return in->op == GSB_PTX_OP_RSQRT || (in->op == GSB_PTX_OP_RCP && ftz);
	return !ftz && !full && !(in->flags & GSB_PTX_F_SAT);
}

bool gsb_ptx_modifiers_fit(const struct gsb_ptx_insn *in)
{
	if (!word_fits(in))
		return false;
	return in->op == GSB_PTX_OP_CVT ? conversion_fits(in) : arithmetic_fits(in);
}
