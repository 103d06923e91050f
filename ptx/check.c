/*
 * check.c - operands against the shape that ops.def gives their opcode: number, kind, width; and
 * immediates turned into the bits of the operand's type. After this a reader may trust every operand.
 */
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

#include "ptx/tensor.h"

/* What one letter of a shape asks for. */
struct want {
	enum gsb_ptx_type type; /* NONE: a predicate is not wanted, see bytes */
	uint32_t bytes;		/* of a register; 0 = any */
	bool or_wider;
	bool result, pair, vector, symbol, pred, sreg, imm, memory, part;
};

/* The place and the instruction that an error is about. */
struct context {
	struct gsb_ptx_parser *p;
	const struct gsb_ptx_token *tok;
	const struct gsb_ptx_insn *in;
	uint32_t number; /* of the operand, from 1 */
};

static void fail(const struct context *c, const char *what)
{
	gsb_ptx_fail(c->p, c->tok, "operand %u of %s: %s", c->number, c->in->spelling, what);
}

static const struct gsb_ptx_reg *reg_of(const struct context *c, uint32_t reg)
{
	return (const struct gsb_ptx_reg *)c->p->body.regs.items + reg;
}

static void set_source(struct want *w, enum gsb_ptx_type type)
{
	w->type = type;
	w->bytes = gsb_ptx_type_bytes(type);
	w->pred = type == GSB_PTX_TYPE_PRED;
	w->imm = w->sreg = true;
}

static void set_result(struct want *w, enum gsb_ptx_type type)
{
	set_source(w, type);
	w->imm = w->sreg = false;
	w->result = true;
}

/* The letters, as the head of ops.def explains them. */
static struct want want_of(char letter, const struct gsb_ptx_insn *in)
{
	struct want w = {0};

	switch (letter) {
	case 'd': set_result(&w, in->type[0] ? in->type[0] : GSB_PTX_TYPE_B32); break;
	case 'w':
		set_result(&w, in->type[0]);
		w.bytes <<= in->mul == GSB_PTX_MUL_WIDE;
		break;
	case 'r': set_result(&w, GSB_PTX_TYPE_B32); break;
	case 'q': set_result(&w, GSB_PTX_TYPE_PRED); break;
	case 'Q':
		set_result(&w, GSB_PTX_TYPE_PRED);
		w.pair = true;
		break;
	case 'S':
		set_result(&w, GSB_PTX_TYPE_B32);
		w.pair = true;
		break;
	case 'V':
		set_result(&w, in->type[0]);
		w.vector = w.or_wider = true;
		break;
	case 'M':
		set_result(&w, in->type[0]);
		w.vector = true;
		break;
	case 'c':
		set_result(&w, in->type[0]);
		w.or_wider = true;
		break;
	case 'a': set_source(&w, in->type[0]); break;
	case 'b': set_source(&w, in->type[1]); break;
	case 'A':
		set_source(&w, in->type[0]);
		w.bytes <<= in->mul == GSB_PTX_MUL_WIDE;
		break;
	case 'u': set_source(&w, GSB_PTX_TYPE_U32); break;
	case 'j': set_source(&w, GSB_PTX_TYPE_B16); break;
	case 'p': set_source(&w, GSB_PTX_TYPE_PRED); break;
	case 'v':
		set_source(&w, in->type[0]);
		w.vector = w.or_wider = true;
		break;
	case 'C':
		set_source(&w, in->type[1]);
		w.or_wider = true;
		break;
	case 's':
		set_source(&w, in->type[0]);
		w.vector = w.symbol = true;
		break;
	case 'g':
	case 'P': set_source(&w, GSB_PTX_TYPE_B64); break;
	case 'e': set_source(&w, GSB_PTX_TYPE_F32); break;
	case 'i': set_source(&w, GSB_PTX_TYPE_U32); break;
	case 'X':
		set_result(&w, GSB_PTX_TYPE_B32);
		w.part = true;
		break;
	case 'Y':
		set_source(&w, GSB_PTX_TYPE_U32);
		w.part = true;
		break;
	case 'x': set_source(&w, GSB_PTX_TYPE_U32); break;
	case 'm':
	case 'h':
	case 'o': w.memory = true; break;
	default: break;
	}
	return w;
}

/* Predicates are no bits: a .pred register never stands for one of 8 bits, nor the reverse. */
static void check_reg(const struct context *c, const struct want *w, uint32_t reg)
{
	const struct gsb_ptx_reg *r = reg_of(c, reg);
	uint32_t bytes = gsb_ptx_type_bytes(r->type);
	bool is_pred = r->type == GSB_PTX_TYPE_PRED;
	char number[12] = "";

	if (is_pred == w->pred && (bytes == w->bytes || (w->or_wider && bytes > w->bytes)))
		return;
	if (r->number != GSB_PTX_NONE)
		snprintf(number, sizeof(number), "%u", r->number);
	if (w->pred)
		gsb_ptx_fail(c->p, c->tok,
			     "operand %u of %s: %.64s%s is .%s, a predicate register is needed",
			     c->number, c->in->spelling, r->base, number,
			     gsb_ptx_type_name(r->type));
	else
		gsb_ptx_fail(c->p, c->tok,
			     "operand %u of %s: %.64s%s is .%s, a register of %u bits%s is needed",
			     c->number, c->in->spelling, r->base, number,
			     gsb_ptx_type_name(r->type), w->bytes * 8,
			     w->or_wider ? " or more" : "");
}

static void check_imm(const struct context *c, const struct want *w, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_const value = {.form = o->form, .i = o->imm};

	if (!w->imm)
		fail(c, "a constant cannot be written to");
	else if (!gsb_ptx_const_to_type(&value, w->type, &o->form, &o->imm))
		fail(c, "a fraction does not fit this type");
}

/* {a, b} of ld and st has as many elements as .vN says; that of mov makes up the whole type. */
static void check_vector(const struct context *c, const struct want *w, struct gsb_ptx_operand *o)
{
	bool is_mov = c->in->op == GSB_PTX_OP_MOV;
	struct gsb_ptx_operand *elems = (struct gsb_ptx_operand *)o->elems;
	struct want elem = *w;

	elem.symbol = elem.vector = elem.sreg = false;
	if (is_mov) {
		elem.bytes = w->bytes / o->n;
		elem.type = GSB_PTX_TYPE_B64;
	}
	if (!w->vector ||
	    (is_mov ? o->n < 2 || elem.bytes * o->n != w->bytes : o->n != c->in->vec)) {
		fail(c, "a vector of this length does not go here");
		return;
	}
	for (uint32_t i = 0; i < o->n; i++) {
		if (elems[i].kind == GSB_PTX_OPERAND_REG && !elems[i].negated)
			check_reg(c, &elem, elems[i].reg);
		else if (elems[i].kind == GSB_PTX_OPERAND_IMM)
			check_imm(c, &elem, &elems[i]);
		else if (elems[i].kind != GSB_PTX_OPERAND_NONE || !w->result)
			fail(c, "a vector is of registers or constants");
	}
}

/* Which space an address is in: the letter's, or what the instruction says. */
static uint8_t space_of(char letter, const struct gsb_ptx_insn *in)
{
	return letter == 'h'   ? GSB_PTX_SPACE_SHARED
	       : letter == 'o' ? GSB_PTX_SPACE_GLOBAL
			       : in->space;
}

static bool space_matches(uint8_t space, const struct gsb_ptx_var *v)
{
	return space == GSB_PTX_SPACE_GENERIC || space == v->space ||
	       (space == GSB_PTX_SPACE_CLUSTER && v->space == GSB_PTX_SPACE_SHARED);
}

static void check_address(const struct context *c, char letter, struct gsb_ptx_insn *in,
			  struct gsb_ptx_operand *o)
{
	uint8_t space = space_of(letter, in);
	uint32_t bytes;

	if (o->kind != GSB_PTX_OPERAND_ADDR) {
		fail(c, "an address in [ ] is needed");
		return;
	}
	if (o->var && !space_matches(space, o->var)) {
		gsb_ptx_fail(c->p, c->tok, "operand %u of %s: '%.64s' is in .%s", c->number,
			     in->spelling, o->var->name, gsb_ptx_space_name(o->var->space));
	} else if (o->var && letter == 'm') {
		in->space =
			o->var->space; /* no space written: that of the variable; of a cluster's the block's */
	} else if (o->reg != GSB_PTX_NONE) {
		bytes = gsb_ptx_type_bytes(reg_of(c, o->reg)->type);
		if (bytes != 4 && bytes != 8)
			fail(c, "an address is a register of 32 or 64 bits");
	}
}

static void check_coordinate(const struct context *c, struct gsb_ptx_operand *o,
			     enum gsb_ptx_type type)
{
	struct want w = {0};

	set_source(&w, type);
	w.sreg = false;
	if (o->kind == GSB_PTX_OPERAND_REG && !o->negated)
		check_reg(c, &w, o->reg);
	else if (o->kind == GSB_PTX_OPERAND_IMM)
		check_imm(c, &w, o);
	else
		fail(c, "coordinates are registers or constants");
}

static void check_handle(const struct context *c, const struct gsb_ptx_operand *o)
{
	if (o->kind != GSB_PTX_OPERAND_ADDR)
		fail(c, "a handle in [ ] is needed");
	else if (gsb_ptx_type_bytes(reg_of(c, o->reg)->type) != 8)
		fail(c, "a handle is a register of 64 bits");
}

/* Layers and what a surface is indexed by are integers; all of it is 32 bits wide. */
static void check_texel(const struct context *c, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand *at = (struct gsb_ptx_operand *)o->elems;
	const char *geometry = strrchr(gsb_ptx_op_name(c->in->op), '.') + 1;
	bool is_layered = *geometry == 'a', is_surface = c->in->op >= GSB_PTX_OP_SULD_1D;
	uint32_t least = is_layered + (!strcmp(geometry + is_layered, "1d")   ? 1
				       : !strcmp(geometry + is_layered, "2d") ? 2
									      : 3);

	if (o->kind != GSB_PTX_OPERAND_ADDR || !o->n) {
		fail(c, "a handle and coordinates in [ ] are needed");
		return;
	}
	check_handle(c, o);
	if (!c->p->err && (o->n < least || o->n > 4))
		fail(c, "these are not the coordinates of this geometry");
	for (uint32_t i = 0; i < o->n && !c->p->err; i++)
		check_coordinate(c, &at[i],
				 is_surface || (is_layered && i == 0) ? GSB_PTX_TYPE_S32
								      : c->in->type[1]);
}

static void check_gradient(const struct context *c, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand *elems =
		(struct gsb_ptx_operand *)(o->kind == GSB_PTX_OPERAND_VEC ? o->elems : o);
	uint32_t n = o->kind == GSB_PTX_OPERAND_VEC ? o->n : 1;

	for (uint32_t i = 0; i < n && !c->p->err; i++)
		check_coordinate(c, &elems[i], GSB_PTX_TYPE_F32);
}

/* Of tensors: their map is at a generic address, or a variable in global memory. */
static void check_box(const struct context *c, const struct gsb_ptx_tensor *t,
		      struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand *at = (struct gsb_ptx_operand *)o->elems;

	if (o->kind != GSB_PTX_OPERAND_ADDR || o->n != t->dims)
		fail(c, "[address of a tensor map, {a coordinate for each dimension}] is needed");
	else if (o->var ? o->var->space != GSB_PTX_SPACE_GLOBAL
			: gsb_ptx_type_bytes(reg_of(c, o->reg)->type) != 8)
		fail(c,
		     "the address of a tensor map is a register of 64 bits, or a .global variable");
	for (uint32_t i = 0; i < o->n && !c->p->err; i++)
		check_coordinate(c, &at[i], GSB_PTX_TYPE_S32);
}

static void check_offsets(const struct context *c, const struct gsb_ptx_tensor *t,
			  struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand *elems = (struct gsb_ptx_operand *)o->elems;

	if (o->kind != GSB_PTX_OPERAND_VEC || o->n != t->dims - 2)
		fail(c, "{an offset for each dimension of pixels} is needed");
	for (uint32_t i = 0; i < o->n && !c->p->err; i++)
		check_coordinate(c, &elems[i], GSB_PTX_TYPE_U16);
}

static void check_tensor(const struct context *c, char letter, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_tensor t = {0};

	gsb_ptx_tensor_decode(c->in->spelling, strlen(c->in->spelling), &t);
	if (letter == 'K')
		check_box(c, &t, o);
	else
		check_offsets(c, &t, o);
}

static void check_pair(const struct context *c, const struct want *w,
		       const struct gsb_ptx_operand *o)
{
	struct want second = {.type = GSB_PTX_TYPE_PRED, .bytes = 1, .pred = true};

	if (!w->pair) {
		fail(c, "a pair a|b does not go here");
		return;
	}
	if (o->reg != GSB_PTX_NONE)
		check_reg(c, w, o->reg);
	if (o->reg2 != GSB_PTX_NONE)
		check_reg(c, &second, o->reg2);
}

/* Addresses of variables and functions go into registers of 32 or 64 bits. */
static void check_symbol(const struct context *c, const struct want *w)
{
	if (!w->symbol || w->pred || (w->bytes != 4 && w->bytes != 8))
		fail(c, "the address of a symbol does not go here");
}

/* How many registers of which width: that is for who executes it. Sums may begin with constants, and results be "_". */
static void check_fragment(const struct context *c, char letter, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand *elems = (struct gsb_ptx_operand *)o->elems;
	bool ok = o->kind == GSB_PTX_OPERAND_VEC;

	for (uint32_t i = 0; ok && i < o->n; i++) {
		bool is_f64 = elems[i].form == GSB_PTX_IMM_F64;
		const struct want value = {.type = is_f64 ? GSB_PTX_TYPE_B64 : GSB_PTX_TYPE_B32,
					   .imm = true};

		if (letter == 'N' && elems[i].kind == GSB_PTX_OPERAND_IMM)
			check_imm(c, &value, &elems[i]);
		else if (letter == 'N' || elems[i].kind != GSB_PTX_OPERAND_NONE)
			ok = elems[i].kind == GSB_PTX_OPERAND_REG && !elems[i].negated &&
			     reg_of(c, elems[i].reg)->type != GSB_PTX_TYPE_PRED;
	}
	if (!ok)
		fail(c, "the fragment of a matrix is registers in { }");
}

static bool is_predicate(const struct context *c, const struct gsb_ptx_operand *o)
{
	return o->kind == GSB_PTX_OPERAND_REG && reg_of(c, o->reg)->type == GSB_PTX_TYPE_PRED;
}

/* What may stand before an operand. */
static char sign_of(char letter, const struct gsb_ptx_insn *in)
{
	if (letter == 'p' || letter == 'x')
		return '!';
	return letter == 'Y' && in->op == GSB_PTX_OP_VMAD ? '-' : 0;
}

/* Everything that an operand may look like, against the one thing that this place wants. */
static void check_operand(const struct context *c, char letter, struct gsb_ptx_insn *in,
			  struct gsb_ptx_operand *o)
{
	struct want w = want_of(letter, in);

	if (letter == 'l' || letter == 't')
		return; /* read as what they must be */
	if (letter == 'T') {
		check_texel(c, o);
		return;
	}
	if (letter == 'H') {
		check_handle(c, o);
		return;
	}
	if (letter == 'G') {
		check_gradient(c, o);
		return;
	}
	if (letter == 'K' || letter == 'I') {
		check_tensor(c, letter, o);
		return;
	}
	if (letter == 'F' || letter == 'N') {
		check_fragment(c, letter, o);
		return;
	}
	if (w.memory) {
		check_address(c, letter, in, o);
		return;
	}
	if (letter == 'x' && is_predicate(c, o))
		set_source(&w, GSB_PTX_TYPE_PRED);
	if (o->negated && o->negated != sign_of(letter, in)) {
		fail(c, o->negated == '!' ? "'!' does not go here" : "'-' does not go here");
		return;
	}
	if (letter == 'x' && o->negated && !w.pred) {
		fail(c, "'!' does not go here");
		return;
	}
	if (letter == 'i' && o->kind != GSB_PTX_OPERAND_IMM) {
		fail(c, "a constant is needed");
		return;
	}
	if (o->part && !w.part) {
		fail(c, "a part of a register does not go here");
		return;
	}
	if (letter == 'g' && o->kind == GSB_PTX_OPERAND_REG &&
	    gsb_ptx_type_bytes(reg_of(c, o->reg)->type) == 4)
		w.bytes = 4;
	if (w.vector && in->vec > 1 && o->kind != GSB_PTX_OPERAND_VEC) {
		fail(c, "a vector in { } is needed");
		return;
	}
	switch (o->kind) {
	case GSB_PTX_OPERAND_REG: check_reg(c, &w, o->reg); break;
	case GSB_PTX_OPERAND_PAIR: check_pair(c, &w, o); break;
	case GSB_PTX_OPERAND_IMM: check_imm(c, &w, o); break;
	case GSB_PTX_OPERAND_VEC: check_vector(c, &w, o); break;
	case GSB_PTX_OPERAND_VAR:
	case GSB_PTX_OPERAND_FUNC: check_symbol(c, &w); break;
	case GSB_PTX_OPERAND_SREG:
		if (!w.sreg)
			fail(c, "a special register does not go here");
		break;
	case GSB_PTX_OPERAND_NONE:
		if (!w.result)
			fail(c, "'_' is for results only");
		break;
	default: fail(c, "an address does not go here");
	}
}

/* Operands that must be there, and all. */
static void count_shape(const char *shape, uint32_t *least, uint32_t *most)
{
	*least = *most = 0;
	for (const char *s = shape; *s; s++) {
		if (*s == '?')
			--*least;
		else
			++*least, ++*most;
	}
}

/* atom.cas has a third source, the others do not; st.v2 and {a, b} are checked with the operand. */
static bool count_ok(const struct gsb_ptx_insn *in, uint32_t least, uint32_t most)
{
	if (in->op == GSB_PTX_OP_ATOM)
		return in->n_operands == (in->sub == GSB_PTX_SUB_CAS ? most : least);
	if (in->op == GSB_PTX_OP_SETP || in->op == GSB_PTX_OP_SET)
		return in->n_operands == (in->sub ? most : least);
	if (in->op == GSB_PTX_OP_SHFL || in->op == GSB_PTX_OP_VOTE)
		return in->n_operands == (in->flags & GSB_PTX_F_SYNC ? most : least);
	return in->n_operands >= least && in->n_operands <= most;
}

void gsb_ptx_check_insn(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in,
			const struct gsb_ptx_token *tok)
{
	const char *shape = gsb_ptx_insn_shape(in);
	struct context c = {.p = p, .tok = tok, .in = in};
	uint32_t least, most;

	count_shape(shape, &least, &most);
	if (p->err)
		return;
	if (!count_ok(in, least, most)) {
		gsb_ptx_fail(p, tok, "%s with %u operand%s: that is not how it is written",
			     in->spelling, in->n_operands, in->n_operands == 1 ? "" : "s");
		return;
	}
	/* With the optional one left out, what follows it moves up. */
	for (uint32_t i = 0; i < in->n_operands && !p->err; i++, shape++) {
		if (shape[1] == '?' && in->n_operands < most)
			shape += 2;
		c.number = i + 1;
		check_operand(&c, *shape, in, &in->operands[i]);
		if (shape[1] == '?')
			shape++;
	}
}

/* A parameter or result of the function itself, which is read and written there and not handed on: ptxas has it so, too. */
static bool is_formal(const struct gsb_ptx_var *v)
{
	const struct gsb_ptx_func *f = v->func;

	return f && ((v->index < f->n_params && v == &f->params[v->index]) ||
		     (v->index < f->n_rets && v == &f->rets[v->index]));
}

/* One argument or result against the parameter that it is for. */
static void check_call_item(const struct context *c, struct gsb_ptx_operand *o,
			    const struct gsb_ptx_var *param, bool is_result)
{
	struct want w = {0};

	if (o->kind == GSB_PTX_OPERAND_NONE && is_result)
		return; /* nobody wants it */
	if (o->kind == GSB_PTX_OPERAND_VAR) {
		if (o->imm || o->var->space != GSB_PTX_SPACE_PARAM)
			fail(c, "only a .param variable can be passed");
		else if (is_formal(o->var))
			fail(c, "a parameter of the function itself cannot be passed on: load it, "
				"and store it to a .param variable");
		else if (o->var->size_bytes != param->size_bytes && !param->unsized)
			fail(c, "its size differs from the parameter's");
		return;
	}
	if (is_result)
		set_result(&w, param->type);
	else
		set_source(&w, param->type);
	w.sreg = false;
	if (param->is_array)
		fail(c, "an array parameter needs a .param variable");
	else if (o->kind == GSB_PTX_OPERAND_REG && !o->negated)
		check_reg(c, &w, o->reg);
	else if (o->kind == GSB_PTX_OPERAND_IMM)
		check_imm(c, &w, o);
	else
		fail(c, "a .param variable, a register or a constant is needed");
}

static void check_call_list(struct context *c, const struct gsb_ptx_operand *list, uint32_t n,
			    const struct gsb_ptx_var *params, uint32_t n_params, bool is_result)
{
	struct gsb_ptx_operand *o = (struct gsb_ptx_operand *)list;

	if (n != n_params) {
		gsb_ptx_fail(c->p, c->tok, "%s with %u %s%s where the function has %u",
			     c->in->spelling, n, is_result ? "result" : "argument",
			     n == 1 ? "" : "s", n_params);
		return;
	}
	for (uint32_t i = 0; i < n && !c->p->err; i++) {
		c->number = i + 1;
		check_call_item(c, &o[i], &params[i], is_result);
	}
}

/* The function whose shape an indirect call through .calltargets has: any of the list will do. */
static const struct gsb_ptx_func *shape_of_table(struct context *c, uint32_t table)
{
	const struct gsb_ptx_table *t = (struct gsb_ptx_table *)c->p->body.tables.items + table;

	if (t->n && t->funcs)
		return t->funcs[0];
	gsb_ptx_fail(c->p, c->tok, "'%.64s' is not a list of call targets", t->name);
	return NULL;
}

void gsb_ptx_check_call(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in,
			const struct gsb_ptx_token *tok)
{
	struct context c = {.p = p, .tok = tok, .in = in};
	const struct gsb_ptx_call *call = in->call;
	const struct gsb_ptx_func *f = NULL;

	if (p->err)
		return;
	if (call->target.kind == GSB_PTX_OPERAND_FUNC)
		f = call->target.func;
	else if (call->target.kind != GSB_PTX_OPERAND_REG ||
		 gsb_ptx_type_bytes(reg_of(&c, call->target.reg)->type) * 8 != p->m->address_bits)
		gsb_ptx_fail(p, tok,
			     "the target of a call is a function, or a register with its address");
	else if (call->table != GSB_PTX_NONE)
		f = shape_of_table(&c, call->table);
	else if (!call->proto)
		gsb_ptx_fail(p, tok,
			     "an indirect call needs a prototype or a list of call targets");
	if (p->err)
		return;
	if (f && f->is_entry)
		gsb_ptx_fail(p, tok, "'%.64s' is an entry: it is launched, not called", f->name);
	check_call_list(&c, call->rets, call->n_rets, f ? f->rets : call->proto->rets,
			f ? f->n_rets : call->proto->n_rets, true);
	check_call_list(&c, call->args, call->n_args, f ? f->params : call->proto->params,
			f ? f->n_params : call->proto->n_params, false);
}
