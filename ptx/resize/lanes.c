/*
 * lanes.c - see lanes.h.
 *
 * By register: nothing yet; a value that grows by a constant from lane to lane, 0 where all lanes have the same; or values
 * APART. A fixed point that only goes up, as in linear.c. Of a warp that has come one way, lane by lane the same instructions
 * have written each register: so branches decide nothing here, and guards only where they are not the same for all.
 */
#include "ptx/resize/lanes.h"

#include <errno.h>
#include <string.h>

#include "ptx/resize/analysis.h"

enum kind { NONE /* nobody has written it */, STRIDE, APART };

struct value {
	uint8_t kind;
	bool tid; /* nothing but %tid.x or the number of the lane: whole warps begin at multiples of 32 */
	bool constant; /* @is, and stride 0 */
	int32_t stride;
	int64_t is;
};

struct lanes {
	struct gsb_resize_flow *f;
	struct gsb_resize_queue q;
	struct value *reg;
	/* of the instruction at hand */
	bool ready, same;
	struct value result;
};

static const struct value apart = {.kind = APART};
static const struct value same = {.kind = STRIDE};

static struct value stride_of(int64_t stride)
{
	if (stride > GSB_LANES_MOST || stride < -GSB_LANES_MOST)
		return apart;
	return (struct value){.kind = STRIDE, .stride = (int32_t)stride};
}

static struct value constant_of(int64_t is)
{
	return (struct value){.kind = STRIDE, .constant = true, .is = is};
}

static bool is_same(const struct value *v)
{
	return v->kind == STRIDE && !v->stride;
}

/* ---- operands ---- */

static struct value sreg_value(const struct gsb_ptx_operand *o)
{
	const struct value number = {.kind = STRIDE, .tid = true, .stride = 1};

	switch (o->sreg) {
	case GSB_PTX_SREG_TID: return o->axis == 0 ? number : o->axis < 3 ? same : apart;
	case GSB_PTX_SREG_LANEID: return number;
	case GSB_PTX_SREG_CTAID:
	case GSB_PTX_SREG_NTID:
	case GSB_PTX_SREG_NCTAID:
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE: return same;
	default: return apart;
	}
}

static struct value value_of(const struct lanes *l, const struct gsb_ptx_operand *o)
{
	int64_t is;

	switch (o->kind) {
	case GSB_PTX_OPERAND_REG: return o->part ? apart : l->reg[o->reg];
	case GSB_PTX_OPERAND_SREG: return sreg_value(o);
	case GSB_PTX_OPERAND_IMM: return gsb_resize_is_imm(o, &is) ? constant_of(is) : same;
	case GSB_PTX_OPERAND_VAR: return same;
	default: return apart;
	}
}

static void on_use(void *ctx, uint32_t reg)
{
	struct lanes *l = ctx;

	l->ready &= l->reg[reg].kind != NONE;
	l->same &= is_same(&l->reg[reg]);
}

/* Are all uses there, and the same for all lanes? */
static void look_at_uses(struct lanes *l, const struct gsb_ptx_insn *in)
{
	l->ready = l->same = true;
	gsb_resize_each_use(l->f, in, on_use, l);
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_SREG) {
			struct value v = sreg_value(&in->operands[i]);

			l->same &= is_same(&v);
		}
}

/* ---- arithmetic ---- */

static struct value add(struct value a, struct value b, int sign)
{
	if (a.kind != STRIDE || b.kind != STRIDE)
		return apart;
	return stride_of((int64_t)a.stride + (int64_t)sign * b.stride);
}

static struct value multiply(struct value a, struct value b)
{
	const struct value v = a.constant ? b : a, by = a.constant ? a : b;

	if (is_same(&a) && is_same(&b))
		return same;
	if (v.kind != STRIDE || !by.constant || by.is > GSB_LANES_MOST || by.is < -GSB_LANES_MOST)
		return apart;
	return stride_of(v.stride * by.is);
}

static struct value product(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	if (in->mul != GSB_PTX_MUL_LO && in->mul != GSB_PTX_MUL_WIDE)
		return apart;
	return multiply(value_of(l, &in->operands[1]), value_of(l, &in->operands[2]));
}

static struct value shift_left(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	struct value v = value_of(l, &in->operands[1]), by = value_of(l, &in->operands[2]);

	if (!by.constant || by.is < 0 || by.is > 20)
		return apart;
	return multiply(v, constant_of((int64_t)1 << by.is));
}

/* Of the number of a thread or lane: which warp it is in is the same for all, and which lane of it is its number again. */
static struct value part_of_number(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	struct value v = value_of(l, &in->operands[1]), n = value_of(l, &in->operands[2]);

	if (!v.tid || !n.constant || n.is < 0)
		return apart;
	switch (in->op) {
	case GSB_PTX_OP_SHR: return n.is >= 5 ? same : apart;
	case GSB_PTX_OP_DIV: return n.is && n.is % 32 == 0 ? same : apart;
	case GSB_PTX_OP_AND: return !(n.is & 31) ? same : (n.is & 31) == 31 ? v : apart;
	default: return n.is && n.is % 32 == 0 ? v : apart; /* rem */
	}
}

static struct value copy(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	return in->operands[0].kind == GSB_PTX_OPERAND_REG ? value_of(l, &in->operands[1]) : apart;
}

static bool joins(struct value *to, struct value v);

static struct value choose(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	struct value v = value_of(l, &in->operands[1]), which = value_of(l, &in->operands[3]);

	if (!is_same(&which))
		return apart;
	joins(&v, value_of(l, &in->operands[2]));
	return v;
}

/* What is not the same for all. */
static struct value derive(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	if (in->flags & (GSB_PTX_F_CC | GSB_PTX_F_SAT) || !in->n_operands ||
	    !gsb_resize_is_wide_int(in->type[0]))
		return apart;
	switch (in->op) {
	case GSB_PTX_OP_MOV: return copy(l, in);
	case GSB_PTX_OP_CVTA: return copy(l, in);
	case GSB_PTX_OP_CVT: return gsb_resize_is_wide_int(in->type[1]) ? copy(l, in) : apart;
	case GSB_PTX_OP_ADD:
		return add(value_of(l, &in->operands[1]), value_of(l, &in->operands[2]), 1);
	case GSB_PTX_OP_SUB:
		return add(value_of(l, &in->operands[1]), value_of(l, &in->operands[2]), -1);
	case GSB_PTX_OP_MUL: return product(l, in);
	case GSB_PTX_OP_MAD: return add(product(l, in), value_of(l, &in->operands[3]), 1);
	case GSB_PTX_OP_SHL: return shift_left(l, in);
	case GSB_PTX_OP_SHR:
	case GSB_PTX_OP_DIV:
	case GSB_PTX_OP_AND:
	case GSB_PTX_OP_REM: return part_of_number(l, in);
	case GSB_PTX_OP_SELP: return choose(l, in);
	default: return apart;
	}
}

/* Of operands that are the same for all lanes; constants stay known where they are copied. */
static struct value same_result(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	struct value v = same;

	if (in->op == GSB_PTX_OP_MOV && in->n_operands == 2 && gsb_resize_is_wide_int(in->type[0]))
		v = copy(l, in);
	return is_same(&v) ? v : same;
}

/* Lanes that read one place together read one value, where nobody writes it meanwhile. */
static bool reads_alike(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	if (in->op != GSB_PTX_OP_LD || gsb_resize_is_strong(in))
		return false;
	return in->space == GSB_PTX_SPACE_CONST || in->space == GSB_PTX_SPACE_GLOBAL ||
	       gsb_resize_reads_parameter(l->f, in);
}

static struct value result_of(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	if (in->guard != GSB_PTX_NONE && !is_same(&l->reg[in->guard]))
		return apart;
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_MOV:
	case GSB_PTX_CLASS_CVT: return l->same ? same_result(l, in) : derive(l, in);
	case GSB_PTX_CLASS_MEM: return l->same && reads_alike(l, in) ? same : apart;
	default: return apart;
	}
}

/* ---- the fixed point ---- */

static bool joins(struct value *to, struct value v)
{
	struct value old = *to;

	if (v.kind == NONE || old.kind == APART)
		return false;
	if (old.kind == NONE) {
		*to = v;
		return true;
	}
	if (v.kind == APART || v.stride != old.stride) {
		*to = apart;
		return true;
	}
	to->tid &= v.tid;
	to->constant &= v.constant && v.is == old.is;
	return to->tid != old.tid || to->constant != old.constant;
}

static void on_def(void *ctx, uint32_t reg)
{
	struct lanes *l = ctx;

	if (joins(&l->reg[reg], l->result))
		gsb_resize_queue_users(&l->q, l->f, reg);
}

static void judge(struct lanes *l, const struct gsb_ptx_insn *in)
{
	look_at_uses(l, in);
	if (!l->ready)
		return;
	l->result = result_of(l, in);
	gsb_resize_each_def(l->f, in, on_def, l);
}

static void find_all(struct lanes *l)
{
	uint32_t i;

	while ((i = gsb_resize_queue_take(&l->q)) != GSB_PTX_NONE) {
		judge(l, &l->f->func->insns[i]);
		if (!gsb_resize_steps(l->f->a, 1))
			return;
	}
}

/* Of an address: its register's, or all the same where it has none. */
static int32_t stride_at(const struct lanes *l, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	if (!o)
		return GSB_LANES_APART;
	if (o->reg == GSB_PTX_NONE)
		return 0;
	return l->reg[o->reg].kind == STRIDE ? l->reg[o->reg].stride : GSB_LANES_APART;
}

/* Lanes may go in a function that is called, and nobody behind it would know. */
static bool loses_lanes(const struct gsb_ptx_kernel *k)
{
	for (uint32_t i = 1; i < k->n_funcs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->n_insns; n++)
			if (k->funcs[i]->insns[n].op == GSB_PTX_OP_EXIT)
				return true;
	return false;
}

static void fill(struct lanes *l, const struct gsb_ptx_kernel *k, int32_t *out)
{
	const bool known = !loses_lanes(k);

	for (uint32_t i = 0; i < k->entry->n_insns; i++)
		out[i] = known ? stride_at(l, &k->entry->insns[i]) : GSB_LANES_APART;
}

int gsb_lanes_strides(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k,
		      struct gsb_arena *arena, const int32_t **out)
{
	struct gsb_resize_facts unused = {0};
	struct gsb_resize_analysis *a = gsb_arena_alloc(arena, sizeof(*a));
	int32_t *strides = gsb_arena_alloc_array(arena, k->entry->n_insns, sizeof(*strides));
	struct gsb_resize_flow f;
	struct lanes l = {.f = &f};

	if (!a || !strides)
		return -ENOMEM;
	*a = (struct gsb_resize_analysis){.m = m, .k = k, .arena = arena, .out = &unused};
	for (uint32_t i = 0; i < k->entry->n_insns; i++)
		strides[i] = GSB_LANES_APART;
	*out = strides;
	if (gsb_resize_flow_build(a, k->entry, &f) && gsb_resize_queue_init(a, &l.q, &f))
		l.reg = gsb_resize_alloc(a, f.n_regs, sizeof(*l.reg));
	if (l.reg)
		find_all(&l);
	if (!a->err)
		fill(&l, k, strides);
	return a->err == -ENOMEM ? -ENOMEM : 0;
}
