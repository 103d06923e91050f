/*
 * linear.c - the proof that a kernel may be launched with other blocks: on one axis, all that threads do is a function of
 * ctaid * ntid + tid and of nctaid * ntid, which T' x B' leaves as they are when T' * B' = T * B.
 *
 * By register: SAME is a value that the two decide; a FORM is a * tid + b * (ctaid * ntid) + something that is SAME, where
 * a = b makes it SAME; CTAID, NTID, NCTAID are those alone; everything else is MIXED. What can be seen from outside
 * (addresses, stored values, guards, branches, arguments) has to be SAME. The other two axes are taken as they are, so
 * that each axis stands on its own. doc/resizing.md has the proof, and why T * B < 2^31 makes widening harmless.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ptx/resize/analysis.h"

enum kind { NONE /* nobody has written it */, SAME, FORM, CTAID, NTID, NCTAID, MIXED };

struct value {
	uint8_t kind;	    /* enum kind */
	bool pure;	    /* FORM: nothing is added to it, and it did not wrap */
	int64_t tid, block; /* FORM: the factors of tid and of ctaid * ntid */
	uint32_t lost_at;   /* MIXED: where; else NONE */
};

struct proof {
	struct gsb_resize_flow *f;
	struct gsb_resize_queue q;
	struct value *reg;
	uint8_t axis;
	bool whole_warps; /* something holds for blocks of whole warps only */
	bool linear, stride, lanes;
	/* of the instruction at hand */
	uint32_t at;
	struct value result;
	bool all_same;
	struct gsb_resize_finding *failed; /* the first; rule is set when there is one */
	bool ok;
};

static const struct value same = {.kind = SAME, .lost_at = GSB_PTX_NONE};

static struct value mixed(const struct proof *p)
{
	return (struct value){.kind = MIXED, .lost_at = p->at};
}

static struct value alone(enum kind kind)
{
	return (struct value){.kind = (uint8_t)kind, .lost_at = GSB_PTX_NONE};
}

static struct value form(int64_t tid, int64_t block, bool pure)
{
	if (tid == block)
		return same;
	return (struct value){FORM, pure, tid, block, GSB_PTX_NONE};
}

/* ---- operands ---- */

static struct value sreg_value(struct proof *p, const struct gsb_ptx_operand *o)
{
	bool on_axis = o->axis == p->axis;

	switch (o->sreg) {
	case GSB_PTX_SREG_TID: return on_axis ? form(1, 0, true) : same;
	case GSB_PTX_SREG_CTAID: return on_axis ? alone(CTAID) : same;
	case GSB_PTX_SREG_NTID: return on_axis ? alone(NTID) : same;
	case GSB_PTX_SREG_NCTAID: return on_axis ? alone(NCTAID) : same;
	case GSB_PTX_SREG_LANEID:
	case GSB_PTX_SREG_LANEMASK_EQ:
	case GSB_PTX_SREG_LANEMASK_LT:
	case GSB_PTX_SREG_LANEMASK_LE:
	case GSB_PTX_SREG_LANEMASK_GT:
	case GSB_PTX_SREG_LANEMASK_GE: p->whole_warps = p->lanes = true; return same;
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE: return same; /* as the launch says */
	default: return mixed(p);
	}
}

static struct value operand_value(struct proof *p, const struct gsb_ptx_operand *o)
{
	switch (o->kind) {
	case GSB_PTX_OPERAND_REG: return o->part ? mixed(p) : p->reg[o->reg];
	case GSB_PTX_OPERAND_SREG: return sreg_value(p, o);
	case GSB_PTX_OPERAND_VEC:
		for (int i = 0; i < o->n; i++) {
			struct value v = operand_value(p, &o->elems[i]);

			if (v.kind != SAME)
				return v.kind == NONE ? v : mixed(p);
		}
		return same;
	default: return same;
	}
}

static void on_use(void *ctx, uint32_t reg)
{
	struct proof *p = ctx;

	p->all_same &= p->reg[reg].kind == SAME;
}

static bool uses_are_same(struct proof *p, const struct gsb_ptx_insn *in)
{
	p->all_same = true;
	gsb_resize_each_use(p->f, in, on_use, p);
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_SREG)
			p->all_same &= sreg_value(p, &in->operands[i]).kind == SAME;
	return p->all_same;
}

/* ---- arithmetic on forms ---- */

static bool is_form(const struct value *v)
{
	return v->kind == FORM || v->kind == SAME;
}

static struct value add(const struct proof *p, struct value a, struct value b, int sign)
{
	int64_t tid, block;

	if (a.kind == NONE || b.kind == NONE)
		return alone(NONE);
	if (!is_form(&a) || !is_form(&b) || __builtin_add_overflow(a.tid, sign * b.tid, &tid) ||
	    __builtin_add_overflow(a.block, sign * b.block, &block))
		return mixed(p);
	return form(tid, block, false);
}

static bool is_pair(const struct value *a, const struct value *b, enum kind x, enum kind y)
{
	return (a->kind == x && b->kind == y) || (a->kind == y && b->kind == x);
}

/* A form times a constant; a wide product is exact only for tid and for ctaid * ntid themselves. */
static struct value scale(const struct proof *p, struct value v, int64_t by, bool wide)
{
	int64_t tid, block;

	if (wide && !v.pure)
		return mixed(p);
	if (by < (wide ? 0 : INT32_MIN) || by > (wide ? INT32_MAX : UINT32_MAX) ||
	    __builtin_mul_overflow(v.tid, by, &tid) || __builtin_mul_overflow(v.block, by, &block))
		return mixed(p);
	return form(tid, block, false);
}

static struct value multiply(struct proof *p, const struct gsb_ptx_insn *in)
{
	struct value a = operand_value(p, &in->operands[1]);
	struct value b = operand_value(p, &in->operands[2]);
	bool wide = in->mul == GSB_PTX_MUL_WIDE;
	int64_t by;

	if (a.kind == NONE || b.kind == NONE)
		return alone(NONE);
	if (!gsb_resize_is_wide_int(in->type[0]) || in->flags & GSB_PTX_F_SAT ||
	    (in->mul != GSB_PTX_MUL_LO && !wide))
		return a.kind == SAME && b.kind == SAME ? same : mixed(p);
	if (is_pair(&a, &b, CTAID, NTID)) {
		p->linear = true;
		return form(0, 1, true);
	}
	if (is_pair(&a, &b, NCTAID, NTID)) {
		p->stride = true;
		return same;
	}
	if (a.kind == SAME && b.kind == SAME)
		return same;
	if (a.kind == FORM && gsb_resize_is_imm(&in->operands[2], &by))
		return scale(p, a, by, wide);
	if (b.kind == FORM && gsb_resize_is_imm(&in->operands[1], &by))
		return scale(p, b, by, wide);
	return mixed(p);
}

static struct value multiply_add(struct proof *p, const struct gsb_ptx_insn *in)
{
	return add(p, multiply(p, in), operand_value(p, &in->operands[3]), 1);
}

static struct value shift_left(struct proof *p, const struct gsb_ptx_insn *in)
{
	struct value v = operand_value(p, &in->operands[1]);
	int64_t by;

	if (v.kind == FORM && gsb_resize_is_imm(&in->operands[2], &by) && by >= 0 && by < 31 &&
	    gsb_resize_is_wide_int(in->type[0]))
		return scale(p, v, (int64_t)1 << by, false);
	return v.kind == NONE ? v : mixed(p);
}

/* tid & 31, tid % 32: where blocks are of whole warps, that is the linear number's, too. */
static struct value low_bits(struct proof *p, const struct gsb_ptx_insn *in)
{
	struct value v = operand_value(p, &in->operands[1]);
	int64_t n;
	bool low = gsb_resize_is_imm(&in->operands[2], &n) &&
		   (in->op == GSB_PTX_OP_AND ? n >= 0 && n < 32 : n > 0 && 32 % n == 0);

	if (v.kind == NONE)
		return v;
	if (!low || v.kind != FORM || !v.pure || v.tid != 1 || v.block != 0 || p->axis != 0)
		return mixed(p);
	p->whole_warps = p->lanes = true;
	return same;
}

/* A result of 32 bits in a register of 64 is extended, too, whatever the types say. */
static bool widens(const struct proof *p, const struct gsb_ptx_insn *in)
{
	uint32_t to = gsb_ptx_type_bytes(p->f->func->regs[in->operands[0].reg].type);

	return to > gsb_ptx_type_bytes(in->type[0]) || to > gsb_ptx_type_bytes(in->type[1]);
}

/* Between 32 and 64 bits: tid, ctaid * ntid and the like are below 2^31, what was added to may not be. */
static struct value convert(struct proof *p, const struct gsb_ptx_insn *in)
{
	struct value v = operand_value(p, &in->operands[1]);

	if (!gsb_resize_is_wide_int(in->type[0]) || !gsb_resize_is_wide_int(in->type[1]) ||
	    in->flags & GSB_PTX_F_SAT || in->operands[0].kind != GSB_PTX_OPERAND_REG)
		return mixed(p);
	if (v.kind == FORM && !v.pure && widens(p, in))
		return mixed(p);
	return v;
}

static struct value choose(struct proof *p, const struct gsb_ptx_insn *in);

static struct value copy(struct proof *p, const struct gsb_ptx_insn *in)
{
	if (in->operands[0].kind != GSB_PTX_OPERAND_REG || gsb_ptx_type_bytes(in->type[0]) < 4)
		return mixed(p);
	return operand_value(p, &in->operands[1]);
}

static struct value derive(struct proof *p, const struct gsb_ptx_insn *in)
{
	if (in->flags & GSB_PTX_F_CC || !in->n_operands || in->guard != GSB_PTX_NONE)
		return mixed(p);
	switch (in->op) {
	case GSB_PTX_OP_MOV: return copy(p, in);
	case GSB_PTX_OP_CVT: return convert(p, in);
	case GSB_PTX_OP_ADD:
	case GSB_PTX_OP_SUB:
		if (!gsb_resize_is_wide_int(in->type[0]) || in->flags & GSB_PTX_F_SAT)
			return mixed(p);
		return add(p, operand_value(p, &in->operands[1]),
			   operand_value(p, &in->operands[2]), in->op == GSB_PTX_OP_ADD ? 1 : -1);
	case GSB_PTX_OP_MUL: return multiply(p, in);
	case GSB_PTX_OP_MAD: return multiply_add(p, in);
	case GSB_PTX_OP_SHL: return shift_left(p, in);
	case GSB_PTX_OP_AND:
	case GSB_PTX_OP_REM: return low_bits(p, in);
	case GSB_PTX_OP_SELP: return choose(p, in);
	default: return mixed(p);
	}
}

/* ---- joining ---- */

static bool joins(const struct proof *p, struct value *to, struct value v)
{
	struct value old = *to;

	if (v.kind == NONE || old.kind == MIXED)
		return false;
	if (old.kind == NONE) {
		*to = v;
		return true;
	}
	if (old.kind == v.kind && old.tid == v.tid && old.block == v.block) {
		to->pure &= v.pure;
		return to->pure != old.pure;
	}
	*to = v.kind == MIXED ? v : mixed(p);
	return true;
}

static struct value choose(struct proof *p, const struct gsb_ptx_insn *in)
{
	struct value v = operand_value(p, &in->operands[1]);

	if (operand_value(p, &in->operands[3]).kind != SAME)
		return mixed(p);
	joins(p, &v, operand_value(p, &in->operands[2]));
	v.pure = false;
	return v;
}

static void on_def(void *ctx, uint32_t reg)
{
	struct proof *p = ctx;

	if (joins(p, &p->reg[reg], p->result))
		gsb_resize_queue_users(&p->q, p->f, reg);
}

static void on_unread(void *ctx, uint32_t reg)
{
	struct proof *p = ctx;

	if (p->reg[reg].kind == NONE)
		p->ok = false;
}

/* Nothing is said of what still depends on registers that nobody has written yet. */
static bool is_ready(struct proof *p, const struct gsb_ptx_insn *in)
{
	p->ok = true;
	gsb_resize_each_use(p->f, in, on_unread, p);
	return p->ok;
}

static void judge(struct proof *p)
{
	const struct gsb_ptx_insn *in = &p->f->func->insns[p->at];
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);
	bool pure = class == GSB_PTX_CLASS_ALU || class == GSB_PTX_CLASS_CMP ||
		    class == GSB_PTX_CLASS_MOV || class == GSB_PTX_CLASS_CVT;

	if (!is_ready(p, in))
		return;
	p->result = uses_are_same(p, in) ? same : pure ? derive(p, in) : mixed(p);
	gsb_resize_each_def(p->f, in, on_def, p);
}

/* ---- what can be seen ---- */

static const char *const axes[] = {"x", "y", "z"};

static void say(char *out, size_t size, const struct proof *p, const struct value *v)
{
	const char *axis = axes[p->axis];
	uint32_t line;

	switch (v->kind) {
	case NONE: snprintf(out, size, "a register that nobody has written"); break;
	case CTAID: snprintf(out, size, "%%ctaid.%s alone", axis); break;
	case NTID: snprintf(out, size, "%%ntid.%s alone", axis); break;
	case NCTAID: snprintf(out, size, "%%nctaid.%s alone", axis); break;
	case FORM:
		if (!v->block)
			snprintf(out, size, "%%tid.%s alone", axis);
		else if (!v->tid)
			snprintf(out, size, "%%ctaid.%s * %%ntid.%s alone", axis, axis);
		else
			snprintf(out, size, "%lld * %%tid.%s + %lld * %%ctaid.%s * %%ntid.%s",
				 (long long)v->tid, axis, (long long)v->block, axis, axis);
		break;
	default:
		line = v->lost_at == GSB_PTX_NONE ? 0 : p->f->func->insns[v->lost_at].line;
		snprintf(out, size, "no longer linear in %s from line %u on: %s", axis, line,
			 line ? p->f->func->insns[v->lost_at].spelling : "");
	}
}

static void see(struct proof *p, const struct value *v)
{
	char text[160];

	if (v->kind == SAME || !p->ok)
		return;
	p->ok = false;
	if (p->failed->n++)
		return;
	say(text, sizeof(text), p, v);
	p->failed->place = (struct gsb_resize_place){p->f->func, p->at};
	p->failed->detail = gsb_arena_strndup(p->f->a->arena, text, strlen(text));
	if (!p->failed->detail)
		p->f->a->err = p->f->a->err ? p->f->a->err : -ENOMEM;
}

static void on_seen(void *ctx, uint32_t reg)
{
	struct proof *p = ctx;

	see(p, &p->reg[reg]);
}

static void see_sreg(struct proof *p, const struct gsb_ptx_operand *o)
{
	struct value v = same;

	if (o->kind == GSB_PTX_OPERAND_SREG)
		v = sreg_value(p, o);
	see(p, &v);
}

static bool is_seen(const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_MOV:
	case GSB_PTX_CLASS_CVT: return false;
	default: return true;
	}
}

static void check(struct proof *p)
{
	for (p->at = 0; p->at < p->f->func->n_insns; p->at++) {
		const struct gsb_ptx_insn *in = &p->f->func->insns[p->at];

		if (!p->f->cfg.blocks[p->f->cfg.block_of[p->at]].reachable || !is_seen(in))
			continue;
		p->ok = true;
		gsb_resize_each_use(p->f, in, on_seen, p);
		for (uint32_t i = 0; i < in->n_operands; i++)
			see_sreg(p, &in->operands[i]);
	}
}

static bool prove(struct proof *p)
{
	p->reg = gsb_resize_alloc(p->f->a, p->f->n_regs, sizeof(*p->reg));
	if (!p->reg || !gsb_resize_queue_init(p->f->a, &p->q, p->f))
		return false;
	while ((p->at = gsb_resize_queue_take(&p->q)) != GSB_PTX_NONE) {
		judge(p);
		if (!gsb_resize_steps(p->f->a, 1))
			return false;
	}
	check(p);
	return !p->f->a->err;
}

/* ---- what else the order and the company of threads decides ---- */

static void find(struct gsb_resize_flow *f, enum gsb_resize_rule rule, uint32_t insn)
{
	gsb_resize_find(f->a, rule, f->func, insn);
}

static bool has_readers(const struct gsb_resize_flow *f, const struct gsb_ptx_operand *o)
{
	if (o->kind == GSB_PTX_OPERAND_NONE)
		return false;
	return o->kind != GSB_PTX_OPERAND_REG || f->user_at[o->reg] != f->user_at[o->reg + 1];
}

static bool commutes(const struct gsb_ptx_insn *in)
{
	switch (in->sub) {
	case GSB_PTX_SUB_ADD:
	case GSB_PTX_SUB_MIN:
	case GSB_PTX_SUB_MAX:
	case GSB_PTX_SUB_AND:
	case GSB_PTX_SUB_OR:
	case GSB_PTX_SUB_XOR: return true;
	default: return false;
	}
}

/*
 * Two operations that commute each with itself do not with each other, if they may meet: two parameters may well lead to
 * one place, in whatever functions.
 */
static bool meets_other(struct gsb_resize_analysis *a, const struct gsb_ptx_insn *in)
{
	if (!a->atomic)
		a->atomic = in;
	return a->atomic->sub != in->sub || a->atomic->type[0] != in->type[0];
}

static void judge_atomic(struct gsb_resize_flow *f, uint32_t insn)
{
	const struct gsb_ptx_insn *in = &f->func->insns[insn];
	uint32_t *order = &f->a->out->order;

	if (in->space == GSB_PTX_SPACE_SHARED)
		return;
	if (in->scope == GSB_PTX_SCOPE_CTA)
		find(f, GSB_RESIZE_RULE_SCOPE_CTA, insn);
	if (!commutes(in) || (in->op == GSB_PTX_OP_ATOM && has_readers(f, &in->operands[0])) ||
	    meets_other(f->a, in)) {
		find(f, GSB_RESIZE_RULE_ORDER, insn);
		*order |= GSB_RESIZE_ORDER_RESULT;
	}
	if (gsb_ptx_type_is_float(in->type[0])) {
		find(f, GSB_RESIZE_RULE_ROUNDING, insn);
		*order |= GSB_RESIZE_ORDER_FLOAT;
	}
}

static void judge_memory(struct gsb_resize_flow *f, uint32_t insn)
{
	const struct gsb_ptx_insn *in = &f->func->insns[insn];
	bool fence = gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_FENCE;

	if (!fence && !(gsb_resize_is_global(in) && gsb_resize_is_strong(in)))
		return;
	find(f, GSB_RESIZE_RULE_VOLATILE, insn);
	f->a->out->order |= GSB_RESIZE_ORDER_MEMORY;
}

static void judge_company(struct gsb_resize_flow *f)
{
	for (uint32_t i = 0; i < f->func->n_insns; i++) {
		enum gsb_ptx_class class = gsb_ptx_op_class(f->func->insns[i].op);

		if (class == GSB_PTX_CLASS_ATOM)
			judge_atomic(f, i);
		else
			judge_memory(f, i);
		if (class == GSB_PTX_CLASS_BARRIER)
			find(f, GSB_RESIZE_RULE_BARRIER, i);
	}
}

/* ---- the three axes ---- */

static const char *words(const struct proof *p)
{
	static const char *const all[] = {
		"no use of its place",
		"linear id",
		"grid stride",
		"linear id, grid stride",
		"lanes of a warp",
		"linear id, lanes of a warp",
		"grid stride, lanes of a warp",
		"linear id, grid stride, lanes of a warp",
	};

	return all[p->linear | p->stride << 1 | p->lanes << 2];
}

static void merge(struct gsb_resize_facts *out, const struct proof *p, bool warps)
{
	/* Lanes of a warp are neighbours on x alone. */
	if ((warps || p->whole_warps) && p->axis != 0)
		return;
	out->launch.reshape_axes |= (uint8_t)(1u << p->axis);
	out->launch.whole_warps |= p->whole_warps || warps;
	if (p->axis == 0 || !out->linear[0])
		out->linear = words(p);
}

/*
 * An axis that the kernel never asks about is provable and of no use by itself: x has to hold, or else another axis that
 * is asked about.
 */
void gsb_resize_linear(struct gsb_resize_flow *f)
{
	struct gsb_resize_finding failed[3] = {{0}};

	judge_company(f);
	if (!f->func->is_entry)
		return;
	for (uint8_t axis = 0; axis < 3; axis++) {
		struct proof p = {.f = f, .axis = axis, .failed = &failed[axis]};

		p.lanes = f->a->out->warp_ops;
		if (!prove(&p))
			return;
		if (!failed[axis].n)
			merge(f->a->out, &p, f->a->out->warp_ops);
	}
	if (!(f->a->out->launch.reshape_axes & 1))
		gsb_resize_find_detail(f->a, GSB_RESIZE_RULE_NOT_LINEAR, f->func,
				       failed[0].place.insn, failed[0].detail);
}
