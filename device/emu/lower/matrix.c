/*
 * matrix.c - see matrix.h. All lanes of the warp come together first: a BAR_WARP stands before each.
 */
#include "device/emu/lower/matrix.h"

#include <string.h>

#include "device/emu/lower/async.h"
#include "device/emu/lower/operand.h"
#include "ptx/matrix.h"

#define MAX_REGS (4 * GSB_PTX_MAX_VECTOR)

/* Rows of all fragments of an instruction, on their way into a list. */
struct rows {
	uint32_t row[MAX_REGS], n;
};

static void add_fragment(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m, char which,
			 const struct gsb_ptx_operand *o, struct rows *rows)
{
	struct gsb_ptx_fragment f = gsb_ptx_matrix_fragment(m, which);

	if (o->n != f.n_regs) {
		gsb_emu_not_carried(l);
		return;
	}
	for (uint32_t i = 0; i < f.n_regs; i++) {
		if (gsb_emu_reg_bytes(l, o->elems[i].reg) != f.reg_bytes)
			gsb_emu_not_carried(l);
		rows->row[rows->n++] = l->rows[o->elems[i].reg];
	}
}

static void emit(struct gsb_emu_lowering *l, unsigned int form, const struct gsb_ptx_matrix *m,
		 const struct rows *rows, struct gsb_emu_op *operands)
{
	uint32_t all = gsb_emu_const_row(l, GSB_EMU_ALL, 4), list = gsb_emu_list_new(l, rows->n);
	struct gsb_emu_op *op;

	if (l->err)
		return;
	memcpy(&l->lists[list], rows->row, rows->n * sizeof(rows->row[0]));
	gsb_emu_emit(l, GSB_EMU_FORM_BAR_WARP, false)->b = all;
	op = gsb_emu_emit(l, form, true);
	op->d = list;
	op->a = operands->a;
	op->b = operands->b;
	memcpy(&op->imm, m, sizeof(*m));
}

static void lower_move(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m, bool store)
{
	static const char which[] = {'a', 'b', 'c', 'd'};
	const struct gsb_ptx_insn *in = l->insn;
	struct gsb_emu_op op = {.a = gsb_emu_address(l, &in->operands[!store]), .b = GSB_EMU_NONE};
	struct rows rows = {.n = 0};

	if (in->n_operands > 2)
		op.b = gsb_emu_src(l, &in->operands[2], 4);
	add_fragment(l, m, which[m->what], &in->operands[store], &rows);
	emit(l, GSB_EMU_FORM_MATRIX_MOVE, m, &rows, &op);
}

static void lower_mma(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m)
{
	static const char which[] = {'d', 'a', 'b', 'c'};
	struct rows rows = {.n = 0};

	for (unsigned int i = 0; i < 4 && !l->err; i++)
		add_fragment(l, m, which[i], &l->insn->operands[i], &rows);
	emit(l, GSB_EMU_FORM_MATRIX_MMA, m, &rows, &(struct gsb_emu_op){0});
}

void gsb_emu_lower_matrix(struct gsb_emu_lowering *l)
{
	const char *spelling = l->insn->spelling;
	struct gsb_ptx_matrix m;

	_Static_assert(sizeof(m) == sizeof(int64_t), "it goes into the op");
	if (!gsb_ptx_matrix_decode(spelling, strlen(spelling), &m)) {
		gsb_emu_not_carried(l);
		return;
	}
	m.space = l->insn->space & 7; /* that of a variable, when none is written */
	if (l->insn->op == GSB_PTX_OP_WMMA_MMA)
		lower_mma(l, &m);
	else
		lower_move(l, &m, l->insn->op == GSB_PTX_OP_WMMA_STORE);
}
