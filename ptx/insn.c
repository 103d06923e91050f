/*
 * insn.c - one instruction: guard, opcode, operands, semicolon.
 *
 * Operands are read by how they look; whether they fit the opcode is for check.c. An opcode that is not
 * in the table, or has a modifier that its row does not take, is kept as text up to the semicolon.
 */
#include "ptx/parse.h"

#include <string.h>

/* The operand passes for a register as long as the instruction is read; nobody will see it. */
static void meet_unknown(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	p->meets_unknown = true;
	o->kind = GSB_PTX_OPERAND_REG;
	o->reg = 0;
}

/*
 * name.b3210, name.h1: the name, and which bytes or halves of it. The last digit is the lowest part. False when
 * the token does not end so.
 */
static bool split_part(struct gsb_ptx_token *tok, struct gsb_ptx_operand *o)
{
	const char *dot = memrchr(tok->at, '.', tok->len), *end = tok->at + tok->len;
	size_t n = dot ? (size_t)(end - dot) - 1 : 0;

	if (n < 2 || n > 5 || (dot[1] != 'b' && dot[1] != 'h'))
		return false;
	for (const char *digit = dot + 2; digit < end; digit++) {
		if (*digit < '0' || *digit > '7')
			return false;
		o->parts = (uint16_t)(o->parts << 4 | (*digit - '0'));
	}
	o->part = dot[1];
	o->n_parts = (uint8_t)(n - 1);
	tok->len = (size_t)(dot - tok->at);
	return true;
}

/* What a name in an operand stands for; an error when it stands for nothing. */
static void name_operand(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
			 struct gsb_ptx_operand *o)
{
	uint32_t index = 0;
	struct gsb_ptx_name *e = gsb_ptx_names_find(&p->names, tok->at, tok->len, &index);
	struct gsb_ptx_token whole = *tok;

	if (!e && split_part(&whole, o))
		e = gsb_ptx_names_find(&p->names, whole.at, whole.len, &index);
	if (!e) {
		if (gsb_ptx_sreg_lookup(tok->at, tok->len, &o->sreg, &o->axis))
			o->kind = GSB_PTX_OPERAND_SREG;
		else if (gsb_ptx_may_be_unknown(p, tok))
			meet_unknown(p, o);
		else
			gsb_ptx_fail(p, tok, "'%.*s' is not declared", GSB_PTX_TOKEN_ARGS(tok));
		return;
	}
	switch (e->kind) {
	case GSB_PTX_NAME_REG:
	case GSB_PTX_NAME_RANGE:
		o->kind = GSB_PTX_OPERAND_REG;
		o->reg = index;
		break;
	case GSB_PTX_NAME_VAR:
		o->kind = GSB_PTX_OPERAND_VAR;
		o->var = e->p;
		break;
	case GSB_PTX_NAME_FUNC:
		o->kind = GSB_PTX_OPERAND_FUNC;
		o->func = e->p;
		break;
	default: gsb_ptx_fail(p, tok, "'%.*s' is a label, not a value", GSB_PTX_TOKEN_ARGS(tok));
	}
	if (o->part && o->kind != GSB_PTX_OPERAND_REG)
		gsb_ptx_fail(p, tok, "'%.*s' names a part of what is no register",
			     GSB_PTX_TOKEN_ARGS(tok));
}

static void parse_const_operand(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_const c;

	gsb_ptx_parse_const(p, &c);
	o->kind = GSB_PTX_OPERAND_IMM;
	o->form = c.form;
	o->imm = c.i;
}

/* offset = (("+" | "-") constant)? */
static void parse_offset(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token at = p->tok;
	struct gsb_ptx_const c = {0};

	if (gsb_ptx_is(p, "+") || gsb_ptx_is(p, "-"))
		gsb_ptx_parse_const(p, &c);
	if (c.form != GSB_PTX_IMM_INT)
		gsb_ptx_fail(p, &at, "an offset must be an integer");
	o->imm = c.i;
}

/* address = "[" (register | variable) offset "]" | "[" constant "]" */
static void parse_address(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok = p->tok;

	gsb_ptx_expect(p, "[");
	if (p->tok.kind == GSB_PTX_TOKEN_WORD) {
		tok = p->tok;
		gsb_ptx_advance(p);
		name_operand(p, &tok, o);
		if (o->kind != GSB_PTX_OPERAND_REG && o->kind != GSB_PTX_OPERAND_VAR)
			gsb_ptx_fail(p, &tok,
				     "'%.*s' is no register or variable to take an address from",
				     GSB_PTX_TOKEN_ARGS(&tok));
		parse_offset(p, o);
	} else {
		parse_const_operand(p, o);
		if (o->form != GSB_PTX_IMM_INT)
			gsb_ptx_fail(p, &tok, "an address must be an integer");
	}
	o->kind = GSB_PTX_OPERAND_ADDR;
	gsb_ptx_expect(p, "]");
}

/* name = "_" | register ("|" register)? | variable offset | function | special register */
static void parse_name(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok = p->tok, second;
	struct gsb_ptx_operand other = {.reg = GSB_PTX_NONE};

	gsb_ptx_advance(p);
	if (tok.len == 1 && *tok.at == '_')
		o->kind = GSB_PTX_OPERAND_NONE;
	else
		name_operand(p, &tok, o);
	if (o->kind == GSB_PTX_OPERAND_VAR)
		parse_offset(p, o);
	if (!gsb_ptx_accept(p, "|") || !gsb_ptx_expect_word(p, "a register", &second))
		return;
	if (second.len != 1 || *second.at != '_')
		name_operand(p, &second, &other);
	if (o->kind > GSB_PTX_OPERAND_REG || other.kind > GSB_PTX_OPERAND_REG)
		gsb_ptx_fail(p, &tok, "a pair a|b is of registers");
	o->kind = GSB_PTX_OPERAND_PAIR;
	o->reg2 = other.reg;
}

/* scalar = ("!" | "-")? name | constant; a register after "-" is one of vmad's */
static void parse_scalar(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	*o = (struct gsb_ptx_operand){.reg = GSB_PTX_NONE, .reg2 = GSB_PTX_NONE};
	if ((gsb_ptx_is(p, "!") || gsb_ptx_is(p, "-")) && p->next.kind == GSB_PTX_TOKEN_WORD &&
	    !gsb_ptx_next_is(p, "WARP_SZ")) {
		o->negated = *p->tok.at;
		gsb_ptx_advance(p);
	}
	if (p->tok.kind == GSB_PTX_TOKEN_WORD && !gsb_ptx_is(p, "WARP_SZ"))
		parse_name(p, o);
	else
		parse_const_operand(p, o);
}

/* vector = "{" scalar ("," scalar)* "}" */
static void parse_vector(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand elems[GSB_PTX_MAX_VECTOR], *kept;
	struct gsb_ptx_token at = p->tok;
	uint32_t n = 0;

	gsb_ptx_expect(p, "{");
	do {
		if (n == GSB_PTX_MAX_VECTOR) {
			gsb_ptx_fail(p, &at, "a vector has up to %d elements", GSB_PTX_MAX_VECTOR);
			return;
		}
		parse_scalar(p, &elems[n++]);
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, "}");
	kept = gsb_ptx_alloc(p, n, sizeof(*kept));
	if (!kept)
		return;
	memcpy(kept, elems, n * sizeof(*kept));
	o->kind = GSB_PTX_OPERAND_VEC;
	o->n = (uint8_t)n;
	o->elems = kept;
}

/* coordinates = "," (vector | scalar) */
static void parse_coordinates(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_operand at = {.reg = GSB_PTX_NONE, .reg2 = GSB_PTX_NONE}, *one;

	gsb_ptx_expect(p, ",");
	if (gsb_ptx_is(p, "{")) {
		parse_vector(p, &at);
	} else {
		one = gsb_ptx_alloc(p, 1, sizeof(*one));
		if (!one)
			return;
		parse_scalar(p, one);
		at.elems = one;
		at.n = 1;
	}
	o->elems = at.elems;
	o->n = at.n;
}

/* texel = "[" register coordinates? "]" */
static void parse_texel(struct gsb_ptx_parser *p, bool has_coordinates, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok;

	gsb_ptx_expect(p, "[");
	if (!gsb_ptx_expect_word(p, "the handle of a texture or surface", &tok))
		return;
	name_operand(p, &tok, o);
	if (o->kind != GSB_PTX_OPERAND_REG)
		p->meets_unknown = true; /* a .texref: a texture that the host binds */
	if (has_coordinates)
		parse_coordinates(p, o);
	o->kind = GSB_PTX_OPERAND_ADDR;
	gsb_ptx_expect(p, "]");
}

/* box = "[" (register | variable) coordinates "]" */
static void parse_box(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok;

	gsb_ptx_expect(p, "[");
	if (!gsb_ptx_expect_word(p, "the address of a tensor map", &tok))
		return;
	name_operand(p, &tok, o);
	if (o->kind != GSB_PTX_OPERAND_REG && o->kind != GSB_PTX_OPERAND_VAR)
		gsb_ptx_fail(p, &tok, "'%.*s' is no register or variable to take an address from",
			     GSB_PTX_TOKEN_ARGS(&tok));
	parse_coordinates(p, o);
	o->kind = GSB_PTX_OPERAND_ADDR;
	gsb_ptx_expect(p, "]");
}

static void parse_table_name(struct gsb_ptx_parser *p, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok;
	struct gsb_ptx_name *e;

	if (!gsb_ptx_expect_word(p, "a .branchtargets label", &tok))
		return;
	e = gsb_ptx_names_get(&p->names, tok.at, tok.len);
	if (!e || e->kind != GSB_PTX_NAME_TABLE)
		gsb_ptx_fail(p, &tok, "'%.*s' is not a table of branch targets",
			     GSB_PTX_TOKEN_ARGS(&tok));
	if (p->err)
		return;
	o->kind = GSB_PTX_OPERAND_TABLE;
	o->table = e->index;
}

/* operand = address | vector | scalar; a label or a table where the opcode wants one */
static void parse_operand(struct gsb_ptx_parser *p, char letter, struct gsb_ptx_operand *o)
{
	struct gsb_ptx_token tok;

	*o = (struct gsb_ptx_operand){.reg = GSB_PTX_NONE, .reg2 = GSB_PTX_NONE};
	if (letter == 'l') {
		if (!gsb_ptx_expect_word(p, "a label", &tok))
			return;
		o->kind = GSB_PTX_OPERAND_LABEL;
		gsb_ptx_refer_label(p, &tok, &o->label);
	} else if (letter == 't') {
		parse_table_name(p, o);
	} else if ((letter == 'T' || letter == 'H') && gsb_ptx_is(p, "[")) {
		parse_texel(p, letter == 'T', o);
	} else if (letter == 'K' && gsb_ptx_is(p, "[")) {
		parse_box(p, o);
	} else if (gsb_ptx_is(p, "[")) {
		parse_address(p, o);
	} else if (gsb_ptx_is(p, "{")) {
		parse_vector(p, o);
	} else {
		parse_scalar(p, o);
	}
}

/* PTX reads special registers by mov and cvt. */
static bool reads_sregs(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_MOV || in->op == GSB_PTX_OP_CVT;
}

/* operands = (operand ("," operand)*)? */
static void parse_operands(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in)
{
	const char *shape = gsb_ptx_insn_shape(in);
	uint32_t max = 0;

	for (const char *c = shape; *c; c++)
		max += *c != '?';
	in->operands = gsb_ptx_alloc(p, max, sizeof(*in->operands));
	if (max == 0 || gsb_ptx_is(p, ";"))
		return;
	do {
		if (in->n_operands == max) {
			gsb_ptx_fail(p, &p->tok, "%s takes %u operand%s, here is one more",
				     in->spelling, max, max == 1 ? "" : "s");
			return;
		}
		if (p->err)
			return;
		while (*shape == '?')
			shape++;
		p->reads = reads_sregs(in) && !gsb_ptx_shape_is_def(*shape);
		parse_operand(p, *shape++, &in->operands[in->n_operands++]);
		p->reads = false;
	} while (gsb_ptx_accept(p, ","));
}

/* list = "(" (scalar ("," scalar)*)? ")" */
static void parse_call_list(struct gsb_ptx_parser *p, const struct gsb_ptx_operand **out,
			    uint32_t *n)
{
	struct gsb_ptx_vec vec = {0};
	struct gsb_ptx_operand *o;

	gsb_ptx_expect(p, "(");
	while (!gsb_ptx_is(p, ")") && !gsb_ptx_at_end(p)) {
		o = gsb_ptx_push(p, &vec, sizeof(*o), "call parameters", GSB_PTX_MAX_PARAMS);
		if (!o)
			break;
		parse_scalar(p, o);
		if (!gsb_ptx_accept(p, ","))
			break;
	}
	gsb_ptx_expect(p, ")");
	*n = vec.n;
	*out = gsb_ptx_vec_copy(p, &vec, sizeof(*o));
	gsb_ptx_vec_finish(&vec);
}

/* The prototype or list of targets that an indirect call names last. */
static void parse_call_shape(struct gsb_ptx_parser *p, struct gsb_ptx_call *call)
{
	struct gsb_ptx_token tok;
	struct gsb_ptx_name *e;

	if (!gsb_ptx_expect_word(p, "a prototype or a list of call targets", &tok))
		return;
	e = gsb_ptx_names_get(&p->names, tok.at, tok.len);
	if (e && e->kind == GSB_PTX_NAME_PROTO)
		call->proto = e->p;
	else if (e && e->kind == GSB_PTX_NAME_TABLE)
		call->table = e->index;
	else
		gsb_ptx_fail(p, &tok, "'%.*s' is no prototype and no list of call targets",
			     GSB_PTX_TOKEN_ARGS(&tok));
}

/* call = (list ",")? target ("," list)? ("," shape)? */
static void parse_call(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in)
{
	struct gsb_ptx_call *call = gsb_ptx_alloc(p, 1, sizeof(*call));

	if (!call)
		return;
	call->table = GSB_PTX_NONE;
	in->call = call;
	if (gsb_ptx_is(p, "(")) {
		parse_call_list(p, &call->rets, &call->n_rets);
		gsb_ptx_expect(p, ",");
	}
	parse_scalar(p, &call->target);
	if (gsb_ptx_is(p, ",") && gsb_ptx_next_is(p, "(")) {
		gsb_ptx_advance(p);
		parse_call_list(p, &call->args, &call->n_args);
	}
	if (gsb_ptx_accept(p, ","))
		parse_call_shape(p, call);
}

/* guard = "@" "!"? register */
static void parse_guard(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in)
{
	struct gsb_ptx_operand o;
	struct gsb_ptx_token at;

	in->guard = GSB_PTX_NONE;
	if (!gsb_ptx_accept(p, "@"))
		return;
	at = p->tok;
	parse_scalar(p, &o);
	if (p->err || p->meets_unknown)
		return;
	if (o.kind != GSB_PTX_OPERAND_REG || o.negated == '-' ||
	    ((struct gsb_ptx_reg *)p->body.regs.items)[o.reg].type != GSB_PTX_TYPE_PRED) {
		gsb_ptx_fail(p, &at, "a guard must be a predicate register");
		return;
	}
	in->guard = o.reg;
	in->guard_negated = o.negated == '!';
}

/* The operands of an opcode that is known, with their checks; false: they name something unknown, or the guard does. */
static bool parse_known(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in,
			const struct gsb_ptx_token *op)
{
	struct gsb_ptx_lexer lx = p->lx;
	struct gsb_ptx_token tok = p->tok, next = p->next;
	uint32_t n_refs = p->body.refs.n;

	in->spelling = gsb_ptx_strndup(p, op->at, op->len);
	if (in->op == GSB_PTX_OP_CALL)
		parse_call(p, in);
	else
		parse_operands(p, in);
	if (!p->meets_unknown || p->err) {
		if (in->op == GSB_PTX_OP_CALL)
			gsb_ptx_check_call(p, in, op);
		else
			gsb_ptx_check_insn(p, in, op);
		return true;
	}
	p->lx = lx;
	p->tok = tok;
	p->next = next;
	p->body.refs.n = n_refs;
	*in = (struct gsb_ptx_insn){.vec = 1,
				    .guard = in->guard,
				    .guard_negated = in->guard_negated,
				    .line = in->line,
				    .column = in->column};
	return false;
}

/* insn = guard? opcode operands ";" */
void gsb_ptx_parse_insn(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_insn in = {.vec = 1}, *slot;
	const char *from = p->tok.at;
	struct gsb_ptx_token op;

	p->meets_unknown = false;
	parse_guard(p, &in);
	if (!p->meets_unknown) /* else the guard is of what is kept as text */
		from = p->tok.at;
	if (!gsb_ptx_expect_word(p, "an instruction", &op))
		return;
	in.line = op.line;
	in.column = (uint32_t)(op.at - op.line_at) + 1;
	if (!gsb_ptx_insn_decode(op.at, op.len, &in) || !parse_known(p, &in, &op))
		in.spelling = gsb_ptx_keep_text(p, from, &op);
	gsb_ptx_expect(p, ";");
	slot = gsb_ptx_push(p, &p->body.insns, sizeof(in), "instructions", GSB_PTX_MAX_INSNS);
	if (slot)
		*slot = in;
}
