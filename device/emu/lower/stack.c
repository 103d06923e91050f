/*
 * stack.c - see stack.h.
 */
#include "device/emu/lower/stack.h"

#include "base/checked.h"
#include "device/emu/lower/operand.h"

#define DEFAULT_ALIGN 8
#define MAX_ALIGN     4096

static bool changes_stack(const struct gsb_ptx_func *f)
{
	for (uint32_t i = 0; i < f->n_insns; i++) {
		if (f->insns[i].op == GSB_PTX_OP_ALLOCA ||
		    f->insns[i].op == GSB_PTX_OP_STACKRESTORE)
			return true;
	}
	return false;
}

static void restore(struct gsb_emu_lowering *l, uint32_t row, uint32_t bytes, bool main)
{
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_STACK_RESTORE, main);

	op->a = row;
	op->imm = l->code->funcs[l->nth].local_bytes;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
}

void gsb_emu_stack_begin(struct gsb_emu_lowering *l)
{
	l->stack_row = GSB_EMU_NONE;
	if (!changes_stack(l->func))
		return;
	l->code->uses_stack = l->code->grows = true;
	l->stack_row = gsb_emu_new_row(l, 4 * GSB_EMU_LANES);
	gsb_emu_emit(l, GSB_EMU_FORM_STACK_SAVE, false)->d = l->stack_row;
}

void gsb_emu_stack_leave(struct gsb_emu_lowering *l)
{
	if (l->stack_row != GSB_EMU_NONE)
		restore(l, l->stack_row, 4, false);
}

static void lower_alloca(struct gsb_emu_lowering *l, uint32_t bytes)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t size = gsb_emu_src(l, &in->operands[1], bytes), d;
	int64_t align = DEFAULT_ALIGN;
	struct gsb_emu_op *op;

	if (in->n_operands > 2)
		align = in->operands[2].kind == GSB_PTX_OPERAND_IMM ? in->operands[2].imm : 0;
	if (align <= 0 || align > MAX_ALIGN || !gsb_is_pow2((uint64_t)align)) {
		gsb_emu_not_carried(l);
		return;
	}
	d = gsb_emu_dest(l, &in->operands[0], bytes);
	op = gsb_emu_emit(l, GSB_EMU_FORM_ALLOCA, true);
	op->d = d;
	op->a = size;
	op->e = (uint32_t)align;
	op->imm = l->code->funcs[l->nth].local_bytes;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
}

void gsb_emu_lower_stack(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t bytes = gsb_ptx_type_bytes(l->insn->type[0]), d;
	struct gsb_emu_op *op;

	if (l->insn->op == GSB_PTX_OP_ALLOCA) {
		lower_alloca(l, bytes);
	} else if (l->insn->op == GSB_PTX_OP_STACKRESTORE) {
		restore(l, gsb_emu_src(l, &o[0], bytes), bytes, true);
	} else {
		d = gsb_emu_dest(l, &o[0], bytes);
		op = gsb_emu_emit(l, GSB_EMU_FORM_STACK_SAVE, true);
		op->d = d;
		op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
	}
}
