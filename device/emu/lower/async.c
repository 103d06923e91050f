/*
 * async.c - see async.h. What is optional in the text is NONE in the op.
 */
#include "device/emu/lower/async.h"

#include "device/emu/code/reduction.h"
#include "device/emu/lower/operand.h"
#include "device/emu/lower/tensor.h"

/* ---- copies ---- */

static bool size_ok(const struct gsb_ptx_insn *in, const struct gsb_ptx_operand *size)
{
	bool all = in->op == GSB_PTX_OP_CP_ASYNC_CA || in->op == GSB_PTX_OP_CP_ASYNC_CA_HINT;

	if (size->kind != GSB_PTX_OPERAND_IMM)
		return false;
	return size->imm == 16 || (all && (size->imm == 4 || size->imm == 8));
}

static bool is_predicate(const struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	return o->kind == GSB_PTX_OPERAND_REG && l->func->regs[o->reg].type == GSB_PTX_TYPE_PRED;
}

static void lower_copy(struct gsb_emu_lowering *l, bool hint)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t to = gsb_emu_address(l, &o[0]), from = gsb_emu_address(l, &o[1]);
	uint32_t bytes = GSB_EMU_NONE, none = GSB_EMU_NONE;
	struct gsb_emu_op *op;
	uint8_t flags = 0;

	if (!size_ok(l->insn, &o[2])) {
		gsb_emu_not_carried(l);
		return;
	}
	if (l->insn->n_operands > 3 + hint) {
		if (is_predicate(l, &o[3]))
			none = gsb_emu_src_predicate(l, &o[3], &flags);
		else
			bytes = gsb_emu_src(l, &o[3], 4);
	}
	op = gsb_emu_emit(l, GSB_EMU_FORM_ASYNC_COPY, true);
	op->d = to;
	op->a = from;
	op->b = bytes;
	op->c = none;
	op->imm = o[2].imm;
	op->flags |= flags;
}

static void lower_bulk(struct gsb_emu_lowering *l, bool load)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t to = gsb_emu_address(l, &o[0]), from = gsb_emu_address(l, &o[1]);
	uint32_t bytes = gsb_emu_src(l, &o[2], 4);
	uint32_t mbar = load ? gsb_emu_address(l, &o[3]) : GSB_EMU_NONE;
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_BULK_COPY, true);

	op->d = to;
	op->a = from;
	op->b = bytes;
	op->c = mbar;
	op->n = GSB_PTX_SPACE_CLUSTER; /* of the mbarrier */
	op->e = l->insn->op == GSB_PTX_OP_BULK_MOVE || l->insn->op == GSB_PTX_OP_BULK_REDUCE_SHARED;
	if (l->insn->op == GSB_PTX_OP_BULK_REDUCE || l->insn->op == GSB_PTX_OP_BULK_REDUCE_SHARED)
		op->imm = gsb_emu_reduction(l->insn->sub, l->insn->type[0]);
}

static void lower_multicast(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t to = gsb_emu_address(l, &o[0]), from = gsb_emu_address(l, &o[1]);
	uint32_t bytes = gsb_emu_src(l, &o[2], 4), mbar = gsb_emu_address(l, &o[3]);
	uint32_t blocks = gsb_emu_src(l, &o[4], 4);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_BULK_MULTICAST, true);

	op->d = to;
	op->a = from;
	op->b = bytes;
	op->c = mbar;
	op->e = blocks;
	op->n = GSB_PTX_SPACE_CLUSTER;
}

/* Each element by itself: the mbarrier is told of the bytes of all of them. */
static void lower_store(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *value = &in->operands[1];
	const struct gsb_ptx_operand *elems =
		value->kind == GSB_PTX_OPERAND_VEC ? value->elems : value;
	uint32_t to = gsb_emu_address(l, &in->operands[0]),
		 mbar = gsb_emu_address(l, &in->operands[2]);
	uint32_t bytes = gsb_ptx_type_bytes(in->type[0]);

	for (uint32_t i = 0; i < in->vec; i++) {
		uint32_t row = gsb_emu_src(l, &elems[i], bytes);
		struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_ASYNC_STORE, i == 0);

		op->d = to;
		op->a = row;
		op->c = mbar;
		op->b = i * bytes;
		op->e = bytes;
		op->n = GSB_PTX_SPACE_CLUSTER;
		if (in->op == GSB_PTX_OP_RED_ASYNC)
			op->imm = gsb_emu_reduction(in->sub, in->type[0]);
	}
}

/* @but: how many groups may stay pending, -1: not even what is in none. */
static void lower_wait(struct gsb_emu_lowering *l, bool bulk, int64_t but)
{
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_ASYNC_WAIT, true);

	op->n = bulk;
	op->imm = but;
}

static void lower_wait_group(struct gsb_emu_lowering *l, bool bulk)
{
	const struct gsb_ptx_operand *n = &l->insn->operands[0];

	if (n->kind == GSB_PTX_OPERAND_IMM)
		lower_wait(l, bulk, (uint32_t)n->imm);
	else
		gsb_emu_not_carried(l);
}

static void lower_arrive(struct gsb_emu_lowering *l, bool counted)
{
	uint32_t row = gsb_emu_address(l, &l->insn->operands[0]);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_ASYNC_ARRIVE, true);

	op->a = row;
	op->n = l->insn->space;
	op->e = !counted;
}

/* ---- mbarriers ---- */

/* @at: of the address; a token goes in front of it. */
static void lower_update(struct gsb_emu_lowering *l, unsigned int at)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t row = gsb_emu_address(l, &in->operands[at]);
	uint32_t count = in->n_operands > at + 1 ? gsb_emu_src(l, &in->operands[at + 1], 4)
						 : gsb_emu_const_row(l, 1, 4);
	uint32_t d = at ? gsb_emu_dest(l, &in->operands[0], 8) : GSB_EMU_SCRATCH_ROW;
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_MBAR_UPDATE, true);

	op->d = d;
	op->a = row;
	op->b = count;
	op->e = in->op;
	op->n = in->space;
}

static void lower_test(struct gsb_emu_lowering *l, bool parity, bool may_wait)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t row = gsb_emu_address(l, &o[1]), what = gsb_emu_src(l, &o[2], parity ? 4 : 8);
	uint32_t d = gsb_emu_dest(l, &o[0], 0);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_MBAR_TEST, true);

	op->d = d;
	op->a = row;
	op->b = what;
	op->e = may_wait;
	op->n = l->insn->space;
	op->flags |= parity ? 0 : GSB_EMU_F_ADDR64;
}

/* ---- the instruction ---- */

static void lower_mbarrier(struct gsb_emu_lowering *l)
{
	switch (l->insn->op) {
	case GSB_PTX_OP_MBAR_INIT:
	case GSB_PTX_OP_MBAR_INVAL:
	case GSB_PTX_OP_MBAR_EXPECT_TX:
	case GSB_PTX_OP_MBAR_COMPLETE_TX: lower_update(l, 0); break;
	case GSB_PTX_OP_MBAR_TEST: lower_test(l, false, false); break;
	case GSB_PTX_OP_MBAR_TEST_PARITY: lower_test(l, true, false); break;
	case GSB_PTX_OP_MBAR_TRY: lower_test(l, false, true); break;
	case GSB_PTX_OP_MBAR_TRY_PARITY: lower_test(l, true, true); break;
	default: lower_update(l, 1); break; /* arrivals */
	}
}

void gsb_emu_lower_async(struct gsb_emu_lowering *l)
{
	switch (l->insn->op) {
	case GSB_PTX_OP_CP_ASYNC_CA:
	case GSB_PTX_OP_CP_ASYNC_CG: lower_copy(l, false); break;
	case GSB_PTX_OP_CP_ASYNC_CA_HINT:
	case GSB_PTX_OP_CP_ASYNC_CG_HINT: lower_copy(l, true); break;
	case GSB_PTX_OP_BULK_LOAD:
	case GSB_PTX_OP_BULK_LOAD_HINT:
	case GSB_PTX_OP_BULK_MOVE:
	case GSB_PTX_OP_BULK_REDUCE_SHARED: lower_bulk(l, true); break;
	case GSB_PTX_OP_BULK_MULTICAST:
	case GSB_PTX_OP_BULK_MULTICAST_HINT: lower_multicast(l); break;
	case GSB_PTX_OP_ST_ASYNC:
	case GSB_PTX_OP_RED_ASYNC: lower_store(l); break;
	case GSB_PTX_OP_BULK_STORE:
	case GSB_PTX_OP_BULK_STORE_HINT:
	case GSB_PTX_OP_BULK_REDUCE: lower_bulk(l, false); break;
	case GSB_PTX_OP_CP_ASYNC_COMMIT:
	case GSB_PTX_OP_BULK_COMMIT:
		gsb_emu_emit(l, GSB_EMU_FORM_ASYNC_COMMIT, true)->n =
			l->insn->op == GSB_PTX_OP_BULK_COMMIT;
		break;
	case GSB_PTX_OP_CP_ASYNC_WAIT: lower_wait_group(l, false); break;
	case GSB_PTX_OP_BULK_WAIT: lower_wait_group(l, true); break;
	case GSB_PTX_OP_CP_ASYNC_WAIT_ALL: lower_wait(l, false, -1); break;
	case GSB_PTX_OP_CP_ASYNC_ARRIVE: lower_arrive(l, false); break;
	case GSB_PTX_OP_CP_ASYNC_ARRIVE_NOINC: lower_arrive(l, true); break;
	case GSB_PTX_OP_BULK_PREFETCH:
	case GSB_PTX_OP_BULK_PREFETCH_HINT: gsb_emu_emit(l, GSB_EMU_FORM_NOP, true); break;
	case GSB_PTX_OP_TENSOR_COPY ... GSB_PTX_OP_TENSORMAP_COPY: gsb_emu_lower_tensor(l); break;
	default: lower_mbarrier(l); break;
	}
}
