/*
 * address.c - which words of which parameters addresses are made from, and what is done there.
 *
 * A register carries the set of bases that its value may have been made from by adding, choosing and masking. What is
 * multiplied or shifted is an index: its base is dropped, and remembered as computed with. An address without a base, or
 * with one from memory, may be anything. Only the entry is followed: a pointer that is passed on escapes.
 */
#include <string.h>

#include "ptx/resize/analysis.h"

struct walk {
	struct gsb_resize_flow *f;
	struct gsb_resize_queue q;
	uint64_t *reg, mask;
	struct gsb_resize_pointer slots[GSB_RESIZE_BASE_SLOTS];
	uint32_t n_slots;
	uint32_t bytes; /* of an address */
	struct gsb_resize_bases b;
};

static void on_use(void *ctx, uint32_t reg)
{
	struct walk *w = ctx;

	w->mask |= w->reg[reg];
}

static uint64_t used(struct walk *w, const struct gsb_ptx_operand *o)
{
	w->mask = 0;
	if (o->kind == GSB_PTX_OPERAND_REG)
		on_use(w, o->reg);
	for (int i = 0; o->kind == GSB_PTX_OPERAND_VEC && i < o->n; i++)
		w->mask |= used(w, &o->elems[i]);
	return w->mask;
}

static uint64_t var_base(const struct gsb_ptx_var *v)
{
	return v->space == GSB_PTX_SPACE_SHARED || v->space == GSB_PTX_SPACE_LOCAL ||
			       v->space == GSB_PTX_SPACE_PARAM
		       ? GSB_RESIZE_BASE_OWN
		       : GSB_RESIZE_BASE_VAR;
}

/* ---- results ---- */

/* The bit of a word of a parameter; LOADED when there are too many. */
static uint64_t slot(struct walk *w, const struct gsb_ptx_var *param, uint64_t offset)
{
	uint32_t i = 0;

	while (i < w->n_slots &&
	       (w->slots[i].param != param->index || w->slots[i].offset != offset))
		i++;
	if (i == GSB_RESIZE_BASE_SLOTS)
		return GSB_RESIZE_BASE_LOADED;
	if (i == w->n_slots)
		w->slots[w->n_slots++] =
			(struct gsb_resize_pointer){param->index, (uint32_t)offset, 0};
	return (uint64_t)1 << i;
}

static bool is_parameter(const struct walk *w, const struct gsb_ptx_operand *o)
{
	const struct gsb_ptx_func *f = w->f->func;

	return o->var && f->is_entry && o->var->func == f && o->reg == GSB_PTX_NONE &&
	       o->var >= f->params && o->var < f->params + f->n_params && o->imm >= 0;
}

/* Of the i-th word that a load brings. */
static uint64_t loaded(struct walk *w, const struct gsb_ptx_insn *in, uint32_t i)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	if (in->op == GSB_PTX_OP_LD && in->space == GSB_PTX_SPACE_PARAM && o && is_parameter(w, o))
		return slot(w, o->var, (uint64_t)o->imm + (uint64_t)i * w->bytes);
	return GSB_RESIZE_BASE_LOADED;
}

static void set(struct walk *w, const struct gsb_ptx_operand *o, uint64_t mask)
{
	if (o->kind != GSB_PTX_OPERAND_REG ||
	    gsb_ptx_type_bytes(w->f->func->regs[o->reg].type) != w->bytes ||
	    gsb_ptx_type_is_float(w->f->func->regs[o->reg].type) || !(mask & ~w->reg[o->reg]))
		return;
	w->reg[o->reg] |= mask;
	gsb_resize_queue_users(&w->q, w->f, o->reg);
}

static uint64_t operands(struct walk *w, const struct gsb_ptx_insn *in, uint32_t first)
{
	uint64_t mask = 0;

	for (uint32_t i = first; i < in->n_operands; i++) {
		const struct gsb_ptx_operand *o = &in->operands[i];

		mask |= used(w, o);
		if (o->kind == GSB_PTX_OPERAND_VAR && o->var)
			mask |= var_base(o->var);
	}
	return mask;
}

static bool is_product(const struct gsb_ptx_insn *in)
{
	switch (in->op) {
	case GSB_PTX_OP_MUL:
	case GSB_PTX_OP_MAD:
	case GSB_PTX_OP_MADC:
	case GSB_PTX_OP_SHL:
	case GSB_PTX_OP_SHR:
	case GSB_PTX_OP_DIV:
	case GSB_PTX_OP_REM: return true;
	default: return false;
	}
}

static uint64_t result_mask(struct walk *w, const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
		if (!is_product(in))
			return operands(w, in, 1);
		return in->op == GSB_PTX_OP_MAD || in->op == GSB_PTX_OP_MADC ? operands(w, in, 3)
									     : 0;
	case GSB_PTX_CLASS_MOV: return operands(w, in, 1);
	case GSB_PTX_CLASS_CVT:
		return gsb_ptx_type_bytes(in->type[1]) == w->bytes ? operands(w, in, 1) : 0;
	default: return GSB_RESIZE_BASE_LOADED;
	}
}

static void derive(struct walk *w, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *to = in->operands;

	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_MEM && in->n_operands &&
	    (in->op == GSB_PTX_OP_LD || in->op == GSB_PTX_OP_LDU)) {
		set(w, to, loaded(w, in, 0));
		for (int i = 0; to->kind == GSB_PTX_OPERAND_VEC && i < to->n; i++)
			set(w, &to->elems[i], loaded(w, in, (uint32_t)i));
		return;
	}
	if (in->call) {
		for (uint32_t i = 0; i < in->call->n_rets; i++)
			set(w, &in->call->rets[i], GSB_RESIZE_BASE_LOADED);
		return;
	}
	if (!in->n_operands)
		return;
	set(w, to, result_mask(w, in));
	for (int i = 0; to->kind == GSB_PTX_OPERAND_VEC && i < to->n; i++)
		set(w, &to->elems[i], GSB_RESIZE_BASE_LOADED);
}

/* ---- accesses ---- */

uint64_t gsb_resize_base_of(const struct gsb_resize_bases *b, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(in);
	uint64_t mask = 0;

	if (o && o->var)
		mask |= var_base(o->var);
	if (o && o->reg != GSB_PTX_NONE)
		mask |= b->reg[o->reg];
	return mask ? mask : GSB_RESIZE_BASE_LOADED;
}

static void add_access(struct walk *w, uint64_t mask, uint32_t access)
{
	for (uint32_t i = 0; i < w->n_slots; i++)
		if (mask >> i & 1)
			w->slots[i].access |= access;
}

static void escape(struct walk *w, uint64_t mask)
{
	add_access(w, mask, GSB_RESIZE_ESCAPES);
}

static uint32_t access_of(const struct gsb_ptx_insn *in)
{
	uint32_t generic = in->space == GSB_PTX_SPACE_GENERIC ? GSB_RESIZE_GENERIC : 0;

	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ATOM)
		return generic | GSB_RESIZE_READ | GSB_RESIZE_WRITTEN | GSB_RESIZE_ATOMIC;
	return generic | (in->op == GSB_PTX_OP_ST ? GSB_RESIZE_WRITTEN : GSB_RESIZE_READ);
}

static void on_access(struct walk *w, const struct gsb_ptx_insn *in)
{
	uint64_t mask = gsb_resize_base_of(&w->b, in);
	uint32_t access = access_of(in);

	add_access(w, mask, access);
	if (mask & GSB_RESIZE_BASE_LOADED)
		w->f->a->out->loaded_pointers = true;
	if (!(access & GSB_RESIZE_WRITTEN))
		return;
	w->b.written |= mask;
	if (mask & GSB_RESIZE_BASE_LOADED)
		w->b.known = false;
}

/* Memory reached by other ways than ld, st and atomics: a matrix, an asynchronous copy, a surface. */
static void on_other_access(struct walk *w, const struct gsb_ptx_insn *in)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_ADDR &&
		    in->operands[i].reg != GSB_PTX_NONE)
			mask |= w->reg[in->operands[i].reg];
	add_access(w, mask, GSB_RESIZE_READ | GSB_RESIZE_WRITTEN | GSB_RESIZE_ESCAPES);
	w->b.written |= mask;
	w->b.known = false;
}

static void on_call(struct walk *w, const struct gsb_ptx_call *call)
{
	for (uint32_t i = 0; i < call->n_args; i++)
		escape(w, used(w, &call->args[i]));
}

/* What an instruction takes apart without its result being an address any more. */
static void on_arithmetic(struct walk *w, const struct gsb_ptx_insn *in)
{
	uint32_t end = in->op == GSB_PTX_OP_MAD || in->op == GSB_PTX_OP_MADC ? 3 : in->n_operands;

	if (!is_product(in) && in->op != GSB_PTX_OP_PRMT && in->op != GSB_PTX_OP_BFE &&
	    !(in->op == GSB_PTX_OP_MOV && in->operands[0].kind == GSB_PTX_OPERAND_VEC))
		return;
	for (uint32_t i = 1; i < end && i < in->n_operands; i++)
		escape(w, used(w, &in->operands[i]));
}

static void on_insn(struct walk *w, const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_MEM:
	case GSB_PTX_CLASS_ATOM:
		if (gsb_resize_is_global(in))
			on_access(w, in);
		/* What is stored or handed to an atomic is known to others. */
		for (uint32_t i = 1; i < in->n_operands && in->op != GSB_PTX_OP_LD; i++)
			escape(w, used(w, &in->operands[i]));
		break;
	case GSB_PTX_CLASS_MATRIX:
	case GSB_PTX_CLASS_ASYNC:
	case GSB_PTX_CLASS_TEX: on_other_access(w, in); break;
	case GSB_PTX_CLASS_CALL:
		on_call(w, in->call);
		w->b.known &= !w->f->a->called_writes;
		break;
	default: on_arithmetic(w, in); break;
	}
}

/* Slots that addresses are made from, or that get away. */
static void list_pointers(struct walk *w)
{
	struct gsb_resize_facts *out = w->f->a->out;
	struct gsb_resize_pointer *list = gsb_resize_alloc(w->f->a, w->n_slots, sizeof(*list));

	for (uint32_t i = 0; list && i < w->n_slots; i++)
		if (w->slots[i].access & ~(uint32_t)GSB_RESIZE_ESCAPES)
			list[out->n_pointers++] = w->slots[i];
	out->pointers = list;
}

/* A base that is both an address and computed with may come back another way. */
static void doubt(struct walk *w)
{
	for (uint32_t i = 0; i < w->n_slots; i++)
		if (w->slots[i].access & GSB_RESIZE_ESCAPES &&
		    w->slots[i].access & ~(uint32_t)GSB_RESIZE_ESCAPES)
			w->b.known = false;
}

bool gsb_resize_bases_build(struct gsb_resize_flow *f, struct gsb_resize_bases *out)
{
	struct walk w = {.f = f, .bytes = f->a->m->address_bits / 8};
	uint32_t at;

	w.reg = gsb_resize_alloc(f->a, f->n_regs, sizeof(*w.reg));
	if (!w.reg || !gsb_resize_queue_init(f->a, &w.q, f))
		return false;
	while ((at = gsb_resize_queue_take(&w.q)) != GSB_PTX_NONE) {
		derive(&w, &f->func->insns[at]);
		if (!gsb_resize_steps(f->a, 1))
			return false;
	}
	w.b = (struct gsb_resize_bases){.reg = w.reg, .known = true};
	for (uint32_t i = 0; i < f->func->n_insns; i++)
		if (f->cfg.blocks[f->cfg.block_of[i]].reachable)
			on_insn(&w, &f->func->insns[i]);
	doubt(&w);
	if (f->func->is_entry)
		list_pointers(&w);
	*out = w.b;
	return !f->a->err;
}
