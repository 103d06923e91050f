/*
 * combine.c - see combine.h.
 *
 * What is not known to be harmless is not: forms that touch global memory by ways of their own (textures, copies,
 * matrices, print) would have to ask what is kept back, and do not.
 */
#include "device/emu/lower/combine.h"

enum kind { HARMLESS, ACCESS, ATOMIC, REDUCTION, OTHER };

static const uint8_t kinds[GSB_EMU_N_FORMS] = {
#define GSB_EMU_F1(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_F2(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_F3(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_F4(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_CMP(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_CARRY(id, ...)	[GSB_EMU_FORM_##id] = HARMLESS,
#define GSB_EMU_LOAD(id, ...)	[GSB_EMU_FORM_##id] = ACCESS,
#define GSB_EMU_STORE(id, ...)	[GSB_EMU_FORM_##id] = ACCESS,
#define GSB_EMU_ATOM(id, ...)	[GSB_EMU_FORM_##id] = ATOMIC,
#define GSB_EMU_REDUCE(id, ...) [GSB_EMU_FORM_##id] = REDUCTION,
#define GSB_EMU_FLOW(id)	[GSB_EMU_FORM_##id] = OTHER,
#include "device/emu/code/forms.def"
};

/* Of those that are written out: registers, ways and threads of the block alone. */
static bool is_harmless(uint16_t form)
{
	switch (form) {
	case GSB_EMU_FORM_PRED_AND:
	case GSB_EMU_FORM_PRED_OR:
	case GSB_EMU_FORM_PRED_XOR:
	case GSB_EMU_FORM_PRED_MOV:
	case GSB_EMU_FORM_PRED_PAIR:
	case GSB_EMU_FORM_LOCAL_ADDRESS:
	case GSB_EMU_FORM_SHARED_ADDRESS:
	case GSB_EMU_FORM_MAPA:
	case GSB_EMU_FORM_CTARANK:
	case GSB_EMU_FORM_IS_EXPLICIT:
	case GSB_EMU_FORM_TO_GENERIC:
	case GSB_EMU_FORM_IS_SPACE:
	case GSB_EMU_FORM_SREG:
	case GSB_EMU_FORM_PACK:
	case GSB_EMU_FORM_UNPACK:
	case GSB_EMU_FORM_WIDEN_U:
	case GSB_EMU_FORM_WIDEN_S:
	case GSB_EMU_FORM_NARROW:
	case GSB_EMU_FORM_COPY_LOCAL:
	case GSB_EMU_FORM_NOP:
	case GSB_EMU_FORM_PROLOGUE:
	case GSB_EMU_FORM_JOIN:
	case GSB_EMU_FORM_GUARD:
	case GSB_EMU_FORM_UNGUARD:
	case GSB_EMU_FORM_BRA:
	case GSB_EMU_FORM_BRA_IF:
	case GSB_EMU_FORM_BRX:
	case GSB_EMU_FORM_CALL:
	case GSB_EMU_FORM_CALL_ADDRESS:
	case GSB_EMU_FORM_RET:
	case GSB_EMU_FORM_EXIT:
	case GSB_EMU_FORM_BARRIER:
	case GSB_EMU_FORM_VIDEO:
	case GSB_EMU_FORM_BAR_WARP:
	case GSB_EMU_FORM_SHFL:
	case GSB_EMU_FORM_VOTE:
	case GSB_EMU_FORM_MATCH:
	case GSB_EMU_FORM_REDUX:
	case GSB_EMU_FORM_ELECT:
	case GSB_EMU_FORM_ACTIVEMASK: return true;
	default: return false;
	}
}

static bool is_of_block(const struct gsb_emu_op *op)
{
	return op->n == GSB_PTX_SPACE_SHARED;
}

/*
 * An atomic with a result orders nothing in PTX. But many programs count by one which block is the last, without a fence, and read
 * then what the others have added: on a GPU that is there.
 */
static bool may_order(const struct gsb_emu_op *op)
{
	const bool strong = op->flags & GSB_EMU_F_STRONG;

	switch (kinds[op->form]) {
	case HARMLESS: return false;
	case ACCESS: return strong;
	case OTHER: return !is_harmless(op->form);
	default: return strong || !(op->flags & GSB_EMU_F_NO_RESULT || is_of_block(op));
	}
}

static bool is_reduction(const struct gsb_emu_op *op)
{
	return kinds[op->form] == REDUCTION && !is_of_block(op);
}

void gsb_emu_find_combining(struct gsb_emu_code *code)
{
	bool any = false;

	for (uint32_t i = 0; i < code->n_ops; i++) {
		if (may_order(&code->ops[i]))
			return;
		any |= is_reduction(&code->ops[i]);
	}
	code->may_combine = any;
}
