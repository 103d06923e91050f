/*
 * body.c - the statements of a function: scopes, registers, labels, tables.
 *
 * Scopes exist in the text only. What is declared in a nested one gets a name of its own (x$1), so that
 * the function is flat afterwards and can be printed flat. A label may be used before it is declared,
 * from a nested scope too: uses are kept until the scope that declares it is left.
 */
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

#define SUFFIX_BYTES 16 /* "$4294967295_" */

static void add_regs(struct gsb_ptx_parser *p, const char *base, uint8_t type, uint32_t count,
		     bool is_range)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gsb_ptx_reg *r =
			gsb_ptx_push(p, &p->body.regs, sizeof(*r), "registers", GSB_PTX_MAX_REGS);

		if (!r)
			return;
		r->base = base;
		r->number = is_range ? i : GSB_PTX_NONE;
		r->type = type;
	}
}

/*
 * "%r3" and "%r<10>" do not stand in one scope, whichever comes first: here, the range. It looks each of its registers up,
 * so that a text costs no more than it has registers.
 */
static void check_range(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok, uint32_t count)
{
	char *name = gsb_ptx_alloc(p, 1, tok->len + SUFFIX_BYTES);

	if (!name)
		return;
	memcpy(name, tok->at, tok->len);
	for (uint32_t i = 0; i < count; i++) {
		int n = snprintf(name + tok->len, SUFFIX_BYTES, "%u", i);
		const struct gsb_ptx_name *e =
			gsb_ptx_names_get(&p->names, name, tok->len + (size_t)n);

		if (!e || e->order < p->scope_mark ||
		    (e->kind != GSB_PTX_NAME_REG && e->kind != GSB_PTX_NAME_VAR))
			continue;
		gsb_ptx_fail(p, tok, "'%s' is already declared in line %u", e->text, e->line);
		return;
	}
}

/* reg = name ("<" count ">")? */
static void parse_reg(struct gsb_ptx_parser *p, uint8_t type)
{
	bool is_range = gsb_ptx_next_is(p, "<");
	struct gsb_ptx_token tok;
	struct gsb_ptx_name *e;
	uint32_t count = 1;
	const char *base;

	if (!gsb_ptx_expect_word(p, "a register's name", &tok))
		return;
	base = gsb_ptx_unique_name(p, &tok, is_range ? "_" : "");
	e = gsb_ptx_declare(p, &tok, is_range ? GSB_PTX_NAME_RANGE : GSB_PTX_NAME_REG);
	if (is_range) {
		struct gsb_ptx_token at;

		gsb_ptx_advance(p);
		at = p->tok;
		if (at.kind != GSB_PTX_TOKEN_NUMBER || at.value > GSB_PTX_MAX_REGS)
			gsb_ptx_fail(p, &at, "expected a number of registers up to %u",
				     GSB_PTX_MAX_REGS);
		gsb_ptx_advance(p);
		gsb_ptx_expect(p, ">");
		count = (uint32_t)at.value;
		if (!p->err)
			check_range(p, &tok, count);
	}
	if (p->err)
		return;
	e->index = p->body.regs.n;
	e->count = count;
	add_regs(p, base, type, count, is_range);
}

/* regs = ".reg" type reg ("," reg)* ";" */
static void parse_regs(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token at = p->tok;
	struct gsb_ptx_decl d = {0};

	gsb_ptx_parse_decl(p, &d);
	if (d.vec)
		gsb_ptx_fail(
			p, &at,
			"registers of vector type are not supported: use one for each element");
	do {
		parse_reg(p, d.type);
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, ";");
}

/* Binds what this scope declares; the rest waits for the scope around it. */
static void resolve_labels(struct gsb_ptx_parser *p, uint32_t first)
{
	struct gsb_ptx_label_ref *refs = p->body.refs.items;
	uint32_t kept = first;

	for (uint32_t i = first; i < p->body.refs.n; i++) {
		const struct gsb_ptx_token *t = &refs[i].tok;
		struct gsb_ptx_name *e = gsb_ptx_names_get(&p->names, t->at, t->len);

		if (e && e->order >= p->scope_mark && e->kind == GSB_PTX_NAME_LABEL)
			*refs[i].slot = e->index;
		else
			refs[kept++] = refs[i];
	}
	p->body.refs.n = kept;
}

/* branch-targets = ".branchtargets" label ("," label)* ";" */
static void parse_branch_targets(struct gsb_ptx_parser *p, struct gsb_ptx_table *t)
{
	struct gsb_ptx_vec toks = {0};
	struct gsb_ptx_token *tok;
	uint32_t *labels;

	do {
		tok = gsb_ptx_push(p, &toks, sizeof(*tok), "branch targets", GSB_PTX_MAX_SYMBOLS);
	} while (tok && gsb_ptx_expect_word(p, "a label", tok) && gsb_ptx_accept(p, ","));
	t->n = toks.n;
	t->labels = labels = gsb_ptx_alloc(p, toks.n, sizeof(*labels));
	tok = toks.items;
	for (uint32_t i = 0; i < toks.n && !p->err; i++)
		gsb_ptx_refer_label(p, &tok[i], &labels[i]);
	gsb_ptx_vec_finish(&toks);
}

/* call-targets = ".calltargets" function ("," function)* ";" */
static void parse_call_targets(struct gsb_ptx_parser *p, struct gsb_ptx_table *t)
{
	struct gsb_ptx_vec funcs = {0};
	struct gsb_ptx_token tok;
	struct gsb_ptx_name *e;
	void **slot;

	do {
		if (!gsb_ptx_expect_word(p, "a function", &tok))
			break;
		e = gsb_ptx_names_get(&p->names, tok.at, tok.len);
		if (!e || e->kind != GSB_PTX_NAME_FUNC)
			gsb_ptx_fail(p, &tok, "'%.*s' is not a function", GSB_PTX_TOKEN_ARGS(&tok));
		slot = gsb_ptx_push(p, &funcs, sizeof(*slot), "call targets",
				    GSB_PTX_MAX_CALL_TARGETS);
		if (slot)
			*slot = e->p;
	} while (gsb_ptx_accept(p, ","));
	t->n = funcs.n;
	t->funcs = gsb_ptx_vec_copy(p, &funcs, sizeof(*slot));
	gsb_ptx_vec_finish(&funcs);
}

static void parse_table(struct gsb_ptx_parser *p, const struct gsb_ptx_token *name)
{
	const char *unique = gsb_ptx_unique_name(p, name, "");
	struct gsb_ptx_name *e = gsb_ptx_declare(p, name, GSB_PTX_NAME_TABLE);
	struct gsb_ptx_table *slot, t = {.name = unique};

	if (gsb_ptx_accept(p, ".branchtargets"))
		parse_branch_targets(p, &t);
	else if (gsb_ptx_accept(p, ".calltargets"))
		parse_call_targets(p, &t);
	gsb_ptx_expect(p, ";");
	slot = gsb_ptx_push(p, &p->body.tables, sizeof(t), "tables", GSB_PTX_MAX_SYMBOLS);
	if (!e || !slot)
		return;
	*slot = t;
	e->index = p->body.tables.n - 1;
}

/* prototype = ".callprototype" params? "_" params? ".noreturn"? ";" */
static void parse_prototype(struct gsb_ptx_parser *p, const struct gsb_ptx_token *name)
{
	const char *unique = gsb_ptx_unique_name(p, name, "");
	struct gsb_ptx_name *e = gsb_ptx_declare(p, name, GSB_PTX_NAME_PROTO);
	struct gsb_ptx_var *rets = NULL, *params = NULL;
	struct gsb_ptx_proto *kept, **slot, t = {.name = unique};
	struct gsb_ptx_token any;
	uint64_t bytes;

	gsb_ptx_advance(p);
	p->param_toks.n = 0;
	if (gsb_ptx_is(p, "("))
		gsb_ptx_parse_params(p, NULL, &rets, &t.n_rets, &bytes);
	gsb_ptx_expect_word(p, "'_'", &any);
	if (gsb_ptx_is(p, "("))
		gsb_ptx_parse_params(p, NULL, &params, &t.n_params, &bytes);
	t.noreturn = gsb_ptx_accept(p, ".noreturn");
	gsb_ptx_expect(p, ";");
	t.rets = rets;
	t.params = params;
	kept = gsb_ptx_alloc(p, 1, sizeof(t));
	slot = gsb_ptx_push(p, &p->body.protos, sizeof(kept), "prototypes", GSB_PTX_MAX_SYMBOLS);
	if (!e || !kept || !slot)
		return;
	*kept = t;
	*slot = kept;
	e->p = kept;
}

/* label = name ":" (table | prototype)? */
static void parse_label(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token name = p->tok;
	struct gsb_ptx_label *l;
	struct gsb_ptx_name *e;

	gsb_ptx_advance(p);
	gsb_ptx_advance(p);
	if (gsb_ptx_is(p, ".branchtargets") || gsb_ptx_is(p, ".calltargets")) {
		parse_table(p, &name);
		return;
	}
	if (gsb_ptx_is(p, ".callprototype")) {
		parse_prototype(p, &name);
		return;
	}
	l = gsb_ptx_push(p, &p->body.labels, sizeof(*l), "labels", GSB_PTX_MAX_SYMBOLS);
	if (!l)
		return;
	l->name = gsb_ptx_unique_name(p, &name, "");
	l->insn = p->body.insns.n;
	e = gsb_ptx_declare(p, &name, GSB_PTX_NAME_LABEL);
	if (e)
		e->index = p->body.labels.n - 1;
}

static void parse_pragma(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_pragma *slot;

	do {
		slot = gsb_ptx_push(p, &p->body.pragmas, sizeof(*slot), "pragmas",
				    GSB_PTX_MAX_INSNS);
		if (!slot || !gsb_ptx_expect_string(p, &slot->text))
			return;
		slot->insn = p->body.insns.n;
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, ";");
}

static void parse_block(struct gsb_ptx_parser *p);

/* statement = block | ";" | ".loc" ... | ".pragma" ... | regs | local-vars | label | insn */
static void parse_statement(struct gsb_ptx_parser *p)
{
	if (gsb_ptx_is(p, "{"))
		parse_block(p);
	else if (gsb_ptx_accept(p, ";") || gsb_ptx_parse_debug(p))
		return;
	else if (gsb_ptx_accept(p, ".pragma"))
		parse_pragma(p);
	else if (p->tok.kind == GSB_PTX_TOKEN_DOT && gsb_ptx_declares_unknown(p))
		gsb_ptx_parse_unknown(p);
	else if (gsb_ptx_is(p, ".reg"))
		parse_regs(p);
	else if (p->tok.kind == GSB_PTX_TOKEN_DOT)
		gsb_ptx_parse_local_vars(p);
	else if (p->tok.kind == GSB_PTX_TOKEN_WORD && gsb_ptx_next_is(p, ":"))
		parse_label(p);
	else
		gsb_ptx_parse_insn(p);
}

/* block = "{" statement* "}"; its .param locals share their place with those of the blocks beside it */
static void parse_block(struct gsb_ptx_parser *p)
{
	uint32_t outer = p->scope_mark, mark = p->names.n, refs = p->body.refs.n;
	uint64_t call_param_at = p->body.call_param_at;

	if (p->body.depth >= GSB_PTX_MAX_NESTING)
		gsb_ptx_fail_limit(p, "nested blocks", GSB_PTX_MAX_NESTING);
	gsb_ptx_expect(p, "{");
	p->body.depth++;
	p->scope_mark = mark;
	while (!gsb_ptx_is(p, "}") && !gsb_ptx_at_end(p))
		parse_statement(p);
	resolve_labels(p, refs);
	gsb_ptx_names_leave(&p->names, mark);
	p->scope_mark = outer;
	p->body.call_param_at = call_param_at;
	p->body.depth--;
	gsb_ptx_expect(p, "}");
}

/* Results and parameters are names of the scope around the body; those in .reg get their register. */
static void declare_params(struct gsb_ptx_parser *p, struct gsb_ptx_var *vars, uint32_t n,
			   const struct gsb_ptx_token *toks)
{
	for (uint32_t i = 0; i < n && !p->err; i++) {
		bool is_reg = vars[i].space == GSB_PTX_SPACE_REG;
		struct gsb_ptx_name *e;

		if (toks[i].len == 1 && *toks[i].at == '_')
			continue;
		e = gsb_ptx_declare(p, &toks[i], is_reg ? GSB_PTX_NAME_REG : GSB_PTX_NAME_VAR);
		if (!e)
			return;
		e->p = &vars[i];
		if (!is_reg)
			continue;
		e->index = vars[i].reg = p->body.regs.n;
		add_regs(p, vars[i].name, vars[i].type, 1, false);
	}
}

static bool falls_off(const struct gsb_ptx_body *b)
{
	const struct gsb_ptx_insn *insns = b->insns.items, *last;
	const struct gsb_ptx_label *labels = b->labels.items;

	if (b->insns.n == 0)
		return true;
	if (b->labels.n && labels[b->labels.n - 1].insn == b->insns.n)
		return true;
	last = &insns[b->insns.n - 1];
	if (last->guard != GSB_PTX_NONE)
		return true;
	return gsb_ptx_op_class(last->op) != GSB_PTX_CLASS_LEAVE &&
	       gsb_ptx_op_class(last->op) != GSB_PTX_CLASS_BRANCH;
}

/* Leaving at the closing brace is a ret; said as one, no reader needs to know. */
static void add_ret(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_insn *in =
		gsb_ptx_push(p, &p->body.insns, sizeof(*in), "instructions", GSB_PTX_MAX_INSNS);

	if (!in)
		return;
	in->op = GSB_PTX_OP_RET;
	in->spelling = "ret";
	in->vec = 1;
	in->guard = GSB_PTX_NONE;
	in->line = p->tok.line;
}

static void keep_body(struct gsb_ptx_parser *p, struct gsb_ptx_func *f)
{
	struct gsb_ptx_body *b = &p->body;

	f->n_regs = b->regs.n;
	f->regs = gsb_ptx_vec_copy(p, &b->regs, sizeof(*f->regs));
	f->n_vars = b->vars.n;
	f->vars = gsb_ptx_vec_copy(p, &b->vars, sizeof(*f->vars));
	f->n_insns = b->insns.n;
	f->insns = gsb_ptx_vec_copy(p, &b->insns, sizeof(*f->insns));
	f->n_labels = b->labels.n;
	f->labels = gsb_ptx_vec_copy(p, &b->labels, sizeof(*f->labels));
	f->n_tables = b->tables.n;
	f->tables = gsb_ptx_vec_copy(p, &b->tables, sizeof(*f->tables));
	f->n_protos = b->protos.n;
	f->protos = gsb_ptx_vec_copy(p, &b->protos, sizeof(*f->protos));
	f->n_pragmas = b->pragmas.n;
	f->pragmas = gsb_ptx_vec_copy(p, &b->pragmas, sizeof(*f->pragmas));
	f->n_locs = b->locs.n;
	f->locs = gsb_ptx_vec_copy(p, &b->locs, sizeof(*f->locs));
	for (uint32_t i = 0; i < f->n_insns && !p->err; i++) {
		if (f->insns[i].op != GSB_PTX_OP_UNSUPPORTED)
			continue;
		f->unsupported = i;
		break;
	}
}

static void start_body(struct gsb_ptx_parser *p, struct gsb_ptx_func *f)
{
	struct gsb_ptx_body *b = &p->body;

	b->func = f;
	b->depth = 0;
	b->call_param_at = 0;
	b->insns.n = b->regs.n = b->vars.n = b->labels.n = 0;
	b->tables.n = b->protos.n = b->pragmas.n = b->locs.n = b->refs.n = 0;
	if (gsb_ptx_names_init(&b->spelled, p->arena))
		gsb_ptx_fail_memory(p);
	p->unknown_in_body = false;
	if (p->unknown_tuning.kind == GSB_PTX_TOKEN_DOT)
		gsb_ptx_add_unsupported(
			p, &p->unknown_tuning,
			gsb_ptx_strndup(p, p->unknown_tuning.at, p->unknown_tuning.len));
}

void gsb_ptx_parse_body(struct gsb_ptx_parser *p, struct gsb_ptx_func *f, struct gsb_ptx_var *rets,
			struct gsb_ptx_var *params)
{
	uint32_t outer = p->scope_mark, mark = p->names.n;
	const struct gsb_ptx_token *toks = p->param_toks.items;
	const struct gsb_ptx_label_ref *ref;

	if (p->err)
		return;
	start_body(p, f);
	p->scope_mark = mark;
	if (p->param_toks.n == f->n_rets + f->n_params && p->param_toks.n) {
		declare_params(p, rets, f->n_rets, toks);
		declare_params(p, params, f->n_params, toks + f->n_rets);
	}
	parse_block(p);
	ref = p->body.refs.items;
	if (p->body.refs.n)
		gsb_ptx_fail(p, &ref->tok, "there is no label '%.*s' here",
			     GSB_PTX_TOKEN_ARGS(&ref->tok));
	gsb_ptx_names_leave(&p->names, mark);
	p->scope_mark = outer;
	if (falls_off(&p->body))
		add_ret(p);
	keep_body(p, f);
	f->has_body = true;
	f->target_sm = p->unit_sm;
}

void gsb_ptx_body_finish(struct gsb_ptx_body *b)
{
	gsb_ptx_vec_finish(&b->insns);
	gsb_ptx_vec_finish(&b->regs);
	gsb_ptx_vec_finish(&b->vars);
	gsb_ptx_vec_finish(&b->labels);
	gsb_ptx_vec_finish(&b->tables);
	gsb_ptx_vec_finish(&b->protos);
	gsb_ptx_vec_finish(&b->pragmas);
	gsb_ptx_vec_finish(&b->locs);
	gsb_ptx_vec_finish(&b->refs);
}
