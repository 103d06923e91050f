/*
 * vars.c - declarations: qualifiers, array sizes, initialisers, parameter lists.
 *
 * An initialiser becomes bytes and relocations at once. Where the first dimension is left open, it is
 * read twice: once to measure, once to write.
 */
#include "ptx/parse.h"

#include <string.h>

#include "base/checked.h"

#define MAX_DIMS 8

struct init {
	struct gsb_ptx_var *var;
	const uint64_t *dims;
	uint32_t n_dims;
	uint32_t elem_bytes;
	uint64_t end;	/* bytes written so far, at most limit */
	uint64_t limit; /* of the variable, or of any when measuring */
	uint8_t *bytes; /* NULL: measure only */
	struct gsb_ptx_vec relocs;
};

/* ".ptr" [space] [".align" n]: about what a parameter points to, which concerns nobody here. */
static void skip_pointee(struct gsb_ptx_parser *p)
{
	if (p->tok.kind == GSB_PTX_TOKEN_DOT && gsb_ptx_space_lookup(p->tok.at + 1, p->tok.len - 1))
		gsb_ptx_advance(p);
	if (gsb_ptx_accept(p, ".align"))
		gsb_ptx_parse_uint(p, ".align", 1, UINT32_MAX);
}

/* ".attribute" "(" word ("," word)* ")", arguments in parentheses skipped */
static void parse_attribute(struct gsb_ptx_parser *p, struct gsb_ptx_decl *d)
{
	int depth = 0;

	gsb_ptx_advance(p);
	do {
		depth += gsb_ptx_is(p, "(") - gsb_ptx_is(p, ")");
		d->managed |= gsb_ptx_is(p, ".managed");
		gsb_ptx_advance(p);
	} while (depth > 0 && !gsb_ptx_at_end(p));
}

static void parse_align(struct gsb_ptx_parser *p, struct gsb_ptx_decl *d)
{
	struct gsb_ptx_token at;

	gsb_ptx_advance(p);
	at = p->tok;
	d->align = (uint32_t)gsb_ptx_parse_uint(p, ".align", 1, GSB_PTX_MAX_ALIGN);
	if (!gsb_is_pow2(d->align))
		gsb_ptx_fail(p, &at, ".align must be a power of two");
}

/* One of .global .b32 .v4 .texref ...; false when the word is none of these. */
static bool parse_type_word(struct gsb_ptx_parser *p, struct gsb_ptx_decl *d)
{
	const char *w = p->tok.at + 1;
	size_t len = p->tok.len - 1;
	enum gsb_ptx_space space = gsb_ptx_space_lookup(w, len);
	enum gsb_ptx_type type = gsb_ptx_type_lookup(w, len);

	if (space == GSB_PTX_SPACE_CLUSTER)
		return false; /* variables are a block's */
	if (space)
		d->space = (uint8_t)space;
	else if (type)
		d->type = (uint8_t)type;
	else if (gsb_ptx_is(p, ".v2") || gsb_ptx_is(p, ".v4"))
		d->vec = (uint8_t)(w[1] - '0');
	else if (gsb_ptx_is(p, ".texref") || gsb_ptx_is(p, ".samplerref") ||
		 gsb_ptx_is(p, ".surfref"))
		d->type = GSB_PTX_TYPE_U64;
	else
		return false;
	gsb_ptx_advance(p);
	if (d->space == GSB_PTX_SPACE_CONST && gsb_ptx_accept(p, "[")) { /* .const[2], old PTX */
		gsb_ptx_parse_uint(p, "the bank", 0, 10);
		gsb_ptx_expect(p, "]");
	}
	return true;
}

static bool is_type_word(const struct gsb_ptx_parser *p)
{
	static const char *const others[] = {".v2",	 ".v4",	 ".texref",   ".samplerref",
					     ".surfref", ".ptr", ".attribute"};
	const char *w = p->tok.at + 1;
	size_t len = p->tok.len - 1;

	for (size_t i = 0; i < GSB_ARRAY_LEN(others); i++) {
		if (gsb_ptx_is(p, others[i]))
			return true;
	}
	return gsb_ptx_space_lookup(w, len) || gsb_ptx_type_lookup(w, len);
}

/* Looks ahead, and goes back. An .attribute is for the parser: it ends the look. */
bool gsb_ptx_declares_unknown(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_lexer lx = p->lx;
	struct gsb_ptx_token tok = p->tok, next = p->next;
	bool unknown = false;

	while (p->tok.kind == GSB_PTX_TOKEN_DOT && !unknown && !gsb_ptx_is(p, ".attribute")) {
		if (gsb_ptx_accept(p, ".align")) {
			gsb_ptx_advance(p); /* the number */
			continue;
		}
		unknown = !is_type_word(p);
		gsb_ptx_advance(p);
	}
	if (p->err)
		return false;
	p->lx = lx;
	p->tok = tok;
	p->next = next;
	return unknown;
}

/* decl = (space | type | ".v2" | ".v4" | ".align" n | ".ptr" ... | ".attribute" ...)+ */
void gsb_ptx_parse_decl(struct gsb_ptx_parser *p, struct gsb_ptx_decl *d)
{
	while (p->tok.kind == GSB_PTX_TOKEN_DOT) {
		if (gsb_ptx_is(p, ".align"))
			parse_align(p, d);
		else if (gsb_ptx_accept(p, ".ptr"))
			skip_pointee(p);
		else if (gsb_ptx_is(p, ".attribute"))
			parse_attribute(p, d);
		else if (!parse_type_word(p, d))
			gsb_ptx_fail(p, &p->tok, "'%.*s' is no type, state space or qualifier",
				     GSB_PTX_TOKEN_ARGS(&p->tok));
	}
	if (d->type == GSB_PTX_TYPE_NONE)
		gsb_ptx_fail(p, &p->tok, "expected a type before the name");
	else if (d->type == GSB_PTX_TYPE_PRED && d->space != GSB_PTX_SPACE_REG)
		gsb_ptx_fail(p, &p->tok, ".pred is for registers only");
}

/* dims = ("[" size? "]")*; only the first may be open, it is 0 then */
static uint32_t parse_dims(struct gsb_ptx_parser *p, uint64_t dims[MAX_DIMS])
{
	uint32_t n = 0;

	while (gsb_ptx_accept(p, "[")) {
		if (n == MAX_DIMS) {
			gsb_ptx_fail_limit(p, "array dimensions", MAX_DIMS);
			break;
		}
		dims[n] = 0;
		if (n > 0 || !gsb_ptx_is(p, "]"))
			dims[n] = gsb_ptx_parse_uint(p, "an array size", 0, GSB_PTX_MAX_VAR_BYTES);
		n++;
		gsb_ptx_expect(p, "]");
	}
	return n;
}

/* n_elems and size_bytes from the dimensions. */
static void size_var(struct gsb_ptx_parser *p, struct gsb_ptx_var *v, const uint64_t *dims,
		     uint32_t n_dims)
{
	uint64_t elem = (uint64_t)gsb_ptx_type_bytes(v->type) * v->vec;

	v->n_elems = 1;
	for (uint32_t i = 0; i < n_dims; i++) {
		if (gsb_mul_overflows(v->n_elems, dims[i], &v->n_elems) ||
		    v->n_elems > GSB_PTX_MAX_VAR_BYTES) {
			gsb_ptx_fail_limit(p, "bytes of a variable", GSB_PTX_MAX_VAR_BYTES);
			return;
		}
	}
	v->size_bytes = v->n_elems * elem;
	if (v->size_bytes > GSB_PTX_MAX_VAR_BYTES)
		gsb_ptx_fail_limit(p, "bytes of a variable", GSB_PTX_MAX_VAR_BYTES);
}

static void put(struct init *in, uint64_t offset, int64_t bits)
{
	uint8_t sign = bits < 0 ? 0xff : 0; /* of the upper half of 128 bits */

	for (uint32_t i = 0; i < in->elem_bytes; i++)
		in->bytes[offset + i] = i < 8 ? (uint8_t)((uint64_t)bits >> (8 * i)) : sign;
}

/* A variable or a function by name, for an address in an initialiser. */
static void find_target(struct gsb_ptx_parser *p, struct gsb_ptx_reloc *r)
{
	struct gsb_ptx_token tok;
	struct gsb_ptx_name *e;

	if (!gsb_ptx_expect_word(p, "a variable or function", &tok))
		return;
	e = gsb_ptx_names_get(&p->names, tok.at, tok.len);
	if (e && e->kind == GSB_PTX_NAME_VAR)
		r->var = e->p;
	else if (e && e->kind == GSB_PTX_NAME_FUNC)
		r->func = e->p;
	else
		gsb_ptx_fail(p, &tok, "'%.*s' is not declared", GSB_PTX_TOKEN_ARGS(&tok));
}

/* address = (symbol | "generic" "(" symbol ")") (("+" | "-") number)? */
static void parse_address(struct gsb_ptx_parser *p, struct gsb_ptx_reloc *r)
{
	struct gsb_ptx_const c = {0};

	if (gsb_ptx_is(p, "generic") && gsb_ptx_next_is(p, "(")) {
		gsb_ptx_advance(p);
		gsb_ptx_advance(p);
		r->generic = true;
		find_target(p, r);
		gsb_ptx_expect(p, ")");
	} else {
		find_target(p, r);
	}
	if (gsb_ptx_is(p, "+") || gsb_ptx_is(p, "-"))
		gsb_ptx_parse_const(p, &c); /* the sign is part of the number */
	r->addend = c.i;
}

static void add_reloc(struct gsb_ptx_parser *p, struct init *in, uint64_t offset, uint64_t mask)
{
	struct gsb_ptx_reloc *slot, r = {.offset = (uint32_t)offset, .mask = mask};

	r.size = (uint8_t)in->elem_bytes;
	parse_address(p, &r);
	if (!mask && r.size != 8 && r.size != 4)
		gsb_ptx_fail(p, &p->tok, "an address needs an element of 4 or 8 bytes");
	if (!in->bytes)
		return;
	slot = gsb_ptx_push(p, &in->relocs, sizeof(r), "addresses in initialisers",
			    GSB_PTX_MAX_SYMBOLS);
	if (slot)
		*slot = r;
}

/* element = address | mask "(" address ")" | constant */
static void parse_element(struct gsb_ptx_parser *p, struct init *in)
{
	struct gsb_ptx_token at = p->tok;
	uint64_t offset = in->end, mask;
	struct gsb_ptx_const c;
	int64_t bits;
	uint8_t form;

	if (in->elem_bytes > in->limit - in->end) {
		gsb_ptx_fail(p, &at, "more initial values than the variable holds");
		return;
	}
	in->end += in->elem_bytes;
	if (p->tok.kind == GSB_PTX_TOKEN_WORD && !gsb_ptx_is(p, "WARP_SZ")) {
		add_reloc(p, in, offset, 0);
	} else if (p->tok.kind == GSB_PTX_TOKEN_NUMBER && gsb_ptx_next_is(p, "(")) {
		mask = gsb_ptx_parse_uint(p, "the mask", 1, UINT64_MAX);
		gsb_ptx_expect(p, "(");
		add_reloc(p, in, offset, mask);
		gsb_ptx_expect(p, ")");
	} else {
		gsb_ptx_parse_const(p, &c);
		if (!gsb_ptx_const_to_type(&c, in->var->type, &form, &bits))
			gsb_ptx_fail(p, &at, "a fraction does not fit .%s",
				     gsb_ptx_type_name(in->var->type));
		else if (in->bytes)
			put(in, offset, bits);
	}
}

/* Bytes of one part in braces at this depth; 0 = as many as come. */
static uint64_t part_bytes(const struct init *in, uint32_t depth)
{
	uint64_t n = in->elem_bytes;

	for (uint32_t i = depth; i < in->n_dims; i++)
		n *= in->dims[i];
	return in->n_dims > depth ? n : in->elem_bytes;
}

/* init = element | "{" (init ("," init)*)? "}" */
static void parse_init(struct gsb_ptx_parser *p, struct init *in, uint32_t depth)
{
	uint64_t start = in->end, limit = in->limit, bytes;

	if (!gsb_ptx_accept(p, "{")) {
		parse_element(p, in);
		return;
	}
	bytes = part_bytes(in, depth);
	if (depth > in->n_dims || (bytes && bytes > limit - start)) {
		gsb_ptx_fail(p, &p->tok, "too many braces for the dimensions of the variable");
		return;
	}
	if (bytes)
		in->limit = start + bytes;
	while (!gsb_ptx_is(p, "}") && !gsb_ptx_at_end(p)) {
		parse_init(p, in, depth + 1);
		if (!gsb_ptx_accept(p, ","))
			break;
	}
	gsb_ptx_expect(p, "}");
	if (bytes)
		in->end = start + bytes;
	in->limit = limit;
}

/* How many elements an open first dimension gets: reads the initialiser and goes back. */
static uint64_t measure(struct gsb_ptx_parser *p, struct init in)
{
	struct gsb_ptx_lexer lx = p->lx;
	struct gsb_ptx_token tok = p->tok, next = p->next;
	uint64_t row = in.elem_bytes;

	for (uint32_t i = 1; i < in.n_dims; i++)
		row *= in.dims[i];
	in.limit = GSB_PTX_MAX_INIT_BYTES;
	parse_init(p, &in, 0);
	if (p->err || row == 0)
		return 0;
	p->lx = lx;
	p->tok = tok;
	p->next = next;
	return in.end / row + (in.end % row != 0);
}

static void parse_initialiser(struct gsb_ptx_parser *p, struct gsb_ptx_var *v, uint64_t *dims,
			      uint32_t n_dims)
{
	struct init in = {.var = v, .dims = dims, .n_dims = n_dims};

	if (v->space != GSB_PTX_SPACE_GLOBAL && v->space != GSB_PTX_SPACE_CONST)
		gsb_ptx_fail(p, &p->tok, "only .global and .const variables have initial values");
	in.elem_bytes = gsb_ptx_type_bytes(v->type);
	if (v->unsized) {
		dims[0] = measure(p, in);
		size_var(p, v, dims, n_dims);
		v->unsized = false;
	}
	if (v->size_bytes > GSB_PTX_MAX_INIT_BYTES)
		gsb_ptx_fail_limit(p, "bytes of an initialised variable", GSB_PTX_MAX_INIT_BYTES);
	in.bytes = gsb_ptx_alloc(p, 1, v->size_bytes);
	if (!in.bytes)
		return;
	in.limit = v->size_bytes;
	parse_init(p, &in, 0);
	v->init = in.bytes;
	v->n_relocs = in.relocs.n;
	v->relocs = gsb_ptx_vec_copy(p, &in.relocs, sizeof(*v->relocs));
	gsb_ptx_vec_finish(&in.relocs);
}

static void init_var(struct gsb_ptx_var *v, const struct gsb_ptx_decl *d, uint32_t line)
{
	v->space = d->space;
	v->type = d->type;
	v->linkage = d->linkage;
	v->vec = d->vec ? d->vec : 1;
	v->align = d->align ? d->align : gsb_ptx_type_bytes(d->type) * v->vec;
	v->managed = d->managed;
	v->reg = GSB_PTX_NONE;
	v->line = line;
}

/* The rest of a declarator: "[" size "]"* ("=" init)?; the name is read. */
static void parse_declarator(struct gsb_ptx_parser *p, struct gsb_ptx_var *v)
{
	uint64_t dims[MAX_DIMS];
	uint32_t n_dims = parse_dims(p, dims);

	v->is_array = n_dims > 0;
	v->unsized = n_dims > 0 && dims[0] == 0;
	size_var(p, v, dims, n_dims);
	if (gsb_ptx_accept(p, "="))
		parse_initialiser(p, v, dims, n_dims);
}

/* A new variable of the module, or the one that an .extern declaration of this name has made. */
static struct gsb_ptx_var *module_var(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				      const struct gsb_ptx_decl *d)
{
	struct gsb_ptx_name *e = gsb_ptx_names_get(&p->names, tok->at, tok->len);
	struct gsb_ptx_var *v, **slot;

	if (e && e->kind == GSB_PTX_NAME_VAR) {
		v = e->p;
		if (v->linkage != GSB_PTX_LINK_EXTERN)
			v = gsb_ptx_second_var(p, v, d->linkage);
		if (v && v->space && v->space != d->space)
			gsb_ptx_fail(p, tok, "'%.*s' was declared in another space in line %u",
				     GSB_PTX_TOKEN_ARGS(tok), v->line);
		if (v)
			return v;
	}
	v = gsb_ptx_alloc(p, 1, sizeof(*v));
	e = gsb_ptx_declare(p, tok, GSB_PTX_NAME_VAR);
	slot = gsb_ptx_push(p, &p->vars, sizeof(v), "variables", GSB_PTX_MAX_SYMBOLS);
	if (!v || !e || !slot)
		return NULL;
	v->index = p->vars.n - 1;
	v->name = e->text;
	e->p = v;
	*slot = v;
	return v;
}

/* module-vars = decl name declarator ("," name declarator)* ";" */
void gsb_ptx_parse_module_vars(struct gsb_ptx_parser *p, uint8_t linkage)
{
	struct gsb_ptx_decl d = {.linkage = linkage};
	struct gsb_ptx_token tok;
	struct gsb_ptx_var *v;
	uint32_t align;

	gsb_ptx_parse_decl(p, &d);
	if (d.space != GSB_PTX_SPACE_GLOBAL && d.space != GSB_PTX_SPACE_CONST &&
	    d.space != GSB_PTX_SPACE_SHARED)
		gsb_ptx_fail(p, &p->tok, "a module has .global, .const and .shared variables only");
	do {
		if (!gsb_ptx_expect_word(p, "a variable's name", &tok))
			return;
		v = module_var(p, &tok, &d);
		if (!v)
			return;
		align = v->align;
		init_var(v, &d, tok.line);
		if (v->align < align) /* code before here may rely on it */
			v->align = align;
		parse_declarator(p, v);
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, ";");
}

/* Puts v behind *end, aligned; an error past the limit. */
static void place(struct gsb_ptx_parser *p, struct gsb_ptx_var *v, uint64_t *end, uint64_t limit,
		  const char *what)
{
	v->offset = gsb_round_up(*end, v->align);
	*end = v->offset + v->size_bytes;
	if (*end > limit)
		gsb_ptx_fail_limit(p, what, limit);
}

static void place_local(struct gsb_ptx_parser *p, struct gsb_ptx_var *v)
{
	struct gsb_ptx_func *f = p->body.func;

	if (v->space == GSB_PTX_SPACE_LOCAL)
		place(p, v, &f->local_bytes, GSB_PTX_MAX_FRAME_BYTES, "bytes of .local memory");
	if (v->space != GSB_PTX_SPACE_PARAM)
		return;
	place(p, v, &p->body.call_param_at, GSB_PTX_MAX_FRAME_BYTES, "bytes of call parameters");
	if (p->body.call_param_at > f->call_param_bytes)
		f->call_param_bytes = p->body.call_param_at;
}

static bool is_static(const struct gsb_ptx_decl *d)
{
	return d->space == GSB_PTX_SPACE_GLOBAL || d->space == GSB_PTX_SPACE_CONST;
}

/* A variable of a function; one that outlives its calls is the module's, by a name that no other function's has. */
static struct gsb_ptx_var *local_var(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				     const struct gsb_ptx_decl *d)
{
	struct gsb_ptx_vec *vars = is_static(d) ? &p->vars : &p->body.vars;
	const char *name =
		is_static(d) ? gsb_ptx_static_name(p, tok) : gsb_ptx_unique_name(p, tok, "");
	struct gsb_ptx_name *e = gsb_ptx_declare(p, tok, GSB_PTX_NAME_VAR);
	struct gsb_ptx_var *v = gsb_ptx_alloc(p, 1, sizeof(*v));
	struct gsb_ptx_var **slot;

	slot = gsb_ptx_push(p, vars, sizeof(v), "variables", GSB_PTX_MAX_SYMBOLS);
	if (!v || !e || !slot)
		return NULL;
	v->index = vars->n - 1;
	v->name = name;
	v->func = is_static(d) ? NULL : p->body.func;
	e->p = v;
	*slot = v;
	return v;
}

/* local-vars = decl name declarator ("," name declarator)* ";" */
void gsb_ptx_parse_local_vars(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_decl d = {0};
	struct gsb_ptx_token tok;
	struct gsb_ptx_var *v;

	gsb_ptx_parse_decl(p, &d);
	if (d.space == GSB_PTX_SPACE_GENERIC)
		gsb_ptx_fail(
			p, &p->tok,
			"expected a state space before the name: .shared, .local, .param, .global, .const");
	do {
		if (!gsb_ptx_expect_word(p, "a variable's name", &tok))
			return;
		v = local_var(p, &tok, &d);
		if (!v)
			return;
		init_var(v, &d, tok.line);
		parse_declarator(p, v);
		place_local(p, v);
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, ";");
}

/* param = decl name dims */
static void parse_param(struct gsb_ptx_parser *p, struct gsb_ptx_var *v, uint64_t *end)
{
	struct gsb_ptx_decl d = {0};
	struct gsb_ptx_token tok = p->tok, *kept;

	gsb_ptx_parse_decl(p, &d);
	if (d.space != GSB_PTX_SPACE_PARAM && d.space != GSB_PTX_SPACE_REG)
		gsb_ptx_fail(p, &tok, "a parameter is .param or .reg");
	if (!gsb_ptx_expect_word(p, "a parameter's name", &tok))
		return;
	kept = gsb_ptx_push(p, &p->param_toks, sizeof(tok), "parameters", 2 * GSB_PTX_MAX_PARAMS);
	if (!kept)
		return;
	*kept = tok;
	v->name = gsb_ptx_strndup(p, tok.at, tok.len);
	init_var(v, &d, tok.line);
	parse_declarator(p, v);
	if (d.space == GSB_PTX_SPACE_PARAM)
		place(p, v, end, GSB_PTX_MAX_PARAM_BYTES, "bytes of parameters");
}

/* params = "(" (param ("," param)*)? ")" */
void gsb_ptx_parse_params(struct gsb_ptx_parser *p, const struct gsb_ptx_func *owner,
			  struct gsb_ptx_var **params, uint32_t *n, uint64_t *bytes)
{
	struct gsb_ptx_vec vec = {0};
	struct gsb_ptx_var *v;

	*bytes = 0;
	gsb_ptx_expect(p, "(");
	while (!gsb_ptx_is(p, ")") && !gsb_ptx_at_end(p)) {
		v = gsb_ptx_push(p, &vec, sizeof(*v), "parameters", GSB_PTX_MAX_PARAMS);
		if (!v)
			break;
		v->index = vec.n - 1;
		v->func = owner;
		parse_param(p, v, bytes);
		if (!gsb_ptx_accept(p, ","))
			break;
	}
	gsb_ptx_expect(p, ")");
	*n = vec.n;
	*params = gsb_ptx_vec_copy(p, &vec, sizeof(*v));
	gsb_ptx_vec_finish(&vec);
}
