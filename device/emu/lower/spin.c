/*
 * spin.c - see spin.h. The loop is taken to be the text from the target to the branch.
 */
#include "device/emu/lower/spin.h"

#define MAX_LOOP 64 /* instructions; what waits is short */

struct loop {
	const struct gsb_ptx_insn *first, *end;
	uint32_t reg; /* that is looked for; NONE when it was found */
};

static void on_def(void *ctx, uint32_t reg)
{
	struct loop *l = ctx;

	if (reg == l->reg)
		l->reg = GSB_PTX_NONE;
}

static bool computes(struct loop *l, uint32_t reg)
{
	if (reg == GSB_PTX_NONE)
		return false;
	l->reg = reg;
	for (const struct gsb_ptx_insn *in = l->first; in < l->end; in++)
		gsb_ptx_insn_each_def(in, on_def, l);
	return l->reg == GSB_PTX_NONE;
}

static bool looks(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_ATOM ||
	       (in->op == GSB_PTX_OP_LD && in->sem && in->sem != GSB_PTX_SEM_WEAK);
}

static bool is_harmless(const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_MOV:
	case GSB_PTX_CLASS_CVT:
	case GSB_PTX_CLASS_FENCE:
	case GSB_PTX_CLASS_WARP:
	case GSB_PTX_CLASS_BRANCH: return true;
	case GSB_PTX_CLASS_MEM: return in->op == GSB_PTX_OP_LD && in->space == GSB_PTX_SPACE_PARAM;
	default: return false;
	}
}

bool gsb_emu_is_spin(const struct gsb_ptx_func *f, uint32_t target, uint32_t branch)
{
	struct loop l = {.first = f->insns + target, .end = f->insns + branch + 1};
	uint32_t n_looks = 0;

	if (target > branch || branch - target >= MAX_LOOP)
		return false;
	for (const struct gsb_ptx_insn *in = l.first; in < l.end; in++) {
		if (looks(in) && !computes(&l, in->operands[1].reg))
			n_looks++;
		else if (!is_harmless(in))
			return false;
	}
	return n_looks > 0;
}
