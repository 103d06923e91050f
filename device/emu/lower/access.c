/*
 * access.c - lowering of what touches memory and of what waits: loads, stores, atomics, barriers, and
 * the operations of a whole warp.
 */
#include "device/emu/lower/access.h"

#include <errno.h>

#include "base/checked.h"
#include "device/emu/lower/frame.h"
#include "device/emu/lower/operand.h"
#include "device/emu/lower/rows.h"
#include "device/emu/lower/select.h"

/* ---- memory ---- */

struct place {
	uint32_t row;
	int64_t imm;
	uint8_t space, flags;
};

static struct place place_of_var(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	const struct gsb_ptx_var *var = o->var;
	struct place p = {.row = gsb_emu_const_row(l, 0, 8),
			  .imm = o->imm,
			  .space = var->space,
			  .flags = GSB_EMU_F_ADDR64};

	switch (var->space) {
	case GSB_PTX_SPACE_GLOBAL:
	case GSB_PTX_SPACE_CONST:
		p.row = gsb_emu_const_row(l, l->var_addr[var->index], 8);
		p.space = GSB_PTX_SPACE_GLOBAL;
		break;
	case GSB_PTX_SPACE_SHARED: p.imm += (int64_t)gsb_emu_shared_offset(l, var); break;
	default:
		if (gsb_emu_is_entry_param(l, var)) {
			p.imm += (int64_t)var->offset;
			break;
		}
		p.imm += gsb_emu_local_offset(l, var);
		p.space = GSB_PTX_SPACE_LOCAL;
		p.flags |= GSB_EMU_F_FRAME;
		break;
	}
	return p;
}

static struct place place_of(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	struct place p = {.imm = o->imm, .space = l->insn->space};

	if (o->var)
		return place_of_var(l, o);
	if (p.space == GSB_PTX_SPACE_CONST)
		p.space = GSB_PTX_SPACE_GLOBAL;
	if (p.space == GSB_PTX_SPACE_PARAM) /* its address was taken, as a generic one */
		p.space = GSB_PTX_SPACE_GENERIC;
	if (o->reg == GSB_PTX_NONE) {
		p.row = gsb_emu_const_row(l, 0, 8);
		p.flags = GSB_EMU_F_ADDR64;
	} else {
		p.row = l->rows[o->reg];
		p.flags = gsb_emu_reg_bytes(l, o->reg) == 8 ? GSB_EMU_F_ADDR64 : 0;
	}
	return p;
}

/* To another block's shared memory there are no short ways, which are for weak accesses. */
static bool is_strong(const struct gsb_ptx_insn *in, const struct place *p)
{
	return (in->sem && in->sem != GSB_PTX_SEM_WEAK) || p->space == GSB_PTX_SPACE_CLUSTER;
}

static void set_place(struct gsb_emu_op *op, const struct gsb_ptx_insn *in, const struct place *p)
{
	op->a = p->row;
	op->imm = p->imm;
	op->n = p->space;
	op->flags |= p->flags | (is_strong(in, p) ? GSB_EMU_F_STRONG : 0);
}

/* Parameters are read at fixed places only, which are checked here. */
static bool param_ok(struct gsb_emu_lowering *l, const struct place *p, bool write)
{
	uint64_t len = gsb_ptx_type_bytes(l->insn->type[0]) * l->insn->vec;

	if (p->space != GSB_PTX_SPACE_PARAM)
		return true;
	if (!write && p->imm >= 0 && gsb_range_ok((uint64_t)p->imm, len, l->func->param_bytes) &&
	    (uint64_t)p->imm % len == 0)
		return true;
	gsb_emu_lower_fail(l, -ENOTSUP, "'%s' does not fit the parameters of '%s'",
			   l->insn->spelling, l->func->name);
	return false;
}

/* Lanes of the register or registers that are loaded or stored. */
static uint32_t value_bytes(const struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	const struct gsb_ptx_operand *e = o->kind == GSB_PTX_OPERAND_VEC ? o->elems : o;
	uint32_t n = o->kind == GSB_PTX_OPERAND_VEC ? o->n : 1;

	for (uint32_t i = 0; i < n; i++) {
		if (e[i].kind == GSB_PTX_OPERAND_REG)
			return gsb_emu_reg_bytes(l, e[i].reg);
	}
	return gsb_emu_lane_bytes(l->insn->type[0]);
}

void gsb_emu_lower_access(struct gsb_emu_lowering *l, bool store)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *value = &in->operands[store], *addr = &in->operands[!store];
	uint32_t bytes = value_bytes(l, value), row, form;
	bool vector = value->kind == GSB_PTX_OPERAND_VEC;
	struct place p = place_of(l, addr);
	struct gsb_emu_op *op;

	form = store ? gsb_emu_select_store(in->type[0], bytes)
		     : gsb_emu_select_load(in->type[0], bytes);
	if (form == GSB_EMU_NONE) {
		gsb_emu_not_carried(l);
		return;
	}
	if (!param_ok(l, &p, store))
		return;
	if (vector)
		row = gsb_emu_vector_rows(l, value, bytes, !store);
	else
		row = store ? gsb_emu_src(l, value, bytes) : gsb_emu_dest(l, value, bytes);
	op = gsb_emu_emit(l, form, true);
	set_place(op, in, &p);
	op->e = vector ? value->n : 1;
	op->d = row;
	if (vector && value->n == 1 && !l->err)
		op->d = l->lists[row];
}

/*
 * Each element is atomic by itself, so they are done one after the other; the first op asks for the alignment and
 * the bytes of all. The old values wait in rows of their own, for a result may be another element's source.
 */
static void lower_vector_atom(struct gsb_emu_lowering *l, uint32_t form, bool has_result)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *o = in->operands;
	uint32_t bytes = gsb_ptx_type_bytes(in->type[0]), d = 0, b, old[GSB_PTX_MAX_VECTOR];
	struct place p = place_of(l, &o[has_result]);
	struct gsb_emu_op *op;

	if (form == GSB_EMU_NONE || p.space == GSB_PTX_SPACE_PARAM) {
		gsb_emu_not_carried(l);
		return;
	}
	b = gsb_emu_vector_rows(l, &o[has_result + 1], 4, false);
	if (has_result)
		d = gsb_emu_vector_rows(l, &o[0], 4, true);
	for (unsigned int i = 0; i < in->vec && !l->err; i++) {
		old[i] = has_result ? gsb_emu_temp_row(l) : GSB_EMU_SCRATCH_ROW;
		op = gsb_emu_emit(l, form, i == 0);
		set_place(op, in, &p);
		op->imm += i * bytes;
		op->d = old[i];
		op->b = l->lists[b + i];
		op->e = i ? 0 : bytes * in->vec;
	}
	for (unsigned int i = 0; has_result && i < in->vec && !l->err; i++) {
		op = gsb_emu_emit(l, GSB_EMU_FORM_MOV_32, false);
		op->d = l->lists[d + i];
		op->a = old[i];
	}
}

/* nvcc writes atom, with a register that nobody reads, for most calls of atomicAdd() whose result is dropped. */
static bool is_wanted(const struct gsb_emu_lowering *l, const struct gsb_ptx_operand *d,
		      uint32_t bytes)
{
	return d->kind != GSB_PTX_OPERAND_NONE && d->reg != GSB_PTX_NONE &&
	       (l->is_read[d->reg] || gsb_emu_reg_bytes(l, d->reg) != bytes);
}

void gsb_emu_lower_atom(struct gsb_emu_lowering *l, bool has_result)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *o = in->operands;
	uint32_t form = gsb_emu_select_atom(in->sub, in->type[0]);
	uint32_t bytes = gsb_emu_lane_bytes(in->type[0]), d = GSB_EMU_SCRATCH_ROW, b, c = 0;
	unsigned int at = has_result;
	struct gsb_emu_op *op;
	struct place p;

	if (in->vec > 1) {
		lower_vector_atom(l, form, has_result);
		return;
	}
	if (form == GSB_EMU_NONE) {
		gsb_emu_not_carried(l);
		return;
	}
	p = place_of(l, &o[at]);
	if (p.space == GSB_PTX_SPACE_PARAM) {
		gsb_emu_not_carried(l);
		return;
	}
	b = gsb_emu_src(l, &o[at + 1], bytes);
	if (in->sub == GSB_PTX_SUB_CAS)
		c = gsb_emu_src(l, &o[at + 2], bytes);
	if (has_result && is_wanted(l, &o[0], bytes))
		d = gsb_emu_dest(l, &o[0], bytes);
	op = gsb_emu_emit(l, form, true);
	set_place(op, in, &p);
	op->flags |= d == GSB_EMU_SCRATCH_ROW ? GSB_EMU_F_NO_RESULT : 0;
	op->d = d;
	op->b = b;
	op->c = c;
}

/* ---- waiting ---- */

static void lower_block_barrier(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	bool red = in->op == GSB_PTX_OP_BAR_RED || in->op == GSB_PTX_OP_BARRIER_RED;
	bool arrive = in->op == GSB_PTX_OP_BAR_ARRIVE || in->op == GSB_PTX_OP_BARRIER_ARRIVE;
	unsigned int n = in->n_operands - red; /* without the predicate at the end */
	uint32_t id = gsb_emu_src(l, &in->operands[red], 4), count = GSB_EMU_NONE, p = 0, d = 0;
	uint8_t flags = arrive ? GSB_EMU_F_NO_RESULT : 0;
	struct gsb_emu_op *op;

	if (n > red + 1u)
		count = gsb_emu_src(l, &in->operands[red + 1], 4);
	if (red) {
		p = gsb_emu_src_predicate(l, &in->operands[n], &flags);
		d = gsb_emu_dest(l, &in->operands[0], in->sub == GSB_PTX_SUB_POPC ? 4 : 0);
	}
	op = gsb_emu_emit(l, GSB_EMU_FORM_BARRIER, true);
	op->a = id;
	op->b = count;
	op->c = p;
	op->d = d;
	op->n = red ? in->sub : 0;
	op->flags |= flags;
}

void gsb_emu_lower_barrier(struct gsb_emu_lowering *l)
{
	if (l->insn->op == GSB_PTX_OP_CLUSTER_ARRIVE)
		gsb_emu_emit(l, GSB_EMU_FORM_CLUSTER_ARRIVE, true);
	else if (l->insn->op == GSB_PTX_OP_CLUSTER_WAIT)
		gsb_emu_emit(l, GSB_EMU_FORM_CLUSTER_WAIT, true);
	else
		lower_block_barrier(l);
}

static uint32_t members_of(struct gsb_emu_lowering *l, unsigned int at, uint8_t *flags)
{
	if (l->insn->n_operands > at)
		return gsb_emu_src(l, &l->insn->operands[at], 4);
	*flags |= GSB_EMU_F_WARP;
	return GSB_EMU_SCRATCH_ROW;
}

void gsb_emu_lower_shfl(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t a = gsb_emu_src(l, &o[1], 4), b = gsb_emu_src(l, &o[2], 4),
		 c = gsb_emu_src(l, &o[3], 4);
	uint8_t flags = 0;
	uint32_t members = members_of(l, 4, &flags), d = gsb_emu_dest(l, &o[0], 4);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_SHFL, true);

	op->d = d;
	op->e = gsb_emu_dest_second(l, &o[0]);
	op->a = a;
	op->b = b;
	op->c = c;
	op->imm = members;
	op->n = l->insn->mode;
	op->flags |= flags;
}

void gsb_emu_lower_vote(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint8_t flags = 0;
	uint32_t a = gsb_emu_src_predicate(l, &o[1], &flags), members = members_of(l, 2, &flags);
	uint32_t d = gsb_emu_dest(l, &o[0], l->insn->mode == GSB_PTX_MODE_BALLOT ? 4 : 0);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_VOTE, true);

	op->d = d;
	op->a = a;
	op->b = members;
	op->n = l->insn->mode;
	op->flags |= flags;
}

/* match, redux, elect: d, value (not elect), members */
void gsb_emu_lower_members(struct gsb_emu_lowering *l, unsigned int form)
{
	const struct gsb_ptx_insn *in = l->insn;
	unsigned int has_value = form != GSB_EMU_FORM_ELECT;
	uint32_t bytes = form == GSB_EMU_FORM_MATCH ? gsb_emu_lane_bytes(in->type[0]) : 4;
	uint32_t a = has_value ? gsb_emu_src(l, &in->operands[1], bytes) : 0;
	uint8_t flags = bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
	uint32_t members = members_of(l, 1 + has_value, &flags),
		 d = gsb_emu_dest(l, &in->operands[0], 4);
	struct gsb_emu_op *op = gsb_emu_emit(l, form, true);

	op->d = d;
	op->e = gsb_emu_dest_second(l, &in->operands[0]);
	op->a = a;
	op->b = members;
	op->c = gsb_ptx_type_is_signed(in->type[0]);
	op->n = form == GSB_EMU_FORM_REDUX ? in->sub : in->mode;
	op->flags |= flags;
}
