/*
 * operand.c - see operand.h.
 */
#include "device/emu/lower/operand.h"

#include <errno.h>

#include "device/emu/lower/frame.h"
#include "device/emu/lower/rows.h"
#include "device/emu/memory/address.h"

uint32_t gsb_emu_reg_bytes(const struct gsb_emu_lowering *l, uint32_t reg)
{
	return gsb_emu_lane_bytes(l->func->regs[reg].type);
}

/* The order of a kernel's shared variables (ptx/kernel.h): by function as it was reached, the module's last. */
static uint64_t shared_order(const struct gsb_emu_code *code, const struct gsb_ptx_var *var)
{
	uint64_t nth = var->func ? code->func_of[var->func->index] : GSB_EMU_NONE;

	return nth << 32 | var->index;
}

/* By halves: a text may have 200,000 variables of a byte, and name them millions of times. */
static const struct gsb_ptx_shared *find_shared(const struct gsb_emu_code *code,
						const struct gsb_ptx_var *var)
{
	const struct gsb_ptx_shared *all = code->kernel.shared;
	uint64_t order = shared_order(code, var);
	uint32_t first = 0, n = code->kernel.n_shared;

	while (n > 0) {
		uint32_t half = n / 2;
		const struct gsb_ptx_shared *s = &all[first + half];

		if (s->var == var)
			return s;
		if (shared_order(code, s->var) < order) {
			first += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return NULL;
}

uint64_t gsb_emu_shared_offset(struct gsb_emu_lowering *l, const struct gsb_ptx_var *var)
{
	const struct gsb_ptx_shared *s;

	if (var->unsized)
		return GSB_EMU_RESERVED_SHARED + l->code->kernel.dynamic_offset;
	s = find_shared(l->code, var);
	if (s)
		return GSB_EMU_RESERVED_SHARED + s->offset;
	gsb_emu_lower_fail(l, -EINVAL, "shared variable '%s' has no place", var->name);
	return 0;
}

static uint32_t computed(struct gsb_emu_lowering *l, unsigned int form, uint64_t offset,
			 uint32_t bytes)
{
	uint32_t row = gsb_emu_temp_row(l);
	struct gsb_emu_op *op = gsb_emu_emit(l, form, false);

	op->d = row;
	op->imm = (int64_t)offset;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
	return row;
}

/* The address that mov gives; what depends on the call's frame, or on the block's place in its cluster, is computed as it runs. */
static uint32_t var_address(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			    uint32_t bytes)
{
	const struct gsb_ptx_var *var = o->var;
	uint64_t base;

	switch (var->space) {
	case GSB_PTX_SPACE_GLOBAL:
	case GSB_PTX_SPACE_CONST: base = l->var_addr[var->index]; break;
	case GSB_PTX_SPACE_SHARED:
		base = gsb_emu_shared_offset(l, var);
		if (l->code->knows_cluster)
			return computed(l, GSB_EMU_FORM_SHARED_ADDRESS, base + (uint64_t)o->imm,
					bytes);
		break;
	default:
		if (gsb_emu_is_entry_param(l, var)) {
			base = GSB_EMU_PARAM_WINDOW + var->offset;
			break;
		}
		base = gsb_emu_local_offset(l, var);
		if (var->space == GSB_PTX_SPACE_PARAM)
			base += GSB_EMU_LOCAL_WINDOW;
		return computed(l, GSB_EMU_FORM_LOCAL_ADDRESS, base + (uint64_t)o->imm, bytes);
	}
	return gsb_emu_const_row(l, base + (uint64_t)o->imm, bytes);
}

static uint32_t narrowed(struct gsb_emu_lowering *l, uint32_t row, uint32_t have, uint32_t want)
{
	uint32_t to = gsb_emu_temp_row(l);
	struct gsb_emu_op *op =
		gsb_emu_emit(l, have > want ? GSB_EMU_FORM_NARROW : GSB_EMU_FORM_WIDEN_U, false);

	op->d = to;
	op->a = row;
	return to;
}

static bool is_of_place(unsigned int sreg)
{
	return sreg == GSB_PTX_SREG_SMID ||
	       (sreg >= GSB_PTX_SREG_CLOCK && sreg <= GSB_PTX_SREG_GLOBALTIMER_HI);
}

static uint32_t sreg_row(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			 uint32_t bytes)
{
	uint32_t row = gsb_emu_temp_row(l);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_SREG, false);

	op->d = row;
	op->n = o->sreg;
	op->e = o->axis;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
	l->code->knows_place |= is_of_place(o->sreg);
	return row;
}

/* %is_explicit_cluster, the one that is a predicate */
static uint32_t is_explicit(struct gsb_emu_lowering *l)
{
	uint32_t row = gsb_emu_temp_row(l);

	gsb_emu_emit(l, GSB_EMU_FORM_IS_EXPLICIT, false)->d = row;
	return row;
}

uint32_t gsb_emu_src(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o, uint32_t bytes)
{
	uint32_t have;

	switch (o->kind) {
	case GSB_PTX_OPERAND_REG:
		have = gsb_emu_reg_bytes(l, o->reg);
		if (have == bytes)
			return l->rows[o->reg];
		if (have + bytes == 12) /* 4 and 8, either way */
			return narrowed(l, l->rows[o->reg], have, bytes);
		break;
	case GSB_PTX_OPERAND_IMM: return gsb_emu_const_row(l, (uint64_t)o->imm, bytes);
	case GSB_PTX_OPERAND_VAR: return var_address(l, o, bytes);
	case GSB_PTX_OPERAND_FUNC:
		return gsb_emu_const_row(l, gsb_emu_func_address(o->func), bytes);
	case GSB_PTX_OPERAND_SREG: return bytes ? sreg_row(l, o, bytes) : is_explicit(l);
	default: break;
	}
	gsb_emu_not_carried(l);
	return GSB_EMU_SCRATCH_ROW;
}

static uint32_t plus(struct gsb_emu_lowering *l, uint32_t row, int64_t imm)
{
	uint32_t sum = gsb_emu_temp_row(l), by = gsb_emu_const_row(l, (uint64_t)imm, 8);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_ADD_64, false);

	op->d = sum;
	op->a = row;
	op->b = by;
	return sum;
}

uint32_t gsb_emu_address(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand base = *o;
	uint32_t row;

	base.kind = o->var		     ? GSB_PTX_OPERAND_VAR
		    : o->reg == GSB_PTX_NONE ? GSB_PTX_OPERAND_IMM
					     : GSB_PTX_OPERAND_REG;
	row = gsb_emu_src(l, &base, 8);
	return base.kind == GSB_PTX_OPERAND_REG && o->imm ? plus(l, row, o->imm) : row;
}

/* The row for a result in lanes of @bytes; a register of other width gets it from there afterwards. */
static uint32_t dest_reg(struct gsb_emu_lowering *l, uint32_t reg, uint32_t bytes, bool is_signed)
{
	uint32_t have;

	if (reg == GSB_PTX_NONE)
		return bytes ? GSB_EMU_SCRATCH_ROW : GSB_EMU_SCRATCH_PRED;
	have = gsb_emu_reg_bytes(l, reg);
	if (have == bytes)
		return l->rows[reg];
	if (have + bytes != 12) {
		gsb_emu_not_carried(l);
		return GSB_EMU_SCRATCH_ROW;
	}
	l->post_form = have < bytes ? GSB_EMU_FORM_NARROW
		       : is_signed  ? GSB_EMU_FORM_WIDEN_S
				    : GSB_EMU_FORM_WIDEN_U;
	l->post_d = l->rows[reg];
	l->post_a = gsb_emu_temp_row(l);
	return l->post_a;
}

uint32_t gsb_emu_dest(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o, uint32_t bytes)
{
	bool is_signed = gsb_ptx_type_is_signed(l->insn->type[0]);

	if (o->kind == GSB_PTX_OPERAND_NONE)
		return dest_reg(l, GSB_PTX_NONE, bytes, is_signed);
	return dest_reg(l, o->reg, bytes, is_signed);
}

/* Second result of p|q and d|p. */
uint32_t gsb_emu_dest_second(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	if (o->kind != GSB_PTX_OPERAND_PAIR || o->reg2 == GSB_PTX_NONE)
		return GSB_EMU_SCRATCH_PRED + 4;
	return l->rows[o->reg2];
}

uint32_t gsb_emu_src_predicate(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			       uint8_t *flags)
{
	if (o->kind == GSB_PTX_OPERAND_REG && o->negated)
		*flags |= GSB_EMU_F_NEGATED;
	return gsb_emu_src(l, o, 0);
}

uint32_t gsb_emu_vector_rows(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *v,
			     uint32_t bytes, bool is_dest)
{
	uint32_t list = gsb_emu_list_new(l, v->n);

	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t row;

		if (!is_dest)
			row = gsb_emu_src(l, &v->elems[i], bytes);
		else if (v->elems[i].kind != GSB_PTX_OPERAND_REG)
			row = GSB_EMU_SCRATCH_ROW;
		else if (gsb_emu_reg_bytes(l, v->elems[i].reg) == bytes)
			row = l->rows[v->elems[i].reg];
		else
			row = (gsb_emu_not_carried(l), GSB_EMU_SCRATCH_ROW);
		if (!l->err)
			l->lists[list + i] = row;
	}
	return list;
}
