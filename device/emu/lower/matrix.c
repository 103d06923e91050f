/*
 * matrix.c - see matrix.h. All lanes of the warp come together first: a BAR_WARP stands before each.
 */
#include "device/emu/lower/matrix.h"

#include <string.h>

#include "device/emu/lower/operand.h"
#include "ptx/matrix.h"

#define MAX_REGS (4 * GSB_PTX_MAX_VECTOR)

/* Rows of all fragments of an instruction, on their way into a list. */
struct rows {
	uint32_t row[MAX_REGS], n;
};

/* A constant fills its register, but that 0 is one of any type. */
static uint32_t const_row(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			  uint32_t bytes)
{
	if (o->imm && (o->form == GSB_PTX_IMM_F64) != (bytes == 8))
		gsb_emu_not_carried(l);
	return gsb_emu_const_row(l, (uint64_t)o->imm, bytes);
}

static uint32_t row_of(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o, uint32_t bytes)
{
	if (o->kind == GSB_PTX_OPERAND_NONE)
		return GSB_EMU_SCRATCH_ROW;
	if (o->kind == GSB_PTX_OPERAND_IMM)
		return const_row(l, o, bytes);
	if (gsb_emu_reg_bytes(l, o->reg) != bytes)
		gsb_emu_not_carried(l);
	return l->rows[o->reg];
}

static void add_fragment(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m, char which,
			 const struct gsb_ptx_operand *o, struct rows *rows)
{
	struct gsb_ptx_fragment f = gsb_ptx_matrix_fragment(m, which);

	if (o->n != f.n_regs) {
		gsb_emu_not_carried(l);
		return;
	}
	for (uint32_t i = 0; i < f.n_regs; i++)
		rows->row[rows->n++] = row_of(l, &o->elems[i], f.reg_bytes);
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
	add_fragment(l, m, m->layout ? 'd' : which[m->what], &in->operands[store], &rows);
	emit(l, m->layout ? GSB_EMU_FORM_MATRIX_TILES : GSB_EMU_FORM_MATRIX_MOVE, m, &rows, &op);
}

static void lower_mma(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m)
{
	static const char which[] = {'d', 'a', 'b', 'c'};
	struct rows rows = {.n = 0};

	for (unsigned int i = 0; i < 4 && !l->err; i++)
		add_fragment(l, m, which[i], &l->insn->operands[i], &rows);
	emit(l, GSB_EMU_FORM_MATRIX_MMA, m, &rows, &(struct gsb_emu_op){0});
}

static void lower_transpose(struct gsb_emu_lowering *l, const struct gsb_ptx_matrix *m)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	struct rows rows = {.n = 2};

	rows.row[1] = gsb_emu_src(l, &o[1], 4);
	rows.row[0] = gsb_emu_dest(l, &o[0], 4);
	emit(l, GSB_EMU_FORM_MATRIX_TRANSPOSE, m, &rows, &(struct gsb_emu_op){0});
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
	switch (m.what) {
	case GSB_PTX_MATRIX_MMA: lower_mma(l, &m); break;
	case GSB_PTX_MATRIX_TRANSPOSE: lower_transpose(l, &m); break;
	case GSB_PTX_MATRIX_STORE_D:
	case GSB_PTX_MATRIX_STORE_TILES: lower_move(l, &m, true); break;
	default: lower_move(l, &m, false); break;
	}
}
